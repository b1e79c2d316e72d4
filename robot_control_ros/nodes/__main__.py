"""Run a node: ``python -m robot_control_ros.nodes NAME --ros-args …``."""

import sys
from importlib import import_module

NODES = ("controller", "dashboard", "ethercat", "simulator", "teleop", "wait_active", "watchdog")

if __name__ == "__main__":
    if len(sys.argv) < 2 or sys.argv[1] not in NODES:
        sys.exit(f"name one of these nodes: {', '.join(NODES)}")
    import_module(f"robot_control_ros.nodes.{sys.argv.pop(1)}.node").main()
