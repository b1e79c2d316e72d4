"""One MCAP file for each episode of an environment."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import gymnasium
import numpy as np

from robot_control_ros.core.errors import refused
from robot_control_ros.core.output_paths import writable_folder
from robot_control_ros.recording.mcap_recording import McapRecording
from robot_control_ros.recording.named_numbers import NumbersMessage

from .compliance_env import ComplianceEnv

STEP_TOPIC = "/step"
STEP_TYPE = "robot_control_ros/msg/Step"
OBSERVATION = "observation_"  # stands before the name of each observation


class RecordEpisodes(gymnasium.Wrapper[dict[str, Any], Any, dict[str, Any], Any]):
    """Writes ``<folder>/episode_00000.mcap`` and so on, with the number of the reset.

    The channel ``/step`` has one message for each step: the observation before the step as
    `observation_…`, then `action`, `reward`, `terminated`, `truncated` and `success` (0 or 1).
    ``/state`` has the robot's states, as :meth:`robot_control_ros.Robot.record` writes them, with
    the topics of a running robot. The metadata have `task`, `robot`, `period` of a step [s],
    `seed`, `steps`, `success` at the end, and `dropped`.

    Args:
        env: ComplianceEnv, or a wrapper of one.
        folder: Folder of the files. It is made where it is missing.

    Raises:
        ConfigError: The folder can't be written, or has episodes.
    """

    def __init__(self, env: gymnasium.Env[dict[str, Any], Any], folder: str | Path) -> None:
        super().__init__(env)
        environment = env.unwrapped
        assert isinstance(environment, ComplianceEnv)
        self._environment = environment
        self._folder = writable_folder(folder)
        if any(self._folder.glob("episode_*.mcap")):
            raise refused(
                "folder",
                str(folder),
                "has episodes: they are never overwritten, choose another one",
            )
        self._folder.mkdir(parents=True, exist_ok=True)
        self._recording: McapRecording | None = None
        self._before: dict[str, Any] = {}  # the observation before the next step
        self._channel = 0  # the file's number of the channel of steps
        self._episode = 0  # number of the next episode
        self._steps = 0
        self._success = False

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[dict[str, Any], dict[str, Any]]:
        """Begin an episode and its file."""
        self._finish()
        self._before, info = super().reset(seed=seed, options=options)
        env = self._environment
        recording = env.robot.record(self._folder / f"episode_{self._episode:05d}.mcap")
        assert isinstance(recording, McapRecording)
        self._recording = recording
        shape = env.action_space.shape
        rows = 1 if shape is None or len(shape) == 1 else shape[0]
        recording.describe(task=env.task.id, period=env.period * rows, seed=seed)
        self._channel = recording.numbers_channel(STEP_TOPIC, self._step_message(env.action_space))
        self._episode += 1
        self._steps = 0
        self._success = False
        return self._before, info

    def step(self, action: Any) -> tuple[dict[str, Any], Any, bool, bool, dict[str, Any]]:
        """Step once, and write its message."""
        observation, reward, terminated, truncated, info = super().step(action)
        self._steps += 1
        self._success = bool(info["success"])
        if self._recording is not None:
            message = {
                **{
                    f"{OBSERVATION}{name}": np.asarray(values, dtype=float)
                    for name, values in self._before.items()
                },
                "action": np.asarray(action, dtype=float),
                "reward": np.array(float(reward)),
                "terminated": np.array(float(terminated)),
                "truncated": np.array(float(truncated)),
                "success": np.array(float(self._success)),
            }
            self._recording.put_numbers(self._channel, message, self._environment.robot.time)
        self._before = observation
        if terminated or truncated:
            self._finish()
        return observation, reward, terminated, truncated, info

    def close(self) -> None:
        """End the file of an unfinished episode, and close the environment."""
        try:
            self._finish()
        finally:
            super().close()

    def _finish(self) -> None:
        """End the file of the episode, if one is open."""
        recording = self._recording
        self._recording = None
        if recording is not None:
            recording.describe(steps=self._steps, success=self._success)
            recording.close()

    def _step_message(self, action: gymnasium.Space[Any]) -> NumbersMessage:
        """The type of the messages of steps."""
        observations = {
            f"{OBSERVATION}{name}": np.size(values) for name, values in self._before.items()
        }
        single = dict.fromkeys(("reward", "terminated", "truncated", "success"), 1)
        return NumbersMessage(
            STEP_TYPE, {**observations, "action": int(np.prod(action.shape or (1,))), **single}, {}
        )
