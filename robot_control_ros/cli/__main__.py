"""Run the command: ``python -m robot_control_ros.cli``."""

import sys

from .main import main

sys.exit(main())
