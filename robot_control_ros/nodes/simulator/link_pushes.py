"""Pushes at links of the simulated robot, each for as long as messages come."""

from __future__ import annotations

import numpy as np
from geometry_msgs.msg import WrenchStamped

from ...simulation.mujoco_plant import MujocoPlant
from ..common.messages import vector

PUSH_DURATION = 0.2  # s of simulated time that a push acts without a newer one


class LinkPushes:
    """Passes pushes on to the plant, and ends them."""

    def __init__(self, plant: MujocoPlant) -> None:
        self._plant = plant
        self._pushed_at: dict[str, float] = {}

    def on_push(self, message: WrenchStamped) -> None:
        """A wrench in the axes of the link that header.frame_id names, at its origin.

        Raises:
            ConfigError, ModelError: numbers that aren't finite; an unknown link.
        """
        link = message.header.frame_id
        rotation = self._plant.link_rotation(link)
        force, torque = vector(message.wrench.force), vector(message.wrench.torque)
        self._plant.push(link, rotation @ force, rotation @ torque)
        self._pushed_at[link] = self._plant.time

    def expire(self) -> None:
        """End pushes that no newer message has renewed in time."""
        for link, since in list(self._pushed_at.items()):
            if self._plant.time - since > PUSH_DURATION:
                self._plant.push(link, np.zeros(3), np.zeros(3))
                del self._pushed_at[link]

    def clear(self) -> None:
        """Forget them: the plant was reset."""
        self._pushed_at.clear()
