# ruff: noqa: I001  The order is that of help(robot_control_ros).
# The public names, written nowhere else. Editors and type checkers read them here, as a stub. __init__.py reads them
# here, too: it imports a name when it is first used, and makes __all__ and the list of help(robot_control_ros).
# A section of the list begins with two marks. The comment before an import says there what its names are.
# `simulate as simulate` is how a stub makes a name public (PEP 484).

__version__: str

## Simulate

# run a law on a simulated robot, faster than real time
from .simulation.in_process import simulate as simulate

# many arms at once, that differ in what is given; in several processes
from .simulation.many_arms import simulate_many as simulate_many

# a force that disturbs the robot
from .simulation.in_process import Push as Push

# what simulate() recorded: arrays, CSV file, plot
from .simulation.log import Log as Log

# a simulated robot, step by step
from .simulation.mujoco_plant import MujocoPlant as MujocoPlant

# objects around the robot: a ball, a table, a wall
from .simulation.scene import Scene as Scene

# the scenes of this package
from .simulation.scene import load_scene as load_scene, scene_names as scene_names

# what a real arm has and an ideal one lacks: noise, delay, friction, trips
from .simulation.imperfect.imperfections import Imperfections as Imperfections

# imperfections by name, or from a YAML file
from .simulation.imperfect.imperfections import load_imperfections as load_imperfections

## Choose a robot

# a robot's configuration, by name or from a YAML file
from .robot.configuration import load_robot as load_robot

# the robots of this package
from .robot.configuration import robot_names as robot_names

# joints, frames, limits, home
from .robot.configuration import RobotConfig as RobotConfig

# what one hardware of the robot takes, offers and compensates
from .robot.profile import HardwareProfile as HardwareProfile

# kinematics and dynamics
from .robot.model import RobotModel as RobotModel

# pose, Jacobian, mass matrix, gravity at one state
from .robot.model import RobotDynamics as RobotDynamics

## Lead it while it runs

# one object for a running controller, and for a simulation in this process
from .client.robot import Robot as Robot

# one state of it: pose, twist, wrench, joints
from .client.snapshot import Snapshot as Snapshot

## Control it

# one cycle: model, reference, law, safety
from .control.loop import ControlLoop as ControlLoop

# the protocol of what a loop can control
from .control.plant import Plant as Plant

# CiA 402 drives on an EtherCAT bus
from .fieldbus.ethercat.ethercat_plant import EthercatPlant as EthercatPlant

# one sample of the robot
from .core.types import RobotState as RobotState

# the same with the wrench on the tip
from .core.types import SensedState as SensedState

# a force and a torque, exerted by the environment on the robot
from .core.types import Wrench as Wrench

# where the robot should be
from .core.types import Reference as Reference

# the same, with the joints always given
from .core.types import JointSpaceReference as JointSpaceReference

# what goes to the joints
from .core.types import Command as Command

# what the numbers of a command are: efforts, positions or velocities
from .core.types import CommandMode as CommandMode

# a reference for every time; more of them in robot_control_ros.references
from .references import Trajectory as Trajectory

# the trajectory that rests
from .references import Hold as Hold

## Write a law

# the protocol of a law
from .laws import ControlLaw as ControlLaw

# makes a law known by a name
from .laws import register as register

# declare a gain: bounds, unit, text
from .core.gains import gain as gain, choice as choice

# sizes of a gain; the default is one number
from .core.gains import JOINT as JOINT, MATRIX as MATRIX, TASK as TASK, VECTOR as VECTOR

# checked gains from plain values
from .core.gains import make_gains as make_gains

# the laws that are known, and one of them
from .laws import law_names as law_names, law_class as law_class

# numpy's array of float64
from .core.types import Array as Array

## Add a sensor

# the protocol of a sensor, and one number that it measures
from .sensing.sensor import Sensor as Sensor, SensorValue as SensorValue

## Catch an error

# all errors of this package
from .core.errors import RobotControlError as RobotControlError

# a value is refused; the message names it, its bound, the valid choices
from .core.errors import ConfigError as ConfigError

# the robot description lacks a joint or a frame
from .core.errors import ModelError as ModelError

# no fresh sample came in time
from .core.errors import StaleStateError as StaleStateError

# the plant can't go on
from .core.errors import HardwareFault as HardwareFault

# a motion ended before its goal, or a wait before its condition
from .core.errors import NotReached as NotReached
