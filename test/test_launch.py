"""The launch files: nothing is decided in them."""

import ast
import importlib.util
import sys
from dataclasses import dataclass, field
from types import ModuleType
from typing import Any

import pytest

from robot_control_ros.bringup import SIMULATION_ARGUMENTS, simulation
from robot_control_ros.errors import ConfigError
from robot_control_ros.share import share_directory

FOLDER = share_directory() / "launch"
FILES = sorted(FOLDER.glob("*.py"))


def load(path):
    spec = importlib.util.spec_from_file_location(path.name.replace(".", "_"), path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.name)
def test_a_launch_file_imports_only_launch_and_the_bringup(path):
    imported = set()
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            imported |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            imported.add(node.module)
    package = {name for name in imported if name.split(".")[0] not in ("launch", "launch_ros")}
    assert package == {"robot_control_ros.bringup"}


def test_there_is_a_launch_file_for_the_simulation():
    assert "sim.launch.py" in [path.name for path in FILES]


# --- with stand-ins for launch and launch_ros ---


@dataclass
class Entity:
    """Keeps what it was made with."""

    positional: tuple[Any, ...]
    named: dict[str, Any] = field(default_factory=dict)


class Configuration(Entity):
    """A substitution that takes its text from a dictionary in place of a launch context."""

    def perform(self, context):
        return context[self.positional[0]]


STAND_INS = {
    "launch": ("LaunchDescription",),
    "launch.actions": ("DeclareLaunchArgument", "EmitEvent", "OpaqueFunction", "RegisterEventHandler"),
    "launch.event_handlers": ("OnProcessExit",),
    "launch.events": ("Shutdown",),
    "launch.substitutions": ("LaunchConfiguration",),
    "launch_ros": (),
    "launch_ros.actions": ("Node",),
}


def make_entity(name):
    kind = Configuration if name == "LaunchConfiguration" else Entity
    made = type(name, (kind,), {})
    return type(name, (made,), {"__init__": lambda self, *args, **named: kind.__init__(self, args, named)})


@pytest.fixture
def description(monkeypatch):
    """The launch description, made of stand-ins."""
    for module, names in STAND_INS.items():
        stand_in = ModuleType(module)
        for name in names:
            setattr(stand_in, name, make_entity(name))
        monkeypatch.setitem(sys.modules, module, stand_in)
    return load(FOLDER / "sim.launch.py").generate_launch_description()


def of_kind(entities, name):
    return [entity for entity in entities if type(entity).__name__ == name]


def entities_for(description, **changes):
    """What is started for the default arguments with changes."""
    (opaque,) = of_kind(description.positional[0], "OpaqueFunction")
    context = {argument.name: argument.default for argument in SIMULATION_ARGUMENTS} | changes
    return opaque.named["function"](context)


def test_the_arguments_are_those_of_the_bringup(description):
    declared = of_kind(description.positional[0], "DeclareLaunchArgument")
    found = [(entity.positional, entity.named) for entity in declared]
    expected = [
        (
            (argument.name,),
            {
                "default_value": argument.default,
                "description": argument.text,
                "choices": list(argument.choices) or None,
            },
        )
        for argument in SIMULATION_ARGUMENTS
    ]
    assert found == expected


@pytest.mark.parametrize("changes", [{}, {"law": "gravity_compensation", "pacing": "lockstep", "rate": "250"}])
def test_the_nodes_are_those_of_the_bringup(description, changes):
    nodes = of_kind(entities_for(description, **changes), "Node")
    specs = simulation(**changes)
    assert len(nodes) == len(specs) == 2
    for node, spec in zip(nodes, specs, strict=True):
        assert node.named["package"] == "robot_control_ros"
        assert node.named["executable"] == spec.executable
        assert node.named["name"] == spec.name
        assert node.named["parameters"] == [*spec.parameter_files, dict(spec.parameters)]
        assert node.named["remappings"] == list(spec.remappings.items())


def test_the_end_of_either_node_is_the_end_of_all(description):
    entities = entities_for(description)
    watched = []
    for handler in of_kind(entities, "RegisterEventHandler"):
        (on_exit,) = handler.positional
        (emit,) = on_exit.named["on_exit"]
        assert type(emit.named["event"]).__name__ == "Shutdown"
        watched.append(on_exit.named["target_action"])
    assert watched == of_kind(entities, "Node")


def test_an_argument_that_cannot_be_is_refused_in_words(description):
    with pytest.raises(ConfigError, match="unknown robot 'nonsense'; robots: "):
        entities_for(description, robot="nonsense")


# --- with launch itself ---


def test_launch_takes_the_description():
    pytest.importorskip("launch_ros", reason="needs ROS 2's launch_ros")
    from launch_ros.actions import Node

    import launch

    description = load(FOLDER / "sim.launch.py").generate_launch_description()
    arguments = [entity for entity in description.entities if isinstance(entity, launch.actions.DeclareLaunchArgument)]
    assert [entity.name for entity in arguments] == [argument.name for argument in SIMULATION_ARGUMENTS]
    context = launch.LaunchContext()
    for entity in arguments:
        entity.execute(context)
    opaque = next(entity for entity in description.entities if isinstance(entity, launch.actions.OpaqueFunction))
    nodes = [entity for entity in opaque.execute(context) if isinstance(entity, Node)]
    assert [node.node_executable for node in nodes] == [spec.executable for spec in simulation()]
