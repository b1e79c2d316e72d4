"""Step and frequency response: the mathematics, the run against an arm that only the test
knows, and the panel.
"""

import csv
import math
import time
from dataclasses import replace

import numpy as np
import pytest
from dashboard_support import HOME, ROBOT, Browser, FakeLink, text, until
from scipy.integrate import solve_ivp

from robot_control_ros.control.loop import ControlLoop
from robot_control_ros.control.requests import Parameter
from robot_control_ros.core.errors import ConfigError
from robot_control_ros.core.spatial import make_pose
from robot_control_ros.core.types import RobotState
from robot_control_ros.dashboard.link import Health
from robot_control_ros.dashboard.page import Page
from robot_control_ros.dashboard.response import evaluation as evaluations
from robot_control_ros.dashboard.response import experiment as experiments
from robot_control_ros.dashboard.response import plan as plans
from robot_control_ros.dashboard.response.closed_loop import closed_loop
from robot_control_ros.dashboard.response.evaluation import effect_shown, result_csv
from robot_control_ros.dashboard.response.experiment import Experiment
from robot_control_ros.dashboard.response.figures import (
    FrequencyFigures,
    StepFigures,
    measured_response,
    phase,
)
from robot_control_ros.dashboard.response.plan import Plan, expect
from robot_control_ros.dashboard.response.second_order import SecondOrder
from robot_control_ros.robot.model import RobotModel
from robot_control_ros.simulation.in_process import Push, simulate

MODEL = RobotModel.of(ROBOT)
Q = np.array(ROBOT.home)
DRAWING, CYCLE, STATE = 1.0 / 30.0, 0.002, 10  # s, s, cycles between two states
DELAY = 0.007  # s from the page to the controller
CLOCKS = 1000.0  # s that the page's clock is ahead of the robot's


# --- second order ---


def textbook_step(t, mass, ratio, stiffness):
    """K x(t) under a unit step, by the formulas of the three kinds of damping."""
    w = math.sqrt(stiffness / mass)
    if ratio < 1.0:
        damped = w * math.sqrt(1.0 - ratio**2)
        lead = np.cos(damped * t) + ratio * w / damped * np.sin(damped * t)
        return 1.0 - np.exp(-ratio * w * t) * lead
    if ratio == 1.0:
        return 1.0 - np.exp(-w * t) * (1.0 + w * t)
    fast, slow = (w * (ratio + sign * math.sqrt(ratio**2 - 1.0)) for sign in (1.0, -1.0))
    return 1.0 - (fast * np.exp(-slow * t) - slow * np.exp(-fast * t)) / (fast - slow)


def system(mass, ratio, stiffness):
    return SecondOrder.of(mass, 2.0 * ratio * math.sqrt(mass * stiffness), stiffness)


@pytest.mark.parametrize("ratio", [0.0, 0.3, 0.7, 1.0, 1.0 + 1e-9, 2.5])
def test_a_step_is_that_of_the_textbook(ratio):
    t = np.linspace(-0.2, 2.0, 221)
    wanted = np.where(
        t > 0.0, 12.0 / 500.0 * textbook_step(np.maximum(t, 0.0), 3.0, ratio, 500.0), 0.0
    )
    np.testing.assert_allclose(system(3.0, ratio, 500.0).step(t, 12.0), wanted, atol=1e-12)


def test_an_input_held_between_uneven_changes_is_taken_exactly():
    rng = np.random.default_rng(1)
    changes, forces = np.cumsum(rng.uniform(0.02, 0.1, 8)), rng.normal(size=8)
    body, times = system(2.0, 0.2, 300.0), np.linspace(0.0, 1.0, 23)
    found = body.response(times, changes, forces)
    steps = (
        f * body.step(times - c) for c, f in zip(changes, np.diff(forces, prepend=0.0), strict=True)
    )
    np.testing.assert_allclose(found, sum(steps), atol=1e-14)  # superposition

    def motion(t, state):
        index = np.searchsorted(changes, t, side="right")
        force = forces[index - 1] if index else 0.0
        return [state[1], (force - body.damping[0, 0] * state[1] - 300.0 * state[0]) / 2.0]

    solved = solve_ivp(
        motion, (0.0, 1.0), [0.0, 0.0], t_eval=times, max_step=2e-3, rtol=1e-8, atol=1e-12
    )
    np.testing.assert_allclose(found, solved.y[0], atol=2e-7)


