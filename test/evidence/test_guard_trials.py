"""The trials of guarded moves tell a controller that ends a move from a client that does so late."""

import pytest

pytest.importorskip("mujoco", reason="the simulator needs MuJoCo")

from evidence.contact import guard_trials
from evidence.contact.guard_trials import LIMIT, PEAK, Descent, rows

pytestmark = pytest.mark.sim


def test_a_late_client_lets_stiff_joints_press():
    """In 0.1 s a tip goes 2 mm on, at 20 mm/s."""
    assert LIMIT < Descent("ur5e", "admittance").guarded() <= PEAK
    assert Descent("ur5e", "admittance").led(0.1, 0) > 2.0 * LIMIT


def test_each_law_has_a_row_of_the_controller_and_one_for_each_latency(monkeypatch):
    monkeypatch.setattr(guard_trials, "LAWS", ("impedance",))
    monkeypatch.setattr(guard_trials, "LATENCIES", (0.0,))
    monkeypatch.setattr(guard_trials, "PHASES", (0,))
    controller, client = rows("ur5e")
    assert controller.high == PEAK
    assert controller.holds
    assert client.bound == "reported"
    assert LIMIT < controller.measured < client.measured
