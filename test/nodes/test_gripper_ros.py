"""A gripper over DDS: commands by topic, the client, the shell; who is lost opens nothing."""

import math
from functools import partial
from types import SimpleNamespace
from typing import ClassVar

import pytest

pytest.importorskip("rclpy", reason="needs ROS 2 (rclpy)")
pytest.importorskip("mujoco", reason="the simulator needs MuJoCo")

from lockstep import LockstepRos
from sensor_msgs.msg import JointState
from std_msgs.msg import Float64MultiArray

from robot_control_ros import ConfigError
from robot_control_ros.robot.configuration import load_robot
from robot_control_ros.ros.entities import Entities
from robot_control_ros.ros.gripper_commands import RosGripper
from robot_control_ros.simulation.mujoco_plant import MujocoPlant

pytestmark = [pytest.mark.ros, pytest.mark.sim]
NAME = "ur5+robotiq_2f85"
ROBOT = load_robot(NAME)
GRIPPER = ROBOT.gripper
OPEN, CLOSED = GRIPPER.positions
SLOW = 60.0  # s, for a machine under load


def driven(message):
    return message.position[list(message.name).index(GRIPPER.joint)]


def test_commands_move_the_fingers_and_stay_when_nobody_is_there_any_more(tmp_path):
    with LockstepRos(tmp_path) as ros:
        ros.start("simulator", {"robot": NAME, "rate": 100.0})
        states = ros.subscribe(JointState, "joint_states")
        entities = Entities(ros.node)
        gripper = RosGripper(ros.node, entities, GRIPPER, "joint_states")
        ros.until(lambda: gripper.ready and gripper.grip, "the gripper")
        assert list(states.last.name) == [*ROBOT.joints, GRIPPER.joint]
        assert len(states.last.velocity) == len(states.last.effort) == len(states.last.name)
        assert gripper.grip.width == pytest.approx(0.085, abs=1e-3)
        with pytest.raises(ConfigError):
            gripper.command(CLOSED, 500.0)
        gripper.command(CLOSED, 50.0)
        ros.until(lambda: gripper.grip and gripper.grip.rests, "the fingers rest")
        assert driven(states.last) == pytest.approx(CLOSED, abs=1e-3)
        assert not gripper.grip.holding
        commands = ros.publisher(Float64MultiArray, f"{GRIPPER.controller}/commands")
        ros.until(lambda: commands.get_subscription_count() > 0, "the simulator listens")
        for wrong in ([CLOSED + 0.1, 50.0], [OPEN, 1.0], [math.nan, 50.0], [], [OPEN, 50.0, 1.0]):
            commands.publish(Float64MultiArray(data=wrong))
        entities.close()
        ros.node.destroy_publisher(commands)
        count = len(states)
        ros.until(
            lambda: len(states) > count + 60, "longer than the time-out of the arm's commands"
        )
        assert driven(states.last) == pytest.approx(CLOSED, abs=1e-3)


class FakeServer:
    """Of an action: keeps the callbacks that it is made with, and is one of those `made`."""

    made: ClassVar[list] = []

    def __init__(self, node, kind, name, **callbacks):
        self.name, self.callbacks, self.destroy = name, callbacks, lambda: None
        self.made.append(self)


class FakeGoal:
    """A goal's handle: runs what executes it until it waits, and again until the end."""

    def __init__(self, position, force):
        self.request = SimpleNamespace(command=SimpleNamespace(position=[position], effort=[force]))
        self.is_cancel_requested, self.end = False, ""
        self.succeed, self.canceled, self.abort = (
            partial(self._ends, name) for name in ("done", "canceled", "aborted")
        )

    def _ends(self, how):
        self.end = how

    def execute(self, callback):
        self._running = callback(self)
        self.result = None
        self.go_on()

    def go_on(self):
        try:
            self._running.send(None)
        except StopIteration as end:
            self.result = end.value


def test_the_action_of_the_simulated_controller_ends_its_goals_as_ros2_controllers_does(
    monkeypatch,
):
    """Without its messages, which are on no index: with fields alone, and no DDS."""
    from rclpy.action import server

    from robot_control_ros.nodes.simulator import gripper_controller

    kind = SimpleNamespace(Result=SimpleNamespace)
    monkeypatch.setattr(gripper_controller, "action_type", lambda gripper: kind)
    made = []
    monkeypatch.setattr(
        server,
        "ActionServer",
        lambda *given, **named: made.append(FakeServer(*given, **named)) or made[0],
    )
    node = SimpleNamespace(
        executor=None, get_logger=lambda: SimpleNamespace(error=lambda text: None)
    )
    entities = SimpleNamespace(
        node=node, subscription=lambda *given: None, on_close=lambda action: None
    )
    plant = MujocoPlant(ROBOT, rate=100.0)
    controller = gripper_controller.GripperController(entities, plant.gripper, "")
    (action,) = made
    assert action.name == "robotiq_gripper_controller/gripper_cmd"

    def run(periods):
        for _ in range(periods):
            state = plant.read()
            controller.beside(state.q, state.v, state.effort)

    def send(position, force=50.0):
        goal = FakeGoal(position, force)
        assert action.callbacks["goal_callback"](goal.request) is server.GoalResponse.ACCEPT
        action.callbacks["handle_accepted_callback"](goal)
        return goal

    assert (
        action.callbacks["goal_callback"](FakeGoal(CLOSED, 1000.0).request)
        is server.GoalResponse.REJECT
    )
    first = send(CLOSED)
    run(10)
    assert first.result is None
    second = send(0.4)
    first.go_on()
    assert first.end == "aborted"
    run(100)
    second.go_on()
    assert second.end == "done"
    assert (second.result.reached_goal, second.result.stalled) == (True, False)
    assert second.result.state.position[0] == pytest.approx(0.4, abs=1e-3)
    third = send(OPEN)
    run(10)
    third.is_cancel_requested = True
    assert action.callbacks["cancel_callback"](third) is server.CancelResponse.ACCEPT
    third.go_on()
    assert third.end == "canceled"
    stopped = plant.gripper.joint_state[0]
    run(50)
    assert plant.gripper.joint_state[0] == pytest.approx(stopped, abs=0.02)
    assert action.callbacks["cancel_callback"](third) is server.CancelResponse.REJECT


def test_a_command_that_was_lost_is_sent_again_until_the_fingers_begin(ros):
    """Over DDS a publisher may know a subscription that does not know the publisher yet."""
    ros.start("simulator", {"robot": NAME, "rate": 100.0})
    gripper = RosGripper(ros.node, Entities(ros.node), GRIPPER, "joint_states")
    ros.until(lambda: gripper.ready and gripper.grip, "the gripper")
    sent = []

    def lose_the_first(publisher, data):
        if publisher.name != f"/{GRIPPER.controller}/commands":
            return [(0, data)]
        sent.append(data)
        return [] if len(sent) <= 3 else [(0, data)]

    ros.graph.on_message = lose_the_first
    gripper.command(CLOSED, 50.0)
    ros.until(lambda: gripper.grip and gripper.grip.rests, "the fingers rest")
    assert gripper.grip.width == pytest.approx(0.0, abs=1e-3)
    count = len(sent)
    ros.wait(1.0)
    assert len(sent) == count  # those that have begun are left alone
