"""Trial of a fault: it is injected into a running arm, watched, and the arm's return is judged."""

from __future__ import annotations

import math
import re
import signal
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from rcl_interfaces.srv import SetParameters
from rclpy.parameter import Parameter
from rclpy.qos import QoSProfile

from robot_control_ros.core.errors import HardwareFault
from robot_control_ros.core.types import Array

from ..row import Row, failed, required
from .bench import Bench, Told
from .judge import largest_step, off_path, rest_after, top_speed, way, way_within

SAFE_WITHIN = 0.1  # s from the fault to the safe output
KILLED_WITHIN = 0.06  # s from the last command of a killed controller to the watchdog's first
NEAR = 0.02  # m from where the arm would be without the fault
# m, s: of an arm with an unknown load, and of one that brakes with it, so long after the fault
NEAR_WITH_LOAD = 0.05
BRAKED_WITHIN = 1.0
# s after the fault, in which the controller leads the arm again, and the arm rests
BACK_WITHIN = 6.0
TOLD_WITHIN = 2.5  # s: diagnostics come once a second
HELD = 0.2  # s of a led arm at rest, before and after
DIGITS = 4  # of a time [ms] or a share [%]: rounding of float64 is no failure
REQUIRED = required("evidence/faults/README.md")
TIMES = "times"  # unit of what must not be
SHOWN = 3  # texts in a row of the table


@dataclass(frozen=True)
class Fault:
    """One row of the table.

    Attributes:
        name: Name of the row.
        inject: Function that injects the fault, in the arm's time, and takes it away again.
        told: Regular expression that must match what a user is told; empty where nobody needs to be
            told.
        safe: Node that must send the safe output: `watchdog`, `controller`, or empty where none is
            due.
        within: Longest time to the safe output [s], from the last command of a controller or from
            the injection.
        moving: True where the arm moves when the fault comes.
        near: True where the arm must stay within :data:`NEAR` of where it would be without the
            fault; with a load within :data:`NEAR_WITH_LOAD`.
        back: `itself`, `started again` where the fault has ended a program, or empty where it must
            not come back.
        law: Law of the controller.
        simulator: True where the arm is that of a simulator in a process of its own.
        ends: Exit statuses of programs that end otherwise than with 0, by name.
    """

    name: str
    inject: Callable[[Trial], None]
    told: str = ""
    safe: str = ""
    within: float = SAFE_WITHIN
    moving: bool = False
    near: bool = True
    back: str = "itself"
    law: str = "impedance"
    simulator: bool = False
    ends: dict[str, int] = field(default_factory=dict)


@dataclass(frozen=True)
class TrialRecord:
    """Observations of one fault.

    Attributes:
        fault: Name of the fault.
        safe_after: Time to the safe output [s]; None where none was due, or none came.
        step: Change of a command that has the largest share of what its rate allows [N·m, rad or
            rad/s].
        step_share: Share of what its rate allows, of that change; above 1 it was too large.
        speed_share: Largest joint speed, as a share of the joint's limit.
        tip_speed: Largest speed of the tip [m/s].
        way: Largest distance of the tip from where it was when the fault came [m].
        off_path: Largest distance of the tip from where it would have been without the fault [m].
        way_of_brake: Distance of the tip from where it was when the fault came, 1 s later [m].
        load: Mass on the tip that nobody knew of [kg].
        rest_after: Time until the arm rested [s]; None where it never did.
        told: Texts that the user was told, each with its source, once each.
        back: `itself` or `started again`; empty where the arm didn't come back.
        statuses: Exit statuses of the programs, by name.
        left: Processes, files and shared memory that were left behind.
        failures: Sentences that say what was wrong; empty where the row passes.
    """

    fault: str
    safe_after: float | None
    step: float
    step_share: float
    speed_share: float
    tip_speed: float
    way: float
    off_path: float
    way_of_brake: float
    load: float
    rest_after: float | None
    told: tuple[str, ...]
    back: str
    statuses: dict[str, int]
    left: tuple[str, ...]
    failures: tuple[str, ...]


