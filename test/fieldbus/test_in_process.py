"""A loop in the bus's process and its controller: the same as a loop of one's own, and safe
where either fails.
"""

import sys
import time
from dataclasses import replace
from types import ModuleType

import numpy as np
import pytest
from played_bus import PERIOD, TIME_CONSTANT, Bus, SameThread
from ringing_samples import SPEED, ringing_sample

from robot_control_ros.control.loop import ControlLoop
from robot_control_ros.core.errors import ConfigError, HardwareFault, StaleStateError
from robot_control_ros.core.types import CommandMode, RobotState, Wrench
from robot_control_ros.fieldbus.process import in_process_loop, rpc
from robot_control_ros.fieldbus.process.in_process_loop import MAX_SILENCE, TELEMETRY_RATE
from robot_control_ros.fieldbus.process.remote_loop import RemoteLoop
from robot_control_ros.laws import law_class
from robot_control_ros.laws.running_law import RunningLaw
from robot_control_ros.references import JointStream
from robot_control_ros.robot.configuration import load_robot
from robot_control_ros.robot.model import RobotModel


@pytest.fixture
def bus(tmp_path, monkeypatch):
    bus = Bus(tmp_path / "memory", monkeypatch)
    bus.remote.reset()
    return bus


def own_loop(bus, law="impedance"):
    """The plain loop of one's own, at the bus's rate."""
    robot = bus.robot.at_rate(1.0 / PERIOD)
    running = RunningLaw(robot, law, time_constant=TIME_CONSTANT)
    loop = ControlLoop(robot, running, model=RobotModel.of(robot), gain_time_constant=TIME_CONSTANT)
    loop.idle(bus.first)
    return loop


def both(bus, loop, count):
    for _ in range(count):
        expected = loop.tick(bus.state())
        (got,) = bus.cycles(1)
        assert got.mode is expected.mode
        assert got.values.tolist() == expected.values.tolist()
    return expected


def test_a_controller_of_another_robot_is_refused_with_both_names(bus):
    bus.remote.close()
    for name in ("ur5e", "planar_two_link"):
        other = load_robot(name)
        running = RunningLaw(
            other, "impedance" if other.n == 6 else "joint_impedance", time_constant=TIME_CONSTANT
        )
        with pytest.raises(ConfigError) as caught:
            RemoteLoop(other, running, None, TIME_CONSTANT, name=name, path=bus.path)
        assert (caught.value.name, caught.value.value, caught.value.bound) == ("robot", name, "ur5")


# --- the same as a loop of one's own ---


def test_a_payload_is_told_there_and_known_here_and_refused_here(bus):
    bus.remote.payload.settings.set({"mass": 2.0, "center": (0.0, 0.0, 0.05), "inertia": 0.003})
    bus.report()
    bus.cycles(5)
    bus.report()
    there = bus.in_process.loop.model
    np.testing.assert_array_equal(there.payload.row, bus.remote.model.payload.row)
    assert there.payload.mass == 2.0
    with pytest.raises(ConfigError) as refused:
        bus.remote.payload.settings.set({"mass": 100.0})
    assert refused.value.name in bus.robot.joints


def test_a_wrench_that_the_bus_measures_counts_in_its_cycle_and_no_other_one(tmp_path, monkeypatch):
    bus = Bus(tmp_path / "memory", monkeypatch, measures_wrench=True)
    bus.remote.reset()
    other = Wrench(np.array([9.0, 9.0, 9.0]), np.zeros(3), "tool0")
    bus.remote.tick(replace(bus.state(), wrench=other))
    measured = Wrench(np.array([1.0, 2.0, 3.0]), np.zeros(3), "tool0")
    bus.in_process.tick(replace(bus.state(), wrench=measured), True)
    there = bus.in_process.loop.state
    assert there.wrench is measured
    assert there.wrench_on_tip is not None
    bus.time += PERIOD
    bus.in_process.tick(bus.state(), True)  # it can't be measured for a while
    assert bus.in_process.loop.state.wrench is None


def test_a_sensor_s_wrench_comes_from_the_controller_where_the_bus_measures_none(bus):
    other = Wrench(np.array([9.0, 9.0, 9.0]), np.zeros(3), "tool0")
    bus.remote.tick(replace(bus.state(), wrench=other))
    bus.cycles(1)
    assert bus.in_process.loop.state.wrench.force.tolist() == [9.0, 9.0, 9.0]


