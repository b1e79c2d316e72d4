"""How Fast DDS goes deaf: a program that provokes it, and a way to make one given process deaf on
purpose.

A deaf process still publishes, but no message reaches it any more. In Fast DDS 3.2 two of its
threads wait for each other when another process's publisher vanishes at the wrong moment;
docs/middleware.md says how.

    python test/support/deafness.py alone                 one node; counts the publishers that vanish until it is deaf
    python test/support/deafness.py churn --domain 61     makes publishers vanish beside the programs of a domain
    python test/support/deafness.py stop PID              stops the middleware's threads of a process until Ctrl-C

``alone`` takes ``--announce SECONDS`` (0 for the middleware's own), ``--lease SECONDS``,
``--shared-memory``, ``--best-effort``, ``--readers N`` and ``--seconds N``.
"""

from __future__ import annotations

import argparse
import contextlib
import ctypes
import importlib
import os
import random
import subprocess
import sys
import tempfile
import threading
import time
from pathlib import Path
from typing import Any

TOPICS = 4
LIFE = 0.02  # s that a publisher lives
GAP = 0.001  # s between two of its messages: readers are busy with answers when it ends
# s from a question to its client's end: readers acknowledge 5 ms after a message
ANSWER = 0.002, 0.008
WRITERS = 8  # of one program that makes publishers vanish
SILENT = 1.0  # s after which a process that hears no sample of its own is deaf

# --- one process made deaf, on purpose ---

PTRACE_SEIZE, PTRACE_INTERRUPT, PTRACE_DETACH = 0x4206, 0x4207, 17
WAIT_FOR_THREADS = 0x40000000  # __WALL of waitpid
LOOK = 0.005  # s between two looks at threads that stand still


def middleware_threads(process: int) -> list[int]:
    """Numbers of the threads in which Fast DDS receives and keeps its timers."""
    found = []
    for thread in Path(f"/proc/{process}/task").iterdir():
        with contextlib.suppress(OSError):  # it has ended meanwhile
            if (thread / "comm").read_text().startswith(("dds.udp", "dds.shm", "dds.ev")):
                found.append(int(thread.name))
    return found


class Deafened:
    """A process whose middleware stands still, from the construction until :meth:`close`.

    Only the threads of the middleware are stopped, one by one, as a debugger does it. All others go
    on. Linux allows it to the process that has started it, and to root.

    Args:
        process: its number.

    Raises:
        OSError: this system doesn't allow it.
    """

    def __init__(self, process: int) -> None:
        self._process, self._error = process, 0
        self._stopped, self._end = threading.Event(), threading.Event()
        # whoever stops a thread must wait for it
        self._thread = threading.Thread(target=self._hold, daemon=True)
        self._thread.start()
        self._stopped.wait()
        if self._error:
            raise OSError(self._error, f"process {process}: {os.strerror(self._error)}")

    def __enter__(self) -> Deafened:
        return self

    def __exit__(self, *error: object) -> None:
        self.close()

    def close(self) -> None:
        """Let the threads go on."""
        self._end.set()
        self._thread.join()

    def _hold(self) -> None:
        threads = middleware_threads(self._process)
        for thread in threads:
            for request in (PTRACE_SEIZE, PTRACE_INTERRUPT):
                self._error = self._error or _ptrace(request, thread)
        self._stopped.set()
        while not self._end.wait(LOOK):
            for thread in threads:  # a process that ends does so when each of them was waited for
                with contextlib.suppress(ChildProcessError):
                    os.waitpid(thread, WAIT_FOR_THREADS | os.WNOHANG)
        for thread in threads:
            _ptrace(PTRACE_DETACH, thread)


def _ptrace(request: int, thread: int) -> int:
    """Returns the error number, 0 for none."""
    libc = ctypes.CDLL(None, use_errno=True)
    arguments = request, ctypes.c_long(thread), ctypes.c_void_p(None), ctypes.c_void_p(None)
    return ctypes.get_errno() if libc.ptrace(*arguments) == -1 else 0


# --- publishers that vanish ---


def vanish(reliable: bool) -> None:
    """Make publishers of the node under test come and go for ever; prints how many have gone."""
    import rclpy
    from rclpy.qos import QoSProfile
    from std_msgs.msg import Empty

    rclpy.init()
    node, gone = rclpy.create_node(f"writer_{os.getpid()}"), 0
    qos = _qos(QoSProfile, reliable)
    while True:
        made = [
            node.create_publisher(Empty, f"topic_{number % TOPICS}", qos)
            for number in range(WRITERS)
        ]
        end = time.monotonic() + LIFE
        while time.monotonic() < end:
            for publisher in made:
                publisher.publish(Empty())
            time.sleep(GAP)
        for publisher in made:
            node.destroy_publisher(publisher)
        gone += WRITERS
        print(gone, flush=True)


def churn(seconds: float) -> None:
    """Make publishers and clients vanish on each reliable topic and each service that a program of
    this domain reads.

    They send nothing that changes a program: they only ask for names of parameters.
    """
    import rclpy
    from rclpy.qos import QoSProfile, ReliabilityPolicy

    rclpy.init()
    node = rclpy.create_node(
        f"churn_{os.getpid()}", enable_rosout=False, start_parameter_services=False
    )
    end, gone, reliable = time.monotonic() + seconds, 0, QoSProfile(depth=1)

    def read_reliably(topic: str) -> bool:
        infos = node.get_subscriptions_info_by_topic(topic)
        return any(each.qos_profile.reliability == ReliabilityPolicy.RELIABLE for each in infos)

    while time.monotonic() < end:
        made: list[tuple[Any, Any]] = []
        asked: list[Any] = []
        for topic, kinds in node.get_topic_names_and_types():
            if read_reliably(topic):
                publisher = node.create_publisher(_type(kinds[0]), topic, reliable)
                made.append((node.destroy_publisher, publisher))
        for service, kinds in node.get_service_names_and_types():
            client = node.create_client(_type(kinds[0]), service)
            made.append((node.destroy_client, client))
            if kinds[0] == "rcl_interfaces/srv/ListParameters":
                asked.append(client)
        time.sleep(LIFE)
        # a lost answer holds a program up for 0.1 s
        for client in random.sample(asked, min(1, len(asked))):
            client.call_async(client.srv_type.Request())
        time.sleep(random.uniform(*ANSWER))
        for destroy, each in made:
            destroy(each)
        gone += len(made)
        print(gone, flush=True)


