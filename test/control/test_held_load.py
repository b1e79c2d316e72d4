"""A stopped arm under torques goes on holding what it held, and isn't driven by it."""

from dataclasses import replace

import numpy as np
import pytest

from robot_control_ros.control.command_watchdog import CommandWatchdog
from robot_control_ros.control.held_load import WORK, HeldLoad, per_kilogram_at
from robot_control_ros.control.safety import Safety
from robot_control_ros.core.types import CommandMode, RobotState
from robot_control_ros.laws.running_law import RunningLaw
from robot_control_ros.robot.configuration import load_robot
from robot_control_ros.robot.model import RobotModel

PushedArm = pytest.importorskip("pushed_arm").PushedArm
WEIGHT = np.array([0.0, 0.0, -2.0 * 9.81])  # N, of a load that nobody has declared
robots = pytest.mark.parametrize("name", ["ur5", "gen3"])


@pytest.mark.few(2)
@robots
@pytest.mark.parametrize("law", ["impedance", "joint_impedance"])
def test_a_stopped_arm_holds_a_load_that_it_held_before(name, law):
    arm = PushedArm(name, law)
    before, _ = arm.go(arm.loop.tick, 2.0, WEIGHT)
    stopped, shares = arm.go(arm.loop.brake, 3.0, WEIGHT)
    assert np.linalg.norm(stopped - before[-1], axis=1).max() <= 0.05
    assert shares.max() <= 1.0


@pytest.mark.few(1)
@robots
def test_an_arm_that_moves_with_a_load_comes_to_rest_near_by(name):
    arm = PushedArm(name, "impedance")
    arm.go(arm.loop.tick, 2.0, WEIGHT)
    goal = arm.loop.tip()
    goal[1, 3] += 0.15
    arm.loop.motion.move_to(goal)
    before, _ = arm.go(arm.loop.tick, 0.4, WEIGHT)
    stopped, shares = arm.go(arm.loop.brake, 1.0, WEIGHT)
    assert np.linalg.norm(stopped[-1] - before[-1]) <= 0.05
    assert shares.max() <= 1.0


@pytest.mark.few(1)
@robots
def test_a_load_that_falls_off_drives_a_stopped_arm_no_farther_than_its_work(name):
    arm = PushedArm(name, "impedance")
    before, _ = arm.go(arm.loop.tick, 2.0, WEIGHT)
    stopped, shares = arm.go(arm.loop.brake, 3.0)
    assert (
        np.linalg.norm(stopped - before[-1], axis=1).max() <= WORK / np.linalg.norm(WEIGHT) + 0.05
    )
    assert np.linalg.norm(stopped[-1] - stopped[-100]) <= 1e-3
    assert shares.max() <= 1.0


def test_the_work_of_what_is_held_is_bounded_however_the_arm_moves(rng):
    for _ in range(20):
        load = HeldLoad(6)
        rest = RobotState(0.0, np.zeros(6), np.zeros(6), np.zeros(6))
        held = rng.normal(scale=20.0, size=6)
        per_kilogram = rng.normal(size=6)
        for _ in range(200):
            load.learn(held, np.zeros(6), per_kilogram, rest, 0.01)
        np.testing.assert_allclose(load.torque(per_kilogram), held, rtol=1e-6)
        work, most, dt = 0.0, 0.0, 0.002
        drift = rng.normal(size=6)
        for _ in range(2000):
            v = drift + rng.normal(size=6)
            work += dt * float(load.torque(per_kilogram, v, dt) @ v)
            most = max(most, work)
        assert most <= 0.5 * WORK + 1e-3


def learnt(torque, per_kilogram):
    """What an arm has learnt that held a torque (n,) at rest."""
    load = HeldLoad(len(torque))
    rest = RobotState(0.0, np.zeros(len(torque)), np.zeros(len(torque)), np.zeros(len(torque)))
    for _ in range(200):
        load.learn(torque, np.zeros(len(torque)), per_kilogram, rest, 0.01)
    return load


@robots
def test_a_weight_at_the_tip_follows_the_posture(name, rng):
    robot = load_robot(name)
    model = RobotModel.of(robot)
    home = np.array(robot.home)
    friction = 0.1 * rng.normal(size=robot.n)
    here = model.at(home)
    load = learnt(here.jacobian[:3].T @ -WEIGHT + friction, per_kilogram_at(here))
    assert load.mass == pytest.approx(2.0, abs=0.05)
    for _ in range(10):
        there = model.at(home + 0.5 * rng.normal(size=robot.n))
        held = there.jacobian[:3].T @ -WEIGHT + friction
        assert load.torque(per_kilogram_at(there)) == pytest.approx(held, abs=0.5)


@robots
def test_what_is_no_weight_stays_as_it_was(name):
    robot = load_robot(name)
    model = RobotModel.of(robot)
    here = model.at(np.array(robot.home))
    there = model.at(np.array(robot.home) + 0.3)
    for force in ([30.0, 0.0, 0.0], [0.0, 20.0, 5.0], [0.0, 0.0, -30.0]):
        held = here.jacobian[:3].T @ np.array(force)
        load = learnt(held, per_kilogram_at(here))
        assert load.mass == 0.0
        assert load.torque(per_kilogram_at(there)) == pytest.approx(held, rel=1e-6)


