"""Finds the class of a type of messages by its ROS name."""

from __future__ import annotations

from importlib import import_module

from ..core.errors import ConfigError


def message_type(name: str) -> type:
    """The class of a type of messages.

    Args:
        name: Name as in ``sensor_msgs/msg/Range``.

    Raises:
        ConfigError: The package isn't installed, or has no such type.
    """
    package, kind, type_name = (*name.split("/"), "", "", "")[:3]
    try:
        if kind != "msg" or name.count("/") != 2:
            raise ImportError("must be package/msg/Type, as in sensor_msgs/msg/Range")
        message: type = getattr(import_module(f"{package}.msg"), type_name)
    except (ImportError, AttributeError, ValueError) as error:
        raise ConfigError(
            f"type of messages {name!r}: {error}; is its package installed?",
            name="message",
            value=name,
        ) from error
    return message
