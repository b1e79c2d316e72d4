"""Position-domain PD against its formulae written out here: look-up, slope, blend, hysteresis,
lag matching, limits.
"""

import numpy as np
import pytest
from arms import random_arm
from joint_moves import JointMove
from scipy.optimize import brentq

from robot_control_ros.core.gains import make_gains
from robot_control_ros.core.types import CommandMode, Reference, RobotState
from robot_control_ros.laws.position_domain_pd import FIRST_STEPS, MasterAxis, PositionDomainPD
from robot_control_ros.references import Circle
from robot_control_ros.robot.configuration import load_robot
from robot_control_ros.robot.model import RobotModel
from robot_control_ros.simulation.in_process import Push, simulate

DT = 1e-3
STIFFNESS, DAMPING = np.array([300.0, 200.0, 100.0]), np.array([30.0, 20.0, 10.0])
ARM = random_arm(3, 3, friction=True)
MODEL = ARM.model(rotor_inertia=(0.1, 0.1, 0.1))
# q = offset + speed t + swing sin(rate t): joint 2 leads, and none of them turns back
OFFSET, SPEED = np.array([0.3, -0.8, 1.1]), np.array([0.25, 0.9, -0.4])
SWING, RATE = np.array([0.05, 0.08, 0.06]), np.array([2.0, 1.7, 2.6])
MASTER = 1


def path(t):
    return (
        OFFSET + SPEED * t + SWING * np.sin(RATE * t),
        SPEED + SWING * RATE * np.cos(RATE * t),
        -SWING * RATE**2 * np.sin(RATE * t),
    )


def gains_of(**changes):
    plain = {
        "stiffness": STIFFNESS,
        "damping": DAMPING,
        "damping_ratio": 0.0,
        "feedforward": 0.0,
        "gravity": False,
        "domain": "position",
    }
    return make_gains(PositionDomainPD.Gains, {**plain, **changes}, 3)


def tick(law, t, q, v, gains, way=path, model=MODEL, reference=None):
    if reference is None:
        reference = Reference(None, None, None, None, *way(t), way)
    return law.compute(
        RobotState(t, q, v, np.zeros_like(q)), model.update(q, v), reference, gains, DT
    )


def started(q, v=None, model=MODEL):
    law = PositionDomainPD()
    v = np.zeros_like(q) if v is None else v
    law.reset(RobotState(0.0, q, v, v), model.update(q, v))
    return law


def followed(lag, gains, until=1.0, way=path):
    """A law whose robot has followed, each joint late by its lag (n,) [s]; and the last
    time, state and command.
    """
    law = started(way(0.0)[0])
    for k in range(round(until / DT) + 1):
        t = k * DT
        q = np.array([way(t - late)[0][i] for i, late in enumerate(lag)])
        v = np.array([way(t - late)[1][i] for i, late in enumerate(lag)])
        command = tick(law, t, q, v, gains, way)
    return law, t, q, v, command


# --- the law written out ---


def test_in_the_time_domain_it_is_pd_with_the_model_fed_forward(rng):
    share = 0.7
    gains = gains_of(domain="time", feedforward=share, gravity=True, damping_ratio=0.8)
    for _ in range(10):
        q, v, q_d, v_d, a_d = rng.uniform(-0.2, 0.2, (5, 3))
        command = tick(
            started(q),
            0.0,
            q,
            v,
            gains,
            reference=Reference(None, None, None, None, q_d, v_d, a_d, path),
        )
        mass = MODEL.mass(q_d)
        coriolis = MODEL.bias(q_d, v_d) - MODEL.bias(q_d, np.zeros(3))
        friction = MODEL.viscous_friction * v_d + MODEL.dry_friction * np.tanh(v_d / 0.01)
        damping = DAMPING + 2.0 * 0.8 * np.sqrt(STIFFNESS * np.diag(MODEL.mass(q)))
        expected = (
            STIFFNESS * (q_d - q) + damping * (v_d - v) + share * (mass @ a_d + coriolis + friction)
        )
        assert command.mode is CommandMode.EFFORT
        assert command.values == pytest.approx(expected + MODEL.bias(q, np.zeros(3)), abs=1e-9)


