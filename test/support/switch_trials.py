"""Switches of law on simulated arms, from each law to each other one: what the motors and the
tip do after them.

``python test/support/switch_trials.py ROBOT motion|contact MILLISECONDS`` prints a table.
"""

import fnmatch
import os
import pickle
import sys
from dataclasses import dataclass, replace

import numpy as np
from laws_under_test import LAWS, outputs

from evidence.contact.trial_arm import TrialArm, trial_robot
from robot_control_ros.control.loop import ControlLoop
from robot_control_ros.laws import law_class
from robot_control_ros.laws.running_law import RunningLaw
from robot_control_ros.references import Circle
from robot_control_ros.simulation.in_process import lockstep

BEFORE = 1.5  # s, from the start of the motion to the switch
AFTER = 0.3  # s, from the switch on, that are judged
RADIUS = 0.06  # m
TURN = 2.5  # s
# m/s, towards the wall and into it
FREE = 0.03
INTO = 0.002
PRESSED = 20.0  # N, with which the tip then presses
# m of the tip, where the wall holds it, and how far the target of a compliant law is behind it
WALL = 0.6
BEHIND = 0.04
MEAN = 50  # samples over which the force counts: a first peak is none
CALM = 1.0  # s, from then to the switch
VARIANTS = [(law, word) for law in LAWS for word in outputs(law)]
STIFF = ("joint_impedance", "joint_pid", "joint_pid_effort", "position_domain_pd")
WITHOUT_TARGET = ("gravity_compensation",)


@dataclass(frozen=True)
class Switched:
    """What a switch has done.

    Attributes:
        step: largest change of a motor's mean torque from one control period to the next, over what
            its effort rate allows.
        steady: the same where the old law goes on.
        away: largest distance of the tip from where the old law would have led it [m].
        force: largest contact force [N].
        held: contact force before the switch [N].
        lag: largest distance of the tip from its reference where the old law goes on [m].
        fault: reason of the safe output; empty for none.
    """

    step: float
    steady: float
    away: float
    force: float
    held: float
    lag: float
    fault: str


class MotorArm(TrialArm):
    """A trial's arm that remembers its motors' torques (n,) [N·m] of each physics step."""

    def __init__(self, robot, scene=""):
        self.torques = []
        super().__init__(robot, scene)

    def sample(self):
        state = super().sample()
        self.torques.append(state.effort.copy())
        return state


@dataclass
class Way:
    """What an arm did from the switch on: places (k, 3) of the tip, its largest distance from the
    reference, torques (m, n) and contact forces (m,).
    """

    tip: np.ndarray
    lag: float
    torques: np.ndarray
    forces: np.ndarray
    held: float
    fault: str


def law_of(robot, variant):
    """The law of a variant; the simulated servos know their load."""
    law, word = variant
    gains = {} if word is None else {"output": word}
    if word == "position" and hasattr(law_class(law).Gains, "gravity"):
        gains["gravity"] = False
    if law == "force_control":
        gains |= {"force_axes": [0.0] * 6}
    return RunningLaw(robot, law, gains)


