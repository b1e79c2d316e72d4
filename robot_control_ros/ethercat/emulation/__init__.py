"""The arms and topologies of this package on the bus of `ethercat_emulator`.

arm            a robot in MuJoCo, as the mechanics that emulated drives turn
topology_bus   the emulated bus that a topology file describes
lockstep       its drives without a bus, in step with a control loop
program        all of it as a program, and that as a process of another one
"""
