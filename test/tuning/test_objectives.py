"""The texts of objectives, and how their figures count."""

import math

import pytest
from refusals import refuses

from robot_control_ros.core.errors import ConfigError
from robot_control_ros.stability.wall_contact import WALL
from robot_control_ros.tuning.objectives import RUNS, objectives, objectives_of
from robot_control_ros.tuning.results import DIRECTIONS


def test_each_objective_is_complete():
    names = [each.name for each in objectives()]
    assert len(set(names)) == len(names)
    for each in objectives():
        assert each.doc
        assert each.direction in DIRECTIONS
        assert each.run in RUNS
        assert math.isfinite(each.worst)
        assert objectives_of(each.name) == (each,)
        assert each.wall == (WALL if each.run == "wall" else 0.0)


def test_names_keep_their_order_and_walls_their_stiffness():
    track, contact, stiff = objectives_of(" track, contact ,contact@1e5")
    assert [track.figure, contact.figure, stiff.figure] == ["track", "contact", "contact"]
    assert (contact.wall, stiff.wall) == (WALL, 1e5)
    assert len({track.name, contact.name, stiff.name}) == 3
    assert objectives_of("contact@1e4") == (contact,)
    assert objectives_of(stiff.name) == (stiff,)


@pytest.mark.parametrize("text", ["", " ", "track,", "track,track", "contact,contact@10000"])
def test_texts_without_names_and_with_one_twice_are_refused(text):
    with refuses("objectives", text):
        objectives_of(text)


@pytest.mark.parametrize(
    "text", ["track@1e4", "contact@", "contact@stiff", "contact@1", "contact@nan", "contact@1e9"]
)
def test_walls_that_cannot_be_are_refused(text):
    with refuses("objective", text):
        objectives_of(text)


def test_an_unknown_objective_is_told_all_names():
    with pytest.raises(ConfigError) as caught:
        objectives_of("speed")
    assert caught.value.bound == tuple(each.name for each in objectives())


def test_a_figure_counts_no_worse_than_the_worst():
    for each in objectives():
        beyond = each.worst + 1.0 if each.minimizes else each.worst - 1.0
        better = each.worst - 0.5 if each.minimizes else each.worst + 0.5
        assert (
            each.counted(beyond) == each.counted(math.nan) == each.counted(math.inf) == each.worst
        )
        assert each.counted(better) == better
