"""LeRobot datasets from MCAP records of robot_control_ros. Type: lerobot-from-mcap --help

A record of `RecordEpisodes` becomes an episode of its observations and actions. Any other record
becomes an episode with the names of :mod:`.features`. There an action is the pose of the reference,
which the robot followed. Stiffness, contact and pictures are those of the newest message at the
time of a frame, by their stamps.
"""

from __future__ import annotations

import argparse
import json
from bisect import bisect_right
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from robot_control_learning.record_episodes import OBSERVATION, STEP_TOPIC
from robot_control_ros.client.recording.state_channel import STATE_TOPIC, STIFFNESS_TOPIC
from robot_control_ros.core.errors import refused
from robot_control_ros.core.spatial import pose_from_rows, rotation_exp
from robot_control_ros.recording.mcap_reader import McapMessages, read_record

from .camera_messages import read_image
from .features import AXES, POSE, observation_names, observation_numbers, pose_numbers

RECORD_FPS = 25
WRENCH_KEY = "observation.wrench"
STIFFNESS_KEY = "observation.stiffness"
CONTACT = "observation.contact"
IMAGES = "observation.images."
OLDEST = 0.2  # s, age of a picture beyond which it is none of its frame

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


def topic_of(camera: str) -> str:
    """The topic of the pictures of a camera that has this name."""
    return f"/{camera}/image"


def read_episode(
    path: str | Path, fps: int = RECORD_FPS, cameras: Mapping[str, str] | None = None
) -> Episode:
    """Read a record. A record that was cut off is read to its end.

    Args:
        path: Path of the MCAP file.
        fps: Frames in a second, for a record without steps.
        cameras: Topics of pictures in it, by the names that cameras get in the dataset.

    Raises:
        ValueError: The file can't be read, has neither steps nor states, or has no whole number of
            frames in a second.
    """
    record = read_record(path, (STEP_TOPIC, STATE_TOPIC, STIFFNESS_TOPIC))
    steps = record.messages[STEP_TOPIC]
    states = record.messages[STATE_TOPIC]
    robot = record.metadata.get("robot", "")
    if steps:
        if cameras:
            raise refused("cameras", list(cameras), f"must be none: {path} has steps")
        rate = 1.0 / float(record.metadata.get("period", "nan"))
        if not abs(rate - np.round(rate)) <= 1e-6:
            raise ValueError(f"{path}: {rate:g} steps a second, must be a whole number for LeRobot")
        return _episode(
            round(rate), robot, _names_of_steps(steps[0]), [_frame_of_step(step) for step in steps]
        )
    if states:
        joints = json.loads(record.metadata["joints"])
        names: dict[str, Sequence[str] | None] = {
            "observation.state": observation_names(joints),
            "action": POSE,
            WRENCH_KEY: AXES,
        }
        pictures = read_pictures(path, cameras or {})
        frames = _frames_of_states(
            _at_rate(states, fps, pictures), record.messages[STIFFNESS_TOPIC], pictures
        )
        if not frames:
            raise ValueError(f"{path}: no state after the first picture of each camera")
        for key, value in frames[0].items():
            if key.startswith(IMAGES):
                names[key] = ("height", "width", "channels")
            elif key not in names:
                names[key] = [f"{key.rpartition('.')[2]}.{k}" for k in range(value.size)]
        return _episode(fps, robot, names, frames)
    raise ValueError(f"{path}: no messages on {STEP_TOPIC} or {STATE_TOPIC}")


Pictures = dict[str, list[tuple[float, np.ndarray]]]  # stamps [s] and pictures, by key


def read_pictures(path: str | Path, cameras: Mapping[str, str]) -> Pictures:
    """Read the pictures of cameras, in the order of their stamps.

    Args:
        path: Path of the MCAP file.
        cameras: Topics by the names of the cameras.

    Raises:
        ConfigError: A topic has no pictures, or they can't be read.
    """
    key_of = {topic: f"{IMAGES}{name}" for name, topic in cameras.items()}
    pictures: Pictures = {key: [] for key in key_of.values()}
    if not cameras:
        return pictures
    for topic, _, data in McapMessages(path, tuple(key_of)):
        pictures[key_of[topic]].append(read_image(data))
    for name, topic in cameras.items():
        if not pictures[f"{IMAGES}{name}"]:
            raise refused("camera", name, f"{path} has no pictures on {topic}")
    return {key: sorted(each, key=lambda item: item[0]) for key, each in pictures.items()}


