"""Contours: lengths, tangents and curvatures are derivatives, distances are those to the nearest
point.

Distances are compared with the nearest of many points of the curve.
"""

import math

import numpy as np
import pytest
from refusals import refuses
from scipy.spatial.transform import Rotation

from robot_control_ros.references import (
    Chain,
    CircleContour,
    ContourMove,
    Polyline,
    QuinticTimeScaling,
    TimedContour,
    Trapezoid,
)

RECTANGLE = [(0.8, 0.4), (1.3, 0.4), (1.3, 0.8), (0.8, 0.8), (0.8, 0.4)]
ZIGZAG = [(0.6, 0.5), (0.8, 0.8), (1.0, 0.5), (1.2, 0.8), (1.4, 0.5)]
SKEW = [(0.3, -0.2, 0.5), (0.4, 0.1, 0.4), (0.1, 0.1, 0.9), (0.1, 0.2, 0.9)]
CONTOURS = {
    "line": Polyline([(0.6, 0.4), (1.4, 1.0)]),
    "rectangle": Polyline(RECTANGLE),
    "zigzag": Polyline(ZIGZAG),
    "in space": Polyline(SKEW),
    "circle": CircleContour((1.0, 0.6), 0.3),
    "circle that begins elsewhere": CircleContour((1.0, 0.6), 0.3, start=2.0),
    "circle in the plane of y and z": CircleContour((0.4, 0.1, 0.3), 0.2, (1.0, 0.0, 0.0)),
    "circle in space": CircleContour((0.4, 0.1, 0.3), 0.2, (1.0, -2.0, 0.5), -1.0),
}
H = 1e-6


@pytest.fixture(params=CONTOURS)
def contour(request):
    return CONTOURS[request.param]


def inner(contour, count, rng):
    """Ways at random, away from corners."""
    s = rng.uniform(0.01, contour.length - 0.01, count)
    corners = np.cumsum(getattr(contour, "lengths", [math.inf]))
    return s[np.abs(s[:, None] - corners).min(axis=1) > 1e-3]


def test_tangent_and_curvature_are_derivatives_by_the_way(contour):
    s = inner(contour, 200, np.random.default_rng(1))
    assert (contour.point(s + H) - contour.point(s - H)) / (2.0 * H) == pytest.approx(
        contour.tangent(s), abs=1e-8
    )
    assert (contour.tangent(s + H) - contour.tangent(s - H)) / (2.0 * H) == pytest.approx(
        contour.curvature(s), abs=1e-7
    )
    assert np.linalg.norm(contour.tangent(s), axis=-1) == pytest.approx(1.0)


def test_the_length_is_that_of_the_curve(contour):
    points = contour.point(np.linspace(0.0, contour.length, 100001))
    assert np.linalg.norm(np.diff(points, axis=0), axis=1).sum() == pytest.approx(
        contour.length, rel=1e-4
    )


def test_the_distance_is_that_to_the_nearest_point(contour):
    rng = np.random.default_rng(2)
    ways = np.linspace(0.0, contour.length, 4001)
    points = contour.point(ways)
    step = ways[1]
    where = points[rng.integers(len(points), size=60)]
    for size in (1e-4, 0.05, 1.0):
        p = where + size * rng.normal(size=where.shape)
        distance, s = contour.distance(p)
        searched = np.linalg.norm(p[:, None, :] - points, axis=-1).min(axis=1)
        assert np.all(distance <= searched + 1e-12)
        assert np.all(distance >= searched - step)
        assert np.linalg.norm(p - contour.point(s), axis=1) == pytest.approx(distance, abs=1e-12)


def test_a_point_of_the_curve_is_at_distance_zero_and_is_found_again(contour):
    s = inner(contour, 100, np.random.default_rng(3))
    distance, found = contour.distance(contour.point(s))
    assert distance == pytest.approx(0.0, abs=1e-14)
    assert found == pytest.approx(s, abs=1e-12)


def test_a_contour_takes_any_shape_of_ways_and_points(contour):
    rng = np.random.default_rng(4)
    s = rng.uniform(0.0, contour.length, (2, 3))
    p = contour.point(s) + 0.1
    d = contour.point(0.0).shape[0]
    for function in (contour.point, contour.tangent, contour.curvature):
        assert function(s).shape == (2, 3, d)
        assert function(float(s[1, 2])).shape == (d,)
        assert function(float(s[1, 2])) == pytest.approx(function(s)[1, 2], abs=1e-15)
    distance, way = contour.distance(p)
    assert distance.shape == way.shape == (2, 3)
    assert contour.distance(p[1, 2]) == pytest.approx((distance[1, 2], way[1, 2]), abs=1e-14)


