"""From a description and a scene to MuJoCo's compiled model, and what the scene's objects exert on
the robot.

The mujoco module itself is handed in by :mod:`robot_control_ros.simulation.mujoco_plant`.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from typing import Any

import numpy as np

from ..core.errors import ConfigError, ModelError, refused, unknown
from ..core.gains import make_gains
from ..core.spatial import cross, make_pose, rotation_to_quaternion
from ..core.types import Array
from ..references.clearance import ClearanceSettings
from ..robot.arm_description import physical_description
from ..robot.collision_model import CollisionModel
from ..robot.configuration import RobotConfig
from ..robot.description import link_names, merge_descriptions, prefixed
from ..robot.model import RobotModel
from ..robot.payload import Payload
from ..robot.solids import Shape
from .imperfect.imperfect_arm import STIFF, add_imperfections, add_payload
from .imperfect.imperfections import Imperfections
from .mujoco_gripper import add_gripper
from .scene import Contact, Scene, SceneObject

SOFTEST = 0.01  # impedance of a soft layer where it begins; MuJoCo's default is 0.9
WAVE_POINTS = 20  # of a wave, where its height is given
_PREFIX = "scene/"  # no link of a description is called so
CELL_PREFIX = "cell/"  # of the shapes that stand for the robots' cells
_AXES = np.eye(3)
LOCK_PREFIX = "lock/"  # of the constraints that stand for closed brakes
_COMPILER = (
    '<mujoco><compiler strippath="false" fusestatic="false" discardvisual="true" '
    'balanceinertia="false"/></mujoco>'
)


def compile_model(
    mujoco: Any,
    arms: Sequence[tuple[RobotConfig, str]],
    step: float,
    scene: Scene,
    imperfections: Imperfections | None = None,
) -> Any:
    """MuJoCo's model of robots, each with the text of its description, with sensors at their wrench
    frames.

    Joints that no configuration names are fixed. Scene and imperfections are the first robot's. The
    physics has steps of `step` [s].

    Raises:
        ModelError: MuJoCo can't read the description, or it lacks a joint or frame.
    """
    robots = [robot for robot, _ in arms]
    grippers = [robot.gripper for robot in robots if robot.gripper is not None]
    moving = [name for robot in robots for name in robot.joints]
    moving += [joint.name for gripper in grippers for joint in gripper.joints]
    models = [RobotModel.of(robot, text) for robot, text in arms]
    texts = [model.urdf for model in models]  # without inertias that can't be
    urdf = physical_description(merge_descriptions(texts), tuple(moving))
    at = urdf.rfind("</robot>")
    try:
        spec = mujoco.MjSpec.from_string(urdf[:at] + _COMPILER + urdf[at:])
        _delete_meshes(mujoco, spec)
        for gripper in grippers:
            add_gripper(mujoco, spec, gripper)
        for robot, model in zip(robots, models, strict=True):
            _add_locks(mujoco, spec, robot, model)
        own = {link: number for number, (_, text) in enumerate(arms) for link in _links(text)}
        for geom in spec.geoms:
            geom.contype, geom.conaffinity = _collision_bits(own.get(geom.parent.name), len(arms))
        for robot, model in zip(robots, models, strict=True):
            _exclude_touching(spec, robot, model)
        _add_cell(mujoco, spec, robots, scene.without)
        _add_scene(mujoco, spec, scene, robots[0], _collision_bits(0, len(arms)))
        for robot in robots:
            _add_sensor(mujoco, spec, robot)
            add_payload(spec.body(robot.tip), robot.payload)
        spec.option.timestep = step
        if imperfections is not None:
            add_imperfections(mujoco, spec, robots[0], imperfections)
        spec.option.integrator = mujoco.mjtIntegrator.mjINT_IMPLICITFAST
        spec.option.disableflags |= mujoco.mjtDisableBit.mjDSBL_AUTORESET
        return spec.compile()
    except ValueError as error:
        if isinstance(error, ModelError):
            raise
        raise ModelError(f"MuJoCo can't read the robot description: {error}") from error


@lru_cache(maxsize=16)
def _links(urdf: str) -> tuple[str, ...]:
    """The links of a description; many arms have the same."""
    return link_names(urdf)


def _delete_meshes(mujoco: Any, spec: Any) -> None:
    """Delete meshes: shapes move nothing here, and a vendor's files are rarely at hand."""
    for geom in spec.geoms:
        if geom.type == mujoco.mjtGeom.mjGEOM_MESH:
            spec.delete(geom)
    for mesh in spec.meshes:
        spec.delete(mesh)


