"""Functions to tune, which processes and other machines can import."""

import os
import signal
import time
from pathlib import Path

from robot_control_ros.tuning import Goal, Range, TrialOutcome

SPACE = {"x": Range(-5.0, 5.0), "y": Range(0.01, 10.0, log=True)}
GOALS = (Goal("near"), Goal("far", "maximize", "m"))
FIRST = {"x": 0.5, "y": 1.0}


def two_bowls(parameters):
    """The squared distances from two points."""
    x = parameters["x"]
    y = parameters["y"]
    return {"near": (x - 1.0) ** 2 + y * y, "far": 1.0 / ((x + 1.0) ** 2 + abs(y))}


def bowls_of(x, y):
    """The same of two numbers."""
    return two_bowls({"x": x, "y": y})


def out_of_order(parameters):
    """The same; a trial takes 0 to 5 ms, whatever its number is."""
    time.sleep(1e-3 * (hash(parameters["x"]) % 6))
    return two_bowls(parameters)


def slow(parameters):
    """The same, in SLOW seconds."""
    time.sleep(float(os.environ.get("SLOW", "0.1")))
    return two_bowls(parameters)


def refusing(parameters):
    """Fails on the left side; on the far right it has no finite values."""
    if parameters["x"] < 0.0:
        raise ValueError("on the left")
    if parameters["x"] > 3.0:
        return TrialOutcome((float("inf"), 1.0))
    return two_bowls(parameters)


def deadly(parameters):
    """Its process is killed in the first trial that any process begins, and never again."""
    mark = Path(os.environ["DEADLY"])
    try:
        mark.touch(exist_ok=False)
    except FileExistsError:
        return two_bowls(parameters)
    os.kill(os.getpid(), signal.SIGKILL)
    return None


def suicidal(parameters):
    """Its process is killed, always."""
    os.kill(os.getpid(), signal.SIGKILL)


def deadly_on_the_left(parameters):
    """On the left side its process is killed, always; elsewhere trials take a while."""
    if parameters["x"] < 0.0:
        suicidal(parameters)
    time.sleep(0.05)
    return two_bowls(parameters)


def product_of(a, b):
    """Of two numbers; 0 is refused."""
    if b == 0:
        raise ValueError("no zero")
    return {"product": a * b, "process": os.getpid()}
