"""What must hold for every law of the package, with each of its outputs, on every robot of the
package.

Laws of a user's own: see laws_under_test.py.
"""

from dataclasses import dataclass, replace
from functools import lru_cache

import numpy as np
import pytest
from laws_under_test import LAWS, outputs

from robot_control_ros.control.loop import ControlLoop
from robot_control_ros.core.errors import ConfigError
from robot_control_ros.core.gains import JOINT, gain_specs
from robot_control_ros.core.spatial import make_pose, rotation_exp
from robot_control_ros.core.types import CommandMode, Reference, RobotState, Wrench
from robot_control_ros.laws import law_class
from robot_control_ros.laws.running_law import RunningLaw
from robot_control_ros.references import Hold
from robot_control_ros.robot.configuration import load_robot, robot_names
from robot_control_ros.robot.model import RobotModel

DT = 0.002
# the UR5e is the UR5 with other numbers
ROBOTS = {name: load_robot(name) for name in robot_names() if name != "ur5e"}
# N·m, of a law before safety, metres and half a turn away; an inverse of J knows no bound at all
MAX_TORQUE = 1e4
MAX_LAG = 10.0  # rad, of a joint position commanded by a law before safety


@lru_cache
def model_of(robot):
    return RobotModel.of(ROBOTS[robot])


@dataclass(frozen=True)
class Case:
    """A law with one of its outputs on a robot."""

    law: str
    output: str | None
    robot: str

    def __str__(self):
        return "-".join(filter(None, (self.law, self.output, self.robot)))

    @property
    def config(self):
        return ROBOTS[self.robot]

    @property
    def model(self):
        return model_of(self.robot)

    @property
    def home(self):
        return np.array(self.config.home)

    @property
    def gains(self):
        return {} if self.output is None else {"output": self.output}

    def running(self, config=None, **gains):
        return RunningLaw(config or self.config, self.law, {**self.gains, **gains})


CASES = [Case(law, output, robot) for law in LAWS for output in outputs(law) for robot in ROBOTS]
# `make test` tries seven joints, some of them without end, and two. Six of other arms are like these.
SHOWN = ("gen3", "planar_two_link")
every_case = pytest.mark.parametrize(
    "case",
    [case if case.robot in SHOWN else pytest.param(case, marks=pytest.mark.long) for case in CASES],
    ids=str,
)
every_law = pytest.mark.parametrize(
    "case", [case for case in CASES if case.robot == "gen3"], ids=str
)


def sample(time, q, v=None, wrench=None):
    still = np.zeros_like(q)
    return RobotState(
        time, q, still if v is None else v, still, None, np.zeros(6) if wrench is None else wrench
    )


def resting(model, q, pose=None):
    """The reference to rest at joint angles q, and at their pose or another one."""
    still = np.zeros_like(q)
    pose = model.at(q).pose if pose is None else pose
    return Reference(
        pose, np.zeros(6), np.zeros(6), None, q, still, still, lambda s: (q, still, still)
    )


def swing(middle, which, t, speed):
    """Positions, velocities and accelerations of joints that swing by 0.2 rad, the i-th in its
    own phase and pace.
    """
    rate = speed + 0.3 * which
    angle = rate * t + which
    return middle + 0.2 * np.sin(angle), 0.2 * rate * np.cos(angle), -0.2 * rate**2 * np.sin(angle)


def swinging(running, model, middle, steps=60, which=None, turns=0.0):
    """Commands of a law while the robot swings after a reference that swings somewhat faster.

    Args:
        running, model: of the same robot.
        middle: (n,) joint angles in the middle of the swing.
        steps: as many commands.
        which: (n,) number of each joint, in another order than the robot's own.
        turns: whole turns (n,) that the measured angles are further in the second half, as a driver
            that wraps has it.
    """
    which = np.arange(model.n) if which is None else which
    law, commands = running.law, []
    for k in range(steps):
        t = k * DT
        q, v, _ = swing(middle, which, t, 1.9)
        if 2 * k >= steps:
            q = q + 2.0 * np.pi * turns
        kin = model.update(q, v)
        state = sample(t, q, v, 5.0 * np.sin(3.0 * t + np.arange(6)))
        if k == 0:
            law.reset(state, kin)
        q_ref, v_ref, a_ref = swing(middle, which, t, 2.0)
        there = model.at(q_ref, v_ref)
        acceleration = there.jacobian @ a_ref + there.jdot_v
        path = lambda s: swing(middle, which, s, 2.0)  # noqa: E731
        reference = Reference(
            there.pose, there.twist, acceleration, None, q_ref, v_ref, a_ref, path
        )
        commands.append(law.compute(state, kin, reference, running.gains.current, DT))
    return commands