def test_ringing_is_softened_there_and_told_and_reset_here(bus):
    bus.remote.ringing.settings.set({"floor": 0.05})
    bus.report()
    there = bus.in_process.loop.ringing
    assert there.settings.current.floor == 0.05
    at_rest, begin = RobotState(bus.time, bus.q, np.zeros(6), np.zeros(6)), bus.time
    kin = RobotModel.of(bus.robot).at(bus.q)
    for rings in (True, False):
        while bus.time - begin < (0.35 if rings else 0.4):
            v, effort = ringing_sample(kin, bus.time - begin, PERIOD, speed=SPEED if rings else 0.0)
            state = replace(at_rest, time=bus.time, v=v, effort=effort)
            bus.in_process.tick(state, True)
            bus.in_process.send_telemetry()
            bus.time += PERIOD
            bus.now += PERIOD
    bus.report()
    report = bus.remote.report()
    assert (report.ringing_scale, report.ringing_margin) == (there.scale, 0.0) == (0.25, 0.0)
    assert "elbow_joint rings at 10 Hz" in bus.remote.warning
    bus.remote.ringing.reset()
    bus.cycles(5)
    bus.report()
    assert 0.25 < bus.remote.report().ringing_scale < 0.3


def test_chunks_of_joint_angles_are_followed_there_as_by_a_loop_of_one_s_own(tmp_path, monkeypatch):
    """Their seams are told here; a chunk that is refused there leaves what ran."""
    bus = Bus(tmp_path / "memory", monkeypatch, "joint_impedance")
    bus.remote.reset()
    loop = own_loop(bus, "joint_impedance")
    both(bus, loop, 50)
    bus.report()
    times = np.arange(16) / 30.0
    home = bus.q.copy()
    for k in range(6):
        phase = 2.5 * (k / 10.0 + times)
        chunk = home + 0.02 * (1.0 - np.cos(phase))[:, None]
        for each in (loop, bus.remote):
            each.motion.follow_joint_chunk(times, chunk)
        both(bus, loop, 100)
    assert isinstance(bus.in_process.loop.motion.trajectory, JointStream)
    beyond = chunk.copy()
    beyond[3, 2] = 99.0
    stream = bus.in_process.loop.motion.trajectory
    for bad, name in ((beyond, "elbow_joint"), (chunk[:, :5], "joint goal")):
        with pytest.raises(ConfigError) as refused:
            bus.remote.motion.follow_joint_chunk(times, bad)
        assert refused.value.name == name
    assert bus.in_process.loop.motion.trajectory is stream
    both(bus, loop, 400)
    bus.report()
    expected = loop.report()
    report = bus.remote.report()
    assert (report.seam_step, report.seam_jerk) == (expected.seam_step, expected.seam_jerk)
    assert 0.0 < report.seam_jerk <= 1.0 + 1e-9
    bus.remote.motion.stream.set({"delay": 0.3})
    bus.report()
    assert bus.in_process.loop.motion.stream.target.delay == 0.3


def test_commands_are_those_of_a_loop_of_one_s_own(bus):
    loop = own_loop(bus)
    both(bus, loop, 50)
    bus.report()
    pose = loop.kin.pose.copy()
    pose[2, 3] += 0.05
    for each in (loop, bus.remote):
        each.motion.move_to(pose)
    both(bus, loop, 300)
    for each in (loop, bus.remote):
        each.motion.jog(np.array([0.05, 0, 0, 0, 0, 0.1]), 0.1)
    both(bus, loop, 200)
    for each in (loop, bus.remote):
        each.motion.hold()
    both(bus, loop, 50)
    for each in (loop, bus.remote):
        each.motion.set_feedforward_wrench(np.array([5.0, 0, 0, 0, 0, 0]))
        each.motion.go_home()
    both(bus, loop, 200)
    times = np.array([1.0, 2.0])
    for each in (loop, bus.remote):
        each.motion.follow_joints(times, np.array([bus.q, bus.q + 0.1]), None)
    both(bus, loop, 200)


def test_gains_arrive_and_are_taken_over_with_the_time_constant(bus):
    loop = own_loop(bus)
    both(bus, loop, 20)
    bus.report()
    for each in (loop, bus.remote):
        each.running.gains.set({"stiffness": [300.0] * 3 + [10.0] * 3})
    bus.report()
    both(bus, loop, 400)
    assert not np.allclose(loop.running.gains.current.stiffness, 300.0)
    assert (
        bus.in_process.loop.running.gains.current.stiffness.tolist()
        == loop.running.gains.current.stiffness.tolist()
    )


