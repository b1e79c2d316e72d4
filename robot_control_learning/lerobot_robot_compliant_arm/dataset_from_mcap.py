"""LeRobot datasets from MCAP records of robot_control_ros. Type: lerobot-from-mcap --help

A record of `RecordEpisodes` becomes an episode of its observations and actions. Any other record
becomes an episode with the names of :mod:`.features`. There an action is the pose of the reference,
which the robot followed.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from robot_control_learning.record_episodes import OBSERVATION, STEP_TOPIC
from robot_control_ros.core.spatial import pose_from_rows, rotation_exp
from robot_control_ros.recording.mcap_reader import read_record

from .features import POSE, observation_names, observation_numbers, pose_numbers

STATE_TOPIC = "/state"
RECORD_FPS = 25

Frame = dict[str, np.ndarray]
# names of the numbers of each key, or None for a single number
Names = Mapping[str, Sequence[str] | None]


@dataclass(frozen=True)
class Episode:
    """One episode of a dataset.

    Attributes:
        fps: Frames in a second.
        features: LeRobot's description of each key: dtype, shape and names.
        frames: Arrays of each frame, by key.
        robot: Name of the robot.
    """

    fps: int
    features: dict[str, dict[str, Any]]
    frames: list[Frame]
    robot: str


def read_episode(path: str | Path, fps: int = RECORD_FPS) -> Episode:
    """Read a record. A record that was cut off is read to its end.

    Args:
        path: Path of the MCAP file.
        fps: Frames in a second, for a record without steps.

    Raises:
        ValueError: The file can't be read, has neither steps nor states, or has no whole number of
            frames in a second.
    """
    record = read_record(path, (STEP_TOPIC, STATE_TOPIC))
    steps = record.messages[STEP_TOPIC]
    states = record.messages[STATE_TOPIC]
    robot = record.metadata.get("robot", "")
    if steps:
        rate = 1.0 / float(record.metadata.get("period", "nan"))
        if not abs(rate - np.round(rate)) <= 1e-6:
            raise ValueError(f"{path}: {rate:g} steps a second, must be a whole number for LeRobot")
        return _episode(
            round(rate), robot, _names_of_steps(steps[0]), [_frame_of_step(step) for step in steps]
        )
    if states:
        names = {
            "observation.state": observation_names(json.loads(record.metadata["joints"])),
            "action": POSE,
        }
        return _episode(
            fps, robot, names, [_frame_of_state(state) for state in _at_rate(states, fps)]
        )
    raise ValueError(f"{path}: no messages on {STEP_TOPIC} or {STATE_TOPIC}")


def write_dataset(
    paths: Iterable[str | Path], repo_id: str, root: str | Path, task: str, fps: int = RECORD_FPS
) -> int:
    """Write records as one dataset, with LeRobot's own class.

    Args:
        paths: Paths of the MCAP files. Each file is an episode.
        repo_id: Name of the dataset.
        root: Folder of the dataset, which must not exist yet.
        task: Words for what the robot does.
        fps: Frames in a second, for records without steps.

    Returns:
        Number of frames.

    Raises:
        ValueError: A record can't be read, or has other features than the first record.
    """
    from lerobot.datasets.lerobot_dataset import LeRobotDataset

    dataset = None
    count = 0
    first: Episode | None = None
    for path in paths:
        episode = read_episode(path, fps)
        if first is None or dataset is None:
            first = episode
            dataset = LeRobotDataset.create(
                fps=episode.fps,
                features=episode.features,
                use_videos=False,
                repo_id=repo_id,
                root=root,
                robot_type=episode.robot or None,
            )
        if (episode.fps, episode.features) != (first.fps, first.features):
            raise ValueError(f"{path}: other features or frames a second than the first record")
        for frame in episode.frames:
            dataset.add_frame({**frame, "task": task})
        dataset.save_episode()
        count += len(episode.frames)
    if dataset is not None:
        dataset.finalize()
    return count


def _episode(fps: int, robot: str, names: Names, frames: list[Frame]) -> Episode:
    """The episode of these frames. The first frame gives the features."""
    features = {}
    for key, value in frames[0].items():
        labels = names[key]
        features[key] = {
            "dtype": str(value.dtype),
            "shape": value.shape,
            "names": None if labels is None else list(labels),
        }
    return Episode(fps, features, frames, robot)


def _observation_keys(step: Any) -> list[str]:
    """The fields of a step that are observations."""
    return [name for name in step if name.startswith(OBSERVATION)]


def _names_of_steps(step: Any) -> Names:
    """The names of the numbers in the frames of steps such as this one."""
    observations: list[str] = []
    for key in _observation_keys(step):
        observations += [f"{key.removeprefix(OBSERVATION)}.{i}" for i in range(step[key].size)]
    return {
        "observation.state": observations,
        "action": [f"action.{i}" for i in range(step["action"].size)],
        "next.reward": None,
        "next.done": None,
        "next.success": None,
    }


def _frame_of_step(step: Any) -> Frame:
    """The frame of a step of an environment."""
    return {
        "observation.state": np.concatenate([step[key] for key in _observation_keys(step)]).astype(
            np.float32
        ),
        "action": step["action"].astype(np.float32),
        "next.reward": step["reward"].astype(np.float32),
        "next.done": (step["terminated"] + step["truncated"]) > 0.0,
        "next.success": step["success"] > 0.0,
    }


def _at_rate(states: list[Any], fps: int) -> Iterator[Any]:
    """The newest state at each frame's time."""
    times = np.array([state["time"][0] for state in states])
    for time in np.arange(times[0], times[-1] + 1e-9, 1.0 / fps):
        yield states[int(np.searchsorted(times, time + 1e-9, side="right")) - 1]


def _frame_of_state(state: Any) -> Frame:
    """The frame of a state: its action is the pose of the reference."""
    pose = pose_from_rows(state["pose"])
    error = state["pose_error"]
    reference = pose.copy()
    reference[:3, 3] += error[:3]
    reference[:3, :3] = rotation_exp(error[3:]) @ pose[:3, :3]
    observation = observation_numbers(state["position"], state["velocity"], pose, state["wrench"])
    return {
        "observation.state": observation.astype(np.float32),
        "action": pose_numbers(reference).astype(np.float32),
    }


def main() -> None:
    """Run the command lerobot-from-mcap."""
    parser = argparse.ArgumentParser(description="writes MCAP records as a LeRobot dataset")
    parser.add_argument("records", nargs="+", metavar="FILE.mcap", help="one an episode")
    parser.add_argument("--repo-id", required=True, help="such as me/peg")
    parser.add_argument(
        "--root", required=True, help="folder of the dataset, which must not exist yet"
    )
    parser.add_argument("--task", required=True, help="what is done, in words")
    parser.add_argument(
        "--fps",
        type=int,
        default=RECORD_FPS,
        help=f"of records without steps (default: {RECORD_FPS})",
    )
    options = parser.parse_args()
    count = write_dataset(options.records, options.repo_id, options.root, options.task, options.fps)
    print(f"{count} frames of {len(options.records)} episodes: {options.root}")


if __name__ == "__main__":
    main()
