"""One state of a robot under control."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from ..core.spatial import make_pose, pose_from_rows, rotation_exp
from ..core.types import Array


@dataclass(frozen=True, eq=False)
class Snapshot:
    """One state of a robot under control, all of it from one sample.

    Attributes:
        time: Stamp of the sample, by the robot's clock [s].
        pose: (4, 4) tip in the base.
        pose_error: (6,) reference minus pose, base axes [m, rad].
        twist: (6,) of the tip, base axes [m/s, rad/s].
        wrench: (6,) by the environment on the tip, base axes [N, N·m]; NaN where there is no fresh
            one.
        q, v, effort: (n,) of the joints [rad, rad/s, N·m].
        moving: True while the reference moves.
        blocks: Everything by name, see docs/controller.md.
    """

    time: float
    pose: Array
    pose_error: Array
    twist: Array
    wrench: Array
    q: Array
    v: Array
    effort: Array
    moving: bool
    blocks: Mapping[str, Array]

    @classmethod
    def of(cls, blocks: Mapping[str, Array]) -> Snapshot:
        """Make the snapshot with the blocks of ``~/state``."""
        return cls(
            time=float(blocks["time"][0]),
            pose=pose_from_rows(blocks["pose"]),
            pose_error=blocks["pose_error"],
            twist=blocks["twist"],
            wrench=blocks["wrench"],
            q=blocks["position"],
            v=blocks["velocity"],
            effort=blocks["effort"],
            moving=bool(blocks["moving"][0]),
            blocks=blocks,
        )

    @property
    def reference_pose(self) -> Array:
        """Pose (4, 4) of the reference in the base."""
        position = self.pose[:3, 3] + self.pose_error[:3]
        turn = rotation_exp(self.pose_error[3:])
        return make_pose(position, np.asarray(turn @ self.pose[:3, :3]))
