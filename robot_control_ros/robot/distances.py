"""Distances between the bodies of an arm, and to what stands around it, for compiled code.

A body is what is within a rounding of a cylinder or a box: so a capsule and a sphere, too. Joints
move it, or it is fixed. Besides there are half-spaces, below a plane. All distances are negative
where two bodies overlap.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ..core.compiled import compiled
from ..core.types import Array
from .joint_chain import BASE, JointChain, jacobian_into, multiply_poses, place_joints

# kinds of the second body of a pair
SOLID = 0
HALF_SPACE = 1

EXACT = 0.03  # m beyond the margin, within which distances are exact
HALVINGS = 30  # of a line, in search of its point nearest to a box
APPROACHES = 40  # steps from one pair of points to a nearer one, at most
ROUNDING = 1e-6  # m that a step may still bring, and is not made
OVERLAP = 1e-7  # m between points of two bodies, below which they overlap
PARALLEL = 1e-12  # m²: below it a line has no length


class Bodies(NamedTuple):
    """The bodies whose distances count, and which pairs of them.

    Attributes:
        joint: (m,) number of the joint that moves a body, or BASE.
        pose: (m, 4, 4) pose of a body's middle in the frame of that joint.
        half: (m, 3) half of a box's edges; radius, radius and half of the length of a cylinder
            about z [m].
        is_box: (m,) True for a box.
        rounding: (m,) distance of its surface from that of the box or cylinder [m].
        plane: (h, 4) unit vector out of a half-space in the base, and distance of its plane from
            the origin along it.
        pairs: (p, 3) number of a body; of another one, or of a half-space; and its kind: SOLID or
            HALF_SPACE.
        margin: (p,) distance that the two must keep [m].
        lever: (p, n) largest motion of a pair's bodies in relation to each other, by each joint
            [m/rad].
    """

    joint: NDArray[np.int64]
    pose: Array
    half: Array
    is_box: NDArray[np.bool_]
    rounding: Array
    plane: Array
    pairs: NDArray[np.int64]
    margin: Array
    lever: Array


@compiled
def _place(bodies: Bodies, poses: Array, body: int, placed: Array) -> None:
    """Pose of a body in the base, into placed (4, 4); poses (n, 4, 4) are those of the joints."""
    joint = bodies.joint[body]
    if joint == BASE:
        placed[:] = bodies.pose[body]
    else:
        multiply_poses(poses[joint], bodies.pose[body], placed)


@compiled
def pair_distance(
    bodies: Bodies, poses: Array, pair: int, placed: Array, points: Array, normal: Array
) -> float:
    """Distance of the surfaces of a pair [m]; negative where they overlap. It is never above the
    true one.

    Bodies that have 30 mm more than their margin between them may be farther apart than it says.

    Args:
        bodies: Bodies and their pairs, see :class:`Bodies`.
        poses: (n, 4, 4) poses of the joints in the base.
        pair: Number of the pair.
        placed: (2, 4, 4) memory to work with.
        points: Result (2, 3), where their surfaces are nearest, of the first body and of the second
            [m].
        normal: Result (3,), unit vector from the first body to the second: by it the second would
            have to go away.
    """
    first = bodies.pairs[pair, 0]
    second = bodies.pairs[pair, 1]
    _place(bodies, poses, first, placed[0])
    beyond = 0.0  # rounding of the second body
    if bodies.pairs[pair, 2] == SOLID:
        _place(bodies, poses, second, placed[1])
        beyond = bodies.rounding[second]
        half = bodies.half[first], bodies.half[second]
        is_box = bodies.is_box[first], bodies.is_box[second]
        enough = bodies.margin[pair] + EXACT + bodies.rounding[first] + beyond
        distance = _balls_apart(placed, bodies.half[first], bodies.half[second], points, normal)
        if distance < enough:
            distance = _solid_to_solid(placed, half, is_box, enough, points, normal)
    else:
        plane = bodies.plane[second]
        distance = _solid_to_half_space(
            placed[0], bodies.half[first], bodies.is_box[first], plane, points, normal
        )
    rounding = bodies.rounding[first]
    for i in range(3):
        points[0, i] += rounding * normal[i]
        points[1, i] -= beyond * normal[i]
    return float(distance - rounding - beyond)


@compiled
def distances_into(chain: JointChain, bodies: Bodies, q: Array, distances: Array) -> None:
    """Distance of each pair at q (n,), into distances (p,) [m]."""
    poses = np.empty((len(q), 4, 4))
    placed = np.empty((2, 4, 4))
    points = np.empty((2, 3))
    normal = np.empty(3)
    place_joints(chain, q, poses)
    for pair in range(len(distances)):
        distances[pair] = pair_distance(bodies, poses, pair, placed, points, normal)


@compiled
def survey(
    chain: JointChain, bodies: Bodies, postures: Array, near: Array, least: Array, most: Array
) -> None:
    """Count the postures, of some (k, n), in which each pair is within its margin, into near (p,).

    The pairs' least and largest distances (p,) go into least and most [m].
    """
    distances = np.empty(len(near))
    near[:] = 0.0
    least[:] = np.inf
    most[:] = -np.inf
    for q in postures:
        distances_into(chain, bodies, q, distances)
        for pair in range(len(near)):
            least[pair] = min(least[pair], distances[pair])
            most[pair] = max(most[pair], distances[pair])
            if distances[pair] < bodies.margin[pair]:
                near[pair] += 1.0


@compiled
def nearest_into(
    chain: JointChain,
    bodies: Bodies,
    q: Array,
    pair: int,
    points: Array,
    normal: Array,
    gradient: Array,
) -> float:
    """Find distance [m] and place of a pair at q (n,), and how the joints change the distance.

    With the unit vector n from the first body to the second it changes by nᵀ (J_second - J_first)
    q̇.

    Args:
        chain, bodies: Joints and bodies of the arm.
        q: (n,) joint angles.
        pair: Number of the pair.
        points, normal: Results, see :func:`pair_distance`.
        gradient: Result (n,), change of the distance with each joint [m/rad].
    """
    n = len(q)
    poses = np.empty((n, 4, 4))
    jacobian = np.empty((6, n))
    place_joints(chain, q, poses)
    distance = pair_distance(bodies, poses, pair, np.empty((2, 4, 4)), points, normal)
    gradient_into(chain, bodies, poses, pair, points, normal, jacobian, gradient)
    return float(distance)


@compiled
def gradient_into(
    chain: JointChain,
    bodies: Bodies,
    poses: Array,
    pair: int,
    points: Array,
    normal: Array,
    jacobian: Array,
    gradient: Array,
) -> None:
    """Find how the joints change the distance of a pair; see :func:`nearest_into`.

    Args:
        chain, bodies: Joints and bodies of the arm.
        poses: (n, 4, 4) poses of the joints in the base.
        pair: Number of the pair.
        points, normal: Nearest points (2, 3) and unit vector (3,), as :func:`pair_distance` has
            found them.
        jacobian: (6, n) memory to work with.
        gradient: Result (n,) [m/rad].
    """
    gradient[:] = 0.0
    for side in range(2):
        joint = BASE
        if side == 0 or bodies.pairs[pair, 2] == SOLID:
            joint = bodies.joint[bodies.pairs[pair, side]]
        jacobian_into(chain, poses, joint, points[side], jacobian)
        for column in range(len(gradient)):
            for i in range(3):
                change = normal[i] * jacobian[i, column]
                gradient[column] += change if side == 1 else -change


@compiled
def _line_to_line(first: Array, second: Array, points: Array, normal: Array) -> float:
    """Distance of two lines (2, 3) between their ends, the nearest points (2, 3), and the unit
    vector between them.

    Source: C. Ericson, Real-Time Collision Detection, 2005, 5.1.9.
    """
    a = 0.0  # square of the first one's length
    e = 0.0  # of the second one's
    b = 0.0  # of both: inner product
    c = 0.0  # of the first one and the way from the second one's start to its own
    f = 0.0  # of the second one and that way
    for i in range(3):
        along_first = first[1, i] - first[0, i]
        along_second = second[1, i] - second[0, i]
        between = first[0, i] - second[0, i]
        a += along_first * along_first
        e += along_second * along_second
        b += along_first * along_second
        c += along_first * between
        f += along_second * between
    s = 0.0
    t = 0.0
    if a <= PARALLEL:
        if e > PARALLEL:
            t = min(max(f / e, 0.0), 1.0)
    elif e <= PARALLEL:
        s = min(max(-c / a, 0.0), 1.0)
    else:
        slope = a * e - b * b
        if slope > PARALLEL * a * e:
            s = min(max((b * f - c * e) / slope, 0.0), 1.0)
        t = (b * s + f) / e
        if t < 0.0:
            t = 0.0
            s = min(max(-c / a, 0.0), 1.0)
        elif t > 1.0:
            t = 1.0
            s = min(max((b - c) / a, 0.0), 1.0)
    square = 0.0
    for i in range(3):
        points[0, i] = first[0, i] + s * (first[1, i] - first[0, i])
        points[1, i] = second[0, i] + t * (second[1, i] - second[0, i])
        normal[i] = points[1, i] - points[0, i]
        square += normal[i] * normal[i]
    distance = math.sqrt(square)
    if distance > 1e-9:
        for i in range(3):
            normal[i] /= distance
        return distance
    _stand_on(first[1] - first[0], second[1] - second[0], normal)
    return 0.0


@compiled
def _stand_on(first: Array, second: Array, normal: Array) -> None:
    """A unit vector that stands on two vectors (3,) that may be parallel, or 0; into normal."""
    normal[:] = np.cross(first, second)
    if np.dot(normal, normal) <= PARALLEL * max(
        np.dot(first, first) * np.dot(second, second), PARALLEL
    ):
        longer = first if np.dot(first, first) > PARALLEL else second
        least = 0
        for i in range(1, 3):
            if abs(longer[i]) < abs(longer[least]):
                least = i
        aside = np.zeros(3)
        aside[least] = 1.0
        normal[:] = np.cross(longer, aside)
        if np.dot(normal, normal) <= PARALLEL**2:
            normal[:] = aside
    normal[:] = normal / math.sqrt(np.dot(normal, normal))


@compiled
def _solid_to_half_space(
    pose: Array, half: Array, is_box: bool, plane: Array, points: Array, normal: Array
) -> float:
    """Distance of a cylinder or box to a half-space (4,); see :func:`pair_distance`."""
    for i in range(3):
        normal[i] = -plane[i]
    _farthest_point(pose, half, is_box, normal, points[0])
    height = -plane[3]
    for i in range(3):
        height += plane[i] * points[0, i]
    for i in range(3):
        points[1, i] = points[0, i] - height * plane[i]
    return float(height)


@compiled
def _solid_to_solid(
    placed: Array,
    half: tuple[Array, Array],
    is_box: tuple[bool, bool],
    enough: float,
    points: Array,
    normal: Array,
) -> float:
    """Distance of two cylinders or boxes, see :func:`pair_distance`; or less, where it is no less
    than `enough` [m].

    It begins along the line on which their axes are nearest to each other. What separates two
    bodies along a line is no more than their distance.
    """
    axes_apart = _begin_at_axes(placed, half, is_box, points, normal)
    if half[0][0] == 0.0 and half[1][0] == 0.0 and not (is_box[0] or is_box[1]):
        return axes_apart
    distance = _separation(placed, half, is_box, normal)
    if distance < enough:
        if _approach(placed, half, is_box, enough, points, normal):
            return _separation(placed, half, is_box, normal)
        return _overlap(placed, half, is_box, points, normal)
    height = _extent(placed[0], half[0], is_box[0], normal)
    for i in range(3):
        height -= normal[i] * (points[0, i] - placed[0, i, 3])
    for i in range(3):
        points[0, i] += height * normal[i]
        points[1, i] = points[0, i] + distance * normal[i]
    return distance


@compiled
def _approach(
    placed: Array,
    half: tuple[Array, Array],
    is_box: tuple[bool, bool],
    enough: float,
    points: Array,
    normal: Array,
) -> bool:
    """Find the nearest points (2, 3) of two bodies, and the unit vector between them.

    Returns True where the bodies are apart.

    Source: E. Gilbert, D. Johnson, S. Keerthi, A fast procedure for computing the distance between
    complex objects in three-dimensional space, IEEE Journal of Robotics and Automation 4(2), 1988.

    Args:
        placed, half, is_box: Poses, half sizes and kinds of the bodies.
        enough: Distance from which on the result needn't be exact [m].
        points: Result (2, 3).
        normal: Result (3,); at first it is the direction to begin with.
    """
    corners = np.empty((5, 2, 3))  # points of the first body and of the second
    work = np.empty((12, 3))
    count = 0
    back = np.empty(3)
    way = np.empty(3)  # from the first body to the second
    length = np.inf
    for _ in range(APPROACHES):
        for i in range(3):
            back[i] = -normal[i]
        _farthest_point(placed[0], half[0], is_box[0], normal, corners[count, 0])
        _farthest_point(placed[1], half[1], is_box[1], back, corners[count, 1])
        gap = 0.0
        for i in range(3):
            gap += normal[i] * (corners[count, 1, i] - corners[count, 0, i])
        if length - gap < ROUNDING:
            return True
        if gap >= enough:
            for side in range(2):
                points[side] = corners[count, side]
            return True
        count = _nearest_of_corners(corners, count + 1, work, points)
        square = 0.0
        for i in range(3):
            way[i] = points[1, i] - points[0, i]
            square += way[i] * way[i]
        before = length
        length = math.sqrt(square)
        if length < OVERLAP:
            return False
        for i in range(3):
            normal[i] = way[i] / length
        if length >= before:  # rounding lets it come no nearer
            return True
    return True


@compiled
def _nearest_of_corners(corners: Array, count: int, work: Array, points: Array) -> int:
    """Find where the hulls of corresponding corners are nearest, into points (2, 3).

    It keeps the corners that it needs.

    The difference of the two points is the point of the hull of all differences that is nearest to
    0. The newest corner is one of those that make it up, and their shares are positive.

    Args:
        corners: (5, 2, 3) corners of two bodies; the first `count` count, and are put in order.
        count: Number of corners that count, 1 to 5.
        work: (12, 3) memory to work with.
        points: Result (2, 3).

    Returns:
        Number of corners that are kept, at most 4.
    """
    difference = work[:5]
    for corner in range(count):
        for i in range(3):
            difference[corner, i] = corners[corner, 1, i] - corners[corner, 0, i]
    newest = 1 << (count - 1)
    best = newest
    least = np.inf
    share = np.empty(4)
    for mask in range(newest, 2 * newest):
        if not _shares_of(difference, mask, count, work[5:], share):
            continue
        square = 0.0
        for i in range(3):
            at = 0.0
            place = 0
            for corner in range(count):
                if mask >> corner & 1:
                    at += share[place] * difference[corner, i]
                    place += 1
            square += at * at
        if square < least:
            least = square
            best = mask
    _shares_of(difference, best, count, work[5:], share)
    points[:] = 0.0
    place = 0
    for corner in range(count):
        if best >> corner & 1:
            for side in range(2):
                for i in range(3):
                    corners[place, side, i] = corners[corner, side, i]
                    points[side, i] += share[place] * corners[place, side, i]
            place += 1
    return place


@compiled
def _shares_of(difference: Array, mask: int, count: int, work: Array, share: Array) -> bool:
    """Shares (4,) of rows of which the sum is nearest to 0, of all that add up to 1; False where
    one is negative.

    Args:
        difference: (5, 3) rows.
        mask: Bits that choose up to four of the first `count` rows.
        count: Number of rows that may be chosen.
        work: (7, 3) memory to work with: edges, the matrix of their products, and the right side.
        share: Result (4,).
    """
    first = -1
    size = 0
    for row in range(count):
        if mask >> row & 1:
            if first < 0:
                first = row
            elif size == 3:
                return False
            else:
                for i in range(3):
                    work[size, i] = difference[row, i] - difference[first, i]
                size += 1
    square = work[3:6]
    side = work[6]
    for row in range(size):
        side[row] = 0.0
        for i in range(3):
            side[row] -= work[row, i] * difference[first, i]
        for column in range(size):
            square[row, column] = 0.0
            for i in range(3):
                square[row, column] += work[row, i] * work[column, i]
    # Gauss: the matrix is positive definite, or the edges aren't independent
    for row in range(size):
        if square[row, row] <= PARALLEL * PARALLEL:
            return False
        for below in range(row + 1, size):
            factor = square[below, row] / square[row, row]
            for column in range(row, size):
                square[below, column] -= factor * square[row, column]
            side[below] -= factor * side[row]
    share[0] = 1.0
    for row in range(size - 1, -1, -1):
        value = side[row]
        for column in range(row + 1, size):
            value -= square[row, column] * share[column + 1]
        share[row + 1] = value / square[row, row]
        if share[row + 1] < 0.0:
            return False
        share[0] -= share[row + 1]
    return bool(share[0] >= 0.0)


@compiled
def _balls_apart(
    placed: Array, half: Array, other_half: Array, points: Array, normal: Array
) -> float:
    """Distance of the balls around two bodies; see :func:`pair_distance`."""
    between = 0.0
    radius = 0.0
    other_radius = 0.0
    for i in range(3):
        normal[i] = placed[1, i, 3] - placed[0, i, 3]
        between += normal[i] * normal[i]
        radius += half[i] * half[i]
        other_radius += other_half[i] * other_half[i]
    between = math.sqrt(between)
    radius = math.sqrt(radius)
    other_radius = math.sqrt(other_radius)
    for i in range(3):
        normal[i] /= max(between, OVERLAP)
        points[0, i] = placed[0, i, 3] + radius * normal[i]
        points[1, i] = placed[1, i, 3] - other_radius * normal[i]
    return between - radius - other_radius


@compiled
def _begin_at_axes(
    placed: Array,
    half: tuple[Array, Array],
    is_box: tuple[bool, bool],
    points: Array,
    normal: Array,
) -> float:
    """Find where a body's axis z is nearest to that of another, or to the box that the other is.

    Returns their distance [m].
    """
    first = np.empty((2, 3))
    second = np.empty((2, 3))
    _axis_of(placed[0], half[0], first)
    _axis_of(placed[1], half[1], second)
    if is_box[1]:
        return _line_to_box(first, placed[1], half[1], points, normal)
    if not is_box[0]:
        return _line_to_line(first, second, points, normal)
    distance = _line_to_box(second, placed[0], half[0], points, normal)
    for i in range(3):
        at = points[0, i]
        points[0, i] = points[1, i]
        points[1, i] = at
        normal[i] = -normal[i]
    return distance


@compiled
def _overlap(
    placed: Array,
    half: tuple[Array, Array],
    is_box: tuple[bool, bool],
    points: Array,
    normal: Array,
) -> float:
    """Distance of two bodies that overlap, negative: the largest separation along
    the axes of either.
    """
    best = -np.inf
    along = np.empty(3)
    back = np.empty(3)
    for body in range(2):
        for axis in range(3):
            if axis < 2 and not is_box[body]:  # crossing cylinders: along what stands on both axes
                continue
            for sign in (-1.0, 1.0):
                for i in range(3):
                    along[i] = sign * placed[body, i, axis]
                    back[i] = -along[i]
                separation = _separation(placed, half, is_box, along)
                if separation <= best:
                    continue
                best = separation
                normal[:] = along
                if body == 0:
                    _farthest_point(placed[1], half[1], is_box[1], back, points[1])
                else:
                    _farthest_point(placed[0], half[0], is_box[0], along, points[0])
                for i in range(3):
                    if body == 0:
                        points[0, i] = points[1, i] - best * along[i]
                    else:
                        points[1, i] = points[0, i] + best * along[i]
    return best


@compiled
def _axis_of(pose: Array, half: Array, axis: Array) -> None:
    """The ends of a body's axis z, into axis (2, 3)."""
    for i in range(3):
        axis[0, i] = pose[i, 3] - half[2] * pose[i, 2]
        axis[1, i] = pose[i, 3] + half[2] * pose[i, 2]


