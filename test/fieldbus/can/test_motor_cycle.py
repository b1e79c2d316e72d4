"""The cycle of motors in lockstep: emulated motors with plain rotors behind the driver's own
cycle.
"""

import numpy as np
import pytest
import yaml

from can_emulator import Faults, Load, Rotors
from robot_control_ros.core.errors import ConfigError
from robot_control_ros.core.types import Command, CommandMode
from robot_control_ros.fieldbus.can.can_arm import load_arm
from robot_control_ros.fieldbus.can.motor_cycle import MotorCycle, MotorState
from robot_control_ros.fieldbus.emulation.can_motors import EmulatedBus, bus_of
from robot_control_ros.fieldbus.supervisor import Action, SupervisorLimits

JOINTS = ("base", "elbow", "wrist")
N = len(JOINTS)
PERIOD = 0.002
INERTIA = 0.05
WEIGHT = np.array([0.0, 2.0, 0.5])  # N·m that hold the rotors
LIMITS = SupervisorLimits(bad_cycles=3, good_cycles=5, stale_after=0.02)


def arm_file(folder, guard=0.0, **change):
    """An arm in another order than the joints, the wrist turned and shifted."""
    motors = [
        {
            "joint": joint,
            "family": "damiao",
            "model": "DM4310",
            "id": i + 1,
            "reply_id": i + 0x11,
            "torque_limit": 6.0,
            "temperature_limit": 70,
            "stiffness": 40,
            "damping": 2,
            **change,
        }
        for i, joint in enumerate(reversed(JOINTS))
    ]
    motors[0] |= {"sign": -1, "offset": 0.4}
    path = folder / "arm.yaml"
    path.write_text(yaml.safe_dump({"period": PERIOD, "guard": guard, "motors": motors}))
    return load_arm(str(path))


class Bench:
    """A cycle, and the rotors behind it."""

    def __init__(self, arm):
        loads = [Load(INERTIA, 0.01, 0.0, -weight, 0.1) for weight in WEIGHT]
        self.rotors = Rotors(loads)
        self.bus = bus_of(arm, JOINTS, self.rotors)
        self.line = EmulatedBus(self.bus)
        self.cycle = MotorCycle(arm, JOINTS, lambda q: WEIGHT, LIMITS)
        self.faults = Faults(self.bus)
        self.time = 0.0
        self.line.send(self.cycle.act())

    def step(self, command=None):
        """One cycle; returns True where each motor replied."""
        self.time += PERIOD
        self.bus.advance(self.time)
        self.line.now = self.time
        frames = self.line.receive()
        fresh = self.cycle.sense(self.time, frames, self.line.trouble)
        if command is not None:
            self.cycle.command(command, self.time)
        self.line.send(self.cycle.act())
        return fresh

    def run(self, seconds, command=None):
        for _ in range(round(seconds / PERIOD)):
            self.step(command() if callable(command) else command)
        return self

    def enable(self):
        self.run(0.02)
        assert self.cycle.supervisor.request_enable() == []
        self.run(0.1)
        assert all(motor.enabled for motor in self.bus.motors)
        return self

    @property
    def velocity(self):
        return np.array(self.rotors.velocity)

    @property
    def torques(self):
        """Torques of the motors at the joints, where the motors' own friction isn't counted."""
        signs = [motor.sign for motor in self.cycle.motors]
        return np.array([s * m.torque for s, m in zip(signs, self.bus.motors, strict=True)])


@pytest.fixture
def bench(tmp_path):
    return Bench(arm_file(tmp_path))


@pytest.fixture
def guarded(tmp_path):
    return Bench(arm_file(tmp_path, guard=0.2))


def torque(*values):
    return Command(CommandMode.EFFORT, np.array(values, float))


def position(values, velocity=None):
    return Command(CommandMode.POSITION, np.array(values, float), velocity=velocity)


def moving(bench, speed=1.0):
    """All joints at a speed, under torques with a damper on the host."""
    bench.enable()

    def law():
        return torque(*(WEIGHT + 1.5 * (speed - bench.cycle.v)))

    bench.run(0.3, law)
    assert bench.velocity == pytest.approx(np.full(N, speed), abs=0.1)
    assert bench.cycle.action is Action.RUN
    return law


# --- begin ---


def test_nothing_is_commanded_before_a_user_enables(bench):
    bench.run(0.2, torque(1.0, 1.0, 1.0))
    assert bench.cycle.action is Action.DISABLE
    assert not any(motor.enabled for motor in bench.bus.motors)
    assert bench.torques == pytest.approx(np.zeros(N))


def test_joint_angles_are_those_of_the_joints(bench):
    bench.rotors.velocity[:] = [0.5, -0.5, 0.25]
    bench.step()
    bench.step()
    state = bench.cycle.state(7.0)
    assert state.time == 7.0
    assert state.q == pytest.approx(bench.rotors.position, abs=2e-3)
    assert state.v == pytest.approx([0.5, -0.5, 0.25], abs=0.2)