def wrench_sensors(robot: RobotConfig) -> tuple[str, str]:
    """Names of the sensors of force and torque at the robot's wrench frame."""
    return f"{robot.prefix}wrench/force", f"{robot.prefix}wrench/torque"


def _add_sensor(mujoco: Any, spec: Any, robot: RobotConfig) -> None:
    site = f"{robot.prefix}wrench"
    body = spec.body(robot.wrench_frame)
    if body is None:
        raise unknown(
            "frame",
            robot.wrench_frame,
            (other.name for other in spec.bodies if is_link(other.name)),
            ModelError,
        )
    body.add_site(name=site)
    kinds = mujoco.mjtSensor.mjSENS_FORCE, mujoco.mjtSensor.mjSENS_TORQUE
    for name, kind in zip(wrench_sensors(robot), kinds, strict=True):
        spec.add_sensor(name=name, type=kind, objtype=mujoco.mjtObj.mjOBJ_SITE, objname=site)


def _add_locks(mujoco: Any, spec: Any, robot: RobotConfig, model: RobotModel) -> None:
    rotors = robot.rotor_inertia if model.rotor_inertia is None else model.rotor_inertia
    for name, inertia in zip(robot.joints, rotors, strict=True):
        spec.joint(name).armature = inertia
        kinds = {"type": mujoco.mjtEq.mjEQ_JOINT, "objtype": mujoco.mjtObj.mjOBJ_JOINT}
        spec.add_equality(name=LOCK_PREFIX + name, name1=name, active=False, **kinds, **STIFF)


def _collision_bits(robot: int | None, count: int) -> tuple[int, int]:
    """Type and affinity of the shapes of a robot by its number, or of None, of so many.

    Two shapes may touch where the type of one has a bit of the other's affinity. Bit 0 is that of
    the scene's objects, which touch all but the cells. Robots touch each other and themselves;
    cells touch robots alone.
    """
    return (1, 0) if robot is None else (1 | 1 << (robot + 1), ((1 << count) - 1) << 1)


def _exclude_touching(spec: Any, robot: RobotConfig, model: RobotModel) -> None:
    """Exclude contacts between links that touch by design.

    See :class:`~..robot.collision_model.CollisionModel`.
    """
    settings = make_gains(ClearanceSettings, robot.clearance, robot.n)
    touching = CollisionModel(robot, model, settings.margin, Payload()).touching_links()
    bodies = {body.name for body in spec.bodies}
    for first, second in sorted(touching):
        if first < second and {first, second} <= bodies:
            spec.add_exclude(bodyname1=first, bodyname2=second)


def _add_cell(
    mujoco: Any, spec: Any, robots: Sequence[RobotConfig], without: Sequence[str]
) -> None:
    """Let the solids of the robots' cells stand in the world; arms may have some
    in common, by name.
    """
    objects = {name: each for robot in robots for name, each in robot.cell.items()}
    for name, each in objects.items():
        if name in without:
            continue
        geom = _add_geom(mujoco, spec.worldbody, each.shape, each.shape.pose)
        geom.name = CELL_PREFIX + name
        geom.contype = 0
        geom.conaffinity = ((1 << len(robots)) - 1) << 1


def _add_scene(
    mujoco: Any, spec: Any, scene: Scene, robot: RobotConfig, bits: tuple[int, int]
) -> None:
    """Build a scene into a model that is not compiled yet.

    Objects are children of the robot's base, so that everything is in its axes. A free one
    therefore gets three slides and a ball joint: MuJoCo has free joints in the world only.
    """
    base = spec.body(robot.base)
    for item in scene.objects.values():
        _add_object(mujoco, spec, base, item)
    if scene.tool is not None:
        link = prefixed(scene.tool_link, robot.prefix) if scene.tool_link else robot.tip
        body = spec.body(link)
        if body is None:
            links = [
                other.name for other in spec.bodies if other.name != "world" and is_link(other.name)
            ]
            raise unknown("frame", link, links, ModelError)
        geom = _add_geom(mujoco, body, scene.tool, scene.tool.pose)
        geom.mass = 0.0
        geom.contype, geom.conaffinity = bits
    for name in robot.joints:
        joint = spec.joint(name)
        joint.armature += scene.joints.rotor_inertia
        joint.frictionloss += scene.joints.friction
        if scene.joints.friction > 0.0 and not scene.joints.creep:
            joint.solref_friction = STIFF["solref"]
            joint.solimp_friction = STIFF["solimp"]


