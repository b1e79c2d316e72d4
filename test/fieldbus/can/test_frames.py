"""Frames of three makers: what the data files say against the makers' examples, against the
emulator, which was written from the manuals by itself, and against programs of others.
"""

import struct

import numpy as np
import pytest

from can_emulator import DamiaoMotor, Frame, Model, MyActuatorMotor, RobStrideMotor
from can_emulator.motor import MitCommand
from robot_control_ros.core.errors import ConfigError
from robot_control_ros.fieldbus.can.frames import RANGED, FieldLayout
from robot_control_ros.fieldbus.can.motors import MotorCodec, family_names, load_family

COUNT = 10_000
EMULATED = {
    "damiao": (DamiaoMotor, "DM4310", 0x05, 0x15),
    "robstride": (RobStrideMotor, "RS03", 0x7F, 0xFD),
    "myactuator": (MyActuatorMotor, "RMD_X", 3, 0),
}


def codec_of(family, model, motor, reply=0):
    loaded = load_family(family)
    return MotorCodec(loaded, loaded.model(model), motor, reply)


def random_commands(model, rng, count, beyond=1.2):
    """Commands of which a part is beyond the ranges."""
    ranges = model.ranges
    lower = np.array([ranges[name][0] for name in RANGED])
    upper = np.array([ranges[name][1] for name in RANGED])
    middle, half = (lower + upper) / 2.0, (upper - lower) / 2.0
    values = middle + beyond * half * rng.uniform(-1.0, 1.0, (count, len(RANGED)))
    return values, np.clip(values, lower, upper), (upper - lower)


def emulated(family):
    kind, name, motor, reply = EMULATED[family]
    model = load_family(family).model(name)
    fields = ("position", "velocity", "torque", "peak_torque", "stiffness", "damping")
    ranges = {field: getattr(model, field) for field in fields}
    return kind(motor, reply, Model(**ranges)), codec_of(family, name, motor, reply)


def numbers_of(codec, frame):
    data = int.from_bytes(frame.data, "big")
    for reply in codec.replies:
        if (frame.identifier & reply.identifier_mask, data & reply.data_mask) == reply.key:
            return reply.unpack(frame.identifier, data)
    raise AssertionError(f"{frame} is none of the motor's replies")


def test_each_family_has_its_sources_and_models():
    assert family_names() == sorted(EMULATED)
    for name in family_names():
        family = load_family(name)
        assert family.sources
        assert all(model.peak_torque <= model.torque for model in family.models.values())


def test_myactuator_s_example_of_a_command_and_its_reply():
    codec = codec_of("myactuator", "RMD_X", 1)  # chapter 5.4
    values = (58982 / 65535 * 25 - 12.5, 2094 / 4095 * 90 - 45, 82 / 4095 * 500, 819 / 4095 * 5)
    frame = codec.command(*(each + 1e-9 for each in (*values, 2901 / 4095 * 48 - 24)))
    assert (frame.identifier, frame.extended) == (0x401, False)
    assert frame.data.hex() == "e66682e052333b55"
    reply = numbers_of(codec, Frame(0x501, bytes.fromhex("01e66682eb550000")))
    assert reply["position"] == pytest.approx(9.99, abs=0.02)
    assert reply["velocity"] == pytest.approx(1.021, abs=0.02)
    assert reply["torque"] == pytest.approx(10.004, abs=0.02)


def test_myactuator_s_example_of_a_status():
    codec = codec_of("myactuator", "RMD_X", 1)  # chapter 2.14.4
    reply = numbers_of(codec, Frame(0x241, bytes.fromhex("9a320001e5010400")))
    assert reply["temperature"] == 50
    assert codec.family.error_text(None, int(reply["errors"])) == "under-voltage"


def test_robstride_s_example_of_a_parameter():
    codec = codec_of("robstride", "RS00", 0x7F, 0xFD)  # chapter 4.1.16
    question = codec.read(type(codec.family.registers["mode"])(number=0x701E))
    assert (question.identifier, question.extended) == (0x1100FD7F, True)
    assert question.data.hex() == "1e70000000000000"
    reply = numbers_of(codec, Frame(0x11007FFD, bytes.fromhex("1e7000000000f041"), True))
    assert reply["register"] == 0x701E
    value = type(codec.family.registers["mode"])(number=0x701E, type="float")
    assert value.read(int(reply["value"])) == 30.0


