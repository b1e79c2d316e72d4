"""ROS 2 for the tests: nodes in processes of their own, and a node of the test's own to speak with
them.

Every :class:`Ros` has its own domain, reaches no further than this machine, and waits on
conditions, never for times.
"""

from __future__ import annotations

import contextlib
import fcntl
import itertools
import os
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import apart
import numpy as np
import pytest
from forked import Forked
from processes import threads

from robot_control_ros.bringup import NodeSpec
from robot_control_ros.robot.configuration import RobotConfig
from robot_control_ros.ros.process_environment import environment

LIMIT = 60.0  # s, for anything to happen at all, on a machine that others keep busy
PERIOD = 0.002  # s between two stamps of a fake robot
ANSWERED = 5.0  # s, for the answer of a service; a response may get lost before its client is known
TIMED = ("controller", "watchdog")  # nodes that take real-time priority
DISCOVERY = Path(__file__).with_name("fastdds.xml")

_numbers = itertools.count()
# For 20 s a killed node is still seen in its domain: so a worker takes the domains of no other, and
# each in turn. test_packaging takes some of those between.
_worker, _workers = (os.environ.get(f"PYTEST_XDIST_WORKER{name}", "") for name in ("", "_COUNT"))
_domains = (*range(1, 60), *range(70, 101))[
    int(_worker.removeprefix("gw") or 0) :: int(_workers or 1)
]
_taken = itertools.count()
_kept: list[Domain] = []


