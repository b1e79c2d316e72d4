"""Replays an episode of a LeRobot dataset on an arm. Type: lerobot-replay-arm --help"""

from __future__ import annotations

import argparse
from dataclasses import dataclass

import numpy as np

from robot_control_ros import Robot, RobotControlError
from robot_control_ros.core.errors import refused

from .dataset_to_mcap import DatasetEpisode, load_episode
from .features import GRIPPER, POSE, STIFFNESS, check_action, joint_names, pose_of

FASTEST = 50  # frames in a second, as a controller reports its states
TYPE = "compliant_arm"  # robot type of what LeRobot recorded; it names no arm
BEGINS = 0.5  # s before joint angles are followed


@dataclass(frozen=True)
class Replay:
    """An episode that may be replayed on an arm.

    Attributes:
        period: Duration of a frame [s].
        poses: Poses (4, 4) of the tip; empty where actions are joint angles.
        joints: Joint angles (k, n) [rad]; empty where actions are poses.
        stiffness: Stiffness (6,) of each frame; empty where actions have none.
        widths: Width of the gripper in each frame [m]; empty where actions have none.
    """

    period: float
    poses: list[np.ndarray]
    joints: np.ndarray
    stiffness: list[np.ndarray]
    widths: list[float]


def prepare(episode: DatasetEpisode, robot: Robot, fps: int | None = None) -> Replay:
    """Check all of an episode before anything moves.

    Args:
        episode: Episode of a dataset.
        robot: Robot that shall do it.
        fps: Frames in a second that the user expects; None takes those of the dataset.

    Raises:
        ConfigError: The dataset is of another robot or rate, or an action is refused: a number
            isn't finite, or a target is beyond the workspace or the joint limits.
    """
    config = robot.config
    if episode.robot not in (TYPE, config.name):
        raise refused("robot", episode.robot, f"must be {config.name}", where="dataset: ")
    if episode.joints and episode.joints != config.joints:
        raise refused("joints", episode.joints, f"must be those of {config.name}", config.joints)
    rate = episode.fps if fps is None else fps
    if rate != episode.fps:
        raise refused("fps", rate, f"must be that of the dataset, {episode.fps} Hz", episode.fps)
    if not 1 <= rate <= FASTEST:
        raise refused("fps", rate, f"must be from 1 to {FASTEST} Hz", (1, FASTEST))
    names = list(episode.names.get("action", ()))
    of_pose = set(POSE) <= set(names)
    targets = POSE if of_pose else joint_names(config.joints)
    known = [*targets, *STIFFNESS, *GRIPPER]
    expected = [*targets, *(name for name in names if name not in targets and name in known)]
    actions = [
        dict(zip(names, np.ravel(frame["action"]).tolist(), strict=True))
        for frame in episode.frames
    ]
    if not actions:
        raise refused("frames", 0, "must be 1 or more", 1, where="dataset: ")
    for action in actions:
        check_action(action, expected)
    poses = [pose_of(action) for action in actions] if of_pose else []
    joints = np.array([[action[name] for name in targets] for action in actions if not of_pose])
    settings = robot.settings
    for pose in poses:
        low = settings["workspace.lower"]
        high = settings["workspace.upper"]
        if not ((low <= pose[:3, 3]) & (pose[:3, 3] <= high)).all():
            raise refused("position", pose[:3, 3], "must be in the workspace", (low, high))
    for q in joints:
        robot.limits.check(config.joints, q, "dataset: ")
    return Replay(
        1.0 / rate,
        poses,
        joints,
        [np.array([each[name] for name in STIFFNESS]) for each in actions]
        if set(STIFFNESS) <= set(names)
        else [],
        [each[GRIPPER[0]] for each in actions] if set(GRIPPER) <= set(names) else [],
    )


def replay(prepared: Replay, robot: Robot) -> float:
    """Move to the first target, and follow all; returns the tip's distance from the last one [m].

    Args:
        prepared: Episode, from :func:`prepare`.
        robot: Robot under the law that shall follow.

    Raises:
        NotReached, HardwareFault: The robot doesn't get there.
    """
    if len(prepared.joints):
        robot.move_to(q=prepared.joints[0])
        if len(prepared.joints) > 1:
            times = BEGINS + prepared.period * np.arange(len(prepared.joints))
            robot.follow_joints(times, prepared.joints)
        goal = robot.model.at(prepared.joints[-1]).pose
    else:
        robot.move_to(prepared.poses[0])
        for index, pose in enumerate(prepared.poses):
            stiffness = prepared.stiffness[index] if prepared.stiffness else None
            robot.set_target(pose, stiffness)
            if prepared.widths:
                robot.gripper.move(prepared.widths[index], wait=False)
            robot.wait(prepared.period)
        goal = prepared.poses[-1]
        robot.move_to(goal)
    return float(np.linalg.norm(robot.pose[:3, 3] - goal[:3, 3]))


def main() -> None:
    """Run the command lerobot-replay-arm."""
    parser = argparse.ArgumentParser(
        description="replays an episode of a LeRobot dataset on an arm, under a law of your choice"
    )
    parser.add_argument("--repo-id", required=True, help="such as me/peg")
    parser.add_argument("--root", required=True, help="folder of the dataset")
    parser.add_argument("--episode", type=int, default=0, help="its number (default: 0)")
    parser.add_argument("--fps", type=int, help="frames in a second that you expect")
    parser.add_argument("--robot", default="ur5e", help="name of the arm (default: ur5e)")
    parser.add_argument("--controller", default="controller", help="name of its controller")
    parser.add_argument("--simulated", action="store_true", help="simulate the arm, without ROS")
    parser.add_argument("--law", default="", help="law of the arm (default: the present one)")
    parser.add_argument("--stiffness", type=float, help="stiffness of the law")
    options = parser.parse_args()
    try:
        episode = load_episode(options.repo_id, options.root, options.episode)
        make = (
            Robot.simulated(options.robot)
            if options.simulated
            else Robot(options.robot, controller=options.controller)
        )
        with make as robot:
            prepared = prepare(episode, robot, options.fps)
            if options.law:
                robot.set_law(options.law)
            if options.stiffness is not None:
                robot.set_gains(stiffness=options.stiffness)
            left = replay(prepared, robot)
            print(
                f"{len(episode.frames)} frames at {episode.fps} Hz under {robot.law}: "
                f"the tip ended {1e3 * left:.1f} mm from the last target"
            )
    except RobotControlError as error:
        parser.exit(2, f"{parser.prog}: {error}\n")


if __name__ == "__main__":
    main()
