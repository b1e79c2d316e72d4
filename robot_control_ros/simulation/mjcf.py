"""MuJoCo's own robots (MJCF) as robot descriptions (URDF).

MuJoCo's compiler reads the file. Its compiled bodies, joints and shapes are written as links and
joints. So masses, axes and limits are those that MuJoCo computes with, whatever defaults, classes
and includes the file has. What a description can't say is left out, and said in words.

A body becomes a link in the frame that MuJoCo gives it. A site becomes a frame that is fixed to
its body. A joint keeps MuJoCo's angle: its `ref` goes into the origin. A capsule becomes a
cylinder with two spheres, a mesh the box around it.
"""

from __future__ import annotations

import math
import xml.etree.ElementTree as ElementTree
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from ..core.errors import ModelError, missing_extra, unknown
from ..core.input_files import read_text
from ..core.spatial import make_pose, quaternion_to_rotation, rotation_exp
from ..core.types import Array
from ..robot.model import RobotModel

ROOT = "world"  # name of MuJoCo's first body
STANDARD_GRAVITY = (0.0, 0.0, -9.81)  # m/s², as in a RobotModel
SAME = 1e-9  # relative difference between MuJoCo's numbers and those of the written description
STATES = 10  # random ones, at which they are compared
SHOWN = 5  # names in a message, at most


@dataclass(frozen=True)
class MjcfArm:
    """A robot of MuJoCo as a description.

    Attributes:
        urdf: Text of the description.
        rotor_inertia: Armature of each joint [kg·m²], by its name.
        left_out: What the file has and the description lacks, one sentence each.
        compiled: MuJoCo's model of the file.
        joints: Number of each joint in MuJoCo's model, by its name.
        bodies: Number of the body of each link in MuJoCo's model, by the link's name.
        sites: Number of the site of each other frame in MuJoCo's model, by the frame's name.
    """

    urdf: str
    rotor_inertia: dict[str, float]
    left_out: tuple[str, ...]
    compiled: Any
    joints: dict[str, int]
    bodies: dict[str, int]
    sites: dict[str, int]


def read_mjcf(path: Path) -> MjcfArm:
    """Read an MJCF file, and what it includes.

    Raises:
        ConfigError: MuJoCo is not installed.
        ModelError: MuJoCo can't compile the file; or no joint is left that a description can say.
    """
    try:
        import mujoco
    except ImportError as error:
        raise missing_extra("an MJCF file", "mujoco", "sim") from error
    read_text("mjcf", path)  # refuses what is no regular file of text
    try:
        compiled = mujoco.MjModel.from_xml_path(str(path))
    except ValueError as error:
        raise ModelError(
            f"{path}: MuJoCo can't compile it: {error}", name="mjcf", value=str(path)
        ) from error
    return _Writer(mujoco, compiled, path).write()


def check_same(arm: MjcfArm, model: RobotModel, path: Path) -> None:
    """Compare the model of a written description with MuJoCo's, at random states.

    Inertia, gravity and Coriolis torques and the pose of the tip must be the same but for rounding.

    Args:
        arm: Robot as it was read.
        model: Model of its description, with the rotors' inertia.
        path: File of the robot, for the message.

    Raises:
        ModelError: They differ; names the quantity and by how much.
    """
    import mujoco

    compiled = arm.compiled
    data = mujoco.MjData(compiled)
    gravity = compiled.opt.gravity.copy()
    compiled.opt.gravity[:] = STANDARD_GRAVITY
    numbers = [arm.joints[name] for name in model.joints]
    places = compiled.jnt_qposadr[numbers]
    columns = compiled.jnt_dofadr[numbers]
    rng = np.random.default_rng(0)
    lower = np.maximum(model.limits.lower, -math.pi)
    upper = np.minimum(model.limits.upper, math.pi)
    inertia = np.zeros((compiled.nv, compiled.nv))
    try:
        for _ in range(STATES):
            q = rng.uniform(lower, upper)
            v = rng.uniform(-1.0, 1.0, model.n)
            data.qpos[:] = _resting_positions(mujoco, compiled)
            data.qvel[:] = 0.0
            data.qpos[places] = q
            data.qvel[columns] = v
            mujoco.mj_forward(compiled, data)
            mujoco.mj_fullM(compiled, data, inertia)
            kin = model.at(q, v)
            for quantity, theirs, ours in (
                ("inertia", inertia[np.ix_(columns, columns)], model.mass(q)),
                ("torques of gravity and motion", data.qfrc_bias[columns], model.bias(q, v)),
                ("pose of the tip", _tip_pose(arm, data, model), kin.pose),
            ):
                difference = float(np.abs(theirs - ours).max())
                bound = SAME * max(1.0, float(np.abs(theirs).max()))
                if not difference <= bound:
                    raise ModelError(
                        f"{path}: the description of it differs from MuJoCo's model: {quantity} by "
                        f"{difference:.2g}, must be at most {bound:.2g}",
                        name=quantity,
                        value=difference,
                        bound=bound,
                    )
    finally:
        compiled.opt.gravity[:] = gravity


