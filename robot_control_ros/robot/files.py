"""Places of config/, urdf/ and launch/, whichever way the package was installed.

It reads the files of config/, too.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Callable
from copy import deepcopy
from functools import lru_cache
from pathlib import Path
from typing import Any, TypeVar

from ..core.errors import ConfigError, refused, unknown
from .schema import errors_at
from .yaml_files import read_yaml

PACKAGE = "robot_control_ros"
_Place = TypeVar("_Place")  # for errors: a path, or a text


def share_directory() -> Path:
    """The folder that holds config/, urdf/ and launch/.

    In this order: the ament index (colcon, or ``pip install`` with AMENT_PREFIX_PATH set), the
    source tree that this module is in (``pip install -e``), the prefix of the running interpreter
    (``pip install``).

    Raises:
        ConfigError: it is nowhere; lists what was tried.
    """
    installed = [
        prefix / "share" / PACKAGE for prefix in ament_prefixes() if has_package(prefix, PACKAGE)
    ]
    candidates = [
        *installed,
        Path(__file__).resolve().parents[2],
        Path(sys.prefix) / "share" / PACKAGE,
    ]
    for folder in candidates:
        if (folder / "package.xml").is_file():
            return folder
    tried = ", ".join(str(folder) for folder in candidates)
    raise ConfigError(f"the share folder of {PACKAGE} is missing; tried: {tried}")


def ament_prefixes() -> list[Path]:
    """The prefixes that ROS packages are installed in, in the order of their search."""
    return [
        Path(prefix)
        for prefix in os.environ.get("AMENT_PREFIX_PATH", "").split(os.pathsep)
        if prefix
    ]


def has_package(prefix: Path, package: str) -> bool:
    """True where the ament index of a prefix lists a ROS package."""
    return (prefix / "share/ament_index/resource_index/packages" / package).is_file()


def config_names(folder: str) -> list[str]:
    """Names of the YAML files that the package brings in config/<folder>."""
    return sorted(path.stem for path in (share_directory() / "config" / folder).glob("*.yaml"))


def read_config(
    kind: str, name: str, folder: str = "", beside: Path | None = None
) -> tuple[Path, Any]:
    """Path and content of a YAML file: one of the package's or one of the user's.

    Args:
        kind: Kind of the file, as "robot" or "scene": for people, and for the folder.
        name: Name of the package's file, or the path of another, ending in .yaml or .yml.
        folder: Folder of the package's files, below config/; `kind` in plural where empty.
        beside: Folder that relative paths start from; the current one where None.

    Raises:
        ConfigError: unknown name (lists the names), no such file, or not YAML.
    """
    folder = folder or f"{kind}s"
    if name.endswith((".yaml", ".yml")):
        path = _file(kind, name, beside)
    elif name in (known := config_names(folder)):
        path = share_directory() / "config" / folder / f"{name}.yaml"
    else:
        raise unknown(kind, name, known, hint=", or a path ending in .yaml")
    about = path.stat()
    return path, deepcopy(_content(kind, path, about.st_mtime_ns, about.st_size))


@lru_cache(maxsize=32)
def _content(kind: str, path: Path, changed: int, size: int) -> Any:
    """Content of a YAML file.

    It is read anew where the time of its last change or its size differ.
    """
    return read_yaml(kind, path).data


def _file(kind: str, name: str, beside: Path | None) -> Path:
    try:
        path = Path(name).expanduser()
        path = path if beside is None else (beside / path).resolve()
        path.stat()
        return path
    except FileNotFoundError as error:
        raise ConfigError(f"{kind} {str(path)!r}: no such file", name=kind, value=name) from error
    except (
        OSError,
        RuntimeError,
        ValueError,
    ) as error:  # too long; no such user; no text for a path
        raise ConfigError(f"{kind} {name!r}: {error}", name=kind, value=name) from error


def found_urdf(urdf: Path, folders: list[Path]) -> Path:
    """A robot description in one of the folders, or in the package's urdf/; ConfigError
    where it is in none.
    """
    candidates = [folder / urdf for folder in (*folders, share_directory() / "urdf")]
    for path in candidates:
        if os.path.isfile(path):  # other than is_file() it takes names that are too long
            return path
    raise refused(
        "urdf",
        str(urdf),
        f"no such file; tried: {', '.join(map(str, candidates))}",
        tuple(candidates),
    )


def read_extended(kind: str, name: str) -> tuple[list[Path], Any]:
    """Paths and content of a YAML file that may extend others, see :func:`read_config`
    and :func:`extended`.
    """
    return extended(
        name, lambda other, path: read_config(kind, other, beside=path.parent if path else None)
    )


def extended(
    name: str, read: Callable[[str, _Place | None], tuple[_Place, Any]]
) -> tuple[list[_Place], Any]:
    """Places and content of what may extend others by an entry `extends`.

    Its own place comes first, then those that it extends.

    Args:
        name: Name of the first one.
        read: Function of a name and the place where that name stands; it gives the name's place and
            content.

    Raises:
        ConfigError: of `read`; an extended one is no mapping; they extend each other.
    """
    place, data = read(name, None)
    places = [place]
    while isinstance(data, dict) and data.get("extends"):
        with errors_at(f"{place}: extends"):
            place, base = read(str(data["extends"]), place)
        if place in places:
            raise refused(
                "extends", data["extends"], "they extend each other", where=f"{places[0]}: "
            )
        if not isinstance(base, dict):
            raise ConfigError(f"{place}: must be a mapping: {places[-1]} extends it")
        places.append(place)
        data = merge(base, {key: each for key, each in data.items() if key != "extends"})
    return places, data


def merge(base: Any, changes: Any) -> Any:
    """Mappings with changes as in a JSON merge patch: null takes an entry away; what is no
    mapping is replaced.
    """
    if not (isinstance(base, dict) and isinstance(changes, dict)):
        return changes
    merged = base | {
        key: merge(base[key], each) if key in base else each for key, each in changes.items()
    }
    return {key: each for key, each in merged.items() if each is not None or key not in changes}
