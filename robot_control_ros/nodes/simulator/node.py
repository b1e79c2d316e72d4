"""The simulator: robots in MuJoCo that speak as ros2_control's broadcasters and forward controllers
do.

It can also stand behind ros2_control's topic-based hardware interface.

Topics, services and parameters: docs/simulator.md.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable
from typing import Any

from rclpy.node import Node
from rosgraph_msgs.msg import Clock
from std_srvs.srv import SetBool

from ...core.bounded import Bounded
from ...core.errors import ConfigError, HardwareFault, RobotControlError, refused
from ...core.types import Command
from ...robot.configuration import load_robot, robot_names
from ...robot.implausible import doubts_of
from ...robot.model import RobotModel
from ...robot.profile import JOINT_STATE_RATE
from ...robot.workcell import MARK, load_workcell, workcell_names
from ...ros.entities import Entities
from ...ros.messages import to_stamp
from ...ros.ros_params import PREFIX_TEXT, declare
from ...ros.running import PRIORITY, PRIORITY_TEXT, run, take_priority
from ...simulation.imperfect.imperfect_plant import arm_and_plant
from ...simulation.imperfect.imperfections import imperfection_names
from ...simulation.mujoco_plant import PHYSICS_STEP, arms_in_one_world
from ...simulation.scene import load_scene, scene_names
from .lagging_clock import LaggingClock
from .simulated_arm import SimulatedArm

CLOCK_RATE = 100.0  # Hz: enough for timers, and a fifth of the load of the full rate
LATE = 1.5  # periods by which a step may be late, so that the next ones make up for it
PACINGS = ("realtime", "lockstep")
LOCKSTEP_RETRY = 1.0  # s without a command after which lockstep publishes the state again

_PARAMETERS = {
    "robot": ("ur5", "Robot: a name ({robots}) or the path of a YAML file."),
    "profile": ("sim", "Hardware profile of the robot's file; it gives the rate."),
    "prefix": ("", PREFIX_TEXT),
    "workcell": (
        "",
        "Several arms, which share a world, in place of robot: a name ({workcells}) or the path of a YAML file.",
    ),
    "pacing": ("realtime", "realtime, or lockstep: one period per command."),
    "scene": (
        "",
        "What stands around the robot: a name ({scenes}), the path of a YAML file, or nothing.",
    ),
    "imperfections": (
        "",
        "Of arm, sensors and line: a name ({imperfections}), the path of a YAML file, or nothing.",
    ),
    "joint_law": (
        "",
        "Law within the drives, called at every physics step: a name, package.module:Class, or none.",
    ),
    "paused": (False, "Begin paused."),
    "realtime_priority": (0, PRIORITY_TEXT.format(priority=PRIORITY)),
}
NUMBERS = {
    "rate": JOINT_STATE_RATE,
    "clock_rate": Bounded(
        default=CLOCK_RATE,
        lower=1.0,
        upper=4000.0,
        unit="Hz",
        doc="Messages on /clock per simulated second, at most.",
    ),
    "real_time_factor": Bounded(
        default=1.0, lower=0.01, upper=100.0, doc="Simulated seconds per second."
    ),
    "physics_step": Bounded(
        default=PHYSICS_STEP, lower=1e-5, upper=0.02, unit="s", doc="Step of the physics, at most."
    ),
    "repeated_stamps": Bounded(
        default=0.0,
        lower=0.0,
        upper=0.5,
        doc="Fraction of joint states with the stamp of the one before, as ros2_control's in simulated time; "
        "0 for none.",
    ),
    "command_timeout": Bounded(
        default=0.2,
        lower=0.0,
        upper=60.0,
        unit="s",
        doc="Timeout after which the joints hold; 0 keeps the last command for ever.",
    ),
}


class SimulatorNode(Node):
    """Commands in, joint states, wrench and /clock out; see the module."""

    def __init__(self) -> None:
        super().__init__("simulator")
        names = {"robots": ", ".join(robot_names()), "scenes": ", ".join(scene_names())}
        names |= {
            "imperfections": ", ".join(imperfection_names()),
            "workcells": ", ".join(workcell_names()),
        }
        chosen = declare(self, _PARAMETERS, NUMBERS, names)
        self._chosen = chosen
        pacing = chosen["pacing"]
        if pacing not in PACINGS:
            raise refused("pacing", pacing, f"must be one of: {', '.join(PACINGS)}", PACINGS)
        self._lockstep = pacing == "lockstep"
        self._entities = Entities(self)
        self._arms = self._make_arms()
        self._stamps = LaggingClock(self._period, chosen["repeated_stamps"])
        self._paused = bool(chosen["paused"])
        self._begun_anew = False  # True between a reset and the next state
        self._clock_every = max(1, math.ceil(self._rate / chosen["clock_rate"]))
        self._published = 0
        self._clocks = self._entities.publisher(Clock, "/clock")
        self._make_services()
        self._restart_pacing()
        take_priority(self, chosen["realtime_priority"])
        robots = chosen["workcell"] or chosen["robot"]
        self.get_logger().debug(f"simulating {robots} at {self._rate:g} Hz, {pacing}")

    def close(self) -> None:
        """Take topics and services back; a simulation that ends leaves nothing moving."""
        self._entities.close()

    def _make_arms(self) -> list[SimulatedArm]:
        """All arms in their world, by the namespaces of the work cell."""
        chosen = self._chosen
        settings = {
            "command_timeout": chosen["command_timeout"],
            "scene": load_scene(chosen["scene"]) if chosen["scene"] else None,
            "joint_law": chosen["joint_law"] or None,
            "physics_step": chosen["physics_step"],
        }
        if not chosen["workcell"]:
            robot = load_robot(chosen["robot"], chosen["profile"], chosen["prefix"]).at_rate(
                chosen["rate"]
            )
            robots = {"": robot}
            made = [arm_and_plant(robot, chosen["imperfections"] or None, **settings)]
        elif chosen["imperfections"]:
            raise refused(
                "imperfections",
                chosen["imperfections"],
                "must be empty: a work cell's arms have none",
            )
        else:
            cell = chosen["workcell"]
            profile = chosen["profile"]
            rate = chosen["rate"]
            robots = {
                name: load_robot(f"{cell}{MARK}{name}", profile).at_rate(rate)
                for name in load_workcell(cell).arms
            }
            made = [(arm, arm) for arm in arms_in_one_world(list(robots.values()), **settings)]
        for robot in robots.values():
            for doubt in doubts_of(robot, RobotModel.of(robot)):
                self.get_logger().warning(f"{robot.name}: {doubt}")
        self._rate = next(iter(robots.values())).profile.rate
        self._period = 1.0 / self._rate
        return [
            SimulatedArm(
                self._entities, robot, *plants, namespace, self._report_errors, self._on_command
            )
            for (namespace, robot), plants in zip(robots.items(), made, strict=True)
        ]

    def _make_services(self) -> None:
        """Make the services of the world, in each arm's namespace, too, and the timer of steps."""
        entities = self._entities
        for private in dict.fromkeys(("~", *(arm.private for arm in self._arms))):
            entities.service(SetBool, f"{private}/pause", self._on_pause)
            entities.trigger(f"{private}/step", self._step_once)
            entities.trigger(f"{private}/reset", self._reset)
        if self._lockstep:
            entities.timer(LOCKSTEP_RETRY / 10.0, self._keep_lockstep_alive)
        else:
            entities.timer(self._period / self._chosen["real_time_factor"], self._keep_pace)

    # Time

    @property
    def _time(self) -> float:
        return self._arms[0].plant.time

    def _restart_pacing(self) -> None:
        self._wall_start = time.monotonic()
        self._time_start = self._time
        self._last_step = -math.inf

    def _keep_pace(self) -> None:
        """Make one step where it is due. A delay of more than 1.5 periods isn't made up for.

        A controller takes only the newest of two states that come at once.
        """
        if self._paused:
            return
        elapsed = (time.monotonic() - self._wall_start) * self._chosen["real_time_factor"]
        behind = elapsed - (self._time - self._time_start)
        if behind > LATE * self._period:
            self._restart_pacing()
        if behind >= 0.5 * self._period:
            self._advance()

    def _keep_lockstep_alive(self) -> None:
        """Publish the state again after a second without a step, as its answer may be lost.

        So the first state is published, too. Where some of the arms have answered, the others'
        controllers have gone: lockstep waits for them no more, until they command again.
        """
        if self._paused or time.monotonic() - self._last_step <= LOCKSTEP_RETRY:
            return
        if all(arm.awaited for arm in self._arms if arm.present):
            self._publish()
            return
        for arm in self._arms:
            arm.present = arm.present and not arm.awaited
        self._advance()

    def _advance(self) -> None:
        for arm in self._arms:
            arm.expire_pushes()
        try:
            self._arms[0].plant.advance()  # which advances the world
        except HardwareFault as error:
            self._paused = True
            self.get_logger().fatal(f"{error}; paused: call ~/reset, then ~/pause with false")
            return
        self._publish()

    def _publish(self) -> None:
        self._last_step = time.monotonic()
        self._begun_anew = False
        now = to_stamp(self._time)
        stamped = self._stamps.stamp(self._arms[0].plant.sample().time)
        if self._published % self._clock_every == 0:
            self._clocks.publish(Clock(clock=now))
        self._published += 1
        for arm in self._arms:
            arm.awaited = True
        for arm in self._arms:
            arm.publish(now, stamped)

    # Inputs

    def _on_command(self, arm: SimulatedArm, command: Command) -> None:
        if self._begun_anew:
            return
        arm.plant.write(command)
        arm.awaited = False
        arm.present = True
        if (
            self._lockstep
            and not self._paused
            and not any(each.present and each.awaited for each in self._arms)
        ):
            self._advance()

    def _report_errors(self, callback: Callable[[Any], None]) -> Callable[[Any], None]:
        def callback_or_error(message: Any) -> None:
            try:
                callback(message)
            except RobotControlError as error:
                self.get_logger().error(f"refused: {error}", throttle_duration_sec=1.0)

        return callback_or_error

    # Services

    def _on_pause(self, request: SetBool.Request, response: SetBool.Response) -> SetBool.Response:
        self._paused = request.data
        self._restart_pacing()
        response.success = True
        response.message = "paused" if self._paused else "running"
        return response

    def _step_once(self) -> None:
        if not self._paused:
            raise ConfigError("the simulation is running: pause it first")
        self._advance()

    def _reset(self) -> None:
        self._arms[0].plant.reset()  # and the world with it
        self._begun_anew = True
        for arm in self._arms:
            arm.clear_pushes()
        self._restart_pacing()


def main() -> None:
    """Run the node."""
    run(SimulatorNode)
