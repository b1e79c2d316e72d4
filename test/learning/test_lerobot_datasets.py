"""Records become datasets, datasets become records, and an arm replays them: with a stand-in of
LeRobot, `make test-lerobot` runs LeRobot itself.
"""

import dataclasses
from importlib import import_module

import lerobot_stand_in
import numpy as np
import pytest

from robot_control_ros import ConfigError, Robot

pytest.importorskip("mujoco")
pytest.importorskip("mcap")
pytest.importorskip("gymnasium")
NAME = "lerobot_robot_compliant_arm"
recorded = pytest.mark.starts("the thread that writes a record, whose end is waited for")
pytestmark = pytest.mark.sim


@pytest.fixture
def plugin(monkeypatch):
    """A module of the plug-in, by its name."""
    lerobot_stand_in.install(monkeypatch)
    return lambda name: import_module(f"{NAME}.{name}")


@pytest.fixture
def record(tmp_path):
    """A record of a motion during which the stiffness changes, and the times of its states."""
    path = tmp_path / "run.mcap"
    with Robot.simulated("ur5e") as robot, robot.record(path):
        robot.move_to(robot.pose[:3, 3] + (0.0, 0.0, 0.05), wait=False)
        robot.wait(0.3)
        changed = robot.time
        robot.set_gains(stiffness=200.0)
        robot.wait(0.3)
    return path, changed


def dataset_episode(plugin, episode, robot="ur5e"):
    """What LeRobot gives of an episode that was written."""
    return plugin("dataset_to_mcap").DatasetEpisode(
        fps=episode.fps,
        robot=robot,
        names={key: each["names"] or [] for key, each in episode.features.items()},
        frames=episode.frames,
        task="lift it",
    )


@recorded
def test_stiffness_wrench_and_contact_are_in_the_dataset(plugin, record):
    path, changed = record
    convert = plugin("dataset_from_mcap")
    episode = convert.read_episode(path, fps=50)
    first = episode.frames[0]
    joints = 6
    assert first["observation.wrench"].shape == (6,)
    assert first["observation.contact"].shape[0] >= 1
    stiffness = np.array([frame["observation.stiffness"] for frame in episode.frames])
    assert stiffness.shape == (len(episode.frames), 6)
    np.testing.assert_array_equal(stiffness[-1], np.full(6, 200.0))
    assert not np.array_equal(stiffness[0], stiffness[-1])
    # the change is in the frame of its stamp, to one state of 50 Hz
    index = int(np.flatnonzero((stiffness != stiffness[0]).any(axis=1))[0])
    assert index / 50 == pytest.approx(changed, abs=0.041)
    assert episode.features["observation.state"]["shape"] == (2 * joints + 9 + 6,)


@recorded
def test_a_record_becomes_a_dataset_and_the_same_record_again(plugin, record, tmp_path):
    path, _ = record
    convert = plugin("dataset_from_mcap")
    episode = convert.read_episode(path, fps=25)
    picture = np.arange(4 * 5 * 3, dtype=np.uint8).reshape(4, 5, 3)
    frames = [
        {**frame, "observation.images.hand": picture + index}
        for index, frame in enumerate(episode.frames)
    ]
    names = ["height", "width", "channels"]
    about = {"dtype": "image", "shape": picture.shape, "names": names}
    features = {**episode.features, "observation.images.hand": about}
    seen = dataclasses.replace(episode, frames=frames, features=features)
    back = tmp_path / "back.mcap"
    count = plugin("dataset_to_mcap").write_record(dataset_episode(plugin, seen), back)
    assert count == len(frames)
    again = convert.read_episode(back, fps=25, cameras={"hand": "/hand/image"})
    assert again.robot == "ur5e"
    assert again.features == features
    for old, new in zip(frames, again.frames, strict=True):
        assert old.keys() == new.keys()
        for key, value in old.items():
            np.testing.assert_allclose(new[key], value, rtol=1e-5, atol=1e-5, err_msg=key)


@pytest.mark.parametrize("encoding", ["rgb8", "bgr8"])
def test_a_picture_is_read_as_it_was_written(plugin, rng, encoding):
    messages = plugin("camera_messages")
    picture = rng.integers(0, 256, (7, 5, 3), dtype=np.uint8)
    data = messages.write_image(picture, 12.345678901).replace(b"rgb8", encoding.encode())
    stamp, read = messages.read_image(data)
    assert stamp == pytest.approx(12.345678901, abs=1e-9)
    np.testing.assert_array_equal(read, picture if encoding == "rgb8" else picture[..., ::-1])
    for bad in (data[:-1], data[:9], b"\x00\x00" + data[2:], data.replace(b"gb8", b"gbX")):
        if bad != data:
            with pytest.raises(ConfigError):
                messages.read_image(bad)


