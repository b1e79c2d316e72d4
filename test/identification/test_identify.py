"""Identification: a simulated arm's imperfections are found, within the bounds shown and the
uncertainty stated.
"""

from concurrent.futures import Future
from dataclasses import replace
from functools import cache
from inspect import signature

import numpy as np
import pytest
from identification_trials import (
    HOME,
    MODEL,
    MOVED,
    ROBOT,
    SETS,
    SHARE,
    STEP,
    figures,
    inside,
    print_table,
    random_arm,
    wrong_figures,
)
from refusals import refuses
from stepped_time import SteppedTime

from evidence.stability.gain_table import gain_table
from robot_control_ros.client.robot import Robot
from robot_control_ros.core.errors import ConfigError, HardwareFault
from robot_control_ros.core.types import CommandMode
from robot_control_ros.identification.alignment import align
from robot_control_ros.identification.estimate import identify
from robot_control_ros.identification.identified_file import plot, table, write_file
from robot_control_ros.identification.motion_law import motion_mode
from robot_control_ros.identification.motion_plan import MotionBounds, plan_motion
from robot_control_ros.identification.position_lag import position_lag
from robot_control_ros.identification.recording import ArmRecording
from robot_control_ros.identification.running_arm import RunningIdentification
from robot_control_ros.identification.simulated import identify_plan
from robot_control_ros.robot.configuration import load_robot
from robot_control_ros.robot.model import RobotModel
from robot_control_ros.sensing.base_tilt import tilted_mount
from robot_control_ros.simulation.imperfect.imperfections import (
    CommandLine,
    Imperfections,
    ModelErrors,
    load_imperfections,
)

SLOW = 250.0  # Hz: many arms take positions so
SERVO = 150.0  # rad/s, of the simulated position servo, critically damped


@cache
def identified(seed, joints=MOVED, step=STEP, rate=ROBOT.profile.rate):
    arm = random_arm(seed)
    robot = ROBOT.at_rate(rate)
    plan = plan_motion(robot, MODEL, HOME, MotionBounds(joints=joints))
    return arm, plan, *identify_plan(robot, arm, plan, physics_step=step)


@pytest.mark.sim
def test_one_joint_tells_line_noise_and_friction():
    arm, _, found, _ = identified(4, ("elbow_joint",))
    assert wrong_figures(figures(arm, ("elbow_joint",), found)) == []
    assert found.effort_kind == "torque"
    assert found.rate == pytest.approx(ROBOT.profile.rate)
    assert found.state_delay == pytest.approx(arm.states.delay, abs=STEP / 2.0)
    assert float(found.state_jitter.value) == pytest.approx(arm.states.jitter, abs=STEP / 2.0)


@pytest.mark.sim
def test_a_vertical_joint_alone_shows_its_friction_and_no_payload(tmp_path):
    """No payload loads it: nothing is known of one, and that is no error."""
    arm, _, found, _ = identified(4, ("wrist_3_joint",), 2.0 * STEP, SLOW)
    assert bool(found.coulomb.holds(np.array(arm.friction.coulomb))[5])
    assert float(found.payload_mass.half_width) > 100.0
    read = load_imperfections(str(write_file(tmp_path / "mine.yaml", ROBOT, found)))
    read.check(ROBOT)
    assert read.half_width.payload_mass == 0.0
    assert read.half_width.coulomb[5] > 0.0


@pytest.mark.sim
@pytest.mark.parametrize(
    ("seed", "tilt", "rate", "step"),
    [
        (9, (0.0, 0.12), SLOW, 2.0 * STEP),
        *(
            pytest.param(seed, tilt, ROBOT.profile.rate, STEP, marks=pytest.mark.long)
            for seed, tilt in [(4, (0.06, -0.05)), (7, (-0.087, 0.0)), (9, (0.0, 0.12))]
        ),
    ],
)
def test_a_tilted_base_is_found_beside_friction_and_load(seed, tilt, rate, step, tmp_path):
    """By three joints, one of which turns about the vertical; its load is found as before.

    To a model that is mounted so the same base is level.
    """
    joints = ("shoulder_pan_joint", *MOVED)
    arm = random_arm(seed)
    arm = replace(arm, model=replace(arm.model, base_tilt=tilt))
    robot = ROBOT.at_rate(rate)
    plan = plan_motion(robot, MODEL, HOME, MotionBounds(joints=joints))
    found, recording = identify_plan(robot, arm, plan, physics_step=step)
    assert found.base_tilt.value == pytest.approx(tilt, abs=0.01)
    assert found.base_tilt.holds(np.array(tilt)).all()
    assert wrong_figures(figures(arm, joints, found)) == []
    read = load_imperfections(str(write_file(tmp_path / "mine.yaml", ROBOT, found)))
    read.check(ROBOT)
    assert read.model.base_tilt == pytest.approx(found.base_tilt.value, rel=1e-3)
    place = (*ROBOT.mount[:3], *tilted_mount(ROBOT.mount, np.array(tilt)))
    mounted = replace(robot, mount=place)
    level = identify(recording, plan, RobotModel.of(mounted), robot.profile)
    assert level.base_tilt.value == pytest.approx((0.0, 0.0), abs=0.01)
    assert level.base_tilt.holds(np.zeros(2)).all()


