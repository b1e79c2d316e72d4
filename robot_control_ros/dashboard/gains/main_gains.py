"""Order of a law's gains on the page: what one changes first comes first."""

from __future__ import annotations

from collections.abc import Mapping

from ...control.requests import Parameter

# Of laws whose first declared gains aren't what they are used for.
MAIN = {
    "force_control": ("force", "force_axes"),
    "joint_pid": ("p", "i", "d"),
    "joint_pid_effort": ("p", "i", "d"),
    "position_domain_pd": ("stiffness", "damping_ratio"),
}
USUAL = 2  # gains that are always visible, of a law that isn't named here


def in_order(law: str, parameters: Mapping[str, Parameter]) -> dict[str, Parameter]:
    """The parameters with the law's main gains first; the others keep their order."""
    main = [name for name in MAIN.get(law, ()) if name in parameters]
    names = [*main, *(name for name in parameters if name not in main)]
    return {name: parameters[name] for name in names}


def main_gains(law: str, parameters: Mapping[str, Parameter]) -> tuple[str, ...]:
    """Names of the gains that are always visible."""
    main = tuple(name for name in MAIN.get(law, ()) if name in parameters)
    return main or tuple(parameters)[:USUAL]
