"""Slaves that do what foreign ones did: emergencies, mailboxes, EEPROM, complete access, watchdog.

The tests are in ethercat_oddity_tests.py: they run in a network namespace of their own, which this
process can't enter.
"""

import subprocess
import sys
from pathlib import Path

import pytest

from ethercat_emulator.network.veth import why_no_namespace

pytestmark = [pytest.mark.sim, pytest.mark.limit(300)]

LIMIT = 280.0  # s
TESTS = Path(__file__).with_name("ethercat_oddity_tests.py")


@pytest.mark.long
@pytest.mark.parametrize("which", ["not long", "long"])
def test_odd_slaves_are_read_used_or_refused_in_words(which):
    pytest.importorskip("pysoem")
    if why_not := why_no_namespace():
        pytest.skip(why_not)
    ended = subprocess.run(
        [sys.executable, TESTS, "-m", which],
        cwd=TESTS.parents[2],
        capture_output=True,
        text=True,
        timeout=LIMIT,
        check=False,
    )
    print(ended.stdout, ended.stderr)
    assert ended.returncode == 0
    assert " passed" in ended.stdout
    assert "skipped" not in ended.stdout
