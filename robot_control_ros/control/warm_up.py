"""Compilation before control: each law runs once without an arm, so that its functions are loaded.

``python -m robot_control_ros.control.warm_up`` compiles the package's laws, so that no program
needs to do so later.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress
from dataclasses import replace
from multiprocessing import get_context

import numpy as np

from ..core.compiled import compile_now, compiled_functions, say
from ..core.errors import ConfigError
from ..core.types import JointSpaceReference, Reference, RobotState, Wrench
from ..laws import law_class, law_names
from ..laws.running_law import RunningLaw
from ..robot.configuration import RobotConfig, load_robot
from ..robot.model import RobotModel
from .loop import ControlLoop

CYCLES = 10  # of each situation; all together last longer than what a loop does only now and then
REACH = 0.01  # rad, m: of the motions
SHAKES = 40.0  # Hz: an arm that rings
_warm: set[tuple[str, str, str]] = set()  # robot, profile and law, of this process


def warm_up(
    robot: RobotConfig, laws: Iterable[str], announce: Callable[[str], object] = say
) -> None:
    """Run laws with made-up samples, so that nothing is compiled while they control an arm.

    One compilation serves every robot. What this process has run before isn't run again. A law of a
    user runs only where it has compiled functions. Laws that the robot can't have are left out.

    Args:
        robot: Configuration of the robot.
        laws: Names of the laws.
        announce: Function that gets a message where it takes more than a second.
    """
    new = [
        law
        for law in laws
        if (robot.name, robot.profile_name, law) not in _warm and _may_compile(law)
    ]
    compile_now((_rehearsal(robot, law) for law in new), announce)
    _warm.update((robot.name, robot.profile_name, law) for law in new)


def check_warm(running: RunningLaw) -> None:
    """Refuse a law that has to be compiled first, while another one controls the arm.

    Raises:
        ConfigError: says how to go on.
    """
    robot = running.robot
    law = running.name
    if _may_compile(law) and (robot.name, robot.profile_name, law) not in _warm:
        message = f"law = {law!r} isn't compiled, which would hold up the arm: deactivate, set the law, and activate"
        raise ConfigError(message, name="law", value=law)


def _may_compile(law: str) -> bool:
    """Return True where the law may have compiled functions.

    They are those in its distribution, or among the names of its module.
    """
    try:
        module = law_class(law).__module__
    except ConfigError:  # one that can't be loaded is refused where it is used
        return False
    functions = compiled_functions()
    if any(name.startswith(f"{module.partition('.')[0]}.") for name in functions):
        return True
    numbers = {id(function) for function in functions.values()}
    return any(id(value) in numbers for value in vars(sys.modules[module]).values())


def _rehearsal(robot: RobotConfig, law: str) -> Callable[[], None]:
    def run() -> None:
        try:
            loop = ControlLoop(robot, law)
        except ConfigError:  # a law that this robot can't have
            return
        # a law of a user: what it raises it raises again where that is told
        with suppress(Exception):
            rehearse(loop, np.random.default_rng(0))

    return run


def rehearse(loop: ControlLoop, random: np.random.Generator, cycles: int = CYCLES) -> None:
    """Bring a loop, which controls nothing, into every situation that it may come into with an arm.

    Args:
        loop: Loop that has not run before; its settings are changed.
        random: Generator of the noise in the samples.
        cycles: Number of cycles in each situation.
    """
    rehearsal = _Rehearsal(loop, random, cycles)
    for gains in _choices(loop):
        with suppress(ConfigError):  # a choice that the robot can't have
            loop.running.gains.set(gains)
        rehearsal.begin()
        for situation in rehearsal.situations():
            with suppress(ConfigError):  # refused, with this robot, law or reference
                situation()
            rehearsal.run()
    rehearsal.end()


def _choices(loop: ControlLoop) -> Iterator[dict[str, str]]:
    """Changes of the law's gains: first none, and then each other word of each choice."""
    yield {}
    for spec in loop.running.gains.specs:
        present = getattr(loop.running.gains.target, spec.name) if spec.choices else ""
        yield from ({spec.name: word} for word in spec.choices if word != present)


