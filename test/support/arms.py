"""Arms for the tests: descriptions as text, and their mechanics by textbook formulae, without
a robotics library.
"""

import xml.etree.ElementTree as ElementTree
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy.spatial.transform import Rotation

from robot_control_ros.core.types import Array, CommandMode
from robot_control_ros.robot.configuration import RobotConfig, load_robot, robot_names
from robot_control_ros.robot.files import read_extended
from robot_control_ros.robot.model import RobotModel
from robot_control_ros.robot.profile import HardwareProfile

GRAVITY = np.array([0.0, 0.0, -9.81])
NO_MOUNT = ((0.0, 0.0, 0.0), (0.0, 0.0, 0.0))
# Robots that `make test` tries; tests of the others are long, but for a few that take no time.
TRIED = ("gen3", "planar_two_link", "ur5", "ur5e")


def robot_cases(names: Iterable[str] | None = None) -> list[Any]:
    """Names of robots as cases of a test, by default of all that the package brings.

    Those that aren't in TRIED are long.
    """
    return [
        name if name in TRIED else pytest.param(name, marks=pytest.mark.long)
        for name in (robot_names() if names is None else names)
    ]


def configuration_cases(robots: Mapping[str, RobotConfig]) -> list[Any]:
    """Configurations of robots as cases of a test, under their names; see robot_cases()."""
    return [
        pytest.param(robot, id=name, marks=() if name in TRIED else pytest.mark.long)
        for name, robot in robots.items()
    ]


def profile_names(robot: str) -> list[str]:
    """Names of the profiles of a robot of the package."""
    return list(read_extended("robot", robot)[1]["profiles"])


def arm_of_the_package(name: str) -> tuple[RobotModel, Array, Array, Array]:
    """Model of a robot of the package, its axes (6,), and ranges (n,) of its joints that
    can be tried [rad].
    """
    robot = load_robot(name)
    model = RobotModel.of(robot)
    lower, upper = np.maximum(model.limits.lower, -3.0), np.minimum(model.limits.upper, 3.0)
    return model, np.array(robot.axes), lower, upper


@dataclass(frozen=True)
class Arm:
    """A description with the joints and frames that are controlled."""

    urdf: str
    joints: tuple[str, ...]
    base: str = "base"
    tip: str = "tip"

    @property
    def n(self) -> int:
        return len(self.joints)

    def model(self, joints: Sequence[str] | None = None, **options: Any) -> RobotModel:
        """The package's model of it; `joints` reorders them."""
        return RobotModel(
            self.urdf, self.joints if joints is None else joints, self.base, self.tip, **options
        )

    def config(self, **changes: Any) -> RobotConfig:
        """A robot configuration; its description must be handed on as text."""
        every_mode = HardwareProfile(1000.0, tuple(CommandMode), gravity_by_robot=False)
        config = RobotConfig(
            name="arm",
            description="",
            urdf_path=Path("not_a_file.urdf"),
            joints=self.joints,
            base=self.base,
            tip=self.tip,
            wrench_frame=self.tip,
            home=(0.5,) * self.n,
            rotor_inertia=(0.1,) * self.n,
            effort_rate=(1e5,) * self.n,
            safe_damping=(0.0,) * self.n,
            tip_speed=(0.25, 1.0),
            tip_acceleration=(1.0, 4.0),
            joint_speed=0.3,
            profile_name="sim",
            profile=every_mode,
        )
        return replace(config, **changes)


def slowest_swing(robot: RobotConfig, stiffness: Sequence[float]) -> float:
    """Lowest frequency [rad/s] of a robot of the package at home, its tip held
    by a stiffness (6,).
    """
    model, q = RobotModel.of(robot), np.array(robot.home)
    jacobian = model.at(q).jacobian
    mobility = jacobian @ np.linalg.solve(model.mass(q), jacobian.T)
    squares = np.linalg.eigvals(mobility @ np.diag(stiffness)).real
    return float(np.sqrt(squares[squares > 1e-6 * squares.max()].min()))


def numbers(values: Iterable[float]) -> str:
    """The numbers of an XML attribute, exactly."""
    return " ".join(repr(float(value)) for value in values)


def inertial(rng: np.random.Generator) -> str:
    """Inertia of eight point masses: physically valid whatever they are."""
    points, masses = (
        rng.uniform(-0.1, 0.1, (8, 3)) + np.array([0.0, 0.0, 0.1]),
        rng.uniform(0.05, 0.3, 8),
    )
    centre = masses @ points / masses.sum()
    arms = points - centre
    about_centre = sum(
        m * (r @ r * np.eye(3) - np.outer(r, r)) for m, r in zip(masses, arms, strict=True)
    )
    entries = " ".join(
        f'i{"xyz"[i]}{"xyz"[j]}="{float(about_centre[i, j])!r}"'
        for i in range(3)
        for j in range(i, 3)
    )
    mass = float(masses.sum())
    return f'<inertial><origin xyz="{numbers(centre)}"/><mass value="{mass!r}"/><inertia {entries}/></inertial>'


