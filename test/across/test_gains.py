"""Gains: what is accepted, what is refused and in which words, and how a change is faded in."""

import math
from dataclasses import FrozenInstanceError, dataclass

import numpy as np
import pytest
from laws_under_test import LAWS

from robot_control_ros.core.errors import ConfigError
from robot_control_ros.core.gain_rows import Fade
from robot_control_ros.core.gains import (
    JOINT,
    MATRIX,
    TASK,
    VECTOR,
    ParameterSet,
    check_gain,
    choice,
    gain,
    gain_specs,
    make_gains,
    plain,
    plain_value,
)
from robot_control_ros.core.types import CommandMode
from robot_control_ros.laws import law_class, law_names

N = 3  # joints
DIMENSIONLESS = {
    "damping_ratio",
    "axes",
    "force_axes",
    "force_p",
    "selected_axes",
    "feedforward",
}  # have no unit, and nor have switches


@dataclass(frozen=True, eq=False)
class Gains:
    stiffness: np.ndarray = gain(
        (1.0, 2.0, 3.0, 4.0, 5.0, 6.0),
        size=TASK,
        unit="N/m",
        lower=0.0,
        upper=100.0,
        doc="A spring.",
    )
    damping: np.ndarray = gain(7.0, size=JOINT, unit="N·m·s/rad", upper=50.0, doc="A damper.")
    ratio: float = gain(0.5, lower=0.1, upper=2.0, doc="A number.")
    gravity: float = gain(True, doc="A switch.")


def spec(name):
    return {item.name: item for item in gain_specs(Gains)}[name]


def made(base=None, **values):
    return make_gains(Gains, values, N, base)


# --- what is accepted ---


def test_defaults_fill_every_gain_in_its_size():
    gains = made()
    assert gains.stiffness.tolist() == [1.0, 2.0, 3.0, 4.0, 5.0, 6.0]
    assert gains.damping.tolist() == [7.0, 7.0, 7.0]
    assert gains.ratio == 0.5
    assert gains.gravity == 1.0


def test_declarations_keep_their_order_and_know_their_names():
    assert [item.name for item in gain_specs(Gains)] == ["stiffness", "damping", "ratio", "gravity"]
    assert [item.switch for item in gain_specs(Gains)] == [False, False, False, True]
    assert [item.length(N) for item in gain_specs(Gains)] == [6, N, 1, 1]


@pytest.mark.parametrize("given", [9, 9.0, [9.0], (9,), np.array(9.0), np.array([9.0])])
def test_one_number_stands_for_all_values(given):
    assert made(stiffness=given).stiffness.tolist() == [9.0] * 6
    assert made(damping=given).damping.tolist() == [9.0] * N


def test_as_many_values_as_the_size_says_are_taken_in_order():
    assert made(stiffness=[6, 5, 4, 3, 2, 1]).stiffness.tolist() == [6.0, 5.0, 4.0, 3.0, 2.0, 1.0]
    assert made(damping=np.array([1.0, 0.0, 50.0])).damping.tolist() == [1.0, 0.0, 50.0]


def test_bounds_are_inclusive():
    assert made(stiffness=0.0).stiffness.max() == 0.0
    assert made(stiffness=100.0).stiffness.min() == 100.0
    assert made(ratio=0.1).ratio == 0.1
    assert made(ratio=2.0).ratio == 2.0


@pytest.mark.parametrize(
    ("given", "value"),
    [(True, 1.0), (False, 0.0), (1, 1.0), (0, 0.0), (1.0, 1.0), (np.False_, 0.0)],
)
def test_a_switch_is_a_number_so_that_it_can_be_faded(given, value):
    gravity = made(gravity=given).gravity
    assert type(gravity) is float
    assert gravity == value


def test_base_keeps_the_gains_that_are_not_named():
    base = made(stiffness=11.0, ratio=1.5, gravity=False)
    gains = made(base, damping=[1, 2, 3])
    assert gains.stiffness.tolist() == [11.0] * 6
    assert gains.damping.tolist() == [1.0, 2.0, 3.0]
    assert (gains.ratio, gains.gravity) == (1.5, 0.0)


