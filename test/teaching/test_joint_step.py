"""One joint's step: the source's table, the callback's inputs, what goes wrong in a
callback, and stability.
"""

import math

import numpy as np
import pytest

from robot_control_ros.core.errors import ConfigError
from robot_control_ros.teaching.joint_step.callbacks import Braking, Pid, Trapezoidal, load
from robot_control_ros.teaching.joint_step.response import STEP, JointInput, Step, T, respond
from robot_control_ros.teaching.joint_step.source import LINES, reference
from robot_control_ros.teaching.joint_step.stability import Loop

WOUND_UP = LINES[1]


def pid(p, i=0.0, d=0.0, **more):
    return Pid({"variant": "legacy", "p": p, "i": i, "d": d, **more})


def limit(line):
    return math.inf if line.limit is None else line.limit


# --- the source's table ---


@pytest.mark.parametrize("line", LINES, ids=lambda line: line.name)
def test_a_line_of_the_table_is_met_within_a_sample_and_0_05_points(line):
    run = respond(pid(*line.pid), Step(velocity_limit=limit(line)))
    near = pytest.approx
    if line.rise[0] is not None:
        assert run.reached(10.0) == near(line.rise[0], abs=T)
    assert run.reached(90.0) == near(line.rise[1], abs=T)
    assert run.reached(95.0) == near(line.t95, abs=T)
    assert (run.settled(5.0), run.settled(2.0)) == (
        near(line.settled[0], abs=T),
        near(line.settled[1], abs=T),
    )
    assert run.overshoot == near(line.overshoot[0], abs=0.05)
    if line.overshoot[1] is not None:
        assert run.top == near(line.overshoot[1], abs=T)
    assert run.peak == near(line.peak, abs=1e-6)
    for time, angle in line.samples.items():
        assert run.at(time) == near(angle, abs=1e-4)


@pytest.mark.parametrize("line", LINES, ids=lambda line: line.name)
@pytest.mark.parametrize("size", [STEP, -75.0])
def test_the_reference_curve_is_what_the_law_does(line, size):
    time, angle = reference(line, size)
    run = respond(pid(*line.pid), Step(target=size, velocity_limit=limit(line)))
    np.testing.assert_allclose(run.time, time, rtol=0, atol=1e-12)
    np.testing.assert_allclose(run.angle, angle, rtol=0, atol=1e-8)
    np.testing.assert_allclose(run.command, np.diff(angle) / T, rtol=0, atol=1e-5)


def test_the_reference_curves_without_a_limit_are_the_sources_formulae():
    e = STEP - reference(LINES[0])[1]
    p, i, _ = LINES[0].pid
    np.testing.assert_allclose(
        e[2:], (2.0 - p - i * T) * e[1:-1] - (1.0 - p) * e[:-2], rtol=0, atol=1e-12
    )
    e = STEP - reference(LINES[2])[1]
    np.testing.assert_allclose(e, STEP * 0.9 ** np.arange(e.size), rtol=0, atol=1e-12)


def test_anti_windup_overshoots_less():
    step = Step(velocity_limit=limit(WOUND_UP))
    plain, spared = (
        respond(pid(*WOUND_UP.pid, anti_windup=on), step).overshoot for on in (False, True)
    )
    assert plain == pytest.approx(59.51, abs=0.05)
    assert spared < 0.6 * plain


@pytest.mark.parametrize(
    ("start", "target", "cyclic", "way"),
    [(10.0, 350.0, True, -20.0), (170.0, -170.0, True, 20.0), (10.0, 350.0, False, 340.0)],
)
def test_a_cyclic_joint_goes_the_short_way_round(start, target, cyclic, way):
    step = Step(start, target, cyclic)
    run = respond(pid(0.1), step)
    assert step.size == run.size == pytest.approx(way)
    k = np.arange(run.time.size)
    np.testing.assert_allclose(run.angle, way * (1.0 - 0.9**k), rtol=0, atol=1e-9)
    assert run.reached(95.0) == pytest.approx(0.145)


# --- what a callback is told ---


def test_it_is_called_ten_times_per_50_ms_and_told_of_the_joint():
    told = []
    run = respond(
        lambda joint: told.append(joint) or 0.4, Step(10.0, 350.0, True, velocity_limit=20.0)
    )
    assert [joint.pass_count for joint in told] == list(range(1, 11)) * 20
    assert [joint.init for joint in told] == [True] + [False] * 199
    np.testing.assert_allclose(
        [joint.position for joint in told], np.radians(10.0 + run.angle[:-1]), atol=1e-12
    )
    speed = math.radians(20.0)  # 0.4 rad/s is beyond the limit
    np.testing.assert_allclose(run.command, 20.0)
    np.testing.assert_allclose(
        [joint.effort for joint in told[:3]], [0.0, speed / T, 0.0], atol=1e-12
    )
    assert told[0] == JointInput(
        init=True,
        cyclic=True,
        pass_count=1,
        position=math.radians(10.0),
        target=math.radians(350.0),
        error=pytest.approx(math.radians(-20.0)),
        effort=0.0,
        step_size=T,
        velocity_limit=speed,
        revolute=True,
        lower=-math.inf,
        upper=math.inf,
        target_velocity=0.0,
        max_effort=math.inf,
    )


