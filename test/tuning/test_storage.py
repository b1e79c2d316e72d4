"""A journal keeps whole lines: on a full disk, and where a writer was killed. No database
is refused in words.
"""

import socket
from pathlib import Path

import pytest
from full_disk import files_end_at
from refusals import refuses

pytest.importorskip("optuna")

from tuned_functions import GOALS, SPACE, two_bowls

from robot_control_ros.tuning import tune
from robot_control_ros.tuning.storage import WholeLines, open_storage, patiently, without_password

pytestmark = pytest.mark.starts("signs of life are given in a thread")


def test_a_full_disk_leaves_the_journal_as_it_was(tmp_path):
    path = tmp_path / "a.journal"
    lines = WholeLines(path)
    lines.append_logs([{"number": 1}])
    before = path.read_bytes()
    with files_end_at(len(before) + 5), pytest.raises(OSError, match=r".*"):
        lines.append_logs([{"number": 2}])
    assert path.read_bytes() == before
    lines.append_logs([{"number": 2}, {"number": 3}])
    assert list(lines.read_logs(0)) == [{"number": 1}, {"number": 2}, {"number": 3}]


@pytest.mark.parametrize("rest", [b'{"num', b"x" * 10000])
def test_what_a_killed_writer_left_of_a_line_is_taken_away(tmp_path, rest):
    path = tmp_path / "a.journal"
    WholeLines(path).append_logs([{"number": 1}])
    with path.open("ab") as file:
        file.write(rest)
    lines = WholeLines(path)
    assert list(lines.read_logs(0)) == [{"number": 1}]
    lines.append_logs([{"number": 2}])
    assert list(lines.read_logs(0)) == [{"number": 1}, {"number": 2}]


def test_a_search_waits_for_room_and_loses_nothing(tmp_path):
    path = tmp_path / "a.journal"
    storage = f"journal://{path}"
    told = []
    expected = tune(two_bowls, SPACE, 12, goals=GOALS, lag=4)
    tune(two_bowls, SPACE, 4, goals=GOALS, lag=4, storage=storage)
    with files_end_at(path.stat().st_size + 700) as limit:

        def room(words):
            told.append(words)
            limit.lift()

        found = tune(two_bowls, SPACE, 12, goals=GOALS, lag=4, storage=storage, tell=room)
    assert len(told) == 1
    assert found.table() == expected.table()


def test_an_error_that_isn_t_the_disk_s_fullness_ends_the_search():
    from robot_control_ros.core.errors import HardwareFault

    def broken():
        raise PermissionError(13, "Permission denied")

    with pytest.raises(HardwareFault):
        patiently(broken, print)


def test_a_file_that_is_no_journal_is_refused_and_stays(tmp_path):
    path = tmp_path / "notes.txt"
    path.write_text("these are notes\nof mine\n")
    with refuses("storage"):
        open_storage(f"journal://{path}")
    assert path.read_text() == "these are notes\nof mine\n"


def test_a_database_that_doesn_t_answer_is_refused_without_its_password():
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        url = f"postgresql://me:secret@127.0.0.1:{taken.getsockname()[1]}/lab"
        pytest.importorskip("psycopg")
        with refuses("storage") as caught:
            open_storage(url)
    assert "secret" not in str(caught.value)
    assert "secret" not in without_password(url)


def test_no_address_is_this_process_s_memory():
    assert open_storage(None).get_all_studies() == []


def test_a_lock_that_was_left_behind_is_taken_away(tmp_path, monkeypatch):
    path = tmp_path / "a.journal"
    monkeypatch.setattr("robot_control_ros.tuning.storage.LOCKED", 3)
    lines = WholeLines(path)
    Path(f"{path}.lock").symlink_to(path)
    lines.append_logs([{"number": 1}])
    assert list(lines.read_logs(0)) == [{"number": 1}]
