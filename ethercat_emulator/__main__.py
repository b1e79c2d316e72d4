"""``python -m ethercat_emulator``: the command ``ethercat-emulator``."""

import sys

from .program import main

sys.exit(main())
