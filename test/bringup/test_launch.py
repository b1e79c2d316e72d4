"""The launch files: what each starts, in which order, and what follows the end of a process."""

import ast
import importlib.util
import sys
from pathlib import Path
from types import ModuleType, SimpleNamespace

import pytest
import yaml

from robot_control_ros import bringup
from robot_control_ros.bringup import SETUPS
from robot_control_ros.bringup.system import (
    LONG_ENOUGH,
    PACKAGE,
    LaunchFile,
    NodeSpec,
    Program,
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
    "ethercat": {"interface": "eth1"},
    "can": {"channel": "can0"},
    "fr3": {"ip": "172.16.0.2"},
}
# What a launch file is started with, besides what it needs; each file at least without anything.
GAINS = "gains with a rate"  # stands for a file of the test
WALL_TIME = "a robot on wall time"  # likewise
CASES = {
    "sim": [
        {"dashboard": "true", "rate": "250", "prefix": "left_", "namespace": "left"},
        {"scene": "ball", "imperfections": "like_ur5", "gains": GAINS},
        {"watchdog": "false"},
        {"robot": WALL_TIME},
    ],
    "two_arms": [
        {"dashboard": "true", "rate": "250"},
        {"profile": "real", "law": "admittance"},
        {"watchdog": "false"},
    ],
    "mock": [
        {"dashboard": "true", "prefix": "left_", "gains": GAINS},
        {"watchdog": "false"},
    ],
    "gazebo": [
        {"dashboard": "true", "prefix": "left_", "headless": "true", "gains": GAINS},
        {"interface": "position", "law": "admittance", "watchdog": "false"},
        {"robot": WALL_TIME},
    ],
    "ur": [
        {"dashboard": "true", "tf_prefix": "left_", "gains": GAINS},
        {"use_mock_hardware": "true"},
        {"driver": "false", "watchdog": "false"},
    ],
    "gen3": [
        {"dashboard": "true", "prefix": "left_"},
        {"use_mock_hardware": "true"},
        {"driver": "false", "watchdog": "false"},
    ],
    "ethercat": [
        {"dashboard": "true", "in_process": "true"},
        {"emulated_bus": "true"},
    ],
    "can": [
        {"dashboard": "true", "in_process": "true"},
        {"emulated_bus": "true"},
    ],
    "fr3": [
        {"dashboard": "true"},
        {"in_process": "false", "law": "position_domain_pd"},
    ],
    "icube": [
        {"dashboard": "true", "prefix": "left_", "gains": GAINS},
        {"watchdog": "false"},
    ],
    "sim_ros2_control": [
        {"controller": "forward_effort_controller", "prefix": "left_"},
    ],
}
# By file, what starts together; a stage starts when the one before has ended well, see WAITED.
SPAWN = "spawn_joint_state_broadcaster"
OURS = ["watchdog", "controller", "dashboard"]
STAGES = {
    "sim": [["simulator", *OURS]],
    "two_arms": [
        ["simulator", *(f"{arm}_{name}" for arm in ("left", "right") for name in OURS)],
    ],
    "mock": [
        ["robot_state_publisher", "controller_manager", SPAWN],
        ["spawn_force_torque_sensor_broadcaster"],
        ["load_forward_position_controller"],
        [*OURS, "wait_active"],
        ["spawn_forward_position_controller"],
    ],
    "gazebo": [
        ["gazebo", "robot_state_publisher", "clock_bridge", "create"],
        [SPAWN],
        ["spawn_force_torque_sensor_broadcaster"],
        ["load_forward_effort_controller"],
        [*OURS, "wait_active"],
        ["spawn_forward_effort_controller"],
    ],
    "ur": [
        ["launch/ur_control.launch.py", *OURS, "wait_active"],
        ["spawn_forward_position_controller"],
    ],
    "gen3": [["launch/gen3.launch.py", *OURS]],
    "ethercat": [["ethercat", "controller", "dashboard"]],
    "can": [["can", "controller", "dashboard"]],
    "fr3": [["franka", "controller", "dashboard"]],
    "icube": [
        ["robot_state_publisher", "controller_manager", SPAWN],
        ["load_forward_velocity_controller"],
        [*OURS, "wait_active"],
        ["spawn_forward_velocity_controller"],
    ],
    "sim_ros2_control": [
        ["simulator", "robot_state_publisher", "controller_manager", SPAWN],
        ["spawn_joint_trajectory_controller"],
    ],
}
ENDS_BY_ITSELF = ("spawn_", "load_", "create", "wait_active")  # how names of those nodes begin
# By file, the processes whose end is not the end of all: what is left keeps the robot safe.
SURVIVED = {
    "sim": {"dashboard"},
    "two_arms": {f"{arm}_{name}" for arm in ("left", "right") for name in OURS},
    "mock": {"robot_state_publisher", "dashboard"},
    "gazebo": {"robot_state_publisher", "dashboard"},
    "ur": {*OURS},
    "gen3": {*OURS},
    "ethercat": {"controller", "dashboard"},
    "can": {"controller", "dashboard"},
    "fr3": {"controller", "dashboard"},
    "icube": {"robot_state_publisher", *OURS},
    "sim_ros2_control": {"robot_state_publisher"},
}
# By file, what follows the failure of a node that ends by itself; "all" ends for the others.
CONSEQUENCES = {
    # an older Gazebo doesn't show the sensor
    ("mock", "spawn_force_torque_sensor_broadcaster"): "next",
    ("gazebo", "spawn_force_torque_sensor_broadcaster"): "next",
    ("ur", "wait_active"): "wait",
    # of a driver that runs already the controller may be active already
    ("ur", "spawn_forward_position_controller"): "next",
}


