"""The demonstration on EtherCAT: position-domain PD on an emulated six-axis bus, beside the same law in process."""

from __future__ import annotations

import argparse
import os
import signal
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, closing, contextmanager
from dataclasses import replace
from pathlib import Path

from ethercat_emulator.network.veth import enter_namespace, make_pair
from robot_control_ros.bringup import SETUPS
from robot_control_ros.bringup.processes import Processes
from robot_control_ros.cli.options import OUTPUT_FOLDER
from robot_control_ros.core.errors import HardwareFault
from robot_control_ros.core.output_files import write_text
from robot_control_ros.fieldbus.emulation.program import emulated_bus
from robot_control_ros.fieldbus.ethercat.topology import Topology, load_topology
from robot_control_ros.fieldbus.process.pacing import Timing
from robot_control_ros.fieldbus.process.protocol import memory_path, open_memory
from robot_control_ros.fieldbus.tools.jitter import Jitter, TimingRecorder
from robot_control_ros.robot.configuration import RobotConfig, load_robot
from robot_control_ros.robot.yaml_files import read_yaml, yaml_text
from robot_control_ros.ros.process_environment import environment

from ..reproduce.contour_benchmark import DOMAINS
from .contour_figures import contour_table, draw_contours, draw_errors
from .contour_session import ATTEMPTS, RATES, ContourSession
from .contour_trial import FEED, LAW, Comparison, ContourTrial, Setting, Track, write_figures, write_samples

ROBOT = "ur5"
PROFILE = "ethercat"
FEEDFORWARDS = (0.0, 1.0)
SHOWN = ("on time [%]", "cycles", "cycles left out", "working counter", "wrong working counters", "lost frames")


def ethercat_demo(
    domains: Sequence[str], *, in_process: bool = True, rate: float = RATES[0], output: Path = Path()
) -> int:
    """Run it within :func:`ethercat_emulator.network.veth.enter_namespace`; returns the exit status.

    Args:
        domains: of the law, each without and with feed-forward.
        in_process: whether the law runs in the bus process; else over topics.
        rate: of the bus [Hz], one of RATES.
        output: folder for plots and tables.

    Raises:
        ConfigError: no pair of interfaces can be made here.
        HardwareFault: the machine is too slow, a process ended, the drives were stopped, or no message came.
    """
    os.environ.update(environment())
    robot = load_robot(ROBOT, PROFILE).at_rate(rate)
    output.mkdir(parents=True, exist_ok=True)
    topology = _topology_at(rate, output)
    where = "in the bus's process" if in_process else "over topics"
    title = f"{robot.name} on an emulated bus at {robot.profile.rate:g} Hz, {LAW} {where}"
    print(f"{title}: a rectangle at {1e3 * FEED:g} mm/s")
    trial = ContourTrial(robot)
    settings = [Setting(domain, fraction) for domain in domains for fraction in FEEDFORWARDS]
    in_lockstep = [(trial.simulate(each), trial.simulate_drives(each, topology)) for each in settings]
    try:
        tracks, jitter, bus = _on_the_bus(robot, topology, trial, settings, in_process)
    except KeyboardInterrupt:
        print("\nstopped")
        return 130
    comparisons = [
        Comparison(setting, track, *simulated, left_out)
        for setting, (track, left_out), simulated in zip(settings, tracks, in_lockstep, strict=True)
    ]
    print(*contour_table(comparisons), sep="\n")
    print("bus: " + "; ".join(f"{name.removesuffix(' [%]')}: {bus[name]}{_unit(name)}" for name in SHOWN))
    if jitter.unrecorded:
        print(f"the times of {jitter.unrecorded} cycles are missing in timing.png: this process was held up")
    files = (
        draw_contours(trial.contour, comparisons, output / "contours.png", title),
        draw_errors(comparisons, output / "errors.png", title),
        jitter.plot(output / "timing.png", title),
        write_figures(comparisons, output / "figures.csv"),
        write_samples(comparisons, robot.joints, output / "samples.csv"),
    )
    print("", *files, sep="  ")
    return 0


