"""The bus process is the same for each driver: here for the one of the examples, cycle by cycle."""

import time

import numpy as np
import pytest
from simulated_bus import DRIVER, EXAMPLES, PlayedProcess, settings

from robot_control_ros.core.errors import ConfigError
from robot_control_ros.core.types import Command, CommandMode
from robot_control_ros.fieldbus.driver import Driver
from robot_control_ros.fieldbus.driver_class import driver_class, driver_names
from robot_control_ros.fieldbus.driver_options import read_options
from robot_control_ros.fieldbus.ethercat.ethercat_driver import EthercatDriver
from robot_control_ros.fieldbus.process.diagnosis import ERROR, FINE, WARNING, diagnose
from robot_control_ros.fieldbus.process.pacing import Timing
from robot_control_ros.fieldbus.process.protocol import (
    OWNER,
    BusStatus,
    encode_command,
    memory_path,
)
from robot_control_ros.fieldbus.process.rpc import RpcClient, decode
from robot_control_ros.fieldbus.process.shared_memory import Latest
from robot_control_ros.fieldbus.supervisor import Action
from robot_control_ros.robot.configuration import load_robot

pytestmark = pytest.mark.sim
ROBOT = load_robot("ur5")
HOME = np.array(ROBOT.home)


class Owner:
    """The node's side of a bus process that this test plays."""

    def __init__(self, played):
        self.played = played
        region = played.memory.region
        self._status, self._report, self._commands = (
            Latest(region(name)) for name in ("status", "report", "command")
        )
        self._rpc = RpcClient(played.memory, OWNER, 5.0, lambda: played.run(1))

    @property
    def status(self):
        return BusStatus.decode(self._status.get()[1])

    @property
    def report(self):
        return decode(self._report.get()[1])

    def command(self, values, mode=CommandMode.POSITION):
        self._commands.put(encode_command(Command(mode, np.array(values)), time.monotonic()))

    def request(self, name):
        return self._rpc.call(name)

    def enable(self):
        self.played.run(25)
        self.command(HOME)
        self.request("enable")
        self.command(HOME)
        self.played.run(3)
        assert self.status.action is Action.RUN


@pytest.fixture
def owner(tmp_path, monkeypatch):
    pytest.importorskip("mujoco")
    played = PlayedProcess(settings(tmp_path), monkeypatch)
    played.start()
    return Owner(played)


# --- the driver by its name ---


def test_a_driver_is_found_by_the_bus_s_name_or_by_its_class(monkeypatch):
    monkeypatch.syspath_prepend(EXAMPLES)
    assert driver_class("ethercat") is EthercatDriver
    assert driver_class(DRIVER).__name__ == "SimulatedDriver"


@pytest.mark.parametrize(
    "name", ["profibus", "no_such_module:Driver", "simulated_driver:Nothing", "math:sqrt"]
)
def test_what_is_no_driver_is_refused(monkeypatch, name):
    monkeypatch.syspath_prepend(EXAMPLES)
    with pytest.raises(ConfigError) as caught:
        driver_class(name)
    assert (caught.value.name, caught.value.value) == ("bus", name)


def test_an_unknown_bus_is_told_those_that_are_known():
    with pytest.raises(ConfigError) as caught:
        driver_class("profibus")
    assert set(caught.value.bound) == set(driver_names())
    assert "ethercat" in caught.value.bound


@pytest.mark.parametrize("name", ["ethercat", DRIVER])
def test_each_driver_has_the_methods_of_the_protocol(monkeypatch, name):
    monkeypatch.syspath_prepend(EXAMPLES)
    methods = {part for part in vars(Driver) if not part.startswith("_")}
    assert methods > {"prepare", "operate", "sense", "act", "look", "describe", "close"}
    assert methods - set(dir(driver_class(name))) == set()


def test_an_unknown_option_of_a_bus_is_refused_with_those_that_it_has(tmp_path, monkeypatch):
    with pytest.raises(ConfigError) as caught:
        PlayedProcess(settings(tmp_path, options={"topology": "ur5"}), monkeypatch)
    assert (caught.value.value, caught.value.bound) == ("topology", ("real_time",))


def test_options_are_a_dataclass_of_the_driver_s():
    from robot_control_ros.fieldbus.ethercat.ethercat_driver import EthercatOptions

    assert read_options(EthercatOptions, {"watchdog": 0.5}) == EthercatOptions(watchdog=0.5)


def test_an_address_with_a_slash_names_a_memory_too():
    assert memory_path("/dev/ttyACM0").parent == memory_path("eth1").parent
    assert memory_path("/dev/ttyACM0") != memory_path("/dev/ttyACM1")


