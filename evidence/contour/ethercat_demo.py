"""The demonstration on EtherCAT: position-domain PD on an emulated bus, and in process."""

from __future__ import annotations

import argparse
import os
from collections.abc import Iterator, Mapping, Sequence
from contextlib import closing, contextmanager
from dataclasses import replace
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING

from ethercat_emulator.network.veth import enter_namespace, make_pair
from robot_control_ros.bringup import SETUPS
from robot_control_ros.bringup.connection import connect
from robot_control_ros.bringup.processes import Processes, interrupted_once
from robot_control_ros.cli.options import OUTPUT_FOLDER, add_number
from robot_control_ros.cli.progress import Progress
from robot_control_ros.core.bounded import Bounded
from robot_control_ros.core.errors import RobotControlError
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
from .contour_steps import STEPS, ContourSteps
from .contour_trial import (
    FEED,
    LAW,
    Comparison,
    ContourTrial,
    Setting,
    Track,
    write_figures,
    write_samples,
)

if TYPE_CHECKING:
    from .contour_session import ContourSession

ROBOT = "ur5"
PROFILE = "ethercat"
RATE = 1000.0  # Hz
FEEDFORWARDS = (0.0, 1.0)
SHOWN = (
    "on time [%]",
    "cycles",
    "cycles left out",
    "working counter",
    "wrong working counters",
    "lost frames",
)


def ethercat_demo(
    domains: Sequence[str], *, in_process: bool = True, rate: float = RATE, output: Path = Path()
) -> int:
    """Run the demonstration in a network namespace of its own; returns the exit status.

    Args:
        domains: Domains of the law, each without and with feed-forward.
        in_process: True runs the law in the bus process; False over topics.
        rate: Rate of the bus [Hz].
        output: Folder for plots and tables.

    Raises:
        ConfigError: No pair of interfaces can be made here.
        HardwareFault: The machine is too slow, a process ended, or the drives were stopped.
        StaleStateError: The controller is gone.
    """
    os.environ.update(environment())
    robot = load_robot(ROBOT, PROFILE).at_rate(rate)
    output.mkdir(parents=True, exist_ok=True)
    topology = _topology_at(rate, output)
    where = "in the bus's process" if in_process else "over topics"
    title = f"{robot.name} on an emulated bus at {robot.profile.rate:g} Hz, {LAW} {where}"
    print(f"{title}: a rectangle at {1e3 * FEED:g} mm/s", flush=True)
    trial = ContourTrial(robot)
    settings = [Setting(domain, fraction) for domain in domains for fraction in FEEDFORWARDS]
    total = len(settings) * STEPS * trial.duration
    try:
        with Progress("contour", total, "s", beats=True) as shown, interrupted_once():
            steps = ContourSteps(shown, trial.duration)
            in_lockstep = [_simulated(trial, each, topology, steps) for each in settings]
            tracks, jitter, bus, warnings = _on_the_bus(
                robot, topology, trial, settings, in_process, steps
            )
    except KeyboardInterrupt:
        print("\nstopped")
        return 130
    comparisons = [
        Comparison(setting, track, *simulated, left_out)
        for setting, (track, left_out), simulated in zip(settings, tracks, in_lockstep, strict=True)
    ]
    print(*contour_table(comparisons), sep="\n")
    for warning in warnings:
        print(f"the controller said: {warning}")
    print(
        "bus: "
        + "; ".join(f"{name.removesuffix(' [%]')}: {bus[name]}{_unit(name)}" for name in SHOWN)
    )
    if jitter.unrecorded:
        print(
            f"the times of {jitter.unrecorded} cycles are missing in timing.png: this process was held up"
        )
    files = (
        draw_contours(trial.contour, comparisons, output / "contours.png", title),
        draw_errors(comparisons, output / "errors.png", title),
        jitter.plot(output / "timing.png", title),
        write_figures(comparisons, output / "figures.csv"),
        write_samples(comparisons, robot.joints, output / "samples.csv"),
    )
    print("", *files, sep="  ")
    return 0


