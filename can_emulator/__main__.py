"""``python -m can_emulator``: the command ``can-emulator``."""

import sys

from .program import main

sys.exit(main())
