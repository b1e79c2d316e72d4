"""The simulated robot: its physics against Pinocchio's, its joints' drives, its sensor,
and what it refuses.
"""

from dataclasses import dataclass, replace

import numpy as np
import pytest
from arms import Arm, Chain, planar_arm, random_arm
from scipy.spatial.transform import Rotation

pytest.importorskip("mujoco")

from refusals import refuses

from robot_control_ros.control.loop import ControlLoop
from robot_control_ros.core.errors import ConfigError, HardwareFault, ModelError
from robot_control_ros.core.gains import JOINT, choice, gain
from robot_control_ros.core.types import Command, CommandMode
from robot_control_ros.robot.configuration import load_robot
from robot_control_ros.robot.model import RobotModel
from robot_control_ros.robot.solids import Shape
from robot_control_ros.sensing.wrench import WrenchPipeline
from robot_control_ros.simulation.mujoco_plant import MujocoPlant
from robot_control_ros.simulation.scene import (
    JointLosses,
    Scene,
    SceneObject,
    Surface,
    load_scene,
    scene_names,
)

pytestmark = pytest.mark.sim

HOME = np.array(load_robot("ur5").home)
MOUNT = ((0.3, -0.2, 0.7), (0.4, -1.1, 2.3))
WRENCH = np.array([12.0, -7.0, 20.0, 0.8, -1.5, 0.6])


def effort(values):
    return Command(CommandMode.EFFORT, np.asarray(values, dtype=float))


def position(values):
    return Command(CommandMode.POSITION, np.asarray(values, dtype=float))


def velocity(values):
    return Command(CommandMode.VELOCITY, np.asarray(values, dtype=float))


def run(plant, seconds, rate=500.0):
    """The states of so many seconds under the last command."""
    return [plant.read() for _ in range(round(seconds * rate))]


@pytest.fixture
def plant(ur5):
    return MujocoPlant(ur5)


def push(plant, link, wrench):
    plant.push(link, wrench[:3], wrench[3:])


def plant_of(arm, **options):
    """Of a description as text, 500 samples per second."""
    changes = {
        name: options.pop(name)
        for name in ("wrench_frame", "home", "rotor_inertia")
        if name in options
    }
    config = arm.config(**changes)
    return MujocoPlant(config, urdf=arm.urdf, rate=500.0, **options), config


# --- time ---


def test_time_starts_at_zero_and_advances_by_one_period_per_read(ur5):
    for rate in (125.0, 500.0, 1000.0, 2000.0, 300.0):
        plant = MujocoPlant(ur5, rate=rate)
        times = [plant.read().time for _ in range(20)]
        np.testing.assert_allclose(times, np.arange(20) / rate, rtol=0, atol=1e-12)


def test_the_rate_is_the_profiles_by_default(plant, ur5):
    plant.read()
    assert plant.read().time == pytest.approx(1 / ur5.profile.rate, abs=1e-15)


@pytest.mark.parametrize("rate", [0.0, -1.0, float("nan"), float("inf")])
def test_a_rate_that_is_none_is_refused(ur5, rate):
    with refuses("rate", bound=(0.0, np.inf)):
        MujocoPlant(ur5, rate=rate)


# --- physics ---


def fall(model, q, torque, seconds, step=1e-4):
    """Joint angles and velocities under a constant torque from rest, by RK4 on the
    equation of motion.
    """
    n = len(q)

    def rate(x):
        v = x[n:]
        return np.concatenate(
            (v, np.linalg.solve(model.mass(x[:n]), torque - model.bias(x[:n], v)))
        )

    x = np.concatenate((q, np.zeros(n)))
    for _ in range(round(seconds / step)):
        a = rate(x)
        b = rate(x + step / 2 * a)
        c = rate(x + step / 2 * b)
        x = x + step / 6 * (a + 2 * b + 2 * c + rate(x + step * c))
    return x[:n], x[n:]


@pytest.mark.parametrize(
    "torque", [np.zeros(6), np.array([30.0, -60.0, 20.0, 3.0, -4.0, 2.0])], ids=["free", "torque"]
)
def test_effort_moves_the_arm_as_the_equation_of_motion_says_to_first_order_in_the_step(
    ur5, ur5_model, torque
):
    q, v = fall(ur5_model, HOME, torque, 0.1)
    errors = []
    for rate in (1000.0, 2000.0, 4000.0):
        plant = MujocoPlant(ur5, rate=rate)
        plant.read()
        plant.write(effort(torque))
        state = run(plant, 0.1, rate)[-1]
        assert state.time == pytest.approx(0.1)
        errors.append(np.linalg.norm(np.concatenate((state.q - q, state.v - v))))
    assert np.linalg.norm(v) > 0.5
    assert errors[0] < 0.01 * np.linalg.norm(v)
    np.testing.assert_allclose(
        [errors[0] / errors[1], errors[1] / errors[2]], 2.0, rtol=0, atol=0.1
    )


def test_the_first_step_from_rest_is_exact_in_any_posture_in_which_nothing_touches(
    ur5, ur5_model, rng
):
    free = 0
    for _ in range(60):
        q = rng.uniform(-np.pi, np.pi, 6)
        plant = MujocoPlant(ur5, rate=1000.0)
        plant.reset(q)
        plant.read()
        if plant.contacts():
            continue
        free += 1
        plant.write(effort(np.zeros(6)))
        expected = -0.001 * np.linalg.solve(ur5_model.mass(q), ur5_model.at(q).gravity)
        np.testing.assert_allclose(plant.read().v, expected, rtol=0, atol=1e-12)
    assert free > 10


@pytest.mark.parametrize("n", [2, 5, 8])
def test_dynamics_are_those_of_the_model(rng, n):
    arm = random_arm(n, n, continuous=(0,), mount=MOUNT, gripper=True)
    plant, _ = plant_of(arm)
    model = arm.model(rotor_inertia=[0.1] * n)
    for _ in range(5):
        q, v = rng.uniform(-3, 3, n), rng.uniform(-2, 2, n)
        mass, bias, pose = plant.dynamics(q, v)
        np.testing.assert_allclose(mass, model.mass(q), rtol=0, atol=1e-10)
        np.testing.assert_allclose(bias, model.bias(q, v), rtol=0, atol=1e-10)
        np.testing.assert_allclose(pose, model.at(q).pose, rtol=0, atol=1e-10)


