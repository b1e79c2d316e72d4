"""The physics of an imperfect arm, built into MuJoCo's model: friction, masses, rotors, elastic gears.

The mujoco module itself is handed in by :mod:`robot_control_ros.simulation.mujoco_plant`.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from ...core.types import Array
from ...robot.configuration import RobotConfig
from ...robot.payload import Payload
from .imperfections import Imperfections, per_joint

STIFF = {"solref": (0.002, 1.0), "solimp": (0.9999, 0.9999, 0.001, 0.5, 2.0)}  # as stiff as MuJoCo's constraints get
# sensors
TIP_VELOCITY = "trip/tip_velocity"
MOMENTUM = "trip/momentum"
_GEAR = "gear/"  # prefix of the joints that twist between motor and link
_PAYLOADS = "payload", "unknown_payload"  # bodies: what the configuration has, and what it hasn't
_POINT = 1e-6  # kg·m², of a point mass: MuJoCo wants some


def add_payload(tip: Any, payload: Payload, known: bool = True) -> None:
    """Put a payload on the tip's body of a model that is not compiled yet; `known` where the configuration has it."""
    if payload.mass == 0.0:
        return
    least, middle, largest = np.linalg.eigvalsh(payload.tensor)
    rounding = max(float(largest - least - middle), 0.0) + _POINT
    xx, yy, zz, *products = payload.inertia
    inertia = [xx + rounding, yy + rounding, zz + rounding, *products]
    name = tip.name + "/" + _PAYLOADS[0 if known else 1]
    tip.add_body(name=name, ipos=payload.center, mass=payload.mass, fullinertia=inertia, explicitinertial=True)


def add_imperfections(mujoco: Any, spec: Any, robot: RobotConfig, given: Imperfections) -> None:
    """Add bodies, joints and sensors to a model that is not compiled yet.

    An elastic gear is a second hinge in series with the joint, on the same axis, with a spring. So the joint is the
    motor's side: the motor's torque, friction and rotor act there, and sensors read there. The spring's damper has the
    time constant of one physics step, without which a light link on a stiff gear is faster than the physics.
    """
    unknown = Payload(given.model.payload_mass, np.array(given.model.payload_centre))
    add_payload(spec.body(robot.tip), unknown, known=False)
    if given.stiffness:
        for name, stiffness in zip(robot.joints, per_joint(given.stiffness, robot.n).tolist(), strict=True):
            motor = spec.joint(name)
            gear = motor.parent.add_joint(name=_GEAR + name, type=motor.type, axis=motor.axis, pos=motor.pos)
            gear.limited = mujoco.mjtLimited.mjLIMITED_FALSE
            gear.stiffness[0] = stiffness
            gear.damping[0] = stiffness * spec.option.timestep
    kinds = mujoco.mjtSensor, mujoco.mjtObj
    spec.add_sensor(
        name=TIP_VELOCITY, type=kinds[0].mjSENS_FRAMELINVEL, objtype=kinds[1].mjOBJ_XBODY, objname=robot.tip
    )
    moving = spec.joint(robot.joints[0]).parent.name
    spec.add_sensor(name=MOMENTUM, type=kinds[0].mjSENS_SUBTREELINVEL, objtype=kinds[1].mjOBJ_BODY, objname=moving)


def set_imperfections(mujoco: Any, model: Any, robot: RobotConfig, given: Imperfections) -> None:
    """Change the numbers of a compiled model."""
    n = robot.n
    dofs = np.array([model.joint(name).dofadr[0] for name in robot.joints])
    model.dof_frictionloss[dofs] += per_joint(given.friction.coulomb, n)
    model.dof_damping[dofs] += per_joint(given.friction.viscous, n)
    if any(given.friction.coulomb) or given.friction.load > 0.0:  # the description's own stays as it is elsewhere
        model.dof_solref[dofs] = STIFF["solref"]
        model.dof_solimp[dofs] = STIFF["solimp"]
    if given.rotor_inertia:
        model.dof_armature[dofs] += per_joint(given.rotor_inertia, n) - np.array(robot.rotor_inertia)
    factor = 1.0 + per_joint(given.model.mass, n)
    for body, joint in _carriers(model, robot).items():
        model.body_mass[body] *= factor[joint]
        model.body_inertia[body] *= factor[joint]
    mujoco.mj_setConst(model, mujoco.MjData(model))


def _carriers(model: Any, robot: RobotConfig) -> dict[int, int]:
    """By number of each body of the moving arm, the joint whose link it is fixed to; payloads are not among them."""
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
    """What servos of elastic joints bear [rad/s]: within a step they move rotors (n,) alone, not the arm's mass (n, n).

    With 2 w M of damping on a rotor J, a step h is stable for 2 w h M / J < 2; half of that.
    """
    return float(0.5 / (step * np.abs(np.linalg.eigvals(mass / rotors[:, None])).max()))


def settle(mujoco: Any, model: Any, data: Any, robot: RobotConfig) -> None:
    """Twist elastic gears as the present weight does at rest, so that a start is at rest."""
    for name in robot.joints:
        gear: Any = model.joint(_GEAR + name)
        data.qpos[gear.qposadr[0]] = -data.qfrc_bias[gear.dofadr[0]] / gear.stiffness[0]
    mujoco.mj_forward(model, data)
