"""The control cycle: bumpless starts, refusals that change nothing, moves, laws by name,
wrench tare, timing.
"""

import math
from dataclasses import dataclass, replace
from types import SimpleNamespace

import numpy as np
import pytest
from arms import robot_cases
from refusals import refuses

from robot_control_ros.control.cycle_times import CycleTimes
from robot_control_ros.control.loop import ControlLoop
from robot_control_ros.control.motion_commands import WRENCH_RAMP
from robot_control_ros.control.sample_order import MAX_GAP
from robot_control_ros.core.errors import ConfigError
from robot_control_ros.core.gains import gain
from robot_control_ros.core.spatial import rotation_exp
from robot_control_ros.core.types import Command, CommandMode, RobotState, Wrench
from robot_control_ros.laws import law, law_class, law_names
from robot_control_ros.laws.gravity_compensation import GravityCompensation
from robot_control_ros.laws.impedance import Impedance
from robot_control_ros.laws.running_law import RunningLaw
from robot_control_ros.references import Hold
from robot_control_ros.robot.configuration import load_robot
from robot_control_ros.robot.model import RobotModel
from robot_control_ros.robot.profile import HardwareProfile
from robot_control_ros.sensing.wrench import WrenchPipeline

DT = 0.002
UR5 = load_robot("ur5")
HOME = np.array(UR5.home)
SELF_COMPENSATING = replace(
    UR5,
    profile_name="helpful",
    profile=HardwareProfile(rate=500.0, commands=(CommandMode.EFFORT,), gravity_by_robot=True),
)


@pytest.fixture(scope="module")
def model():
    return RobotModel.of(UR5)


def state(time, q=HOME, v=None, wrench=None):
    """A sample of a robot that measures no torques."""
    q = np.array(q, dtype=float)
    v = np.zeros_like(q) if v is None else np.array(v, dtype=float)
    return RobotState(time, q, v, np.full_like(q, np.nan), wrench)


def holding(loop, q):
    """What holds the robot at rest at q, in the mode of the loop's law."""
    gravity = RobotModel.of(UR5).at(np.array(q)).gravity
    return {
        CommandMode.EFFORT: gravity,
        CommandMode.POSITION: np.array(q),
        CommandMode.VELOCITY: np.zeros(len(q)),
    }[loop.running.law.mode]


def random_configurations(count, seed):
    return np.random.default_rng(seed).uniform(-2.0, 2.0, (count, 6))


def shifted(pose, metres):
    result = pose.copy()
    result[:3, 3] += metres
    return result


class Faulty(GravityCompensation):
    """A law that can be broken from outside."""

    output = None

    def compute(self, state, kin, reference, gains, dt):
        good = super().compute(state, kin, reference, gains, dt)
        return good if self.output is None else Command(CommandMode.EFFORT, self.output)


class NoLaw:
    """Lacks mode and compute."""

    Gains = GravityCompensation.Gains

    def reset(self, state, kin):
        pass


not_a_class = SimpleNamespace(Gains=None, mode=None, reset=None, compute=None)


# --- the first command ---


@pytest.mark.few(4)
@pytest.mark.parametrize("name", law_names())
@pytest.mark.parametrize("seed", [1, 2])
def test_the_first_command_holds_the_robot_at_any_configuration(model, name, seed):
    for q in random_configurations(5, seed):
        loop = ControlLoop(UR5, name, model=model)
        assert loop.tick(state(7.0, q)).values == pytest.approx(holding(loop, q), abs=1e-6)


def test_before_the_first_sample_the_error_of_the_pose_is_zero(model):
    assert ControlLoop(UR5, "impedance", model=model).pose_error().tolist() == [0.0] * 6


@pytest.mark.parametrize("step", [-0.2, -5.0, 1.01 * MAX_GAP, 60.0])
def test_a_clock_that_was_set_starts_anew_where_the_robot_is_without_a_step(model, step):
    loop = ControlLoop(UR5, "impedance", model=model)
    for k in range(3):
        loop.tick(state(1.0 + k * DT))
    loop.motion.move_to(shifted(loop.tip(), [0.1, 0.0, 0.0]))
    loop.motion.feedforward_wrench = np.full(6, 5.0)
    for k in range(3, 60):
        before = loop.tick(state(1.0 + k * DT)).values
    elsewhere = HOME + 0.05
    for k in range(60, 110):
        command = loop.tick(state(1.0 + k * DT + step, elsewhere)).values
        assert (
            np.abs(command - before) <= 2.0 * np.array(UR5.effort_rate) * DT * (1.0 + 1e-9)
        ).all()
        before = command
    assert loop.restarts == 1
    assert command == pytest.approx(holding(loop, elsewhere), abs=1e-6)
    assert loop.pose_error() == pytest.approx(np.zeros(6), abs=1e-12)


@pytest.mark.few(9)
@pytest.mark.parametrize("late", [0.001, 0.02, 0.03, 5.0])
@pytest.mark.parametrize("law", law_names())
def test_samples_that_come_after_a_newer_one_are_dropped(model, law, late):
    """A relay that is a cycle late, a republication: the commands are those of a loop that
    never got these samples.
    """
    loop, twin = (ControlLoop(UR5, law, model=model) for _ in range(2))
    wrench = Wrench(np.array([3.0, 1.0, -2.0]), np.zeros(3), UR5.tip)
    for k in range(120):
        sample = replace(state(10.0 + k * DT, HOME + 0.0001 * k), wrench=wrench)
        expected = twin.tick(sample)
        assert np.array_equal(loop.tick(sample).values, expected.values)
        if k % 3 == 0:
            assert np.array_equal(
                loop.tick(replace(sample, time=sample.time - late, q=HOME - 0.1)).values,
                expected.values,
            )
    assert loop.restarts == 0
    assert loop.late_samples == 40
    assert loop.fault == ""


def test_restarts_that_repeat_are_a_fault_until_samples_come_steadily(model):
    """Each restart makes the reference begin where the robot is: an arm with a load
    would sink step by step.
    """
    loop = ControlLoop(UR5, "impedance", model=model)
    time = 1.0
    faults = []
    for _ in range(4):
        for _ in range(20):
            time += DT
            loop.tick(state(time))
        time += 0.2
        loop.tick(state(time))
        faults.append(bool(loop.fault))
    assert faults == [False, False, True, True]
    for _ in range(600):
        time += DT
        loop.tick(state(time))
    assert loop.fault == ""


