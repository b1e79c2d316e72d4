"""The plots: what is kept of what came, what is drawn of it, and what the files have."""

import csv
import io
from dataclasses import replace

import numpy as np
import pytest
from dashboard_support import HOME, ROBOT, Browser, text, until, viser

from robot_control_ros.core.types import CommandMode
from robot_control_ros.dashboard import chart as charting
from robot_control_ros.dashboard.link import Health
from robot_control_ros.dashboard.plots import plots_panel
from robot_control_ros.dashboard.plots.charts import (
    COMMAND,
    LOOP,
    POSE,
    POSITIONS,
    QUANTITIES,
    WRENCH,
    Charts,
    record_csv,
)
from robot_control_ros.dashboard.plots.history import History
from robot_control_ros.robot.configuration import load_robot
from robot_control_ros.robot.model import RobotModel

EFFORT = CommandMode.EFFORT
RNG = np.random.default_rng(5)
SPAN = 60.0


def samples_of(times, **blocks):
    rows = ({name: values[row] for name, values in blocks.items()} for row in range(len(times)))
    return [{"time": np.array([time]), **row} for time, row in zip(times, rows, strict=True)]


def recorded(times, **blocks):
    return History.last(samples_of(times, **blocks), np.inf)


# --- history ---


def test_a_record_has_what_came_in_its_order():
    t, q = 1e9 + 0.02 * np.arange(200), RNG.standard_normal((200, 6))
    record = recorded(t, position=q)
    np.testing.assert_array_equal(record.t, t)
    np.testing.assert_array_equal(record.block("position", 6), q)


def test_what_a_sample_lacks_is_nan():
    samples = samples_of([0.0], a=np.ones((1, 2))) + samples_of([1.0], b=np.ones((1, 3)))
    record = History.last(samples, np.inf)
    np.testing.assert_array_equal(record.block("a", 2), [[1, 1], [np.nan, np.nan]])
    np.testing.assert_array_equal(record.block("b", 3), [[np.nan] * 3, [1, 1, 1]])
    np.testing.assert_array_equal(record.block("c", 2), np.full((2, 2), np.nan))
    assert record.widths == {"time": 1, "a": 2, "b": 3}


def test_time_that_jumps_back_begins_a_new_history_and_one_of_the_same_time_is_left_out():
    times = [5.0, 5.02, 5.02, 5.04]
    values = np.array([[1.0], [2.0], [3.0], [4.0]])
    np.testing.assert_array_equal(recorded(times, a=values).block("a", 1), [[1], [2], [4]])
    record = recorded([*times, 5.04, 6.0, 0.0, 0.0, 5.0], a=np.arange(9.0)[:, None])
    assert record.t.tolist() == [0.0, 5.0]
    np.testing.assert_array_equal(record.block("a", 1), [[6], [8]])


def test_a_block_whose_width_changes_keeps_only_the_new_width():
    samples = samples_of([0.0], a=np.ones((1, 2))) + samples_of([1.0], a=np.ones((1, 3)))
    record = History.last(samples, np.inf)
    assert record.widths["a"] == 3
    np.testing.assert_array_equal(record.block("a", 3), [[np.nan] * 3, [1, 1, 1]])


def test_the_last_seconds():
    last = History.last(samples_of(np.arange(100) * 0.1, a=np.arange(100.0)[:, None]), 2.0)
    np.testing.assert_allclose([last.t[0], last.t[-1]], [7.9, 9.9], atol=0.1 + 1e-9)
    assert np.all(last.t >= last.t[-1] - 2.0)
    np.testing.assert_array_equal(last.block("a", 1)[:, 0], np.arange(100.0)[-len(last.t) :])
    assert len(History.last([], 2.0).t) == 0


@pytest.mark.parametrize("times", [np.zeros(0), np.array([3.0]), np.arange(10.0)])
def test_the_whole_span_is_shown_though_nothing_came_in_its_beginning(times):
    shown = recorded(times, a=np.ones((len(times), 2))).with_gaps(SPAN)
    assert (shown.t[0], shown.t[-1]) == (-SPAN, 0.0)
    values = shown.block("a", 2)
    assert np.isnan(values[0]).all()
    assert np.isfinite(values).sum() == 2 * len(times)


def test_samples_without_a_pause_are_shown_as_they_are():
    t = np.arange(0.0, 10.0, 0.02)
    values = RNG.standard_normal((len(t), 2))
    shown = recorded(t, a=values).with_gaps(10.0)
    np.testing.assert_array_equal(shown.block("a", 2)[1:], values)
    np.testing.assert_allclose(shown.t[1:], t - t[-1])


