"""The physics of an imperfect arm, built into MuJoCo's model: friction, masses, rotors, elastic
gears, backlash.

The mujoco module itself is handed in by :mod:`robot_control_ros.simulation.mujoco_plant`.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np

from ...core.spatial import rotation_from_rpy
from ...core.types import Array
from ...robot.configuration import RobotConfig
from ...robot.payload import Payload
from .imperfections import Imperfections, per_joint

# as stiff as MuJoCo's constraints get
STIFF = {"solref": (0.002, 1.0), "solimp": (0.9999, 0.9999, 0.001, 0.5, 2.0)}
# sensors
TIP_VELOCITY = "trip/tip_velocity"
MOMENTUM = "trip/momentum"
_GEAR = "gear/"  # prefix of the joints that twist between motor and link
_PAYLOADS = "payload", "unknown_payload"  # bodies: what the configuration has, and what it hasn't
_POINT = 1e-6  # kg·m², of a point mass: MuJoCo wants some
_SOLID = 1e6  # N·m/rad, of a gear with backlash that isn't elastic: 100 N·m twist it by 0.1 mrad


class _Gear(NamedTuple):
    """Gear that gives way, between a motor and its link.

    Attributes:
        motor: Name of the motor's joint.
        stiffness: Stiffness of the gear [N·m/rad].
        gap: Way of the link from end to end, in which nothing holds it [rad]; 0 for none.
    """

    motor: str
    stiffness: float
    gap: float


def add_payload(tip: Any, payload: Payload, known: bool = True) -> None:
    """Put a payload on the tip's body of a model that is not compiled yet; `known` where the
    configuration has it.
    """
    if payload.mass == 0.0:
        return
    least, middle, largest = np.linalg.eigvalsh(payload.tensor)
    rounding = max(float(largest - least - middle), 0.0) + _POINT
    xx, yy, zz, *products = payload.inertia
    inertia = [xx + rounding, yy + rounding, zz + rounding, *products]
    name = tip.name + "/" + _PAYLOADS[0 if known else 1]
    tip.add_body(
        name=name,
        ipos=payload.center,
        mass=payload.mass,
        fullinertia=inertia,
        explicitinertial=True,
    )


def add_imperfections(mujoco: Any, spec: Any, robot: RobotConfig, given: Imperfections) -> None:
    """Add bodies, joints and sensors to a model that is not compiled yet.

    A gear that gives way is a second hinge in series with the joint, on the same axis. So the joint
    is the motor's side: the motor's torque, friction and rotor act there, and sensors read there.
    An elastic gear has a spring. The spring's damper has the time constant of one physics step,
    without which a light link on a stiff gear is faster than the physics. A gear with backlash is
    free within its gap, and both ends of it are as stiff as the gear; see :func:`_stiffen_gaps`.
    """
    unknown = Payload(given.model.payload_mass, np.array(given.model.payload_centre))
    add_payload(spec.body(robot.tip), unknown, known=False)
    for motor, stiffness, gap in _gears(robot, given):
        joint = spec.joint(motor)
        gear = joint.parent.add_joint(
            name=_GEAR + motor, type=joint.type, axis=joint.axis, pos=joint.pos
        )
        if gap > 0.0:
            gear.limited = mujoco.mjtLimited.mjLIMITED_TRUE
            gear.range = [-0.5 * gap, 0.5 * gap]
        else:
            gear.limited = mujoco.mjtLimited.mjLIMITED_FALSE
            gear.stiffness[0] = stiffness
            gear.damping[0] = stiffness * spec.option.timestep
    kinds = mujoco.mjtSensor, mujoco.mjtObj
    spec.add_sensor(
        name=TIP_VELOCITY,
        type=kinds[0].mjSENS_FRAMELINVEL,
        objtype=kinds[1].mjOBJ_XBODY,
        objname=robot.tip,
    )
    moving = spec.joint(robot.joints[0]).parent.name
    spec.add_sensor(
        name=MOMENTUM,
        type=kinds[0].mjSENS_SUBTREELINVEL,
        objtype=kinds[1].mjOBJ_BODY,
        objname=moving,
    )


def _gears(robot: RobotConfig, given: Imperfections) -> Iterator[_Gear]:
    """The gears that give way; a joint with a rigid gear without backlash has none."""
    stiffnesses = per_joint(given.stiffness or (math.inf,), robot.n).tolist()
    gaps = per_joint(given.backlash, robot.n).tolist()
    for motor, stiffness, gap in zip(robot.joints, stiffnesses, gaps, strict=True):
        if gap > 0.0:
            yield _Gear(motor, stiffness if stiffness < math.inf else _SOLID, gap)
        elif stiffness < math.inf:
            yield _Gear(motor, stiffness, 0.0)


def set_imperfections(mujoco: Any, model: Any, robot: RobotConfig, given: Imperfections) -> None:
    """Change the numbers of a compiled model."""
    n = robot.n
    friction = given.friction
    dofs = np.array([model.joint(name).dofadr[0] for name in robot.joints])
    model.dof_frictionloss[dofs] += per_joint(friction.coulomb, n)
    model.dof_damping[dofs] += per_joint(friction.viscous, n)
    # the description's own stays elsewhere
    if any(friction.coulomb) or any(friction.stiction) or friction.load > 0.0:
        model.dof_solref[dofs] = STIFF["solref"]
        model.dof_solimp[dofs] = STIFF["solimp"]
    if given.rotor_inertia:
        model.dof_armature[dofs] += per_joint(given.rotor_inertia, n) - np.array(
            robot.rotor_inertia
        )
    carriers = _carriers(model, robot)
    factor = 1.0 + per_joint(given.model.mass, n)
    for body, joint in carriers.items():
        model.body_mass[body] *= factor[joint]
        model.body_inertia[body] *= factor[joint]
    _move_centres(mujoco, model, robot, carriers, given)
    roll, pitch = given.model.base_tilt
    tilt = rotation_from_rpy(roll, pitch, 0.0)
    model.opt.gravity[:] = tilt.T @ model.opt.gravity
    mujoco.mj_setConst(model, mujoco.MjData(model))
    _stiffen_gaps(model, robot, given)


def _move_centres(
    mujoco: Any, model: Any, robot: RobotConfig, carriers: dict[int, int], given: Imperfections
) -> None:
    """Move the centres of mass of the links by their errors, with all that is fixed to them."""
    errors = given.model.centre
    shifts = np.column_stack([per_joint(each, robot.n) for each in (errors.x, errors.y, errors.z)])
    if not shifts.any():
        return
    data = mujoco.MjData(model)
    mujoco.mj_kinematics(model, data)
    links = [int(model.joint(name).bodyid[0]) for name in robot.joints]
    for body, joint in carriers.items():
        link_in_body = data.xmat[body].reshape(3, 3).T @ data.xmat[links[joint]].reshape(3, 3)
        model.body_ipos[body] += link_in_body @ shifts[joint]


def _stiffen_gaps(model: Any, robot: RobotConfig, given: Imperfections) -> None:
    """Make both ends of each gap as stiff as its gear.

    MuJoCo's limit of a joint gives the torque τ that keeps R τ = -ä₀ - B ṙ - K d r, beyond the
    limit by r, besides the reaction of the arm. With R = 1 / (k h²), K d = 1 / h², B = 1 / h, at a
    physics step h, this is a spring of stiffness k with a damper k h, as that of an elastic gear
    without backlash. The impedance d, constant here, makes R = (1 - d) / d · w, with the inverse
    inertia w of the hinge.

    Source: MuJoCo's documentation, Computation, Constraint model.
    """
    step = model.opt.timestep
    for motor, stiffness, gap in _gears(robot, given):
        if gap == 0.0:
            continue
        gear = model.joint(_GEAR + motor)
        held = float(model.dof_invweight0[gear.dofadr[0]]) * stiffness * step**2
        impedance = held / (1.0 + held)
        model.jnt_solref[gear.id] = -impedance / step**2, -impedance / step
        model.jnt_solimp[gear.id] = impedance, impedance, 0.001, 0.5, 2.0


def _carriers(model: Any, robot: RobotConfig) -> dict[int, int]:
    """Joint whose link a body is fixed to, by the number of each body of the moving arm.

    Payloads are not among them.
    """
    first = {int(model.joint(name).bodyid[0]): index for index, name in enumerate(robot.joints)}
    found: dict[int, int] = {}
    for body in range(1, model.nbody):  # parents come first
        parent = int(model.body_parentid[body])
        if body in first:
            found[body] = first[body]
        elif parent in found and not model.body(body).name.endswith(_PAYLOADS):
            found[body] = found[parent]
    return found


def servo_bandwidth(mass: Array, rotors: Array, step: float) -> float:
    """Largest bandwidth of servos of elastic joints [rad/s].

    Within a step they move rotors (n,) alone, not the arm's mass (n, n).

    With 2 w M of damping on a rotor J, a step h is stable for 2 w h M / J < 2; half of that.
    """
    return float(0.5 / (step * np.abs(np.linalg.eigvals(mass / rotors[:, None])).max()))


def settle(mujoco: Any, model: Any, data: Any, robot: RobotConfig, given: Imperfections) -> None:
    """Twist the gears as the present weight does at rest, so that a start is at rest."""
    for motor, stiffness, gap in _gears(robot, given):
        gear: Any = model.joint(_GEAR + motor)
        weight = -float(data.qfrc_bias[gear.dofadr[0]])
        data.qpos[gear.qposadr[0]] = weight / stiffness + 0.5 * gap * np.sign(weight)
    mujoco.mj_forward(model, data)