def test_a_law_that_takes_over_does_so_as_in_a_loop_of_one_s_own(bus):
    loop = own_loop(bus)
    both(bus, loop, 20)
    bus.report()
    for name in ("joint_impedance", "impedance", "joint_pid"):
        for each, robot in ((loop, loop.robot), (bus.remote, bus.robot)):
            each.switch_law(RunningLaw(robot, name, time_constant=TIME_CONSTANT))
        assert bus.remote.running.name == name
        both(bus, loop, 200)


def test_a_law_that_already_runs_doesn_t_change_its_gains_at_once_when_it_is_asked_for_again(bus):
    bus.cycles(20)
    bus.report()
    running = bus.remote.running
    before = bus.in_process.loop.running.gains.current.stiffness.diagonal().copy()
    running.gains.set({"stiffness": [1.5 * before[0]] * 3 + list(before[3:])})
    bus.remote.switch_law(running)
    bus.cycles(1)
    assert bus.in_process.loop.running.gains.current.stiffness.diagonal() == pytest.approx(
        before, rel=0.02
    )


def test_what_is_told_is_what_happened(bus):
    loop = own_loop(bus)
    both(bus, loop, 200)
    before = bus.report()
    for _ in range(round(1.0 / (PERIOD * TELEMETRY_RATE))):  # until the cycle that is reported next
        expected = both(bus, loop, 1)
        command = bus.report()
        if command is not before:
            break
    report, told = loop.report(), bus.remote.report()
    assert command.values.tolist() == expected.values.tolist()
    for name in ("time", "q", "v", "effort"):
        assert np.all(getattr(told.state, name) == getattr(report.state, name))
    assert np.all(told.reference.pose == report.reference.pose)
    assert told.reference.path is None
    assert {k: v.tolist() for k, v in told.terms.items()} == {
        k: v.tolist() for k, v in report.terms.items()
    }
    assert told.saturated.tolist() == report.saturated.tolist()
    assert told.rate_limited.tolist() == report.rate_limited.tolist()
    assert (told.fault, told.wrench_reason) == (report.fault, report.wrench_reason)
    assert np.all(bus.remote.tip() == loop.kin.pose)
    assert bus.remote.pose_error() == pytest.approx(loop.pose_error(), abs=1e-15)


# --- wrench ---


def test_a_contact_is_found_reacted_to_and_cleared_there(bus):
    def run(torque, count=150):
        for _ in range(count):
            bus.in_process.tick(replace(bus.state(wobble=0.0), effort=np.full(6, torque)), True)
            bus.in_process.send_telemetry()
            bus.time, bus.now = bus.time + PERIOD, bus.now + PERIOD
        bus.report()

    contact = bus.remote.contact
    contact.settings.set({"reaction": "hold"})
    run(0.0)  # the settings arrive with the report
    run(0.0)
    assert (contact.found, contact.reaction) == (None, "")
    run(-6.0)
    assert ("wrist" in contact.found.link, contact.reaction) == (True, "hold")
    assert "contact on wrist" in bus.remote.restart_reason
    assert "~/clear_contact" in bus.remote.warning
    for ask in (bus.remote.motion.go_home, bus.remote.tip):
        with pytest.raises(ConfigError, match="clear_contact"):
            ask()
    assert "contact on wrist" in contact.clear()
    run(-6.0)
    assert (contact.found, contact.reaction) == (None, "")
    bus.remote.motion.go_home()
    contact.begin_learning()
    run(-6.0)
    assert bus.remote.report().contact.learnt > 0.1
    with pytest.raises(ConfigError, match="learning time"):
        contact.learned()


@pytest.mark.parametrize("stamped", [True, False])
def test_the_sensor_s_newest_sample_arrives(bus, stamped):
    frame = bus.robot.tip
    for force in (1.0, 2.0, 3.0):
        state = bus.state()
        wrench = Wrench(np.array([force, 0, 0]), np.zeros(3), frame, bus.time if stamped else None)
        bus.cycles(10)
        bus.remote.tick(replace(state, wrench=wrench))
        bus.cycles(1)
        assert bus.in_process.loop.state.wrench.force[0] == force


# --- refusals ---


def test_refusals_come_back_as_they_were_raised(bus):
    loop = own_loop(bus)
    both(bus, loop, 20)
    bus.report()
    goal = np.full(6, 99.0)
    errors = []
    for each in (loop, bus.remote):
        with pytest.raises(ConfigError) as caught:
            each.motion.move_joints_to(goal)
        errors.append(caught.value)
    own, remote = errors
    assert (str(remote), remote.name, remote.value, remote.bound) == (
        str(own),
        own.name,
        own.value,
        own.bound,
    )
    with pytest.raises(ConfigError):
        bus.remote.motion.move_joints_to(np.zeros(3))
    bus.cycles(5)


