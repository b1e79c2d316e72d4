"""The LeRobot plug-in and its datasets, with a stand-in of LeRobot."""

import dataclasses
import re
import sys
from importlib import import_module
from pathlib import Path
from types import ModuleType

import lerobot_stand_in
import numpy as np
import pytest
import yaml
from refusals import refuses

from robot_control_ros import ConfigError, Robot, RobotModel, load_robot

pytest.importorskip("mujoco")
NAME = "lerobot_robot_compliant_arm"
ROOT = Path(__file__).resolve().parents[2]
recorded = pytest.mark.starts("the thread that writes a record, whose end is waited for")


@pytest.fixture
def plugin(monkeypatch):
    lerobot_stand_in.install(monkeypatch)
    return import_module(NAME)


@pytest.fixture
def convert(plugin):
    pytest.importorskip("mcap")
    pytest.importorskip("gymnasium")
    return import_module(f"{NAME}.dataset_from_mcap")


def test_it_keeps_the_conventions_by_which_lerobot_finds_it(plugin):
    config = plugin.CompliantArmConfig
    assert config.__module__ == f"{NAME}.config_compliant_arm"
    assert getattr(
        import_module(config.__module__.rpartition(".")[0]), config.__name__.removesuffix("Config")
    )
    assert config.type == plugin.CompliantArm.name
    assert plugin.CompliantArm.config_class is config


@pytest.mark.parametrize("page", ["robot_control_learning/README.md", "docs/learning.md"])
def test_the_commands_of_the_pages_load_the_plugin(page, monkeypatch):
    pytest.importorskip("gymnasium")
    lerobot_stand_in.install(monkeypatch)
    options = re.findall(r"--robot\.(\w+)=(\S+)", (ROOT / page).read_text(encoding="utf-8"))
    packages = [value for name, value in options if name == "discover_packages_path"]
    types = [value for name, value in options if name == "type"]
    assert packages == [NAME] * len(types) != []
    lerobot_stand_in.load_plugin(NAME)
    assert set(types) == {sys.modules[f"{NAME}.config_compliant_arm"].CompliantArmConfig.type}


def test_the_options_of_the_page_are_entries_of_the_configurations(plugin):
    page = (ROOT / "docs/lerobot.md").read_text(encoding="utf-8")
    options = re.findall(r"--(robot|teleop)\.(\w+)=(\S+)", page)
    robot = {each.name for each in dataclasses.fields(plugin.CompliantArmConfig)}
    gamepad = import_module(f"{NAME}.config_teleoperators").CompliantArmLeaderConfig
    teleop = {each.name for each in dataclasses.fields(gamepad)}
    known = {"robot": robot, "teleop": teleop}
    assert len(options) > 5
    for device, name, _ in options:
        assert name in known[device] | {"type", "discover_packages_path"}
    types = {plugin.CompliantArmGamepadConfig, plugin.CompliantArmLeaderConfig}
    types |= {plugin.CompliantArmExpertConfig}
    for kind in types:
        assert f"`{kind.type}`" in page


def test_its_features_are_known_before_it_is_connected(plugin):
    camera = plugin.RenderedCameraConfig(height=48, width=64, fps=10)
    robot = plugin.CompliantArm(
        plugin.CompliantArmConfig(robot="ur5", stiffness=True, cameras={"hand": camera})
    )
    joints = load_robot("ur5").joints
    seen, done = robot.observation_features, robot.action_features
    assert list(seen)[:6] == [f"{joint}.pos" for joint in joints]
    assert len(seen) == 2 * 6 + 9 + 6 + 6 + 1
    assert seen["hand"] == (48, 64, 3)
    assert len(done) == 15
    assert set(done.values()) == {float}
    assert not robot.is_connected
    assert robot.is_calibrated
    for call in (robot.get_observation, lambda: robot.send_action({}), robot.disconnect):
        with pytest.raises(ConnectionError):
            call()


@pytest.mark.sim
@recorded
def test_it_leads_a_simulated_arm(plugin):
    config = plugin.CompliantArmConfig(robot="ur5", simulated=True, law="impedance", stiffness=True)
    with plugin.CompliantArm(config) as robot:
        with pytest.raises(ConnectionError):
            robot.connect()
        seen = robot.get_observation()
        assert seen.keys() == robot.observation_features.keys()
        assert all(isinstance(value, float) for value in seen.values())
        np.testing.assert_allclose(
            robot.arm.pose[:3, 3], [seen[f"ee.{axis}"] for axis in "xyz"], atol=1e-3
        )
        action = {name: seen[name] for name in robot.action_features if name in seen}
        action |= {name: 40.0 for name in robot.action_features if "stiffness" in name}
        action["ee.z"] += 0.01
        sent = robot.send_action(action)
        assert sent == pytest.approx(action, abs=1e-9)
        np.testing.assert_array_equal(robot.arm.gains["stiffness"], np.full(6, 40.0))
        robot.arm.wait_until(
            lambda state: abs(state.reference_pose[2, 3] - action["ee.z"]) < 1e-6, timeout=60.0
        )
        beyond = robot.send_action({**action, "ee.x": 9.0})
        assert beyond == pytest.approx(
            {**action, "ee.x": robot.arm.settings["workspace.upper"][0]}, abs=1e-9
        )
    assert not robot.is_connected