def numbers(commands):
    """All numbers (k, m) of commands: values, and what goes with them."""
    parts = [[c.values, c.feedforward, c.velocity] for c in commands]
    return np.array([np.concatenate([part for part in row if part is not None]) for row in parts])


def reach(model):
    """Joint angles that random ones are drawn between."""
    return np.maximum(model.limits.lower, -3.0), np.minimum(model.limits.upper, 3.0)


def random_configurations(model, count, seed=1):
    return np.random.default_rng(seed).uniform(*reach(model), (count, model.n))


def awkward_configurations(case):
    """In singularities, next to them, and anywhere."""
    stretched = np.where(np.arange(case.config.n) == 0, case.home, 0.0)
    found = [np.zeros(case.config.n), stretched, stretched + 1e-9, stretched + 1e-3]
    if case.config.n > 4:
        wrist = case.home.copy()
        wrist[4:] = 0.0
        found += [wrist, wrist + 1e-6]
    return [np.clip(q, *reach(case.model)) for q in found] + list(
        random_configurations(case.model, 4)
    )


def awkward_poses(pose):
    """Half a turn away, nearly or exactly, about axes that have nothing in common with the
    arm's; and far away.
    """
    axes = np.vstack((np.eye(3), [[1.0, -1.0, 0.0], [1.0, 2.0, 3.0]]))
    for axis in axes / np.linalg.norm(axes, axis=1)[:, None]:
        for short in (0.0, 1e-12, 1e-7, 1e-3, -1e-3):
            yield make_pose(
                pose[:3, 3] + 0.5 * axis, rotation_exp((np.pi - short) * axis) @ pose[:3, :3]
            )
    yield make_pose(pose[:3, 3] + np.array([3.0, -3.0, 3.0]), pose[:3, :3])


# --- awkward states and references ---


@pytest.mark.few(6)
@every_case
def test_commands_stay_finite_and_bounded_near_singularities_and_half_a_turn_away(case):
    model, limits, running = case.model, case.model.limits, case.running()
    rng = np.random.default_rng(2)
    for q in awkward_configurations(case):
        v = rng.uniform(-0.5, 0.5, model.n)
        for pose in awkward_poses(model.at(q).pose):
            running.law.reset(sample(0.0, q, v), model.update(q, v))
            q_ref = np.clip(q + rng.uniform(-np.pi, np.pi, model.n), limits.lower, limits.upper)
            for k in range(2):
                state = sample(k * DT, q, v, rng.uniform(-50.0, 50.0, 6))
                reference = resting(model, q_ref, pose)
                command = running.law.compute(
                    state, model.update(q, v), reference, running.gains.current, DT
                )
                assert command.values.shape == (model.n,)
                assert np.isfinite(numbers([command])).all()
                bound = {
                    CommandMode.EFFORT: MAX_TORQUE,
                    CommandMode.POSITION: MAX_LAG,
                    CommandMode.VELOCITY: MAX_LAG * limits.velocity,
                }[command.mode]
                assert np.all(
                    np.abs(command.values - q * (command.mode is CommandMode.POSITION)) < bound
                )


