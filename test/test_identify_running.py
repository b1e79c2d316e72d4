"""Identification over ROS: a running arm is found as it is, and left as it was."""

import json
import signal
import subprocess
import sys
import time
from dataclasses import asdict
from types import SimpleNamespace

import numpy as np
import pytest
import yaml

pytest.importorskip("rclpy", reason="needs ROS 2 (rclpy)")
pytest.importorskip("mujoco", reason="the simulator needs MuJoCo")

from lifecycle_msgs.msg import Transition
from lifecycle_msgs.srv import ChangeState
from ros_support import Controller, Ros
from sensor_msgs.msg import JointState
from std_msgs.msg import String
from test_identify import MOVED, SETS, STEP, figures, random_arm, wrong_figures

from robot_control_ros.experiments.identify.estimates import Estimate
from robot_control_ros.robot.configuration import load_robot
from robot_control_ros.simulation.imperfections import load_imperfections

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


@pytest.fixture
def ros(tmp_path):
    with Ros(tmp_path) as made:
        yield made


@pytest.mark.long
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


@pytest.mark.long
def test_services_show_the_bounds_then_move_the_arm_and_stop_it(ros, tmp_path):
    ros.environment["XDG_STATE_HOME"] = str(tmp_path)
    system = System(ros, real_time_factor=0.4)
    system.states, steps = (
        ros.subscribe(JointState, "/joint_states"),
        ros.subscribe(String, "/controller/identification"),
    )

    def is_in(state):
        step = json.loads(steps.last.data) if len(steps) else {"state": ""}
        assert step["state"] != "failed", step
        return step["state"] == state

    refused = ros.trigger("/controller/identify")
    assert not refused.success
    assert "plan_identification" in refused.message
    assert ros.trigger("/controller/plan_identification").success
    ros.until(lambda: is_in("planned"), "the bounds")
    plan = json.loads(steps.last.data)
    assert len(plan["lower"]) == len(plan["upper"]) == len(plan["speed"]) == ROBOT.n
    assert not ros.trigger("/controller/plan_identification").success
    assert system.is_as_before()
    assert ros.trigger("/controller/identify").success
    ros.until(system.moves, "motion")
    assert ros.trigger("/controller/stop_identification").success
    ros.until(lambda: is_in("stopped"), "its end")
    assert system.is_as_before()
    ros.until(system.rests, "an arm at rest")
    assert ros.trigger("/controller/stop_identification").success  # nothing runs any more


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


@pytest.mark.parametrize(
    ("answer", "status"), [("n\n", 1), (signal.SIGINT, 130), pytest.param(signal.SIGTERM, 130, marks=pytest.mark.long)]
)
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
    """The truth, the steps that the command prints, and the range of joint angles and the joint speeds meanwhile."""
    arm = random_arm(seed)
    with Ros(folder) as ros:
        file, found = folder / "arm.yaml", folder / "found.yaml"
        file.write_text(yaml.safe_dump(given(arm)), encoding="utf-8")
        system = System(ros, imperfections=str(file), pacing="lockstep", clock_rate=500.0, physics_step=STEP)
        states = ros.subscribe(JointState, "/joint_states")
        process = system.start("--json", "--joints", *MOVED, "--out", str(found))
        deadline = time.monotonic() + LIMIT
        while process.poll() is None and time.monotonic() < deadline:
            ros.spin()
        out, err = process.communicate(timeout=LIMIT)
        assert process.returncode == 0, err
        assert system.is_as_before()
        load_imperfections(str(found)).check(ROBOT)
        q, v = (np.array([getattr(each, name) for each in states.messages]) for name in ("position", "velocity"))
        return (
            arm,
            [json.loads(line) for line in out.splitlines()],
            (q.min(axis=0), q.max(axis=0), np.abs(v).max(axis=0)),
        )


def given(arm):
    """The imperfections as their file has them."""
    plain = json.loads(json.dumps(asdict(arm)))
    keep = {"seed", "states", "commands", "noise", "friction", "model"}
    return {name: value for name, value in plain.items() if name in keep}


def estimates(printed):
    """What the command printed, as the in-process identification returns it."""
    found = {name: Estimate(*(np.array(each, dtype=float) for each in pair)) for name, pair in printed.items()}
    return SimpleNamespace(line=SimpleNamespace(delay=found["delay"], noise=found["effort_noise"]), **found)


@pytest.mark.long
def test_random_arms_are_found_over_ros(tmp_path):
    problems, inside = {}, {}
    for seed in range(100, 100 + SETS):
        folder = tmp_path / str(seed)
        folder.mkdir()
        arm, steps, (lower, upper, speed) = identified(folder, seed)
        plan, found = steps[0], estimates(steps[-1]["figures"])
        assert (lower >= plan["lower"]).all(), seed
        assert (upper <= plan["upper"]).all(), seed
        assert (speed <= plan["speed"]).all(), seed
        result = (
            arm,
            SimpleNamespace(strokes=[SimpleNamespace(joint=ROBOT.joints.index(each)) for each in MOVED]),
            found,
        )
        if bad := wrong_figures((*result, None)):
            problems[seed] = bad
        for name, estimate, true, tolerance, kept in figures(*result, None):
            held = np.atleast_1d(estimate.holds(true)[kept]).tolist()
            inside.setdefault(name, []).extend(held)
            error = np.max((np.abs(estimate.value - true) / tolerance)[kept])
            print(f"{seed} {name}: {error:.0%} of the tolerance, inside {sum(held)} of {len(held)}", flush=True)
    shares = {name: float(np.mean(each)) for name, each in inside.items()}
    print(shares)
    assert problems == {}
    assert min(shares.values()) >= 18 / 20, shares
