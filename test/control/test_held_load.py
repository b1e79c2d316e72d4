"""A stopped arm under torques goes on holding what it held, and isn't driven by it."""

from dataclasses import replace

import numpy as np
import pytest

from robot_control_ros.control.command_watchdog import CommandWatchdog
from robot_control_ros.control.held_load import WORK, HeldLoad
from robot_control_ros.control.safety import Safety
from robot_control_ros.core.types import CommandMode, RobotState
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
        for _ in range(200):
            load.learn(held, np.zeros(6), rest, 0.01)
        np.testing.assert_allclose(load.torque(), held, rtol=1e-6)
        work, most, dt = 0.0, 0.0, 0.002
        drift = rng.normal(size=6)
        for _ in range(2000):
            v = drift + rng.normal(size=6)
            work += dt * float(load.torque(v, dt) @ v)
            most = max(most, work)
        assert most <= 0.5 * WORK + 1e-3


def test_noise_of_the_velocities_leaves_the_load_held(rng):
    load = HeldLoad(6)
    rest = RobotState(0.0, np.zeros(6), np.zeros(6), np.zeros(6))
    for _ in range(200):
        load.learn(np.full(6, 20.0), np.zeros(6), rest, 0.01)
    for _ in range(5000):
        torque = load.torque(rng.normal(scale=0.02, size=6), 0.002)
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