def by_itself(name):
    """True where a process is one that ends by itself."""
    return name.startswith(ENDS_BY_ITSELF)


def waited(name):
    """Processes of a launch file that end by themselves, in their order."""
    return [each for stage in STAGES[name] for each in stage if by_itself(each)]


every_file = pytest.mark.parametrize("name", FILES)
every_case = pytest.mark.parametrize(
    ("name", "given"),
    [(name, given) for name in FILES for given in ({}, *CASES[name])],
    ids=lambda value: value if isinstance(value, str) else ",".join(value) or "defaults",
)


def load(path, name=None):
    """A module of a file, which finds itself under its name."""
    spec = importlib.util.spec_from_file_location(name or path.name.replace(".", "_"), path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def arguments_of(name, **given):
    """Values of all arguments: the given ones, those that are required, and the defaults."""
    defaults = {
        argument.name: argument.default
        for argument in SETUPS[name].arguments
        if argument.default is not None
    }
    return defaults | REQUIRED.get(name, {}) | given


@pytest.fixture
def complete(tmp_path):
    """Values of all arguments of a launch file, with the test's files for what stands for them."""
    gains = tmp_path / "gains.yaml"
    gains.write_text("controller: { ros__parameters: { rate: 321.0 } }", encoding="utf-8")
    robot = tmp_path / "mine.yaml"
    entries = yaml.safe_load((SHARE / "config/robots/ur5.yaml").read_text(encoding="utf-8"))
    for profile in ("sim", "gz"):
        entries["profiles"][profile]["simulated_time"] = False
    robot.write_text(yaml.safe_dump(entries), encoding="utf-8")
    files = {GAINS: str(gains), WALL_TIME: str(robot)}

    def values(name, given):
        return arguments_of(name, **{key: files.get(text, text) for key, text in given.items()})

    return values


# --- the files ---


def test_there_is_a_file_for_every_setup():
    assert list(FILES) == sorted(SETUPS)


@every_file
def test_a_file_has_launchs_own_words_and_the_bringups_values(name):
    text = FILES[name].read_text(encoding="utf-8")
    modules = {
        node.module for node in ast.walk(ast.parse(text)) if isinstance(node, ast.ImportFrom)
    }
    assert {module.partition(".")[0] for module in modules} == {"launch", "launch_ros", PACKAGE}
    assert {module for module in modules if module.startswith(PACKAGE)} == {
        f"{PACKAGE}.bringup.launch_actions"
    }
    assert f"ros2 launch {PACKAGE} {name}.launch.py" in text


# --- with stand-ins for launch and launch_ros ---


class Entity:
    """Keeps what it was made with."""

    def __init__(self, *positional, **named):
        self.positional, self.named = positional, named


class Configuration(Entity):
    """A substitution that takes its text from the context."""

    def perform(self, context):
        return context.launch_configurations[self.positional[0]]


class Equals(Entity):
    """A substitution that compares two texts."""

    def perform(self, context):
        one, other = self.positional
        return str(one == other).lower()


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
    "launch.conditions": ("IfCondition",),
    "launch.event_handlers": ("OnProcessExit",),
    "launch.launch_description_sources": ("PythonLaunchDescriptionSource",),
    "launch.substitutions": ("EqualsSubstitution", "LaunchConfiguration", "PathJoinSubstitution"),
    "launch_ros": (),
    "launch_ros.actions": ("Node",),
    "launch_ros.parameter_descriptions": ("ParameterValue",),
    "launch_ros.substitutions": ("FindPackageShare",),
}
KINDS = {"LaunchConfiguration": Configuration, "EqualsSubstitution": Equals}