@pytest.mark.sim
def test_a_yaml_file_of_another_kind_is_not_overwritten(tmp_path):
    """As the robot's own description; a file of imperfections is replaced."""
    found = identified(4, ("elbow_joint",))[2]
    robot = tmp_path / "arm.yaml"
    robot.write_text("name: arm")
    with pytest.raises(ConfigError) as caught:
        write_file(robot, ROBOT, found)
    assert caught.value.value == str(robot)
    assert robot.read_text() == "name: arm"
    for _ in range(2):
        assert write_file(tmp_path / "mine.yaml", ROBOT, found).is_file()


@pytest.mark.few(1)
@pytest.mark.sim
@pytest.mark.parametrize(("kind", "scale"), [("reversed_torque", -1.0), ("current", 0.1)])
def test_the_meaning_of_the_efforts_is_found_and_friction_does_not_depend_on_it(kind, scale):
    arm, plan, found, recording = identified(4, ("elbow_joint",))
    other = identify(
        replace(recording, effort=scale * recording.effort), plan, MODEL, ROBOT.profile
    )
    assert other.effort_kind == kind
    assert float(other.line.delay.value) == pytest.approx(float(found.line.delay.value), abs=STEP)
    assert other.line.scale.value[2] == pytest.approx(scale, rel=0.05)
    assert other.coulomb.value[2] == pytest.approx(arm.friction.coulomb[2], rel=0.1)


@pytest.mark.sim
def test_the_file_is_read_by_simulation_and_stability(tmp_path, capsys):
    arm, _, found, recording = identified(4, ("elbow_joint",))
    path = write_file(tmp_path / "mine.yaml", ROBOT, found)
    read = load_imperfections(str(path))
    read.check(ROBOT)
    assert read.friction.coulomb[2] == pytest.approx(found.coulomb.value[2], rel=1e-3)
    assert read.friction.coulomb[0] == 0.0
    assert read.half_width.coulomb[2] == pytest.approx(found.coulomb.half_width[2], rel=1e-3)
    assert read.half_width.viscous[2] == pytest.approx(found.viscous.half_width[2], rel=1e-3)
    assert read.half_width.coulomb[0] == 0.0
    assert read.half_width.delay >= float(found.line.delay.half_width) * 0.999
    assert read.noise.effort == pytest.approx(arm.noise.effort, rel=0.1)
    assert gain_table(["ur5e"], "sim", str(path)) in (0, 1)
    assert "joint_impedance" in capsys.readouterr().out
    assert ROBOT.joints[2] in table(ROBOT, found)
    assert plot(tmp_path / "mine.png", ROBOT, found, recording).stat().st_size > 0


@pytest.mark.sim
def test_offsets_of_the_efforts_are_found_and_change_no_friction(tmp_path):
    _, plan, found, recording = identified(4, ("elbow_joint",))
    offset = np.array([2.0, -3.0, 1.8, 0.8, 1.1, -2.1])
    other = identify(
        replace(recording, effort=recording.effort + offset), plan, MODEL, ROBOT.profile
    )
    assert other.effort_kind == "torque"
    read = load_imperfections(str(write_file(tmp_path / "mine.yaml", ROBOT, other)))
    np.testing.assert_allclose(read.effort_offset, found.line.offset.value + offset, atol=0.05)
    assert other.line.offset.holds(offset).mean() > 0.5
    np.testing.assert_allclose(other.coulomb.value[2], found.coulomb.value[2], rtol=1e-6)


