"""The bound for gains against a wall: against the sampled loop in closed form, as a warning, and in simulation."""

import math
import warnings
from dataclasses import replace
from itertools import product

import numpy as np
import pytest
from scipy.linalg import expm
from scipy.optimize import brentq

from robot_control_ros.cli.main import main
from robot_control_ros.control.loop import ControlLoop
from robot_control_ros.core.types import Reference, RobotState, Wrench
from robot_control_ros.experiments.stability.cells import Cell, default_body, least_contact_damping
from robot_control_ros.laws.running_law import RunningLaw
from robot_control_ros.laws.wall_contact import RATIO, WALL, least_damping, least_mass, usual_lag
from robot_control_ros.robot.configuration import load_robot, robot_names
from robot_control_ros.robot.model import RobotModel
from robot_control_ros.simulation.delayed import DelayedPlant
from robot_control_ros.simulation.in_process import simulate
from robot_control_ros.simulation.mujoco_plant import SERVO_BANDWIDTH, MujocoPlant
from robot_control_ros.simulation.scene import load_scene
from robot_control_ros.simulation.trouble import GainsWarning

LIGHT = {"mass": 2.0, "stiffness": 500.0, "damping_ratio": 1.0}  # B = 63 N·s/m
PARTS = 8  # of a period, in which the arm moves on


def contact_ratio(mass, damping, wall, period, delay, inertia, w=SERVO_BANDWIDTH):
    """The least damping ratio of the sampled loop: a body, its commands under way, and a servoed arm at a wall."""
    late = round(PARTS * delay / period)
    under_way = math.ceil(late / PARTS) + 1
    arm = np.zeros((4, 4))
    arm[0, 1], arm[1] = 1.0, (-(w**2) - wall / inertia, -2.0 * w, w**2, 2.0 * w)
    part = expm(arm * period / PARTS)[:2]

    def cycle(state):
        moved, (x, v), sent = state[:2], state[2:4], state[4:].reshape(under_way, 2)
        v = (mass * v - period * wall * moved[0]) / (mass + period * damping)
        x = x + period * v
        sent = np.vstack(([x, v], sent))
        for k in range(PARTS):
            moved = part @ np.concatenate((moved, sent[max(0, math.ceil((late - k) / PARTS))]))
        return np.concatenate((moved, (x, v), sent[:under_way].ravel()))

    columns = [cycle(column) for column in np.eye(4 + 2 * under_way)]
    multipliers = np.linalg.eigvals(np.array(columns).T)
    rates = np.log(multipliers[np.abs(multipliers) > 1e-9].astype(complex)) / period
    swinging = rates[np.abs(rates.imag) > 1.0]
    return float((-swinging.real / np.abs(swinging)).min(initial=1.0))


@pytest.mark.parametrize(("mass", "inertia"), product((2.0, 10.0, 16.0), (1.2, 2.7, 6.1)))
@pytest.mark.parametrize(("rate", "delay"), [(1000, 0.004), (500, 0.004), (125, 0.008), (125, 0.016)])
def test_the_bound_is_that_of_the_sampled_loop_or_somewhat_more(mass, inertia, rate, delay):
    arguments = WALL, 1.0 / rate, delay, inertia
    exact = brentq(lambda b: contact_ratio(mass, b, *arguments) - RATIO, 1.0, 3000.0)
    bound = float(least_damping(mass, delay + 0.5 / rate))
    assert 0.85 * exact < bound < 3.0 * exact


def test_a_stiffer_wall_or_more_delay_needs_more_damping():
    assert least_damping(2.0, 0.004) < least_damping(2.0, 0.005) < least_damping(2.0, 0.005, 2.0 * WALL)
    assert least_damping([2.0, 4.0], 0.004).shape == (2,)


# --- what gains are told ---


@pytest.mark.parametrize("name", robot_names())
def test_the_defaults_of_every_robot_are_enough(name):
    robot = load_robot(name)
    law = RunningLaw(robot, "admittance")
    assert law.warning == ""
    gains = law.gains.current
    assert (gains.virtual_damping[:3] >= least_damping(gains.mass[:3], usual_lag(robot.period))).all()


@pytest.mark.parametrize(("name", "home"), [("ur5", 6.11), ("ur5e", 6.11), ("gen3", 3.40)])
def test_the_defaults_have_the_mass_for_a_rigid_wall(name, home):
    """With the tip's inertia before the wall of the scene [kg], and 4 ms of delay."""
    mass, _ = default_body(name)
    assert mass >= 0.95 * least_mass(home, SERVO_BANDWIDTH, 0.005)


def test_gains_that_cannot_hold_are_taken_and_told_with_the_bound():
    law = RunningLaw(load_robot("ur5"), "admittance", LIGHT)
    assert law.gains.target.mass[0] == 2.0
    least = float(least_damping(2.0, usual_lag(0.002)))
    for part in ("along x, y, z", "damping 63 N·s/m", f"at least {least:.0f}", "mass of 2 kg at 500 Hz"):
        assert part in law.warning
    law.gains.set({"damping": least})
    assert law.warning == ""


def test_the_bound_counts_the_rate_and_the_axes_that_give_way():
    robot = load_robot("ur5")
    assert RunningLaw(robot.at_rate(2000.0), "admittance", LIGHT).warning == ""
    assert "along y:" in RunningLaw(robot, "admittance", {**LIGHT, "selected_axes": [0, 1, 0, 1, 1, 1]}).warning
    assert RunningLaw(robot, "admittance", {**LIGHT, "selected_axes": [0, 0, 0, 1, 1, 1]}).warning == ""
    assert RunningLaw(robot, "impedance").warning == ""