def test_joints_may_come_in_any_order(rng):
    arm = random_arm(5, 5)
    order = np.array([3, 0, 4, 2, 1])
    swapped = Arm(arm.urdf, tuple(arm.joints[i] for i in order))
    rotor, home, torque = rng.uniform(0.1, 0.3, 5), rng.uniform(-2, 2, 5), rng.uniform(-5, 5, 5)
    first, _ = plant_of(arm, rotor_inertia=tuple(rotor), home=tuple(home))
    second, _ = plant_of(swapped, rotor_inertia=tuple(rotor[order]), home=tuple(home[order]))
    first.write(effort(torque))
    second.write(effort(torque[order]))
    a, b = run(first, 0.1)[-1], run(second, 0.1)[-1]
    assert abs(a.q - home).max() > 1e-3
    np.testing.assert_allclose(b.q, a.q[order], rtol=0, atol=1e-12)
    np.testing.assert_allclose(b.v, a.v[order], rtol=0, atol=1e-12)
    np.testing.assert_array_equal(b.effort, a.effort[order])


def test_an_additional_joint_is_locked(rng):
    with_gripper = random_arm(7, 7, gripper=True)
    plant, config = plant_of(with_gripper)
    chain = Chain(with_gripper.urdf)
    run(plant, 0.2)
    state = plant.sample()
    assert state.q.shape == (7,)
    np.testing.assert_allclose(state.q, config.home, rtol=0, atol=1e-9)
    named = dict(zip(with_gripper.joints, state.q, strict=True))
    expected = chain.relative("base", "left_finger", named)[:3, :3]
    np.testing.assert_allclose(plant.link_rotation("left_finger"), expected, rtol=0, atol=1e-9)


# --- drives ---


def test_the_robot_holds_until_the_first_command(plant, ur5_model):
    states = run(plant, 1.0)
    for state in states:
        np.testing.assert_allclose(state.q, HOME, rtol=0, atol=1e-9)
    np.testing.assert_allclose(states[-1].effort, ur5_model.at(HOME).gravity, rtol=0, atol=1e-6)


def test_the_first_sample_is_already_that_of_a_robot_that_is_held():
    arm = random_arm(2, 6, mount=MOUNT)
    plant, config = plant_of(arm, wrench_frame="link_6")
    first, later = plant.read(), run(plant, 0.2)[-1]
    np.testing.assert_allclose(
        first.effort, arm.model().at(np.array(config.home)).gravity, rtol=0, atol=1e-9
    )
    np.testing.assert_allclose(first.wrench.force, later.wrench.force, rtol=0, atol=1e-6)
    np.testing.assert_allclose(first.wrench.torque, later.wrench.torque, rtol=0, atol=1e-6)


def test_position_is_reached_within_the_effort_limits(plant, ur5_model):
    goal = HOME + np.array([0.3, 0.2, -0.4, 0.5, -0.3, 0.6])
    plant.write(position(goal))
    states = run(plant, 1.0)
    efforts = np.array([state.effort for state in states])
    assert (abs(efforts) <= ur5_model.limits.effort).all()
    # the step was large enough to meet them
    assert (abs(efforts).max(axis=0) == ur5_model.limits.effort).any()
    np.testing.assert_allclose(states[-1].q, goal, rtol=0, atol=1e-6)
    np.testing.assert_allclose(states[-1].v, 0.0, rtol=0, atol=1e-6)


def test_velocity_is_reached_within_the_effort_limits(plant, ur5_model):
    goal = np.array([0.5, -0.2, 0.3, 0.4, -0.6, 1.0])
    plant.write(velocity(goal))
    states = run(plant, 0.5)
    assert (abs(np.array([state.effort for state in states])) <= ur5_model.limits.effort).all()
    np.testing.assert_allclose(states[-1].v, goal, rtol=0, atol=5e-3)
    np.testing.assert_allclose(states[-1].q - states[-51].q, 0.1 * goal, rtol=0, atol=1e-3)


def test_effort_is_what_was_commanded_as_far_as_the_limits_go(plant, ur5_model):
    limit = ur5_model.limits.effort
    asked = np.array([10.0, 1e6, -20.0, -1e6, 28.0, 29.0])
    plant.read()
    plant.write(effort(asked))
    np.testing.assert_array_equal(plant.read().effort, np.clip(asked, -limit, limit))


def test_a_torque_that_lasts_moves_the_arm_as_one_that_is_set_anew_in_each_physics_step(ur5, rng):
    """A time-out that never comes makes the plant look at each step."""
    together, stepwise = (
        MujocoPlant(ur5, rate=250.0, command_timeout=timeout) for timeout in (0.0, 10.0)
    )
    gravity = together.dynamics(HOME, np.zeros(6))[1]
    for cycle in range(50):
        torque = gravity + rng.normal(size=6)
        if cycle == 20:
            for plant in (together, stepwise):
                push(plant, "tool0", WRENCH)
        if cycle == 30:
            for plant in (together, stepwise):
                push(plant, "tool0", np.zeros(6))
        one, other = together.read(), stepwise.read()
        for name in ("time", "q", "v", "effort"):
            np.testing.assert_array_equal(getattr(one, name), getattr(other, name))
        np.testing.assert_array_equal(one.wrench.force, other.wrench.force)
        together.write(effort(torque))
        stepwise.write(effort(torque))
    assert together.substeps == 4
    assert np.abs(one.q - HOME).max() > 0.01


def test_feedforward_is_added_to_the_drives_own_torque(ur5, ur5_model):
    offset = np.array([5.0, -3.0, 4.0, 1.0, 2.0, -1.0])
    plain, offset_plant = MujocoPlant(ur5, rate=1000.0), MujocoPlant(ur5, rate=1000.0)
    for plant, feedforward in ((plain, None), (offset_plant, offset)):
        plant.read()
        plant.write(Command(CommandMode.POSITION, HOME, feedforward))
    difference = offset_plant.read().effort - plain.read().effort
    np.testing.assert_allclose(difference, offset, rtol=0, atol=1e-9)
    offset_plant.write(Command(CommandMode.POSITION, HOME, 1e6 * np.ones(6)))
    np.testing.assert_array_equal(offset_plant.read().effort, ur5_model.limits.effort)


BAD = {
    "short": np.zeros(5),
    "long": np.zeros(7),
    "matrix": np.zeros((6, 1)),
    "nan": np.array([0, 0, np.nan, 0, 0, 0.0]),
    "inf": np.array([0, 0, 0, 0, 0, np.inf]),
}


@pytest.mark.parametrize("mode", CommandMode)
@pytest.mark.parametrize("bad", BAD.values(), ids=BAD)
def test_a_bad_command_is_refused_and_the_last_one_stays(plant, mode, bad):
    last = np.array([1.0, 2.0, 3.0, 4.0, 5.0, 6.0])
    plant.read()
    plant.write(effort(last))
    with refuses(f"{mode.value} command", bound=6):
        plant.write(Command(mode, bad))
    with pytest.raises(ConfigError, match="must be 6 finite numbers"):
        plant.write(Command(mode, np.zeros(6), bad))
    np.testing.assert_array_equal(plant.read().effort, last)


