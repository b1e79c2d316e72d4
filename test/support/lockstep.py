"""Nodes of the package in the test's own process, in lockstep: no DDS, no threads, no clock but a
stepped one.

:class:`LockstepRos` is used as :class:`ros_support.Ros` is, which starts the same nodes as
processes of their own. What happens, happens in an order that the test decides; a wait ends as soon
as its condition holds.
"""

from __future__ import annotations

import gc
import importlib
import inspect
import os
import signal
import time
import traceback
from collections.abc import Callable, Mapping, MutableSequence
from concurrent import futures
from pathlib import Path
from types import SimpleNamespace
from typing import Any, ClassVar

import graph
import pytest
import rclpy
from rclpy.clock import Clock
from rclpy.exceptions import ParameterException
from rclpy.impl.rcutils_logger import Throttle
from rclpy.qos import DurabilityPolicy, QoSProfile
from rclpy.serialization import deserialize_message
from rclpy.signals import SignalHandlerOptions
from rclpy.task import Future, Task
from rclpy.time import Time
from ros_support import TIMED, Inbox, Ros

from robot_control_ros.bringup import NodeSpec
from robot_control_ros.client import ros_backend, ros_thread
from robot_control_ros.client.ros_thread import RosThread
from robot_control_ros.client.state_feed import StateFeed
from robot_control_ros.core import compiled
from robot_control_ros.core.errors import RobotControlError
from robot_control_ros.identification import over_ros
from robot_control_ros.nodes.controller import gain_monitor
from robot_control_ros.nodes.watchdog import node as watchdog_node
from robot_control_ros.ros import controller_manager, hearing
from robot_control_ros.ros.ending import DEAF, FAULT
from robot_control_ros.ros.ros_params import check_given_parameters
from robot_control_ros.ros.running import is_refusal_of_rclpy

SEVERITIES = {10: "DEBUG", 20: "INFO", 30: "WARN", 40: "ERROR", 50: "FATAL"}
LAST_POLL = 20_000_000  # ns between two looks whether a node that got a signal is finished


class LockstepExecutor:
    """An executor of rclpy's kind over a :class:`graph.Graph`."""

    def __init__(self, context: Any, made: graph.Graph) -> None:
        self.context = context
        self._graph, self._nodes = made, []
        self._unfinished: list[Task] = []  # coroutines that wait for something

    def add_node(self, node: Any) -> bool:
        if node in self._nodes:
            return False
        self._nodes.append(node)
        node.executor = self
        node.handle.owner = node
        return True

    def remove_node(self, node: Any) -> None:
        if node in self._nodes:
            self._nodes.remove(node)
            node.handle.owner = None

    def get_nodes(self) -> list[Any]:
        return list(self._nodes)

    def wake(self) -> None:
        """Nothing sleeps here."""

    def create_task(self, handler: Callable[..., Any], *arguments: Any, **named: Any) -> Task:
        task = Task(handler, arguments, named, executor=self)
        self._graph.after(0, lambda: self._run(task))
        return task

    def call(
        self,
        node: Any,
        function: Callable[..., Any],
        *arguments: Any,
        then: Callable[[Any], None] | None = None,
    ) -> None:
        """Call a function, or run a coroutine, of a node; `then` gets what it returns."""
        process = node.process
        if process is None:
            self._call(function, arguments, then)
        else:
            process.do(lambda: self._call(function, arguments, then))
        self._resume()

    def spin_once(self, timeout_sec: float | None = None) -> None:
        """Let one thing happen, or the time pass."""
        end = self._graph.now + round((1.0 if timeout_sec is None else timeout_sec) * 1e9)
        self._graph.step(end)

    def spin_until_future_complete(self, future: Future, timeout_sec: float | None = None) -> None:
        end = self._graph.now + round((60.0 if timeout_sec is None else timeout_sec) * 1e9)
        while not future.done() and self._graph.now < end:
            self._graph.step(end)

    def shutdown(self, timeout_sec: float | None = None) -> bool:
        return True

    def _call(self, function: Callable[..., Any], arguments: tuple[Any, ...], then: Any) -> None:
        if inspect.iscoroutinefunction(function):
            task = Task(function, arguments, executor=self)
            if then is not None:
                task.add_done_callback(lambda done: then(done.result()))
            self._run(task)
            return
        result = function(*arguments)
        if then is not None:
            then(result)

    def _run(self, task: Task) -> None:
        task()
        if task.done():
            task.result()  # raises what it raised
        elif not task.cancelled():
            self._unfinished.append(task)

    def _resume(self) -> None:
        waiting, self._unfinished = self._unfinished, []
        for task in waiting:
            self._run(task)


