"""The joint PIDs against the source's formulae written out here, their
properties, and in simulation.
"""

import numpy as np
import pytest
from arms import random_arm
from joint_moves import JointMove

from robot_control_ros.core.errors import ConfigError
from robot_control_ros.core.gains import make_gains
from robot_control_ros.core.types import CommandMode, Reference, RobotState
from robot_control_ros.laws.joint_pid import JointPid, JointPidEffort
from robot_control_ros.references import Hold
from robot_control_ros.robot.configuration import load_robot
from robot_control_ros.robot.model import RobotModel
from robot_control_ros.simulation.in_process import Push, simulate

T = 0.005
N = 5
CYCLIC = (1, 3)
LIMITS = {JointPid: 3.0, JointPidEffort: 200.0}  # of the arm's description
VARIANTS = [
    (JointPid, "legacy", {"p": 0.1, "i": 2.0, "d": 0.001}),
    (JointPid, "current", {"p": 0.1, "i": 2.0, "d": 0.001}),
    (JointPidEffort, "textbook", {"p": 100.0, "i": 40.0, "d": 1.0}),
    (JointPidEffort, "spring_damper", {"p": 100.0, "i": 40.0, "d": 1.0}),
]


@pytest.fixture
def model():
    return random_arm(4, N, continuous=CYCLIC).model()


class Caller:
    """A law that is called with one sample after the other."""

    def __init__(self, law_type, model, **gains):
        self.law, self.model = law_type(), model
        self.set(**gains)
        self.reset()

    def set(self, **gains):
        self.gains = make_gains(self.law.Gains, gains, self.model.n)

    def reset(self, q=None):
        q = np.zeros(self.model.n) if q is None else q
        kin = self.model.at(q)
        self.law.reset(RobotState(0.0, q, kin.v, kin.v), kin)

    def __call__(self, q_ref, q, v=None, dt=T):
        kin = self.model.at(q, v)
        state = RobotState(0.0, q, kin.v, np.zeros(self.model.n))
        command = self.law.compute(state, kin, Reference(q=q_ref), self.gains, dt)
        assert command.mode is self.law.mode
        return command.values


def walk(rng, calls, n=N, size=0.02):
    """(q_ref, q, v, dt) per call, small enough for no limit to be met."""
    q_ref, q = 0.5 + size * rng.uniform(-1, 1, (2, calls, n))
    return list(
        zip(q_ref, q, rng.uniform(-1, 1, (calls, n)), rng.uniform(0.5, 1.5, calls) * T, strict=True)
    )


def short_way(angle):
    """To within half a turn, without a modulo."""
    return np.angle(np.exp(1j * angle))


# --- the formulae ---


def test_legacy_is_the_script(model, rng):
    """Joint by joint, as in the source; dt differs from call to call."""
    p, i, d = (
        rng.uniform(0.0, 0.1, N),
        np.array([2.0, 0.0, 1.0, 0.5, 0.0]),
        rng.uniform(0.0, 0.001, N),
    )
    caller = Caller(JointPid, model, variant="legacy", p=p, i=i, d=d, velocity_limit=0.5)
    integral, last, limited = [0.0] * N, [0.0] * N, 0
    for k, (q_ref, q, v, dt) in enumerate(walk(rng, 100)):
        expected = []
        for j in range(N):
            e = q_ref[j] - q[j]
            u = p[j] * e
            if i[j] != 0.0:
                integral[j] += e * dt
            else:
                integral[j] = 0.0
            u += i[j] * integral[j]
            if k > 0:
                u += d[j] * (e - last[j]) / dt
            last[j] = e
            limited += abs(u / dt) > 0.5
            expected.append(min(max(u / dt, -0.5), 0.5))
        np.testing.assert_allclose(caller(q_ref, q, v, dt), expected, rtol=0, atol=1e-12)
    assert 20 < limited < 400


def test_current_takes_the_rate_from_the_velocity_and_divides_by_5_ms_whatever_the_step(model, rng):
    p, i, d = rng.uniform(0.0, 0.1, N), rng.uniform(0.5, 2.0, N), rng.uniform(0.0, 0.001, N)
    caller = Caller(JointPid, model, variant="current", p=p, i=i, d=d)
    integral = np.zeros(N)
    for q_ref, q, v, dt in walk(rng, 100):
        integral += (q_ref - q) * dt
        expected = (p * (q_ref - q) + i * integral - d * v) / 0.005
        np.testing.assert_allclose(caller(q_ref, q, v, dt), expected, rtol=0, atol=1e-12)


