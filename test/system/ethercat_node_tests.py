"""The node ethercat on an emulated bus; `python ethercat_node_tests.py` runs the tests in a
namespace of their own.
"""

import os
import signal
import subprocess
import sys
import time
from collections import Counter
from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest

if __name__ == "__main__":
    from ethercat_emulator.network.veth import enter_namespace, make_pair

    enter_namespace()
    make_pair()
    without = [
        word for plugin in ("cacheprovider", "xdist", "randomly") for word in ("-p", f"no:{plugin}")
    ]
    sys.exit(pytest.main(["-q", *without, *sys.argv[1:], __file__]))

from diagnostic_msgs.msg import DiagnosticArray
from geometry_msgs.msg import PoseStamped
from processes import children
from ros_support import Controller, Ros
from sensor_msgs.msg import JointState
from std_msgs.msg import Float64MultiArray

from ethercat_emulator.faults.channel import inject
from ethercat_emulator.network.veth import MASTER, SLAVES
from robot_control_ros.bringup.ethercat_system import HOSTED_RATE
from robot_control_ros.fieldbus.ethercat.topology import load_topology
from robot_control_ros.fieldbus.process import pacing
from robot_control_ros.fieldbus.process.protocol import BusStatus, memory_path, open_memory
from robot_control_ros.fieldbus.process.rpc import decode
from robot_control_ros.fieldbus.process.shared_memory import Latest
from robot_control_ros.fieldbus.supervisor import Action
from robot_control_ros.robot.configuration import load_robot
from robot_control_ros.robot.model import RobotModel
from robot_control_ros.ros.messages import fill_pose, read_blocks, seconds

ROBOT = load_robot("ur5", "ethercat")
ENABLED = (Action.RUN, Action.HOLD)
HOME = np.array(ROBOT.home)
RATE = 500.0  # Hz, not the profile's; of the tests that share their drives
RATE_OVER_TOPICS = 250.0  # Hz: a busy machine, and this process, keep up with it
BUS_RATE = 1.0 / load_topology("ur5").cycle  # Hz
# On a busy machine the slaves' watchdogs would end tests of other things; ethercat_oddity_tests.py
# tests them.
EMULATED_BUS_TIMEOUTS = {name: float(value) for name, value in pacing.EMULATED_BUS_TIMEOUTS.items()}
EMULATED_BUS_TIMEOUTS |= {"command_timeout": 1.0, "watchdog": 3.0, "realtime_priority": 0}


class Bus:
    """An emulated bus with a UR5 on it, as long as the tests run."""

    def __init__(self, folder: Path) -> None:
        self.faults = str(folder / "faults")
        program = "robot_control_ros.fieldbus.emulation.program"
        arguments = ["--robot", "ur5", "--interface", SLAVES, "--faults", self.faults]
        self.process = subprocess.Popen(
            [sys.executable, "-m", program, *arguments],
            stdout=subprocess.PIPE,
            text=True,
            start_new_session=True,
        )
        assert self.process.stdout.readline().startswith("emulating ur5")

    def inject(self, line: str) -> str:
        return inject(self.faults, line)

    def close(self) -> None:
        self.process.kill()
        self.process.wait()


@pytest.fixture(scope="module")
def bus(tmp_path_factory):
    emulated = Bus(tmp_path_factory.mktemp("bus"))
    yield emulated
    emulated.close()


