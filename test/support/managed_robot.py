"""A look-alike of ros2_control in front of a simulated arm: manager, forward and trajectory
controllers.

It speaks the real one's protocol and keeps its order: a switch takes effect in the next update, and
is published on ``~/activity`` after that. A forward controller forgets its command when it is
activated, and executes none before the next one arrives (ros2_controllers,
forward_controllers_base.cpp). The trajectory controller begins where the joints are.
"""

from __future__ import annotations

import os
import sys
import time
from importlib.util import find_spec
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
from rclpy.qos import DurabilityPolicy, QoSProfile
from ros_support import Ros
from sensor_msgs.msg import JointState
from std_msgs.msg import Float64MultiArray

from robot_control_ros.core.types import Command, CommandMode
from robot_control_ros.robot.configuration import RobotConfig, load_robot
from robot_control_ros.ros.messages import to_stamp
from robot_control_ros.simulation.mujoco_plant import MujocoPlant

STAND_IN = Path(__file__).parent / "stand_in"
TRAJECTORY = "joint_trajectory_controller"
FORWARD = {mode: f"forward_{mode.value}_controller" for mode in CommandMode}
# s for which time stands still where a joint state isn't answered: machines of tests are loaded
UNANSWERED = 0.2
LATCHED = QoSProfile(depth=1, durability=DurabilityPolicy.TRANSIENT_LOCAL)
ROBOT = """
name: managed
extends: ur5
profiles:
  managed:
    description: a look-alike of ros2_control
    rate: {rate:g}
    commands: [{mode}]
    gravity_by_robot: false
    controller_manager: /controller_manager
    fallback_controller: joint_trajectory_controller
"""


def managed_robot(folder: Path, rate: float, mode: CommandMode) -> tuple[str, RobotConfig]:
    """A UR5 behind ros2_control, one command interface of which works: its file,
    and its configuration.
    """
    path = folder / "managed.yaml"
    path.write_text(ROBOT.format(rate=rate, mode=mode.value), encoding="utf-8")
    return str(path), load_robot(str(path), "managed")


def use_stand_in(ros: Ros, monkeypatch: Any, *packages: str) -> None:
    """Let this process and the nodes that it starts have messages of packages, where
    these aren't installed.
    """
    for package in packages:
        found = find_spec(package)
        if found is None or str(found.origin).startswith(str(STAND_IN)):
            put_first(ros, monkeypatch, package, STAND_IN / package)


def put_first(ros: Ros, monkeypatch: Any, package: str, folder: Path) -> None:
    """Let this process and the nodes that it starts take a package from a folder."""
    monkeypatch.syspath_prepend(str(folder))
    paths = [str(folder), ros.environment.get("PYTHONPATH", "")]
    ros.environment["PYTHONPATH"] = os.pathsep.join(filter(None, paths))
    monkeypatch.setitem(sys.modules, package, None)
    monkeypatch.delitem(sys.modules, package)


