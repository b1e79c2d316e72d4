"""The bound of a virtual body in contact: its limits, the formula of wall_contact, and arms
at a simulated wall.
"""

import math
from dataclasses import replace

import numpy as np
import pytest
from arms import random_arm

from robot_control_ros.core.types import Reference, SensedState
from robot_control_ros.laws.running_law import RunningLaw
from robot_control_ros.stability.contact_bound import SERVO, SampledContact, contact_bound
from robot_control_ros.stability.wall_contact import WALL, least_damping

STEP = 5e-4  # s of the simulation
ARMS = 20
REGULAR = 0.04  # m, smallest singular value: the law follows the body exactly


def is_stable(contact, mass, damping, stiffness=0.0):
    return contact.growth(mass, damping, stiffness) <= 1.0 + 1e-6


def running_of(arm, rate, delay, gains):
    config = arm.config()
    return RunningLaw(
        replace(config, profile=replace(config.profile, rate=rate, delay=delay)),
        "admittance",
        gains,
    )


def test_a_free_body_without_load_is_stable_however_light(rng):
    for delay in (0.0, 0.003, 0.0101):
        assert is_stable(SampledContact(3.0, 0.0, 0.0, 0.002, delay), 1e-3, 1.0, 500.0)


def test_a_free_body_must_be_heavy_beside_what_the_sensor_carries():
    contact = SampledContact(3.0, 0.0, 2.0, 0.002, 0.004)
    assert is_stable(contact, 20.0, 200.0, 500.0)
    assert not is_stable(contact, 0.5, 30.0, 500.0)


def test_the_least_damping_is_about_the_wall_times_the_delay(rng):
    """A body's position is that of one period later, so between delay - T and delay; the
    formula has a margin.
    """
    for _ in range(20):
        period, inertia, mass = (
            rng.choice([0.001, 0.002]),
            rng.uniform(3.0, 6.0),
            rng.uniform(10.0, 16.0),
        )
        delay = rng.choice([2.0, 3.0, 4.0]) * period + 0.002
        contact = SampledContact(inertia, WALL, 0.0, period, delay)
        assert is_stable(contact, mass, 1.2 * float(least_damping(mass, delay + period / 2.0)))
        assert is_stable(contact, mass, WALL * delay)
        assert not is_stable(contact, mass, 0.8 * WALL * (delay - period))


def test_a_law_without_a_virtual_body_has_no_bound():
    arm = random_arm(1, 6)
    assert contact_bound(RunningLaw(arm.config(), "impedance"), arm.model().at(np.zeros(6))) is None


# --- the simulation ---


def loses(running, model, q, delay, axis):
    """Whether a spring that holds the tip at its place is shaken, more and more, by the law and
    ideal joint servos.
    """
    every, law, gains = round(running.robot.period / STEP), running.law, running.gains.target
    late, start, v = round(delay / STEP), model.at(q), np.zeros(len(q))
    law.reset(SensedState(0.0, q, v, v, None, wrench_on_tip=np.zeros(6)), start)
    reference, place = Reference(pose=start.pose, q=q), start.pose[axis, 3]
    due, acting, sizes, wanted, speed = [], None, [], q, v
    v = 1e-3 * np.sin(1.0 + np.arange(len(q)))
    for k in range(round(1.5 / STEP)):
        kin = model.update(q, v)
        force = np.zeros(6)
        force[axis] = -WALL * (kin.pose[axis, 3] - place)
        if k % every == 0:
            state = SensedState(k * STEP, q, v, v, None, wrench_on_tip=force)
            due.append((k + late, law.compute(state, kin, reference, gains, running.robot.period)))
            sizes.append(abs(float(force[axis])))
            if sizes[-1] > 1e3:
                return True
        while due and due[0][0] <= k:
            acting = due.pop(0)[1]
            wanted, speed = acting.values, acting.velocity
        rise = np.linalg.solve(kin.mass, kin.jacobian.T @ force)
        small = STEP / 5.0
        for _ in range(5):
            v = v + small * (SERVO**2 * (wanted - q) + 2.0 * SERVO * (speed - v) + rise)
            q = q + small * v
    quarter = len(sizes) // 4
    first, second, last = (max(sizes[at:][:quarter]) for at in (0, quarter, len(sizes) - quarter))
    return last > max(second, 0.02 * first)


@pytest.mark.long
def test_heavier_bodies_stay_at_a_wall_and_lighter_ones_are_shaken_off():
    """The mass, with its own damping by ratio; random arms, each along one axis.

    Near singular postures the joints don't follow the body: the bound says nothing there.
    """
    shaken = 0
    for seed in range(ARMS):
        rng, axis, delay = (
            np.random.default_rng(seed),
            seed % 3,
            (0.002, 0.004, 0.006)[seed // 3 % 3],
        )
        gains = {"mass": 10.0, "selected_axes": np.eye(6)[axis], "damping_ratio": 1.5}
        arm = random_arm(seed, 6)
        model = arm.model(rotor_inertia=np.random.default_rng(seed).uniform(0.05, 0.5, 6))
        while np.linalg.svd(model.at(q := rng.uniform(-1.5, 1.5, 6)).jacobian)[1][-1] < REGULAR:
            pass
        least = contact_bound(running_of(arm, 500.0, delay, gains), model.at(q)).mass[axis]

        assert math.isfinite(least)
        near, light = (
            loses(
                running_of(arm, 500.0, delay, gains | {"mass": factor * least}),
                model,
                q,
                delay,
                axis,
            )
            for factor in (1.25, 1.0 / 1.5)
        )
        assert not near, seed
        shaken += light
    assert shaken >= 18
