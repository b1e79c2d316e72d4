"""Robot on a controller and a simulator, all in lockstep: refusals, commands, a
controller that is killed.
"""

import time

import numpy as np
import pytest
from robot_trials import run_notebook, start_controller

pytest.importorskip("rclpy", reason="needs ROS 2 (rclpy)")
pytest.importorskip("mujoco")

from lockstep import LockstepRos

from robot_control_ros import ConfigError, HardwareFault, NotReached, Robot, StaleStateError
from robot_control_ros.client.ros_backend import RosBackend
from robot_control_ros.control.law_replay import Replay
from robot_control_ros.recording.cycle_file import CycleFile

pytestmark = [pytest.mark.ros, pytest.mark.sim]
SLOW = 60.0  # s, for a machine under load
# Hz: what a client does depends on no rate, and a slow arm takes a quarter of the time
RATE = 125.0


@pytest.fixture(scope="module")
def ros(tmp_path_factory):
    """The simulator has the stepped clock's pace: while a client waits for an answer, the arm goes
    on by as much. In lockstep with its controller it would go on five thousand times a second.
    """
    with LockstepRos(tmp_path_factory.mktemp("robot")) as ros:
        ros.start("simulator", {"robot": "ur5", "rate": RATE})
        start_controller(ros, rate=RATE, record_folder=str(tmp_path_factory.mktemp("records")))
        yield ros


@pytest.fixture(scope="module")
def shared(ros):
    with Robot("ur5", timeout=SLOW, lost_after=SLOW) as robot:
        yield robot


@pytest.fixture
def robot(shared):
    shared.set_law("impedance")
    shared.set_gains(stiffness=[1000.0] * 3 + [100.0] * 3, damping_ratio=1.0)
    shared.go_home(timeout=SLOW)
    return shared


def test_the_cells_of_the_notebook_run_on_a_running_controller(robot, capsys):
    names = run_notebook(running=True)
    assert "stiffness[0] 30000.0 (0.0, 10000.0)" in capsys.readouterr().out
    assert np.linalg.norm(names["state"].pose_error[:3]) < 5e-3
    assert robot.fault == ""  # closing one client leaves another


def test_a_payload_is_told_and_known_by_the_model_and_put_down(robot):
    assert robot.set_payload(1.5, (0.0, 0.0, 0.04), 0.002) == ""
    np.testing.assert_allclose(
        robot.payload.row, [1.5, 0.0, 0.0, 0.04, 0.002, 0.002, 0.002, 0.0, 0.0, 0.0]
    )
    np.testing.assert_array_equal(robot.model.payload.row, robot.payload.row)
    with pytest.raises(ConfigError):
        robot.set_payload(100.0)
    assert robot.payload.mass == 1.5
    robot.set_payload(0.0)
    assert robot.model.payload.mass == 0.0


def test_refusals_have_the_words_and_fields_of_the_simulation(robot):
    beyond = robot.pose
    beyond[0, 3] = 3.0
    attempts = [
        lambda each: each.set_gains(damping_ratio=0.5, stiffness=[1.0, -2.0, 3.0, 4.0, 5.0, 6.0]),
        lambda each: each.set_gains(frame="nonsense"),
        lambda each: each.set_gains(stifness=1.0),
        lambda each: each.move_to(beyond),
        lambda each: each.move_to(q=[9.0] * 6),
        lambda each: each.set_law("nonsense"),
    ]
    with Robot.simulated("ur5") as simulated:
        for attempt in attempts:
            errors = []
            for each in (robot, simulated):
                with pytest.raises(ConfigError) as refused:
                    attempt(each)
                errors.append(refused.value)
            assert str(errors[0]) == str(errors[1])
            assert errors[0].name in (errors[1].name, "law", "frame")
            assert errors[0].value == errors[1].value
    np.testing.assert_array_equal(robot.gains["damping_ratio"], np.ones(6))


def test_a_pose_beyond_reach_ends_the_call_when_the_arm_stands_and_holds_it(robot):
    began = robot.time
    with pytest.raises(NotReached, match="within reach"):
        robot.move_to((0.85, 0.3, 0.4), timeout=SLOW)
    assert robot.time - began < 10.0
    state = robot.wait_until(
        lambda state: np.linalg.norm(state.pose_error[:3]) < 0.01, timeout=SLOW
    )
    assert not state.moving
    assert robot.fault == ""
    with pytest.raises(NotReached):  # the tip comes home, the elbow has turned meanwhile
        robot.go_home(timeout=SLOW)
    robot.set_law("joint_impedance")
    robot.go_home(timeout=SLOW)