@pytest.mark.parametrize("step", [-1.0, 0.5])
def test_a_start_in_motion_begins_from_the_last_command(model, step):
    loop = ControlLoop(UR5, "impedance", model=model)
    before = loop.tick(state(1.0)).values
    for k in range(60):
        command = loop.tick(state(1.0 + step + k * DT, HOME, np.full(6, 0.7))).values
        change = np.abs(command - before)
        assert np.all(change <= np.array(UR5.effort_rate) * UR5.period * (1.0 + 1e-9))
        before = command
    assert np.abs(command - holding(loop, HOME)).max() > 1.0  # it does damp


def test_the_longest_gap_that_is_bridged_keeps_the_reference(model):
    loop = ControlLoop(UR5, "impedance", model=model)
    loop.tick(state(0.0))
    loop.tick(state(0.99 * MAX_GAP, HOME + 0.01))
    assert loop.pose_error() != pytest.approx(np.zeros(6), abs=1e-3)


def test_the_law_is_reset_at_every_start_and_only_then(model):
    class Counting(GravityCompensation):
        resets = ()

        def reset(self, state, kin):
            super().reset(state, kin)
            self.resets = (*self.resets, state.time)

    loop = ControlLoop(UR5, "gravity_compensation", model=model)
    loop.running.law = Counting()
    for t in (1.0, 1.002, 1.002, 1.004, 2.0, 2.0, 2.002, 1.0, 1.002, 1.06):
        loop.tick(state(t))
    loop.reset()
    loop.tick(state(1.004))
    assert loop.running.law.resets == (1.0, 2.0, 1.06, 1.004)


def test_reset_starts_anew_without_a_step(model):
    loop = ControlLoop(UR5, "impedance", model=model)
    loop.tick(state(1.0))
    loop.tick(state(1.0 + DT, HOME + 0.02))
    loop.reset()
    command = loop.tick(state(1.0 + 2 * DT, HOME + 0.02))
    assert command.values == pytest.approx(holding(loop, HOME + 0.02), abs=1e-6)


# --- gains ---


def test_changed_gains_are_faded_in_with_the_time_constant(model):
    """A resting robot 1 cm off its reference: torque less gravity is Jᵀ K e."""
    loop = ControlLoop(UR5, "impedance", {"stiffness": 100.0}, model=model, gain_time_constant=0.1)
    loop.tick(state(0.0))
    loop.motion.trajectory = Hold(shifted(loop.tip(), [0.01, 0.0, 0.0]), HOME)
    error = np.array([0.01, 0, 0, 0, 0, 0])
    kin = model.at(HOME)
    for k in range(1, 51):
        before = loop.tick(state(k * DT)).values
    assert before - kin.gravity == pytest.approx(kin.jacobian.T @ (100.0 * error), abs=1e-9)
    loop.running.gains.set({"stiffness": 1100.0})
    for k in range(1, 101):
        torque = loop.tick(state((50 + k) * DT)).values - kin.gravity
        stiffness = 1100.0 - 1000.0 * math.exp(-k * DT / 0.1)
        assert torque == pytest.approx(kin.jacobian.T @ (stiffness * error), abs=1e-9)


def test_gains_changed_in_mid_motion_never_exceed_the_torque_rate_and_converge(model):
    loop = ControlLoop(UR5, "impedance", model=model, gain_time_constant=0.05)
    phase = np.arange(6)
    last = loop.tick(state(0.0, HOME)).values
    changes = {
        100: {"stiffness": 10000.0, "damping": 2000.0},
        150: {"stiffness": 0.0, "gravity": False},
        200: {
            "stiffness": [2000, 100, 3000, 5, 300, 0],
            "damping_ratio": 0.3,
            "gravity": True,
            "coriolis": True,
        },
    }
    for k in range(1, 600):
        t = k * DT
        if k in changes:
            loop.running.gains.set(changes[k])
        swing = 0.2 * np.sin(3.0 * t + phase) - 0.2 * np.sin(phase)
        now = loop.tick(state(t, HOME + swing, 0.6 * np.cos(3.0 * t + phase))).values
        assert np.all(np.abs(now - last) <= np.array(UR5.effort_rate) * DT * (1.0 + 1e-9))
        assert np.all(np.abs(now) <= model.limits.effort)
        last = now
    assert loop.running.gains.current is loop.running.gains.target
    assert loop.running.gains.current.stiffness.diagonal().tolist() == [2000, 100, 3000, 5, 300, 0]
    assert loop.running.gains.current.damping.diagonal().tolist() == [2000.0] * 6
    assert loop.running.gains.current.coriolis == 1.0


def test_refused_gains_change_nothing(model):
    loop, twin = (ControlLoop(UR5, "impedance", model=model) for _ in range(2))
    for each in (loop, twin):
        each.tick(state(0.0))
        each.running.gains.set({"stiffness": 900.0})
        each.tick(state(DT, HOME + 0.001))
    target = loop.running.gains.target
    for bad in (
        {"damping_ratio": 0.5, "stiffness": -1.0},
        {"stifness": 1.0},
        {"stiffness": math.nan},
    ):
        with pytest.raises(ConfigError):
            loop.running.gains.set(bad)
    assert loop.running.gains.target is target
    for k in range(2, 50):
        assert np.array_equal(
            loop.tick(state(k * DT, HOME + 0.001)).values,
            twin.tick(state(k * DT, HOME + 0.001)).values,
        )


def test_gains_come_from_the_caller_then_the_robot_then_the_law(model):
    robot = replace(UR5, law_gains={"impedance": {"stiffness": 300.0, "damping_ratio": 0.7}})
    loop = ControlLoop(robot, "impedance", {"stiffness": 400.0}, model=model)
    assert loop.running.gains.current.stiffness.diagonal().tolist() == [400.0] * 6
    assert loop.running.gains.current.damping_ratio.tolist() == [0.7] * 6
    assert not loop.running.gains.current.posture_damping.any()