@pytest.mark.parametrize("lead", [0.0015, 0.02])
def test_what_is_fed_forward_leads_by_the_drives_dead_time(lead):
    law, t, gains = (
        started(path(0.0)[0]),
        0.4,
        gains_of(domain="time", feedforward=1.0, feedforward_lead=lead),
    )
    tick(law, t, *path(t)[:2], gains)
    q, v, a = path(t + lead)
    motion = MODEL.mass(q) @ a + MODEL.bias(q, v) - MODEL.bias(q, np.zeros(3))
    friction = MODEL.viscous_friction * v + MODEL.dry_friction * np.tanh(v / 0.01)
    assert law.terms["feedforward"] == pytest.approx(motion + friction, abs=1e-9)
    # the reference itself doesn't lead
    assert law.terms["stiffness"] == pytest.approx(np.zeros(3), abs=1e-12)


@pytest.mark.parametrize("domain", ["position", "matched"])
def test_without_a_path_it_is_the_time_domain(domain, rng):
    q, v, q_d, v_d, a_d = rng.uniform(-1.0, 1.0, (5, 3))
    reference = Reference(None, None, None, None, q_d, v_d, a_d)
    torque = [
        tick(started(q), 0.0, q, v, gains_of(domain=name), reference=reference).values
        for name in (domain, "time")
    ]
    assert np.array_equal(torque[0], torque[1])


def test_slaves_follow_where_the_master_is():
    lag = np.array([0.004, 0.025, -0.01])
    _, t, q, v, command = followed(lag, gains_of())
    q_d, v_d, _ = path(t)
    s = brentq(lambda s: path(s)[0][MASTER] - q[MASTER], t - 0.2, t + 0.05, xtol=1e-15)
    step = 1e-5
    ahead, behind = path(s + step)[0], path(s - step)[0]
    slope = (ahead - behind) / (ahead[MASTER] - behind[MASTER])
    position, velocity = path(s)[0], slope * v[MASTER]
    # the master itself follows the time
    position[MASTER], velocity[MASTER] = q_d[MASTER], v_d[MASTER]
    assert s == pytest.approx(t - lag[MASTER], abs=1e-9)
    assert command.values == pytest.approx(
        STIFFNESS * (position - q) + DAMPING * (velocity - v), abs=1e-5
    )


@pytest.mark.parametrize(("rest", "full"), [(0.05, 0.25), (0.5, 1.5), (0.9, 3.0), (2.0, 3.0)])
def test_blended_by_the_slower_of_the_masters_speeds_now_and_there(rest, full):
    lag = np.array([0.004, 0.02, -0.01])
    _, t, q, v, command = followed(lag, gains_of(rest_speed=min(rest, 1.0), full_speed=full))
    rest = min(rest, 1.0)
    (q_d, v_d, _), (q_s, v_s, _) = path(t), path(t - lag[MASTER])
    share = np.clip((min(v_d[MASTER], v_s[MASTER]) - rest) / (full - rest), 0.0, 1.0) * np.array(
        [1.0, 0.0, 1.0]
    )
    slope = v_s / v_s[MASTER]
    position, velocity = (
        (1 - share) * q_d + share * q_s,
        (1 - share) * v_d + share * slope * v[MASTER],
    )
    assert command.values == pytest.approx(
        STIFFNESS * (position - q) + DAMPING * (velocity - v), abs=1e-5
    )


@pytest.mark.few(3)
@pytest.mark.parametrize("domain", ["position", "matched", "time"])
@pytest.mark.parametrize("master_speed", [1.3, 0.0, -0.7])
def test_a_slaves_damping_is_d_whatever_the_master_does(domain, master_speed):
    """The literal form would have D / q̇_m: negative for a master that goes backwards,
    unbounded for one at rest.
    """
    gains, lag = gains_of(domain=domain), np.array([0.004, 0.02, 0.01])

    def torque(slave, faster):
        law, t, q, v, _ = followed(lag, gains)
        v = v.copy()
        v[MASTER] = master_speed
        v[slave] += faster
        return tick(law, t + DT, q, v, gains).values

    for slave in (0, 2):
        before, after = torque(slave, 0.0), torque(slave, 0.1)
        expected = np.zeros(3)
        expected[slave] = -DAMPING[slave] * 0.1
        assert after - before == pytest.approx(expected, abs=1e-10)


