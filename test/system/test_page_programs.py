"""Pages as programs, over real ports: what they print and serve, and how they end."""

import re
import signal
import subprocess
import sys
from http.client import HTTPConnection
from pathlib import Path
from urllib.request import urlopen

import pytest

pytest.importorskip("viser", reason="the page needs viser")

from dashboard_support import FakeLink, camera, packed, text
from served_pages import connect, free_port, has_ended, until
from viser import _messages as messages
from websockets.exceptions import InvalidStatus

from robot_control_ros.dashboard.page import Page

OTHERS = "{'rclpy', 'mujoco', 'matplotlib'}"  # libraries that these pages don't need
ROOT = Path(__file__).resolve().parents[2]
INSTALL = f"needs viser: {sys.executable} -m pip install -e '{ROOT}[dashboard]'"


def test_a_page_is_served_over_real_sockets_and_draws_in_a_thread_of_its_own():
    link = FakeLink()
    page = Page(link, port=free_port())
    other = Page(link, port=page.port)  # the port is taken: the next free one
    assert other.port > page.port
    with urlopen(page.address) as answer:
        assert b"<html" in answer.read().lower()
    refused = HTTPConnection("127.0.0.1", page.port)
    refused.request("GET", "/")
    assert refused.getresponse().status == 403
    with pytest.raises(InvalidStatus):
        connect(f"http://127.0.0.1:{page.port}/?token=wrong")
    viewer, bar = connect(page.address), connect(page.look_address.replace("/?", "/bar?"))
    viewer.send(packed(camera((2.0, 0.0, 0.0))))
    until(page.server.get_clients, "the browser to be known")
    assert viewer.recv()
    handles = page.server.gui._gui_input_handle_from_uuid
    coriolis = next(
        uuid for uuid, handle in handles.items() if getattr(handle, "label", "") == "Coriolis"
    )
    viewer.send(packed(messages.GuiUpdateMessage(coriolis, {"value": True})))
    until(lambda: link.asked == [("gains", {"coriolis": True})], "the change")
    bar.send("stop")
    until(lambda: "stop" in link.asked, "STOP")
    link.running = "joint_pid"
    until(lambda: "joint_pid" in bar.recv(), "another drawing")
    other.close()
    assert "active" in text(page)
    page.close()
    until(lambda: has_ended(viewer), "an end of the connection")


@pytest.mark.parametrize(
    ("command", "title"), [("planar", "Planar two-link arm"), ("joint", "One joint")]
)
def test_a_command_prints_its_address_serves_the_page_and_ends(command, title):
    program = (
        "import sys\nfrom robot_control_ros.cli import main as cli\n"
        f"status = cli.main(['{command}', '--port', '{free_port()}'])\n"
        f"print(sorted({OTHERS} & set(sys.modules)), status)"
    )
    arguments = [sys.executable, "-c", program]
    with subprocess.Popen(
        arguments, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    ) as process:
        try:
            line = process.stdout.readline()
            address = re.fullmatch(
                rf"{title}: (http://127\.0\.0\.1:\S+) \(Ctrl-C ends it\)\n", line
            )
            assert address, line
            with urlopen(address[1]) as served:
                assert b"<html" in served.read(2000).lower()
            process.send_signal(signal.SIGINT)
            rest, errors = process.stdout.read(), process.stderr.read()
        finally:
            process.kill()
    assert re.search(r"^\[\] 0$", rest, re.MULTILINE), rest
    assert "Traceback" not in errors


def test_without_viser_one_line_says_what_to_install():
    command = "from robot_control_ros.cli import main; sys.exit(main.main(['planar']))"
    node = "from robot_control_ros.nodes.dashboard.node import main; main()"
    for program, status, begin in (
        (command, 2, "robot_control: the planar page"),
        (node, 1, "not started: the dashboard"),
    ):
        whole = f"import sys; sys.modules['viser'] = None; {program}"
        ended = subprocess.run([sys.executable, "-c", whole], capture_output=True, text=True)
        assert ended.returncode == status
        said = [line for line in ended.stderr.splitlines() if "viser" in line]
        assert said == [f"{begin} {INSTALL}"]
