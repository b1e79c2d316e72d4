"""Random imperfect arms, identified over ROS in lockstep.

``python test/support/identification_over_ros.py FILE [COUNT]`` identifies arms that the file lacks, at most COUNT, and
adds a line of JSON for each. Then it prints the table of all in the file: who stops it can go on later.
"""

import json
import subprocess
import sys
import tempfile
import time
from dataclasses import asdict, dataclass
from pathlib import Path
from types import SimpleNamespace

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

from robot_control_ros.identification.estimates import Estimate
from robot_control_ros.simulation.imperfect.imperfections import load_imperfections

SEEDS = range(100, 100 + SETS)
WRENCH = "/force_torque_sensor_broadcaster/wrench"
BEFORE = {"law": "impedance", "joint_impedance.stiffness": [90.0] * 6, "joint_impedance.damping_ratio": [0.9] * 6}
LIMIT = 240.0  # s until the command ends, or takes its next step


class System:
    """A simulator with its controller, and the command that identifies the arm."""

    def __init__(self, ros, **simulator):
        self.ros = ros
        ros.start("simulator", {"robot": "ur5e", **simulator})
        gains = {name.replace(".", "__"): value for name, value in BEFORE.items() if name != "law"}
        self.controller = Controller(ros, wrench=WRENCH, robot="ur5e", use_sim_time=True)
        ros.until(lambda: self.controller.state == "active", "the controller")
        assert [each.reason for each in ros.set("controller", **gains)] == ["", ""]
        self.states = None

    def start(self, *options):
        return self.ask("--yes", *options)

    def ask(self, *options, out=subprocess.PIPE, err=subprocess.PIPE):
        command = [sys.executable, "-m", "robot_control_ros.cli", "identify", *options]
        return subprocess.Popen(
            command, env=self.ros.environment, stdin=subprocess.PIPE, stdout=out, stderr=err, text=True
        )

    def started(self, *options):
        """The command while the joint moves."""
        if self.states is None:
            self.states = self.ros.subscribe(JointState, "/joint_states")
        process = self.start(*options)

        def takes_over():
            assert process.poll() is None, process.communicate()
            return self.ros.get("controller", "law") == "joint_impedance"

        def moves():
            assert process.poll() is None, process.communicate()
            return self.moves()

        self.ros.until(takes_over, "its law")
        self.ros.until(moves, "motion")
        return process

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
        beyond: by how much a joint left the bounds shown, in rad or rad/s; none where it is at most 0.
        duration: of the command [s].
    """

    seed: int
    figures: list[Figure]
    beyond: float
    duration: float


def trial(folder, seed):
    """Identify one random arm; law and gains must then be those of before, and the written file must fit the robot."""
    arm = random_arm(seed)
    file, found, steps = folder / "arm.yaml", folder / "found.yaml", folder / "steps"
    file.write_text(yaml.safe_dump(_given(arm)), encoding="utf-8")
    with Ros(folder) as ros:
        system = System(ros, imperfections=str(file), pacing="lockstep", clock_rate=500.0, physics_step=STEP)
        states = ros.subscribe(JointState, "/joint_states")
        began = time.monotonic()
        with steps.open("w") as out, (folder / "err").open("w") as err:
            options = ("--yes", "--json", "--joints", *MOVED, "--out", str(found))
            process = system.ask(*options, out=out, err=err)
            _wait(ros, process, steps)
        duration = time.monotonic() - began
        assert process.returncode == 0, (folder / "err").read_text()
        assert system.is_as_before()
    load_imperfections(str(found)).check(ROBOT)
    plan, *_, done = map(json.loads, steps.read_text().splitlines())
    q, v = (np.array([getattr(each, name) for each in states.messages]) for name in ("position", "velocity"))
    excess = (q - plan["upper"], plan["lower"] - q, np.abs(v) - plan["speed"])
    beyond = max(float(each.max()) for each in excess)
    return Trial(seed, figures(arm, MOVED, _estimates(done["figures"])), beyond, duration)


def _wait(ros, process, steps):
    """Spin until the command ends, as long as it goes on."""
    size, deadline = 0, time.monotonic() + LIMIT
    while process.poll() is None and time.monotonic() < deadline:
        ros.spin()
        if steps.stat().st_size > size:
            size, deadline = steps.stat().st_size, time.monotonic() + LIMIT
    if process.poll() is None:
        process.kill()
        raise TimeoutError(f"no step for {LIMIT:g} s")


def _given(arm):
    """The imperfections as their file has them."""
    plain = json.loads(json.dumps(asdict(arm)))
    keep = {"seed", "states", "commands", "noise", "friction", "model"}
    return {name: value for name, value in plain.items() if name in keep}


def _estimates(printed):
    """What the command printed, as the in-process identification returns it."""
    found = {name: Estimate(*(np.array(each, dtype=float) for each in pair)) for name, pair in printed.items()}
    return SimpleNamespace(line=SimpleNamespace(delay=found["delay"], noise=found["effort_noise"]), **found)


def read(path):
    """The trials in a file, by their seeds."""
    lines = path.read_text(encoding="utf-8").splitlines() if path.exists() else []
    rows = [json.loads(line) for line in lines]
    trials = [Trial(**row | {"figures": [Figure(**each) for each in row["figures"]]}) for row in rows]
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
        print(f"{seed}: {found.duration:.0f} s, beyond the bounds {found.beyond:.3g}, wrong: {wrong}", flush=True)
    trials = read(path).values()
    print_table([each.figures for each in trials])
    print(f"{len(trials)} arms; {sum(each.beyond > 0.0 for each in trials)} left the bounds shown")


if __name__ == "__main__":
    main(Path(sys.argv[1]), *map(int, sys.argv[2:3]))
