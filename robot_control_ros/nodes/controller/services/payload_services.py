"""The payload: identified by services of the controller, and told where it changes."""

from __future__ import annotations

from rclpy.node import Node
from rclpy.parameter import Parameter

from ....control.controller import Controller
from ....control.payload_input import figures_of, robot_note
from ....core.errors import ConfigError
from ....core.types import Array
from ....sensing.sensor_load import PayloadIdentification


class PayloadServices:
    """Take a sample in each of six or more poses at rest, then identify: payload and tare are set from them.

    Samples stay where they don't suffice, so that more can be taken; activation begins anew.
    """

    def __init__(self, node: Node, loop: Controller) -> None:
        self._node, self._loop = node, loop
        self._told = loop.payload.settings.target
        self._samples: PayloadIdentification | None = None

    def reset(self) -> None:
        """Forget the samples."""
        self._samples = None

    def add_sample(self) -> str:
        """Take the present pose."""
        loop = self._loop
        loop.tip()  # there is a fresh state
        source = loop.wrench.settings.target.source
        if source != "sensor":
            message = f"wrench.source = {source}: a payload is identified from a sensor"
            raise ConfigError(message, name="wrench.source", value=source, bound=("sensor",))
        if loop.state is None or loop.kin is None or loop.state.wrench_on_tip is None:
            raise ConfigError(f"{loop.wrench.reason}: nothing to take a sample of")
        if self._samples is None:
            self._samples = PayloadIdentification(loop.wrench.settings.target.convention)
        self._samples.add(loop.state, loop.kin)
        return f"{len(self._samples)} samples"

    def identify(self) -> str:
        """Identify, take the result over, and begin anew."""
        if self._samples is None:
            message = "no payload samples: move to six or more poses and call add_payload_sample at rest in each"
            raise ConfigError(message)
        load = self._samples.result()
        figures = figures_of(self._samples.payload(load, self._loop.model))
        parameters = [Parameter(f"payload.{name}", value=_plain(value)) for name, value in figures.items()]
        done = self._node.set_parameters_atomically(parameters)
        if not done.successful:
            raise ConfigError(done.reason)
        self._loop.wrench.set_tare(load.bias)
        self._samples = None
        center = ", ".join(f"{x:.4f}" for x in figures["center"])
        found = f"mass {figures['mass']:.4f} kg, centre ({center}) m in {self._loop.model.tip}"
        return f"{found}; left unexplained: {load.force_residual:.3f} N, {load.torque_residual:.4f} N·m rms"

    def look(self) -> str:
        """Once a second: what has to be done besides, where the payload has changed; else an empty text."""
        payload = self._loop.payload.settings.target
        if payload is self._told:
            return ""
        self._told = payload
        return robot_note(self._loop.robot)

    def values(self) -> dict[str, str]:
        """For /diagnostics: the payload."""
        payload = self._loop.model.payload
        return {"payload": str(payload)} if payload.mass > 0.0 else {}


def _plain(value: float | Array) -> float | list[float]:
    return value if isinstance(value, float) else value.tolist()
