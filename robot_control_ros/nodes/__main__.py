"""Run a node: ``python -m robot_control_ros.nodes NAME --ros-args …``."""

import sys
from importlib import import_module

NODES = (
    "can",
    "controller",
    "dashboard",
    "ethercat",
    "fieldbus",
    "franka",
    "simulator",
    "teleop",
    "wait_active",
    "watchdog",
)


def main(arguments: list[str]) -> None:
    """Run the node that is named first; the other arguments are its own."""
    if not arguments or arguments[0] not in NODES:
        sys.exit(f"name one of these nodes: {', '.join(NODES)}")
    sys.argv[1:] = arguments[1:]
    import_module(f"robot_control_ros.nodes.{arguments[0]}.node").main()


if __name__ == "__main__":
    main(sys.argv[1:])
