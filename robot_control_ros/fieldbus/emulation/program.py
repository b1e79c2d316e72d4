"""An emulated bus with a whole arm on it, at the end of a network interface: a program of its own,
without ROS.

``robot_control ethercat emulate --robot ur5 --interface ecs``
"""

from __future__ import annotations

import argparse
import contextlib
import subprocess
import sys
from collections.abc import Iterator, Sequence

import numpy as np

from ethercat_emulator import EmulatorError, UnknownInterfaceError, serve
from ethercat_emulator.network.interfaces import check_interface

from ...core.errors import ConfigError, HardwareFault, RobotControlError
from ...robot.configuration import load_robot
from ...simulation.scene import load_scene
from ..ethercat.topology import load_topology
from ..process.realtime import end_with_parent
from .arm import MujocoArm
from .topology_bus import bus_of

GRACE = 5.0  # s for the program to end


def emulate(
    robot: str, interface: str, topology: str = "", faults: str = "", scene: str = ""
) -> None:
    """Hang an arm on an emulated bus until SIGINT or SIGTERM; call it in the main thread.

    Args: see :func:`add_arguments`; an empty text is the default.

    Raises:
        ConfigError: unknown interface, robot, topology or scene; the topology isn't the robot's.
        NetworkError: no right to use the interface.
        FaultChannelError: no socket can be made for faults.
        HardwareFault: the physics diverged.
    """
    try:
        check_interface(interface)
    except UnknownInterfaceError as error:
        raise ConfigError(str(error), name="--interface", value=interface) from error
    config = load_robot(robot)
    arm = MujocoArm(config, load_scene(scene) if scene else None)
    bus = bus_of(load_topology(topology or config.name), config.joints, arm)

    def push(
        link: str,
        fx: float,
        fy: float,
        fz: float,
        tx: float = 0.0,
        ty: float = 0.0,
        tz: float = 0.0,
    ) -> None:
        """Push a link at its origin [N, N·m], in base axes, until pushed
        otherwise; zeros end it.
        """
        arm.push(link, np.array([fx, fy, fz]), np.array([tx, ty, tz]))

    serve(
        bus,
        interface,
        title=f"{config.name}: {config.n} drives",
        faults=faults,
        methods={"push": push},
    )


@contextlib.contextmanager
def emulated_bus(robot: str, topology: str, interface: str, faults: str = "") -> Iterator[None]:
    """The emulated arm at an interface, as another process.

    Args: see :func:`add_arguments`.

    Raises:
        HardwareFault: it doesn't start; the message has its exit status.
    """
    command = [sys.executable, "-m", "robot_control_ros.fieldbus.emulation.program"]
    command += [
        "--robot",
        robot,
        "--interface",
        interface,
        "--topology",
        topology,
        "--faults",
        faults,
    ]
    child = subprocess.Popen(command, stdout=subprocess.PIPE, text=True, start_new_session=True)
    assert child.stdout is not None
    try:
        if not child.stdout.readline():
            raise HardwareFault(
                f"the emulator ended with exit status {child.wait()}; see its message above"
            )
        yield
    finally:
        child.terminate()
        try:
            child.wait(GRACE)
        except subprocess.TimeoutExpired:
            child.kill()
            child.wait()
        child.stdout.close()


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Options of the command line; :func:`run` runs what they say."""
    parser.add_argument(
        "--robot", default="ur5", help="robot: name, or path of a YAML file (default: ur5)"
    )
    parser.add_argument(
        "--interface",
        required=True,
        metavar="NAME",
        help="network interface whose other end is the master's",
    )
    parser.add_argument(
        "--topology",
        default="",
        help="slaves on the bus: name, or path of a YAML file (default: the robot's)",
    )
    parser.add_argument(
        "--faults",
        default="",
        metavar="SOCKET",
        help="socket that takes faults, a line each; the line help lists them",
    )
    parser.add_argument(
        "--scene", default="", help="objects around the robot: name, or path of a YAML file"
    )


def run(options: argparse.Namespace) -> int:
    """Run :func:`emulate` by the options of :func:`add_arguments`; returns the exit status."""
    emulate(options.robot, options.interface, options.topology, options.faults, options.scene)
    return 0


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the program for another one, and end with that; an error of either
    package is one line.
    """
    end_with_parent()
    parser = argparse.ArgumentParser(description="An arm in MuJoCo on an emulated EtherCAT bus.")
    add_arguments(parser)
    try:
        return run(parser.parse_args(arguments))
    except (RobotControlError, EmulatorError) as error:
        print(f"emulator: {error}", file=sys.stderr)
        return 1


if __name__ == "__main__":
    sys.exit(main())
