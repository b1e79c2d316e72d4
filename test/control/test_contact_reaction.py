"""Reactions to contacts: their torques and motions, latching, and that commands are as
before without a contact.
"""

import numpy as np
import pytest

from evidence.contact import collision_trials
from evidence.contact.collision_trials import pressed_down, swept
from robot_control_ros.control.loop import ControlLoop
from robot_control_ros.control.reactions.contact_reaction import (
    BACK,
    PATH,
    PUSH,
    PUSHED,
    ContactReaction,
)
from robot_control_ros.control.safety import STOPPING, Safety
from robot_control_ros.core.errors import ConfigError
from robot_control_ros.core.types import Command, CommandMode, RobotState
from robot_control_ros.robot.configuration import load_robot
from robot_control_ros.robot.model import RobotModel
from robot_control_ros.sensing.contact_settings import REACTIONS

ROBOT = load_robot("ur5e").at_rate(500.0)
MODEL = RobotModel.of(ROBOT)
LIMITS, HOME, N, DT = MODEL.limits, np.array(ROBOT.home), ROBOT.n, ROBOT.period
EFFORT, POSITION, VELOCITY = CommandMode.EFFORT, CommandMode.POSITION, CommandMode.VELOCITY


def state_at(time, q=HOME, v=None, effort=None):
    zero = np.zeros(N)
    return RobotState(
        time, q, zero if v is None else v, MODEL.at(q).gravity if effort is None else effort
    )


def first(kind, v, torque=0.0, mode=EFFORT):
    """The first command of a reaction, less what holds the robot."""
    reaction, safety, state = (
        ContactReaction(ROBOT, LIMITS),
        Safety(ROBOT, LIMITS),
        state_at(0.0, v=v),
    )
    reaction.begin(kind, np.full(N, torque))
    kin = MODEL.at(HOME, v)
    command = reaction.command(mode, state, kin, safety, DT)
    return None if command is None else command.values - safety.holding(mode, state, kin)


# --- torques ---


def test_braking_torques_slow_all_joints_alike_and_only_take_energy(rng):
    for _ in range(20):
        v = rng.normal(size=N)
        torque = first("brake", v)
        rates = -np.linalg.solve(MODEL.mass(HOME), torque) / v
        np.testing.assert_allclose(rates, rates[0])
        assert rates[0] > 0.0
        assert torque.dot(v) < 0.0


def test_retreat_and_soft_push_with_the_contact_at_most_a_tenth_of_the_limits_and_damp(rng):
    v, damping = rng.normal(size=N), np.array(ROBOT.safe_damping)
    for kind in ("retreat", "soft"):
        np.testing.assert_allclose(first(kind, v, torque=0.5), 0.5 - damping * v, atol=1e-9)
        np.testing.assert_allclose(
            first(kind, v, torque=-1e4), -PUSH * LIMITS.effort - damping * v, atol=1e-9
        )


@pytest.mark.parametrize("kind", ["none", "hold"])
def test_none_and_hold_leave_the_command_to_the_law(kind):
    assert first(kind, np.ones(N)) is None


def lasting(kind, mode=EFFORT, v=None, longest=2.0):
    """How long a reaction commands [s], the commands, and where the arm is then; it
    says that it moves on.
    """
    reaction, safety, q, commands = ContactReaction(ROBOT, LIMITS), Safety(ROBOT, LIMITS), HOME, []
    v = np.zeros(N) if v is None else v
    for k in range(round(PATH / DT) + 100):
        reaction.remember(HOME - v * DT * (round(PATH / DT) + 99 - k))
    safety.apply(
        Command(mode, HOME if mode is POSITION else np.zeros(N)), state_at(0.0), MODEL.at(HOME), DT
    )
    reaction.begin(kind, np.ones(N))
    for k in range(round(longest / DT)):
        state, kin = state_at(k * DT, q, v), MODEL.at(q, v)
        command = reaction.command(mode, state, kin, safety, DT)
        if command is None:
            return k * DT, np.array(commands), q
        sent = safety.apply(command, state, kin, DT).values
        q = sent if mode is POSITION else q + DT * sent if mode is VELOCITY else q
        commands.append(command.values)
    return longest, np.array(commands), q


def test_how_long_each_reaction_lasts():
    assert lasting("brake", v=np.full(N, 0.2))[0] == pytest.approx(0.1, abs=DT)
    assert lasting("retreat")[0] == pytest.approx(PUSHED, abs=DT)
    assert lasting("soft")[0] == 2.0