def test_a_robot_that_compensates_gravity_itself_starts_without_ours(model):
    loop = ControlLoop(SELF_COMPENSATING, "impedance", model=model)
    assert loop.running.gains.current.gravity == 0.0
    assert loop.tick(state(0.0)).values == pytest.approx(np.zeros(6), abs=1e-9)


def test_gravity_on_a_robot_that_compensates_it_itself_is_refused(model):
    with refuses("gravity", True, False):
        ControlLoop(SELF_COMPENSATING, "impedance", {"gravity": True}, model=model)
    loop = ControlLoop(SELF_COMPENSATING, "impedance", model=model)
    with refuses("gravity", True, False):
        loop.running.gains.set({"stiffness": 1.0, "gravity": True})
    assert loop.running.gains.target.gravity == 0.0
    assert loop.running.gains.target.stiffness[0, 0] != 1.0


# --- samples that can't be used ---

NAN6 = np.array([0, 0, math.nan, 0, 0, 0.0])
HUGE = np.array([0, 0, 0, 0, 1e300, 0.0])
TURNS = np.array([0, 0, 4.0 * math.pi, 0, 0, 0.0])
UR5_LIMITS = RobotModel.of(UR5).limits
RANGE = UR5_LIMITS.upper - UR5_LIMITS.lower
POSITIONS = (UR5_LIMITS.lower - 0.5 * RANGE).tolist(), (UR5_LIMITS.upper + 0.5 * RANGE).tolist()
SPEEDS = (10.0 * UR5_LIMITS.velocity).tolist()


def wrench(force=(0, 0, 0), torque=(0, 0, 0), frame="ft_frame"):
    return Wrench(np.array(force, dtype=float), np.array(torque, dtype=float), frame)


BAD_SAMPLES = {
    "nan position": (state(0, HOME + NAN6), "position", HOME + NAN6, 6),
    "infinite velocity": (state(0, HOME, NAN6 + math.inf), "velocity", NAN6 + math.inf, 6),
    "nan velocity": (state(0, HOME, NAN6), "velocity", NAN6, 6),
    "five positions": (state(0, HOME[:5], np.zeros(6)), "position", HOME[:5], 6),
    "seven velocities": (state(0, HOME, np.full(7, 0.5)), "velocity", np.full(7, 0.5), 6),
    "impossible position": (state(0, HOME + HUGE), "position", HOME + HUGE, POSITIONS),
    "impossible velocity": (state(0, HOME, HUGE), "velocity", HUGE, SPEEDS),
    "two turns off": (state(0, HOME + TURNS), "position", HOME + TURNS, POSITIONS),
    "nan stamp": (state(math.nan), "time", math.nan, None),
}


@pytest.mark.parametrize("case", BAD_SAMPLES)
def test_a_bad_sample_is_named_and_changes_nothing(model, case):
    bad, *fields = BAD_SAMPLES[case]
    loop, twin = (ControlLoop(UR5, "impedance", model=RobotModel.of(UR5)) for _ in range(2))
    for each in (loop, twin):
        each.tick(state(0.0, wrench=wrench((1, 2, 3))))
        each.running.gains.set({"stiffness": 900.0, "inertia": 2.0})
        each.motion.move_to(shifted(each.tip(), [0.05, 0.0, 0.0]))
        each.tick(state(DT, HOME + 0.001, wrench=wrench((1, 2, 3))))
    kept = loop.state, loop.kin, loop.reference, loop.motion.trajectory, loop.times.count
    if math.isfinite(bad.time):
        bad = replace(bad, time=2 * DT)
    with refuses(*fields):
        loop.tick(bad)
    assert (loop.state, loop.kin, loop.reference, loop.motion.trajectory, loop.times.count) == kept
    for k in range(2, 30):
        sample = state(k * DT, HOME + 0.001 * k, np.full(6, 0.1), wrench((3, 2, k)))
        other = replace(sample)
        assert np.array_equal(loop.tick(sample).values, twin.tick(other).values)
        assert np.array_equal(loop.state.wrench_on_tip, twin.state.wrench_on_tip)


BAD_WRENCHES = {
    "nan force": (wrench((0, math.nan, 0)), ["force", "nan", "3 finite numbers"]),
    "infinite torque": (wrench((0, 0, 0), (0, math.inf, 0)), ["torque", "inf"]),
    "two forces": (wrench((1.5, 2.5)), ["force", "[1.5, 2.5]", "3 finite numbers"]),
    "unknown frame": (wrench(frame="tool"), ["'tool'", "ft_frame", "tool0"]),
}


@pytest.mark.parametrize("case", BAD_WRENCHES)
def test_a_bad_wrench_is_named_and_the_last_good_one_stays(case):
    bad, words = BAD_WRENCHES[case]
    loop = ControlLoop(UR5, "impedance", model=RobotModel.of(UR5))
    good = state(0.0, wrench=wrench((1, 2, 3)))
    loop.tick(good)
    before = loop.state.wrench_on_tip
    loop.tick(state(DT, wrench=bad))
    for word in words:
        assert word in loop.wrench.reason
    assert loop.state.wrench_on_tip == pytest.approx(before)


def test_a_bad_first_sample_leaves_nothing_to_start_from(model):
    loop = ControlLoop(UR5, "impedance", model=model)
    with pytest.raises(ConfigError):
        loop.tick(state(0.0, HOME + NAN6))
    assert loop.stop() is None
    assert loop.tick(state(DT)).values == pytest.approx(holding(loop, HOME), abs=1e-6)


# --- laws that fail ---


@pytest.mark.parametrize("output", [NAN6, np.full(6, math.inf), np.zeros(5)])
def test_a_law_that_gives_no_usable_torque_is_replaced_by_the_holding_torque(model, output):
    loop = ControlLoop(UR5, f"{__name__}:Faulty", model=model)
    loop.tick(state(0.0))
    loop.running.law.output = output
    for k in range(1, 4):
        q = HOME + 0.01 * k
        assert loop.tick(state(k * DT, q)).values == pytest.approx(holding(loop, q), abs=1e-9)
        assert "6 finite numbers" in loop.safety.fault