def test_enabled_motors_hold_the_arm_until_the_first_command(bench):
    start = np.array(bench.rotors.position)
    bench.run(0.02)
    before = np.array(bench.rotors.position)  # without power the rotors fall
    assert (np.abs(before - start)[1:] > 1e-4).all()
    bench.enable()
    held = np.array(bench.rotors.position)
    bench.run(0.5)
    assert np.array(bench.rotors.position) == pytest.approx(held, abs=2e-3)
    assert bench.cycle.action is Action.HOLD


def test_a_motor_whose_register_of_state_is_a_fault_is_not_enabled(bench):
    bench.faults.fail(1, 0x9)
    bench.run(0.02)
    (obstacle,) = bench.cycle.supervisor.request_enable()[:1]
    assert obstacle.startswith("elbow: under-voltage")


def test_a_hot_motor_is_not_enabled(bench):
    bench.faults.temperature(1, 71.0)
    bench.run(0.02)
    assert any("71 °C" in each for each in bench.cycle.supervisor.request_enable())


# --- commands ---


@pytest.mark.parametrize("kind", ["bench", "guarded"])
def test_torques_are_those_of_the_command(kind, request):
    bench = request.getfixturevalue(kind)
    bench.enable()
    wanted = WEIGHT + np.array([0.0, 0.1, -0.1])
    bench.run(0.02, torque(*wanted))
    assert bench.torques == pytest.approx(wanted, abs=0.02 + 0.01 * (kind == "guarded"))


def test_a_torque_is_cut_off_at_the_limit_in_the_very_first_frame(bench):
    bench.enable()
    heard = []
    for _ in range(3):
        bench.step(torque(100.0, -100.0, 100.0))
        heard.append([abs(motor.command.torque) for motor in bench.bus.motors])
    assert np.max(heard) <= 6.0 + 0.005
    assert bench.cycle.clipped > 0


def test_positions_are_held_by_the_motors(bench):
    bench.enable()
    start = bench.cycle.q.copy()
    for k in range(200):
        bench.step(position(start + 0.001 * k, np.full(N, 0.5)))
    assert bench.cycle.q == pytest.approx(start + 0.2, abs=0.02)
    for _ in range(300):
        bench.step(position(start + 0.2))
    assert np.array(bench.rotors.position) == pytest.approx(start + 0.2, abs=2e-3)


def test_a_position_that_jumps_stops_the_arm(bench):
    bench.enable()
    bench.step(position(bench.cycle.q + 0.06))
    bench.run(0.02)
    assert bench.cycle.supervisor.stopped
    assert "jumps" in bench.cycle.supervisor.causes[0]


def test_stiffness_and_torque_together_stay_within_the_limit(bench):
    bench.enable()
    start = bench.cycle.q.copy()
    stiff = 40.0
    for _ in range(20):
        pushed = Command(CommandMode.POSITION, start, feedforward=np.full(N, 5.9))
        bench.step(pushed)
        for motor in bench.bus.motors:
            command = motor.command
            spring = stiff * (command.position - motor.position)
            assert abs(spring + command.torque) <= 6.0 + 0.2


@pytest.mark.parametrize(
    ("command", "name"),
    [
        (Command(CommandMode.VELOCITY, np.zeros(N)), "command"),
        (torque(1.0), "command"),
        (torque(np.nan, 0.0, 0.0), "command"),
    ],
)
def test_what_motors_can_t_do_is_refused_and_the_last_command_stays(bench, command, name):
    bench.enable()
    bench.run(0.01, torque(*WEIGHT))
    with pytest.raises(ConfigError) as refusal:
        bench.cycle.command(command, bench.time)
    assert refusal.value.name == name
    assert bench.step()
    assert bench.cycle.action is Action.RUN


# --- a missed reply ---


@pytest.mark.parametrize("kind", ["bench", "guarded"])
def test_a_missed_reply_never_zeroes_the_damping(kind, request):
    bench = request.getfixturevalue(kind)
    law = moving(bench)
    before = bench.torques
    bench.faults.lose_replies(1, 2)
    steps = []
    for _ in range(4):
        fresh = bench.step(law() if bench.cycle.supervisor.exchanges.bad == 0 else None)
        steps.append(np.abs(bench.torques - before).max())
        before = bench.torques
        assert fresh or bench.cycle.action is Action.HOLD
    assert bench.cycle.lost_replies == 2
    assert not bench.cycle.supervisor.stopped
    assert max(steps) < 0.1  # N·m: with the damping at zero it were 1.5
    bench.run(0.05, law)
    assert bench.cycle.action is Action.RUN


def test_a_motor_that_falls_silent_stops_the_arm_and_is_named(bench):
    law = moving(bench)
    bench.faults.lose_replies(1, -1)
    bench.run(0.02, law)
    assert bench.cycle.supervisor.stopped
    assert "no reply of elbow (damiao DM4310, id 0x02)" in bench.cycle.supervisor.causes[0]
    bench.run(0.3)
    assert np.abs(bench.velocity).max() < 0.05


# --- what stops ---


