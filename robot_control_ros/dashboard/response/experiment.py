"""A step or chirp of force along one axis of the tip, run by the page's drawings."""

from __future__ import annotations

import math

import numpy as np

from ...core.errors import ConfigError
from ...core.spatial import pose_error, pose_from_rows
from ...robot.model import RobotModel
from ..link import RobotLink
from .evaluation import Recording, ResponseResult, evaluate
from .plan import ANGULAR, BAND, LINEAR, Plan, expect

BASELINE = 1.0  # s before the force, in which the delay of commands is measured
ENDING = 0.3  # s in which zeros are sent, so that one of them arrives
AGREED = 0.05  # of the size, by which a wrench may differ from one sent lately
# N, N·m by which each command differs from the one before: so a state shows which of them acts
TAG = 1e-6
STALE = 1.0  # s without a state, or with another wrench than the one sent, after which a run ends
MIN_STATES = 50
STILL = np.array([0.01] * 3 + [0.05] * 3)  # m/s, rad/s: a tip at rest is slower
HELD = 1e-3  # m, rad: a reference that moves by more was moved by somebody else
TOUCH = 2.0  # N


class Experiment:
    """One run, which its creation begins and :meth:`draw` continues. Every end sends zeros.

    Durations are on the robot's clock, as a simulation may be slow.

    Args:
        link: Link to the robot.
        model: Kinematics and dynamics of the robot.
        plan: Plan of the run.
        now: Time on the page's clock [s].

    Attributes:
        plan: Plan of the run.
        progress: Part of the run that is done, from 0 to 1.
        running: True where the run still sends.
        problem: Reason why the run ended early; empty where it didn't.
        result: Result of the run; None before its end.

    Raises:
        ConfigError: the run isn't possible; says why.
    """

    def __init__(self, link: RobotLink, model: RobotModel, plan: Plan, now: float) -> None:
        self._link = link
        self.plan = plan
        if problem := link.health().obstacle or _not_at_rest(link):
            raise ConfigError(problem)
        self._expectation = expect(link, model, plan)
        telemetry = link.telemetry()
        self._recording = Recording(
            plan, self._expectation.ideal, pose_from_rows(telemetry.blocks["pose"])
        )
        self._reference = telemetry.reference
        self._samples = telemetry.samples
        self._gains = _law_and_gains(link)
        # of the newest state and the first
        self._time = -math.inf
        self._start = math.inf
        self._received = now  # time of the last state
        self._agreed = now  # time of the last state that showed a sent wrench
        self._jumped = False
        self._until = math.inf  # when the zeros may end
        self.progress = 0.0
        self.problem = ""
        self.running = True
        self.result: ResponseResult | None = None

    def draw(self, now: float) -> None:
        """Take the new states, and send what is due; to be called some 30 times per second."""
        if not self.running:
            return
        self._take_states(now)
        since = self._time - self._start
        total = BASELINE + self._expectation.duration + self._expectation.decay
        self.progress = min(max(since / total, 0.0), 1.0)
        if now >= self._until:
            self._end()
        elif self._until < math.inf:
            self._exert(0.0)
        elif problem := self._find_problem(now):
            self.abort(problem, now)
        elif since >= total:
            self._exert(0.0)
            self._until = now + ENDING
        else:
            self._send(now, since)

    def abort(self, reason: str, now: float) -> None:
        """End the run early."""
        if self._until == math.inf:
            self.problem = reason
            self._exert(0.0)
            self._until = now + ENDING

    def _send(self, now: float, since: float) -> None:
        elapsed = since - BASELINE
        recording = self._recording
        if recording.begin == math.inf and 0.0 <= elapsed < self._expectation.duration:
            recording.begin = now
        value = self._force(elapsed) + TAG * (len(recording.sent) + 1)
        recording.sent.append((now, value))
        self._exert(value)

    def _force(self, elapsed: float) -> float:
        duration = self._expectation.duration
        if not 0.0 <= elapsed < duration:
            return 0.0
        if not self.plan.chirp:
            return self.plan.size
        low, high = BAND
        rate = math.log(high / low) / duration
        return self.plan.size * math.sin(2.0 * math.pi * low / rate * math.expm1(rate * elapsed))

    def _exert(self, value: float) -> None:
        self._link.set_target_wrench(value * np.eye(6)[self.plan.axis])

    def _take_states(self, now: float) -> None:
        new = self._link.recent(self._samples)
        if not new:
            return
        self._samples += len(new)
        self._recording.states += new
        before = self._time
        self._time = float(new[-1]["time"][0])
        self._start = min(self._start, self._time)
        self._received = now
        self._jumped = self._jumped or self._time < before
        shown = new[-1]["target_wrench"][self.plan.axis]
        tolerance = AGREED * self.plan.size
        if any(abs(shown - value) < tolerance for _, value in self._recording.sent[-30:]):
            self._agreed = now

    def _find_problem(self, now: float) -> str:
        """Reason why the run can't go on; empty if it can."""
        if problem := self._link.health().obstacle:
            return problem
        if self._jumped:
            return "the robot's clock jumped back"
        if now - self._received > STALE:
            return f"no ~/state for {now - self._received:.1f} s"
        if now - self._agreed > STALE:
            return "the controller exerts another wrench than the one sent"
        if _law_and_gains(self._link) != self._gains:
            return "the law or its gains were changed"
        new = self._link.telemetry().reference
        old = self._reference
        if new is not None and old is not None and np.abs(pose_error(new, old)).max() > HELD:
            return "the reference moved: somebody moved the target, or the controller began anew after a gap"
        if states := self._recording.states:
            error = pose_error(pose_from_rows(states[-1]["pose"]), self._recording.base)
            moved = np.linalg.norm(error[:3])
            turned = np.linalg.norm(error[3:])
            if moved > 2.0 * LINEAR.max_move or turned > 2.0 * ANGULAR.max_move:
                return "the tip went further than the ideal would"
        return ""

    def _end(self) -> None:
        self.running = False
        count = len(self._recording.states)
        if not self.problem and self._recording.begin == math.inf:
            self.problem = "the page was too slow: it sent no force"
        if not self.problem and count < MIN_STATES:
            self.problem = f"only {count} states came during the run"
        if not self.problem:
            self.result = evaluate(self._recording)


def _law_and_gains(link: RobotLink) -> tuple[str, dict[str, object]]:
    return link.law(), {name: parameter.value for name, parameter in link.parameters().items()}


def _not_at_rest(link: RobotLink) -> str:
    """Reason why the tip isn't at rest and free; empty if it is."""
    telemetry = link.telemetry()
    if not {"position", "pose", "twist", "time", "target_wrench"} <= set(telemetry.blocks):
        return "nothing has come from the controller yet"
    if (np.abs(telemetry.blocks["twist"]) > STILL).any():
        return "the tip still moves: wait until it rests"
    force = 0.0 if telemetry.contact is None else float(np.linalg.norm(telemetry.contact[:3]))
    return f"the tip touches something, with {force:.0f} N: move it away" if force > TOUCH else ""
