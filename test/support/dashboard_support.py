"""A robot that only the test knows, a page of it, and a browser that speaks viser's
websocket; see :mod:`web`.
"""

import html
import re
from contextlib import suppress
from dataclasses import replace

import numpy as np
import pytest

pytest.importorskip("viser", reason="the page needs viser")

import viser
import zstandard
from viser import _messages as messages
from viser.infra import _messages as wire
from web import LIMIT, WebSocket, current

from robot_control_ros.control.requests import CycleAnswer, Parameter, RequestResult
from robot_control_ros.core.cycle import CYCLE
from robot_control_ros.core.errors import ConfigError
from robot_control_ros.dashboard.link import Health, RobotTelemetry
from robot_control_ros.robot.configuration import load_robot
from robot_control_ros.robot.model import RobotModel

ROBOT = load_robot("ur5")
HOME = RobotModel.of(ROBOT).update(np.array(ROBOT.home), np.zeros(ROBOT.n)).pose
MOST_CYCLES = 100  # that are read at once
STIFFNESS = (500.0, 500.0, 500.0, 50.0, 50.0, 50.0)


def until(condition, what):
    """Step until a condition holds; returns what it returns."""
    return current().until(condition, what)


class FakeIdentification:
    """An identification whose steps the test shows; it takes what it is asked for, but for
    what `refusal` says.
    """

    def __init__(self):
        self.step, self.refusal, self.asked = None, "", []

    def plan(self):
        self.take("plan")

    def agree(self):
        self.take("agree")

    def stop(self):
        self.take("stop")

    def take(self, what):
        if self.refusal:
            raise ConfigError(self.refusal)
        self.asked.append(what)


