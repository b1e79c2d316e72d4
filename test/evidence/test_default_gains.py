"""The table of default gains on ideal and imperfect arms."""

from dataclasses import replace

import pytest

from evidence.__main__ import main
from evidence.stability.default_gains import IMPERFECT, Tried, try_defaults, wall_distance
from evidence.stability.press import LAWS

QUIET = Tried("ur5e", "impedance", "", 500.0, 0.0, 0.04, 0.0, 0.0, 10.0, 0.0, 10.0, 0.0, "")


def test_a_shaking_tip_or_a_shaking_force_is_not_stable():
    assert QUIET.stable
    for change in ({"rest": 2e-3}, {"shake": 2e-3}, {"change": 1.5}, {"shake": float("nan")}):
        assert not replace(QUIET, **change).stable
    assert replace(QUIET, left=0.02).stable  # friction leaves it there


@pytest.mark.parametrize(
    ("changes", "status"), [({}, 0), ({"shake": 0.01}, 1), ({"shake": 0.01, "told": "trip"}, 0)]
)
def test_the_table_has_a_line_for_each_law_and_arm_and_fails_where_nothing_was_told(
    changes, status, monkeypatch, capsys
):
    module = "evidence.stability.default_gains"
    monkeypatch.setattr(f"{module}.wall_distance", lambda name: 0.1)
    monkeypatch.setattr(
        f"{module}.try_defaults",
        lambda name, law, arm, distance: replace(QUIET, robot=name, law=law, arm=arm, **changes),
    )
    assert main(["stability", "--defaults", "--robot", "gen3"]) == status
    lines = capsys.readouterr().out.partition("\n\n")[0].splitlines()[1:]
    expected = [["gen3", arm, law] for law in LAWS for arm in ("ideal", IMPERFECT["gen3"])]
    assert [line.split()[:3] for line in lines] == expected


@pytest.mark.long
@pytest.mark.sim
def test_a_spring_gives_way_and_presses_as_its_stiffness_says():
    """500 N/m: 20 N are 40 mm, and a reference 20 mm in the wall is 10 N."""
    pytest.importorskip("mujoco")
    tried = try_defaults("ur5e", "impedance", "", wall_distance("ur5e"))
    assert tried.stable
    assert tried.move == pytest.approx(0.04, rel=0.02)
    assert tried.force == pytest.approx(10.0, rel=0.05)
    assert not tried.told


@pytest.mark.long
@pytest.mark.sim
@pytest.mark.parametrize("name", IMPERFECT)
@pytest.mark.parametrize("law", [law for law in LAWS if law != "joint_pid"])
def test_the_defaults_are_stable_on_the_ideal_arm(name, law):
    pytest.importorskip("mujoco")
    assert try_defaults(name, law, "", wall_distance(name)).stable