def _resting_positions(mujoco: Any, compiled: Any) -> Array:
    """MuJoCo's positions with all joints of one axis at 0, as a description locks them."""
    positions: Array = compiled.qpos0.copy()
    for joint in range(compiled.njnt):
        if _is_simple(mujoco, compiled, joint):
            positions[compiled.jnt_qposadr[joint]] = 0.0
    return positions


def _tip_pose(arm: MjcfArm, data: Any, model: RobotModel) -> Array:
    """Pose (4, 4) of a model's tip in its base, by MuJoCo.

    Raises:
        ModelError: A frame is neither a body nor a site of the file.
    """
    poses = []
    for frame in (model.base, model.tip):
        if frame in arm.bodies:
            body = arm.bodies[frame]
            poses.append(make_pose(data.xpos[body], data.xmat[body].reshape(3, 3)))
        elif frame in arm.sites:
            site = arm.sites[frame]
            poses.append(make_pose(data.site_xpos[site], data.site_xmat[site].reshape(3, 3)))
        else:
            frames = (*arm.bodies, *arm.sites)
            raise unknown("frame", frame, frames, ModelError, hint="; these are MuJoCo's")
    base, tip = poses
    return np.asarray(np.linalg.inv(base) @ tip)


def _is_simple(mujoco: Any, compiled: Any, joint: int) -> bool:
    """True of a joint about or along one axis."""
    kinds = mujoco.mjtJoint
    return int(compiled.jnt_type[joint]) in (int(kinds.mjJNT_HINGE), int(kinds.mjJNT_SLIDE))