def stopped(bench, law, seconds=0.3):
    """Stopped, and at rest in time."""
    bench.run(0.03, law)
    supervisor = bench.cycle.supervisor
    assert supervisor.stopped, supervisor.message
    bench.run(seconds - 0.03, law)
    return supervisor.causes


def test_a_motor_s_error_stops_the_arm_and_is_named(bench):
    law = moving(bench)
    bench.faults.fail(0, 0xC)
    causes = stopped(bench, law)
    assert causes[0] == "base: over-temperature of its winding"
    assert np.abs(bench.velocity[1:]).max() < 0.05
    rows = bench.cycle.describe()
    assert [row["state"] for row in rows] == ["fault", "holding", "holding"]
    assert rows[0]["error"]


def test_a_hot_motor_stops_the_arm_before_it_gives_up_itself(bench):
    law = moving(bench)
    bench.faults.temperature(2, 75.0)
    causes = stopped(bench, law)
    assert causes == ["wrist: 75 °C (temperature_limit 70 °C)"]
    assert all(motor.enabled for motor in bench.bus.motors)
    assert np.abs(bench.velocity).max() < 0.05


def test_a_motor_that_loses_its_power_stops_the_arm(bench):
    law = moving(bench)
    bench.faults.power(0, False)
    causes = stopped(bench, law)
    assert "no reply of base" in causes[0]
    assert np.abs(bench.velocity[1:]).max() < 0.05


def test_two_motors_with_one_id_stop_the_arm(bench):
    law = moving(bench)
    bench.faults.second(1)
    causes = stopped(bench, law)
    assert any("do two motors have one id" in cause for cause in causes)
    assert np.abs(bench.velocity[[0, 2]]).max() < 0.05


def test_a_motor_with_a_wrong_id_is_told_with_the_frames_of_nobody(bench):
    law = moving(bench)
    bench.faults.identity(1, 0x02, 0x19)
    causes = stopped(bench, law)
    assert "frames of nobody: 0x19" in causes[0]
    assert any("019#" in message for _, message in bench.cycle.supervisor.events)


def test_a_controller_that_ends_stops_the_arm(bench):
    moving(bench)
    causes = stopped(bench, None)
    assert "the last command is" in causes[0]
    assert np.abs(bench.velocity).max() < 0.05


def test_bus_off_is_told_and_the_motors_hold_by_themselves(guarded):
    law = moving(guarded)
    guarded.faults.bus_off(True)
    causes = stopped(guarded, law)
    assert "bus-off" in causes[0]
    assert np.abs(guarded.velocity).max() < 0.3  # by a fifth of the damping alone
    held = np.array(guarded.rotors.position)
    guarded.run(1.5)
    assert np.array(guarded.rotors.position) == pytest.approx(held, abs=0.1)
    assert np.abs(guarded.velocity).max() < 0.01


def test_a_frame_of_nobody_is_told_once_and_stops_nothing(bench):
    law = moving(bench)
    for _ in range(3):
        bench.faults.stranger(0x123)
        bench.run(0.01, law)
    assert bench.cycle.strange_frames == 3
    assert bench.cycle.action is Action.RUN
    told = [message for _, message in bench.cycle.supervisor.events if "123#" in message]
    assert len(told) == 1


# --- after a stop ---


def test_a_stopped_arm_is_held_until_a_user_lets_it_go(bench):
    law = moving(bench)
    bench.cycle.supervisor.request_quick_stop()
    bench.run(0.4, law)
    held = np.array(bench.rotors.position)
    bench.run(3.0, law)  # longer than any time of the supervisor
    assert np.array(bench.rotors.position) == pytest.approx(held, abs=2e-3)
    assert bench.cycle.action is Action.DISABLE
    assert bench.cycle.is_still
    bench.cycle.release()
    bench.run(0.1, law)
    assert not any(motor.enabled for motor in bench.bus.motors)
    assert bench.cycle.is_released


def test_a_stopped_arm_goes_on_only_when_a_user_enables_it(bench):
    law = moving(bench)
    bench.cycle.supervisor.request_quick_stop()
    bench.run(0.4, law)
    before = np.array(bench.rotors.position)
    assert bench.cycle.supervisor.request_enable() == []
    bench.run(0.05, torque(*WEIGHT))
    assert bench.cycle.action is Action.RUN
    assert np.array(bench.rotors.position) == pytest.approx(before, abs=5e-3)


def test_a_fault_is_reset_and_the_motor_stays_disabled(bench):
    law = moving(bench)
    bench.faults.fail(0, 0xC)
    stopped(bench, law)
    assert bench.cycle.supervisor.request_enable()
    bench.line.send(bench.cycle.orders("clear"))
    bench.run(0.1)
    assert not bench.bus.motors[0].enabled
    assert bench.cycle.supervisor.request_enable() == []
    bench.run(0.1)
    assert bench.bus.motors[0].enabled


def test_motors_that_hold_from_a_run_before_are_left_as_they_are(bench):
    for motor in bench.bus.motors:
        motor.enable()
    bench.run(0.5)
    assert all(motor.enabled for motor in bench.bus.motors)
    assert {row["state"] for row in bench.cycle.describe()} == {MotorState.ENABLED.value}