class _Rehearsal:
    """Samples of an arm that stays near its home, and the requests to its loop meanwhile."""

    def __init__(self, loop: ControlLoop, random: np.random.Generator, cycles: int) -> None:
        self._loop = loop
        self._random = random
        self._cycles = cycles
        self._span = cycles * loop.robot.period  # s of a situation
        self._home = np.array(loop.robot.home)
        self._time = 0.0
        self._shaking = False

    def begin(self) -> None:
        """Start anew, and hold."""
        loop = self._loop
        self._shaking = False
        loop.contact.clear()
        loop.ringing.reset()
        loop.reset()
        self.run()

    def run(self) -> None:
        """Run the cycles of a situation."""
        for _ in range(self._cycles):
            with suppress(ConfigError):  # a sample that is refused
                self._loop.tick(self._sample())

    def situations(self) -> Iterator[Callable[[], object]]:
        """Functions, each of which begins a situation."""
        loop = self._loop
        motion = self._loop.motion
        beside = self._home + REACH
        times = np.array([0.5, 1.0]) * self._span
        pose = loop.model.at(beside).pose
        yield lambda: motion.move_to(pose)
        yield lambda: motion.jog(np.full(6, REACH), self._span)
        yield motion.hold
        yield lambda: motion.move_joints_to(beside)
        # at a fifth of the limits on average
        there = self._home + 0.1 * self._span * loop.model.limits.velocity
        yield lambda: motion.follow_joints(times, np.array([self._home, there]), None)
        yield lambda: motion.follow_joint_chunk(times, np.array([self._home, there]))
        yield lambda: motion.follow_tip(times, np.array([loop.tip(), pose]))
        yield lambda: motion.set_posture(beside)
        yield motion.go_home
        yield lambda: motion.set_feedforward_wrench(0.1 * self._random.normal(size=6), self._span)
        yield self._change_gains
        yield lambda: loop.switch_law(loop.running)
        yield self._watch_contacts
        yield self._shake

    def end(self) -> None:
        """Bring the arm to rest in each way that the loop knows."""
        loop = self._loop
        loop.idle(self._sample())
        self.begin()
        for _ in range(3):
            loop.brake(self._sample())
        for _ in range(3):
            loop.stop(self._random.random() * loop.robot.period)
        for _ in range(3):
            self._brake_softly()

    def _brake_softly(self) -> None:
        """Let the soft limits brake joints that are too fast."""
        loop = self._loop
        random = self._random
        fast = replace(self._sample(), v=loop.model.limits.velocity * random.random(loop.robot.n))
        loop.soft_limits.remember(fast)
        loop.soft_limits.add(random.normal(size=loop.robot.n), fast, loop.model.at(fast.q, fast.v))

    def _sample(self) -> RobotState:
        loop = self._loop
        random = self._random
        period = self._loop.robot.period
        self._time += period
        phase = 2.0 * np.pi * SHAKES * self._time
        size = REACH if self._shaking else 0.1 * REACH
        q = self._home + size / SHAKES * np.sin(phase)
        v = 2.0 * np.pi * size * np.cos(phase) + 1e-3 * random.normal(size=loop.robot.n)
        effort = random.normal(size=loop.robot.n)
        if loop.kin is not None:
            effort += loop.kin.gravity
        wrench = Wrench(random.normal(size=3), 0.1 * random.normal(size=3), loop.robot.wrench_frame)
        return RobotState(self._time, q, v, effort, wrench, age=period * random.random())

    def _change_gains(self) -> None:
        """Let each gain fade, one after the other where several may not change at once;
        none of them stays 0.
        """
        gains = self._loop.running.gains
        for spec in gains.specs:
            if spec.choices:
                continue
            value = np.asarray(getattr(gains.target, spec.name))
            other = 0.9 * value if value.any() else min(0.1 * spec.upper, 1.0)
            with suppress(ConfigError):
                gains.set({spec.name: True if spec.switch else other})

    def _watch_contacts(self) -> None:
        """Set thresholds of contacts that are passed."""
        watched = dict.fromkeys(("collision_torque", "clamping_torque", "following_error"), 1.0)
        self._loop.contact.settings.set(watched | {"collision_force": 1.0, "clamping_force": 1.0})

    def _shake(self) -> None:
        self._shaking = True


def compute_alone(robot: RobotConfig, laws: Iterable[str]) -> None:
    """Compute laws once each, without a loop; those that the robot can't have are left out.

    Args:
        robot: Configuration of the robot.
        laws: Names of the laws.
    """
    kin = RobotModel.of(robot).at(np.array(robot.home))
    still = np.zeros(robot.n)
    state = RobotState(0.0, kin.q, still, still, wrench_on_tip=np.zeros(6))
    tip = Reference(kin.pose, np.zeros(6), np.zeros(6), np.zeros(6))
    joints = JointSpaceReference(q=kin.q, v=still, a=still)
    for name in laws:
        with suppress(ConfigError):
            running = RunningLaw(robot, name)
            reference = joints if running.joint_space else tip
            running.law.reset(state, kin)
            running.law.compute(state, kin, reference, running.gains.current, robot.period)


def main() -> None:
    """Compile the package's laws; where that takes long a second process begins
    with the last ones.
    """
    robot = load_robot("ur5")
    laws = law_names(plugins=False)
    second = get_context("spawn").Process(
        target=compute_alone, args=(robot, laws[::-1]), daemon=True
    )

    def announce(text: str) -> None:
        say(text)
        second.start()

    warm_up(robot, laws, announce)


if __name__ == "__main__":
    main()
