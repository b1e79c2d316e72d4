"""An emulated CAN bus with a whole arm on it: a program of its own, without ROS.

``robot_control can emulate --robot openarm``
"""

from __future__ import annotations

import argparse
import contextlib
import re
import subprocess
import sys
from collections.abc import Iterator, Sequence

import numpy as np

from can_emulator import EmulatorError, serve
from can_emulator.socketcand import PORT
from ethercat_emulator import EmulatorError as ChannelError

from ...core.errors import HardwareFault, RobotControlError, refused
from ...robot.configuration import load_robot
from ...simulation.scene import load_scene
from ..can.can_arm import load_arm
from ..process.realtime import end_with_parent
from .arm import MujocoArm
from .can_motors import bus_of
from .program import GRACE


def emulate(
    robot: str,
    arm: str = "",
    port: int = PORT,
    interface: str = "can0",
    vcan: bool = False,
    faults: str = "",
    scene: str = "",
) -> None:
    """Hang an arm's motors on an emulated bus until SIGINT or SIGTERM; call it in the main thread.

    A stand holds the arm until its motors are enabled for the first time.

    Args: see :func:`add_arguments`; an empty text is the default.

    Raises:
        ConfigError: unknown robot, arm or scene; the arm isn't the robot's; a bus can't be called
            so.
        EmulatorError: the port is taken; no CAN in the kernel; no such interface; no socket for
            faults.
        HardwareFault: the physics diverged.
    """
    if not re.fullmatch("[A-Za-z0-9_-]{1,15}", interface):
        rule = "must be a name of up to 15 letters and digits, as can0"
        raise refused("--interface", interface, rule)
    config = load_robot(robot)
    mechanics = MujocoArm(config, load_scene(scene) if scene else None)
    bus = bus_of(load_arm(arm or config.name), config.joints, mechanics, supported=True)

    def push(link: str, fx: float, fy: float, fz: float) -> None:
        """Push a link at its origin [N], in base axes, until pushed otherwise; zeros end it."""
        mechanics.push(link, np.array([fx, fy, fz]), np.zeros(3))

    serve(
        bus,
        interface,
        port=port,
        vcan=vcan,
        title=f"{config.name}: {config.n} motors",
        faults=faults,
        methods={"push": push},
    )


@contextlib.contextmanager
def emulated_can(robot: str, arm: str = "", faults: str = "") -> Iterator[str]:
    """The emulated arm as another process, at a free port; yields the channel of its bus.

    Args: see :func:`add_arguments`.

    Raises:
        HardwareFault: it doesn't start; the message has its exit status.
    """
    command = [sys.executable, "-m", "robot_control_ros.fieldbus.emulation.can_program"]
    command += ["--robot", robot, "--arm", arm, "--port", "0", "--faults", faults]
    child = subprocess.Popen(command, stdout=subprocess.PIPE, text=True, start_new_session=True)
    assert child.stdout is not None
    try:
        line = child.stdout.readline()
        if not line:
            raise HardwareFault(
                f"the emulator ended with exit status {child.wait()}; see its message above"
            )
        yield line.partition(" on ")[2].partition(";")[0].strip()
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
        "--robot", default="openarm", help="robot: name, or path of a YAML file (default: openarm)"
    )
    parser.add_argument(
        "--arm",
        default="",
        help="motors of the arm: name, or path of a YAML file (default: the robot's)",
    )
    parser.add_argument(
        "--port",
        metavar="NUMBER",
        type=_port,
        default=PORT,
        help="TCP port on 127.0.0.1, for socketcand's protocol; 0 for any (default: %(default)s)",
    )
    parser.add_argument(
        "--interface", default="can0", metavar="NAME", help="name of the bus (default: can0)"
    )
    parser.add_argument(
        "--vcan",
        action="store_true",
        help="use the CAN interface --interface of Linux, in place of a port",
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


def _port(text: str) -> int:
    port = int(text)
    if not 0 <= port <= 65535:
        raise argparse.ArgumentTypeError(f"{port}: must be from 0 to 65535")
    return port


def run(options: argparse.Namespace) -> int:
    """Run :func:`emulate` by the options of :func:`add_arguments`; returns the exit status."""
    emulate(
        options.robot,
        options.arm,
        options.port,
        options.interface,
        options.vcan,
        options.faults,
        options.scene,
    )
    return 0


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the program for another one, and end with that; an error of either package is one
    line.
    """
    end_with_parent()
    parser = argparse.ArgumentParser(description="An arm in MuJoCo on an emulated CAN bus.")
    add_arguments(parser)
    try:
        return run(parser.parse_args(arguments))
    except (RobotControlError, EmulatorError, ChannelError) as error:
        print(f"emulator: {error}", file=sys.stderr)
        return 1


if __name__ == "__main__":
    sys.exit(main())
