"""One master per interface and network namespace, whoever runs it. The kernel's list of
sockets is the lock.
"""

import contextlib
import os
import socket
import subprocess
import sys

import pytest

from ethercat_emulator.network.veth import why_no_namespace
from robot_control_ros.cli.main import main
from robot_control_ros.core.errors import ConfigError
from robot_control_ros.fieldbus.ethercat.bus import Master
from robot_control_ros.fieldbus.ethercat.ethercat_driver import ethercat_settings
from robot_control_ros.fieldbus.ethercat.ethercat_plant import EthercatPlant
from robot_control_ros.fieldbus.ethercat.network import check_free
from robot_control_ros.fieldbus.ethercat.topology import load_topology
from robot_control_ros.fieldbus.process.client import BusClient

INTERFACE, OTHER = "lo", 65534
# A foreign master: it opens its socket as SOEM does, then drops all rights where it is told to.
FOREIGN = """
import os, socket, sys, time
wire = socket.socket(socket.AF_PACKET, socket.SOCK_RAW, socket.htons(0x88A4))
wire.bind((sys.argv[1], 0x88A4))
if len(sys.argv) > 2:
    os.setuid(int(sys.argv[2]))
print("open", flush=True)
time.sleep(300)
"""


def may_open_sockets():
    try:
        socket.socket(socket.AF_PACKET, socket.SOCK_RAW).close()
    except PermissionError:
        return False
    return True


pytestmark = [
    pytest.mark.skipif(not may_open_sockets(), reason="needs CAP_NET_RAW"),
    pytest.mark.skipif(why_no_namespace() != "", reason="needs network namespaces"),
]


@contextlib.contextmanager
def foreign(*arguments, prefix=()):
    command = [*prefix, sys.executable, "-c", FOREIGN, *arguments]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        try:
            assert process.stdout.readline() == "open\n"
            yield process
        finally:
            process.kill()


def settings():
    return ethercat_settings(INTERFACE, "ur5")


def scanned():
    assert main(["ethercat", "scan", "--interface", INTERFACE]) == 2


def plant():
    topology = load_topology("ur5")
    return EthercatPlant([slave.name for slave in topology.drives], topology, INTERFACE)


OPENERS = {
    "master": lambda: Master(INTERFACE).open(),
    "plant": lambda: plant().open(),
    "bus process": lambda: BusClient(settings()),
}


def test_who_comes_second_is_refused_and_told_process_command_and_user(capsys):
    pytest.importorskip("pysoem")
    with foreign(INTERFACE) as process:
        for name, open_it in OPENERS.items():
            with pytest.raises(ConfigError) as caught:
                open_it()
            error = caught.value
            assert (error.name, error.value, error.bound) == (
                "interface",
                INTERFACE,
                os.getuid(),
            ), name
            assert f"process {process.pid} (" in str(error)
            assert "import os, socket" in str(error)  # of its command line
        scanned()
    said = capsys.readouterr()
    assert f"process {process.pid} (" in said.err
    assert said.out == ""


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can be another user for a while")
def test_another_user_s_master_is_seen_by_all_and_sees_all():
    with foreign(INTERFACE, str(OTHER)), pytest.raises(ConfigError):
        check_free(INTERFACE)
    with foreign(INTERFACE):
        child = os.fork()
        if child == 0:
            os.setuid(OTHER)
            try:
                check_free(INTERFACE)
            except ConfigError as error:
                # root's processes are root's affair
                os._exit(error.bound == 0 and "process " not in str(error))
            os._exit(2)
        assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 1

    # a user without the right can't hold the bus
    child = os.fork()
    if child == 0:
        os.setuid(OTHER)
        with contextlib.suppress(PermissionError):
            socket.socket(socket.AF_PACKET, socket.SOCK_RAW, socket.htons(0x88A4))
            os._exit(1)
        os._exit(0)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0


def test_it_ends_with_the_process_and_other_namespaces_are_free():
    pytest.importorskip("pysoem")
    master = Master(INTERFACE)
    with foreign(INTERFACE) as process:
        with pytest.raises(ConfigError):
            master.open()
        process.kill()
        process.wait()
        check_free(INTERFACE)
    with foreign(
        INTERFACE, prefix=("unshare", "--net", "sh", "-c", 'ip link set lo up && exec "$@"', "sh")
    ):
        check_free(INTERFACE)
    master.open()  # that was refused before
    with pytest.raises(ConfigError):
        Master(INTERFACE).open()
    master.close()
    again = Master(INTERFACE)
    again.open()
    again.close()
