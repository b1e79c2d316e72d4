"""The driver of EtherCAT: what it looks at beside the cycle, reports, and does on request."""

from types import SimpleNamespace

import pytest
from played_drives import EXPECTED, JOINTS, position
from played_master import FakeMaster, let_it_own_time
from simulated_bus import AtOnce

from robot_control_ros.core.errors import ConfigError, HardwareFault
from robot_control_ros.fieldbus.ethercat import ethercat_driver as driver_module
from robot_control_ros.fieldbus.ethercat import ethercat_plant as plant_module
from robot_control_ros.fieldbus.ethercat.al_status import OP, SAFEOP, AlStatus
from robot_control_ros.fieldbus.ethercat.ethercat_driver import EthercatDriver, ethercat_settings
from robot_control_ros.fieldbus.ethercat.slave_access import SlaveEvent
from robot_control_ros.fieldbus.process.pacing import EMULATED_BUS_TIMEOUTS, Timing
from robot_control_ros.fieldbus.supervisor import Action, SupervisorLimits

FAULT = 0x0218


class Access:
    """Access to single slaves: AL states that the test sets, and what was asked for."""

    def __init__(self):
        self.statuses = [AlStatus(OP)] * 3
        self.polls = 0
        self.collected = []
        self.objects = {}
        self.listener = None

    def listen(self, listener):
        self.listener = listener

    def al_statuses(self):
        self.polls += 1
        return list(self.statuses)

    def collect(self, position):
        self.collected.append(position)

    def read_sdo(self, position, index, sub_index=0):
        return self.objects[position, index, sub_index]


class WatchedMaster(FakeMaster):
    def __init__(self, interface):
        super().__init__(interface)
        self.access = Access()
        self.link = True
        self.steps = []
        self.warnings = ["a warning of the master"]

    def carrier(self):
        return self.link

    def recover(self, position, step):
        self.steps.append((position, step))
        self.access.statuses[position] = AlStatus(OP)


class PlayedDriver(EthercatDriver):
    """The driver, with the queue that the bus process empties after each cycle.

    Attributes:
        between: That queue.
    """

    def __init__(self, robot, address, options, limits, timing, between):
        super().__init__(robot, address, options, limits, timing, between)
        self.between = between


@pytest.fixture
def driver(topology, monkeypatch):
    """A prepared driver, in operation."""
    monkeypatch.setattr(plant_module, "Master", WatchedMaster)
    made = PlayedDriver(
        SimpleNamespace(name="three", joints=JOINTS),
        "eth9",
        {"topology": str(topology.path)},
        SupervisorLimits(),
        Timing(),
        AtOnce(),
    )
    let_it_own_time(made.master, plant_module, monkeypatch)
    waiting = SimpleNamespace(
        monotonic=lambda: made.master.now, sleep=lambda seconds: run(made, round(seconds / 0.001))
    )
    monkeypatch.setattr(driver_module, "time", waiting)
    made.prepare()
    made.operate()
    return made


def run(driver, cycles=1, command=None):
    for _ in range(cycles):
        driver.sense()
        if command is not None:
            driver.command(command, driver.master.now)
        driver.act()
        between(driver)


def between(driver):
    """What was asked for beside the cycle takes effect."""
    driver.between.run()


def enable(driver):
    run(driver, 25)
    driver.requests["enable"]()
    run(driver, 20, position([0.3, -0.4, 1.1]))
    assert driver.action is Action.RUN


def test_settings_of_a_bus_have_the_timeouts_of_an_emulated_one_and_those_of_each_bus():
    settings = ethercat_settings("ecm", "ur5", topology="mine", **EMULATED_BUS_TIMEOUTS)
    assert (settings.bus, settings.address, settings.profile) == ("ethercat", "ecm", "ethercat")
    assert settings.options == {
        "topology": "mine",
        "frame_timeout": EMULATED_BUS_TIMEOUTS["frame_timeout"],
        "watchdog": EMULATED_BUS_TIMEOUTS["watchdog"],
    }
    assert settings.bad_cycles == EMULATED_BUS_TIMEOUTS["bad_cycles"]
    assert settings.command_timeout == EMULATED_BUS_TIMEOUTS["command_timeout"]


