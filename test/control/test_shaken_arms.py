"""Arms that something shakes don't ring, and keep their gains; those that their controller
shakes come to rest.
"""

import numpy as np
import pytest
from shaken_arms import (
    BEGIN,
    Trial,
    both,
    comes_down,
    noisy_stream,
    rotating,
    shaking,
    swings,
    wall,
)

from evidence.contact import ringing_trials
from evidence.contact.ringing_trials import PULL, push_at
from robot_control_ros.robot.configuration import load_robot

pytestmark = pytest.mark.sim

TORQUES = (
    "impedance",
    "task_space_pd",
    "joint_impedance",
    "joint_pid_effort",
    "gravity_compensation",
    "force_control",
)
FOLLOWERS = ("impedance", "task_space_pd", "joint_impedance", "admittance")
PRESSED = {"force": [0.0, 0.0, -10.0, 0.0, 0.0, 0.0], "force_axes": [0.0, 0.0, 1.0, 0.0, 0.0, 0.0]}
SHORT = 2.5  # s
LONG = 60.0


def vibrations():
    for law in (*TORQUES, "admittance", "position_domain_pd"):
        yield f"{law}, sander 12 Hz", Trial(law, load=rotating(20.0, 12.0))
        yield f"{law}, sander 25 Hz", Trial(law, load=rotating(20.0, 25.0))
        yield f"{law}, hand 5.5 Hz", Trial(law, load=shaking(30.0, 5.5))
        yield f"{law}, hand 2 Hz", Trial(law, load=shaking(20.0, 2.0))
    for law in TORQUES:
        yield f"{law}, sander 60 Hz", Trial(law, load=rotating(30.0, 60.0))
        yield f"{law}, gen3, sander 8 Hz", Trial(law, robot="gen3", load=rotating(20.0, 8.0))
        if law != "task_space_pd":  # it isn't stable at 8 ms
            yield (
                f"{law}, 8 ms late, sander 25 Hz",
                Trial(law, delay=0.008, load=rotating(20.0, 25.0)),
            )


def noises():
    for law in TORQUES:
        yield f"{law}, ur5", Trial(law, robot="ur5", noise=0.02)
        yield f"{law}, ur5e", Trial(law, noise=0.01)
        yield f"{law} and a sander", Trial(law, noise=0.02, load=rotating(20.0, 12.0))


def targets():
    for law in FOLLOWERS:
        yield f"{law}, 3 mm at 10 Hz", Trial(law, begin=swings(0.003, 10.0))
        yield (
            f"{law}, 3 mm at 10 Hz without a twist",
            Trial(law, begin=swings(0.003, 10.0, twist=False)),
        )
        yield f"{law}, peg search", Trial(law, begin=swings(0.002, 6.0, circle=True))
        yield f"{law}, 20 mm at 1.5 Hz", Trial(law, begin=swings(0.02, 1.5))
        yield f"{law}, 10 mm of noise at 30 Hz", Trial(law, meanwhile=noisy_stream(0.01, 30.0))


def contacts():
    yield (
        "impedance, 1e6 N/m",
        Trial("impedance", load=wall(1e6, 0.02), begin=comes_down(0.04), step=0.0005),
    )
    yield "impedance, 1e5 N/m", Trial("impedance", load=wall(1e5, 0.02), begin=comes_down(0.04))
    yield "admittance, 1e4 N/m", Trial("admittance", load=wall(1e4, 0.02), begin=comes_down(0.04))
    yield "force_control, 1e4 N/m", Trial("force_control", PRESSED, load=wall(1e4, 0.01))
    for output in ("effort", "position"):
        gains = PRESSED | {"output": output}
        load = both(
            wall(1e4, 0.002, damping=20.0), shaking(10.0, 8.0, np.array([0.0, 0.0, 1.0]), begin=1.0)
        )
        yield (
            f"force_control by {output}, a tool that vibrates",
            Trial("force_control", gains, load=load),
        )


PASSIVE = {
    **dict(vibrations()),
    **{f"noise, {name}": each for name, each in noises()},
    **dict(targets()),
}
PASSIVE |= dict(contacts())