class _Writer:
    """Writes a compiled model as a description.

    Args:
        mujoco: Module mujoco.
        compiled: MuJoCo's model.
        path: File that it comes from, for messages.
    """

    def __init__(self, mujoco: Any, compiled: Any, path: Path) -> None:
        self._mujoco = mujoco
        self._compiled = compiled
        self._path = path
        # a file may name no robot; MuJoCo then says "MuJoCo Model"
        name = compiled.names[: compiled.names.index(b"\0")].decode()
        self._robot = ElementTree.Element("robot", name=name.strip().replace(" ", "_") or path.stem)
        self._frames = {ROOT}
        self._left_out: list[str] = []
        self._rotor_inertia: dict[str, float] = {}
        self._joints: dict[str, int] = {}
        self._sites: dict[str, int] = {}
        self._efforts = _efforts(mujoco, compiled)

    def write(self) -> MjcfArm:
        """The description of all bodies.

        Raises:
            ModelError: No joint is left; or a joint has no range, and must have one.
        """
        compiled = self._compiled
        bodies = [
            compiled.body(number).name or f"body_{number}" for number in range(compiled.nbody)
        ]
        self._frames.update(bodies)
        ElementTree.SubElement(self._robot, "link", name=ROOT)
        dropped: dict[int, str] = {}
        for number in range(1, compiled.nbody):
            parent = int(compiled.body_parentid[number])
            hindrance = dropped.get(parent, "") or self._hindrance(number)
            if hindrance:
                dropped[number] = hindrance
                continue
            self._add_body(number, bodies[parent], bodies[number])
        for kind in sorted(set(dropped.values())):
            names = [bodies[number] for number, reason in dropped.items() if reason == kind]
            self._left_out.append(f"Bodies on a {kind} joint are left out: {_listed(names)}.")
        if not self._rotor_inertia:
            reason = self._left_out[0] if self._left_out else "It has no joint."
            raise ModelError(
                f"{self._path}: no joint is left: {reason} A robot here stands on a fixed base",
                name="mjcf",
                value=str(self._path),
            )
        for number in range(compiled.nsite):
            if int(compiled.site_bodyid[number]) not in dropped:
                self._add_site(number, bodies[int(compiled.site_bodyid[number])])
        self._add_couplings()
        self._tell_the_rest()
        ElementTree.indent(self._robot)
        text = ElementTree.tostring(self._robot, encoding="unicode")
        return MjcfArm(
            text + "\n",
            self._rotor_inertia,
            tuple(self._left_out),
            compiled,
            self._joints,
            {name: number for number, name in enumerate(bodies) if number not in dropped},
            self._sites,
        )

    def _hindrance(self, body: int) -> str:
        """Kind of a body's joint that a description can't say; empty where it has none."""
        compiled = self._compiled
        kinds = self._mujoco.mjtJoint
        first = int(compiled.body_jntadr[body])
        for joint in range(first, first + int(compiled.body_jntnum[body])):
            kind = int(compiled.jnt_type[joint])
            if kind == int(kinds.mjJNT_FREE):
                return "free"
            if kind == int(kinds.mjJNT_BALL):
                return "ball"
        return ""

    def _add_body(self, number: int, parent: str, name: str) -> None:
        """Add the link of a body, its shapes, and the joints that carry it."""
        compiled = self._compiled
        place = _placement(compiled.body_pos[number], compiled.body_quat[number])
        first = int(compiled.body_jntadr[number])
        count = int(compiled.body_jntnum[number])
        carrier = parent
        for joint in range(first, first + count):
            anchor = np.array(compiled.jnt_pos[joint])
            last = joint == first + count - 1
            # the joint's own frame is at its anchor, in the axes of the body
            child = name if last and not anchor.any() else self._free_name(f"{name}_at_{joint}")
            self._add_joint(joint, carrier, child, place @ make_pose(anchor))
            carrier = child
            place = make_pose(-anchor)
        link = ElementTree.SubElement(self._robot, "link", name=name)
        self._add_inertial(link, number)
        self._add_shapes(link, number)
        if carrier != name:
            self._add_fixed(f"{name}_fixed", carrier, name, place)

    def _add_joint(self, joint: int, parent: str, child: str, place: Array) -> None:
        """Add a joint about or along one axis, and its link where that is no body's."""
        compiled = self._compiled
        name = compiled.joint(joint).name or f"joint_{joint}"
        axis = np.array(compiled.jnt_axis[joint])
        reference = float(compiled.qpos0[compiled.jnt_qposadr[joint]])
        limited = bool(compiled.jnt_limited[joint])
        lower, upper = (float(value) for value in compiled.jnt_range[joint])
        if int(compiled.jnt_type[joint]) == int(self._mujoco.mjtJoint.mjJNT_HINGE):
            kind = "revolute" if limited else "continuous"
            place = place @ make_pose(np.zeros(3), rotation_exp(-reference * axis))
        else:
            kind = "prismatic"
            place = place @ make_pose(-reference * axis)
            if not limited:
                raise ModelError(
                    f"{self._path}: joint {name} slides without end: give it a range",
                    name=name,
                )
        if child.startswith(f"{self._body_of(joint)}_at_"):
            ElementTree.SubElement(self._robot, "link", name=child)
        element = ElementTree.SubElement(self._robot, "joint", name=name, type=kind)
        ElementTree.SubElement(element, "parent", link=parent)
        ElementTree.SubElement(element, "child", link=child)
        _add_origin(element, place)
        ElementTree.SubElement(element, "axis", xyz=_numbers(axis))
        # 0 says that nobody told it
        limit = {"effort": repr(self._efforts.get(joint, 0.0)), "velocity": "0"}
        if limited:
            limit |= {"lower": repr(lower), "upper": repr(upper)}
        ElementTree.SubElement(element, "limit", limit)
        column = int(compiled.jnt_dofadr[joint])
        losses = {
            "damping": repr(float(np.ravel(compiled.dof_damping[column])[0])),
            "friction": repr(float(np.ravel(compiled.dof_frictionloss[column])[0])),
        }
        ElementTree.SubElement(element, "dynamics", losses)
        self._rotor_inertia[name] = float(compiled.dof_armature[column])
        self._joints[name] = joint

    def _body_of(self, joint: int) -> str:
        body = int(self._compiled.jnt_bodyid[joint])
        return self._compiled.body(body).name or f"body_{body}"

    def _add_fixed(self, name: str, parent: str, child: str, place: Array) -> None:
        """Add a joint that doesn't move; its child is there already, or is added by the caller."""
        element = ElementTree.SubElement(self._robot, "joint", name=name, type="fixed")
        ElementTree.SubElement(element, "parent", link=parent)
        ElementTree.SubElement(element, "child", link=child)
        _add_origin(element, place)

    def _add_inertial(self, link: ElementTree.Element, body: int) -> None:
        """Add mass and inertia of a body, unless it has neither."""
        compiled = self._compiled
        mass = float(compiled.body_mass[body])
        moments = np.array(compiled.body_inertia[body])
        if mass == 0.0 and not moments.any():
            return
        inertial = ElementTree.SubElement(link, "inertial")
        _add_origin(inertial, _placement(compiled.body_ipos[body], compiled.body_iquat[body]))
        ElementTree.SubElement(inertial, "mass", value=repr(mass))
        tensor = dict.fromkeys(("ixx", "ixy", "ixz", "iyy", "iyz", "izz"), "0")
        for key, moment in zip(("ixx", "iyy", "izz"), moments.tolist(), strict=True):
            tensor[key] = repr(moment)
        ElementTree.SubElement(inertial, "inertia", tensor)

    def _add_shapes(self, link: ElementTree.Element, body: int) -> None:
        """Add what a body collides with, or else what is seen of it."""
        compiled = self._compiled
        first = int(compiled.body_geomadr[body])
        geoms = range(first, first + int(compiled.body_geomnum[body]))
        solid = [
            geom for geom in geoms if compiled.geom_contype[geom] or compiled.geom_conaffinity[geom]
        ]
        for geom in solid or geoms:
            for tag in ("visual", "collision") if solid else ("visual",):
                for place, shape in self._shapes_of(geom):
                    element = ElementTree.SubElement(link, tag)
                    _add_origin(element, place)
                    ElementTree.SubElement(element, "geometry").append(shape)

    def _shapes_of(self, geom: int) -> list[tuple[Array, ElementTree.Element]]:
        """Shapes of a description that stand for one of MuJoCo, each with its pose (4, 4)."""
        compiled = self._compiled
        kinds = self._mujoco.mjtGeom
        kind = int(compiled.geom_type[geom])
        place = _placement(compiled.geom_pos[geom], compiled.geom_quat[geom])
        radius, half, third = (float(value) for value in compiled.geom_size[geom])
        if kind == int(kinds.mjGEOM_SPHERE):
            return [(place, _sphere(radius))]
        if kind == int(kinds.mjGEOM_BOX):
            return [(place, _box((radius, half, third)))]
        if kind == int(kinds.mjGEOM_CYLINDER):
            return [(place, _cylinder(radius, half))]
        if kind == int(kinds.mjGEOM_CAPSULE):
            ends = [place @ make_pose(np.array([0.0, 0.0, end])) for end in (-half, half)]
            return [(place, _cylinder(radius, half)), *((end, _sphere(radius)) for end in ends)]
        if kind in (int(kinds.mjGEOM_MESH), int(kinds.mjGEOM_ELLIPSOID)):
            middle = np.array(compiled.geom_aabb[geom][:3])
            return [(place @ make_pose(middle), _box(compiled.geom_aabb[geom][3:]))]
        return []  # a plane or a field of heights belongs to the world

    def _add_site(self, number: int, body: str) -> None:
        """Add a site as a frame."""
        compiled = self._compiled
        name = compiled.site(number).name
        if not name:
            return
        if name in self._frames:
            name = f"{name}_site"
        name = self._free_name(name)
        self._sites[name] = number
        ElementTree.SubElement(self._robot, "link", name=name)
        place = _placement(compiled.site_pos[number], compiled.site_quat[number])
        self._add_fixed(f"{name}_fixed", body, name, place)

    def _add_couplings(self) -> None:
        """Let joints follow others where the file says so, and tell what else is constrained."""
        compiled = self._compiled
        kinds = self._mujoco.mjtEq
        others: list[str] = []
        for number in range(compiled.neq):
            first = int(compiled.eq_obj1id[number])
            second = int(compiled.eq_obj2id[number])
            offset, factor, *rest = compiled.eq_data[number][:5].tolist()
            coupled = int(compiled.eq_type[number]) == int(kinds.mjEQ_JOINT) and second >= 0
            follower = None
            if coupled and not any(rest):
                name = compiled.joint(first).name or f"joint_{first}"
                follower = self._robot.find(f"joint[@name='{name}']")
            if follower is None:
                others.append(compiled.equality(number).name or f"number {number}")
                continue
            leader = compiled.joint(second).name or f"joint_{second}"
            values = {"joint": leader, "multiplier": repr(factor), "offset": repr(offset)}
            ElementTree.SubElement(follower, "mimic", values)
        if others:
            self._left_out.append(
                f"Equality constraints are left out: {_listed(others)}. A closed chain is open here."
            )

    def _tell_the_rest(self) -> None:
        """Say what else a description has no words for."""
        compiled = self._compiled
        if compiled.ntendon:
            names = [compiled.tendon(i).name or f"number {i}" for i in range(int(compiled.ntendon))]
            self._left_out.append(f"Tendons are left out: {_listed(names)}.")
        springs = [
            compiled.joint(joint).name or f"joint_{joint}"
            for joint in range(compiled.njnt)
            if np.any(compiled.jnt_stiffness[joint]) and _is_simple(self._mujoco, compiled, joint)
        ]
        if springs:
            self._left_out.append(f"Springs in joints are left out: {_listed(springs)}.")
        if np.any(compiled.body_gravcomp):
            self._left_out.append("Compensation of gravity (gravcomp) is left out: laws do it.")
        if not np.allclose(compiled.opt.gravity, STANDARD_GRAVITY, atol=0.02):
            shown = _numbers(compiled.opt.gravity)
            self._left_out.append(f"The file's gravity, {shown} m/s², is 0 0 -9.81 here.")
        if compiled.nflex or compiled.nskin:
            self._left_out.append("Soft bodies and skins are left out.")

    def _free_name(self, name: str) -> str:
        """A frame's name that no other frame has, which is then taken."""
        free = name
        count = 2
        while free in self._frames:
            free = f"{name}_{count}"
            count += 1
        self._frames.add(free)
        return free


