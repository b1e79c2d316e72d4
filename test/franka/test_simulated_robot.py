"""The whole driver on a simulated Franka robot that enforces its limits and its network's.

`make test-franka` installs the robot and runs this. FRANKA_MINUTES sets the length of the long run.
"""

import os
import signal
import time
from contextlib import contextmanager

import numpy as np
import pytest
from simulated_franka import ADDRESS, bus_processes, simulated_franka

from robot_control_ros import Robot
from robot_control_ros.client.bus_backend import BusBackend
from robot_control_ros.core.errors import ConfigError, HardwareFault, RobotControlError
from robot_control_ros.fieldbus.process.client import BusSettings

pytestmark = [
    pytest.mark.long,
    pytest.mark.alone,
    pytest.mark.starts("the simulated robot, and the process that drives it"),
]
MINUTES = float(os.environ.get("FRANKA_MINUTES", "1"))
# The simulated robot reports its torques without gravity, and no wrench; the real one both. On a busy
# machine its time goes slower than ours, which contact detection takes for a contact.
FILE = """\
extends: fr3
name: fr3
contact: {{ collision_torque: 0, clamping_torque: 0, collision_force: 0, clamping_force: 0, following_error: 0 }}
profiles: {{ franka: {{ joint_effort: torque_without_gravity, wrench: {{ source: joint_effort }} }} }}
{payload}
"""
# admittance isn't among them: under positions the simulated robot measures neither torques nor a wrench
LAWS = (
    "impedance",
    "joint_impedance",
    "joint_pid_effort",
    "task_space_pd",
    "gravity_compensation",
    "force_control",
    "position_domain_pd",
)
RECOVERY = 5.0  # s


@pytest.fixture
def file(tmp_path):
    """Make a robot file; it returns its path."""

    def make(payload=""):
        path = tmp_path / "fr3.yaml"
        path.write_text(FILE.format(payload=payload), encoding="utf-8")
        return str(path)

    return make


@contextmanager
def led(name, law="impedance", gains=None, enable=True):
    """A robot that is led, enabled.

    A machine that is busy with tests stalls: only the robot's own 20 lost commands count here.
    """
    settings = BusSettings(
        bus="franka",
        address=ADDRESS,
        robot=name,
        profile="franka",
        priority=40,
        bad_cycles=20,
        command_timeout=0.2,
    )
    with Robot(backend=BusBackend(settings, law, gains)) as robot:
        if enable:
            robot.request("enable")
        yield robot


def on_time(robot):
    """Percentage of cycles that were on time."""
    return float(robot.diagnostics["bus"].values["on time [%]"])


def causes(robot):
    return robot.diagnostics["bus"].message


def goes_on(robot):
    """True where nothing has stopped the arm; a busy machine may have no state for a moment."""
    return causes(robot).startswith(("running", "holds the last targets"))


def wait_for_stop(robot, seconds=5.0):
    """Wait until the drives have stopped; returns why."""
    until = time.monotonic() + seconds
    while time.monotonic() < until:
        message = causes(robot)
        if message.startswith(("stopped", "stopping")):
            return message
        time.sleep(0.05)
    raise AssertionError(f"still: {causes(robot)}")


def recover(robot):
    """Recover the robot, and go on."""
    until = time.monotonic() + RECOVERY
    while True:
        try:
            robot.request("reset_fault")
            robot.request("enable")
            return
        except RobotControlError:
            if time.monotonic() > until:
                raise
            time.sleep(0.2)


def test_a_robot_is_led_by_its_address(file):
    with simulated_franka(), Robot(file(), ip=ADDRESS) as robot:
        assert robot.law == "impedance"
        assert causes(robot).startswith("disabled")
        np.testing.assert_allclose(robot.v, 0.0, rtol=0, atol=1e-3)


def test_a_target_is_reached_within_3_mm(file):
    with simulated_franka("--friction", "0.2"), led(file()) as robot:
        start = robot.pose[:3, 3].copy()
        for offset in ((0.02, 0.0, 0.0), (0.0, 0.02, 0.0), (0.0, 0.0, 0.02)):
            target = start + offset
            robot.move_to(target)
            robot.wait(1.0)
            assert np.linalg.norm(robot.pose[:3, 3] - target) < 3e-3
        assert robot.fault == ""


@pytest.mark.parametrize("law", LAWS)
def test_each_law_holds_and_moves_the_arm_without_a_reflex(file, law):
    with simulated_franka(), led(file(), law) as robot:
        start = robot.q.copy()
        robot.wait(1.0)
        assert np.abs(robot.q - start).max() < 0.05
        if law != "gravity_compensation":
            robot.jog((0.0, 0.0, 0.05, 0.0, 0.0, 0.0), duration=1.0)
            robot.wait(1.0)
        assert robot.fault == ""
        assert goes_on(robot)


def test_laws_are_switched_while_the_arm_holds(file):
    with simulated_franka(), led(file()) as robot:
        for law in ("joint_impedance", "gravity_compensation", "impedance", "position_domain_pd"):
            robot.set_law(law)
            robot.wait(1.0)
            assert robot.law == law
            assert goes_on(robot)


def test_a_declared_payload_of_1_kg_hardly_sags(file):
    payload = "payload: { mass: 1.0, center: [0.0, 0.0, 0.05], inertia: 0.001 }"
    with simulated_franka("--payload", "1.0") as simulated, led(file(payload)) as robot:
        assert simulated.declared == pytest.approx(1.0)
        before = np.array(simulated.flange)
        robot.wait(4.0)
        assert np.linalg.norm(np.array(simulated.flange) - before) < 2e-3


