"""The driver on a stepped clock: what it checks at the start, its cycle, its requests, its end."""

from types import SimpleNamespace

import numpy as np
import pytest

from can_emulator import Faults, Load, Rotors
from robot_control_ros.core.errors import ConfigError, HardwareFault
from robot_control_ros.core.types import Command, CommandMode
from robot_control_ros.fieldbus.can import can_driver as module
from robot_control_ros.fieldbus.can.can_arm import load_arm
from robot_control_ros.fieldbus.can.can_driver import CanDriver
from robot_control_ros.fieldbus.can.frames import CanFrame
from robot_control_ros.fieldbus.driver_class import driver_class
from robot_control_ros.fieldbus.emulation.can_motors import EmulatedBus, bus_of
from robot_control_ros.fieldbus.process.pacing import Timing
from robot_control_ros.fieldbus.supervisor import Action, SupervisorLimits
from robot_control_ros.robot.configuration import load_robot
from robot_control_ros.robot.model import RobotModel

ROBOT = load_robot("openarm", "can")
HOME = np.array(ROBOT.home)
WEIGHT = RobotModel.of(ROBOT).at(HOME).gravity
LIMITS = SupervisorLimits(bad_cycles=3, good_cycles=5, stale_after=0.05)
ADDRESS = "socketcand://127.0.0.1:29536/can0"


class SupportedRotors(Rotors):
    """Rotors under the arm's weight, which a support holds as long as no motor does."""

    def __init__(self):
        loads = [Load(0.05, 0.05, 0.02, -each, q) for each, q in zip(WEIGHT, HOME, strict=True)]
        super().__init__(loads)

    def advance(self, torque, braked, dt):
        if max(map(abs, torque)) > 0.05:
            super().advance(torque, braked, dt)


class PlayedBus(EmulatedBus):
    """A bus and the clock: time passes when the driver waits."""

    def __init__(self):
        super().__init__(bus_of(load_arm("openarm"), ROBOT.joints, SupportedRotors()))
        self.warnings = []
        self.opened = None
        self._waiting = []

    def open(self, address, bit_rate):
        self.opened = (address, bit_rate)

    def close(self):
        self.opened = None

    def wait(self, timeout):
        self._waiting += self.receive()
        if self._waiting:
            return self._waiting.pop(0)
        self.sleep_until(self.now + timeout)
        return None

    def monotonic(self):
        self.now += 1e-6
        return self.now

    def time(self):
        return 1000.0 + self.now

    def sleep_until(self, deadline):
        self.now = max(self.now, deadline)
        self.bus.advance(self.now)


class Between:
    """Actions that the cycle does at once: it waits in these tests."""

    def call(self, action):
        return action()

    def add(self, action):
        action()


@pytest.fixture
def bus(monkeypatch):
    played = PlayedBus()
    monkeypatch.setattr(module, "time", SimpleNamespace(monotonic=played.monotonic))
    monkeypatch.setattr(module, "sleep_until", played.sleep_until)
    return played


@pytest.fixture
def driver(bus):
    return made(bus)


def made(bus, **options):
    return CanDriver(ROBOT, ADDRESS, options, LIMITS, Timing(), Between(), bus)


def run(driver, cycles, command=None):
    for _ in range(cycles):
        if driver.sense() and command is not None:
            driver.command(command, driver_time(driver))
        driver.act()


def driver_time(driver):
    return module.time.monotonic()


def running(driver):
    driver.prepare()
    driver.operate()
    run(driver, 10)
    driver.requests["enable"]()
    run(driver, 30)
    run(driver, 5, torque(WEIGHT))
    assert driver.action is Action.RUN
    return driver


def torque(values):
    return Command(CommandMode.EFFORT, np.array(values, float))


def test_it_is_the_driver_of_the_bus_can():
    assert driver_class("can") is CanDriver


@pytest.mark.parametrize(
    ("address", "options", "name"),
    [
        ("socketcand://x", {}, "channel"),
        (ADDRESS, {"bitrate": 1}, "option"),
        (ADDRESS, {"arm": "nobody"}, "arm"),
    ],
)
def test_wrong_settings_are_refused_before_anything_is_opened(address, options, name):
    with pytest.raises(ConfigError) as refusal:
        CanDriver(ROBOT, address, options, LIMITS, Timing(), Between())
    assert refusal.value.name == name


def test_motors_of_another_robot_are_refused():
    with pytest.raises(ConfigError, match="no motor moves"):
        CanDriver(load_robot("ur5"), ADDRESS, {"arm": "openarm"}, LIMITS, Timing(), Between())


# --- start ---


def test_the_start_enables_and_commands_nothing(driver, bus):
    driver.prepare()
    assert bus.opened == (ADDRESS, 1e6)
    driver.operate()
    run(driver, 20)
    assert not any(motor.enabled for motor in bus.bus.motors)
    assert driver.action is Action.DISABLE
    report = driver.describe()
    assert [drive["state"] for drive in report["drives"]] == ["disabled"] * ROBOT.n
    assert "openarm_joint1': 'never'" in report["facts"]["motors stop by themselves after [s]"]


def test_a_motor_that_doesn_t_answer_is_named(driver, bus):
    Faults(bus.bus).power(2, False)
    with pytest.raises(HardwareFault) as fault:
        driver.prepare()
    assert fault.value.value == ["openarm_joint3 (damiao DM4340, id 0x03)"]
    assert bus.opened is None


def test_a_motor_with_a_wrong_reply_id_is_told_with_what_was_heard(driver, bus):
    Faults(bus.bus).identity(2, 0x03, 0x33)
    with pytest.raises(HardwareFault, match="frames of nobody: 0x33"):
        driver.prepare()


