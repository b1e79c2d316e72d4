"""Identification over ROS: a running arm is found as it is, and left as it was."""

import json
import signal
import subprocess
import sys
from dataclasses import asdict

import numpy as np
import pytest
import yaml

pytest.importorskip("rclpy", reason="needs ROS 2 (rclpy)")
pytest.importorskip("mujoco", reason="the simulator needs MuJoCo")

from lifecycle_msgs.msg import Transition
from lifecycle_msgs.srv import ChangeState
from ros_support import Controller, Ros
from sensor_msgs.msg import JointState
from test_identify import MOVED, SETS, STEP, random_arm

from robot_control_ros.robot.configuration import load_robot

pytestmark = [pytest.mark.ros, pytest.mark.sim]

ROBOT = load_robot("ur5e")
WRENCH = "/force_torque_sensor_broadcaster/wrench"
BEFORE = {"law": "impedance", "joint_impedance.stiffness": [90.0] * 6, "joint_impedance.damping_ratio": [0.9] * 6}
LIMIT = 240.0  # s


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

    def ask(self, *options):
        command = [sys.executable, "-m", "robot_control_ros.cli", "identify", *options]
        pipe = subprocess.PIPE
        return subprocess.Popen(command, env=self.ros.environment, stdin=pipe, stdout=pipe, stderr=pipe, text=True)

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
            return len(self.states) and np.abs(self.states.last.velocity).max() > 0.05

        self.ros.until(takes_over, "its law")
        self.ros.until(moves, "motion")
        return process

    def is_as_before(self):
        return all(self.ros.get("controller", name) == value for name, value in BEFORE.items())

    def rests(self):
        count = len(self.states)
        self.ros.until(lambda: len(self.states) > count + 200, "joint states")
        return max(np.abs(each.velocity).max() for each in self.states.messages[-50:]) < 0.02


@pytest.fixture
def ros(tmp_path):
    with Ros(tmp_path) as made:
        yield made


def test_ctrl_c_half_way_leaves_law_gains_and_an_arm_that_holds(ros):
    system = System(ros, real_time_factor=0.4)  # so that a busy machine keeps up
    process = system.started("--joints", "elbow_joint")
    process.send_signal(signal.SIGINT)
    out, err = process.communicate(timeout=LIMIT)
    assert process.returncode == 130, err
    assert "law and gains" in out
    assert system.is_as_before()
    ros.until(system.rests, "an arm at rest")


@pytest.mark.long
def test_a_controller_that_is_stopped_half_way_has_law_and_gains_as_before(ros):
    system = System(ros, real_time_factor=0.4)
    process = system.started("--joints", "elbow_joint")
    deactivate = Transition(id=Transition.TRANSITION_DEACTIVATE)  # what STOP on the page does
    assert ros.call(ChangeState, "/controller/change_state", transition=deactivate).success
    _, err = process.communicate(timeout=LIMIT)
    assert process.returncode == 1
    assert "was the controller stopped?" in err
    assert "Traceback" not in err
    assert system.is_as_before()


@pytest.mark.parametrize(
    ("options", "word"),
    [
        pytest.param(("--controller", "nobody"), "nobody", marks=pytest.mark.long),
        (("--joints", "nonsense"), "nonsense"),
        (("--speed", "9"), "speed"),
    ],
)
def test_what_cannot_be_identified_is_refused_and_nothing_moves(system, options, word):
    process = system.start(*options)
    _, err = process.communicate(timeout=LIMIT)
    assert process.returncode in (1, 2)
    assert word in err
    assert "Traceback" not in err
    assert system.is_as_before()


@pytest.mark.parametrize(("answer", "status"), [("n\n", 1), (signal.SIGINT, 130), (signal.SIGTERM, 130)])
def test_who_does_not_agree_moves_nothing(system, answer, status):
    process = system.ask()
    asked = ""
    while not asked.endswith("[y/N] "):
        more = process.stdout.read(1)
        assert more, process.communicate()
        asked += more
    if isinstance(answer, str):
        process.stdin.write(answer)
        process.stdin.flush()
    else:
        process.send_signal(answer)
    _, err = process.communicate(timeout=LIMIT)
    assert (process.returncode, err) == (status, "")
    assert system.is_as_before()


@pytest.fixture(scope="module")
def system(tmp_path_factory):
    with Ros(tmp_path_factory.mktemp("identify")) as made:
        yield System(made, real_time_factor=0.05)  # nothing moves


def identified(folder, seed):
    """The truth, what the command wrote, and joint angles and speeds (k, 2 n) meanwhile."""
    arm = random_arm(seed)
    with Ros(folder) as ros:
        file, found = folder / "arm.yaml", folder / "found.yaml"
        file.write_text(yaml.safe_dump(given(arm)), encoding="utf-8")
        system = System(ros, imperfections=str(file), pacing="lockstep", clock_rate=500.0, physics_step=STEP)
        process = system.start("--joints", *MOVED, "--out", str(found))
        out, err = process.communicate(timeout=LIMIT)
        assert process.returncode == 0, err
        assert system.is_as_before()
        return arm, yaml.safe_load(found.read_text(encoding="utf-8")), out


def given(arm):
    """The imperfections as their file has them."""
    plain = json.loads(json.dumps(asdict(arm)))
    keep = {"seed", "states", "commands", "noise", "friction", "model"}
    return {name: value for name, value in plain.items() if name in keep}


def wrong(arm, found):
    """Which figures are further from the truth than they may be."""
    moved = [ROBOT.joints.index(name) for name in MOVED]
    delay = arm.commands.delay + arm.commands.jitter / 2.0
    n = ROBOT.n
    mean = found["commands"]["delay"] + found["commands"].get("jitter", 0.0) / 2.0
    coulomb, viscous = (np.array(getattr(arm.friction, name))[moved] for name in ("coulomb", "viscous"))
    payload = found.get("model", {}).get("payload_mass", 0.0)
    figures = {
        "delay": (mean, delay, 0.0005),
        "coulomb": (np.array(found["friction"]["coulomb"])[moved], coulomb, np.maximum(0.1 * coulomb, 0.2)),
        "viscous": (np.array(found["friction"]["viscous"])[moved], viscous, 0.2 * viscous),
        "effort": (found["noise"]["effort"], np.array(arm.noise.effort), 0.2 * np.array(arm.noise.effort)),
        "position": (found["noise"]["position"], np.full(n, arm.noise.position), 0.2 * arm.noise.position[0]),
        "payload": (payload, arm.model.payload_mass, 0.05 * arm.model.payload_mass),
    }
    return {
        name: (value, true)
        for name, (value, true, tolerance) in figures.items()
        if not (np.abs(np.asarray(value) - true) <= tolerance).all()
    }


@pytest.mark.long
def test_random_arms_are_found_over_ros(tmp_path):
    problems = {}
    for seed in range(100, 100 + SETS):
        folder = tmp_path / str(seed)
        folder.mkdir()
        arm, found, out = identified(folder, seed)
        if bad := wrong(arm, found):
            problems[seed] = bad
        print(seed, bad, out if bad else "")
    assert len(problems) <= SETS // 10, problems