def test_silence_beyond_the_timeout_makes_the_joints_hold(ur5):
    plant = MujocoPlant(ur5, command_timeout=0.1)
    plant.read()
    plant.write(effort(np.zeros(6)))
    falling = run(plant, 0.1)[-1]
    assert not falling.effort.any()
    assert abs(falling.v).max() > 0.1
    held = run(plant, 0.5)
    np.testing.assert_allclose(held[-1].v, 0.0, rtol=0, atol=1e-6)
    assert abs(held[-1].q - falling.q).max() < 0.1
    plant.write(effort(np.zeros(6)))  # and it takes commands again
    assert not plant.read().effort.any()


def test_holding_does_not_time_out_and_so_does_not_creep_under_a_load(ur5):
    plant = MujocoPlant(ur5, command_timeout=0.05)
    push(plant, "tool0", WRENCH)
    early = run(plant, 0.5)[-1].q
    assert abs(early - HOME).max() > 1e-5
    np.testing.assert_allclose(run(plant, 1.0)[-1].q, early, rtol=0, atol=1e-9)


def test_commands_within_the_timeout_are_never_replaced(ur5):
    plant = MujocoPlant(ur5, command_timeout=0.01)
    for _ in range(50):
        plant.read()
        plant.write(effort(np.ones(6)))
        np.testing.assert_array_equal(plant.read().effort, np.ones(6))


def test_without_a_timeout_the_last_command_lasts(plant):
    plant.write(effort(np.ones(6)))
    np.testing.assert_array_equal(run(plant, 0.5)[-1].effort, np.ones(6))


def test_closing_makes_the_joints_hold(plant):
    plant.open()
    plant.write(effort(np.zeros(6)))
    run(plant, 0.1)
    plant.close()
    at = plant.sample().q
    state = run(plant, 0.5)[-1]
    np.testing.assert_allclose(state.v, 0.0, rtol=0, atol=1e-6)
    np.testing.assert_allclose(state.q, at, rtol=0, atol=1e-6)


def test_reset_is_a_new_start(plant, ur5):
    def session():
        plant.reset()
        plant.read()
        push(plant, "tool0", WRENCH)
        plant.write(effort(np.ones(6)))
        return run(plant, 0.2)[-1]

    first, second = session(), session()
    for name in ("q", "v", "effort"):
        assert getattr(first, name).tobytes() == getattr(second, name).tobytes()
    assert first.wrench.force.tobytes() == second.wrench.force.tobytes()
    other = HOME + 0.1
    plant.reset(other)
    state = plant.read()
    assert state.time == 0.0
    np.testing.assert_array_equal(state.q, other)
    assert not state.v.any()
    after = run(plant, 0.3)[-1]  # held, and nothing pushes any more
    np.testing.assert_allclose(after.q, other, rtol=0, atol=1e-9)
    np.testing.assert_allclose(after.wrench.force, 0.0, rtol=0, atol=1e-6)


def test_samples_are_not_changed_by_what_comes_later(plant):
    plant.write(effort(np.zeros(6)))
    push(plant, "tool0", WRENCH)
    state = run(plant, 0.1)[-1]
    names = ("q", "v", "effort")
    kept = [getattr(state, name).copy() for name in names] + [
        state.wrench.force.copy(),
        state.wrench.torque.copy(),
    ]
    run(plant, 0.1)
    now = [getattr(state, name) for name in names] + [state.wrench.force, state.wrench.torque]
    for before, after in zip(kept, now, strict=True):
        np.testing.assert_array_equal(before, after)


# --- the wrench sensor ---


def with_weight():
    """A pipeline that leaves the weight of what the sensor carries in its wrench."""
    return WrenchPipeline({"payload_in_wrench": False})


def on_tip(state, model, pipeline=None):
    return (pipeline or WrenchPipeline()).on_tip(state, model.update(state.q, state.v))


def test_a_push_at_the_tip_is_sensed_as_it_is(plant, ur5_model):
    push(plant, "tool0", WRENCH)
    state = run(plant, 1.0)[-1]
    assert state.wrench.frame == "ft_frame"
    np.testing.assert_allclose(on_tip(state, ur5_model), WRENCH, rtol=0, atol=1e-6)


@pytest.mark.parametrize("order", [slice(0, 3), slice(3, 6)], ids=["force", "torque"])
def test_a_push_is_sensed_through_the_lever_between_sensor_and_tip(ur5, order):
    """A UR5 on a wall with a long, bent tool."""
    urdf, no_tool = ur5.urdf(), '<child link="tool0"/>\n    <origin xyz="0 0 0"'
    upright = '<child link="base_link"/>\n    <origin xyz="0 0 0" rpy="0 0 0"/>'
    assert urdf.count(no_tool) == urdf.count(upright) == 1
    urdf = urdf.replace(no_tool, no_tool.replace("0 0 0", "0.1 -0.05 0.2"))
    urdf = urdf.replace(upright, upright.replace('0 0 0" rpy="0 0 0', '1 2 3" rpy="0.3 1.4 -0.8'))
    plant, model = MujocoPlant(ur5, urdf=urdf), RobotModel.of(ur5, urdf)
    wrench = np.zeros(6)
    wrench[order] = WRENCH[order]
    push(plant, "tool0", wrench)
    state = run(plant, 1.0)[-1]
    np.testing.assert_allclose(on_tip(state, model), wrench, rtol=0, atol=1e-6)
    lever = model.frame_pose("tool0")[:3, 3] - model.frame_pose("ft_frame")[:3, 3]
    torque_at_sensor = model.frame_pose("ft_frame")[:3, :3] @ state.wrench.torque
    np.testing.assert_allclose(
        torque_at_sensor, wrench[3:] + np.cross(lever, wrench[:3]), rtol=0, atol=1e-6
    )
    assert np.linalg.norm(lever) == pytest.approx(np.sqrt(0.0525), abs=1e-9)


def test_the_tare_takes_the_weight_away(ur5):
    arm = random_arm(2, 6, mount=MOUNT)
    plant, _ = plant_of(arm, wrench_frame="link_6")
    model, pipeline = arm.model(), with_weight()
    weight = on_tip(run(plant, 1.0)[-1], model, pipeline)
    pipeline.zero()
    assert np.linalg.norm(weight[:3]) > 5.0
    np.testing.assert_allclose(on_tip(run(plant, 0.2)[-1], model, pipeline), 0.0, rtol=0, atol=1e-6)


