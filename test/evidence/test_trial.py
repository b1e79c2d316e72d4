"""Rows of the fault table over nodes in this process, on a stepped clock: each judgement,
and that it can fail.
"""

import math
from dataclasses import replace
from functools import cache

import pytest

pytest.importorskip("rclpy", reason="needs ROS 2 (rclpy)")
pytest.importorskip("mujoco", reason="the simulated arm needs MuJoCo")

from lockstep import LockstepRos

from evidence.faults.bench import Bench
from evidence.faults.clock_rows import CLOCKS
from evidence.faults.line_rows import LINES
from evidence.faults.message_rows import MESSAGES
from evidence.faults.process_rows import PROCESSES
from evidence.faults.table import FAULTS, HEAD, head, row, write_page
from evidence.faults.trial import Fault, Trial, failures, path_without_fault, rows_of
from evidence.row import Kind
from robot_control_ros.control.safety import LONGEST_STEP

pytestmark = [pytest.mark.ros, pytest.mark.sim]
BY_NAME = {fault.name: fault for fault in FAULTS}
LOAD = 2.0  # kg
# Rows in which an arm with an unknown load gets no joint states, or no new time, for half a second of
# its motion: it is 61 and 63 mm away a second later. Without a load a blind arm goes as far.
SINKING = (
    "joint states stop for 0.5 s",
    "clock frozen for 0.5 s, moving",
)
NOTHING = Fault("nothing", lambda trial: trial.step(0.1))
# One of each mechanism; a killed controller and a killed watchdog are rows of
# test/system/test_reliability.py.
CHEAP = (
    "joint states: 50 % lost",
    "joint states: 20 ms late",
    "joint states stop for 0.5 s",
    "wrench stops for 0.5 s",
    "joint states: NaN in each number",
    "joint states: wrong sizes",
    "joint states: missing, renamed, repeated joints",
    "wrench: infinity in each number",
    "targets: NaN in each number",
    "clock back by 1 s",
    "clock forward by 1 s",
    "clock frozen for 0.5 s, moving",
)

# All but those of programs that don't run on the stepped clock.
ON_A_STEPPED_CLOCK = [
    fault.name
    for fault in (*PROCESSES, *LINES, *MESSAGES, *CLOCKS)
    if not fault.simulator and not fault.name.startswith("page")
]


def sinks(name):
    """The mark of a row that isn't held yet."""
    return [pytest.mark.xfail(strict=True, reason="an unknown load sinks while the arm stops")] * (
        name in SINKING
    )


@pytest.fixture(scope="module")
def path_of(tmp_path_factory):
    """Gives the tip's way without a fault, by the law."""

    @cache
    def path(law, load=0.0):
        with LockstepRos(tmp_path_factory.mktemp("path")) as ros:
            bench = Bench(ros, law, load=load, realtime_priority=0)
            bench.start()
            return path_without_fault(bench)

    return path


def seen(ros, fault, path=None, load=0.0):
    """The record of a row."""
    bench = Bench(ros, fault.law, load=load, realtime_priority=0)
    bench.start()
    return Trial(bench, fault, path).run()


@pytest.fixture(scope="module")
def uneventful(tmp_path_factory):
    """The record of a row in which nothing happens."""
    with LockstepRos(tmp_path_factory.mktemp("uneventful")) as ros:
        yield seen(ros, NOTHING)


@pytest.mark.few(4)
@pytest.mark.parametrize(
    "name",
    [
        name if name in CHEAP else pytest.param(name, marks=pytest.mark.long)
        for name in ON_A_STEPPED_CLOCK
    ],
)
def test_a_row_of_the_table_passes(path_of, ros, name):
    fault = BY_NAME[name]
    record = seen(ros, fault, path_of(fault.law) if fault.moving else None)
    assert failures(fault, record) == []