def test_coupled_masses_move_as_their_modes_do():
    rng = np.random.default_rng(2)
    root = rng.normal(size=(3, 3))
    inertia = root @ root.T + np.eye(3)
    stiffness = np.diag([400.0, 90.0, 900.0])
    body = SecondOrder(inertia, 0.0 * inertia, stiffness, np.eye(3)[1], np.eye(3)[1])
    values, modes = np.linalg.eig(np.linalg.solve(inertia, stiffness))
    parts = modes[1] * np.linalg.solve(modes, np.linalg.solve(inertia, np.eye(3)[1]))
    t = np.linspace(0.0, 3.0, 50)
    wanted = sum(
        s * (1.0 - np.cos(math.sqrt(v) * t)) / v for s, v in zip(parts, values, strict=True)
    )
    np.testing.assert_allclose(body.step(t), wanted, atol=1e-10)
    assert body.compliance == pytest.approx(1.0 / 90.0)
    assert body.mobility == pytest.approx(np.linalg.inv(inertia)[1, 1])


def test_gain_and_phase_are_those_that_a_long_sine_settles_to():
    body, frequency = system(2.0, 0.3, 800.0), 2.7
    t = np.arange(0.0, 12.0, 5e-4)
    x = body.response(t, t, np.sin(2.0 * np.pi * frequency * (t + 2.5e-4)))
    late = t > 8.0
    waves = np.column_stack([f(2.0 * np.pi * frequency * t[late]) for f in (np.sin, np.cos)])
    (in_phase, leading), *_ = np.linalg.lstsq(waves, x[late], rcond=None)
    found = body.frequency_response(np.array([frequency]))[0]
    assert found == pytest.approx(in_phase + 1j * leading, rel=1e-4)


def test_nothing_that_holds_it_is_an_infinite_compliance():
    assert SecondOrder.of(1.0, 1.0, 0.0).compliance == math.inf


# --- figures ---


@pytest.mark.parametrize("ratio", [0.2, 0.5, 0.8])
def test_figures_of_a_step_are_those_of_the_textbook(ratio):
    w = math.sqrt(500.0 / 3.0)
    t = np.linspace(0.0, 6.0, 6001)
    found = StepFigures.of(t, system(3.0, ratio, 500.0).step(t), 1.0 / 500.0)
    assert found.overshoot == pytest.approx(
        100.0 * math.exp(-math.pi * ratio / math.sqrt(1.0 - ratio**2)), abs=5e-3
    )
    for band, settled in ((0.05, found.settling_5), (0.02, found.settling_2)):
        envelope = -math.log(band * math.sqrt(1.0 - ratio**2)) / (ratio * w)
        assert envelope - math.pi / (w * math.sqrt(1.0 - ratio**2)) <= settled <= envelope
        after = t > settled + 1e-3
        assert np.abs(500.0 * system(3.0, ratio, 500.0).step(t)[after] - 1.0).max() <= band


def test_figures_of_a_first_order_step_are_known():
    t = np.linspace(0.0, 10.0, 100001)
    found = StepFigures.of(t, 4.0 * (1.0 - np.exp(-t)), 4.0)
    assert (found.rise, found.settling_5, found.settling_2) == pytest.approx(
        (math.log(9.0), math.log(20.0), math.log(50.0)), abs=1e-6
    )
    assert found.overshoot == 0.0


def test_what_does_not_settle_in_time_has_no_settling_time():
    t = np.linspace(0.0, 1.0, 1001)
    found = StepFigures.of(t, system(3.0, 0.0, 500.0).step(t), 1.0 / 500.0)
    assert math.isnan(found.settling_5)
    assert found.overshoot == pytest.approx(100.0, abs=0.1)


