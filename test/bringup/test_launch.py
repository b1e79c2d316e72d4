"""The launch files, in which nothing is decided, and what launching makes of what
the bringup decides.
"""

import ast
import importlib.util
import sys
from dataclasses import replace
from pathlib import Path
from types import ModuleType, SimpleNamespace

import pytest

from robot_control_ros import bringup
from robot_control_ros.bringup import SETUPS
from robot_control_ros.bringup.system import (
    LONG_ENOUGH,
    PACKAGE,
    LaunchFile,
    NodeSpec,
    Program,
    Setup,
    System,
    Xacro,
)
from robot_control_ros.core.errors import ConfigError
from robot_control_ros.robot.files import share_directory

SHARE = share_directory()
FILES = {
    path.name.removesuffix(".launch.py"): path for path in sorted((SHARE / "launch").glob("*.py"))
}
REQUIRED = {
    "ur": {"ur_type": "ur5", "robot_ip": "192.168.56.101"},
    "gen3": {"robot_ip": "192.168.1.10"},
}
REQUIRED["ethercat"] = {"interface": "eth1"}

every_file = pytest.mark.parametrize("name", FILES)


def load(path, name=None):
    """A module of a file, which finds itself under its name."""
    spec = importlib.util.spec_from_file_location(name or path.name.replace(".", "_"), path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def arguments_of(name):
    """What has to be given, and the defaults of the rest."""
    defaults = {
        argument.name: argument.default
        for argument in SETUPS[name].arguments
        if argument.default is not None
    }
    return defaults | REQUIRED.get(name, {})


# --- the files ---


def test_there_is_a_file_for_every_setup():
    assert list(FILES) == sorted(SETUPS)


@every_file
def test_a_file_only_has_its_setup_described(name):
    text = FILES[name].read_text(encoding="utf-8")
    imported = {
        f"{node.module}.{alias.name}"
        for node in ast.walk(ast.parse(text))
        if isinstance(node, ast.ImportFrom)
        for alias in node.names
    }
    assert imported == {f"{PACKAGE}.bringup.SETUPS", f"{PACKAGE}.bringup.launch_actions.describe"}
    assert f'return describe(SETUPS["{name}"])' in text
    assert f"ros2 launch {PACKAGE} {name}.launch.py" in text


# --- with stand-ins for launch and launch_ros ---


class Entity:
    """Keeps what it was made with."""

    def __init__(self, *positional, **named):
        self.positional, self.named = positional, named


class Configuration(Entity):
    """A substitution that takes its text from the context."""

    def perform(self, context):
        return context.arguments[self.positional[0]]


STAND_INS = {
    "launch": ("LaunchContext", "LaunchDescription"),
    "launch.actions": (
        "DeclareLaunchArgument",
        "ExecuteProcess",
        "IncludeLaunchDescription",
        "LogInfo",
        "OpaqueFunction",
        "RegisterEventHandler",
        "Shutdown",
        "TimerAction",
    ),
    "launch.event_handlers": ("OnProcessExit",),
    "launch.launch_description_sources": ("PythonLaunchDescriptionSource",),
    "launch.substitutions": ("LaunchConfiguration", "PathJoinSubstitution"),
    "launch_ros": (),
    "launch_ros.actions": ("Node",),
    "launch_ros.parameter_descriptions": ("ParameterValue",),
    "launch_ros.substitutions": ("FindPackageShare",),
}


@pytest.fixture
def launching(monkeypatch, xacro_here):
    """The module, on stand-ins."""
    for module, names in STAND_INS.items():
        stand_in = ModuleType(module)
        for name in names:
            kind = Configuration if name == "LaunchConfiguration" else Entity
            setattr(stand_in, name, type(name, (kind,), {}))
        monkeypatch.setitem(sys.modules, module, stand_in)
    made = load(
        Path(bringup.__file__).with_name("launch_actions.py"), f"{PACKAGE}.bringup.launch_actions"
    )
    monkeypatch.setitem(sys.modules, f"{PACKAGE}.bringup.launch_actions", made)
    # nothing of it is installed here
    monkeypatch.setattr(made, "check_requirements", lambda system: None)
    return made


class Launch:
    """Plays launch with stand-ins: takes actions, and is told of the ends of processes.

    Attributes:
        started: nodes and launch files, in their order.
        said: what was logged.
        timers: (seconds, actions).
        reasons: of shutdowns.
        failures: what was reported to the event loop, which makes launch end with exit status 1.
    """

    def __init__(self, description, arguments):
        self.started, self.said, self.timers, self.reasons, self._handlers = [], [], [], [], []
        self.failures = []
        (opaque,) = [
            entity
            for entity in description.positional[0]
            if type(entity).__name__ == "OpaqueFunction"
        ]
        loop = SimpleNamespace(call_exception_handler=self.failures.append)
        self.context = SimpleNamespace(
            arguments=arguments,
            launch_configurations=arguments,
            is_shutdown=False,
            asyncio_loop=loop,
        )
        self.take(opaque.named["function"](self.context))

    def take(self, actions):
        for action in actions:
            kind, named = type(action).__name__, action.named
            if kind in ("Node", "ExecuteProcess", "IncludeLaunchDescription"):
                self.started.append(action)
            elif kind == "RegisterEventHandler":
                (handler,) = action.positional
                assert type(handler).__name__ == "OnProcessExit"
                self._handlers.append((handler.named["target_action"], handler.named["on_exit"]))
            elif kind == "LogInfo":
                self.said.append(named["msg"])
            elif kind == "TimerAction":
                self.timers.append((named["period"], named["actions"]))
            else:
                assert kind == "Shutdown"
                self.reasons.append(named["reason"])

    @property
    def names(self):
        return [process(action) or include(action)[1] for action in self.started]

    def end(self, name, status=0):
        """A process has ended."""
        target = [action for action in self.started if process(action) == name][-1]
        for action, on_exit in self._handlers:
            if action is target:
                self.take(on_exit(SimpleNamespace(returncode=status), self.context))


def process(action):
    """The name of a process; None for a launch file."""
    return action.named.get("exec_name") or action.named.get("name")


def include(action):
    """Package and path of an included launch file."""
    (source,) = action.positional
    assert type(source).__name__ == "PythonLaunchDescriptionSource"
    ((path,),) = [substitution.positional for substitution in source.positional]
    share, below = path
    assert type(share).__name__ == "FindPackageShare"
    return share.positional[0], below


def play(launching, *stages):
    """Launch of a system that is written down here."""
    setup = Setup((), lambda given: System(tuple(tuple(stage) for stage in stages)))
    return Launch(launching.describe(setup), {})


@every_file
def test_the_arguments_are_those_of_the_bringup(launching, name):
    (entities,) = load(FILES[name]).generate_launch_description().positional
    declared = [(entity.positional, entity.named) for entity in entities[:-1]]
    assert declared == [
        (
            (argument.name,),
            {
                "default_value": argument.default,
                "description": argument.text,
                "choices": list(argument.choices) or None,
            },
        )
        for argument in SETUPS[name].arguments
    ]


def process_name(part):
    return part.full_name.replace("/", "_") if isinstance(part, NodeSpec) else part.name


@every_file
def test_stage_after_stage_starts_when_the_one_before_has_got_so_far(launching, name):
    launch = Launch(load(FILES[name]).generate_launch_description(), arguments_of(name))
    started = []
    for stage in SETUPS[name].make(**arguments_of(name)).stages:
        started += [
            part.path if isinstance(part, LaunchFile) else process_name(part) for part in stage
        ]
        assert launch.names == started
        if isinstance(stage[-1], NodeSpec) and stage[-1].once:
            launch.end(stage[-1].name)
    assert launch.names == started
    assert (launch.said, launch.timers, launch.reasons, launch.failures) == ([], [], [], [])


@every_file
def test_where_a_stage_fails_that_is_not_optional_the_next_never_starts(launching, name):
    stages = SETUPS[name].make(**arguments_of(name)).stages
    for number, stage in enumerate(stages):
        last = stage[-1]
        if not last.once:
            continue
        launch = Launch(load(FILES[name]).generate_launch_description(), arguments_of(name))
        for before in stages[:number]:
            launch.end(before[-1].name)
        started = launch.names
        launch.end(last.name, 1)
        assert (launch.names != started) == (last.optional and number + 1 < len(stages))
        reason = f"{last.name} has ended with exit status 1"
        assert launch.reasons == ([reason] if last.vital else [])
        assert bool(launch.failures) != last.optional
        (said,) = launch.said
        assert said == (
            f"{reason}: everything else ends" if last.vital else f"{reason}; the others go on"
        )


def test_a_system_that_cannot_be_is_refused_in_words(launching):
    description = load(FILES["sim"]).generate_launch_description()
    with pytest.raises(ConfigError, match="unknown robot 'nonsense'; robots: "):
        Launch(description, arguments_of("sim") | {"robot": "nonsense"})


@pytest.mark.parametrize(
    ("given", "meant"), [("lw", "law"), ("gain", "gains"), ("dashbord", "dashboard")]
)
def test_a_misspelt_argument_is_refused_with_the_valid_ones(launching, given, meant):
    description = load(FILES["sim"]).generate_launch_description()
    with pytest.raises(ConfigError) as raised:
        Launch(description, arguments_of("sim") | {given: "any"})
    assert f"did you mean {meant!r}?" in str(raised.value)
    assert raised.value.name == given
    assert raised.value.bound == tuple(argument.name for argument in SETUPS["sim"].arguments)


def test_arguments_of_an_included_launch_file_pass(launching):
    description = load(FILES["ur"]).generate_launch_description()
    Launch(
        description,
        arguments_of("ur")
        | {"kinematics_params_file": "/my/calibration.yaml", "tf_prefix": "left_"},
    )


@pytest.mark.parametrize("argument", ["gripper", "robot_type", "dof", "vision", "launch_rviz"])
def test_arguments_of_kinovas_launch_file_are_no_misspelt_ones_of_ours(launching, argument):
    description = load(FILES["gen3"]).generate_launch_description()
    Launch(description, arguments_of("gen3") | {argument: "any"})


def test_a_node_is_what_its_spec_says(launching):
    parameters = {
        "rate": 0.0,
        "use_sim_time": True,
        "gains": [1.0, 2.0],
        "robot": "ur5",
        "scene": "",
    }
    spec = NodeSpec(
        "controller",
        "left",
        parameters,
        ("a.yaml", "b.yaml"),
        {"old": "new"},
        arguments=("-x", "1"),
    )
    (node,) = play(launching, [spec]).started
    *files, given = node.named.pop("parameters")
    assert node.named == {
        "package": PACKAGE,
        "executable": "controller",
        "name": "left",
        "exec_name": "left",
        "remappings": [("old", "new")],
        "arguments": ["-x", "1"],
        "output": "screen",
        "emulate_tty": True,
    }
    assert files == ["a.yaml", "b.yaml"]
    assert list(given) == list(parameters)
    assert [given[name] for name in ("rate", "use_sim_time", "gains")] == [0.0, True, [1.0, 2.0]]
    for name in ("robot", "scene"):  # launch would read them as YAML
        assert type(given[name]).__name__ == "ParameterValue"
        assert (given[name].positional, given[name].named) == (
            (parameters[name],),
            {"value_type": str},
        )


def test_a_node_without_parameters_gets_none(launching):
    (node,) = play(launching, [NodeSpec("simulator", "simulator")]).started
    assert node.named["parameters"] == []


def test_nodes_of_other_packages_keep_their_names(launching):
    (node,) = play(
        launching, [NodeSpec("ros2_control_node", "controller_manager", package="other")]
    ).started
    assert (node.named["name"], node.named["exec_name"]) == (None, "controller_manager")


def test_a_description_is_made_by_xacro_at_the_start(launching):
    xacro = Xacro(SHARE / "urdf/ur5/ur5.urdf.xacro", {"hardware": "mock"})
    (node,) = play(launching, [NodeSpec("any", "any", {"robot_description": xacro})]).started
    value = node.named["parameters"][0]["robot_description"]
    assert value.named == {"value_type": str}
    assert value.positional == (xacro.text(),)


def test_a_launch_file_is_included_with_its_arguments(launching):
    (action,) = play(
        launching, [LaunchFile("their_driver", "launch/arm.launch.py", {"ip": "1.2.3.4"})]
    ).started
    assert include(action) == ("their_driver", "launch/arm.launch.py")
    assert dict(action.named["launch_arguments"]) == {"ip": "1.2.3.4"}


def test_a_program_runs_in_a_session_that_ends_with_it(launching):
    program = Program(
        ("gz", "sim", "a world.sdf"), "gazebo", "ros_gz_sim", {"GZ_SIM_RESOURCE_PATH": "/models"}
    )
    (action,) = play(launching, [program]).started
    assert action.named == {
        "cmd": [
            sys.executable,
            str(Path(bringup.__file__).with_name("program_session.py")),
            "gz",
            "sim",
            "a world.sdf",
        ],
        "name": "gazebo",
        "additional_env": {"GZ_SIM_RESOURCE_PATH": "/models"},
        "output": "screen",
        "emulate_tty": True,
    }


def test_nothing_starts_where_a_requirement_is_missing(launching, monkeypatch):
    def refuse(system):
        raise ConfigError(f"{len(system.stages)} stages lack something")

    monkeypatch.setattr(launching, "check_requirements", refuse)
    with pytest.raises(ConfigError, match="1 stages lack something"):
        play(launching, [NODE])


NODE = NodeSpec("any", "arm")
ONCE = NodeSpec("any", "once", once=True)
PROGRAM = Program(("any",), "arm", "any")


@pytest.mark.parametrize("spec", [NODE, PROGRAM])
def test_the_end_of_what_is_vital_is_soon_the_end_of_all(launching, spec):
    launch = play(launching, [spec])
    launch.end("arm", -9)
    assert launch.said == ["arm has ended: everything else ends in 2 s"]
    assert not launch.reasons
    ((period, actions),) = launch.timers
    assert period == launching.GRACE == 2.0
    launch.take(actions)
    assert launch.reasons == ["arm has ended"]


@pytest.mark.parametrize("status", [0, 1, -9])
@pytest.mark.parametrize("spec", [NODE, replace(NODE, vital=False), PROGRAM])
def test_a_launch_has_failed_where_a_process_has_died_and_not_where_it_has_ended(
    launching, spec, status
):
    launch = play(launching, [spec])
    launch.end("arm", status)
    assert len(launch.failures) == (status != 0)


@pytest.fixture
def passed(monkeypatch):
    """Lets a time pass [s] on the clock that bringup reads."""
    now = [100.0]
    monkeypatch.setattr("time.monotonic", lambda: now[0])
    return lambda seconds: now.__setitem__(0, now[0] + seconds)


PAGE = replace(NODE, vital=False, respawn=True)


def test_a_page_that_was_killed_is_said_and_started_again_and_again(launching, passed):
    launch = play(launching, [PAGE])
    for count in (1, 2, 3):
        passed(LONG_ENOUGH)
        launch.end("arm", -9)
        assert len(launch.said) == count
        assert launch.names == ["arm"] * (count + 1)
    assert launch.failures == launch.reasons == []


def test_a_page_that_ends_at_once_or_by_itself_is_not_started_again(launching, passed):
    for seconds, status in ((0.5 * LONG_ENOUGH, 1), (LONG_ENOUGH, 0)):
        launch = play(launching, [PAGE])
        passed(seconds)
        launch.end("arm", status)
        assert launch.names == ["arm"]
        assert len(launch.said) == 1
        assert launch.reasons == []


def test_nothing_is_started_again_while_launch_ends(launching, passed):
    launch = play(launching, [PAGE])
    passed(LONG_ENOUGH)
    launch.context.is_shutdown = True
    launch.end("arm", -9)
    assert launch.names == ["arm"]


def test_the_end_of_another_node_is_said_and_no_more(launching):
    launch = play(launching, [replace(NODE, vital=False)])
    launch.end("arm")
    assert launch.said == ["arm has ended; the others keep the robot safe until you press Ctrl-C"]
    assert not launch.timers
    assert not launch.reasons


@pytest.mark.parametrize("vital", [True, False])
@pytest.mark.parametrize("spec", [NODE, ONCE])
def test_while_all_is_ending_anyway_nothing_follows_an_end(launching, spec, vital):
    launch = play(launching, [replace(spec, vital=vital)], [replace(NODE, name="later")])
    launch.context.is_shutdown = True
    names = launch.names
    launch.end(spec.name, 1)
    assert launch.names == names
    assert (launch.said, launch.timers, launch.reasons, launch.failures) == ([], [], [], [])


@pytest.mark.parametrize("optional", [False, True])
def test_only_a_failure_that_is_optional_does_not_hold_up_what_comes_after_it(launching, optional):
    launch = play(launching, [replace(ONCE, vital=False, optional=optional)], [NODE])
    launch.end("once", 1)
    assert launch.names == (["once", "arm"] if optional else ["once"])
    assert launch.said == ["once has ended with exit status 1; the others go on"]
    assert not launch.reasons


def test_a_stage_that_nothing_holds_up_starts_with_the_one_before(launching):
    file = LaunchFile("their_driver", "launch/arm.launch.py", {})
    assert play(launching, [file], [NODE], [replace(NODE, name="second")]).names == [
        file.path,
        "arm",
        "second",
    ]


# --- with launch itself ---


@pytest.fixture
def launch_ros():
    return pytest.importorskip("launch_ros", reason="needs ROS 2's launch_ros")


@every_file
def test_launch_takes_every_file(launch_ros, xacro_here, name, monkeypatch):
    import launch

    monkeypatch.setattr(
        "robot_control_ros.bringup.launch_actions.check_requirements", lambda system: None
    )
    description = load(FILES[name]).generate_launch_description()
    arguments = SETUPS[name].arguments
    declared = {argument.name: argument for argument in description.get_launch_arguments()}
    assert list(declared) == [argument.name for argument in arguments]
    for argument in arguments:
        entity = declared[argument.name]
        assert entity.description.startswith(argument.text)  # it tells the choices, too
        assert (entity.choices or []) == list(argument.choices)
        default = entity.default_value
        assert (
            default if default is None else "".join(part.text for part in default)
        ) == argument.default
    context = launch.LaunchContext()
    context.launch_configurations.update(REQUIRED.get(name, {}))
    for entity in declared.values():
        entity.execute(context)
    (opaque,) = [
        entity
        for entity in description.entities
        if isinstance(entity, launch.actions.OpaqueFunction)
    ]
    actions = opaque.execute(context)
    first = SETUPS[name].make(**arguments_of(name)).stages[0]
    # a node is a process, too
    kinds = (launch.actions.ExecuteProcess, launch.actions.IncludeLaunchDescription)
    started = [action for action in actions if isinstance(action, kinds)]
    assert len(started) == len(first)
    for action, spec in zip(started, first, strict=True):
        if isinstance(spec, NodeSpec):
            assert isinstance(action, launch_ros.actions.Node)
            assert (action.node_package, action.node_executable) == (spec.package, spec.executable)
        elif isinstance(spec, Program):
            assert type(action) is launch.actions.ExecuteProcess
        else:
            assert isinstance(action, launch.actions.IncludeLaunchDescription)