@compiled
def _extent(pose: Array, half: Array, is_box: bool, along: Array) -> float:
    """Distance that a body reaches from its middle along a unit vector (3,) [m]."""
    x = abs(along[0] * pose[0, 0] + along[1] * pose[1, 0] + along[2] * pose[2, 0])
    y = abs(along[0] * pose[0, 1] + along[1] * pose[1, 1] + along[2] * pose[2, 1])
    z = abs(along[0] * pose[0, 2] + along[1] * pose[1, 2] + along[2] * pose[2, 2])
    if is_box:
        return float(half[0] * x + half[1] * y + half[2] * z)
    return float(half[0] * math.sqrt(x * x + y * y) + half[2] * z)


@compiled
def _separation(
    placed: Array, half: tuple[Array, Array], is_box: tuple[bool, bool], along: Array
) -> float:
    """Width of the gap between two bodies along a unit vector (3,) from the first to the
    second; negative for none.
    """
    between = 0.0
    for i in range(3):
        between += along[i] * (placed[1, i, 3] - placed[0, i, 3])
    first = _extent(placed[0], half[0], is_box[0], along)
    second = _extent(placed[1], half[1], is_box[1], along)
    return float(between - first - second)


@compiled
def _farthest_point(pose: Array, half: Array, is_box: bool, along: Array, point: Array) -> None:
    """The point of a body that is farthest along a unit vector (3,), into point; the middle
    of an edge or a face.
    """
    inside = np.empty(3)
    for axis in range(3):
        inside[axis] = (
            along[0] * pose[0, axis] + along[1] * pose[1, axis] + along[2] * pose[2, axis]
        )
    across = math.hypot(inside[0], inside[1])
    for axis in range(3):
        share = 0.0
        if is_box or axis == 2:
            if abs(inside[axis]) > 1e-9:
                share = math.copysign(1.0, inside[axis])
        elif across > 1e-9:
            share = inside[axis] / across
        inside[axis] = share * half[axis]
    for i in range(3):
        point[i] = (
            pose[i, 3] + pose[i, 0] * inside[0] + pose[i, 1] * inside[1] + pose[i, 2] * inside[2]
        )


