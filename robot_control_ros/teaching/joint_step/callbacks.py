"""Laws of one joint, called at every physics step: the package's PID, two examples, and
whatever a user writes.
"""

from __future__ import annotations

import importlib
import math
import sys
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np

from ...core.errors import ConfigError, refused
from ...core.gains import make_gains
from ...core.types import JointSpaceReference, RobotState
from ...laws.joint_pid import JointPid
from ...robot.model import RobotModel
from .response import Callback, JointInput, fault

_URDF = """<robot name="joint"><link name="base"/><link name="lever"><inertial><mass value="1"/>
<inertia ixx="1" iyy="1" izz="1" ixy="0" ixz="0" iyz="0"/></inertial></link>
<joint name="joint" type="{}"><parent link="base"/><child link="lever"/><axis xyz="0 0 1"/>
<limit lower="-1e9" upper="1e9" effort="1e9" velocity="1e9"/></joint></robot>"""


class Pid:
    """The law `joint_pid`, of one joint; the velocity limit is the joint's.

    Args:
        gains: Gains of the law, by name.

    Raises:
        ConfigError: a gain is refused.
    """

    def __init__(self, gains: Mapping[str, Any]) -> None:
        self._given = make_gains(JointPid.Gains, gains, 1)
        self._law = JointPid()

    def __call__(self, joint: JointInput) -> float:
        q = np.array([joint.position])
        dt = joint.step_size
        if joint.init:
            urdf = _URDF.format("continuous" if joint.cyclic else "revolute")
            self._model = RobotModel(urdf, ["joint"], "base", "lever")
            self._gains = replace(self._given, velocity_limit=np.array([joint.velocity_limit]))
            self._last = q
        v = (q - self._last) / dt
        self._last = q
        state = RobotState(0.0, q, v, np.zeros(1))
        kin = self._model.update(q, v)
        if joint.init:
            self._law.reset(state, kin)
        still = np.zeros(1)
        reference = JointSpaceReference(q=np.array([joint.target]), v=still, a=still)
        command = self._law.compute(state, kin, reference, self._gains, dt)
        return float(command.values[0])


class Braking:
    """P as in the PID, but never faster than what can still be braked: |v| <= sqrt(2 a |e|). It
    starts with a jump.

    Args:
        p: Fraction of the error that is taken back per step.
        acceleration: Acceleration of the braking, a [rad/s²].
    """

    def __init__(self, p: float, acceleration: float) -> None:
        self._p = p
        self._acceleration = acceleration

    def __call__(self, joint: JointInput) -> float:
        size = abs(joint.error)
        fastest = math.sqrt(2.0 * self._acceleration * size)
        return math.copysign(min(self._p * size / joint.step_size, fastest), joint.error)


class Trapezoidal:
    """The velocity rises to its limit, stays there and falls to zero at the target, by no more than
    a T per step.

    To stop from (n + r) a T, 0 <= r < 1, takes the way (n (n + 1) / 2 + r (n + 1)) a T²; that is
    solved for n and r.

    Args:
        acceleration: Acceleration a [rad/s²].
    """

    def __init__(self, acceleration: float) -> None:
        self._acceleration = acceleration

    def __call__(self, joint: JointInput) -> float:
        if joint.init:
            self._v = 0.0
        change = self._acceleration * joint.step_size
        way = abs(joint.error) / (change * joint.step_size)
        n = math.floor((math.sqrt(1.0 + 8.0 * way) - 1.0) / 2.0)
        fastest = (n + (way - n * (n + 1) / 2.0) / (n + 1)) * change
        wanted = math.copysign(min(fastest, joint.velocity_limit), joint.error)
        self._v = min(max(wanted, self._v - change), self._v + change)
        return self._v


def load(name: str) -> Callback:
    """A user's callback, from its file as it is now.

    Args:
        name: ``package.module:function``; an object that can be called will do.

    Raises:
        ConfigError: there is none; with the line where the module fails.
    """
    module, colon, attribute = name.partition(":")
    if not (module and colon and attribute):
        raise refused("callback", name, "must be package.module:function")
    try:
        importlib.invalidate_caches()
        known = sys.modules.get(module)
        found = getattr(
            importlib.import_module(module) if known is None else importlib.reload(known), attribute
        )
    except Exception as error:  # whatever a user's module raises when it is imported
        raise ConfigError(f"callback {name!r} can't be loaded: {fault(error)}") from error
    if not callable(found):
        raise ConfigError(f"callback {name!r} can't be called: it is {found!r}")
    callback: Callback = found
    return callback
