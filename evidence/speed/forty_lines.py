"""Cartesian impedance of an arm as a researcher writes it in an afternoon: MuJoCo,
NumPy, and nothing else.
"""

from __future__ import annotations

from typing import Any

import mujoco
import numpy as np
from numpy.typing import NDArray

STIFFNESS = np.array([500.0, 500.0, 500.0, 50.0, 50.0, 50.0])  # N/m, N·m/rad
DAMPING = np.array([80.0, 80.0, 80.0, 6.0, 6.0, 6.0])  # N·s/m, N·m·s/rad


def forty_lines(
    model: Any, data: Any, tip: int, q0: NDArray[np.float64], cycles: int
) -> dict[str, NDArray[np.float64]]:
    """Hold the tip where it is at q0 (n,), one control cycle in each physics step; returns the log.

    Args:
        model, data: MuJoCo's own, of an arm whose joints are the first n and have no actuators.
        tip: Number of the body that the spring holds.
        q0: Joint angles at the start [rad].
        cycles: Number of control cycles.
    """
    n = len(q0)
    jacobian = np.zeros((6, model.nv))
    log = {
        "q": np.zeros((cycles, n)),
        "torque": np.zeros((cycles, n)),
        "error": np.zeros((cycles, 6)),
    }
    mujoco.mj_resetData(model, data)
    data.qpos[:n] = q0
    mujoco.mj_forward(model, data)
    target_position = data.xpos[tip].copy()
    target_rotation = data.xquat[tip].copy()
    inverse = np.zeros(4)
    turn = np.zeros(4)
    error = np.zeros(6)
    for k in range(cycles):
        mujoco.mj_jacBody(model, data, jacobian[:3], jacobian[3:], tip)
        error[:3] = target_position - data.xpos[tip]
        mujoco.mju_negQuat(inverse, data.xquat[tip])
        mujoco.mju_mulQuat(turn, target_rotation, inverse)
        mujoco.mju_quat2Vel(error[3:], turn, 1.0)
        twist = jacobian @ data.qvel
        torque = jacobian.T @ (STIFFNESS * error - DAMPING * twist) + data.qfrc_bias
        data.qfrc_applied[:] = np.clip(torque, -150.0, 150.0)
        log["q"][k] = data.qpos[:n]
        log["torque"][k] = data.qfrc_applied[:n]
        log["error"][k] = error
        mujoco.mj_step(model, data)
    return log