def test_after_a_fault_the_law_recovers_without_a_step(model):
    class Broken(Impedance):
        broken = False

        def compute(self, state, kin, reference, gains, dt):
            good = super().compute(state, kin, reference, gains, dt)
            return Command(CommandMode.EFFORT, good.values * math.nan) if self.broken else good

    loop = ControlLoop(UR5, "impedance", model=model)
    loop.running.law = Broken()
    loop.tick(state(0.0))
    loop.motion.move_to(shifted(loop.tip(), [0.1, 0.1, 0.0]))
    for k in range(1, 200):
        loop.tick(state(k * DT))
    loop.running.law.broken = True
    before = loop.tick(state(200 * DT)).values
    with pytest.raises(ConfigError, match=r"the law gave .*nan"):
        loop.motion.hold()
    loop.running.law.broken = False
    for k in range(201, 230):
        command = loop.tick(state(k * DT)).values
        assert (np.abs(command - before) <= np.array(UR5.effort_rate) * DT * (1.0 + 1e-9)).all()
        assert loop.safety.fault == ""
        before = command
    assert command == pytest.approx(holding(loop, HOME), abs=1e-6)


def test_a_law_is_loaded_by_module_and_class(model):
    loop = ControlLoop(UR5, f"{__name__}:Faulty", {"damping": 3.0}, model=model)
    assert type(loop.running.law) is Faulty
    assert loop.running.gains.current.damping.tolist() == [3.0] * 6


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("impedence", ["unknown law 'impedence'", ", ".join(law_names()), "package.module:Class"]),
        (f"{__name__}:NoLaw", ["NoLaw", "not a law", "lacks mode, compute"]),
        (f"{__name__}:not_a_class", ["not_a_class", "not a law", "a class"]),
        (f"{__name__}:Absent", ["Absent", "can't be loaded"]),
        (
            "no_such_package.laws:Law",
            ["no_such_package.laws:Law", "can't be loaded", "No module named"],
        ),
        (":Law", [":Law", "can't be loaded"]),
        ("module:", ["module:", "can't be loaded"]),
    ],
)
def test_a_law_that_can_not_be_used_is_refused_with_the_reason(model, name, words):
    with pytest.raises(ConfigError) as error:
        ControlLoop(UR5, name, model=model)
    for word in words:
        assert word in str(error.value)


def test_a_law_of_an_installed_plug_in_is_found_by_its_entry_point(monkeypatch):
    entry = SimpleNamespace(name="theirs", load=lambda: Faulty)
    monkeypatch.setattr(
        law, "entry_points", lambda group: [entry] if group == "robot_control_ros.laws" else []
    )
    law.plugin_laws.cache_clear()
    try:
        assert law_class("theirs") is Faulty
        assert "theirs" in law_names()
    finally:
        law.plugin_laws.cache_clear()


def test_an_effort_law_on_the_real_ur5_is_refused():
    with refuses("impedance", CommandMode.EFFORT, (CommandMode.POSITION, CommandMode.VELOCITY)):
        ControlLoop(load_robot("ur5", "real"), "impedance")


# --- where to go ---


@pytest.mark.parametrize(
    "action",
    [
        lambda loop: loop.motion.hold(),
        lambda loop: loop.motion.move_to(RobotModel.of(UR5).at(HOME + 0.01).pose),
        lambda loop: loop.motion.go_home(),
        lambda loop: loop.motion.move_joints_to(HOME),
        lambda loop: loop.motion.follow_joints(np.array([1.0]), np.array([HOME]), None),
        lambda loop: loop.motion.jog(np.full(6, 0.01), 0.1),
        lambda loop: loop.tip(),
    ],
    ids=["hold", "move_to", "go_home", "move_joints_to", "follow_joints", "jog", "tip"],
)
def test_nothing_can_be_started_before_the_first_state(model, action):
    loop = ControlLoop(UR5, "impedance", model=model)
    with pytest.raises(ConfigError, match="no fresh joint state"):
        action(loop)
    loop.tick(state(0.0))
    action(loop)
    loop.reset()
    with pytest.raises(ConfigError, match="no fresh joint state"):
        action(loop)


@pytest.mark.parametrize(
    ("goal", "name", "value", "bound"),
    [
        (HOME + np.array([0, 0, 2.0, 0, 0, 0]), "elbow_joint", 3.5708, (-math.pi, math.pi)),
        (
            HOME - np.array([0, 5.0, 0, 0, 0, 0]),
            "shoulder_lift_joint",
            -6.5708,
            (-2.0 * math.pi, 2.0 * math.pi),
        ),
        (HOME + NAN6, "joint goal", HOME + NAN6, 6),
        (HOME[:5], "joint goal", HOME[:5], 6),
    ],
)
def test_a_joint_goal_that_can_not_be_reached_is_refused_and_the_trajectory_stays(
    model, goal, name, value, bound
):
    loop = ControlLoop(UR5, "impedance", model=model)
    loop.tick(state(0.0))
    before = loop.motion.trajectory
    with refuses(name, value, bound):
        loop.motion.move_joints_to(goal)
    with pytest.raises(ConfigError):
        loop.motion.follow_joints(np.array([30.0]), np.array([goal]), None)
    assert loop.motion.trajectory is before


def test_move_to_reaches_its_goal_from_the_reference_within_the_tip_limits(model):
    loop = ControlLoop(UR5, "impedance", {"governor": False}, model=model)
    loop.tick(state(0.0))
    goal = shifted(loop.tip(), [0.1, -0.1, 0.05])
    goal[:3, :3] = rotation_exp(np.array([0.3, 0.0, 0.2])) @ goal[:3, :3]
    loop.motion.move_to(goal)
    last = loop.reference
    for k in range(1, round(4.0 / DT)):
        loop.tick(state(k * DT))
        step = loop.reference.pose[:3, 3] - last.pose[:3, 3]
        assert np.linalg.norm(step) <= 1.01 * UR5.tip_speed[0] * DT
        assert np.linalg.norm(loop.reference.twist[3:]) <= 1.01 * UR5.tip_speed[1]
        last = loop.reference
    assert loop.reference.pose == pytest.approx(goal, abs=1e-12)
    assert not loop.reference.twist.any()


