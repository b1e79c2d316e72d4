"""Systems that run: their nodes and the nodes' parameters, checked before anything starts.

The command line starts them as processes. The files in launch/ list the nodes, take the values from
here, and say what follows the end of a process.
"""

from .can_system import CAN
from .drivers import GEN3, UR
from .ethercat_system import ETHERCAT
from .franka_system import FRANKA
from .gazebo import GAZEBO
from .package_nodes import SIMULATION, page
from .ros2_control import BEHIND, ICUBE, MOCK
from .system import NodeSpec
from .workcell_system import WORKCELL

SETUPS = {
    "sim": SIMULATION,
    "two_arms": WORKCELL,
    "mock": MOCK,
    "gazebo": GAZEBO,
    "ur": UR,
    "gen3": GEN3,
    "ethercat": ETHERCAT,
    "can": CAN,
    "fr3": FRANKA,
    "icube": ICUBE,
    "sim_ros2_control": BEHIND,
}

__all__ = ["SETUPS", "NodeSpec", "page"]
