"""Chromium without a window, driven over its DevTools protocol.

As a program it says, by its exit status, whether there is one.
"""

from __future__ import annotations

import base64
import contextlib
import json
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.request import urlopen

from websockets.sync.client import connect

from robot_control_ros.bringup.program_session import die_with_parent

PROGRAMS = ("chromium", "chromium-browser", "google-chrome", "chrome")
LIMIT = 60.0  # s, for anything to happen at all
FLAGS = (
    "--headless",
    "--no-sandbox",  # there is none for root, nor in most containers
    "--disable-dev-shm-usage",
    "--disable-gpu",
    "--enable-unsafe-swiftshader",  # WebGL in software
    "--hide-scrollbars",
    "--mute-audio",
    "--no-first-run",
    "--no-default-browser-check",
    "--disable-background-networking",
    "--disable-breakpad",
    "--disable-component-update",
    "--disable-default-apps",
    "--disable-extensions",
    "--disable-sync",
    "--host-resolver-rules=MAP * ~NOTFOUND, EXCLUDE 127.0.0.1",
    "--remote-debugging-port=0",
)
# to workers, before they run
ATTACH = {"autoAttach": True, "waitForDebuggerOnStart": True, "flatten": True}
FIND = """(() => {
  const seen = each => each.getClientRects().length;
  const own = each => [...each.childNodes].filter(n => n.nodeType === 3).map(n => n.textContent).join("").trim();
  const texts = [...document.querySelectorAll("body *")].filter(each => seen(each) && own(each) === TEXT);
  for (let at = texts.at(-1); at; at = at.parentElement) {
    const found = SELECTOR === "" ? at : [...at.querySelectorAll(SELECTOR)].find(seen);
    if (found) return VALUE;
  }
  return null;
})()"""
BOX = """(found.scrollIntoView({block: "nearest"}),
  (at => [at.x, at.y, at.width, at.height])(found.getBoundingClientRect()))"""


def chromium() -> str | None:
    """The program: $CHROMIUM, or what is on PATH; None where there is none."""
    return os.environ.get("CHROMIUM") or next(filter(None, map(shutil.which, PROGRAMS)), None)


@dataclass(frozen=True)
class Box:
    """A rectangle of the window [px]."""

    x: float
    y: float
    width: float
    height: float

    @property
    def centre(self) -> tuple[float, float]:
        return self.x + self.width / 2, self.y + self.height / 2


