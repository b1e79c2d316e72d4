"""The controller: a lifecycle node that answers every joint state with one command.

Topics, services and parameters: docs/controller.md.
"""

from __future__ import annotations

import random
import time
from dataclasses import replace
from typing import Any

from rcl_interfaces.msg import SetParametersResult
from rclpy.exceptions import ParameterException
from rclpy.lifecycle import LifecycleNode, LifecycleState, TransitionCallbackReturn
from rclpy.parameter import Parameter
from std_msgs.msg import String

from ...control.controller import Controller
from ...control.loop import ControlLoop
from ...control.warm_up import check_warm, warm_up
from ...core.bounded import Bounded
from ...core.errors import ConfigError, RobotControlError, unknown
from ...laws import law_names
from ...laws.running_law import RunningLaw
from ...robot.configuration import RobotConfig, load_robot, robot_names
from ...robot.implausible import doubts_of
from ...robot.model import RobotModel
from ...robot.profile import EXPECTED_RATE
from ...robot.yaml_files import misspelt
from ...ros.entities import Entities
from ...ros.qos import LATCHED_QOS
from ...ros.ros_params import PREFIX_TEXT, TunedParameters, declare
from ...ros.running import PRIORITY, PRIORITY_TEXT, run, steady_clock, take_priority, told
from .law_cache import LawCache
from .runtime import ControllerRuntime
from .stop_latch import StopLatch

DISCOVERY = 0.5  # s after which those who command the robot already have been seen
QUIET_WAIT = 3.0  # s of waiting for the system without a line in the log
START_PERIOD = 0.2  # s between two looks for what is needed to start
# of two that claimed the robot at once, each waits for so many looks at most, by chance
MAX_LOOKS_TO_WAIT = 7

# What a controller is made of: changes need a clean-up first, but for the law, which may be
# switched at any time.
_STRUCTURE = {
    "robot": ("ur5", "Robot: a name ({robots}) or the path of a YAML file."),
    "profile": ("sim", "What is in front of the robot: a profile of its file."),
    "prefix": ("", PREFIX_TEXT),
    "law": ("impedance", "Control law: a name ({laws}) or package.module:Class."),
    "bus": (
        "",
        "Address of the field bus, such as eth1, whose own process shall run the law; empty runs it here.",
    ),
    "description": (
        "config",
        "Where the robot description comes from: config (the robot's file) or topic.",
    ),
}
_CHECKS = {
    "check_system": (True, "Activate only where the system offers what the law needs."),
    "forward_follows": (
        False,
        "Who starts this node activates the forward controller next; no warning that it is inactive.",
    ),
}
_START = {
    "without_watchdog": (
        "profile",
        "What is done where the watchdog has gone: go_on, hold, stop, or profile (go on in a simulation, else hold).",
    ),
    "record_folder": (
        "",
        "Folder for records of the last minute, see docs/controller.md; empty takes the user's own.",
    ),
    "save_faults": (
        False,
        "Write the last minute to that folder where a fault begins; launch files do so for real robots.",
    ),
    "autostart": (True, "Configure and activate at start."),
    "realtime_priority": (-1, PRIORITY_TEXT.format(priority=PRIORITY)),
}
NUMBERS = {
    "rate": EXPECTED_RATE,
    "gain_time_constant": Bounded(
        default=0.2,
        lower=0.0,
        upper=60.0,
        unit="s",
        doc="Time constant with which changed gains are taken over.",
    ),
    "telemetry_rate": Bounded(
        default=50.0,
        lower=0.1,
        upper=1000.0,
        unit="Hz",
        doc="Samples per second on ~/state and the other telemetry.",
    ),
    "frozen_after": Bounded(
        default=-1.0,
        lower=-1.0,
        upper=60.0,
        unit="s",
        doc="Time without any change of joint states, see profiles; -1 takes the profile's, 0 allows it.",
    ),
    "state_timeout": Bounded(
        default=0.06,
        lower=0.01,
        upper=10.0,
        unit="s",
        doc="Age of the last joint state at which the safe output is sent.",
    ),
}