def test_nobody_can_write_into_gains():
    mine = np.full(6, 3.0)
    gains = made(stiffness=mine)
    with pytest.raises(ValueError, match="read-only"):
        gains.stiffness[0] = 5.0
    with pytest.raises(ValueError, match="read-only"):
        gains.damping[0] = 5.0
    with pytest.raises(FrozenInstanceError):
        gains.ratio = 1.0
    mine[0] = 99.0
    assert gains.stiffness[0] == 3.0


# --- what is refused ---

STIFF, EACH, LENGTHS = (0.0, 100.0), (0.0, 50.0), (1, 6)
REFUSED = [
    ("stiffness", -1.0, "stiffness", STIFF),
    ("stiffness", [1, 1, -2.5, 1, 1, 1], "stiffness[2]", STIFF),
    ("stiffness", [1, 1, 1, 1, 1, math.nan], "stiffness[5]", STIFF),
    ("stiffness", math.inf, "stiffness", STIFF),
    ("stiffness", [1, -math.inf, 1, 1, 1, 1], "stiffness[1]", STIFF),
    ("stiffness", 100.001, "stiffness", STIFF),
    ("damping", [1, 51, 1], "damping[1]", EACH),
    ("ratio", 0.05, "ratio", (0.1, 2.0)),
    ("ratio", math.nan, "ratio", (0.1, 2.0)),
    ("stiffness", [1, 2, 3], "stiffness", LENGTHS),
    ("stiffness", [], "stiffness", LENGTHS),
    ("stiffness", np.ones((6, 6)), "stiffness", LENGTHS),
    ("stiffness", [1, 2, [3, 4], 5, 6, 7], "stiffness", LENGTHS),
    ("damping", [1, 2, 3, 4], "damping", (1, N)),
    ("stiffness", "soft", "stiffness", LENGTHS),
    ("stiffness", "50", "stiffness", LENGTHS),
    ("stiffness", [1j] * 6, "stiffness", LENGTHS),
    *(("ratio", bad, "ratio", (1,)) for bad in ([1.0, 1.0], "1.0", {}, 1.0 + 0.0j, None, True)),
    *(
        ("gravity", bad, "gravity", (False, True))
        for bad in (0.5, 2, math.nan, "true", None, [0, 1], np.zeros(2))
    ),
]


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize(("gain", "value", "name", "bound"), REFUSED)
def test_a_refusal_has_the_gain_the_value_and_the_bound(gain, value, name, bound):
    with pytest.raises(ConfigError) as refusal:
        made(**{gain: value})
    error = refusal.value
    assert (error.name, error.bound) == (name, bound)
    assert error.value is value or not bound[0] <= error.value <= bound[1]


@pytest.mark.parametrize(
    ("gains", "message"),
    [
        ({"stiffness": -1.0}, "stiffness = -1: must be within [0, 100] N/m"),
        ({"stiffness": "soft"}, "stiffness = 'soft': must be 1 or 6 numbers (x, y, z, rx, ry, rz)"),
        (
            {"damping": [1, 2]},
            f"damping has 2 values [1.0, 2.0]: must have 1 or {N} numbers (one per joint)",
        ),
        ({"gravity": 2}, "gravity = 2: it is a switch, must be true or false"),
        ({"stifness": 1.0}, "unknown gain 'stifness'; gains: stiffness, damping, ratio, gravity"),
    ],
)
def test_the_message_of_a_refusal(gains, message):
    with pytest.raises(ConfigError) as refusal:
        made(**gains)
    assert str(refusal.value).startswith(message)


def test_an_unknown_gain_lists_the_valid_ones():
    with pytest.raises(ConfigError) as refusal:
        made(stifness=1.0)
    assert refusal.value.value == "stifness"
    assert refusal.value.bound == ("stiffness", "damping", "ratio", "gravity")


def test_one_bad_value_refuses_all_and_changes_nothing():
    base = made(stiffness=11.0)
    with pytest.raises(ConfigError):
        made(base, damping=1.0, ratio=99.0)
    assert base.stiffness.tolist() == [11.0] * 6
    assert base.damping.tolist() == [7.0] * N
    assert base.ratio == 0.5


# --- the way from old to new gains ---


def schedule_of(gains, time_constant):
    schedule = ParameterSet(Gains, N, {}, time_constant=time_constant)
    schedule.change(gains)
    schedule.finish()
    return schedule


