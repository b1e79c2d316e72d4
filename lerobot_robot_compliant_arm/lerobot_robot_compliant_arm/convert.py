"""From MCAP records of robot_control_ros to a LeRobot dataset. Type: lerobot-from-mcap --help

A record of `RecordEpisodes` becomes an episode of its observations and actions. Any other record becomes one of the
names in :mod:`.features`: the action of a frame is the pose of the reference, which the robot followed.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from robot_control_ros.recording.mcap_reader import read_record

from .features import POSE, observation_names, observed, pose_numbers

STEP, STATE = "/step", "/state"  # topics
OBSERVATION = "observation_"  # in front of the names of what is observed
RECORD_FPS = 25


@dataclass(frozen=True)
class Episode:
    """One episode.

    Attributes:
        fps: frames a second.
        features: for each key of a frame dtype, shape and names, as LeRobot wants them.
        frames: arrays by key.
        robot: its name.
    """

    fps: int
    features: dict[str, dict[str, Any]]
    frames: list[dict[str, np.ndarray]]
    robot: str


def read_episode(path: str | Path, fps: int = RECORD_FPS) -> Episode:
    """Read a record; one that was cut off is read up to there.

    Args:
        path: of the MCAP file.
        fps: frames a second of a record that has no steps.

    Raises:
        ValueError: it can't be read, has neither steps nor states, or its frames a second are no whole number.
    """
    record = read_record(path, (STEP, STATE))
    metadata, messages = record.metadata, record.messages
    robot = metadata.get("robot", "")
    if messages[STEP]:
        rate = 1.0 / float(metadata.get("period", "nan"))
        if not abs(rate - np.round(rate)) <= 1e-6:
            raise ValueError(f"{path}: {rate:g} steps a second, must be a whole number for LeRobot")
        return _made(round(rate), robot, *_of_steps(messages[STEP]))
    if messages[STATE]:
        joints = json.loads(metadata["joints"])
        return _made(fps, robot, *_of_states(_at_rate(messages[STATE], fps), joints))
    raise ValueError(f"{path}: no messages on {STEP} or {STATE}")


def write_dataset(paths: Iterable[str | Path], repo_id: str, root: str | Path, task: str, fps: int = RECORD_FPS) -> int:
    """Write records as one dataset, with LeRobot's own class; returns the number of its frames.

    Args:
        paths: of the MCAP files, one an episode.
        repo_id, root: name of the dataset; folder, which must not exist yet.
        task: what is done, in words.
        fps: see :func:`read_episode`.

    Raises:
        ValueError: a record that can't be read, or that has other features than the first.
    """
    from lerobot.datasets.lerobot_dataset import LeRobotDataset

    dataset, count, first = None, 0, None
    for path in paths:
        episode = read_episode(path, fps)
        if first is None or dataset is None:
            first = episode
            about = {"repo_id": repo_id, "root": root, "robot_type": episode.robot or None}
            dataset = LeRobotDataset.create(fps=episode.fps, features=episode.features, use_videos=False, **about)
        if (episode.fps, episode.features) != (first.fps, first.features):
            raise ValueError(f"{path}: other features or frames a second than the first record")
        for frame in episode.frames:
            dataset.add_frame({**frame, "task": task})
        dataset.save_episode()
        count += len(episode.frames)
    if dataset is not None:
        dataset.finalize()
    return count


def _made(fps: int, robot: str, names: dict[str, Sequence[str] | None], frames: list[dict[str, np.ndarray]]) -> Episode:
    features = {
        key: {
            "dtype": str(value.dtype),
            "shape": value.shape,
            "names": None if names[key] is None else list(names[key]),
        }
        for key, value in frames[0].items()
    }
    return Episode(fps, features, frames, robot)


def _of_steps(steps: list[Any]) -> tuple[dict[str, Any], list[dict[str, np.ndarray]]]:
    seen = [name for name in steps[0] if name.startswith(OBSERVATION)]
    observed_names = {name: name.removeprefix(OBSERVATION) for name in seen}
    names = {
        "observation.state": [f"{observed_names[name]}.{i}" for name in seen for i in range(steps[0][name].size)],
        "action": [f"action.{i}" for i in range(steps[0]["action"].size)],
    }
    frames = [
        {
            "observation.state": np.concatenate([step[name] for name in seen]).astype(np.float32),
            "action": step["action"].astype(np.float32),
            "next.reward": step["reward"].astype(np.float32),
            "next.done": (step["terminated"] + step["truncated"]) > 0.0,
            "next.success": step["success"] > 0.0,
        }
        for step in steps
    ]
    return names | dict.fromkeys(("next.reward", "next.done", "next.success")), frames


def _at_rate(states: list[Any], fps: int) -> Iterator[Any]:
    """The newest state at each frame's time."""
    times = np.array([state["time"][0] for state in states])
    for time in np.arange(times[0], times[-1] + 1e-9, 1.0 / fps):
        yield states[int(np.searchsorted(times, time + 1e-9, side="right")) - 1]


def _of_states(states: Iterable[Any], joints: list[str]) -> tuple[dict[str, Any], list[dict[str, np.ndarray]]]:
    names = {"observation.state": observation_names(joints), "action": POSE}
    frames = []
    for state in states:
        pose = np.vstack((np.reshape(state["pose"], (3, 4)), (0.0, 0.0, 0.0, 1.0)))
        error, wrench = state["pose_error"], state["wrench"]
        reference = pose.copy()
        reference[:3, 3] += error[:3]
        reference[:3, :3] = _rotation(error[3:]) @ pose[:3, :3]
        seen = observed(state["position"], state["velocity"], pose, wrench)
        frames.append(
            {
                "observation.state": seen.astype(np.float32),
                "action": pose_numbers(reference).astype(np.float32),
            }
        )
    return names, frames


def _rotation(vector: np.ndarray) -> np.ndarray:
    """The rotation (3, 3) of a rotation vector [rad], by Rodrigues."""
    angle = float(np.linalg.norm(vector))
    if angle == 0.0:
        return np.eye(3)
    x, y, z = vector / angle
    k = np.array(((0.0, -z, y), (z, 0.0, -x), (-y, x, 0.0)))
    return np.eye(3) + np.sin(angle) * k + (1.0 - np.cos(angle)) * k @ k


def main() -> None:
    """The command."""
    parser = argparse.ArgumentParser(description="writes MCAP records as a LeRobot dataset")
    parser.add_argument("records", nargs="+", metavar="FILE.mcap", help="one an episode")
    parser.add_argument("--repo-id", required=True, help="such as me/peg")
    parser.add_argument("--root", required=True, help="folder of the dataset, which must not exist yet")
    parser.add_argument("--task", required=True, help="what is done, in words")
    parser.add_argument("--fps", type=int, default=RECORD_FPS, help=f"of records without steps (default: {RECORD_FPS})")
    options = parser.parse_args()
    count = write_dataset(options.records, options.repo_id, options.root, options.task, options.fps)
    print(f"{count} frames of {len(options.records)} episodes: {options.root}")


if __name__ == "__main__":
    main()