def _simulated(
    trial: ContourTrial, setting: Setting, topology: Topology, steps: ContourSteps
) -> tuple[Track, Track]:
    """Tracks of a setting in lockstep: with ideal drives, and with those of the topology."""
    steps.begin(f"{setting}: simulated")
    ideal = trial.simulate(setting, steps.show)
    steps.end()
    steps.begin(f"{setting}: simulated with its drives")
    driven = trial.simulate_drives(setting, topology, steps.show)
    steps.end()
    return ideal, driven


def _topology_at(rate: float, folder: Path) -> Topology:
    """Topology of the robot; for another rate than its own [Hz], that of a file made of it."""
    topology = load_topology(ROBOT)
    if rate == round(1.0 / topology.cycle):
        return topology
    data = read_yaml("topology", topology.path).data
    path = folder / "topology.yaml"
    write_text(path, yaml_text({**data, "cycle": 1.0 / rate}))
    return load_topology(str(path))


def _on_the_bus(
    robot: RobotConfig,
    topology: Topology,
    trial: ContourTrial,
    settings: Sequence[Setting],
    in_process: bool,
    steps: ContourSteps,
) -> tuple[list[tuple[Track, int]], Jitter, Mapping[str, str], list[str]]:
    """Follow the contour on the bus with each setting.

    Returns:
        Tracks, each with the cycles left out meanwhile; the timing of cycles; the bus's last
        values; what the controller has said meanwhile.
    """
    number = os.getpid()  # outside the namespace as well: the names are those of shared memory, too
    interfaces = f"ecm{number}", f"ecs{number}"
    make_pair(*interfaces)
    steps.begin("the bus and the controller start")
    with (
        TemporaryDirectory(prefix="robot_control_ros.contour.") as folder,
        _running(robot, topology, interfaces, in_process) as session,
    ):
        tracks = [
            session.follow(trial, setting, Path(folder) / f"{index}.mcap", steps)
            for index, setting in enumerate(settings)
        ]
        return tracks, session.jitter(), session.diagnosis().values, session.warnings


@contextmanager
def _running(
    robot: RobotConfig, topology: Topology, interfaces: tuple[str, str], in_process: bool
) -> Iterator[ContourSession]:
    """Run the emulated bus and the nodes, and enable the drives."""
    from .contour_session import ContourSession

    master, slaves = interfaces
    file = str(topology.path)
    setup = SETUPS["ethercat"].make(
        interface=master,
        robot=ROBOT,
        law=LAW,
        topology=file,
        in_process="true" if in_process else "false",
        emulated_bus="true",
    )
    ethercat, *others = setup.nodes()
    # peaks last a few cycles
    ethercat = replace(ethercat, parameters={**ethercat.parameters, "rate": 0.0})
    with (
        emulated_bus(ROBOT, file, slaves),
        Processes([ethercat, *others]) as processes,
        connect(processes) as arm,
        closing(open_memory(memory_path(master))) as memory,
    ):
        recorder = TimingRecorder(Timing(memory.region("timing")))
        session = ContourSession(arm, topology, recorder, over_topics=not in_process)
        try:
            session.enable()
            session.check_speed()
            yield session
        except RobotControlError:
            processes.check()  # a process that has ended is the cause
            raise


def _unit(name: str) -> str:
    return " %" if name.endswith("[%]") else ""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Options of the command line; :func:`run` runs what they say."""
    parser.add_argument(
        "--domains",
        nargs="+",
        default=["time", "matched"],
        choices=DOMAINS,
        help="domains of the law (default: time matched)",
    )
    parser.add_argument(
        "--topics",
        action="store_true",
        help="run the law over ROS topics, not in the bus's process",
    )
    rate = Bounded(default=RATE, above=0.0, unit="Hz", doc="rate of the bus")
    add_number(parser.add_argument, "--rate", rate)
    parser.add_argument(
        "--output",
        type=OUTPUT_FOLDER,
        default="demo-output/ethercat",
        metavar="FOLDER",
        help="folder for plots and CSV (default: %(default)s)",
    )


def run(options: argparse.Namespace) -> int:
    """Run the demonstration by its options in a network namespace; returns the exit status."""
    enter_namespace()
    return ethercat_demo(
        options.domains, in_process=not options.topics, rate=options.rate, output=options.output
    )
