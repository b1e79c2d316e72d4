"""Every law on every robot of the package: it gives way to a push as its equations say, comes back,
and reaches a target; and nothing goes wrong on the way.
"""

import numpy as np
import pytest
from arms import slowest_swing

from robot_control_ros.cli.robot_report import holdable_force
from robot_control_ros.control.loop import ControlLoop
from robot_control_ros.laws import law_names
from robot_control_ros.laws.joint_pid import SERVO_PERIOD
from robot_control_ros.laws.running_law import RunningLaw
from robot_control_ros.robot.configuration import load_robot, robot_names
from robot_control_ros.robot.model import RobotModel
from robot_control_ros.simulation.mujoco_plant import SERVO_BANDWIDTH

pytestmark = [pytest.mark.sim, pytest.mark.long]

RATE = 500.0  # Hz
PUSH = 20.0  # N, or a fifth of what the arm can hold at home
TIP_SPRINGS = ("admittance", "force_control", "impedance", "task_space_pd")
JOINT_SPRINGS = ("joint_impedance", "joint_pid_effort", "position_domain_pd")
SERVOS = ("joint_pid",)
WITHOUT_TARGET = ("gravity_compensation",)
WITHIN = 0.02  # of what the law's equation gives

CASES = [(robot, law) for robot in robot_names() for law in law_names(plugins=False)]
every_pair = pytest.mark.parametrize(("name", "law"), CASES, ids=["-".join(case) for case in CASES])


def push_of(robot, model):
    """Axis that is pushed along, and the force [N]."""
    home = model.at(np.array(robot.home))
    axis = next(i for i in range(3) if robot.axes[i] > 0.0)
    held = holdable_force(home.jacobian, home.gravity, model.limits.effort)
    return axis, min(PUSH, 0.2 * held)


def settling(robot, model, law):
    """Time in which a law is at rest again, to well within a percent [s]."""
    gains = RunningLaw(robot, law).gains.target
    if law in TIP_SPRINGS:
        stiffness = np.diag(gains.stiffness) if gains.stiffness.ndim == 2 else gains.stiffness
        swing = slowest_swing(robot, stiffness * np.array(robot.axes))
        # the virtual body of an admittance is damped beyond the critical
        return 8.0 if law == "admittance" else max(3.0, 14.0 / swing)
    if law in JOINT_SPRINGS:
        springs = gains.p if law == "joint_pid_effort" else gains.stiffness
        mass = model.mass(np.array(robot.home))
        swing = np.sqrt(np.linalg.eigvals(np.linalg.solve(mass, np.diag(springs))).real.min())
        return max(3.0, 14.0 / swing)
    return 3.0


def test_each_law_is_of_a_kind():
    kinds = (*TIP_SPRINGS, *JOINT_SPRINGS, *SERVOS, *WITHOUT_TARGET)
    assert sorted(kinds) == sorted(law_names(plugins=False))


@every_pair
def test_a_push_moves_the_arm_as_the_laws_equation_says_and_it_comes_back(name, law):
    pytest.importorskip("mujoco")
    from robot_control_ros.simulation.in_process import Push, simulate

    robot = load_robot(name)
    model = RobotModel.of(robot)
    axis, size = push_of(robot, model)
    if law in SERVOS:
        size *= 0.1  # held off further, its command outruns a light joint, and safety stops the arm
    force = size * np.eye(3)[axis]
    rest = settling(robot, model, law)
    push = Push(tuple(force), start=0.1, duration=rest)
    log = simulate(robot, law, duration=2.0 * rest + 0.2, push=push, rate=RATE)
    assert log.trouble == ()
    assert not any(log.fault)
    pushed = log.t.searchsorted(0.1 + rest) - 1
    gains = RunningLaw(robot, law).gains.target
    if law in TIP_SPRINGS:
        stiffness = (
            gains.stiffness[axis, axis] if gains.stiffness.ndim == 2 else gains.stiffness[axis]
        )
        expected = -force / stiffness
        controlled = np.array(robot.axes[:3]) > 0.0
        error = (log.pose_error[pushed, :3] - expected)[controlled]
        assert np.abs(error).max() < WITHIN * size / stiffness
    elif law in JOINT_SPRINGS:
        springs = gains.p if law == "joint_pid_effort" else gains.stiffness
        jacobian = model.at(log.q[pushed]).jacobian
        asked = jacobian[:3].T @ force
        left = springs * (log.q[pushed] - np.array(robot.home)) - asked
        assert np.abs(left).max() < WITHIN * np.abs(asked).max()
    elif law in SERVOS:
        # the servo's torque M w q̇_c, with q̇_c = P e / T_u, holds the push
        rate = SERVO_BANDWIDTH * gains.p / SERVO_PERIOD
        error = log.q[pushed] - np.array(robot.home)
        asked = model.at(log.q[pushed]).jacobian[:3].T @ force
        left = model.mass(log.q[pushed]) @ (rate * error) - asked
        assert np.abs(left).max() < WITHIN * np.abs(asked).max()
    else:
        moved = log.pose[pushed, :3, 3] - log.pose[0, :3, 3]
        assert moved[axis] > 0.0
    if law not in WITHOUT_TARGET:
        assert np.abs(log.q[-1] - log.q[0]).max() < 0.2  # a redundant arm may rest otherwise
        largest = max(np.abs(log.pose_error[pushed, :3]).max(), 1e-3)
        controlled = np.array(robot.axes) > 0.0
        assert np.abs(log.pose_error[-1])[controlled].max() < 2.0 * WITHIN * largest


@every_pair
def test_a_target_is_reached(name, law):
    pytest.importorskip("mujoco")
    from robot_control_ros.simulation.mujoco_plant import MujocoPlant

    if law in WITHOUT_TARGET:
        pytest.skip("the law has no target")
    robot = load_robot(name).at_rate(RATE)
    plant = MujocoPlant(robot)
    loop = ControlLoop(robot, law)
    goal = np.array(robot.home) + 0.1 * np.where(np.arange(robot.n) % 2, -1.0, 1.0)
    model = RobotModel.of(robot)
    rest = settling(robot, model, law)
    plant.open()
    try:
        for k in range(round((3.0 + rest) * RATE)):
            plant.write(loop.tick(plant.read()))
            if k == 10:
                loop.motion.move_joints_to(goal)
        q = plant.read().q
    finally:
        plant.close()
    assert loop.safety.fault == ""
    assert not loop.motion.is_moving()
    reached, wanted = model.at(q).pose, model.at(goal).pose
    assert np.abs(reached[:3, 3] - wanted[:3, 3]).max() < 2e-3
    if law in (*JOINT_SPRINGS, *SERVOS):
        assert np.abs(q - goal).max() < 0.01