def write_dataset(
    paths: Iterable[str | Path],
    repo_id: str,
    root: str | Path,
    task: str,
    fps: int = RECORD_FPS,
    cameras: Mapping[str, str] | None = None,
) -> int:
    """Write records as one dataset, with LeRobot's own class.

    Args:
        paths: Paths of the MCAP files. Each file is an episode.
        repo_id: Name of the dataset.
        root: Folder of the dataset, which must not exist yet.
        task: Words for what the robot does.
        fps: Frames in a second, for records without steps.
        cameras: Topics of pictures in the records, by the names of the cameras.

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
        episode = read_episode(path, fps, cameras)
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
            "dtype": "image" if key.startswith(IMAGES) else str(value.dtype),
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


def _at_rate(states: list[Any], fps: int, pictures: Pictures) -> Iterator[tuple[float, Any]]:
    """Time of each frame [s], and the newest state then. Each camera has a picture by then."""
    times = np.array([state["time"][0] for state in states])
    start = max([times[0], *(items[0][0] for items in pictures.values())])
    for time in np.arange(start, times[-1] + 1e-9, 1.0 / fps):
        yield float(time), states[int(np.searchsorted(times, time + 1e-9, side="right")) - 1]


def _frames_of_states(
    states: Iterable[tuple[float, Any]], stiffness: list[Any], pictures: Pictures
) -> list[Frame]:
    """The frames of states at their times."""
    stamps = np.array([each["time"][0] for each in stiffness])
    frames = []
    for time, state in states:
        frame = _frame_of_state(state)
        if len(stamps):
            newest = max(int(np.searchsorted(stamps, time + 1e-9, side="right")) - 1, 0)
            frame[STIFFNESS_KEY] = stiffness[newest]["stiffness"].astype(np.float32)
        for key, items in pictures.items():
            frame[key] = _newest_picture(key, items, time)
        frames.append(frame)
    return frames


def _newest_picture(key: str, items: list[tuple[float, np.ndarray]], time: float) -> np.ndarray:
    """The newest picture at a time [s].

    Raises:
        ConfigError: It is too old: the camera was silent.
    """
    stamps = [stamp for stamp, _ in items]
    stamp, picture = items[bisect_right(stamps, time + 1e-9) - 1]
    if time - stamp > OLDEST:
        rule = f"must be {OLDEST:g} s at most: the camera was silent at {time:.3f} s"
        raise refused(f"age of {key}", time - stamp, rule, OLDEST, unit="s")
    return picture


def _frame_of_state(state: Any) -> Frame:
    """The frame of a state: its action is the pose of the reference."""
    pose = pose_from_rows(state["pose"])
    error = state["pose_error"]
    reference = pose.copy()
    reference[:3, 3] += error[:3]
    reference[:3, :3] = rotation_exp(error[3:]) @ pose[:3, :3]
    observation = observation_numbers(state["position"], state["velocity"], pose, state["wrench"])
    frame = {
        "observation.state": observation.astype(np.float32),
        "action": pose_numbers(reference).astype(np.float32),
        WRENCH_KEY: np.nan_to_num(state["wrench"]).astype(np.float32),
    }
    if "contact_load" in state:
        frame[CONTACT] = np.nan_to_num(state["contact_load"]).astype(np.float32)
    return frame


def _camera(text: str) -> tuple[str, str]:
    """Name and topic of an option NAME=TOPIC."""
    name, _, topic = text.partition("=")
    if not name or not topic:
        raise argparse.ArgumentTypeError(
            f"{text}: must be NAME=TOPIC, as in front=/front/image_raw"
        )
    return name, topic


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
    parser.add_argument(
        "--camera",
        action="append",
        default=[],
        type=_camera,
        metavar="NAME=TOPIC",
        help="pictures (sensor_msgs/Image) in the records that become those of a camera",
    )
    options = parser.parse_args()
    count = write_dataset(
        options.records,
        options.repo_id,
        options.root,
        options.task,
        options.fps,
        dict(options.camera),
    )
    print(f"{count} frames of {len(options.records)} episodes: {options.root}")


if __name__ == "__main__":
    main()