def test_a_jog_faster_than_the_tip_limits_is_scaled_and_keeps_its_direction(model):
    loop = ControlLoop(UR5, "impedance", model=model)
    loop.tick(state(0.0))
    loop.motion.jog(np.array([3.0, 4.0, 0.0, 0.0, 0.0, 1.0]), 1.0)
    fastest = max(
        (loop.motion.trajectory.sample(t).twist for t in np.linspace(0, 1, 50)),
        key=lambda w: float(w @ w),
    )
    assert fastest == pytest.approx(np.array([3.0, 4.0, 0.0, 0.0, 0.0, 1.0]) * 0.25 / 5.0)


def test_a_feed_forward_wrench_is_what_the_robot_exerts(model):
    loop = ControlLoop(UR5, "impedance", model=model)
    loop.tick(state(0.0))
    loop.motion.feedforward_wrench = np.array([5.0, -3.0, 2.0, 0.1, 0.2, -0.3])
    kin = model.at(HOME)
    for k in range(1, 10):
        torque = loop.tick(state(k * DT)).values
    assert torque == pytest.approx(
        kin.gravity + kin.jacobian.T @ loop.motion.feedforward_wrench, abs=1e-9
    )


def test_a_feed_forward_wrench_ends_where_no_newer_one_comes(model):
    loop, wrench = (
        ControlLoop(UR5, "impedance", model=model),
        np.array([5.0, 0.0, 0.0, 0.0, 0.0, 0.0]),
    )
    loop.tick(state(0.0))
    for k in range(1, 200):
        if k in (10, 50):
            loop.motion.set_feedforward_wrench(wrench, lasting=0.2)
        loop.tick(state(k * DT))
        exerted = loop.reference.wrench is not None
        last = 49 + round(0.2 / DT)  # the clock is that of the samples: 49 was the last
        fading = round(WRENCH_RAMP * 5.0 / loop.motion.largest_wrench[0] / DT) + 1
        assert exerted or not 10 <= k <= last
        assert not exerted or 10 <= k <= last + fading


@pytest.mark.parametrize("name", robot_cases())
def test_a_feed_forward_wrench_comes_and_goes_without_a_step_in_torque(name):
    robot = load_robot(name)
    loop, home = ControlLoop(robot, "impedance"), np.array(robot.home)
    rest = np.zeros(robot.n)
    rate = np.array(robot.effort_rate)

    last = rest

    def torque(k):
        return loop.tick(RobotState(k * DT, home, rest, last)).values

    last = torque(0)
    largest = np.repeat(loop.motion.largest_wrench, 3) * np.array([1, 0, 0, 0, 0, 1])
    moved = 0.0
    for k in range(1, 400):
        if k in (10, 80):
            loop.motion.set_feedforward_wrench(largest if k == 10 else -largest, lasting=0.2)
        command = torque(k)
        assert (np.abs(command - last) <= 0.5 * rate * DT).all()
        moved, last = max(moved, float(np.abs(command - loop.kin.gravity).max())), command
    assert moved > 0.1 * loop.model.limits.effort.min()
    assert loop.reference.wrench is None


@pytest.mark.parametrize("name", robot_cases())
@pytest.mark.parametrize("half", [0, 1])
def test_a_feed_forward_wrench_beyond_the_robots_own_is_refused(name, half):
    robot = load_robot(name)
    loop = ControlLoop(robot, "impedance")
    home, rest = np.array(robot.home), np.zeros(robot.n)
    loop.tick(RobotState(0.0, home, rest, rest))
    good = np.repeat(0.5 * loop.motion.largest_wrench, 3) * np.array([1, 0, 0, 1, 0, 0])
    loop.motion.set_feedforward_wrench(good)
    for size in (1.01 * loop.motion.largest_wrench[half], 1e6, 1e300, np.inf, np.nan):
        wrench = np.zeros(6)
        wrench[3 * half] = size
        with pytest.raises(ConfigError) as refusal:
            loop.motion.set_feedforward_wrench(wrench)
        assert refusal.value.name == ("force", "torque")[half]
        assert refusal.value.bound == pytest.approx(loop.motion.largest_wrench[half])
    assert loop.motion.feedforward_wrench is good


def test_the_largest_target_wrench_is_an_entry_of_the_robots_file(model):
    robot = replace(UR5, target_wrench=(12.0, 0.0))
    loop = ControlLoop(robot, "impedance", model=model)
    assert loop.motion.largest_wrench[0] == 12.0
    assert (
        loop.motion.largest_wrench[1]
        == ControlLoop(UR5, "impedance", model=model).motion.largest_wrench[1]
    )


def test_stop_holds_the_last_known_state(model):
    loop = ControlLoop(UR5, "impedance", model=model)
    loop.tick(state(0.0))
    loop.tick(state(DT, HOME + 0.02))
    for k in range(20):
        command = loop.stop(0.06 + k * DT)
    assert command.values == pytest.approx(holding(loop, HOME + 0.02), abs=1e-9)


@pytest.mark.sim
def test_go_home_reaches_home_within_the_limits(model):
    pytest.importorskip("mujoco")
    from robot_control_ros.simulation.mujoco_plant import MujocoPlant

    plant = MujocoPlant(UR5)
    plant.reset(HOME + np.array([0.4, -0.3, 0.3, 0.2, -0.3, 0.5]))
    loop = ControlLoop(
        UR5, "impedance", {"stiffness": [2000, 2000, 2000, 200, 200, 200]}, model=model
    )
    plant.write(loop.tick(plant.read()))
    loop.motion.go_home()
    while loop.reference.v is None or loop.reference.v.any() or plant.time < 1.0:
        sample = plant.read()
        command = loop.tick(sample)
        plant.write(command)
        assert np.all(
            np.abs(loop.reference.v) <= UR5.joint_speed * model.limits.velocity * (1 + 1e-9)
        )
        assert np.all(np.abs(sample.v) <= model.limits.velocity)
        assert np.all(np.abs(command.values) <= model.limits.effort)
        assert plant.time < 10.0
    for _ in range(500):
        sample = plant.read()
        plant.write(loop.tick(sample))
    assert loop.reference.q == pytest.approx(HOME, abs=1e-12)
    assert sample.q == pytest.approx(HOME, abs=2e-3)
    assert sample.v == pytest.approx(np.zeros(6), abs=5e-3)


# --- the wrench ---


