"""The layouts for PlotJuggler and Foxglove: what they name is there, and they are made as these
programs read them.
"""

import importlib
import importlib.util
import json
import re
from xml.etree import ElementTree

import numpy as np
import pytest
from documented_topics import PAGES, documented_topics

from robot_control_ros.control.loop import ControlLoop
from robot_control_ros.control.state_blocks import state_blocks
from robot_control_ros.core.gains import AXES
from robot_control_ros.core.types import CommandMode, RobotState
from robot_control_ros.recording.cycle_file import (
    CYCLE_TOPIC,
    NOTE_TOPIC,
    SETTING_TOPIC,
    cycle_message,
)
from robot_control_ros.robot.configuration import load_robot
from robot_control_ros.robot.files import share_directory

UR5 = load_robot("ur5")
FOLDER = share_directory() / "config"
PLOTJUGGLER = ("record", "live")
STREAMER = "ROS2 Topic Subscriber"  # PlotJuggler's name of what hears topics
INDEXED = re.compile(r"(\w+)(?:\[(\d+)\])?")


# --- what the files name ---


def xml(name):
    return ElementTree.parse(FOLDER / "plotjuggler" / f"{name}.xml").getroot()


def curves(name):
    return [curve.get("name") for curve in xml(name).iter("curve")]


def foxglove(name):
    return json.loads((FOLDER / "foxglove" / f"{name}.json").read_text("utf-8"))


def panels(name, kind):
    return {
        key: value
        for key, value in foxglove(name)["configById"].items()
        if key.startswith(f"{kind}!")
    }


def paths(name):
    """The series of all plots, as (topic, fields, label)."""
    found = []
    for panel in panels(name, "Plot").values():
        for path in panel["paths"]:
            topic, _, fields = path["value"].partition(".")
            found.append((topic, fields.split("."), path["label"]))
    return found


# --- what there is ---


@pytest.fixture(scope="module")
def topics():
    """Types of all topics of the nodes of a UR5, by name, such as ``sensor_msgs/JointState``."""
    places = {"<controller>": UR5.profile.controllers[CommandMode.EFFORT]}
    found = {}
    for topic in (topic for node in PAGES for topic in documented_topics(node)):
        name = topic.name.replace("~", f"/{topic.node}").replace(
            "<controller>", places["<controller>"]
        )
        found["/" + name.lstrip("/")] = topic.type
    return found


@pytest.fixture(scope="module")
def blocks():
    """Of ``~/state``, as (name, place in the block) for each of its numbers."""
    loop = ControlLoop(UR5, "impedance")
    state = RobotState(0.0, np.array(UR5.home), np.zeros(UR5.n), np.full(UR5.n, np.nan))
    made = state_blocks(loop, loop.tick(state))
    return [(name, place) for name, values in made.items() for place in range(len(values))]


def number_in_cycle(name):
    """Check a number of a message on /cycle, named as ``q[0]`` or ``fault``."""
    match = INDEXED.fullmatch(name)
    assert match is not None, name
    size = cycle_message(UR5.n).sizes[match[1]]
    assert (match[2] is None) == (size == 1), name
    assert int(match[2] or 0) < size, name


def number_in_message(kind, fields):
    """Check a number of a message of ROS, named as ``pose``, ``position``, ``x``."""
    package, _, name = kind.partition("/")
    for each in fields:
        match = INDEXED.fullmatch(each)
        types = getattr(
            importlib.import_module(f"{package}.msg"), name
        ).get_fields_and_field_types()
        assert match[1] in types, (kind, each)
        kind = types[match[1]]
        assert (match[2] is not None) == kind.startswith("sequence"), each
        package, _, name = kind.partition("/")
    assert kind in ("double", "sequence<double>"), fields


def check_number(topics, blocks, topic, fields):
    if topic == CYCLE_TOPIC:
        (name,) = fields
        number_in_cycle(name)
        return
    assert topic in topics, topic
    pytest.importorskip("rclpy", reason="needs ROS 2's messages")
    number_in_message(topics[topic], fields)
    if topic == "/controller/state":
        assert int(INDEXED.fullmatch(fields[0])[2]) < len(blocks)


# --- PlotJuggler ---


@pytest.mark.parametrize("name", PLOTJUGGLER)
def test_every_curve_of_plotjuggler_is_a_number_of_a_message(name, topics, blocks):
    assert curves(name)
    for curve in curves(name):
        known = [topic for topic in (CYCLE_TOPIC, *topics) if curve.startswith(f"{topic}/")]
        topic = max(known, key=len, default="")
        assert topic, curve
        fields = curve.removeprefix(f"{topic}/").split("/")
        if topics.get(topic) == "sensor_msgs/JointState":  # PlotJuggler names these by joint
            joint, part = fields
            assert joint in UR5.joints
            fields = [f"{part}[{UR5.joints.index(joint)}]"]
        check_number(topics, blocks, topic, fields)


