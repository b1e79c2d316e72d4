"""Samples of a run, as arrays by name; to a CSV file or a picture."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ..core.errors import ConfigError, missing_extra, refused
from ..core.gains import AXES
from ..core.output_files import replaced_file
from ..core.output_paths import writable_file
from ..core.spatial import pose_from_rows
from ..core.types import Array, CommandMode
from ..robot.model import JointLimits
from .trouble import Trouble, find_trouble

_IN_SPACE = ("pose_error", "twist", "wrench", "contact")
_BLUES = ("#1f5fa8", "#e07b39", "#3b9e5f")


class LogSample(NamedTuple):
    """One sample, in the shapes of :class:`Log` without the N; None where there is no
    sensor or no scene.
    """

    t: float
    q: Array
    v: Array
    effort: Array
    pose: Array
    pose_error: Array
    twist: Array
    wrench: Array | None
    command: Array
    saturated: NDArray[np.bool_]
    rate_limited: NDArray[np.bool_]
    soft_limited: NDArray[np.bool_]
    fault: str = ""
    contact: Array | None = None

    @classmethod
    def of(cls, t: float, blocks: Mapping[str, Array]) -> LogSample:
        """The sample at a time [s] with the blocks of ``~/state``."""
        q, v, effort, error = (
            blocks[name] for name in ("position", "velocity", "effort", "pose_error")
        )
        twist, wrench, command = (blocks[name] for name in ("twist", "wrench", "command"))
        names = ("saturated", "rate_limited", "soft_limited")
        saturated, rate_limited, soft_limited = (blocks[name] > 0.0 for name in names)
        seen = q, v, effort, pose_from_rows(blocks["pose"]), error, twist, wrench, command
        return cls(t, *seen, saturated, rate_limited, soft_limited)


@dataclass(frozen=True, eq=False)
class Log:
    """N samples of a robot with n joints, base axes, tip origin.

    Attributes:
        joints: Names of the joints.
        mode: Mode of `command`.
        t: (N,) times [s].
        q, v, effort, command: (N, n) [rad, rad/s, N·m; command in the mode's unit].
        pose: (N, 4, 4) tip in base.
        pose_error: (N, 6) reference minus pose [m, rad].
        twist: (N, 6) twist of the tip [m/s, rad/s].
        wrench: (N, 6) wrench by the environment on the robot [N, N·m]; NaN where there is no
            sensor.
        saturated: (N, n) True where the command met a limit of effort, position or velocity.
        rate_limited: (N, n) True where the command changed as fast as it may.
        soft_limited: (N, n) True where a torque kept a joint off its position or velocity limit.
        fault: (N,) reasons why the safe output was sent in place of the law's command; empty where
            it wasn't.
        contact: (N, 6) wrench by the objects of a simulated scene on the robot [N, N·m]; NaN where
            there is no scene.
        trouble: Kinds of trouble in the run; empty where nothing went wrong. See
            :func:`~.trouble.find_trouble`.
    """

    joints: tuple[str, ...]
    mode: CommandMode
    t: Array
    q: Array
    v: Array
    effort: Array
    pose: Array
    pose_error: Array
    twist: Array
    wrench: Array
    command: Array
    saturated: NDArray[np.bool_]
    rate_limited: NDArray[np.bool_]
    soft_limited: NDArray[np.bool_]
    fault: tuple[str, ...]
    contact: Array
    trouble: tuple[Trouble, ...] = ()

    @classmethod
    def of(
        cls,
        joints: tuple[str, ...],
        mode: CommandMode,
        samples: Sequence[LogSample],
        limits: JointLimits | None = None,
    ) -> Log:
        """The log of samples in the order of time; with `limits`, `trouble` has the joints that
        left them as well.

        Raises:
            ConfigError: there are none.
        """
        _check_any(samples)
        missing = np.full(6, np.nan)
        rows = [[missing if value is None else value for value in sample] for sample in samples]
        columns = dict(zip(LogSample._fields, zip(*rows, strict=True), strict=True))
        arrays = {name: np.array(column) for name, column in columns.items() if name != "fault"}
        return cls.from_arrays(joints, mode, arrays, columns["fault"], limits)

    @classmethod
    def from_arrays(
        cls,
        joints: tuple[str, ...],
        mode: CommandMode,
        arrays: Mapping[str, Any],
        fault: Sequence[str],
        limits: JointLimits | None = None,
    ) -> Log:
        """Log of samples from columns (N, ...) by name, and the faults (N,); see :meth:`of`.

        Raises:
            ConfigError: there are none.
        """
        _check_any(fault)
        seen = {name: arrays[name] for name in ("t", "q", "v", "saturated")}
        trouble = find_trouble(joints, **seen, fault=fault, limits=limits)
        return cls(joints, mode, **arrays, fault=tuple(fault), trouble=trouble)

    def __len__(self) -> int:
        return len(self.t)

    @property
    def losses(self) -> int | None:
        """Number of times that the robot lost the contact with the scene.

        None where there is no scene.
        """
        if np.isnan(self.contact).any():
            return None
        touches = np.asarray(self.contact[:, :3].any(axis=1))
        return int((touches[:-1] & ~touches[1:]).sum())

    def to_csv(self, path: str | Path) -> Path:
        """Write one row per sample; the header names each column.

        Names are as ``q.elbow_joint`` or ``pose_error.rx``.

        ``saturated``, ``rate_limited``, ``soft_limited`` and ``fault`` are 1 or 0.

        Raises:
            ConfigError, HardwareFault: see :func:`~..core.output_files.replaced_file`.
        """
        columns = [self.t[:, None]]
        for name in LogSample._fields[1:]:
            values = getattr(self, name)
            if name == "pose":
                values = values[:, :3, :].reshape(len(self), 12)
            if name == "fault":
                values = np.array(values, dtype=bool)[:, None]
            columns.append(values)
        header = ",".join(csv_columns(self.joints))
        with replaced_file(path, ".csv") as file:
            np.savetxt(file, np.hstack(columns), delimiter=",", header=header, comments="")
        return Path(path)

    def plot(self, path: str | Path, title: str = "") -> Path:
        """Draw position error, rotation error and force over time, as a picture.

        The path's ending chooses the format; without one it is a PNG.

        Raises:
            ConfigError, HardwareFault: see :func:`save_picture`.
        """
        picture_path(path)
        figure = figure_class()(figsize=(9.0, 7.0), layout="constrained")
        rows = figure.subplots(3, 1, sharex=True)
        panels = (
            (self.pose_error[:, :3] * 1000.0, "position error [mm]", AXES[:3]),
            (np.degrees(self.pose_error[:, 3:]), "rotation error [deg]", AXES[3:]),
            (
                self.wrench[:, :3],
                "force on the tip [N]" if np.isfinite(self.wrench).any() else "no sensor",
                AXES[:3],
            ),
        )
        for axis, (values, label, names) in zip(rows, panels, strict=True):
            for column, (name, colour) in enumerate(zip(names, _BLUES, strict=True)):
                axis.plot(self.t, values[:, column], color=colour, linewidth=1.2, label=name)
            axis.set_ylabel(label)
            axis.grid(True, alpha=0.3)
            axis.margins(x=0.0)
            axis.legend(loc="upper left", bbox_to_anchor=(1.0, 1.0), frameon=False)
        rows[-1].set_xlabel("time [s]")
        if title:
            figure.suptitle(title)
        return save_picture(figure, path, dpi=120)


def _check_any(samples: Sequence[Any]) -> None:
    if not samples:
        raise ConfigError("the log is empty: no sample was taken")


def csv_columns(joints: Sequence[str]) -> list[str]:
    """The names of the columns of a log as CSV."""
    names = ["t"]
    for name in LogSample._fields[1:]:
        labels: Sequence[str] = AXES if name in _IN_SPACE else joints
        if name == "pose":
            labels = [f"{row}{column}" for row in range(3) for column in range(4)]
        names += ["fault"] if name == "fault" else [f"{name}.{label}" for label in labels]
    return names


def csv_row(sample: LogSample) -> str:
    """A sample as a line of :func:`csv_columns`."""
    values: list[Any] = []
    for name, value in sample._asdict().items():
        if name == "pose":
            value = value[:3, :]
        if name == "fault":
            value = bool(value)
        values.append(np.full(6, np.nan) if value is None else value)
    return ",".join(
        f"{number:.18e}" for number in np.concatenate([np.ravel(value) for value in values])
    )


def figure_class() -> Any:
    """Matplotlib's Figure.

    Raises:
        ConfigError: matplotlib is not installed.
    """
    try:
        from matplotlib.figure import Figure
    except ImportError as error:
        raise missing_extra("a plot", "matplotlib", "sim") from error
    return Figure


def picture_path(path: str | Path) -> Path:
    """The path of a picture that can be drawn and written.

    Raises:
        ConfigError: matplotlib is not installed; it doesn't know the format; see
            :func:`writable_file`.
    """
    formats = figure_class()().canvas.get_supported_filetypes()
    target = Path(path)
    if not target.suffix:
        target = target.with_name(f"{target.name}.png")
    ending = target.suffix.lower()
    if ending.removeprefix(".") not in formats:
        raise refused(
            "picture", str(path), f"must end in one of: {', '.join(formats)}", tuple(formats)
        )
    return writable_file(target, ending)


def save_picture(figure: Any, path: str | Path, *, dpi: int) -> Path:
    """Write a figure of Matplotlib as a picture; returns its path.

    Raises:
        ConfigError: see :func:`picture_path`.
        HardwareFault: see :func:`~..core.output_files.replaced_file`.
    """
    target = picture_path(path)
    ending = target.suffix.lower()
    with replaced_file(target, ending) as file:
        figure.savefig(file, dpi=dpi, format=ending.removeprefix("."))
    return target