def test_two_motors_with_one_id_are_refused(driver, bus):
    Faults(bus.bus).second(4)
    with pytest.raises(ConfigError) as refusal:
        driver.prepare()
    assert (refusal.value.name, refusal.value.value) == ("id", 5)
    assert bus.opened is None


def test_a_range_that_isn_t_the_file_s_is_refused_before_any_command(driver, bus):
    motor = bus.bus.motors[3]
    motor.model = type(motor.model)(12.5, 8.0, 28.0, 27.0)
    with pytest.raises(ConfigError) as refusal:
        driver.prepare()
    assert (refusal.value.name, refusal.value.value, refusal.value.bound) == ("velocity", 8.0, 10.0)
    assert not any(each.enabled for each in bus.bus.motors)


# --- cycle ---


def test_torques_reach_the_motors_and_states_come_back(driver, bus):
    running(driver)
    wanted = WEIGHT + 0.1
    run(driver, 6, torque(wanted))
    given = np.array([motor.torque for motor in bus.bus.motors])
    # two steps of a DM8009's torque, and one of its velocity under the guard's damping
    resolution = 2 * 108.0 / 4095 + 0.2 * 5.0 * 90.0 / 4095
    assert given == pytest.approx(wanted, abs=resolution)
    state = driver.state(5.0)
    assert state.time == 5.0
    assert state.q == pytest.approx(bus.bus.mechanics.position, abs=2e-3)
    assert state.effort == pytest.approx(wanted, abs=resolution)


def test_a_cycle_that_comes_late_is_left_out_and_counted(driver, bus):
    running(driver)
    bus.now += 0.005
    run(driver, 2, torque(WEIGHT))
    assert driver.overruns == 2
    assert driver.action is Action.RUN


def test_bus_off_stops_the_arm_and_is_told(driver, bus):
    running(driver)
    Faults(bus.bus).bus_off(True)
    run(driver, 3, torque(WEIGHT))
    assert driver.describe()["stopped"]
    assert driver.describe()["causes"] == ["bus-off"]


def test_what_is_counted_is_told(driver, bus):
    running(driver)
    Faults(bus.bus).lose_replies(1, 1)
    bus.bus.utter(type(bus.bus.process(_frame(), bus.now)[0])(0x123, bytes(8)))
    run(driver, 3, torque(WEIGHT))
    assert driver.counters() == {
        "lost replies": 1,
        "frames of nobody": 1,
        "torques cut off": 0,
    }


def _frame():
    request = load_arm("openarm").motors[0].codec().order("request")
    return CanFrame(*request)


# --- requests ---


def test_enabling_is_refused_with_every_reason(driver, bus):
    driver.prepare()
    driver.operate()
    Faults(bus.bus).fail(0, 0x8)
    run(driver, 10)
    with pytest.raises(ConfigError, match="openarm_joint1: over-voltage"):
        driver.requests["enable"]()


def test_a_fault_is_reset_only_when_the_arm_is_stopped(driver, bus):
    running(driver)
    with pytest.raises(ConfigError, match="enabled"):
        driver.requests["reset_fault"]()
    Faults(bus.bus).fail(0, 0x8)
    run(driver, 200, torque(WEIGHT))
    driver.requests["reset_fault"]()
    run(driver, 10, torque(WEIGHT))
    assert bus.bus.motors[0].error == 0
    assert not bus.bus.motors[0].enabled
    driver.requests["enable"]()
    run(driver, 30, torque(WEIGHT))
    assert driver.action is Action.RUN


def test_the_zero_moves_only_on_request_and_only_of_disabled_motors(driver, bus):
    running(driver)
    with pytest.raises(ConfigError, match="disable"):
        driver.requests["zero"]()
    assert all(motor.zero == 0.0 for motor in bus.bus.motors)
    driver.requests["disable"]()
    run(driver, 20)
    driver.requests["zero"]()
    run(driver, 5)
    assert all(abs(motor.position) < 0.1 for motor in bus.bus.motors)
    assert driver.state(0.0).q == pytest.approx(np.zeros(ROBOT.n), abs=0.1)


def test_a_quick_stop_ends_in_holding(driver, bus):
    running(driver)
    driver.requests["quick_stop"]()
    run(driver, 200, torque(WEIGHT))
    states = [drive["state"] for drive in driver.describe()["drives"]]
    assert states == ["holding"] * ROBOT.n
    assert all(motor.enabled for motor in bus.bus.motors)


# --- end ---


def test_at_the_end_the_motors_hold_the_arm(driver, bus):
    running(driver)
    driver.close()
    assert bus.opened is None
    held = np.array(bus.bus.mechanics.position)
    bus.sleep_until(bus.now + 2.0)
    assert all(motor.enabled for motor in bus.bus.motors)
    assert np.array(bus.bus.mechanics.position) == pytest.approx(held, abs=0.02)


def test_at_the_end_the_motors_let_go_where_the_file_says_so(tmp_path, bus):
    text = load_arm("openarm").path.read_text(encoding="utf-8")
    (tmp_path / "arm.yaml").write_text(text.replace("at_end: hold", "at_end: release"))
    driver = running(made(bus, arm=str(tmp_path / "arm.yaml")))
    driver.close()
    assert not any(motor.enabled for motor in bus.bus.motors)


def test_the_end_takes_less_than_two_seconds_even_without_answers(driver, bus):
    running(driver)
    Faults(bus.bus).bus_off(True)
    begun = bus.now
    driver.close()
    assert bus.now - begun < 2.0


def test_before_it_is_prepared_there_is_nothing_to_close(driver, bus):
    driver.close()
    with pytest.raises(ConfigError):
        driver.sense()
