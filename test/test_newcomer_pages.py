"""The pages for a newcomer: what stands there runs, and prints what stands there."""

import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]


def read(name):
    return (ROOT / "docs" / name).read_text(encoding="utf-8")


# --- python.md ---


@pytest.mark.sim
def test_each_block_of_the_python_page_prints_what_stands_under_it(tmp_path):
    """In a process of its own: the page registers a law."""
    pytest.importorskip("mujoco")
    pytest.importorskip("matplotlib")
    page, border = read("python.md"), "--- the next block ---"
    blocks = re.findall(r"```python\n(.*?)```\n\n```text\n(.*?)```", page, re.DOTALL)
    assert len(blocks) == page.count("```python") == 7
    program = f"\nprint({border!r})\n".join(code for code, _ in blocks)
    done = subprocess.run([sys.executable, "-c", program], cwd=tmp_path, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert done.stdout.split(f"{border}\n") == [printed for _, printed in blocks]
    assert sorted(path.name for path in tmp_path.iterdir()) == ["sway.csv", "sway.png"]
