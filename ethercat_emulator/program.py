"""The command ``ethercat-emulator``: CiA 402 drives on an emulated bus, at the end of
a network interface.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence

from .bus.chain import Bus
from .bus.devices import IDENTITY, drive_slave, terminal
from .bus.slave import Slave
from .drive.drive import Drive, Machine
from .drive.mechanics import Load, Rotors
from .drive.objects import DriveSettings
from .drive.servo import Motor
from .errors import EmulatorError, UnknownInterfaceError
from .esc.sii import Identity
from .faults.channel import inject
from .network.veth import make_pair
from .server import PRIORITY, serve

DESCRIPTION = """\
Emulated EtherCAT slaves at a network interface: CiA 402 drives, for any master.

Each drive turns one axis: a rotor with friction. It has the modes CSP (8), CSV (9) and CST (10), SDO
access, an EEPROM, a distributed clock and a watchdog. SIGINT (Ctrl-C) or SIGTERM ends the command.
"""
EXAMPLES = """\
examples, without hardware (as root, or within `unshare --map-root-user --net`):

  ethercat-emulator --pair ecm --interface ecs --drives 6
      Makes a pair of interfaces. A master on `ecm` finds six drives.

  ethercat-emulator --interface eth1
      One drive. A master on another computer, at the other end of the cable, finds it.

  ethercat-emulator --interface ecs --faults /tmp/faults
  ethercat-emulator --faults /tmp/faults --inject help
  ethercat-emulator --faults /tmp/faults --inject 'drive_fault 0 0x7305'
      The second and third command ask the first one which faults there are, and inject one.

The right to send raw frames (CAP_NET_RAW) is needed, and CAP_NET_ADMIN for --pair.
"""
_CLOCKS_APART = 1_000_000_000  # ns: the clocks of real slaves begin at different times, too


def drives_on_a_bus(
    count: int, settings: DriveSettings, load: Load, *, terminals: bool = False
) -> Bus:
    """A bus of equal drives, one axis each.

    Args:
        count: how many drives; their serial numbers are 1, 2, ….
        settings: of each drive.
        load: what each drive turns.
        terminals: whether 8 digital inputs and 8 digital outputs follow the drives.
    """
    slaves: list[Slave] = []
    drives: list[Drive] = []
    for n in range(count):
        identity = Identity(IDENTITY.vendor, IDENTITY.product, IDENTITY.revision, serial=n + 1)
        slave, drive = drive_slave(settings, identity=identity, clock_start=n * _CLOCKS_APART)
        slaves.append(slave)
        drives.append(drive)
    if terminals:
        slaves += [terminal(8, 0, name="Emulated inputs"), terminal(0, 8, name="Emulated outputs")]
    return Bus(slaves, Machine(drives, Rotors([load] * count)))


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command; returns the exit status. An error is one line."""
    parser = _parser()
    options = parser.parse_args(arguments)
    if options.inject and not options.faults:
        parser.error("--inject needs --faults SOCKET: the one of the emulator that runs")
    if not options.inject and not options.interface:
        parser.error("--interface is needed: the network interface where the slaves are")
    try:
        return _inject(options) if options.inject else _serve(options)
    except EmulatorError as error:
        print(f"ethercat-emulator: {error}", file=sys.stderr)
        return 2 if isinstance(error, UnknownInterfaceError) else 1


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="ethercat-emulator",
        description=DESCRIPTION,
        epilog=EXAMPLES,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    bus = parser.add_argument_group("bus")
    bus.add_argument(
        "--interface", default="", metavar="NAME", help="network interface where the slaves are"
    )
    bus.add_argument(
        "--pair",
        default="",
        metavar="NAME",
        help="make that interface first, and NAME for the master",
    )
    bus.add_argument("--drives", type=_count, default=1, metavar="N", help="how many (default: 1)")
    bus.add_argument(
        "--terminals", action="store_true", help="8 digital inputs and 8 outputs follow the drives"
    )
    _add_drive_arguments(parser)
    more = parser.add_argument_group("faults and time")
    more.add_argument(
        "--faults", default="", metavar="SOCKET", help="take faults at this path, one a line"
    )
    more.add_argument(
        "--inject",
        default="",
        metavar="LINE",
        help="send a line to --faults, print the answer, end",
    )
    more.add_argument(
        "--priority",
        type=int,
        choices=range(100),
        default=PRIORITY,
        metavar="0…99",
        help=f"real-time priority where permitted; 0 for none (default: {PRIORITY})",
    )
    return parser


def _add_drive_arguments(parser: argparse.ArgumentParser) -> None:
    motor = Motor()
    load = Load()
    drive = parser.add_argument_group("each drive, with its motor, gear and load")
    for name, default, text in (
        ("--counts", motor.counts, "of the encoder, per turn of the motor"),
        (
            "--gear",
            motor.gear,
            "turns of the motor per turn of the joint; negative: they turn against each other",
        ),
        ("--rated-torque", motor.rated_torque, "of the motor [N·m]; 1000 per mille in 0x6071"),
        ("--inertia", load.inertia, "of rotor and load, at the joint [kg·m²]"),
        ("--viscous", load.viscous, "friction at the joint [N·m·s/rad]"),
        ("--coulomb", load.coulomb, "dry friction at the joint [N·m]"),
        ("--gravity", load.gravity, "constant torque on the joint [N·m]"),
    ):
        drive.add_argument(
            name,
            type=type(default),
            default=default,
            metavar="X",
            help=f"{text} (default: %(default)s)",
        )


def _count(text: str) -> int:
    count = int(text)
    if count < 1:
        raise argparse.ArgumentTypeError(f"{count}: must be at least 1")
    return count


def _inject(options: argparse.Namespace) -> int:
    print(inject(options.faults, options.inject), end="")
    return 0


def _serve(options: argparse.Namespace) -> int:
    if options.pair:
        make_pair(options.pair, options.interface)
    motor = Motor(
        rated_torque=options.rated_torque,
        counts=options.counts,
        gear=options.gear,
        inertia=options.inertia,
    )
    load = Load(options.inertia, options.viscous, options.coulomb, options.gravity)
    bus = drives_on_a_bus(
        options.drives, DriveSettings(motor=motor), load, terminals=options.terminals
    )
    title = f"{options.drives} drive{'s' if options.drives > 1 else ''}"
    serve(bus, options.interface, title=title, faults=options.faults, priority=options.priority)
    return 0