@pytest.mark.parametrize("rate", [2.0, 50.0, 1000.0])
def test_a_pause_is_a_gap_and_nothing_else_is(rate):
    t = np.arange(0.0, SPAN, 1.0 / rate)
    t = t[(t < 20.0) | (t > 30.0)]
    shown = recorded(t, a=np.ones((len(t), 1))).with_gaps(SPAN)
    at = shown.t[np.isnan(shown.block("a", 1)[:, 0])] + t[-1]
    inside = at[at > t[0]]
    assert len(inside) == 1
    assert 20.0 < inside[0] < 30.0
    assert np.all(np.diff(shown.t) > 0.0)


# --- charts ---


def state(robot=ROBOT, terms=("stiffness", "damping")):
    n = robot.n
    parts = {f"term.{name}": RNG.standard_normal(n) for name in terms}
    return {
        "pose": HOME[:3].ravel(),
        "pose_error": RNG.standard_normal(6),
        "twist": RNG.standard_normal(6),
        "wrench": RNG.standard_normal(6),
        "position": RNG.standard_normal(n),
        "velocity": RNG.standard_normal(n),
        "effort": np.full(n, np.nan),
        "command": sum(parts.values(), np.zeros(n)),
        "saturated": np.zeros(n),
        "rate_limited": np.zeros(n),
        **parts,
    }


def record_of(samples):
    return History.last(
        [{"time": np.array([0.02 * row]), **each} for row, each in enumerate(samples)], np.inf
    )


def charts_of(robot, quantity, record, mode=EFFORT, joint=0):
    charts = Charts(robot, RobotModel.of(robot).limits)
    return charts.of(quantity, charts.joints[joint], mode, record)


def columns(chart):
    return np.column_stack([curve.values for curve in chart.curves])


def names(chart):
    return [curve.name for curve in chart.curves]


def test_errors_are_in_millimetres_and_degrees():
    samples = [state() for _ in range(4)]
    linear, angular = charts_of(ROBOT, POSE, record_of(samples))
    errors = np.array([each["pose_error"] for each in samples])
    assert (linear.label, angular.label) == ("position error [mm]", "rotation error [deg]")
    np.testing.assert_allclose(columns(linear), 1000.0 * errors[:, :3])
    np.testing.assert_allclose(columns(angular), errors[:, 3:] * 180.0 / np.pi)
    assert names(linear) == ["x", "y", "z"]


def test_a_planar_arm_has_errors_on_its_own_axes_only():
    robot = load_robot("planar_two_link")
    (chart,) = charts_of(robot, POSE, record_of([state(robot)]))
    assert names(chart) == ["x", "y"]


def test_terms_of_a_joint_stand_beside_their_total():
    samples = [state() for _ in range(3)]
    of_joint, total = charts_of(ROBOT, COMMAND, record_of(samples), joint=2)
    assert names(of_joint) == ["total", "stiffness", "damping"]
    values = columns(of_joint)
    np.testing.assert_allclose(values[:, 0], values[:, 1:].sum(axis=1))
    np.testing.assert_array_equal(values[:, 1], [each["term.stiffness"][2] for each in samples])
    np.testing.assert_array_equal(columns(total), [each["command"] for each in samples])
    assert of_joint.label == "elbow: torque [N·m]"


def test_terms_of_a_law_that_no_longer_runs_go_with_its_last_sample():
    samples = [state(terms=("old",)) for _ in range(3)] + [state(terms=("new",)) for _ in range(60)]
    record = record_of(samples)
    assert names(charts_of(ROBOT, COMMAND, record)[0]) == ["total", "old", "new"]
    assert names(charts_of(ROBOT, COMMAND, History.last(record.samples, 1.0))[0]) == [
        "total",
        "new",
    ]


@pytest.mark.parametrize(
    ("mode", "label"),
    [
        (CommandMode.POSITION, "commanded position [rad]"),
        (CommandMode.VELOCITY, "commanded velocity [rad/s]"),
        (None, "command"),
    ],
)
def test_a_command_that_is_no_torque_is_apart_from_the_terms(mode, label):
    of_joint, every = charts_of(ROBOT, COMMAND, record_of([state()]), mode)
    assert names(of_joint) == ["stiffness", "damping"]
    assert "N·m" not in of_joint.label
    assert every.label == label


