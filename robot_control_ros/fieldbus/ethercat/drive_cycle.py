"""One cycle of all drives: process data, state machines, supervisor. No I/O, no clock."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from ...core.errors import ConfigError
from ...core.types import Array, Command, RobotState
from ..command_checks import JUMP, check_command, describe_jump
from ..supervisor import Action, SupervisorLimits
from .cia402 import MODES, DriveStateMachine, Mode, TargetSource, describe_mode
from .ethercat_supervisor import EthercatSupervisor
from .process_data import ProcessData
from .topology import Topology

AT_REST = 0.02  # rad/s: a velocity signal's offset and noise at rest, at most
FROZEN = 0.05  # rad that a drive must have moved without a change of its measured position


class FrozenPosition:
    """Finds drives whose measured position stays the same to the last count although they must have
    moved.

    How far a drive must have moved since its position last changed is what its own velocity says,
    where that is more than noise, or how far its target position has gone, whichever is more.
    """

    def __init__(self, names: Sequence[str]) -> None:
        self._names = tuple(names)
        self.reset()

    def reset(self) -> None:
        """Begin anew: when drives are enabled."""
        n = len(self._names)
        self._counts: list[int | None] = [None] * n
        self._moved = [0.0] * n
        self._targets = [math.nan] * n

    def step(
        self,
        dt: float,
        counts: Sequence[int],
        v: Sequence[float],
        targets: Sequence[float] | None = None,
    ) -> str:
        """Text about a frozen position, `dt` [s] after the last step; empty where there is none.

        It compares position counts of the drives, their velocities [rad/s], and target positions
        [rad], if any.
        """
        for i, count in enumerate(counts):
            target = math.nan if targets is None else targets[i]
            if count != self._counts[i]:
                self._counts[i] = count
                self._moved[i] = 0.0
                self._targets[i] = target
                continue
            if abs(v[i]) > AT_REST:
                self._moved[i] += v[i] * dt
            moved = abs(self._moved[i])
            commanded = abs(target - self._targets[i])
            if moved > FROZEN or commanded > FROZEN:
                far = moved if math.isnan(commanded) else max(moved, commanded)
                return f"{self._names[i]}: its measured position is frozen at {count} counts, {far:.3g} rad behind"
        return ""


class DriveCycle:
    """Takes what the bus brought, and fills what it shall take away.

    Per cycle: :meth:`sense`, then :meth:`command` where there is a new one, then :meth:`act`, then
    :meth:`watch`.

    Args:
        topology: Topology of the bus.
        joints: Names of the robot's joints, in its order.
        expected_working_counter, limits: Right working counter of one exchange, and limits of the
            :class:`.ethercat_supervisor.EthercatSupervisor`.

    Attributes:
        positions: Places of the joints' slaves on the bus, in the robot's order.
        data, machines: Process data, and the drives' state machines, one per joint.
        supervisor: Supervisor of all drives.
        mode: Mode of operation that is asked for, that of the last command. Before a command it is
            the first of position, torque, velocity that all drives have: in position mode they hold
            the arm by themselves.

    Raises:
        ConfigError: the topology's joints aren't the robot's, or the drives have no mode in common.
    """

    def __init__(
        self,
        topology: Topology,
        joints: Sequence[str],
        expected_working_counter: int,
        limits: SupervisorLimits | None = None,
    ) -> None:
        slaves = topology.in_order_of(joints)
        self.positions = tuple(slave.position for slave in slaves)
        self.data = ProcessData([slave.axis for slave in slaves])
        self.error_codes = tuple(slave.drive.error_codes for slave in slaves)
        self.machines = tuple(DriveStateMachine(codes) for codes in self.error_codes)
        names = [slave.name for slave in topology.slaves]
        self.supervisor = EthercatSupervisor(joints, expected_working_counter, limits, names)
        self._modes = [
            mode for mode in Mode if all(mode in axis.rx.modes for axis in self.data.axes)
        ]
        if not self._modes:
            raise ConfigError(f"{topology.path}: the drives have no mode of operation in common")
        first = next(
            mode for mode in (Mode.POSITION, Mode.TORQUE, Mode.VELOCITY) if mode in self._modes
        )
        self._joints = tuple(joints)
        self._frozen = FrozenPosition(joints)
        self._zeros = np.zeros(len(joints))
        self._command: Command | None = None
        self._commanded_at = -math.inf
        self._time = math.nan
        self._elapsed = 0.0
        self._fresh = False
        self._last: Array | None = None  # position command that was sent
        # status words and modes shown, where all drives run
        self._steady: tuple[list[int], list[int]] | None = None
        self._action = Action.DISABLE
        self._take_mode(first)
        self._take_machines()

    def sense(
        self, time: float, working_counter: int, inputs: Sequence[bytes], late: bool = False
    ) -> bool:
        """Take what the bus brought; returns True where it is new, else `inputs` aren't looked at.

        Args:
            time: Time of this cycle, by a clock that doesn't go back [s].
            working_counter: Working counter of the exchange, negative where no frame came back.
            inputs: Inputs of the joints' slaves, in the robot's order.
            late: True where the frame came after its cycle.
        """
        supervisor = self.supervisor
        # asked for since the last cycle; failures of before are past
        if supervisor.action is not self._action:
            self._enter(supervisor.action)
        fresh = working_counter == supervisor.frames.expected and not late
        if fresh:
            self.data.read(inputs)
        self._step(time)
        age = time - self._commanded_at
        action = supervisor.step(time, working_counter, self._states, self._failures, age, late)
        self._elapsed = time - self._time
        self._time = time
        self._fresh = fresh
        if action is not self._action:
            self._enter(action)
            self._step(time)
        return fresh

    def _step(self, time: float) -> None:
        """Step the drives' state machines, unless all run, and show what they showed: then
        nothing would change.
        """
        data = self.data
        shown = data.status_words, data.mode_displays
        if shown == self._steady:
            return
        for machine, *values in zip(self.machines, *shown, data.error_codes, strict=True):
            machine.step(time, *values)
        self._take_machines()
        self._steady = shown if all(machine.enabled for machine in self.machines) else None

    def _take_machines(self) -> None:
        machines = self.machines
        self._states = [each.state for each in machines]
        self._failures = [each.failure for each in machines]
        self._control_words = [each.control_word for each in machines]
        self._targets = [each.targets for each in machines]

    def watch(self) -> None:
        """Stop all, from the next cycle on, where a measured position stands still although the
        joint must have moved.

        It can wait until the outputs are on their way.
        """
        if not self._fresh or self.supervisor.action is not Action.RUN:
            return
        data = self.data
        command = self._command
        targets = (
            command.values.tolist() if command is not None and self.mode is Mode.POSITION else None
        )
        if frozen := self._frozen.step(
            self._elapsed, data.position_counts, data.v.tolist(), targets
        ):
            self.supervisor.trip(frozen)

    def _enter(self, action: Action) -> None:
        was = self._action
        self._action = action
        self._steady = None
        if action is Action.ENABLE:
            self._frozen.reset()
            self._last = None
            for machine in self.machines:
                machine.enable(self.mode)
        elif action is Action.QUICK_STOP:
            for machine in self.machines:
                machine.quick_stop()
        elif action is Action.DISABLE and was is not Action.DISABLE:
            for machine in self.machines:
                machine.disable()

    def command(self, command: Command, time: float) -> None:
        """Take a command and its time, by the clock of :meth:`sense` [s]; one older than the last
        is left alone.

        Raises:
            ConfigError: not of the joints' number, not finite, or of a mode that not all drives
                have; the last stays.
        """
        mode = MODES[command.mode]
        if mode not in self._modes:
            valid = tuple(each.value for each, number in MODES.items() if number in self._modes)
            message = (
                f"command {command.mode.value}: not all drives map {describe_mode(mode)}; "
                f"choices: {', '.join(valid)}"
            )
            raise ConfigError(message, name="command", value=command.mode.value, bound=valid)
        check_command(command, len(self._zeros))
        if time < self._commanded_at:
            return
        self._command = command
        self._commanded_at = time
        if mode is not self.mode:
            self._take_mode(mode)
            # a drive that is enabled keeps its last targets until it shows the mode
            self._step(self._time)

    def _take_mode(self, mode: Mode) -> None:
        self.mode = mode
        self._steady = None
        self.supervisor.waits_for_commands = mode is Mode.TORQUE
        self._last = None
        for machine in self.machines:
            machine.change_mode(mode)

    def act(self) -> None:
        """Fill the outputs with what the supervisor lets through."""
        action = self.supervisor.action
        command = self._command
        if command is not None and action is Action.RUN and self._jumps(command):
            action = self.supervisor.action
            self._enter(action)
            self._step(self._time)
        control_words = self._control_words
        targets = self._targets
        # In torque mode nothing holds a joint but its command: it gets it as soon as it is enabled.
        through = action is Action.RUN or (action is Action.ENABLE and self.mode is Mode.TORQUE)
        if command is None or not through:
            targets = [
                TargetSource.KEEP if each is TargetSource.COMMAND else each for each in targets
            ]
            self.data.write(control_words, self.mode, targets, self._zeros)
            return
        self.data.write(
            control_words, self.mode, targets, command.values, command.velocity, command.feedforward
        )

    def _jumps(self, command: Command) -> bool:
        """True where a position command is too far from the one before; then all are stopped."""
        if self.mode is not Mode.POSITION:
            return False
        # nothing is sent while a drive changes its mode
        if not all(machine.enabled for machine in self.machines):
            self._last = None
        at = self.data.q if self._last is None else self._last
        self._last = command.values
        if np.abs(command.values - at).max() <= JUMP:
            return False
        self.supervisor.trip(describe_jump(self._joints, at.tolist(), command.values.tolist()))
        return True

    def reset_faults(self) -> None:
        """Ask each drive in a fault to leave it."""
        for machine in self.machines:
            machine.reset_fault()

    def state(self, time: float) -> RobotState:
        """The joints in the last fresh cycle, stamped [s]."""
        data = self.data
        return RobotState(time, data.q, data.v, data.effort)