class Trial:
    """One fault, from a led arm to its recovery. Rows inject by its methods.

    Args:
        bench: Bench that has been started.
        fault: Fault of the row.
        path: Positions of the tip (k, 3) on the way without a fault [m]; None takes the place of an
            arm at rest.

    Attributes:
        bench: Bench that runs arm and programs.
        arm: Arm of the bench.
        began: Time when the fault came, by the arm's clock [s].
    """

    def __init__(self, bench: Bench, fault: Fault, path: Array | None = None) -> None:
        self.bench = bench
        self.arm = bench.arm
        self.began = 0.0
        self._fault = fault
        self._path = path
        self._first_command = 0
        self._first_moment = 0
        self._restarted: list[str] = []
        self._wrong: list[str] = []
        self._stranger: Any = None
        self._parameters: Any = None  # client
        self._futures: list[Any] = []
        self._publishers: dict[str, Any] = {}

    def run(self) -> TrialRecord:
        """Inject the fault, watch, and judge what was seen; the programs go on."""
        bench = self.bench
        fault = self._fault
        if fault.moving:
            bench.move()
        else:
            bench.step(HELD)
        self.mark()
        if self._path is None:
            self._path = self.arm.moments[-1].tip[None]
        bench.logged()
        bench.told.clear()
        self._first_command = len(self.arm.heard) - 1
        self._first_moment = len(self.arm.moments) - 1
        fault.inject(self)
        back = self._watch_return()
        told = self._watch_words()
        return self._record(back, told)

    # --- what rows do ---

    def mark(self) -> None:
        """Note that the fault comes now."""
        self.began = self.arm.time

    def step(self, seconds: float) -> None:
        """Let the arm's time go on [s]."""
        self.bench.step(seconds)

    def kill(self, name: str, at_rest: Callable[[], object] = lambda: None) -> None:
        """Kill a program, and start it again when the arm has come to rest; before that
        `at_rest` is called.
        """
        self._end(name, signal.SIGKILL, at_rest)

    def end(self, name: str) -> None:
        """Tell a program to end, and start it again when the arm has come to rest."""
        self._end(name, signal.SIGINT, lambda: None)

    def pause(self, name: str, seconds: float) -> None:
        """Stop a program for some of the arm's time [s]."""
        process = self.bench.children[name].process
        process.send_signal(signal.SIGSTOP)
        try:
            self.step(seconds)
        finally:
            process.send_signal(signal.SIGCONT)

    def restart(self, name: str) -> None:
        """Start a program again that has ended, as launch does."""
        self._restarted.append(name)
        start: Callable[[], Any] = getattr(self.bench, f"start_{name}")
        start()
        self.bench.until(lambda: self.bench.ready(name), f"the {name}")

    def set(self, name: str, value: Any) -> None:
        """Ask for a value of one of the controller's parameters, and go on."""
        if self._parameters is None:
            self._parameters = self._other().create_client(
                SetParameters, "/controller/set_parameters"
            )
            self.bench.until(self._parameters.service_is_ready, "the controller's parameters")
        request = SetParameters.Request(
            parameters=[Parameter(name, value=value).to_parameter_msg()]
        )
        self._futures.append(self._parameters.call_async(request))

    def answered(self) -> None:
        """Wait until each value was taken or refused; answers that get lost are
        waited for a second.
        """
        self.bench.waits(lambda: all(future.done() for future in self._futures), 1.0)

    def publish(self, topic: str, kind: type, message: Any) -> None:
        """Publish a message as a node that doesn't belong to the system; the first time,
        wait for who listens.
        """
        if topic not in self._publishers:
            self._publishers[topic] = self._other().create_publisher(
                kind, topic, QoSProfile(depth=10)
            )
            self.bench.until(self._publishers[topic].get_subscription_count, f"a reader of {topic}")
        self._publishers[topic].publish(message)

    def leave(self) -> None:
        """Take the stranger's publishers back."""
        for publisher in self._publishers.values():
            self._other().destroy_publisher(publisher)
        self._publishers.clear()

    def start(self, executable: str, parameters: dict[str, Any], name: str) -> Any:
        """Start another node of the package under a name of its own."""
        nodes: Any = self.bench.nodes
        topics = (
            {"wrench": "/force_torque_sensor_broadcaster/wrench"}
            if executable == "controller"
            else {}
        )
        child = nodes.start(executable, parameters, name=name, remappings=topics)
        self.bench.watch_log(f"second {executable}", child)
        return child

    def launch(self, name: str, command: list[str]) -> Any:
        """Start a program that is no node of the system."""
        nodes: Any = self.bench.nodes
        child = nodes.run(name, command)
        self.bench.watch_log(name, child)
        return child

    def finish(self, child: Any) -> None:
        """Tell a program to end, as Ctrl-C does."""
        child.process.send_signal(signal.SIGINT)
        self.bench.until(lambda: child.process.poll() is not None, "the end of a program")

    def remove(self, child: Any) -> None:
        """Kill a program of the row's own; how it ends isn't judged."""
        nodes: Any = self.bench.nodes
        child.process.kill()
        child.process.wait()
        nodes.programs.remove(child)

    def check(self, wrong: str) -> None:
        """Note that something is wrong, in words; empty where it isn't."""
        if wrong:
            self._wrong.append(wrong)

    def _end(self, name: str, number: int, at_rest: Callable[[], object]) -> None:
        self.bench.children[name].process.send_signal(number)
        self.step(1.5)
        self.bench.waits(self.bench.is_at_rest, 3.0)
        at_rest()
        self.restart(name)

    def _other(self) -> Any:
        """The node of strangers."""
        if self._stranger is None:
            self._stranger = self.bench.nodes.create_node("stranger")
        return self._stranger

    # --- what is seen ---

    def _watch_return(self) -> str:
        """Wait for the arm's return: `itself` or `started again`; empty where it stays away."""
        bench = self.bench

        def led() -> bool:
            return bench.leads() and bench.is_at_rest()

        try:
            if self._restarted:
                bench.until(led, "a led arm")
            came = bench.waits(led, BACK_WITHIN)
        except HardwareFault:
            came = False
        if not came:
            return ""
        bench.step(HELD)
        return "started again" if self._restarted else "itself"

    def _watch_words(self) -> list[Told]:
        bench = self.bench
        said = []

        def heard() -> bool:
            said.extend(bench.logged())
            return not self._fault.told or _matches(self._fault.told, [*bench.told, *said])

        bench.waits(heard, TOLD_WITHIN)
        return [*bench.told, *said]

    def _record(self, back: str, told: Sequence[Told]) -> TrialRecord:
        arm = self.arm
        limits = self.arm.model.limits
        moments = arm.moments[self._first_moment :]
        assert self._path is not None
        step = largest_step(arm.heard[self._first_command :], self.bench.robot, limits)
        record = TrialRecord(
            fault=self._fault.name,
            safe_after=self._safe_after(),
            step=step.change,
            step_share=step.share,
            speed_share=top_speed(moments, limits),
            tip_speed=max(moment.tip_speed for moment in moments),
            way=way(moments),
            off_path=off_path(moments, self._path),
            way_of_brake=way_within(moments, BRAKED_WITHIN),
            load=self.bench.load,
            rest_after=rest_after(moments, self.began),
            told=_different(
                each for each in told if each.alarms or _matches(self._fault.told or "$^", [each])
            ),
            back=back,
            statuses={},
            left=(),
            failures=tuple(self._wrong),
        )
        return record

    def _safe_after(self) -> float | None:
        """Time to the safe output [s]; None where none is due, or none came."""
        if not self._fault.safe:
            return None
        if self._fault.safe == "watchdog":
            heard = self.arm.heard[self._first_command :]
            taken_over = next((k for k, each in enumerate(heard) if each.by_watchdog), None)
            if not taken_over:
                return None
            return float(heard[taken_over].time - heard[taken_over - 1].time)
        times: list[float] = [
            each.time
            for each in self.bench.told
            if each.source == "~/fault" and each.time >= self.began
        ]
        return times[0] - self.began if times else None


