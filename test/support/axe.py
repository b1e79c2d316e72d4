"""axe-core in a browser: what a keyboard or a screen reader can't use on a page."""

from __future__ import annotations

import os
from importlib.util import find_spec
from pathlib import Path

import pytest
from browser import Browser

# path of axe.min.js, or the package that has it
AXE = os.environ.get("AXE_CORE") or find_spec("axe_core_python")
SERIOUS = """axe.run().then(found => found.violations.filter(each => ["serious", "critical"].includes(each.impact))
  .flatMap(each => each.nodes.map(node => each.id + ": " + node.html.slice(0, 200))))"""

needs_axe = pytest.mark.skipif(
    AXE is None,
    reason="needs axe-core: the extra `test`, or AXE_CORE=…/axe.min.js of the npm package",
)


def load_axe(browser: Browser) -> None:
    """Run axe's script in the browser's page."""
    script = Path(AXE if isinstance(AXE, str) else AXE.origin)  # type: ignore[union-attr]
    browser.evaluate(script.with_name("axe.min.js").read_text("utf-8") + ";1")


def serious(browser: Browser) -> list[str]:
    """What axe calls serious or critical: the rule and the element of each."""
    found: list[str] = browser.evaluate(SERIOUS)
    return found
