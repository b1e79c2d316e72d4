"""A recorded law runs again: the same gains give the same commands to the last bit, others
give what they would.
"""

import dataclasses

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from robot_control_ros import ConfigError
from robot_control_ros.control.law_replay import Replay
from robot_control_ros.control.loop import ControlLoop
from robot_control_ros.control.recorder import CycleRecord
from robot_control_ros.core.types import CommandMode, RobotState, Wrench
from robot_control_ros.laws import law_class, law_names
from robot_control_ros.laws.compiled_law import CompiledLaw
from robot_control_ros.laws.running_law import RunningLaw
from robot_control_ros.robot.configuration import load_robot

ROBOTS = ("ur5", "gen3")
LAWS = tuple(
    name for name in law_names(plugins=False) if not getattr(law_class(name), "reads_path", False)
)
COMPILED = tuple(name for name in LAWS if issubclass(law_class(name), CompiledLaw))


class MovedArm:
    """A loop that is fed with an arm that somebody moves and pushes; the same for the same seed.

    Where positions are commanded, the arm follows them: else the loop would stop it.
    """

    def __init__(self, robot, law, seed=1):
        self.config = load_robot(robot)
        self.loop = ControlLoop(self.config, law)
        random = np.random.default_rng(seed)
        n = self.config.n
        self.phases, self.speeds = random.uniform(0.0, 6.0, n), random.uniform(0.5, 2.0, n)
        self.force = random.uniform(-20.0, 20.0, 6) * (1.0, 1.0, 1.0, 0.05, 0.05, 0.05)
        self.k = 0
        self.command = None

    def run(self, cycles):
        for _ in range(cycles):
            t = self.k * self.config.period
            q = np.array(self.config.home) + 0.1 * np.sin(self.speeds * t + self.phases)
            v = 0.1 * self.speeds * np.cos(self.speeds * t + self.phases)
            if self.command is not None and self.command.mode is CommandMode.POSITION:
                q, v = (
                    self.command.values,
                    np.zeros(len(q)) if self.command.velocity is None else self.command.velocity,
                )
            wrench = self.force * np.sin(t)
            frame = self.config.wrench_frame or self.config.tip
            wrench = Wrench(wrench[:3], wrench[3:], frame, t)
            self.command = self.loop.tick(RobotState(t, q, v, np.zeros(len(q)), wrench))
            self.k += 1

    def move(self):
        pose = self.loop.tip()
        pose[:3, 3] += (0.02, -0.03, 0.01)
        self.loop.motion.move_to(pose)


def assert_same(replayed, count=None):
    assert replayed.reason == ""
    assert replayed.replayed.sum() == (len(replayed.record) if count is None else count)
    assert replayed.difference().max() == 0.0


@pytest.mark.few(4)
@pytest.mark.parametrize("robot", ROBOTS)
@pytest.mark.parametrize("law", LAWS)
def test_each_law_gives_the_same_to_the_last_bit_while_gains_fade_and_the_target_moves(law, robot):
    arm = MovedArm(robot, law)
    arm.run(30)
    arm.move()
    arm.run(30)
    gains = arm.loop.running.gains
    spec = next((each for each in gains.specs if each.role and not each.choices), None)
    if spec is not None:
        gains.set({spec.name: 0.7 * np.asarray(getattr(gains.target, spec.name))})
    arm.run(60)
    assert_same(Replay(arm.loop.model).run(arm.loop.recorder.last()))


@pytest.mark.few(3)
@pytest.mark.parametrize("law", COMPILED)
def test_a_compiled_law_goes_on_from_its_recorded_memory(law):
    arm = MovedArm("ur5", law)
    arm.run(700)
    arm.move()
    arm.run(300)
    record = arm.loop.recorder.last(0.5)
    assert record["begins"].sum() == 0.0
    assert_same(Replay(arm.loop.model).run(record))


@pytest.mark.few(3)
@pytest.mark.parametrize("law", LAWS)
def test_the_last_cycles_of_an_arm_that_has_just_begun_go_back_to_where_its_law_began(law):
    arm = MovedArm("ur5", law)
    arm.run(130)  # before the first copy of its memory
    record = arm.loop.recorder.last(0.12)
    assert record["begins"].sum() == 1.0
    assert_same(Replay(arm.loop.model).run(record))


def test_a_law_whose_memory_is_not_there_is_not_made_up():
    arm = MovedArm("ur5", "impedance")
    arm.run(100)
    record = arm.loop.recorder.last().since(50)
    replayed = Replay(arm.loop.model).run(record)
    assert not replayed.replayed.any()
    assert replayed.reason


