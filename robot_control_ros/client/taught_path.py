"""A motion that somebody has shown to an arm, to be kept and replayed."""

from __future__ import annotations

import csv
import io
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from ..core.errors import ConfigError, refused
from ..core.output_files import write_text
from ..core.types import Array

ENDING = ".csv"
LARGEST = 50_000_000  # bytes of a file that is read
DIGITS = 9


@dataclass(frozen=True, eq=False)
class TaughtPath:
    """Joint angles over time, as an arm was led.

    Attributes:
        joints: Names of the n joints.
        times: Times (k,) from 0 on, which rise [s].
        q: Joint angles (k, n) [rad].

    Raises:
        ConfigError: No or one point, wrong sizes, numbers that aren't finite, or times that don't
            rise from 0.
    """

    joints: tuple[str, ...]
    times: Array
    q: Array

    def __post_init__(self) -> None:
        count = len(self.times)
        if count < 2:
            raise refused("points", count, "must be 2 or more", 2, where="taught path: ")
        shape = count, len(self.joints)
        if self.q.shape != shape:
            raise refused("q", self.q.shape, f"must have the shape {shape}", shape)
        if not (np.isfinite(self.times).all() and np.isfinite(self.q).all()):
            raise refused("points", "NaN or infinity", "must be finite", where="taught path: ")
        if self.times[0] != 0.0 or not (np.diff(self.times) > 0.0).all():
            rule = "must begin at 0 and rise"
            raise refused("times", self.times, rule, where="taught path: ", unit="s")

    @property
    def duration(self) -> float:
        """Duration of the motion [s]."""
        return float(self.times[-1])

    def thinned(self, most: int) -> TaughtPath:
        """The path with `most` points at most, evenly taken; both ends stay."""
        if len(self.times) <= most:
            return self
        kept = np.unique(np.round(np.linspace(0, len(self.times) - 1, most)).astype(int))
        return TaughtPath(self.joints, self.times[kept], self.q[kept])

    def save(self, path: str | Path) -> Path:
        """Write a CSV file with a column of times and one for each joint; returns its path.

        Raises:
            ConfigError, HardwareFault: see :func:`~..core.output_files.replaced_file`.
        """
        text = io.StringIO()
        writer = csv.writer(text, lineterminator="\n")
        writer.writerow(("t", *self.joints))
        for time, angles in zip(self.times.tolist(), self.q.tolist(), strict=True):
            writer.writerow([f"{value:.{DIGITS}g}" for value in (time, *angles)])
        return write_text(Path(path), text.getvalue(), ENDING)

    @classmethod
    def load(cls, path: str | Path) -> TaughtPath:
        """Read a file that :meth:`save` wrote.

        Raises:
            ConfigError: there is no such file, or it is none of these.
        """
        file = Path(path)
        try:
            if file.stat().st_size > LARGEST:
                rule = f"must have at most {LARGEST // 1_000_000} MB"
                raise refused("file", str(path), rule, LARGEST)
            rows = list(csv.reader(io.StringIO(file.read_text(encoding="utf-8"))))
        except (OSError, UnicodeDecodeError, csv.Error) as error:
            raise ConfigError(f"{path}: {error}", name="file", value=str(path)) from error
        if not rows or rows[0][:1] != ["t"]:
            rule = "must be a taught path: its first line has t and the names of the joints"
            raise refused("file", str(path), rule)
        try:
            numbers = np.array(rows[1:], dtype=float).reshape(-1, len(rows[0]))
        except ValueError as error:
            rule = f"each line after the first must have {len(rows[0])} numbers"
            raise refused("file", str(path), rule) from error
        return cls(tuple(rows[0][1:]), numbers[:, 0], numbers[:, 1:])

    def check_joints(self, joints: Sequence[str]) -> None:
        """Refuse another arm's path."""
        if tuple(joints) != self.joints:
            rule = f"must be those of this robot: {', '.join(joints)}"
            raise refused("joints", self.joints, rule, tuple(joints), where="taught path: ")
