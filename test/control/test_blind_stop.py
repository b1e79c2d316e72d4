"""An arm whose joint states stop: it comes to rest all the same."""

from dataclasses import replace

import numpy as np
import pytest
from arms import random_arm

from robot_control_ros.control.blind_stop import BlindStop, RecentMotion
from robot_control_ros.control.command_watchdog import CommandWatchdog
from robot_control_ros.control.loop import ControlLoop
from robot_control_ros.core.types import Command, CommandMode, RobotState, Wrench
from robot_control_ros.robot.configuration import load_robot
from robot_control_ros.robot.profile import HardwareProfile

RATE = 500.0
DT = 1.0 / RATE
FINE = 8  # steps of the mechanics in a period
SILENCE = 0.06  # s without joint states after which the stop begins


def arm_of(seed, joints=4, **profile):
    arm = random_arm(seed, joints)
    config = arm.config(
        effort_rate=(1500.0,) * joints,
        safe_damping=(1.0,) * joints,
        profile=HardwareProfile(
            RATE, tuple(CommandMode), **({"gravity_by_robot": False} | profile)
        ),
    )
    return config, arm.model(rotor_inertia=(0.3,) * joints)


class Mechanics:
    """An arm that moves as its model says, under commands of torque; `held`
    joints stand at a wall.
    """

    def __init__(self, model, q, v, gravity_by_robot=False, held=False):
        self.model, self.q, self.v, self.time = model, q.copy(), v.copy(), 5.0
        self.gravity_by_robot, self.held = gravity_by_robot, held

    def state(self):
        return RobotState(self.time, self.q.copy(), self.v.copy(), np.full(len(self.q), np.nan))

    def go_on(self, torque, seconds=DT):
        """Move under a torque (n,)."""
        for _ in range(round(seconds / DT) * FINE):
            applied = torque + (self.model.at(self.q).gravity if self.gravity_by_robot else 0.0)
            if not self.held:
                self.v = self.v + DT / FINE * self.model.forward_dynamics(self.q, self.v, applied)
                self.q = self.q + DT / FINE * self.v
        self.time += seconds


def start(model, seed):
    rng = np.random.default_rng(seed)
    n = model.n
    return rng.uniform(-1.0, 1.0, n), rng.uniform(-0.6, 0.6, n)


@pytest.mark.few(4)
@pytest.mark.parametrize("gravity_by_robot", [False, True])
@pytest.mark.parametrize("seed", range(6))
def test_an_arm_in_motion_comes_to_rest_within_half_a_second_and_stays(seed, gravity_by_robot):
    config, model = arm_of(seed, gravity_by_robot=gravity_by_robot)
    arm = Mechanics(model, *start(model, seed), gravity_by_robot)
    held = 0.0 if gravity_by_robot else model.at(arm.q).gravity
    torque = held + np.random.default_rng(seed + 100).uniform(-1.0, 1.0, model.n)
    motion = RecentMotion()
    for _ in range(10):
        motion.observe(arm.state())
        last = arm.state()
        arm.go_on(torque)
    arm.go_on(torque, SILENCE - DT)
    stop = BlindStop(config, model, last, motion.acceleration(last), SILENCE)
    moved = np.abs(arm.v).max()
    for k in range(round(0.5 / DT)):
        arm.go_on(stop.torque(SILENCE + k * DT))
    at_rest = arm.q.copy()
    assert np.abs(arm.v).max() < 0.15 * moved
    for k in range(round(0.5 / DT)):
        arm.go_on(stop.torque(SILENCE + 0.5 + k * DT))
    assert np.abs(arm.q - at_rest).max() < 0.1
    predicted, _ = stop.predicted(SILENCE + 1.0)
    assert np.array_equal(predicted.v, np.zeros(model.n))


def test_an_arm_that_stands_at_a_wall_under_torque_is_not_braked():
    """The torque would accelerate it, but the wall doesn't let it: nothing moves, so
    nothing is to be braked.
    """
    config, model = arm_of(3)
    arm = Mechanics(model, start(model, 3)[0], np.zeros(model.n), held=True)
    torque = model.at(arm.q).gravity + 5.0
    motion = RecentMotion()
    for _ in range(20):
        motion.observe(arm.state())
        arm.go_on(torque)
    stop = BlindStop(config, model, arm.state(), motion.acceleration(arm.state()), SILENCE)
    for k in range(100):
        assert stop.torque(SILENCE + k * DT) == pytest.approx(model.at(arm.q).gravity, abs=1e-9)


def test_the_torque_is_that_of_the_predicted_motion():
    """By finite differences of the predicted positions, and an independent formula."""
    config, model = arm_of(2)
    q, v = start(model, 2)
    stop = BlindStop(config, model, RobotState(1.0, q, v, v), np.zeros(model.n), SILENCE)
    h = 1e-5
    for silence in np.linspace(SILENCE + 0.01, SILENCE + 0.19, 7):
        before, now, after = (stop.predicted(silence + step)[0] for step in (-h, 0.0, h))
        speed = (after.q - before.q) / (2.0 * h)
        acceleration = (after.q - 2.0 * now.q + before.q) / h**2
        assert now.v == pytest.approx(speed, abs=1e-6)
        torque = stop.torque(silence - DT / 2.0)  # it is for the middle of a period
        wanted = model.mass(now.q) @ acceleration + model.bias(now.q, speed)
        assert torque == pytest.approx(wanted, abs=1e-3)


