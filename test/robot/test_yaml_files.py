"""YAML within bounds: what is hostile is refused by the line that breaks a bound; each error
names line and key.
"""

import pytest
import yaml
from hypothesis import given, settings
from hypothesis import strategies as st

from robot_control_ros.core.errors import ConfigError
from robot_control_ros.robot.yaml_files import LARGEST, MAX_VALUES, parse_yaml, read_yaml, yaml_text


def refused(content):
    with pytest.raises(ConfigError) as caught:
        parse_yaml(content.encode() if isinstance(content, str) else content, "a.yaml")
    return caught.value


def doubled(first, line):
    """Nine lines, each of which names the one before nine times."""
    return first + "".join(
        line(n, [f"*{m}"] * 9) for m, n in zip("abcdefgh", "bcdefghi", strict=True)
    )


def test_plain_values_are_what_pyyaml_makes_of_them():
    text = """
a: [1, 2.5, -3e+2, 0x1F, true, ~, "yes", 2001-12-14, .inf, 1:30]
b: &b {x: 1, y: [z]}
c: *b
d: {<<: *b, x: 2}
e: {<<: [{x: 5}, *b]}
1: one
"""
    assert parse_yaml(text.encode(), "a.yaml").data == yaml.safe_load(text)


# PyYAML writes these three line ends of Unicode as they are, and reads them as line ends: one
# becomes a space.
texts = st.text(
    st.characters(exclude_characters="\x85\u2028\u2029", exclude_categories=["Cs"]), max_size=5
)


@given(
    data=st.recursive(
        st.none()
        | st.booleans()
        | st.integers(-(10**9), 10**9)
        | st.floats(allow_nan=False)
        | texts,
        lambda inner: st.lists(inner, max_size=3) | st.dictionaries(texts, inner, max_size=3),
        max_leaves=10,
    )
)
@settings(max_examples=60, deadline=None)
def test_what_is_written_is_read(data):
    assert parse_yaml(yaml_text(data).encode(), "a.yaml").data == data
    assert parse_yaml(yaml_text(data, flow=None).encode(), "a.yaml").data == data


@pytest.mark.parametrize(
    ("content", "line", "name"),
    [
        ("a: 1\nb:\n  c: 1\n  d: 2\n  c: 3\n", 5, "c"),
        ("a: 1\nb: 2\n'a': 3\n", 3, "a"),
        ("a:\n  b: [1, {c: 2001-02-30}]", 2, "c"),
        ("a:\n  b: " + "[" * 900, 2, "b"),
        ("a:\n  b: " + "9" * 5000, 2, "b"),
        ("a: 1\nb: 1" + ":1" * 10_000, 2, "b"),
        ("a:\n  b: &b {x: *b}", 2, "x"),
        ("a: &a {x: *a}", 1, "x"),
        ("&a [*a]", 1, "file"),
        ("a: *b", 1, "a"),
        ("a: 1\n--- \nb: 2", 2, "file"),
        ("? [1, 2]\n: 3", 1, "file"),
        ("a: 1\nb: !!python/object:os.system x", 2, "b"),
        ("a: 1\nb: !!set {x}", 2, "b"),
        ("a: 1\nb: \0", 2, "file"),
        ("a: 1\nb: 'c", 2, "file"),
        ("a: 1\n\tb: 2", 2, "file"),
        ("a: 1\nb: für".encode("latin-1"), 2, "encoding"),
        ("a: 1".encode("utf-16"), 1, "encoding"),
    ],
    ids=range(19),
)
def test_an_error_names_line_and_key(content, line, name):
    error = refused(content)
    assert f"a.yaml: line {line}: " in str(error)
    assert error.name == name
    assert "\n" not in str(error)
    assert len(str(error)) < 1000


@pytest.mark.parametrize(
    "content",
    [
        doubled(
            "a: &a [x, x, x, x, x, x, x, x, x]\n",
            lambda n, many: f"{n}: &{n} [{', '.join(many)}]\n",
        ),
        doubled("a: &a {k: 1}\n", lambda n, many: f"{n}: &{n} {{<<: [{', '.join(many)}]}}\n"),
        "- x\n" * (MAX_VALUES + 1),
    ],
    ids=["lists", "merged mappings", "values"],
)
def test_aliases_count_as_often_as_what_they_stand_for(content):
    assert refused(content).bound == MAX_VALUES


def test_a_chain_of_aliases_counts_as_nested():
    lines = "".join(f"a{k}: &a{k} [*a{k - 1}]\n" for k in range(1, 100))
    assert refused("a0: &a0 [1]\n" + lines).bound == 20


def test_a_file_of_more_than_a_megabyte_is_refused(tmp_path):
    path = tmp_path / "large.yaml"
    path.write_bytes(b"#" * (LARGEST + 1))
    with pytest.raises(ConfigError) as caught:
        read_yaml("robot", path)
    assert (caught.value.name, caught.value.bound) == ("robot", LARGEST)
    assert refused(b"#" * (LARGEST + 1)).bound == LARGEST


@pytest.mark.parametrize(
    "content",
    [
        "a: {x: [" + "1" * 900_000,
        ("x" * 90_000 + ": 1\n") * 2,
        "? " + "x" * 90_000 + "\n: *b",
        "!<" + "x" * 900 + "> a",
    ],
)
def test_a_long_text_makes_no_long_error(content):
    assert len(str(refused(content))) < 1000


def test_the_lines_of_keys_are_known():
    document = parse_yaml(b"a:\n  b:\n  - c: 1\n  - d: 2\n", "a.yaml")
    assert document.lines[("a", "b", 1, "d")] == 4
    assert document.place("a", "b") == "line 2: a.b: "