def sensed(model, q, force, torque, bias):
    """What ft_frame measures of a force and torque at the tip in base axes, plus its own bias."""
    kin = model.update(q, np.zeros(6))
    sensor = model.frame_pose("ft_frame")
    arm = kin.pose[:3, 3] - sensor[:3, 3]
    about_sensor = np.asarray(torque) + np.cross(arm, force)
    raw = np.concatenate((sensor[:3, :3].T @ force, sensor[:3, :3].T @ about_sensor)) + bias
    sample = RobotState(0.0, q, np.zeros(6), np.zeros(6), Wrench(raw[:3], raw[3:], "ft_frame"))
    return sample, kin


def test_the_wrench_at_the_tip_has_base_axes_and_the_lever_arm(model):
    force, torque = np.array([3.0, -20.0, 7.0]), np.array([0.4, 0.1, -2.0])
    for q in random_configurations(5, 4):
        sample, kin = sensed(model, q, force, torque, np.zeros(6))
        assert WrenchPipeline().on_tip(sample, kin) == pytest.approx([*force, *torque], abs=1e-9)


def test_after_zero_the_wrench_is_zero_and_stays_right_when_the_arm_turns(model):
    pipeline, bias = WrenchPipeline(), np.array([4.0, -2.0, 9.0, 0.3, -0.1, 0.7])
    first, second = random_configurations(2, 5)
    nothing = np.zeros(3)
    assert np.linalg.norm(pipeline.on_tip(*sensed(model, first, nothing, nothing, bias))) > 5.0
    assert pipeline.zero() == pytest.approx(bias, abs=1e-9)
    assert pipeline.on_tip(*sensed(model, first, nothing, nothing, bias)) == pytest.approx(
        np.zeros(6), abs=1e-9
    )
    assert pipeline.on_tip(*sensed(model, second, nothing, nothing, bias)) == pytest.approx(
        np.zeros(6), abs=1e-9
    )
    force, torque = np.array([3.0, -20.0, 7.0]), np.array([0.4, 0.1, -2.0])
    assert pipeline.on_tip(*sensed(model, second, force, torque, bias)) == pytest.approx(
        [*force, *torque], abs=1e-9
    )


def test_looking_at_the_same_sample_twice_gives_the_same_wrench(model):
    pipeline = WrenchPipeline()
    sample, kin = sensed(model, HOME, np.ones(3), np.ones(3), np.zeros(6))
    assert np.array_equal(pipeline.on_tip(sample, kin), pipeline.on_tip(sample, kin))


def test_zero_without_a_sample_is_refused(model):
    pipeline = WrenchPipeline()
    with refuses("wrench"):
        pipeline.zero()
    assert pipeline.on_tip(state(0.0), model.update(HOME, np.zeros(6))) is None


def test_the_loop_fills_in_the_tared_wrench(model):
    loop = ControlLoop(UR5, "impedance", model=model)
    samples = [state(k * DT, wrench=wrench((1, 2, 3), (4, 5, 6))) for k in range(2)]
    loop.tick(samples[0])
    assert np.linalg.norm(loop.state.wrench_on_tip[:3]) == pytest.approx(math.sqrt(14.0))
    loop.wrench.zero()
    loop.tick(samples[1])
    assert loop.state.wrench_on_tip == pytest.approx(np.zeros(6), abs=1e-12)
    assert samples[1].wrench_on_tip is None  # a sample that was given stays as it is


# --- timing ---


def missed(gaps):
    """Of a period of 2 ms, as the docstring has it: by when each sample was due."""
    count, stamp, due = 0, 0.0, 0.002
    for gap in gaps:
        stamp += gap
        late = stamp - due
        count += late > 0.001
        due = stamp + 0.002 if late > 0.001 else due + 0.002 + 0.05 * max(late, 0.0)
        due = min(due, stamp + 0.005)
    return count


def test_cycle_times_are_percentiles_over_the_last_cycles():
    rng = np.random.default_rng(6)
    times = CycleTimes(0.002)
    spent, gaps = rng.uniform(0.0, 1e-3, 3000), rng.uniform(0.001, 0.004, 3000)
    for pair in zip(spent, gaps, strict=True):
        times.add(*pair)
    summary, kept = times.summary(), slice(3000 - CycleTimes.SIZE, None)
    assert summary["cycles"] == 3000
    assert summary["missed"] == missed(gaps)
    assert summary["compute_p50"] == pytest.approx(np.percentile(spent[kept], 50))
    assert summary["compute_p99"] == pytest.approx(np.percentile(spent[kept], 99))
    assert summary["period_p50"] == pytest.approx(np.percentile(gaps[kept], 50))
    assert summary["period_p99"] == pytest.approx(np.percentile(gaps[kept], 99))


def test_cycle_times_of_a_ring_that_is_not_full_count_only_what_was_added():
    times = CycleTimes(0.002)
    assert times.summary() == {"cycles": 0.0, "repeated": 0.0, "missed": 0.0}
    for spent in (1.0, 2.0, 3.0):
        times.add(spent, 0.002)
    assert times.summary()["compute_p50"] == 2.0
    assert times.summary()["missed"] == 0.0


@pytest.mark.parametrize("gap", [0.0031, 0.05, 0.5])
def test_the_loop_counts_cycles_that_came_late(model, gap):
    loop = ControlLoop(UR5, "impedance", model=model)
    for t in (0.0, 0.002, 0.004, 0.004 + gap, 0.006 + gap):
        loop.tick(state(t))
    assert loop.times.count == 5
    assert loop.times.missed == 1


class DampingOnly:
    """Has no gain called gravity."""

    @dataclass(frozen=True, eq=False)
    class Gains:
        damping: float = gain(1.0, unit="N·m·s/rad", upper=10.0, doc="Damping.")

    mode = CommandMode.EFFORT

    def __init__(self):
        self.terms = {}

    def reset(self, state, kin):
        pass

    def compute(self, state, kin, reference, gains, dt):
        return Command(self.mode, -gains.damping * state.v)


def test_a_law_without_a_gravity_gain_runs_where_the_robot_compensates_gravity(model):
    loop = ControlLoop(SELF_COMPENSATING, f"{__name__}:DampingOnly", model=model)
    assert not loop.tick(state(0.0)).values.any()