@pytest.mark.parametrize("gravity", [True, False])
def test_textbook_is_the_discrete_pid_with_the_weight_carried(model, rng, gravity):
    p, i, d = rng.uniform(0.0, 200.0, N), rng.uniform(1.0, 50.0, N), rng.uniform(0.0, 2.0, N)
    caller = Caller(JointPidEffort, model, variant="textbook", p=p, i=i, d=d, gravity=gravity)
    errors = []
    for q_ref, q, v, _ in walk(rng, 50):
        errors.append(q_ref - q)
        change = errors[-1] - errors[-2] if len(errors) > 1 else 0.0
        expected = p * errors[-1] + i * np.sum(errors, axis=0) * T + d * change / T
        expected += model.bias(q, np.zeros(N)) if gravity else 0.0
        np.testing.assert_allclose(caller(q_ref, q, v), expected, rtol=0, atol=1e-9)


def test_spring_damper_has_no_integral_and_no_past(model, rng):
    caller = Caller(JointPidEffort, model, variant="spring_damper", p=80.0, i=50.0, d=5.0)
    for q_ref, q, v, dt in walk(rng, 20):
        expected = 80.0 * (q_ref - q) - 5.0 * v + model.bias(q, np.zeros(N))
        np.testing.assert_allclose(caller(q_ref, q, v, dt), expected, rtol=0, atol=1e-9)


def test_an_integral_does_not_survive_the_variant_without_one(model):
    q, target = np.zeros(N), np.full(N, 0.01)
    caller = Caller(JointPidEffort, model, i=50.0)
    begun = caller(target, q)
    for _ in range(10):
        caller(target, q)
    caller.set(i=50.0, variant="spring_damper")
    caller(target, q)
    caller.set(i=50.0)
    np.testing.assert_allclose(caller(target, q), begun, rtol=0, atol=1e-12)


# --- cyclic joints ---


@pytest.mark.parametrize(
    ("target", "current", "error"), [(350, 10, -20), (-170, 170, 20), (20, -10, 30), (725, 0, 5)]
)
def test_cyclic_joints_go_the_short_way_and_the_others_the_way_that_is_there(
    model, target, current, error
):
    caller = Caller(JointPidEffort, model, p=10.0, i=0.0, d=0.0, gravity=False)
    torque = caller(np.radians(np.full(N, target)), np.radians(np.full(N, current)))
    expected = np.full(N, float(target - current))
    expected[list(CYCLIC)] = error
    np.testing.assert_allclose(torque, np.radians(10.0 * expected), rtol=0, atol=1e-9)


def test_any_error_of_a_cyclic_joint_is_within_half_a_turn(model, rng):
    caller = Caller(JointPidEffort, model, p=10.0, i=0.0, d=0.0, gravity=False)
    for _ in range(50):
        q_ref, q = rng.uniform(-20, 20, (2, N))
        seen = caller(q_ref, q)[list(CYCLIC)] / 10.0
        np.testing.assert_allclose(seen, short_way(q_ref - q)[list(CYCLIC)], rtol=0, atol=1e-9)


@pytest.mark.parametrize(
    ("law_type", "variant"), [(JointPid, "legacy"), (JointPidEffort, "textbook")]
)
def test_an_error_that_passes_half_a_turn_gives_no_derivative_kick(model, law_type, variant):
    caller = Caller(law_type, model, variant=variant, p=0.0, i=0.0, d=0.01, **gravity_off(law_type))
    q, before = np.zeros(N), np.radians(179.9)
    caller(np.full(N, before), q)
    expected = 0.01 * np.radians(0.2) / T / (T if law_type is JointPid else 1.0)
    np.testing.assert_allclose(caller(np.full(N, before + np.radians(0.2)), q), expected, rtol=1e-9)


def gravity_off(law_type):
    return {"gravity": False} if law_type is JointPidEffort else {}


# --- begin and reset ---


@pytest.mark.parametrize(("law_type", "variant", "gains"), VARIANTS)
def test_without_an_error_the_command_holds(model, rng, law_type, variant, gains):
    """Zero velocity, or the weight: at once and for as long as nothing happens."""
    caller = Caller(law_type, model, variant=variant, **gains)
    q = rng.uniform(-3, 3, N)
    caller.reset(q)
    holding = model.bias(q, np.zeros(N)) if law_type is JointPidEffort else np.zeros(N)
    for _ in range(10):
        np.testing.assert_allclose(caller(q, q), holding, rtol=0, atol=1e-12)


@pytest.mark.parametrize(("law_type", "variant", "gains"), VARIANTS)
def test_after_a_reset_all_is_as_at_the_beginning(model, rng, law_type, variant, gains):
    caller, steps = Caller(law_type, model, variant=variant, **gains), walk(rng, 20)
    first = [caller(*step) for step in steps]
    caller.reset()
    np.testing.assert_array_equal([caller(*step) for step in steps], first)


