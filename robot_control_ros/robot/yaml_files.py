"""YAML, read within bounds and written: the only module that imports yaml.

A file is read event by event, without recursion. So the first line that breaks a bound ends the
reading, and each error names line and key. Tags of Python's own, keys that are no single value and
several documents are refused.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from difflib import get_close_matches
from pathlib import Path
from typing import Any

import yaml
from yaml.constructor import SafeConstructor
from yaml.resolver import Resolver

from ..core.errors import ConfigError, short
from ..core.input_files import decode_text, read_bytes

LARGEST = 1_000_000  # bytes
MAX_DEPTH = 20
MAX_VALUES = 20_000  # an alias counts as often as all that it stands for
MAX_DIGITS = 300  # of a number
ALIKE = 0.8  # ratio of difflib from which on a name is a misspelt one: robot_type is no robot_ip

_Loader = yaml.CSafeLoader if yaml.__with_libyaml__ else yaml.SafeLoader
_TAG = "tag:yaml.org,2002:"
_MERGE = f"{_TAG}merge"
_NUMBERS = (f"{_TAG}int", f"{_TAG}float")
_SCALARS = (
    *_NUMBERS,
    *(f"{_TAG}{name}" for name in ("null", "bool", "str", "binary", "timestamp")),
)
_NO_KEY = object()


@dataclass(frozen=True)
class YamlDocument:
    """Content of a YAML file.

    Attributes:
        data: Plain values, lists and dictionaries; None of an empty file.
        lines: Line of each key, by the keys that lead to it.
    """

    data: Any
    lines: dict[tuple[Any, ...], int]

    def place(self, *keys: Any) -> str:
        """Line and keys of an entry, for errors."""
        line = f"line {self.lines[keys]}: " if keys in self.lines else ""
        return line + _dotted(keys)


def read_yaml(kind: str, path: Path) -> YamlDocument:
    """Read a file of at most 1 MB.

    Args:
        kind: Kind of the file, for errors.
        path: Path of the file.

    Raises:
        ConfigError: it can't be read, or see :func:`parse_yaml`.
    """
    return parse_yaml(read_bytes(kind, path, LARGEST), str(path))


def parse_yaml(content: bytes, where: str) -> YamlDocument:
    """Content of a file, from its text.

    Args:
        content: Text in UTF-8.
        where: Origin of the text, for errors.

    Raises:
        ConfigError: no YAML in UTF-8, a bound is broken, a key stands twice, an alias stands for
            itself; names place, line and key.
    """
    builder = _Builder()
    try:
        if len(content) > LARGEST:
            raise ConfigError(
                f"must have at most {LARGEST / 1e6:g} MB",
                name="size",
                value=len(content),
                bound=LARGEST,
            )
        for event in yaml.parse(_printable(content), Loader=_Loader):
            builder.take(event)
    except yaml.YAMLError as error:
        mark = getattr(error, "problem_mark", None)
        line = mark.line + 1 if mark else builder.line
        problem = " ".join((getattr(error, "problem", None) or str(error)).split())
        message = f"{where}: line {line}: {builder.path()}not valid YAML: {problem}"
        raise ConfigError(message, name="file") from error
    except ConfigError as error:
        raise ConfigError(
            f"{where}: {error}", name=error.name, value=error.value, bound=error.bound
        ) from error
    return YamlDocument(builder.document, builder.lines)


def yaml_text(data: Any, *, flow: bool | None = False) -> str:
    """Plain data as YAML, in its own order; with `flow` None, innermost lists stand in one line."""
    text = yaml.safe_dump(
        data, sort_keys=False, allow_unicode=True, default_flow_style=flow, width=120
    )
    return str(text)


def misspelt(name: str, known: Iterator[str] | list[str] | tuple[str, ...]) -> str:
    """The known name that a name resembles; empty where there is none."""
    return next(iter(get_close_matches(name, list(known), n=1, cutoff=ALIKE)), "")


def _dotted(keys: tuple[Any, ...]) -> str:
    """Keys with dots between them, and a colon; empty where there are none."""
    return f"{'.'.join(str(key)[:60] for key in keys)}: " if keys else ""


def _printable(content: bytes) -> str:
    text = decode_text(content)
    odd = yaml.reader.Reader.NON_PRINTABLE.search(text)
    if odd:
        line = text.count("\n", 0, odd.start()) + 1
        raise ConfigError(
            f"line {line}: character {odd.group()!r} is no text", name="file", value=odd.group()
        )
    return text


class _Scalars(SafeConstructor, Resolver):
    """PyYAML's meaning of single values."""

    def __init__(self) -> None:
        SafeConstructor.__init__(self)
        Resolver.__init__(self)