def test_the_sensor_feels_the_weight_of_what_is_beyond_it_as_a_downward_force():
    arm = planar_arm((0.5, 0.4))
    plant, _ = plant_of(arm, wrench_frame="link_2", home=(0.4, 0.7))
    wrench = on_tip(run(plant, 0.5)[-1], arm.model(), with_weight())
    # of the second bar; its mass is 0.2 m short of the tip
    direction = np.array([np.cos(1.1), np.sin(1.1), 0.0])
    weight = np.array([0.0, 0.0, -2.0 * 9.81])
    expected = np.concatenate((weight, np.cross(-0.2 * direction, weight)))
    np.testing.assert_allclose(wrench, expected, rtol=0, atol=1e-6)


@pytest.mark.parametrize("frame", ["link_6", "tip"])
def test_what_the_description_has_beyond_the_sensor_is_taken_out_of_the_wrench_without_being_asked(
    frame, rng
):
    arm = random_arm(2, 6, mount=MOUNT)
    plant, _ = plant_of(arm, wrench_frame=frame)
    for _ in range(3):
        plant.reset(rng.uniform(-1.0, 1.0, 6))
        np.testing.assert_allclose(on_tip(plant.read(), arm.model()), 0.0, rtol=0, atol=1e-6)


def test_a_push_before_the_sensor_is_not_sensed(plant, ur5_model):
    push(plant, "forearm_link", WRENCH)
    state = run(plant, 1.0)[-1]
    assert abs(state.effort - ur5_model.at(state.q).gravity).max() > 1.0
    np.testing.assert_allclose(on_tip(state, ur5_model), 0.0, rtol=0, atol=1e-6)


@pytest.mark.parametrize("link", ["shoulder_link", "forearm_link", "wrist_2_link", "tool0"])
def test_a_push_at_a_links_origin_loads_the_joints_by_its_jacobian(plant, ur5, ur5_model, link):
    push(plant, link, WRENCH)
    state = run(plant, 1.0)[-1]
    J = Chain(ur5.urdf()).jacobian(link, dict(zip(ur5.joints, state.q, strict=True)))
    expected = ur5_model.at(state.q).gravity - J.T @ WRENCH
    np.testing.assert_allclose(state.effort, expected, rtol=0, atol=1e-6)


def test_the_lever_of_a_push_follows_the_link():
    """A force on a turning bar: its power at the link's origin, and so the work, is that
    of the origin's path.
    """
    arm = planar_arm((0.5, 0.4))
    plant, _ = plant_of(arm, home=(0.0, 0.5), rotor_inertia=(0.1, 0.1))
    model, force = arm.model(rotor_inertia=[0.1, 0.1]), np.array([3.0, 8.0, 0.0])
    plant.read()
    plant.write(effort(np.zeros(2)))
    plant.push("link_2", force, np.zeros(3))
    state = run(plant, 0.4)[-1]
    elbow = 0.5 * np.array([np.cos(state.q[0]) - 1.0, np.sin(state.q[0]), 0.0])
    energy = state.v @ model.mass(state.q) @ state.v / 2
    assert energy > 0.5
    assert energy == pytest.approx(force @ elbow, rel=0.01)  # 1 ms of 0.4 s


def test_a_push_lasts_until_it_is_changed_and_zeros_end_it(plant, ur5_model):
    push(plant, "tool0", WRENCH)
    run(plant, 0.5)
    push(plant, "tool0", -WRENCH)
    np.testing.assert_allclose(on_tip(run(plant, 1.0)[-1], ur5_model), -WRENCH, rtol=0, atol=1e-6)
    push(plant, "tool0", np.zeros(6))
    np.testing.assert_allclose(on_tip(run(plant, 1.0)[-1], ur5_model), 0.0, rtol=0, atol=1e-6)


def test_an_unknown_link_is_refused_with_the_links_listed(plant):
    with pytest.raises(ModelError, match=r"unknown frame 'hand'; frames: .*forearm_link.*tool0"):
        plant.push("hand", np.zeros(3), np.zeros(3))
    with refuses("frame", "hand", error=ModelError):
        plant.link_rotation("hand")


@pytest.mark.parametrize(
    ("force", "torque"),
    [([0, 0, np.nan], [0, 0, 0]), ([0, 0, 0], [0, np.inf, 0]), ([0, 0], [0, 0, 0])],
)
def test_a_push_that_is_no_wrench_is_refused_and_the_last_one_stays(
    plant, ur5_model, force, torque
):
    push(plant, "tool0", WRENCH)
    with refuses("push", bound=6):
        plant.push("tool0", np.array(force, dtype=float), np.array(torque, dtype=float))
    np.testing.assert_allclose(on_tip(run(plant, 1.0)[-1], ur5_model), WRENCH, rtol=0, atol=1e-6)


# --- drives that follow, and laws within them ---


def test_a_velocity_that_goes_with_a_position_takes_the_lag_away(ur5):
    """Behind a ramp of speed v the servo w² (q_c - q) - 2 w q̇ lags by 2 v / w; with + 2 w
    (v - q̇) it does not.
    """
    speed, lags = np.array([0.2, -0.1, 0.2, 0.3, -0.2, 0.4]), []
    for velocity_given in (None, speed):
        plant = MujocoPlant(ur5, rate=1000.0)
        for k in range(1000):
            state = plant.read()
            plant.write(
                Command(CommandMode.POSITION, HOME + speed * k / 1000.0, velocity=velocity_given)
            )
        lags.append(HOME + speed * 0.999 - state.q)
    np.testing.assert_allclose(lags[0], 2.0 * speed / 150.0, rtol=0.02)
    np.testing.assert_allclose(lags[1], 0.0, rtol=0, atol=0.02 * abs(lags[0]).min())


def test_the_servo_is_critically_damped_at_any_physics_step(ur5):
    """A small step settles without overshoot beyond that of the discretisation."""
    for step in (0.001, 0.002, 0.005):
        plant = MujocoPlant(ur5, rate=200.0, physics_step=step)
        plant.read()
        plant.write(position(HOME + 0.01))
        way = np.array([plant.read().q for _ in range(100)]) - HOME
        assert way.max() < 0.01 * 1.005
        np.testing.assert_allclose(way[-1], 0.01, rtol=0, atol=1e-6)


class JointPD:
    """Torque g(q) + k (q_r - q) + d (v_r - v), or that divided by d as a velocity; it keeps
    count of its calls.
    """

    @dataclass(frozen=True, eq=False)
    class Gains:
        stiffness: np.ndarray = gain(200.0, size=JOINT, upper=1e4, doc="k")
        damping: np.ndarray = gain(20.0, size=JOINT, upper=1e4, doc="d")
        output: str = choice("effort", ("effort", "velocity"), doc="What is commanded.")

    mode = CommandMode.EFFORT
    calls: list = []  # noqa: RUF012 (emptied by the tests)

    def __init__(self):
        self.terms = {}

    def reset(self, state, kin):
        self.calls.append("reset")

    def compute(self, state, kin, reference, gains, dt):
        self.calls.append((state.time, dt, reference))
        pull = gains.stiffness * (reference.q - state.q) + gains.damping * (reference.v - state.v)
        if gains.output == "velocity":
            return Command(CommandMode.VELOCITY, pull / gains.damping)
        return Command(CommandMode.EFFORT, pull + kin.gravity)


