"""Laws that control the force of a contact."""

from .force_control import ForceControl

__all__ = ["ForceControl"]