def _efforts(mujoco: Any, compiled: Any) -> dict[int, float]:
    """Largest effort of each joint that the file limits [N·m or N], by the joint's number."""
    efforts: dict[int, float] = {}

    def limit(joint: int, value: float) -> None:
        if value > 0.0:
            efforts[joint] = min(efforts.get(joint, math.inf), value)

    for joint in range(compiled.njnt):
        if compiled.jnt_actfrclimited[joint]:
            limit(joint, float(np.abs(compiled.jnt_actfrcrange[joint]).max()))
    for number in range(compiled.nu):
        on_joint = int(compiled.actuator_trntype[number]) == int(mujoco.mjtTrn.mjTRN_JOINT)
        if not on_joint:
            continue
        joint = int(compiled.actuator_trnid[number][0])
        gear = abs(float(compiled.actuator_gear[number][0]))
        fixed = int(compiled.actuator_gaintype[number]) == int(mujoco.mjtGain.mjGAIN_FIXED)
        plain = int(compiled.actuator_biastype[number]) == int(mujoco.mjtBias.mjBIAS_NONE)
        if compiled.actuator_forcelimited[number]:
            limit(joint, gear * float(np.abs(compiled.actuator_forcerange[number]).max()))
        elif compiled.actuator_ctrllimited[number] and fixed and plain:
            gain = abs(float(compiled.actuator_gainprm[number][0]))
            limit(joint, gear * gain * float(np.abs(compiled.actuator_ctrlrange[number]).max()))
    return efforts