@pytest.fixture
def launching(monkeypatch, xacro_here):
    """The module, on stand-ins; `checked` has the systems that were looked up before a start."""
    for module, names in STAND_INS.items():
        stand_in = ModuleType(module)
        for name in names:
            setattr(stand_in, name, type(name, (KINDS.get(name, Entity),), {}))
        monkeypatch.setitem(sys.modules, module, stand_in)
    made = load(
        Path(bringup.__file__).with_name("launch_actions.py"), f"{PACKAGE}.bringup.launch_actions"
    )
    monkeypatch.setitem(sys.modules, f"{PACKAGE}.bringup.launch_actions", made)
    made.checked = []
    # nothing of it is installed here
    monkeypatch.setattr(made, "check_requirements", made.checked.append)
    return made


class Launch:
    """Plays launch with stand-ins: takes actions, and is told of the ends of processes.

    Attributes:
        started: nodes, programs and launch files, in their order.
        said: what was logged.
        timers: (seconds, actions).
        reasons: of shutdowns.
        failures: what was reported to the event loop, which makes launch end with exit status 1.
    """

    def __init__(self, actions, arguments):
        self.started, self.said, self.timers, self.reasons, self._handlers = [], [], [], [], []
        self.failures = []
        loop = SimpleNamespace(call_exception_handler=self.failures.append)
        self.context = SimpleNamespace(
            launch_configurations=dict(arguments), is_shutdown=False, asyncio_loop=loop
        )
        self.take(actions)

    def take(self, actions):
        for action in actions:
            kind, named = type(action).__name__, action.named
            if "condition" in named and not self._true(named["condition"]):
                continue
            if kind == "OpaqueFunction":
                self.take(named["function"](self.context))
            elif kind in ("Node", "ExecuteProcess", "IncludeLaunchDescription"):
                self.started.append(action)
                if "on_exit" in named:
                    self._handlers.append((action, named["on_exit"]))
            elif kind == "RegisterEventHandler":
                (handler,) = action.positional
                assert type(handler).__name__ == "OnProcessExit"
                self._handlers.append((handler.named["target_action"], handler.named["on_exit"]))
            elif kind == "LogInfo":
                self.said.append(named["msg"])
            elif kind == "TimerAction":
                self.timers.append((named["period"], named["actions"]))
            elif kind == "Shutdown":
                self.reasons.append(named["reason"])
            else:
                assert kind == "DeclareLaunchArgument"

    def _true(self, condition):
        assert type(condition).__name__ == "IfCondition"
        (text,) = condition.positional
        # A configuration may be another one, or none, when a process ends.
        assert not isinstance(text, Configuration)
        text = text.perform(self.context) if isinstance(text, Equals) else text
        return {"true": True, "false": False}[text]

    @property
    def names(self):
        return [process(action) or include(action)[1] for action in self.started]

    def end(self, name, status=0):
        """A process has ended."""
        target = [action for action in self.started if process(action) == name][-1]
        event = SimpleNamespace(returncode=status, process_name=f"{name}-7")
        for action, on_exit in list(self._handlers):
            if action is target:
                self.take(on_exit(event, self.context))


