"""An OpenArm on an emulated CAN bus in real time: the bus's process, python-can, socketcand's
protocol over TCP, and the emulator as another process.
"""

import time

import numpy as np
import pytest

from ethercat_emulator import inject
from robot_control_ros.core.errors import ConfigError, HardwareFault
from robot_control_ros.core.types import Command, CommandMode
from robot_control_ros.fieldbus.emulation.can_program import emulated_can
from robot_control_ros.fieldbus.process.client import BusClient, BusSettings
from robot_control_ros.fieldbus.supervisor import Action

pytestmark = pytest.mark.sim
pytest.importorskip("mujoco")
pytest.importorskip("can", reason="pip install '.[can]'")

PATIENCE = 60.0  # s for what has to come


@pytest.fixture
def faults(tmp_path):
    return str(tmp_path / "faults")


@pytest.fixture
def channel(faults):
    with emulated_can("openarm", faults=faults) as channel:
        yield channel


@pytest.fixture
def settings(tmp_path, channel):
    """Settings for a machine that may stall."""
    return BusSettings(
        bus="can",
        address=channel,
        options={"reply_timeout": 1.0},
        robot="openarm",
        profile="can",
        memory=str(tmp_path / "memory"),
        bad_cycles=100,
        command_timeout=PATIENCE,
    )


@pytest.fixture
def client(settings):
    client = BusClient(settings)
    client.wait_until_ready()
    yield client
    client.close()


def enabled(faults):
    """True for each motor that follows commands."""
    lines = inject(faults, "motion").splitlines()
    return [line.split()[4] == "enabled" for line in lines if line]


def wait_for(condition):
    until = time.monotonic() + PATIENCE
    while not condition():
        assert time.monotonic() < until
        time.sleep(0.02)


def request_when_ready(client, name):
    """Ask until nothing stands against it any more."""

    def asked():
        try:
            client.request(name)
        except ConfigError:
            return False
        return True

    wait_for(asked)


def test_motors_follow_stop_by_a_fault_and_go_on_when_they_are_enabled(client, faults):
    assert not any(enabled(faults))
    request_when_ready(client, "enable")
    wait_for(lambda: client.status().action is Action.HOLD)
    assert all(enabled(faults))
    start = client.status().state.q
    for step in np.linspace(0.0, 0.04, 5):
        client.command(Command(CommandMode.POSITION, start + step))
        wait_for(lambda step=step: np.abs(client.status().state.q - start - step).max() < 0.01)
    assert client.status().action is Action.RUN

    inject(faults, "fail 4 0xA")
    wait_for(lambda: client.report()["stopped"])
    assert client.report()["causes"] == ["openarm_joint5: over-current"]
    assert enabled(faults) == [True] * 4 + [False] + [True] * 2  # the others hold the arm

    request_when_ready(client, "reset_fault")
    request_when_ready(client, "enable")
    wait_for(lambda: all(enabled(faults)))
    client.request("disable")
    wait_for(lambda: not any(enabled(faults)))


def test_at_the_end_of_the_bus_s_process_the_motors_hold_the_arm(settings, faults):
    client = BusClient(settings)
    try:
        client.wait_until_ready()
        request_when_ready(client, "enable")
        wait_for(lambda: client.status().action is Action.HOLD)
    finally:
        client.close()
    assert all(enabled(faults))


def test_a_motor_that_isn_t_there_ends_the_start_and_is_named(settings, faults):
    inject(faults, "power 2 off")
    client = BusClient(settings)
    try:
        with pytest.raises(HardwareFault) as fault:
            client.wait_until_ready()
    finally:
        client.close()
    assert "openarm_joint3" in str(fault.value)
