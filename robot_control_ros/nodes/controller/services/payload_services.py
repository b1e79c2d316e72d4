"""Services that identify the payload, and warnings where it changes."""

from __future__ import annotations

from rclpy.node import Node
from rclpy.parameter import Parameter

from ....control.controller import Controller
from ....control.payload_input import figures_of, overload_at, robot_note
from ....core.errors import ConfigError
from ....core.types import Array
from ....sensing.sensor_load import PayloadIdentification
from ....sensing.torque_load import TorqueIdentification


class PayloadServices:
    """Identifies the payload from samples, one in each of several poses at rest.

    Payload and tare are set from the result. A sample is the wrench of a sensor or the joint
    torques, as the wrench's source is. Samples that don't suffice are kept, so that more can be
    added; activation forgets them.
    """

    def __init__(self, node: Node, loop: Controller) -> None:
        self._node = node
        self._loop = loop
        self._told = loop.payload.settings.target
        self._overload = ""  # text that says that a joint can't hold the payload at this posture
        self._samples: PayloadIdentification | TorqueIdentification | None = None
        self._sampled = ""  # source of the wrench that the samples were taken with

    def reset(self) -> None:
        """Forget the samples."""
        self._samples = None

    def add_sample(self) -> str:
        """Take a sample at the present pose; returns how many there are, in words.

        Samples of another source of the wrench begin a new set.
        """
        loop = self._loop
        loop.tip()  # raises ConfigError where there is no fresh state
        settings = loop.wrench.settings.target
        if loop.state is None or loop.kin is None or loop.state.wrench_on_tip is None:
            raise ConfigError(f"{loop.wrench.reason}: nothing to take a sample of")
        if self._samples is None or settings.source != self._sampled:
            from_sensor = settings.source == "sensor"
            self._samples = (
                PayloadIdentification(settings.convention)
                if from_sensor
                else TorqueIdentification()
            )
            self._sampled = settings.source
        self._samples.add(loop.state, loop.kin)
        return f"{len(self._samples)} samples"

    def identify(self) -> str:
        """Identify payload and tare, set both, forget the samples; returns the result in words."""
        if self._samples is None:
            message = "no payload samples: move to eight or more poses and call add_payload_sample at rest in each"
            raise ConfigError(message)
        found = self._samples.identified(self._loop.model)
        figures = figures_of(found.payload)
        parameters = [
            Parameter(f"payload.{name}", value=_plain(value)) for name, value in figures.items()
        ]
        done = self._node.set_parameters_atomically(parameters)
        if not done.successful:
            raise ConfigError(done.reason)
        self._loop.wrench.set_tare(found.tare)
        self._samples = None
        center = ", ".join(f"{x:.4f}" for x in figures["center"])
        return f"mass {figures['mass']:.4f} kg, centre ({center}) m in {self._loop.model.tip}; {found.quality}"

    def look(self) -> str:
        """Warning that the payload has changed or is too heavy at this posture; else an empty text.

        It is called once a second.
        """
        payload = self._loop.payload.settings.target
        overload = "" if self._loop.kin is None else overload_at(self._loop.kin)
        warnings = [overload if overload and not self._overload else ""]
        if payload is not self._told:
            warnings.append(robot_note(self._loop.robot))
        self._told = payload
        self._overload = overload
        return "; ".join(filter(None, warnings))

    def values(self) -> dict[str, str]:
        """Values for /diagnostics: the payload, and that it is too heavy at this posture."""
        payload = self._loop.model.payload
        return (
            {"payload": "; ".join(filter(None, (str(payload), self._overload)))}
            if payload.mass > 0.0
            else {}
        )


def _plain(value: float | Array) -> float | list[float]:
    return value if isinstance(value, float) else value.tolist()
