"""A simulated arm under a real controller, the page of it, and browsers that
have opened the page.
"""

import io
from functools import partial

import numpy as np
from browser import Browser
from dashboard_support import ROBOT
from geometry_msgs.msg import PoseStamped
from lifecycle_msgs.srv import GetState
from PIL import Image
from rcl_interfaces.srv import SetParameters
from served_pages import free_port

from robot_control_ros.bringup import SETUPS, NodeSpec
from robot_control_ros.dashboard.access import Access
from robot_control_ros.robot.configuration import equipped
from robot_control_ros.ros.messages import read_pose

GRIP = 0.18  # m along the target's z axis, from its origin to the head of the arrow there
ACTIVE, STOPPED, GONE = "● active", "the robot isn't commanded", "the controller doesn't answer"
SLIDER = "Stiffness [N/m]"


class System:
    """Everything of one UR5.

    Args:
        ros: its domain.
        camera: of the page's view.
        width, height: of a browser's window [px].
        arguments: of the simulation.

    Attributes:
        children: the nodes' processes, by name.
        targets: all that the page has sent.
    """

    def __init__(self, ros, camera, width, height, **arguments):
        self.ros, self._camera, self._size = ros, camera, (width, height)
        self.children, self._newest = {}, {}
        robot = equipped(ROBOT.name, arguments.get("gripper", ""))
        page = NodeSpec("dashboard", "dashboard", {"port": free_port(), "robot": robot})
        nodes = SETUPS["sim"].make(robot=ROBOT.name, watchdog="false", **arguments).nodes()
        self._specs = {spec.name: spec for spec in (*nodes, page)}
        self.start_missing()
        for topic in ("pose", "reference_pose"):
            take = partial(self._newest.__setitem__, topic)
            ros.node.create_subscription(PoseStamped, f"/controller/{topic}", take, 1)
        self.targets = ros.subscribe(PoseStamped, "/controller/target_pose")

    def start_missing(self):
        """Start every node that doesn't run."""
        for name, spec in self._specs.items():
            if name not in self.children or self.children[name].process.poll() is not None:
                self.children[name] = self.ros.start(
                    name, dict(spec.parameters), remappings=dict(spec.remappings)
                )

    def wait_for_answers(self):
        """Until a new controller answers: the services of a killed one are
        still known for a while.
        """
        client, answers = (
            self.ros.node.create_client(SetParameters, "/controller/set_parameters"),
            [],
        )
        self.ros.until(
            lambda: any(each.done() for each in answers),
            "an answer of the new controller",
            lambda: answers.append(client.call_async(SetParameters.Request())),
        )

    def open(self):
        """Another browser with the page, as soon as the arm is to be seen there."""
        port, tip = self._specs["dashboard"].parameters["port"], self.tip()
        address = Access.of_user().address("127.0.0.1", port)
        browser = Browser(address + self._camera.query.replace("?", "&"), *self._size)
        try:
            browser.wait(
                lambda: browser.shows(ACTIVE) and browser.box(SLIDER),
                "the page of an active controller",
            )
            browser.wait(lambda: self._is_drawn(browser, tip), "the arm in the view")
        except BaseException:
            browser.kill()
            raise
        return browser

    def _is_drawn(self, browser, place):
        """Whether something dark is to be seen at (3,) [m], as the ground isn't."""
        picture = np.array(Image.open(io.BytesIO(browser.screenshot())).convert("RGB"))
        x, y = self._camera.pixel(place, browser).round().astype(int)
        return (picture[y - 60 : y + 60, x - 30 : x + 30].min(axis=(0, 1)) < 120).any()

    def pose(self, topic="pose"):
        """Of the tip, or of another topic of the controller, (4, 4), as it is now."""
        self._newest.clear()
        return read_pose(
            self.ros.until(lambda: self._newest.get(topic), f"/controller/{topic}").pose
        )

    def tip(self):
        return self.pose()[:3, 3]

    def lifecycle(self):
        return self.ros.call(GetState, "/controller/get_state").current_state.label

    def stiffness(self):
        return self.ros.get("controller", "impedance.stiffness")

    def grip(self, browser, way=(0.0, 0.0, 0.0)):
        """Where to take hold of the target (2,) [px], or where that would be had it moved by
        (3,) in the base [m].
        """
        reference = self.pose("reference_pose")
        return self._camera.pixel(reference[:3, 3] + GRIP * reference[:3, 2] + way, browser)