def test_figures_of_a_frequency_response_are_those_of_the_textbook():
    f, ratio = np.geomspace(0.01, 20.0, 20001), 0.25
    natural = math.sqrt(500.0 / 3.0) / (2.0 * math.pi)
    found = FrequencyFigures.of(f, system(3.0, ratio, 500.0).frequency_response(f))
    assert found.static == pytest.approx(1.0 / 500.0, rel=1e-4)
    assert found.quarter == pytest.approx(natural, rel=1e-4)
    assert found.resonance == pytest.approx(
        1.0 / (2.0 * ratio * math.sqrt(1.0 - ratio**2)), rel=1e-4
    )
    part = 1.0 - 2.0 * ratio**2
    assert found.bandwidth == pytest.approx(
        natural * math.sqrt(part + math.sqrt(part**2 + 1.0)), rel=1e-3
    )


def test_the_response_measured_from_samples_is_the_true_one():
    body, rng = system(4.0, 0.3, 500.0), np.random.default_rng(3)
    changes = np.cumsum(rng.uniform(0.03, 0.04, 400))
    sweep = 2.0 * np.pi * 0.3 / 0.25 * np.expm1(0.25 * (changes - changes[0]))
    forces = np.where(changes < 13.0, 8.0 * np.sin(sweep), 0.0)
    forces[-1] = 0.0
    times = np.arange(0.0, 18.0, 0.02)
    frequencies = np.geomspace(0.4, 6.0, 20)
    found, coherence = measured_response(
        frequencies, times, body.response(times, changes, forces), changes, forces
    )
    np.testing.assert_allclose(found, body.frequency_response(frequencies), rtol=0.03)
    assert coherence.min() > 0.97
    assert phase(found)[-1] < -150.0


def test_noise_without_a_cause_is_not_coherent():
    rng, changes = np.random.default_rng(4), np.arange(0.0, 10.0, 1.0 / 30.0)
    times = np.arange(0.0, 12.0, 0.02)
    forces = np.append(rng.normal(size=len(changes) - 1), 0.0)
    _, coherence = measured_response(
        np.geomspace(0.5, 8.0, 28), times, rng.normal(size=len(times)), changes, forces
    )
    assert np.median(coherence) < 0.6


# --- when commands act ---


def test_the_states_tell_when_commands_acted_far_finer_than_they_come():
    rng = np.random.default_rng(5)
    sent = CLOCKS + np.cumsum(rng.uniform(0.03, 0.036, 90))
    acts = sent - CLOCKS + DELAY
    values = np.arange(1.0, 91.0)
    times = np.arange(0.013, 3.2, 0.02)
    index = np.searchsorted(acts, times, side="right") - 1
    shown = np.where(index >= 0, values[index], np.nan)
    found, doubt = effect_shown(np.column_stack((sent, values)), times, shown)
    assert np.abs(found - acts).max() < 0.003
    assert np.median(doubt) < 0.003


def test_a_clock_that_stumbles_costs_no_more_than_the_time_between_two_states():
    sent = np.arange(0.0, 3.0, 1.0 / 30.0)
    acts = 0.25 * sent + 0.1 * (sent > 1.5)  # a simulation at a quarter of the speed, and a leap
    values, times = np.arange(1.0, len(sent) + 1.0), np.arange(0.0, 1.0, 0.005)
    index = np.searchsorted(acts, times, side="right") - 1
    found, _ = effect_shown(np.column_stack((sent, values)), times, values[index])
    between = slice(1, np.searchsorted(acts, times[-1]))  # two states, one before and one after
    assert np.abs(found - acts)[between].max() <= 0.005 + 1e-9


# --- what a law makes of the arm ---


@pytest.mark.sim
@pytest.mark.parametrize("axis", [pytest.param(0, marks=pytest.mark.long), 2, 5])
@pytest.mark.parametrize("ratio", [0.3, pytest.param(1.0, marks=pytest.mark.long)])
def test_the_simulated_arm_answers_a_push_as_the_ideal_does(axis, ratio):
    gains = {"stiffness": [500.0] * 3 + [50.0] * 3, "damping_ratio": ratio}
    size = 5.0 if axis < 3 else 0.5
    wrench = size * np.eye(6)[axis]
    log = simulate(ROBOT, "impedance", gains, push=Push(wrench[:3], wrench[3:]), duration=1.2)
    ideal = closed_loop(ROBOT, MODEL, "impedance", gains, Q, axis)
    moved = -log.pose_error[:, axis]
    wanted = ideal.step(log.t - log.t[0], size)
    assert np.abs(moved - wanted).max() < 0.02 * wanted.max()