def process(action):
    """The name of a process, as launch makes it; None for a launch file."""
    named = action.named
    return named.get("exec_name") or named.get("executable") or named.get("name")


def include(action):
    """Package and path of an included launch file."""
    (source,) = action.positional
    assert type(source).__name__ == "PythonLaunchDescriptionSource"
    ((path,),) = [substitution.positional for substitution in source.positional]
    share, below = path
    assert type(share).__name__ == "FindPackageShare"
    return share.positional[0], below


def play(name, arguments):
    """The launch of a file, up to the first end of a process."""
    (actions,) = load(FILES[name]).generate_launch_description().positional
    return Launch(actions, arguments)


def play_to_the_end(name, arguments):
    """The launch of a file in which all that ends by itself has ended well."""
    launch = play(name, arguments)
    ended = set()
    while pending := [each for each in launch.names if by_itself(each) and each not in ended]:
        launch.end(pending[0])
        ended.add(pending[0])
    return launch


def expected(part):
    """What launch starts of a part of a system, as :func:`started` has it."""
    if isinstance(part, LaunchFile):
        return {"include": (part.package, part.path), "arguments": dict(part.arguments)}
    if isinstance(part, Program):
        return {
            "cmd": list(part.command),
            "name": part.name,
            "environment": dict(part.environment),
        }
    own = part.package == PACKAGE
    text = {
        name: value.text() if isinstance(value, Xacro) else value
        for name, value in part.parameters.items()
    }
    return {
        "package": part.package,
        "executable": part.executable,
        # a name would be that of all nodes of the process
        "name": part.name if own else None,
        "namespace": part.namespace or None,
        "files": list(part.parameter_files),
        "parameters": text,
        "remappings": dict(part.remappings),
        "arguments": list(part.arguments),
    }


def started(action):
    """What an action of launch starts."""
    named = action.named
    kind = type(action).__name__
    if kind == "IncludeLaunchDescription":
        return {"include": include(action), "arguments": dict(named["launch_arguments"])}
    assert named["output"] == "screen"
    assert named["emulate_tty"] is True
    if kind == "ExecuteProcess":
        python, session, *command = named["cmd"]
        assert python == sys.executable
        assert session == str(Path(bringup.__file__).with_name("program_session.py"))
        return {
            "cmd": command,
            "name": named["name"],
            "environment": dict(named["additional_env"]),
        }
    parameters = {}
    files = []
    for each in named.get("parameters", []):
        if isinstance(each, str):
            assert not parameters, "values win over files"
            files.append(each)
        else:
            parameters |= {name: plain(value) for name, value in each.items()}
    return {
        "package": named["package"],
        "executable": named["executable"],
        "name": named.get("name"),
        "namespace": named.get("namespace"),
        "files": files,
        "parameters": parameters,
        "remappings": dict(named.get("remappings", ())),
        "arguments": list(named.get("arguments", ())),
    }


def plain(value):
    """A value of a parameter; a text is declared as one, since launch would read it as YAML."""
    if isinstance(value, Entity):
        assert type(value).__name__ == "ParameterValue"
        assert value.named == {"value_type": str}
        return value.positional[0]
    assert not isinstance(value, str)
    return value


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


@every_case
def test_a_file_starts_each_part_of_the_checked_system_and_nothing_else(
    launching, complete, name, given
):
    launch = play_to_the_end(name, complete(name, given))
    (system,) = launching.checked
    assert [started(action) for action in launch.started] == [
        expected(part) for part in system.parts
    ]
    assert len(set(launch.names)) == len(launch.names)
    assert (launch.said, launch.timers, launch.reasons, launch.failures) == ([], [], [], [])