class Drives:
    """The node, and what it says."""

    def __init__(self, ros: Ros, bus: Bus, **parameters) -> None:
        self.ros = ros
        self.states = ros.subscribe(JointState, "/joint_states")
        self.diagnoses = {}
        ros.subscribe(DiagnosticArray, "/diagnostics", on_message=self._keep)
        given = {"interface": MASTER, **EMULATED_BUS_TIMEOUTS, **parameters}
        self.child = ros.start("ethercat", given)
        ros.until(lambda: len(self.states) > 0, "joint states")
        memory = open_memory(memory_path(MASTER))
        self._status = Latest(memory.region("status"))
        self._report = Latest(memory.region("report"))

    def _keep(self, message: DiagnosticArray) -> None:
        for status in message.status:
            self.diagnoses[status.name] = status

    @property
    def status(self):
        """Of the last cycle, from the shared memory."""
        return BusStatus.decode(self._status.get()[1])

    @property
    def report(self):
        """The newest report, from the shared memory."""
        return decode(self._report.get()[1])

    @property
    def q(self):
        return np.array(self.states.last.position)

    def bus_says(self, *words: str):
        """Wait until the diagnosis of the bus has these words."""

        def said():
            status = self.diagnoses.get("ethercat: bus")
            return (
                status
                if status is not None and all(word in status.message for word in words)
                else None
            )

        return self.ros.until(said, f"a diagnosis of the bus with {words}")

    def enable(self) -> None:
        """Ask until they are: it takes some good cycles, and fresh commands where those hold the
        arm.

        On a machine that stalls, the slaves' watchdogs end before the next frame: that fault is
        reset.
        """

        def enabled():
            if self.status.action in ENABLED:
                return True
            if not self.ros.trigger("/ethercat/enable").success:
                self.ros.trigger("/ethercat/reset_fault")
            return False

        self.ros.until(enabled, "enabled drives")

    def stop_by(self, event) -> None:
        """Let an event come, and wait until the drives are told to stop, as the bus's
        process has noted it.
        """
        began = time.monotonic()
        enabled = {action.value for action in ENABLED}

        def stopped() -> bool:
            turns = self.report["turns"]
            return any(at >= began and action not in enabled for at, action, _ in turns)

        event()
        self.ros.until(stopped, "drives that are told to stop")


@pytest.fixture(scope="class")
def shared_drives(tmp_path_factory, bus):
    """Of the tests that start no controller: one that is killed would still be
    known to the next test.
    """
    with Ros(tmp_path_factory.mktemp("drives")) as made:
        drives = Drives(made, bus, in_process=True, rate=RATE)
        yield drives
        assert drives.child.end(signal.SIGINT) == 0, drives.child.err


@pytest.fixture
def drives(shared_drives):
    """Disabled, without faults."""
    shared_drives.ros.trigger("/ethercat/disable")
    shared_drives.ros.trigger("/ethercat/reset_fault")
    shared_drives.ros.until(
        lambda: shared_drives.status.action is Action.DISABLE, "disabled drives"
    )
    shared_drives.ros.until(
        lambda: np.abs(shared_drives.states.last.velocity).max() < 1e-3, "an arm at rest"
    )
    return shared_drives


@pytest.fixture
def own_drives(request, ros, bus):
    made = Drives(ros, bus, **getattr(request, "param", {}))
    yield made
    assert made.child.end(signal.SIGINT) == 0, made.child.err


def holding(drives: Drives, q, seconds: float = 0.3) -> float:
    """Largest distance of the joints from q over some time."""
    count, far, until = len(drives.states), 0.0, time.monotonic() + seconds
    while time.monotonic() < until:
        drives.ros.spin()
    for message in drives.states.messages[count:]:
        far = max(far, float(np.abs(np.array(message.position) - q).max()))
    assert len(drives.states) > count
    return far


