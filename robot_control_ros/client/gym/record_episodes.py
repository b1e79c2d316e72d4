"""Episodes of an environment as MCAP files, one each."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import gymnasium
import numpy as np

from ...core.errors import refused
from ...core.output_paths import writable_folder
from ...recording.mcap_recording import McapRecording
from ...recording.named_numbers import NumbersMessage
from .compliance_env import ComplianceEnv

STEP_TOPIC = "/step"
STEP = "robot_control_ros/msg/Step"
OBSERVATION = "observation_"  # in front of the names of what is observed


class RecordEpisodes(gymnasium.Wrapper[dict[str, Any], Any, dict[str, Any], Any]):
    """Writes ``<folder>/episode_00000.mcap`` and so on, with the number of the reset.

    The channel ``/step`` has one message a step: the observation before it as `observation_…`, `action`, `reward`,
    `terminated`, `truncated`, `success` (0 or 1). ``/state`` has the robot's states, as in
    :meth:`~..robot.Robot.record`, with the topics of a running one.
    The metadata have `task`, `robot`, `period` [s] of a step, `seed`, `steps`, `success` at the end and `dropped`.

    Args:
        env: a ComplianceEnv, or a wrapper of one.
        folder: is made where it is missing.

    Raises:
        ConfigError: the folder can't be written, or has episodes; or mcap isn't installed.
    """

    def __init__(self, env: gymnasium.Env[dict[str, Any], Any], folder: str | Path) -> None:
        super().__init__(env)
        self._folder = writable_folder(folder)
        if any(self._folder.glob("episode_*.mcap")):
            raise refused("folder", str(folder), "has episodes: they are never overwritten, choose another one")
        self._folder.mkdir(parents=True, exist_ok=True)
        self._recording: McapRecording | None = None
        self._episode = self._steps = 0

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[dict[str, Any], dict[str, Any]]:
        """Begin an episode and its file."""
        self._finish()
        self._before, info = super().reset(seed=seed, options=options)
        env = self.unwrapped
        assert isinstance(env, ComplianceEnv)
        self._robot = env.robot
        recording = self._robot.record(self._folder / f"episode_{self._episode:05d}.mcap")
        assert isinstance(recording, McapRecording)
        self._recording = recording
        shape = env.action_space.shape
        rows = 1 if shape is None or len(shape) == 1 else shape[0]
        recording.describe(task=env.task.id, period=env.period * rows, seed=seed)
        self._channel = recording.numbers_channel(STEP_TOPIC, self._step_message(env.action_space))
        self._episode = self._episode + 1
        self._steps = 0
        self._success = False
        return self._before, info

    def step(self, action: Any) -> tuple[dict[str, Any], Any, bool, bool, dict[str, Any]]:
        """One step, and its message."""
        seen, reward, terminated, truncated, info = super().step(action)
        self._steps = self._steps + 1
        self._success = bool(info["success"])
        if self._recording is not None:
            message = {
                **{f"{OBSERVATION}{name}": np.asarray(values, dtype=float) for name, values in self._before.items()},
                "action": np.asarray(action, dtype=float),
                "reward": np.array(float(reward)),
                "terminated": np.array(float(terminated)),
                "truncated": np.array(float(truncated)),
                "success": np.array(float(self._success)),
            }
            self._recording.put_numbers(self._channel, message, self._robot.time)
        self._before = seen
        if terminated or truncated:
            self._finish()
        return seen, reward, terminated, truncated, info

    def close(self) -> None:
        """End the file of an episode that hasn't ended, and the environment."""
        try:
            self._finish()
        finally:
            super().close()

    def _finish(self) -> None:
        recording = self._recording
        self._recording = None
        if recording is not None:
            recording.describe(steps=self._steps, success=self._success)
            recording.close()

    def _step_message(self, action: gymnasium.Space[Any]) -> NumbersMessage:
        observations = {f"{OBSERVATION}{name}": np.size(values) for name, values in self._before.items()}
        single = dict.fromkeys(("reward", "terminated", "truncated", "success"), 1)
        return NumbersMessage(STEP, {**observations, "action": int(np.prod(action.shape or (1,))), **single}, {})