@pytest.mark.parametrize(
    "ask",
    [
        lambda loop: loop.motion.move_joints_to("nowhere"),
        lambda loop: loop.motion.follow_joints(np.zeros(2), np.zeros((1, 6)), np.zeros(3)),
        lambda loop: loop.motion.jog(None, 1.0),
    ],
)
def test_what_raises_anything_else_is_refused_too_and_the_cycles_go_on(bus, ask):
    bus.cycles(20)
    bus.report()
    with pytest.raises(ConfigError):
        ask(bus.remote)
    assert bus.cycles(5)[-1] is not None


def test_nothing_leads_while_the_drives_don_t_run(bus):
    bus.cycles(20, running=False)
    bus.report()
    for lead in (
        bus.remote.motion.hold,
        bus.remote.motion.go_home,
        lambda: bus.remote.motion.move_to(np.eye(4)),
        lambda: bus.remote.motion.jog(np.ones(6), 1.0),
        lambda: bus.remote.motion.follow_joints(np.array([1.0]), np.array([bus.q]), None),
    ):
        with pytest.raises(ConfigError):
            lead()
    with pytest.raises(ConfigError):
        bus.remote.tip()
    bus.remote.motion.set_feedforward_wrench(np.zeros(6))  # that may be set


def test_drives_that_don_t_run_get_what_holds_them_and_begin_where_they_are(bus):
    resting = bus.cycles(30, running=False)
    gravity = RobotModel.of(bus.robot).update(bus.in_process.loop.state.q, np.zeros(6)).gravity
    assert resting[-1].mode is CommandMode.EFFORT
    assert resting[-1].values == pytest.approx(gravity, abs=1e-9)
    bus.q = bus.q + 0.3
    bus.cycles(10, running=False)
    (first,) = bus.cycles(1)
    assert np.abs(first.values - bus.in_process.loop.kin.gravity).max() < 5.0
    assert bus.in_process.loop.pose_error() == pytest.approx(np.zeros(6), abs=1e-12)


def test_nothing_leads_a_loop_that_commands_no_longer(bus):
    bus.cycles(20)
    bus.report()
    bus.in_process.active = False
    with pytest.raises(ConfigError):
        bus.remote.motion.hold()


def test_a_call_that_there_is_not_is_refused(bus):
    with pytest.raises(ConfigError) as caught:
        bus.in_process.call("nonsense")
    assert caught.value.value == "nonsense"
    assert "attach" in caught.value.bound


def test_a_law_that_the_bus_can_t_import_is_refused(bus, monkeypatch):
    """A law of the user's own that only the controller finds."""
    module = ModuleType("only_the_controller_finds_this")
    module.Law = type("Law", (law_class("impedance"),), {"__module__": module.__name__})
    monkeypatch.setitem(sys.modules, module.__name__, module)
    running = RunningLaw(bus.robot, f"{module.__name__}:Law")

    def serve(seconds):
        monkeypatch.delitem(sys.modules, module.__name__, raising=False)
        bus.serve(seconds)

    monkeypatch.setattr(rpc.time, "sleep", serve)
    bus.cycles(20)
    bus.report()
    with pytest.raises(ConfigError):
        bus.remote.switch_law(running)
    assert bus.remote.running.name == "impedance"
    assert bus.cycles(1)[0] is not None


# --- laws that fail ---


def test_a_law_that_raises_commands_no_longer(bus, monkeypatch):
    bus.cycles(20)

    def compute(*arguments):
        raise ZeroDivisionError("of the user's")

    monkeypatch.setattr(bus.in_process.loop.running.law, "run", compute)
    with pytest.raises(ZeroDivisionError):
        bus.in_process.tick(bus.state(), True)
    assert not bus.in_process.active
    assert bus.in_process.tick(bus.state(), True) is None


def test_a_law_that_refuses_gets_the_safe_output_and_is_told_of(bus, monkeypatch):
    bus.cycles(20)

    def compute(*arguments):
        raise ConfigError("no such thing")

    monkeypatch.setattr(bus.in_process.loop.running.law, "run", compute)
    command = bus.cycles(30)[-1]
    loop = bus.in_process.loop
    braking = np.array(loop.robot.safe_damping) * loop.state.v
    assert command.values == pytest.approx(loop.kin.gravity - braking, abs=1e-9)
    bus.report()
    assert bus.remote.fault == "no such thing"