def test_gains_for_a_law_that_does_not_exist_are_refused(model):
    robot = replace(UR5, law_gains={"impedence": {"stiffness": 1.0}})
    with refuses("law_gains", "impedence"):
        ControlLoop(robot, "impedance", model=model)


def test_stop_is_in_the_mode_of_what_was_sent_last_even_if_another_law_is_to_take_over(model):
    loop = ControlLoop(UR5, "impedance", model=model)
    loop.tick(state(0.0))
    loop.switch_law(RunningLaw(UR5, "joint_pid"))
    assert loop.stop().mode is CommandMode.EFFORT
    loop.tick(state(DT))
    assert loop.stop().mode is CommandMode.VELOCITY


# --- what the reference does next goes on from where it is ---


def moving_loop(model, law="joint_impedance"):
    """A loop in the middle of a joint move, on a robot that follows exactly;
    returns it with the time.
    """
    loop = ControlLoop(UR5, law, model=model)
    loop.tick(state(0.0))
    loop.motion.move_joints_to(HOME + np.array([1.0, 0.2, -0.3, 0.1, 0.5, -0.4]))
    for k in range(1, 300):
        loop.tick(state(k * DT, loop.reference.q, loop.reference.v))
    assert np.abs(loop.reference.v).max() > 0.5
    return loop, 300 * DT


ACTIONS = {
    "hold": lambda loop: loop.motion.hold(),
    "go_home": lambda loop: loop.motion.go_home(),
    "move_joints_to": lambda loop: loop.motion.move_joints_to(HOME),
    "move_to": lambda loop: loop.motion.move_to(shifted(loop.tip(), [0.05, 0.0, 0.05])),
    "follow_joints": lambda loop: loop.motion.follow_joints(np.array([2.0]), HOME[None, :], None),
    "jog": lambda loop: loop.motion.jog(np.array([0.1, 0.0, 0.0, 0.0, 0.0, 0.0]), 0.2),
}


@pytest.mark.few(4)
@pytest.mark.parametrize("law_name", ["impedance", "joint_impedance"])
@pytest.mark.parametrize("action", ACTIONS)
def test_whatever_is_asked_for_in_mid_motion_the_reference_goes_on_without_a_jump(
    model, action, law_name
):
    loop, time = moving_loop(model, law_name)
    before, twist = loop.reference.pose, loop.reference.twist
    ACTIONS[action](loop)
    loop.tick(state(time, loop.state.q + DT * loop.state.v, loop.state.v))
    step = loop.reference.pose[:3, 3] - before[:3, 3]
    # m: the speed changes by less than 0.05 m/s
    assert step == pytest.approx(DT * twist[:3], abs=DT * 0.05)
    assert loop.reference.twist == pytest.approx(twist, abs=0.12)


def test_a_joint_move_out_of_a_move_of_the_tip_begins_with_its_speed(model):
    loop = ControlLoop(UR5, "impedance", model=model)
    loop.tick(state(0.0))
    loop.motion.move_to(shifted(loop.tip(), [0.0, 0.1, 0.1]))
    for k in range(1, 150):
        loop.tick(state(k * DT))
    twist = loop.reference.twist
    assert np.linalg.norm(twist[:3]) > 0.1
    loop.motion.move_joints_to(HOME)
    loop.tick(state(150 * DT))
    assert loop.reference.twist == pytest.approx(twist, abs=0.05)


def test_hold_brings_a_joint_move_to_rest_within_a_quarter_of_a_second(model):
    loop, time = moving_loop(model)
    q, v = loop.reference.q, loop.reference.v
    loop.motion.hold()
    end = time + np.abs(v / (4.0 * model.limits.velocity)).max()
    while time < end + DT:
        loop.tick(state(time, loop.reference.q, loop.reference.v))
        time += DT
    loop.tick(state(time, loop.reference.q, loop.reference.v))
    assert not loop.reference.v.any()
    assert loop.reference.q - q == pytest.approx(
        v * np.abs(v) / (8.0 * model.limits.velocity), abs=2 * DT
    )


def test_hold_of_a_pushed_robot_makes_its_pose_the_reference_without_a_jump_of_the_command(model):
    loop = ControlLoop(UR5, "impedance", model=model)
    loop.tick(state(0.0))
    pushed = HOME + np.array([0.03, -0.02, 0.02, 0.0, 0.01, 0.0])
    for k in range(1, 200):
        command = loop.tick(state(k * DT, pushed)).values
    loop.motion.hold()
    after = loop.tick(state(200 * DT, pushed)).values
    assert after == pytest.approx(command, abs=1e-9)
    for k in range(201, 1500):
        after = loop.tick(state(k * DT, pushed)).values
    assert after == pytest.approx(holding(loop, pushed), abs=1e-6)


def test_a_cyclic_joint_that_is_reported_within_one_turn_is_one_angle_without_jumps():
    robot = load_robot("gen3")
    loop, twin = (
        ControlLoop(robot, "joint_impedance", model=RobotModel.of(robot)) for _ in range(2)
    )
    for k in range(600):
        q = np.array(robot.home)
        q[6] = 3.0 + 0.5 * math.sin(0.01 * k)
        v = np.zeros(7)
        reported = q.copy()
        reported[6] = (q[6] + math.pi) % (2.0 * math.pi) - math.pi
        one, other = loop.tick(state(k * DT, reported, v)), twin.tick(state(k * DT, q, v))
        assert one.values == pytest.approx(other.values, abs=1e-9)
        assert loop.state.q == pytest.approx(q, abs=1e-12)
    loop.motion.move_joints_to(reported + 2.0 * math.pi * np.eye(7)[6])
    assert loop.motion.trajectory.target == pytest.approx(q, abs=1e-9)


def test_a_law_that_needs_a_wrench_takes_over_only_where_there_is_one(model):
    loop = ControlLoop(UR5, "impedance", model=model)
    loop.tick(state(0.0))
    with pytest.raises(
        ConfigError,
        match=r"law admittance: no wrench has arrived; .* wrench.source to joint_effort",
    ):
        loop.switch_law(RunningLaw(UR5, "admittance"))
    assert loop.running.name == "impedance"
    loop.tick(state(DT, wrench=wrench()))
    loop.switch_law(RunningLaw(UR5, "admittance"))
    assert loop.running.name == "admittance"