def alone(options: argparse.Namespace) -> None:
    """One node with many readers, beside a program whose publishers vanish, until it is deaf."""
    import rclpy
    from rclpy.qos import QoSProfile
    from std_msgs.msg import Empty

    with tempfile.TemporaryDirectory() as folder:
        os.environ.update(middleware_environment(options, Path(folder)))
        rclpy.init()
        node = rclpy.create_node("reader")
        qos = _qos(QoSProfile, not options.best_effort)
        for number in range(options.readers):
            node.create_subscription(Empty, f"topic_{number % TOPICS}", lambda _: None, qos)
        own = node.create_publisher(Empty, "~/own", _qos(QoSProfile, reliable=False))
        back = node.create_subscription(
            Empty, "~/own", lambda _: None, _qos(QoSProfile, reliable=False)
        )
        command = [
            sys.executable,
            __file__,
            "vanish",
            *(["--best-effort"] if options.best_effort else []),
        ]
        writers = subprocess.Popen(command, stdout=subprocess.PIPE)
        gone, lines = 0, writers.stdout
        assert lines is not None
        began = heard = time.monotonic()
        try:
            for line in lines:
                now = time.monotonic()
                if not gone:
                    began = heard = now
                gone = int(line)
                own.publish(Empty())
                rclpy.spin_once(node, timeout_sec=0.0)
                with back.handle:
                    if back.handle.take_message(Empty, True) is not None:
                        heard = now
                if now - heard > SILENT or now - began > options.seconds:
                    break
        finally:
            writers.kill()
        deaf = now - heard > SILENT
        verdict = "deaf" if deaf else "not deaf"
        print(f"{verdict} after {gone} publishers that vanished in {now - began:.1f} s", flush=True)
        os._exit(0)  # a deaf process can't take back what it has made


def _type(name: str) -> Any:
    """The class of a message or service by its ROS name, such as std_msgs/msg/Bool."""
    package, kind, word = name.split("/")
    return getattr(importlib.import_module(f"{package}.{kind}"), word)


def _qos(profile: Any, reliable: bool) -> Any:
    from rclpy.qos import ReliabilityPolicy

    return profile(
        depth=10,
        reliability=ReliabilityPolicy.RELIABLE if reliable else ReliabilityPolicy.BEST_EFFORT,
    )


# --- settings of the middleware ---

PROFILES = """<?xml version="1.0" encoding="UTF-8"?>
<dds xmlns="http://www.eprosima.com">
  <library_settings><intraprocess_delivery>OFF</intraprocess_delivery></library_settings>
  <profiles>
    <participant profile_name="under_test" is_default_profile="true">
      <rtps><builtin><discovery_config>{discovery}</discovery_config></builtin></rtps>
    </participant>
  </profiles>
</dds>
"""


def middleware_environment(options: argparse.Namespace, folder: Path) -> dict[str, str]:
    """The environment of a process under these options; the file that it names is
    written into the folder.
    """
    discovery = ""
    for element, value in (
        ("leaseDuration", options.lease),
        ("leaseAnnouncement", options.announce),
    ):
        if value:
            whole = int(value)
            discovery += f"<{element}><sec>{whole}</sec><nanosec>{int((value - whole) * 1e9)}</nanosec></{element}>"
    path = folder / "profiles.xml"
    path.write_text(PROFILES.format(discovery=discovery), encoding="utf-8")
    transports = "DEFAULT" if options.shared_memory else "UDPv4"
    return {"FASTDDS_DEFAULT_PROFILES_FILE": str(path), "FASTDDS_BUILTIN_TRANSPORTS": transports}


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    kinds = parser.add_subparsers(dest="kind", required=True)
    single = kinds.add_parser("alone")
    single.add_argument(
        "--announce", type=float, default=0.0, help="period of participants' announcements [s]"
    )
    single.add_argument(
        "--lease", type=float, default=0.0, help="after which a silent participant is forgotten [s]"
    )
    single.add_argument("--readers", type=int, default=40)
    single.add_argument("--shared-memory", action="store_true")
    single.add_argument("--seconds", type=float, default=60.0)
    for each in (single, kinds.add_parser("vanish")):
        each.add_argument("--best-effort", action="store_true")
    beside = kinds.add_parser("churn")
    beside.add_argument("--seconds", type=float, default=1e9)
    for each in (single, beside):
        each.add_argument("--domain", type=int, help="ROS domain; ROS_DOMAIN_ID without")
    kinds.add_parser("stop").add_argument("process", type=int)
    options = parser.parse_args()
    if getattr(options, "domain", None) is not None:
        os.environ["ROS_DOMAIN_ID"] = str(options.domain)
    if options.kind == "alone":
        alone(options)
    elif options.kind == "vanish":
        vanish(not options.best_effort)
    elif options.kind == "churn":
        churn(options.seconds)
    else:
        with Deafened(options.process), contextlib.suppress(KeyboardInterrupt):
            print("stopped", flush=True)
            threading.Event().wait()


if __name__ == "__main__":
    main()