# --- the look-up ---


@pytest.mark.parametrize("lag", [0.0, 0.013, -0.03, 0.15])
def test_the_look_up_finds_where_the_master_is(lag):
    axis = MasterAxis()
    axis.choose(path(0.0)[1], 0.05, DT)
    for k in range(200):
        t = 0.5 + k * DT
        q, v = axis.look_up(path, path(t - lag)[0][MASTER], MODEL, t, DT)
    assert q == pytest.approx(path(t - lag)[0], abs=1e-9)
    assert v == pytest.approx(path(t - lag)[1], abs=1e-8)


@pytest.mark.parametrize("lag", [0.0, 0.07, -0.03])
def test_the_first_look_up_finds_at_once_where_the_master_is(lag):
    """As where the law takes over from a soft one, whose arm is far behind."""
    axis = MasterAxis()
    axis.choose(path(0.0)[1], 0.05, DT)
    q, v = axis.look_up(path, path(0.5 - lag)[0][MASTER], MODEL, 0.5, DT)
    assert q == pytest.approx(path(0.5 - lag)[0], abs=1e-9)
    assert v == pytest.approx(path(0.5 - lag)[1], abs=1e-8)


@pytest.mark.parametrize(("lag", "bound"), [(1.0, 0.2), (-1.0, -0.05)])
def test_the_look_up_stays_near_now_and_goes_there_in_small_steps(lag, bound):
    axis = MasterAxis()
    axis.choose(path(0.0)[1], 0.05, DT)
    sought = []

    def watched(s):
        sought.append(s)
        return path(s)

    times = 0.5 + DT * np.arange(100)
    for t in times:
        axis.look_up(watched, path(t - lag)[0][MASTER], MODEL, t, DT)
    first = FIRST_STEPS + 1
    assert len(sought) == first + 2 * (len(times) - 1)
    found = np.array(sought[first - 1 :: 2])
    assert times[-1] - found[-1] == pytest.approx(bound, abs=1e-12)
    assert np.abs(np.diff(found) - DT).max() <= 0.02 + 1e-12


@pytest.mark.parametrize("domain", ["position", "matched"])
def test_slaves_are_not_sent_back_to_before_a_turn_of_the_master(domain):
    """The reference turns back in a corner that the master hasn't reached: it passes the
    master's place twice.
    """

    def corner(t):
        speed = np.array([0.2, 1.0 if t > 1.0 else -1.0, 0.1])
        return speed * (t - 1.0), speed, np.zeros(3)

    law, gains = started(corner(0.7)[0]), gains_of(domain=domain, output="position")
    for k in range(350):
        t = 0.7 + k * DT
        q, v, _ = corner(t)
        late, slow, _ = corner(min(t - 0.02, 0.98))
        q[MASTER], v[MASTER] = late[MASTER], slow[MASTER]
        command = tick(law, t, q, v, gains, corner)
        if 0.85 < t < 0.99:
            assert command.values[0] < 0.2 * (t - 1.0)  # the slaves wait for the master
        if t > 1.0 + DT:  # what was held back may still fade out
            assert command.values[0] >= (
                0.0 if domain == "position" else -0.005 * np.exp(-(t - 1.0) / 0.05)
            )