class ControllerNode(LifecycleNode):
    """Joint states in, commands out; see the module.

    Attributes:
        failed: True where it was to start by itself and can't; the process ends with exit status 1.
    """

    def __init__(self) -> None:
        super().__init__("controller")
        self.failed = False
        self._born = time.monotonic()
        # whether it was activated by itself last, and is again where it yields
        self._started_itself = False
        self._looks_to_wait = 0  # after another has claimed the robot at the same time
        self._declare_parameters()
        self._tuned = TunedParameters(self)
        self._runtime: ControllerRuntime | None = None
        self._laws: LawCache | None = None
        self._description: str | None = None
        Entities(self).subscription(String, "robot_description", self._on_description, LATCHED_QOS)
        self._latch = StopLatch(self, self._deactivate)
        self.add_on_set_parameters_callback(self._check_structure)
        self.add_post_set_parameters_callback(self._switch_law)
        if self._chosen["autostart"]:
            self._starter = self.create_timer(START_PERIOD, self._autostart, clock=steady_clock())

    @told
    def on_configure(self, state: LifecycleState) -> TransitionCallbackReturn:
        try:
            self._configure()
        except (RobotControlError, ParameterException) as error:
            self._clean_up()
            self.get_logger().error(f"not configured: {error}")
            return TransitionCallbackReturn.FAILURE
        return TransitionCallbackReturn.SUCCESS

    @told
    def on_activate(self, state: LifecycleState) -> TransitionCallbackReturn:
        assert self._runtime is not None
        try:
            self._latch.check()
            for warning in self._runtime.check_system(bool(self._value("forward_follows"))):
                self.get_logger().warning(warning)
        except ConfigError as error:
            self.get_logger().error(f"not activated: {error}")
            return TransitionCallbackReturn.FAILURE
        try:
            self._runtime.claim()
        except ConfigError as error:
            self.get_logger().error(f"not activated: {error}")
            self._looks_to_wait = random.randint(0, MAX_LOOKS_TO_WAIT)
            return TransitionCallbackReturn.FAILURE
        for line in self._runtime.notes():
            self.get_logger().info(line)
        take_priority(self, self._chosen["realtime_priority"])
        try:
            self._runtime.activate()
        except RobotControlError as error:  # rclpy would go to unconfigured without a word
            self._runtime.deactivate()
            self.get_logger().error(f"not activated: {error}")
            return TransitionCallbackReturn.FAILURE
        return super().on_activate(state)

    @told
    def on_deactivate(self, state: LifecycleState) -> TransitionCallbackReturn:
        assert self._runtime is not None
        self._runtime.deactivate()
        self._started_itself = False
        return super().on_deactivate(state)

    @told
    def on_cleanup(self, state: LifecycleState) -> TransitionCallbackReturn:
        self._clean_up()
        return TransitionCallbackReturn.SUCCESS

    on_shutdown = on_cleanup

    def set_parameters_atomically(self, parameter_list: list[Parameter]) -> SetParametersResult:
        """Set parameters as rclpy does, with two differences.

        A parameter that is set to its present value changes nothing. An unknown one is refused by
        name, with the name that was probably meant.
        """
        for parameter in parameter_list:
            if not self.has_parameter(parameter.name):
                known = sorted(self.list_parameters([], 0).names)
                meant = misspelt(parameter.name, known)
                hint = f"; did you mean {meant}?" if meant else ""
                error: ConfigError = unknown(
                    "parameter", parameter.name, [meant] if meant else known, hint=hint
                )
                return SetParametersResult(successful=False, reason=str(error))
        changed = [
            each for each in parameter_list if each.value != self.get_parameter(each.name).value
        ]
        return (
            super().set_parameters_atomically(changed)
            if changed
            else SetParametersResult(successful=True)
        )

    def close(self) -> None:
        """Leave the robot safe."""
        if self._runtime is not None:
            self._runtime.deactivate()

    def leave(self) -> None:
        """Leave the robot safe, without waiting for acknowledgements that nobody would hear."""
        if self._runtime is not None:
            self._runtime.leave()

    def _deactivate(self) -> None:
        """Deactivate an active controller; one that starts by itself doesn't start again."""
        if self._chosen["autostart"]:
            self._starter.cancel()
        if self._runtime is not None and self._runtime.active:
            self.trigger_deactivate()

    def _yield(self) -> None:
        """Deactivate, as another controller leads the robot.

        A controller that had started by itself waits until it can start again.
        """
        starts_again = self._started_itself
        self.trigger_deactivate()
        if starts_again:
            self._looks_to_wait = random.randint(0, MAX_LOOKS_TO_WAIT)
            self._starter.reset()

    def _value(self, name: str) -> Any:
        return self.get_parameter(name).value

    def _autostart(self) -> None:
        if self._value("description") == "topic" and self._description is None:
            self.get_logger().info("waiting for robot_description …", throttle_duration_sec=5.0)
            return
        if self._value("bus") and not self.count_publishers("joint_states"):
            self.get_logger().info("waiting for the bus …", throttle_duration_sec=5.0)
            return
        if self._runtime is None and self.trigger_configure() != TransitionCallbackReturn.SUCCESS:
            self._starter.cancel()
            self.failed = True
            return
        assert self._runtime is not None
        age = time.monotonic() - self._born
        if age < DISCOVERY:
            return
        if self._looks_to_wait > 0:
            self._looks_to_wait -= 1
            return
        try:
            self._runtime.check_system()
        except ConfigError as error:
            if age > QUIET_WAIT:
                self.get_logger().info(f"waiting: {error}", throttle_duration_sec=5.0)
            return
        if self._runtime.active or self.trigger_activate() == TransitionCallbackReturn.SUCCESS:
            self._starter.cancel()
            self._started_itself = True

    def _declare_parameters(self) -> None:
        known = {"robots": ", ".join(robot_names()), "laws": ", ".join(law_names())}
        declare(self, _STRUCTURE | _CHECKS, known=known, read_only=False)
        self._chosen = declare(self, _START, NUMBERS)

    def _configure(self) -> None:
        chosen = self._chosen
        robot = load_robot(
            self._value("robot"), self._value("profile"), self._value("prefix")
        ).at_rate(chosen["rate"])
        if chosen["frozen_after"] >= 0.0:
            robot = replace(
                robot, profile=replace(robot.profile, frozen_after=chosen["frozen_after"])
            )
        self._laws = LawCache(self._tuned, robot, chosen["gain_time_constant"])
        law = self._laws.get(self._value("law"))
        self._laws.declare_registered()
        loop = self._make_loop(robot, law)
        for doubt in doubts_of(robot, loop.model):
            self.get_logger().warning(f"{robot.name}: {doubt}")
        self._make_ready(*map(self._laws.get, self._laws.names))
        rate = chosen["telemetry_rate"]
        timeout = chosen["state_timeout"]
        checked = bool(self._value("check_system"))
        without_watchdog = chosen["without_watchdog"]
        records = str(chosen["record_folder"]), bool(chosen["save_faults"])
        self._runtime = ControllerRuntime(
            self, loop, self._tuned, rate, timeout, checked, without_watchdog, self._yield, records
        )

    def _make_loop(self, robot: RobotConfig, law: RunningLaw) -> Controller:
        time_constant = self._chosen["gain_time_constant"]
        description = self._chosen_description()
        if description is not None:
            description = robot.completed(description)
        bus = self._value("bus")
        if not bus:
            return ControlLoop(
                robot,
                law,
                model=RobotModel.of(robot, description),
                gain_time_constant=time_constant,
            )
        from ...fieldbus.process.protocol import memory_path
        from ...fieldbus.process.remote_loop import RemoteLoop

        name = self._value("robot")
        path = memory_path(bus)
        return RemoteLoop(robot, law, description, time_constant, name=name, path=path)

    def _make_ready(self, *laws: RunningLaw) -> None:
        """Compile what laws need, where they run in this process.

        Raises:
            ConfigError: a law would have to be compiled, and another one controls the arm.
        """
        if self._value("bus"):
            return
        active = self._runtime is not None and self._runtime.active
        for law in laws:
            if active:
                check_warm(law)
            else:
                warm_up(law.robot, [law.name], self.get_logger().info)

    def _clean_up(self) -> None:
        for part in (self._runtime, self._laws):
            if part is not None:
                part.close()
        self._runtime = None
        self._laws = None

    def _chosen_description(self) -> str | None:
        choice = self._value("description")
        if choice == "config":
            return None
        if choice != "topic":
            message = f"description = {choice!r}; choices: config, topic"
            raise ConfigError(message, name="description", value=choice, bound=("config", "topic"))
        if self._description is None:
            raise ConfigError("description = topic, but nothing has arrived on robot_description")
        return self._description

    def _on_description(self, message: String) -> None:
        used = self._runtime is not None and self._value("description") == "topic"
        if used and message.data != self._description:
            self.get_logger().warning(
                "a new robot_description arrived: it counts from the next configure on"
            )
        self._description = message.data

    def _check_structure(self, parameters: list[Parameter]) -> SetParametersResult:
        for parameter in parameters:
            if parameter.name not in _STRUCTURE or self._runtime is None:
                continue
            if parameter.name != "law":
                reason = f"{parameter.name} = {parameter.value!r}: deactivate, clean up, then set and configure"
                return SetParametersResult(successful=False, reason=reason)
            try:
                assert self._laws is not None
                law = self._laws.get(str(parameter.value))
                self._runtime.check_law(law)
                self._make_ready(law)
            except (RobotControlError, ParameterException) as error:
                return SetParametersResult(successful=False, reason=str(error))
        return SetParametersResult(successful=True)

    def _switch_law(self, parameters: list[Parameter]) -> None:
        for parameter in parameters:
            if parameter.name == "law" and self._runtime is not None and self._laws is not None:
                self._runtime.switch_law(self._laws.get(str(parameter.value)))


def main() -> None:
    """Run the node."""
    run(ControllerNode)
