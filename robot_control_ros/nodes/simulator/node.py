"""The simulator: a robot in MuJoCo that speaks as ros2_control's broadcasters and forward controllers do.

It is also what ros2_control's topic-based hardware interface can have behind it.

Topics, services and parameters: docs/simulator.md.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable
from typing import Any

import numpy as np
from geometry_msgs.msg import WrenchStamped
from rclpy.node import Node
from rosgraph_msgs.msg import Clock
from sensor_msgs.msg import JointState
from std_msgs.msg import Float64MultiArray, String
from std_srvs.srv import SetBool

from ...core.errors import ConfigError, HardwareFault, RobotControlError, refused
from ...core.types import Command, CommandMode
from ...robot.configuration import load_robot, robot_names
from ...simulation.imperfect_plant import arm_and_plant
from ...simulation.imperfections import imperfection_names
from ...simulation.mujoco_plant import PHYSICS_STEP, MujocoPlant
from ...simulation.scene import load_scene, scene_names
from ..common.entities import Entities
from ..common.messages import fill_joint_state, fill_wrench, read_joint_command, to_stamp, vector
from ..common.ros_params import declare
from ..common.running import LATCHED_QOS, PRIORITY, PRIORITY_TEXT, run, take_priority
from .gripper_controller import GripperController
from .lagging_clock import LaggingClock
from .scene_topics import SceneTopics

CLOCK_RATE = 100.0  # Hz: enough for timers, and a fifth of the load of the full rate
PUSH_DURATION = 0.2  # s of simulated time that a push acts without a newer one
CATCH_UP = 5  # periods, at most, that are made up for after a delay
PACINGS = ("realtime", "lockstep")
LOCKSTEP_RETRY = 1.0  # s without a command after which lockstep publishes the state again

_PARAMETERS = {
    "robot": ("ur5", "Robot: a name ({robots}) or the path of a YAML file."),
    "profile": ("sim", "Hardware profile of the robot's file; it gives the rate."),
    "pacing": ("realtime", "realtime, or lockstep: one period per command."),
    "scene": ("", "What stands around the robot: a name ({scenes}), the path of a YAML file, or nothing."),
    "imperfections": ("", "Of arm, sensors and line: a name ({imperfections}), the path of a YAML file, or nothing."),
    "joint_law": ("", "Law within the drives, called at every physics step: a name, package.module:Class, or none."),
    "paused": (False, "Begin paused."),
    "realtime_priority": (0, PRIORITY_TEXT.format(priority=PRIORITY)),
}
_NUMBERS = {
    "rate": (0.0, 0.0, 4000.0, "Joint states per second [Hz]; 0 takes the profile's."),
    "clock_rate": (CLOCK_RATE, 1.0, 4000.0, "Messages on /clock per simulated second, at most [Hz]."),
    "real_time_factor": (1.0, 0.01, 100.0, "Simulated seconds per second."),
    "physics_step": (PHYSICS_STEP, 1e-5, 0.02, "Step of the physics, at most [s]."),
    "repeated_stamps": (
        0.0,
        0.0,
        0.5,
        "Fraction of joint states with the stamp of the one before, as ros2_control's in simulated time; 0 for none.",
    ),
    "command_timeout": (0.2, 0.0, 60.0, "Timeout after which the joints hold [s]; 0 keeps the last command for ever."),
}


class SimulatorNode(Node):
    """Commands in, joint states, wrench and /clock out; see the module."""

    def __init__(self) -> None:
        super().__init__("simulator")
        names = {"robots": ", ".join(robot_names()), "scenes": ", ".join(scene_names())}
        names["imperfections"] = ", ".join(imperfection_names())
        self._chosen = chosen = declare(self, _PARAMETERS, _NUMBERS, names)
        robot = load_robot(chosen["robot"], chosen["profile"]).at_rate(chosen["rate"])
        rate, pacing = robot.profile.rate, chosen["pacing"]
        if pacing not in PACINGS:
            raise refused("pacing", pacing, f"must be one of: {', '.join(PACINGS)}", PACINGS)
        self._lockstep = pacing == "lockstep"
        self._robot, self._period = robot, 1.0 / rate
        self._arm, self._plant = arm_and_plant(
            robot,
            chosen["imperfections"] or None,
            command_timeout=chosen["command_timeout"],
            scene=load_scene(chosen["scene"]) if chosen["scene"] else None,
            joint_law=chosen["joint_law"] or None,
            physics_step=chosen["physics_step"],
        )
        self._stamps = LaggingClock(self._period, chosen["repeated_stamps"])
        self._paused = bool(chosen["paused"])
        self._pushes = LinkPushes(self._arm)
        self._begun_anew = False  # nothing published since the reset: a command still answers what was before
        self._entities = Entities(self)
        self._make_outputs(rate)
        self._make_inputs()
        self._restart_pacing()
        take_priority(self, chosen["realtime_priority"])
        self.get_logger().debug(f"simulating {robot.name} at {rate:g} Hz, {pacing}")

    def close(self) -> None:
        """Nothing is left moving in a simulation that ends."""
        self._entities.close()

    def _make_outputs(self, rate: float) -> None:
        entities, robot = self._entities, self._robot
        self._gripper = None if self._arm.gripper is None else GripperController(entities, self._arm.gripper)
        self._joint_state = JointState(name=[*robot.joints, *(self._gripper.joints if self._gripper else ())])
        self._wrench = WrenchStamped()
        self._wrench.header.frame_id = robot.wrench_frame
        self._clock_every = max(1, math.ceil(rate / self._chosen["clock_rate"]))
        self._published = 0
        self._joint_states = entities.publisher(JointState, "joint_states")
        self._wrenches = entities.publisher(WrenchStamped, "/force_torque_sensor_broadcaster/wrench")
        self._clocks = entities.publisher(Clock, "/clock")
        scene = self._arm.scene
        self._scene_topics = (
            None if scene is None else SceneTopics(entities, self._arm, robot, scene, self._report_errors, rate)
        )
        description = entities.publisher(String, "robot_description", LATCHED_QOS)
        description.publish(String(data=robot.urdf()))

    def _make_inputs(self) -> None:
        entities = self._entities
        for mode in CommandMode:
            topic = f"/forward_{mode.value}_controller/commands"
            entities.subscription(Float64MultiArray, topic, self._forward_command_callback(mode))
        entities.subscription(JointState, "joint_commands", self._report_errors(self._on_joint_command))
        entities.subscription(WrenchStamped, "~/push", self._report_errors(self._pushes.on_push))
        entities.service(SetBool, "~/pause", self._on_pause)
        entities.trigger("~/step", self._step_once)
        entities.trigger("~/reset", self._reset)
        if self._lockstep:
            entities.timer(LOCKSTEP_RETRY / 10.0, self._keep_lockstep_alive)
        else:
            entities.timer(self._period / self._chosen["real_time_factor"], self._keep_pace)

    # Time

    def _restart_pacing(self) -> None:
        self._wall_start, self._time_start = time.monotonic(), self._plant.time
        self._last_step = -math.inf

    def _keep_pace(self) -> None:
        if self._paused:
            return
        elapsed = (time.monotonic() - self._wall_start) * self._chosen["real_time_factor"]
        behind = elapsed - (self._plant.time - self._time_start)
        if behind > CATCH_UP * self._period:
            self._restart_pacing()
            behind = self._period
        while behind >= 0.5 * self._period:
            self._advance()
            behind -= self._period

    def _keep_lockstep_alive(self) -> None:
        """The first state, and the same again where its answer was lost or nobody was there to give one."""
        if not self._paused and time.monotonic() - self._last_step > LOCKSTEP_RETRY:
            self._publish()

    def _advance(self) -> None:
        self._pushes.expire()
        try:
            self._plant.advance()
        except HardwareFault as error:
            self._paused = True
            self.get_logger().fatal(f"{error}; paused: call ~/reset, then ~/pause with false")
            return
        self._publish()

    def _publish(self) -> None:
        self._last_step, self._begun_anew = time.monotonic(), False
        state = self._plant.sample()
        now, stamped = to_stamp(self._plant.time), self._stamps.stamp(state.time)
        if self._published % self._clock_every == 0:
            self._clocks.publish(Clock(clock=now))
        self._published += 1
        assert state.wrench is not None
        self._wrench.header.stamp = to_stamp(stamped)
        fill_wrench(self._wrench.wrench, np.concatenate((state.wrench.force, state.wrench.torque)))
        self._wrenches.publish(self._wrench)
        if self._scene_topics is not None:
            self._scene_topics.publish(now)
        parts = (state.q, state.v, state.effort)
        if self._gripper is not None:
            parts = self._gripper.beside(*parts)
        fill_joint_state(self._joint_state, stamped, *parts)
        self._joint_states.publish(self._joint_state)

    # Inputs

    def _forward_command_callback(self, mode: CommandMode) -> Callable[[Float64MultiArray], None]:
        return self._report_errors(lambda message: self._take(Command(mode, np.array(message.data))))

    def _on_joint_command(self, message: JointState) -> None:
        command = read_joint_command(message, self._robot.joints)
        if command is not None:
            self._take(command)

    def _take(self, command: Command) -> None:
        if self._begun_anew:
            return
        self._plant.write(command)
        if self._lockstep and not self._paused:
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
        response.success, response.message = True, "paused" if self._paused else "running"
        return response

    def _step_once(self) -> None:
        if not self._paused:
            raise ConfigError("the simulation is running: pause it first")
        self._advance()

    def _reset(self) -> None:
        self._plant.reset()
        self._begun_anew = True
        self._pushes.clear()
        self._restart_pacing()


class LinkPushes:
    """Passes pushes on to the plant, and ends them."""

    def __init__(self, plant: MujocoPlant) -> None:
        self._plant = plant
        self._pushed_at: dict[str, float] = {}

    def on_push(self, message: WrenchStamped) -> None:
        """A wrench in the axes of the link that header.frame_id names, at its origin.

        Raises:
            ConfigError, ModelError: numbers that aren't finite; an unknown link.
        """
        link = message.header.frame_id
        rotation = self._plant.link_rotation(link)
        force, torque = vector(message.wrench.force), vector(message.wrench.torque)
        self._plant.push(link, rotation @ force, rotation @ torque)
        self._pushed_at[link] = self._plant.time

    def expire(self) -> None:
        """End pushes that no newer message has renewed in time."""
        for link, since in list(self._pushed_at.items()):
            if self._plant.time - since > PUSH_DURATION:
                self._plant.push(link, np.zeros(3), np.zeros(3))
                del self._pushed_at[link]

    def clear(self) -> None:
        """Forget them: the plant was reset."""
        self._pushed_at.clear()


def main() -> None:
    """Run the node."""
    run(SimulatorNode)
