"""JSON Schema of configuration files, from their declarations, so that editors complete and check
them.

What only the reader can check isn't in it: numbers of joints, and entries that go with others. An
entry that a file must have may come from the file that it extends.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import is_dataclass
from enum import Enum
from types import NoneType
from typing import Any, get_args, get_origin

from ..core.gains import JOINT
from .schema import REQUIRED, SOME, EntrySpec, entry_specs, file_entries, union_members

_TYPES = {str: "string", bool: "boolean", int: "integer", float: "number"}


def json_schema(cls: type, title: str) -> dict[str, Any]:
    """The schema of a file.

    Args:
        cls: Dataclass of the file, declared by :func:`robot_control_ros.robot.schema.entry`.
        title: Title of the schema.
    """
    definitions: dict[str, Any] = {}
    root = {
        "$schema": "http://json-schema.org/draft-07/schema#",
        "title": title,
        **_object(cls, definitions),
    }
    required = [spec.key for spec in file_entries(cls) if spec.required]
    if _extends(cls):
        root["anyOf"] = [{"required": ["extends"]}, {"required": required}]
    return {**root, "definitions": dict(sorted(definitions.items()))}


def _extends(cls: type) -> bool:
    return any(spec.key == "extends" for spec in entry_specs(cls))


def _object(cls: type, definitions: dict[str, Any]) -> dict[str, Any]:
    entries = {spec.key: _entry(spec, definitions) for spec in file_entries(cls)}
    found = {"type": "object", "additionalProperties": False, "properties": entries}
    required = [spec.key for spec in file_entries(cls) if spec.required]
    return found if _extends(cls) or not required else found | {"required": required}


def _entry(spec: EntrySpec, definitions: dict[str, Any]) -> dict[str, Any]:
    found = {"description": spec.text(), **_value(spec, spec.of, definitions)}
    default = spec.default.value if isinstance(spec.default, Enum) else spec.default
    plain = isinstance(default, (bool, int, float, str)) or (isinstance(default, tuple) and default)
    return (
        found | {"default": default}
        if default is not REQUIRED and plain and default != ""
        else found
    )


def _value(spec: EntrySpec, hint: Any, definitions: dict[str, Any]) -> dict[str, Any]:
    members = union_members(hint)
    if len(members) > 1:
        return {"anyOf": [_value(spec, member, definitions) for member in members]}
    if hint is NoneType:
        return {"type": "null"}
    if hint is Any:
        return {}
    if isinstance(hint, type) and is_dataclass(hint):
        name = hint.__name__.strip("_")
        if name not in definitions:
            definitions[name] = {}
            definitions[name] = _object(hint, definitions)
        return {"$ref": f"#/definitions/{name}"}
    if get_origin(hint) is tuple:
        return _array(spec, get_args(hint)[0], definitions)
    if get_origin(hint) is Mapping:
        return _mapping(spec, hint, definitions)
    if spec.valid(hint):
        return {"enum": list(spec.valid(hint))}
    # infinite but for numbers
    bounds = {"minimum": spec.lower, "exclusiveMinimum": spec.above, "maximum": spec.upper}
    return {
        "type": _TYPES[hint],
        **{name: bound for name, bound in bounds.items() if math.isfinite(bound)},
    }


def _array(spec: EntrySpec, inner: Any, definitions: dict[str, Any]) -> dict[str, Any]:
    items = _value(spec, inner, definitions)
    found: dict[str, Any] = {"type": "array", "items": items}
    if spec.size in (SOME, JOINT):
        found["minItems"] = 1
    elif isinstance(spec.size, int):
        found |= {"minItems": spec.size, "maxItems": spec.size}
    alone = inner is float and not isinstance(spec.size, int)  # a single number needs no list
    return {"anyOf": [found, items]} if alone else found


def _mapping(spec: EntrySpec, hint: Any, definitions: dict[str, Any]) -> dict[str, Any]:
    key_type, inner = get_args(hint)
    values = _value(spec, inner, definitions)
    if isinstance(inner, type) and is_dataclass(inner) and _extends(inner):  # null takes one away
        values = {"anyOf": [values, {"type": "null"}]}
    found = {"type": "object", "additionalProperties": values}
    keys = spec.valid_keys(key_type)
    return found if key_type is int or not keys else found | {"propertyNames": {"enum": list(keys)}}
