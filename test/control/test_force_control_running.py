"""Force control in the loop: switched to and from, led by a target wrench, without a
surface, without a sensor.
"""

from itertools import product

import numpy as np
import pytest

pytest.importorskip("mujoco")
from evidence.contact.force_trials import GAINS, GAP, PressedSurface, SurfaceArm
from evidence.contact.trial_arm import cycles, trial_robot
from robot_control_ros.control.loop import ControlLoop
from robot_control_ros.core.types import RobotState, Wrench
from robot_control_ros.laws.running_law import RunningLaw
from robot_control_ros.robot.configuration import load_robot
from robot_control_ros.robot.model import RobotModel

pytestmark = pytest.mark.sim
ROBOT = trial_robot("ur5e")
DT = ROBOT.period
FLAT = {"stiffness": 1e4, "damping": 100.0, "wave": 0.0, "rise": lambda t: (0.0, 0.0)}
FAST = {"approach_speed": 0.05}
HARD = {"stiffness": 1e6, "damping": 0.0, "wave": 0.0, "rise": lambda t: (0.0, 0.0)}
# N/m, s, and whether the tip comes off again and again
BOUNCING = [(1e6, 0.002, True), (1e6, 0.0, False), (1e5, 0.002, False), (1e4, 0.004, False)]
OUTPUTS = pytest.mark.parametrize(
    "output", ["effort", "position", pytest.param("velocity", marks=pytest.mark.long)]
)


def forcing(output="effort", **gains):
    return RunningLaw(ROBOT, "force_control", GAINS | FAST | {"output": output} | gains)


class PushedArm(SurfaceArm):
    """The arm, lifted by a hand with some force [N] as well."""

    hand = 0.0

    def read(self):
        state = super().read()
        if self.hand:
            self.push(ROBOT.tip, np.array([0.0, 0.0, self.hand]), np.zeros(3))
        return state


class Bench:
    """A UR5e above a flat surface, under a law; each step is one cycle."""

    def __init__(self, running):
        self.arm, self.loop = PushedArm(ROBOT, PressedSurface(**FLAT)), ControlLoop(ROBOT, running)
        self._cycles, self.commands, self.limited, self.heights = (
            cycles(self.arm, self.loop, 0.002, 60.0),
            [],
            [],
            [],
        )

    def run(self, seconds):
        for _ in range(round(seconds / DT)):
            _, kin = next(self._cycles)
            self.heights.append(float(kin.pose[2, 3]))
            self.limited.append(bool(self.loop.safety.rate_limited.any()))
        return self.force

    @property
    def force(self):
        return float(self.arm.forces[-1][2])

    @property
    def speeds(self):
        return np.abs(np.diff(self.heights)) / DT

    def move_down(self, distance):
        goal = self.loop.tip().copy()
        goal[2, 3] -= distance
        self.loop.motion.move_to(goal)


FOLLOWING = {
    "impedance": {"stiffness": [1000.0] * 3 + [50.0] * 3},
    "admittance": {"stiffness": [1000.0] * 3 + [50.0] * 3},
}
SHOWN = (("impedance", "effort", True), ("admittance", "position", False))
SWITCHES = [
    pytest.param(
        law, output, touching, marks=() if (law, output, touching) in SHOWN else pytest.mark.long
    )
    for law, output, touching in product(FOLLOWING, ("effort", "position"), (True, False))
]


@pytest.mark.few(1)
@pytest.mark.parametrize(("law", "output", "touching"), SWITCHES)
def test_it_is_switched_to_and_from_without_a_jump(law, output, touching):
    """No command meets the limit of its rate around a switch; the tip stays slow, and the
    force without a peak.
    """
    following = RunningLaw(ROBOT, law, FOLLOWING[law])
    bench = Bench(following)
    bench.run(DT)
    bench.move_down(2.0 * GAP if touching else 0.0)
    pressed = bench.run(0.7)
    assert (pressed > 5.0) is touching
    bench.limited.clear()
    bench.heights.clear()
    before = len(bench.arm.forces)
    bench.loop.switch_law(forcing(output))
    bench.run(1.0)
    assert bench.force == pytest.approx(10.0, abs=0.5)
    bench.loop.switch_law(following)
    bench.run(0.3)
    forces = np.array(bench.arm.forces)[before:, 2]
    assert not any(bench.limited)
    assert bench.speeds.max() < 0.06
    assert forces.max() < max(pressed, 10.0) + 3.0


