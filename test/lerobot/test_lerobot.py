"""LeRobot itself records, opens, trains, rolls out and replays, on simulated arms.

`make test-lerobot` installs LeRobot into an environment of its own and runs this.
"""

import json
import os
import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
PYTHON = Path(os.environ.get("LEROBOT_PYTHON", ROOT / ".venv-lerobot/bin/python"))
REACH = ROOT / "robot_control_learning/reach"
PLUGIN = "--robot.discover_packages_path=lerobot_robot_compliant_arm"
WAIT = 1200.0  # s, at most, for a program; PyTorch takes a minute to start on a busy machine
pytestmark = [
    pytest.mark.long,
    pytest.mark.alone,
    pytest.mark.starts("LeRobot's programs"),
    pytest.mark.timeout(3 * WAIT),
    pytest.mark.skipif(not PYTHON.is_file(), reason="no LeRobot: make test-lerobot"),
]
OPEN = """
import json, sys
from lerobot.datasets.lerobot_dataset import LeRobotDataset
data = LeRobotDataset(sys.argv[1], root=sys.argv[2], video_backend="pyav")
frame = data[len(data) - 1]
print(json.dumps({
    "episodes": data.num_episodes,
    "frames": len(data),
    "fps": data.fps,
    "names": {key: each["names"] for key, each in data.features.items() if each.get("names")},
    "shapes": {key: list(value.shape) for key, value in frame.items() if hasattr(value, "shape")},
    "action": data.hf_dataset["action"][-1].tolist(),
    "task": frame["task"],
}))
"""
# of the arm that acts: entries of the configuration, and names of its actions
KINDS = {
    "joints": (["--robot.action=joints"], 6),
    "pose": ([], 9),
    "pose and stiffness": (["--robot.stiffness=true"], 15),
    "pose and gripper": (["--robot.robot=ur5e+robotiq_2f85", "--robot.gripper=true"], 10),
}
OBSERVED = '--robot.observed=["position","wrench"]'


@pytest.fixture
def lerobot(tmp_path):
    """Run a program of LeRobot's environment in a folder of the test; it returns what it says."""

    def run(program, *options, status=0):
        environment = {
            **os.environ,
            "HF_HOME": str(tmp_path / "hf"),
            "HF_HUB_OFFLINE": "1",
            "OMP_NUM_THREADS": "2",
        }
        command = [str(PYTHON.with_name(program)), *map(str, options)]
        ended = subprocess.run(
            command,
            cwd=tmp_path,
            env=environment,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            timeout=WAIT,
            check=False,
        )
        assert ended.returncode == status, ended.stdout[-4000:]
        return ended.stdout

    return run


@pytest.fixture
def opened(lerobot):
    """Open a dataset with LeRobot's own class."""

    def look(name, root):
        return json.loads(lerobot("python", "-c", OPEN, name, root).splitlines()[-1])

    return look


@pytest.mark.parametrize("kind", KINDS)
def test_an_arm_is_recorded_learnt_rolled_out_and_replayed(lerobot, opened, tmp_path, kind):
    entries, size = KINDS[kind]
    config = f"--config_path={REACH / 'record.yaml'}"
    arm = [PLUGIN, OBSERVED, *entries]
    lerobot("lerobot-record", config, *arm, "--dataset.root=data", "--dataset.episode_time_s=3")
    data = opened("me/reach", "data")
    assert data["episodes"] == 3
    assert data["fps"] == 10
    assert data["task"] == "bring the tip into the ball"
    assert data["shapes"]["action"] == [size]
    assert len(data["names"]["action"]) == size
    assert {"shoulder_pan_joint.pos", "ee.wrench_z"} <= set(data["names"]["observation.state"])
    for camera in ("front", "side"):
        assert data["shapes"][f"observation.images.{camera}"] == [3, 40, 40]

    train = [f"--config_path={REACH / 'train.yaml'}", "--dataset.root=data"]
    lerobot("lerobot-train", *train, "--steps=2", "--save_freq=2", "--output_dir=policy")

    config = f"--config_path={REACH / 'rollout.yaml'}"
    policy = "--policy.path=policy/checkpoints/last/pretrained_model"
    options = ["--dataset.root=rollout", "--dataset.episode_time_s=3"]
    lerobot("lerobot-record", config, policy, *arm, *options)
    rollout = opened("me/eval_reach", "rollout")
    assert rollout["episodes"] == 1
    assert rollout["names"] == data["names"]

    replay = ["--robot.type=compliant_arm", "--robot.simulated=true", *arm]
    episode = ["--dataset.repo_id=me/reach", "--dataset.root=data", "--dataset.episode=0"]
    lerobot("lerobot-replay", *replay, *episode, "--play_sounds=false")


def test_a_dataset_of_another_arm_is_refused_before_motion(lerobot, tmp_path):
    config = f"--config_path={REACH / 'record.yaml'}"
    joints = "--robot.action=joints"
    short = ["--dataset.root=data", "--dataset.episode_time_s=2", "--dataset.num_episodes=1"]
    lerobot("lerobot-record", config, PLUGIN, joints, *short)
    replay = ["--robot.type=compliant_arm", "--robot.simulated=true", PLUGIN, joints]
    episode = ["--dataset.repo_id=me/reach", "--dataset.root=data", "--dataset.episode=0"]
    said = lerobot(
        "lerobot-replay",
        *replay,
        "--robot.robot=gen3",
        *episode,
        "--play_sounds=false",
        status=1,
    )
    assert "ConfigError" in said
    assert "shoulder_pan_joint.pos" in said


def test_a_dataset_is_replayed_under_a_law_and_becomes_a_record_and_a_dataset(lerobot, opened):
    config = f"--config_path={REACH / 'record.yaml'}"
    everything = '--robot.observed=["position","velocity","pose","wrench"]'
    short = ["--dataset.root=data", "--dataset.episode_time_s=4", "--dataset.num_episodes=1"]
    lerobot("lerobot-record", config, PLUGIN, everything, "--robot.stiffness=true", *short)
    data = ["--repo-id=me/reach", "--root=data", "--episode=0"]
    said = lerobot("lerobot-replay-arm", *data, "--simulated", "--law=admittance")
    assert "under admittance" in said
    said = lerobot("lerobot-replay-arm", *data, "--simulated", "--robot=gen3", status=2)
    assert "joints" in said
    said = lerobot("lerobot-replay-arm", *data, "--simulated", "--fps=30", status=2)
    assert "fps" in said
    lerobot("lerobot-to-mcap", "back.mcap", *data)
    task = ["--repo-id=me/back", "--root=back", "--task=bring the tip into the ball", "--fps=10"]
    cameras = [f"--camera={name}=/{name}/image" for name in ("front", "side")]
    lerobot("lerobot-from-mcap", "back.mcap", *task, *cameras)
    first = opened("me/reach", "data")
    again = opened("me/back", "back")
    assert again["frames"] == first["frames"]
    assert again["action"] == pytest.approx(first["action"][:9], abs=1e-5)
    assert again["shapes"]["observation.wrench"] == [6]
    assert again["shapes"]["observation.stiffness"] == [6]
    assert again["shapes"]["observation.images.front"] == [3, 40, 40]
