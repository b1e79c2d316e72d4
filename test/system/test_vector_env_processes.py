"""The vector environment in several processes: as Gymnasium's own in one; it leaves
none of them behind.
"""

import os

import numpy as np
import pytest
from processes import alive, children

pytest.importorskip("gymnasium")
pytest.importorskip("mujoco")

import gymnasium
from gymnasium.utils.env_checker import data_equivalence
from gymnasium.vector import AutoresetMode
from refusals import refuses

from robot_control_learning import TASKS

pytestmark = pytest.mark.sim
PRESS = f"robot_control_ros/{TASKS['press'].id}-v0"
ARMS, LENGTH = 3, 16  # arms; steps of an episode
FORCE = 1.0  # N, above which an episode fails: that of the arm that presses


def episodes(envs, seed=3):
    """All that actions show of which one lets an arm press, with the resets that
    a user has to make.
    """
    shown = [envs.reset(seed=seed)]
    action = np.zeros(envs.action_space.shape, np.float32)
    action[-1, 2] = -1.0
    for _ in range(LENGTH + 4):
        shown.append(envs.step(action))
        ended = shown[-1][2] | shown[-1][3]
        if envs.metadata["autoreset_mode"] is AutoresetMode.DISABLED and ended.any():
            shown.append(envs.reset(options={"reset_mask": ended}))
    return shown


def simulating(before):
    """Processes that were started, but for the one that cares for resources until this one ends."""
    started = [number for number in children(os.getpid()) if number not in before and alive(number)]
    return max(len(started) - 1, 0)


# One of the modes shows what is split and joined among processes; the next test has none.
@pytest.mark.long
@pytest.mark.parametrize(
    "mode", [each for each in AutoresetMode if each is not AutoresetMode.SAME_STEP]
)
def test_in_each_mode_it_shows_what_gymnasiums_own_vector_shows(mode):
    envs = compared(mode)
    envs.close()


@pytest.mark.limit(240)  # it is two tests in one
def test_it_shows_what_gymnasiums_own_vector_shows_is_read_and_changed_and_leaves_no_process():
    """In one test, as processes take longer to start than for all of these."""
    before = set(children(os.getpid()))
    envs = compared(AutoresetMode.SAME_STEP)
    with refuses("reset_mask"):
        envs.reset(options={"reset_mask": np.zeros(ARMS, bool)})
    with refuses("seed"):
        envs.reset(seed=[1])
    envs.reset(seed=[7, 8, 9])
    assert envs.np_random_seed == (7, 8, 9)
    assert envs.get_attr("period") == (0.04,) * ARMS
    envs.set_attr("period", [0.04, 0.08, 0.04])
    info = envs.step(np.zeros(envs.action_space.shape, np.float32))[4]
    np.testing.assert_allclose(info["time"], [0.04, 0.08, 0.04])
    assert simulating(before) == 2
    envs.close()
    envs.close()
    assert simulating(before) == 0


def compared(mode):
    """A vector in two processes, which has shown what Gymnasium's own in this one shows."""
    settings = {"max_episode_steps": LENGTH, "max_force": FORCE}
    one = gymnasium.make_vec(
        PRESS, ARMS, "sync", vector_kwargs={"autoreset_mode": mode}, **settings
    )
    two = gymnasium.make_vec(PRESS, ARMS, workers=2, autoreset_mode=mode, **settings)
    assert two.metadata == one.metadata
    assert two.observation_space == one.observation_space
    assert two.action_space == one.action_space
    expected = episodes(one)
    assert data_equivalence(episodes(two), expected, exact=True)
    failures = [shown[-1].get("failure") for shown in expected if "failure" in shown[-1]]
    assert failures or mode is AutoresetMode.SAME_STEP  # where it is in `final_info`
    one.close()
    return two


def test_in_error_it_leaves_no_process():
    """An error where it is made closes it, and one of a call does."""
    before = set(children(os.getpid()))
    with refuses("task"):
        gymnasium.make_vec(PRESS, ARMS, workers=2, task="dance")
    assert simulating(before) == 0
    envs = gymnasium.make_vec(PRESS, ARMS, workers=2)
    with pytest.raises(AttributeError):
        envs.call("dance")
    assert envs.closed
    assert simulating(before) == 0
