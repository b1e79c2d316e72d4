"""The examples do what they say, as the controller's law and within the simulated drives."""

import os
import runpy
import subprocess
import sys
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path

import numpy as np
import pytest

from robot_control_ros.cli import main as cli
from robot_control_ros.core.gains import make_gains
from robot_control_ros.core.types import (
    Command,
    CommandMode,
    JointSpaceReference,
    Reference,
    RobotState,
)
from robot_control_ros.laws import law_class
from robot_control_ros.robot.model import RobotModel
from robot_control_ros.simulation.in_process import Push, simulate

EXAMPLES = Path(__file__).resolve().parents[2] / "examples"
NAME = "joint_callback_law:JointCallback"
PHYSICS_STEP = 0.001
GAINS = {"spring": 300.0, "damper": 30.0}
FORCE = np.array([20.0, -10.0, 15.0])

pytestmark = pytest.mark.sim


class Positions:
    """Hands the reference on as positions, as a controller does that leaves the
    rest to the drives.
    """

    @dataclass(frozen=True, eq=False)
    class Gains:
        pass

    mode = CommandMode.POSITION
    reference = JointSpaceReference

    def __init__(self):
        self.terms = {}

    def reset(self, state, kin):
        pass

    def compute(self, state, kin, reference, gains, dt):
        return Command(self.mode, reference.q)


@pytest.fixture
def calls(monkeypatch):
    """(passes before, time, dt) of each call of the example."""
    monkeypatch.syspath_prepend(EXAMPLES)
    law, found = import_module("joint_callback_law").JointCallback, []
    compute = law.compute

    def watched(self, state, kin, reference, gains, dt):
        found.append((self.passes, state.time, dt))
        return compute(self, state, kin, reference, gains, dt)

    monkeypatch.setattr(law, "compute", watched)
    return found


def assert_called_at_every_physics_step(calls, steps):
    passes, times, dts = np.array(calls).T
    np.testing.assert_array_equal(passes, np.arange(steps))
    np.testing.assert_allclose(times, times[0] + PHYSICS_STEP * np.arange(steps), rtol=0, atol=1e-9)
    np.testing.assert_allclose(dts, PHYSICS_STEP, rtol=0, atol=1e-9)


def assert_deflected_as_springs_are(log, ur5):
    """In equilibrium K (q - q_ref) = Jᵀ f."""
    kin = RobotModel.of(ur5).update(log.q[-1], log.v[-1])
    assert abs(log.v[-1]).max() < 1e-4
    deflection = log.q[-1] - np.array(ur5.home)
    assert abs(deflection).max() > 0.01
    np.testing.assert_allclose(
        GAINS["spring"] * deflection, kin.jacobian[:3].T @ FORCE, rtol=0, atol=1e-2
    )


def test_as_the_law_it_is_called_at_every_physics_step_and_acts_as_a_spring(calls, ur5):
    log = simulate(ur5, NAME, GAINS, push=Push(FORCE), duration=3.0, rate=1000.0)
    assert_called_at_every_physics_step(calls, 3000)
    assert_deflected_as_springs_are(log, ur5)


@pytest.mark.parametrize("rate", [20.0, 100.0])
def test_within_the_drives_it_is_called_at_every_physics_step_and_acts_as_a_spring(
    calls, ur5, rate
):
    law = f"{__name__}:Positions"
    log = simulate(
        ur5, law, push=Push(FORCE), duration=3.0, rate=rate, joint_law=NAME, joint_law_gains=GAINS
    )
    # the first sample is that of time 0
    assert_called_at_every_physics_step(calls, 3000 - round(1000 / rate))
    assert_deflected_as_springs_are(log, ur5)


def test_within_the_drives_it_takes_the_place_of_the_stiff_servo(calls, ur5):
    law = f"{__name__}:Positions"
    stiff = simulate(ur5, law, push=Push(FORCE), duration=1.0, rate=100.0)
    assert calls == []
    soft = simulate(
        ur5, law, push=Push(FORCE), duration=1.0, rate=100.0, joint_law=NAME, joint_law_gains=GAINS
    )
    home = np.array(ur5.home)
    assert abs(soft.q[-1] - home).max() > 10.0 * abs(stiff.q[-1] - home).max()


def test_its_torque_is_spring_damper_and_weight_within_the_effort_limits(calls, ur5, rng):
    law, model = law_class(NAME)(), RobotModel.of(ur5)
    gains = make_gains(law.Gains, GAINS, 6)
    clipped = 0
    for _ in range(50):
        q, v, q_ref, v_ref = rng.uniform(-1.0, 1.0, (4, 6))
        kin = model.at(q, v)
        state = RobotState(0.0, q, v, np.zeros(6))
        torque = law.compute(
            state, kin, Reference(q=q_ref, v=v_ref, a=np.zeros(6)), gains, 0.001
        ).values
        wanted = 300.0 * (q_ref - q) + 30.0 * (v_ref - v) + kin.gravity
        limit = model.limits.effort
        clipped += int((abs(wanted) > limit).sum())
        np.testing.assert_allclose(torque, np.clip(wanted, -limit, limit), rtol=0, atol=1e-12)
    assert clipped > 0


def test_the_command_in_its_docstring_runs(calls, monkeypatch, capsys):
    monkeypatch.chdir(EXAMPLES)
    said = import_module("joint_callback_law").__doc__
    (line,) = [
        line.strip()
        for line in said.splitlines()
        if line.strip().startswith("robot_control simulate")
    ]
    assert cli.main([*line.split()[1:], "--seconds", "0.1", "--push-from", "0"]) == 0
    assert f"of ur5 under {NAME}" in capsys.readouterr().out
    assert len(calls) == 100


def test_the_call_in_its_docstring_runs(calls):
    said = import_module("joint_callback_law").__doc__
    (line,) = [line.strip() for line in said.splitlines() if line.strip().startswith("simulate(")]
    log = eval(line[:-1] + ", duration=0.5)", {"simulate": simulate})
    assert len(calls) == 490
    assert abs(log.q - log.q[0]).max() < 1e-3


@pytest.mark.long
@pytest.mark.starts("pytest, on a law that is not the package's")
def test_it_passes_what_every_law_of_the_package_has_to():
    environment = {
        **os.environ,
        "PYTHONPATH": str(EXAMPLES),
        "ROBOT_CONTROL_LAWS": "joint_callback_law:JointCallback",
    }
    command = [
        sys.executable,
        "-m",
        "pytest",
        "-q",
        "test/across/test_every_law.py",
        "-k",
        "joint_callback_law",
    ]
    done = subprocess.run(
        command, cwd=EXAMPLES.parent, env=environment, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stdout
    assert "deselected" in done.stdout


def test_the_plant_lets_the_loop_reach_its_goal(capsys):
    runpy.run_path(str(EXAMPLES / "ideal_plant.py"), run_name="__main__")
    assert capsys.readouterr().out == "0.000000 rad from the goal\n"