@pytest.fixture
def arm(plugin):
    """Connect an arm in lockstep with two cameras and the task; other entries may be changed."""
    arms = []

    def connect(**entries):
        views = {"front": [1.15, 0.13, 0.75], "side": [0.49, -0.55, 0.75]}
        cameras = {
            name: plugin.RenderedCameraConfig(
                width=48, height=48, fps=10, position=position, target=[0.49, 0.13, 0.48]
            )
            for name, position in views.items()
        }
        standard = {"robot": "ur5e", "simulated": True, "lockstep": 10, "task": "reach"}
        config = plugin.CompliantArmConfig(**{**standard, "cameras": cameras, **entries})
        robot = plugin.CompliantArm(config)
        robot.connect()
        arms.append(robot)
        return robot

    yield connect
    for robot in arms:
        if robot.is_connected:
            robot.disconnect()


@pytest.fixture
def expert(plugin):
    made = plugin.CompliantArmExpert(
        import_module(f"{NAME}.config_teleoperators").CompliantArmExpertConfig()
    )
    made.connect()
    return made


@pytest.mark.sim
@pytest.mark.parametrize("entries", [{}, {"action": "joints", "stiffness": True, "cameras": {}}])
def test_the_expert_brings_the_tip_into_the_ball(arm, expert, entries):
    robot = arm(**entries)
    while not robot.task.balls:
        seen = robot.get_observation()
        assert seen.keys() == robot.observation_features.keys()
        action = expert.get_action()
        assert action.keys() == robot.action_features.keys()
        robot.send_action(action)
    (ball,) = robot.task.balls
    assert ball.reached
    assert ball.distance < 0.02
    assert 0.3 <= ball.seconds < 4.0
    assert robot.arm.time == pytest.approx(ball.seconds, abs=0.2)


@pytest.mark.sim
def test_cameras_show_the_ball_where_it_is(arm):
    robot = arm()
    pictures = robot.get_observation()
    red = {}
    for name in ("front", "side"):
        picture = pictures[name].astype(int)
        assert picture.shape == (48, 48, 3)
        red[name] = picture[..., 0] > 2 * picture[..., 1:].max(axis=2)
        assert red[name].sum() > 3
    column = {name: np.flatnonzero(each.any(axis=0)).mean() for name, each in red.items()}
    # The base's y axis is to the right of the camera in front, its x axis to that of the one beside.
    offset = robot.task.center - robot.arm.pose[:3, 3]
    assert np.sign(column["front"] - 23.5) == np.sign(offset[1])
    assert np.sign(column["side"] - 23.5) == np.sign(offset[0])


@pytest.mark.sim
@pytest.mark.parametrize("lasts", [0.8, 4.0])
def test_a_ball_that_is_not_reached_is_missed_after_its_time(arm, lasts):
    robot = arm(cameras={}, ball_time=lasts)
    while not robot.task.balls:
        robot.get_observation()
        robot.send_action(robot.present_action())
    (ball,) = robot.task.balls
    assert not ball.reached
    assert ball.seconds == pytest.approx(lasts, abs=0.11)


@pytest.mark.parametrize("lasts", [0.0, -1.0, float("nan"), float("inf")])
def test_a_ball_needs_a_time(plugin, lasts):
    config = plugin.CompliantArmConfig(simulated=True, task="reach", ball_time=lasts)
    with refuses("ball_time", lasts, (0.0, np.inf)):
        plugin.CompliantArm(config)


REACH = ROOT / "robot_control_learning/reach"


def test_record_and_rollout_differ_in_their_balls_alone():
    """What the policy sees and does is the same; the balls are at other places, and stay longer."""
    robots = [
        yaml.safe_load((REACH / f"{name}.yaml").read_text(encoding="utf-8"))["robot"]
        for name in ("record", "rollout")
    ]
    seeds = {robot.pop("seed") for robot in robots}
    for robot in robots:
        robot.pop("ball_time", None)
    assert len(seeds) == 2
    assert robots[0] == robots[1]