def _topology_at(rate: float, folder: Path) -> Topology:
    """The robot's topology; for another rate than its own [Hz], that of a file made of it."""
    topology = load_topology(ROBOT)
    if rate == round(1.0 / topology.cycle):
        return topology
    data = read_yaml("topology", topology.path).data
    path = folder / "topology.yaml"
    write_text(path, yaml_text({**data, "cycle": 1.0 / rate}))
    return load_topology(str(path))


def _on_the_bus(
    robot: RobotConfig, topology: Topology, trial: ContourTrial, settings: Sequence[Setting], in_process: bool
) -> tuple[list[tuple[Track, int]], Jitter, Mapping[str, str]]:
    """Tracks, each with the cycles left out meanwhile; the timing of cycles; the bus's last diagnostics."""
    number = os.getpid()  # outside the namespace as well: the names are those of shared memory, too
    interfaces = f"ecm{number}", f"ecs{number}"
    make_pair(*interfaces)
    with ExitStack() as stack:
        session = start(lambda: stack.enter_context(_running(robot, topology, interfaces, in_process)))
        tracks = [session.follow(trial, setting) for setting in settings]
        return tracks, session.jitter(), session.diagnostics()


def start(enter: Callable[[], ContourSession]) -> ContourSession:
    """Start the system; once more where that fails, as on a machine that stalls."""
    for _ in range(ATTEMPTS - 1):
        try:
            return enter()
        except HardwareFault as error:
            if error.name == "rate":  # the machine is too slow, and will be
                raise
            print(f"{error}; once more", file=sys.stderr)
            for number in (signal.SIGINT, signal.SIGTERM):  # which `spinning` leaves ignored at its end
                signal.signal(number, signal.default_int_handler)
    return enter()


@contextmanager
def _running(
    robot: RobotConfig, topology: Topology, interfaces: tuple[str, str], in_process: bool
) -> Iterator[ContourSession]:
    """The emulated bus, the nodes, and a session with drives that are enabled."""
    from robot_control_ros.nodes.demo.contour_operator import ContourOperator
    from robot_control_ros.ros.running import spinning

    master, slaves = interfaces
    hosted = "true" if in_process else "false"
    file = str(topology.path)
    given = {"interface": master, "robot": ROBOT, "law": LAW, "topology": file}
    ethercat, *others = SETUPS["ethercat"].make(**given, in_process=hosted, emulated_bus="true").nodes()
    ethercat = replace(ethercat, parameters={**ethercat.parameters, "rate": 0.0})  # peaks last a few cycles
    with (
        emulated_bus(ROBOT, file, slaves),
        Processes([ethercat, *others]) as processes,
        spinning(lambda: ContourOperator(robot)) as (operator, spin),
    ):
        session = ContourSession(operator, spin, processes, topology)
        session.start()
        with closing(open_memory(memory_path(master))) as memory:
            session.recorder = TimingRecorder(Timing(memory.region("timing")))
            session.check_speed()
            yield session


def _unit(name: str) -> str:
    return " %" if name.endswith("[%]") else ""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Options of the command line; :func:`run` runs what they say."""
    parser.add_argument(
        "--domains", nargs="+", default=["time", "matched"], choices=DOMAINS, help="of the law (default: time matched)"
    )
    parser.add_argument("--topics", action="store_true", help="the law over ROS topics, not in the bus's process")
    parser.add_argument(
        "--rate", type=float, default=RATES[0], choices=RATES, help="of the bus [Hz] (default: %(default)g)"
    )
    parser.add_argument(
        "--output",
        type=OUTPUT_FOLDER,
        default="demo-output/ethercat",
        metavar="FOLDER",
        help="for plots and CSV (default: %(default)s)",
    )


def run(options: argparse.Namespace) -> int:
    """Run :func:`ethercat_demo` by the options of :func:`add_arguments`, in a namespace; returns the exit status."""
    enter_namespace()
    return ethercat_demo(options.domains, in_process=not options.topics, rate=options.rate, output=options.output)