@every_file
def test_a_file_lists_the_parameters_that_its_nodes_get(launching, complete, monkeypatch, name):
    """Each listed name occurs in one of the cases."""
    listed = set()

    def noted(method):
        def call(values, owner, *names):
            listed.update((owner, each) for each in names)
            return method(values, owner, *names)

        return call

    for method in ("parameters", "launch_arguments"):
        original = getattr(launching.LaunchValues, method)
        monkeypatch.setattr(launching.LaunchValues, method, noted(original))
    for given in ({}, *CASES[name]):
        play(name, complete(name, given))
    passed = set()
    for system in launching.checked:
        for part in system.parts:
            if isinstance(part, NodeSpec):
                owners = (part.name, part.full_name)
                passed.update((owner, each) for owner in owners for each in part.parameters)
            elif isinstance(part, LaunchFile):
                passed.update((part.package, each) for each in part.arguments)
    assert listed <= passed


def test_a_parameter_that_a_file_does_not_list_is_refused(launching):
    node = NodeSpec("controller", "controller", {"robot": "ur5", "law": "impedance"})
    driver = LaunchFile("their_driver", "launch/arm.launch.py", {"ip": "1.2.3.4"})
    values = launching.LaunchValues(System((node, driver)), {})
    with pytest.raises(ConfigError) as refusal:
        values.parameters("controller", "robot")
    assert (refusal.value.name, refusal.value.bound) == ("law", ("robot",))
    with pytest.raises(ConfigError) as refusal:
        values.launch_arguments("their_driver")
    assert (refusal.value.name, refusal.value.bound) == ("ip", ())


@every_file
def test_stage_after_stage_starts_when_the_one_before_has_got_so_far(launching, name):
    arguments = arguments_of(name)
    if "dashboard" in arguments:
        arguments["dashboard"] = "true"
    launch = play(name, arguments)
    expected_names = []
    for stage in STAGES[name]:
        expected_names += stage
        assert launch.names == expected_names
        for each in stage:
            if by_itself(each):
                launch.end(each)
    assert launch.names == expected_names
    assert (launch.said, launch.timers, launch.reasons, launch.failures) == ([], [], [], [])


@pytest.mark.parametrize(
    ("name", "failing"), [(name, each) for name in STAGES for each in waited(name)]
)
def test_a_failure_of_what_ends_by_itself_has_its_consequence(launching, name, failing):
    launch = play(name, arguments_of(name))
    place = waited(name).index(failing)
    after = waited(name)[place + 1 :]
    for each in waited(name)[:place]:
        launch.end(each)
    names = launch.names
    launch.end(failing, 1)
    consequence = CONSEQUENCES.get((name, failing), "all")
    reason = f"{failing} has ended with exit status 1"
    (said,) = launch.said
    if consequence == "all":
        assert said == f"{reason}: everything else ends"
        assert launch.reasons == [reason]
    else:
        assert said == f"{reason}; the others go on"
        assert launch.reasons == []
    assert bool(launch.failures) == (consequence != "next")
    assert (launch.names != names) == (consequence == "next" and bool(after))


@every_file
def test_the_end_of_a_node_is_the_end_of_all_or_the_others_keep_the_robot_safe(
    launching, passed, name
):
    arguments = arguments_of(name)
    if "dashboard" in arguments:
        arguments["dashboard"] = "true"
    names = [
        process(action)
        for action in play_to_the_end(name, arguments).started
        if process(action) and not by_itself(process(action))
    ]
    assert set(names) >= SURVIVED[name]
    for ending in names:
        launch = play_to_the_end(name, arguments)
        before = launch.names
        launch.end(ending, -9)
        (said,) = launch.said
        if ending in SURVIVED[name]:
            assert (
                said == f"{ending} has ended; the others keep the robot safe until you press Ctrl-C"
            )
            assert not launch.timers
        else:
            assert said == f"{ending} has ended: everything else ends in 2 s"
            ((period, actions),) = launch.timers
            assert period == launching.GRACE == 2.0
            launch.take(actions)
            assert launch.reasons == [f"{ending} has ended"]
        assert launch.names == before
        assert len(launch.failures) == 1


