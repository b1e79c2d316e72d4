"""The arms that are connected in this process, for teleoperators that begin where an arm is."""

from __future__ import annotations

from typing import TYPE_CHECKING

from lerobot.utils.errors import DeviceNotConnectedError

if TYPE_CHECKING:
    from .compliant_arm import CompliantArm

_arms: dict[str, CompliantArm] = {}


def add_arm(arm: CompliantArm) -> None:
    """Let teleoperators see a connected arm, by its id."""
    _arms[arm.id or ""] = arm


def remove_arm(arm: CompliantArm) -> None:
    """Forget an arm."""
    if _arms.get(arm.id or "") is arm:
        del _arms[arm.id or ""]


def connected_arm(id: str | None) -> CompliantArm:
    """The connected arm with an id; None stands for the only one.

    Raises:
        DeviceNotConnectedError: No such arm is connected, or there are several.
    """
    if id is None and len(_arms) == 1:
        return next(iter(_arms.values()))
    if (id or "") not in _arms:
        names = ", ".join(repr(name) for name in _arms) or "none"
        raise DeviceNotConnectedError(
            f"no compliant_arm with the id {id!r} is connected; ids: {names}: connect the robot first"
        )
    return _arms[id or ""]
