"""The vector environment in one process: the same as Gymnasium's own, in each
mode, and its seeds.
"""

import numpy as np
import pytest

pytest.importorskip("gymnasium")
pytest.importorskip("mujoco")

import gymnasium
from gymnasium.utils.env_checker import check_env, data_equivalence
from gymnasium.vector import AutoresetMode
from gymnasium.wrappers.vector import RecordEpisodeStatistics
from refusals import refuses

from robot_control_learning import TASKS, ComplianceEnv
from robot_control_ros import Robot

pytestmark = pytest.mark.sim
REACH = f"robot_control_ros/{TASKS['reach'].id}-v0"
LENGTH = 3  # steps of an episode


def made(count, mode=None, **arguments):
    return gymnasium.make_vec(REACH, count, mode, max_episode_steps=LENGTH, **arguments)


def episodes(envs, steps=2 * LENGTH + 1):
    """All that random actions show, with the resets that a user has to make."""
    random = np.random.default_rng(0)
    shown = [envs.reset(seed=3)]
    for _ in range(steps):
        shown.append(
            envs.step(random.uniform(-1.0, 1.0, envs.action_space.shape).astype(np.float32))
        )
        ended = shown[-1][2] | shown[-1][3]
        if envs.metadata["autoreset_mode"] is AutoresetMode.DISABLED and ended.any():
            shown.append(envs.reset(options={"reset_mask": ended}))
    envs.close()
    return shown


@pytest.mark.few(1)
@pytest.mark.parametrize("mode", AutoresetMode)
def test_without_a_mode_it_is_as_gymnasiums_own_vector(mode):
    own, gymnasiums = (
        made(2, autoreset_mode=mode),
        made(2, "sync", vector_kwargs={"autoreset_mode": mode}),
    )
    assert own.metadata == gymnasiums.metadata
    assert own.observation_space == gymnasiums.observation_space
    assert own.action_space == gymnasiums.action_space
    shown = episodes(own)
    assert data_equivalence(shown, episodes(gymnasiums), exact=True)
    assert shown[LENGTH][3].all()


def test_an_arm_of_a_seed_is_the_same_in_any_number_of_arms():
    many, one = made(3, imperfections="like_ur5e"), made(1, imperfections="like_ur5e")
    action = np.full((3, 3), 0.5, np.float32)
    many.reset(seed=[4, 5, 6])
    one.reset(seed=[5])
    for _ in range(2):
        (seen, *_), (alone, *_) = many.step(action), one.step(action[:1])
    for name, values in seen.items():
        np.testing.assert_array_equal(values[1], alone[name][0])
    many.close()
    one.close()


def test_the_noise_of_an_episode_is_of_its_seed():
    """It had been the same in all episodes."""
    env = ComplianceEnv("press", imperfections="like_ur5e")  # begins each episode in one place
    first, other, again = (env.reset(seed=seed)[0] for seed in (1, 2, 1))
    assert not np.array_equal(first["q"], other["q"])
    np.testing.assert_array_equal(first["q"], again["q"])
    env.close()


def test_gymnasium_finds_nothing_wrong_with_an_arm_of_noise():
    env = gymnasium.make(REACH, imperfections="like_ur5e")
    check_env(env.unwrapped)
    env.close()


def test_gymnasiums_statistics_of_episodes_work():
    envs = RecordEpisodeStatistics(made(2))
    envs.reset(seed=0)
    for _ in range(LENGTH):
        info = envs.step(np.zeros((2, 3), np.float32))[4]
    np.testing.assert_array_equal(info["episode"]["l"], [LENGTH, LENGTH])
    envs.close()


@pytest.mark.parametrize(
    ("arguments", "name"),
    [
        ({"num_envs": 0}, "num_envs"),
        ({"num_envs": 2, "workers": 0}, "workers"),
        ({"num_envs": 2, "workers": 1.5}, "workers"),
        ({"num_envs": 2, "task": "dance"}, "task"),
    ],
)
def test_what_is_refused_is_named(arguments, name):
    with refuses(name):
        made(arguments.pop("num_envs"), **arguments)


def test_a_running_robot_is_not_many():
    with Robot.simulated("ur5e") as robot, refuses("robot"):
        made(2, robot=robot)