@pytest.mark.parametrize("name", [name for name in FILES if "dashboard" in arguments_of(name)])
def test_a_page_that_was_killed_is_started_again(launching, passed, name):
    launch = play_to_the_end(name, arguments_of(name, dashboard="true"))
    pages = [each for each in launch.names if each.endswith("dashboard")]
    assert pages
    for page in pages:
        passed(LONG_ENOUGH)
        launch.end(page, -9)
        assert launch.names[-1] == page
        assert started(launch.started[-1]) == started(launch.started[launch.names.index(page)])
    assert len(launch.said) == len(pages)


def test_a_system_that_cannot_be_is_refused_in_words(launching):
    with pytest.raises(ConfigError, match="unknown robot 'nonsense'; robots: "):
        play("sim", arguments_of("sim", robot="nonsense"))


@pytest.mark.parametrize(
    ("given", "meant"), [("lw", "law"), ("gain", "gains"), ("dashbord", "dashboard")]
)
def test_a_misspelt_argument_is_refused_with_the_valid_ones(launching, given, meant):
    with pytest.raises(ConfigError) as raised:
        play("sim", arguments_of("sim", **{given: "any"}))
    assert f"did you mean {meant!r}?" in str(raised.value)
    assert raised.value.name == given
    assert raised.value.bound == tuple(argument.name for argument in SETUPS["sim"].arguments)


def test_arguments_of_an_included_launch_file_pass(launching):
    calibration = {"kinematics_params_file": "/my/calibration.yaml", "tf_prefix": "left_"}
    assert play("ur", arguments_of("ur", **calibration)).started


@pytest.mark.parametrize("argument", ["gripper", "robot_type", "dof", "vision", "launch_rviz"])
def test_arguments_of_kinovas_launch_file_are_no_misspelt_ones_of_ours(launching, argument):
    assert play("gen3", arguments_of("gen3", **{argument: "any"})).started


@every_file
def test_nothing_starts_where_a_requirement_is_missing(launching, monkeypatch, name):
    def refuse(system):
        raise ConfigError("something is missing")

    monkeypatch.setattr(launching, "check_requirements", refuse)
    with pytest.raises(ConfigError, match="something is missing"):
        play(name, arguments_of(name))


# --- values ---


def test_values_keep_their_types_and_follow_the_files(launching):
    parameters = {
        "rate": 0.0,
        "use_sim_time": True,
        "gains": [1.0, 2.0],
        "robot": "ur5",
        "scene": "",
    }
    node = NodeSpec("controller", "left", parameters, ("a.yaml", "b.yaml"), {"old": "new"})
    values = launching.LaunchValues(System((node,)), {})
    *files, given = values.parameters("left", *parameters, "prefix")
    assert files == ["a.yaml", "b.yaml"]
    assert list(given) == list(parameters)
    assert {name: plain(value) for name, value in given.items()} == parameters
    assert values.remappings("left") == [("old", "new")]


def test_a_node_without_parameters_gets_none(launching):
    values = launching.LaunchValues(System((NodeSpec("simulator", "simulator"),)), {})
    assert values.parameters("simulator", "robot") == []


def test_a_node_that_the_system_lacks_has_no_values(launching):
    values = launching.LaunchValues(System(()), {})
    assert values.parameters("watchdog", "robot") == []
    assert values.remappings("watchdog") == []
    assert values.arguments("watchdog") == []
    assert values.launch_arguments("their_driver", "ip") == []


def test_a_node_in_a_namespace_is_named_with_it(launching):
    arms = [
        NodeSpec("controller", "controller", {"robot": arm}, namespace=arm)
        for arm in ("left", "right")
    ]
    values = launching.LaunchValues(System(tuple(arms)), {})
    assert values.namespaces == ["left", "right"]
    for arm in values.namespaces:
        (given,) = values.parameters(f"{arm}/controller", "robot")
        assert plain(given["robot"]) == arm


