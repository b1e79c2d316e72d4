"""The command ``can-emulator``: motors on an emulated CAN bus."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence

from ethercat_emulator import EmulatorError as ChannelError
from ethercat_emulator import Load, Rotors, inject

from .bus import Bus
from .errors import EmulatorError
from .makers import MODELS, DamiaoMotor, MyActuatorMotor, RobStrideMotor
from .motor import Motor
from .server import serve
from .socketcand import PORT

DESCRIPTION = """\
Emulated motors in MIT mode on a CAN bus, for any host. Each motor turns one axis: a rotor with
friction. SIGINT (Ctrl-C) or SIGTERM ends the command.
"""
EXAMPLES = """\
examples, without hardware and without rights:

  can-emulator --motor DM4310:0x01:0x11 --motor DM4310:0x02:0x12
      Two motors of Damiao as can0, served over TCP by socketcand's protocol. python-can connects
      with Bus(interface="socketcand", channel="can0", host="127.0.0.1", port=29536).

  can-emulator --motor RS03:1:0xFD --vcan --interface vcan0
      A motor of RobStride at a CAN interface of Linux.

  can-emulator --motor RMD_X:1:0 --faults /tmp/faults
  can-emulator --faults /tmp/faults --inject help
  can-emulator --faults /tmp/faults --inject 'temperature 0 120'
      The second and third command ask the first one which faults there are, and inject one.
"""
_CLASSES = {"DM": DamiaoMotor, "RS": RobStrideMotor, "RM": MyActuatorMotor}


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command; returns the exit status. An error is one line."""
    parser = _parser()
    options = parser.parse_args(arguments)
    if options.inject and not options.faults:
        parser.error("--inject needs --faults SOCKET: the one of the emulator that runs")
    if not options.inject and not options.motor:
        parser.error("--motor is needed: MODEL:ID:REPLY_ID, as DM4310:0x01:0x11")
    try:
        if options.inject:
            print(inject(options.faults, options.inject), end="")
            return 0
        load = Load(options.inertia, options.viscous, options.coulomb, options.gravity)
        bus = Bus(options.motor, Rotors([load] * len(options.motor)))
        count = len(options.motor)
        title = f"{count} motor{'s' if count > 1 else ''}"
        serve(
            bus,
            options.interface,
            port=options.port,
            vcan=options.vcan,
            title=title,
            faults=options.faults,
        )
        return 0
    except (EmulatorError, ChannelError) as error:
        print(f"can-emulator: {error}", file=sys.stderr)
        return 1


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="can-emulator",
        description=DESCRIPTION,
        epilog=EXAMPLES,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument(
        "--motor",
        action="append",
        default=[],
        type=motor_of,
        metavar="MODEL:ID:REPLY_ID",
        help=f"a motor; once for each. Models: {', '.join(MODELS)}",
    )
    parser.add_argument(
        "--interface", default="can0", metavar="NAME", help="name of the bus (default: can0)"
    )
    parser.add_argument(
        "--port",
        type=_port,
        default=PORT,
        metavar="N",
        help="TCP port on 127.0.0.1; 0 for any that is free (default: %(default)s)",
    )
    parser.add_argument(
        "--vcan",
        action="store_true",
        help="be at the CAN interface --interface of Linux, and not at a port",
    )
    load = Load()
    for name, default, text in (
        ("--inertia", load.inertia, "of rotor and load [kg·m²]"),
        ("--viscous", load.viscous, "friction [N·m·s/rad]"),
        ("--coulomb", load.coulomb, "dry friction [N·m]"),
        ("--gravity", load.gravity, "constant torque on each axis [N·m]"),
    ):
        parser.add_argument(
            name, type=float, default=default, metavar="X", help=f"{text} (default: {default})"
        )
    parser.add_argument(
        "--faults", default="", metavar="SOCKET", help="take faults at this path, one a line"
    )
    parser.add_argument(
        "--inject",
        default="",
        metavar="LINE",
        help="send a line to --faults, print the answer, end",
    )
    return parser


def motor_of(text: str) -> Motor:
    """The motor of ``MODEL:ID:REPLY_ID``."""
    words = text.split(":")
    try:
        model, own, reply = words
        return _CLASSES[model[:2]](int(own, 0), int(reply, 0), MODELS[model])
    except KeyError as error:
        raise argparse.ArgumentTypeError(
            f"{text!r}: unknown model {error}; models: {', '.join(MODELS)}"
        ) from error
    except ValueError as error:
        raise argparse.ArgumentTypeError(f"{text!r}: must be MODEL:ID:REPLY_ID") from error


def _port(text: str) -> int:
    try:
        port = int(text)
    except ValueError as error:
        raise argparse.ArgumentTypeError(f"{text!r}: must be a whole number") from error
    if not 0 <= port <= 65535:
        raise argparse.ArgumentTypeError(f"{port}: must be from 0 to 65535")
    return port
