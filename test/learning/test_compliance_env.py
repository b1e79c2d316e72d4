"""The Gymnasium environments: Gymnasium's own check, episodes of a seed, what a simple policy
reaches, and failures.
"""

import hashlib
import re
import subprocess
import sys
import warnings
from importlib import import_module
from pathlib import Path

import numpy as np
import pytest

pytest.importorskip("gymnasium")
pytest.importorskip("mujoco")

import gymnasium
from gymnasium.utils.env_checker import check_env
from gymnasium.vector import AutoresetMode

from robot_control_learning import TASKS, ComplianceEnv
from robot_control_ros import ConfigError, Robot

pytestmark = pytest.mark.sim
ROOT = Path(__file__).resolve().parents[2]
FIRST_STIFFNESS = [500.0] * 3 + [50.0] * 3  # the default of the law
IDS = {name: f"robot_control_ros/{task.id}-v0" for name, task in TASKS.items()}


@pytest.fixture(scope="module")
def made():
    """Environments by id and arguments; each is made once."""
    envs = {}

    def make(task, **arguments):
        key = task, *arguments.items()
        if key not in envs:
            envs[key] = gymnasium.make(IDS[task], **arguments)
        return envs[key]

    yield make
    for env in envs.values():
        env.close()


def run(env, policy, seed, steps=1000):
    """Return, number of steps and last info of an episode."""
    seen, _ = env.reset(seed=seed)
    start, total = seen["pose"][:3], 0.0
    for step in range(1, steps + 1):
        seen, reward, terminated, truncated, info = env.step(policy(seen, seen["pose"][:3] - start))
        total += reward
        if terminated or truncated:
            return total, step, info
    raise AssertionError(f"no end in {steps} steps")


def digest(env, seed, steps):
    """Of all that an episode of random actions shows."""
    random, found = np.random.default_rng(5), hashlib.sha256()
    seen, info = env.reset(seed=seed)
    for _ in range(steps):
        found.update(
            b"".join([*(values.tobytes() for values in seen.values()), repr(info).encode()])
        )
        seen, reward, _, _, info = env.step(
            random.uniform(-1.0, 1.0, env.action_space.shape).astype(np.float32)
        )
        found.update(np.float64(reward).tobytes())
    return found.hexdigest()


@pytest.mark.few(2)
@pytest.mark.parametrize("task", IDS)
@pytest.mark.parametrize(
    "arguments",
    [{}, pytest.param({"stiffness": True, "rotation": True, "chunk": 3}, marks=pytest.mark.long)],
    ids=["plain", "all"],
)
def test_gymnasium_finds_nothing_wrong(made, task, arguments):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        check_env(made(task, **arguments).unwrapped)


def test_a_seed_gives_the_same_episode_to_the_last_bit(made):
    env = made("peg_in_hole", stiffness=True, rotation=True, chunk=3)
    first, other = digest(env, 1, 3), digest(env, 2, 3)
    assert first != other
    assert digest(env, 1, 3) == first  # whatever happened before
    fresh = gymnasium.make(IDS["peg_in_hole"], stiffness=True, rotation=True, chunk=3)
    assert digest(fresh, 1, 3) == first
    fresh.close()


@pytest.mark.long
@pytest.mark.starts("episodes in fresh interpreters")
@pytest.mark.parametrize("task", IDS)
def test_whole_episodes_are_the_same_in_another_process(task):
    program = (
        f"import sys; sys.path.insert(0, {str(Path(__file__).parent)!r})\n"
        "import gymnasium\nfrom test_compliance_env import IDS, digest\n"
        f"print(digest(gymnasium.make(IDS[{task!r}], stiffness=True), 7, 100))"
    )
    printed = [
        subprocess.run(
            [sys.executable, "-c", program], capture_output=True, text=True, check=True
        ).stdout
        for _ in range(2)
    ]
    assert printed[0] == printed[1] != ""


def towards(seen, moved):
    """To the goal, by what the target isn't there yet."""
    return np.clip((seen["goal"][:3] - (seen["target"][:3] - moved)) / 0.01, -1.0, 1.0)


@pytest.mark.parametrize(
    "seed", [0, *(pytest.param(seed, marks=pytest.mark.long) for seed in range(1, 5))]
)
def test_reach_ends_at_rest_at_the_goal(made, seed):
    total, steps, info = run(made("reach"), towards, seed)
    assert info["success"]
    assert info["error"] < 0.005
    assert -steps < total < 0.0
    assert steps < 100


