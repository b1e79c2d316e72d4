"""The definitions of ROS messages, as MCAP has them, from the .msg files of the
installed packages.
"""

from __future__ import annotations

import re

from ...core.errors import ConfigError
from ...robot.files import ament_prefixes

PRIMITIVES = re.compile(r"bool|byte|char|w?string|float(32|64)|u?int(8|16|32|64)")
FIELD = re.compile(r"^\s*([A-Za-z]\w*(?:/\w+)*)(?:<=\d+)?(?:\[[^\]]*\])?\s+[A-Za-z]")
SEPARATOR = "\n" + 80 * "=" + "\nMSG: {}\n"


def message_schema(kind: str) -> str:
    """The definition of a type such as ``sensor_msgs/msg/JointState``, followed by those of the
    types in it.

    Raises:
        ConfigError: the file of a type is nowhere.
    """
    texts: dict[str, str] = {}
    _gather(kind.replace("/msg/", "/"), texts)
    first, *others = texts
    return texts[first] + "".join(SEPARATOR.format(each) + texts[each] for each in others)


def _gather(kind: str, texts: dict[str, str]) -> None:
    """Add the text of ``package/Type`` and of all types in it."""
    if kind in texts:
        return
    package, _, name = kind.partition("/")
    text = _definition(package, name)
    texts[kind] = text
    for line in text.splitlines():
        field = FIELD.match(line)
        if field and not PRIMITIVES.fullmatch(field[1]):
            inner = field[1].replace("/msg/", "/")
            _gather(inner if "/" in inner else f"{package}/{inner}", texts)


def _definition(package: str, name: str) -> str:
    tried = [prefix / "share" / package / "msg" / f"{name}.msg" for prefix in ament_prefixes()]
    for path in tried:
        if path.is_file():
            return path.read_text(encoding="utf-8")
    places = tuple(map(str, tried))
    raise ConfigError(
        f"no definition of {package}/{name}; tried: {', '.join(places)}", name=name, bound=places
    )