def test_a_polyline_has_its_points_at_the_sums_of_its_lengths_and_turns_there():
    line = Polyline(RECTANGLE)
    assert line.lengths == pytest.approx([0.5, 0.4, 0.5, 0.4])
    assert line.length == pytest.approx(1.8)
    ways = np.concatenate(([0.0], np.cumsum(line.lengths)))
    assert line.point(ways) == pytest.approx(np.array(RECTANGLE), abs=1e-15)
    assert line.tangent(ways) == pytest.approx(
        np.array([(1, 0), (0, 1), (-1, 0), (0, -1), (0, -1)], dtype=float)
    )
    assert line.point(-1.0) == pytest.approx(RECTANGLE[0])
    assert line.point(9.0) == pytest.approx(RECTANGLE[-1])


def test_a_circle_turns_by_the_right_hand_from_its_start_angle():
    circle = CircleContour((1.0, 0.6), 0.3, start=math.pi / 2.0)
    assert circle.length == pytest.approx(2.0 * math.pi * 0.3)
    assert circle.point(0.0) == pytest.approx([1.0, 0.9])
    assert circle.point(circle.length / 4.0) == pytest.approx([0.7, 0.6])
    assert circle.point(circle.length * 3.0) == pytest.approx([1.0, 0.9])
    normal = np.array([1.0, -2.0, 0.5])
    tilted = CircleContour((0.4, 0.1, 0.3), 0.2, normal)
    for s in (0.0, 0.3, 1.0):
        outward = tilted.point(s) - tilted.center
        assert np.linalg.norm(outward) == pytest.approx(0.2)
        assert np.cross(outward, tilted.tangent(s)) == pytest.approx(
            0.2 * normal / np.linalg.norm(normal)
        )


def test_the_distance_from_the_middle_of_a_circle_and_from_above_it():
    circle = CircleContour((0.0, 0.0, 0.0), 0.3)
    distance, _ = circle.distance(np.array([(0.0, 0.0, 0.0), (0.3, 0.0, 0.4), (0.0, 0.0, 0.4)]))
    assert distance == pytest.approx([0.3, 0.4, 0.5])


# --- with time ---


def velocity_and_acceleration(path, t):
    (before, v0, _), (after, v1, _) = path.at(t - H), path.at(t + H)
    return (after - before) / (2.0 * H), (v1 - v0) / (2.0 * H)


@pytest.mark.parametrize(
    "scaling", [QuinticTimeScaling, Trapezoid.lasting], ids=["quintic", "trapezoid"]
)
@pytest.mark.parametrize(
    "points", [RECTANGLE, ZIGZAG, SKEW], ids=["rectangle", "zigzag", "in space"]
)
def test_a_polyline_move_stops_in_every_corner_at_its_share_of_the_time(points, scaling):
    line = Polyline(points)
    move = TimedContour(line, Chain.shared(line.lengths, 4.0, scaling, dwell=0.3))
    points = np.array(points)
    sides = np.linalg.norm(np.diff(points, axis=0), axis=1)
    arrivals = np.cumsum(4.0 * sides / sides.sum()) + 0.3 * np.arange(len(sides))
    assert move.duration == pytest.approx(arrivals[-1])
    for point, arrival in zip(points[1:], arrivals, strict=True):
        for t in (arrival, arrival + 0.15, arrival + 0.3 - 1e-9):
            p, v, a = move.at(t)
            assert p == pytest.approx(point, abs=1e-9)
            assert v == pytest.approx(np.zeros_like(v), abs=1e-6)
            if t > arrival:
                assert a == pytest.approx(np.zeros_like(a), abs=1e-9)


def test_a_polyline_move_of_one_segment_is_the_quintic_along_it():
    move = TimedContour(Polyline([(0.6, 0.4), (1.4, 1.0)]), QuinticTimeScaling(1.0, 2.0))
    for u in (0.1, 0.5, 0.8):
        share = 10 * u**3 - 15 * u**4 + 6 * u**5
        assert move.at(2.0 * u)[0] == pytest.approx([0.6 + 0.8 * share, 0.4 + 0.6 * share])


