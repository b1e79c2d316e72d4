"""OpenArm in MuJoCo behind the emulated bus, at 500 Hz under impedance, in lockstep."""

import numpy as np
import pytest

from can_emulator import Faults
from robot_control_ros.control.loop import ControlLoop
from robot_control_ros.fieldbus.can.can_arm import load_arm
from robot_control_ros.fieldbus.emulation.can_motors import LockstepMotors
from robot_control_ros.fieldbus.supervisor import Action, SupervisorLimits
from robot_control_ros.references import Circle
from robot_control_ros.robot.configuration import load_robot

pytestmark = pytest.mark.sim

LIMITS = SupervisorLimits(bad_cycles=3, good_cycles=20, stale_after=0.02)
STIFFNESS = 500.0  # N/m
REST = 0.3  # s
STILL = 0.05  # rad/s
BROKEN = 4  # number of the motor that fails: the forearm's, which the weight hardly turns


class Bench:
    """The arm under impedance, on a circle or at rest."""

    def __init__(self):
        self.robot = load_robot("openarm", "can")
        gains = {"stiffness": [STIFFNESS] * 3 + [20.0] * 3}
        self.loop = ControlLoop(self.robot, "impedance", gains)
        self.motors = LockstepMotors(self.robot, load_arm("openarm"), LIMITS)
        self.faults = Faults(self.motors.bus)
        self.period = load_arm("openarm").period
        self.motors.enable()

    def run(self, seconds, controlled=True):
        for _ in range(round(seconds / self.period)):
            fresh = self.motors.sense()
            if fresh and controlled:
                command = self.loop.tick(self.motors.cycle.state(self.motors.time))
                self.motors.cycle.command(command, self.motors.time)
            self.motors.act()
        return self

    @property
    def tip(self):
        return self.loop.model.at(np.array(self.motors.mechanics.position)).pose[:3, 3]

    @property
    def velocity(self):
        return np.array(self.motors.mechanics.velocity)


@pytest.fixture
def bench():
    return Bench()


@pytest.fixture
def moving(bench):
    """The arm on a circle, and as fast as it gets there."""
    bench.run(0.1)
    start = bench.loop.tip()
    bench.loop.motion.trajectory = Circle(start, 0.06, period=1.5, normal=(0.0, 0.0, 1.0))
    bench.run(1.2)
    assert np.abs(bench.velocity).max() > 0.3
    assert bench.motors.cycle.action is Action.RUN
    return bench


@pytest.mark.parametrize("axis", [0, 1, 2])
def test_a_push_of_20_newtons_is_held_as_by_a_spring_within_3_percent(bench, axis):
    bench.run(0.5)
    start = bench.tip
    force = np.zeros(3)
    force[axis] = 20.0
    bench.motors.mechanics.push(bench.robot.tip, force, np.zeros(3))
    bench.run(3.0)
    assert bench.motors.cycle.action is Action.RUN
    assert (bench.tip - start)[axis] == pytest.approx(20.0 / STIFFNESS, rel=0.03)
    assert np.abs(bench.velocity).max() < STILL


FAULTS = {
    "a motor falls silent": lambda f: f.lose_replies(BROKEN, -1),
    "a motor loses its power": lambda f: f.power(BROKEN, False),
    "a motor reports an error": lambda f: f.fail(BROKEN, 0xA),
    "a motor gets too hot": lambda f: f.temperature(BROKEN, 90.0),
    "two motors have one id": lambda f: f.second(BROKEN),
    "a motor has a wrong id": lambda f: f.identity(BROKEN, 0x05, 0x19),
    "bus-off": lambda f: f.bus_off(True),
    "the controller ends": None,
}
TOLD = {
    "a motor falls silent": "no reply of openarm_joint5",
    "a motor loses its power": "no reply of openarm_joint5",
    "a motor reports an error": "openarm_joint5: over-current",
    "a motor gets too hot": "openarm_joint5: 90 °C",
    "two motors have one id": "two motors have one id",
    "a motor has a wrong id": "frames of nobody: 0x19",
    "bus-off": "bus-off",
    "the controller ends": "the last command is",
}
# what can't be stopped: a motor without power or with an error lets go, and so does its joint
LIMP = {"a motor loses its power", "a motor reports an error"}


@pytest.mark.parametrize("fault", FAULTS)
def test_a_fault_brings_the_moving_arm_to_rest_and_is_told(moving, fault):
    bench = moving
    inject = FAULTS[fault]
    if inject is not None:
        inject(bench.faults)
    bench.run(REST, controlled=inject is not None)
    supervisor = bench.motors.cycle.supervisor
    assert supervisor.stopped
    assert any(TOLD[fault] in cause for cause in supervisor.causes), supervisor.causes
    held = np.arange(bench.robot.n) != BROKEN if fault in LIMP else np.full(bench.robot.n, True)
    slowed = np.abs(bench.velocity[held]).max()
    assert slowed < STILL if fault != "bus-off" else slowed < 0.3
    before = np.array(bench.motors.mechanics.position)
    bench.run(2.0, controlled=False)
    after = np.array(bench.motors.mechanics.position)
    assert np.abs(bench.velocity[held]).max() < STILL
    assert np.abs(after - before)[held].max() < 0.1