def test_one_axis_alone_is_not_what_the_arm_does():
    """The axes are coupled by the arm's inertia: a body of the mass that is felt
    at first is far off.
    """
    gains = {"stiffness": [500.0] * 3 + [50.0] * 3, "damping_ratio": 0.3}
    ideal = closed_loop(ROBOT, MODEL, "impedance", gains, Q, 2)
    alone = system(1.0 / ideal.mobility, 0.3, 500.0)
    t = np.linspace(0.0, 1.0, 500)
    assert np.abs(ideal.step(t) - alone.step(t)).max() > 0.1 / 500.0


def test_added_inertia_slows_the_beginning():
    light, heavy = (
        closed_loop(ROBOT, MODEL, "impedance", {"inertia": [mass] * 3 + [0.0] * 3}, Q, 0)
        for mass in (0.0, 5.0)
    )
    assert 1.0 / heavy.mobility > 1.0 / light.mobility + 4.0
    assert heavy.compliance == pytest.approx(light.compliance, rel=1e-4)


def test_friction_compensation_is_no_negative_damper():
    bare, compensated = (
        closed_loop(ROBOT, MODEL, "impedance", {"friction": f}, Q, 0) for f in (False, True)
    )
    np.testing.assert_array_equal(bare.damping, compensated.damping)


def test_under_admittance_it_is_the_virtual_body():
    gains = {"mass": [4.0] * 6, "stiffness": [300.0] * 6, "damping_ratio": 0.5, "damping": 7.0}
    found = closed_loop(ROBOT, MODEL, "admittance", gains, Q, 1)
    wanted = SecondOrder.of(4.0, 2.0 * 0.5 * math.sqrt(4.0 * 300.0) + 7.0, 300.0)
    t = np.linspace(0.0, 2.0, 50)
    np.testing.assert_allclose(found.step(t), wanted.step(t))


@pytest.mark.parametrize("law", ["joint_impedance", "task_space_pd", "gravity_compensation"])
def test_a_law_that_takes_no_wrench_is_named(law):
    with pytest.raises(ConfigError) as refused:
        closed_loop(ROBOT, MODEL, law, {}, Q, 0)
    assert (refused.value.name, refused.value.value) == ("law", law)


def test_laws_that_cannot_be_asked_are_named():
    for law in ("joint_pid", "nowhere:Law"):
        with pytest.raises(ConfigError) as refused:
            closed_loop(ROBOT, MODEL, law, {}, Q, 0)
        assert (refused.value.name, refused.value.value) == ("law", law)


# --- a run ---


class Arm(FakeLink):
    """A rigid arm under the real control loop; the wrench takes its time to arrive."""

    def __init__(self, page_time=CLOCKS, **gains):
        super().__init__()
        self.loop = ControlLoop(ROBOT.at_rate(1.0 / CYCLE), "impedance", gains)
        self.model = RobotModel.of(ROBOT)
        self.gains = {
            name: Parameter(name, tuple(value), tuple(value)) for name, value in gains.items()
        }
        self.q, self.v, self.cycles = Q.copy(), np.zeros(6), 0
        self.coming = []  # when, and what wrench
        self.silent = False
        self.page_time = self.ahead = page_time
        self.advance(DRAWING)

    @property
    def time(self):
        return self.cycles * CYCLE

    def set_target_wrench(self, wrench):
        super().set_target_wrench(wrench)
        self.coming.append((self.page_time + DELAY, wrench))

    def advance(self, duration):
        self.page_time += duration
        while self.time < self.page_time - self.ahead:
            self.cycle()

    def cycle(self):
        while self.coming and self.coming[0][0] - self.ahead <= self.time:
            self.loop.motion.set_feedforward_wrench(self.coming.pop(0)[1])
        state = RobotState(self.time, self.q, self.v, np.zeros(6))
        command = self.loop.tick(state)
        if self.cycles % STATE == 0 and not self.silent:
            kin, terms = self.loop.kin, self.loop.report().terms
            self.come(
                time=[self.time],
                position=self.q,
                pose=kin.pose[:3].ravel(),
                twist=kin.twist,
                target_wrench=np.zeros(6)
                if self.loop.reference.wrench is None
                else self.loop.reference.wrench,
                saturated=np.zeros(6),
                **{f"term.{name}": values for name, values in terms.items()},
            )
        self.v = self.v + CYCLE * self.model.forward_dynamics(self.q, self.v, command.values)
        self.q = self.q + CYCLE * self.v
        self.cycles += 1


