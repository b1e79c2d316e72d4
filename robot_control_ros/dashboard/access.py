"""Access to a page: its address carries a token, as Jupyter's does; other sites are refused.

A page of another site in the same browser can send requests to this machine, too. Such requests
have an ``Origin`` or a ``Host`` that isn't the page's own (`MDN, Origin
<https://developer.mozilla.org/docs/Web/HTTP/Headers/Origin>`_).
"""

from __future__ import annotations

import hashlib
import hmac
import html
import ipaddress
import os
import secrets
import socket
from collections.abc import Mapping
from dataclasses import dataclass
from enum import IntEnum
from http.cookies import CookieError, SimpleCookie
from pathlib import Path
from urllib.parse import parse_qs, urlencode, urlsplit

from ..core.bounded import Bounded
from ..core.errors import ConfigError, refused
from ..core.output_paths import state_folder

TOKEN = "token"  # its name in the address
PORT = Bounded(
    default=8080,
    lower=1,
    upper=65535,
    whole=True,
    doc="Port; where it is taken, the next free one.",
)
REDIRECT = """<!doctype html><meta charset="utf-8"><meta name="referrer" content="no-referrer">
<meta http-equiv="refresh" content="0; url={0}"><title>robot_control</title><a href="{0}">Open the page</a>
"""


class Right(IntEnum):
    """Right of a browser."""

    NONE = 0
    LOOK = 1  # and STOP
    CONTROL = 2


@dataclass(frozen=True)
class Access:
    """The tokens of a page.

    Attributes:
        control: Token of those who move the robot; empty: everybody on this machine does.
        look: Token of those who only look on, and may press STOP.
    """

    control: str = ""
    look: str = ""

    @classmethod
    def of_user(cls) -> Access:
        """Tokens of the user, alike at each start.

        So a browser comes back by itself after a restart.
        """
        token = _user_token()
        return cls(token, hmac.new(token.encode(), b"look", hashlib.sha256).hexdigest()[:32])

    def right(self, token: str) -> Right:
        """Right that a token gives."""
        given = token.encode("utf-8", "surrogateescape")  # a header may have any bytes
        if not self.control or hmac.compare_digest(given, self.control.encode()):
            return Right.CONTROL
        return Right.LOOK if hmac.compare_digest(given, self.look.encode()) else Right.NONE

    def address(self, host: str, port: int, right: Right = Right.CONTROL) -> str:
        """Address of the page, with the token of a right."""
        name = f"[{host}]" if ":" in host else host
        token = self.control if right is Right.CONTROL else self.look
        return f"http://{name}:{port}/" + (f"?{urlencode({TOKEN: token})}" if token else "")


def access_of(with_token: bool, host: str) -> Access:
    """Tokens of a page that listens on an address.

    Raises:
        ConfigError: without a token, and other machines could come in.
    """
    if with_token:
        return Access.of_user()
    if host != "localhost" and not (is_address(host) and ipaddress.ip_address(host).is_loopback):
        message = (
            f"no token with host = {host}: must be an address of the loopback, as 127.0.0.1 is"
        )
        raise ConfigError(message, name="token", value=False, bound="127.0.0.1")
    return Access()


def check_host(host: str) -> None:
    """Refuse a host that can't be listened on.

    Raises:
        ConfigError: it is no address of this machine.
    """
    try:
        socket.create_server((host, 0)).close()
    except OSError as error:
        raise refused("host", host, "must be an address of this machine") from error


def check_origin(headers: Mapping[str, str]) -> str:
    """Reason why a request with these headers isn't answered; empty where it is."""
    host = headers.get("Host", "")
    origin = headers.get("Origin")
    try:
        name = urlsplit(f"//{host}").hostname or ""
        site = urlsplit(origin or "").netloc
    except ValueError as error:
        return f"Host {host!r} or Origin {origin!r}: {error}"
    if not is_address(name) and name not in ("localhost", socket.gethostname(), socket.getfqdn()):
        return f"Host {host!r} is not a name of this machine"
    if origin is not None and site != host:
        return f"Origin {origin!r} is not {host!r}"
    return ""


def token_of(path: str, headers: Mapping[str, str], cookie: str) -> str:
    """The token of a request: that in its address, or else that of its cookie."""
    given = parse_qs(urlsplit(path).query).get(TOKEN)
    if given:
        return given[0]
    try:
        found = SimpleCookie(headers.get("Cookie", "")).get(cookie)
    except CookieError:
        return ""
    return "" if found is None else found.value


def write_redirect(address: str, port: int) -> Path:
    """Write a file that leads a browser to an address, and that only the user can read.

    A browser gets its address on a command line, which every user of the machine sees. The name of
    this file tells them nothing.

    Raises:
        OSError, RuntimeError: the file can't be written, or the user has no home.
    """
    folder = state_folder()
    folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    path = folder / f"open_{port}.html"
    path.unlink(missing_ok=True)  # also a link that somebody put there
    with os.fdopen(
        os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW, 0o600), "w"
    ) as file:
        file.write(REDIRECT.format(html.escape(address)))
    return path


def is_address(name: str) -> bool:
    """True where a host is given by its IP address."""
    try:
        ipaddress.ip_address(name)
    except ValueError:
        return False
    return True


def _user_token() -> str:
    """The user's token, kept in a file that nobody else can read; a new one where that
    file isn't possible.
    """
    token = secrets.token_hex(16)
    try:
        path = (folder := state_folder()) / "page_token"
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        with os.fdopen(os.open(path, os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW, 0o600), "r+") as file:
            status = os.fstat(file.fileno())
            if status.st_uid != os.geteuid() or status.st_mode & 0o077:
                return token
            if len(kept := file.read(64).strip()) == len(token):
                return kept
            file.seek(0)
            file.truncate()
            file.write(token)
    except (OSError, RuntimeError, UnicodeDecodeError):  # read-only, no home, or not ours
        return token
    return token