class NeedsWrench(JointPD):
    needs_wrench = True


JOINT_PD = f"{__name__}:JointPD"


@pytest.fixture
def calls():
    JointPD.calls.clear()
    return JointPD.calls


def test_a_joint_law_is_called_ten_times_in_50_ms_at_a_physics_step_of_5_ms(ur5, calls):
    plant = MujocoPlant(ur5, rate=20.0, joint_law=JOINT_PD, physics_step=0.005)
    plant.read()
    assert calls == []  # held until the first command
    goal, speed = HOME + 0.1, np.full(6, 0.2)
    plant.write(Command(CommandMode.POSITION, goal, velocity=speed))
    plant.read()
    assert calls[0] == "reset"
    assert len(calls) == 1 + 10
    times, steps, references = zip(*calls[1:], strict=True)
    np.testing.assert_allclose(times, 0.005 * np.arange(10), rtol=0, atol=1e-12)
    np.testing.assert_allclose(steps, 0.005, rtol=1e-12)
    for reference in references:
        np.testing.assert_array_equal(reference.q, goal)
        np.testing.assert_array_equal(reference.v, speed)
        assert not reference.a.any()
        assert (reference.pose, reference.path) == (None, None)
    plant.write(position(goal))
    plant.read()
    assert len(calls) == 1 + 20
    assert not calls[-1][2].v.any()


@pytest.mark.parametrize("goal", [HOME + 0.1, HOME + 3.0], ids=["near", "beyond the effort limits"])
def test_a_joint_law_does_what_the_same_law_does_as_the_controller(ur5, ur5_model, goal):
    inside = MujocoPlant(
        ur5, rate=20.0, joint_law=JOINT_PD, joint_law_gains={"damping": 30.0}, physics_step=0.005
    )
    outside = MujocoPlant(ur5, rate=200.0, physics_step=0.005)
    inside.read()
    inside.write(position(goal))
    found = [inside.read() for _ in range(10)]
    for k in range(100):
        state = outside.read()
        outside.write(
            effort(200.0 * (goal - state.q) - 30.0 * state.v + ur5_model.at(state.q).gravity)
        )
        if k and k % 10 == 0:
            np.testing.assert_allclose(found[k // 10 - 1].q, state.q, rtol=0, atol=1e-12)
            np.testing.assert_allclose(found[k // 10 - 1].v, state.v, rtol=0, atol=1e-11)
    assert abs(state.q - HOME).max() > 0.05


def test_a_joint_laws_velocity_is_reached_within_the_step_as_far_as_the_effort_limits_go(
    ur5, ur5_model
):
    gains = {"stiffness": 2.0, "damping": 1.0, "output": "velocity"}
    goal = HOME + np.array([0.01, -0.01, 0.01, 0.01, 0.01, -0.01])
    plant = MujocoPlant(
        ur5, rate=200.0, joint_law=JOINT_PD, joint_law_gains=gains, physics_step=0.005
    )
    plant.read()
    plant.write(position(goal))
    before = plant.sample()
    state = plant.read()
    np.testing.assert_allclose(state.v, 2.0 * (goal - before.q), rtol=0, atol=1e-6)
    plant.write(position(HOME + 3.0))
    limited = plant.read()
    assert (abs(limited.effort) == ur5_model.limits.effort).any()
    assert abs(limited.v).max() < 0.5 * 2.0 * 3.0  # half of what the law asks for


def test_a_joint_law_begins_anew_after_a_hold_and_a_reset(ur5, calls):
    plant = MujocoPlant(ur5, joint_law=JOINT_PD, command_timeout=0.05)

    def resets_of_a_command():
        calls.clear()
        plant.write(position(HOME))
        run(plant, 0.02)
        return [call for call in calls if call == "reset"]

    assert resets_of_a_command() == ["reset"]
    assert resets_of_a_command() == []
    run(plant, 0.1)  # the controller is silent
    assert resets_of_a_command() == ["reset"]
    plant.reset()
    assert resets_of_a_command() == ["reset"]


def test_a_joint_law_takes_positions_only(ur5):
    plant = MujocoPlant(ur5, joint_law=JOINT_PD)
    for command in (effort(HOME), velocity(HOME)):
        with pytest.raises(
            ConfigError, match=r"(effort|velocity) command: joint_law .*JointPD takes position only"
        ):
            plant.write(command)


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"joint_law": "nonsense"}, "unknown law 'nonsense'; laws: "),
        (
            {"joint_law": JOINT_PD, "joint_law_gains": {"stiffness": -1.0}},
            r"stiffness = -1: must be within \[0, 10000",
        ),
        ({"joint_law": f"{__name__}:NeedsWrench"}, "it needs a wrench, and the joints have none"),
        ({"physics_step": 0.0}, "physics_step = 0: must be above 0 s"),
        ({"physics_step": float("nan")}, "physics_step = nan"),
    ],
)
def test_a_joint_law_or_step_that_cannot_be_is_refused(ur5, options, words):
    with pytest.raises(ConfigError, match=words):
        MujocoPlant(ur5, **options)


def test_a_physics_step_is_at_most_what_is_asked_for_and_divides_the_period(ur5, calls):
    plant = MujocoPlant(ur5, rate=100.0, joint_law=JOINT_PD, physics_step=0.004)
    plant.read()
    plant.write(position(HOME))
    plant.read()
    assert [dt for _, dt, _ in calls[1:]] == pytest.approx([0.01 / 3] * 3)


# --- a scene: objects, tool, what they do to each other ---

STIFF = Surface(time_constant=0.005)
# of the UR5: home with the tool turned up
TOOL_UP = np.array([0.0, -1.5708, 1.5708, 1.5708, -1.5708, 0.0])


def shape(kind, size, position=(0, 0, 0), rotation=(0, 0, 0)):
    pose = np.eye(4)
    pose[:3, :3], pose[:3, 3] = Rotation.from_rotvec(rotation).as_matrix(), position
    return Shape(kind, tuple(np.atleast_1d(size).astype(float)), pose)


def thing(solid, motion="fixed", mass=0.2, stiffness=1000.0, damping=20.0, surface=STIFF):
    return SceneObject(
        name="thing",
        shape=solid,
        motion=motion,
        mass=mass,
        stiffness=stiffness,
        damping=damping,
        surface=surface,
    )


