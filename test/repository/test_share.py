"""Where the package looks for config/, urdf/ and launch/."""

import os
import sys

import pytest

from robot_control_ros.core.errors import ConfigError
from robot_control_ros.robot import files as share
from robot_control_ros.robot.files import PACKAGE, share_directory


@pytest.fixture
def places(tmp_path, monkeypatch):
    """A source tree, an interpreter's prefix and an empty ament index, none of which
    holds the package yet.
    """
    monkeypatch.setattr(
        share, "__file__", str(tmp_path / "source" / PACKAGE / "robot" / "files.py")
    )
    monkeypatch.setattr(sys, "prefix", str(tmp_path / "prefix"))
    monkeypatch.delenv("AMENT_PREFIX_PATH", raising=False)
    return tmp_path


def fill(folder):
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "package.xml").write_text("<package/>")
    return folder


def install(prefix):
    marker = prefix / "share/ament_index/resource_index/packages" / PACKAGE
    marker.parent.mkdir(parents=True)
    marker.touch()
    return fill(prefix / "share" / PACKAGE)


def test_the_folder_found_here_holds_what_it_promises():
    assert (share_directory() / "config/robots/ur5.yaml").is_file()
    assert (share_directory() / "urdf/ur5/ur5.urdf").is_file()


def test_the_ament_index_comes_before_the_source_tree(places, monkeypatch):
    fill(places / "source")
    installed = install(places / "overlay")
    monkeypatch.setenv("AMENT_PREFIX_PATH", str(places / "overlay"))
    assert share_directory() == installed


def test_the_first_prefix_of_the_ament_index_that_has_the_package_counts(places, monkeypatch):
    overlay, underlay = install(places / "overlay"), install(places / "underlay")
    paths = [str(places / name) for name in ("without", "overlay", "underlay")]
    monkeypatch.setenv("AMENT_PREFIX_PATH", os.pathsep.join(paths))
    assert share_directory() == overlay
    monkeypatch.setenv("AMENT_PREFIX_PATH", os.pathsep.join(reversed(paths)))
    assert share_directory() == underlay


def test_a_prefix_without_the_index_marker_is_not_an_installation(places, monkeypatch):
    source = fill(places / "source")
    fill(places / "overlay" / "share" / PACKAGE)
    monkeypatch.setenv("AMENT_PREFIX_PATH", str(places / "overlay"))
    assert share_directory() == source


def test_the_source_tree_comes_before_the_prefix_of_the_interpreter(places):
    installed = fill(places / "prefix/share" / PACKAGE)
    assert share_directory() == installed
    source = fill(places / "source")
    assert share_directory() == source


def test_the_error_lists_what_was_tried_in_order(places, monkeypatch):
    marked = install(places / "overlay")
    (marked / "package.xml").unlink()
    monkeypatch.setenv("AMENT_PREFIX_PATH", str(places / "overlay"))
    with pytest.raises(ConfigError) as error:
        share_directory()
    tried = [marked, places / "source", places / "prefix/share" / PACKAGE]
    assert f"tried: {', '.join(map(str, tried))}" in str(error.value)
