"""A leader and a follower arm: the coupling's forces, its bound, and the energy through
a line that is late.
"""

from collections import deque

import numpy as np
import pytest
from scipy.spatial.transform import Rotation

pytest.importorskip("rclpy", reason="needs ROS 2 (rclpy)")

from evidence.contact.leading_trials import LeadingTrial, losses, rise, rows
from evidence.contact.trial_arm import trial_robot
from robot_control_ros.laws.spring.bounded_spring import BoundedSpring
from robot_control_ros.nodes.teleop.coupling import ArmCoupling, leader_damping

STIFFNESS = np.diag((500.0,) * 3 + (50.0,) * 3)
STEP = 5e-4  # s, of the masses


def random_pose(rng, size=1.0):
    pose = np.eye(4)
    pose[:3, :3] = Rotation.from_rotvec(size * rng.normal(size=3)).as_matrix()
    pose[:3, 3] = size * rng.normal(size=3)
    return pose


def made(axes=None, scale=1.0, force_scale=0.4, bounds=(0.0, 0.0)):
    return ArmCoupling(
        np.eye(3) if axes is None else axes, scale, force_scale, BoundedSpring(STIFFNESS, *bounds)
    )


def test_engaging_moves_no_reference_and_pulls_at_nobody(rng):
    coupling, leader, follower, reference = made(), *(random_pose(rng) for _ in range(3))
    assert not coupling.engaged
    for _ in range(2):  # the second time elsewhere
        coupling.engage(leader, follower, reference)
        assert np.allclose(coupling.target(leader), reference, atol=1e-12)
        assert np.allclose(coupling.wrench(leader, follower), 0.0, atol=1e-9)
        leader, reference = random_pose(rng), random_pose(rng)
    coupling.release()
    assert not coupling.engaged


def test_the_leader_feels_the_followers_spring_in_its_own_axes(rng):
    axes = Rotation.from_rotvec((0.3, -0.5, 1.2)).as_matrix()
    coupling, leader, follower = (
        made(axes, scale=2.0, force_scale=0.4),
        random_pose(rng),
        random_pose(rng),
    )
    coupling.engage(leader, follower, follower)
    moved = leader.copy()
    moved[:3, 3] += (0.01, 0.0, -0.02)
    expected = -0.4 * 500.0 * 2.0 * np.array((0.01, 0.0, -0.02))
    assert np.allclose(coupling.wrench(moved, follower), [*expected, 0.0, 0.0, 0.0], atol=1e-9)
    turned = leader.copy()
    turned[:3, :3] = Rotation.from_rotvec((0.0, 0.1, 0.0)).as_matrix() @ leader[:3, :3]
    assert np.allclose(
        coupling.wrench(turned, follower), [0.0] * 4 + [-0.4 / 2.0 * 50.0 * 0.1, 0.0], atol=1e-9
    )


def test_the_power_of_leader_and_follower_is_that_of_one_spring(rng):
    """Turned, scaled and beyond its bound: s/c of the leader's power, and the follower's, are
    what the spring loses.
    """
    spring = BoundedSpring(STIFFNESS, 20.0, 2.0)
    axes, scale, force_scale = Rotation.random(random_state=5).as_matrix(), 1.7, 0.3
    coupling, leader, follower = (
        ArmCoupling(axes, scale, force_scale, spring),
        random_pose(rng),
        random_pose(rng),
    )
    coupling.engage(leader, follower, follower)
    for _ in range(20):
        place, there = random_pose(rng, 0.05), random_pose(rng, 0.05)
        place[:3, 3] += leader[:3, 3]
        place[:3, :3] = place[:3, :3] @ leader[:3, :3]
        there[:3, 3] += follower[:3, 3]
        there[:3, :3] = there[:3, :3] @ follower[:3, :3]
        twist = rng.normal(size=6)

        def energy(side, place=place, there=there, twist=twist):
            moved = place.copy()
            moved[:3, 3] += side * twist[:3]
            moved[:3, :3] = Rotation.from_rotvec(side * twist[3:]).as_matrix() @ place[:3, :3]
            target = coupling.target(moved)
            turn = Rotation.from_matrix(target[:3, :3] @ there[:3, :3].T).as_rotvec()
            return spring.energy(np.concatenate((target[:3, 3] - there[:3, 3], turn)))

        rate = (energy(1e-6) - energy(-1e-6)) / 2e-6
        assert scale / force_scale * coupling.wrench(place, there) @ twist == pytest.approx(
            -rate, rel=1e-5, abs=1e-6
        )