class TestDrives:
    """One node, without a controller."""

    def test_joint_states_are_those_of_the_arm_at_the_bus_rate(self, drives):
        ros = drives.ros
        assert list(drives.states.last.name) == list(ROBOT.joints)
        # some counts of an encoder behind a gear
        np.testing.assert_allclose(drives.q, HOME, atol=1e-4)
        cycles = {}  # numbers of the bus's cycles, by the times of their states
        until = time.monotonic() + 1.0
        while time.monotonic() < until:
            status = drives.status
            cycles[round(status.state.time, 5)] = status.cycle
        latest = max(cycles)
        ros.until(lambda: seconds(drives.states.last.header.stamp) > latest, "later joint states")
        known = [
            cycles.get(round(seconds(message.header.stamp), 5))
            for message in drives.states.messages
        ]
        apart = Counter(later - before for before, later in pairwise(known) if before and later)
        assert min(apart) == BUS_RATE / RATE
        # a machine that is held up leaves some out
        assert apart.most_common(1)[0][0] == BUS_RATE / RATE
        assert not drives.status.in_process
        drives.bus_says("disabled")
        ros.until(lambda: len(drives.diagnoses) == 1 + ROBOT.n, "a diagnosis of each drive")
        values = {item.key: item.value for item in drives.diagnoses["ethercat: bus"].values}
        assert values["working counter"] == "18 of 18"
        assert drives.diagnoses["ethercat: elbow_joint"].message == "switch on disabled"

    def test_enabled_drives_hold_then_follow_positions_and_velocities(self, drives):
        ros = drives.ros
        positions = ros.publisher(Float64MultiArray, "/forward_position_controller/commands")
        velocities = ros.publisher(Float64MultiArray, "/forward_velocity_controller/commands")
        drives.enable()
        start = drives.q
        # brakes that open let the arm sag by a servo's following error
        assert holding(drives, start) < 2e-3
        goal = start + 0.04
        ros.until(
            lambda: np.abs(drives.q - goal).max() < 2e-3,
            "the arm at its goal",
            lambda: positions.publish(Float64MultiArray(data=goal.tolist())),
        )
        turning = [0.2, 0.0, 0.0, 0.0, 0.0, 0.0]
        ros.until(
            lambda: drives.states.last.velocity[0] > 0.15,
            "a joint that turns",
            lambda: velocities.publish(Float64MultiArray(data=turning)),
        )
        assert ros.trigger("/ethercat/disable").success
        ros.until(lambda: drives.status.action is Action.DISABLE, "disabled drives")
        ros.until(lambda: np.abs(drives.states.last.velocity).max() < 1e-3, "an arm at rest")

    def test_a_command_that_jumps_stops_all_and_moves_nothing(self, drives):
        ros = drives.ros
        positions = ros.publisher(Float64MultiArray, "/forward_position_controller/commands")
        drives.enable()
        start = drives.q
        jump = Float64MultiArray(data=[*start[:5], start[5] + 0.5])
        ros.until(
            lambda: drives.status.action not in ENABLED, "a stop", lambda: positions.publish(jump)
        )
        said = drives.bus_says("wrist_3_joint: the command jumps", "Enabled again only on request")
        assert said.level[0] == 2
        moved = np.abs(drives.q - start)
        assert moved[5] < 1e-3  # the joint that should have jumped
        assert moved.max() < 0.02  # the others sag while their brakes close

    def test_commands_that_cannot_be_used_are_refused_and_change_nothing(self, drives):
        ros = drives.ros
        positions = ros.publisher(Float64MultiArray, "/forward_position_controller/commands")
        joints = ros.publisher(JointState, "/joint_commands")
        drives.enable()
        start = drives.q
        for message, words in (
            ([0.0] * 5, "must be 6 finite numbers"),
            ([float("nan")] * 6, "must be 6 finite numbers"),
        ):
            ros.until(
                lambda words=words: words in drives.child.err,
                words,
                lambda message=message: positions.publish(Float64MultiArray(data=message)),
            )
        wrong = JointState(name=["elbow_joint"], position=[0.0])
        ros.until(
            lambda: "are missing" in drives.child.err,
            "joints that are missing",
            lambda: joints.publish(wrong),
        )
        assert drives.status.action in ENABLED
        assert np.abs(drives.q - start).max() < 2e-3

    def test_joint_commands_carry_velocity_and_torque_along(self, drives):
        """A ramp, with and without its velocity: the drives follow closer with it (0x60B1)."""
        ros = drives.ros
        joints = ros.publisher(JointState, "/joint_commands")
        drives.enable()
        speed, lags = 0.1, {}  # rad/s: what a busy machine holds up for 0.4 s is no jump
        for with_velocity in (False, True):
            start, last, elapsed = drives.q, time.monotonic(), 0.0
            worst = []
            while elapsed < 1.0:
                now = time.monotonic()
                elapsed, last = elapsed + min(now - last, 0.02), now  # a stall is no jump
                velocity = [speed if with_velocity else 0.0] + [0.0] * 5
                target = start + np.array([speed * elapsed, 0, 0, 0, 0, 0])
                joints.publish(
                    JointState(name=list(ROBOT.joints), position=target.tolist(), velocity=velocity)
                )
                ros.spin(0.002)
                if elapsed > 0.5:
                    worst.append(drives.report["drives"][0]["values"]["following error [rad]"])
            lags[with_velocity] = abs(float(np.median(worst)))
            ros.until(
                lambda: (
                    abs(drives.states.last.velocity[0]) < 0.01
                    or drives.status.action is not Action.RUN
                ),
                "rest",
            )
            drives.enable()
        assert lags[True] < 0.5 * lags[False]

    def test_a_fault_stops_all_and_is_reset_only_on_request(self, drives, bus):
        ros = drives.ros
        drives.enable()
        start = drives.q
        bus.inject("drive_fault 2 0x7305")
        said = drives.bus_says("elbow_joint", "fault")
        assert said.level[0] == 2
        status = ros.until(
            lambda: (found := drives.diagnoses["ethercat: elbow_joint"]).level[0] == 2 and found,
            "a diagnosis of the drive",
        )
        assert "0x7305 incremental sensor 1 fault" in status.message
        refused = ros.until(  # at first they are still being stopped
            lambda: (
                (answer := ros.trigger("/ethercat/enable"))
                and "stopped" not in answer.message
                and answer
            ),
            "an answer of drives that stand",
        )
        assert not refused.success
        assert "elbow_joint: fault; reset it first" in refused.message
        answer = ros.trigger("/ethercat/reset_fault")
        assert answer.success, answer.message
        assert drives.status.action is Action.DISABLE
        drives.enable()
        assert holding(drives, drives.q) < 2e-3
        assert np.abs(drives.q - start).max() < 0.01

    def test_a_second_master_is_refused_and_disturbs_no_exchange(self, drives, bus):
        ros = drives.ros

        def undisturbed() -> bool:
            before = drives.status
            child = ros.start("ethercat", {"interface": MASTER, **EMULATED_BUS_TIMEOUTS})
            assert child.process.wait(60.0) == 1
            assert "another master has the bus: process " in child.err
            ros.children.remove(child)
            after = drives.status
            names = ("lost frames", "wrong working counters")
            return all(after.counters[name] == before.counters[name] for name in names)

        # other work on this machine may disturb one, a master would each
        assert any(undisturbed() for _ in range(3))


