"""Contacts over ROS: the topic ``~/contact``, and services that clear it and learn thresholds."""

from __future__ import annotations

from diagnostic_msgs.msg import DiagnosticStatus
from rclpy.node import Node
from rclpy.parameter import Parameter

from ....control.controller import Controller
from ....control.reactions.contact_monitor import SEPARATE
from ....core.errors import ConfigError, RobotControlError
from ....ros.contact_values import fill_contact
from ....ros.entities import Entities
from ....ros.qos import LATCHED_QOS
from ....sensing.contact_detector import DetectedContact
from ....sensing.contact_thresholds import LONGEST, SHORTEST

SHOWN = 2.0  # s after a contact, in which /diagnostics tells it
FREE = "no contact"


class ContactServices:
    """Publishes each contact at its start and at its end; the last one is latched.

    Args:
        node: Node whose parameters learnt thresholds are set as.
        entities: Entities that the topic and the service are made with.
        loop: Control loop whose contacts are published.
    """

    def __init__(self, node: Node, entities: Entities, loop: Controller) -> None:
        self._node = node
        self._loop = loop
        self._topic = entities.publisher(DiagnosticStatus, "~/contact", LATCHED_QOS)
        self._published: tuple[float, str, bool] | None = None
        entities.trigger("~/clear_contact", loop.contact.clear)
        self._publish(None, "", False)

    @property
    def message(self) -> str:
        """Text on the contact that the arm reacts to; empty where it reacts to none."""
        return self._loop.report().contact.message if self._loop.contact.reaction else ""

    def cycle(self, time: float) -> None:
        """Publish a contact that has changed, after the control cycle with the stamp `time` [s]."""
        contact = self._loop.contact.found
        reaction = self._loop.contact.reaction
        if contact is None and self._published is None:
            return
        lasts = contact is not None and time - contact.last <= SEPARATE
        key = None if contact is None else (contact.start, reaction, lasts)
        if key != self._published:
            self._published = key
            self._publish(contact, reaction, lasts)

    def _publish(self, contact: DetectedContact | None, reaction: str, lasts: bool) -> None:
        level = DiagnosticStatus.WARN if lasts or reaction else DiagnosticStatus.OK
        status = DiagnosticStatus(
            level=level, name=f"{self._node.get_name()}: contact", message=FREE
        )
        status.hardware_id = self._loop.robot.name
        if contact is not None:
            status.message = f"{contact}" if lasts else f"{FREE} now; the last: {contact}"
            fill_contact(status, contact, reaction)
        self._topic.publish(status)

    def values(self) -> dict[str, str]:
        """Values for /diagnostics: the contact and its link; none where it is over.

        A contact is shown for 2 s after its end, and as long as the arm reacts to it.
        """
        contact = self._loop.contact.found
        state = self._loop.state
        if contact is None or state is None:
            return {}
        if not self._loop.contact.reaction and state.time - contact.last > SHOWN:
            return {}
        return {"contact": str(contact), "contact link": contact.link}

    def learn(self) -> str:
        """Begin to learn thresholds; where that has begun, end it and set them."""
        if self._learnt() < 0.0:
            self._loop.contact.begin_learning()
            return (
                f"learning: let the arm move as in your work, and touch nothing. Call again after {SHORTEST:g} s or "
                f"more. It ends by itself after {LONGEST:g} s"
            )
        values = self._loop.contact.learned()
        parameters = [Parameter(f"contact.{name}", value=each) for name, each in values.items()]
        done = self._node.set_parameters_atomically(parameters)
        if not done.successful:
            raise ConfigError(done.reason)
        learnt = "; ".join(
            f"contact.{name} {[float(f'{x:.3g}') for x in each]}" for name, each in values.items()
        )
        return f"set: {learnt}"

    def look(self) -> str:
        """End the learning where its time is over; returns a line for the log, or an empty text.

        It is called once a second.
        """
        if self._learnt() < LONGEST:
            return ""
        try:
            return self.learn()
        except RobotControlError as error:
            return str(error)

    def _learnt(self) -> float:
        return -1.0 if self._loop.state is None else self._loop.report().contact.learnt
