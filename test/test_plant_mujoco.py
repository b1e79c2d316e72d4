"""The simulated robot: its physics against Pinocchio's, its joints' drives, its sensor, and what it refuses."""

from dataclasses import replace

import numpy as np
import pytest
from arms import Arm, Chain, planar_arm, random_arm

pytest.importorskip("mujoco")

from robot_control_ros.errors import ConfigError, HardwareFault, ModelError
from robot_control_ros.model import RobotModel
from robot_control_ros.plants.mujoco import MujocoPlant
from robot_control_ros.robots import load_robot
from robot_control_ros.types import Command, CommandMode
from robot_control_ros.wrench import WrenchPipeline

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
    changes = {name: options.pop(name) for name in ("wrench_frame", "home", "rotor_inertia") if name in options}
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
    with pytest.raises(ConfigError, match="must be above 0 Hz"):
        MujocoPlant(ur5, rate=rate)


# --- physics ---


def fall(model, q, torque, seconds, step=1e-4):
    """Joint angles and velocities under a constant torque from rest, by RK4 on the equation of motion."""
    n = len(q)

    def rate(x):
        v = x[n:]
        return np.concatenate((v, np.linalg.solve(model.mass(x[:n]), torque - model.bias(x[:n], v))))

    x = np.concatenate((q, np.zeros(n)))
    for _ in range(round(seconds / step)):
        a = rate(x)
        b = rate(x + step / 2 * a)
        c = rate(x + step / 2 * b)
        x = x + step / 6 * (a + 2 * b + 2 * c + rate(x + step * c))
    return x[:n], x[n:]


@pytest.mark.parametrize("torque", [np.zeros(6), np.array([30.0, -60.0, 20.0, 3.0, -4.0, 2.0])], ids=["free", "torque"])
def test_effort_moves_the_arm_as_the_equation_of_motion_says_to_first_order_in_the_step(ur5, ur5_model, torque):
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
    np.testing.assert_allclose([errors[0] / errors[1], errors[1] / errors[2]], 2.0, rtol=0, atol=0.1)


def test_the_first_step_from_rest_is_exact_in_any_posture_for_links_do_not_collide(ur5, ur5_model, rng):
    for _ in range(30):
        q = rng.uniform(-np.pi, np.pi, 6)
        plant = MujocoPlant(ur5, rate=1000.0)
        plant.reset(q)
        plant.read()
        plant.write(effort(np.zeros(6)))
        expected = -0.001 * np.linalg.solve(ur5_model.mass(q), ur5_model.at(q).gravity)
        np.testing.assert_allclose(plant.read().v, expected, rtol=0, atol=1e-12)


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
    np.testing.assert_allclose(first.effort, arm.model().at(np.array(config.home)).gravity, rtol=0, atol=1e-9)
    np.testing.assert_allclose(first.wrench.force, later.wrench.force, rtol=0, atol=1e-6)
    np.testing.assert_allclose(first.wrench.torque, later.wrench.torque, rtol=0, atol=1e-6)


def test_position_is_reached_within_the_effort_limits(plant, ur5_model):
    goal = HOME + np.array([0.3, 0.2, -0.4, 0.5, -0.3, 0.6])
    plant.write(position(goal))
    states = run(plant, 1.0)
    efforts = np.array([state.effort for state in states])
    assert (abs(efforts) <= ur5_model.limits.effort).all()
    assert (abs(efforts).max(axis=0) == ur5_model.limits.effort).any()  # the step was large enough to meet them
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
    with pytest.raises(ConfigError, match=f"{mode.value} command .*: must be 6 finite numbers"):
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
    kept = [getattr(state, name).copy() for name in names] + [state.wrench.force.copy(), state.wrench.torque.copy()]
    run(plant, 0.1)
    now = [getattr(state, name) for name in names] + [state.wrench.force, state.wrench.torque]
    for before, after in zip(kept, now, strict=True):
        np.testing.assert_array_equal(before, after)


# --- the wrench sensor ---


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
    np.testing.assert_allclose(torque_at_sensor, wrench[3:] + np.cross(lever, wrench[:3]), rtol=0, atol=1e-6)
    assert np.linalg.norm(lever) == pytest.approx(np.sqrt(0.0525), abs=1e-9)


def test_the_tare_takes_the_weight_away(ur5):
    arm = random_arm(2, 6, mount=MOUNT)
    plant, _ = plant_of(arm, wrench_frame="link_6")
    model, pipeline = arm.model(), WrenchPipeline()
    weight = on_tip(run(plant, 1.0)[-1], model, pipeline)
    pipeline.zero()
    assert np.linalg.norm(weight[:3]) > 5.0
    np.testing.assert_allclose(on_tip(run(plant, 0.2)[-1], model, pipeline), 0.0, rtol=0, atol=1e-6)


def test_the_sensor_feels_the_weight_of_what_is_beyond_it_as_a_downward_force():
    arm = planar_arm((0.5, 0.4))
    plant, _ = plant_of(arm, wrench_frame="link_2", home=(0.4, 0.7))
    wrench = on_tip(run(plant, 0.5)[-1], arm.model())
    direction = np.array([np.cos(1.1), np.sin(1.1), 0.0])  # of the second bar; its mass is 0.2 m short of the tip
    weight = np.array([0.0, 0.0, -2.0 * 9.81])
    expected = np.concatenate((weight, np.cross(-0.2 * direction, weight)))
    np.testing.assert_allclose(wrench, expected, rtol=0, atol=1e-6)


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
    """A force on a turning bar: its power at the link's origin, and so the work, is that of the origin's path."""
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
    with pytest.raises(ModelError, match=r"unknown frame 'hand'"):
        plant.link_rotation("hand")


@pytest.mark.parametrize(
    ("force", "torque"), [([0, 0, np.nan], [0, 0, 0]), ([0, 0, 0], [0, np.inf, 0]), ([0, 0], [0, 0, 0])]
)
def test_a_push_that_is_no_wrench_is_refused_and_the_last_one_stays(plant, ur5_model, force, torque):
    push(plant, "tool0", WRENCH)
    with pytest.raises(ConfigError, match=r"must be 3 \+ 3 finite numbers"):
        plant.push("tool0", np.array(force, dtype=float), np.array(torque, dtype=float))
    np.testing.assert_allclose(on_tip(run(plant, 1.0)[-1], ur5_model), WRENCH, rtol=0, atol=1e-6)


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


def test_a_description_that_only_mujoco_refuses_is_a_model_error(ur5):
    """The inertia of no body: one principal moment is above the sum of the other two."""
    broken = planar_arm((0.5, 0.4)).urdf.replace('izz="0.02"', 'izz="9.0"')
    arm = Arm(broken, ("joint_1", "joint_2"))
    with pytest.raises(ModelError, match="MuJoCo can't read the robot description"):
        MujocoPlant(arm.config(), urdf=arm.urdf)