def test_what_it_is_told_cant_be_changed():
    def cheat(joint):
        joint.position = joint.target

    assert "FrozenInstanceError" in respond(cheat, Step()).problem


@pytest.mark.parametrize("size", [0.3, 10.0, -123.0])
@pytest.mark.parametrize("acceleration", [2.0, 20.0])
def test_a_trapezium_keeps_its_acceleration_and_never_overshoots(size, acceleration):
    run = respond(Trapezoidal(acceleration), Step(target=size, velocity_limit=90.0, duration=6.0))
    change = np.abs(np.diff(np.radians(run.command), prepend=0.0))
    assert change.max() <= acceleration * T + 1e-9
    assert run.overshoot < 1e-9
    assert run.peak <= 90.0 + 1e-9
    assert run.angle[-1] == pytest.approx(size, abs=1e-9)
    way, fastest = math.radians(abs(size)), math.radians(90.0)
    ideal = 2.0 * math.sqrt(way / acceleration)
    if acceleration * ideal / 2.0 > fastest:
        ideal = way / fastest + fastest / acceleration
    assert run.settled(0.001) == pytest.approx(ideal, abs=3.0 * T)


def test_braking_is_p_near_the_target_and_no_faster_than_can_be_braked():
    run = respond(Braking(0.2, 20.0), Step(target=90.0))
    error = np.radians(90.0 - run.angle[:-1])
    expected = np.minimum(0.2 * error / T, np.sqrt(2.0 * 20.0 * np.abs(error)))
    np.testing.assert_allclose(np.radians(run.command), expected, rtol=0, atol=1e-9)
    assert run.overshoot == 0.0


# --- what goes wrong in a callback ---

LAWS = """
import math

def half(joint):
    return 0.5 * joint.error / joint.step_size

def broken(joint):
    if joint.pass_count < 7:
        return 0.0
    return inner(joint)

def inner(joint):
    return math.sqrt(-1.0)

def nothing(joint):
    pass

def infinite(joint):
    return math.inf

def deep(joint):
    import json
    return json.loads("{")

number = 3
"""


@pytest.fixture
def laws(tmp_path, monkeypatch):
    monkeypatch.syspath_prepend(str(tmp_path))
    file = tmp_path / f"laws_{tmp_path.name}.py"
    file.write_text(LAWS)
    return file


def test_an_own_law_is_loaded_and_runs(laws):
    run = respond(load(f"{laws.stem}:half"), Step())
    np.testing.assert_allclose(run.angle, STEP * (1.0 - 0.5 ** np.arange(201)), rtol=0, atol=1e-9)
    assert run.problem == ""


def test_loading_again_takes_the_file_as_it_is_now(laws):
    load(f"{laws.stem}:half")
    laws.write_text("def half(joint):\n    return 0.25 * joint.error / joint.step_size\n")
    assert respond(load(f"{laws.stem}:half"), Step()).angle[1] == pytest.approx(0.25 * STEP)


@pytest.mark.parametrize(
    ("law", "calls", "words"),
    [
        ("broken", 6, ["line 13: ValueError: ", ": return math.sqrt(-1.0)", "(call 7, at 0.03 s)"]),
        (
            "nothing",
            0,
            ["line 15: it gave None: must be a finite velocity [rad/s] (call 1, at 0 s)"],
        ),
        ("infinite", 0, ["line 18: it gave inf: must be a finite velocity"]),
        ("deep", 0, ["line 23: JSONDecodeError", 'return json.loads("{")']),
    ],
)
def test_a_fault_ends_the_run_and_is_told_with_its_line(laws, law, calls, words):
    run = respond(load(f"{laws.stem}:{law}"), Step())
    assert run.command.size == calls
    assert run.time.size == run.angle.size == calls + 1
    for each in (laws.name, *words):
        assert each in run.problem


