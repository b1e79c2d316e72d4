"""Motors on a CAN bus without hardware, for any host: frames in, frames out.

    frame      a frame
    motor      a motor in MIT mode: what it was commanded, its torque, its faults
    makers     Damiao's, RobStride's and MyActuator's frames
    bus        motors on a bus, and the mechanics that they turn
    faults     what can go wrong
    socketcand a server of the bus by socketcand's protocol, over TCP
    interface  a bus at a CAN interface of Linux, as vcan0
    server     all that until a signal ends it
    program    the command ``can-emulator``

In process, without any privileges::

    bus = Bus([DamiaoMotor(0x01, 0x11, DM4310)], Rotors([Load(inertia=0.02)]))
    replies = bus.process(Frame(0x01, bytes.fromhex("FFFFFFFFFFFFFFFC")), time.monotonic())

As a server: ``serve(bus, "can0", port=29536)``.

Times are seconds of the caller's clock, which never runs backwards. Mechanics and the channel for
faults are those of ethercat_emulator.
"""

from ethercat_emulator import Load, Mechanics, Rotors, inject

from .bus import Bus
from .errors import EmulatorError, NetworkError
from .faults import Faults
from .frame import Frame
from .makers import (
    DM4310,
    DM4340,
    DM8009,
    MODELS,
    RMD_X,
    RS00,
    RS03,
    DamiaoMotor,
    MyActuatorMotor,
    RobStrideMotor,
)
from .motor import Model, Motor
from .server import serve

__all__ = [
    "DM4310",
    "DM4340",
    "DM8009",
    "MODELS",
    "RMD_X",
    "RS00",
    "RS03",
    "Bus",
    "DamiaoMotor",
    "EmulatorError",
    "Faults",
    "Frame",
    "Load",
    "Mechanics",
    "Model",
    "Motor",
    "MyActuatorMotor",
    "NetworkError",
    "RobStrideMotor",
    "Rotors",
    "inject",
    "serve",
]