class UnreadMessages(MutableSequence[Any]):
    """Messages in the order of their arrival, each of which is read when somebody looks at it.

    Args:
        kind: of the messages.
    """

    def __init__(self, kind: type) -> None:
        self._kind = kind
        self._arrived: list[Any] = []  # bytes, or the message once it was read

    def __len__(self) -> int:
        return len(self._arrived)

    def __getitem__(self, place: Any) -> Any:
        if isinstance(place, slice):
            return [self._read(k) for k in range(*place.indices(len(self)))]
        return self._read(place)

    def __setitem__(self, place: Any, message: Any) -> None:
        self._arrived[place] = message

    def __delitem__(self, place: Any) -> None:
        del self._arrived[place]

    def insert(self, place: int, message: Any) -> None:
        self._arrived.insert(place, message)

    def clear(self) -> None:
        self._arrived.clear()

    def __eq__(self, other: object) -> bool:
        return list(self) == other

    def _read(self, k: int) -> Any:
        if isinstance(self._arrived[k], bytes):
            self._arrived[k] = deserialize_message(self._arrived[k], self._kind)
        return self._arrived[k]


class NestedExecutor(LockstepExecutor):
    """An executor that a callback makes for itself, and spins: meanwhile the rest
    of its process waits.
    """

    def __init__(self, context: Any) -> None:
        super().__init__(context, graph.current())

    def spin_until_future_complete(self, future: Future, timeout_sec: float | None = None) -> None:
        process = graph.current().process
        own = {node.handle for node in self.get_nodes()}
        waiting = [] if process is None else [each for each in process.handles if each not in own]
        for handle in waiting:
            handle.hold()
        try:
            super().spin_until_future_complete(future, timeout_sec)
        finally:
            for handle in waiting:
                handle.go_on()


class NodeProcess:
    """A node of the package, as its own process would run it: see ``ros/running.py``, `run`.

    Attributes:
        node: the node; None once it has ended, or where it could not be made.
        returncode: the exit status; None while it runs.
        handles: its nodes in the graph.
    """

    def __init__(
        self,
        executable: str,
        arguments: list[str],
        executor: LockstepExecutor,
        made: graph.Graph,
        make_node: Callable[[], Any] | None = None,
    ) -> None:
        self.args = [executable, *arguments]
        self.returncode: int | None = None
        self.node: Any = None
        self.pid = 0
        self._executor, self._graph = executor, made
        self.handles: list[graph.Node] = []
        self._words: list[str] = []
        self._ending = False
        self._names: set[str] = set()
        make_node = make_node or _maker(executable)
        made.launch = graph.Launch(arguments)
        self.do(lambda: self._make(make_node))
        made.launch = graph.Launch([])

    @property
    def err(self) -> str:
        """What it has written to stderr."""
        logged = [
            f"[{SEVERITIES[severity]}] [0.0] [{name}]: {text}\n"
            for name, severity, text in self._graph.lines
            if name.partition(".action")[0] in self._names
        ]
        return "".join(logged + self._words)

    def do(self, action: Callable[[], Any]) -> None:
        """Let the process do something; an exception ends it, as in a process of its own."""
        before, self._graph.process = self._graph.process, self
        try:
            action()
        except Exception as error:
            if is_refusal_of_rclpy(error, __file__, graph.__file__):
                return
            if self.node is not None and hasattr(self.node, "leave"):
                self.node.leave()
            self._words.append(traceback.format_exc())
            self._end(FAULT)
        finally:
            self._graph.process = before
        if (
            self.node is not None
            and getattr(self.node, "failed", False)
            and self.returncode is None
        ):
            self._end(1)

    def adopt(self, handle: graph.Node) -> None:
        """A node was made in this process."""
        self.handles.append(handle)
        self._names.add(handle.logger_name())

    def poll(self) -> int | None:
        return self.returncode

    def wait(self, timeout: float | None = None) -> int:
        """The exit status, once it has ended."""
        end = self._graph.now + round((60.0 if timeout is None else timeout) * 1e9)
        while self.returncode is None:
            if self._graph.now >= end:
                pytest.fail(f"not ended: {self.args}\n{self.err}")
            self._graph.step(end)
        return self.returncode

    def send_signal(self, number: int) -> None:
        if self.returncode is not None:
            return
        if number == signal.SIGKILL:
            self._vanish(-signal.SIGKILL)
        elif number == signal.SIGSTOP:
            for handle in self.handles:
                handle.hold()
        elif number == signal.SIGCONT:
            for handle in self.handles:
                handle.go_on()
        elif not self._ending:
            self._ending = True
            self._look_whether_finished(0)

    def kill(self) -> None:
        self.send_signal(signal.SIGKILL)

    def _make(self, make_node: Callable[[], Any]) -> None:
        try:
            self.node = make_node()
            check_given_parameters(self.node, self.args)
        except (RobotControlError, ParameterException) as error:
            self._words.append(f"not started: {error}\n")
            self._vanish(1)
            return
        self._executor.add_node(self.node)
        if hasattr(self.node, "hearing"):
            self.node.hearing.start(self._end_deaf)

    def _end_deaf(self) -> None:
        node, self.node = self.node, None
        if hasattr(node, "leave"):
            node.leave()
        self._executor.remove_node(node)
        self._vanish(DEAF)

    def _end_when_finished(self) -> None:
        if self.returncode is not None:
            return
        if self.handles and self.handles[0].held:  # it is told when it goes on
            self.handles[0].run(lambda: self.do(self._end_when_finished))
            return
        if hasattr(self.node, "unfinished") and self.node.unfinished():
            self._look_whether_finished(LAST_POLL)
            return
        self._end(0)

    def _look_whether_finished(self, delay: int) -> None:
        """Ask the node after a delay [ns]; a process that is stopped does it when it goes on."""
        self._graph.after(
            delay, lambda: self.handles[0].run(lambda: self.do(self._end_when_finished))
        )

    def _end(self, status: int) -> None:
        node, self.node = self.node, None
        if node is not None:
            try:
                node.close()
            except Exception:
                self._words.append(traceback.format_exc())
                status = FAULT
            self._executor.remove_node(node)
        self._vanish(status)

    def _vanish(self, status: int) -> None:
        if self.node is not None:
            self._executor.remove_node(self.node)
            self.node = None
        for handle in self.handles:
            handle.vanish()
        self.returncode = status


