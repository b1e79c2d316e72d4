"""From a robot's description and a scene to MuJoCo's compiled model.

The mujoco module itself is handed in by :mod:`robot_control_ros.simulation.mujoco_plant`.
"""

from __future__ import annotations

from typing import Any

from ..core.errors import ModelError, unknown
from ..robot.configuration import RobotConfig
from .mujoco_scene import add_scene
from .scene import Scene

LOCK_PREFIX = "lock/"  # of the constraints that stand for closed brakes
_LOCK = {"solref": (0.002, 1.0), "solimp": (0.9999, 0.9999, 0.001, 0.5, 2.0)}  # as stiff as MuJoCo's constraints get
_COMPILER = (
    '<mujoco><compiler strippath="false" fusestatic="false" discardvisual="true" balanceinertia="false"/></mujoco>'
)


def compile_model(mujoco: Any, robot: RobotConfig, urdf: str, step: float, scene: Scene) -> Any:
    """MuJoCo's model of a description within a scene, with a sensor at the robot's wrench frame.

    Args:
        mujoco: the module.
        robot: its configuration; joints that it doesn't name are fixed.
        urdf: text of the description.
        step: of the physics [s].
        scene: what stands around the robot.

    Raises:
        ModelError: MuJoCo can't read the description, or it lacks a joint or frame.
    """
    at = urdf.rfind("</robot>")
    try:
        spec = mujoco.MjSpec.from_string(urdf[:at] + _COMPILER + urdf[at:])
        for joint in spec.joints:
            if joint.name not in robot.joints:
                spec.delete(joint)
        for name, inertia in zip(robot.joints, robot.rotor_inertia, strict=True):
            spec.joint(name).armature = inertia
            kinds = {"type": mujoco.mjtEq.mjEQ_JOINT, "objtype": mujoco.mjtObj.mjOBJ_JOINT}
            spec.add_equality(name=LOCK_PREFIX + name, name1=name, active=False, **kinds, **_LOCK)
        for geom in spec.geoms:
            if geom.type == mujoco.mjtGeom.mjGEOM_MESH:
                spec.delete(geom)  # shapes move nothing here, and a vendor's mesh files are rarely at hand
            else:
                geom.contype, geom.conaffinity = 1, 0
        for mesh in spec.meshes:
            spec.delete(mesh)
        sensor_body = spec.body(robot.wrench_frame)
        if sensor_body is None:
            raise unknown("frame", robot.wrench_frame, (body.name for body in spec.bodies), ModelError)
        add_scene(mujoco, spec, scene, robot)
        sensor_body.add_site(name="wrench")
        for kind in (mujoco.mjtSensor.mjSENS_FORCE, mujoco.mjtSensor.mjSENS_TORQUE):
            spec.add_sensor(name=f"wrench_{int(kind)}", type=kind, objtype=mujoco.mjtObj.mjOBJ_SITE, objname="wrench")
        spec.option.timestep = step
        spec.option.integrator = mujoco.mjtIntegrator.mjINT_IMPLICITFAST
        spec.option.disableflags |= mujoco.mjtDisableBit.mjDSBL_AUTORESET
        return spec.compile()
    except ValueError as error:
        if isinstance(error, ModelError):
            raise
        raise ModelError(f"MuJoCo can't read the robot description: {error}") from error
