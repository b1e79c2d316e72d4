"""Entries of configuration files, declared once.

A mapping of a file is a frozen dataclass. :func:`entry` declares its fields, as ``gain`` declares
those of a law:

    @dataclass(frozen=True)
    class Surface:
        friction: float = entry(1.0, lower=0.0, doc="Coefficient of sliding friction.")
        notes: tuple[str, ...] = entry((), doc="…")

The annotation is the type of the entry. From that one declaration come the reader with its errors
(:func:`read`), the tables of the documentation, and the JSON Schema (see
:mod:`robot_control_ros.robot.json_schema`) for editors.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import MISSING, dataclass, field, fields, is_dataclass, replace
from enum import Enum
from functools import cache
from types import NoneType, UnionType
from typing import Any, TypeVar, Union, get_args, get_origin, get_type_hints

from ..core.bounded import Bounded
from ..core.errors import ConfigError, did_you_mean, refused, short
from ..core.gains import JOINT

REQUIRED = MISSING
SOME = "some"  # one value or more

_KEY = "robot_control_entry"
_T = TypeVar("_T")


@dataclass(frozen=True, kw_only=True)
class EntrySpec(Bounded):
    """Declaration of one entry of a file; its numbers have the bounds.

    Attributes:
        default: Value of the field where the file lacks the entry; without it a file must have the
            entry.
        size: Number of a list's values, or JOINT (one per joint; a default number stands for all)
            or SOME.
        choices: Values that are valid.
        keys: Keys that are valid in a mapping.
        key: Name of the entry in the file, where it differs from the field's.
        of: Type of the entry in the file, where it differs from the field's annotation.
        convert: Function that makes the field's value from the file's; may raise ConfigError.
        only_with: Another entry and its values; this entry is refused with others, and needed
            unless it has a default.
        inline: True where the entries of the field's dataclass, or of `of`, stand in the same
            mapping.
        name: Name of the field; :func:`entry_specs` fills it in, and completes `key` and `of`.
    """

    default: Any = REQUIRED
    size: int | str | None = None
    choices: Iterable[Any] = ()
    keys: Sequence[Any] = ()
    key: str = ""
    of: Any = None
    convert: Callable[[Any], Any] | None = None
    only_with: tuple[str, Sequence[str]] | None = None
    inline: bool = False
    name: str = ""

    @property
    def required(self) -> bool:
        """True where a file must have the entry."""
        return self.default is REQUIRED and self.only_with is None and not self.inline

    def valid(self, hint: Any) -> tuple[Any, ...]:
        """The valid choices of a value of this type; empty where there are no choices."""
        return _members(hint) or tuple(self.choices)

    def valid_keys(self, hint: Any) -> Sequence[Any]:
        """The valid keys of a mapping whose keys are of this type; empty where any is valid."""
        return _members(hint) or self.keys

    def written(self, bound: float) -> str:
        """A bound as people write it; a large whole number as buses number their objects."""
        return shown(bound) if isinstance(bound, int) else super().written(bound)

    def expected_of(self, hint: Any) -> str:
        """Text about what is valid for a value of this type."""
        if get_origin(hint) is tuple:
            counts = {None: "", JOINT: " of one per joint", SOME: " of one or more"}
            count = f" of {self.size}" if isinstance(self.size, int) else counts[self.size]
            return f"a list{count}, each {self.expected_of(get_args(hint)[0])}"
        if self.valid(hint):
            return f"one of: {', '.join(map(str, self.valid(hint)))}"
        if hint in (float, int):
            return self._number(hint).expected()
        return {bool: "true or false", str: "a text"}.get(hint, "a mapping of names to entries")

    def accepts(self, hint: Any, value: Any) -> bool:
        """True where a single value is of this type, within the bounds, and one of the choices."""
        if self.valid(hint):
            return not isinstance(value, bool) and value in self.valid(hint)
        if hint in (float, int):
            return self._number(hint).contains(value)
        return isinstance(value, hint)

    def _number(self, hint: Any) -> Bounded:
        """The declaration of a number of this type, float or int."""
        return self if hint is float else replace(self, whole=True)


def entry(default: Any = REQUIRED, **declared: Any) -> Any:
    """Declare a field that is an entry of a file; `declared` are the attributes of
    :class:`EntrySpec`.
    """
    metadata = {_KEY: (spec := EntrySpec(default=default, **declared))}
    if default is REQUIRED or (spec.size == JOINT and isinstance(default, float)):
        return field(metadata=metadata)
    if isinstance(default, dict):
        return field(default_factory=default.copy, metadata=metadata)
    return field(default=default, metadata=metadata)


@cache
def entry_specs(cls: type) -> tuple[EntrySpec, ...]:
    """The declarations of a dataclass in their order; its other fields are not in the file."""
    hints = get_type_hints(cls)
    found = []
    for item in fields(cls):
        if _KEY in item.metadata:
            spec: EntrySpec = item.metadata[_KEY]
            of = hints[item.name] if spec.of is None else spec.of
            found.append(replace(spec, name=item.name, key=spec.key or item.name, of=of))
    return tuple(found)


def file_entries(cls: type) -> Iterator[EntrySpec]:
    """The declarations of what stands in one mapping of the file, without repeated keys."""
    known = set()
    for spec in entry_specs(cls):
        for each in file_entries(spec.of) if spec.inline else (spec,):
            if each.key not in known:
                known.add(each.key)
                yield each


def read(cls: type[_T], data: Any, where: str, joints: int = 0) -> _T:
    """An object of a dataclass that is declared by entries, from a mapping of a file.

    Args:
        cls: Dataclass whose fields are all entries.
        data: Mapping of the file, as YAML gives it.
        where: File and place, for errors.
        joints: Number of joints n.

    Raises:
        ConfigError: a missing or unknown key, a wrong type, a value out of bounds; names file, key,
            value and what is valid.
    """
    values = read_entries(cls, data, where, joints)
    with errors_at(where):
        return cls(**values)


def read_entries(cls: type, data: Any, where: str, joints: int = 0) -> dict[str, Any]:
    """Values for the fields of a dataclass, by name, from a mapping of a file; see :func:`read`.

    It is for a dataclass with fields that aren't entries.
    """
    required = {spec.key: spec.required for spec in file_entries(cls)}
    valid = ", ".join(required)
    if not isinstance(data, dict):
        raise ConfigError(
            f"{where} = {short(data)}: must be a mapping with the entries {valid}", value=data
        )
    unknown = sorted(str(key) for key in data if key not in required)
    missing = [key for key, needed in required.items() if needed and key not in data]
    if unknown or missing:
        problem = f"unknown {unknown}" if unknown else f"missing {missing}"
        raise ConfigError(
            f"{where}: {problem:.300}; entries: {valid}",
            name=(unknown or missing)[0],
            bound=tuple(required),
        )
    # their partners are checked then
    ordered = sorted(entry_specs(cls), key=lambda spec: spec.only_with is not None)
    return {spec.name: _field(cls, spec, data, where, joints) for spec in ordered}


def _field(cls: type, spec: EntrySpec, data: dict[str, Any], where: str, joints: int) -> Any:
    if spec.inline:
        own = {each.key for each in file_entries(spec.of)}
        made = read(
            spec.of, {key: value for key, value in data.items() if key in own}, where, joints
        )
        return spec.convert(made) if spec.convert else made
    applies, partner = _partner(cls, spec, data)
    if spec.key not in data and spec.default is not REQUIRED:
        return (
            (spec.default,) * joints
            if spec.size == JOINT and isinstance(spec.default, float)
            else spec.default
        )
    if spec.key not in data and not applies:
        return spec.of()
    if spec.key not in data or not applies:
        problem = "has no meaning here" if spec.key in data else "is missing"
        raise ConfigError(f"{where}: {spec.key} {problem}: {partner}", name=spec.key)
    value = _value(spec, spec.of, f"{where}: {spec.key}", data[spec.key], joints)
    with errors_at(where):
        return spec.convert(value) if spec.convert else value


def _partner(cls: type, spec: EntrySpec, data: dict[str, Any]) -> tuple[bool, str]:
    """True where the entry that this one goes with has a value for it; and both as text."""
    if spec.only_with is None:
        return True, ""
    key, values = spec.only_with
    other = next(each for each in entry_specs(cls) if each.key == key)
    return data.get(key, other.default) in values, f"it goes with {key} {', '.join(values)}"


def _value(spec: EntrySpec, hint: Any, what: str, raw: Any, joints: int) -> Any:
    members = union_members(hint)
    if raw is None and NoneType in members:
        return None
    hint = _choose(members, raw)
    if hint is Any:
        return raw
    if isinstance(hint, type) and is_dataclass(hint):
        return read(hint, raw, what, joints)
    if get_origin(hint) is tuple:
        return _items(spec, hint, what, raw, joints)
    if get_origin(hint) is Mapping:
        return _mapping(spec, hint, what, raw, joints)
    if not spec.accepts(hint, raw):
        raise _refused(spec, hint, what, raw)
    return hint(raw)


def _refused(spec: EntrySpec, hint: Any, what: str, raw: Any) -> ConfigError:
    bound = spec.valid(hint) or (spec.bound if hint in (int, float) else None)
    message = f"{what} = {shown(raw)}: must be {spec.expected_of(hint)}"
    return ConfigError(message, name=spec.key, value=raw, bound=bound)


def _choose(members: Sequence[Any], raw: Any) -> Any:
    """Type that a value shall have: of several dataclasses, the one whose first entry is there."""
    known = [member for member in members if member is not NoneType]
    for member in known[:-1]:
        if isinstance(raw, dict) and entry_specs(member)[0].key in raw:
            return member
    return known[-1]


def _items(spec: EntrySpec, hint: Any, what: str, raw: Any, joints: int) -> tuple[Any, ...]:
    inner = get_args(hint)[0]
    # a single number needs no list
    single = inner is float and not isinstance(raw, (list, dict, str))
    values = [raw] if single else raw
    if not isinstance(values, list) or (spec.size == SOME and not values):
        raise _refused(spec, hint, what, raw)
    count = len(values)
    if spec.size == JOINT:
        count = joints
    elif isinstance(spec.size, int):
        count = spec.size
    if len(values) != count:
        message = f"{what} has {len(values)} values {short(values)}: must have {count}"
        raise ConfigError(message, name=spec.key, value=raw, bound=count)
    alone = inner is float and len(values) == 1
    places = (what if alone else f"{what}[{i}]{_title(value)}" for i, value in enumerate(values))
    return tuple(
        _value(spec, inner, place, value, joints)
        for place, value in zip(places, values, strict=True)
    )


def _title(value: Any) -> str:
    """The joint or the name of an item of a list, for messages."""
    title = (value.get("joint") or value.get("name")) if isinstance(value, dict) else None
    return f" ({title})" if isinstance(title, str) else ""


def _mapping(spec: EntrySpec, hint: Any, what: str, raw: Any, joints: int) -> dict[Any, Any]:
    if not isinstance(raw, dict):
        raise _refused(spec, hint, what, raw)
    key_type, inner = get_args(hint)
    found = {}
    for key, value in raw.items():
        checked = _key(spec, key_type, what, key)
        place = f"{what}: {shown(checked) if key_type is int else key}"
        found[checked] = _value(spec, inner, place, value, joints)
    return found


def _key(spec: EntrySpec, hint: Any, what: str, key: Any) -> Any:
    valid = spec.valid_keys(hint)
    if hint is int:
        whole(f"{what}: key", key, valid[0], valid[-1])
    elif valid and key not in valid:
        message = f"{what}: unknown {key!r}; entries: {', '.join(valid)}"
        raise ConfigError(message, name=spec.key, value=key, bound=tuple(valid))
    return hint(key)


def union_members(hint: Any) -> tuple[Any, ...]:
    """The types of a union; of anything else itself."""
    return get_args(hint) if get_origin(hint) in (Union, UnionType) else (hint,)


def _members(hint: Any) -> tuple[Any, ...]:
    """The values of an Enum; of another type none."""
    return (
        tuple(each.value for each in hint)
        if isinstance(hint, type) and issubclass(hint, Enum)
        else ()
    )


def whole(what: str, value: Any, low: int, high: int) -> int:
    """A whole number within bounds, or ConfigError."""
    if not isinstance(value, int) or isinstance(value, bool) or not low <= value <= high:
        message = (
            f"{what} = {shown(value)}: must be a whole number from {shown(low)} to {shown(high)}"
        )
        raise ConfigError(message, name=what, value=value, bound=(low, high))
    return value


def choice(what: str, value: Any, choices: Iterable[str]) -> str:
    """One of the choices, or ConfigError."""
    if value not in (valid := tuple(choices)):
        rule = f"must be one of: {', '.join(valid)}{did_you_mean(value, valid)}"
        raise refused(what, value, rule, valid)
    return str(value)


def shown(value: Any) -> str:
    """A value for people; large whole numbers as buses number their objects."""
    large = isinstance(value, int) and not isinstance(value, bool) and value > 999
    return f"0x{value:04X}" if large else short(value)


@contextmanager
def errors_at(where: str) -> Iterator[None]:
    """Put the place before the errors of a check that doesn't know it."""
    try:
        yield
    except ConfigError as error:
        raise ConfigError(
            f"{where}: {error}", name=error.name, value=error.value, bound=error.bound
        ) from error