@pytest.mark.parametrize("family", EMULATED)
def test_commands_are_understood_by_the_emulator_within_a_step(family, rng):
    motor, codec = emulated(family)
    enable = codec.order("enable")
    if enable is not None:
        motor.receive(Frame(*enable), 0.0)
    wanted, within, span = random_commands(codec.model, rng, 500)
    bits = np.array([codec.family.command.fields[name].bits for name in RANGED])
    step = span / (2.0**bits - 1.0)
    for values, expected in zip(wanted, within, strict=True):
        motor.receive(Frame(*codec.command(*values)), 0.0)
        heard = np.array([getattr(motor.command, name) for name in RANGED])
        assert (np.abs(heard - expected) <= step * (1.0 + 1e-9)).all()


@pytest.mark.parametrize("family", EMULATED)
def test_replies_of_the_emulator_are_understood_within_a_step(family, rng):
    motor, codec = emulated(family)
    motor.enable()
    motor.command = MitCommand()
    model = codec.model
    for _ in range(500):
        motor.position = rng.uniform(-model.position, model.position)
        motor.velocity = rng.uniform(-model.velocity, model.velocity)
        motor.torque = rng.uniform(-model.torque, model.torque)
        (frame,) = motor.answer(Frame(*codec.command(0.0, 0.0, 0.0, 0.0, 0.0)))
        numbers = numbers_of(codec, frame)
        layout = next(reply for reply in codec.family.replies if "torque" in reply.fields)
        for name in ("position", "velocity", "torque"):
            step = 2.0 * getattr(model, name) / (2 ** layout.fields[name].bits - 1)
            assert numbers[name] == pytest.approx(getattr(motor, name), abs=step * (1.0 + 1e-9))


@pytest.mark.parametrize("family", EMULATED)
def test_orders_are_understood_by_the_emulator(family):
    motor, codec = emulated(family)
    motor.position = 1.25

    def say(name):
        frame = codec.order(name)
        return [] if frame is None else motor.receive(Frame(*frame), 0.0)

    say("enable")
    motor.receive(Frame(*codec.command(0.0, 0.0, 0.0, 0.0, 0.0)), 0.0)
    assert motor.enabled
    (reply,) = say("disable")
    assert not motor.enabled
    motor.fail(motor.over_temperature)
    replies = say("status") or say("request")
    numbers = numbers_of(codec, replies[0])
    state = int(numbers["state"]) if "state" in numbers else None
    assert "over-temperature" in codec.family.error_text(state, int(numbers.get("errors", 0)))
    say("clear")
    assert motor.error == 0
    (reply,) = say("request")
    assert numbers_of(codec, reply)["position"] == pytest.approx(1.25, abs=4e-4)
    say("zero")
    assert motor.position == 0.0


@pytest.mark.parametrize("family", EMULATED)
def test_registers_are_read_as_the_emulator_has_them(family):
    motor, codec = emulated(family)
    motor.timeout = 0.5
    for name, register in codec.family.registers.items():
        (reply,) = motor.receive(Frame(*codec.read(register)), 0.0)
        numbers = numbers_of(codec, reply)
        assert numbers["register"] == register.number
        expected = {"mode": register.value, "timeout": 0.5}
        value = expected.get(name, getattr(codec.model, name, None))
        assert register.read(int(numbers["value"])) == pytest.approx(value)


def test_a_number_beyond_its_range_is_the_range_s_end():
    codec = codec_of("damiao", "DM4310", 1)
    assert codec.command(1e9, 1e9, 1e9, 1e9, 1e9).data.hex() == "ff" * 8
    assert codec.command(-1e9, -1e9, -1e9, -1e9, -1e9).data.hex() == "00" * 8


@pytest.mark.parametrize(
    "wrong",
    [
        {"bits": 16, "type": "float"},
        {"bits": 12, "order": "little"},
    ],
)
def test_a_field_that_no_frame_can_hold_is_refused(wrong):
    with pytest.raises(ConfigError) as refusal:
        FieldLayout(bit=0, **wrong)
    assert refusal.value.name == "bits"


# --- programs of others, where they are installed: docs/can.md says how ---


