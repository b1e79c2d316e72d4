"""Replay of a recorded law: with its gains, to see that it does the same, or with others."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from ..core.cycle import NONE
from ..core.errors import unknown
from ..core.gains import changed, check_gain, gain_specs, short_names
from ..core.types import Array, Command, JointSpaceReference, Reference, RobotState, SensedState
from ..laws.compiled_law import CompiledLaw
from ..laws.law import law_class
from ..robot.model import RobotDynamics, RobotModel
from ..robot.payload import Payload
from .recorder import CycleRecord, LawMemory, LawSetting

PARTS = ("asked", "asked_feedforward", "asked_velocity")


@dataclass(frozen=True, eq=False)
class Replayed:
    """The commands of a law that runs again on recorded cycles.

    Attributes:
        record: Recorded cycles.
        asked, asked_feedforward, asked_velocity: (N, n) see :data:`~..core.cycle.CYCLE`; NaN where
            a cycle could not be computed again.
        replayed: (N,) bool, True where a cycle could be computed again.
        reason: Reason why some could not; empty where all could, or the law wasn't asked.
    """

    record: CycleRecord
    asked: Array
    asked_feedforward: Array
    asked_velocity: Array
    replayed: Any
    reason: str

    def difference(self) -> Array:
        """Largest difference (N, n) between a part of the command and the recorded one; 0 where
        they agree.

        It is infinite where one of the two has a part that the other hasn't.
        """
        largest = np.zeros_like(self.asked)
        for name in PARTS:
            now = getattr(self, name)[self.replayed]
            then = self.record[name][self.replayed]
            apart = np.abs(now - then)
            apart[np.isnan(now) & np.isnan(then)] = 0.0
            apart[np.isnan(now) != np.isnan(then)] = math.inf
            largest[self.replayed] = np.maximum(largest[self.replayed], apart)
        return largest


class Replay:
    """Computes what laws ask for in recorded cycles.

    It begins where a law began anew, or where its memory was recorded; a law in plain Python has no
    recorded memory. State, reference and gains of each cycle are those of the record. So with other
    gains it shows what would have been commanded to the arm as it moved, and not how the arm would
    have moved.

    Args:
        model: Model of the robot that was recorded.
        gains: Gains by name, in place of the recorded ones. `stiffness` is that of all laws that
            have one, `impedance.stiffness` that of one law. None for none.
    """

    def __init__(self, model: RobotModel, gains: Mapping[str, Any] | None = None) -> None:
        self._model = model
        self._values = dict(gains or {})
        self._known = set(self._values)
        self._laws: dict[str, Any] = {}
        self._setting: LawSetting | None = None
        self._gains: Any = None
        self._ready: Any = None  # the law that goes on from the cycle before
        self._number = math.nan  # of that

    def run(self, record: CycleRecord) -> Replayed:
        """Compute the commands of the next cycles.

        They are a part of a record, which goes on where the last part ended.

        Raises:
            ConfigError: a law can't be loaded, or none of the recorded ones has a gain that was
                given, or refuses it.
        """
        settings = {each.number: each for each in record.settings}
        self._check_names(record)
        memories = {each.cycle: each for each in record.memories}
        parts = {name: np.full((len(record), self._model.n), NONE) for name in PARTS}
        replayed = np.zeros(len(record), dtype=bool)
        reason = ""
        columns = {name: record[name] for name in ("number", "setting", "begins", "asked")}
        for i, number in enumerate(columns["number"]):
            if number != self._number + 1.0:  # some are missing
                self._ready = None
            self._number = number
            if self._setting is None or self._setting.number != columns["setting"][i]:
                self._take(settings.get(int(columns["setting"][i])))
            if np.isnan(columns["asked"][i, 0]):
                continue
            if (refusal := self._refusal()) or self._setting is None:
                reason = refusal
                continue
            law = self._law(self._setting.law)
            state, kin = self._state(record, i)
            memory = memories.get(int(number))
            if not self._prepare(law, columns["begins"][i] == 1.0, memory, settings, state, kin):
                reason = "what the law remembered isn't in the record until it begins anew"
                continue
            dt = float(record["interval"][i])
            command = law.compute(state, kin, _reference(record, i, law), self._gains, dt)
            replayed[i] = True
            self._write(command, parts, i)
        return Replayed(record, **parts, replayed=replayed, reason=reason)

    def _check_names(self, record: CycleRecord) -> None:
        """Refuse a gain that none of the laws has."""
        if not self._known:
            return
        specs = [
            (each.law, spec) for each in record.settings for spec in gain_specs(type(each.gains))
        ]
        names = {spec.name for _, spec in specs}
        for name in self._known - names - {f"{law}.{spec.name}" for law, spec in specs}:
            raise unknown("gain", name, sorted(names))

    def _take(self, setting: LawSetting | None) -> None:
        """Go on with another law, or other gains; None for those that the record hasn't."""
        if setting is None or self._setting is None or setting.law != self._setting.law:
            self._ready = None
        self._setting = setting
        if setting is not None:
            self._gains = self._with_values(setting)

    def _with_values(self, setting: LawSetting) -> Any:
        """Recorded gains of a law, with the values that were given in place of some."""
        specs = {spec.name: spec for spec in gain_specs(type(setting.gains))}
        values = {
            name: value
            for name, value in self._values.items()
            if name.removeprefix(f"{setting.law}.") in specs
        }
        checked = {
            name: check_gain(specs[name], value, self._model.n)
            for name, value in short_names(setting.law, values, specs).items()
        }
        return changed(setting.gains, checked) if checked else setting.gains

    def _refusal(self) -> str:
        """The reason why the present law can't be computed again; empty where it can."""
        if self._setting is None:
            return "the gains aren't in the record"
        if getattr(law_class(self._setting.law), "reads_path", False):
            return (
                f"{self._setting.law} looks up the path of its reference, which isn't in the record"
            )
        return ""

    def _law(self, name: str) -> Any:
        if name not in self._laws:
            self._laws[name] = law_class(name)()
        return self._laws[name]

    def _prepare(
        self,
        law: Any,
        begins: bool,
        memory: LawMemory | None,
        settings: Mapping[int, LawSetting],
        state: RobotState,
        kin: RobotDynamics,
    ) -> bool:
        """Let the law begin anew, or take over its memory; return True where it can go on.

        Args:
            law: Law that is to be computed.
            begins: True in a cycle in which the recorded law began.
            memory: Memory of the recorded law in this cycle; None where the file has none.
            settings: Settings of laws by number, as the memory names them.
            state, kin: State of the cycle, and kinematics and dynamics there.
        """
        if begins:
            law.reset(state, kin)
            self._ready = law
        elif self._ready is not law and memory is not None and _takes(law, memory, self._model.n):
            before = settings[memory.setting]
            gains = self._gains if before is self._setting else self._with_values(before)
            law.restore(memory.row, state, kin, gains)
            self._ready = law
        return self._ready is law

    def _state(self, record: CycleRecord, i: int) -> tuple[RobotState, RobotDynamics]:
        """The state and its dynamics in a cycle."""
        q, v, effort, wrench = (record[name][i].copy() for name in ("q", "v", "effort", "wrench"))
        time = float(record["time"][i])
        age = float(record["age"][i])
        payload = record["payload"][i]
        if not (np.isnan(payload).any() or np.array_equal(payload, self._model.payload.row)):
            self._model.payload = Payload.of_row(payload)
        kin = self._model.update(q, v)
        sensors = record["sensors"][i].copy()
        if np.isnan(wrench[0]):
            return RobotState(time, q, v, effort, age=age, sensors=sensors), kin
        return SensedState(time, q, v, effort, wrench_on_tip=wrench, age=age, sensors=sensors), kin

    def _write(self, command: Command, parts: dict[str, Array], i: int) -> None:
        for name, part in zip(
            PARTS, (command.values, command.feedforward, command.velocity), strict=True
        ):
            if part is not None and part.shape == (self._model.n,):
                parts[name][i] = part


def _takes(law: Any, memory: LawMemory, n: int) -> bool:
    """Return True where a recorded memory fits the law; another version's has another size."""
    return isinstance(law, CompiledLaw) and law.memory.width(n) == memory.row.size


def _reference(record: CycleRecord, i: int, law: Any) -> Reference:
    """The reference of a cycle, of the kind that the law takes."""
    names = ("pose", "twist", "acceleration", "wrench", "q", "v", "a")
    values = {name: record[f"target_{name}"][i].copy() for name in names}
    given: dict[str, Any] = {
        name: None if np.isnan(value).any() else value for name, value in values.items()
    }
    if getattr(law, "reference", Reference) is JointSpaceReference:
        return JointSpaceReference(**given)
    return Reference(**given)