@pytest.mark.parametrize(
    ("law_type", "variant", "other"), [(*v[:2], o[1]) for v, o in (VARIANTS[:2], VARIANTS[2:])]
)
def test_a_variant_with_a_derivative_of_the_error_begins_without_one(
    model, law_type, variant, other
):
    caller, q = (
        Caller(law_type, model, variant=variant, d=0.1, **gravity_off(law_type)),
        np.zeros(N),
    )
    first = caller(q + 0.01, q)
    caller(q - 0.01, q)
    caller.set(variant=other, d=0.1, **gravity_off(law_type))
    caller(q - 0.01, q)
    caller.set(variant=variant, d=0.1, **gravity_off(law_type))
    np.testing.assert_array_equal(caller(q + 0.01, q), first)


@pytest.mark.parametrize(("law_type", "variant", "gains"), VARIANTS[:3])
def test_an_integral_gain_of_0_empties_the_integral_of_that_joint(model, law_type, variant, gains):
    q, target = np.zeros(N), np.full(N, 0.01)
    caller = Caller(law_type, model, variant=variant, **gains)
    begun = caller(target, q)
    for _ in range(9):
        tenth = caller(target, q)
    zero = np.full(N, gains["i"])
    zero[2] = 0.0
    caller.set(variant=variant, **{**gains, "i": zero})
    caller(target, q)
    caller.set(variant=variant, **gains)
    after = caller(target, q)
    assert after[2] == pytest.approx(begun[2], abs=1e-12)
    np.testing.assert_allclose(
        np.delete(after - begun, 2), np.delete((tenth - begun) / 9.0 * 11.0, 2), rtol=1e-9
    )


# --- limits and anti-windup ---


@pytest.mark.parametrize(("law_type", "variant", "gains"), VARIANTS)
def test_no_command_is_beyond_the_descriptions_limit(model, rng, law_type, variant, gains):
    caller, limit = Caller(law_type, model, variant=variant, **gains), LIMITS[law_type]
    commands = np.array([caller(*rng.uniform(-6, 6, (3, N))) for _ in range(100)])
    assert abs(commands).max() == limit
    assert (abs(commands) < limit).any()


@pytest.mark.parametrize(("law_type", "variant", "gains"), VARIANTS)
@pytest.mark.parametrize("anti_windup", [False, True])
def test_the_terms_add_up_to_the_command(model, rng, law_type, variant, gains, anti_windup):
    caller = Caller(law_type, model, variant=variant, anti_windup=anti_windup, **gains)
    for _ in range(50):
        command = caller(*rng.uniform(-1, 1, (3, N)))
        assert all(term.shape == (N,) for term in caller.law.terms.values())
        np.testing.assert_allclose(sum(caller.law.terms.values()), command, rtol=0, atol=1e-9)


@pytest.mark.parametrize(("law_type", "variant", "gains"), VARIANTS[:3])
def test_anti_windup_changes_nothing_below_the_limit(model, rng, law_type, variant, gains):
    plain = Caller(law_type, model, variant=variant, **gains)
    spared = Caller(law_type, model, variant=variant, anti_windup=True, **gains)
    for step in walk(rng, 50, size=0.005):
        np.testing.assert_array_equal(spared(*step), plain(*step))


@pytest.mark.few(2)
@pytest.mark.parametrize(("law_type", "variant", "gains"), VARIANTS[:3])
@pytest.mark.parametrize("sign", [1.0, -1.0])
def test_with_anti_windup_a_long_time_at_the_limit_is_forgotten_at_once(
    model, law_type, variant, gains, sign
):
    """Off, the command stays at the limit once the target is reached; on, it leaves it."""
    q, limit = np.zeros(N), LIMITS[law_type]
    kept = {}
    for anti_windup in (False, True):
        caller = Caller(
            law_type,
            model,
            variant=variant,
            anti_windup=anti_windup,
            **gains,
            **gravity_off(law_type),
        )
        for _ in range(2000):
            assert caller(q + 2.9 * sign, q) == pytest.approx(sign * limit)
        caller(q, q)
        kept[anti_windup] = sign * caller(q, q)
    assert (kept[False] == limit).all()
    np.testing.assert_allclose(kept[True], 0.0, rtol=0, atol=1e-9)