def test_a_payload_that_the_robot_didnt_take_is_refused(file):
    payload = "payload: { mass: 1.0, center: [0.0, 0.0, 0.05] }"
    with (
        simulated_franka("--deaf"),
        led(file(payload), enable=False) as robot,
        pytest.raises(ConfigError, match="torque error"),
    ):
        robot.request("enable")


def test_the_arm_stops_and_goes_on(file):
    with simulated_franka(), led(file()) as robot:
        for stop in ("disable", "quick_stop"):
            robot.request(stop)
            wait_for_stop(robot)
            with pytest.raises(RobotControlError):
                robot.move_to(robot.pose[:3, 3] + (0.0, 0.0, 0.02))
            robot.request("enable")
            robot.move_to(robot.pose[:3, 3] + (0.0, 0.0, 0.02))
        assert goes_on(robot)


def test_a_robot_that_is_pushed_yields_and_comes_back(file):
    gains = {"stiffness": [500, 500, 500, 50, 50, 50]}
    with simulated_franka("--friction", "0") as simulated, led(file(), gains=gains) as robot:
        before = np.array(simulated.flange)
        simulated.push(20.0, 0.0, 0.0, 3.0)
        robot.wait(2.7)
        moved = np.array(simulated.flange) - before
        assert moved[0] == pytest.approx(20.0 / 500.0, rel=0.05)
        robot.wait(3.0)
        assert np.linalg.norm(np.array(simulated.flange) - before) < 2e-3


def stall(process, seconds):
    """Stop a process for so long, as a busy machine does."""
    os.kill(process, signal.SIGSTOP)
    time.sleep(seconds)
    os.kill(process, signal.SIGCONT)


def test_a_stall_of_5_ms_is_survived(file):
    with simulated_franka(), led(file()) as robot:
        (process,) = bus_processes()
        for _ in range(5):
            stall(process, 0.005)
            robot.wait(0.3)
        assert goes_on(robot)


@pytest.mark.parametrize("seconds", [0.02, 0.05])
def test_a_longer_stall_ends_in_a_stop_that_is_told_and_recovered(file, seconds):
    with simulated_franka(), led(file()) as robot:
        (process,) = bus_processes()
        stall(process, seconds)
        time.sleep(0.5)
        if seconds < 0.03 and causes(robot) == "running":
            return  # the robot lost fewer than 20 commands
        message = wait_for_stop(robot)
        assert "communication_constraints_violation" in message or "no state" in message
        recover(robot)
        robot.move_to(robot.pose[:3, 3] + (0.0, 0.0, 0.02))
        assert goes_on(robot)


def test_some_lost_commands_are_survived(file):
    with simulated_franka() as simulated, led(file()) as robot:
        simulated.lose(0.05, 3.0)
        robot.move_to(robot.pose[:3, 3] + (0.0, 0.0, 0.05))
        robot.wait(1.0)
        assert goes_on(robot)


def test_a_line_that_loses_all_commands_ends_in_the_robots_reflex(file):
    with simulated_franka() as simulated, led(file()) as robot:
        simulated.lose(1.0, 0.2)
        message = wait_for_stop(robot)
        assert "communication_constraints_violation" in message
        assert robot.fault
        time.sleep(0.3)
        recover(robot)
        robot.move_to(robot.pose[:3, 3] + (0.0, 0.0, 0.02))


def test_states_that_dont_come_stop_the_arm(file):
    with simulated_franka() as simulated, led(file()) as robot:
        simulated.fall_silent(0.1)
        wait_for_stop(robot)
        time.sleep(0.3)
        recover(robot)
        robot.move_to(robot.pose[:3, 3] + (0.0, 0.0, 0.02))


def test_a_killed_process_leaves_the_arm_to_the_robot_and_another_one_goes_on(file):
    with simulated_franka() as simulated:
        with led(file()) as robot:
            (process,) = bus_processes()
            before = np.array(simulated.flange)
            os.kill(process, signal.SIGKILL)
            time.sleep(1.0)
            with pytest.raises((HardwareFault, RobotControlError)):
                robot.move_to(robot.pose[:3, 3] + (0.0, 0.0, 0.02))
            assert np.linalg.norm(np.array(simulated.flange) - before) < 5e-3
        with led(file()) as robot:
            robot.move_to(robot.pose[:3, 3] + (0.0, 0.0, 0.02))


def test_a_long_run_under_several_laws_has_no_reflex(file):
    begun = time.monotonic()
    switches = 0
    with simulated_franka(), led(file()) as robot:
        start = robot.pose[:3, 3].copy()
        while time.monotonic() - begun < 60.0 * MINUTES:
            for offset in ((0.05, 0.05, 0.0), (-0.05, 0.0, 0.05), (0.0, 0.0, 0.0)):
                robot.move_to(start + offset)
            robot.set_law("joint_impedance")
            robot.wait(1.0)
            robot.set_law("gravity_compensation")
            robot.wait(1.0)
            robot.set_law("impedance")
            switches += 3
            assert goes_on(robot)
        share = on_time(robot)
        values = robot.diagnostics["bus"].values
    print(
        f"\n{MINUTES:g} min, {switches} law switches, no reflex; on time {share:.2f} %; "
        f"commands that arrived {values['commands that arrived [%]']} %"
    )