def test_a_record_is_shown_by_its_cycles_alone_and_the_live_layout_hears_what_it_shows():
    assert all(curve.startswith(f"{CYCLE_TOPIC}/") for curve in curves("record"))
    root = xml("live")
    (plugin,) = root.iter("plugin")
    assert plugin.get("ID") == root.find("previouslyLoaded_Streamer").get("name") == STREAMER
    heard = plugin.find("selected_topics").get("value").split(";")
    assert all(any(curve.startswith(f"{topic}/") for topic in heard) for curve in curves("live"))
    assert all(any(curve.startswith(f"{topic}/") for curve in curves("live")) for topic in heard)


def test_arrays_of_the_state_are_not_cut_off_by_plotjuggler(blocks):
    (plugin,) = xml("live").iter("plugin")
    assert int(plugin.find("max_array_size").get("value")) > len(blocks)


def test_the_curves_of_the_state_are_those_that_their_plot_says(blocks):
    for area in xml("live").iter("DockArea"):
        places = [
            int(INDEXED.search(each.get("name").rpartition("/")[2])[2] or -1)
            for each in area.iter("curve")
        ]
        if "state" in area.find("plot/curve").get("name").split("/"):
            first = {"pose error [m]": 0, "rotation error [rad]": 3}[area.get("name")]
            assert [blocks[place] for place in places] == [
                ("pose_error", first + k) for k in range(3)
            ]


@pytest.mark.parametrize("name", PLOTJUGGLER)
def test_plotjuggler_finds_the_elements_that_it_reads(name):
    root = xml(name)
    assert root.tag == "root"
    (main,) = root.findall("tabbed_widget")
    assert (main.get("name"), main.get("parent")) == ("Main Window", "main_window")
    assert 0 <= int(main.find("currentTabIndex").get("index")) < len(main.findall("Tab"))
    for tab in main.findall("Tab"):
        assert tab.get("tab_name")
        (container,) = tab
        assert [each.tag for each in container] == ["DockSplitter"]
    for splitter in root.iter("DockSplitter"):
        sizes = [float(size) for size in splitter.get("sizes").split(";")]
        assert splitter.get("orientation") in ("|", "-")
        assert int(splitter.get("count")) == len(splitter) == len(sizes)
        assert sum(sizes) == pytest.approx(1.0, abs=1e-3)
        assert {each.tag for each in splitter} <= {"DockSplitter", "DockArea"}
    for area in root.iter("DockArea"):
        (plot,) = area
        assert (plot.tag, plot.get("mode"), plot.get("style")) == ("plot", "TimeSeries", "Lines")
        names = [curve.get("name") for curve in plot.findall("curve")]
        assert len(names) == len(set(names)) > 0
        colours = [curve.get("color") for curve in plot.findall("curve")]
        assert len(colours) == len(set(colours))
        assert all(re.fullmatch("#[0-9a-f]{6}", colour) for colour in colours)


# --- Foxglove ---


@pytest.mark.parametrize("name", ["record", "live"])
def test_every_series_of_foxglove_is_a_number_of_a_message(name, topics, blocks):
    assert paths(name)
    for topic, fields, _ in paths(name):
        check_number(topics, blocks, topic, fields)


def test_every_text_of_foxglove_is_on_a_topic(topics):
    recorded = [panel["topicPath"] for panel in panels("record", "RawMessages").values()]
    assert recorded == [SETTING_TOPIC, NOTE_TOPIC]
    assert {panel["topicPath"] for panel in panels("live", "RawMessages").values()} <= set(topics)


@pytest.mark.parametrize("name", ["record", "live"])
def test_the_labels_of_foxglove_say_what_is_shown(name, blocks):
    for topic, fields, label in paths(name):
        word, _, axis = label.partition(".")
        match = INDEXED.fullmatch(fields[0])
        if topic == "/controller/state":
            assert blocks[int(match[2])] == (word, AXES.index(axis))
        elif topic == CYCLE_TOPIC and axis:
            place = int(match[2])
            assert word == match[1]
            assert axis == (AXES[place // 4] if word.endswith("pose") else AXES[place])
        elif topic == CYCLE_TOPIC:
            assert label == fields[0]


@pytest.mark.parametrize("name", ["record", "live"])
def test_foxglove_finds_every_panel_that_is_laid_out(name):
    layout = foxglove(name)
    assert set(layout) == {"configById", "globalVariables", "userNodes", "playbackConfig", "layout"}
    laid_out = []

    def walk(node):
        if isinstance(node, str):
            laid_out.append(node)
            for tab in layout["configById"][node].get("tabs", ()):
                walk(tab["layout"])
            return
        assert node["direction"] in ("row", "column")
        assert 0.0 < node["splitPercentage"] < 100.0
        walk(node["first"])
        walk(node["second"])

    walk(layout["layout"])
    assert sorted(laid_out) == sorted(layout["configById"])
    for panel in panels(name, "Plot").values():
        assert panel["xAxisVal"] == "timestamp"
        assert all(
            path["enabled"] and path["timestampMethod"] == "receiveTime" for path in panel["paths"]
        )
        labels = [path["label"] for path in panel["paths"]]
        assert len(labels) == len(set(labels))