def test_cycles_that_are_missing_end_what_a_law_remembers():
    arm = MovedArm("ur5", "joint_pid")
    arm.run(100)
    whole = arm.loop.recorder.last()
    gap = dataclasses.replace(whole, rows=np.delete(whole.rows, range(40, 50), axis=0), memories=())
    replayed = Replay(arm.loop.model).run(gap)
    assert replayed.replayed.tolist() == [True] * 40 + [False] * 50


def test_a_record_in_parts_gives_what_it_gives_as_a_whole():
    arm = MovedArm("ur5", "admittance")
    arm.run(120)
    whole = arm.loop.recorder.last()
    replay = Replay(arm.loop.model)
    for begin in range(0, 120, 50):
        part = dataclasses.replace(whole, rows=whole.rows[begin : begin + 50])
        assert_same(replay.run(part))


@settings(max_examples=10, deadline=None)
@given(
    st.lists(
        st.tuples(st.sampled_from(LAWS), st.floats(0.2, 1.0), st.integers(1, 40)),
        min_size=2,
        max_size=6,
    )
)
def test_under_law_switches_and_gain_changes_the_difference_is_zero(changes):
    arm = MovedArm("ur5", changes[0][0])
    laws = {name: RunningLaw(arm.config, name) for name in LAWS}
    arm.run(10)
    for law, fraction, cycles in changes:
        arm.loop.switch_law(laws[law])
        gains = laws[law].gains
        spec = next((each for each in gains.specs if each.role and not each.choices), None)
        if spec is not None:
            gains.set({spec.name: fraction * np.asarray(getattr(gains.target, spec.name))})
        arm.run(cycles)
    assert_same(Replay(arm.loop.model).run(arm.loop.recorder.last()))


@pytest.mark.parametrize("name", ["stiffness", "impedance.stiffness"])
def test_other_gains_show_what_they_would_have_commanded(name):
    """At rest, away from a target that doesn't move, the spring's torque is Jᵀ K e."""
    robot = load_robot("ur5")
    loop = ControlLoop(robot, "impedance")
    q = np.array(robot.home)
    for k in range(20):
        away = 0.01 * min(k, 10) / 10.0
        loop.tick(RobotState(k * robot.period, q + away, np.zeros(6), np.zeros(6)))
    record = loop.recorder.last()
    twice = {name: 2.0 * loop.running.gains.current.stiffness}
    soft = Replay(loop.model).run(record).asked - loop.kin.gravity
    stiff = Replay(loop.model, twice).run(record).asked - loop.kin.gravity
    np.testing.assert_allclose(stiff[-1], 2.0 * soft[-1], rtol=1e-9)
    assert abs(soft[-1]).max() > 0.1


@pytest.mark.parametrize(
    ("gains", "value"),
    [
        ({"stifness": 3.0}, "stifness"),
        ({"stiffness": -1.0}, -1.0),
        ({"impedance.stiffness": -1.0}, -1.0),
        ({"joint_impedance.stiffness": 3.0}, "joint_impedance.stiffness"),
        ({"stiffness": 3.0, "impedance.stiffness": 4.0}, 4.0),
    ],
)
def test_gains_that_no_recorded_law_takes_are_refused(gains, value):
    arm = MovedArm("ur5", "impedance")
    arm.run(3)
    with pytest.raises(ConfigError) as refusal:
        Replay(arm.loop.model, gains).run(arm.loop.recorder.last())
    assert refusal.value.value == value


def test_a_gain_with_the_name_of_its_law_is_that_of_no_other_law():
    arm = MovedArm("ur5", "impedance")
    arm.run(10)
    arm.loop.switch_law(RunningLaw(arm.config, "joint_impedance"))
    arm.run(10)
    record = arm.loop.recorder.last()
    changed = Replay(arm.loop.model, {"impedance.stiffness": 10.0}).run(record).difference()
    assert changed[:10].max() > 0.0
    assert changed[10:].max() == 0.0


def test_a_law_that_looks_along_its_path_is_not_replayed_and_says_why():
    arm = MovedArm("ur5", "position_domain_pd")
    arm.run(20)
    replayed = Replay(arm.loop.model).run(arm.loop.recorder.last())
    assert not replayed.replayed.any()
    assert "position_domain_pd" in replayed.reason


def test_a_loop_can_go_on_while_its_record_is_replayed():
    arm = MovedArm("ur5", "impedance")
    arm.run(50)
    record = arm.loop.recorder.last()
    assert isinstance(record, CycleRecord)
    before = record.rows.copy()
    Replay(arm.loop.model).run(record)
    arm.run(50)
    np.testing.assert_array_equal(record.rows, before)
