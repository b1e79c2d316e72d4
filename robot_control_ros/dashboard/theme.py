"""The colours of all pages, in one place: of texts, of the bar, of curves, and of the picture.

Texts have a contrast of 4.5 or more on the light and on the dark panel. What is drawn in the
picture is seen before a light and before a dark ground.
"""

from __future__ import annotations

# Of texts, on a light and on a dark panel.
GREEN = "light-dark(#237032, #69db7c)"  # good
AMBER = "light-dark(#9c4a00, #ffa94d)"  # a warning
RED = "light-dark(#c92a2a, #ff8787)"  # an error
GREY = "light-dark(#5c636a, #adb5bd)"  # a remark
BLUE = "light-dark(#1864ab, #74c0fc)"  # a link, a name

BRAND = (33, 110, 190)  # of the library's controls

# The same for style sheets, and what only these need; `var(--rc-NAME)` is one of them.
VARIABLES = {
    "good": GREEN,
    "warning": AMBER,
    "error": RED,
    "remark": GREY,
    "link": BLUE,
    "text": "light-dark(#212529, #e9ecef)",
    "panel": "light-dark(#ffffff, #242424)",
    "ground": "light-dark(#ffffff, #141414)",
    "line": "light-dark(#ced4da, #424242)",
    "button": "light-dark(#f1f3f5, #373a40)",
    "button-line": "light-dark(#868e96, #868e96)",
    "filled": "light-dark(#1864ab, #216ebe)",
    "outline": "light-dark(#216ebe, #74c0fc)",
    "focus": "light-dark(#1c6dbe, #74c0fc)",
    "warning-edge": "#e67700",
    "stop": "#c92a2a",
    "stop-hover": "#a61e1e",
    "on-stop": "#ffffff",
    "disabled": "#5c636a",
    "done": "#2b8a3e",
}

# Of curves.
CURVES = (
    "#d9480f",
    "#0f9d76",
    "#1c7ed6",
    "#e8a200",
    "#c2558f",
    "#66b6f0",
    "#8d6e3f",
    "#7950c8",
)
MEASURED = "#1c7ed6"
IDEAL = "#e8590c"
CURVE_GREY = "#868e96"
CURVE_RED = "#c92a2a"
OWN_CURVE = "#1c6fc4"
SOURCE_CURVE = "#b35300"

# Of the picture: red, green, blue from 0 to 255.
GRID_CELL = (165, 171, 178)
GRID_SECTION = (135, 141, 149)
REACH = (90, 140, 200)
WORKSPACE = REACH
TRAIL = (230, 120, 20)
STIFFNESS = (120, 90, 200)
REFERENCE = (60, 140, 250)
FREE_JOINT = (76, 173, 107)
NEAR_LIMIT = (255, 184, 26)
AT_LIMIT = (230, 26, 26)
OTHER_ARM = (120, 150, 185)
DISPLACEMENT = (140, 60, 200)

# Of the planar page's picture.
PLANAR_LINK = (90, 105, 125)
PLANAR_BASE = (55, 62, 72)
PLANAR_ELBOW = BRAND
PLANAR_TIP = (214, 90, 30)
PLANAR_TARGET = (40, 150, 80)
PLANAR_WALL = (190, 160, 125)
PLANAR_CONTACT = (0.75, 0.15, 0.15)  # from 0 to 1, as below

# Of arrows and shapes in the picture: red, green, blue from 0 to 1.
WRENCH = (0.12, 0.55, 0.25)
CONTACT = (0.85, 0.33, 0.1)
PUSH = (0.85, 0.2, 0.55)
SHELL = (0.86, 0.87, 0.88)
HOUSING = (0.27, 0.31, 0.36)


def style() -> str:
    """Style sheet that declares the variables."""
    lines = "".join(f"--rc-{name}:{colour};" for name, colour in VARIABLES.items())
    return f"html:root{{{lines}}}"
