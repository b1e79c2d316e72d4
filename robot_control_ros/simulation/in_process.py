"""A robot under a law in MuJoCo, in one process, in lockstep: deterministic, faster than
real time, without ROS.
"""

from __future__ import annotations

import inspect
import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from numbers import Real
from pathlib import Path
from types import NoneType
from typing import Any, cast

import numpy as np
from scipy.spatial.transform import Rotation

from ..control.loop import ControlLoop
from ..control.plant import Plant
from ..control.reactions.ringing_reaction import SOFTEN
from ..control.warm_up import warm_up
from ..core.cycle import RATE_LIMITED, SATURATED, SOFT_LIMITED
from ..core.errors import refused
from ..core.types import Array, Command, RobotState
from ..recording.cycle_file import CycleWriter, metadata_of
from ..recording.mcap_recording import McapRecording
from ..references import Trajectory
from ..robot.configuration import RobotConfig, load_robot
from ..robot.model import RobotDynamics, RobotModel
from .imperfect.imperfect_plant import arm_and_plant
from .imperfect.imperfections import Imperfections
from .log import Log
from .mujoco_plant import PHYSICS_STEP, MujocoPlant
from .scene import Scene, load_scene
from .trouble import Trouble, warn_of, warn_of_description

Start = Callable[[Array], Trajectory]
Warn = Callable[[Sequence[Trouble], str], object]
Intervention = Callable[[MujocoPlant], None]
_NO_FORCE = np.zeros(3)
TOLD_EVERY = 100  # cycles between two reports of the simulated time


@dataclass(frozen=True, eq=False)
class Push:
    """A force and torque on a link, at its origin, in base axes.

    Attributes:
        force: (3,) force [N].
        torque: (3,) torque [N·m].
        start, duration: Time when it begins, and how long it lasts [s].
        link: Name of the link; None is the robot's tip.
    """

    force: Any = (0.0, 0.0, 0.0)
    torque: Any = (0.0, 0.0, 0.0)
    start: float = 0.0
    duration: float = math.inf
    link: str | None = None

    def check(self, end: float) -> None:
        """Refuse a push that can't be applied before the `end` [s] of a simulation.

        Raises:
            ConfigError: no force, torque, or link; a start or duration that isn't possible.
        """
        for name in ("force", "torque"):
            _finite(f"push.{name}", getattr(self, name), 3)
        if not (_is_number(self.start) and 0.0 <= self.start < end):
            raise refused(
                "push.start",
                self.start,
                f"must be from 0 s to before the end at {end:g} s",
                (0.0, end),
            )
        if not (_is_number(self.duration) and self.duration > 0.0):
            raise refused("push.duration", self.duration, "must be above 0 s", (0.0, math.inf))
        if not isinstance(self.link, (str, NoneType)):
            raise refused("push.link", self.link, "must be the name of a link, or None")