def test_the_rest_of_its_commands(robot):
    assert "counts as zero" in robot.zero_wrench()
    start = robot.state.reference_pose
    robot.jog([0.0, 0.0, 0.05, 0.0, 0.0, 0.0], 0.3)
    state = robot.wait_until(lambda state: not state.moving, timeout=SLOW)
    assert state.reference_pose[2, 3] > start[2, 3] + 0.01
    robot.set_law("joint_impedance")
    assert robot.law == "joint_impedance"
    assert "stiffness" in robot.gains
    robot.hold()


def test_joints_follow_a_path_that_is_refused_or_ends(robot):
    start = robot.state.blocks["reference_position"]
    goal = start + 0.05
    state = robot.follow_joints([1.0, 2.0], [start, goal], np.zeros((2, 6)), timeout=SLOW)
    assert np.abs(state.blocks["reference_position"] - goal).max() < 1e-6
    assert np.abs(state.q - goal).max() < 0.01
    with pytest.raises(ConfigError, match="must rise"):
        robot.follow_joints([2.0, 1.0], [start, goal])
    times = np.linspace(0.0, 10.0, 5000)
    with pytest.raises(ConfigError):  # more than a controller reads at once
        robot.follow_joints(times, np.tile(start, (5000, 1)))


def test_the_simulated_arm_is_pushed_and_comes_back(robot):
    robot.set_gains(stiffness=[500.0] * 3 + [50.0] * 3)
    rest = robot.wait(0.5)
    robot.push([0.0, 0.0, 10.0], 1.5)
    pushed = robot.state
    assert pushed.pose[2, 3] - rest.pose[2, 3] == pytest.approx(0.02, abs=1e-3)
    assert abs(robot.wait(2.0).pose[2, 3] - rest.pose[2, 3]) < 1e-3


def test_services_are_requested_by_name_and_parts_diagnose_themselves(robot):
    assert robot.request("controller/reset_ringing") == "the gains count again as they are"
    with pytest.raises(ConfigError) as refused:
        robot.request("ethercat/enable")
    assert refused.value.name == "ethercat/enable"
    robot.wait_until(lambda state: "controller: control loop" in robot.diagnostics, timeout=SLOW)
    loop = robot.diagnostics["controller: control loop"]
    assert int(loop.values["missed deadlines"]) >= 0


@pytest.mark.starts("the thread that writes a record, whose end is waited for")
def test_its_last_cycles_are_saved_here_and_can_be_replayed(robot, tmp_path):
    pytest.importorskip("mcap")
    robot.wait(1.0)
    file = CycleFile(robot.save_cycles(tmp_path / "last.mcap", 0.5))
    (block,) = file.blocks()
    kept = block["time"][-1] - block["time"][0] + 1.0 / RATE  # the last cycle counts whole
    assert 0.5 <= kept <= 1.6
    replayed = Replay(file.model()).run(block)
    assert replayed.replayed.all()
    assert replayed.difference().max() == 0.0
    with pytest.raises(ConfigError):
        robot.save_cycles(tmp_path / "nowhere" / "last.mcap")


def test_an_environment_on_a_running_controller(robot):
    pytest.importorskip("gymnasium")
    from robot_control_learning import ComplianceEnv

    env = ComplianceEnv("reach", robot, stiffness=True)
    for _ in range(2):
        seen, _ = env.reset(seed=1)
        assert seen in env.observation_space
        np.testing.assert_allclose(
            seen["pose"][:3], env.unwrapped.robot.state.pose[:3, 3], atol=1e-6
        )
        began = robot.time
        for _ in range(10):
            seen, reward, terminated, _, info = env.step(np.array([0, 0, 0.5, 0, 0, 0], np.float32))
            assert seen in env.observation_space
        assert not terminated
        assert "failure" not in info
        assert -1.0 <= reward < 0.0
        assert robot.time - began >= 0.4 - 1e-6
        assert seen["target"][2] == pytest.approx(0.05)
        assert seen["pose"][2] > robot.pose[2, 3] - 0.05
    env.close()
    assert robot.fault == ""