def test_position_velocity_and_acceleration_of_a_timed_contour_are_derivatives(contour):
    scalings = [Trapezoid.lasting(contour.length, 4.0), QuinticTimeScaling(contour.length, 3.0)]
    if isinstance(contour, Polyline):
        scalings = [
            Chain.shared(contour.lengths, 4.0),
            Chain.shared(contour.lengths, 4.0, Trapezoid.lasting, 0.3),
        ]
    rng = np.random.default_rng(5)
    for scaling in scalings:
        path = TimedContour(contour, scaling)
        kinks = np.linspace(0.0, path.duration, 40001)
        rates = scaling.at(kinks)[2]
        kinks = kinks[:-1][np.abs(np.diff(rates)) > 1e-2]
        times = rng.uniform(0.0, path.duration, 300)
        if len(kinks):
            times = times[np.abs(times[:, None] - kinks).min(axis=1) > 1e-3]
        assert len(times) > 200
        _, v, a = path.at(times)
        by_difference = velocity_and_acceleration(path, times)
        assert by_difference[0] == pytest.approx(v, abs=1e-7)
        assert by_difference[1] == pytest.approx(a, abs=1e-6)


def test_timing_that_is_not_as_long_as_the_contour_is_refused():
    with refuses("length of timing", 1.5, pytest.approx(1.8)):
        TimedContour(Polyline(RECTANGLE), QuinticTimeScaling(1.5, 1.0))


def test_a_contour_move_keeps_its_orientation_and_begins_and_ends_at_rest():
    contour = Polyline(SKEW)
    start = np.eye(4)
    start[:3, :3], start[:3, 3] = Rotation.from_rotvec((0.3, 2.0, -0.4)).as_matrix(), SKEW[0]
    move = ContourMove(contour, Chain.shared(contour.lengths, 4.0), start, 2.0)
    assert move.end == 6.0
    for t in np.linspace(1.0, 7.0, 61):
        reference = move.sample(t)
        assert np.array_equal(reference.pose[:3, :3], start[:3, :3])
        assert contour.distance(reference.pose[:3, 3])[0] == pytest.approx(0.0, abs=1e-12)
        assert not reference.twist[3:].any()
        assert not reference.acceleration[3:].any()
        before, after = move.sample(t - 1e-5), move.sample(t + 1e-5)
        assert (after.pose[:3, 3] - before.pose[:3, 3]) / 2e-5 == pytest.approx(
            reference.twist[:3], abs=1e-6
        )
        assert (after.twist - before.twist) / 2e-5 == pytest.approx(
            reference.acceleration, abs=1e-3
        )
    for t, point in ((2.0, SKEW[0]), (6.0, SKEW[-1])):
        assert move.sample(t).pose[:3, 3] == pytest.approx(point)
        assert move.sample(t).twist == pytest.approx(np.zeros(6), abs=1e-12)


# --- what is refused ---


@pytest.mark.parametrize(
    "points", [[(0.0, 0.0)], [0.0, 1.0], [(0.0,), (1.0,)], np.zeros((3, 4)), np.zeros((0, 3))]
)
def test_a_polyline_refuses_what_are_not_points(points):
    with refuses("shape of points", np.shape(points)):
        Polyline(points)


@pytest.mark.parametrize(
    "points",
    [[(0.0, 1.0), (0.0, 1.0)], [(0.0, math.nan), (0.0, 1.0)], [(0.0, 0.0), (math.inf, 0.0)]],
)
def test_a_polyline_refuses_points_that_repeat_or_are_not_finite(points):
    with refuses("points", points):
        Polyline(points)


@pytest.mark.parametrize(
    ("name", "changes"),
    [
        ("radius", {"radius": 0.0}),
        ("radius", {"radius": math.nan}),
        ("center", {"center": (1.0,)}),
        ("center", {"center": (1.0, math.inf)}),
        ("normal", {"normal": (0.0, 0.0, 0.0)}),
        ("normal", {"center": (1.0, 0.6), "normal": (1.0, 0.0, 0.0)}),
    ],
)
def test_a_circle_refuses_what_is_not_one(name, changes):
    with refuses(name, changes[name], (0.0, math.inf) if name == "radius" else None):
        CircleContour(**{"center": (1.0, 0.6, 0.0), "radius": 0.3, **changes})


def test_a_contour_move_refuses_a_plane_contour_and_one_that_begins_elsewhere():
    plane, space = Polyline(ZIGZAG), Polyline(SKEW)
    with refuses("contour", bound=3):
        ContourMove(plane, Chain.shared(plane.lengths, 4.0), np.eye(4), 0.0)
    with refuses("beginning", space.points[0], 0.001):
        ContourMove(space, Chain.shared(space.lengths, 4.0), np.eye(4), 0.0)
