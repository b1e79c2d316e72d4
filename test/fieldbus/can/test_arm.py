"""Files of arms of motors: what is read, and what is refused."""

from pathlib import Path

import pytest
import yaml

from robot_control_ros.core.errors import ConfigError
from robot_control_ros.fieldbus.can.can_arm import load_arm
from robot_control_ros.robot.configuration import load_robot

MOTOR = {
    "joint": "a",
    "family": "damiao",
    "model": "DM4310",
    "id": 1,
    "reply_id": 0x11,
    "stiffness": 20,
    "damping": 1,
}


def written(folder: Path, motors, **entries) -> str:
    path = folder / "arm.yaml"
    path.write_text(yaml.safe_dump({"motors": motors, **entries}))
    return str(path)


def test_the_openarm_s_motors_are_the_robot_s():
    arm = load_arm("openarm")
    robot = load_robot("openarm", "can")
    motors = arm.in_order_of(robot.joints)
    assert [motor.id for motor in motors] == [1, 2, 3, 4, 5, 6, 7]
    assert [motor.reply_id for motor in motors] == list(range(0x11, 0x18))
    assert 1.0 / arm.period == robot.profile.rate
    assert robot.rotor_inertia == tuple(motor.model.rotor_inertia for motor in motors)


def test_the_order_is_the_robot_s(tmp_path):
    second = {**MOTOR, "joint": "b", "id": 2, "reply_id": 0x12, "sign": -1}
    arm = load_arm(written(tmp_path, [second, MOTOR]))
    assert [motor.joint for motor in arm.in_order_of(["a", "b"])] == ["a", "b"]
    with pytest.raises(ConfigError, match="no motor moves c"):
        arm.in_order_of(["a", "b", "c"])
    with pytest.raises(ConfigError, match="unknown joint b"):
        arm.in_order_of(["a"])


def test_without_a_limit_it_is_the_peak_torque_of_the_model(tmp_path):
    (motor,) = load_arm(written(tmp_path, [MOTOR])).motors
    assert motor.torque_limit == motor.model.peak_torque


@pytest.mark.parametrize(
    ("change", "name"),
    [
        ({"stiffness": 501}, "stiffness"),
        ({"damping": 5.1}, "damping"),
        ({"torque_limit": 10.5}, "torque_limit"),
        ({"model": "DM1"}, "model"),
        ({"family": "servo"}, "motor"),
        ({"damping": 0}, "damping"),
        ({"id": 0}, "id"),
    ],
)
def test_what_a_motor_can_t_do_is_refused(tmp_path, change, name):
    with pytest.raises(ConfigError) as refusal:
        load_arm(written(tmp_path, [{**MOTOR, **change}]))
    assert refusal.value.name == name


@pytest.mark.parametrize(
    ("change", "name"),
    [
        ({"joint": "b", "reply_id": 0x12}, "id"),
        ({"joint": "b", "id": 0x11, "reply_id": 0x11}, "reply_id"),
        ({"id": 2, "reply_id": 0x12}, "a"),
    ],
)
def test_two_motors_that_can_t_be_told_apart_are_refused(tmp_path, change, name):
    with pytest.raises(ConfigError) as refusal:
        load_arm(written(tmp_path, [MOTOR, {**MOTOR, **change}]))
    assert refusal.value.name == name


def test_more_frames_than_fit_into_a_period_are_refused(tmp_path):
    motors = [{**MOTOR, "joint": f"j{i}", "id": i + 1, "reply_id": i + 17} for i in range(8)]
    with pytest.raises(ConfigError) as refusal:
        load_arm(written(tmp_path, motors, period=0.002))
    assert refusal.value.name == "period"
    assert load_arm(written(tmp_path, motors, period=refusal.value.bound)).load == pytest.approx(1)