class FakeLink:
    """A robot at home; it takes what it is given, but for what `refusal` says."""

    def __init__(self):
        self.robot, self.urdf, self.gripper = ROBOT, ROBOT.urdf(), None
        self.refusal, self.arm, self.other_names = "", "", ()
        self.others_drawn = {}  # by name, what `neighbours` returns
        self.result = ""  # message of a request that is done
        self.identification = FakeIdentification()
        self.states = []  # blocks; `come` adds to them
        self.asked, self.targets, self.wrenches, self.pushes, self.places = [], [], [], [], []
        self.joint_targets, self.twists = [], []
        self.postures = []
        # rows that recorders keep, by name; `come_cycle` adds to them
        self.cycles, self.cycle_queries = [], []
        self.cycle_refusal = ""
        self.now = RobotTelemetry(q=np.array(ROBOT.home), reference=HOME)
        self.state = Health(answers=True, lifecycle="active")
        self.running = "impedance"
        unit, bounds = "N/m, N·m/rad", (0.0, 10000.0)
        self.gains = {
            "stiffness": Parameter("stiffness", STIFFNESS, STIFFNESS, "Spring.", unit, *bounds),
            "coriolis": Parameter("coriolis", False, False, "Compensate it."),
            "output": Parameter(
                "output", "effort", "effort", "What.", choices=("effort", "position")
            ),
        }

    def come(self, **blocks):
        """A state of the controller arrives."""
        self.states.append({name: np.asarray(value, dtype=float) for name, value in blocks.items()})
        self.now = replace(self.now, blocks=self.states[-1], samples=self.now.samples + 1)

    def come_cycle(self, **values):
        """A cycle of the controller; what isn't given is 0, the time follows from its number."""
        row = np.zeros(1, CYCLE.kept_dtype(ROBOT.n))
        row["number"] = len(self.cycles)
        row["time"] = len(self.cycles) * ROBOT.period
        for name, value in values.items():
            row[name] = value
        self.cycles.append(row[0])

    def read_cycles(self, first, fields, reply):
        self.cycle_queries.append((first, tuple(fields)))
        if self.cycle_refusal:
            reply(CycleAnswer(self.cycle_refusal))
            return
        end = len(self.cycles)
        first = max(end + first, 0) if first < 0 else min(first, end)
        rows = np.array(self.cycles[first : first + MOST_CYCLES], CYCLE.kept_dtype(ROBOT.n))
        widths = {name: rows.dtype[name].itemsize // 8 for name in fields}
        reply(
            CycleAnswer(
                "",
                first,
                end,
                {name: rows[name].reshape(-1, width) for name, width in widths.items()},
            )
        )

    def telemetry(self):
        return self.now

    def recent(self, after):
        return self.states[max(len(self.states) - (self.now.samples - after), 0) :]

    def health(self):
        return self.state

    def law(self):
        return self.running

    def parameters(self):
        return self.gains

    def answer(self, what, reply):
        self.asked.append(what)
        reply(RequestResult(not self.refusal, self.refusal or self.result))
        return not self.refusal

    def set_law(self, name, reply):
        if not self.refusal:
            self.running = name
        self.answer(("law", name), reply)

    def set_gains(self, values, reply):
        if not self.refusal:
            self.gains = self.gains | {
                name: replace(self.gains[name], value=value) for name, value in values.items()
            }
        self.answer(("gains", dict(values)), reply)

    def requests(self):
        names = (
            "hold",
            "go_home",
            "zero_wrench",
            "clear_contact",
            "save_record",
        )
        controller = (f"controller/{name}" for name in names)
        return frozenset((*controller, "simulator/reset", "simulator/push"))

    def request(self, name, reply):
        self.answer(name, reply)

    def pause(self, paused, reply):
        self.answer(("pause", paused), reply)

    def change_state(self, transition, reply):
        self.answer(transition, reply)

    def stop(self, reply):
        self.answer("stop", reply)

    def stop_all(self, reply):
        self.answer("stop all", reply)

    def others(self):
        return self.other_names

    def neighbours(self):
        return self.others_drawn

    def set_target_pose(self, pose):
        self.targets.append(pose)

    def set_target_joints(self, q):
        self.joint_targets.append(q)

    def set_target_posture(self, q):
        self.postures.append(q)

    def set_target_twist(self, twist, frame):
        self.twists.append((twist, frame))

    def set_target_wrench(self, wrench):
        self.wrenches.append(wrench)

    def push(self, link, force):
        self.pushes.append((link, force))

    def set_object_target(self, name, position):
        self.places.append((name, position))


def connect(address, **headers):
    """A websocket to the page of an address, with these headers besides."""
    return WebSocket(current(), address, headers)


def press_stop(page):
    """STOP, from a browser that only looks on."""
    with connect(page.look_address.replace("/?", "/bar?")) as bar:
        bar.send("stop")


def camera(position, height=720, width=1280):
    """What a browser tells of its view: where the camera is [m], and the window's size [px]."""
    up, ahead = (0.0, 0.0, 1.0), (1.0, 0.0, 0.0, 0.0)
    return messages.ViewerCameraMessage(
        ahead, position, 0.8, 0.01, 1000.0, height, width, (0.0, 0.0, 0.0), up
    )


def packed(message):
    """A message as viser's client sends it."""
    return wire.msgspec.msgpack.encode(message.as_serializable_dict())


class Browser:
    """Speaks the websocket of viser's client.

    Args:
        page: that it opens.
        address: of the page, if not that of those who control the robot.

    Attributes:
        socket: its websocket.
    """

    def __init__(self, page, address=""):
        known = set(page.server.get_clients())
        self.page = page
        self.socket = connect(address or page.address)
        self.send(camera((2.0, 0.0, 0.0)))
        until(lambda: set(page.server.get_clients()) - known, "the client to be known")

    def send(self, message):
        self.socket.send(packed(message))

    def handle(self, label):
        """The control of this label, once it is there."""

        def find():
            handles = list(self.page.server.gui._gui_input_handle_from_uuid.values())
            labelled = [each for each in handles if getattr(each, "label", None) == label]
            shown = [each for each in labelled if each.visible]
            return next(iter(shown or labelled), None)

        return until(find, f"a control {label!r}")

    def set(self, label, value):
        self.send(messages.GuiUpdateMessage(self.handle(label)._impl.uuid, {"value": value}))

    def upload(self, label, name, content):
        """Choose a file for an upload button."""
        uuid = self.handle(label)._impl.uuid
        self.send(messages.FileTransferStartUpload(uuid, name, name, "text/plain", 1, len(content)))
        self.send(messages.FileTransferPart(uuid, name, 0, content))

    def sees(self, text):
        """Whether what the page sends, from the beginning on, comes to have these bytes in it."""
        with suppress(TimeoutError):
            while text not in unpacked(self.socket.recv(LIMIT)):
                pass
            return True
        return False

    def drag_node(self, name, phase, point):
        """A drag of a node itself, not of a gizmo."""
        point = tuple(float(part) for part in point)
        self.send(
            messages.SceneNodeDragMessage(
                phase, name, None, point, (0.5, 0.5), point, (0.5, 0.5), "left", None
            )
        )

    def begin_drag(self, name):
        self.send(messages.TransformControlsDragStartMessage(name))

    def drag(self, name, pose):
        turn = viser.transforms.SO3.from_matrix(pose[:3, :3]).wxyz
        self.send(
            messages.TransformControlsUpdateMessage(
                name, tuple(turn.tolist()), tuple(pose[:3, 3].tolist())
            )
        )

    def end_drag(self, name):
        self.send(messages.TransformControlsDragEndMessage(name))


def unpacked(message):
    """The part of a message of viser that isn't numbers: its sizes unpacked and packed,
    then msgpack in zstd.
    """
    packed = int.from_bytes(message[8:16], "little")
    return zstandard.ZstdDecompressor().decompress(message[16 : 16 + packed])


def children(page):
    """All that is in the panels of a page."""
    containers = list(page.server.gui._container_handle_from_uuid.values())
    return [child for each in containers for child in list(each._children.values())]


def text(page):
    """The texts of a page, without their marks."""
    found = [child.content for child in children(page) if isinstance(child, viser.GuiHtmlHandle)]
    return html.unescape(" ".join(re.sub("<[^>]*>", " ", " ".join(found)).split()))


def folder(page, label):
    return next(
        child
        for child in children(page)
        if isinstance(child, viser.GuiFolderHandle) and child.label == label
    )