# --- positions and velocities ---


def test_positions_brake_at_the_largest_deceleration():
    v = np.array([0.5, -0.5, 0.2, 0.0, 0.0, 0.1])
    seconds, positions, _ = lasting("brake", POSITION, v)
    speeds = np.diff(np.vstack((HOME, positions)), axis=0) / DT
    slowing = -np.diff(np.abs(speeds), axis=0) / DT
    assert slowing.max() <= STOPPING * LIMITS.velocity.max() * (1.0 + 1e-6)
    assert seconds == pytest.approx(0.5 / (STOPPING * LIMITS.velocity[0]), abs=2.0 * DT)
    np.testing.assert_allclose(
        positions[-1] - HOME, np.sign(v) * v**2 / (2.0 * STOPPING * LIMITS.velocity), atol=2e-3
    )


@pytest.mark.parametrize("kind", ["retreat", "soft"])
@pytest.mark.parametrize("mode", [POSITION, VELOCITY])
def test_they_go_back_to_where_the_arm_was_before(mode, kind):
    v = np.array([0.5, -0.5, 0.2, 0.0, 0.0, 0.1])
    seconds, values, end = lasting(kind, mode, v)
    np.testing.assert_allclose(end, HOME - PATH * v, atol=2e-3)
    assert BACK < seconds < BACK + 0.1
    rates = np.diff(values, axis=0) / DT if mode is POSITION else values
    assert np.abs(rates).max() < 2.0  # rad/s: no jump
    assert np.abs(rates[-1]).max() < 0.02


def test_a_law_with_other_commands_begins_the_reaction_anew():
    reaction, safety, v = ContactReaction(ROBOT, LIMITS), Safety(ROBOT, LIMITS), np.full(N, 0.2)
    state, kin = state_at(0.0, v=v), MODEL.at(HOME, v)
    reaction.begin("brake", np.zeros(N))
    for _ in range(10):
        assert reaction.command(EFFORT, state, kin, safety, DT).mode is EFFORT
    braking = reaction.command(VELOCITY, state, kin, safety, DT)
    assert braking.mode is VELOCITY
    np.testing.assert_allclose(braking.values, v - STOPPING * LIMITS.velocity * DT)


# --- in the loop ---


def loop_of(law="joint_impedance", reaction="none", **settings):
    loop = ControlLoop(ROBOT, law)
    loop.contact.settings.set({"reaction": reaction, **settings})
    return loop


def pushed(loop, external=0.0, seconds=0.4, start=0.0):
    """Ticks at home, at rest, with an external torque on the elbow that the loop's law can't
    hold; the commands.
    """
    commands = []
    for k in range(round(seconds / DT)):
        # the payload that was told is there
        state = state_at(start + k * DT, effort=loop.model.at(HOME).gravity)
        torque = np.where(np.arange(N) == 2, external, 0.0)
        commands.append(
            loop.tick(RobotState(state.time, HOME, state.v, state.effort - torque)).values
        )
    return np.array(commands)


@pytest.mark.few(4)
@pytest.mark.parametrize("law", ["impedance", "position_domain_pd", "joint_pid"])
@pytest.mark.parametrize("reaction", REACTIONS)
def test_a_reaction_is_latched_refuses_targets_and_is_cleared_by_the_service(law, reaction):
    loop = loop_of(law, reaction)
    pushed(loop)
    assert loop.contact.found is None
    pushed(loop, 30.0, start=0.4)
    found = loop.contact.found
    assert found.link == "forearm_link"
    assert found.start == pytest.approx(0.41, abs=0.01)
    if reaction == "none":
        assert loop.warning == loop.restart_reason == ""
        loop.motion.move_joints_to(HOME)
        return
    pushed(loop, start=0.8, seconds=0.7)
    assert loop.contact.reaction == reaction
    assert loop.restarts == 1
    assert "forearm_link" in loop.restart_reason
    assert "~/clear_contact" in loop.warning
    for target in (lambda: loop.motion.move_joints_to(HOME), loop.motion.hold, loop.tip):
        with pytest.raises(ConfigError, match="clear_contact"):
            target()
    assert "forearm_link" in loop.contact.clear()
    pushed(loop, start=1.5)
    assert loop.contact.found is None
    assert loop.warning == ""
    loop.motion.move_joints_to(HOME)


