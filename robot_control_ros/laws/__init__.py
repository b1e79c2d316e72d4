"""Control laws, one file each. A new file in this folder that registers a law
is found by itself.
"""

from importlib import import_module
from pkgutil import iter_modules

from .law import ControlLaw, command_mode, law_class, law_names, register

for _module in iter_modules(__path__):
    import_module(f"{__name__}.{_module.name}")

__all__ = ["ControlLaw", "command_mode", "law_class", "law_names", "register"]