@pytest.mark.parametrize("share", [0.0, 0.25, 1.0])
def test_interpolation_is_linear_in_every_value(share):
    old, new = made(), made(stiffness=[10, 0, 3, 4, 5, 6], damping=9.0, ratio=1.5, gravity=False)
    between = Fade(old, new).at(share)
    assert between.stiffness == pytest.approx([1 + 9 * share, 2 - 2 * share, 3, 4, 5, 6])
    assert between.damping == pytest.approx([7 + 2 * share] * N)
    assert between.ratio == pytest.approx(0.5 + share)
    assert between.gravity == pytest.approx(1.0 - share)


def test_a_change_reaches_63_percent_after_the_time_constant():
    schedule = schedule_of(made(stiffness=0.0), 0.2)
    schedule.change(made(stiffness=100.0))
    assert schedule.advance(0.2).stiffness == pytest.approx([100.0 * (1.0 - 1.0 / math.e)] * 6)


def test_a_change_is_continuous_monotone_and_exact_at_the_end():
    old, new, dt, tau = (
        made(stiffness=0.0, gravity=True),
        made(stiffness=100.0, gravity=False),
        0.002,
        0.2,
    )
    schedule = schedule_of(old, tau)
    schedule.change(new)
    path = [schedule.advance(dt) for _ in range(round(10 * tau / dt))]
    stiffness = np.array([0.0, *(gains.stiffness[0] for gains in path)])
    gravity = np.array([1.0, *(gains.gravity for gains in path)])
    steepest = 1.0 - math.exp(-dt / tau)
    assert np.all(np.diff(stiffness) >= 0.0)
    assert np.diff(stiffness).max() <= 100.0 * steepest * (1.0 + 1e-9)
    assert np.all(np.diff(gravity) <= 0.0)
    assert np.abs(np.diff(gravity)).max() <= steepest * (1.0 + 1e-9)
    assert path[-1] is new


def test_a_change_depends_on_the_time_passed_and_not_on_the_number_of_steps():
    fine, coarse = schedule_of(made(), 0.2), schedule_of(made(), 0.2)
    for schedule in (fine, coarse):
        schedule.change(made(stiffness=50.0, ratio=2.0))
    for _ in range(10):
        for _ in range(10):
            by_fine = fine.advance(0.001)
        by_coarse = coarse.advance(0.01)
        assert by_fine.stiffness == pytest.approx(by_coarse.stiffness, rel=1e-12)
        assert by_fine.ratio == pytest.approx(by_coarse.ratio, rel=1e-12)


def test_a_change_in_mid_flight_starts_from_the_present_value():
    schedule = schedule_of(made(stiffness=0.0), 0.2)
    schedule.change(made(stiffness=100.0))
    before = schedule.advance(0.1).stiffness[0]
    schedule.change(made(stiffness=20.0))
    dt = 1e-6
    after = schedule.advance(dt).stiffness[0]
    assert before == pytest.approx(100.0 * (1.0 - math.exp(-0.5)))
    assert after - before == pytest.approx((20.0 - before) * dt / 0.2, rel=1e-4)


def test_without_a_change_the_gains_stay_the_same_object():
    gains = made()
    schedule = schedule_of(gains, 0.2)
    assert schedule.advance(0.01) is gains
    assert schedule.target is gains


def test_a_time_constant_of_zero_changes_at_once():
    schedule, new = schedule_of(made(), 0.0), made(ratio=2.0)
    schedule.change(new)
    assert schedule.advance(0.001) is new


def test_finish_jumps_to_the_target_for_a_robot_that_is_not_commanded():
    schedule, new = schedule_of(made(), 0.2), made(ratio=2.0)
    schedule.change(new)
    schedule.finish()
    assert schedule.current is new
    assert schedule.advance(0.001) is new


@pytest.mark.parametrize("bad", [-0.1, math.nan, math.inf])
def test_a_bad_time_constant_is_refused_with_its_value(bad):
    with pytest.raises(ConfigError, match=f"gain_time_constant = {bad!r}"):
        schedule_of(made(), bad)


# --- words, vectors and matrices ---


@dataclass(frozen=True, eq=False)
class Richer:
    output: str = choice("effort", ("effort", "position"), doc="What is commanded.")
    offset: np.ndarray = gain(
        (0.1, -0.2, 0.3), size=VECTOR, unit="m", lower=-1.0, upper=1.0, doc="An offset."
    )
    matrix: np.ndarray = gain(5.0, size=MATRIX, unit="N/m", upper=10.0, doc="A spring.")