def check_untouched(got):
    assert got.alarm == np.inf
    assert got.scale == 1.0
    assert got.fault == ""


@pytest.mark.few(11)
@pytest.mark.parametrize("name", PASSIVE)
def test_what_others_shake_keeps_its_gains(name):
    check_untouched(PASSIVE[name].run(SHORT))


@pytest.mark.long
@pytest.mark.parametrize("name", PASSIVE)
def test_what_others_shake_for_a_minute_keeps_its_gains(name):
    check_untouched(PASSIVE[name].run(LONG))


@pytest.mark.few(2)
@pytest.mark.parametrize("robot", ringing_trials.CONTACTS)
@pytest.mark.parametrize("share", [0.5, 0.9])
def test_an_admittance_that_bounces_and_settles_is_left_alone(robot, share):
    trial = ringing_trials.pressed(robot, ringing_trials.CONTACTS[robot], share)
    got = ringing_trials.rung(trial, 0.0, PULL + 1.0, ringing_trials.PRESS)
    assert got.alarm == np.inf
    assert got.fault == ""


def pushed_around(time, kin):
    return np.array([15.0 * np.sin(2.0 * time), 15.0 * np.cos(2.5 * time), 0.0, 0.0, 0.0, 0.0])


def moved_to_and_fro(loop, cycle):
    if cycle % 200 == 0:
        pose = np.array(loop.model.at(np.array(loop.robot.home)).pose)
        pose[1, 3] += 0.05 if cycle // 200 % 2 else -0.05
        loop.motion.move_to(pose)


@pytest.mark.parametrize("robot", ["ur5", "gen3"])
@pytest.mark.parametrize("law", ["position_domain_pd", "joint_pid_effort", "joint_impedance"])
def test_a_push_that_holds_joints_back_from_a_moving_reference_is_no_ringing(robot, law):
    # under the first law the other joints wait for the leading one, and go on as the push lets go
    trial = Trial(law, robot=load_robot(robot), load=pushed_around, meanwhile=moved_to_and_fro)
    check_untouched(trial.run(SHORT))


# --- what the controller feeds ---

UR5E = load_robot("ur5e").at_rate(500.0)
LATE = [(delay, stiffness) for delay in (0.05, 0.065, 0.08) for stiffness in (500.0, 2000.0)]


@pytest.mark.few(2)
@pytest.mark.parametrize(("delay", "stiffness"), LATE)
def test_slow_instabilities_of_late_commands_are_found_within_two_periods_and_come_to_rest(
    delay, stiffness
):
    gains = {"stiffness": [stiffness] * 3 + [50.0] * 3}
    got = Trial("impedance", gains, robot=UR5E, delay=delay, load=push_at(BEGIN)).run(3.0)
    assert got.alarm - BEGIN <= max(0.5, 9.0 * delay)  # their period is some 4.5 times the delay
    calm = got.time >= got.alarm + 1.0
    assert got.speed[calm].max() <= 0.15 * got.speed.max()


def test_what_they_have_shown_lasts_until_a_reset():
    trial = Trial("impedance", robot=UR5E, delay=0.05, load=push_at(BEGIN))
    loop = trial.loop()
    trial.drive(loop, 1.0)
    assert loop.ringing.lateness == pytest.approx(0.05, abs=0.02)
    loop.ringing.reset()
    assert loop.ringing.lateness == 0.0


CELLS = [(name, *cell) for name, cells in ringing_trials.CELLS.items() for cell in cells]
FACTORS = [pytest.param(2.0, id="2"), pytest.param(4.0, marks=pytest.mark.long, id="4")]


@pytest.mark.few(2)
@pytest.mark.parametrize("factor", FACTORS)
@pytest.mark.parametrize(
    ("name", "kind", "delay"), [each for each in CELLS if each[1] == ringing_trials.ROTATION]
)
def test_arms_far_beyond_their_largest_stable_stiffness_are_found_within_half_a_second(
    name, kind, delay, factor
):
    got = ringing_trials.pushed(name, kind, delay, factor)
    assert got.alarm <= 0.45
    assert got.last <= 0.15
