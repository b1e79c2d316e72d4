"""Descriptions for the tests, as makers write them: parts of a URDF, and random robots."""

import numpy as np

TURN = '<axis xyz="{axis}"/><limit lower="-2" upper="2" effort="50" velocity="3"/>'


def inertial(mass, moments, rpy="0 0 0", center="0.02 -0.01 0.05"):
    """The element of a mass with principal moments of inertia along axes that
    are turned by `rpy`.
    """
    tensor = " ".join(
        f'{name}="{value!r}"' for name, value in zip(("ixx", "iyy", "izz"), moments, strict=True)
    )
    return (
        f'<inertial><origin xyz="{center}" rpy="{rpy}"/><mass value="{mass!r}"/>'
        f'<inertia {tensor} ixy="0" ixz="0" iyz="0"/></inertial>'
    )


def link(name, content=""):
    return f'<link name="{name}">{content}</link>'


def joint(
    name, parent, child, kind="revolute", *, origin="0 0 0.2", rpy="0 0 0", axis="0 1 0", more=""
):
    limit = "" if kind == "fixed" else TURN.format(axis=axis)
    return (
        f'<joint name="{name}" type="{kind}"><parent link="{parent}"/><child link="{child}"/>'
        f'<origin xyz="{origin}" rpy="{rpy}"/>{limit}{more}</joint>'
    )


def robot(*parts):
    return f'<robot name="r">{"".join(parts)}</robot>'


GOOD = inertial(2.0, (0.02, 0.03, 0.04), "0.1 0.2 0.3")
ARM = (
    link("base"),
    joint("a", "base", "upper"),
    link("upper", GOOD),
    joint("b", "upper", "fore"),
    link("fore", GOOD),
)


def random_robot(rng):
    """A chain of two to five joints, with fixed links, fingers that mimic others, and odd
    inertias; its joints.
    """
    parts = [link("base", inertial(1e-6, (0.0, 0.0, 3e-6)) if rng.random() < 0.3 else "")]
    names = []
    carrier = "base"
    kinds = ("revolute", "continuous", "prismatic")
    for number in range(rng.integers(2, 6)):
        child = f"link{number}"
        name = child if rng.random() < 0.2 else f"joint{number}"  # a joint and a link of one name
        axis = " ".join(map(repr, np.round(unit(rng), 6).tolist()))
        turned = " ".join(map(repr, rng.uniform(-1.0, 1.0, 3).tolist()))
        parts += [
            joint(name, carrier, child, rng.choice(kinds), rpy=turned, axis=axis),
            link(child, odd(rng, GOOD)),
        ]
        for side in range(rng.integers(0, 3)):
            extra = f"{child}_side{side}"
            parts += [
                joint(f"{extra}_joint", child, extra, "fixed", rpy=turned),
                link(extra, odd(rng, "")),
            ]
        names.append(name)
        carrier = child
    follower = '<mimic joint="finger0" multiplier="-1"/>'
    for side in range(rng.integers(0, 3)):
        more = follower if side else ""
        parts += [
            joint(f"finger{side}", carrier, f"finger{side}_link", more=more),
            link(f"finger{side}_link", GOOD),
        ]
    order = rng.permutation(len(parts))
    return robot(*(parts[k] for k in order)), tuple(names), carrier


def unit(rng):
    direction = rng.normal(size=3)
    return direction / np.linalg.norm(direction)


def odd(rng, usual):
    """The inertial element of a link: usual, or one as makers write them."""
    point = inertial(0.05, (0.0, 0.0, 0.0))
    rod = inertial(0.3, (0.0, 0.02, 0.02), "0.3 0.1 0.2")
    impossible = inertial(0.05, (1e-4, 1e-4, 1e-3))
    lacking = '<inertial><mass value="0.2"/><inertia ixx="0.1" iyy="0.1" izz="0.1"/></inertial>'
    choices = [usual, usual, usual, "", point, rod, impossible, lacking]
    return choices[rng.integers(len(choices))]