def test_positions_have_their_limits():
    record = record_of([state()])
    limits = RobotModel.of(ROBOT).limits
    one, share = charts_of(ROBOT, POSITIONS, record, joint=2)
    assert names(one) == ["position", "upper limit", "lower limit"]
    q = record.block("position", ROBOT.n)
    np.testing.assert_array_equal(columns(one), [[q[0, 2], limits.upper[2], limits.lower[2]]])
    np.testing.assert_allclose(
        limits.lower + columns(share) / 100.0 * (limits.upper - limits.lower), q
    )


def test_joints_without_limits_have_none():
    robot = load_robot("gen3")
    unlimited = int(np.flatnonzero(np.isinf(RobotModel.of(robot).limits.upper))[0])
    one, share = charts_of(robot, POSITIONS, record_of([state(robot)]), joint=unlimited)
    assert names(one) == ["position"]
    assert f"joint {unlimited + 1}" not in names(share)
    assert np.isfinite(columns(share)).all()


def test_the_loops_percentiles_are_in_milliseconds():
    blocks = {
        "rate [Hz]": [499.0],
        "response p99 [us]": [420.0],
        "period_p50 [us]": [2000.0],
        "refusals": [1.0],
    }
    rate, period, latency = charts_of(ROBOT, LOOP, record_of([blocks, blocks]))
    np.testing.assert_array_equal(columns(rate), [[499.0, ROBOT.profile.rate]] * 2)
    assert names(period) == ["period median"]
    np.testing.assert_allclose(columns(period), 2.0)
    assert names(latency) == ["response 99 %"]
    np.testing.assert_allclose(columns(latency), 0.42)


@pytest.mark.parametrize("robot", ["ur5", "gen3", "planar_two_link"])
@pytest.mark.parametrize("quantity", QUANTITIES)
def test_every_chart_can_be_told_by_its_names_and_colours(robot, quantity):
    robot = load_robot(robot)
    for chart in charts_of(robot, quantity, record_of([state(robot, ("a", "b", "c", "d", "e"))])):
        looks = {
            (curve.colour, curve.dashed)
            for curve in chart.curves
            if not curve.name.endswith("limit")
        }
        limits = [name for name in names(chart) if name.endswith("limit")]
        assert len(set(names(chart))) == len(chart.curves) == len(looks) + len(limits)


# --- files ---


def table(content):
    rows = list(csv.reader(io.StringIO(content.decode())))
    return rows[0], np.array(rows[1:], dtype=float)


def test_the_table_has_every_sample_every_column_and_the_units():
    samples = [state() for _ in range(5)]
    header, rows = table(record_csv(record_of(samples), ROBOT, EFFORT))
    assert header[0] == "time [s]"
    assert len(header) == len(set(header)) == 1 + 12 + 18 + 8 * 6
    np.testing.assert_allclose(rows[:, 0], 0.02 * np.arange(5))
    for column, block, index in (
        ("wrench.z [N]", "wrench", 2),
        ("wrench.rx [N·m]", "wrench", 3),
        ("pose_error.x [m]", "pose_error", 0),
        ("pose.23 [m]", "pose", 11),
        ("position.elbow_joint [rad]", "position", 2),
        ("command.wrist_3_joint [N·m]", "command", 5),
        ("term.stiffness.elbow_joint [N·m]", "term.stiffness", 2),
    ):
        np.testing.assert_allclose(
            rows[:, header.index(column)], [each[block][index] for each in samples], rtol=1e-8
        )
    assert np.isnan(rows[:, header.index("effort.elbow_joint [N·m]")]).all()


def test_the_tables_units_are_those_of_the_command():
    header, _ = table(record_csv(record_of([state()]), ROBOT, CommandMode.VELOCITY))
    assert "command.elbow_joint [rad/s]" in header
    assert "term.stiffness.elbow_joint" in header


def test_the_table_of_diagnoses():
    header, rows = table(
        record_csv(record_of([{"rate [Hz]": [499.5], "missed": [2.0]}]), ROBOT, EFFORT)
    )
    assert header == ["time [s]", "rate [Hz]", "missed"]
    np.testing.assert_array_equal(rows, [[0.0, 499.5, 2.0]])