@compiled
def _line_to_box(line: Array, box: Array, half: Array, points: Array, normal: Array) -> float:
    """Distance of a line (2, 3) to a box, negative inside; see :func:`pair_distance`.

    The signed distance of a point to a convex body is convex along a line, so its slope leads to
    the least one.
    """
    ends = np.empty((2, 3))  # in the box
    for end in range(2):
        for i in range(3):
            ends[end, i] = 0.0
            for k in range(3):
                ends[end, i] += box[k, i] * (line[end, k] - box[k, 3])
    at = np.empty(3)
    away = np.empty(3)  # unit vector out of the box
    low = 0.0
    high = 1.0
    for _ in range(HALVINGS):
        middle = 0.5 * (low + high)
        for i in range(3):
            at[i] = ends[0, i] + middle * (ends[1, i] - ends[0, i])
        _point_to_box(at, half, away)
        slope = 0.0
        for i in range(3):
            slope += away[i] * (ends[1, i] - ends[0, i])
        if slope > 0.0:
            high = middle
        else:
            low = middle
    for i in range(3):
        at[i] = ends[0, i] + 0.5 * (low + high) * (ends[1, i] - ends[0, i])
    distance = _point_to_box(at, half, away)
    for i in range(3):
        points[0, i] = box[i, 3]
        normal[i] = 0.0
        for k in range(3):
            points[0, i] += box[i, k] * at[k]
            normal[i] -= box[i, k] * away[k]
    for i in range(3):
        points[1, i] = points[0, i] + distance * normal[i]
    return distance


