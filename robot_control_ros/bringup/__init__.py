"""Systems that run: their nodes, the nodes' parameters, and the order in which they start.

The command line starts them as processes, the launch files as launch actions; both decide nothing
themselves.
"""

from .drivers import GEN3, UR
from .ethercat_system import ETHERCAT
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
    "icube": ICUBE,
    "sim_ros2_control": BEHIND,
}

__all__ = ["SETUPS", "NodeSpec", "page"]