def test_a_controller_whose_loop_commands_no_longer_is_told_so(bus):
    bus.cycles(20)
    bus.report()
    bus.in_process.active = False
    bus.cycles(50)
    bus.report()
    bus.cycles(60)
    with pytest.raises(StaleStateError) as caught:
        bus.report()
    assert caught.value.value == pytest.approx(0.11)
    assert caught.value.bound == 0.1


# --- controllers that are gone ---


def test_a_loop_that_hasn_t_begun_commands_nothing(tmp_path, monkeypatch):
    bus = Bus(tmp_path / "memory", monkeypatch)
    assert bus.in_process.tick(bus.state(), True) is None
    assert bus.in_process.failure(time.monotonic()) == ""
    assert not bus.in_process.active
    bus.report()
    assert bus.cycles(1)[0] is not None


def test_a_silent_controller_is_found_and_one_that_speaks_isn_t(bus):
    bus.cycles(5)
    now = time.monotonic()
    for i in range(30):
        bus.report()
        assert bus.in_process.failure(now + 0.2 * i) == ""
    last = now + 0.2 * 29
    assert bus.in_process.failure(last + 0.9 * MAX_SILENCE) == ""
    said = f"the controller hangs: silent for {1.1 * MAX_SILENCE:.2f} s"
    assert bus.in_process.failure(last + 1.1 * MAX_SILENCE) == said
    bus.in_process.active = False
    assert bus.in_process.failure(last + 10.0) == ""


def test_a_controller_that_waits_for_an_answer_isn_t_silent(bus, monkeypatch):
    """A law that is used for the first time may take seconds to make."""
    bus.cycles(20)
    bus.report()
    now, failures = time.monotonic(), []

    def serve(seconds):
        failures.append(bus.in_process.failure(now + 0.1 * len(failures)))
        if len(failures) > 30:
            bus.serve()

    monkeypatch.setattr(rpc.time, "sleep", serve)
    bus.remote.motion.hold()
    assert len(failures) > 30
    assert set(failures) == {""}


def test_another_controller_is_refused_while_one_is_active(bus):
    bus.cycles(5)
    with pytest.raises(ConfigError):
        bus.controller("joint_pid")
    assert bus.cycles(1)[0].mode is CommandMode.EFFORT
    bus.remote.stop()
    bus.remote.close()
    bus.controller("joint_pid")


def test_no_answer_is_told_so(bus, monkeypatch):
    monkeypatch.setattr(rpc.time, "sleep", lambda seconds: setattr(bus, "now", bus.now + seconds))
    with pytest.raises(HardwareFault) as caught:
        bus.remote.motion.hold()
    assert (caught.value.name, caught.value.bound) == ("hold", 5.0)


def test_after_the_bus_has_ended_a_call_fails_at_once_and_a_stop_has_nothing_to_do(bus):
    begin = bus.now
    bus.memory.close(remove=True)
    with pytest.raises(HardwareFault) as caught:
        bus.remote.motion.hold()
    assert caught.value.name == "bus"
    assert bus.remote.stop() is None
    assert bus.now - begin < rpc.POLL


# --- the cycle isn't held up ---


def test_a_law_is_made_beside_the_cycle(bus, monkeypatch):
    made, in_cycle = [], []

    def law(*arguments, **others):
        made.append(bool(in_cycle))
        return RunningLaw(*arguments, **others)

    monkeypatch.setattr(in_process_loop, "RunningLaw", law)

    def call(action):
        in_cycle.append(True)
        result = action()
        in_cycle.clear()
        return result

    monkeypatch.setattr(SameThread, "call", staticmethod(call))
    bus.cycles(20)
    bus.report()
    bus.remote.switch_law(RunningLaw(bus.robot, "joint_impedance"))
    assert made == [False]
    assert bus.in_process.loop.running.name == "joint_impedance"
    bus.remote.running.gains.set({})
    assert made == [False]


def test_terms_too_long_to_be_told_end_the_loop_and_are_told(bus):
    bus.cycles(20)
    report = bus.in_process.loop.report
    bus.in_process.loop.report = lambda: replace(report(), terms={"matrix": np.zeros((100, 100))})
    with pytest.raises(ConfigError) as caught:
        bus.cycles(20)
    assert caught.value.value > 80_000 > caught.value.bound
    assert not bus.in_process.active
