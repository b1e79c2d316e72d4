"""What is asked of ros2_control's controller manager, and what is made of its answers."""

import sys
import threading
from types import SimpleNamespace

import pytest

pytest.importorskip("rclpy", reason="needs ROS 2 (rclpy)")


from robot_control_ros.bringup import SETUPS
from robot_control_ros.core.types import CommandMode
from robot_control_ros.robot.configuration import load_robot
from robot_control_ros.ros.findings import Level
from robot_control_ros.ros.system_check import check_controllers

WARN = 30  # rclpy's severity

pytestmark = pytest.mark.ros

ROBOT = load_robot("ur5", "mock")
SPAWN = "ros2 run controller_manager spawner forward_position_controller --inactive"
SWITCH = "ros2 control switch_controllers --strict"


def test_where_there_is_no_manager_nobody_is_asked(ros):
    assert check_controllers(ros.node, load_robot("ur5"), CommandMode.EFFORT) == []


def test_where_its_messages_are_missing_that_is_said(ros, monkeypatch):
    monkeypatch.setitem(sys.modules, "controller_manager_msgs.srv", None)
    (found,) = check_controllers(ros.node, ROBOT, CommandMode.POSITION)
    assert found.level is Level.OK
    assert (
        "/controller_manager can't be asked: controller_manager_msgs isn't installed here"
        in found.text
    )


class Manager:
    """A controller manager that answers list_controllers, in a thread of its own."""

    def __init__(self, ros, **states):
        import rclpy
        from controller_manager_msgs.srv import ListControllers
        from rclpy.executors import SingleThreadedExecutor

        self.states = states
        self._node = rclpy.create_node("controller_manager", context=ros.context)
        self._node.create_service(
            ListControllers, "/controller_manager/list_controllers", self._answer
        )
        self._executor = SingleThreadedExecutor(context=ros.context)
        self._executor.add_node(self._node)
        self._thread = threading.Thread(target=self._executor.spin, daemon=True)
        self._thread.start()

    def _answer(self, request, response):
        from controller_manager_msgs.msg import ControllerState

        for name, state in self.states.items():
            kind = "velocity" if "velocity" in name else "position"
            claimed = [f"{joint}/{kind}" for joint in ROBOT.joints] if "_controller" in name else []
            one = ControllerState(name=name, state=state, type="any/Type")
            one.required_command_interfaces = claimed
            one.claimed_interfaces = claimed if state == "active" else []
            response.controller.append(one)
        return response

    def close(self):
        self._executor.shutdown()
        self._thread.join()
        self._node.destroy_node()


@pytest.fixture
def manage(ros):
    """Makes the manager with controllers by state; the findings about it."""
    pytest.importorskip("controller_manager_msgs", reason="needs controller_manager_msgs")
    made = []

    def find(**states):
        made.append(Manager(ros, joint_state_broadcaster="active", **states))
        return check_controllers(ros.node, ROBOT, CommandMode.POSITION)

    yield find
    for manager in made:
        manager.close()


def test_an_active_controller_is_well(manage):
    (found,) = manage(forward_position_controller="active", joint_trajectory_controller="inactive")
    assert (found.level, found.text) == (Level.OK, "forward_position_controller is active")


def test_an_inactive_controller_is_told_with_the_switch(manage):
    (found,) = manage(
        forward_position_controller="inactive", joint_trajectory_controller="inactive"
    )
    assert (found.level, found.text) == (Level.WARNING, "forward_position_controller is inactive")
    assert found.command == f"{SWITCH} --activate forward_position_controller"


def test_an_unconfigured_controller_is_told_with_the_spawner(manage):
    (found,) = manage(forward_position_controller="unconfigured")
    assert (found.level, found.text) == (
        Level.WARNING,
        "forward_position_controller is unconfigured",
    )
    assert found.command == SPAWN


def test_rivals_that_have_the_joints_are_named_with_the_switch(manage):
    (found,) = manage(forward_position_controller="inactive", joint_trajectory_controller="active")
    assert found.level is Level.WARNING
    assert (
        found.text == "joint_trajectory_controller has the joints, not forward_position_controller"
    )
    assert found.command == (
        f"{SWITCH} --deactivate joint_trajectory_controller --activate forward_position_controller"
    )


def test_the_forward_controller_of_another_mode_is_a_rival(manage):
    (found,) = manage(forward_position_controller="inactive", forward_velocity_controller="active")
    assert (
        found.command
        == f"{SWITCH} --deactivate forward_velocity_controller --activate forward_position_controller"
    )


def test_a_controller_that_is_not_loaded_is_an_error_that_lists_those_that_are(manage):
    (found,) = manage(joint_trajectory_controller="active")
    assert found.level is Level.ERROR
    listed = "joint_state_broadcaster, joint_trajectory_controller"
    assert found.text == f"forward_position_controller isn't loaded; controllers: {listed}"
    assert found.command == SPAWN


def test_a_manager_that_does_not_answer_is_an_error_that_says_what_to_start(ros):
    pytest.importorskip("controller_manager_msgs", reason="needs controller_manager_msgs")
    (found,) = check_controllers(ros.node, ROBOT, CommandMode.POSITION)
    assert (found.level, found.text) == (Level.ERROR, "/controller_manager doesn't answer")
    assert found.command == ROBOT.profile.start


# --- the forward controller is activated next ---


@pytest.fixture
def states(monkeypatch):
    """What the manager answers, by name, whether its messages are installed or not."""
    found = {"forward_position_controller": "inactive"}

    def controllers(node, manager):
        claimed = tuple(f"{joint}/position" for joint in ROBOT.joints)
        return [
            SimpleNamespace(
                name=name, state=state, claimed_interfaces=claimed if state == "active" else ()
            )
            for name, state in found.items()
        ]

    monkeypatch.setattr("robot_control_ros.ros.system_check.manager_services", lambda: True)
    monkeypatch.setattr("robot_control_ros.ros.system_check.list_controllers", controllers)
    return found


@pytest.mark.parametrize("follows", [True, False])
def test_nobody_is_told_to_activate_what_is_activated_next(ros, states, follows):
    (found,) = check_controllers(ros.node, ROBOT, CommandMode.POSITION, follows)
    assert (found.level is Level.OK) is (found.command == "") is follows


def test_rivals_are_told_even_then(ros, states):
    states["joint_trajectory_controller"] = "active"
    (found,) = check_controllers(ros.node, ROBOT, CommandMode.POSITION, True)
    assert found.level is Level.WARNING


# in this process, which isn't to keep a processor to itself
HERE = {"autostart": False, "realtime_priority": 0}


@pytest.mark.parametrize("launched", [True, False])
def test_a_start_by_our_launch_file_has_no_warning_and_one_by_hand_has(
    ros, states, launched, monkeypatch
):
    """The parameters that the launch file gives, without the topics of a system."""
    from rclpy.lifecycle import TransitionCallbackReturn

    monkeypatch.setattr(
        "robot_control_ros.nodes.controller.runtime.check_system", lambda *given: []
    )
    spec = SETUPS["mock"].make().node("controller")
    by_hand = {name: value for name, value in spec.parameters.items() if name != "forward_follows"}
    parameters = {**(spec.parameters if launched else by_hand), **HERE}
    files, remappings = spec.parameter_files, spec.remappings
    node = ros.start("controller", parameters, parameter_files=files, remappings=remappings).node
    assert node.trigger_configure() is node.trigger_activate() is TransitionCallbackReturn.SUCCESS
    warnings = [text for _, severity, text in ros.graph.lines if severity == WARN]
    assert len(warnings) == (not launched)