def test_a_description_is_made_by_xacro_at_the_start(launching):
    xacro = Xacro(SHARE / "urdf/ur5/ur5.urdf.xacro", {"hardware": "mock"})
    node = NodeSpec("any", "any", {"robot_description": xacro})
    (given,) = launching.LaunchValues(System((node,)), {}).parameters("any", "robot_description")
    assert plain(given["robot_description"]) == xacro.text()


# --- what follows an end ---


@pytest.fixture
def passed(monkeypatch):
    """Lets a time pass [s] on the clock that bringup reads."""
    now = [100.0]
    monkeypatch.setattr("time.monotonic", lambda: now[0])
    return lambda seconds: now.__setitem__(0, now[0] + seconds)


def node(launching, **named):
    return sys.modules["launch_ros.actions"].Node(executable="arm", **named)


@pytest.mark.parametrize("status", [0, 1, -9])
@pytest.mark.parametrize("handler", ["end_all", "others_go_on"])
def test_a_launch_has_failed_where_a_process_has_died_and_not_where_it_has_ended(
    launching, handler, status
):
    launch = Launch([node(launching, on_exit=getattr(launching, handler))], {})
    launch.end("arm", status)
    assert len(launch.failures) == (status != 0)


def test_a_page_that_was_killed_is_said_and_started_again_and_again(launching, passed):
    def page():
        return node(launching, on_exit=launching.restart(page))

    launch = Launch([page()], {})
    for count in (1, 2, 3):
        passed(LONG_ENOUGH)
        launch.end("arm", -9)
        assert len(launch.said) == count
        assert launch.names == ["arm"] * (count + 1)
    assert launch.failures == launch.reasons == []


def test_a_page_that_ends_at_once_or_by_itself_is_not_started_again(launching, passed):
    def page():
        return node(launching, on_exit=launching.restart(page))

    for seconds, status in ((0.5 * LONG_ENOUGH, 1), (LONG_ENOUGH, 0)):
        launch = Launch([page()], {})
        passed(seconds)
        launch.end("arm", status)
        assert launch.names == ["arm"]
        assert len(launch.said) == 1
        assert launch.reasons == []


@pytest.mark.parametrize("status", [0, 1])
@pytest.mark.parametrize(
    "handler",
    [
        lambda actions: actions.end_all,
        lambda actions: actions.others_go_on,
        lambda actions: actions.restart(lambda: None),
        lambda actions: actions.after_success(None),
        lambda actions: actions.after_end(None),
    ],
    ids=["end_all", "others_go_on", "restart", "after_success", "after_end"],
)
def test_while_all_is_ending_anyway_nothing_follows_an_end(launching, passed, handler, status):
    launch = Launch([node(launching, on_exit=handler(launching))], {})
    passed(LONG_ENOUGH)
    launch.context.is_shutdown = True
    launch.end("arm", status)
    assert launch.names == ["arm"]
    assert (launch.said, launch.timers, launch.reasons, launch.failures) == ([], [], [], [])


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
    parts = {
        part.path if isinstance(part, LaunchFile) else part.name: part
        for part in SETUPS[name].make(**arguments_of(name)).parts
    }
    # a node is a process, too
    kinds = (launch.actions.ExecuteProcess, launch.actions.IncludeLaunchDescription)
    started = [
        action
        for action in actions
        if isinstance(action, kinds)
        and (action.condition is None or action.condition.evaluate(context))
    ]
    first = [each for each in STAGES[name][0] if not each.endswith("dashboard")]
    assert len(started) == len(first)
    for action, each in zip(started, first, strict=True):
        part = parts[each.removeprefix("left_").removeprefix("right_")]
        if isinstance(part, NodeSpec):
            assert isinstance(action, launch_ros.actions.Node)
            assert (action.node_package, action.node_executable) == (part.package, part.executable)
        elif isinstance(part, Program):
            assert type(action) is launch.actions.ExecuteProcess
        else:
            assert isinstance(action, launch.actions.IncludeLaunchDescription)