def not_run(fault: Fault, why: str) -> TrialRecord:
    """The record of a row that couldn't be run to its end; it fails."""
    nothing = (0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0)
    return TrialRecord(fault.name, None, *nothing, None, (), "", {}, (), (why,))


def rows_of(fault: Fault, record: TrialRecord) -> list[Row]:
    """Rows of all bounds of a fault."""
    rows = [_never(wrong, True) for wrong in record.failures]
    if fault.safe:
        rows.append(safe_output_row(fault, record))
    rows += [step_row(record), speed_row(record)]
    bounded_way = way_row(fault, record)
    if bounded_way is not None:
        rows.append(bounded_way)
    if fault.told:
        is_told = re.search(fault.told, "\n".join(record.told))
        rows.append(_never(f"nobody says {fault.told!r}", not is_told))
    due = fault.back or "nothing"
    rows.append(
        _never(f"back by {record.back or 'nothing'!r}, not by {due!r}", record.back != fault.back)
    )
    for name, status in record.statuses.items():
        expected = fault.ends.get(name, 0)
        rows.append(Row.near(f"exit status of {name}", status, expected, 0, "", REQUIRED))
    rows += [_never(f"left behind: {each}", True) for each in record.left]
    return rows


def failures(fault: Fault, record: TrialRecord) -> list[str]:
    """Sentences that say what of a record must not be; empty where the row passes."""
    return [_sentence(row) for row in failed(rows_of(fault, record))]