@pytest.mark.parametrize("own_drives", [{"rate": RATE_OVER_TOPICS}], indirect=True, ids=["slow"])
def test_an_impedance_over_topics_holds_and_its_death_stops_the_drives(own_drives, ros, bus):
    drives = own_drives
    telemetry = ros.subscribe(Float64MultiArray, "/controller/state")
    controller = Controller(ros, profile="ethercat", rate=RATE_OVER_TOPICS)
    ros.until(lambda: len(telemetry) > 0, "telemetry")
    drives.enable()
    assert holding(drives, drives.q) < 0.02
    drives.stop_by(lambda: controller.child.process.send_signal(signal.SIGKILL))
    drives.bus_says("the last command is")


@pytest.mark.long
@pytest.mark.parametrize(
    "own_drives", [{"in_process": True, "rate": HOSTED_RATE}], indirect=True, ids=["as launched"]
)
def test_an_impedance_in_the_bus_process(own_drives, ros, bus):
    """Gains, targets and laws reach it; a push moves it by force over stiffness; its
    controller's death stops it.
    """
    drives = own_drives
    telemetry = ros.subscribe(Float64MultiArray, "/controller/state")
    target = ros.publisher(PoseStamped, "/controller/target_pose")
    controller = Controller(ros, profile="ethercat", rate=HOSTED_RATE, bus=MASTER)
    ros.until(lambda: len(telemetry) > 0, "telemetry")
    # drives that aren't enabled don't go anywhere
    assert not ros.trigger("/controller/go_home").success
    drives.enable()
    assert drives.status.in_process

    def error():
        return read_blocks(telemetry.last)["pose_error"][:3]

    def settled():
        return np.abs(read_blocks(telemetry.last)["twist"]).max() < 1e-3

    def gives_way(stiffness: float) -> None:
        assert ros.set("controller", impedance__stiffness=[stiffness] * 3 + [50.0] * 3)[
            0
        ].successful
        ros.until(settled, "rest")
        before, way = error(), 20.0 / stiffness
        bus.inject("push tool0 0 0 -20")
        ros.until(
            lambda: abs((error() - before)[2] - way) < 0.05 * way and settled(), f"{way} m of way"
        )
        bus.inject("push tool0 0 0 0")
        ros.until(lambda: np.abs(error() - before).max() < 1e-3, "an arm that comes back")

    gives_way(500.0)
    gives_way(1000.0)
    refused = ros.set("controller", impedance__stiffness=[-1.0])[0]
    assert not refused.successful
    assert "stiffness" in refused.reason
    pose = RobotModel.of(ROBOT).at(drives.q).pose.copy()
    pose[2, 3] += 0.05
    message = PoseStamped()
    message.header.frame_id = ROBOT.base
    fill_pose(message.pose, pose)
    reached = lambda: abs(read_blocks(telemetry.last)["pose"][11] - pose[2, 3]) < 2e-3  # noqa: E731
    ros.until(reached, "a target that is reached", lambda: target.publish(message))
    assert ros.set("controller", law="joint_impedance")[0].successful
    assert ros.set("controller", law="admittance")[0].successful is False  # it needs a wrench
    ros.until(lambda: ros.get("controller", "law") == "joint_impedance", "the law's name")
    ros.until(lambda: holding(drives, drives.q) < 0.002, "rest")
    assert drives.status.action is Action.RUN, drives.child.err
    drives.stop_by(lambda: controller.child.process.send_signal(signal.SIGKILL))
    drives.bus_says("the controller's process has ended")