@pytest.mark.long
def test_a_master_held_fast_gives_finite_torques_and_the_time_domain_once_the_reference_rests():
    def stopping(t):
        q, v, a = path(min(t, 1.0))
        return q, v * (t < 1.0), a * (t < 1.0)

    held_at, moves = path(0.3)[0][MASTER], np.array([1.0, 0.0, 1.0])
    for domain in ("position", "matched"):
        law, time = started(path(0.0)[0]), started(path(0.0)[0])
        for k in range(2500):
            t = k * DT
            q, v, _ = stopping(t)
            if t > 0.3:
                q, v = np.where(moves > 0.0, q, held_at), moves * v
            torque = tick(law, t, q, v, gains_of(domain=domain), stopping).values
            plain = tick(time, t, q, v, gains_of(domain="time"), stopping).values
            assert np.isfinite(torque).all()
            # 0.2 s late at most
            assert np.abs(torque - plain).max() < 0.25 * STIFFNESS.max() + DAMPING.max()
        assert torque == pytest.approx(plain, abs=1e-6)


# --- the choice of the master ---


def test_the_master_is_the_fastest_with_hysteresis():
    axis = MasterAxis()
    speeds = [
        (0.3, 0.4, 0.1),
        (0.45, 0.4, 0.1),
        (0.47, -0.4, 0.1),
        (-0.49, 0.4, 0.1),
        (0.42, 0.5, 0.1),
        (0.1, 0.0, 0.5),
    ]
    masters = []
    for v in speeds:
        axis.choose(np.array(v), 0.05, DT)
        masters.append(axis.index)
    assert masters == [1, 1, 1, 0, 0, 2]


def test_after_a_rest_the_fastest_becomes_the_master_without_hysteresis():
    axis = MasterAxis()
    assert not axis.choose(np.array([0.4, 0.3]), 0.05, DT)
    assert not axis.choose(np.array([0.4, 0.45]), 0.05, DT)
    assert not axis.choose(np.array([0.01, 0.04]), 0.05, DT)  # resting: nothing is chosen
    assert axis.index == 0
    assert axis.choose(np.array([0.06, 0.065]), 0.05, DT)
    assert axis.index == 1


@pytest.mark.parametrize("seed", range(5))
def test_one_change_per_monotone_change_of_the_speeds(seed):
    ripple = np.random.default_rng(seed).uniform(-0.04, 0.04, 3000)
    axis = MasterAxis()
    axis.choose(np.array([0.5, 0.2]), 0.05, DT)
    second = np.linspace(0.2, 1.0, 3000) * (1.0 + ripple)
    changes = [axis.choose(np.array([0.5, speed]), 0.05, DT) for speed in second]
    assert sum(changes) == 1
    assert second[int(np.argmax(changes))] > 1.2 * 0.5


def test_after_a_change_of_master_the_source_s_form_begins_anew_over_50_ms():
    def shifting(t):  # at 0.5 s joint 1 becomes much faster than joint 2
        fast, late = 2.0, max(t - 0.5, 0.0)
        q = np.array([0.3 * t + fast * late, 0.6 * t, 0.2 * t])
        return q, np.array([0.3 + fast * (t >= 0.5), 0.6, 0.2]), np.zeros(3)

    law = started(np.zeros(3))
    lag, gains = 0.01, gains_of()
    for k in range(600):
        t = k * DT
        q, v, _ = shifting(t - lag)
        command = tick(law, t, q, v, gains, shifting)
        if t >= 0.53 - 1e-9:
            share = min((t - 0.5) / 0.05, 1.0)
            q_d, v_d, _ = shifting(t)
            velocity = (1 - share) * v_d + share * v
            expected = STIFFNESS * (1 - share) * (q_d - q) + DAMPING * (velocity - v)
            assert command.values[2] == pytest.approx(expected[2], abs=1e-6)


# --- lag matching ---


@pytest.mark.parametrize("sign", [1.0, -1.0])
def test_matched_slaves_wait_for_a_master_that_is_later_and_not_for_one_that_is_earlier(sign):
    def steady(t):
        return sign * SPEED * t, sign * SPEED, np.zeros(3)

    lag = np.array([0.005, 0.03, 0.06])  # joint 1 earlier than the master, joint 3 later
    _, t, q, v, command = followed(lag, gains_of(domain="matched"), 3.0, steady)
    late = np.array([lag[MASTER], 0.0, 0.0])  # of the references, in the end
    expected = STIFFNESS * (steady(t)[0] - late * sign * SPEED - q) + DAMPING * (sign * SPEED - v)
    assert command.values == pytest.approx(expected, abs=2e-2)