def _sentence(row: Row) -> str:
    if row.unit == TIMES:
        return row.name
    return f"{row.name} {row.measured:.4g} {row.unit}: must be {row.bound}"


def safe_output_row(fault: Fault, record: TrialRecord) -> Row:
    """Time to the safe output of a fault in which one is due; infinite where none came."""
    name = f"safe output of the {fault.safe} after"
    after = math.inf if record.safe_after is None else 1e3 * record.safe_after
    return Row.at_most(name, round(after, DIGITS), 1e3 * fault.within, "ms", REQUIRED)


def step_row(record: TrialRecord) -> Row:
    """Largest step of a command, as a share of what its rate allows."""
    share = round(100.0 * record.step_share, DIGITS)
    return Row.at_most("a command changes by", share, 100.0, "% of its rate", REQUIRED)


def speed_row(record: TrialRecord) -> Row:
    """Speed of the fastest joint, as a share of its limit."""
    share = 100.0 * record.speed_share
    return Row.at_most("a joint moves at", share, 100.0, "% of its limit", REQUIRED)


def way_row(fault: Fault, record: TrialRecord) -> Row | None:
    """Way of the tip that a fault bounds; None where it bounds none.

    It is the way from the path without the fault. An arm with an unknown load that has to stop in
    motion is judged by its way within BRAKED_WITHIN.
    """
    bound = 1e3 * (NEAR_WITH_LOAD if record.load > 0.0 else NEAR)
    if fault.near:
        away = 1e3 * record.off_path
        return Row.at_most("the tip is from where it would be by", away, bound, "mm", REQUIRED)
    if record.load > 0.0 and fault.safe:
        name = f"the tip is away {BRAKED_WITHIN:g} s after the fault by"
        return Row.at_most(name, 1e3 * record.way_of_brake, bound, "mm", REQUIRED)
    return None


def _never(name: str, occurs: bool) -> Row:
    """A row of what must not be."""
    return Row.at_most(name, float(occurs), 0.0, TIMES, REQUIRED)


def _different(told: Iterable[Told]) -> tuple[str, ...]:
    """The texts, each with its source; those that differ in numbers alone stand once."""
    by_words: dict[str, str] = {}
    for each in told:
        text = f"{each.source}: {each.text}"
        by_words.setdefault(re.sub(r"[-+]?\d[\d.]*(e[-+]?\d+)?|nan|inf", "0", text), text)
    return tuple(by_words.values())


def _matches(pattern: str, told: Sequence[Told]) -> bool:
    return re.search(pattern, "\n".join(each.text for each in told)) is not None


def path_without_fault(bench: Bench) -> Array:
    """Positions of the tip (k, 3) on its way to the goal, where nothing fails [m]."""
    first = len(bench.arm.moments)
    bench.move()
    bench.waits(bench.is_at_rest, BACK_WITHIN)
    bench.step(HELD)
    return np.array([moment.tip for moment in bench.arm.moments[first:]])