@cache
def identified_by_positions(rate=ROBOT.profile.rate):
    robot = ROBOT.at_rate(rate)
    arm = replace(random_arm(4), commands=CommandLine(position_delay=0.019, jitter=0.001))
    plan = plan_motion(robot, MODEL, HOME, MotionBounds(joints=("elbow_joint",)))
    return arm, plan, *identify_plan(robot, arm, plan, "position")


@pytest.mark.long
@pytest.mark.sim
def test_an_arm_that_takes_positions_tells_its_lag_noise_and_friction(tmp_path):
    arm, _, found, recording = identified_by_positions()
    assert recording.mode is CommandMode.POSITION
    delay = arm.commands.position_delay + arm.commands.jitter / 2.0
    assert float(found.line.delay.value) == pytest.approx(delay + 2.0 / SERVO, abs=0.0005)
    assert found.coulomb.value[2] == pytest.approx(arm.friction.coulomb[2], rel=0.1)
    assert found.coulomb.holds(np.array(arm.friction.coulomb))[2]
    assert found.viscous.holds(np.array(arm.friction.viscous))[2]
    assert found.line.noise.value == pytest.approx(arm.noise.effort, rel=0.2)
    assert found.position_noise.value == pytest.approx(arm.noise.position[0], rel=0.2)
    read = load_imperfections(str(write_file(tmp_path / "mine.yaml", ROBOT, found)))
    assert read.commands.position_delay == pytest.approx(delay, abs=0.0005)


@pytest.mark.long
@pytest.mark.sim
@pytest.mark.parametrize(
    ("efforts", "kind"),
    [(lambda effort: np.nan * effort, "none"), (lambda effort: 0.1 * effort, "current")],
)
def test_an_arm_that_takes_positions_and_gives_no_torques_has_no_friction_in_its_file(
    tmp_path, efforts, kind
):
    _, plan, found, recording = identified_by_positions(SLOW)
    profile = replace(ROBOT.at_rate(SLOW).profile, joint_effort=kind)
    other = identify(replace(recording, effort=efforts(recording.effort)), plan, MODEL, profile)
    assert float(other.line.delay.value) == float(found.line.delay.value)
    assert np.isnan(other.coulomb.value).all()
    assert np.isnan(other.payload_mass.value)
    assert "not found" in table(ROBOT, other)
    read = load_imperfections(str(write_file(tmp_path / "mine.yaml", ROBOT, other)))
    assert read.friction.coulomb == (0.0,)
    assert read.commands.position_delay > 0.0


@pytest.mark.sim
def test_what_the_recording_lost_costs_no_accuracy():
    arm, plan, found, recording = identified(4, ("elbow_joint",))
    kept = np.ones(len(recording.stamp), dtype=bool)
    for begin in range(2000, len(kept), 2000):
        kept[begin : begin + 60] = False  # 0.12 s, longer than a block of a stroke
    part = {
        name: value[kept]
        for name, value in vars(recording).items()
        if isinstance(value, np.ndarray)
    }
    other = identify(replace(recording, **part), plan, MODEL, ROBOT.profile)
    assert wrong_figures(figures(arm, ("elbow_joint",), other)) == []
    assert other.lost > found.lost


def test_the_mode_is_effort_where_the_arm_takes_it():
    profiles = {name: load_robot("ur5", name).profile for name in ("sim", "real")}
    assert motion_mode(profiles["sim"]) is CommandMode.EFFORT
    assert motion_mode(profiles["sim"], "position") is CommandMode.POSITION
    assert motion_mode(profiles["real"]) is CommandMode.POSITION
    with refuses("mode"):
        motion_mode(profiles["real"], "effort")
    with refuses("mode"):
        motion_mode(replace(profiles["sim"], commands=(CommandMode.VELOCITY,)))


class ArmOnBus:
    """Of a controller whose law runs in the bus process."""

    ready = True

    def get(self, names):
        future = Future()
        future.set_result(
            {
                name: {"robot": "ur5", "profile": "ethercat", "bus": "ecm"}.get(name, 0.0)
                for name in names
            }
        )
        return future

    def values(self, names, reply):
        return reply.result()


def test_a_law_in_the_bus_process_is_refused_with_the_way_out():
    with refuses("bus") as caught:
        RunningIdentification(ArmOnBus(), lambda seconds: None, "controller", None, "")
    assert "in_process:=false" in str(caught.value)


class AbsentArm:
    """As if no such controller was there."""

    ready = False

    def poll(self):
        pass