def test_a_law_that_cant_be_called_so_is_told():
    assert "TypeError" in respond(lambda: 0.0, Step()).problem


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("no_colon", "must be package.module:function"),
        (":f", "must be package.module:function"),
        (
            "no_such_module:f",
            "can't be loaded: ModuleNotFoundError: No module named 'no_such_module'",
        ),
        ("{laws}:missing", "has no attribute 'missing'"),
        ("{laws}:number", "can't be called: it is 3"),
    ],
)
def test_what_is_no_callback_is_refused(laws, name, words):
    with pytest.raises(ConfigError, match=r"^callback") as error:
        load(name.format(laws=laws.stem))
    assert words in str(error.value)


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("x = 1\ny = = 2\n", ["SyntaxError: invalid syntax", ".py, line 2)"]),
        ("x = 1\n\nx / 0\n", [".py, line 3: ZeroDivisionError: division by zero: x / 0"]),
    ],
)
def test_a_module_that_fails_is_refused_with_its_line(laws, text, words):
    laws.write_text(text)
    with pytest.raises(ConfigError, match="can't be loaded") as error:
        load(f"{laws.stem}:f")
    for each in words:
        assert each in str(error.value)


# --- stability ---


def growth(p, d, time):
    """Error at a time over that at half of it, of a step so small that no limit is met."""
    size = 1e-6
    error = np.abs(respond(pid(p, d=d), Step(target=size, duration=time)).angle - size)
    return error[-1] / error[error.size // 2]


def test_d_0_0045_is_stable_and_0_005_is_not():
    assert Loop(0.1, 0.0, 0.0045, T).stable
    assert not Loop(0.1, 0.0, 0.005, T).stable
    assert growth(0.1, 0.0045, 2.0) < 0.1
    assert growth(0.1, 0.005, 2.0) > 10.0


@pytest.mark.parametrize("p", [0.1, 0.5, 1.5])
def test_the_limit_of_d_is_the_sources(p):
    assert Loop(p, 0.0, 0.0, T).d_limit == pytest.approx(T * (2.0 - p) / 2.0)


@pytest.mark.parametrize("variant", ["legacy", "current"])
@pytest.mark.parametrize("i", [0.0, 2.0, 9.0])
@pytest.mark.parametrize("dt", [0.002, 0.005])
def test_below_the_limit_of_d_it_is_stable_and_above_it_is_not(variant, i, dt):
    d = Loop(0.3, i, 0.0, dt, variant).d_limit
    assert Loop(0.3, i, 0.999 * d, dt, variant).stable
    assert not Loop(0.3, i, 1.001 * d, dt, variant).stable
    assert np.abs(Loop(0.3, i, d, dt, variant).roots + 1.0).min() < 1e-9


def test_pi_has_the_roots_of_the_sources_equation():
    for root in Loop(0.1, 2.0, 0.0, T).roots:
        assert abs(root * root - (2.0 - 0.1 - 2.0 * T) * root + (1.0 - 0.1)) < 1e-12


@pytest.mark.parametrize("variant", ["legacy", "current"])
@pytest.mark.parametrize("dt", [0.001, 0.005, 0.01])
@pytest.mark.parametrize(
    "gains", [(0.3, 0.0, 0.0), (0.3, 5.0, 0.0), (0.3, 0.0, 0.0005), (0.3, 5.0, 0.0005)]
)
def test_every_run_obeys_the_equation_that_has_these_roots(variant, dt, gains):
    p, i, d = gains
    run = respond(Pid({"variant": variant, "p": p, "i": i, "d": d}), Step(dt=dt))
    error = STEP - run.angle
    equation = np.poly(Loop(p, i, d, dt, variant).roots)
    # from where the first call, without D, is past
    left = np.convolve(error, equation, "valid")[1:]
    np.testing.assert_allclose(left, 0.0, rtol=0, atol=1e-9)


@pytest.mark.parametrize(
    ("gains", "words"),
    [
        ((0.1, 2.0, 0.0), "stable: the error falls to 1/e in 94.9 ms, oscillating at 2.81 Hz"),
        ((0.1, 0.0, 0.0), "stable: the error falls to 1/e in 47.5 ms"),
        ((1.0, 0.0, 0.0), "stable: there in one step"),
        ((2.0, 0.0, 0.0), "at the limit of stability: the error stays, oscillating at 100 Hz"),
        ((0.1, 0.0, 0.005), "unstable: the error grows 1.051-fold per step, oscillating at 100 Hz"),
        ((0.0, 0.0, 0.0), "P = I = 0: nothing pulls towards the target"),
    ],
)
def test_the_verdict(gains, words):
    assert Loop(*gains, T).verdict() == words


def test_the_notes_have_roots_and_limit():
    roots, limit_of_d = Loop(0.1, 2.0, 0.0, T).notes()
    assert roots == "roots z = 0.945 ± 0.08352 i; |z| ≤ 0.9487"
    assert limit_of_d == "D must stay below 0.004738 s"
    assert Loop(0.1, 0.0, 0.0, T).notes()[1] == "D must stay below 0.00475 s = T (2 - P) / 2"
    assert Loop(2.0, 1.0, 0.0, T).notes()[1] == "no D makes it stable"
