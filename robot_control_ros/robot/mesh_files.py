"""The points of a mesh that a robot description names."""

from __future__ import annotations

from functools import lru_cache
from pathlib import Path

import numpy as np

from ..core.errors import ModelError
from ..core.types import Array
from .files import ament_prefixes


@lru_cache(maxsize=256)
def mesh_points(name: str, folder: Path) -> Array:
    """Corners (k, 3) of the convex hull of a mesh, in its own frame and unit.

    Args:
        name: Path of the mesh, `file://` and a path, or `package://`, a ROS package and a path in
            its share folder.
        folder: Folder that relative paths start from.

    Raises:
        ModelError: there is no such file, or it is no mesh.
    """
    path = mesh_path(name, folder)
    if path is None:
        raise ModelError(f"mesh {name!r}: no such file", name="mesh", value=name)
    try:
        import coal  # comes with Pinocchio; it reads what Assimp reads
    except ImportError as error:
        message = f"mesh {name!r} can't be read without the Python module coal, which comes with Pinocchio"
        raise ModelError(message, name="mesh", value=name) from error
    try:
        mesh = coal.MeshLoader().load(str(path), np.ones(3))
        mesh.buildConvexHull(True, "Qt")
        points = np.array(mesh.convex.points())
    except Exception as error:  # Assimp's and Qhull's come as several kinds
        raise ModelError(
            f"mesh {str(path)!r} can't be read: {error}", name="mesh", value=name
        ) from error
    return points


def mesh_path(name: str, folder: Path) -> Path | None:
    """The file of a mesh, in the ament index, or beside the description in `folder`; None
    where it is nowhere.
    """
    scheme, _, rest = name.partition("://")
    if not rest:
        candidates = [folder / name]
    elif scheme == "file":
        candidates = [Path(rest)]
    else:
        inside = Path(*Path(rest).parts[1:])
        beside = [parent / inside for parent in (folder, *folder.parents[:2])]
        candidates = [*(prefix / "share" / rest for prefix in ament_prefixes()), *beside]
    return next((path for path in candidates if path.is_file()), None)