def test_a_controller_that_is_not_there_is_looked_for_as_long_as_robot_looks(monkeypatch):
    """A misspelt name is told then; before, 20 s went by."""
    stepped = SteppedTime(0)
    monkeypatch.setattr("time.monotonic", lambda: stepped.now * 1e-9)
    with refuses("controller") as caught:
        RunningIdentification(AbsentArm(), stepped.sleep, "contoller", None, "")
    assert caught.value.value == "contoller"
    assert stepped.now * 1e-9 == pytest.approx(
        signature(Robot.__init__).parameters["timeout"].default, abs=0.1
    )


@pytest.mark.parametrize("lag", [0.002, 0.0347])
def test_the_lag_of_positions_is_found_beside_friction_and_offset(lag):
    plan = plan_motion(ROBOT, MODEL, HOME, MotionBounds(joints=MOVED))
    r, period = np.random.default_rng(3), 0.008
    stamp = np.arange(0.0, plan.duration, period)

    def reference(t):
        return np.stack([np.interp(t, plan.times, each) for each in plan.positions.T], axis=1)

    # held for a period, a command is half a period late
    q = reference(stamp - lag - period / 2.0)
    direction = np.sign(np.gradient(q, axis=0)) * (np.abs(np.gradient(q, axis=0)) > 1e-9)
    q = q - 1e-3 * direction + r.uniform(-0.01, 0.01, ROBOT.n) + 2e-5 * r.standard_normal(q.shape)
    none = np.zeros_like(q)
    command = reference(stamp)
    found = position_lag(
        ArmRecording(
            CommandMode.POSITION,
            0.0,
            stamp,
            stamp,
            q,
            none,
            none,
            np.full((len(q), 6), np.nan),
            command,
        ),
        plan,
    )
    assert found.holds(lag)
    assert float(found.half_width) < 0.0005


@pytest.mark.sim
@pytest.mark.long
def test_20_random_arms_are_found_within_the_stated_uncertainty():
    sets = []
    for seed in range(SETS):
        arm, _, found, _ = identified(seed)
        sets.append(figures(arm, MOVED, found))
        assert wrong_figures(sets[-1]) == [], seed
        assert found.base_tilt.value == pytest.approx((0.0, 0.0), abs=0.01)
    print_table(sets)
    assert min(inside(sets).values()) >= SHARE


@pytest.mark.sim
def test_a_motion_that_leaves_the_bounds_is_stopped():
    arm = Imperfections(name="heavy", model=ModelErrors(payload_mass=40.0))
    plan = plan_motion(ROBOT, MODEL, HOME, MotionBounds(joints=MOVED[:1]))
    with pytest.raises(HardwareFault):
        identify_plan(ROBOT, arm, plan)


def test_the_reference_keeps_the_bounds_shown_and_returns():
    given = MotionBounds(amplitude=0.3, speed=0.4)
    plan = plan_motion(ROBOT, MODEL, HOME, given)
    path = plan.path(MODEL, 2.0)
    q, v, a = (
        np.array(each) for each in zip(*map(path.path, np.arange(2.0, path.end, 0.01)), strict=True)
    )
    assert np.abs(q - HOME).max() <= given.amplitude + 1e-9
    assert np.abs(v).max() == pytest.approx(given.speed)
    assert (np.abs(a).max(axis=0) <= plan.acceleration + 1e-9).all()
    assert path.path(path.end)[0] == pytest.approx(HOME)
    assert path.end == pytest.approx(2.0 + plan.duration)
    for stroke in plan.strokes:
        expected = np.zeros(ROBOT.n)
        expected[stroke.joint] = stroke.velocity
        assert path.path(2.0 + (stroke.start + stroke.end) / 2.0)[1] == pytest.approx(expected)
    assert plan.left(HOME, np.zeros(ROBOT.n)) == ""
    assert plan.left(plan.upper + 0.01, np.zeros(ROBOT.n)) != ""
    assert plan.left(HOME, plan.speed + 0.01) != ""


@pytest.mark.parametrize(
    ("bounds", "name"),
    [
        (MotionBounds(joints=("elbow",)), "joint"),
        (MotionBounds(speed=3.0), "speed"),
        (MotionBounds(speed=0.0), "speed"),
        (MotionBounds(amplitude=0.1), "amplitude"),
    ],
)
def test_bounds_that_cannot_be_kept_are_refused(bounds, name):
    with refuses(name):
        plan_motion(ROBOT, MODEL, HOME, bounds)


def test_a_posture_near_a_joint_limit_is_refused():
    with pytest.raises(ConfigError):
        plan_motion(ROBOT, MODEL, MODEL.limits.upper - 0.01)


