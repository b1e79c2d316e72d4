"""What identification leaves: a file of imperfections, a table, and a picture."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from ..core.errors import ConfigError, refused
from ..core.output_files import write_text
from ..core.output_paths import writable_file
from ..core.types import Array, CommandMode
from ..robot.configuration import RobotConfig
from ..robot.yaml_files import yaml_text
from ..sensing.base_tilt import tilted_mount
from ..simulation.imperfect.imperfections import load_imperfections
from ..simulation.log import figure_class, picture_path, save_picture
from ..simulation.mujoco_plant import SERVO_BANDWIDTH
from .estimate import UNKNOWN, Identification
from .estimates import Estimate
from .recording import ArmRecording

SERVO_LAG = 2.0 / SERVO_BANDWIDTH  # s, of a critically damped servo behind a ramp
NO_TORQUE = "friction and payload: not found, as no torques are measured"
ENDINGS = (".yaml", ".yml")
# N·m, N·m·s/rad and kg: what has a wider interval was not seen in the motion
WIDEST = 0.01 * UNKNOWN
WIDEST_TILT = 0.5  # rad: a tilt with a wider interval was not seen in the motion
# significant and decimal ones, of the file's numbers
DIGITS = 4
PLACES = 9


def write_file(path: str | Path, robot: RobotConfig, identification: Identification) -> Path:
    """Write the arm as imperfections, with the table as comments.

    Of a delay under positions, the simulated servo's lag is left out: the simulation adds it. A
    joint that did not move gets no friction. Payload and offsets of efforts are left out where they
    are within their own uncertainty. Delay, friction and payload have the half widths of their 99 %
    intervals beside them, also a payload that is left out.

    Raises:
        ConfigError, HardwareFault: see :func:`~...core.output_files.replaced_file`; or a YAML file
            of another kind, such as the robot's own, is there.
    """
    target = imperfections_path(path)
    head = "".join(f"# {line}\n" for line in table(robot, identification).splitlines())
    text = yaml_text(entries(robot, identification), flow=None)
    return write_text(target, head + text, *ENDINGS)


def imperfections_path(path: str | Path) -> Path:
    """The path of a file of imperfections that can be written.

    Raises:
        ConfigError: see :func:`~...core.output_paths.writable_file`; or a YAML file of another kind
            is there.
    """
    target = writable_file(path, *ENDINGS)
    if target.is_file() and target.stat().st_size:
        try:
            load_imperfections(str(target))
        except ConfigError as error:
            rule = f"is there, and no file of imperfections: it isn't overwritten ({error})"
            raise refused("file", str(path), rule) from error
    return target


def entries(robot: RobotConfig, identification: Identification) -> dict[str, Any]:
    """The entries of the file."""
    line = identification.line
    wrench = np.nan_to_num(identification.wrench_noise.value)
    offset = _offset(identification)
    jitter = float(np.nan_to_num(line.jitter.value))
    commands = {
        "delay": _number(max(float(line.delay.value) - jitter / 2.0, 0.0)),
        "jitter": _number(jitter),
    }
    if identification.mode is CommandMode.POSITION:
        commands = {"position_delay": _number(max(float(line.delay.value) - SERVO_LAG, 0.0))}
    payload = identification.payload_mass
    model: dict[str, Any] = {}
    if payload.value > payload.half_width:
        mass = float(payload.value)
        model = {
            "payload_mass": _number(mass),
            "payload_centre": _numbers(identification.payload_moment.value / mass),
        }
    tilt = identification.base_tilt
    if _is_tilted(tilt):
        model["base_tilt"] = _numbers(tilt.value)
    data = {
        "description": f"{robot.name}, identified",
        "states": {
            "delay": _number(max(identification.state_delay, 0.0)),
            "jitter": _number(float(identification.state_jitter.value)),
            "lost": _number(identification.lost),
        },
        "commands": commands,
        "noise": {
            "position": _numbers(identification.position_noise.value),
            "velocity": _numbers(identification.velocity_noise.value),
            "effort": _numbers(np.nan_to_num(line.noise.value)),
            "force": _number(wrench[0]),
            "torque": _number(wrench[1]),
        },
        "friction": {
            name: _positive(each)
            for name, each in _friction(identification).items()
            if np.isfinite(each.value).any()
        },
        "model": model,
        "effort_offset": _numbers(offset) if offset.any() else [],
        "half_width": _half_widths(identification),
    }
    return {key: value for key, value in data.items() if value}


def table(robot: RobotConfig, identification: Identification) -> str:
    """All figures with their 99 % intervals, a line each, for people."""
    line = identification.line
    rate = f"{identification.rate:.1f} Hz"
    lost = f"{100.0 * identification.lost:.2f} % lost"
    late = f"{1e3 * identification.state_delay:.2f} ms late"
    payload = identification.payload_mass
    lines = [
        f"states: {rate}, {lost}, {late}",
        f"jitter of the states {_shown(identification.state_jitter, 1e3)} ms",
        *_line_of(identification),
        f"efforts look like: {identification.effort_kind or 'nothing known'}",
        f"payload {_shown(payload)} kg" if np.isfinite(payload.value) else NO_TORQUE,
        *_line_of_tilt(robot, identification.base_tilt),
    ]
    columns = {
        "N·m Coulomb": identification.coulomb,
        "N·m·s/rad viscous": identification.viscous,
        "rad noise": identification.position_noise,
        "rad/s noise": identification.velocity_noise,
        "N·m noise": line.noise,
    }
    if identification.effort_kind == "torque":
        columns["N·m offset"] = line.offset
    for index, joint in enumerate(robot.joints):
        known = (
            (unit, _one(each, index))
            for unit, each in columns.items()
            if np.isfinite(each.value[index])
        )
        figures = (f"{_shown(each)} {unit}" for unit, each in known)
        lines.append(f"{joint}: {', '.join(figures)}")
    return "\n".join(lines)


def _line_of(identification: Identification) -> list[str]:
    delay = _shown(identification.line.delay, 1e3)
    jitter = _shown(identification.line.jitter, 1e3)
    if identification.mode is CommandMode.EFFORT:
        return [f"delay from command to effect {delay} ms, jitter {jitter} ms"]
    return [f"delay from position command to position {delay} ms, the servo's lag included"]


def _is_tilted(tilt: Estimate) -> bool:
    """Return True where a base is tilted by more than the interval of its tilt."""
    return bool((np.abs(tilt.value) > tilt.half_width).any())


def _line_of_tilt(robot: RobotConfig, tilt: Estimate) -> list[str]:
    """Tilt of the base in degrees, with the mount that has it; empty where the motion shows none."""
    if not (np.isfinite(tilt.value).all() and tilt.half_width.max() < WIDEST_TILT):
        return []
    roll, pitch = (_shown(_one(tilt, axis), 180.0 / np.pi) for axis in range(2))
    line = f"base tilted by roll {roll}, pitch {pitch} degrees"
    if not _is_tilted(tilt):
        return [line]
    mount = ", ".join(f"{angle:.4f}" for angle in tilted_mount(robot.mount, tilt.value))
    return [f"{line}: the mount's roll, pitch, yaw would be {mount} rad"]


def plot(
    path: str | Path, robot: RobotConfig, identification: Identification, recording: ArmRecording
) -> Path:
    """Angles, and efforts with the delayed commands laid over them, as a picture.

    Raises:
        ConfigError: see :func:`~...simulation.log.picture_path`.
    """
    target = picture_path(path)
    figure = figure_class()(figsize=(11.0, 2.2 * robot.n), layout="constrained")
    axes = figure.subplots(robot.n, 2, sharex=True, squeeze=False)
    t = recording.stamp - recording.start
    for joint, (left, right) in enumerate(axes):
        left.plot(t, recording.q[:, joint], linewidth=0.8)
        left.set_ylabel(f"{robot.joints[joint]} [rad]")
        right.plot(t, recording.effort[:, joint], linewidth=0.5, label="measured")
        side = right if identification.mode is CommandMode.EFFORT else left
        side.plot(
            t, identification.line.predicted[:, joint], linewidth=0.8, label="command, delayed"
        )
        right.set_ylabel("effort [N·m]")
    axes[0, int(identification.mode is CommandMode.EFFORT)].legend(loc="upper right", frameon=False)
    for axis in axes[-1]:
        axis.set_xlabel("time [s]")
    return save_picture(figure, target, dpi=100)


def _half_widths(identification: Identification) -> dict[str, Any]:
    """The entries of `half_width`: what has none, or was not seen in the motion, is left
    out, or 0 for a joint.
    """
    jitter = float(np.nan_to_num(identification.line.jitter.half_width)) / 2.0
    widths: dict[str, Any] = {
        "delay": _number(float(identification.line.delay.half_width) + jitter)
    }
    for name, each in _friction(identification).items():
        seen = np.isfinite(each.value) & (each.half_width <= WIDEST)
        if seen.any():
            widths[name] = _numbers(np.where(seen, each.half_width, 0.0))
    payload = identification.payload_mass
    if np.isfinite(payload.value) and payload.half_width <= WIDEST:
        widths["payload_mass"] = _number(float(payload.half_width))
    return widths


def _friction(identification: Identification) -> dict[str, Estimate]:
    return {"coulomb": identification.coulomb, "viscous": identification.viscous}


def _offset(identification: Identification) -> Array:
    """(n,) what is added to the measured torques [N·m]; 0 where efforts are no torques."""
    offset = identification.line.offset
    sure = (np.abs(offset.value) > offset.half_width) & (identification.effort_kind == "torque")
    return np.where(sure, offset.value, 0.0)


def _positive(estimate: Estimate) -> list[float]:
    return _numbers(np.maximum(np.nan_to_num(estimate.value), 0.0))


def _one(estimate: Estimate, index: int) -> Estimate:
    return Estimate(estimate.value[index], estimate.half_width[index])


def _shown(estimate: Estimate, scale: float = 1.0) -> str:
    value, width = (
        round(scale * float(each), PLACES) for each in (estimate.value, estimate.half_width)
    )
    return f"{value:.3g} ± {width:.2g}"


def _number(value: float) -> float:
    return float(f"{round(value, PLACES):.{DIGITS}g}")


def _numbers(values: Array) -> list[float]:
    return [_number(each) for each in values.tolist()]