@compiled
def _point_to_box(at: Array, half: Array, away: Array) -> float:
    """Signed distance of a point (3,) to a box about the origin, and the unit vector (3,)
    out of it, into away.
    """
    square = 0.0
    for i in range(3):
        beyond = max(abs(at[i]) - half[i], 0.0)
        away[i] = math.copysign(beyond, at[i])
        square += beyond * beyond
    if square > 1e-18:
        distance = math.sqrt(square)
        for i in range(3):
            away[i] /= distance
        return distance
    nearest = 0
    for i in range(1, 3):
        if half[i] - abs(at[i]) < half[nearest] - abs(at[nearest]):
            nearest = i
    away[:] = 0.0
    away[nearest] = math.copysign(1.0, at[nearest])
    return float(abs(at[nearest]) - half[nearest])


# what walk() answers
BLOCKED_AT = 0
DEEPEST_PAIR = 1
DEEPEST_DISTANCE = 2
FINDINGS = 3

# m that bodies move at most, in relation to each other, between two postures that are looked at
PIECE = 0.0025
SPARE = PIECE / 2.0  # m that they may come nearer in between


@compiled
def walk(chain: JointChain, bodies: Bodies, way: Array, findings: Array) -> None:
    """Look whether all pairs keep their margins along a way of joint angles; between its points
    they go straight.

    A pair that is nearer at the start may not come nearer still. A pair is looked at where it may
    have come as near as its margin since it was looked at last, and then again after each 2.5 mm.
    So nothing is missed, and a way through free space costs little: conservative advancement.

    Source: B. Mirtich, J. Canny, Impulse-based simulation of rigid bodies, Symposium on Interactive
    3D Graphics, 1995.

    Args:
        chain, bodies: Joints and bodies of the arm.
        way: (k, n) joint angles along the way [rad].
        findings: Result (3,): number of the point (with fraction) where a pair is first too near,
            the pair that has least to spare from there on, and its distance [m]; -1 as the first
            where the way is free.
    """
    count = len(bodies.pairs)
    n = way.shape[1]
    least = np.empty(count)
    slack = np.empty(count)
    gone = np.zeros(count)
    motion = np.empty(count)
    distances_into(chain, bodies, way[0], slack)
    for pair in range(count):
        least[pair] = min(bodies.margin[pair] + SPARE, slack[pair])
        slack[pair] -= least[pair]
    findings[:] = -1.0
    deepest = np.inf
    poses = np.empty((n, 4, 4))
    placed = np.empty((2, 4, 4))
    points = np.empty((2, 3))
    normal = np.empty(3)
    q = np.empty(n)
    for point in range(1, len(way)):
        pieces = 0
        for pair in range(count):
            motion[pair] = 0.0
            for joint in range(n):
                motion[pair] += bodies.lever[pair, joint] * abs(
                    way[point, joint] - way[point - 1, joint]
                )
            if motion[pair] > 0.0 and gone[pair] + motion[pair] >= slack[pair]:
                fine = 1 if findings[BLOCKED_AT] >= 0.0 else math.ceil(motion[pair] / PIECE)
                pieces = max(pieces, fine)
        for piece in range(1, max(pieces, 1) + 1):
            share = piece / max(pieces, 1)
            current = False  # whether the joints are placed for this piece
            for pair in range(count):
                gone[pair] += motion[pair] / max(pieces, 1)
                if gone[pair] < slack[pair] or motion[pair] == 0.0:
                    continue
                if not current:
                    for joint in range(n):
                        q[joint] = way[point - 1, joint] + share * (
                            way[point, joint] - way[point - 1, joint]
                        )
                    place_joints(chain, q, poses)
                    current = True
                distance = pair_distance(bodies, poses, pair, placed, points, normal)
                gone[pair] = 0.0
                slack[pair] = distance - least[pair]
                if slack[pair] < -1e-9:
                    if findings[BLOCKED_AT] < 0.0:
                        findings[BLOCKED_AT] = point - 1 + share
                    if distance - bodies.margin[pair] < deepest:
                        deepest = distance - bodies.margin[pair]
                        findings[DEEPEST_PAIR] = pair
                        findings[DEEPEST_DISTANCE] = distance
