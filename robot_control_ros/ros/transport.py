"""Lets the nodes' messages travel over UDP, not through Fast DDS's shared memory.

In shared memory each process locks the queues of its receivers. A process that is killed with such
a lock leaves it closed for a second and more. Meanwhile the watchdog's commands don't reach the
robot. Over UDP there are no such locks.
"""

from __future__ import annotations

import os
from collections.abc import Mapping, MutableMapping

from rclpy.utilities import get_rmw_implementation_identifier

from ..robot.files import share_directory

_RANGE = "ROS_AUTOMATIC_DISCOVERY_RANGE"
_TRANSPORTS = "FASTDDS_BUILTIN_TRANSPORTS"
_BEFORE_FAST_DDS_3 = ("humble", "iron", "jazzy")


def profiles_variable(variables: Mapping[str, str]) -> str:
    """Environment variable that names the file of profiles; Fast DDS 3 has changed its name."""
    before = variables.get("ROS_DISTRO") in _BEFORE_FAST_DDS_3
    return "FASTRTPS_DEFAULT_PROFILES_FILE" if before else "FASTDDS_DEFAULT_PROFILES_FILE"


def leave_shared_memory(variables: MutableMapping[str, str] = os.environ) -> None:
    """Choose UDP for this process, unless the user has chosen another transport or own profiles.

    It must be called before rclpy.init(). With the range LOCALHOST, rmw_fastrtps adds shared memory
    whatever is chosen. So the range is changed, and a profile of this package keeps to this machine
    instead. Both profiles send a node's message to itself over UDP, too: see hearing.py.
    """
    if not get_rmw_implementation_identifier().startswith("rmw_fastrtps"):
        return
    profiles = profiles_variable(variables)
    if variables.setdefault(_TRANSPORTS, "UDPv4") != "UDPv4" or profiles in variables:
        return
    this_machine = variables.get(_RANGE) == "LOCALHOST"
    if this_machine:
        variables[_RANGE] = "SYSTEM_DEFAULT"
    name = "fastdds.xml" if this_machine else "fastdds_network.xml"
    variables[profiles] = str(share_directory() / "config" / name)
