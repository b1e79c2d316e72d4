"""A cable without hardware, and without root where the kernel lets anybody make a namespace: a veth
pair in one.

Source: veth(4), user_namespaces(7), network_namespaces(7), unshare(1), ip-link(8).
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

from ..errors import NetworkError
from .interfaces import set_up

# interfaces
MASTER = "ecm"
SLAVES = "ecs"

_OUTSIDE = "ETHERCAT_EMULATOR_OUTER_NETWORK"  # environment: the network namespace that was left
_INSTALL = {"unshare": "util-linux", "ip": "iproute2"}  # Debian's packages


def enter_namespace() -> None:
    """Run this command once more in a network namespace of its own, with privileges there; returns
    inside of it.

    Nobody else sees its interfaces, and nothing reaches it from outside; processes started from
    here are in it, too, and ROS 2 nodes among them find each other over its loopback. The command
    begins anew: call it before anything else.

    Raises:
        NetworkError: not permitted here, or `unshare` is missing.
    """
    here = str(Path("/proc/self/ns/net").readlink())
    if os.environ.get(_OUTSIDE, here) != here:
        set_up("lo", up=True)
        return
    why_not, command = _namespace()
    if why_not:
        raise NetworkError(why_not)
    sys.stdout.flush()
    sys.stderr.flush()
    arguments = [*command, sys.executable, *sys.orig_argv[1:]]
    os.execvpe(command[0], arguments, {**os.environ, _OUTSIDE: here})


def why_no_namespace() -> str:
    """Why :func:`enter_namespace` and :func:`make_pair` can't do their work
    here; "" where they can.
    """
    why_not, command = _namespace()
    if why_not:
        return why_not
    if shutil.which("ip") is None:
        return _missing("ip")
    pair = [*command, "ip", "link", "add", MASTER, "type", "veth", "peer", "name", SLAVES]
    result = subprocess.run(pair, capture_output=True, text=True, check=False)
    return f"{' '.join(pair)}: {result.stderr.strip()}" if result.returncode else ""


def make_pair(master: str = MASTER, slaves: str = SLAVES) -> None:
    """A veth pair, up: a master at its one end, :func:`.packet_socket.run` at the other.

    IPv6 is off on it, since the kernel would send frames of its own. It is gone with its namespace.

    Raises:
        NetworkError: `ip` is missing or fails: no CAP_NET_ADMIN, or such an interface exists
            already.
    """
    _ip("link", "add", master, "type", "veth", "peer", "name", slaves)
    for interface in (master, slaves):
        ipv6 = Path(f"/proc/sys/net/ipv6/conf/{interface}/disable_ipv6")
        if ipv6.exists():
            ipv6.write_text("1", encoding="ascii")
        _ip("link", "set", interface, "up")


def _namespace() -> tuple[str, list[str]]:
    """Why none can be made, or "" and the command that runs another in one.

    Root needs no user namespace where it may make the other, and its processes keep the right to go
    first then.
    """
    if shutil.which("unshare") is None:
        return _missing("unshare"), []
    problem = ""
    for flags in (["--net"], ["--map-root-user", "--net"])[os.geteuid() != 0 :]:
        command = ["unshare", *flags]
        result = subprocess.run([*command, "true"], capture_output=True, text=True, check=False)
        if not result.returncode:
            return "", command
        problem = f"{' '.join(command)}: {result.stderr.strip()}"
    return (
        f"no network namespace of its own can be made here ({problem}): give this user the right "
        "(sysctl kernel.unprivileged_userns_clone=1, kernel.apparmor_restrict_unprivileged_userns=0; in a container: "
        "--privileged), or run the command with sudo"
    ), []


def _ip(*arguments: str) -> None:
    if shutil.which("ip") is None:
        raise NetworkError(_missing("ip"))
    result = subprocess.run(["ip", *arguments], capture_output=True, text=True, check=False)
    if result.returncode:
        raise NetworkError(f"ip {' '.join(arguments)}: {result.stderr.strip()}")


def _missing(command: str) -> str:
    return f"no command {command!r}: apt-get install {_INSTALL[command]}"