@pytest.mark.parametrize(
    "name",
    [
        name
        if name == "joint states: 50 % lost"
        else pytest.param(name, marks=[pytest.mark.long, *sinks(name)])
        for name in ON_A_STEPPED_CLOCK
        if BY_NAME[name].moving and BY_NAME[name].law in ("impedance", "admittance")
    ],
)
def test_a_moving_arm_with_an_unknown_load_stays_near_in_every_fault(path_of, ros, name):
    fault = BY_NAME[name]
    assert failures(fault, seen(ros, fault, path_of(fault.law, LOAD), LOAD)) == []


def test_a_command_after_a_standstill_is_one_period_from_the_watchdog_s(path_of, ros):
    """On the stepped clock nothing comes late: the bound is the plain one."""
    fault = BY_NAME["controller SIGSTOP 200 ms"]
    record = seen(ros, fault, path_of(fault.law))
    assert failures(fault, record) == []
    assert record.step_share <= 1.0 / LONGEST_STEP


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"safe": "watchdog"}, "safe output of the watchdog"),
        ({"told": "this is never said"}, "nobody says"),
        ({"back": ""}, "back by"),
    ],
)
def test_what_does_not_happen_is_a_failure(uneventful, change, words):
    assert failures(NOTHING, uneventful) == []
    (failure,) = failures(replace(NOTHING, **change), uneventful)
    assert words in failure


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"step_share": 1.1}, "command"),
        ({"speed_share": 1.1}, "joint"),
        ({"off_path": 0.021}, "tip"),
        ({"statuses": {"watchdog": 1}}, "watchdog"),
        ({"left": ("process 7",)}, "process 7"),
        ({"failures": ("what a row has found",)}, "what a row has found"),
    ],
)
def test_each_bound_of_a_record_is_kept(uneventful, change, words):
    (failure,) = failures(NOTHING, replace(uneventful, **change))
    assert words in failure


def test_each_figure_of_a_row_stands_beside_its_bound(uneventful):
    fault = replace(NOTHING, safe="watchdog", within=0.06)
    line = row(fault, replace(uneventful, safe_after=0.036))
    assert "| 36 (<= 60) |" in line
    assert line.count("(<= 100)") == 2
    assert line.count("(<= 20)") == 1
    assert "(<= 20)" not in row(replace(fault, near=False), uneventful)
    assert "(<= 50)" in row(fault, replace(uneventful, load=LOAD))
    assert {each.origin.kind for each in rows_of(fault, uneventful)} == {Kind.REQUIRED}


def test_an_arm_that_a_fault_throws_fails_its_row(ros):
    """A push of the plant's stands for whatever a product might do."""

    def push(trial):
        trial.arm.plant.push("tool0", [0.0, 60.0, 0.0], [0.0, 0.0, 0.0])
        trial.step(0.5)
        trial.arm.plant.push("tool0", [0.0, 0.0, 0.0], [0.0, 0.0, 0.0])

    fault = Fault("a push", push)
    record = seen(ros, fault)
    assert record.off_path > 0.02
    assert any("tip" in failure for failure in failures(fault, record))


def test_a_row_of_the_page_has_a_cell_for_each_head_and_takes_the_place_of_the_old_table(
    uneventful, tmp_path
):
    page = tmp_path / "page.md"
    page.write_text(
        "# A page\n\nWords.\n\n" + "\n".join([*head(), "| an old row |"]), encoding="utf-8"
    )
    write_page(page, [row(NOTHING, uneventful)])
    lines = page.read_text(encoding="utf-8").splitlines()
    assert lines[:4] == ["# A page", "", "Words.", ""]
    assert lines[4:] == [*head(), row(NOTHING, uneventful)]
    assert {line.count("|") for line in lines[4:]} == {len(HEAD) + 1}


def test_names_of_rows_differ_and_each_bound_is_a_number():
    assert len(BY_NAME) == len(FAULTS)
    assert all(0.0 < fault.within <= 0.1 and math.isfinite(fault.within) for fault in FAULTS)