@pytest.mark.few(6)
@every_case
def test_after_safety_commands_are_within_limits_and_rates_whatever_is_asked_for(case):
    """The reference jumps half a turn and metres away every 20 ms, while the joints swing, and
    the wrench is large.
    """
    model, limits, rate = case.model, case.model.limits, np.array(case.config.effort_rate)
    loop = ControlLoop(case.config, case.running(), model=model)
    poses, goals = (
        list(awkward_poses(model.at(case.home).pose)),
        random_configurations(model, 5, seed=3),
    )
    rng, last, extra, limited = (
        np.random.default_rng(4),
        None,
        np.zeros(model.n),
        np.zeros(model.n, bool),
    )
    for k in range(150):
        q, v, _ = swing(case.home, np.arange(model.n), k * DT, 1.9)
        wrench = Wrench(rng.uniform(-50, 50, 3), rng.uniform(-5, 5, 3), case.config.tip)
        sent = loop.tick(RobotState(k * DT, q, v, np.zeros(model.n), wrench))
        # for the joints swing as they like
        assert loop.safety.fault == "" or "doesn't follow" in loop.safety.fault
        if k % 10 == 0:
            loop.motion.trajectory = Hold(
                poses[rng.integers(len(poses))], goals[k // 10 % len(goals)]
            )
        assert np.isfinite(numbers([sent])).all()
        most, step = {
            CommandMode.EFFORT: (limits.effort, rate * DT),
            CommandMode.POSITION: (
                np.maximum(np.abs(limits.lower), np.abs(limits.upper)),
                limits.velocity * DT,
            ),
            CommandMode.VELOCITY: (limits.velocity, 4.0 * limits.velocity * DT),
        }[sent.mode]
        assert np.all(np.abs(sent.values) <= most)
        if last is not None:
            near_limits = loop.soft_limits.active | limited  # there the torque comes at once
            assert np.all((np.abs(sent.values - last) <= step * (1.0 + 1e-9) + 1e-12) | near_limits)
        limited = loop.soft_limits.active
        if sent.feedforward is not None:
            assert np.all(np.abs(sent.feedforward) <= limits.effort)
            assert np.all(np.abs(sent.feedforward - extra) <= rate * DT * (1.0 + 1e-9) + 1e-12)
            extra = sent.feedforward
        if sent.velocity is not None:
            assert np.all(np.abs(sent.velocity) <= limits.velocity)
        last = sent.values


# --- at rest ---


@every_case
def test_the_first_command_after_a_reset_holds_the_robot(case):
    model, running = case.model, case.running()
    limits = model.limits
    for q in random_configurations(model, 20):
        kin, state = model.update(q, np.zeros(model.n)), sample(0.0, q)
        running.law.reset(state, kin)
        command = running.law.compute(state, kin, resting(model, q), running.gains.current, DT)
        assert command.mode is running.mode
        held = {
            CommandMode.EFFORT: np.clip(kin.gravity, -limits.effort, limits.effort),
            CommandMode.POSITION: q,
            CommandMode.VELOCITY: np.zeros(model.n),
        }[command.mode]
        within = (
            np.clip(command.values, -limits.effort, limits.effort)
            if running.mode == "effort"
            else command.values
        )
        assert within == pytest.approx(held, abs=1e-6)
        if command.velocity is not None:
            assert command.velocity == pytest.approx(np.zeros(model.n), abs=1e-6)
        if command.feedforward is not None:
            expected = running.gains.current.gravity * kin.gravity
            assert command.feedforward == pytest.approx(
                np.clip(expected, -limits.effort, limits.effort), abs=1e-6
            )


@pytest.mark.few(6)
@every_case
def test_without_an_error_nothing_builds_up(case):
    model, running = case.model, case.running()
    for q in (case.home, *random_configurations(model, 3)):
        kin = model.update(q, np.zeros(model.n))
        running.law.reset(sample(0.0, q), kin)
        reference, gains = resting(model, q), running.gains.current
        commands = [
            running.law.compute(sample(k * DT, q), kin, reference, gains, DT) for k in range(200)
        ]
        found = numbers(commands)
        assert found == pytest.approx(np.broadcast_to(found[0], found.shape), abs=1e-6)


@every_case
def test_where_the_robot_compensates_gravity_a_torque_that_holds_is_zero(case):
    helpful = replace(case.config, profile=replace(case.config.profile, gravity_by_robot=True))
    running, kin = case.running(helpful), case.model.update(case.home, np.zeros(case.config.n))
    running.law.reset(sample(0.0, case.home), kin)
    reference = resting(case.model, case.home)
    command = running.law.compute(sample(0.0, case.home), kin, reference, running.gains.current, DT)
    torque = command.values if command.mode is CommandMode.EFFORT else command.feedforward
    assert torque is None or torque == pytest.approx(np.zeros(case.config.n), abs=1e-6)


@pytest.mark.few(6)
@pytest.mark.sim
@every_case
def test_a_simulated_robot_stays_where_it_is(case):
    pytest.importorskip("mujoco")
    from robot_control_ros.simulation.in_process import simulate

    gains = case.gains
    if case.output == "position" and hasattr(case.running().gains.current, "gravity"):
        # the simulated servos know their load, as the gain's text has it
        gains = {**gains, "gravity": False}
    log = simulate(case.config, case.law, gains, duration=0.3, rate=500.0)
    assert log.q == pytest.approx(np.broadcast_to(case.home, log.q.shape), abs=1e-4)
    assert log.v[-1] == pytest.approx(np.zeros(case.config.n), abs=1e-3)


# --- the same again ---


@every_case
def test_two_instances_and_one_that_is_reset_give_the_same_commands_bit_for_bit(case):
    one, other = case.running(), case.running()
    first = numbers(swinging(one, RobotModel.of(case.config), case.home))
    for running in (other, one):
        again = numbers(swinging(running, RobotModel.of(case.config), case.home))
        assert np.array_equal(first, again)
    assert len(np.unique(first, axis=0)) == len(first)  # the swing does move the commands


@every_case
def test_joints_in_another_order_get_the_same_commands_in_that_order(case):
    config, n, rng = case.config, case.config.n, np.random.default_rng(5)
    order = rng.permutation(n)
    while np.array_equal(order, np.arange(n)):
        order = rng.permutation(n)

    def shuffled(values):
        return tuple(values[i] for i in order)

    other = replace(
        config,
        joints=shuffled(config.joints),
        home=shuffled(config.home),
        rotor_inertia=shuffled(config.rotor_inertia),
        effort_rate=shuffled(config.effort_rate),
        safe_damping=shuffled(config.safe_damping),
    )
    own, mixed = {}, {}
    for spec in gain_specs(law_class(case.law).Gains):
        if spec.size == JOINT:  # a value of its own for each joint
            default = np.broadcast_to(getattr(case.running().gains.current, spec.name), n)
            own[spec.name] = np.clip(default * rng.uniform(0.5, 1.0, n), spec.lower, spec.upper)
            mixed[spec.name] = own[spec.name][order]
    expected = values_of(swinging(case.running(**own), case.model, case.home))
    found = values_of(
        swinging(case.running(other, **mixed), RobotModel.of(other), case.home[order], which=order)
    )
    for name, value in expected.items():
        assert found[name] == pytest.approx(value[:, order], rel=1e-7, abs=1e-7), name


def values_of(commands):
    """Each part that commands have, (k, n)."""
    parts = {"values": [c.values for c in commands]}
    for name in ("feedforward", "velocity"):
        if getattr(commands[0], name) is not None:
            parts[name] = [getattr(c, name) for c in commands]
    return {name: np.array(part) for name, part in parts.items()}


@pytest.mark.parametrize("case", [c for c in CASES if c.model.cyclic.any()], ids=str)
def test_a_joint_that_turns_without_end_may_be_measured_a_whole_turn_further(case):
    turns = case.model.cyclic * np.array([1.0, -1.0, 2.0, 1.0, -1.0, 1.0, 1.0])[: case.config.n]
    posture = {
        s.name: 20.0 for s in gain_specs(law_class(case.law).Gains) if s.name == "posture_stiffness"
    }
    plain, turned = (
        numbers(swinging(case.running(**posture), case.model, case.home, turns=some))
        for some in (0.0, turns)
    )
    assert turned == pytest.approx(plain, rel=1e-7, abs=1e-7)


# --- what a law says of itself ---


@every_case
def test_the_terms_of_a_torque_are_its_sum(case):
    running = case.running()
    (*_, command) = swinging(running, case.model, case.home)
    terms = running.law.terms
    assert terms
    for name, term in terms.items():
        assert term.shape == (case.config.n,), name
        assert np.isfinite(term).all(), name
    if command.mode is CommandMode.EFFORT:
        assert sum(terms.values()) == pytest.approx(command.values, abs=1e-9)


@every_case
def test_every_gain_may_be_at_either_bound(case):
    specs = gain_specs(law_class(case.law).Gains)
    for end in ("lower", "upper"):
        chosen = {
            s.name: (end == "upper") if s.switch else getattr(s, end)
            for s in specs
            if not s.choices
        }
        found = numbers(swinging(case.running(**chosen), case.model, case.home, 20))
        assert np.isfinite(found).all(), end


@every_law
def test_every_word_is_taken_and_another_one_is_refused_with_the_words(case):
    for spec in (s for s in gain_specs(law_class(case.law).Gains) if s.choices):
        running = case.running()
        for word in spec.choices:
            running.gains.set({spec.name: word})
            assert getattr(running.gains.advance(DT), spec.name) == word
        with pytest.raises(ConfigError) as refusal:
            running.gains.set({spec.name: "so_so"})
        for part in (f"{spec.name} = 'so_so'", *spec.choices):
            assert part in str(refusal.value)


@every_law
def test_a_gain_beyond_its_bounds_is_refused_with_its_name_and_the_bounds_and_nothing_changes(case):
    running = case.running()
    before = running.gains.target
    for spec in (s for s in gain_specs(law_class(case.law).Gains) if not s.choices):
        for bad in (spec.lower - 1.0, spec.upper * 1.001 + 1.0, np.nan, np.inf):
            with pytest.raises(ConfigError) as refusal:
                running.gains.set({spec.name: bad})
            assert str(refusal.value).startswith(f"{spec.name} = ") or f"{spec.name}[" in str(
                refusal.value
            )
            assert spec.switch or f"[{spec.lower:g}, {spec.upper:g}]" in str(refusal.value)
    assert running.gains.target is before
