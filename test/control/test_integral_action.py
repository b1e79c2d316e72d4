"""Integral action takes over what keeps a resting arm from its target, within its bound, and
learns nothing else.
"""

from types import SimpleNamespace

import numpy as np
import pytest

from robot_control_ros.control.integral_action import IntegralAction
from robot_control_ros.core.types import Command, CommandMode, RobotState
from robot_control_ros.laws.running_law import RunningLaw
from robot_control_ros.robot.configuration import load_robot

PushedArm = pytest.importorskip("pushed_arm").PushedArm
imperfect = pytest.importorskip("robot_control_ros.simulation.imperfect.imperfections")
plants = pytest.importorskip("robot_control_ros.simulation.mujoco_plant")
robots = pytest.mark.parametrize("name", ["ur5e", "gen3"])
CASES = [
    (name, law, cause)
    for name in ("ur5e", "gen3")
    for law in ("impedance", "joint_impedance", "task_space_pd")
    for cause in ("torques", "masses", "load")
]
# the others are long
USUAL = (("ur5e", "impedance", "torques"), ("gen3", "joint_impedance", "masses"))
BOUND = 12.0  # N·m
PUSH = np.array([0.0, 20.0, 0.0])  # N
PERIOD = 0.002  # s


def disturbed(name, law, cause):
    """An arm with something that its model doesn't know, its loop's answer to a state, and a
    force on its forearm.
    """
    arm = PushedArm(name, law)
    offset = np.zeros(arm.robot.n)
    force = np.zeros(3)
    if cause == "torques":
        offset = np.minimum(0.05 * arm.model.limits.effort, 3.0)
    if cause == "masses":
        heavy = imperfect.Imperfections(model=imperfect.ModelErrors(mass=(0.2,)))
        arm.plant = plants.MujocoPlant(arm.robot, imperfections=heavy)
    if cause == "load":
        force = np.array([0.0, 0.0, -15.0])

    def answer(state):
        command = arm.loop.tick(state)
        return Command(command.mode, command.values + offset)

    return arm, answer, force


def error_at_rest(name, law, cause, max_torque):
    """How far [m] the tip stands from its target after 8 s."""
    arm, answer, force = disturbed(name, law, cause)
    arm.loop.integral.set({"max_torque": max_torque})
    arm.go(answer, 8.0, force, arm.model.links[-2])
    return float(np.linalg.norm(arm.loop.pose_error()[:3]))


@pytest.mark.few(1)
@pytest.mark.parametrize(
    ("name", "law", "cause"),
    [pytest.param(*case, marks=() if case in USUAL else pytest.mark.long) for case in CASES],
)
def test_what_the_model_does_not_know_is_learnt_at_rest(name, law, cause):
    without = error_at_rest(name, law, cause, 0.0)
    assert error_at_rest(name, law, cause, BOUND) < max(0.1 * without, 0.001)
    assert without > 0.005


@pytest.mark.few(1)
@robots
def test_a_measured_push_moves_the_arm_as_far_as_without_it(name):
    moved = []
    for bound in (0.0, BOUND):
        arm = PushedArm(name, "impedance")
        arm.loop.integral.set({"max_torque": bound})
        start = arm.go(arm.loop.tick, 1.0)[0][-1]
        end = arm.go(arm.loop.tick, 4.0, PUSH)[0][-1]
        assert arm.loop.state.wrench_on_tip is not None
        moved.append(np.linalg.norm(end - start))
    assert moved[0] > 0.02
    assert moved[1] == pytest.approx(moved[0], rel=0.02)


@pytest.mark.few(1)
@robots
def test_a_law_switch_and_a_lower_bound_take_no_step(name):
    first, second = (
        ("impedance", "joint_impedance") if name == "ur5e" else ("joint_impedance", "impedance")
    )
    arm, answer, force = disturbed(name, first, "torques")
    arm.loop.integral.set({"max_torque": BOUND})
    arm.go(answer, 4.0, force)
    held = arm.loop.report().terms["integral"]
    assert np.abs(held).max() > 1.0
    sent = [arm.plant.read().effort]
    arm.loop.switch_law(RunningLaw(arm.robot, second))
    arm.go(answer, 0.5, force)
    assert arm.loop.report().terms["integral"] == pytest.approx(held, abs=0.5)
    arm.loop.integral.set({"max_torque": 0.0})
    for _ in range(20):
        command = answer(arm.plant.read())
        arm.plant.write(command)
        sent.append(command.values)
    steps = np.abs(np.diff(sent[1:], axis=0)) / arm.period
    assert (steps <= np.array(arm.robot.effort_rate) * 1.001).all()
    assert not arm.loop.report().terms["integral"].any()


