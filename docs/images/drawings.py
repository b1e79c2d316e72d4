"""Draws the pictures of docs/concepts.md and docs/before_touch.md, as SVG. Type: python docs/images/drawings.py"""

from __future__ import annotations

import math
from collections.abc import Callable
from itertools import pairwise
from pathlib import Path
from xml.sax.saxutils import escape

Point = tuple[float, float]

BLUE, ORANGE, GREEN, RED, GREY, DARK = (
    "#1f5fa8",
    "#d9681d",
    "#2f8a50",
    "#c0392b",
    "#8a8f98",
    "#22262c",
)
PALE = {BLUE: "#e6eef8", ORANGE: "#fcebdf", GREEN: "#e5f3ea", RED: "#f9e6e3", GREY: "#f1f2f4"}
WIDTH = 760


# --- shapes ---


def text(
    at: Point,
    words: str,
    *,
    colour: str = DARK,
    size: int = 15,
    anchor: str = "middle",
    bold: bool = False,
) -> str:
    """Lines of words; `at` is the middle of the first line's base, or its start or end."""
    weight = ' font-weight="bold"' if bold else ""
    lines = [
        f'<text x="{at[0]:g}" y="{at[1] + index * size * 1.3:g}" fill="{colour}" font-size="{size}" '
        f'text-anchor="{anchor}"{weight}>{escape(line)}</text>'
        for index, line in enumerate(words.split("\n"))
    ]
    return "".join(lines)


def line(
    start: Point, end: Point, colour: str = DARK, width: float = 2.0, dashed: bool = False
) -> str:
    """A straight line."""
    dash = ' stroke-dasharray="6 5"' if dashed else ""
    return (
        f'<line x1="{start[0]:g}" y1="{start[1]:g}" x2="{end[0]:g}" y2="{end[1]:g}" '
        f'stroke="{colour}" stroke-width="{width:g}" stroke-linecap="round"{dash}/>'
    )


def arrow(start: Point, end: Point, colour: str = DARK, width: float = 2.5) -> str:
    """A line with a head at its end."""
    length = math.dist(start, end)
    ux, uy = (end[0] - start[0]) / length, (end[1] - start[1]) / length
    head = 4.5 * width
    neck = end[0] - head * ux, end[1] - head * uy
    corners = (
        end,
        (neck[0] - 0.45 * head * uy, neck[1] + 0.45 * head * ux),
        (neck[0] + 0.45 * head * uy, neck[1] - 0.45 * head * ux),
    )
    points = " ".join(f"{x:.1f},{y:.1f}" for x, y in corners)
    return line(start, neck, colour, width) + f'<polygon points="{points}" fill="{colour}"/>'


def path(*points: Point, colour: str = DARK, width: float = 2.5) -> str:
    """Straight lines from point to point; the last one is an arrow."""
    parts = [line(start, end, colour, width) for start, end in pairwise(points[:-1])]
    return "".join(parts) + arrow(points[-2], points[-1], colour, width)


def box(corner: Point, size: Point, words: str = "", colour: str = BLUE, note: str = "") -> str:
    """A box with words in its middle, bold, and a note below them."""
    (x, y), (width, height) = corner, size
    shape = (
        f'<rect x="{x:g}" y="{y:g}" width="{width:g}" height="{height:g}" rx="8" '
        f'fill="{PALE[colour]}" stroke="{colour}" stroke-width="2"/>'
    )
    rows = words.count("\n") + 1
    notes = note.count("\n") + 1 if note else 0
    top = y + (height - rows * 19.5 - notes * 17.0) / 2 + 15
    shape += text((x + width / 2, top), words, bold=True)
    return shape + (text((x + width / 2, top + rows * 19.5 - 1), note, size=13) if note else "")


def spring(start: Point, end: Point, colour: str = BLUE) -> str:
    """A spring that lies along x."""
    turns, lead = 9, 18.0
    length = end[0] - start[0] - 2 * lead
    zigzag = [
        (
            start[0] + lead + length * (index + 0.5) / (2 * turns),
            start[1] + (11 if index % 2 else -11),
        )
        for index in range(2 * turns)
    ]
    points = [start, (start[0] + lead, start[1]), *zigzag, (end[0] - lead, end[1]), end]
    joined = " ".join(f"{x:.1f},{y:.1f}" for x, y in points)
    return f'<polyline points="{joined}" fill="none" stroke="{colour}" stroke-width="2.5" stroke-linejoin="round"/>'


def arm(points: list[Point], width: float = 15.0) -> str:
    """Links between joints; the last point is the tip."""
    joined = " ".join(f"{x:g},{y:g}" for x, y in points)
    links = (
        f'<polyline points="{joined}" fill="none" stroke="{BLUE}" stroke-width="{width:g}" '
        'stroke-linejoin="round" stroke-linecap="round"/>'
    )
    joints = [f'<circle cx="{x:g}" cy="{y:g}" r="5" fill="white"/>' for x, y in points[:-1]]
    return links + "".join(joints)