class ManagedRobot:
    """The arm in MuJoCo, and the controllers that have its joints.

    Args:
        ros: the test's; all of it runs while that spins.
        robot: its configuration.
        delay: between a switch's request and its effect [updates].

    Attributes:
        states: of all controllers, by name.
        plant: the simulated arm.
        commands: what went to the joints: the controller's name and the command, oldest first.
        q, v: (k, n) what the joints did.
    """

    def __init__(self, ros: Ros, robot: RobotConfig, delay: int = 3) -> None:
        self.robot, self._delay = robot, delay
        self.plant = MujocoPlant(robot)
        self.states = dict.fromkeys((*FORWARD.values(), TRAJECTORY), "inactive")
        self.commands: list[tuple[str, Command | None]] = []
        self.q: list[np.ndarray] = []
        self.v: list[np.ndarray] = []
        self._ros, self._received = ros, dict.fromkeys(FORWARD.values())
        self._goal: tuple[np.ndarray, np.ndarray, float, float] | None = None
        self._pending: list[tuple[int, list[str], list[str]]] = []
        self._updates, self._answered, self._sent_at = 0, True, 0.0
        self.node: Any = None
        self.start()

    # --- the manager ---

    def start(self) -> None:
        """Start the manager, with no controller active."""
        from controller_manager_msgs.msg import ControllerManagerActivity
        from controller_manager_msgs.srv import ListControllers, SwitchController

        self.states = dict.fromkeys(self.states, "inactive")
        self.node = self._ros.create_node("controller_manager")
        self._activity = self.node.create_publisher(
            ControllerManagerActivity, "/controller_manager/activity", LATCHED
        )
        self._kind = ControllerManagerActivity
        self._states = self.node.create_publisher(JointState, "joint_states", 10)
        self.node.create_service(
            ListControllers, "/controller_manager/list_controllers", self._list
        )
        self.node.create_service(
            SwitchController, "/controller_manager/switch_controller", self._switch
        )
        for name in FORWARD.values():
            self.node.create_subscription(
                Float64MultiArray,
                f"/{name}/commands",
                lambda message, name=name: self._take(name, message),
                10,
            )
        self.node.create_timer(1.0 / self.robot.profile.rate, self._update)
        self._publish_activity()

    def kill(self) -> None:
        """End the manager; the joints are held, as a robot's brakes would."""
        self._ros.executor.remove_node(self.node)
        self.node.destroy_node()
        self.plant.close()

    def switch(
        self, activate: list[str], deactivate: list[str] | None = None, strict: bool = True
    ) -> bool:
        """Change who has the joints, as the service does; returns whether it was accepted.

        A strict switch is refused where a controller isn't loaded, or is already as it should be,
        or where two would have the joints; best effort leaves such out, but for the last.
        """
        accepted = self._begin_switch(activate, deactivate or [], strict)
        self._ros.until(lambda: not self._pending, "a switch of controllers")
        return accepted

    def _begin_switch(self, activate: list[str], deactivate: list[str], strict: bool) -> bool:
        wrong = [name for name in activate if self.states.get(name) != "inactive"]
        wrong += [name for name in deactivate if self.states.get(name) != "active"]
        if strict and wrong:
            return False
        activate = [name for name in activate if name not in wrong]
        deactivate = [name for name in deactivate if name not in wrong]
        remaining = {name for name, state in self.states.items() if state == "active"} - set(
            deactivate
        )
        if len(remaining | set(activate)) > 1:
            return False
        self._pending.append((self._updates + self._delay, activate, deactivate))
        return True

    def move(self, goal: np.ndarray, seconds: float) -> None:
        """A goal (n,) of the trajectory controller."""
        self._goal = self.plant.sample().q, goal, self.plant.time, seconds

    def _switch(self, request: Any, response: Any) -> Any:
        strict = request.strictness == type(request).STRICT
        response.ok = self._begin_switch(
            list(request.activate_controllers), list(request.deactivate_controllers), strict
        )
        return response

    def _list(self, request: Any, response: Any) -> Any:
        from controller_manager_msgs.msg import ControllerState

        response.controller = [
            ControllerState(
                name=name,
                state=state,
                claimed_interfaces=self._claimed(name) if state == "active" else [],
            )
            for name, state in self.states.items()
        ]
        return response

    def _claimed(self, name: str) -> list[str]:
        interface = "position" if name == TRAJECTORY else name.split("_")[1]
        return [f"{joint}/{interface}" for joint in self.robot.joints]

    def _publish_activity(self) -> None:
        message = self._kind()
        message.controllers = self._named_states()
        self._activity.publish(message)

    def _named_states(self) -> list[Any]:
        if find_spec("controller_manager_msgs.msg").origin.startswith(str(STAND_IN)):
            return [SimpleNamespace(name=name, state=state) for name, state in self.states.items()]
        from controller_manager_msgs.msg import NamedLifecycleState
        from lifecycle_msgs.msg import State

        return [
            NamedLifecycleState(name=name, state=State(label=state))
            for name, state in self.states.items()
        ]

    # --- one update: switches, then the controllers, then the joints ---

    def _take(self, name: str, message: Float64MultiArray) -> None:
        self._answered = True
        values = np.array(message.data)
        if values.shape == (self.robot.n,) and np.isfinite(values).all():
            self._received[name] = values

    def _update(self) -> None:
        if not (self._answered or time.monotonic() - self._sent_at > UNANSWERED):
            return
        self._updates += 1
        switched = [entry for entry in self._pending if entry[0] <= self._updates]
        for entry in switched:
            self._activate(*entry[1:])
        state = self.plant.read()
        self.q.append(state.q)
        self.v.append(state.v)
        self._command()
        message = JointState(name=list(self.robot.joints))
        message.header.stamp = to_stamp(state.time)
        message.position, message.velocity, message.effort = (
            x.tolist() for x in (state.q, state.v, state.effort)
        )
        self._answered, self._sent_at = False, time.monotonic()
        self._states.publish(message)
        for entry in switched:
            self._pending.remove(entry)
            self._publish_activity()

    def _activate(self, activate: list[str], deactivate: list[str]) -> None:
        self.states.update(
            dict.fromkeys(deactivate, "inactive") | dict.fromkeys(activate, "active")
        )
        for name in activate:
            self.plant.close()  # held before the first command
            if name == TRAJECTORY:
                q = self.plant.sample().q
                self._goal = q, q, self.plant.time, 1.0
            else:
                self._received[name] = None

    def _command(self) -> None:
        """Hand the active controller's command to the joints; they hold where nobody has
        commanded them yet.
        """
        active = next((name for name, state in self.states.items() if state == "active"), "")
        command = None
        if active == TRAJECTORY and self._goal is not None:
            start, goal, begin, seconds = self._goal
            s = min((self.plant.time - begin) / seconds, 1.0)
            command = Command(
                CommandMode.POSITION, start + (3.0 * s**2 - 2.0 * s**3) * (goal - start)
            )
        elif active and self._received.get(active) is not None:
            command = Command(CommandMode(active.split("_")[1]), self._received[active])
        if command is not None:
            self.plant.write(command)
        self.commands.append((active, command))