def test_the_time_limit_is_the_registrations():
    assert [gymnasium.spec(IDS[name]).max_episode_steps for name in IDS] == [
        each.steps for each in TASKS.values()
    ]
    env = gymnasium.make(IDS["reach"], max_episode_steps=4)
    _, steps, info = run(env, lambda seen, moved: np.zeros(3), 0)
    assert steps == 4
    assert not info["success"]
    assert info["time"] == pytest.approx(0.16)
    env.close()


@pytest.mark.long
def test_follow_rewards_who_stays_near_the_moving_goal(made):
    def ahead(seen, moved):
        lag = seen["target"][:3] - moved
        return np.clip((seen["goal"][:3] + seen["goal"][3:] / 8.0 - lag) / 0.01, -1.0, 1.0)

    for seed in range(2):
        total, steps, info = run(made("follow"), ahead, seed)
        resting, _, _ = run(made("follow"), lambda seen, moved: np.zeros(3), seed)
        assert steps == 250
        assert info["success"]
        assert resting / 2.0 < total < 0.0


@pytest.mark.long
def test_press_ends_near_the_wanted_force(made):
    def integral(seen, moved):
        return np.array((0.0, 0.0, np.clip(-seen["goal"][1] * 0.04, -0.4, 0.4)))

    for seed in range(3):
        _, _, info = run(made("press"), integral, seed)
        assert info["success"]


@pytest.mark.long
def test_press_under_force_control_needs_no_policy():
    gains = {"force": [0, 0, -10, 0, 0, 0], "force_axes": [0, 0, 1, 0, 0, 0]}
    env = gymnasium.make(IDS["press"], law="force_control", gains=gains)
    env.reset(seed=0)
    for _ in range(100):
        seen, *_ = env.step(np.zeros(3, np.float32))
    assert seen["wrench"][2] == pytest.approx(10.0, abs=0.5)
    env.close()


def test_an_action_is_a_displacement_and_a_stiffness_in_equal_ratios(made):
    env = made("peg_in_hole", stiffness=True, rotation=True, chunk=3)
    env.reset(seed=0)
    action = np.zeros((3, 12), np.float32)
    action[:, 0], action[0, 4], action[-1, 6:] = 0.5, 1.0, (-1.0, 0.0, 1.0, -1.0, 0.0, 1.0)
    seen, _, _, _, info = env.step(action)
    np.testing.assert_allclose(
        seen["target"], [0.003, 0.0, 0.0, 0.0, 0.05, 0.0], rtol=0.0, atol=1e-7
    )
    expected = [50.0, np.sqrt(50.0 * 2000.0), 2000.0, 5.0, np.sqrt(500.0), 100.0]
    np.testing.assert_allclose(env.unwrapped.robot.gains["stiffness"], expected, rtol=1e-6)
    assert info["time"] == pytest.approx(0.12)
    for _ in range(4):
        seen, *_ = env.step(np.ones((3, 12), np.float32))
    np.testing.assert_allclose(seen["target"][:2], env.unwrapped.task.box[:2], rtol=0.0, atol=1e-7)
    np.testing.assert_allclose(seen["target"][3:], [0.3] * 3, rtol=0.0, atol=1e-7)
    env.reset(seed=0)
    np.testing.assert_array_equal(env.unwrapped.robot.gains["stiffness"], FIRST_STIFFNESS)


def test_the_bounds_of_joints_are_the_robots(made):
    env = made("reach")
    limits = env.unwrapped.robot.limits
    np.testing.assert_allclose(env.observation_space["q"].high, limits.upper, rtol=1e-6)
    np.testing.assert_allclose(env.observation_space["v"].high, limits.velocity, rtol=1e-6)


def test_too_much_force_ends_an_episode_as_a_failure():
    env = gymnasium.make(IDS["press"], max_force=5.0)
    total, steps, info = run(env, lambda seen, moved: np.array((0.0, 0.0, -1.0)), 0)
    assert steps < 60
    assert total < -100.0
    assert info["failure"].endswith("N at the tip: must be at most 5 N")
    assert not info["success"]
    seen, info = env.reset(seed=0)
    assert abs(seen["wrench"]).max() < 0.5
    env.close()


@pytest.mark.parametrize(
    ("arguments", "name"),
    [
        ({"task": "dance"}, "task"),
        ({"chunk": 0}, "chunk"),
        ({"period": 0.001}, "period"),
        ({"max_force": float("nan")}, "max_force"),
        ({"render_mode": "human"}, "render_mode"),
        ({"law": "gravity_compensation", "stiffness": True}, "gain"),
    ],
)
def test_what_is_refused_is_named(arguments, name):
    with pytest.raises(ConfigError) as refused:
        ComplianceEnv(**arguments)
    assert refused.value.name == name


