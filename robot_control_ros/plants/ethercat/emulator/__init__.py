"""EtherCAT slaves without hardware: frames in, frames out.

    frame                       datagrams in an Ethernet frame
    registers esc               a slave controller's memory, and what happens when a master touches it
    sync_manager fmmu eeprom clock watchdog al_state     its parts
    dictionary pdo              a device's objects, and those of them in its process data
    mailbox coe coe_information what goes through the mailbox
    sii                         the content of the EEPROM
    power_states servo drive    a CiA 402 drive
    mechanics arm               what the motors turn; a whole robot
    slave devices bus           a controller with its device; ready-made ones; the chain of them
    topology_bus lockstep       the chain that a topology describes; its drives without a bus, in step with a loop
    line faults wire            its cable; what can go wrong; a network interface in the cable's place
    witness                     what happened on it, whatever a master is told
    fault_channel program child faults by lines over a socket; all that as a program; that as another one's process
    veth                        an interface pair without hardware

Times are nanoseconds of the caller's clock (int), which never runs backwards. The protocol is that of ETG.1000.4 and
.6 as Beckhoff's "EtherCAT Slave Controller, Hardware Data Sheet", sections I (technology) and II (registers), tells it.
"""
