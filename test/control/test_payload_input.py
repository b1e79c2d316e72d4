"""A payload that is told while the arm is under control: all know it at once,
and no torque jumps.
"""

import numpy as np
import pytest
from refusals import refuses

from robot_control_ros.control.law_replay import Replay
from robot_control_ros.control.loop import ControlLoop
from robot_control_ros.control.payload_input import robot_note
from robot_control_ros.core.cycle import RATE_LIMITED
from robot_control_ros.core.errors import ConfigError
from robot_control_ros.robot.configuration import load_robot
from robot_control_ros.robot.model import RobotModel
from robot_control_ros.robot.payload import Payload
from robot_control_ros.simulation.imperfect.imperfections import Imperfections, ModelErrors
from robot_control_ros.simulation.in_process import simulate
from robot_control_ros.simulation.mujoco_plant import MujocoPlant

pytestmark = pytest.mark.sim
# the last one differs by its figures alone
ROBOTS = ("ur5", "gen3", pytest.param("ur5e", marks=pytest.mark.long))
MASS, CENTER = 2.0, (0.0, 0.0, 0.05)
FIGURES = {"mass": MASS, "center": CENTER}
SOFT = {"stiffness": [500.0, 500.0, 500.0, 50.0, 50.0, 50.0]}
UNKNOWN = Imperfections(name="load", model=ModelErrors(payload_mass=MASS, payload_centre=CENTER))


class Arm:
    """A simulated arm in lockstep under a law, which carries 2 kg that nobody has told."""

    def __init__(self, name, law="impedance", gains=None, imperfections=UNKNOWN):
        self.robot = load_robot(name).at_rate(500.0)
        self.plant = MujocoPlant(self.robot, imperfections=imperfections)
        self.loop = ControlLoop(self.robot, law, gains)
        self.commands = []

    def run(self, seconds):
        for _ in range(round(seconds / self.robot.period)):
            command = self.loop.tick(self.plant.read())
            self.plant.write(command)
            self.commands.append(command.values)
        return self.loop.tip()[:3, 3].copy()

    def steps(self, last):
        """The largest change of each joint torque from cycle to cycle, of what the
        last cycles sent [N·m].
        """
        return np.abs(np.diff(self.commands[-last:], axis=0)).max(axis=0)

    @property
    def record(self):
        return self.loop.recorder.last()


@pytest.fixture(params=ROBOTS)
def name(request):
    return request.param


# --- declared before ---


@pytest.mark.few(1)
def test_a_declared_payload_does_not_sag_under_a_soft_spring(name):
    log = simulate(
        load_robot(name).with_payload(MASS, CENTER, 0.005), "impedance", SOFT, duration=3.0
    )
    assert np.abs(log.pose[:, :3, 3] - log.pose[0, :3, 3]).max() < 0.5e-3


@pytest.mark.few(1)
def test_an_unknown_payload_sags_by_its_weight_over_the_stiffness(name):
    """What the payload is told for: the test above would say nothing if nothing were mounted."""
    log = simulate(
        name, "impedance", SOFT, duration=3.0, imperfections=UNKNOWN, warn=lambda *trouble: None
    )
    assert log.pose[0, 2, 3] - log.pose[-1, 2, 3] == pytest.approx(MASS * 9.81 / 500.0, rel=0.02)


@pytest.mark.few(1)
def test_gravity_compensation_holds_a_declared_payload_still_for_a_minute(name):
    robot = load_robot(name).with_payload(MASS, CENTER, 0.005)
    log = simulate(robot, "gravity_compensation", duration=60.0, rate=250.0, physics_step=0.004)
    assert np.abs(log.pose[:, :3, 3] - log.pose[0, :3, 3]).max() < 0.5e-3
    assert np.abs(log.v).max() < 1e-3


# --- told while it moves ---


