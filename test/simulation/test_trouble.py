"""A simulation never hides trouble: faults, joints beyond their limits, commands
that stay at a limit.
"""

import math
from dataclasses import dataclass

import numpy as np
import pytest
from refusals import refuses

from robot_control_ros.cli.main import main
from robot_control_ros.control.controller import zero_wrench
from robot_control_ros.control.loop import ControlLoop
from robot_control_ros.core.types import Command, CommandMode, RobotState, Wrench
from robot_control_ros.robot.configuration import load_robot
from robot_control_ros.robot.model import JointLimits
from robot_control_ros.simulation.in_process import Push, simulate
from robot_control_ros.simulation.trouble import TroubleWarning, find_trouble

UR5 = load_robot("ur5")
JOINTS = ("elbow", "wrist")
LIMITS = JointLimits(
    np.full(2, 10.0), np.array([2.0, 3.0]), np.array([-1.0, -math.inf]), np.array([1.0, math.inf])
)
TOO_DAMPED = {"damping": [1500.0] * 6}  # at 250 Hz


class BreaksDown:
    """Holds the arm, and gives NaN from its 500th call on."""

    @dataclass(frozen=True, eq=False)
    class Gains:
        pass

    mode = CommandMode.EFFORT

    def __init__(self):
        self.terms, self.calls = {}, 0

    def reset(self, state, kin):
        pass

    def compute(self, state, kin, reference, gains, dt):
        self.calls += 1
        return Command(
            self.mode, kin.gravity if self.calls < 500 else np.full(len(state.q), math.nan)
        )


BREAKS_DOWN = f"{__name__}:{BreaksDown.__name__}"


def found(count=20, **columns):
    """The trouble in `count` samples of 0.1 s at rest, but for some columns."""
    still = {name: np.zeros((count, 2)) for name in ("q", "v")}
    given = (
        still
        | {"saturated": np.zeros((count, 2), bool), "fault": [""] * count, "limits": LIMITS}
        | columns
    )
    return find_trouble(JOINTS, 0.1 * np.arange(count), **given)


def columns(count=20, at=slice(None), joint=0, value=1.0):
    values = np.zeros((count, 2))
    values[at, joint] = value
    return values


def test_where_nothing_went_wrong_nothing_is_found():
    assert found() == ()
    assert found(q=columns(joint=1, value=1e3)) == ()  # it turns without end
    assert found(saturated=columns(at=slice(0, 15)) > 0.0) == ()  # as in a fast move


def test_the_first_fault_is_found_with_its_time():
    (trouble,) = found(fault=[""] * 5 + ["first"] * 3 + ["second"] * 12)
    assert (trouble.kind, trouble.joint) == ("fault", "")
    assert trouble.time == pytest.approx(0.5)
    assert "first" in trouble.message


@pytest.mark.parametrize(
    ("kind", "column", "joint", "value", "bound"),
    [
        ("position", "q", 0, -1.02, -1.0),
        ("velocity", "v", 0, 2.2, 2.0),
        ("velocity", "v", 1, -50.0, -3.0),
    ],
)
def test_a_joint_beyond_a_limit_is_found_with_value_and_bound(kind, column, joint, value, bound):
    (trouble,) = found(**{column: columns(at=7, joint=joint, value=value)})
    assert (trouble.kind, trouble.joint, trouble.value, trouble.bound) == (
        kind,
        JOINTS[joint],
        value,
        bound,
    )
    assert trouble.time == pytest.approx(0.7)


def test_a_command_that_stays_at_its_limit_is_found():
    (trouble,) = found(saturated=columns(joint=1) > 0.0)
    assert (trouble.kind, trouble.joint, trouble.value) == ("saturated", "wrist", 1.0)


def test_what_went_wrong_first_comes_first():
    kinds = [
        each.kind for each in found(q=columns(at=9, value=2.0), fault=[""] * 12 + ["late"] * 8)
    ]
    assert kinds == ["position", "fault"]


# --- in a simulation ---


@pytest.mark.sim
def test_a_law_that_gives_nan_is_in_the_log_sample_by_sample():
    pytest.importorskip("mujoco")
    with pytest.warns(TroubleWarning, match="the law gave values"):
        log = simulate(UR5, BREAKS_DOWN, duration=0.6)
    (trouble,) = log.trouble
    assert trouble.kind == "fault"
    assert [bool(reason) for reason in log.fault] == [k >= 499 for k in range(600)]
    assert trouble.time == log.t[499]


@pytest.mark.sim
def test_an_arm_that_is_thrown_about_is_in_the_log():
    pytest.importorskip("mujoco")
    with pytest.warns(TroubleWarning, match="velocity limit"):
        log = simulate(
            UR5, "gravity_compensation", push=Push(force=(500.0, 0.0, 0.0)), duration=1.0
        )
    assert "velocity" in {each.kind for each in log.trouble}
    assert log.soft_limited.any()


@pytest.mark.sim
def test_an_arm_that_shakes_is_in_the_log_and_keeps_its_velocity_limits():
    pytest.importorskip("mujoco")
    push = Push(force=(20.0, 0.0, 0.0))
    with pytest.warns(TroubleWarning, match="at a limit"):
        log = simulate(
            UR5,
            "impedance",
            TOO_DAMPED,
            rate=250.0,
            push=push,
            duration=1.5,
            ringing_reaction="warn",
        )
    assert {each.kind for each in log.trouble} == {"saturated"}
    assert log.saturated.any()
    assert log.rate_limited.any()
    assert log.saturated.shape == log.rate_limited.shape == log.q.shape


@pytest.mark.sim
def test_a_quiet_simulation_has_no_trouble(recwarn):
    pytest.importorskip("mujoco")
    log = simulate(UR5, "impedance", push=Push(force=(20.0, 0.0, 0.0)), duration=0.3)
    assert log.trouble == ()
    assert not [each for each in recwarn if issubclass(each.category, TroubleWarning)]


@pytest.mark.sim
def test_a_start_beyond_the_joint_limits_is_refused():
    pytest.importorskip("mujoco")
    q0 = np.array(UR5.home)
    q0[2] = 4.0
    with refuses("elbow_joint", 4.0, (-math.pi, math.pi)):
        simulate(UR5, q0=q0, duration=0.01)


@pytest.mark.few(1)
@pytest.mark.sim
@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (["--law", BREAKS_DOWN], "the law gave values"),
        (["--rate", "250", "--set", "damping=1500", "--push", "20", "0", "0"], "rings at"),
        (["--law", "gravity_compensation", "--push", "500", "0", "0"], "left its velocity limit"),
    ],
)
def test_the_command_says_what_went_wrong_and_fails(capsys, arguments, sentence):
    pytest.importorskip("mujoco")
    assert main(["simulate", "--seconds", "2", *arguments]) == 1
    printed = capsys.readouterr()
    assert sentence in printed.err
    assert "position error" in printed.out


# --- zero_wrench ---


@pytest.mark.parametrize(("speed", "warned"), [(0.005, False), (0.2, True)])
def test_a_wrench_that_is_zeroed_while_the_arm_moves_is_warned_of(speed, warned):
    loop = ControlLoop(UR5, "impedance")
    wrench = Wrench(np.array([1.0, 2.0, 3.0]), np.zeros(3), "tool0")
    loop.tick(RobotState(0.0, np.array(UR5.home), np.full(6, speed), np.zeros(6), wrench))
    message = zero_wrench(loop)
    assert ("the arm moves" in message) is warned
    assert np.linalg.norm(loop.wrench.tare[:3]) == pytest.approx(math.sqrt(14.0))