def ground(start: Point, end: Point) -> str:
    """A hatched line; the hatching is below it, or left of it where it stands upright."""
    count = int(math.dist(start, end) // 12)
    hatches = []
    for index in range(count + 1):
        x = start[0] + (end[0] - start[0]) * index / count
        y = start[1] + (end[1] - start[1]) * index / count
        hatches.append(line((x, y), (x - 8, y + 8), GREY, 1.5))
    return "".join(hatches) + line(start, end, GREY, 3.0)


def axes(origin: Point, turned: float, length: float, names: str = "xz", width: float = 2.5) -> str:
    """Axes x, red, and z, blue, in the plane of the picture; turned by an angle [deg], anticlockwise."""
    drawn = ""
    for name, colour, angle in ((names[0], RED, turned), (names[1], BLUE, turned + 90.0)):
        ux, uy = math.cos(math.radians(angle)), -math.sin(math.radians(angle))
        drawn += arrow(origin, (origin[0] + length * ux, origin[1] + length * uy), colour, width)
        drawn += text(
            (origin[0] + (length + 12) * ux, origin[1] + (length + 12) * uy + 5),
            name,
            colour=colour,
        )
    return drawn


# --- pictures ---


def compliance() -> tuple[int, str]:
    """One force, two springs: what stiffness is."""
    reference, wall, half = 430.0, 210.0, 22.0
    drawn = text((reference, 26), "reference", colour=GREEN) + line(
        (reference, 36), (reference, 318), GREEN, 2, True
    )
    rows = (
        (80, "no push", 0, ""),
        (170, "stiff: 2000 N/m", 10, "10 mm"),
        (260, "soft: 500 N/m", 40, "40 mm"),
    )
    for y, name, millimetres, words in rows:
        tip = reference + 2.0 * millimetres
        drawn += text((16, y + 5), name, anchor="start", bold=True)
        drawn += ground((wall, y - 26), (wall, y + 26)) + spring((wall, y), (tip - half, y))
        drawn += (
            f'<rect x="{tip - half:g}" y="{y - half:g}" width="{2 * half:g}" height="{2 * half:g}" rx="6" '
            f'fill="{PALE[BLUE]}" stroke="{BLUE}" stroke-width="2.5"/>' + text((tip, y + 5), "tip")
        )
        if millimetres:
            drawn += arrow((tip + half, y), (tip + half + 80, y), ORANGE, 3.5)
            drawn += text(
                (tip + half + 88, y + 5), "20 N", colour=ORANGE, anchor="start", bold=True
            )
            drawn += line((tip, y + half + 5), (tip, y + half + 17), DARK, 1.5)
            drawn += line((reference, y + half + 11), (tip, y + half + 11), DARK, 3.0)
            drawn += text((tip + 8, y + half + 17), words, anchor="start", bold=True)
    return 330, drawn


def impedance_admittance() -> tuple[int, str]:
    """The two ways to make an arm behave as a spring."""
    drawn = ""
    rows = (
        (
            0,
            "Impedance: motion in, torque out",
            "the law\nis a spring",
            "positions,\nvelocities",
            "torques",
        ),
        (
            215,
            "Admittance: force in, motion out",
            "the law moves\na virtual body",
            "wrench",
            "positions or\nvelocities",
        ),
    )
    ends = (
        ("the arm moves\nwhen you push it", "the joints\ntake torques"),
        ("the sensor\nfeels your push", "stiff drives\nfollow"),
    )
    for (top, title, law, given, sent), (first, last) in zip(rows, ends, strict=True):
        y = top + 46
        drawn += text((16, top + 26), title, anchor="start", bold=True, size=17)
        drawn += box((16, y), (176, 76), first, ORANGE) + box((300, y), (160, 76), law, BLUE)
        drawn += box((584, y), (160, 76), last, GREY)
        drawn += arrow((192, y + 38), (298, y + 38)) + arrow((460, y + 38), (582, y + 38))
        for x, words in ((245, given), (520, sent)):
            drawn += text((x, y + 29 - 17 * words.count("\n")), words, size=13)
        drawn += path((664, y + 76), (664, y + 112), (104, y + 112), (104, y + 78), colour=GREY)
        drawn += text((380, y + 130), "the arm gives way", size=13, colour=GREY)
    return 412, drawn


def frames() -> tuple[int, str]:
    """Base and tip, and whose axes are used."""
    base, tip = (130.0, 244.0), (392.0, 140.0)
    drawn = ground((70, 258), (200, 258)) + ground((330, 258), (470, 258))
    drawn += arm([base, (170, 82), (312, 36), tip]) + axes(base, 0.0, 66)
    drawn += text((222, 249), "base", anchor="start", bold=True)
    drawn += axes(tip, -142.0, 56) + axes(tip, 0.0, 70, width=1.5)
    drawn += f'<circle cx="{tip[0]:g}" cy="{tip[1]:g}" r="6" fill="{DARK}"/>'
    drawn += text((404, 124), "tip", anchor="start", bold=True)
    drawn += text((496, 112), "thin: the base's axes", anchor="start", bold=True)
    drawn += text(
        (496, 132),
        "Twists, wrenches, errors and stiffness\nhave these axes, and the tip as origin.",
        anchor="start",
        size=13,
    )
    drawn += text((496, 194), "thick: the tip's own axes", anchor="start", bold=True)
    drawn += text((496, 214), "They turn with the tool.", anchor="start", size=13)
    drawn += arrow((392, 252), (392, 154), ORANGE, 4)
    words = (
        "A wrench is what the environment exerts on\nthe robot. Here the table pushes upwards: +z."
    )
    return 316, drawn + text((330, 286), words, anchor="start", colour=ORANGE, size=14)


def gravity() -> tuple[int, str]:
    """Who holds the weight."""
    drawn = ""
    cases = (
        (
            0,
            "gravity_by_robot: false",
            "spring and damper\n+ gravity",
            "motors",
            "0 N·m: the arm falls",
            RED,
        ),
        (
            385,
            "gravity_by_robot: true",
            "spring and damper",
            "motors, and\ntheir own gravity",
            "0 N·m: the arm stays",
            GREEN,
        ),
    )
    for left, title, torque, robot, zero, colour in cases:
        drawn += text((left + 187, 28), title, bold=True, size=17)
        drawn += box((left + 16, 50), (130, 84), "controller", BLUE)
        drawn += box((left + 236, 50), (130, 84), "robot", GREY, robot)
        drawn += arrow((left + 146, 92), (left + 234, 92))
        drawn += text((left + 190, 156), torque, size=13)
        drawn += line((left + 190, 98), (left + 190, 140), GREY, 1.0)
        drawn += text((left + 187, 210), zero, colour=colour, bold=True)
    drawn += line((380, 14), (380, 220), GREY, 1.0)
    drawn += text((187, 236), "this simulator, EtherCAT drives, Gazebo", size=13)
    return 252, drawn + text((572, 236), "UR5e, mock hardware", size=13)


def cycle() -> tuple[int, str]:
    """One control cycle."""
    steps = (
        ("check", "stamps,\nnumbers"),
        ("model", "Pinocchio"),
        ("wrench", "at the tip"),
        ("reference", "for this\ntime"),
        ("law", "command"),
        ("transition", "no jump"),
        ("safety", "limits,\nrates"),
    )
    width, gap = 92.0, 14.0
    drawn = text((16, 30), "the controller, once for each joint state", anchor="start", bold=True)
    for index, (name, note) in enumerate(steps):
        x = 16 + index * (width + gap)
        drawn += box((x, 48), (width, 82), name, BLUE if name != "law" else ORANGE, note)
        if index:
            drawn += arrow((x - gap, 89), (x - 1, 89), DARK, 1.8)
    drawn += box((280, 196), (200, 60), "robot, or simulator", GREY)
    drawn += path((698, 130), (698, 226), (482, 226)) + path((280, 226), (62, 226), (62, 132))
    drawn += text((590, 216), "commands") + text(
        (590, 248), "effort, position\nor velocity", size=13
    )
    return 276, drawn + text((170, 216), "joint_states, wrench") + text(
        (170, 248), "500 times a second\non a UR5e", size=13
    )


def layers() -> tuple[int, str]:
    """What acts when something fails, from the inside to the outside."""
    rows = (
        (
            RED,
            "the robot's own safety system",
            "emergency stop, protective stop: the only one here that protects a person",
        ),
        (GREY, "watchdog", "another process: commands are missing for 0.04 s"),
        (BLUE, "controller", "joint states are missing for 0.1 s, or hold NaN"),
        (ORANGE, "limits in every command", "effort, velocity, position, change per second"),
    )
    drawn = ""
    for index, (colour, name, note) in enumerate(rows):
        inset, top = 16 + index * 34.0, 14 + index * 62.0
        height = 62.0 * (len(rows) - index) + 14.0 * (len(rows) - index - 1)
        drawn += box((inset, top), (WIDTH - 2 * inset, height), "", colour)
        drawn += text((inset + 16, top + 26), name, bold=True, anchor="start")
        drawn += text((inset + 16, top + 46), note, anchor="start", size=13)
    return 320, drawn


PICTURES: tuple[Callable[[], tuple[int, str]], ...] = (
    compliance,
    impedance_admittance,
    frames,
    gravity,
    cycle,
    layers,
)


def svg(height: int, drawn: str) -> str:
    """A file of it, on white, so that it is readable on dark pages."""
    head = f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {height}" width="{WIDTH}" height="{height}"'
    body = drawn.replace("><", ">\n<")
    white = '<rect width="100%" height="100%" fill="white"/>'
    return f'{head} font-family="Helvetica, Arial, sans-serif">\n{white}\n{body}\n</svg>\n'


def main(folder: Path = Path(__file__).parent) -> None:
    """Write all of them."""
    for picture in PICTURES:
        (folder / f"{picture.__name__}.svg").write_text(svg(*picture()), encoding="utf-8")


if __name__ == "__main__":
    main()
