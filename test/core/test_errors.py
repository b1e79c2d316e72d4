"""Errors: the name that was meant, and the command that brings what is missing."""

import shlex
import sys
from pathlib import Path

import pytest

from robot_control_ros.core import errors
from robot_control_ros.core.errors import did_you_mean, missing_extra, unknown

ROOT = Path(__file__).resolve().parents[2]
LAWS = ("admittance", "impedance", "joint_impedance", "joint_pid")


@pytest.mark.parametrize(
    ("value", "meant"),
    [("impedence", "impedance"), ("joint_pdi", "joint_pid"), ("Admittance", "admittance")],
)
def test_the_name_that_was_meant_ends_the_message(value, meant):
    error = unknown("law", value, LAWS)
    assert str(error).endswith(f"did you mean {meant}?")
    assert (error.name, error.value, error.bound) == ("law", value, LAWS)


@pytest.mark.parametrize("value", ["", "zzz", "x" * 10**6])
def test_what_is_like_no_name_gets_none(value):
    assert did_you_mean(value, LAWS) == ""


def test_the_remedy_in_a_checkout_keeps_the_editable_installation():
    error = missing_extra("the page", "viser", "dashboard")
    words = shlex.split(str(error).partition("viser: ")[2])
    assert words[:4] == [sys.executable, "-m", "pip", "install"]
    assert words[4] == "-e"
    assert words[5] == f"{ROOT}[dashboard]"
    assert error.name == "viser"


def test_the_remedy_of_an_installed_package_names_the_repository(tmp_path, monkeypatch):
    monkeypatch.setattr(errors, "__file__", str(tmp_path / "a" / "b" / "errors.py"))
    text = str(missing_extra("the page", "viser", "dashboard"))
    assert "-e" not in text.split()
    assert text.endswith("'.[dashboard]' in the repository")