# --- cycles ---


def test_the_report_is_there_before_the_first_cycle_and_says_what_each_bus_has(owner):
    report = owner.report
    assert report["period"] == pytest.approx(ROBOT.period)
    assert report["measures_wrench"] is True
    assert report["in_process"] is False
    assert report["warnings"] == ["not in real time", "these drives are simulated"]
    assert [drive["joint"] for drive in report["drives"]] == list(ROBOT.joints)
    assert report["facts"] == {"arm": "ur5"}


def test_each_cycle_has_a_status_and_wakes_the_owner(owner):
    owner.played.run(3)
    status = owner.status
    assert (status.cycle, status.fresh, status.in_process, status.overruns) == (3, True, False, 0)
    assert status.action is Action.DISABLE
    assert status.counters == {"simulated time [s]": pytest.approx(2 * ROBOT.period)}
    np.testing.assert_allclose(status.state.q, HOME, atol=1e-6)
    assert owner.played.wake.recv(16) == b"\0\0\0"


def test_a_status_has_the_wrench_that_the_bus_measured(owner):
    owner.played.run(3)
    assert owner.status.state.wrench.frame == ROBOT.wrench_frame
    assert owner.status.state.wrench.force.shape == (3,)


def test_commands_move_the_drives_once_they_are_enabled(owner):
    owner.enable()
    for step in np.linspace(0.0, 0.04, 20):
        owner.command(HOME + step)
        owner.played.run(2)
    owner.played.run(40)
    np.testing.assert_allclose(owner.status.state.q, HOME + 0.04, atol=2e-3)


def test_a_command_that_the_driver_refuses_is_an_event_once_and_stops_nothing(owner):
    owner.enable()
    owner.command(HOME[:5])
    owner.played.run(4)
    owner.command(HOME[:5])
    owner.played.run(4)
    events = [message for _, message in owner.report["events"]]
    assert len([message for message in events if message.startswith("refused: ")]) == 1
    assert owner.status.action is Action.RUN


def test_a_request_that_the_driver_refuses_or_does_not_know_is_told(owner):
    with pytest.raises(ConfigError):
        owner.request("enable")  # there were no good cycles yet
    with pytest.raises(ConfigError) as caught:
        owner.request("dance")
    assert caught.value.value == "dance"
    assert set(caught.value.bound) == {"enable", "disable", "quick_stop", "reset_fault"}


def test_a_quick_stop_stays_until_the_drives_are_enabled_again(owner):
    owner.enable()
    owner.request("quick_stop")
    owner.played.run(5)
    assert owner.status.action is Action.DISABLE
    assert owner.report["stopped"] is True
    assert len(owner.report["causes"]) == 1
    owner.enable()
    assert owner.report["causes"] == []


def test_the_end_of_the_owner_ends_the_process(owner):
    owner.played.run(1)
    assert not owner.played.process.monitor.ending.is_set()
    owner.played.wake.close()
    owner.played.run(1)
    assert owner.played.process.monitor.ending.is_set()


# --- what people see ---


def test_a_diagnosis_has_the_bus_then_each_drive(owner):
    owner.enable()
    owner.played.run(2)
    bus, *drives = diagnose(
        owner.report, owner.status, Timing(owner.played.memory.region("timing"))
    )
    assert (bus.name, bus.level) == ("bus", FINE)
    assert bus.values["arm"] == "ur5"
    assert bus.values["cycles"] == str(owner.status.cycle)
    assert bus.values["commanded by"] == "topics"
    assert {"on time [%]", "whole cycle p99 [us]", "simulated time [s]"} <= set(bus.values)
    assert [drive.name for drive in drives] == list(ROBOT.joints)
    assert {drive.level for drive in drives} == {FINE}
    assert drives[0].values["position [rad]"] == f"{owner.status.state.q[0]:.5f}"


def test_a_diagnosis_warns_of_drives_that_rest_and_tells_what_stopped_them(owner):
    timing = Timing(owner.played.memory.region("timing"))
    owner.played.run(4)
    assert diagnose(owner.report, owner.status, timing)[0].level == WARNING
    owner.enable()
    owner.request("quick_stop")
    owner.played.run(5)
    assert diagnose(owner.report, owner.status, timing)[0].level == ERROR
    report = owner.report
    report["drives"][2]["failure"] = "doesn't answer"
    report["facts"]["simulated time [s]"] = "a fact of the same name"
    bus, *drives = diagnose(report, owner.status, timing)
    assert (drives[2].level, drives[2].message) == (ERROR, "doesn't answer")
    assert bus.values["simulated time [s]"] == "a fact of the same name"
