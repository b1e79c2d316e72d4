"""The parts of LeRobot 0.4.4 that the plug-in uses, by its source: the abstract robot, teleoperator
and camera, and a dataset's checks. `make test-lerobot` runs LeRobot itself.
"""

import abc
import importlib
import pkgutil
import sys
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType
from typing import ClassVar

import numpy as np


class Choice:
    @classmethod
    def register_subclass(cls, name):
        def register(subclass):
            subclass.type = name
            return subclass

        return register


@dataclass(kw_only=True)
class DeviceConfig(Choice):
    id: str | None = None
    calibration_dir: Path | None = None


class RobotConfig(DeviceConfig): ...


class TeleoperatorConfig(DeviceConfig): ...


@dataclass(kw_only=True)
class CameraConfig(Choice):
    fps: int | None = None
    width: int | None = None
    height: int | None = None


class Robot(abc.ABC):
    def __init__(self, config):
        self.robot_type, self.id = self.name, config.id

    def __enter__(self):
        self.connect()
        return self

    def __exit__(self, *error):
        self.disconnect()

    observation_features = property(abc.abstractmethod(lambda self: {}))
    action_features = property(abc.abstractmethod(lambda self: {}))
    is_connected = property(abc.abstractmethod(lambda self: False))
    is_calibrated = property(abc.abstractmethod(lambda self: False))

    @abc.abstractmethod
    def connect(self, calibrate=True): ...

    @abc.abstractmethod
    def calibrate(self): ...

    @abc.abstractmethod
    def configure(self): ...

    @abc.abstractmethod
    def get_observation(self): ...

    @abc.abstractmethod
    def send_action(self, action): ...

    @abc.abstractmethod
    def disconnect(self): ...


class Teleoperator(abc.ABC):
    def __init__(self, config):
        self.id = config.id

    action_features = property(abc.abstractmethod(lambda self: {}))
    feedback_features = property(abc.abstractmethod(lambda self: {}))
    is_connected = property(abc.abstractmethod(lambda self: False))
    is_calibrated = property(abc.abstractmethod(lambda self: False))

    @abc.abstractmethod
    def connect(self, calibrate=True): ...

    @abc.abstractmethod
    def calibrate(self): ...

    @abc.abstractmethod
    def configure(self): ...

    @abc.abstractmethod
    def get_action(self): ...

    @abc.abstractmethod
    def send_feedback(self, feedback): ...

    @abc.abstractmethod
    def disconnect(self): ...


class Camera(abc.ABC):
    def __init__(self, config):
        self.fps, self.width, self.height = config.fps, config.width, config.height

    is_connected = property(abc.abstractmethod(lambda self: False))

    @staticmethod
    @abc.abstractmethod
    def find_cameras(): ...

    @abc.abstractmethod
    def connect(self, warmup=True): ...

    @abc.abstractmethod
    def read(self): ...

    @abc.abstractmethod
    def async_read(self, timeout_ms=200.0): ...

    @abc.abstractmethod
    def disconnect(self): ...


def make_cameras(configs):
    """Make each camera as LeRobot does: its class has the name of its configuration, without
    Config, and is in the package of that configuration's module.
    """
    cameras = {}
    for name, config in configs.items():
        package = importlib.import_module(type(config).__module__.rpartition(".")[0])
        cameras[name] = getattr(package, type(config).__name__.removesuffix("Config"))(config)
    return cameras


class DeviceNotConnectedError(ConnectionError): ...


class DeviceAlreadyConnectedError(ConnectionError): ...


class LeRobotDataset:
    """Keeps what it gets; it checks each frame as `validate_frame` does."""

    made: ClassVar[list] = []

    @classmethod
    def create(cls, repo_id, fps, features, root=None, robot_type=None, use_videos=True):
        self = cls()
        self.about, self.fps, self.features = (repo_id, root, robot_type), fps, features
        self.buffer, self.episodes, self.finalized = [], [], False
        cls.made.append(self)
        return self

    def add_frame(self, frame):
        assert isinstance(frame["task"], str)
        assert set(frame) - {"task"} == set(self.features)
        for name, feature in self.features.items():
            value = frame[name]
            assert isinstance(value, np.ndarray)
            assert value.dtype == np.dtype(feature["dtype"])
            assert value.shape == feature["shape"]
        self.buffer.append(frame)

    def save_episode(self):
        self.episodes.append(self.buffer)
        self.buffer = []

    def finalize(self):
        self.finalized = True


def load_plugin(name):
    """Import a package and all its modules, as LeRobot does for the option
    `discover_packages_path`.
    """
    package = importlib.import_module(name)
    for module in pkgutil.iter_modules(package.__path__, f"{name}."):
        importlib.import_module(module.name)


def install(monkeypatch):
    """Make this module importable as `lerobot`, and forget a plug-in that an
    earlier test imported.
    """
    contents = {
        "lerobot": {},
        "lerobot.robots": {"Robot": Robot, "RobotConfig": RobotConfig},
        "lerobot.cameras": {
            "Camera": Camera,
            "CameraConfig": CameraConfig,
            "make_cameras_from_configs": make_cameras,
        },
        "lerobot.teleoperators": {
            "Teleoperator": Teleoperator,
            "TeleoperatorConfig": TeleoperatorConfig,
        },
        "lerobot.utils": {},
        "lerobot.utils.errors": {
            "DeviceNotConnectedError": DeviceNotConnectedError,
            "DeviceAlreadyConnectedError": DeviceAlreadyConnectedError,
        },
        "lerobot.datasets": {},
        "lerobot.datasets.lerobot_dataset": {"LeRobotDataset": LeRobotDataset},
    }
    for name, members in contents.items():
        module = ModuleType(name)
        vars(module).update(members)
        monkeypatch.setitem(sys.modules, name, module)
    monkeypatch.setattr(LeRobotDataset, "made", [])
    for name in [each for each in sys.modules if each.startswith("lerobot_robot_compliant_arm")]:
        monkeypatch.delitem(sys.modules, name)