RICHER = {item.name: item for item in gain_specs(Richer)}


def richer(base=None, **values):
    return make_gains(Richer, values, N, base)


def test_defaults_of_words_vectors_and_matrices():
    gains = richer()
    assert gains.output == "effort"
    assert gains.offset.tolist() == [0.1, -0.2, 0.3]
    assert np.array_equal(gains.matrix, 5.0 * np.eye(6))


def test_what_is_declared_of_them():
    assert RICHER["output"].choices == ("effort", "position")
    assert RICHER["offset"].choices == ()
    assert [RICHER[name].length(N) for name in ("offset", "matrix")] == [3, 36]
    assert [RICHER[name].lengths(N) for name in ("offset", "matrix")] == [(1, 3), (1, 6, 36)]
    assert RICHER["output"].rule() == "must be one of: effort, position"


def test_a_word_is_one_of_the_choices_and_plain_text():
    assert richer(output="position").output == "position"
    chosen = richer(output=CommandMode.POSITION).output
    assert type(chosen) is str
    assert chosen == "position"


@pytest.mark.parametrize(
    "bad", ["velocity", "Effort", "", 1, True, None, ["effort"], np.array(["effort", "position"])]
)
def test_another_word_is_refused_with_the_choices(bad):
    with pytest.raises(ConfigError) as refusal:
        richer(output=bad)
    assert refusal.value.value is bad
    assert "must be one of: effort, position" in str(refusal.value)


@pytest.mark.parametrize("given", [0.5, [0.5], [0.5, 0.5, 0.5], (0.5, 0.5, 0.5), np.full(3, 0.5)])
def test_a_vector_is_three_numbers_or_one_for_all(given):
    assert richer(offset=given).offset.tolist() == [0.5, 0.5, 0.5]


FULL = np.diag([4.0, 5.0, 6.0, 1.0, 2.0, 3.0])
FULL[0, 1] = FULL[1, 0] = -2.0
FULL[3, 5], FULL[5, 3] = 0.7, -0.3  # its symmetric part counts


@pytest.mark.parametrize(
    ("given", "matrix"),
    [
        (3, 3.0 * np.eye(6)),
        ([3.0], 3.0 * np.eye(6)),
        ([1, 2, 3, 4, 5, 6], np.diag([1.0, 2, 3, 4, 5, 6])),
        (FULL, FULL),
        (FULL.ravel(), FULL),
        (FULL.tolist(), FULL),
        (FULL.ravel().tolist(), FULL),
        (0.0, np.zeros((6, 6))),
        # at its bound, of rank one: positive semidefinite
        (np.full((6, 6), 10.0), np.full((6, 6), 10.0)),
    ],
)
def test_a_matrix_is_given_as_one_six_or_36_numbers(given, matrix):
    found = richer(matrix=given).matrix
    assert found.shape == (6, 6)
    assert np.array_equal(found, matrix)
    with pytest.raises(ValueError, match="read-only"):
        found[0, 0] = 1.0


def test_the_callers_matrix_stays_the_callers():
    mine = FULL.copy()
    gains = richer(matrix=mine)
    mine[0, 0] = 9.0
    assert gains.matrix[0, 0] == 4.0


def entry(row, column, value, matrix=FULL):
    changed = matrix.copy()
    changed[row, column] = value
    return changed


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize(
    ("gain", "value", "name", "bound"),
    [
        ("offset", [1, 2], "offset", (1, 3)),
        ("offset", [0.0, 0.0, 1.5], "offset[2]", (-1.0, 1.0)),
        ("matrix", 11.0, "matrix[0]", (0.0, 10.0)),
        ("matrix", -1.0, "matrix[0]", (0.0, 10.0)),
        ("matrix", [1, 1, 1, 1, 1, -1], "matrix[5]", (0.0, 10.0)),
        ("matrix", entry(2, 2, np.nan), "matrix[2]", (0.0, 10.0)),
        ("matrix", entry(4, 1, np.nan), "matrix[4, 1]", (-10.0, 10.0)),
        ("matrix", entry(4, 1, np.inf), "matrix[4, 1]", (-10.0, 10.0)),
        ("matrix", entry(4, 1, -10.5), "matrix[4, 1]", (-10.0, 10.0)),
        # an eigenvalue of the symmetric part
        ("matrix", entry(0, 1, -9.0), "matrix", (0.0, math.inf)),
        *(
            ("matrix", bad, "matrix", (1, 6, 36))
            for bad in ([1.0] * 12, np.ones((5, 5)), np.ones((4, 9)), "stiff")
        ),
        ("matrix", FULL + 0j, "matrix", (1, 6, 36)),
    ],
)
def test_vectors_and_matrices_are_refused_with_the_place_and_the_bound(gain, value, name, bound):
    with pytest.raises(ConfigError) as refusal:
        richer(**{gain: value})
    assert (refusal.value.name, refusal.value.bound) == (name, bound)