def simulate(
    robot: str | RobotConfig = "ur5",
    law: str = "impedance",
    gains: Mapping[str, Any] | None = None,
    reference: Trajectory | Start | None = None,
    duration: float = 2.0,
    push: Push | None = None,
    *,
    q0: Any = None,
    rate: float = 1000.0,
    urdf: str | None = None,
    scene: str | Scene | None = None,
    intervene: Intervention | None = None,
    joint_law: str | None = None,
    joint_law_gains: Mapping[str, Any] | None = None,
    physics_step: float = PHYSICS_STEP,
    imperfections: str | Imperfections | None = None,
    ringing_reaction: str = SOFTEN,
    record: str | Path | None = None,
    warn: Warn = warn_of,
    progress: Callable[[float], object] | None = None,
) -> Log:
    """Run a law on a robot in MuJoCo, without ROS and as fast as possible.

    Args:
        robot: Name, path of a YAML file, or a configuration.
        law, gains: Name of the law, or ``package.module:Class``; its gains by name, over the
            defaults.
        reference: Trajectory, or a function that makes one from the start pose (4, 4); None holds
            the start pose.
        duration, rate: Duration of the run [s], and rate of control [Hz].
        push, intervene: Force that disturbs the robot; function that is called with the plant
            before each sample, to move objects.
        q0, urdf: (n,) joint angles to start from [rad], by default the scene's or home; another
            description's text.
        scene, imperfections: Objects around the robot, and what is wrong with it: name, path of a
            YAML file, or the object.
        joint_law, joint_law_gains, physics_step: Law within the drives, its gains, and longest
            physics step [s], see :class:`MujocoPlant`; with a joint law, `law` commands positions.
        record: Path of a new MCAP file for all control cycles; see ``robot_control replay --help``.
            None writes none.
        ringing_reaction: Reaction to ringing: warn, soften or stop, see
            :class:`~..control.reactions.ringing_reaction.RingingReaction`.
        warn: Function that is called with the trouble, and with what the gains can't do; by default
            it gives the warnings. By default numbers of the description that can't be are a
            DescriptionWarning as well.
        progress: Function that is called now and then with the simulated time [s].

    Returns: the log, one sample per control cycle. What went wrong is its `trouble`, and a
        TroubleWarning.

    Raises:
        ConfigError, ModelError: see ControlLoop and MujocoPlant; an argument that can't be used,
            `q0` beyond limits.
        HardwareFault: the physics diverged, or the arm tripped.
    """
    config = (load_robot(robot) if isinstance(robot, str) else robot).at_rate(rate)
    drives: dict[str, Any] = {
        "joint_law": joint_law,
        "joint_law_gains": joint_law_gains,
        "physics_step": physics_step,
    }
    drives["scene"] = load_scene(scene) if isinstance(scene, str) else scene
    _check_arguments(duration, push, reference)
    arm, plant = arm_and_plant(config, imperfections, urdf=urdf, rate=rate, **drives)
    loop = _can_simulate(
        ControlLoop(config, law, gains, model=RobotModel.of(config, urdf), recorded=duration)
    )
    loop.ringing.settings.set({"reaction": ringing_reaction})
    if warn is warn_of:
        warn_of_description(loop.model, config)
    warm_up(config, [law])
    plant.reset(None if q0 is None else _start(loop, q0))
    count = round(duration * rate)
    cycles = lockstep(plant, loop, count, reference, Disturbance(arm, config, push, intervene))
    with _recorded(loop, record):
        log = _log(arm, loop, cycles, count, progress)
    warn(
        log.trouble,
        "; ".join(filter(None, (loop.running.warning, loop.ringing.warning(log.t[-1])))),
    )
    return log


@contextmanager
def _recorded(loop: ControlLoop, path: str | Path | None) -> Iterator[None]:
    """Block whose cycles are written to a new file at its end, also where it ends by an error.

    Without a path no file is written.
    """
    if path is None:
        yield
        return
    with McapRecording(path, simulated=True) as recording:
        try:
            yield
        finally:
            writer = CycleWriter(recording, loop.robot.n, metadata_of(loop.robot, loop.model))
            writer.put(loop.recorder.last(math.inf))


def lockstep(
    plant: Plant,
    loop: ControlLoop,
    count: int,
    reference: Trajectory | Start | None = None,
    before: Callable[[], None] | None = None,
) -> Iterator[tuple[RobotState, RobotDynamics, Command]]:
    """Yield state, kinematics and command of `count` cycles, each once the plant has the command.

    The first one takes over the reference, see :func:`simulate`; `before` is called before each
    sample.
    """
    for cycle in range(count):
        if before is not None:
            before()
        command = loop.tick(plant.read())
        if cycle == 0 and reference is not None:
            loop.motion.trajectory = _trajectory(reference, loop.tip())
        plant.write(command)
        assert loop.state is not None
        assert loop.kin is not None
        yield loop.state, loop.kin, command


def _check_arguments(duration: Any, push: Any, reference: Any) -> None:
    """Refuse a duration that isn't above 0 s, a push after it, and what is no reference."""
    if not (_is_number(duration) and 0.0 < duration < math.inf):
        raise refused("duration", duration, "must be above 0 s", (0.0, np.inf))
    if not isinstance(push, (Push, NoneType)):
        raise refused("push", push, "must be a Push, as in Push(force=(20, 0, 0))", Push)
    if push is not None:
        push.check(duration)
    rule = "must be a trajectory, made with its arguments, or a function of the start pose that makes one"
    if reference is None or _is_trajectory(reference):
        return
    try:
        inspect.signature(reference).bind(np.eye(4))
    except (TypeError, ValueError) as error:
        raise refused("reference", reference, rule) from error


def _can_simulate(loop: ControlLoop) -> ControlLoop:
    """Refuse a wrench from efforts that only the real robot gives."""
    robot = loop.robot
    profile = loop.robot.profile
    where = f"robot {robot.name}, profile {robot.profile_name}: "
    way = "simulate another profile, such as sim"
    if profile.joint_effort != "torque" and loop.wrench.settings.target.source == "joint_effort":
        rule = f"must be torque where the wrench comes from it, as in the simulation: {way}"
        raise refused("joint_effort", profile.joint_effort, rule, where=where)
    return loop


