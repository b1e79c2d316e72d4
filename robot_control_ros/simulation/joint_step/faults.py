"""What went wrong in a user's code, in words: file, line, what was raised, and the line itself."""

from __future__ import annotations

import importlib
import traceback
from collections.abc import Callable
from pathlib import Path
from typing import Any


def fault(error: BaseException) -> str:
    """Of an exception as it was caught where the user's code is called: the innermost line of the code called first."""
    inner = [frame for frame in traceback.extract_tb(error.__traceback__)[1:] if not _imports(frame.filename)]
    own = [frame for frame in inner if frame.filename == inner[0].filename]
    words = f"{type(error).__name__}: {error}"
    if isinstance(error, SyntaxError) or not own:  # it names its line itself; or the call itself was wrong
        return words
    return f"{Path(own[-1].filename).name}, line {own[-1].lineno}: {words}: {own[-1].line}"


def _imports(file: str) -> bool:
    """Whether it is what Python imports modules with."""
    return file.startswith("<frozen importlib") or file == importlib.__file__


def definition(callback: Callable[..., Any]) -> str:
    """Where a callback is defined."""
    code = getattr(callback, "__code__", None) or getattr(type(callback).__call__, "__code__", None)
    return f"{Path(code.co_filename).name}, line {code.co_firstlineno}" if code else repr(callback)
