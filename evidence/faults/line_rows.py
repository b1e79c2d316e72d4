"""Rows of a network between arm and computer that loses, delays, reorders and repeats messages."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from .line import Line
from .trial import Fault, Trial

IMPAIRED = 1.5  # s for which the line isn't perfect: most of the arm's way
KINDS: Mapping[str, Mapping[str, float]] = {
    "1 % lost": {"loss": 0.01},
    "10 % lost": {"loss": 0.1},
    "50 % lost": {"loss": 0.5},
    "4 ms late": {"delay": 0.004},
    "20 ms late": {"delay": 0.02},
    "out of order by up to 6 ms": {"jitter": 0.006},
    "each of them twice": {"copies": 1},
}


def impaired(of: Callable[[Trial], Line], settings: Mapping[str, float]) -> Callable[[Trial], None]:
    """Let one of the arm's lines lose and delay messages for a time."""

    def inject(trial: Trial) -> None:
        line = of(trial)
        for name, value in settings.items():
            setattr(line, name, value)
        trial.step(IMPAIRED)
        line.mend()
        trial.step(0.3)

    return inject


def cut(of: Callable[[Trial], Line], seconds: float) -> Callable[[Trial], None]:
    """Let nothing through for a time [s]."""
    return lambda trial: _cut(trial, of(trial), seconds)


def _cut(trial: Trial, line: Line, seconds: float) -> None:
    line.loss = 1.0
    trial.step(seconds)
    line.mend()
    trial.step(0.3)


LINES = (
    *(
        Fault(f"joint states: {name}", impaired(lambda trial: trial.arm.states, kind), moving=True)
        for name, kind in KINDS.items()
    ),
    *(
        Fault(f"commands: {name}", impaired(lambda trial: trial.arm.commands, kind), moving=True)
        for name, kind in KINDS.items()
    ),
    *(
        Fault(
            f"wrench: {name}",
            impaired(lambda trial: trial.arm.wrenches, kind),
            moving=True,
            law="admittance",
        )
        for name, kind in KINDS.items()
    ),
    Fault(
        "joint states stop for 0.5 s",
        cut(lambda trial: trial.arm.states, 0.5),
        "no joint state for",
        safe="controller",
        moving=True,
        near=False,
    ),
    Fault(
        "wrench stops for 0.5 s",
        cut(lambda trial: trial.arm.wrenches, 0.5),
        "wrench",
        safe="controller",
        moving=True,
        near=False,
        law="admittance",
    ),
)
