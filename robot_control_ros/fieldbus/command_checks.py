"""What is refused before a command reaches a drive, on each bus."""

from __future__ import annotations

from collections.abc import Sequence

from ..core.errors import ConfigError
from ..core.types import Command, is_finite

# rad, that a position command may be from where the joint is at first, and from the last one
JUMP = 0.05


def check_command(command: Command, n: int) -> None:
    """Refuse a command that isn't (n,) finite numbers, by a ConfigError."""
    for part in (command.values, command.velocity, command.feedforward):
        if part is not None and not (part.shape == (n,) and is_finite(part)):
            raise ConfigError(
                f"command {part.tolist()}: must be {n} finite numbers", name="command", value=part
            )


def describe_jump(names: Sequence[str], start: Sequence[float], commanded: Sequence[float]) -> str:
    """Reason why position commands [rad] would make an arm jump.

    Empty where all are within JUMP.
    """
    return "; ".join(
        f"{name}: the command jumps from {q:.4g} rad to {target:.4g} rad (limit {JUMP:g} rad)"
        for name, q, target in zip(names, start, commanded, strict=True)
        if not abs(target - q) <= JUMP
    )
