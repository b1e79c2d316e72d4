"""Random imperfect arms, identified over ROS in lockstep.

``python test/support/identification_over_ros.py FILE [COUNT]`` identifies arms that the file lacks,
at most COUNT, and adds a line of JSON for each. Then it prints the table of all in the file: who
stops it can go on later.
"""

import json
import subprocess
import sys
import tempfile
import time
from dataclasses import asdict, dataclass
from pathlib import Path

import numpy as np
import yaml
from identification_trials import (
    MOVED,
    ROBOT,
    SETS,
    STEP,
    Figure,
    figures,
    print_table,
    random_arm,
    wrong_figures,
)
from ros_support import Controller, Ros
from sensor_msgs.msg import JointState

from robot_control_ros.identification.motion_plan import MotionBounds
from robot_control_ros.identification.over_ros import identify_running
from robot_control_ros.identification.session import IdentificationRequest
from robot_control_ros.identification.session_thread import IdentificationThread
from robot_control_ros.simulation.imperfect.imperfections import load_imperfections

SEEDS = range(100, 100 + SETS)
WRENCH = "/force_torque_sensor_broadcaster/wrench"
BEFORE = {
    "law": "impedance",
    "joint_impedance.stiffness": [90.0] * 6,
    "joint_impedance.damping_ratio": [0.9] * 6,
}
LIMIT = 240.0  # s until an identification ends, or takes its next step


class System:
    """A simulator with its controller, and the command that identifies the arm.

    Attributes:
        states: joint states since the first look at its motion.
    """

    def __init__(self, ros, **simulator):
        self.ros = ros
        ros.start("simulator", {"robot": "ur5e", **simulator})
        gains = {name.replace(".", "__"): value for name, value in BEFORE.items() if name != "law"}
        self.controller = Controller(ros, wrench=WRENCH, robot="ur5e", use_sim_time=True)
        ros.until(lambda: self.controller.state == "active", "the controller")
        assert [each.reason for each in ros.set("controller", **gains)] == ["", ""]
        self.states = None

    def ask(self, *options):
        """The command, which asks before it moves the arm."""
        return self.run("-m", "robot_control_ros.cli", "identify", *options)

    def run(self, *arguments):
        """A Python program in the domain of the arm."""
        pipe, command = subprocess.PIPE, [sys.executable, *arguments]
        return subprocess.Popen(
            command, env=self.ros.environment, stdin=pipe, stdout=pipe, stderr=pipe, text=True
        )

    def wait_for_motion(self, process):
        """Until the joint moves that a process identifies."""
        if self.states is None:
            self.states = self.ros.subscribe(JointState, "/joint_states")

        def runs():
            assert process.poll() is None, process.communicate()
            return True

        self.ros.until(
            lambda: runs() and self.ros.get("controller", "law") == "joint_impedance", "its law"
        )
        self.ros.until(lambda: runs() and self.moves(), "motion")

    def moves(self):
        return len(self.states) and np.abs(self.states.last.velocity).max() > 0.05

    def is_as_before(self):
        return all(self.ros.get("controller", name) == value for name, value in BEFORE.items())

    def rests(self):
        count = len(self.states)
        self.ros.until(lambda: len(self.states) > count + 200, "joint states")
        return max(np.abs(each.velocity).max() for each in self.states.messages[-50:]) < 0.02


@dataclass(frozen=True)
class Trial:
    """How one random arm was identified.

    Attributes:
        seed: of the arm.
        figures: found, see :class:`Figure`.
        beyond: by how much a joint left the bounds shown, in rad or rad/s; none where it is at most
            0.
        duration: of the identification [s].
    """

    seed: int
    figures: list[Figure]
    beyond: float
    duration: float


def trial(folder, seed):
    """Identify one random arm; law and gains must then be those of before, and the written file
    must fit the robot.
    """
    arm = random_arm(seed)
    file = folder / "arm.yaml"
    file.write_text(yaml.safe_dump(_given(arm)), encoding="utf-8")
    request = IdentificationRequest(MotionBounds(joints=MOVED), file=folder / "found.yaml")
    results = []

    def identify(dialog):
        results.append(identify_running("controller", request, PlanKeeper(dialog, results)))

    with Ros(folder) as ros:
        system = System(
            ros, imperfections=str(file), pacing="lockstep", clock_rate=500.0, physics_step=STEP
        )
        states = ros.subscribe(JointState, "/joint_states")
        began = time.monotonic()
        _run(ros, IdentificationThread(identify))
        duration = time.monotonic() - began
        assert system.is_as_before()
    load_imperfections(str(request.file)).check(ROBOT)
    plan, found = results
    q, v = (
        np.array([getattr(each, name) for each in states.messages])
        for name in ("position", "velocity")
    )
    excess = (q - plan.upper, plan.lower - q, np.abs(v) - plan.speed)
    beyond = max(float(each.max()) for each in excess)
    return Trial(seed, figures(arm, MOVED, found), beyond, duration)


class PlanKeeper:
    """A person who tells everything on, and keeps the plan."""

    def __init__(self, dialog, kept):
        self.report, self.warn, self.check_stop = dialog.report, dialog.warn, dialog.check_stop
        self._dialog, self._kept = dialog, kept

    def agrees(self, robot, plan):
        self._kept.append(plan)
        return self._dialog.agrees(robot, plan)


def _run(ros, identification):
    """Agree to the motion, and spin until it is done, as long as it goes on."""
    identification.plan()
    step, deadline = identification.step, time.monotonic() + LIMIT
    while identification.running:
        ros.spin()
        if identification.step is not step:
            step, deadline = identification.step, time.monotonic() + LIMIT
            if step.state == "planned":
                identification.agree()
        if time.monotonic() > deadline:
            identification.close(LIMIT)
            raise TimeoutError(f"no step for {LIMIT:g} s after: {step}")
    assert identification.step.state == "done", identification.step


def _given(arm):
    """The imperfections as their file has them."""
    plain = json.loads(json.dumps(asdict(arm)))
    keep = {"seed", "states", "commands", "noise", "friction", "model"}
    return {name: value for name, value in plain.items() if name in keep}


def read(path):
    """The trials in a file, by their seeds."""
    lines = path.read_text(encoding="utf-8").splitlines() if path.exists() else []
    rows = [json.loads(line) for line in lines]
    trials = [
        Trial(**row | {"figures": [Figure(**each) for each in row["figures"]]}) for row in rows
    ]
    return {each.seed: each for each in trials}


def main(path, count=SETS):
    """Identify what a file lacks, and print the table of what it has."""
    missing = [seed for seed in SEEDS if seed not in read(path)][:count]
    for seed in missing:
        with tempfile.TemporaryDirectory() as folder:
            found = trial(Path(folder), seed)
        with path.open("a", encoding="utf-8") as file:
            file.write(json.dumps(asdict(found)) + "\n")
        wrong = [each.name for each in wrong_figures(found.figures)]
        print(
            f"{seed}: {found.duration:.0f} s, beyond the bounds {found.beyond:.3g}, wrong: {wrong}",
            flush=True,
        )
    trials = read(path).values()
    print_table([each.figures for each in trials])
    print(f"{len(trials)} arms; {sum(each.beyond > 0.0 for each in trials)} left the bounds shown")


if __name__ == "__main__":
    main(Path(sys.argv[1]), *map(int, sys.argv[2:3]))