def origin(xyz: Iterable[float], rpy: Iterable[float] = (0.0, 0.0, 0.0)) -> str:
    return f'<origin xyz="{numbers(xyz)}" rpy="{numbers(rpy)}"/>'


def fixed_joint(name: str, parent: str, child: str, placement: str) -> str:
    return f'<joint name="{name}" type="fixed"><parent link="{parent}"/><child link="{child}"/>{placement}</joint>'


def moving_joint(
    name: str,
    parent: str,
    child: str,
    placement: str,
    axis: Iterable[float],
    kind: str = "revolute",
    damping: float = 0.0,
    friction: float = 0.0,
) -> str:
    return (
        f'<joint name="{name}" type="{kind}"><parent link="{parent}"/><child link="{child}"/>{placement}'
        f'<axis xyz="{numbers(axis)}"/><limit lower="-6.0" upper="6.0" effort="200.0" velocity="3.0"/>'
        f'<dynamics damping="{damping}" friction="{friction}"/></joint>'
    )


def random_arm(
    seed: int,
    n: int,
    *,
    continuous: Iterable[int] = (),
    mount: tuple[Sequence[float], Sequence[float]] = NO_MOUNT,
    gripper: bool = False,
    friction: bool = False,
) -> Arm:
    """A serial arm with n joints about random axes and random links.

    Args:
        seed: the same gives the same arm, whatever else is asked for.
        continuous: indices of continuous joints; the others are revolute.
        mount: xyz and rpy of `base` in the root, `world`.
        gripper: True adds two more joints and three links with mass beyond the last one.
        friction: True gives each joint damping and friction.
    """
    rng = np.random.default_rng(seed)
    parts = ['<robot name="arm">', '<link name="world"/>', '<link name="base"/>']
    parts.append(fixed_joint("mount", "world", "base", origin(*mount)))
    joints, parent = [], "base"
    for i in range(n):
        child, name = f"link_{i + 1}", f"joint_{i + 1}"
        axis = rng.normal(size=3)
        placement = origin(rng.uniform(-0.25, 0.25, 3), rng.uniform(-np.pi, np.pi, 3))
        losses = rng.uniform(0.1, 2.0, 2) if friction else np.zeros(2)
        kind = "continuous" if i in set(continuous) else "revolute"
        axis /= np.linalg.norm(axis)
        parts.append(f'<link name="{child}">{inertial(np.random.default_rng((seed, i)))}</link>')
        parts.append(moving_joint(name, parent, child, placement, axis, kind, *losses))
        joints.append(name)
        parent = child
    parts.append('<link name="tip"/>')
    parts.append(
        fixed_joint("tip_joint", parent, "tip", origin((0.05, -0.1, 0.2), (0.3, -0.5, 0.7)))
    )
    if gripper:
        weights = [inertial(np.random.default_rng((seed, 100 + i))) for i in range(3)]
        for name, weight in zip(("palm", "left_finger", "right_finger"), weights, strict=True):
            parts.append(f'<link name="{name}">{weight}</link>')
        parts.append(fixed_joint("palm_joint", "tip", "palm", origin((0.0, 0.0, 0.05))))
        parts.append(
            moving_joint(
                "left_joint", "palm", "left_finger", origin((0.0, 0.05, 0.1)), (0.0, 1.0, 0.0)
            )
        )
        slide = origin((0.0, -0.05, 0.1))
        parts.append(
            moving_joint("right_joint", "palm", "right_finger", slide, (0.0, 1.0, 0.0), "prismatic")
        )
    return Arm("\n".join([*parts, "</robot>"]), tuple(joints))


def planar_arm(lengths: Sequence[float] = (0.5, 0.4, 0.3)) -> Arm:
    """Joints about vertical axes, moving the tip in the x-y plane; each link is a bar with its
    mass at half length.
    """
    parts = ['<robot name="planar">', '<link name="base"/>']
    parent, at = "base", 0.0
    for i, length in enumerate(lengths):
        placement, name = origin((at, 0.0, 0.0)), f"link_{i + 1}"
        weight = (
            f'<inertial><origin xyz="{length / 2} 0 0"/><mass value="2.0"/>'
            '<inertia ixx="0.01" ixy="0" ixz="0" iyy="0.02" iyz="0" izz="0.02"/></inertial>'
        )
        parts.append(f'<link name="{name}">{weight}</link>')
        parts.append(moving_joint(f"joint_{i + 1}", parent, name, placement, (0.0, 0.0, 1.0)))
        parent, at = name, length
    parts.append('<link name="tip"/>')
    parts.append(fixed_joint("tip_joint", parent, "tip", origin((at, 0.0, 0.0))))
    return Arm(
        "\n".join([*parts, "</robot>"]), tuple(f"joint_{i + 1}" for i in range(len(lengths)))
    )