def test_what_holds_a_payload_is_the_slope_of_its_energy():
    r = np.random.default_rng(1)
    q, mass, centre = r.uniform(-2.0, 2.0, ROBOT.n), 1.7, r.uniform(-0.1, 0.1, 3)

    def energy(q):
        pose = MODEL.at(q).pose
        return -mass * MODEL.gravity @ (pose[:3, :3] @ centre + pose[:3, 3])

    kin = MODEL.at(q)
    for joint, axis in enumerate(1e-6 * np.eye(ROBOT.n)):
        row = kin.payload_regressor[joint]
        slope = (energy(q + axis) - energy(q - axis)) / 2e-6
        assert row @ np.concatenate(([mass], mass * centre)) == pytest.approx(slope, abs=1e-6)


def sine_recording(delay, scale=1.0, noise=0.0):
    """Commands sent at 500 Hz, and efforts that follow `delay` later, as the
    means over the periods.
    """
    r, period, fine = np.random.default_rng(2), 0.002, 20
    k, ratio = 2000, round(delay / period * fine)
    stamp = period * np.arange(k)
    command = np.column_stack((np.sin(9.0 * stamp), 2.0 * np.cos(23.0 * stamp)))
    acting = np.vstack((np.repeat(command[:1], ratio, axis=0), np.repeat(command, fine, axis=0)))
    means = acting[: (k - 1) * fine].reshape(k - 1, fine, 2).mean(axis=1)
    effort = scale * np.vstack((means[:1], means)) + noise * r.standard_normal((k, 2))
    none = np.zeros((k, 2))
    return ArmRecording(
        CommandMode.EFFORT, 0.0, stamp, stamp, none, none, effort, np.full((k, 6), np.nan), command
    )


@pytest.mark.parametrize("delay", [0.0003, 0.002, 0.0071, 0.0154])
def test_a_delay_is_found_between_samples(delay):
    found = align(sine_recording(delay, scale=-0.1, noise=0.002), None)
    assert found.delay.holds(delay)
    assert float(found.delay.half_width) < 0.0005
    assert found.scale.value == pytest.approx(-0.1, rel=0.01)
    assert found.noise.value == pytest.approx(0.002, rel=0.1)


def jittered_recording(seed, noise):
    """Commands that jump, and act 1.4 to 2.7 ms late: some in the next period, some
    in the one after it.
    """
    r, k, period, fine = np.random.default_rng(seed), 2000, 0.002, 20
    stamp = period * np.arange(k)
    jumps = (np.arange(k) % 100 < 25)[:, None] * (1.5 + 0.3 * r.standard_normal((k, 2)))
    command = 20.0 + np.column_stack((np.sin(9.0 * stamp), 2.0 * np.cos(23.0 * stamp))) + jumps
    arrival = np.maximum.accumulate(fine * np.arange(k) + r.integers(14, 27, k))
    acting = command[
        np.clip(np.searchsorted(arrival, np.arange(fine * k), side="right") - 1, 0, None)
    ]
    means = acting.reshape(k, fine, 2).mean(axis=1)
    effort = np.vstack((means[:1], means[:-1])) + noise * r.standard_normal((k, 2))
    none = np.zeros((k, 2))
    return ArmRecording(
        CommandMode.EFFORT, 0.0, stamp, stamp, none, none, effort, np.full((k, 6), np.nan), command
    )


def test_jitter_over_the_edge_of_a_period_is_no_noise():
    found = [align(jittered_recording(seed, 0.05), None).noise for seed in range(20)]
    assert np.mean([each.value for each in found]) == pytest.approx(0.05, rel=0.02)
    assert np.mean([each.holds(0.05) for each in found]) >= 0.9


def test_efforts_that_say_nothing_are_refused():
    still = sine_recording(0.002, scale=0.0)
    with refuses("effort"):
        align(still, None)


def test_a_motion_that_was_not_followed_is_refused():
    plan = plan_motion(ROBOT, MODEL, HOME, MotionBounds(joints=("elbow_joint",)))
    plan.check_followed(ROBOT.joints, plan.times, plan.positions + 0.1)
    with pytest.raises(HardwareFault) as caught:
        # it never moved
        plan.check_followed(ROBOT.joints, plan.times, np.tile(HOME, (len(plan.times), 1)))
    assert caught.value.name == "elbow_joint"
    assert caught.value.value == pytest.approx(0.25, abs=0.01)
