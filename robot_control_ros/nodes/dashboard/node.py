"""The dashboard: the page in the browser, on topics, services and parameters alone.

Parameters and what it needs: docs/dashboard.md.
"""

from __future__ import annotations

import os
from typing import Any

from rclpy.node import Node
from std_msgs.msg import String

from ...core.errors import RobotControlError, unknown
from ...dashboard.access import PORT
from ...dashboard.extra import viser_needed
from ...robot.configuration import load_robot, robot_names
from ...ros.entities import Entities
from ...ros.qos import LATCHED_QOS
from ...ros.ros_params import PREFIX_TEXT, declare
from ...ros.running import run
from .robot_link import RosLink

NICENESS = 5  # control comes first
_PARAMETERS = {
    "robot": ("ur5", "Robot: a name ({robots}) or the path of a YAML file."),
    "profile": ("sim", "HardwareProfile of the robot's file."),
    "prefix": ("", PREFIX_TEXT),
    "description": (
        "config",
        "Where the robot description comes from: config (the robot's file) or topic.",
    ),
    "host": ("127.0.0.1", "Address to listen on; 0.0.0.0: on every network."),
    "open_browser": (False, "Open the page in the browser of this machine."),
    "token": (
        True,
        "Whether only browsers with the printed address get in; false only on 127.0.0.1.",
    ),
}
NUMBERS = {"port": PORT}


class DashboardNode(Node):
    """Opens the page; see the module.

    Attributes:
        link: The link to the robot; None while the node waits for a robot description.
        page: The page; None meanwhile.
    """

    def __init__(self) -> None:
        super().__init__("dashboard")
        with viser_needed("the dashboard"):
            from ...dashboard.page import Page
        self._page_type = Page
        self._chosen = declare(self, _PARAMETERS, NUMBERS, {"robots": ", ".join(robot_names())})
        self._robot = load_robot(*(self._chosen[name] for name in ("robot", "profile", "prefix")))
        self.link: RosLink | None = None
        self.page: Any = None
        source = self._chosen["description"]
        if source == "config":
            self._open(self._robot.urdf())
        elif source == "topic":
            Entities(self).subscription(
                String, "robot_description", self._on_description, LATCHED_QOS
            )
        else:
            raise unknown("description", source, ("config", "topic"))

    def unfinished(self) -> bool:
        """Stop an identification; return True until it has ended, as the arm must hold by then."""
        if self.link is None:
            return False
        self.link.identification.stop()
        return self.link.identification.running

    def close(self) -> None:
        if self.link is not None:
            self.link.identification.stop()  # its end takes place while the page closes
        for part in (self.page, self.link):
            if part is not None:
                part.close()

    def _on_description(self, text: String) -> None:
        """Open the page with the first description that is this robot's."""
        if self.page is None:
            try:
                self._open(text.data)
            except RobotControlError as error:
                self.get_logger().error(f"robot_description: {error}; waiting for another")

    def _open(self, urdf: str) -> None:
        host = self._chosen["host"]
        port = self._chosen["port"]
        link = RosLink(self, self._robot, urdf)
        try:
            self.page = self._page_type(link, host, port, self._chosen["token"])
        except RobotControlError:
            link.close()
            raise
        self.link = link
        if self.page.port != port:
            print(f"port {port} is taken: {self.page.port} is used", flush=True)
        where = self.get_namespace().rstrip("/")
        print(
            f"dashboard of {self._robot.name}{where and f' in {where}'}: {self.page.address}",
            flush=True,
        )
        print(f"to look on only: {self.page.look_address}", flush=True)
        if self._chosen["open_browser"]:
            self.page.show_in_browser()


def main() -> None:
    """Run the node."""
    os.nice(NICENESS)
    run(DashboardNode)
