"""Counts and SI units: there and back within one count, and what is too large or no number."""

import math

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from robot_control_ros.core.errors import ConfigError
from robot_control_ros.fieldbus.ethercat.scale import VELOCITY_UNITS, Scale, Scales

I32, I16 = 2**31 - 1, 2**15 - 1


def counts(scale: Scale, quantity: str, value: float) -> float:
    """Of one joint."""
    with np.errstate(over="ignore"):  # of numbers that no robot is commanded
        return getattr(Scales([scale]), f"{quantity}_counts")(np.array([value])).item()


SCALES = st.builds(
    Scale.of_drive,
    st.just("elbow"),
    counts_per_revolution=st.sampled_from([512, 4096, 131072, 2**20, 2**24]),
    velocity_unit=st.sampled_from(sorted(VELOCITY_UNITS)),
    rated_torque=st.floats(0.01, 50.0),
    gear_ratio=st.floats(0.5, 320.0),
    sign=st.sampled_from([1.0, -1.0]),
    offset=st.floats(-7.0, 7.0),
    encoder_on_joint=st.booleans(),
)


@given(SCALES, st.integers(-I32, I32), st.integers(-I32, I32), st.integers(-I16, I16))
def test_counts_come_back_exactly(scale, position, velocity, torque):
    assert counts(scale, "position", position / scale.position + scale.offset) == position
    assert counts(scale, "velocity", velocity / scale.velocity) == velocity
    assert counts(scale, "torque", torque / scale.torque) == torque


@given(SCALES, st.floats(-6.3, 6.3), st.floats(-10.0, 10.0), st.floats(-500.0, 500.0))
def test_si_values_come_back_within_one_count(scale, q, v, tau):
    for value, got, per_unit, offset, largest in (
        (q, counts(scale, "position", q), scale.position, scale.offset, I32),
        (v, counts(scale, "velocity", v), scale.velocity, 0.0, I32),
        (tau, counts(scale, "torque", tau), scale.torque, 0.0, I16),
    ):
        assume(abs((value - offset) * per_unit) < largest)
        assert abs(got / per_unit + offset - value) <= 1.0 / abs(per_unit)


def test_a_scale_written_out():
    """A joint behind a gear of 100, motor the other way round, encoder of 4096
    counts, 0.5 N·m, rpm.
    """
    scale = Scale.of_drive(
        "elbow",
        counts_per_revolution=4096,
        velocity_unit="rpm",
        rated_torque=0.5,
        gear_ratio=100.0,
        sign=-1.0,
        offset=math.pi / 2,
    )
    assert counts(scale, "position", math.pi / 2) == 0
    # a turn of the joint: 100 of the motor
    assert counts(scale, "position", math.pi / 2 + 2 * math.pi) == -409600
    # a turn per second: 100 of the motor, 6000 a minute
    assert counts(scale, "velocity", 2 * math.pi) == -6000
    assert counts(scale, "torque", 50.0) == -1000  # rated torque times gear


@pytest.mark.parametrize(
    ("unit", "expected"),
    [("counts/s", 409600), ("rpm", 6000), ("0.1 rpm", 60000), ("0.001 rpm", 6000000)],
)
def test_velocity_units(unit, expected):
    scale = Scale.of_drive(
        "j", counts_per_revolution=4096, velocity_unit=unit, rated_torque=1.0, gear_ratio=100.0
    )
    assert counts(scale, "velocity", 2 * math.pi) == expected


def test_an_encoder_on_the_joint_counts_the_joints_turns_but_torque_still_goes_through_the_gear():
    scale = Scale.of_drive(
        "j",
        counts_per_revolution=4096,
        velocity_unit="rpm",
        rated_torque=0.5,
        gear_ratio=100.0,
        encoder_on_joint=True,
    )
    assert counts(scale, "position", 2 * math.pi) == 4096
    assert counts(scale, "velocity", 2 * math.pi) == 60
    assert counts(scale, "torque", 50.0) == 1000


@given(SCALES, st.floats(1e12, 1e300), st.sampled_from([1.0, -1.0]))
def test_values_beyond_an_object_saturate_on_their_side(scale, value, side):
    assert counts(scale, "position", side * value) == math.copysign(I32, side * scale.position)
    assert counts(scale, "velocity", side * value) == math.copysign(I32, side * scale.velocity)
    assert counts(scale, "torque", side * value) == math.copysign(I16, side * scale.torque)


@pytest.mark.parametrize("value", [math.nan, math.inf, -math.inf])
@pytest.mark.parametrize("quantity", ["position", "velocity", "torque"])
def test_what_is_no_finite_number_is_refused(value, quantity):
    scale = Scale("elbow", 1000.0, 0.0, 10.0, 5.0)
    with pytest.raises(
        ConfigError, match=rf"elbow: {quantity} = {value} .*: must be a finite number"
    ):
        counts(scale, quantity, value)


@given(st.lists(SCALES, min_size=1, max_size=7), st.data())
def test_joints_are_scaled_each_by_its_own(scales, data):
    values = data.draw(st.lists(st.floats(-1e7, 1e7), min_size=len(scales), max_size=len(scales)))
    for quantity in ("position", "velocity", "torque"):
        together = getattr(Scales(scales), f"{quantity}_counts")(np.array(values)).tolist()
        assert together == [
            counts(scale, quantity, value) for scale, value in zip(scales, values, strict=True)
        ]


def test_the_joint_whose_value_is_no_number_is_named():
    scales = Scales([Scale(name, 1000.0, 0.0, 10.0, 5.0) for name in ("shoulder", "elbow")])
    with pytest.raises(ConfigError) as caught:
        scales.torque_counts(np.array([1e9, math.nan]))
    assert caught.value.name == "elbow"
    assert math.isnan(caught.value.value)