def write_with_pictures(plugin, monkeypatch, episode, path, stamps):
    """Write an episode, and a camera's pictures on /hand with these stamps [s]; their grey is
    their number.
    """
    messages = plugin("camera_messages")
    to_mcap = plugin("dataset_to_mcap")

    class Recording(to_mcap.McapRecording):
        def __init__(self, *arguments, **options):
            super().__init__(*arguments, **options)
            channel = self.channel("/hand", messages.IMAGE, messages.DEFINITION)
            for number, stamp in enumerate(stamps):
                pixels = np.full((2, 2, 3), number, np.uint8)
                self.put(channel, messages.write_image(pixels, stamp), round(stamp * 1e9))

    monkeypatch.setattr(to_mcap, "McapRecording", Recording)
    to_mcap.write_record(episode, path)


@recorded
def test_pictures_are_aligned_by_their_stamps(plugin, record, tmp_path, monkeypatch):
    convert = plugin("dataset_from_mcap")
    episode = dataset_episode(plugin, convert.read_episode(record[0], fps=25))
    stamps = np.arange(0.05, 0.6, 0.03)
    path = tmp_path / "camera.mcap"
    write_with_pictures(plugin, monkeypatch, episode, path, stamps)
    frames = convert.read_episode(path, fps=50, cameras={"hand": "/hand"}).frames
    assert len(frames) > 20
    for index, frame in enumerate(frames):
        time = 0.05 + index / 50  # they begin with the first picture
        newest = int(np.searchsorted(stamps, time + 1e-9, side="right")) - 1
        assert frame["observation.images.hand"][0, 0, 0] == newest
    with pytest.raises(ConfigError) as caught:
        convert.read_episode(path, cameras={"hand": "/nowhere"})
    assert caught.value.name == "camera"


@recorded
def test_a_camera_that_was_silent_is_refused(plugin, record, tmp_path, monkeypatch):
    convert = plugin("dataset_from_mcap")
    episode = dataset_episode(plugin, convert.read_episode(record[0], fps=25))
    path = tmp_path / "camera.mcap"
    write_with_pictures(plugin, monkeypatch, episode, path, [0.0, 0.1, 0.4, 0.5])
    with pytest.raises(ConfigError) as caught:
        convert.read_episode(path, fps=50, cameras={"hand": "/hand"})
    assert caught.value.value > caught.value.bound


@recorded
@pytest.mark.parametrize("law", ["impedance", "admittance"])
def test_an_arm_replays_a_dataset_under_the_law_of_one_s_choice(plugin, record, law):
    convert = plugin("dataset_from_mcap")
    replay = plugin("replay_dataset")
    episode = dataset_episode(plugin, convert.read_episode(record[0], fps=25))
    target = episode.frames[-1]["action"][:3]
    with Robot.simulated("ur5e") as robot:
        if law != robot.law:
            robot.set_law(law)
        prepared = replay.prepare(episode, robot)
        left = replay.replay(prepared, robot)
        assert left < 0.005
        np.testing.assert_allclose(robot.pose[:3, 3], target, atol=5e-3)
        assert robot.law == law


@recorded
def test_a_dataset_of_joint_angles_is_followed(plugin, record):
    convert = plugin("dataset_from_mcap")
    replay = plugin("replay_dataset")
    source = convert.read_episode(record[0], fps=25)
    with Robot.simulated("ur5e") as robot:
        names = [f"{joint}.pos" for joint in robot.config.joints]
        episode = dataset_episode(plugin, source)
        frames = [{"action": frame["observation.state"][:6]} for frame in source.frames]
        episode = dataclasses.replace(episode, frames=frames, names={"action": names})
        left = replay.replay(replay.prepare(episode, robot), robot)
        assert left < 0.005
        np.testing.assert_allclose(robot.q, frames[-1]["action"], atol=0.01)


@recorded
@pytest.mark.parametrize(
    ("case", "name"),
    [
        ("robot", "robot"),
        ("joints", "joints"),
        ("rate", "fps"),
        ("too fast", "fps"),
        ("names", "names"),
        ("NaN", "ee.x"),
        ("beyond", "position"),
        ("empty", "frames"),
    ],
)
def test_what_is_not_for_this_arm_is_refused_before_motion(plugin, record, case, name):
    convert = plugin("dataset_from_mcap")
    replay = plugin("replay_dataset")
    episode = dataset_episode(plugin, convert.read_episode(record[0], fps=25))
    frames = [dict(frame) for frame in episode.frames]
    fps = None
    if case == "robot":
        episode = dataclasses.replace(episode, robot="gen3")
    elif case == "joints":
        state = [each.replace("elbow", "knee") for each in episode.names["observation.state"]]
        episode = dataclasses.replace(episode, names={**episode.names, "observation.state": state})
    elif case == "rate":
        fps = 30
    elif case == "too fast":
        episode = dataclasses.replace(episode, fps=200)
    elif case == "names":
        action = [f"finger.{k}" for k in range(9)]
        episode = dataclasses.replace(episode, names={**episode.names, "action": action})
    elif case == "empty":
        episode = dataclasses.replace(episode, frames=[])
    else:
        action = np.array(frames[3]["action"])
        action[0] = np.nan if case == "NaN" else 9.0
        frames[3]["action"] = action
        episode = dataclasses.replace(episode, frames=frames)
    with Robot.simulated("ur5e") as robot:
        before = robot.state
        with pytest.raises(ConfigError) as caught:
            replay.prepare(episode, robot, fps)
        assert caught.value.name == name
        assert robot.state is before