def test_a_law_that_takes_over_far_from_the_reference_approaches_it_within_the_limits_of_moves(
    model,
):
    loop = ControlLoop(UR5, "gravity_compensation", model=model)
    loop.tick(state(0.0))
    loop.motion.move_to(shifted(loop.tip(), [0.3, 0.0, 0.0]))
    for k in range(1, 1500):
        loop.tick(state(k * DT))
    target = loop.reference.pose
    loop.switch_law(RunningLaw(UR5, "impedance", {"governor": False}))
    loop.tick(state(1500 * DT))
    assert np.abs(loop.pose_error()).max() < 1e-4
    for k in range(1501, 4000):
        loop.tick(state(k * DT))
        assert np.linalg.norm(loop.reference.twist[:3]) <= UR5.tip_speed[0] * (1 + 1e-9)
    assert loop.reference.pose == pytest.approx(target, abs=1e-6)


def test_a_law_takes_over_from_one_whose_wrench_is_missing(model):
    loop = ControlLoop(UR5, "admittance", model=model)
    for k in range(5):
        loop.tick(state(k * DT, wrench=wrench()))
    far = HOME + [0.2, 0.0, 0.0, 0.0, 0.0, 0.0]
    for k in range(5, 80):
        loop.tick(state(k * DT, HOME + min((k - 4) / 20.0, 1.0) * (far - HOME)))
    assert "wrench" in loop.safety.fault
    loop.switch_law(RunningLaw(UR5, "joint_impedance"))
    assert loop.tick(state(80 * DT, far)).values == pytest.approx(holding(loop, far), abs=1e-6)
    assert loop.safety.fault == ""
    assert np.abs(loop.reference.q - far).max() < 1e-3


def test_a_law_of_the_tip_that_takes_over_far_from_resting_joints_approaches_them(model):
    loop = ControlLoop(UR5, "gravity_compensation", model=model)
    loop.tick(state(0.0))
    at_home = loop.tip()
    far = HOME + [0.2, 0.0, 0.0, 0.0, 0.0, 0.0]
    for k in range(1, 20):
        loop.tick(state(k * DT, HOME + min(k / 10.0, 1.0) * (far - HOME)))
    loop.switch_law(RunningLaw(UR5, "impedance"))
    loop.tick(state(20 * DT, far))
    assert np.abs(loop.pose_error()).max() < 1e-3
    for k in range(21, 2000):
        loop.tick(state(k * DT, far))
        assert np.linalg.norm(loop.reference.twist[:3]) <= UR5.tip_speed[0] * (1 + 1e-9)
    assert loop.reference.pose == pytest.approx(at_home, abs=1e-6)


# --- while the robot executes no commands ---

LAW_OF = {
    CommandMode.EFFORT: ("impedance", {}),
    CommandMode.POSITION: ("position_domain_pd", {"output": "position"}),
    CommandMode.VELOCITY: ("joint_pid", {}),
}
every_mode = pytest.mark.parametrize("mode", LAW_OF)


def holding_in(mode, q):
    gravity = RobotModel.of(UR5).at(np.array(q)).gravity
    return {CommandMode.EFFORT: gravity, CommandMode.POSITION: np.array(q)}.get(
        mode, np.zeros(len(q))
    )


def begun_move(model, mode):
    """A loop 0.1 s after a joint move began."""
    loop = ControlLoop(UR5, *LAW_OF[mode], model=model)
    loop.tick(state(1.0))
    loop.motion.move_joints_to(HOME + 0.3)
    for k in range(1, 50):
        command = loop.tick(state(1.0 + k * DT))
    assert command.mode is mode
    return loop


@every_mode
def test_idle_commands_hold_the_robot_wherever_it_is_moved_to(model, mode):
    loop = begun_move(model, mode)
    for k, q in enumerate(random_configurations(5, 4)):
        command = loop.idle(state(2.0 + k * DT, q))
        assert command.mode is mode
        assert command.values == pytest.approx(holding_in(mode, q), abs=1e-9)


@every_mode
def test_after_idle_the_law_starts_anew_where_the_robot_is_and_nothing_goes_on(model, mode):
    loop = begun_move(model, mode)
    loop.motion.feedforward_wrench = np.full(6, 5.0)
    (elsewhere,) = random_configurations(1, 5)
    loop.idle(state(1.1, HOME))
    loop.idle(state(1.1 + DT, elsewhere))
    for k in range(2, 52):
        command = loop.tick(state(1.1 + k * DT, elsewhere))
        assert command.mode is mode
        assert command.values == pytest.approx(holding_in(mode, elsewhere), abs=1e-6)
    assert loop.pose_error() == pytest.approx(np.zeros(6), abs=1e-9)


def test_idle_on_a_robot_that_compensates_gravity_is_no_torque(model):
    loop = ControlLoop(SELF_COMPENSATING, "impedance", model=model)
    assert loop.idle(state(1.0)).values.tolist() == [0.0] * 6


def test_idle_ends_the_complaint_that_the_robot_does_not_follow(model):
    loop = ControlLoop(UR5, *LAW_OF[CommandMode.POSITION], model=model)
    loop.tick(state(1.0))
    loop.motion.move_joints_to(HOME + np.eye(6)[0])
    for k in range(1, 1000):  # the joints stand still
        loop.tick(state(1.0 + k * DT))
        if loop.safety.fault:
            break
    assert "shoulder_pan_joint" in loop.safety.fault
    loop.idle(state(4.0))
    assert loop.safety.fault == ""


def test_while_idle_there_is_nothing_to_start_a_move_from(model):
    loop = begun_move(model, CommandMode.EFFORT)
    loop.idle(state(2.0))
    with pytest.raises(ConfigError, match="nothing to start from"):
        loop.motion.go_home()


def test_a_bad_sample_while_idle_is_named_and_changes_nothing(model):
    loop = ControlLoop(UR5, "impedance", model=model)
    loop.tick(state(1.0))
    before = loop.state, loop.motion.trajectory
    with refuses("position", np.full(6, np.nan), 6):
        loop.idle(state(1.0 + DT, np.full(6, np.nan)))
    assert (loop.state, loop.motion.trajectory) == before