def begin(arm, plan):
    return Experiment(arm, arm.model, plan, arm.page_time)


def run(arm, plan, until_progress=math.inf):
    return go_on(arm, begin(arm, plan), until_progress)


def go_on(arm, experiment, until_progress=math.inf):
    rng = np.random.default_rng(6)  # drawings aren't quite regular
    while experiment.running and experiment.progress < until_progress:
        experiment.draw(arm.page_time)
        arm.advance(DRAWING + rng.uniform(-0.003, 0.003))
    return experiment


SPRING = {"stiffness": (500.0,) * 3 + (50.0,) * 3, "damping_ratio": (0.7,) * 6}


@pytest.fixture(scope="module")
def stepped():
    arm = Arm(**SPRING)
    return arm, run(arm, Plan(1, False, 8.0))


def test_a_step_is_measured_against_the_ideal(stepped):
    _, tried = stepped
    result = tried.result
    measured, ideal = result.measured_figures, result.ideal_figures
    assert np.abs(result.measured - result.ideal).max() < 0.03 * ideal.final
    assert measured.final == pytest.approx(8.0 / 500.0, rel=0.01)
    assert measured.rise == pytest.approx(ideal.rise, rel=0.03)
    assert measured.overshoot == pytest.approx(ideal.overshoot, abs=1.0)
    assert measured.settling_5 == pytest.approx(ideal.settling_5, abs=0.015)
    assert "force timed to ±" in result.message


def test_the_size_of_the_step_comes_at_once_and_the_run_ends_with_zeros(stepped):
    arm, _ = stepped
    sent = np.array(arm.wrenches)
    assert np.abs(sent[:, [0, 2, 3, 4, 5]]).max() == 0.0
    force = sent[:, 1]
    assert ((np.abs(force) < 1e-3) | (np.abs(force - 8.0) < 1e-3)).all()
    assert (force[-5:] == 0.0).all()


def test_the_table_has_every_point_in_si_units(stepped):
    result = stepped[1].result
    head, *rows = csv.reader(result_csv(result).decode().splitlines())
    assert head == ["time [s]", "measured [m or rad]", "ideal [m or rad]"]
    np.testing.assert_allclose(np.array(rows, dtype=float)[:, 1], result.measured, atol=1e-9)


def test_a_chirp_is_measured_against_the_ideal(monkeypatch):
    for module in (plans, experiments, evaluations):
        monkeypatch.setattr(module, "BAND", (0.7, 5.0))
    monkeypatch.setattr(plans, "SWEEP", 6.0)
    result = run(Arm(**SPRING), Plan(5, True, 1.0)).result
    assert np.isfinite(result.measured).sum() > 20
    good = np.isfinite(result.measured)
    np.testing.assert_allclose(result.measured[good], result.ideal[good], rtol=0.06)
    head, *rows = csv.reader(result_csv(result).decode().splitlines())
    assert len(head) == 5
    assert len(rows) == len(result.x)


class Body(FakeLink):
    """A virtual body under admittance."""

    def __init__(self):
        super().__init__()
        self.running, self.gains = "admittance", {}
        default = ROBOT.law_gains["admittance"]
        self.mass, ratio = default["mass"][0], default["damping_ratio"][0]
        self.damping = 2.0 * ratio * math.sqrt(self.mass * 500.0)
        self.page_time = self.ahead = CLOCKS
        self.coming, self.steps = [], 0
        self.force = self.x = self.v = 0.0
        self.model = MODEL
        self.advance(DRAWING)

    def set_target_wrench(self, wrench):
        super().set_target_wrench(wrench)
        self.coming.append((self.page_time + DELAY - self.ahead, wrench[0]))

    def advance(self, duration):
        self.page_time += duration
        while (now := self.steps * 2.5e-4) < self.page_time - self.ahead:
            while self.coming and self.coming[0][0] <= now:
                self.force = self.coming.pop(0)[1]
            if self.steps % 80 == 0:
                pose = make_pose(HOME[:3, 3] + [self.x, 0.0, 0.0], HOME[:3, :3])
                wrench = self.force * np.eye(6)[0]
                self.come(
                    time=[now],
                    position=Q,
                    pose=pose[:3].ravel(),
                    twist=[self.v, 0, 0, 0, 0, 0],
                    target_wrench=wrench,
                )
            self.v += 2.5e-4 / self.mass * (self.force - self.damping * self.v - 500.0 * self.x)
            self.x += 2.5e-4 * self.v
            self.steps += 1