class Browser:
    """One window with one page, until it is closed.

    Args:
        address: of the page.
        width, height: of the window [px].

    Attributes:
        requests: address of everything that was asked for.
        complaints: the page's exceptions, and the errors in its console.
        frames: what :meth:`recording` has recorded: seconds and PNG.
    """

    def __init__(self, address: str, width: int = 800, height: int = 500) -> None:
        program = chromium()
        assert program is not None, "no Chromium"
        self.requests: list[str] = []
        self.complaints: list[str] = []
        self.frames: list[tuple[float, bytes]] = []
        self._answers: dict[int, dict[str, Any]] = {}
        self._count = 0
        self._folder = tempfile.TemporaryDirectory(prefix="browser", ignore_cleanup_errors=True)
        self._process = subprocess.Popen(
            [
                program,
                *FLAGS,
                f"--user-data-dir={self._folder.name}",
                f"--window-size={width},{height}",
                "about:blank",
            ],
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            start_new_session=True,
            preexec_fn=die_with_parent,  # a killed test would leave it running for ever
        )
        try:
            self._socket = connect(self._target(), max_size=None, ping_interval=None)
            for domain in ("Page", "Network", "Runtime", "Log"):
                self.do(f"{domain}.enable")
            self.do("Target.setAutoAttach", **ATTACH)
            self.do(
                "Emulation.setDeviceMetricsOverride",
                width=width,
                height=height,
                deviceScaleFactor=1,
                mobile=False,
            )
            self.do("Page.navigate", url=address)
        except BaseException:
            self.kill()
            raise

    def __enter__(self) -> Browser:
        return self

    def __exit__(self, *error: object) -> None:
        self.kill()

    def kill(self) -> None:
        """End all of its processes at once, as a crash does."""
        with contextlib.suppress(ProcessLookupError):
            os.killpg(self._process.pid, signal.SIGKILL)
        self._process.wait()
        self._folder.cleanup()

    def _target(self) -> str:
        """Address of the window's websocket, once the browser has written down its port."""
        path, deadline = Path(self._folder.name) / "DevToolsActivePort", time.monotonic() + LIMIT
        while not (path.exists() and path.read_text().count("\n")):
            assert self._process.poll() is None, (
                f"{self._process.args[0]} ended with {self._process.returncode}"
            )  # type: ignore[index]
            assert time.monotonic() < deadline, "no browser"
            time.sleep(0.01)
        with urlopen(f"http://127.0.0.1:{path.read_text().split()[0]}/json") as answer:
            return str(
                next(
                    each["webSocketDebuggerUrl"]
                    for each in json.load(answer)
                    if each["type"] == "page"
                )
            )

    # --- the protocol ---

    def do(self, method: str, **parameters: Any) -> dict[str, Any]:
        """One command; what the page reports meanwhile is kept."""
        number = self._send(method, parameters)
        deadline = time.monotonic() + LIMIT
        while number not in self._answers:
            self._take(json.loads(self._socket.recv(deadline - time.monotonic())))
        answer = self._answers.pop(number)
        assert "error" not in answer, f"{method}: {answer['error']}"
        return dict(answer["result"])

    def _send(self, method: str, parameters: Mapping[str, Any], **session: str) -> int:
        self._count += 1
        message = {"id": self._count, "method": method, "params": parameters, **session}
        self._socket.send(json.dumps(message))
        return self._count

    def _take(self, message: dict[str, Any]) -> None:
        said = message.get("params", {})
        match message.get("method"):
            case None:
                self._answers[message["id"]] = message
            case "Target.attachedToTarget":
                for method in (
                    "Network.enable",
                    "Runtime.enable",
                    "Runtime.runIfWaitingForDebugger",
                ):
                    self._send(method, {}, sessionId=said["sessionId"])
            case "Page.screencastFrame":
                self.frames.append((said["metadata"]["timestamp"], base64.b64decode(said["data"])))
                self._send("Page.screencastFrameAck", {"sessionId": said["sessionId"]})
            case "Network.requestWillBeSent":
                self.requests.append(said["request"]["url"])
            case "Network.webSocketCreated":
                self.requests.append(said["url"])
            case "Runtime.exceptionThrown":
                self.complaints.append(json.dumps(said["exceptionDetails"])[:1000])
            case "Runtime.consoleAPICalled" if said["type"] == "error":
                self.complaints.append(
                    " ".join(str(each.get("value", each)) for each in said["args"])[:1000]
                )
            case "Log.entryAdded" if said["entry"]["level"] == "error":
                self.complaints.append(said["entry"]["text"])

    # --- the page ---

    def evaluate(self, expression: str) -> Any:
        """The value of a JavaScript expression."""
        answer = self.do(
            "Runtime.evaluate", expression=expression, returnByValue=True, awaitPromise=True
        )
        assert "exceptionDetails" not in answer, answer
        return answer["result"].get("value")

    def find(self, text: str, selector: str = "", value: str = "1") -> Any:
        """Something of the visible element that bears this text, or of the nearest to it that a
        selector matches.

        Args:
            text: all of the element's own.
            selector: CSS, searched for among the text's neighbours, the nearest first; "" is the
                element itself.
            value: a JavaScript expression of it, `found`.

        Returns:
            None where there is none.
        """
        script = FIND.replace("TEXT", json.dumps(text)).replace("SELECTOR", json.dumps(selector))
        return self.evaluate(script.replace("VALUE", value))

    def box(self, text: str, selector: str = "") -> Box | None:
        """Where it is, scrolled into sight; see :meth:`find`."""
        sides = self.find(text, selector, BOX)
        return None if sides is None else Box(*sides)

    def shows(self, words: str) -> bool:
        """Whether the words are to be read on the page."""
        return bool(
            self.evaluate(f"document.body?.innerText.includes({json.dumps(words)}) ?? false")
        )

    def wait(self, condition: Callable[[], Any], what: str) -> Any:
        """What the condition returns when it holds."""
        deadline = time.monotonic() + LIMIT
        while not (found := condition()):
            assert time.monotonic() < deadline, f"waited for: {what}\n" + "\n".join(self.complaints)
            time.sleep(0.01)
        return found

    def screenshot(self) -> bytes:
        """The window as it is now, as PNG."""
        return base64.b64decode(self.do("Page.captureScreenshot", format="png")["data"])

    @contextlib.contextmanager
    def recording(self) -> Iterator[None]:
        """Keep every frame that is drawn."""
        self.do("Page.startScreencast", format="png")
        yield
        self.do("Page.stopScreencast")

    def rest(self, seconds: float) -> None:
        """Leave the page alone."""
        end = time.monotonic() + seconds
        with contextlib.suppress(TimeoutError):
            while (left := end - time.monotonic()) > 0.0:
                self._take(json.loads(self._socket.recv(left)))

    # --- the mouse ---

    def mouse(self, kind: str, x: float, y: float, *, held: bool = False) -> None:
        """An event of the mouse: Moved, Pressed or Released, while the left
        button is held or not.
        """
        button = "none" if kind == "Moved" and not held else "left"
        self.do(
            "Input.dispatchMouseEvent",
            type=f"mouse{kind}",
            x=x,
            y=y,
            button=button,
            buttons=int(held),
            clickCount=int(kind != "Moved"),
        )

    def click(self, text: str, selector: str = "") -> None:
        """Click on it; see :meth:`find`."""
        box = self.wait(lambda: self.box(text, selector), f"{text} {selector}")
        x, y = box.centre
        self.mouse("Moved", x, y)
        self.mouse("Pressed", x, y, held=True)
        self.mouse("Released", x, y)

    @contextlib.contextmanager
    def holding(self, x: float, y: float) -> Iterator[Callable[[float, float], None]]:
        """Press the button there, and let go where the mouse is at the end; gives what moves it."""
        at = [x, y]

        def move(x: float, y: float) -> None:
            at[:] = x, y
            self.mouse("Moved", x, y, held=True)

        self.mouse("Moved", x, y)
        self.mouse("Pressed", x, y, held=True)
        yield move
        self.mouse("Released", *at)


if __name__ == "__main__":
    sys.exit(chromium() is None)