@pytest.mark.few(1)
def test_a_payload_that_is_told_at_rest_lifts_the_arm_back_to_its_target(name):
    arm = Arm(name, gains=SOFT)
    start = arm.run(0.01)
    assert start[2] - arm.run(3.0)[2] > 0.03
    arm.loop.payload.settings.set(FIGURES)
    assert np.abs(arm.run(4.0) - start).max() < 0.5e-3


@pytest.mark.few(3)
@pytest.mark.parametrize(
    "law", ["impedance", "gravity_compensation", "joint_impedance", "task_space_pd"]
)
def test_no_torque_jumps_where_a_payload_is_told_in_motion(name, law):
    """Its weight comes with the time constant of gains: the largest step of the motion is
    exceeded by a share of it.
    """
    arm = Arm(name, law, imperfections=None)
    arm.run(0.1)
    if law != "gravity_compensation":
        goal = arm.loop.tip()
        goal[:3, 3] += (0.0, 0.1, -0.1)
        arm.loop.motion.move_to(goal)
    arm.run(0.4)
    cycles = 50
    before = arm.steps(cycles)
    gravity = arm.loop.kin.gravity
    arm.loop.payload.settings.set(FIGURES)
    arm.run((cycles - 1) * arm.robot.period)
    change = np.abs(arm.loop.kin.gravity - gravity).max()
    share = arm.robot.period / 0.2
    assert change > 3.0  # N·m: a step would be seen
    assert (arm.steps(cycles) <= before + 2.0 * share * change).all()
    limited = arm.record["limited"][-cycles:].astype(int)
    assert not (limited & RATE_LIMITED).any()
    assert not arm.loop.fault


def test_positions_are_commanded_as_without_a_payload(name):
    arms = [Arm(name, "joint_pid", imperfections=None) for _ in range(2)]
    for arm in arms:
        arm.run(0.1)
        goal = np.array(arm.robot.home) + 0.1
        arm.loop.motion.move_joints_to(goal)
        arm.run(0.1)
    arms[1].loop.payload.settings.set(FIGURES)
    for arm in arms:
        arm.run(0.3)
    np.testing.assert_array_equal(arms[0].commands, arms[1].commands)


@pytest.mark.few(1)
def test_a_payload_is_no_contact_where_it_is_told(name):
    arm = Arm(name, gains=SOFT)
    arm.loop.contact.settings.set({"collision_torque": 3.0, "clamping_torque": 0.0})
    arm.run(3.0)
    arm.loop.payload.settings.set(FIGURES)
    arm.run(0.09)
    assert arm.loop.contact.found is None


@pytest.mark.few(1)
def test_the_momentum_observer_knows_the_payload(name):
    arm = Arm(name, gains=SOFT)
    arm.loop.wrench.settings.set({"source": "joint_effort"})
    arm.run(3.0)
    assert arm.loop.state.wrench_on_tip[2] == pytest.approx(-MASS * 9.81, rel=0.05)
    arm.loop.payload.settings.set(FIGURES)
    arm.run(4.0)
    assert np.abs(arm.loop.state.wrench_on_tip).max() < 0.1


def test_the_safe_output_holds_the_payload(name):
    arm = Arm(name)
    arm.loop.payload.settings.set(FIGURES)
    start = arm.run(0.5)
    for _ in range(1000):
        arm.plant.write(arm.loop.brake(arm.plant.read()))
    fallen = arm.loop.model.at(arm.plant.sample().q).pose[:3, 3] - start
    assert np.abs(fallen).max() < 1e-3


@pytest.mark.few(2)
@pytest.mark.parametrize("wait", [0.004, 0.1, 0.5], ids=str)
def test_a_load_that_the_safe_output_held_does_not_count_twice_once_it_is_told(name, wait):
    """The safe output has learnt the unknown load at rest; then the model has it, and soon after
    the arm is stopped.
    """
    arm = Arm(name, gains=SOFT)
    arm.run(3.0)
    arm.loop.payload.settings.set(FIGURES)
    start = arm.run(wait)
    for _ in range(1000):
        arm.plant.write(arm.loop.brake(arm.plant.read()))
    moved = arm.loop.model.at(arm.plant.sample().q).pose[:3, 3] - start
    assert np.linalg.norm(moved) < 0.015