def test_a_matrix_that_only_turns_takes_no_energy_and_is_accepted():
    turning = np.zeros((6, 6))
    turning[0, 1], turning[1, 0] = 3.0, -3.0
    assert np.array_equal(richer(matrix=turning).matrix, turning)


def test_rounding_does_not_refuse_a_matrix_of_lower_rank(rng):
    for _ in range(20):
        x = rng.uniform(-1.0, 1.0, (6, 2))
        assert richer(matrix=x @ x.T).matrix.shape == (6, 6)


@pytest.mark.parametrize("given", [3.0, [1, 2, 3, 4, 5, 6], FULL])
def test_a_matrix_as_plain_numbers_makes_the_same_matrix_again(given):
    gains = richer(matrix=given, output="position")
    values = {name: plain_value(spec, gains) for name, spec in RICHER.items()}
    assert values["output"] == "position"
    assert values["offset"] == [0.1, -0.2, 0.3]
    # a diagonal matrix as its diagonal
    assert len(values["matrix"]) == (36 if given is FULL else 6)
    assert all(type(x) is float for x in values["matrix"])
    again = richer(**values)
    assert np.array_equal(again.matrix, gains.matrix)
    assert again.output == "position"
    assert plain(RICHER["matrix"], again.matrix) == values["matrix"]


@pytest.mark.parametrize("share", [0.0, 0.25, 0.999, 1.0])
def test_matrices_are_interpolated_and_words_taken_over_at_once(share):
    old, new = richer(matrix=2.0, offset=0.0), richer(matrix=FULL, offset=1.0, output="position")
    between = Fade(old, new).at(share)
    assert between.matrix == pytest.approx(2.0 * (1.0 - share) * np.eye(6) + share * FULL)
    assert between.offset == pytest.approx([share] * 3)
    assert between.output == "position"
    assert np.linalg.eigvalsh(between.matrix + between.matrix.T).min() >= 0.0


# --- tuning ---


def no_high_ratio(gains):
    if gains.ratio > 1.0 and gains.gravity > 0.0:
        raise ConfigError("ratio above 1 needs gravity off")


def tuning(time_constant=0.2, **defaults):
    return ParameterSet(Gains, N, defaults, no_high_ratio, time_constant)


def test_tuning_begins_with_its_defaults_over_the_declared_ones():
    tuned = tuning(ratio=0.7)
    assert tuned.current is tuned.target
    assert tuned.current.ratio == 0.7
    assert tuned.current.damping.tolist() == [7.0] * N
    assert [item.name for item in tuned.specs] == ["stiffness", "damping", "ratio", "gravity"]
    assert tuned.joints == N


def test_tuning_sets_some_gains_and_keeps_those_that_were_set_before():
    tuned = tuning(time_constant=0.0)
    tuned.set({"ratio": 0.6})
    tuned.set({"damping": 9.0})
    found = tuned.advance(0.001)
    assert found.ratio == 0.6
    assert found.damping.tolist() == [9.0] * N


def test_what_is_set_while_a_change_is_under_way_is_over_the_target_and_not_over_what_is_there():
    tuned = tuning(0.2)
    tuned.set({"ratio": 0.9})
    tuned.advance(0.05)
    tuned.set({"damping": 9.0})
    assert tuned.target.ratio == 0.9
    tuned.finish()
    assert (tuned.current.ratio, tuned.current.damping[0]) == (0.9, 9.0)