def scene_of(*objects, **options):
    return Scene("test", "", {item.name: item for item in objects}, **options)


def tip_pose(robot, q):
    return Chain(robot.urdf()).relative(
        robot.base, robot.tip, dict(zip(robot.joints, q, strict=True))
    )


SPHERE = shape("sphere", 0.025, (0.0, 0.0, 0.025))
CUBE = shape("box", (0.05, 0.05, 0.05), (0.0, 0.0, 0.025))
PAIRS = {
    "sphere on sphere": (SPHERE, "sphere", 0.025, None),
    "sphere on box": (SPHERE, "box", (0.05, 0.05, 0.05), True),
    "box on sphere": (CUBE, "sphere", 0.025, False),
    "box on box": (CUBE, "box", (0.1, 0.1, 0.05), None),
    "sphere on cylinder": (SPHERE, "cylinder", (0.04, 0.05), True),
    "box on capsule": (CUBE, "capsule", (0.025, 0.01), False),
}


@pytest.mark.few(2)
@pytest.mark.parametrize(("tool", "kind", "size", "tool_first"), PAIRS.values(), ids=PAIRS)
def test_a_contact_wrench_is_that_of_the_object_on_the_robot_whichever_geom_comes_first(
    ur5, ur5_model, tool, kind, size, tool_first
):
    """The servo of the slides presses with k (target - position); the joints carry
    it by the Jacobian.
    """
    tip = tip_pose(ur5, HOME)[:3, 3]
    # below the tool, which points down, and aside: it presses off centre
    start = tip - [0.0, 0.01, 0.12]
    thing_below = thing(shape(kind, size, start), "slides")
    plant = MujocoPlant(ur5, scene=scene_of(thing_below, tool=tool))
    assert plant.contacts() == []
    assert not plant.contact_wrench().any()
    target = start + [0.0, 0.0, 0.08]
    plant.move_object("thing", target)
    state = run(plant, 4.0)[-1]  # friction makes the two creep to where they stay
    geoms = [[plant.model.geom(int(geom)).bodyid[0] for geom in c.geom] for c in plant.data.contact]
    assert {bodies[0] == plant.model.body("tool0").id for bodies in geoms} <= (
        {True, False} if tool_first is None else {tool_first}
    )
    contacts, wrench = plant.contacts(), plant.contact_wrench()
    assert {(c.link, c.object) for c in contacts} == {("tool0", "thing")}
    pressing = 1000.0 * (target - plant.object_pose("thing")[:3, 3])
    assert pressing[2] > 10.0
    np.testing.assert_allclose(wrench[:3], pressing, rtol=0, atol=0.02)
    J = Chain(ur5.urdf()).jacobian("tool0", dict(zip(ur5.joints, state.q, strict=True)))
    np.testing.assert_allclose(
        state.effort, ur5_model.at(state.q).gravity - J.T @ wrench, rtol=0, atol=0.02
    )
    tip_now = tip_pose(ur5, state.q)[:3, 3]
    moment = sum(c.wrench[3:] + np.cross(c.point - tip_now, c.wrench[:3]) for c in contacts)
    np.testing.assert_allclose(moment, wrench[3:], rtol=0, atol=1e-6)


def test_both_orders_of_a_pair_occur_in_these_tests():
    assert {first for *_, first in PAIRS.values()} >= {True, False}


def test_what_lies_on_the_robot_weighs_on_it(ur5):
    """A block of 2 kg on a plate that the tip holds up, off centre."""
    pose = tip_pose(ur5, TOOL_UP)
    np.testing.assert_allclose(pose[:3, 2], [0, 0, 1], rtol=0, atol=1e-4)
    plate = shape("box", (0.3, 0.3, 0.02), (0.0, 0.0, 0.02))
    block = thing(
        shape("box", (0.1, 0.08, 0.06), pose[:3, 3] + [0.05, -0.08, 0.0602]), "free", mass=2.0
    )
    plant = MujocoPlant(ur5, scene=scene_of(block, tool=plate), rate=500.0)
    plant.reset(TOOL_UP)
    state = run(plant, 2.0)[-1]
    lever = plant.object_pose("thing")[:3, 3] - tip_pose(ur5, state.q)[:3, 3]
    weight = np.array([0.0, 0.0, -2.0 * 9.81])
    expected = np.concatenate((weight, np.cross(lever, weight)))
    np.testing.assert_allclose(lever[:2], [0.05, -0.08], rtol=0, atol=2e-3)
    np.testing.assert_allclose(plant.contact_wrench(), expected, rtol=0, atol=2e-3)
    assert len(plant.contacts()) >= 3
    assert all(c.wrench[2] <= 0.0 for c in plant.contacts())


def test_a_contact_with_a_plane_pushes_away_from_it(ur5):
    """A plane comes first in every pair. Here it is a wall across x, which the
    tool reaches first.
    """
    tip = tip_pose(ur5, HOME)[:3, 3]
    wall = thing(shape("plane", (), (tip[0] + 0.1245, 0.0, 0.0), (0.0, -np.pi / 2, 0.0)))
    plant = MujocoPlant(ur5, scene=scene_of(wall, tool=shape("sphere", 0.025, (0.0, -0.1, 0.0))))
    run(plant, 0.5)
    (contact,) = plant.contacts()
    assert contact.wrench[0] < -1.0
    np.testing.assert_allclose(contact.wrench[1:3], 0.0, rtol=0, atol=0.05 * abs(contact.wrench[0]))
    np.testing.assert_allclose(contact.point, tip + [0.125, 0.0, 0.0], rtol=0, atol=1e-3)


def test_the_sensor_feels_contacts_beyond_it_besides_the_weight():
    """An arm with weight beyond its sensor, on a tilted mount: reading minus weight is
    the contact wrench.
    """
    arm = random_arm(2, 6, mount=MOUNT)
    home = dict(zip(arm.joints, (0.5,) * 6, strict=True))
    tip = Chain(arm.urdf).relative("base", "tip", home)[:3, 3]
    ball = thing(shape("sphere", 0.03, tip + [0.1, 0.0, 0.0]), "slides")
    plant, _ = plant_of(
        arm,
        wrench_frame="link_6",
        scene=scene_of(ball, tool=shape("sphere", 0.05, (0.0, 0.02, 0.0))),
    )
    model = arm.model()
    weight = on_tip(run(plant, 1.0)[-1], model, with_weight())
    assert np.linalg.norm(weight[:3]) > 5.0
    assert not plant.contact_wrench().any()
    plant.move_object("thing", tip + [0.06, 0.01, -0.01])
    felt = on_tip(run(plant, 2.0)[-1], model, with_weight()) - weight
    assert np.linalg.norm(felt[:3]) > 10.0
    assert np.linalg.norm(felt[3:]) > 0.05
    np.testing.assert_allclose(plant.contact_wrench(), felt, rtol=0, atol=0.02)


