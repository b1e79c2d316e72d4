"""From one law to the next without a jump of the command."""

from __future__ import annotations

import math
from dataclasses import replace

from ..core.types import Array, Command, CommandMode, RobotState
from ..robot.model import RobotDynamics
from .safety import Safety

FADED = 1e-4  # fraction of the difference below which it is dropped


class BumplessTransition:
    """What is still added to a new law's commands, so that they begin where the old one's ended.

    u = u_new(t) + exp(-t / T) (u_old(0) - u_new(0)).

    Source: bumpless transfer, K. J. Åström, R. M. Murray, Feedback Systems, 2nd ed., Princeton 2021, section 11.4.

    Args:
        time_constant: T [s]; 0 hands over at once.

    Attributes:
        requested: whether the law begins anew with the next command.
    """

    def __init__(self, time_constant: float) -> None:
        self._time_constant = time_constant
        self._difference: Array | None = None
        self.reset()

    def reset(self, variant: object = None) -> None:
        """Nothing is to be added; `variant` is the law that runs."""
        self.requested = False
        self._bridges = False
        self._variant = variant
        self._drop()

    def request(self) -> None:
        """Begin a transition with the next command."""
        self.requested = True

    def bridge(self) -> None:
        """Lead the next torque on from the last one, while the law goes on: the model is another one.

        After a change Δg of the model's weight the arm gets Δg exp(-t / T) besides what is right. That does at most the
        work |Δg| |q̇| T, and none at rest: it is bounded, and it ends. Positions and velocities need no bridge.
        """
        self._bridges = True

    def blend(
        self, command: Command, variant: object, safety: Safety, state: RobotState, kin: RobotDynamics, dt: float
    ) -> Command:
        """The law's command, led on from the last one that was sent.

        A transition begins where it was requested, or where the mode or the variant of the law has changed, or with an
        effort where a bridge was asked for.

        A command that safety refuses is returned as it is. `safety` knows the last command; dt [s] is the time since.
        """
        last, self._variant = self._variant, variant
        changed = safety.mode is not None and (safety.mode is not command.mode or variant != last)
        begins = self.requested or changed or (self._bridges and command.mode is CommandMode.EFFORT)
        self._bridges = False
        if not (begins or self._difference is not None) or not safety.usable(command):
            return command
        if begins:
            self.begin(safety.start(command.mode, state, kin) - command.values)
        self.requested = False
        return replace(command, values=self.add_to(command.values, dt))

    def begin(self, difference: Array) -> None:
        """`difference` (n,): the old law's last command less the new one's first, in the new one's unit."""
        if self._time_constant > 0.0:
            self._difference, self._fraction = difference, 1.0

    def add_to(self, values: Array, dt: float) -> Array:
        """The new law's command (n,) with what is left of the difference, which then fades for dt [s]."""
        if self._difference is None:
            return values
        result = values + self._fraction * self._difference
        self._fraction *= math.exp(-dt / self._time_constant)
        if self._fraction < FADED:
            self._drop()
        return result

    def _drop(self) -> None:
        self._fraction, self._difference = 0.0, None