@pytest.mark.few(2)
@pytest.mark.parametrize("reaction", REACTIONS)
def test_no_torque_changes_faster_than_effort_rate(reaction):
    loop = loop_of("impedance", reaction)
    commands = np.concatenate(
        [pushed(loop), pushed(loop, 60.0, start=0.4), pushed(loop, start=0.8)]
    )
    loop.contact.clear()
    commands = np.concatenate([commands, pushed(loop, start=1.2)])
    rates = np.abs(np.diff(commands, axis=0)) / DT
    assert (rates <= np.array(ROBOT.effort_rate) * (1.0 + 1e-9)).all()


def test_commands_are_the_same_to_the_bit_whether_contacts_are_watched_or_not():
    off = dict.fromkeys(
        (
            "collision_torque",
            "clamping_torque",
            "collision_force",
            "clamping_force",
            "following_error",
        ),
        0.0,
    )
    for law in ("impedance", "admittance"):
        both = [pushed(loop, 30.0) for loop in (loop_of(law), loop_of(law, **off))]
        np.testing.assert_array_equal(*both)


def test_another_law_payload_and_tare_freeze_the_detection():
    loop = loop_of()
    pushed(loop)
    loop.payload.settings.set({"mass": 1.0})
    pushed(loop, 30.0, start=0.4)
    loop.switch_law(ControlLoop(ROBOT, "impedance").running)
    pushed(loop, -30.0, start=0.8)
    assert loop.contact.found is None
    pushed(loop, 30.0, start=1.2)
    assert loop.contact.found is not None


def test_a_contact_without_reaction_grows_and_the_next_is_another():
    loop = loop_of()
    pushed(loop)
    pushed(loop, 14.0, start=0.4, seconds=0.06)
    begun = loop.contact.found
    pushed(loop, 40.0, start=0.46, seconds=0.1)
    grown = loop.contact.found
    assert grown.start == begun.start
    assert grown.size > begun.size
    pushed(loop, start=0.56, seconds=2.0)
    pushed(loop, 30.0, start=2.56)
    assert loop.contact.found.start > 2.5


def test_learning_gives_the_settings_of_what_is_measured():
    loop, period = ControlLoop(ROBOT.at_rate(50.0), "gravity_compensation"), 0.02
    loop.contact.begin_learning()
    assert loop.contact.settings.target.collision_torque[0] > 5.0
    for k in range(1600):
        torque = 0.1 * np.sin(0.3 * k) * (np.arange(N) == 2)
        loop.tick(RobotState(k * period, HOME, np.zeros(N), MODEL.at(HOME).gravity - torque))
        if k == 250:
            assert loop.report().contact.learnt == pytest.approx(5.0, abs=0.1)
            with pytest.raises(ConfigError, match="learning time"):
                loop.contact.learned()
    values = loop.contact.learned()
    assert set(values) == {f"collision_torque{part}" for part in ("", "_velocity", "_acceleration")}
    loop.contact.settings.set(values)
    assert 0.0 < loop.contact.settings.target.collision_torque[2] < 1.0
    assert loop.report().contact.learnt < 0.0


# --- simulated collisions ---


@pytest.mark.sim
def test_a_soft_arm_leaves_what_it_ran_into():
    got = pressed_down("ur5e", 1e4, "soft", 0.002)
    assert got.found <= 0.030
    assert got.peak <= collision_trials.PEAK
    assert got.left <= 1.0


@pytest.mark.sim
@pytest.mark.long
@pytest.mark.parametrize("delay", [0.0, 0.002, 0.004])
@pytest.mark.parametrize("reaction", [kind for kind in REACTIONS if kind != "none"])
def test_collisions_are_within_the_bounds_of_the_table(delay, reaction):
    left = collision_trials.REACTIONS[reaction]
    for stiffness, soon in collision_trials.SURFACES.items():
        got = pressed_down("ur5e", stiffness, reaction, delay)
        assert 0.0 <= got.found <= soon
        assert got.left <= left
        assert got.peak <= collision_trials.PEAK or stiffness > 1e4
    for place, (link, _) in collision_trials.POSTS.items():
        got = swept("ur5e", place, reaction, delay)
        assert 0.0 <= got.found <= 0.004
        assert got.left <= left
        touched = MODEL.links.index(link) if link in MODEL.links else N - 1
        assert MODEL.links.index(got.contact.link) <= touched


@pytest.mark.sim
@pytest.mark.long
def test_a_minute_of_motion_is_no_contact():
    assert all(row.holds for row in collision_trials.motion_rows("ur5e", 60.0))


def test_a_robot_without_figures_has_no_rows():
    assert collision_trials.rows("planar_two_link") == []