@pytest.mark.parametrize(
    ("parameters", "words"),
    [
        ({"interface": ""}, "interface is empty: must be the network interface that the bus is on"),
        ({"interface": "nonsense0"}, "no network interface 'nonsense0'; interfaces: "),
        pytest.param(
            {"robot": "gen3"}, "unknown profile 'ethercat'; profiles: sim, ", marks=pytest.mark.long
        ),
        ({"topology": "planar_two_link"}, "no slave moves shoulder_pan_joint"),
        pytest.param(
            {"command_timeout": 5.0},
            "command_timeout = 5: must be a finite number from 0.002 to 1 [s]",
            marks=pytest.mark.long,
        ),
    ],
)
def test_what_cannot_be_is_refused_at_start(ros, bus, parameters, words):
    given = {"interface": MASTER, **EMULATED_BUS_TIMEOUTS, **parameters}
    child = ros.start("ethercat", given)
    assert child.process.wait(60.0) == 1
    assert words in child.err
    ros.children.clear()


def test_the_end_of_the_bus_process_ends_the_node(ros, bus):
    drives = Drives(ros, bus)
    process, *_ = children(drives.child.process.pid)
    os.kill(process, signal.SIGKILL)
    assert drives.child.process.wait(60.0) == 1
    assert "the bus's process has ended" in drives.child.err
    ros.children.remove(drives.child)
