"""Rows of others that use the same topics and parameters, and of a machine
that others keep busy.
"""

from __future__ import annotations

import itertools
import os
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from geometry_msgs.msg import WrenchStamped
from rosgraph_msgs.msg import Clock
from sensor_msgs.msg import JointState
from std_msgs.msg import Empty

from robot_control_ros.client.recording.state_channel import STATE_TOPIC
from robot_control_ros.core.errors import RobotControlError
from robot_control_ros.recording.mcap_reader import read_record
from robot_control_ros.ros.messages import to_stamp

from .process_rows import TAKEN_OVER
from .trial import KILLED_WITHIN, Fault, Trial

LAWS = (
    "impedance",
    "joint_impedance",
    "task_space_pd",
    "admittance",
    "joint_pid",
    "position_domain_pd",
)
STRANGE = 1.5  # s for which a stranger publishes: somebody looks once a second
HOG = """
import os
if {priority}:
    try:
        os.sched_setscheduler(0, os.SCHED_FIFO, os.sched_param({priority}))
    except PermissionError:
        print("real-time priority isn't permitted", flush=True)
while True:
    pass
"""
FULL = "File too large|can't be written"
DEAFNESS = Path(__file__).resolve().parents[2] / "test" / "support" / "deafness.py"


# --- parameters ---


def parameter_storm(per_second: int) -> Callable[[Trial], None]:
    """Set a gain again and again, for a second."""

    def inject(trial: Trial) -> None:
        each_step = round(per_second * trial.bench.robot.period)
        values = itertools.cycle((300.0, 400.0, 500.0, -1.0))
        for _ in range(round(1.0 / trial.bench.robot.period)):
            for _ in range(each_step):
                trial.set("impedance.stiffness", next(values))
            trial.arm.step()
        trial.answered()
        trial.step(0.5)

    return inject


def law_switches(laws: Sequence[str], per_second: int) -> Callable[[Trial], None]:
    """Switch to the next law again and again, for a second."""

    def inject(trial: Trial) -> None:
        names = itertools.cycle(laws)
        for _ in range(per_second):
            trial.set("law", next(names))
            trial.step(1.0 / per_second)
        trial.set("law", "impedance")
        trial.answered()
        trial.step(0.5)

    return inject


# --- others on the same topics ---


def second_controller(trial: Trial) -> None:
    """Start another controller, and end it again. Both may become active at first; at most
    one leads after that.
    """
    second = trial.start("controller", {"law": "joint_impedance", "use_sim_time": True}, "second")
    trial.bench.until(lambda: second.err, "a second controller")
    trial.bench.waits(lambda: "waiting: " in second.err or "not activated" in second.err, 6.0)
    trial.step(1.0)
    trial.check(_both_lead(trial.bench.children["controller"].err, second.err))
    trial.finish(second)


def _both_lead(*logs: str) -> str:
    """Text for two controllers that command an arm, by the logs of both; else empty."""
    leading = [log.count(" Hz nominal") > log.count("this controller yields") for log in logs]
    return "the second controller leads the arm, too" if all(leading) else ""


def second_watchdog(trial: Trial) -> None:
    """Start another watchdog, kill the controller, and start that again without it: beside
    both it would wait.
    """
    second = trial.start("watchdog", {"use_sim_time": True}, "watchdog")
    trial.step(2.0)
    trial.mark()
    trial.kill("controller", at_rest=lambda: trial.finish(second))


def stranger(topic: str, kind: type, make: Callable[[Trial, int], Any]) -> Callable[[Trial], None]:
    """Let another node publish on a topic, once a period."""

    def inject(trial: Trial) -> None:
        for k in range(round(STRANGE / trial.bench.robot.period)):
            trial.publish(topic, kind, make(trial, k))
            trial.arm.step()
        trial.leave()
        trial.step(0.5)

    return inject


def _other_arm(trial: Trial, k: int) -> JointState:
    message = JointState(name=[f"other_{name}" for name in trial.bench.robot.joints])
    message.position = [0.0] * 6
    message.velocity = [0.0] * 6
    message.header.stamp = to_stamp(trial.arm.time)
    return message


def _positions_only(trial: Trial, k: int) -> JointState:
    message = JointState(name=sorted(trial.bench.robot.joints), position=[0.0] * 6)
    message.header.stamp = to_stamp(trial.arm.time)
    return message


def _late_copy(trial: Trial, k: int) -> JointState:
    """Joint states with a stamp of 30 ms ago, in another order."""
    sample = trial.arm.plant.sample()
    message = JointState(name=list(reversed(trial.bench.robot.joints)))
    message.position = sample.q[::-1].tolist()
    message.velocity = sample.v[::-1].tolist()
    message.header.stamp = to_stamp(max(trial.arm.time - 0.03, 0.0))
    return message


def _wrench(trial: Trial, k: int) -> WrenchStamped:
    message = WrenchStamped()
    message.header.frame_id = trial.bench.robot.wrench_frame
    message.header.stamp = to_stamp(trial.arm.time)
    message.wrench.force.z = 25.0
    return message


