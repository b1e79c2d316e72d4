"""The plant on a bus that is played: time, commands and the end of it."""

import math

import numpy as np
import pytest
from played_drives import JOINTS, effort, position
from played_master import FakeMaster, let_it_own_time

from robot_control_ros.core.errors import ConfigError, HardwareFault, StaleStateError
from robot_control_ros.fieldbus.ethercat import ethercat_plant as plant_module
from robot_control_ros.fieldbus.ethercat.ethercat_plant import LATE, EthercatPlant
from robot_control_ros.fieldbus.supervisor import Action

PERIOD = 0.001


@pytest.fixture
def plant(topology, monkeypatch):
    monkeypatch.setattr(plant_module, "Master", FakeMaster)
    plant = EthercatPlant(JOINTS, topology, "eth9")
    let_it_own_time(plant.master, plant_module, monkeypatch)
    return plant


def running(plant):
    plant.open()
    for _ in range(25):
        state = plant.read()
        plant.write(position(state.q))
    plant.enable()
    for _ in range(15):
        state = plant.read()
        plant.write(position(state.q))
    assert plant.cycle.supervisor.action is Action.RUN
    return plant


def test_what_is_read_and_written_is_the_robot_s(plant):
    running(plant)
    state = plant.read()
    assert state.q == pytest.approx([0.3, -0.4, 1.1], abs=1e-5)
    assert state.time == pytest.approx(1000.0 + plant.master.now)
    plant.write(position(state.q + [0.01, 0.02, -0.03]))
    plant.read()
    wrist, base, elbow = plant.master.drives
    assert [base.target_q, elbow.target_q, wrist.target_q] == pytest.approx(
        [0.31, -0.38, 1.07], abs=1e-5
    )


def test_before_it_is_open_there_is_nothing(plant):
    with pytest.raises(ConfigError):
        plant.read()
    plant.close()
    assert plant.master.said == []


def test_a_bus_that_is_another_one_is_let_go(plant):
    plant.master.fails = "configure"
    with pytest.raises(ConfigError):
        plant.open()
    assert plant.master.said == ["open", "configure", "close"]
    plant.close()
    assert plant.master.said == ["open", "configure", "close"]


def test_a_bus_that_doesn_t_get_ready_is_let_go_once(plant):
    plant.master.fails = "operate"
    with pytest.raises(HardwareFault):
        plant.open()
    plant.close()
    assert plant.master.said == ["open", "configure", "operate", "close"]


def test_cycles_are_a_period_apart(plant):
    running(plant)
    assert np.diff(plant.master.sent_at) == pytest.approx(PERIOD, abs=1e-9)
    assert plant.overruns == 0
    assert plant.timing.on_time == 1.0


@pytest.mark.parametrize(("late", "overruns"), [(0.3, 0), (0.8, 1), (3.2, 3), (3.7, 4), (50.0, 50)])
def test_cycles_that_passed_are_left_out_and_the_phase_stays(plant, late, overruns):
    running(plant)
    phase = plant.master.sent_at[-1] % PERIOD
    plant.read()
    plant.master.now = plant.master.sent_at[-1] + (1.0 + late) * PERIOD
    plant.write(position([0.3, -0.4, 1.1]))
    for _ in range(3):
        plant.sense()
        plant.act()
    assert plant.overruns == overruns
    assert plant.master.sent_at[-1] % PERIOD == pytest.approx(phase, abs=1e-8)


def test_bad_cycles_hold_the_targets_and_too_many_are_an_error(plant):
    running(plant)
    plant.master.counters = [-1, 6]
    state = plant.read()
    assert state.q == pytest.approx([0.3, -0.4, 1.1], abs=1e-5)
    assert plant.cycle.supervisor.action is Action.RUN
    plant.write(position(state.q))
    plant.master.counters = [-1] * 3
    with pytest.raises(
        StaleStateError,
        match=r"no sample from the bus: .*3 cycles in a row: no answer from the bus",
    ):
        plant.read()
    plant.sense()
    assert [drive.word for drive in plant.master.drives] == [0x02] * 3


def test_a_frame_that_comes_after_its_cycle_is_late(plant):
    running(plant)
    plant.master.trip_time = (LATE + 0.5) * PERIOD
    assert not plant.sense()
    plant.act()
    assert plant.cycle.supervisor.frames.late_frames == 1


def test_it_is_refused_to_enable_what_isn_t_ready(plant):
    plant.open()
    plant.sense()
    with pytest.raises(ConfigError, match="not enabled: only 1 good cycles since the last bad one"):
        plant.enable()


def test_a_command_that_is_refused_doesn_t_keep_the_outputs_back(plant):
    running(plant)
    state = plant.read()
    before = plant.timing.count
    with pytest.raises(ConfigError):
        plant.write(position([math.nan, 0, 0]))
    assert plant.timing.count == before + 1
    plant.read()
    plant.write(position(state.q))
    assert plant.cycle.supervisor.action is Action.RUN


@pytest.mark.parametrize("command", [position([0.3, -0.4, 1.1]), effort([1, 1, 1])])
def test_the_end_stops_and_disables_all_and_lets_the_bus_go(plant, command):
    running(plant)
    plant.read()
    plant.write(command)
    plant.close()
    assert [drive.state for drive in plant.master.drives] == [0x0240] * 3
    assert [drive.word for drive in plant.master.drives] == [0x00] * 3
    assert plant.master.said[-1] == "close"
    plant.close()
    assert plant.master.said.count("close") == 1


def test_the_end_comes_without_a_bus_too(plant):
    running(plant)
    plant.master.counters = [-1] * 10**4
    began = plant.master.now
    plant.close()
    assert plant.master.said[-1] == "close"
    assert plant.master.now - began < plant_module.SupervisorLimits().stop_time + 0.1


def test_the_bus_s_clock_is_followed(plant):
    running(plant)
    master, exchange = plant.master, plant.master.exchange

    def timed(budget):
        master.clock = round(master.now * (1.0 + 5e-5) * 1e9) + 123_456
        return exchange(budget)

    master.exchange = timed
    for _ in range(2500):
        state = plant.read()
        plant.write(position(state.q))
    assert master.clock % 1_000_000 == pytest.approx(500_000, abs=300)


def test_wake_up_is_measured_from_the_cycle_s_own_time(plant):
    """Not from where the next correction moves it to."""
    running(plant)
    cycles = plant.timing.count
    plant.master.clock = 900_000  # 0.4 ms late: corrected by 8 us
    plant.sense()
    plant.act()
    assert plant.timing.samples()[0][cycles] == pytest.approx(0.0, abs=1e-8)