def test_damiao_s_frames_are_those_of_damiao_motor(rng):
    others = pytest.importorskip("damiao_motor", reason="pip install damiao-motor==1.0.6")
    other = others.DaMiaoMotor(0x05, 0x15, None, motor_type="4310")
    codec = codec_of("damiao", "DM4310", 0x05, 0x15)
    for q, v, kp, kd, torque in random_commands(codec.model, rng, COUNT)[0]:
        expected = other.encode_cmd_msg(q, v, torque, kp, kd)
        assert codec.command(q, v, kp, kd, torque).data == expected
    orders = {
        "enable": other.encode_enable_msg(),
        "disable": other.encode_disable_msg(),
        "zero": other.encode_save_position_zero_msg(),
        "clear": other.encode_clear_error_msg(),
    }
    for name, data in orders.items():
        assert codec.order(name).data == data
    state = codec.replies[-1]
    for _ in range(COUNT):
        data = bytes([*rng.integers(0, 256, 8)])
        head = bytes([data[0] & 0xF0 | 0x05]) + data[1:]
        seen = other.decode_sensor_feedback(head, arbitration_id=0x15)
        numbers = state.unpack(0x15, int.from_bytes(head, "big"))
        pairs = {"pos": "position", "vel": "velocity", "torq": "torque", "status_code": "state"}
        pairs |= {"t_mos": "driver_temperature", "t_rotor": "temperature"}
        for theirs, ours in pairs.items():
            assert numbers[ours] == pytest.approx(seen[theirs], abs=1e-12)


def looped_back(motor):
    """Bytes 1 to 7 of the frame that a mock bus looped back, from the state that was read of it.

    It is read with a DM4340's ranges, whatever the motor's model.
    """

    def steps(value, upper, bits):
        return round((value + upper) / (2.0 * upper) * (2**bits - 1))

    q = steps(motor.position, 12.5, 16)
    v = steps(motor.velocity, 10.0, 12)
    torque = steps(motor.torque, 28.0, 12)
    state = q << 24 | v << 12 | torque
    temperatures = [int(motor.temperature_mos) & 0xFF, int(motor.temperature_rotor) & 0xFF]
    return state.to_bytes(5, "big") + bytes(temperatures)


def test_damiao_s_frames_are_those_of_can_motor_control_within_a_step(rng):
    reason = "pip install can-motor-control==0.0.8"
    others = pytest.importorskip("can_motor_control", reason=reason)
    spec = others.MotorSpec("j", others.damiao.MotorType.DM4310, 5, 5)
    builder = others.Robot.builder()
    builder = builder.add_bus("can0", others.MockCanBus("mock"), others.damiao.DamiaoCodec())
    robot = builder.add_arm("arm", bus="can0", motors=[spec]).build()
    robot.connect()
    robot.enable()
    arm = robot["arm"]
    codec = codec_of("damiao", "DM4310", 5, 5)
    compared = 0
    for q, v, kp, kd, torque in random_commands(codec.model, rng, COUNT, beyond=1.0)[0]:
        ours = codec.command(q, v, kp, kd, torque).data
        velocity = fields_of(ours[1:])[1]
        if {velocity >> 4, velocity + 1 >> 4} & {0x33, 0x55}:
            continue  # read back, byte 2 would make it a register's answer
        arm.mit_control(np.array([[kp, kd, q, v, torque]]))
        before = looped_back(arm["j"])
        for _ in range(20):  # on a busy machine the mock may answer a tick later
            robot.tick(2000)
            theirs = looped_back(arm["j"])
            if theirs != before:
                break
        pairs = zip(fields_of(theirs), fields_of(ours[1:]), strict=True)
        apart = [(a - b) % 256 if i == 0 else a - b for i, (a, b) in enumerate(pairs)]
        assert set(apart) <= {0, 1}  # it rounds; we cut off, as damiao_motor and the maker do
        compared += 1
    assert compared > 0.98 * COUNT


def fields_of(data):
    """The lower half of the position, velocity, stiffness, damping and torque of bytes 1 to 7."""
    number = int.from_bytes(data, "big")
    return [number >> 48, *(number >> shift & 0xFFF for shift in (36, 24, 12, 0))]


def test_floats_are_those_of_the_standard_library(rng):
    register = load_family("damiao").registers["position"]
    for value in rng.normal(0.0, 100.0, 200).astype(np.float32):
        assert register.read(struct.unpack(">I", struct.pack(">f", value))[0]) == value