@pytest.mark.parametrize(("law_type", "variant", "gains"), VARIANTS[:3])
def test_anti_windup_leaves_out_errors_that_drive_a_command_further_beyond_its_limit(
    model, rng, law_type, variant, gains
):
    """Joint by joint, by its definition; all three parts and the weight count."""
    caller = Caller(law_type, model, variant=variant, anti_windup=True, **gains)
    integral, last, out = np.zeros(N), None, 0
    for q_ref, q, v, _ in walk(rng, 200, size=0.7):
        e = short_way(q_ref - q)
        scale, load = (
            (1.0 / T, np.zeros(N)) if law_type is JointPid else (1.0, model.bias(q, np.zeros(N)))
        )
        rate = (
            -v
            if variant == "current"
            else (np.zeros(N) if last is None else short_way(e - last) / T)
        )
        last = e
        expected = []
        for j in range(N):
            parts = gains["p"] * e[j], gains["i"] * (integral[j] + e[j] * T), gains["d"] * rate[j]
            with_it = scale * sum(parts) + load[j]
            if abs(with_it) > LIMITS[law_type] and np.sign(with_it) == np.sign(e[j]):
                with_it -= scale * gains["i"] * e[j] * T
                out += 1
            else:
                integral[j] += e[j] * T
            expected.append(np.clip(with_it, -LIMITS[law_type], LIMITS[law_type]))
        np.testing.assert_allclose(caller(q_ref, q, v), expected, rtol=0, atol=1e-9)
    assert 20 < out < 980


def test_anti_windup_lets_the_integral_come_back_from_the_limit(model):
    """An error that leads away from the limit is integrated although the command is beyond it."""
    q = np.zeros(N)
    caller = Caller(JointPid, model, variant="legacy", p=0.0, i=2.0, anti_windup=True)
    for _ in range(300):
        full = caller(q + 0.05, q)
    assert (full > 0.9 * LIMITS[JointPid]).all()
    caller.set(variant="legacy", p=0.0, i=20.0, anti_windup=True)  # ten times beyond
    commands = [caller(q - 0.05, q) for _ in range(290)]
    assert (commands[0] == LIMITS[JointPid]).all()
    assert (commands[-1] < LIMITS[JointPid]).all()


# --- properties ---


@pytest.mark.parametrize(("law_type", "variant", "gains"), VARIANTS)
def test_each_joint_is_controlled_by_itself_whatever_their_order(rng, law_type, variant, gains):
    arm, order = random_arm(4, N, continuous=CYCLIC), [3, 0, 4, 2, 1]
    plain = Caller(law_type, arm.model(), variant=variant, **gains)
    other = Caller(law_type, arm.model([arm.joints[j] for j in order]), variant=variant, **gains)
    for _ in range(30):
        step = rng.uniform(-3, 3, (3, N))
        np.testing.assert_allclose(other(*step[:, order]), plain(*step)[order], rtol=0, atol=1e-9)


@pytest.mark.parametrize(("law_type", "variant", "gains"), VARIANTS)
@pytest.mark.parametrize("n", [1, 2, 7, 8])
def test_every_command_is_finite(rng, law_type, variant, gains, n):
    caller = Caller(law_type, random_arm(n, n, continuous=(0,)).model(), variant=variant, **gains)
    extreme = Caller(
        law_type, caller.model, variant=variant, p=2.0, i=100.0, d=0.1, anti_windup=True
    )
    for scale in (0.0, 1e-12, 1.0, 1e3, 1e6):
        for dt in (1e-4, T, 0.1):
            step = scale * rng.uniform(-1, 1, (3, n))
            assert np.isfinite(caller(*step, dt)).all()
            assert np.isfinite(extreme(*step, dt)).all()


@pytest.mark.parametrize(
    ("law_type", "values", "words"),
    [
        (JointPid, {"p": 2.1}, r"p = 2\.1: must be within \[0, 2\] rad/rad"),
        (JointPid, {"i": -1.0}, r"i = -1: must be within \[0, 100\] 1/s"),
        (JointPid, {"d": np.nan}, r"d = nan: must be within \[0, 0\.1\] s"),
        (
            JointPid,
            {"velocity_limit": [1, 1, -1, 1, 1]},
            r"velocity_limit\[2\] = -1: must be within \[0, 100\] rad/s",
        ),
        (
            JointPid,
            {"variant": "textbook"},
            "variant = 'textbook': must be one of: legacy, current",
        ),
        (
            JointPid,
            {"p": [0.1, 0.1]},
            r"p has 2 values .*: must have 1 or 5 numbers \(one per joint\)",
        ),
        (JointPidEffort, {"p": 5001.0}, r"p = 5001: must be within \[0, 5000\] N·m/rad"),
        (JointPidEffort, {"d": -0.1}, r"d = -0\.1: must be within \[0, 500\] N·m·s/rad"),
        (
            JointPidEffort,
            {"variant": "legacy"},
            "variant = 'legacy': must be one of: textbook, spring_damper",
        ),
        (JointPidEffort, {"anti_windup": 0.5}, r"anti_windup = 0\.5: it is a switch"),
    ],
)
def test_gains_out_of_bounds_are_refused(law_type, values, words):
    with pytest.raises(ConfigError, match=words):
        make_gains(law_type.Gains, values, N)