@dataclass
class _Open:
    """A list or a mapping whose end hasn't come yet.

    Attributes:
        values: Values so far.
        anchor: Name of the list or mapping for aliases; None where it has none.
        count: Number of all values before it.
        height: Number of levels below it.
        key: Key whose value comes next.
        merged: Mappings that its key `<<` names.
    """

    values: dict[Any, Any] | list[Any]
    anchor: str | None
    count: int
    height: int = 0
    key: Any = _NO_KEY
    merged: list[dict[Any, Any]] = field(default_factory=list)


class _Builder:
    """Makes plain data of the events of a parser.

    Attributes:
        document: Plain data of the document.
        line: Line of the last event.
        lines: Line of each key, see :class:`YamlDocument`.
    """

    def __init__(self) -> None:
        self.document: Any = None
        self.line = 1
        self.lines: dict[tuple[Any, ...], int] = {}
        self._documents = 0
        self._count = 0
        self._open: list[_Open] = []
        self._anchors: dict[str, tuple[Any, int, int]] = {}  # value, number of values, height
        self._scalars = _Scalars()

    def path(self) -> str:
        """The keys that lead to the present place, for errors."""
        return _dotted(self._keys())

    def take(self, event: Any) -> None:
        """Take the next event."""
        self.line = event.start_mark.line + 1
        if isinstance(event, yaml.DocumentStartEvent):
            self._documents += 1
            if self._documents > 1:
                raise self._error("a second document begins: must be one")
        elif isinstance(event, yaml.ScalarEvent):
            self._take_scalar(event)
        elif isinstance(event, yaml.AliasEvent):
            self._take_alias(str(event.anchor))
        elif isinstance(event, yaml.CollectionStartEvent):
            self._begin(event)
        elif isinstance(event, yaml.CollectionEndEvent):
            self._end()

    def _take_scalar(self, event: Any) -> None:
        tag = event.tag
        if tag in (None, "!"):
            tag = self._scalars.resolve(yaml.ScalarNode, event.value, event.implicit)  # type: ignore[no-untyped-call]
        if tag == _MERGE and self._awaits_key():
            self._open[-1].key = _MERGE
            return
        value = self._scalar(tag, event)
        if event.anchor is not None:
            self._anchors[event.anchor] = value, 1, 0
        self._put(value, 1, 0)

    def _scalar(self, tag: str, event: Any) -> Any:
        if tag not in _SCALARS:
            raise self._error(f"{short(event.value)} of tag {short(tag)} isn't taken", value=tag)
        if tag in _NUMBERS and len(event.value) > MAX_DIGITS:
            message = f"a number of {len(event.value)} characters: must have at most {MAX_DIGITS}"
            raise self._error(message, value=event.value, bound=MAX_DIGITS)
        node = yaml.ScalarNode(tag, event.value, event.start_mark, event.end_mark)
        try:
            return self._scalars.yaml_constructors[tag](self._scalars, node)
        except (
            Exception
        ) as error:  # PyYAML passes on what int(), float(), date() and dictionaries raise
            kind = tag.removeprefix(_TAG)
            raise self._error(
                f"{short(event.value)} is no {kind}: {error}", value=event.value
            ) from error

    def _take_alias(self, anchor: str) -> None:
        if any(each.anchor == anchor for each in self._open):
            raise self._error(f"alias {short(anchor)} stands for what it is in", value=anchor)
        if anchor not in self._anchors:
            raise self._error(
                f"alias {short(anchor)} stands for nothing: its anchor isn't before it",
                value=anchor,
            )
        value, count, height = self._anchors[anchor]
        if isinstance(value, (dict, list)) and self._awaits_key():
            raise self._error("a key must be a single value")
        self._put(value, count, height)

    def _begin(self, event: Any) -> None:
        mapping = isinstance(event, yaml.MappingStartEvent)
        if event.tag not in (None, "!", f"{_TAG}map" if mapping else f"{_TAG}seq"):
            raise self._error(f"tag {short(event.tag)} isn't taken", value=event.tag)
        if self._awaits_key():
            raise self._error("a key must be a single value")
        if len(self._open) >= MAX_DEPTH:
            raise self._error(f"entries are nested more than {MAX_DEPTH} times", bound=MAX_DEPTH)
        self._open.append(_Open({} if mapping else [], event.anchor, self._count))

    def _end(self) -> None:
        ended = self._open.pop()
        if isinstance(ended.values, dict) and ended.merged:
            own = dict(ended.values)
            ended.values.clear()
            for each in reversed(ended.merged):  # of several the first one has priority
                ended.values.update(each)
            ended.values.update(own)
        count = self._count - ended.count + 1
        if ended.anchor is not None:
            self._anchors[ended.anchor] = ended.values, count, ended.height + 1
        self._put(ended.values, 1, ended.height + 1)

    def _put(self, value: Any, count: int, height: int) -> None:
        """Put a value, its number of values, and the levels below it, into what is open."""
        self._count += count
        if self._count > MAX_VALUES:
            raise self._error(f"more than {MAX_VALUES} entries", bound=MAX_VALUES)
        if not self._open:
            self.document = value
            return
        into = self._open[-1]
        into.height = max(into.height, height)
        if len(self._open) + height > MAX_DEPTH:
            raise self._error(f"entries are nested more than {MAX_DEPTH} times", bound=MAX_DEPTH)
        if isinstance(into.values, list):
            into.values.append(value)
        elif into.key is _NO_KEY:
            self._put_key(into, value)
        elif into.key is _MERGE:
            into.merged += self._mappings(value)
            into.key = _NO_KEY
        else:
            into.values[into.key] = value
            into.key = _NO_KEY

    def _put_key(self, into: _Open, key: Any) -> None:
        assert isinstance(into.values, dict)
        if key in into.values:
            first = self.lines[(*self._keys(), key)]
            text = f"{short(key)} stands twice, again in line {self.line}; first in line {first}"
            raise self._error(text, name=str(key))
        into.key = key
        self.lines[self._keys()] = self.line

    def _mappings(self, value: Any) -> list[dict[Any, Any]]:
        """Mappings that the key `<<` names."""
        values = value if isinstance(value, list) else [value]
        if not all(isinstance(each, dict) for each in values):
            raise self._error("<< must name mappings")
        return values

    def _awaits_key(self) -> bool:
        return (
            bool(self._open)
            and isinstance(self._open[-1].values, dict)
            and self._open[-1].key is _NO_KEY
        )

    def _keys(self) -> tuple[Any, ...]:
        """The keys that lead to the present place; of a list the number of the item."""
        keys = (
            len(each.values) if isinstance(each.values, list) else each.key for each in self._open
        )
        return tuple(key for key in keys if key is not _NO_KEY)

    def _error(
        self, problem: str, *, name: str = "", value: Any = None, bound: Any = None
    ) -> ConfigError:
        keys = self._keys()
        last = name or next((str(key) for key in reversed(keys) if isinstance(key, str)), "file")
        return ConfigError(
            f"line {self.line}: {self.path()}{problem}", name=last, value=value, bound=bound
        )
