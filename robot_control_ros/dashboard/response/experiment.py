"""A step or chirp of force along one axis of the tip, run from the page's drawings."""

from __future__ import annotations

import math
from collections.abc import Mapping

import numpy as np

from ...core.errors import ConfigError
from ...core.spatial import pose_error, pose_from_rows
from ...core.types import Array
from ...robot.model import RobotModel
from ..link import RobotLink
from .evaluation import Recording, Result, evaluate
from .plan import BAND, MAX_MOVE, MAX_TURN, Plan, expect

BASELINE = 1.0  # s before the force, in which it is found out how long commands are under way
ENDING = 0.3  # s in which zeros are sent, so that one of them arrives
AGREED = 0.05  # of the size, by which a wrench may differ from one sent lately
TAG = 1e-6  # N, N·m by which each command differs from the one before: so a state shows which of them acts
STALE = 1.0  # s without a state, or with another wrench than the one sent, after which a run ends
LOST = 0.15  # s, of the robot's clock, with which a fitted delay means nothing
FEWEST = 50  # states that tell anything
STILL = np.array([0.01] * 3 + [0.05] * 3)  # m/s, rad/s: a tip at rest is slower
HELD = 1e-3  # m, rad: a reference that moves by more has been led elsewhere
TOUCH = 2.0  # N