class Switches:
    """An arm that is led to the moment of a switch, once; each switch goes on in a process of its
    own.
    """

    def __init__(self, name, situation, delay, first):
        robot = trial_robot(name)
        # known, as identification finds it
        self.robot = replace(robot, profile=replace(robot.profile, delay=delay))
        self.delay = delay
        self.first = first
        self.arm = MotorArm(self.robot, "wall" if situation == "contact" else "")
        self.loop = ControlLoop(self.robot, law_of(self.robot, first))
        self.line = self.arm.late(delay)
        self.line.open()
        if situation == "motion":
            self._circle()
        else:
            self._press()
        self.at = len(self.arm.torques)

    def _go(self, cycles):
        for _, kin, _ in lockstep(self.line, self.loop, cycles):
            yield kin

    def _circle(self):
        for k, _ in enumerate(self._go(round(BEFORE / self.robot.period))):
            if k == 0:
                state = self.loop.state
                self.loop.motion.trajectory = Circle(
                    self.loop.tip(), RADIUS, TURN, time=state.time, fade=0.5
                )

    def _press(self):
        if self.first[0] in STIFF:
            self._press_until(PRESSED)
        else:
            self._press_behind(BEHIND)
        for _ in self._go(round(CALM / self.robot.period)):
            pass

    def _press_behind(self, distance):
        """Ask for a target behind where the wall holds the tip [m]."""
        for k, kin in enumerate(self._go(round(3.0 / self.robot.period))):
            if k == 0:
                goal = kin.pose.copy()
                goal[0, 3] = WALL + distance
                self.loop.motion.move_to(goal)

    def _press_until(self, force):
        """Jog into the wall until it presses with a force [N]."""
        twist = np.zeros(6)
        for _ in self._go(round(20.0 / self.robot.period)):
            pressed = -float(np.mean(self.arm.forces[-MEAN:], axis=0)[0])
            twist[0] = INTO if pressed > 0.0 else FREE
            if pressed >= force:
                return
            self.loop.motion.jog(twist, 0.1)
        raise AssertionError("the tip meets no wall")

    def way(self, law=None):
        """What the arm does after a switch to a law, or where it keeps its law."""
        reading, writing = os.pipe()
        child = os.fork()
        if child == 0:
            status = 1
            try:
                os.close(reading)
                with os.fdopen(writing, "wb") as file:
                    pickle.dump(self._way(law), file)
                status = 0
            finally:
                os._exit(status)
        os.close(writing)
        with os.fdopen(reading, "rb") as file:
            data = file.read()
        assert os.waitpid(child, 0)[1] == 0
        return pickle.loads(data)

    def _way(self, law):
        held = float(np.linalg.norm(self.arm.forces[-1]))
        if law is not None:
            self.loop.switch_law(law_of(self.robot, law))
        tip = []
        fault = ""
        lag = 0.0
        for kin in self._go(round((AFTER + self.delay) / self.robot.period)):
            tip.append(kin.pose[:3, 3])
            lag = max(lag, float(np.linalg.norm(self.loop.pose_error()[:3])))
            fault = fault or self.loop.fault
        torques = np.array(self.arm.torques[self.at - self._period() :])
        forces = np.linalg.norm(np.array(self.arm.forces[self.at :]), axis=1)
        return Way(np.array(tip), lag, torques, forces, held, fault)

    def _period(self):
        """Physics steps in a control period."""
        return round(self.robot.period / self.arm.model.opt.timestep)

    def switched(self, law, twin):
        """What a switch to a law does, beside the arm that keeps its law."""
        way = self.way(law)
        away = np.linalg.norm(way.tip - twin.tip, axis=1).max()
        return Switched(
            self._step(way),
            self._step(twin),
            float(away),
            float(way.forces.max()),
            way.held,
            twin.lag,
            way.fault,
        )

    def _step(self, way):
        period = self._period()
        means = way.torques.reshape(-1, period, self.robot.n).mean(axis=1)
        change = np.abs(np.diff(means, axis=0))
        allowed = np.array(self.robot.effort_rate) * self.robot.period
        return float((change / allowed).max())


def firsts(situation):
    """The laws from which a switch begins; one without a target neither moves nor presses."""
    return [each for each in VARIANTS if each[0] not in WITHOUT_TARGET or situation == "rest"]


def name_of(variant):
    return "-".join(filter(None, variant))


def main(robot, situation, milliseconds, pattern="*"):
    for first in firsts(situation):
        if not fnmatch.fnmatchcase(name_of(first), pattern):
            continue
        try:
            switches = Switches(robot, situation, 1e-3 * float(milliseconds), first)
        except Exception as error:
            print(f"{name_of(first)}: {error}", flush=True)
            continue
        twin = switches.way()
        for law in VARIANTS:
            if law == first:
                continue
            got = switches.switched(law, twin)
            mark = "" if got.step <= max(1.5, got.steady) and got.away <= 3e-3 else " *"
            motors = f"step {got.step:6.2f} ({got.steady:5.2f})"
            tip = f"away {1e3 * got.away:6.2f} mm, lag {1e3 * got.lag:5.2f} mm"
            force = f"force {got.force:6.1f} of {got.held:5.1f} N"
            names = f"{name_of(first):28} {name_of(law):28}"
            print(f"{names} {motors}  {tip}  {force} {got.fault[:60]}{mark}", flush=True)


if __name__ == "__main__":
    main(*sys.argv[1:])