def test_another_robot_and_a_controller_that_is_not_there_are_named(robot):
    with pytest.raises(ConfigError, match="controls 'ur5'") as refused:
        Robot("ur5e", timeout=SLOW)
    assert (refused.value.name, refused.value.value, refused.value.bound) == (
        "robot",
        "ur5e",
        "ur5",
    )
    with pytest.raises(StaleStateError, match="no controller /left/controller") as missing:
        Robot(namespace="/left", timeout=0.1)
    assert missing.value.bound == ("/controller",)


def test_an_error_meanwhile_ends_the_search_for_a_controller(ros):
    """As where one of the processes that were started ends."""

    def fail():
        raise HardwareFault("the simulator ended")

    with pytest.raises(HardwareFault, match="the simulator ended"):
        RosBackend("", "/left", "controller", None, SLOW, SLOW, fail)


def test_a_killed_controller_ends_each_call_within_half_a_second(tmp_path):
    with LockstepRos(tmp_path) as ros:
        ros.start("simulator", {"robot": "ur5", "rate": RATE})
        controller = start_controller(ros, rate=RATE)
        with Robot("ur5", timeout=SLOW) as robot:
            lost, killed = [], []
            robot.on_fault(lost.append)

            def kill():
                killed.append(time.monotonic())
                controller.process.kill()

            ros.graph.after(500_000_000, kill)
            with pytest.raises(StaleStateError, match="does it still run"):
                robot.wait(SLOW)
            assert time.monotonic() - killed[0] < 0.5
            assert lost
            for call in (
                robot.hold,
                robot.go_home,
                lambda: robot.set_gains(stiffness=1.0),
                robot.zero_wrench,
            ):
                began = time.monotonic()
                with pytest.raises(StaleStateError):
                    call()
                assert time.monotonic() - began < 0.5
            start_controller(ros, rate=RATE, **{"impedance.stiffness": 321.0})
            ros.until(lambda: not robot.fault, "a new controller that is there")
            assert robot.gains["stiffness"][0] == 321.0


@pytest.mark.few(1)
@pytest.mark.parametrize("late", [0.0, 0.2, 0.9])
def test_faults_from_before_it_came_are_none(tmp_path, late):
    """The middleware keeps the last ones for it, and delivers them one by one."""
    with LockstepRos(tmp_path) as ros:
        ros.start("simulator", {"robot": "ur5", "rate": RATE})
        start_controller(ros, rate=RATE)
        Robot("ur5", timeout=SLOW).close()  # the controller is active
        ros.graph.on_latched = lambda publisher, number: (
            round((1 + number) * late * 1e9)
            if publisher.get_topic_name() == "/controller/fault"
            else 0
        )
        with Robot("ur5", timeout=SLOW) as robot:
            robot.wait(5.0)
            robot.hold()
            assert robot.fault == ""


def test_a_fault_from_before_it_came_that_lasts_is_the_present_one(tmp_path):
    with LockstepRos(tmp_path) as ros:
        ros.start("simulator", {"robot": "ur5", "rate": RATE})
        start_controller(ros, rate=RATE)
        contact = {"contact__collision_torque": 1e-4, "contact__reaction": "brake"}
        with Robot("ur5", timeout=SLOW) as robot:
            assert ros.set_atomically("controller", **contact).successful
            robot.jog([0.1, 0.0, 0.0, 0.0, 0.0, 0.0])
            ros.until(lambda: robot.fault, "a contact")
        with Robot("ur5", timeout=SLOW) as robot:
            assert robot.fault
            with pytest.raises(HardwareFault):
                robot.wait(1.0)


@pytest.mark.parametrize(
    ("given", "name", "value"),
    [
        ({"domain": 233}, "domain", 233),
        ({"domain": -1}, "domain", -1),
        ({"namespace": "my arm"}, "controller", None),
    ],
)
def test_a_domain_or_a_name_that_ros_does_not_have_is_refused(given, name, value):
    with pytest.raises(ConfigError) as refused:
        Robot("ur5", timeout=0.1, **given)
    assert refused.value.name == name
    assert value is None or refused.value.value == value