class Experiment:
    """One run, begun by making it; :meth:`draw` goes on with it. Whatever ends it, zeros are sent.

    It goes by the robot's clock: a simulation may be slow.

    Args:
        link: of the robot.
        model: of the robot.
        plan: what is tried.
        now: by the page's clock [s].

    Attributes:
        plan: as given.
        progress: from 0 to 1.
        running: whether it still sends.
        problem: why it was ended early.
        result: once it has come to its end.

    Raises:
        ConfigError: it can't be tried, and why not.
    """

    def __init__(self, link: RobotLink, model: RobotModel, plan: Plan, now: float) -> None:
        self._link, self._model, self.plan = link, model, plan
        if words := _unready(link):
            raise ConfigError(words)
        expectation = expect(link, model, plan)
        self._ideal, (self._lasts, self._decay) = expectation.ideal, expectation.lasts
        telemetry = link.telemetry()
        self._reference, self._seen = telemetry.reference, telemetry.samples
        self._base = pose_from_rows(telemetry.blocks["pose"])
        self._tuned = _tuning(link)
        self._states: list[Mapping[str, Array]] = []
        self._shown: list[float] = []
        self._sent: list[tuple[float, float]] = []
        self._time, self._start = -math.inf, math.inf  # of the newest state, and of the first drawing's
        self._begin = math.inf  # when the force was sent, by the page's clock
        self._heard = self._agreed = now  # last state; last one that showed what was sent
        self._offset = self._ahead = -math.inf  # robot's clock minus the page's, last and at most
        self._jumped = False
        self._until = math.inf  # when the zeros may end
        self.progress, self.problem, self.running = 0.0, "", True
        self.result: Result | None = None

    def draw(self, now: float) -> None:
        """Send what is due, and take what has come; to be called some 30 times per second."""
        if not self.running:
            return
        self._take(now)
        since = self._time - self._start
        total = BASELINE + self._lasts + self._decay
        self.progress = min(max(since / total, 0.0), 1.0)
        if now >= self._until:
            self._end()
        elif self._until < math.inf:
            self._exert(0.0)
        elif words := self._trouble(now):
            self.abort(words, now)
        elif since >= total:
            self._exert(0.0)
            self._until = now + ENDING
        else:
            self._send(now, since)

    def abort(self, words: str, now: float) -> None:
        """End it, for a reason."""
        if self._until == math.inf:
            self.problem = words
            self._exert(0.0)
            self._until = now + ENDING

    def _send(self, now: float, since: float) -> None:
        force = self._force(since)
        if self._begin == math.inf and since >= BASELINE:
            self._begin = now
        value = force + TAG * (len(self._sent) + 1)
        self._sent.append((now, value))
        self._exert(value)

    def _force(self, since: float) -> float:
        elapsed = since - BASELINE
        if not 0.0 <= elapsed < self._lasts:
            return 0.0
        if not self.plan.chirp:
            return self.plan.size
        low, high = BAND
        rate = math.log(high / low) / self._lasts
        return self.plan.size * math.sin(2.0 * math.pi * low / rate * math.expm1(rate * elapsed))

    def _exert(self, value: float) -> None:
        self._link.set_target_wrench(value * np.eye(6)[self.plan.axis])

    def _take(self, now: float) -> None:
        new = self._link.recent(self._seen)
        self._seen += len(new)
        self._states += new
        for state in new:
            self._shown.append(self._exerted(state))
        if new:
            before, self._time = self._time, float(new[-1]["time"][0])
            self._start = min(self._start, self._time)
            self._heard, self._jumped = now, self._jumped or self._time < before
            self._offset = self._time - now
            self._ahead = max(self._ahead, self._offset)
            if math.isnan(self._shown[-1]) or self._sent_lately(self._shown[-1]):
                self._agreed = now

    def _exerted(self, state: Mapping[str, Array]) -> float:
        """The wrench along the axis that an effort law shows as the torques of its feed-forward; else NaN."""
        torques = state.get("term.feedforward")
        if torques is None:
            return math.nan
        movable = np.flatnonzero(self._link.robot.axes)
        jacobian = self._model.at(state["position"]).jacobian[movable]
        wrench, *_ = np.linalg.lstsq(jacobian.T, torques, rcond=1e-9)
        return float(wrench[movable == self.plan.axis][0])

    def _sent_lately(self, value: float) -> bool:
        return any(abs(value - sent) < AGREED * self.plan.size for _, sent in self._sent[-30:])

    def _trouble(self, now: float) -> str:
        """Why it can't go on; empty where it can."""
        telemetry = self._link.telemetry()
        if words := _uncommanded(self._link):
            return words
        if self._jumped:
            return "the robot's clock jumped back"
        if now - self._heard > STALE:
            return f"no ~/state for {now - self._heard:.1f} s"
        if now - self._agreed > STALE:
            return "the controller exerts another wrench than the one sent"
        if _tuning(self._link) != self._tuned:
            return "the law or its gains were changed"
        reference = telemetry.reference
        if reference is not None and self._reference is not None and _apart(reference, self._reference) > HELD:
            return "the reference moved: the target was led elsewhere, or the controller began anew after a gap"
        if self._states:
            away = pose_error(pose_from_rows(self._states[-1]["pose"]), self._base)
            if np.linalg.norm(away[:3]) > 2.0 * MAX_MOVE or np.linalg.norm(away[3:]) > 2.0 * MAX_TURN:
                return "the tip went further than the ideal would"
        return ""

    def _end(self) -> None:
        self.running = False
        if not self.problem and (self._begin == math.inf or len(self._states) < FEWEST):
            self.problem = f"only {len(self._states)} states came meanwhile"
        lost = self._ahead - self._offset
        if not self.problem and lost > LOST and np.isnan(self._shown).all():
            self.problem = f"the robot's clock lost {lost:.1f} s against the page's, and the law doesn't show the force"
        if not self.problem:
            axis, band = self.plan.axis, BAND if self.plan.chirp else None
            self.result = evaluate(
                Recording(
                    axis,
                    self.plan.size,
                    band,
                    self._begin,
                    self._ideal,
                    self._base,
                    np.array(self._sent),
                    self._states,
                    np.array(self._shown),
                    self._ahead,
                )
            )


def _apart(a: Array, b: Array) -> float:
    return float(np.abs(pose_error(a, b)).max())


def _tuning(link: RobotLink) -> tuple[str, dict[str, object]]:
    return link.law(), {name: parameter.value for name, parameter in link.parameters().items()}


def _uncommanded(link: RobotLink) -> str:
    """Why the robot doesn't do what it is told; empty where it does."""
    health = link.health()
    if not health.answers:
        return "the controller doesn't answer"
    if health.lifecycle != "active":
        return f"the controller is {health.lifecycle or 'not known'}: activate it"
    return "the robot executes no commands" if health.executing is False else ""


def _unready(link: RobotLink) -> str:
    """Why nothing can be tried now; empty where it can."""
    telemetry = link.telemetry()
    if words := _uncommanded(link):
        return words
    if not {"position", "pose", "twist", "time"} <= set(telemetry.blocks):
        return "nothing has come from the controller yet"
    if (np.abs(telemetry.blocks["twist"]) > STILL).any():
        return "the tip still moves: wait until it rests"
    if telemetry.contact is not None and np.linalg.norm(telemetry.contact[:3]) > TOUCH:
        return f"the tip touches something, with {np.linalg.norm(telemetry.contact[:3]):.0f} N: move it away"
    return ""
