"""What the tests of Robot share: the script of the page, the cells of the notebook,
and the controller.
"""

import json
import re
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
SCRIPT, PRINTED = re.search(
    r"```python\n(import numpy.*?)```\n.*?```text\n(.*?)```",
    (ROOT / "docs" / "robot.md").read_text("utf-8"),
    re.DOTALL,
).groups()


def page_script():
    """`demonstrate` of the page."""
    names = {}
    exec(SCRIPT.partition("with Robot.simulated")[0], names)
    return names["demonstrate"]


def notebook_cells(running):
    """The code of the notebook's cells, in order."""
    cells = json.loads((ROOT / "examples" / "robot.ipynb").read_text("utf-8"))["cells"]
    for cell in cells:
        if cell["cell_type"] == "code":
            code = "".join(cell["source"]).replace("RUNNING = False", f"RUNNING = {running}")
            yield (
                cell["id"],
                code.replace('Robot("ur5")', 'Robot("ur5", timeout=60.0, lost_after=60.0)'),
            )


def run_notebook(running):
    """Execute the notebook's code cells in order; returns their names."""
    names = {}
    for cell, code in notebook_cells(running):
        exec(compile(code, cell, "exec"), names)
    return names


def start_controller(ros, **parameters):
    """Start the controller of a simulated UR5."""
    given = {"robot": "ur5", "autostart": True, "use_sim_time": True, **parameters}
    return ros.start(
        "controller", given, remappings={"wrench": "/force_torque_sensor_broadcaster/wrench"}
    )
