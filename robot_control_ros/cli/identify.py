"""The command that identifies an arm, a running one or a simulated one."""

from __future__ import annotations

import argparse
import os
import signal
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ..core.bounded import Bounded
from ..identification.dialog import IdentificationStep, StopRequested
from .options import ROBOT, add_command, add_number, option_type, picture
from .progress import Progress

if TYPE_CHECKING:
    from ..identification.motion_plan import MotionPlan
    from ..identification.session import IdentificationRequest
    from ..robot.configuration import RobotConfig

INTERRUPTED = 130  # exit status after Ctrl-C


def add_identify(commands: Any) -> None:
    """Add it to the subcommands of a parser."""
    add = add_command(
        commands,
        "identify",
        "Measure delay, noise, friction, payload and base tilt of an arm by a slow motion.",
        _identify,
        "robot_control identify --output my_arm.yaml --plot my_arm.png   # the running arm",
        "robot_control identify --robot ur5e --simulated like_ur5e --yes",
        details="It moves the running arm, or a simulated one. It asks before the motion.",
        renamed={"--out": "--output"},
    )
    text = "name of the controller that runs (default: controller)"
    add("--controller", default="controller", metavar="NAME", help=text)
    text = (
        "identify a simulated arm in this process, without ROS: "
        "name of its imperfections, or path of a YAML file"
    )
    add("--simulated", metavar="NAME", help=text)
    text = f"{ROBOT['help']}; only with --simulated"
    add("--robot", **{**ROBOT, "help": text})
    text = "names of the joints that move (default: all)"
    add("--joints", nargs="+", default=[], metavar="JOINT", help=text)
    speed = Bounded(default=0.4, above=0.0, unit="rad/s", doc="speed of the fastest strokes")
    add_number(add, "--speed", speed)
    amplitude = Bounded(default=0.25, above=0.0, unit="rad", doc="amplitude of the strokes")
    add_number(add, "--amplitude", amplitude)
    text = "mode of the motion's commands (default: effort where the arm takes it)"
    add("--mode", choices=("effort", "position"), default="", help=text)
    rate = Bounded(default=500.0, above=0.0, unit="Hz", doc="rate of control with --simulated")
    add_number(add, "--rate", rate)
    add(
        "--output",
        type=_imperfections_file,
        metavar="FILE",
        help="YAML file that gets the arm as imperfections",
    )
    add("--plot", type=picture, metavar="FILE", help="picture of the motion and its estimate")
    add("--yes", action="store_true", help="don't ask before the motion")


def _identify(options: argparse.Namespace) -> int:
    from ..identification.motion_plan import MotionBounds
    from ..identification.session import IdentificationRequest

    bounds = MotionBounds(options.amplitude, options.speed, tuple(options.joints))
    request = IdentificationRequest(bounds, options.mode, options.output, options.plot)
    dialog = TerminalDialog(asks=not options.yes)
    try:
        if options.simulated:
            return _simulated(options, request, dialog)
        return _running(options.controller, request, dialog)
    finally:
        dialog.end_motion()


def _simulated(
    options: argparse.Namespace, request: IdentificationRequest, dialog: TerminalDialog
) -> int:
    from ..identification.simulated import identify_simulated
    from ..robot.configuration import load_robot
    from ..simulation.imperfect.imperfections import load_imperfections

    robot = load_robot(options.robot).at_rate(options.rate)
    imperfections = load_imperfections(options.simulated)
    return 0 if identify_simulated(robot, imperfections, request, dialog) else 1


def _running(controller: str, request: IdentificationRequest, dialog: TerminalDialog) -> int:
    from ..core.errors import missing_extra
    from ..ros.process_environment import environment

    os.environ.update(environment())
    try:
        from ..identification.over_ros import identify_running
    except ImportError as error:
        raise missing_extra("a running arm", "rclpy", "ros") from error
    try:
        with dialog.hears_signals():
            return 0 if identify_running(controller, request, dialog) else 1
    except StopRequested:
        print("stopped", flush=True)
        return INTERRUPTED


class TerminalDialog:
    """A person at a terminal, who answers the question and stops by Ctrl-C; see
    ``identification/dialog.py``.

    Args:
        asks: False moves the arm without a question.
    """

    def __init__(self, asks: bool) -> None:
        self._asks = asks
        self._asking = False
        self._stop_waits = False
        self._motion: Progress | None = None  # bar of the motion; None while nothing moves

    @contextmanager
    def hears_signals(self) -> Iterator[None]:
        """SIGINT and SIGTERM ask for the stop within the block; they interrupt nothing but the
        question.

        An exception that a signal throws into a call of ROS leaves that call half done.
        """
        numbers = (signal.SIGINT, signal.SIGTERM)
        before = [signal.signal(number, self._on_signal) for number in numbers]
        try:
            yield
        finally:
            for number, handler in zip(numbers, before, strict=True):
                signal.signal(number, handler)

    def report(self, step: IdentificationStep) -> None:
        """Show how far the motion is; of another step print the words, then the files."""
        if step.progress is not None:
            if self._motion is None:
                self._motion = Progress("identify", 100.0, "%").begin()
            self._motion.show(100.0 * step.progress)
            return
        self.end_motion()
        paths = (str(path) for path in (step.file, step.picture) if path is not None)
        print("\n".join((step.text, *paths)), flush=True)

    def end_motion(self) -> None:
        """End the bar of the motion, where there is one."""
        if self._motion is not None:
            self._motion.end()
            self._motion = None

    def warn(self, text: str) -> None:
        self.end_motion()
        print(text, file=sys.stderr)

    def agrees(self, robot: RobotConfig, plan: MotionPlan) -> bool:
        print(plan.describe(robot.joints), flush=True)
        if not self._asks:
            return True
        self.check_stop()
        self._asking = True
        try:
            return input("Move within these bounds? [y/N] ").strip().lower() == "y"
        except EOFError:  # nobody is there who could answer
            return False
        finally:
            self._asking = False

    def check_stop(self) -> None:
        if self._stop_waits:
            self._stop_waits = False
            raise StopRequested

    def _on_signal(self, number: int, frame: object) -> None:
        self._stop_waits = True
        if self._asking:
            self.check_stop()


@option_type
def _imperfections_file(text: str) -> Path:
    from ..identification.identified_file import imperfections_path

    return imperfections_path(text)