def energy_made(rng, damping, *, lasting=4.0, damping_time=0.1, bounded=np.inf):
    """The most that two masses have over what hand and environment gave: random forces, a
    line of random delays.
    """
    stiffness, c, (light, heavy) = 500.0, 0.4, (3.0, 8.0)

    def pull(way):
        return min(max(stiffness * way, -bounded), bounded)

    def stored(way):
        sprung = min(abs(way), bounded / stiffness)
        return stiffness * sprung * (abs(way) - sprung / 2.0)

    # leader, follower, their velocities, the follower's reference
    x, y, v, w, goal, rate = (0.0,) * 6
    to_follower, to_leader, led, felt, own = deque(), deque(), 0.0, 0.0, 0.0
    work, worst = 0.0, 0.0
    pushes = (rng.normal(size=(round(lasting / 0.1) + 1, 2)) * (15.0, 60.0)).tolist()
    for step in range(round(lasting / STEP)):
        if step % round(0.02 / STEP) == 0:  # telemetry at 50 Hz
            own = x
            to_follower.append((step + rng.uniform(0.02, 0.05) / STEP, x))
            to_leader.append((step + rng.uniform(0.02, 0.05) / STEP, y))
        while to_follower and to_follower[0][0] <= step:
            led = to_follower.popleft()[1]
        while to_leader and to_leader[0][0] <= step:
            felt = to_leader.popleft()[1]
        rate += STEP * 32.0 * (8.0 * (led - goal) - rate)  # as an online trajectory near its target
        goal += STEP * rate
        hand, environment = pushes[int(step * STEP / 0.1)]
        before = v, w
        v += STEP * (hand - c * pull(own - felt) - damping * v) / light
        w += STEP * (environment + pull(goal - y) + damping_time * stiffness * (rate - w)) / heavy
        x, y = x + STEP * v, y + STEP * w
        work += STEP * (hand / c * (v + before[0]) + environment * (w + before[1])) / 2.0
        worst = max(worst, light / c * v * v / 2.0 + heavy * w * w / 2.0 + stored(x - y) - work)
    return worst


@pytest.mark.parametrize("bounded", [np.inf, 10.0])
@pytest.mark.parametrize("damping_time", [0.05, 0.3])
def test_with_the_damping_it_asks_for_the_coupling_makes_no_energy_whatever_the_delays(
    rng, bounded, damping_time
):
    damping = leader_damping(0.4 * 500.0, 2.0 * (0.05 + 0.02) + 0.125, 0.02, damping_time)
    for _ in range(3):
        assert energy_made(rng, damping, damping_time=damping_time, bounded=bounded) <= 1e-3


def test_with_a_thirtieth_of_that_damping_it_does_make_energy(rng):
    assert energy_made(rng, leader_damping(0.4 * 500.0, 0.265, 0.02, 0.1) / 30.0) > 0.1


def test_the_bound_is_that_of_a_quadratic_form(rng):
    """At the bound -B/c a² - D b² + (D + K T) a b + K T_0 a² has its largest
    value 0 over all a, b.
    """
    for stiffness, scale, delay, age, ratio in rng.uniform(
        (100, 0.1, 0.01, 0, 0.02), (1000, 2, 0.5, 0.1, 0.5), (50, 5)
    ):
        damper = ratio * stiffness
        bound = leader_damping(scale * stiffness, delay, age, ratio)
        mixed = damper + stiffness * delay
        form = np.array([[-bound / scale + stiffness * age, mixed / 2.0], [mixed / 2.0, -damper]])
        assert np.linalg.eigvalsh(form)[-1] == pytest.approx(0.0, abs=1e-9 * stiffness)


@pytest.mark.sim
def test_a_hand_leads_the_follower_against_a_wall_and_the_contact_is_calm():
    found = LeadingTrial(trial_robot("ur5")).run(4.5)
    late = found.time > 3.5
    assert found.made.max() <= 1e-3
    assert losses(found.contact) == 0
    assert found.contact[late].min() > 20.0
    assert found.hand[-1] == pytest.approx(0.4 * found.contact[-1], rel=0.01)


@pytest.mark.sim
@pytest.mark.long
@pytest.mark.parametrize("robot", ["ur5", "gen3"])
def test_for_a_minute_the_energy_does_not_grow_and_no_contact_is_lost(robot):
    for row in rows(robot):
        assert row.holds, row


@pytest.mark.sim
@pytest.mark.long
def test_without_the_damping_the_contact_does_oscillate():
    """What the trial would show: so its bounds are no matter of course."""
    found = LeadingTrial(trial_robot("ur5"), damping=0.03).run(12.0)
    late = found.time > 4.0
    assert found.made.max() > 0.1
    assert rise(found.energy[late]) > 0.1
    assert np.ptp(found.contact[late]) > 1.0