class Resting:
    """An integral action beside a law that holds a torque (n,) [N·m] beyond gravity."""

    def __init__(self, law="impedance", **settings):
        self.robot = load_robot("ur5e")
        self.running = RunningLaw(self.robot, law)
        self.action = IntegralAction(self.robot)
        self.action.settings.set({"max_torque": 5.0} | settings)
        self.kin = SimpleNamespace(gravity=np.linspace(-3.0, 4.0, self.robot.n))

    def go(self, seconds, held, v=0.0, free=True, wrench=None):
        """The torques (N, n) that it adds, one for each sample."""
        n = self.robot.n
        state = RobotState(0.0, np.zeros(n), np.full(n, v), np.zeros(n), wrench_on_tip=wrench)
        added = []
        for _ in range(round(seconds / PERIOD)):
            command = Command(CommandMode.EFFORT, self.kin.gravity + held)
            if self.action.acts:
                sent = self.action.add(command, self.running, state, self.kin, PERIOD, free)
                added.append(sent.values - command.values)
        return np.array(added)


def test_within_its_time_it_takes_over_what_the_law_holds():
    resting = Resting(time=2.0)
    held = np.array([1.0, -2.0, 0.5, 0.0, 0.3, -0.3])
    added = resting.go(1.1, held)[-1]
    # 0.1 s of rest first; little is forgotten in 1 s
    assert added == pytest.approx(0.5 * held, rel=0.02, abs=1e-12)


def test_it_stays_within_its_bound_and_leaves_torque_that_is_little():
    resting = Resting(max_torque=[5.0, 5.0, 5.0, 1.0, 1.0, 1.0])
    added = resting.go(20.0, np.array([50.0, -50.0, 0.05, 50.0, -50.0, 0.05]))
    assert np.abs(added).max(axis=0) == pytest.approx([5.0, 5.0, 0.0, 1.0, 1.0, 0.0])
    assert np.abs(np.diff(added, axis=0)).max() <= 50.0 * PERIOD * 1.01


def test_in_motion_in_contact_and_while_the_reference_moves_or_waits_it_stays_as_it_is():
    resting = Resting()
    held = np.full(6, 2.0)
    before = resting.go(1.0, held)[-1]
    assert before.min() > 1.0
    for hindered in (
        {"v": 0.1},
        {"free": False},
        {"wrench": np.array([3.0, 0.0, 0.0, 0.0, 0.0, 0.0])},
        {"wrench": np.array([0.0, 0.0, 0.0, 0.0, 0.5, 0.0])},
    ):
        assert (
            resting.go(2.0, held, **hindered)[50:] == resting.go(PERIOD, held, **hindered)
        ).all()
        resting.go(0.5, held * 0.0)  # velocities are low-passed
    assert np.abs(resting.go(0.2, held)[-1]).max() <= 5.0


def test_a_constant_torque_does_no_work_on_a_closed_way(rng):
    """In motion it is the gradient of -uᵀ q, whatever the law asks for meanwhile."""
    resting = Resting()
    resting.go(2.0, np.array([3.0, -2.0, 1.0, 1.0, -1.0, 0.5]))
    resting.go(0.2, np.zeros(6), v=0.2)
    way = rng.normal(size=(400, 6)) * 0.01
    way -= way.mean(axis=0)
    work = 0.0
    for step in way:
        work += resting.go(PERIOD, rng.normal(size=6) * 20.0, v=0.5)[0].dot(step)
    assert abs(work) < 1e-12


def test_a_law_without_a_spring_gets_nothing_of_it():
    resting = Resting(law="gravity_compensation")
    assert not resting.go(2.0, np.full(6, 2.0)).any()


def test_switched_off_it_adds_nothing_and_costs_nothing():
    resting = Resting()
    resting.go(2.0, np.full(6, 2.0))
    resting.action.settings.set({"max_torque": 0.0})
    assert not resting.go(PERIOD, np.full(6, 2.0)).any()
    assert not resting.action.acts


def test_positions_and_velocities_stay_as_they_are():
    resting = Resting()
    command = Command(CommandMode.POSITION, np.ones(6))
    state = RobotState(0.0, np.zeros(6), np.zeros(6), np.zeros(6))
    assert resting.action.add(command, resting.running, state, resting.kin, PERIOD, True) is command