@pytest.mark.few(2)
@robots
@pytest.mark.parametrize("law", ["impedance", "joint_impedance"])
def test_an_arm_that_is_blind_for_a_while_with_a_load_stays_near(name, law):
    """It moves, gets no joint states for 0.3 s, and goes on where it is then."""
    arm = PushedArm(name, law)
    arm.go(arm.loop.tick, 2.0, WEIGHT)
    goal = np.array(arm.robot.home)
    goal[0] += 1.0
    arm.loop.motion.move_joints_to(goal)
    before, _ = arm.go(arm.loop.tick, 0.3, WEIGHT)
    gone = [0.0]

    def blind(state):
        gone[0] += arm.period
        return arm.loop.stop(gone[0])

    arm.go(blind, 0.3, WEIGHT)
    after, shares = arm.go(arm.loop.tick, 0.7, WEIGHT)
    assert np.linalg.norm(after[-1] - before[-1]) <= 0.05
    assert shares.max() <= 1.0


@pytest.mark.few(2)
@robots
@pytest.mark.parametrize("blind", [False, True])
def test_a_moving_arm_stops_with_a_weight_that_it_never_held_at_rest(name, blind):
    """It gets the load as it begins to move."""
    arm = PushedArm(name, "impedance")
    arm.go(arm.loop.tick, 0.1)
    goal = np.array(arm.robot.home)
    goal[0] += 1.2
    arm.loop.motion.move_joints_to(goal)
    before, _ = arm.go(arm.loop.tick, 0.5, WEIGHT)
    assert arm.loop.safety.held_mass == pytest.approx(2.0, abs=0.3)
    gone = [0.0]

    def stop(state):
        gone[0] += arm.period
        return arm.loop.stop(gone[0]) if blind else arm.loop.brake(state)

    arm.go(stop, 0.4, WEIGHT)
    after, shares = arm.go(arm.loop.tick, 0.6, WEIGHT)
    assert np.linalg.norm(after[-1] - before[-1]) <= 0.05
    assert shares.max() <= 1.0


@robots
def test_a_moving_arm_takes_no_push_from_the_side_for_a_weight(name):
    arm = PushedArm(name, "impedance")
    arm.go(arm.loop.tick, 0.1)
    goal = np.array(arm.robot.home)
    goal[0] += 1.2
    arm.loop.motion.move_joints_to(goal)
    for _ in range(5):
        arm.go(arm.loop.tick, 0.1, np.array([0.0, -20.0, 0.0]))
        assert arm.loop.safety.held_mass == pytest.approx(0.0, abs=0.2)


@pytest.mark.few(1)
@robots
def test_a_load_that_is_gone_after_a_stop_drives_the_arm_by_millimetres(name):
    arm = PushedArm(name, "gravity_compensation")
    arm.loop.switch_law(RunningLaw(arm.robot, "impedance"))
    arm.go(arm.loop.tick, 2.0, WEIGHT)
    last = arm.loop.tick(arm.plant.read())
    arm.go(lambda state: last, 0.02)
    arm.go(lambda state: arm.loop.brake(state), 0.5, WEIGHT)
    before, _ = arm.go(arm.loop.tick, 0.002, WEIGHT)
    after, _ = arm.go(arm.loop.tick, 1.0)
    assert np.linalg.norm(after - before[-1], axis=1).max() <= 0.01


def test_noise_of_the_velocities_leaves_the_load_held(rng):
    load = HeldLoad(6)
    rest = RobotState(0.0, np.zeros(6), np.zeros(6), np.zeros(6))
    for _ in range(200):
        load.learn(np.full(6, 20.0), np.zeros(6), np.zeros(6), rest, 0.01)
    for _ in range(5000):
        torque = load.torque(np.zeros(6), rng.normal(scale=0.02, size=6), 0.002)
    assert (torque > 15.0).all()


@robots
def test_a_moving_arm_is_damped_also_where_the_robot_carries_its_weight_itself(name):
    robot = load_robot(name)
    profile = replace(robot.profile, gravity_by_robot=True)
    robot = replace(robot, profile=profile)
    model = RobotModel.of(robot)
    safety = Safety(robot, model.limits)
    v = 0.1 * model.limits.velocity
    q = np.array(robot.home)
    for k in range(200):
        state = RobotState(k * robot.period, q, v, np.zeros(robot.n))
        sent = safety.safe_output(CommandMode.EFFORT, state, model.at(q, v), robot.period)
    np.testing.assert_allclose(
        sent.values,
        np.clip(-np.array(robot.safe_damping) * v, -model.limits.effort, model.limits.effort),
    )


@pytest.mark.few(1)
@robots
def test_the_watchdog_holds_the_load_that_it_saw_being_held(name):
    arm = PushedArm(name, "impedance")
    watchdog = CommandWatchdog(arm.robot, arm.model, 0.04, 0.2, simulated=False)
    now = [0.0]

    def led(state):
        now[0] = state.time
        watchdog.on_state(state, now[0])
        command = arm.loop.tick(state)
        watchdog.on_command(command, now[0])
        return command

    before, _ = arm.go(led, 2.0, WEIGHT)
    last = [arm.loop.tick(arm.plant.read())]

    def silent(state):
        command = watchdog.on_state(state, state.time)
        if command is not None:
            last[0] = command
        return last[0]

    stopped, shares = arm.go(silent, 2.0, WEIGHT)
    assert watchdog.active
    assert np.linalg.norm(stopped - before[-1], axis=1).max() <= 0.05
    assert shares.max() <= 1.0