@pytest.mark.sim
def test_cameras_of_the_record_show_each_corner_of_the_task_s_box(plugin):
    """The arm at its start hides none of these balls."""
    robot = load_robot("ur5e")
    model = RobotModel.of(robot)
    home = np.array(robot.home)
    tip = model.at(home).pose[:3, 3]
    entries = yaml.safe_load((REACH / "record.yaml").read_text(encoding="utf-8"))
    task = import_module(f"{NAME}.reach_task")
    rays = import_module(f"{NAME}.ray_picture")
    for camera in entries["robot"]["cameras"].values():
        view = [camera[name] for name in ("position", "target", "opening", "width", "height")]
        picture = rays.RayPicture(*view)
        for corner in np.array(np.meshgrid(*[(-1, 1)] * 3)).reshape(3, 8).T:
            ball = tip + corner * task.BOX
            capsules = rays.arm_capsules(model, home, tip)
            capsules.append(rays.Capsule(ball, ball, task.RADIUS, task.COLOR))
            seen = picture.draw(capsules).astype(int)
            red = seen[..., 0] > 2 * seen[..., 1:].max(axis=2)
            assert red.sum() >= 12


@pytest.mark.sim
@pytest.mark.parametrize("bad", ["NaN", "names", "axes"])
def test_an_action_that_is_none_of_this_arm_is_refused_before_motion(arm, bad):
    robot = arm(cameras={})
    before = robot.arm.state
    action = robot.present_action()
    if bad == "NaN":
        action["ee.x"] = float("nan")
    elif bad == "names":
        action = {f"panda_joint{k}.pos": 0.0 for k in range(1, 8)}
    else:
        action.update({name: 0.0 for name in action if name.startswith("ee.x") and name != "ee.x"})
    with pytest.raises(ConfigError) as caught:
        robot.send_action(action)
    assert caught.value.name == {"NaN": "ee.x"}.get(bad, bad)
    assert robot.arm.state is before
    assert not before.moving


@pytest.mark.parametrize(
    ("entries", "name"),
    [
        ({"action": "twist"}, "action"),
        ({"task": "dance", "simulated": True}, "task"),
        ({"task": "reach"}, "task"),
        ({"lockstep": 10}, "lockstep"),
        ({"lockstep": -1, "simulated": True}, "lockstep"),
        ({"gripper": True}, "gripper"),
        ({"observed": ["smell"]}, "group of observations"),
    ],
)
def test_a_configuration_that_cannot_be_is_refused(plugin, entries, name):
    with pytest.raises(ConfigError) as caught:
        plugin.CompliantArm(plugin.CompliantArmConfig(robot="ur5e", **entries))
    assert caught.value.name == name


@pytest.mark.sim
def test_the_gripper_is_part_of_action_and_observation(arm):
    robot = arm(robot="ur5e+robotiq_2f85", gripper=True, cameras={}, task="")
    widest = robot.arm.gripper.config.widths[0]
    assert robot.get_observation()["gripper.pos"] == pytest.approx(widest, abs=2e-3)
    sent = robot.send_action({**robot.present_action(), "gripper.pos": 0.04})
    assert sent["gripper.pos"] == 0.04
    for _ in range(15):
        robot.send_action({**robot.present_action(), "gripper.pos": 0.04})
    assert robot.get_observation()["gripper.pos"] == pytest.approx(0.04, abs=2e-3)
    assert (
        robot.send_action({**robot.present_action(), "gripper.pos": 9.0})["gripper.pos"] == widest
    )


@pytest.mark.sim
def test_a_gamepad_moves_the_target_along_the_base(arm, plugin, monkeypatch):
    class Gamepad:
        running = True

        def start(self): ...

        def stop(self): ...

        def update(self): ...

        def get_deltas(self):
            return 1.0, -0.5, float("nan")

        def gripper_command(self):
            return "stay"

    module = ModuleType("lerobot.teleoperators.gamepad.gamepad_utils")
    module.GamepadController = Gamepad
    monkeypatch.setitem(sys.modules, module.__name__, module)
    config = import_module(f"{NAME}.config_teleoperators").CompliantArmGamepadConfig(speed=0.1)
    gamepad = plugin.CompliantArmGamepad(config)
    with pytest.raises(ConnectionError):
        gamepad.get_action()
    gamepad.connect()
    with pytest.raises(ConnectionError):  # no robot yet
        gamepad.get_action()
    robot = arm(cameras={}, task="")
    start = robot.target.copy()
    for _ in range(10):
        robot.send_action(gamepad.get_action())
    np.testing.assert_allclose(robot.target[:3, 3] - start[:3, 3], (0.1, -0.05, 0.0), atol=1e-9)
    np.testing.assert_allclose(robot.target[:3, :3], start[:3, :3], atol=1e-9)
    gamepad.disconnect()
    Gamepad.running = False
    with pytest.raises(ConnectionError):
        gamepad.connect()