@pytest.mark.parametrize("quantity", [WRENCH, COMMAND])
def test_the_picture_has_every_curve(quantity, monkeypatch):
    figure_class = pytest.importorskip("matplotlib.figure").Figure
    made = []

    class Figure(figure_class):
        def __init__(self, *args, **kwargs):
            super().__init__(*args, **kwargs)
            made.append(self)

    monkeypatch.setattr(charting, "figure_class", lambda: Figure)
    record = record_of([state() for _ in range(5)])
    # with a pause
    record = History(record.t + np.array([0.0, 0.0, 10.0, 10.0, 10.0]), record.samples)
    charts = charts_of(ROBOT, quantity, record.with_gaps(20.0))
    assert charting.png(charts, "title").startswith(b"\x89PNG")
    (figure,) = made
    assert len(figure.axes) == len(charts)
    for axis, chart in zip(figure.axes, charts, strict=True):
        assert axis.get_ylabel() == chart.label
        assert [line.get_label() for line in axis.lines] == names(chart)
        drawn = np.column_stack([line.get_ydata() for line in axis.lines])
        np.testing.assert_array_equal(drawn, columns(chart))
        assert np.isnan(drawn).any(axis=1).tolist() == [
            True,
            False,
            False,
            True,
            False,
            False,
            False,
        ]
        low, high = axis.get_ylim()
        assert low <= chart.shows[0]
        assert chart.shows[1] <= high


# --- the panel ---


@pytest.fixture
def sent(monkeypatch):
    """What goes to the plots, as (times, values)."""
    found = []
    send = plots_panel.fill

    def take(plot, chart):
        found.append((chart.x, columns(chart)))
        send(plot, chart)

    monkeypatch.setattr(plots_panel, "fill", take)
    return found


def come(link, count, begin=0.0, **others):
    for row in range(count):
        link.come(**{"time": [begin + 0.02 * row], **state(), **others})


def shown(page, quantity=POSE):
    drawn = page.plots.drawn
    return drawn.record if drawn is not None and drawn.quantity == quantity else History()


def open_plots(browser, quantity=POSE):
    browser.set("Plots", True)
    if quantity != POSE:
        browser.set("Quantity", quantity)


def await_drawings(link):
    """The page has drawn again, more than once."""
    looks, health = [], link.health
    link.health = lambda: looks.append(None) or health()
    until(lambda: len(looks) > 10, "drawings of the page")
    link.health = health


def test_closed_plots_send_nothing_and_opened_ones_know_what_came_before(
    browser, page, link, sent, monkeypatch
):
    monkeypatch.setattr(plots_panel, "PERIOD", 0.0)
    come(link, 300)
    await_drawings(link)
    assert not sent
    assert not page.plots.panel.visible
    open_plots(browser)
    until(lambda: len(sent) >= 4, "two drawings of both plots")
    assert page.plots.panel.visible
    t, values = sent[0]
    np.testing.assert_allclose((t[0], t[-1]), (-10.0, 0.0), atol=2e-6)
    np.testing.assert_allclose(
        values[1:], 1e3 * np.array([each["pose_error"][:3] for each in link.states])
    )
    browser.set("Plots", False)
    until(lambda: not page.plots.panel.visible, "the panel to close")
    until(lambda: not page.plots.plots, "the plots to go")
    count = len(sent)
    come(link, 50, begin=300.0)
    await_drawings(link)
    assert len(sent) == count


def test_what_comes_is_shown_and_a_wrench_that_fails_is_a_gap(browser, page, link, sent):
    open_plots(browser, WRENCH)
    come(link, 20)
    come(link, 20, begin=0.4, wrench=[np.nan] * 6)
    until(lambda: len(shown(page, WRENCH).t) == 40, "the samples")
    until(lambda: len(sent[-1][0]) == 41, "the samples on their way")
    _, values = sent[-1]
    assert np.isfinite(values[1:21]).all()
    assert np.isnan(values[21:]).all()


def test_paused_plots_stand_still_and_go_on(browser, page, link, sent, monkeypatch):
    monkeypatch.setattr(plots_panel, "SETTLING", 0.0)
    monkeypatch.setattr(plots_panel, "PERIOD", 0.0)
    come(link, 50)
    open_plots(browser)
    until(lambda: len(shown(page).t) == 50, "the samples")
    browser.set("Pause plots", True)
    until(lambda: page.plots.paused is not None, "the pause")
    count = len(sent)
    come(link, 50, begin=1.0)
    browser.set("Quantity", WRENCH)
    until(lambda: shown(page, WRENCH).samples, "the other quantity")
    assert len(shown(page, WRENCH).t) == 50
    await_drawings(link)
    assert len(sent) == count + 2
    browser.set("Pause plots", False)
    until(lambda: len(shown(page, WRENCH).t) == 100, "what came meanwhile")