def test_the_loop_warns():
    robot = load_robot("ur5")
    for gains, warned in (({}, False), (LIGHT, True)):
        loop = ControlLoop(robot, "admittance", gains)
        wrench = Wrench(np.zeros(3), np.zeros(3), "tool0")
        loop.tick(RobotState(0.0, np.array(robot.home), np.zeros(6), np.zeros(6), wrench))
        assert bool(loop.warning) is warned


def test_stability_has_the_bound_for_the_robot_s_own_mass():
    cell = Cell("ur5", 500.0, 0.004, 0.0, 0.0, True, 0.0)
    mass, damping = default_body("ur5")
    assert least_contact_damping(cell) == pytest.approx(float(least_damping(mass, 0.005)))
    assert least_contact_damping(cell) < damping < least_contact_damping(replace(cell, delay=0.016))


@pytest.mark.sim
def test_a_simulation_warns_of_gains(capsys):
    pytest.importorskip("mujoco")
    with pytest.warns(GainsWarning, match="against a wall"):
        simulate("ur5", "admittance", LIGHT, duration=0.01, rate=500.0)
    with warnings.catch_warnings():
        warnings.simplefilter("error", GainsWarning)
        simulate("ur5", "admittance", duration=0.01, rate=500.0)
    settings = [f"--set={name}={value}" for name, value in LIGHT.items()]
    assert main(["simulate", "--law", "admittance", "--seconds", "0.01", "--rate", "500", *settings]) == 0
    assert "robot_control: warning: admittance: against a wall" in capsys.readouterr().err


# --- in simulation: 20 mm into a wall, at 0.1 m/s ---

PRESS, SPEED, SETTLED, LAST = 0.02, 0.1, 2.0, 0.5  # m, m/s, s, s
SPRING_GAP = 0.02  # m before the sprung wall


class Approach:
    """Towards a wall, along x, and into it."""

    def __init__(self, start, way):
        self._start, self.end = start, way / SPEED

    def sample(self, t):
        pose, twist = self._start.copy(), np.zeros(6)
        pose[0, 3] += SPEED * min(t, self.end)
        twist[0] = SPEED if t < self.end else 0.0
        return Reference(pose, twist, np.zeros(6))


class Recorded:
    """A simulated arm before a wall: MuJoCo's, or a spring [N/m]; the force at each physics step."""

    def __init__(self, robot, wall):
        self.forces, self._wall, self._tip = [], wall, robot.tip
        self._plant = MujocoPlant(robot, rate=1000.0, scene=load_scene("wall"))
        self._model = RobotModel.of(robot)
        self._surface = None
        if wall:
            start = self._plant.start
            self._plant = MujocoPlant(robot, rate=1000.0)
            self._plant.reset(start)
            self._surface = self._model.at(start).pose[0, 3] + SPRING_GAP

    def open(self):
        pass

    def close(self):
        pass

    def write(self, command):
        self._plant.write(command)

    def read(self):
        state = self._plant.read()
        if not self._wall:
            self.forces.append(np.linalg.norm(self._plant.contact_wrench()[:3]))
            return state
        force = self._wall * max(self._model.at(state.q).pose[0, 3] - self._surface, 0.0)
        self._plant.push(self._tip, np.array([-force, 0.0, 0.0]), np.zeros(3))
        self.forces.append(force)
        return state


def pressed(name, rate, delay, wall=0.0, gains=None):
    """Forces (k,) at 1 kHz, and from which sample on they shall be at rest."""
    robot = load_robot(name).at_rate(rate)
    arm, loop = Recorded(robot, wall), ControlLoop(robot, "admittance", gains)
    line = DelayedPlant(arm, 1000.0, rate=rate, delay=delay)
    way = (SPRING_GAP if wall else 0.1) + PRESS
    for cycle in range(round((way / SPEED + SETTLED + LAST) * rate)):
        command = loop.tick(line.read())
        if cycle == 0:
            loop.motion.trajectory = Approach(loop.tip(), way)
        line.write(command)
    return np.array(arm.forces), round((way / SPEED + SETTLED) * 1000.0)


def losses(force):
    touches = force > 0.0
    return int((touches[:-1] & ~touches[1:]).sum())


def holds(force, settled):
    rest = np.median(force[settled:])
    return losses(force) <= 3 and rest > 5.0 and np.abs(force[settled:] - rest).max() <= 0.05 * rest


CONDITIONS = list(product((500.0, 1000.0), (0.0, 0.004)))


@pytest.mark.sim
def test_the_defaults_stay_in_contact_with_a_rigid_wall_where_light_gains_hammer():
    pytest.importorskip("mujoco")
    assert holds(*pressed("ur5", 500.0, 0.004))
    force, settled = pressed("ur5", 500.0, 0.004, gains=LIGHT)
    assert not holds(force, settled)
    assert losses(force) > 10


@pytest.mark.long
@pytest.mark.sim
@pytest.mark.parametrize("wall", [0.0, WALL], ids=["rigid", "sprung"])
@pytest.mark.parametrize(("rate", "delay"), CONDITIONS)
@pytest.mark.parametrize("name", robot_names())
def test_the_defaults_stay_in_contact(name, rate, delay, wall):
    pytest.importorskip("mujoco")
    if name == "planar_two_link" and not wall:
        pytest.skip("it touches the scene's wall with its link, before the sensor")
    assert holds(*pressed(name, rate, delay, wall))