def is_link(body: str) -> bool:
    """True where a body is of the robot's description."""
    return not body.startswith(_PREFIX)


def _add_object(mujoco: Any, spec: Any, base: Any, item: SceneObject) -> None:
    body = base.add_body(name=_PREFIX + item.name)
    _place(body, item.shape.pose)
    if item.shape.kind == "waves":
        geom = _add_waves(mujoco, spec, body, item)
    else:
        geom = _add_geom(mujoco, body, item.shape, np.eye(4))
    surface = item.surface
    geom.priority = 1  # above the robot's: the object's surface is what counts
    geom.solref = [surface.time_constant, surface.damping_ratio]
    geom.friction[0] = surface.friction
    if surface.layer > 0.0:
        geom.solimp[[0, 2]] = SOFTEST, surface.layer
    if item.motion == "fixed":
        return
    geom.mass = item.mass
    for index, axis in enumerate("xyz"):
        name = f"{_PREFIX}{item.name}/{axis}"
        # axes of a joint are those of its body at the beginning
        direction = item.shape.pose[:3, :3].T @ _AXES[index]
        body.add_joint(name=name, type=mujoco.mjtJoint.mjJNT_SLIDE, axis=direction)
        if item.motion == "slides":
            _add_servo(mujoco, spec, name, item)
    if item.motion == "free":
        body.add_joint(name=f"{_PREFIX}{item.name}/turn", type=mujoco.mjtJoint.mjJNT_BALL)
    else:
        body.gravcomp = 1.0


def _add_servo(mujoco: Any, spec: Any, joint: str, item: SceneObject) -> None:
    gain = np.zeros(10)
    bias = np.zeros(10)
    gain[0] = item.stiffness
    bias[1] = -item.stiffness
    bias[2] = -item.damping
    spec.add_actuator(
        name=joint,
        target=joint,
        trntype=mujoco.mjtTrn.mjTRN_JOINT,
        gaintype=mujoco.mjtGain.mjGAIN_FIXED,
        gainprm=gain,
        biastype=mujoco.mjtBias.mjBIAS_AFFINE,
        biasprm=bias,
    )


def _add_geom(mujoco: Any, body: Any, shape: Shape, pose: Array) -> Any:
    halves = {"box": (0.5, 0.5, 0.5), "capsule": (1.0, 0.5), "cylinder": (1.0, 0.5)}.get(
        shape.kind, (1.0,)
    )
    size = np.zeros(3)
    size[: len(shape.size)] = np.multiply(shape.size, halves[: len(shape.size)])
    if shape.kind == "plane":
        size[2] = 1.0  # of its grid, which stays invisible
    geom = body.add_geom(type=getattr(mujoco.mjtGeom, f"mjGEOM_{shape.kind.upper()}"), size=size)
    _place(geom, pose)
    return geom


def _add_waves(mujoco: Any, spec: Any, body: Any, item: SceneObject) -> Any:
    """Add a field of heights, which MuJoCo has above the geom's origin, and a base below it."""
    x, y, z, height, length = item.shape.size
    rows = round(WAVE_POINTS * y / length) + 1
    waves = 0.5 + 0.5 * np.sin(2.0 * np.pi * np.linspace(-y / 2.0, y / 2.0, rows) / length)
    name = _PREFIX + item.name
    size = [x / 2.0, y / 2.0, height, z - height / 2.0]
    spec.add_hfield(name=name, size=size, nrow=rows, ncol=2, userdata=np.repeat(waves, 2))
    origin = [0.0, 0.0, (z - height) / 2.0]
    return body.add_geom(type=mujoco.mjtGeom.mjGEOM_HFIELD, hfieldname=name, pos=origin)


def _place(element: Any, pose: Array) -> None:
    x, y, z, w = rotation_to_quaternion(pose[:3, :3])
    element.pos = pose[:3, 3]
    element.quat = [w, x, y, z]