def test_a_fast_arm_brakes_for_longer_where_its_efforts_do_not_suffice():
    config, model = arm_of(1)
    weak = replace(model.limits, effort=model.limits.effort * 0.01)
    q, v = start(model, 1)
    model.limits = weak
    slow = BlindStop(config, model, RobotState(1.0, q, 3.0 * v, v), np.zeros(model.n), 0.0)
    assert np.abs(slow.predicted(0.21)[0].v).max() > 0.0
    assert np.abs(slow.predicted(1.01)[0].v).max() == 0.0


@pytest.mark.parametrize("seed", range(3))
def test_the_acceleration_is_that_of_the_last_samples(seed):
    rng = np.random.default_rng(seed)
    acceleration, v = rng.normal(size=3), rng.normal(size=3)
    motion = RecentMotion()
    for k in range(25):
        state = RobotState(7.0 + k * DT, v, v + acceleration * k * DT, v)
        motion.observe(state)
    assert motion.acceleration(state) == pytest.approx(acceleration)
    motion.observe(replace(state, time=1.0))
    assert np.array_equal(motion.acceleration(replace(state, time=1.0)), np.zeros(3))


@pytest.mark.sim
@pytest.mark.parametrize("who", ["controller", "watchdog"])
def test_the_ur5_in_motion_stops_where_its_joint_states_stop(who):
    """Whoever commands brakes it blindly, and it doesn't fall: without friction it can't
    stand still for ever.
    """
    pytest.importorskip("mujoco")
    from robot_control_ros.simulation.mujoco_plant import MujocoPlant

    robot = load_robot("ur5")
    plant, loop = MujocoPlant(robot), ControlLoop(robot, "joint_impedance")
    watchdog = CommandWatchdog(robot, loop.model, 0.04, SILENCE, simulated=False)
    command = loop.tick(plant.read())
    goal = np.array(robot.home) + np.array([0.8, 0.4, -0.6, 0.3, 0.2, 0.3])
    loop.motion.move_joints_to(goal)
    for _ in range(350):
        plant.write(command)
        state = plant.read()
        watchdog.on_state(state, state.time)
        command = loop.tick(state)
        watchdog.on_command(command, state.time)
    assert np.abs(state.v).max() > 0.9
    before, fastest = command.values, 0.0
    for _ in range(round(1.2 * RATE)):
        plant.write(command)
        now = plant.read()
        silence = now.time - state.time
        if silence > SILENCE:
            command = (
                loop.stop(silence) if who == "controller" else watchdog.poll(now.time)
            ) or command
        steps = np.abs(command.values - before)
        assert (steps <= np.array(robot.effort_rate) * DT * (1.0 + 1e-9)).all()
        before = command.values
        if silence > SILENCE + 0.3:
            fastest = max(fastest, np.abs(now.v).max())
    assert fastest < 0.25


def test_positions_and_velocities_brake_without_joint_states():
    robot = load_robot("ur5")
    for law, most in (("admittance", 3.2), ("joint_pid", 4.0 * 3.2)):
        loop = ControlLoop(robot, law)
        home = np.array(robot.home)
        pull = Wrench(np.array([20.0, 0.0, 0.0]), np.zeros(3), robot.tip)
        q = home
        for k in range(200):
            command = loop.tick(RobotState(k * DT, q, np.zeros(6), np.zeros(6), pull))
            q = command.values if command.mode is CommandMode.POSITION else q + DT * command.values
        sent = [command.values, *(loop.stop(SILENCE + k * DT).values for k in range(300))]
        assert (np.abs(np.diff(sent, axis=0)) <= most * DT * (1.0 + 1e-9)).all()
        assert np.array_equal(sent[-1], sent[-20])


def test_without_a_sample_there_is_nothing_to_stop():
    assert ControlLoop(load_robot("ur5"), "impedance").stop(1.0) is None


def test_a_stop_is_only_a_command():
    """The next sample starts the law anew, from the last command of the stop."""
    robot = load_robot("ur5")
    loop = ControlLoop(robot, "impedance")
    home = np.array(robot.home)
    for k in range(10):
        loop.tick(RobotState(k * DT, home, np.full(6, 0.2), np.zeros(6)))
    for k in range(50):
        stopped: Command = loop.stop(SILENCE + k * DT)
    command = loop.tick(RobotState(0.2, home, np.zeros(6), np.zeros(6)))
    assert (
        np.abs(command.values - stopped.values)
        <= np.array(robot.effort_rate) * 2.0 * DT * (1.0 + 1e-9)
    ).all()