@pytest.mark.sim
def test_a_leader_arm_leads_without_a_jump(arm, plugin):
    config = import_module(f"{NAME}.config_teleoperators").CompliantArmLeaderConfig(scale=0.5)
    leader = plugin.CompliantArmLeader(config)
    robot = arm(robot="ur5", cameras={}, task="")
    with Robot.simulated("ur5e") as hand:
        leader.lead_with(hand)
        start = robot.target.copy()
        first = leader.get_action()
        assert first == pytest.approx(robot.present_action(), abs=1e-9)
        hand.move_to(hand.pose[:3, 3] + (0.04, 0.0, 0.02))
        robot.send_action(leader.get_action())
        moved = robot.target[:3, 3] - start[:3, 3]
        np.testing.assert_allclose(moved, (0.02, 0.0, 0.01), atol=1e-3)
        leader.disconnect()
    with pytest.raises(ConfigError):
        plugin.CompliantArmLeader(type(config)(scale=0.0))


def test_a_pose_becomes_numbers_and_back(plugin, rng):
    features = import_module(f"{NAME}.features")
    rotation, _ = np.linalg.qr(rng.normal(size=(3, 3)))
    pose = np.eye(4)
    pose[:3, :3], pose[:3, 3] = rotation * np.linalg.det(rotation), rng.normal(size=3)
    numbers = dict(zip(features.POSE, features.pose_numbers(pose), strict=True))
    np.testing.assert_allclose(features.pose_of(numbers), pose, rtol=0.0, atol=1e-12)


@pytest.mark.sim
@recorded
def test_episodes_become_a_dataset(convert, tmp_path, capsys, monkeypatch):
    import gymnasium

    from robot_control_learning import RecordEpisodes

    env = RecordEpisodes(
        gymnasium.make("robot_control_ros/Reach-v0", max_episode_steps=3), tmp_path
    )
    for seed in range(2):
        seen, _ = env.reset(seed=seed)
        for _ in range(3):
            env.step(np.full(3, 0.25, np.float32))
    env.close()
    files = [str(path) for path in sorted(tmp_path.glob("*.mcap"))]
    options = [
        "--repo-id",
        "me/reach",
        "--root",
        str(tmp_path / "dataset"),
        "--task",
        "reach the point",
    ]
    monkeypatch.setattr("sys.argv", ["lerobot-from-mcap", *files, *options])
    convert.main()
    assert capsys.readouterr().out == f"6 frames of 2 episodes: {tmp_path / 'dataset'}\n"
    (dataset,) = lerobot_stand_in.LeRobotDataset.made
    assert dataset.finalized
    assert dataset.about == ("me/reach", str(tmp_path / "dataset"), "ur5e")
    assert dataset.fps == 25
    assert [len(episode) for episode in dataset.episodes] == [3, 3]
    first, *_, last = dataset.episodes[1]
    np.testing.assert_array_equal(first["observation.state"], np.concatenate([*seen.values()]))
    np.testing.assert_array_equal(first["action"], np.full(3, 0.25, np.float32))
    assert (first["next.done"], last["next.done"], last["next.success"]) == (False, True, False)
    assert len(dataset.features["observation.state"]["names"]) == first["observation.state"].size


@pytest.mark.sim
@recorded
def test_a_record_of_a_robot_becomes_an_episode_of_poses(convert, tmp_path):
    with Robot.simulated("ur5") as robot:
        robot.move_to(robot.pose[:3, 3] + (0.0, 0.0, 0.05), wait=False)
        with robot.record(tmp_path / "run.mcap"):
            states = [robot.wait(0.04) for _ in range(5)]
    episode = convert.read_episode(tmp_path / "run.mcap", fps=25)
    features = import_module(f"{NAME}.features")
    assert (episode.fps, episode.robot, len(episode.frames)) == (25, "ur5", 5)
    assert episode.features["observation.state"]["names"] == list(
        features.observation_names(robot.config.joints)
    )
    late = [frame["action"] for frame in episode.frames[1:]]
    # the first frame is half a period earlier
    for action, state in zip(late, states, strict=False):
        assert np.abs(action[:3] - state.reference_pose[:3, 3]).max() < 0.02
    exact = convert.read_episode(tmp_path / "run.mcap", fps=50).frames[1::2]
    for frame, state in zip(exact, states, strict=True):
        np.testing.assert_allclose(
            frame["action"], features.pose_numbers(state.reference_pose), rtol=0.0, atol=1e-6
        )
        expected = features.observation_numbers(state.q, state.v, state.pose, state.wrench)
        np.testing.assert_allclose(frame["observation.state"], expected, rtol=1e-6, atol=1e-7)


@recorded
def test_a_file_without_steps_and_states_is_refused(convert, tmp_path):
    from robot_control_ros.recording.mcap_recording import McapRecording

    McapRecording(tmp_path / "empty.mcap").close()
    with pytest.raises(ValueError, match="no messages on /step or /state"):
        convert.read_episode(tmp_path / "empty.mcap")