def test_a_contact_before_the_sensor_is_listed_and_not_sensed(ur5, ur5_model):
    chain = Chain(ur5.urdf())
    elbow = chain.relative("base_link", "forearm_link", dict(zip(ur5.joints, HOME, strict=True)))[
        :3, 3
    ]
    ball = thing(shape("sphere", 0.03, elbow + [0.0, 0.0, 0.2]), "slides")
    plant = MujocoPlant(ur5, scene=scene_of(ball))
    plant.move_object("thing", elbow + [0.0, 0.0, 0.05])
    state = run(plant, 2.0)[-1]
    contacts = plant.contacts()
    assert {contact.object for contact in contacts} == {"thing"}
    assert {contact.link for contact in contacts} <= {"upper_arm_link", "forearm_link"}
    assert sum(contact.wrench[2] for contact in contacts) < -10.0
    assert not plant.contact_wrench().any()
    np.testing.assert_allclose(on_tip(state, ur5_model), 0.0, rtol=0, atol=1e-3)
    loads = [
        chain.jacobian(c.link, dict(zip(ur5.joints, state.q, strict=True)), c.point).T @ c.wrench
        for c in contacts
    ]
    np.testing.assert_allclose(
        state.effort, ur5_model.at(state.q).gravity - sum(loads), rtol=0, atol=0.01
    )


def test_objects_stand_and_move_in_the_axes_of_the_base():
    """Of an arm on a tilted mount; gravity stays that of the root."""
    arm = random_arm(2, 6, mount=MOUNT)
    turn = (0.3, -0.4, 0.5)
    slider = thing(shape("box", (0.1, 0.2, 0.3), (1.0, 2.0, 3.0), turn), "slides")
    faller = replace(
        thing(shape("box", (0.1, 0.2, 0.3), (4.0, 5.0, 6.0), turn), "free"), name="faller"
    )
    post = replace(thing(shape("plane", (), (-7.0, -8.0, -90.0), turn)), name="post")
    scene = scene_of(slider, faller, post)
    plant, _ = plant_of(arm, scene=scene)
    for name, item in scene.objects.items():
        np.testing.assert_allclose(plant.object_pose(name), item.shape.pose, rtol=0, atol=1e-12)
    plant.move_object("thing", np.array([1.1, 1.8, 3.3]))
    seconds = run(plant, 1.0)[-1].time
    expected = slider.shape.pose.copy()
    expected[:3, 3] = [1.1, 1.8, 3.3]
    np.testing.assert_allclose(plant.object_pose("thing"), expected, rtol=0, atol=1e-3)
    gravity = Rotation.from_euler("xyz", MOUNT[1]).as_matrix().T @ [0.0, 0.0, -9.81]
    fallen = plant.object_pose("faller")
    np.testing.assert_allclose(
        fallen[:3, 3] - [4.0, 5.0, 6.0],
        gravity * seconds**2 / 2,
        rtol=0,
        atol=9.81 * seconds * 0.002,
    )
    np.testing.assert_allclose(fallen[:3, :3], faller.shape.pose[:3, :3], rtol=0, atol=1e-9)
    plant.reset()
    for name, item in scene.objects.items():
        np.testing.assert_allclose(plant.object_pose(name), item.shape.pose, rtol=0, atol=1e-12)
    run(plant, 0.2)
    np.testing.assert_allclose(plant.object_pose("thing"), slider.shape.pose, rtol=0, atol=1e-9)


def test_slides_pull_like_a_spring_and_a_damper_and_carry_the_weight(ur5):
    """0.2 kg on 50 N/m and 2 N·s/m: x = 1 - e^(-a t) (cos w t + a / w sin w t)."""
    start, way = np.array([2.0, 0.0, 1.0]), np.array([0.1, -0.2, 0.3])
    ball = thing(shape("sphere", 0.02, start), "slides", stiffness=50.0, damping=2.0)
    plant = MujocoPlant(ur5, rate=2000.0, scene=scene_of(ball))
    plant.move_object("thing", start + way)
    decay, frequency = 2.0 / 0.4, np.sqrt(50.0 / 0.2 - 25.0)
    for _ in range(10):
        t = run(plant, 0.05, 2000.0)[-1].time
        share = 1.0 - np.exp(-decay * t) * (
            np.cos(frequency * t) + decay / frequency * np.sin(frequency * t)
        )
        np.testing.assert_allclose(
            plant.object_pose("thing")[:3, 3] - start, share * way, rtol=0, atol=2e-3
        )


def test_a_free_object_slides_on_a_table_when_friction_is_overcome(ur5):
    """On a table tilted by 20 degrees: at rest with a coefficient of 0.5, at g
    (sin - f cos) with 0.1.
    """
    angle, moved = np.radians(20.0), {}
    for friction in (0.5, 0.1):
        surface = Surface(0.005, 1.0, friction)
        table = replace(
            thing(shape("box", (4, 4, 0.1), (4, 0, 0), (0, angle, 0)), surface=surface),
            name="table",
        )
        normal = np.array([np.sin(angle), 0.0, np.cos(angle)])
        solid = shape(
            "box", (0.1, 0.1, 0.04), np.array([4.0, 0.0, 0.0]) + 0.07 * normal, (0, angle, 0)
        )
        plant = MujocoPlant(ur5, scene=scene_of(table, thing(solid, "free", surface=surface)))
        run(plant, 0.5)
        moved[friction] = np.linalg.norm(plant.object_pose("thing")[:3, 3] - solid.pose[:3, 3])
    assert moved[0.5] < 2e-3
    assert moved[0.1] == pytest.approx(
        9.81 * (np.sin(angle) - 0.1 * np.cos(angle)) * 0.5**2 / 2, rel=0.05
    )


def test_a_scene_changes_nothing_for_a_robot_that_touches_nothing(ur5):
    far = thing(shape("sphere", 0.1, (5.0, 0.0, 0.0)), "free")
    alone, beside = MujocoPlant(ur5), MujocoPlant(ur5, scene=scene_of(far, tool=SPHERE))
    for plant in (alone, beside):
        push(plant, "forearm_link", WRENCH)
        plant.write(effort(np.ones(6)))
    a, b = run(alone, 0.3)[-1], run(beside, 0.3)[-1]
    assert abs(a.q - HOME).max() > 0.05
    np.testing.assert_allclose(b.q, a.q, rtol=0, atol=1e-12)
    np.testing.assert_allclose(b.wrench.force, a.wrench.force, rtol=0, atol=1e-9)


