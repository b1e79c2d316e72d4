"""EtherCAT drives as a plant: what a ControlLoop can drive in process, and what the
bus's own process runs.
"""

from __future__ import annotations

import time
from collections.abc import Sequence

from ...core.errors import ConfigError, StaleStateError
from ...core.types import Command, RobotState
from ..process.pacing import ClockFollower, Timing
from ..process.realtime import sleep_until
from ..supervisor import Action, SupervisorLimits
from .bus import Master
from .drive_cycle import DriveCycle
from .topology import Topology

LATE = 5  # cycles after which what an answer says of the joints is too old to act on
RECEIVE_FRACTION = 0.5  # of the cycle, to wait for a frame, where nothing else is asked for


class EthercatPlant:
    """A robot on EtherCAT drives.

    Only :meth:`enable` enables the drives, also after every stop.

    Args:
        joints: Names of the robot's joints, in its order.
        interface: Name of the network interface.
        frame_timeout: Longest wait for a frame [s]; by default half a cycle. Cycles that pass
            meanwhile are overruns.
        timing: Record of how the cycles were kept, a new one by default.

    Attributes:
        joints, period: Names of the joints, and time between two cycles [s].
        overruns: Number of cycles that were left out, because the one before took longer than them.
    """

    def __init__(
        self,
        joints: Sequence[str],
        topology: Topology,
        interface: str,
        limits: SupervisorLimits | None = None,
        frame_timeout: float | None = None,
        timing: Timing | None = None,
    ) -> None:
        topology.in_order_of(joints)
        self.topology = topology
        self.master = Master(interface)
        self.timing = Timing() if timing is None else timing
        self.joints = tuple(joints)
        self._limits = limits
        self.period = topology.cycle
        self._frame_timeout = (
            RECEIVE_FRACTION * topology.cycle if frame_timeout is None else frame_timeout
        )
        self._follower = ClockFollower(topology.cycle)
        self._due = 0.0
        self._sent = 0.0
        self._received = 0.0
        self._correction = 0.0
        self.overruns = 0
        self._cycle: DriveCycle | None = None

    @property
    def cycle(self) -> DriveCycle:
        """Cycle of the drives; a ConfigError where the plant isn't open."""
        if self._cycle is None:
            raise ConfigError("the bus is not open: open it first")
        return self._cycle

    def open(self) -> None:
        """:meth:`prepare` and :meth:`operate`: to OP, all drives disabled; cycles must
        follow without a pause.
        """
        self.prepare()
        self.operate()

    def prepare(self) -> None:
        """Bring the bus to SAFE-OP: nothing has to follow yet.

        Raises:
            ConfigError: the interface isn't there or not permitted, or the bus isn't that of the
                topology.
            HardwareFault: a slave doesn't answer, or doesn't get ready.
        """
        self.master.open()
        try:
            self.master.configure(self.topology)
            expected = self.master.expected_working_counter
            self._cycle = DriveCycle(self.topology, self.joints, expected, self._limits)
        except Exception:
            self.master.close()
            raise

    def operate(self) -> None:
        """Bring the bus from SAFE-OP to OP, where slaves stop by themselves without a next cycle.

        Raises:
            HardwareFault: a slave doesn't get there; names it, and its error.
        """
        self._due = time.monotonic()
        try:
            self.master.operate(self._wait_and_exchange)
        except Exception:
            self._cycle = None
            self.master.close()
            raise

    def sense(self) -> bool:
        """Wait for the cycle's time and exchange process data.

        Returns True where a new sample came.
        """
        cycle = self.cycle
        counter = self._wait_and_exchange()
        late = counter >= 0 and self._received - self._sent > max(
            LATE * self.period, self._frame_timeout
        )
        if counter == cycle.supervisor.frames.expected and self.master.clock:
            self._correction = self._follower.correction(self.master.clock)
        return cycle.sense(self._received, counter, self.master.inputs(cycle.positions), late)

    def _wait_and_exchange(self) -> int:
        self._due += self.period + self._correction
        self._correction = 0.0
        now = time.monotonic()
        if now - self._due > 0.5 * self.period:  # what is lost isn't made up for
            overruns = round((now - self._due) / self.period)
            self.overruns += overruns
            self._due += overruns * self.period
        sleep_until(self._due)
        self._sent = time.monotonic()
        counter = self.master.exchange(self._frame_timeout)
        self._received = time.monotonic()
        return counter

    def act(self) -> None:
        """Make the outputs ready for the next cycle."""
        self.cycle.act()
        self.master.put(self.cycle.positions, self.cycle.data.outputs)
        self.timing.add_cycle(
            self._due, self._sent, self._received, time.monotonic(), self.period, self.overruns
        )
        self.cycle.watch()

    def enable(self) -> None:
        """Request that all drives are enabled, in a few cycles; a ConfigError with all
        reasons against it.
        """
        if obstacles := self.cycle.supervisor.request_enable():
            raise ConfigError("not enabled: " + "; ".join(obstacles))

    def read(self) -> RobotState:
        """The next sample; the drives hold in a few cycles without one, then it
        is a StaleStateError.
        """
        for _ in range(self.cycle.supervisor.limits.bad_cycles):
            if self.sense():
                return self.cycle.state(time.time())
            self.act()
        raise StaleStateError(f"no sample from the bus: {self.cycle.supervisor.message}")

    def write(self, command: Command) -> None:
        """Send a command; it has no effect while the drives aren't enabled.

        Raises:
            ConfigError: wrong size, not finite, or of a mode that a drive doesn't have; the last
                command stays.
        """
        try:
            self.cycle.command(command, time.monotonic())
        finally:
            self.act()

    def close(self) -> None:
        """Stop the drives, disable them, and let the bus go."""
        if self._cycle is None:
            return
        supervisor = self._cycle.supervisor
        supervisor.request_quick_stop()
        until = time.monotonic() + supervisor.limits.stop_time
        while supervisor.action is Action.QUICK_STOP and time.monotonic() < until:
            self.sense()
            self.act()
        for _ in range(supervisor.limits.good_cycles):  # those that say: disable
            self.sense()
            self.act()
        self._cycle = None
        self.master.close()
