"""An episode of a LeRobot dataset as an MCAP record. Type: lerobot-to-mcap --help"""

from __future__ import annotations

import argparse
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from robot_control_ros import ConfigError
from robot_control_ros.client.recording.state_channel import (
    STATE,
    STATE_TOPIC,
    STIFFNESS_TOPIC,
    stiffness_message,
)
from robot_control_ros.core.errors import refused
from robot_control_ros.core.spatial import pose_error
from robot_control_ros.recording.mcap_recording import McapRecording
from robot_control_ros.recording.named_numbers import NumbersMessage

from .camera_messages import DEFINITION, IMAGE, write_image
from .dataset_from_mcap import CONTACT, IMAGES, STIFFNESS_KEY, topic_of
from .features import GRIPPER, POSE, STIFFNESS, WRENCH, pose_of


@dataclass(frozen=True)
class DatasetEpisode:
    """An episode of a dataset, as LeRobot gives it.

    Attributes:
        fps: Frames in a second.
        robot: Type of the robot.
        names: Names of the numbers of each key.
        frames: Values of each frame by key; pictures are (height, width, 3) of bytes.
        task: Words for what the robot does.
    """

    fps: int
    robot: str
    names: Mapping[str, Sequence[str]]
    frames: Sequence[Mapping[str, np.ndarray]]
    task: str

    @property
    def joints(self) -> tuple[str, ...]:
        """Names of the joints whose angles are observed."""
        return tuple(
            name.removesuffix(".pos")
            for name in self.names.get("observation.state", ())
            if name.endswith(".pos") and name not in GRIPPER
        )


def load_episode(repo_id: str, root: str | Path, episode: int) -> DatasetEpisode:
    """Load an episode with LeRobot's own class.

    Raises:
        ConfigError: The dataset has no such episode.
    """
    from lerobot.datasets.lerobot_dataset import LeRobotDataset

    dataset = LeRobotDataset(repo_id, root=root, video_backend="pyav")
    if not 0 <= episode < dataset.num_episodes:
        rule = f"must be from 0 to {dataset.num_episodes - 1}"
        raise refused("episode", episode, rule, (0, dataset.num_episodes - 1))
    row = dataset.meta.episodes[episode]
    keys = [key for key in dataset.features if key.startswith(("observation.", "action"))]
    frames = []
    task = ""
    for index in range(int(row["dataset_from_index"]), int(row["dataset_to_index"])):
        values = dataset[index]
        frames.append({key: _plain(key, values[key].numpy()) for key in keys})
        task = str(values["task"])
    names = {key: list(dataset.features[key]["names"] or ()) for key in keys}
    return DatasetEpisode(dataset.fps, str(dataset.meta.robot_type), names, frames, task)


def write_record(episode: DatasetEpisode, path: str | Path) -> int:
    """Write an episode as a record; returns the number of its frames.

    It has the states, the stiffness where it changes, and the pictures of cameras. The reference
    is the pose of the action.

    Args:
        episode: Episode to write.
        path: Path of the new file.

    Raises:
        ConfigError: The episode lacks joint angles, velocities, pose or wrench, or its actions
            aren't poses. Or the file is there, or can't be written.
    """
    numbers = [_numbers(episode, frame) for frame in episode.frames]
    cameras = [key for key in episode.names if key.startswith(IMAGES)]
    about = {"robot": episode.robot, "joints": episode.joints, "task": episode.task}
    with McapRecording(path, metadata=about, simulated=True) as recording:
        sizes = {name: value.size for name, value in numbers[0].items()}
        states = recording.numbers_channel(STATE_TOPIC, NumbersMessage(STATE, sizes, {}))
        channels = {
            key: recording.channel(topic_of(key.removeprefix(IMAGES)), IMAGE, DEFINITION)
            for key in cameras
        }
        stiffness: np.ndarray | None = None
        gains = 0
        for index, (frame, state) in enumerate(zip(episode.frames, numbers, strict=True)):
            stamp = index / episode.fps
            recording.put_numbers(states, {**state, "time": np.array([stamp])}, stamp)
            present = _stiffness(episode, frame)
            if present is not None and (stiffness is None or (present != stiffness).any()):
                if stiffness is None:
                    message = stiffness_message(present.size)
                    gains = recording.numbers_channel(STIFFNESS_TOPIC, message)
                values = {"time": np.array([stamp]), "stiffness": present}
                recording.put_numbers(gains, values, stamp)
                stiffness = present
            for key, channel in channels.items():
                nanoseconds = round(stamp * 1e9)
                recording.put(channel, write_image(frame[key], stamp), nanoseconds)
    return len(numbers)


def _numbers(episode: DatasetEpisode, frame: Mapping[str, np.ndarray]) -> dict[str, np.ndarray]:
    """The fields of the state of a frame."""
    seen = _by_name(episode, frame, "observation.state")
    action = _by_name(episode, frame, "action")
    joints = episode.joints
    velocities = [f"{joint}.vel" for joint in joints]
    missing = [name for name in (*velocities, *POSE, *WRENCH) if name not in seen]
    missing += [name for name in POSE if name not in action]
    if missing or not joints:
        rule = "must have joint angles, velocities, pose and wrench, and actions that are poses"
        raise refused("missing", missing or ["joint angles"], rule, where="dataset: ")
    pose = pose_of(seen)
    numbers = {
        "time": np.zeros(1),
        "pose": pose[:3, :].ravel(),
        "pose_error": pose_error(pose_of(action), pose),
        "wrench": np.array([seen[name] for name in WRENCH]),
        "position": np.array([seen[f"{joint}.pos"] for joint in joints]),
        "velocity": np.array([seen[name] for name in velocities]),
    }
    if CONTACT in frame:
        numbers["contact_load"] = np.asarray(frame[CONTACT], dtype=float)
    return numbers


def _stiffness(episode: DatasetEpisode, frame: Mapping[str, np.ndarray]) -> np.ndarray | None:
    """Stiffness in a frame; None where the dataset has none."""
    if STIFFNESS_KEY in frame:
        return np.asarray(frame[STIFFNESS_KEY], dtype=float)
    action = _by_name(episode, frame, "action")
    if not set(STIFFNESS) <= set(action):
        return None
    return np.array([action[name] for name in STIFFNESS])


def _by_name(
    episode: DatasetEpisode, frame: Mapping[str, np.ndarray], key: str
) -> dict[str, float]:
    names: Iterable[str] = episode.names.get(key, ())
    return dict(zip(names, np.ravel(frame.get(key, ())).tolist(), strict=True))


def _plain(key: str, value: Any) -> np.ndarray:
    """The numbers of a key, or its picture (height, width, 3) of bytes."""
    array = np.asarray(value)
    if not key.startswith(IMAGES):
        return array
    return np.rint(255.0 * array.transpose(1, 2, 0)).astype(np.uint8)


def main() -> None:
    """Run the command lerobot-to-mcap."""
    parser = argparse.ArgumentParser(description="writes an episode of a LeRobot dataset as MCAP")
    parser.add_argument("record", metavar="FILE.mcap", help="the new file")
    parser.add_argument("--repo-id", required=True, help="such as me/peg")
    parser.add_argument("--root", required=True, help="folder of the dataset")
    parser.add_argument("--episode", type=int, default=0, help="its number (default: 0)")
    options = parser.parse_args()
    try:
        episode = load_episode(options.repo_id, options.root, options.episode)
        count = write_record(episode, options.record)
    except ConfigError as error:
        parser.exit(2, f"{parser.prog}: {error}\n")
    print(f"{count} frames at {episode.fps} Hz: {options.record}")


if __name__ == "__main__":
    main()
