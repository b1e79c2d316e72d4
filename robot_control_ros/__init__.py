"""Compliant control of robot arms in ROS 2, in Python.

A control law reads joint states and a wrench, and commands the joints of an arm. The same law runs in a ROS 2 node,
on EtherCAT drives, and in an embedded MuJoCo simulation.

Units are SI, angles are in radians. n is the number of joints; joint arrays have the order of RobotConfig.joints.
Twists, wrenches and Jacobians have three linear rows, then three angular rows, in base axes at the tip origin.
A wrench is exerted by the environment on the robot.

A first example. It needs no ROS: ``pip install '.[sim]'`` in the repository.

    from robot_control_ros import Push, simulate

    log = simulate("ur5", "impedance", {"stiffness": 500.0}, push=Push(force=(20.0, 0.0, 0.0)), duration=3.0)
    print(log.pose_error[-1, 0])  # -0.04 m: 20 N against 500 N/m

Simulate:
    simulate        run a law on a simulated robot, faster than real time
    simulate_many   many arms at once, that differ in what is given; in several processes
    Push            a force that disturbs the robot
    Log             what simulate() recorded: arrays, CSV file, plot
    MujocoPlant     a simulated robot, step by step
    Scene           objects around the robot: a ball, a table, a wall
    load_scene, scene_names
    Imperfections   what a real arm has and an ideal one lacks: noise, delay, friction, trips
    load_imperfections

Choose a robot:
    load_robot      a robot's configuration, by name or from a YAML file
    robot_names     the robots of this package
    RobotConfig     joints, frames, limits, home
    HardwareProfile what one hardware of the robot takes, offers and compensates
    RobotModel      kinematics and dynamics
    RobotDynamics   pose, Jacobian, mass matrix, gravity at one state

Lead it while it runs:
    Robot           one object for a running controller, and for a simulation in this process
    Snapshot        one state of it: pose, twist, wrench, joints

    gym             environments for Gymnasium: gym.ComplianceEnv

Control it:
    ControlLoop     one cycle: model, reference, law, safety
    Plant           the protocol of what a loop can control
    EthercatPlant   CiA 402 drives on an EtherCAT bus
    RobotState      one sample of the robot
    SensedState     the same with the wrench on the tip
    Wrench          a force and a torque, exerted by the environment on the robot
    Reference       where the robot should be
    JointSpaceReference   the same, with the joints always given
    Command         what goes to the joints; its CommandMode says what the numbers are
    Trajectory      a reference for every time; more of them in robot_control_ros.references
    Hold            the trajectory that rests

Write a law:
    ControlLaw      the protocol of a law
    register        makes a law known by a name
    gain, choice    declare a gain: bounds, unit, text
    JOINT, MATRIX, TASK, VECTOR
                    sizes of a gain; the default is one number
    make_gains      checked gains from plain values
    law_names, law_class
    Array           numpy's array of float64

Catch an error:
    RobotControlError   all errors of this package
    ConfigError         a value is refused; the message names it, its bound, the valid choices
    ModelError          the robot description lacks a joint or a frame
    StaleStateError     no fresh sample came in time
    HardwareFault       the plant can't go on
    NotReached          a motion ended before its goal, or a wait before its condition

Read on: README.md lists the pages of the documentation. docs/architecture.md shows where to find what in the code.
CONTRIBUTING.md shows how to add a law, a robot, a plant.
"""

from importlib import import_module
from typing import TYPE_CHECKING

from .core.version import VERSION

__version__ = VERSION

if TYPE_CHECKING:
    from .client import gym
    from .client.robot import Robot
    from .client.snapshot import Snapshot
    from .control.loop import ControlLoop
    from .control.plant import Plant
    from .core.errors import ConfigError, HardwareFault, ModelError, NotReached, RobotControlError, StaleStateError
    from .core.gains import JOINT, MATRIX, TASK, VECTOR, choice, gain, make_gains
    from .core.types import (
        Array,
        Command,
        CommandMode,
        JointSpaceReference,
        Reference,
        RobotState,
        SensedState,
        Wrench,
    )
    from .fieldbus.ethercat.ethercat_plant import EthercatPlant
    from .laws import ControlLaw, law_class, law_names, register
    from .references import Hold, Trajectory
    from .robot.configuration import RobotConfig, load_robot, robot_names
    from .robot.model import RobotDynamics, RobotModel
    from .robot.profile import HardwareProfile
    from .simulation.imperfect.imperfections import Imperfections, load_imperfections
    from .simulation.in_process import Push, simulate
    from .simulation.log import Log
    from .simulation.many_arms import simulate_many
    from .simulation.mujoco_plant import MujocoPlant
    from .simulation.scene import Scene, load_scene, scene_names
else:
    _NAMES_OF_MODULES = {
        "client.gym": "gym",
        "client.robot": "Robot",
        "client.snapshot": "Snapshot",
        "control.loop": "ControlLoop",
        "control.plant": "Plant",
        "core.errors": "ConfigError HardwareFault ModelError NotReached RobotControlError StaleStateError",
        "core.gains": "JOINT MATRIX TASK VECTOR choice gain make_gains",
        "core.types": "Array Command CommandMode JointSpaceReference Reference RobotState SensedState Wrench",
        "fieldbus.ethercat.ethercat_plant": "EthercatPlant",
        "laws": "ControlLaw law_class law_names register",
        "references": "Hold Trajectory",
        "robot.configuration": "RobotConfig load_robot robot_names",
        "robot.model": "RobotDynamics RobotModel",
        "robot.profile": "HardwareProfile",
        "simulation.imperfect.imperfections": "Imperfections load_imperfections",
        "simulation.in_process": "Push simulate",
        "simulation.log": "Log",
        "simulation.many_arms": "simulate_many",
        "simulation.mujoco_plant": "MujocoPlant",
        "simulation.scene": "Scene load_scene scene_names",
    }
    _MODULES = {name: module for module, names in _NAMES_OF_MODULES.items() for name in names.split()}

    def __getattr__(name):
        """A public name, imported when it is first used (PEP 562)."""
        if name not in _MODULES:
            raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
        module = import_module(f".{_MODULES[name]}", __name__)
        value = globals()[name] = module if name == "gym" else getattr(module, name)
        return value

    def __dir__():
        return sorted({*globals(), *_MODULES})


__all__ = [
    "JOINT",
    "MATRIX",
    "TASK",
    "VECTOR",
    "Array",
    "Command",
    "CommandMode",
    "ConfigError",
    "ControlLaw",
    "ControlLoop",
    "EthercatPlant",
    "HardwareFault",
    "HardwareProfile",
    "Hold",
    "Imperfections",
    "JointSpaceReference",
    "Log",
    "ModelError",
    "MujocoPlant",
    "NotReached",
    "Plant",
    "Push",
    "Reference",
    "Robot",
    "RobotConfig",
    "RobotControlError",
    "RobotDynamics",
    "RobotModel",
    "RobotState",
    "Scene",
    "SensedState",
    "Snapshot",
    "StaleStateError",
    "Trajectory",
    "Wrench",
    "choice",
    "gain",
    "gym",
    "law_class",
    "law_names",
    "load_imperfections",
    "load_robot",
    "load_scene",
    "make_gains",
    "register",
    "robot_names",
    "scene_names",
    "simulate",
    "simulate_many",
]