# --- refused ---


def test_a_payload_that_a_joint_cannot_hold_at_this_posture_is_refused_before_it_is_taken(name):
    arm = Arm(name, imperfections=None)
    arm.run(0.01)
    settings = arm.loop.payload.settings
    heavy = Payload(100.0)
    model = arm.loop.model
    torque = model.holding_torque(arm.loop.kin, heavy)
    loads = np.abs(torque) / model.limits.effort
    joint = int(np.argmax(loads))
    assert loads[joint] > 1.0
    bound = float(model.limits.effort[joint])
    with refuses(arm.robot.joints[joint], float(torque[joint]), (-bound, bound)):
        settings.set({"mass": 100.0})
    arm.run(0.01)
    assert arm.loop.model.payload.mass == 0.0


def test_what_unloads_an_overloaded_joint_is_taken(name):
    robot = load_robot(name).with_payload(100.0)
    loop = ControlLoop(robot, "gravity_compensation")
    plant = MujocoPlant(load_robot(name))
    plant.write(loop.tick(plant.read()))
    loop.payload.settings.set({"mass": 60.0})
    plant.write(loop.tick(plant.read()))
    assert loop.model.payload.mass == 60.0
    with pytest.raises(ConfigError):
        loop.payload.settings.set({"mass": 61.0})


def test_a_payload_that_no_body_is_changes_nothing(name):
    loop = ControlLoop(load_robot(name), "impedance")
    before = loop.payload.settings.target
    for figures in (
        {"mass": -1.0},
        {"mass": 1.0, "inertia": [0.1, 0.1, 0.3, 0.0, 0.0, 0.0]},
        {"inertia": 0.1},
    ):
        with pytest.raises(ConfigError):
            loop.payload.settings.set(figures)
        assert loop.payload.settings.target is before


def test_a_robot_that_compensates_gravity_itself_has_to_be_told_too():
    assert robot_note(load_robot("ur5e", "real"))
    assert not robot_note(load_robot("ur5e", "sim"))


# --- wrench and record ---


def test_the_wrench_is_without_the_payload_however_the_wrist_turns(name):
    """The sensor's own tare is 0: what is left is what the payload doesn't explain."""
    robot = load_robot(name).with_payload(MASS, CENTER)
    plant, loop = MujocoPlant(robot), ControlLoop(robot, "joint_pid")
    random = np.random.default_rng(3)
    for _ in range(5):
        plant.reset(np.array(robot.home) + random.uniform(-0.5, 0.5, robot.n))
        loop.reset()
        loop.tick(plant.read())
        np.testing.assert_allclose(loop.state.wrench_on_tip, np.zeros(6), atol=1e-6)


def test_a_robot_whose_wrench_comes_without_payload_has_nothing_taken_out():
    robot = load_robot("ur5e", "real").with_payload(MASS, CENTER)
    plant, loop = MujocoPlant(robot), ControlLoop(robot, "joint_pid")
    loop.tick(plant.read())
    assert np.linalg.norm(loop.state.wrench_on_tip[:3]) == pytest.approx(MASS * 9.81, rel=1e-6)


def test_a_record_with_a_change_of_payload_is_computed_again_to_the_bit(name):
    arm = Arm(name, gains=SOFT)
    arm.run(0.3)
    arm.loop.payload.settings.set(FIGURES | {"inertia": 0.004})
    arm.run(0.3)
    replayed = Replay(RobotModel.of(arm.robot)).run(arm.record)
    assert replayed.replayed.all()
    assert replayed.difference().max() == 0.0
    assert np.unique(arm.record["payload"][:, 0]).tolist() == [0.0, MASS]