def _maker(executable: str) -> Callable[[], Any]:
    """The class or function that an executable's main() gives to run()."""
    module = importlib.import_module(f"robot_control_ros.nodes.{executable}.node")
    found: list[Callable[[], Any]] = []
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(module, "run", found.append)
        # it would be for the tests' own process, and for good
        patch.setattr(os, "nice", lambda step: 0)
        module.main()
    return found[0]


class AtOnce:
    """An executor of ``concurrent.futures`` that has no thread: a computation is done when it
    has been asked for.
    """

    def __init__(self, workers: int, name: str) -> None:
        pass

    def submit(self, function: Callable[..., Any], *arguments: Any) -> futures.Future[Any]:
        future: futures.Future[Any] = futures.Future()
        future.set_result(function(*arguments))
        return future

    def shutdown(self, **how: bool) -> None:
        pass


class SteppedPeriodic:
    """A thread that calls a function again and again, without the thread: see
    ``ros/periodic.py``.
    """

    def __init__(self, step: Callable[[], float], name: str, limit: float = 0.0) -> None:
        self.step = step
        self._graph, self._stopped = graph.current(), False
        self._process: NodeProcess = self._graph.process

    def start(self) -> None:
        self._turn()

    def stop(self) -> None:
        self._stopped = True

    def _turn(self) -> None:
        if self._stopped or self._process.returncode is not None:
            return
        delay = self.step()
        self._graph.after(round(delay * 1e9), lambda: self._process.handles[0].run(self._next))

    def _next(self) -> None:
        self._process.do(self._turn)


class LockstepThread(RosThread):
    """What leads a robot over ROS, without the thread: it goes on while the test waits."""

    def start(self) -> None:
        self.started = True

    def hears(self) -> bool:
        return True

    @property
    def runs(self) -> bool:
        return not self.closed

    def call(self, action: Callable[[], Any]) -> Any:
        return action()


class LockstepChild:
    """A node in lockstep, as the tests hold one; see :class:`ros_support.Child`."""

    def __init__(self, process: NodeProcess) -> None:
        self.process = process

    @property
    def node(self) -> Any:
        """The node itself."""
        return self.process.node

    @property
    def out(self) -> str:
        return ""

    @property
    def err(self) -> str:
        return self.process.err

    def __str__(self) -> str:
        status = self.process.poll()
        state = "runs" if status is None else f"ended with {status}"
        return f"--- {' '.join(self.process.args)}: {state}\n{self.err[-4000:]}"

    def end(self, *signals: int) -> int:
        """Send signals, one right after the other; returns the exit status."""
        for number in signals:
            self.process.send_signal(number)
        return self.process.wait()

    def clear_away(self) -> None:
        self.process.kill()


