"""The view of a browser, kept beside the gains in the same file."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from ...core.errors import refused

NODE = "dashboard"
SECTION = "view"
LENGTHS = {"position": 3, "look_at": 3}


def view_of(camera: Any) -> dict[str, Any]:
    """The camera of one of viser's clients as plain data."""
    points = {name: [round(float(part), 4) for part in getattr(camera, name)] for name in LENGTHS}
    return {**points, "fov": round(float(camera.fov), 4)}


def check_view(view: Mapping[str, Any]) -> Mapping[str, Any]:
    """The view, if a camera can have it.

    Raises:
        ConfigError: a point that is not three finite numbers, or an angle that is none.
    """
    for name, length in {**LENGTHS, "fov": 1}.items():
        try:
            values = np.atleast_1d(np.array(view.get(name), dtype=float))
        except (TypeError, ValueError):
            values = np.array([np.nan])
        if values.shape != (length,) or not np.isfinite(values).all():
            raise refused(
                f"{SECTION}.{name}", view.get(name), f"must be {length} finite numbers", length
            )
    if not 0.0 < view["fov"] < np.pi:
        raise refused(f"{SECTION}.fov", view["fov"], "must be within (0, 3.14) rad", (0.0, np.pi))
    return view


def apply_view(view: Mapping[str, Any], camera: Any) -> None:
    """Let a browser look from there."""
    camera.position = view["position"]
    camera.look_at = view["look_at"]
    camera.fov = view["fov"]