@pytest.mark.few(1)
@OUTPUTS
def test_a_target_wrench_is_reached_in_closed_loop(output):
    bench = Bench(forcing(output))
    assert bench.run(0.8) == pytest.approx(10.0, abs=0.3)
    bench.loop.motion.set_feedforward_wrench(np.array([0.0, 0.0, -5.0, 0.0, 0.0, 0.0]))
    assert bench.run(1.0) == pytest.approx(15.0, abs=0.1)


@pytest.mark.few(1)
@OUTPUTS
def test_a_force_away_from_the_surface_takes_the_tip_to_the_limit_of_travel_and_no_further(output):
    bench = Bench(forcing(output, force=[0.0, 0.0, 10.0, 0.0, 0.0, 0.0], max_displacement=0.02))
    bench.run(1.5)
    assert bench.speeds.max() < 1.2 * FAST["approach_speed"]
    assert 0.018 < bench.heights[-1] - bench.heights[0] < 0.021
    assert bench.speeds[-1] < 1e-3


@OUTPUTS
def test_a_surface_that_is_not_there_is_not_sought_beyond_the_limit_of_travel(output):
    bench = Bench(forcing(output, max_displacement=0.8 * GAP))
    bench.run(0.6)
    assert 0.7 * GAP < bench.heights[0] - min(bench.heights) < GAP
    assert not np.array(bench.arm.forces).any()


@pytest.mark.parametrize("output", ["position", pytest.param("velocity", marks=pytest.mark.long)])
def test_with_force_0_an_axis_gives_way_to_a_hand_and_stays_where_it_is_left(output):
    bench = Bench(forcing(output, force=0.0))
    bench.run(DT)
    bench.arm.hand = 5.0
    bench.run(0.5)
    assert bench.speeds[-1] == pytest.approx(5.0 / 200.0, rel=0.02)
    bench.arm.hand = 0.0
    bench.run(0.3)
    assert bench.speeds[-1] < 1e-4


@pytest.mark.parametrize("output", ["effort", "position"])
def test_without_a_fresh_wrench_it_stops_and_begins_anew_with_the_next_one(output):
    """What the integral had gathered is gone: the first answer is that of a law that
    has just been started.
    """
    robot = load_robot("ur5e")
    model, q = RobotModel.of(robot), np.array(robot.home)
    pressing = Wrench(model.at(q).pose[:3, :3].T @ (0.0, 0.0, 5.0), np.zeros(3), robot.tip)

    def sample(k, wrench):
        return RobotState(k * robot.period, q, np.zeros(robot.n), np.zeros(robot.n), wrench)

    def answer(ticks):
        loop = ControlLoop(robot, "force_control", GAINS | {"output": output, "force_i": 50.0})
        for k, wrench in enumerate(ticks):
            loop.tick(sample(k, wrench))
        assert not loop.fault
        return loop.running.law.terms

    loop = ControlLoop(robot, "force_control", GAINS | {"output": output})
    loop.tick(sample(0, pressing))
    assert not loop.fault
    loop.tick(sample(1, None))
    assert "wrench" in loop.fault
    fresh, resumed, gathered = (
        answer([pressing]),
        answer([pressing] * 50 + [None, pressing]),
        answer([pressing] * 50),
    )
    name = "force" if output == "effort" else "joint_velocity"
    np.testing.assert_allclose(resumed[name], fresh[name], rtol=1e-6, atol=1e-9)
    assert (
        np.abs(gathered[name] - fresh[name]).max()
        > 10.0 * np.abs(resumed[name] - fresh[name]).max() + 1e-6
    )


# --- a surface that is too stiff ---


@pytest.mark.few(2)
@pytest.mark.parametrize(("stiffness", "delay", "bounces"), BOUNCING)
@pytest.mark.parametrize("name", ["ur5e", "gen3"])
def test_a_tip_that_bounces_for_ever_is_told_and_one_that_comes_to_rest_is_not(
    name, stiffness, delay, bounces
):
    """On 1e6 N/m a damper whose torques act 2 ms late can't end the bounces: 0 to 20 N for 10 N."""
    robot = trial_robot(name)
    arm = SurfaceArm(robot, PressedSurface(**(HARD | {"stiffness": stiffness})))
    loop = ControlLoop(robot, "force_control", GAINS)
    warnings = [loop.warning for _ in cycles(arm, loop, delay, 3.0)]
    forces = np.array(arm.forces)[-1000:, 2]
    assert bool(forces.min() == 0.0) is bounces
    assert any("bounces" in text for text in warnings) is bounces
    assert ("bounces" in warnings[-1]) is bounces