def test_tuning_refuses_what_is_valid_by_itself_but_not_here_and_changes_nothing():
    tuned = tuning()
    before = tuned.target
    with pytest.raises(ConfigError, match="ratio above 1 needs gravity off"):
        tuned.set({"ratio": 1.5, "damping": 1.0})
    with pytest.raises(ConfigError, match="ratio = 3"):
        tuned.set({"ratio": 3.0})
    assert tuned.target is tuned.current is before
    tuned.set({"ratio": 1.5, "gravity": False})
    assert tuned.target.ratio == 1.5


def test_check_completes_from_the_defaults_or_from_a_base():
    tuned = tuning(ratio=0.7)
    assert tuned.check({"damping": 9.0}).ratio == 0.7
    base = made(ratio=0.3)
    assert tuned.check({"damping": 9.0}, base).ratio == 0.3
    assert tuned.target.damping.tolist() == [7.0] * N


def test_a_default_that_is_no_gain_is_refused():
    with pytest.raises(ConfigError, match="unknown gain 'ratoi'"):
        tuning(ratoi=1.0)


# --- every registered law's declarations ---


def test_the_laws_of_the_package_are_registered():
    assert {"impedance", "gravity_compensation"} <= set(law_names())


@pytest.mark.parametrize("law", LAWS)
def test_every_declared_default_is_within_its_own_bounds(law):
    for item in gain_specs(law_class(law).Gains):
        for joints in (1, 2, 6, 7):
            check_gain(item, item.default, joints)


@pytest.mark.parametrize("law", LAWS)
def test_every_gain_of_a_law_says_what_it_is(law):
    for item in gain_specs(law_class(law).Gains):
        assert item.doc.endswith("."), f"{law}.{item.name}: its doc must be a sentence"
        if item.choices:
            assert item.default in item.choices
            assert len(set(item.choices)) == len(item.choices) > 1
            continue
        assert item.lower < item.upper
        assert item.unit or item.switch or item.name in DIMENSIONLESS, (
            f"{law}.{item.name}: give it a unit, or add it to DIMENSIONLESS in this test"
        )


@pytest.mark.parametrize("law", LAWS)
def test_plain_values_of_every_law_make_the_same_gains_again(law):
    gains_type = law_class(law).Gains
    specs = gain_specs(gains_type)
    ends = {
        s.name: [s.lower, s.upper][i % 2]
        for i, s in enumerate(specs)
        if not (s.switch or s.choices)
    }
    switched = {s.name: not s.default for s in specs if s.switch}
    worded = {s.name: s.choices[-1] for s in specs if s.choices}
    gains = make_gains(gains_type, {**ends, **switched, **worded}, 7)
    values = {item.name: plain_value(item, gains) for item in specs}
    again = make_gains(gains_type, values, 7)
    for item in specs:
        assert type(values[item.name]) in (bool, float, str, list)
        assert np.array_equal(getattr(again, item.name), getattr(gains, item.name)), item.name


def test_plain_values_are_of_python_s_own_types():
    gains = made(gravity=False)
    assert plain_value(spec("gravity"), gains) is False
    assert plain_value(spec("ratio"), gains) == 0.5
    assert plain_value(spec("damping"), gains) == [7.0, 7.0, 7.0]
    assert all(type(x) is float for x in plain_value(spec("damping"), gains))


# --- roles ---


@pytest.mark.parametrize(
    ("unit", "role", "expected"),
    [
        ("N/m, N·m/rad", "", "stiffness"),
        ("N·m/rad", "", "stiffness"),
        ("N·m·s/rad", "", "damping"),
        ("kg, kg·m²", "", "inertia"),
        ("1/s", "", ""),
        ("1/s", "damping", "damping"),
        ("N/m", "other", "other"),
    ],
)
def test_a_role_is_the_one_that_is_declared_or_that_of_the_unit(unit, role, expected):
    @dataclass(frozen=True, eq=False)
    class Gains:
        number: float = gain(0.0, unit=unit, role=role, doc="…")

    (spec,) = gain_specs(Gains)
    assert spec.role == expected


def test_an_unknown_role_is_refused_with_the_known_ones():
    with pytest.raises(ConfigError) as refusal:
        gain(0.0, role="springiness", doc="…")
    assert (refusal.value.name, refusal.value.value) == ("role", "springiness")
    assert "stiffness" in refusal.value.bound