def test_where_nothing_lags_matched_is_the_position_domain():
    torques = [
        followed(np.zeros(3), gains_of(domain=domain))[4].values
        for domain in ("matched", "position", "time")
    ]
    assert torques[0] == pytest.approx(torques[1], abs=1e-6)
    assert torques[0] == pytest.approx(torques[2], abs=1e-6)


@pytest.mark.few(1)
@pytest.mark.parametrize(
    ("first", "second"), [("matched", "time"), ("time", "position"), ("position", "time")]
)
def test_a_change_of_domain_does_not_step_the_torque(first, second):
    law, t, q, v, command = followed(np.array([0.0, 0.03, 0.01]), gains_of(domain=first))
    after = tick(law, t + DT, q + DT * v, v, gains_of(domain=second)).values
    settled = followed(np.array([0.0, 0.03, 0.01]), gains_of(domain=second), t + DT)[4].values
    assert np.abs(settled - command.values).max() > 0.5
    assert np.abs(after - command.values).max() < 0.05 * np.abs(settled - command.values).max()


# --- what is commanded ---


def test_the_limiter_clamps_and_says_what_it_took_away(rng):
    limit = np.array([20.0, 5.0, 300.0])  # the description's limit is 200 N·m
    q, v = path(0.0)[0] + np.array([1.0, -1.0, -4.0]), rng.uniform(-1.0, 1.0, 3)
    law = started(q)
    command = tick(law, 0.0, q, v, gains_of(torque_limit=limit))
    free = sum(term for name, term in law.terms.items() if name != "limit")
    assert command.values == pytest.approx(
        np.clip(free, -np.minimum(limit, 200.0), np.minimum(limit, 200.0)), abs=1e-12
    )
    assert np.abs(command.values) == pytest.approx([20.0, 5.0, 200.0])
    assert sum(law.terms.values()) == pytest.approx(command.values, abs=1e-12)


def test_as_positions_the_looked_up_references_leave_with_a_torque_offset():
    lag = np.array([0.004, 0.025, -0.01])
    limit = np.array([1000.0, 0.5, 1000.0])
    gains = {"feedforward": 0.6, "gravity": True, "torque_limit": limit}
    _, t, q, v, command = followed(lag, gains_of(output="position", **gains))
    _, _, _, _, effort = followed(lag, gains_of())
    assert command.mode is CommandMode.POSITION
    sprung = STIFFNESS * (command.values - q) + DAMPING * (command.velocity - v)
    assert sprung == pytest.approx(effort.values, abs=1e-9)
    q_d, v_d, a_d = path(t)
    motion = MODEL.mass(q_d) @ a_d + MODEL.bias(q_d, v_d) - MODEL.bias(q_d, np.zeros(3))
    motion += MODEL.viscous_friction * v_d + MODEL.dry_friction * np.tanh(v_d / 0.01)
    offset = 0.6 * motion + MODEL.bias(q, np.zeros(3))
    assert command.feedforward == pytest.approx(np.clip(offset, -limit, limit), abs=1e-9)


def test_cyclic_joints_go_the_short_way_round():
    arm = random_arm(3, 3, continuous=(0, 1))
    model = arm.model(rotor_inertia=(0.1, 0.1, 0.1))
    turns = 2.0 * np.pi * np.array([1.0, -2.0, 0.0])
    for domain in ("position", "matched", "time"):
        plain, turned = (
            started(path(0.0)[0], model=model),
            started(path(0.0)[0] + turns, model=model),
        )
        for k in range(300):
            q, v, _ = path(k * DT - 0.02)
            a = tick(plain, k * DT, q, v, gains_of(domain=domain), model=model).values
            b = tick(turned, k * DT, q + turns, v, gains_of(domain=domain), model=model).values
            assert b == pytest.approx(a, abs=1e-9)


