"""The transition from one law to the next without a jump of the command."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np

from ..core.types import Array, Command, CommandMode, RobotState
from ..robot.model import RobotDynamics
from .safety import Safety

FADED = 1e-5  # exp(-t / T) below which the difference is dropped
LOAD_FADE = 2.0  # s: time constant of a load's torque, which an arm held before it was restarted
BUDGET = 0.01  # J: work that a torque may do while it fades; 8 kg that rest go off with 0.05 m/s


class BumplessTransition:
    """The difference that is added to a new law's commands, so that they begin where the old one's
    ended.

    u = u_new(t) + s(t) (u_old(0) - u_new(0)),  s(t) = exp(-t / T).

    The old law's torque may be that of a spring. It fades without that spring, so it isn't the
    gradient of an energy any more: an arm that it moves gets energy out of nothing. So its work is
    counted, W' = s (u_old(0) - u_new(0))ᵀ q̇, W >= 0, and bounded by a budget E:
    s(t) = exp(-t / T) (1 - W / E). The first command is the old law's last one again. After that
    the difference does no more work than E, for any motion. So the new law stays as passive as it
    is alone, with E more in store. A difference that brakes the arm fades with T alone. Safety
    keeps the rates of torques.

    Positions after commands of another mode begin at q + q̇ (age + delay): there the arm is when
    they take effect. From the last sample's place, the drives would first bring it back. They begin
    with the arm's velocity, too. Let d_0 be the difference of positions, and w_0 that of the
    velocities that go with them. It fades as a critically damped motion does, d(t) = (d_0 + (w_0 +
    d_0 / T) t) exp(-t / T), and the velocities get d'. Where no velocities go with the positions,
    w_0 is 0. Positions after those of another law go on with the last one's rate: else they would
    stand still for a period.

    A drive damps against the velocities that go with positions, or against 0 where there are none.
    So they don't jump either: what the last ones, or else the arm's, are beyond the new ones is
    added with exp(-t / T), also where the new law has none.

    Source: bumpless transfer, K. J. Åström, R. M. Murray, Feedback Systems, 2nd ed., Princeton
    2021, section 11.4; the budget is an energy tank that nothing fills, see laws/energy_tank.py.

    Args:
        time_constant: Time constant T [s]; 0 hands over at once.
        delay: Time from a sample to the effect of its command [s]; 0 where it isn't known. Then a
            period counts: too long a delay pushes the arm on.

    Attributes:
        requested: True where the law begins anew with the next command.
    """

    def __init__(self, time_constant: float, delay: float = 0.0) -> None:
        self._time_constant = time_constant
        self._delay = delay
        self._difference: Array | None = None
        self._rate = np.zeros(0)  # w_0 [rad/s]
        self._lead = np.zeros(0)  # of the last velocities over the new ones [rad/s]
        self._fade = time_constant  # T of this difference [s]
        self._elapsed = 0.0  # t of the next command [s]
        self._work = 0.0  # W [J]
        self._budget = BUDGET  # E [J]
        self.reset()

    def reset(self, variant: object = None) -> None:
        """Add nothing any more; `variant` is the law that runs."""
        self.requested = False
        self._bridges = False
        self._variant = variant
        self._drop()

    def request(self) -> None:
        """Begin a transition with the next command."""
        self.requested = True

    def bridge(self) -> None:
        """Lead the next torque on from the last one, while the same law goes on with another model.

        Another weight Δg of the model comes in with 1 - exp(-t / T). The part that is missing
        meanwhile is no spring of an old law, but the error that the arm had until now. It gives the
        energy |Δg| |q̇| T at most, and none at rest. So no budget bounds it: in motion, that would
        make it a step. Positions and velocities need no bridge.
        """
        self._bridges = True

    def hold(self, torque: Array) -> None:
        """Begin with a torque (n,) [N·m] beside the law's, which held a load until now.

        It fades with 2 s, and with the work that it does: where the load is gone, it drives the arm
        no further than the budget E.
        """
        if self._time_constant > 0.0 and torque.any():
            self._begin(torque, np.zeros_like(torque), BUDGET)
            self._fade = LOAD_FADE

    def blend(
        self,
        command: Command,
        variant: object,
        safety: Safety,
        state: RobotState,
        kin: RobotDynamics,
        dt: float,
    ) -> Command:
        """The law's command, led on from the last one that was sent.

        A transition begins where it was requested, and where the mode or the variant of the law has
        changed. It also begins with an effort where a bridge was asked for.

        A command that safety refuses is returned as it is. `safety` knows the last command, and dt
        [s] is the time since then.
        """
        same_mode = safety.mode is command.mode
        waits = self.requested or self._bridges or self._difference is not None
        if same_mode and not waits and variant is self._variant:
            return command
        last = self._variant
        self._variant = variant
        changed = safety.mode is not None and (not same_mode or variant != last)
        bridges = self._bridges and command.mode is CommandMode.EFFORT
        self._bridges = False
        begins = self.requested or changed or bridges
        if not (begins or self._difference is not None) or not safety.usable(command):
            return command
        if begins:
            start = safety.start(command.mode, state, kin)
            if command.mode is CommandMode.POSITION and changed:
                if same_mode:
                    start = start + dt * safety.position_rate
                else:
                    start = state.q + (state.age + (self._delay or dt)) * state.v
            rate = np.zeros_like(start) if command.velocity is None else state.v - command.velocity
            bounded = self.requested or changed or self._difference is not None
            self._begin(start - command.values, rate, BUDGET if bounded else math.inf)
            if command.mode is CommandMode.POSITION:
                present = safety.sent_velocity if same_mode else state.v
                self._lead = np.zeros_like(start) if present is None else present
                if command.velocity is not None:
                    self._lead = self._lead - command.velocity - rate
        self.requested = False
        difference = self._difference
        if difference is None:
            return command
        if command.mode is CommandMode.POSITION:
            return self._blend_positions(command, difference, dt)
        share = self._advance(dt)
        if command.mode is CommandMode.EFFORT:
            afforded = self._afforded(share * difference, state.v, dt)
            if not begins:  # the first command is the old law's last one again
                share *= afforded
        return replace(command, values=command.values + share * difference)

    def _blend_positions(self, command: Command, difference: Array, dt: float) -> Command:
        """Add the rest of the difference (n,) [rad] to positions, and to their velocities."""
        elapsed = self._elapsed
        left = self._advance(dt)
        drift = self._rate + difference / self._fade
        values = command.values + left * (difference + elapsed * drift)
        if command.velocity is None:
            velocity = left * self._lead if self._lead.any() else None
            return replace(command, values=values, velocity=velocity)
        rate = left * (self._rate - elapsed / self._fade * drift)
        velocity = command.velocity + rate + left * self._lead
        return replace(command, values=values, velocity=velocity)

    def _advance(self, dt: float) -> float:
        """Return exp(-t / T) of this command; the next one follows dt [s] later."""
        left = math.exp(-self._elapsed / self._fade)
        self._elapsed += dt
        if left < FADED:
            self._drop()
        return left

    def _begin(self, difference: Array, rate: Array, budget: float) -> None:
        """Let a difference fade.

        Args:
            difference: (n,) last command of the old law less the first of the new one, in the unit
                of the new one.
            rate: (n,) velocities of the arm less those that go with new positions [rad/s].
            budget: Budget E that bounds the work of torques [J].
        """
        if self._time_constant > 0.0:
            self._difference = difference
            self._rate = rate
            self._elapsed = 0.0
            self._work = 0.0
            self._budget = budget
            self._fade = self._time_constant

    def _afforded(self, torque: Array, v: Array, dt: float) -> float:
        """Fraction of a fading torque, 0 to 1, that its budget of work allows.

        Args:
            torque: (n,) torque that exp(-t / T) leaves of the difference [N·m].
            v: Velocities (n,) of the joints [rad/s].
            dt: Time since the last command [s].
        """
        power = (1.0 - self._work / self._budget) * float(torque.dot(v))
        self._work = min(max(self._work + dt * power, 0.0), self._budget)
        return 1.0 - self._work / self._budget

    def _drop(self) -> None:
        self._difference = None