class World:
    """What is replaced below and in the package while a test has a graph; tests may have several.

    Attributes:
        context: rclpy's, of all nodes.
    """

    _here: ClassVar[World | None] = None

    def __init__(self) -> None:
        self._users = 0
        self._patch = patch = pytest.MonkeyPatch()
        # Compiling takes no time here, nor does waiting for another process that compiles.
        patch.setattr(compiled, "time", SimpleNamespace(monotonic=time.monotonic, sleep=time.sleep))
        graph.replace_native_layer(patch)
        for name in ("collect", "freeze"):  # which nodes do at their start
            patch.setattr(gc, name, lambda: None)
        self.context = rclpy.Context()
        rclpy.init(context=self.context, signal_handler_options=SignalHandlerOptions.NO)
        patch.setattr("rclpy.utilities.g_default_context", self.context)
        patch.setattr(gain_monitor, "ThreadPoolExecutor", AtOnce)
        for module in (hearing, watchdog_node):
            patch.setattr(module, "Periodic", SteppedPeriodic)
        patch.setattr(controller_manager, "SingleThreadedExecutor", NestedExecutor)
        patch.setattr(
            ros_thread,
            "SingleThreadedExecutor",
            lambda context: LockstepExecutor(context, graph.current()),
        )
        patch.setattr(ros_thread, "leave_shared_memory", lambda: None)
        patch.setattr(ros_backend, "RosThread", LockstepThread)
        patch.setattr(over_ros, "RosThread", LockstepThread)
        patch.setattr(
            ros_backend.RosBackend, "clock", staticmethod(lambda: graph.current().now * 1e-9)
        )
        patch.setattr(ros_backend.RosBackend, "concurrent", False)
        patch.setattr(StateFeed, "wait", wait_for_state)
        patch.setitem(Throttle.params, "throttle_time_source_type", SteppedClock())

    @classmethod
    def enter(cls) -> World:
        """Replace it, unless another graph has; :meth:`leave` puts it back after the last graph."""
        if cls._here is None:
            cls._here = World()
        cls._here._users += 1
        return cls._here

    def leave(self) -> None:
        self._users -= 1
        if self._users == 0:
            World._here = None
            self.context.try_shutdown()
            self._patch.undo()


class SteppedClock(Clock):
    """The clock of the graph that is used last, for what is made before any."""

    def now(self) -> Time:
        return Time(nanoseconds=graph.EPOCH + graph.current().now)


def wait_for_state(feed: StateFeed, seen: Any, limit: float) -> None:
    """``StateFeed.wait`` of who waits for a robot."""
    here = graph.current()
    faults, end = feed.faults, here.now + round(limit * 1e9)
    while feed.newest is seen and feed.faults == faults and here.step(end):
        pass


class LockstepRos(Ros):
    """A graph of its own, a node of the test's in it, and the nodes of the package that the test
    starts there.

    Attributes:
        graph: what happens, and when.
    """

    def __init__(self, folder: Path) -> None:
        self.environment: dict[str, str] = {}
        self._folder = folder
        self.graph = graph.Graph()
        self._world = World.enter()
        self.context = self._world.context
        self.executor = LockstepExecutor(self.context, self.graph)
        self._nodes: list[Any] = []
        self.children: list[Any] = []
        self._clients: dict[str, Any] = {}
        self.node = self.create_node("test")

    def __exit__(self, *error: object) -> None:
        self.graph.use()
        for child in self.children:
            child.clear_away()
        for node in self._nodes:
            node.destroy_node()
        self._world.leave()
        self.graph.close()

    def create_node(self, name: str) -> Any:
        self.graph.use()
        node = rclpy.create_node(name, context=self.context, use_global_arguments=False)
        self.executor.add_node(node)
        self._nodes.append(node)
        return node

    def start(
        self,
        executable: str,
        parameters: Mapping[str, Any] | None = None,
        make_node: Callable[[], Any] | None = None,
        **spec: Any,
    ) -> LockstepChild:
        """Start a node of the package, or the node that `make_node` makes."""
        self.graph.use()
        usual = {"realtime_priority": 0} if executable in TIMED else {}
        arguments = NodeSpec(
            executable, executable, {**usual, **(parameters or {})}, **spec
        ).ros_arguments()
        child = LockstepChild(
            NodeProcess(executable, arguments, self.executor, self.graph, make_node)
        )
        self.children.append(child)
        return child

    def subscribe(
        self,
        kind: type,
        topic: str,
        *,
        latched: bool = False,
        on_message: Any = None,
        depth: int = 1000,
    ) -> Inbox:
        """Keep all messages of a topic; see :meth:`ros_support.Ros.subscribe`.

        Where nobody is called for each, a message is read when the test looks at it: of telemetry
        at the rate of control most tests look at the last one alone.
        """
        if on_message is not None:
            return super().subscribe(
                kind, topic, latched=latched, on_message=on_message, depth=depth
            )
        inbox = Inbox()
        inbox.messages = UnreadMessages(kind)
        durability = DurabilityPolicy.TRANSIENT_LOCAL if latched else DurabilityPolicy.VOLATILE
        qos = QoSProfile(depth=depth, durability=durability)
        self.node.create_subscription(kind, topic, inbox.messages.append, qos, raw=True)
        return inbox

    def until(self, *given: Any, **named: Any) -> Any:
        self.graph.use()
        return super().until(*given, **named)

    def wait(self, seconds: float) -> None:
        """Let the time pass, and what happens in it."""
        self.graph.run_for(round(seconds * 1e9))