def test_options_of_another_kind_of_bus_are_refused(topology):
    robot = SimpleNamespace(name="three", joints=JOINTS)
    with pytest.raises(ConfigError) as caught:
        EthercatDriver(robot, "eth9", {"ip": "172.16.0.2"}, SupervisorLimits(), Timing(), AtOnce())
    assert caught.value.value == "ip"
    assert caught.value.bound == ("topology", "frame_timeout", "watchdog")


def test_it_counts_frames_and_says_so_in_words(driver):
    run(driver, 5)
    driver.master.counters = [-1, 6, EXPECTED]
    run(driver, 3)
    assert driver.counters() == {
        "working counter": EXPECTED,
        "lost frames": 1,
        "wrong working counters": 1,
        "late frames": 0,
    }
    assert driver.describe()["facts"] == {"working counter": f"{EXPECTED} of {EXPECTED}"}


def test_it_reports_each_drive_in_the_robot_s_order(driver):
    run(driver, 5)
    driver.master.drives[2].error = 0x7305
    driver.master.drives[2].state = FAULT
    run(driver, 2)
    described = driver.describe()
    assert [drive["joint"] for drive in described["drives"]] == list(JOINTS)
    elbow = described["drives"][1]
    assert "0x7305" in elbow["error"]
    assert elbow["values"]["status word"] == f"0x{FAULT:04X}"
    assert driver.warnings == ["a warning of the master"]
    assert described["stopped"] is False


def test_it_looks_at_slaves_once_at_first_then_only_where_something_is_wrong(driver):
    run(driver, 5)
    for _ in range(30):
        driver.look()
    access = driver.master.access
    assert access.polls == 1
    assert access.collected == [0, 1, 2]  # one mailbox in ten looks
    driver.master.counters = [-1]
    run(driver, 1)
    driver.look()
    driver.look()
    assert access.polls == 3
    run(driver, 1)
    driver.look()  # once more, when all is well again
    driver.look()
    assert access.polls == 4


def test_a_slave_that_left_op_and_a_lost_link_stop_all(driver):
    enable(driver)
    driver.master.access.statuses[1] = AlStatus(SAFEOP)
    driver.master.counters = [6]
    run(driver, 1)
    driver.look()
    between(driver)
    assert driver.action is Action.QUICK_STOP
    assert "slave 1" in driver.describe()["causes"][0]
    assert driver.describe()["slaves"]
    driver.master.link = False
    driver.look()
    between(driver)
    assert any(cause.startswith("link down") for cause in driver.describe()["causes"])


def test_what_a_slave_sends_unasked_is_an_event(driver):
    driver.master.access.listener(SlaveEvent(0, code=0x3210, register=0x04))
    between(driver)
    (event,) = [message for _, message in driver.describe()["events"]]
    assert "wrist" in event
    assert "0x3210" in event


def test_enabling_is_refused_with_reasons(driver):
    with pytest.raises(ConfigError):
        driver.requests["enable"]()


def test_requests_enable_disable_and_stop(driver):
    enable(driver)
    driver.requests["disable"]()
    run(driver, 3)
    assert driver.action is Action.DISABLE
    enable(driver)
    driver.requests["quick_stop"]()
    assert driver.action is Action.QUICK_STOP


def test_a_reset_brings_slaves_back_and_drives_out_of_their_faults(driver):
    enable(driver)
    with pytest.raises(ConfigError):
        driver.requests["reset_fault"]()  # there is none
    driver.master.drives[0].state = FAULT
    driver.master.drives[0].error = 0x7305
    run(driver, 20)
    driver.master.access.statuses[0] = AlStatus(SAFEOP)
    answer = driver.requests["reset_fault"]()
    assert "wrist" in answer
    assert [position for position, _ in driver.master.steps] == [0]
    assert driver.master.drives[0].state != FAULT
    assert driver.action is Action.DISABLE


def test_a_reset_without_a_link_fails(driver):
    run(driver, 5)
    driver.master.link = False
    with pytest.raises(HardwareFault):
        driver.requests["reset_fault"]()


def test_objects_of_slaves_can_be_read(driver):
    driver.master.access.objects[2, 0x6041, 0] = b"\x37\x02"
    assert driver.requests["read_sdo"](position=2, index=0x6041, sub_index=0) == "3702"