@pytest.mark.parametrize(
    "mode",
    [
        "sync",
        pytest.param(
            "async", marks=[pytest.mark.long, pytest.mark.starts("Gymnasium's workers, in step")]
        ),
    ],
)
def test_vectors_are_of_the_episodes_of_their_seeds(mode):
    def make(count):
        settings = {"vector_kwargs": {"autoreset_mode": AutoresetMode.DISABLED}}
        return gymnasium.make_vec(IDS["reach"], num_envs=count, vectorization_mode=mode, **settings)

    action = np.linspace(-1.0, 1.0, 9, dtype=np.float32).reshape(3, 3)
    vector, single = make(3), make(1)
    vector.reset(seed=[4, 5, 6])
    single.reset(seed=[5])
    for _ in range(5):
        many, one = vector.step(action), single.step(action[1:2])
    for name, values in many[0].items():
        assert len(np.unique(values[:, 0])) in (1, 2, 3)
        np.testing.assert_array_equal(values[1], one[0][name][0])
    assert many[1][1] == one[1][0]
    vector.close()
    single.close()


def test_a_robot_that_runs_is_moved_to_the_start_and_stays_open():
    with Robot.simulated("ur5e", scene="surface") as robot:
        env = ComplianceEnv("press", robot, stiffness=True)
        seen, _ = env.reset(seed=3)
        np.testing.assert_allclose(seen["pose"][:3], (0.5, 0.1, 0.4), rtol=0.0, atol=1e-4)
        began = robot.time
        for _ in range(15):
            seen, _, terminated, _, _ = env.step(
                np.array((0.0, 0.0, -1.0, 1.0, 1.0, -1.0), np.float32)
            )
        assert not terminated
        assert robot.time == pytest.approx(began + 0.6)
        assert seen["wrench"][2] > 0.5
        env.reset(seed=3)
        np.testing.assert_array_equal(robot.gains["stiffness"], FIRST_STIFFNESS)
        env.close()
        robot.wait(0.1)


@pytest.mark.starts("a fresh interpreter makes an environment")
def test_gymnasium_imports_the_module_that_an_id_names():
    program = (
        f"import gymnasium\nprint(gymnasium.make('robot_control_learning:{IDS['reach']}').spec.id)"
    )
    ended = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=True
    )
    assert ended.stdout == f"{IDS['reach']}\n"


@pytest.mark.long
def test_the_first_block_of_the_page_prints_what_stands_under_it(capsys):
    page = (ROOT / "docs" / "learning.md").read_text(encoding="utf-8")
    code, printed = re.search(r"```python\n(.*?)```\n\n```text\n(.*?)```", page, re.DOTALL).groups()
    exec(code, {})
    assert capsys.readouterr().out == printed


@pytest.mark.long
@pytest.mark.starts("the example, as it is typed")
def test_the_example_learns_and_draws(tmp_path):
    pytest.importorskip("matplotlib")
    command = [
        sys.executable,
        ROOT / "examples" / "peg_policy.py",
        "--generations",
        "1",
        "--population",
        "2",
    ]
    ended = subprocess.run(
        [*command, "--plot", tmp_path / "curve.png"], capture_output=True, text=True, check=True
    )
    _, row, first, learnt = ended.stdout.splitlines()
    assert len(row.split()) == 7
    assert re.fullmatch(r"first mean in 10 new episodes: \d+ of 10 pegs in the hole", first)
    assert learnt.startswith("learnt mean")
    assert (tmp_path / "curve.png").read_bytes().startswith(b"\x89PNG")


@pytest.mark.long
def test_the_learnt_stiffness_of_the_page_finds_holes(monkeypatch):
    """By the example's own policy, with the numbers of the page's last row."""
    monkeypatch.syspath_prepend(ROOT / "examples")
    example = import_module("peg_policy")
    page = (ROOT / "docs" / "learning.md").read_text(encoding="utf-8")
    row = re.findall(r"^ +5 .*$", page, re.MULTILINE)[-1].split()
    lateral, vertical, push = (float(number) for number in row[-3:])
    numbers = np.array(
        [
            *(2.0 * np.log(each / 50.0) / np.log(40.0) - 1.0 for each in (lateral, vertical)),
            push / 50.0,
        ]
    )
    assert example.stiffness(numbers[0]) == pytest.approx(lateral)
    settings = {
        "vector_kwargs": {"autoreset_mode": AutoresetMode.DISABLED},
        "vectorization_mode": "sync",
    }
    envs = gymnasium.make_vec(IDS["peg_in_hole"], num_envs=1, stiffness=True, **settings)
    learnt, soft = (
        example.successes(envs, each, range(200, 204)) for each in (numbers, np.array(example.MEAN))
    )
    envs.close()
    assert learnt >= 3 > soft