class SceneState:
    """The objects of a running simulation, and what they exert on the robot; see
    :class:`.mujoco_plant.MujocoPlant`.
    """

    def __init__(
        self,
        mujoco: Any,
        model: Any,
        data: Any,
        robot: RobotConfig,
        scene: Scene,
        links: Sequence[str],
    ) -> None:
        self._mujoco = mujoco
        self._model = model
        self._data = data
        self._scene = scene
        names = [model.body(body).name for body in range(model.nbody)]
        self._body_of = {
            name[len(_PREFIX) :]: body
            for body, name in enumerate(names)
            if name.startswith(_PREFIX)
        }
        self._links = set(links)
        # by geom; None for another robot's
        self._names = [self._name(geom, names) for geom in range(model.ngeom)]
        self._base = names.index(robot.base)
        self._tip = names.index(robot.tip)
        self._beyond_sensor = {robot.wrench_frame}
        for body, link in enumerate(names):  # parents come first
            if link in self._links and names[model.body_parentid[body]] in self._beyond_sensor:
                self._beyond_sensor.add(link)

    def pose(self, name: str) -> Array:
        data = self._data
        body = self._body_of[self._known(name)]
        rotation_t = data.xmat[self._base].reshape(3, 3).T
        position = rotation_t @ (data.xpos[body] - data.xpos[self._base])
        return make_pose(position, rotation_t @ data.xmat[body].reshape(3, 3))

    def move(self, name: str, position: Array) -> None:
        item = self._scene.objects[self._known(name)]
        if item.motion != "slides":
            movable = [
                other.name for other in self._scene.objects.values() if other.motion == "slides"
            ]
            text = f"{name!r} is {item.motion}; objects on slides: {', '.join(movable) or 'none'}"
            raise ConfigError(text, name=name, value=item.motion, bound=tuple(movable))
        if np.shape(position) != (3,) or not np.isfinite(position).all():
            raise refused(
                name, np.asarray(position), "must be 3 finite numbers", 3, where="position of "
            )
        for axis, way in zip("xyz", position - item.shape.pose[:3, 3], strict=True):
            self._data.actuator(f"{_PREFIX}{name}/{axis}").ctrl = way

    def wrench(self) -> Array:
        """Sum (6,) of the contacts beyond the force-torque sensor, about the tip origin."""
        total = np.zeros(6)
        data = self._data
        tip = data.xmat[self._base].reshape(3, 3).T @ (data.xpos[self._tip] - data.xpos[self._base])
        for contact in self.contacts():
            sides = contact.link in self._beyond_sensor, contact.object in self._beyond_sensor
            # between two links beyond the sensor it feels nothing
            sign = float(sides[0]) - float(sides[1])
            total += sign * contact.wrench
            total[3:] += sign * cross(contact.point - tip, contact.wrench[:3])
        return total

    def contacts(self) -> list[Contact]:
        """Every contact of the robot: with objects, with its cell, and with itself."""
        data = self._data
        if data.ncon == 0:
            return []
        contacts = []
        for index, (first, second) in enumerate(data.contact.geom.tolist()):
            names = self._names[first], self._names[second]
            links = names[0] in self._links, names[1] in self._links
            if None not in names and any(links):
                contacts.append(
                    self._contact(index, *(names if links[0] else names[::-1]), links[0])
                )
        return contacts

    def _name(self, geom: int, bodies: Sequence[str]) -> str | None:
        """The link, or the object of scene or cell, that a geom belongs to; None where it
        is another robot's.
        """
        body = bodies[int(self._model.geom_bodyid[geom])]
        if body.startswith(_PREFIX):
            return body[len(_PREFIX) :]
        name: str = self._model.geom(geom).name
        if name.startswith(CELL_PREFIX):
            return name[len(CELL_PREFIX) :]
        return body if body in self._links else None

    def _contact(self, index: int, link: str, other: str, robot_is_first: bool) -> Contact:
        """MuJoCo's contact with a number, of a link with an object or another link."""
        data = self._data
        raw = data.contact[index]
        # MuJoCo: what the first geom exerts on the second, in the axes of the contact
        on_second = np.zeros(6)
        self._mujoco.mj_contactForce(self._model, data, index, on_second)
        rotation_t = data.xmat[self._base].reshape(3, 3).T
        axes = rotation_t @ raw.frame.reshape(3, 3).T
        wrench = np.concatenate((axes @ on_second[:3], axes @ on_second[3:]))
        point = rotation_t @ (raw.pos - data.xpos[self._base])
        sign = -1.0 if robot_is_first else 1.0
        return Contact(link, other, point, sign * wrench)

    def _known(self, name: str) -> str:
        if name not in self._scene.objects:
            raise unknown("object", name, self._scene.objects)
        return name