def test_new_plots_get_their_data_again_though_they_are_paused(browser, page, link, sent):
    come(link, 50)
    open_plots(browser)
    browser.set("Pause plots", True)
    until(lambda: page.plots.paused is not None, "the pause")
    browser.set("Quantity", WRENCH)
    until(lambda: shown(page, WRENCH).samples, "the other quantity")
    sent.clear()
    until(lambda: len(sent) >= 4, "two more drawings")
    assert sent[0][0][0] != sent[2][0][0]  # another range, or uPlot may have no axes
    np.testing.assert_array_equal(sent[0][1], sent[2][1])


def test_plots_remain_while_their_curves_are_the_same(browser, page, link):
    come(link, 50)
    open_plots(browser)
    until(lambda: len(shown(page).t) == 50, "the samples")
    first = list(page.plots.plots)
    come(link, 50, begin=1.0)
    until(lambda: len(shown(page).t) == 100, "more of them")
    assert page.plots.plots == first  # a new plot wouldn't be zoomed
    browser.set("Quantity", COMMAND)
    until(lambda: shown(page, COMMAND).samples, "the other quantity")
    assert not any(plot in first for plot in page.plots.plots)


def test_a_restarted_controller_begins_a_new_history(browser, page, link):
    come(link, 50, begin=100.0)
    open_plots(browser)
    until(lambda: len(shown(page).t) == 50, "the samples")
    come(link, 20)
    until(lambda: len(shown(page).t) == 20, "those since the restart alone")


def test_a_command_of_another_unit_begins_a_new_history(browser, page, link):
    come(link, 50)
    open_plots(browser, COMMAND)
    until(lambda: len(shown(page, COMMAND).t) == 50, "the samples")
    assert page.plots.drawn.data.mode is EFFORT
    link.gains = link.gains | {"output": replace(link.gains["output"], value="position")}
    until(lambda: page.plots.drawn.data.mode is CommandMode.POSITION, "the mode")
    come(link, 20, begin=1.0)
    until(lambda: len(shown(page, COMMAND).t) == 20, "those of the new mode alone")


def test_a_joint_is_chosen_where_there_is_a_choice(browser, page, link):
    come(link, 5)
    open_plots(browser)
    assert not browser.handle("Joint").visible
    browser.set("Quantity", COMMAND)
    until(lambda: shown(page, COMMAND).samples, "the other quantity")
    assert browser.handle("Joint").visible
    browser.set("Joint", "elbow")
    until(lambda: page.plots.drawn.charts[0].label.startswith("elbow"), "its plot")


def test_diagnoses_are_gathered_while_the_plots_are_closed(browser, page, link):
    for number in range(3):
        link.state = Health(
            True, 0.0, "active", diagnosis={"law": "impedance", "rate [Hz]": f"{500 + number}"}
        )
        await_drawings(link)
    open_plots(browser, LOOP)
    until(lambda: len(shown(page, LOOP).t) == 3, "all of them")
    np.testing.assert_array_equal(shown(page, LOOP).block("rate [Hz]", 1), [[500], [501], [502]])


@pytest.mark.parametrize(("kind", "begin"), [("CSV", b"time [s],"), ("PNG", b"\x89PNG")])
def test_files_go_to_the_browser_that_asked(browser, page, link, monkeypatch, kind, begin):
    if kind == "PNG":
        pytest.importorskip("matplotlib")
    given = []
    monkeypatch.setattr(
        viser.ClientHandle,
        "send_file_download",
        lambda client, name, content, **how: given.append((client.client_id, name, content)),
    )
    come(link, 700)
    open_plots(browser)
    until(lambda: len(shown(page).t) > 0, "the samples")
    known = set(page.server.get_clients())
    other = Browser(page)
    until(lambda: len(page.server.get_clients()) == 2, "another browser")
    other.set("Export", kind)
    until(lambda: given, "the file")
    client, name, content = given[0]
    assert {client} == set(page.server.get_clients()) - known
    assert name == {"CSV": "ur5_impedance_state.csv", "PNG": "ur5_impedance_pose_error.png"}[kind]
    assert content.startswith(begin)
    if kind == "CSV":
        assert content.count(b"\n") == 1 + len(shown(page).t)
        assert len(shown(page).t) >= 500  # of the ten seconds, at 50 Hz
    other.socket.close()


def test_nothing_to_export_is_told(browser, page):
    open_plots(browser)
    until(lambda: page.plots.drawn, "the plots")
    browser.set("Export", "CSV")
    until(lambda: "there is nothing to export yet" in text(page), "the message")