def _trajectory(reference: Any, start: Array) -> Trajectory:
    made = reference if _is_trajectory(reference) else reference(start)
    if not hasattr(made, "sample"):
        raise refused("reference", made, "its function must return a trajectory")
    return cast(Trajectory, made)


def _is_trajectory(value: Any) -> bool:
    """True where a value is a trajectory itself; the class of one is a function that makes one."""
    return hasattr(value, "sample") and not isinstance(value, type)


def _is_number(value: Any) -> bool:
    return isinstance(value, Real) and not isinstance(value, bool)


def _finite(name: str, value: Any, count: int) -> Array:
    """The numbers (count,), or ConfigError."""
    try:
        numbers = np.array(value, dtype=float)
    except (TypeError, ValueError):
        numbers = np.empty(0)
    if numbers.shape != (count,) or not np.isfinite(numbers).all():
        raise refused(name, value, f"must be {count} finite numbers", count)
    return numbers


class Disturbance:
    """A push while it is due, and what a user does to the plant; call it before each sample.

    Args:
        plant: Plant that is pushed; it begins at time 0, and isn't reset while this is used.
        robot: Robot whose tip is pushed where the push names no link.
        push: Push to apply; None for none.
        intervene: Function that is called with the plant; None for none.
    """

    def __init__(
        self,
        plant: MujocoPlant,
        robot: RobotConfig,
        push: Push | None,
        intervene: Intervention | None = None,
    ) -> None:
        self._plant = plant
        self._link = robot.tip if push is None or push.link is None else push.link
        self._push = push
        # not known before the first sample, which refuses an unknown link
        self._acts: bool | None = None
        self._intervene = intervene

    def __call__(self) -> None:
        push = self._push
        if push is not None:
            acts = push.start <= self._plant.time < push.start + push.duration
            if acts != self._acts:
                self._acts = acts
                force, torque = (push.force, push.torque) if acts else (_NO_FORCE, _NO_FORCE)
                self._plant.push(self._link, np.asarray(force, float), np.asarray(torque, float))
        if self._intervene is not None:
            self._intervene(self._plant)


def _log(
    plant: MujocoPlant,
    loop: ControlLoop,
    cycles: Iterator[tuple[RobotState, RobotDynamics, Command]],
    count: int,
    progress: Callable[[float], object] | None,
) -> Log:
    """The log of the cycles that a loop has recorded; `count` is the number of them, at most.

    The function `progress` is told the simulated time [s] now and then.
    """
    contacts = np.full((count, 6), np.nan)
    has_scene = plant.scene is not None
    for k, _ in enumerate(cycles):
        if has_scene:
            contacts[k] = plant.contact_wrench()
        if progress is not None and k % TOLD_EVERY == 0:
            progress(k * loop.robot.period)
    record = loop.recorder.last(math.inf)
    limited = record["limited"].astype(int)
    arrays = {
        "t": record["time"],
        "q": record["q"],
        "v": record["v"],
        "effort": record["effort"],
        "pose": record["pose"],
        "pose_error": _pose_errors(record["target_pose"], record["pose"]),
        "twist": record["twist"],
        "wrench": record["wrench"],
        "command": record["sent"],
        "saturated": (limited & SATURATED) > 0,
        "rate_limited": (limited & RATE_LIMITED) > 0,
        "soft_limited": (limited & SOFT_LIMITED) > 0,
        "contact": contacts,
    }
    return Log.from_arrays(
        loop.robot.joints, loop.running.mode, arrays, record.faults(), loop.model.limits
    )


def _pose_errors(targets: Array, poses: Array) -> Array:
    """Targets minus poses (N, 6), as :func:`~..core.spatial.pose_error` gives them; zeros for a
    target that is NaN.
    """
    errors = np.zeros((len(poses), 6))
    known = ~np.isnan(targets[:, 0, 0])
    target = targets[known]
    pose = poses[known]
    errors[known, :3] = target[:, :3, 3] - pose[:, :3, 3]
    turns = target[:, :3, :3] @ pose[:, :3, :3].transpose(0, 2, 1)
    errors[known, 3:] = Rotation.from_matrix(turns).as_rotvec() if len(turns) else 0.0
    return errors


def _start(loop: ControlLoop, q0: Any) -> Array:
    q = _finite("q0", q0, loop.robot.n)
    loop.model.limits.check(loop.robot.joints, q, "q0 of ")
    return q