def _other_clock(trial: Trial, k: int) -> Clock:
    return Clock(clock=to_stamp(1000.0 + trial.arm.time))


# --- a busy machine ---


def busy(priority: int, seconds: float) -> Callable[[Trial], None]:
    """Keep each processor busy for some of the arm's time [s]; with a real-time
    priority, where it isn't 0.
    """

    def inject(trial: Trial) -> None:
        code = HOG.format(priority=priority)
        hogs = [
            trial.launch(f"hog {k}", [sys.executable, "-c", code])
            for k in range(os.cpu_count() or 1)
        ]
        trial.step(seconds)
        for hog in hogs:
            trial.remove(hog)
        trial.step(0.3)

    return inject


def deaf(name: str) -> Callable[[Trial], None]:
    """Let the middleware of a program stand still for ever."""

    def inject(trial: Trial) -> None:
        number = str(trial.bench.children[name].process.pid)
        stopper = trial.launch("stopper", [sys.executable, str(DEAFNESS), "stop", number])
        trial.bench.until(lambda: "stopped" in stopper.out, "a deaf program")
        trial.mark()
        process = trial.bench.children[name].process
        trial.bench.until(lambda: process.poll() is not None, "its end")
        trial.remove(stopper)
        trial.restart(name)

    return inject


# --- a full disk ---


def full_disk(ending: str) -> Callable[[Trial], None]:
    """Record to a disk that is full after 200 kB, as a limit of the file's size."""

    def inject(trial: Trial) -> None:
        code = (
            "import resource, runpy, signal, sys\n"
            "signal.signal(signal.SIGXFSZ, signal.SIG_IGN)\n"
            "resource.setrlimit(resource.RLIMIT_FSIZE, (200_000, 200_000))\n"
            f"sys.argv = ['robot_control', 'record', *{['--csv'] if ending == 'csv' else []}, 'record.{ending}']\n"
            "runpy.run_module('robot_control_ros.cli', run_name='__main__')\n"
        )
        recorder = trial.launch("recorder", [sys.executable, "-c", code])
        trial.bench.until(lambda: recorder.process.poll() is not None, "the end of the record")
        programs: Any = trial.bench.nodes
        trial.check(_why_unreadable(programs.files / f"record.{ending}"))

    return inject


def _why_unreadable(path: Path) -> str:
    """Reason why a record that was cut off can't be read to its end; empty where it can.

    A record that can be read is removed.
    """
    try:
        if path.suffix == ".mcap":
            count = len(read_record(path, [STATE_TOPIC]).messages[STATE_TOPIC])
        else:
            count = len(path.read_text(encoding="utf-8").splitlines())
    except (OSError, KeyError, RobotControlError) as error:
        return f"the record can't be read: {error}"
    path.unlink()
    return "" if count > 10 else f"the record has {count} samples"


CROWD = (
    Fault("1000 parameter sets a second", parameter_storm(1000), "", moving=False),
    Fault("50 switches a second, laws of torque", law_switches(LAWS[:3], 50), ""),
    Fault("50 switches a second, all modes", law_switches(LAWS, 50), ""),
    Fault("a second controller", second_controller, "waiting: |not activated"),
    Fault(
        "a second watchdog, and controller SIGKILL",
        second_watchdog,
        TAKEN_OVER,
        safe="watchdog",
        within=KILLED_WITHIN,
        back="started again",
        ends={"controller": -9},
    ),
    Fault(
        "joint states of another arm on the topic",
        stranger("/joint_states", JointState, _other_arm),
        "",
    ),
    Fault(
        "joint states of a stranger, positions only",
        stranger("/joint_states", JointState, _positions_only),
        "joint_states|velocities",
    ),
    Fault(
        "joint states of a stranger, 30 ms old",
        stranger("/joint_states", JointState, _late_copy),
    ),
    Fault(
        "wrench of a stranger",
        stranger("/force_torque_sensor_broadcaster/wrench", WrenchStamped, _wrench),
        "wrench",
        near=False,
        law="admittance",
    ),
    Fault("clock of a stranger", stranger("/clock", Clock, _other_clock), ""),
    Fault(
        "signs of life of a stranger",
        stranger("/watchdog_alive", Empty, lambda trial, k: Empty()),
        "",
    ),
    Fault("each processor busy", busy(0, 1.0), ""),
    Fault("each processor busy at real-time priority", busy(50, 0.5), "", near=True),
    Fault(
        "deaf controller",
        deaf("controller"),
        "hears nothing",
        safe="watchdog",
        within=KILLED_WITHIN,
        back="started again",
        ends={"controller": 3},
    ),
    Fault(
        "deaf watchdog",
        deaf("watchdog"),
        "hears nothing",
        back="started again",
        ends={"watchdog": 3},
    ),
    Fault(
        "full disk while recording, MCAP",
        full_disk("mcap"),
        FULL,
        ends={"recorder": 1},
    ),
    Fault("full disk while recording, CSV", full_disk("csv"), FULL, ends={"recorder": 1}),
)
