"""The MCAP files of episodes: their messages and metadata, as another decoder reads them."""

import numpy as np
import pytest

pytest.importorskip("gymnasium")
pytest.importorskip("mujoco")

import gymnasium
from mcap_files import read

from robot_control_learning import RecordEpisodes
from robot_control_ros import ConfigError

pytestmark = [
    pytest.mark.sim,
    pytest.mark.starts("the thread that writes a record, whose end is waited for"),
]


def test_episodes_are_files_with_their_steps(tmp_path):
    env = RecordEpisodes(
        gymnasium.make("robot_control_ros/Reach-v0", max_episode_steps=4), tmp_path / "episodes"
    )
    seen = [env.reset(seed=3)[0]]
    for k in range(4):
        observation, reward, *_ = env.step(np.full(3, 0.1 * k, np.float32))
        seen.append(observation)
    env.reset(seed=4)
    env.step(np.zeros(3, np.float32))
    env.close()
    first, second = sorted((tmp_path / "episodes").iterdir())
    assert (first.name, second.name) == ("episode_00000.mcap", "episode_00001.mcap")
    messages, metadata = read(first)
    steps = [step for _, step in messages["/step"]]
    assert [len(messages[topic]) for topic in ("/step", "/state")] == [4, 8]
    for step, expected in zip(steps, seen, strict=False):
        for name, values in expected.items():
            recorded = np.ravel(getattr(step, f"observation_{name}"))
            np.testing.assert_array_equal(recorded.astype(np.float32), np.ravel(values))
    assert steps[2].action == pytest.approx([0.2] * 3)
    assert steps[-1].reward == reward
    assert [step.truncated for step in steps] == [0.0, 0.0, 0.0, 1.0]
    expected = {
        "task": "Reach",
        "period": "0.04",
        "seed": "3",
        "steps": "4",
        "success": "false",
        "dropped": "0",
    }
    assert metadata.items() >= expected.items()
    assert read(second)[1]["steps"] == "1"
    with pytest.raises(ConfigError) as caught:
        RecordEpisodes(env, tmp_path / "episodes")
    assert caught.value.name == "folder"
