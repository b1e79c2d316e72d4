"""A plant behind a slow line: which command acts when, against a delay written out here."""

import numpy as np
import pytest
from refusals import refuses

from robot_control_ros.core.errors import ConfigError
from robot_control_ros.core.types import Command, CommandMode, RobotState
from robot_control_ros.simulation.imperfect.delayed import DelayedPlant


class Recorder:
    """Samples 1000 times per second; remembers which command acted before each sample."""

    period = 0.001

    def __init__(self):
        self.samples, self.acted, self.calls = 0, [], []
        self.command = None

    def open(self):
        self.calls.append("open")

    def close(self):
        self.calls.append("close")

    def read(self):
        if self.samples:
            self.acted.append(self.command)
        state = RobotState(self.samples * self.period, np.zeros(1), np.zeros(1), np.zeros(1))
        self.samples += 1
        return state

    def write(self, command):
        if not np.isfinite(command.values).all():
            raise ConfigError("refused")
        self.command = int(command.values[0])


def effort(value):
    return Command(CommandMode.EFFORT, np.array([float(value)]))


@pytest.mark.parametrize("rate", [1000.0, 500.0, 250.0, 125.0])
@pytest.mark.parametrize("delay", [0.0, 0.001, 0.003, 0.008, 0.021])
def test_in_each_step_the_newest_command_that_is_old_enough_acts(rate, delay):
    plant, cycles = Recorder(), 12
    line = DelayedPlant(plant, 1000.0, rate=rate, delay=delay)
    times = []
    for k in range(cycles):
        times.append(line.read().time)
        line.write(effort(k))
    line.read()
    assert times == pytest.approx([k / rate for k in range(cycles)], abs=1e-12)
    expected = []
    for step in range(round(1000.0 * cycles / rate)):
        begin = step * plant.period
        old_enough = [k for k, time in enumerate(times) if time + delay <= begin + 1e-9]
        expected.append(old_enough[-1] if old_enough else None)
    assert plant.acted == expected


def test_opening_forgets_what_is_under_way():
    plant = Recorder()
    line = DelayedPlant(plant, 1000.0, rate=500.0, delay=0.004)
    line.read()
    line.write(effort(1))
    line.close()
    line.open()
    for _ in range(6):
        line.read()
    assert plant.command is None
    assert plant.calls == ["close", "open"]


def test_what_the_plant_refuses_is_refused_when_it_is_due():
    at_once = DelayedPlant(Recorder(), 1000.0, rate=1000.0, delay=0.0)
    at_once.read()
    with pytest.raises(ConfigError, match="refused"):
        at_once.write(effort(np.nan))
    later = DelayedPlant(Recorder(), 1000.0, rate=1000.0, delay=0.002)
    later.read()
    later.write(effort(np.nan))
    later.read()
    later.read()
    with pytest.raises(ConfigError, match="refused"):
        later.read()


@pytest.mark.parametrize("rate", [0.0, -125.0, 300.0, 2000.0, float("nan")])
def test_a_rate_that_does_not_divide_the_plants_is_refused(rate):
    with refuses("rate", rate, 1000.0):
        DelayedPlant(Recorder(), 1000.0, rate=rate, delay=0.0)


@pytest.mark.parametrize("delay", [-0.001, 0.0005, float("inf"), float("nan")])
def test_a_delay_between_two_periods_of_the_plant_is_refused(delay):
    with refuses("delay", delay, 0.001):
        DelayedPlant(Recorder(), 1000.0, rate=500.0, delay=delay)


@pytest.mark.sim
def test_without_delay_it_is_the_simulated_robot_at_that_rate(ur5):
    pytest.importorskip("mujoco")
    from robot_control_ros.simulation.mujoco_plant import MujocoPlant

    plain = MujocoPlant(ur5, rate=125.0, physics_step=0.001)
    line = DelayedPlant(MujocoPlant(ur5, rate=1000.0), 1000.0, rate=125.0, delay=0.0)
    for k in range(10):
        one, other = plain.read(), line.read()
        assert other.time == pytest.approx(one.time, abs=1e-12)
        np.testing.assert_allclose(other.q, one.q, rtol=0, atol=1e-12)
        np.testing.assert_allclose(other.effort, one.effort, rtol=0, atol=1e-9)
        for plant in (plain, line):
            plant.write(Command(CommandMode.EFFORT, np.full(6, 5.0 * k)))
    assert np.abs(one.q - ur5.home).max() > 1e-2
