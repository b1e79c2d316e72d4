"""EtherCAT slaves and CiA 402 drives without hardware, for any master: frames in, frames out.

    esc       a slave controller: registers, sync managers, FMMUs, EEPROM, clock, watchdog, AL states
    coe       a device's objects, its process data, its mailbox, SDO and SDO information
    drive     a CiA 402 drive: power states, servo, objects; the mechanics that its motor turns
    bus       frames, a slave, ready-made slaves, the chain of them, the cable to it
    faults    what can go wrong; faults by lines over a socket; a witness of what happened
    network   a network interface in the cable's place; an interface pair without hardware
    server    all that until a signal ends it
    program   the command ``ethercat-emulator``

In process, without any privileges::

    slave, drive = drive_slave()
    bus = Bus([slave], Machine([drive], Rotors([Load(inertia=0.2)])))
    reply = bus.process(frame, time.monotonic_ns())

At a network interface: ``serve(bus, "ecs")``.

Times are nanoseconds of the caller's clock (int), which never runs backwards. Nothing but the
standard library is needed. The protocol is that of ETG.1000.4 and .6. Beckhoff describes it in
"EtherCAT Slave Controller, Hardware Data Sheet", sections I (technology) and II (registers).
"""

from .bus.chain import Bus
from .bus.devices import drive_slave, terminal
from .bus.line import Line
from .bus.slave import Slave
from .coe.pdo import Mapped, Pdo
from .drive.drive import Drive, Machine
from .drive.mechanics import Load, Mechanics, Rotors
from .drive.objects import DriveSettings
from .drive.servo import Motor, Servo
from .errors import EmulatorError, FaultChannelError, NetworkError, UnknownInterfaceError
from .esc.sii import Identity
from .faults.channel import inject
from .faults.injection import DriveFaults, Faults
from .faults.witness import Witness
from .server import serve

__all__ = [
    "Bus",
    "Drive",
    "DriveFaults",
    "DriveSettings",
    "EmulatorError",
    "FaultChannelError",
    "Faults",
    "Identity",
    "Line",
    "Load",
    "Machine",
    "Mapped",
    "Mechanics",
    "Motor",
    "NetworkError",
    "Pdo",
    "Rotors",
    "Servo",
    "Slave",
    "UnknownInterfaceError",
    "Witness",
    "drive_slave",
    "inject",
    "serve",
    "terminal",
]
