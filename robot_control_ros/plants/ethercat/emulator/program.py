"""An emulated bus with a whole arm on it, at the end of a network interface: a program of its own, without ROS.

``python -m robot_control_ros.plants.ethercat.emulator.program --robot ur5 --interface ecs``
"""

from __future__ import annotations

import argparse
import contextlib
import signal
import sys
import threading
from collections.abc import Callable, Iterator, Sequence

import numpy as np

from ....errors import ConfigError, HardwareFault, RobotControlError
from ....robots import load_robot
from ...scene import load_scene
from ..interfaces import interface_names
from ..realtime import end_with_parent, prepare
from ..topology import load_topology
from .arm import MujocoArm
from .fault_channel import FaultChannel, methods_of
from .faults import Faults
from .line import Line
from .topology_bus import bus_of
from .wire import run
from .witness import Witness

PRIORITY = 60  # SCHED_FIFO: before a master on the same machine, since real slaves wait for nobody's processor


def emulate(
    robot: str,
    interface: str,
    topology: str = "",
    faults: str = "",
    scene: str = "",
    ready: Callable[[], None] | None = None,
) -> None:
    """Hang an arm on an emulated bus until SIGINT or SIGTERM; call it in the main thread.

    Args:
        robot: name, or path of a YAML file.
        interface: of the network, up, where the master is at the other end.
        topology: name, or path of a YAML file; that of the robot's name by default.
        faults: path of a socket for :class:`.fault_channel.FaultChannel`; none by default.
        scene: what stands around the robot: name, or path of a YAML file.
        ready: called once when it listens, after a line on standard output that says so.

    Raises:
        ConfigError: unknown robot, topology, scene or interface; the topology isn't the robot's.
        HardwareFault: no right to use the interface, or the physics diverged.
    """
    config = load_robot(robot)
    arm = MujocoArm(config, load_scene(scene) if scene else None)
    bus = bus_of(load_topology(topology or config.name), config.joints, arm)
    _check_interface(interface)
    line = Line(bus)

    def push(link: str, fx: float, fy: float, fz: float, tx: float = 0.0, ty: float = 0.0, tz: float = 0.0) -> None:
        """Push a link at its origin [N, N·m], in base axes, until pushed otherwise; zeros end it."""
        arm.push(link, np.array([fx, fy, fz]), np.array([tx, ty, tz]))

    stop = threading.Event()
    with contextlib.ExitStack() as stack:
        polls: list[Callable[[], None]] = []
        where = ""
        if faults:
            channel = FaultChannel(faults, {**methods_of(Faults(line)), **methods_of(Witness(bus)), "push": push})
            stack.callback(channel.close)
            polls.append(channel.poll)
            where = f"; faults on {faults}"

        def announce() -> None:
            polls.remove(announce)
            print(f"emulating {config.name}: {config.n} drives on {interface}{where}", flush=True)
            if ready is not None:
                ready()

        def between() -> None:
            for poll in tuple(polls):
                poll()

        polls.append(announce)
        stack.enter_context(_stopped_by_signals(stop))
        _go_first()
        try:
            run(line, interface, stop, between)
        except PermissionError as error:
            raise HardwareFault(_no_right(interface)) from error
        except OSError as error:
            raise HardwareFault(f"interface {interface}: {error}") from error


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Options of the command line; :func:`run_arguments` runs what they say."""
    parser.add_argument("--robot", default="ur5", help="name, or path of a YAML file (default: ur5)")
    parser.add_argument("--interface", required=True, help="network interface whose other end is the master's")
    parser.add_argument("--topology", default="", help="name, or path of a YAML file (default: the robot's)")
    parser.add_argument(
        "--faults", default="", metavar="SOCKET", help="take faults there, a line each; `help` lists them"
    )
    parser.add_argument("--scene", default="", help="what stands around the robot: name, or path of a YAML file")


def run_arguments(options: argparse.Namespace) -> int:
    """Run :func:`emulate` by the options of :func:`add_arguments`; returns the exit status."""
    emulate(options.robot, options.interface, options.topology, options.faults, options.scene)
    return 0


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the program for another one, and end with that; errors of this package are said in one line."""
    end_with_parent()
    parser = argparse.ArgumentParser(description="An arm in MuJoCo on an emulated EtherCAT bus.")
    add_arguments(parser)
    try:
        return run_arguments(parser.parse_args(arguments))
    except RobotControlError as error:
        print(f"emulator: {error}", file=sys.stderr)
        return 1


def _check_interface(interface: str) -> None:
    known = interface_names()
    if interface not in known:
        raise ConfigError(
            f"no network interface {interface!r}; interfaces: {', '.join(known)}. A pair without hardware: "
            f"ip link add ecm type veth peer name {interface}; ip link set ecm up; ip link set {interface} up"
        )


def _no_right(interface: str) -> str:
    return (
        f"interface {interface}: no right to send raw frames (CAP_NET_RAW): run this with sudo, with ambient "
        "capabilities (docs/ethercat.md), or in a namespace of your own: unshare --map-root-user --net"
    )


@contextlib.contextmanager
def _stopped_by_signals(stop: threading.Event) -> Iterator[None]:
    before = {number: signal.signal(number, lambda *_: stop.set()) for number in (signal.SIGINT, signal.SIGTERM)}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


def _go_first() -> None:
    """Real-time priority and locked memory where they are permitted, and no garbage collection."""
    prepare(PRIORITY)


if __name__ == "__main__":
    sys.exit(main())