class Domain:
    """A ROS domain that no other test of this machine's uses, until it is released
    or this process ends.
    """

    def __init__(self) -> None:
        for _ in _domains:
            # most tests take one
            number = _domains[(next(_taken) + 2 * apart.started) % len(_domains)]
            path = Path(tempfile.gettempdir()) / f"robot_control_ros_{os.getuid()}_domain_{number}"
            self.number, self._lock = number, path.open("w")
            try:
                fcntl.flock(self._lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
                return
            except BlockingIOError:
                self._lock.close()
        pytest.fail(f"none of the {len(_domains)} ROS domains is free")

    def release(self) -> None:
        self._lock.close()


def ros_environment(domain: Domain | None = None) -> dict[str, str]:
    """The environment of one test's processes: a domain of its own, on this machine only.

    Over UDP: what killed processes leave of Fast DDS's shared memory holds up others, and so does a
    machine that is so loaded that its locks time out. The range LOCALHOST would bring that memory
    back, so the profile keeps to this machine. Nodes find each other sooner than by default, see
    there.
    """
    from robot_control_ros.ros.transport import profiles_variable

    if domain is None:
        domain = Domain()
        _kept.append(domain)
    chosen = {
        "ROS_DOMAIN_ID": str(domain.number),
        "ROS_AUTOMATIC_DISCOVERY_RANGE": "SYSTEM_DEFAULT",
    }
    fast_dds = {
        "FASTDDS_BUILTIN_TRANSPORTS": "UDPv4",
        profiles_variable(os.environ): str(DISCOVERY),
    }
    return environment({**os.environ, **fast_dds, **chosen})


class Child:
    """A Python process whose output is kept; where it is `forked`, its module isn't run as a
    program but its main().
    """

    def __init__(
        self,
        arguments: Sequence[str],
        folder: Path,
        variables: Mapping[str, str],
        *,
        forked: bool = False,
    ) -> None:
        self._path = folder / f"child_{next(_numbers)}"
        self._path.mkdir()
        with (self._path / "out").open("wb") as out, (self._path / "err").open("wb") as err:
            if forked:
                self.process: Any = Forked(
                    *arguments, out=out.name, err=err.name, variables=variables
                )
            else:
                self.process = subprocess.Popen(
                    [sys.executable, "-m", *arguments],
                    stdout=out,
                    stderr=err,
                    env=variables,
                    start_new_session=True,
                )

    @property
    def out(self) -> str:
        return (self._path / "out").read_text(errors="replace")

    @property
    def err(self) -> str:
        return (self._path / "err").read_text(errors="replace")

    def __str__(self) -> str:
        """What it is, how it ended, and what it said last."""
        arguments, status = " ".join(map(str, self.process.args)), self.process.poll()
        return f"--- {arguments}: {'runs' if status is None else f'ended with {status}'}\n{self.err[-4000:]}"

    def scheduling(self) -> set[int]:
        """The scheduling policies of its threads."""
        policies = set()
        for thread in threads(self.process.pid):
            with contextlib.suppress(ProcessLookupError):  # it may end meanwhile
                policies.add(os.sched_getscheduler(thread))
        return policies

    def end(self, *signals: int) -> int:
        """Send signals, one right after the other; returns the exit status."""
        for number in signals:
            self.process.send_signal(number)
        try:
            return self.process.wait(LIMIT)
        except subprocess.TimeoutExpired:
            pytest.fail(f"not ended within {LIMIT} s:\n{self.out}{self.err}")

    def clear_away(self) -> None:
        if self.process.poll() is None:
            self.process.kill()
        self.process.wait(LIMIT)


class Inbox:
    """What has arrived on a topic, oldest first."""

    def __init__(self) -> None:
        self.messages: list[Any] = []

    def __len__(self) -> int:
        return len(self.messages)

    @property
    def last(self) -> Any:
        return self.messages[-1]


class Ros:
    """A domain of its own, a node in it, and the processes that the test starts there.

    Args:
        folder: for what the processes print.
        events: False where callbacks take further messages themselves, which the events executor
            can't bear.
    """

    def __init__(self, folder: Path, *, events: bool = True) -> None:
        import rclpy
        from rclpy.executors import SingleThreadedExecutor
        from rclpy.signals import SignalHandlerOptions

        from robot_control_ros.ros.running import make_executor

        self._domain = Domain()
        self.environment, self._folder = ros_environment(self._domain), folder
        self._patch = pytest.MonkeyPatch()
        for name, value in self.environment.items():
            self._patch.setenv(name, value)
        self.context = rclpy.Context()
        rclpy.init(context=self.context, signal_handler_options=SignalHandlerOptions.NO)
        self.executor = (
            make_executor(self.context) if events else SingleThreadedExecutor(context=self.context)
        )
        self._nodes: list[Any] = []
        self.node = self.create_node("test")
        self.children: list[Child] = []
        self._clients: dict[str, Any] = {}

    def __enter__(self) -> Ros:
        return self

    def __exit__(self, *error: object) -> None:
        for child in self.children:
            child.clear_away()
        if apart.inside:  # the process ends at once: nothing waits for DDS
            return
        self.executor.shutdown()
        for node in self._nodes:
            node.destroy_node()
        self.context.try_shutdown()
        self._patch.undo()
        self._domain.release()

    def create_node(self, name: str) -> Any:
        """Create a node in this process; it runs while the test spins, and is
        destroyed at the end.
        """
        import rclpy

        node = rclpy.create_node(name, context=self.context)
        self.executor.add_node(node)
        self._nodes.append(node)
        return node

    def start(
        self, executable: str, parameters: Mapping[str, Any] | None = None, **spec: Any
    ) -> Child:
        """Start a node of the package; without real-time priority, where the test doesn't ask for
        it.

        Tests run side by side: what has priority in one takes the time of the other.
        """
        usual = {"realtime_priority": 0} if executable in TIMED else {}
        arguments = NodeSpec(
            executable, executable, {**usual, **(parameters or {})}, **spec
        ).ros_arguments()
        module = f"robot_control_ros.nodes.{executable}"
        child = Child([module, *arguments], self._folder, self.environment, forked=True)
        self.children.append(child)
        return child

    def broken(self) -> bool:
        """Whether a child has ended with an error of its own."""
        return any((child.process.poll() or 0) > 0 for child in self.children)

    # Waiting

    def spin(self, seconds: float = 0.01) -> None:
        """Handle at most one event."""
        self.executor.spin_once(timeout_sec=seconds)

    def until(
        self,
        condition: Callable[[], Any],
        what: str,
        again: Callable[[], Any] | None = None,
        period: float = 0.1,
    ) -> Any:
        """Spin until the condition holds; `again`, where given, is done first, and again
        after each period [s].
        """
        deadline, next_time = time.monotonic() + LIMIT, -1.0
        while not (found := condition()):
            now = time.monotonic()
            if now > deadline or self.broken():
                words = "\n".join(str(child) for child in self.children)
                pytest.fail(f"waited for: {what}\n{words}")
            if again is not None and now >= next_time:
                again()
                next_time = now + period
            self.spin()
        return found

    # Topics

    def subscribe(
        self,
        kind: type,
        topic: str,
        *,
        latched: bool = False,
        on_message: Any = None,
        depth: int = 1000,
    ) -> Inbox:
        """Keep all messages of a topic; up to `depth` may wait until the test spins."""
        from rclpy.qos import DurabilityPolicy, QoSProfile

        inbox = Inbox()

        def keep(message: Any) -> None:
            inbox.messages.append(message)
            if on_message is not None:
                on_message(message)

        durability = DurabilityPolicy.TRANSIENT_LOCAL if latched else DurabilityPolicy.VOLATILE
        self.node.create_subscription(
            kind, topic, keep, QoSProfile(depth=depth, durability=durability)
        )
        return inbox

    def publisher(self, kind: type, topic: str, *, latched: bool = False) -> Any:
        from rclpy.qos import DurabilityPolicy, QoSProfile

        durability = DurabilityPolicy.TRANSIENT_LOCAL if latched else DurabilityPolicy.VOLATILE
        return self.node.create_publisher(kind, topic, QoSProfile(depth=10, durability=durability))

    def next(self, inbox: Inbox, what: str, again: Callable[[], Any] | None = None) -> Any:
        """The next message that comes."""
        count = len(inbox)
        self.until(lambda: len(inbox) > count, what, again)
        return inbox.messages[count]

    # Services

    def call(self, kind: type, name: str, **fields: Any) -> Any:
        """Call a service and wait for its answer."""
        if name not in self._clients:
            self._clients[name] = self.node.create_client(kind, name)
        client = self._clients[name]
        self.until(client.service_is_ready, f"service {name}")
        futures, asked = [], -ANSWERED

        def ask() -> None:
            nonlocal asked
            if time.monotonic() - asked > ANSWERED:
                asked = time.monotonic()
                futures.append(client.call_async(kind.Request(**fields)))

        answered = self.until(
            lambda: [each for each in futures if each.done()], f"an answer of {name}", ask
        )
        return answered[0].result()

    def trigger(self, name: str) -> Any:
        from std_srvs.srv import Trigger

        return self.call(Trigger, name)

    def set(self, node: str, **values: Any) -> list[Any]:
        """Set parameters one by one; underscores that stand twice are dots. Returns the results."""
        from rcl_interfaces.srv import SetParameters

        return list(
            self.call(
                SetParameters, f"/{node}/set_parameters", parameters=_parameters(values)
            ).results
        )

    def set_atomically(self, node: str, **values: Any) -> Any:
        from rcl_interfaces.srv import SetParametersAtomically

        name = f"/{node}/set_parameters_atomically"
        return self.call(SetParametersAtomically, name, parameters=_parameters(values)).result

    def get(self, node: str, name: str) -> Any:
        """The value of one parameter; None where it isn't declared."""
        from rcl_interfaces.srv import GetParameters
        from rclpy.parameter import parameter_value_to_python

        values = self.call(GetParameters, f"/{node}/get_parameters", names=[name]).values
        plain = parameter_value_to_python(values[0]) if values else None
        return plain if isinstance(plain, (bool, int, float, str, type(None))) else list(plain)

    def describe(self, node: str, *names: str) -> list[Any]:
        from rcl_interfaces.srv import DescribeParameters

        return list(
            self.call(
                DescribeParameters, f"/{node}/describe_parameters", names=list(names)
            ).descriptors
        )


def _parameters(values: Mapping[str, Any]) -> list[Any]:
    from rclpy.parameter import Parameter

    return [
        Parameter(name.replace("__", "."), value=value).to_parameter_msg()
        for name, value in values.items()
    ]


class Controller:
    """A controller process, and what is said to it and by it."""

    def __init__(self, ros: Ros, wrench: str = "/sensor/wrench", **parameters: Any) -> None:
        from diagnostic_msgs.msg import DiagnosticArray

        self.ros = ros
        self.diagnostics = ros.subscribe(DiagnosticArray, "/diagnostics")
        self.child = ros.start("controller", parameters, remappings={"wrench": wrench})

    @property
    def state(self) -> str:
        """The label of its lifecycle state."""
        from lifecycle_msgs.srv import GetState

        return self.ros.call(GetState, "/controller/get_state").current_state.label

    def change(self, transition: str) -> bool:
        """Ask for a transition; returns whether it was made."""
        from lifecycle_msgs.msg import Transition
        from lifecycle_msgs.srv import ChangeState

        number = getattr(Transition, f"TRANSITION_{transition.upper()}")
        answer = self.ros.call(
            ChangeState, "/controller/change_state", transition=Transition(id=number)
        )
        return bool(answer.success)

    def activate(self) -> None:
        """Ask until it is: it refuses while it doesn't see the robot."""
        self.ros.until(lambda: self.change("activate"), "activation")

    def diagnosis(self) -> tuple[int, str, dict[str, str]]:
        """The latest: level, message, values."""
        status = self.diagnostics.last.status[0]
        return status.level[0], status.message, {item.key: item.value for item in status.values}

    def says(self, *words: str, again: Callable[[], Any] | None = None) -> str:
        """Wait for an error in /diagnostics with these words; what causes it may have to be
        done again and again.
        """
        self.diagnostics.messages.clear()

        def heard() -> str:
            if not self.diagnostics.messages:
                return ""
            level, message, _ = self.diagnosis()
            return message if level == 2 and all(word in message for word in words) else ""

        return self.ros.until(heard, f"an error in /diagnostics with {words}", again)


STEP = 0.02  # rad by which a joint moves from one joint state to the next


class FakeRobot:
    """Plays the robot: sends joint states with stamps of its own, and takes the commands.

    Attributes:
        q, v: (n,) what it sends next.
        effort: (n,) that it measures; None where it measures none.
        noise: of its measured efforts, in place of them; None for none.
        commands: all commands, oldest first.
    """

    def __init__(self, ros: Ros, robot: RobotConfig, mode: str = "effort") -> None:
        from sensor_msgs.msg import JointState
        from std_msgs.msg import Float64MultiArray

        self.ros, self.robot = ros, robot
        self.q, self.v, self.time = np.array(robot.home), np.zeros(robot.n), 100.0
        self.effort: np.ndarray | None = None
        self.noise: np.random.Generator | None = None
        self._place = self.q  # where it was last
        self.commands = ros.subscribe(Float64MultiArray, f"/forward_{mode}_controller/commands")
        self._publisher = ros.publisher(JointState, "joint_states")

    def message(self) -> Any:
        """The next joint state, one period later."""
        from sensor_msgs.msg import JointState

        from robot_control_ros.ros.messages import to_stamp

        self.time += PERIOD
        self._place = self.q
        message = JointState(
            name=list(self.robot.joints), position=self.q.tolist(), velocity=self.v.tolist()
        )
        if self.effort is not None:
            message.effort = self.effort.tolist()
        if self.noise is not None:
            message.effort = self.noise.normal(size=self.robot.n).tolist()
        message.header.stamp = to_stamp(self.time)
        return message

    def send(self, message: Any = None) -> None:
        self._publisher.publish(self.message() if message is None else message)

    def exchange(self, message: Any = None) -> np.ndarray:
        """Send a joint state, the next one by default, and wait for the command that answers it.

        Where the joints were set elsewhere, they move there first, no faster than joints can.
        """
        if message is None:
            self._move()
        return self._exchange(message)

    def set_down(self, q: np.ndarray) -> None:
        """It is at q (n,), at rest, without a way to there: nobody looks."""
        self.q = self._place = q
        self.v = np.zeros(self.robot.n)

    def _move(self) -> None:
        """Send what is between the place that was last sent and the next one."""
        start, goal = self._place, self.q
        count = int(np.ceil(np.abs(goal - start).max() / STEP))
        for k in range(1, count):
            self.q = start + k / count * (goal - start)
            self._exchange()
        self.q = goal

    def _exchange(self, message: Any = None) -> np.ndarray:
        count = len(self.commands)
        self.send(message)
        self.ros.until(lambda: len(self.commands) > count, "a command for the joint state")
        return np.array(self.commands.messages[count].data)

    def begin(self, holding: Callable[[np.ndarray], np.ndarray]) -> np.ndarray:
        """Let the controller start anew where the robot is; returns its command there.

        The stamps jump, and the joint angles differ a little at each attempt, so that the answer to
        the last joint state can't be taken for one to an earlier one: afterwards nothing is under
        way.

        Args:
            holding: the expected command at q (n,).
        """
        place = self.q
        for attempt in range(60):
            self.time += 10.0
            self.q = place + 1e-3 * attempt
            count, expected = len(self.commands), holding(self.q)
            self.send()
            deadline = time.monotonic() + LIMIT / 60
            while time.monotonic() < deadline:
                self.ros.spin()
                for answer in self.commands.messages[count:]:
                    if np.abs(np.array(answer.data) - expected).max() < 1e-6:
                        return np.array(answer.data)
        pytest.fail(
            f"no command that holds the robot\n{[child.err[-4000:] for child in self.ros.children]}"
        )


def real_time_policy() -> int:
    """The scheduling that processes of this user can have."""
    program = "import os; os.sched_setscheduler(0, os.SCHED_FIFO, os.sched_param(1))"
    allowed = (
        subprocess.run([sys.executable, "-c", program], capture_output=True, check=False).returncode
        == 0
    )
    return os.SCHED_FIFO if allowed else os.SCHED_OTHER


def interrupt_until_it_ends(child: Child) -> int:
    """Send SIGINT every 2 ms, as a terminal and a launcher may; returns the exit status."""
    deadline = time.monotonic() + LIMIT
    while child.process.poll() is None and time.monotonic() < deadline:
        child.process.send_signal(signal.SIGINT)
        time.sleep(0.002)
    return child.end()


def ended_cleanly(child: Child) -> bool:
    """No traceback in what it said."""
    return "Traceback" not in child.err + child.out and "terminate called" not in child.err