@pytest.mark.parametrize("domain", ["position", "matched"])
def test_the_order_of_the_joints_does_not_matter(domain):
    order = [2, 0, 1]
    other = ARM.model(joints=[ARM.joints[i] for i in order], rotor_inertia=(0.1, 0.1, 0.1))
    full = {"feedforward": 1.0, "gravity": True, "damping_ratio": 0.3, "domain": domain}
    swapped = gains_of(**full, stiffness=STIFFNESS[order], damping=DAMPING[order])

    def reordered(t):
        return tuple(values[order] for values in path(t))

    law, mixed = started(path(0.0)[0]), started(path(0.0)[0][order], model=other)
    for k in range(400):
        t = k * DT
        q, v, _ = path(t - 0.02)
        q = q + np.array([0.0, 0.0, 0.01])
        torque = tick(law, t, q, v, gains_of(**full)).values
        again = tick(mixed, t, q[order], v[order], swapped, reordered, other).values
        assert again == pytest.approx(torque[order], abs=1e-9)


# --- on robots ---


@pytest.mark.few(1)
@pytest.mark.parametrize("rate", [500.0, pytest.param(1000.0, marks=pytest.mark.long)])
@pytest.mark.parametrize(
    "robot", [pytest.param("ur5", marks=pytest.mark.long), "gen3", "planar_two_link"]
)
def test_the_defaults_are_stable_on_every_robot(robot, rate):
    config = load_robot(robot)
    model = RobotModel.of(config)
    home = np.array(config.home)
    goal = home + 0.4 * np.where(np.arange(config.n) % 2, -1.0, 0.7)
    move = JointMove(model, home, goal, 0.0, np.full(config.n, 0.8))
    push = Push(force=(20.0, 5.0, 0.0), start=0.4, duration=0.1)
    log = simulate(config, "position_domain_pd", None, move, move.end + 2.0, push, rate=rate)
    assert np.abs(log.q[-1] - goal).max() < 1e-3
    assert np.abs(log.v[-100:]).max() < 1e-3
    assert np.abs(log.v).max() < 2.5
    quiet = (log.t > 0.05) & ((log.t < 0.4) | (log.t > 0.55))
    # N·m from one sample to the next
    assert np.abs(np.diff(log.effort, axis=0))[quiet[1:]].max() < 3.0


def test_in_position_output_the_robot_follows_too():
    config = load_robot("ur5")
    model = RobotModel.of(config)
    home = np.array(config.home)
    goal = home + np.array([0.3, 0.2, -0.4, 0.2, -0.2, 0.5])
    move = JointMove(model, home, goal, 0.0, np.full(6, 0.8))
    gains = {"output": "position", "gravity": False}
    log = simulate(config, "position_domain_pd", gains, move, move.end + 0.5, rate=500.0)
    assert np.abs(log.q[-1] - goal).max() < 1e-4


@pytest.mark.few(1)
@pytest.mark.parametrize("of_joints", [True, False])
def test_in_the_loop_slaves_wait_for_a_master_that_lags(of_joints):
    """Along a path of the joints, which knows the future, and along one of the tip, which
    the loop remembers.
    """
    config = load_robot("ur5")
    model = RobotModel.of(config)
    home = np.array(config.home)
    # joint 1 leads, and is soft
    stiffness = np.array([40.0, 2000.0, 2000.0, 2000.0, 2000.0, 2000.0])
    goal = home + np.array([0.6, 0.2, -0.3, 0.2, -0.2, 0.3])
    angles = {}
    for domain in ("position", "time"):
        gains = {"domain": domain, "stiffness": stiffness, "feedforward": 0.0}
        move = Circle(model.at(home).pose, 0.15, 3.0)
        if of_joints:
            move = JointMove(model, home, goal, 0.0, np.full(6, 0.6))
        angles[domain] = simulate(config, "position_domain_pd", gains, move, 1.0, rate=500.0).q
    apart = np.abs(angles["position"] - angles["time"])
    assert apart[:, 1:].max() > 5e-4