def test_under_admittance_it_is_measured_against_the_virtual_body():
    result = run(Body(), Plan(0, False, 10.0)).result
    assert np.abs(result.measured - result.ideal).max() < 0.02 * result.ideal_figures.final


# --- what ends it early ---


@pytest.fixture
def arm():
    return Arm(**SPRING)


def dies(arm):
    arm.state = Health(answers=False)


def stops(arm):
    arm.state = Health(answers=True, lifecycle="inactive")


def is_tuned(arm):
    arm.gains = arm.gains | {"stiffness": replace(arm.gains["stiffness"], value=(100.0,) * 6)}


def is_dragged(arm):
    arm.now = replace(arm.now, reference=make_pose(HOME[:3, 3] + [0.01, 0.0, 0.0], HOME[:3, :3]))


def falls_silent(arm):
    arm.silent = True


def is_exerted_by_another(arm):
    arm.loop.motion.set_feedforward_wrench = lambda wrench: None
    arm.loop.motion.feedforward_wrench = np.array([3.0, 0.0, 0.0, 0.0, 0.0, 0.0])


@pytest.mark.few(2)
@pytest.mark.parametrize(
    ("happens", "words"),
    [
        (dies, "doesn't answer"),
        (stops, "controller inactive"),
        (is_tuned, "gains were changed"),
        (is_dragged, "the reference moved"),
        (falls_silent, "no ~/state for"),
        (is_exerted_by_another, "another wrench"),
    ],
)
def test_a_run_that_is_disturbed_ends_with_zeros_and_says_why(arm, happens, words):
    experiment = run(arm, Plan(0, False, 10.0), until_progress=0.5)
    assert arm.wrenches[-1][0] > 9.0
    happens(arm)
    go_on(arm, experiment)
    assert words in experiment.problem
    assert experiment.result is None
    assert not arm.wrenches[-1].any()


def test_a_page_that_stalls_during_the_whole_force_has_no_result(arm):
    experiment = run(arm, Plan(0, False, 10.0), until_progress=0.1)
    arm.advance(experiments.BASELINE + plans.LONGEST + 10.0)
    go_on(arm, experiment)
    assert experiment.result is None
    assert experiment.problem
    assert not arm.wrenches[-1].any()


def test_abort_is_at_once(arm):
    experiment = run(arm, Plan(0, False, 10.0), until_progress=0.5)
    experiment.abort("enough", arm.page_time)
    assert not arm.wrenches[-1].any()
    go_on(arm, experiment)
    assert experiment.problem == "enough"


# --- what isn't begun ---


@pytest.mark.parametrize(
    ("plan", "name", "bound"),
    [
        (Plan(0, False, 40.0), "x", 0.05),
        (Plan(0, False, 60.0), "size", (0.0, 50.0)),
        (Plan(3, False, 6.0), "size", (0.0, 5.0)),
    ],
)
def test_what_is_too_large_is_refused(arm, plan, name, bound):
    with pytest.raises(ConfigError) as refused:
        begin(arm, plan)
    assert (refused.value.name, refused.value.bound) == (name, bound)
    assert not arm.wrenches


def test_a_weakly_damped_chirp_is_bounded_by_its_resonance():
    soft = Arm(stiffness=SPRING["stiffness"], damping_ratio=(0.1,) * 6)
    expect(soft, soft.model, Plan(1, False, 15.0))
    with pytest.raises(ConfigError) as refused:
        expect(soft, soft.model, Plan(1, True, 15.0))
    assert refused.value.value > refused.value.bound == 0.05