def transform(xyz: Any, rotation: Rotation) -> np.ndarray:
    pose = np.eye(4)
    pose[:3, :3], pose[:3, 3] = rotation.as_matrix(), xyz
    return pose


def _vector(element: ElementTree.Element | None, name: str, default: str) -> np.ndarray:
    return np.array(
        (default if element is None else element.get(name, default)).split(), dtype=float
    )


def _placement(element: ElementTree.Element) -> np.ndarray:
    found = element.find("origin")
    # about fixed axes, as in URDF
    turned = Rotation.from_euler("xyz", _vector(found, "rpy", "0 0 0"))
    return transform(_vector(found, "xyz", "0 0 0"), turned)


class Chain:
    """RobotDynamics and dynamics of a description in the axes of its root; joints that
    aren't named are at 0.
    """

    def __init__(self, urdf: str) -> None:
        self._robot = ElementTree.fromstring(urdf)
        self._joints = {
            joint.find("child").get("link"): joint for joint in self._robot.findall("joint")
        }

    def pose(self, link: str, angles: Mapping[str, float]) -> np.ndarray:
        """Pose (4, 4) of a link in the root."""
        if link not in self._joints:
            return np.eye(4)
        joint = self._joints[link]
        pose = self.pose(joint.find("parent").get("link"), angles) @ _placement(joint)
        if joint.get("type") in ("revolute", "continuous"):
            axis = _vector(joint.find("axis"), "xyz", "1 0 0")
            angle = angles.get(joint.get("name"), 0.0)
            pose = pose @ transform(
                np.zeros(3), Rotation.from_rotvec(angle * axis / np.linalg.norm(axis))
            )
        return pose

    def relative(self, base: str, link: str, angles: Mapping[str, float]) -> np.ndarray:
        """Pose (4, 4) of a link in another one."""
        return np.linalg.inv(self.pose(base, angles)) @ self.pose(link, angles)

    def jacobian(
        self, link: str, angles: Mapping[str, float], point: np.ndarray | None = None
    ) -> np.ndarray:
        """Geometric Jacobian (6, n) of a point of the link, by default its origin; columns
        ordered as `angles`.
        """
        point = self.pose(link, angles)[:3, 3] if point is None else point
        columns = {name: np.zeros(6) for name in angles}
        while link in self._joints:
            joint = self._joints[link]
            if joint.get("name") in columns:
                pose = self.pose(link, angles)
                axis = _vector(joint.find("axis"), "xyz", "1 0 0")
                axis = pose[:3, :3] @ axis / np.linalg.norm(axis)
                columns[joint.get("name")] = np.concatenate(
                    (np.cross(axis, point - pose[:3, 3]), axis)
                )
            link = joint.find("parent").get("link")
        return np.column_stack(list(columns.values()))

    def _masses(
        self, angles: Mapping[str, float]
    ) -> Iterable[tuple[str, float, np.ndarray, np.ndarray]]:
        """Of each link with mass: its name, mass, centre and inertia about it
        in the root's axes.
        """
        for link in self._robot.findall("link"):
            weight = link.find("inertial")
            if weight is not None:
                at = self.pose(link.get("name"), angles) @ _placement(weight)
                i = {key: float(value) for key, value in weight.find("inertia").attrib.items()}
                inertia = np.array(
                    [
                        [i["ixx"], i["ixy"], i["ixz"]],
                        [i["ixy"], i["iyy"], i["iyz"]],
                        [i["ixz"], i["iyz"], i["izz"]],
                    ]
                )
                mass = float(weight.find("mass").get("value"))
                yield link.get("name"), mass, at[:3, 3], at[:3, :3] @ inertia @ at[:3, :3].T

    def potential_energy(self, angles: Mapping[str, float], gravity: np.ndarray = GRAVITY) -> float:
        return -sum(mass * float(gravity @ centre) for _, mass, centre, _ in self._masses(angles))

    def mass_matrix(self, angles: Mapping[str, float]) -> np.ndarray:
        """Sum over the links of m Jvᵀ Jv + Jwᵀ I Jw."""
        total = np.zeros((len(angles), len(angles)))
        for link, mass, centre, inertia in self._masses(angles):
            J = self.jacobian(link, angles, centre)
            total += mass * J[:3].T @ J[:3] + J[3:].T @ inertia @ J[3:]
        return total


def slope(function: Callable[[float], Any], step: float = 1e-5) -> np.ndarray:
    """Derivative at 0 by central differences of fourth order."""
    near = np.asarray(function(step)) - np.asarray(function(-step))
    far = np.asarray(function(2.0 * step)) - np.asarray(function(-2.0 * step))
    return (8.0 * near - far) / (12.0 * step)


def gradient(
    function: Callable[[np.ndarray], Any], at: np.ndarray, step: float = 1e-5
) -> np.ndarray:
    """Derivatives (…, n) at a point (n,), by central differences."""
    unit = np.eye(len(at))
    return np.stack([slope(lambda h, u=u: function(at + h * u), step) for u in unit], axis=-1)
