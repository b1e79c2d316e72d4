"""A sweep gives the function's values in the grid's order, whatever computes them."""

from concurrent.futures import ThreadPoolExecutor

import pytest
from refusals import refuses

pytest.importorskip("optuna")

from tuned_functions import product_of

from robot_control_ros.core.errors import HardwareFault
from robot_control_ros.tuning import sweep

pytestmark = pytest.mark.starts("the executor computes in threads")
GRID = {"a": [1, 2, 3], "b": [0, 5]}
POINTS = [(1, 0), (1, 5), (2, 0), (2, 5), (3, 0), (3, 5)]


def named(found):
    return [(point.arguments["a"], point.arguments["b"]) for point in found.points]


@pytest.mark.parametrize("threads", [0, 3])
def test_the_last_name_changes_fastest_and_an_error_is_a_result(threads):
    with ThreadPoolExecutor(max(threads, 1)) as executor:
        found = sweep(product_of, GRID, executor=executor if threads else None)
    assert named(found) == POINTS
    for point in found.points:
        a = point.arguments["a"]
        b = point.arguments["b"]
        assert (point.result is None) == (b == 0) == isinstance(point.error, ValueError)
        assert b == 0 or point.result["product"] == a * b


def test_the_results_raise_the_first_error():
    found = sweep(product_of, GRID)
    with pytest.raises(ValueError, match="zero"):
        _ = found.results
    assert [each["product"] for each in sweep(product_of, {"a": [1, 2], "b": [7]}).results] == [
        7,
        14,
    ]


def test_the_table_has_a_column_for_each_name_of_a_result(tmp_path):
    header, *lines = sweep(product_of, GRID).table()
    assert header == ["a", "b", "product", "process", "reason"]
    assert [tuple(line[:2]) for line in lines] == POINTS
    assert all(bool(line[4]) == (line[1] == 0) for line in lines)
    assert len(sweep(product_of, GRID).to_csv(tmp_path / "map.csv").read_text().splitlines()) == 7


def test_progress_comes_in_the_grid_s_order():
    seen = []
    with ThreadPoolExecutor(4) as executor:
        sweep(
            product_of,
            GRID,
            executor=executor,
            progress=lambda done, of, point: seen.append((done, of, point)),
        )
    assert [(done, of) for done, of, _ in seen] == [(k + 1, 6) for k in range(6)]
    assert [(point.arguments["a"], point.arguments["b"]) for _, _, point in seen] == POINTS


class Dying(ThreadPoolExecutor):
    """An executor that can't start its second call, as where a process of it has just died."""

    calls = 0

    def submit(self, *call, **named):
        self.calls += 1
        if self.calls == 2:
            raise OSError("handle is closed")
        return super().submit(*call, **named)


def test_an_executor_that_starts_nothing_any_more_is_told():
    with Dying(1) as executor, pytest.raises(HardwareFault) as caught:
        sweep(product_of, {"a": [1, 2, 3], "b": [7]}, executor=executor)
    assert caught.value.name == "executor"


@pytest.mark.parametrize(("grid", "name"), [({}, "grid"), ({"a": []}, "a"), ({"a": "12"}, "a")])
def test_a_grid_without_points_is_refused(grid, name):
    with refuses(name):
        sweep(product_of, grid)
