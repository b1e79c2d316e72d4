"""No two modules of a package have one name, and no two public classes.

``python lint/names.py`` prints each violation as ``file:line: message``.
"""

from __future__ import annotations

import ast
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
PACKAGES = (
    *("robot_control_ros", "robot_control_learning", "ethercat_emulator", "can_emulator"),
    "evidence",
)
MODULES = ("__init__.py", "__main__.py", "node.py")  # names that many have
CLASSES = ("Gains",)


def main() -> int:
    """Print what is wrong; returns the exit status."""
    count = 0
    for package in PACKAGES:
        folder, seen = ROOT / package, dict[str, str]()
        for path in sorted(
            path for path in folder.rglob("*.py") if not path.is_relative_to(folder / "test")
        ):
            names = [(1, f"module {path.stem}")] if path.name not in MODULES else []
            classes = [
                each
                for each in ast.parse(path.read_text("utf-8")).body
                if isinstance(each, ast.ClassDef)
            ]
            public = [
                each
                for each in classes
                if not each.name.startswith("_") and each.name not in CLASSES
            ]
            for line, name in (*names, *((each.lineno, f"class {each.name}") for each in public)):
                place = f"{path.relative_to(ROOT)}:{line}"
                if name in seen:
                    print(f"{place}: another {name} is in {seen[name]}")
                    count += 1
                seen[name] = place
    return int(count > 0)


if __name__ == "__main__":
    sys.exit(main())