# --- in simulation ---


LAWS = ("joint_pid", "joint_pid_effort")
MODES = {"joint_pid": CommandMode.VELOCITY, "joint_pid_effort": CommandMode.EFFORT}


@pytest.mark.few(1)
@pytest.mark.sim
@pytest.mark.parametrize("law", LAWS)
@pytest.mark.parametrize("rate", [500.0, pytest.param(1000.0, marks=pytest.mark.long)])
def test_with_its_defaults_a_ur5_follows_a_move_and_arrives(ur5, ur5_model, law, rate):
    home = np.array(ur5.home)
    goal = home + np.array([0.5, -0.3, 0.4, -0.6, 0.5, 0.8])
    move = JointMove(ur5_model, home, goal, 0.0, 0.3 * ur5_model.limits.velocity)
    log = simulate(ur5, law, reference=move, duration=4.0, rate=rate)
    assert log.mode is MODES[law]
    lag = np.array([move.sample(t).q for t in log.t]) - log.q
    assert abs(lag).max() < 0.15
    np.testing.assert_allclose(log.q[-1], goal, rtol=0, atol=1e-3)
    assert abs(log.v[-1]).max() < 1e-2


@pytest.mark.few(1)
@pytest.mark.sim
@pytest.mark.parametrize("law", LAWS)
@pytest.mark.parametrize("rate", [500.0, pytest.param(1000.0, marks=pytest.mark.long)])
def test_with_its_defaults_a_ur5_stays_bounded_when_the_target_jumps_and_when_it_is_pushed(
    ur5, ur5_model, law, rate
):
    home = np.array(ur5.home)
    goal = home + 0.3
    jump = Hold(ur5_model.at(goal).pose, goal)
    log = simulate(
        ur5,
        law,
        reference=jump,
        push=Push((30.0, 20.0, -30.0), duration=0.5),
        duration=5.0,
        rate=rate,
    )
    assert abs(log.q - home).max() < 1.0
    np.testing.assert_allclose(log.q[-1], goal, rtol=0, atol=5e-3)


@pytest.mark.sim
def test_the_servo_lag_on_a_ramp_is_as_the_docstring_says(ur5, ur5_model):
    """q̇_ref T / P, 5 ms / 0.1 = 50 ms, where the joint moves steadily."""
    home = np.array(ur5.home)
    move = JointMove(ur5_model, home, home + 0.5, 0.0, np.full(6, 0.3))
    log = simulate(ur5, "joint_pid", reference=move, duration=2.5, rate=500.0)
    k = abs(log.v[:, 0]).argmax()
    reference = move.sample(log.t[k])
    assert reference.q[0] - log.q[k, 0] == pytest.approx(0.05 * log.v[k, 0], rel=0.03)


@pytest.mark.long
@pytest.mark.sim
def test_the_integral_takes_away_what_a_constant_push_leaves(ur5):
    """Without I the offset is Jᵀ f / P."""
    force, home = np.array([20.0, -10.0, 15.0]), np.array(ur5.home)
    gains = {"p": 400.0, "d": 40.0}
    offset = {}
    for i in (0.0, 400.0):
        log = simulate(ur5, "joint_pid_effort", {**gains, "i": i}, push=Push(force), duration=8.0)
        offset[i] = log.q[-1] - home
    jacobian = RobotModel.of(ur5).at(offset[0.0] + home).jacobian
    np.testing.assert_allclose(400.0 * offset[0.0], jacobian[:3].T @ force, rtol=0, atol=0.05)
    assert abs(offset[400.0]).max() < 0.02 * abs(offset[0.0]).max()


@pytest.mark.sim
def test_a_continuous_joint_turns_the_short_way():
    robot = load_robot("gen3")
    model = RobotModel.of(robot)
    q0 = np.array(robot.home)
    q0[6] = np.radians(170.0)
    goal = q0.copy()
    goal[6] = np.radians(-170.0)
    log = simulate(
        robot,
        "joint_pid",
        reference=Hold(model.at(goal).pose, goal),
        q0=q0,
        duration=2.0,
        rate=500.0,
    )
    assert log.q[-1, 6] == pytest.approx(np.radians(190.0), abs=1e-3)