def test_losses_and_rotors_of_a_scene_are_added_to_the_joints():
    """One bar about a vertical axis: (I + rotor) dv/dt = torque - damping v - friction."""
    arm = planar_arm((0.5,))
    lost = JointLosses(damping=0.8, friction=0.5, rotor_inertia=0.2)
    plant, _ = plant_of(arm, home=(0.0,), rotor_inertia=(0.1,), scene=scene_of(joints=lost))
    inertia = arm.model(rotor_inertia=[0.3]).mass(np.zeros(1))
    mass, _, _ = plant.dynamics(np.zeros(1), np.zeros(1))
    np.testing.assert_allclose(mass, inertia, rtol=1e-12)
    plant.read()
    plant.write(effort([0.4]))
    assert abs(run(plant, 0.2)[-1].v[0]) < 1e-3  # less than the friction
    plant.reset()
    plant.read()
    plant.write(effort([2.0]))
    state = run(plant, 0.4)[-1]
    expected = 1.5 / 0.8 * (1.0 - np.exp(-0.8 / inertia[0, 0] * state.time))
    assert state.v[0] == pytest.approx(expected, rel=0.01)


def test_the_robot_begins_where_the_scene_says(ur5):
    start = tip_pose(ur5, HOME + 0.2)
    plant = MujocoPlant(ur5, scene=scene_of(start=start))
    np.testing.assert_allclose(tip_pose(ur5, plant.read().q), start, rtol=0, atol=1e-6)
    plant.reset(HOME)
    np.testing.assert_array_equal(plant.read().q, HOME)
    plant.reset()
    np.testing.assert_array_equal(plant.read().q, plant.start)
    start[:3, 3] = [3.0, 0.0, 0.0]
    with pytest.raises(ConfigError, match="can't be reached"):
        MujocoPlant(ur5, scene=scene_of(start=start))


@pytest.mark.parametrize("name", scene_names())
def test_nothing_touches_or_falls_at_the_start_of_the_packages_scenes(ur5, name):
    scene = load_scene(name)
    plant = MujocoPlant(ur5, scene=scene)
    states = run(plant, 1.0)
    assert plant.contacts() == []
    np.testing.assert_allclose(states[-1].q, plant.start, rtol=0, atol=1e-6)
    for item in scene.objects.values():
        np.testing.assert_allclose(plant.object_pose(item.name), item.shape.pose, rtol=0, atol=1e-3)


def test_without_a_scene_there_are_no_contacts(plant):
    assert plant.scene is None
    assert plant.contacts() == []
    np.testing.assert_array_equal(plant.contact_wrench(), np.zeros(6))


def test_what_cannot_be_moved_or_is_not_there_is_refused(ur5):
    scene = scene_of(
        thing(shape("sphere", 0.1, (3.0, 0.0, 0.0)), "slides"),
        replace(thing(shape("sphere", 0.1, (4.0, 0.0, 0.0)), "free"), name="loose"),
    )
    plant = MujocoPlant(ur5, scene=scene)
    for call in (plant.object_pose, lambda name: plant.move_object(name, np.zeros(3))):
        with refuses("object", "moon"):
            call("moon")
    with refuses("loose", "free", ("thing",)):
        plant.move_object("loose", np.zeros(3))
    for bad in (np.zeros(2), np.array([0.0, np.nan, 0.0])):
        with refuses("thing", bound=3):
            plant.move_object("thing", bad)
    with refuses("object", "thing", ()):
        MujocoPlant(ur5).object_pose("thing")
    for name in ("thing", "scene/thing"):  # objects are no links
        with pytest.raises(ModelError, match=r"unknown frame .*frames: ") as error:
            plant.push(name, np.zeros(3), np.zeros(3))
        assert "thing" not in str(error.value).partition("frames: ")[2]


def test_a_tool_on_an_unknown_link_is_refused_with_the_links_listed(ur5):
    with pytest.raises(ModelError, match=r"unknown frame 'hand'; frames: .*tool0"):
        MujocoPlant(ur5, scene=scene_of(tool=SPHERE, tool_link="hand"))


# --- faults and refusals ---


def test_physics_that_diverge_are_a_fault_until_the_reset():
    """A bar of a millionth of its inertia, at a hundred million times its effort limit."""
    arm = planar_arm((0.5,))
    light = arm.urdf.replace('mass value="2.0"', 'mass value="1e-8"').replace('"0.02"', '"1e-9"')
    light = light.replace('"0.01"', '"1e-9"').replace('effort="200.0"', 'effort="1e6"')
    plant = MujocoPlant(arm.config(home=(0.5,), rotor_inertia=(0.0,)), urdf=light)
    plant.read()
    plant.write(effort([1e6]))
    with pytest.raises(HardwareFault, match=r"diverged at t = .* s: mjWARN_BAD"):
        run(plant, 1.0)
    at_fault = plant.time
    with pytest.raises(HardwareFault, match="diverged"):
        plant.read()
    assert plant.time > at_fault  # MuJoCo has not quietly started anew
    plant.reset()
    plant.read()
    assert plant.read().q == pytest.approx([0.5], abs=1e-6)


def test_a_missing_wrench_frame_is_refused_with_the_frames_listed(ur5):
    with pytest.raises(ModelError, match=r"unknown frame 'sensor'; frames: .*ft_frame"):
        MujocoPlant(replace(ur5, wrench_frame="sensor"))


def test_a_missing_joint_is_refused(ur5):
    with pytest.raises(ModelError, match="elbow"):
        MujocoPlant(replace(ur5, joints=("elbow", *ur5.joints[1:])))


@pytest.mark.parametrize("urdf", ["", "<robot name='a'>", "<html/>"])
def test_a_broken_description_is_refused(ur5, urdf):
    with pytest.raises(ModelError, match="can't be read"):
        MujocoPlant(ur5, urdf=urdf)


def test_an_inertia_that_no_body_has_is_simulated_under_laws_of_positions_alone():
    """The inertia of no body: one principal moment is above the sum of the other two."""
    broken = planar_arm((0.5, 0.4)).urdf.replace('izz="0.02"', 'izz="9.0"')
    arm = Arm(broken, ("joint_1", "joint_2"))
    robot = arm.config()
    MujocoPlant(robot, urdf=arm.urdf)
    model = RobotModel.of(robot, arm.urdf)
    assert "link_1" in model.dynamics_problem
    with pytest.raises(ConfigError) as caught:
        ControlLoop(robot, "impedance", model=model)
    assert "link_1" in str(caught.value)
    ControlLoop(robot, "joint_pid", model=model)
