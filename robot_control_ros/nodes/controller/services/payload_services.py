"""What hangs on the sensor, identified by services of the controller."""

from __future__ import annotations

from rclpy.node import Node
from rclpy.parameter import Parameter

from ....control.controller import Controller
from ....core.errors import ConfigError
from ....sensing.payload import PayloadIdentification


class PayloadServices:
    """Take a sample in each of six or more poses at rest, then identify: mass, centre and tare are set from them.

    Samples stay where they don't suffice, so that more can be taken; activation begins anew.
    """

    def __init__(self, node: Node, loop: Controller) -> None:
        self._node, self._loop = node, loop
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
        payload = self._samples.result()
        mass = Parameter("wrench.payload_mass", value=payload.mass)
        done = self._node.set_parameters_atomically(
            [mass, Parameter("wrench.payload_center", value=payload.center.tolist())]
        )
        if not done.successful:
            raise ConfigError(done.reason)
        self._loop.wrench.set_tare(payload.bias)
        self._samples = None
        center = ", ".join(f"{x:.4f}" for x in payload.center)
        return (
            f"mass {payload.mass:.4f} kg, centre ({center}) m; left unexplained: {payload.force_residual:.3f} N, "
            f"{payload.torque_residual:.4f} N·m rms"
        )
