"""The report of a loop's last cycle as arrays by name: ``~/state``, see docs/controller.md."""

from __future__ import annotations

import numpy as np

from ..core.types import Array, Command
from .controller import Controller


def state_blocks(loop: Controller, command: Command) -> dict[str, Array]:
    """The blocks, for a loop that has answered a sample with a command.

    Raises:
        ConfigError: there has been no cycle.
    """
    report = loop.report()
    reference = loop.reference
    state = loop.state
    kin = loop.kin
    assert state is not None
    assert kin is not None
    wrench = report.state.wrench_on_tip
    blocks = {
        "time": np.array([state.time]),
        "pose": kin.pose[:3, :].ravel(),
        "pose_error": loop.pose_error(),
        "twist": kin.twist,
        "wrench": np.full(6, np.nan) if wrench is None else wrench,
        "target_wrench": np.zeros(6) if reference.wrench is None else reference.wrench,
        "position": state.q,
        "velocity": state.v,
        "effort": state.effort,
        "command": command.values,
        "saturated": report.saturated.astype(float),
        "rate_limited": report.rate_limited.astype(float),
        "soft_limited": report.soft_limited.astype(float),
        "spring_load": np.array([report.spring_load]),
        "contact_load": report.contact.load,
        "ringing_margin": np.array([report.ringing_margin]),
        "ringing_scale": np.array([report.ringing_scale]),
        "moving": np.array([float(report.moving)]),
        "chunk_delay": np.array([report.chunk_delay]),
        "seam_step": np.array([report.seam_step]),
        "seam_jerk": np.array([report.seam_jerk]),
        "reference_position": np.full_like(state.q, np.nan) if reference.q is None else reference.q,
    }
    if state.sensors is not None:
        blocks["sensors"] = state.sensors
    blocks.update((f"term.{name}", values) for name, values in report.terms.items())
    return blocks