def test_an_axis_without_a_spring_is_refused(arm):
    arm.gains = arm.gains | {
        "stiffness": replace(arm.gains["stiffness"], value=(0.0,) + (500.0,) * 2 + (50.0,) * 3)
    }
    with pytest.raises(ConfigError) as refused:
        begin(arm, Plan(0, False, 5.0))
    assert refused.value.name == "stiffness"


def test_a_tip_that_moves_or_touches_is_left_alone(arm):
    arm.now = replace(
        arm.now, blocks=dict(arm.now.blocks) | {"twist": np.array([0.1, 0, 0, 0, 0, 0])}
    )
    with pytest.raises(ConfigError, match="still moves"):
        begin(arm, Plan(0, False, 5.0))
    arm.advance(DRAWING)
    arm.now = replace(arm.now, contact=np.array([0.0, 0.0, 12.0, 0.0, 0.0, 0.0]))
    with pytest.raises(ConfigError, match="touches something, with 12 N"):
        begin(arm, Plan(0, False, 5.0))


def test_nothing_is_begun_without_a_controller():
    link = FakeLink()
    with pytest.raises(ConfigError, match="nothing has come from the controller yet"):
        Experiment(link, MODEL, Plan(0, False, 5.0), 0.0)
    link.state = Health(answers=True, lifecycle="inactive")
    with pytest.raises(ConfigError, match="controller inactive"):
        Experiment(link, MODEL, Plan(0, False, 5.0), 0.0)


# --- the panel ---


class LiveArm(Arm):
    """Keeps pace with the page that looks at it."""

    def __init__(self, **gains):
        super().__init__(time.monotonic(), **gains)

    def recent(self, after):
        self.advance(time.monotonic() - self.page_time)
        return super().recent(after)


@pytest.fixture
def live(web, monkeypatch):
    for module, name, value in (
        (experiments, "BASELINE", 0.4),
        (plans, "SHORTEST", 0.3),
        (plans, "ROOM", 1.0),
        (experiments, "ENDING", 0.1),
    ):
        monkeypatch.setattr(module, name, value)
    return LiveArm(stiffness=(2000.0,) * 3 + (200.0,) * 3, damping_ratio=(0.7,) * 6)


@pytest.fixture
def page(live):
    made = Page(live)
    yield made
    made.close()


@pytest.fixture
def browser(page):
    made = Browser(page)
    made.set("Step and chirp", True)
    until(lambda: page.response.panel.visible, "the panel")
    yield made
    made.socket.close()


def test_the_panel_says_what_to_expect_runs_a_step_and_shows_its_figures(browser, page, live):
    browser.set("Force [N]", 20.0)
    until(lambda: "moves by 10 mm" in text(page), "what the ideal does")
    browser.set("Axis", "rz")
    until(lambda: browser.handle("Torque [N·m]").visible, "a torque")
    browser.set("Axis", "y")
    until(lambda: browser.handle("Force [N]").visible, "a force")
    browser.set("Test", "Run")
    until(lambda: "running" in text(page), "the run")
    until(lambda: "overshoot" in text(page), "the figures")
    assert [plot.visible for plot in page.response.plots.values()] == [True, False, False]
    assert max(np.array(live.wrenches)[:, 1]) == pytest.approx(20.0, abs=1e-3)
    assert not live.wrenches[-1].any()
    assert browser.handle("Export CSV").visible


def test_abort_ends_the_run(browser, page, live):
    browser.set("Test", "Run")
    until(lambda: live.wrenches and live.wrenches[-1][0] > 1.0, "the force")
    browser.set("Test", "Abort")
    until(lambda: "ended early: by the Abort button" in text(page), "the reason")
    assert not live.wrenches[-1].any()


def test_a_page_that_closes_leaves_no_force(browser, page, live):
    browser.set("Test", "Run")
    until(lambda: live.wrenches and live.wrenches[-1][0] > 1.0, "the force")
    page.close()
    assert not live.wrenches[-1].any()


def test_a_law_that_takes_no_wrench_is_told_before_anybody_tries(browser, page, live):
    live.running, live.gains = "joint_impedance", {}
    until(lambda: "joint_impedance doesn't exert a target wrench" in text(page), "the message")
    browser.set("Test", "Run")
    until(lambda: "refused" in text(page), "the refusal")
    assert not live.wrenches