def _placement(position: Any, quaternion: Any) -> Array:
    """Pose (4, 4) of MuJoCo's position (3,) and quaternion (w, x, y, z)."""
    w, x, y, z = (float(value) for value in quaternion)
    return make_pose(np.array(position), quaternion_to_rotation(np.array([x, y, z, w])))


def _add_origin(element: ElementTree.Element, place: Array) -> None:
    xyz = _numbers(place[:3, 3])
    ElementTree.SubElement(element, "origin", xyz=xyz, rpy=_numbers(exact_rpy(place[:3, :3])))


def exact_rpy(rotation: Array) -> tuple[float, float, float]:
    """Roll, pitch and yaw [rad] of a rotation (3, 3), to the last digits also near a pitch of 90°.

    There roll and yaw turn about nearly one axis. The yaw may be any; pitch and roll are taken from
    what it leaves of the rotation.
    """
    r = rotation.tolist()
    yaw = math.atan2(r[1][0], r[0][0])
    sine = math.sin(yaw)
    cosine = math.cos(yaw)
    pitch = math.atan2(-r[2][0], cosine * r[0][0] + sine * r[1][0])
    roll = math.atan2(sine * r[0][2] - cosine * r[1][2], cosine * r[1][1] - sine * r[0][1])
    return roll, pitch, yaw


def _numbers(values: Iterable[float]) -> str:
    """The numbers of an attribute, exactly."""
    return " ".join(repr(float(value) + 0.0) for value in values)


def _sphere(radius: float) -> ElementTree.Element:
    return ElementTree.Element("sphere", radius=repr(radius))


def _box(half: Iterable[float]) -> ElementTree.Element:
    return ElementTree.Element("box", size=_numbers(2.0 * float(value) for value in half))


def _cylinder(radius: float, half: float) -> ElementTree.Element:
    return ElementTree.Element("cylinder", radius=repr(radius), length=repr(2.0 * half))


def _listed(names: Sequence[str]) -> str:
    """The first names, and how many more there are."""
    more = f" and {len(names) - SHOWN} more" if len(names) > SHOWN else ""
    return f"{', '.join(names[:SHOWN])}{more}"
