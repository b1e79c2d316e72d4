"""The emulator's README: its first shell and its master, run as they stand there.

`python ethercat_emulator_readme.py SOCKET`, in a network namespace of its own, prints what they
printed as JSON.
"""

import json
import re
import subprocess
import sys
import time
from pathlib import Path

import ethercat_emulator
from ethercat_emulator import inject

README = (Path(ethercat_emulator.__file__).resolve().parent / "README.md").read_text(
    encoding="utf-8"
)


def blocks(language: str) -> list[str]:
    """Its examples in a language."""
    return re.findall(rf"```{language}\n(.*?)```", README, re.DOTALL)


def main(faults: str) -> dict:
    """Run the emulator and a master."""
    words = next(
        line for line in blocks("sh")[0].splitlines() if line.startswith("ethercat-emulator")
    ).split()
    arguments = [faults if word == "/tmp/faults" else word for word in words[1:]]
    python = [sys.executable, "-m", "ethercat_emulator"]
    emulator = subprocess.Popen([*python, *arguments], stdout=subprocess.PIPE, text=True)
    try:
        seen = {"line": emulator.stdout.readline()}
        code = next(code for code in blocks("python") if "pysoem" in code)
        seen["master"] = subprocess.run(
            [sys.executable, "-c", code], capture_output=True, text=True, check=True
        ).stdout
        command = [*python, "--faults", faults, "--inject", "help"]
        seen["help"] = subprocess.run(command, capture_output=True, text=True, check=True).stdout
        inject(faults, "drive_fault 0 0x7305")
        while '"FAULT"' not in inject(faults, "drives"):
            time.sleep(0.01)
        seen["drives"] = inject(faults, "drives")
    finally:
        emulator.terminate()
        seen["status"] = emulator.wait()
    return seen


if __name__ == "__main__":
    print("\n" + json.dumps(main(sys.argv[1])))
