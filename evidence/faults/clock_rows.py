"""Rows of clocks that jump or stand still, and of an arm's samples that are of another time."""

from __future__ import annotations

from collections.abc import Callable

from .trial import Fault, Trial


def jump(seconds: float) -> Callable[[Trial], None]:
    """The clock, and with it all stamps, jumps by a time [s]."""

    def inject(trial: Trial) -> None:
        trial.arm.clock_offset += seconds
        trial.step(1.0)

    return inject


def frozen(seconds: float) -> Callable[[Trial], None]:
    """The clock, and with it all stamps, stands still for a time [s], while samples come."""

    def inject(trial: Trial) -> None:
        trial.arm.clock_speed = 0.0
        trial.step(seconds)
        trial.arm.clock_speed = 1.0
        trial.step(0.5)

    return inject


def drift(speed: float) -> Callable[[Trial], None]:
    """The clock goes at another speed for a second."""

    def inject(trial: Trial) -> None:
        trial.arm.clock_speed = speed
        trial.step(1.0)
        trial.arm.clock_speed = 1.0
        trial.step(0.5)

    return inject


CLOCKS = (
    Fault("clock back by 1 s", jump(-1.0), "stamps|stamp"),
    Fault("clock back by 0.02 s", jump(-0.02), moving=True),
    Fault("clock forward by 1 s", jump(1.0), "by their stamps"),
    Fault("clock forward by 0.02 s", jump(0.02), moving=True),
    Fault("clock frozen for 0.5 s", frozen(0.5), "must rise", safe="controller"),
    Fault(
        "clock frozen for 0.5 s, moving",
        frozen(0.5),
        "must rise",
        safe="controller",
        moving=True,
        near=False,
    ),
    Fault("clock too slow by 1 %", drift(0.99), moving=True),
    Fault("clock too fast by 1 %", drift(1.01), moving=True),
)
