"""Emulated motors: the torque that a command gives, errors, timeouts, and the bus that they are on."""

import pytest

from can_emulator import (
    DM4310,
    RMD_X,
    RS03,
    Bus,
    DamiaoMotor,
    Faults,
    Frame,
    Load,
    MyActuatorMotor,
    RobStrideMotor,
    Rotors,
)
from can_emulator.motor import MitCommand

ENABLE = bytes.fromhex("fffffffffffffffc")
DISABLE = bytes.fromhex("fffffffffffffffd")


def damiao():
    return DamiaoMotor(0x01, 0x11, DM4310)


def bus_of(*motors, **load):
    return Bus(motors, Rotors([Load(**load) for _ in motors]))


def test_the_torque_is_that_of_the_mit_law():
    motor = damiao()
    motor.enable()
    motor.command = MitCommand(0.5, -0.2, 8.0, 0.5, 1.0)
    q, v = 0.3, 0.4
    friction = DM4310.friction * v
    expected = 8.0 * (0.5 - q) + 0.5 * (-0.2 - v) + 1.0
    assert motor.drive(q, v, 0.0) == pytest.approx(expected - friction)
    motor.command = MitCommand(torque=9.0)
    assert motor.drive(q, 0.0, 0.0) == DM4310.peak_torque


def test_a_motor_that_isn_t_enabled_gives_no_torque_but_its_friction():
    motor = damiao()
    motor.receive(Frame(0x01, b"\xff" * 8), 0.0)
    assert motor.drive(0.0, 2.0, 0.0) == pytest.approx(-2.0 * DM4310.friction)


def test_a_motor_begins_without_torque_when_it_is_enabled_again():
    motor = damiao()
    motor.receive(Frame(0x01, ENABLE), 0.0)
    motor.receive(Frame(0x01, b"\xff" * 8), 0.0)
    motor.receive(Frame(0x01, DISABLE), 0.0)
    motor.receive(Frame(0x01, ENABLE), 0.0)
    assert motor.drive(0.0, 0.0, 0.0) == 0.0


@pytest.mark.parametrize(
    ("motor", "frame"),
    [
        (DamiaoMotor(1, 0x11, DM4310), Frame(1, ENABLE, extended=True)),
        (DamiaoMotor(1, 0x11, DM4310), Frame(2, ENABLE)),
        (DamiaoMotor(1, 0x11, DM4310), Frame(1, ENABLE[:7])),
        (RobStrideMotor(1, 0xFD, RS03), Frame(0x0300FD02, bytes(8), extended=True)),
        (RobStrideMotor(1, 0xFD, RS03), Frame(0x01, bytes(8))),
        (MyActuatorMotor(1, 0, RMD_X), Frame(0x402, bytes(8))),
    ],
)
def test_frames_for_others_are_not_heard(motor, frame):
    assert motor.receive(frame, 0.0) == []
    assert not motor.enabled


def test_without_frames_a_motor_lets_go_after_its_timeout():
    motor = DamiaoMotor(1, 0x11, DM4310, timeout=0.1)
    bus = bus_of(motor)
    bus.process(Frame(1, ENABLE), 0.0)
    bus.advance(0.09)
    assert motor.enabled
    bus.advance(0.2)
    assert (motor.enabled, motor.error) == (False, DamiaoMotor.lost)
    (answer,) = bus.process(Frame(1, DISABLE), 0.2)
    assert answer.data[0] == 0xD1


def test_a_motor_that_gets_too_hot_gives_up():
    motor = damiao()
    bus = bus_of(motor)
    bus.process(Frame(1, ENABLE), 0.0)
    Faults(bus).temperature(0, 101.0)
    bus.advance(0.01)
    (answer,) = bus.process(Frame(1, ENABLE), 0.01)
    assert answer.data[0] >> 4 == 0xC
    assert answer.data[7] == 101


def test_a_rotor_turns_as_its_inertia_says():
    motor = damiao()
    bus = bus_of(motor, inertia=0.1, viscous=0.0, coulomb=0.0)
    motor.receive(Frame(1, ENABLE), 0.0)
    motor.command = MitCommand(torque=1.0)
    bus.advance(0.0)
    for k in range(1, 51):
        bus.advance(0.001 * k)
    assert bus.mechanics.velocity[0] == pytest.approx(1.0 / 0.1 * 0.05, rel=0.02)
    assert bus.time == pytest.approx(0.05)


def test_a_support_holds_a_joint_until_its_motor_is_enabled_first():
    motor = damiao()
    bus = Bus([motor], Rotors([Load(0.05, 0.0, 0.0, -1.0)]), supported=True)
    for k in range(100):
        bus.advance(0.001 * k)
    assert bus.mechanics.position == [0.0]
    bus.process(Frame(1, ENABLE), 0.1)
    bus.process(Frame(1, DISABLE), 0.102)
    for k in range(100):
        bus.advance(0.102 + 0.001 * k)
    assert bus.mechanics.position[0] < -0.05


def test_lost_replies_come_back():
    bus = bus_of(damiao())
    faults = Faults(bus)
    faults.lose_replies(0, 2)
    answers = [len(bus.process(Frame(1, ENABLE), 0.0)) for _ in range(4)]
    assert answers == [0, 0, 1, 1]


def test_without_power_a_motor_is_silent_and_then_disabled():
    motor = damiao()
    bus = bus_of(motor)
    faults = Faults(bus)
    bus.process(Frame(1, ENABLE), 0.0)
    faults.power(0, False)
    assert bus.process(Frame(1, ENABLE), 0.0) == []
    faults.power(0, True)
    assert not motor.enabled


def test_two_motors_with_one_identity_both_answer():
    bus = bus_of(damiao())
    Faults(bus).second(0)
    first, second = bus.process(Frame(1, ENABLE), 0.0)
    assert first.identifier == second.identifier
    assert first.data != second.data


def test_off_the_bus_the_host_gets_error_frames():
    bus = bus_of(damiao())
    Faults(bus).bus_off(True)
    (answer,) = bus.process(Frame(1, ENABLE), 0.0)
    assert (answer.error, answer.identifier) == (True, 0x40)
    assert not bus.motors[0].enabled


@pytest.mark.parametrize("number", [-1, 1])
def test_a_motor_that_isn_t_there_can_t_fail(number):
    with pytest.raises(ValueError, match="must be from 0 to 0"):
        Faults(bus_of(damiao())).fail(number, 1)


def test_a_bus_has_a_motor_for_each_joint():
    with pytest.raises(ValueError, match="2 motors for 1 joints"):
        Bus([damiao(), damiao()], Rotors([Load()]))
