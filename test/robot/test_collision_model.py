"""Distances of an arm from itself and its cell: against sampled formulae, finite differences
and other placements.
"""

import math
from collections import Counter
from dataclasses import replace
from itertools import combinations, pairwise

import coal
import numpy as np
import pinocchio as pin
import pytest
from refusals import refuses
from scipy.spatial.transform import Rotation

from robot_control_ros.core.spatial import make_pose
from robot_control_ros.robot.cell import CellObject
from robot_control_ros.robot.collision_model import CollisionModel, payload_radius
from robot_control_ros.robot.configuration import load_robot
from robot_control_ros.robot.distances import (
    BLOCKED_AT,
    DEEPEST_DISTANCE,
    DEEPEST_PAIR,
    EXACT,
    FINDINGS,
    HALF_SPACE,
    SOLID,
    Bodies,
    pair_distance,
    walk,
)
from robot_control_ros.robot.joint_chain import BASE, jacobian_into, place_joints
from robot_control_ros.robot.link_bodies import solid_of
from robot_control_ros.robot.model import RobotModel
from robot_control_ros.robot.payload import Payload
from robot_control_ros.robot.solids import Shape

MARGIN = 0.01
ROBOTS = ("ur5e", "gen3", "planar_two_link", "ur5e+robotiq_2f85")
BOX_POSE = make_pose(np.array((0.4, 0.2, 0.3)), Rotation.from_rotvec((0.3, -0.2, 0.5)).as_matrix())
KINDS = [(kind, kind) for kind in ("sphere", "capsule", "cylinder", "box")]
CELL = {
    "table": CellObject(name="table", shape=Shape("box", (0.3, 0.4, 0.1), BOX_POSE)),
    "ball": CellObject(
        name="ball",
        shape=Shape("sphere", (0.1,), make_pose(np.array((-0.4, 0.3, 0.5)))),
        margin=0.0,
    ),
    "post": CellObject(
        name="post", shape=Shape("cylinder", (0.05, 0.6), make_pose(np.array((0.0, -0.6, 0.3))))
    ),
    "floor": CellObject(name="floor", shape=Shape("plane", (), np.eye(4))),
}


def collisions(name="ur5e", payload=None, size=0.0, **changes):
    robot = replace(load_robot(name), **changes)
    model = RobotModel.of(robot)
    return model, CollisionModel(robot, model, MARGIN, payload or Payload(), size)


def postures(model, count, seed=0):
    lower, upper = np.maximum(model.limits.lower, -math.pi), np.minimum(model.limits.upper, math.pi)
    return np.random.default_rng(seed).uniform(lower, upper, (count, model.n))


# --- where joints are ---


@pytest.mark.parametrize("name", ROBOTS)
def test_joints_and_their_jacobian_are_where_pinocchio_puts_them(name):
    model, _ = collisions(name)
    joint, in_joint = model.carrier(model.tip)
    for q in postures(model, 20):
        poses, jacobian = np.empty((model.n, 4, 4)), np.empty((6, model.n))
        place_joints(model.chain, q, poses)
        pose, expected = model.link(model.tip, q)
        np.testing.assert_allclose(poses[joint] @ in_joint, pose, atol=1e-12)
        jacobian_into(model.chain, poses, joint, pose[:3, 3].copy(), jacobian)
        np.testing.assert_allclose(jacobian, expected, atol=1e-12)


def test_a_sliding_joint_slides():
    urdf = """<robot name="r"><link name="base"/><link name="a"/><link name="tip"/>
      <joint name="slide" type="prismatic"><parent link="base"/><child link="a"/><origin xyz="0 0 1" rpy="0.3 0 0"/>
        <axis xyz="0 1 0"/><limit lower="-1" upper="1" effort="1" velocity="1"/></joint>
      <joint name="turn" type="revolute"><parent link="a"/><child link="tip"/><origin xyz="0.5 0 0"/>
        <axis xyz="0 0.6 0.8"/><limit lower="-1" upper="1" effort="1" velocity="1"/></joint></robot>"""
    model = RobotModel(urdf, ("turn", "slide"), "base", "tip")
    q = np.array((0.4, -0.7))
    poses, jacobian = np.empty((2, 4, 4)), np.empty((6, 2))
    place_joints(model.chain, q, poses)
    joint, in_joint = model.carrier("tip")
    pose, expected = model.link("tip", q)
    np.testing.assert_allclose(poses[joint] @ in_joint, pose, atol=1e-12)
    jacobian_into(model.chain, poses, joint, pose[:3, 3].copy(), jacobian)
    np.testing.assert_allclose(jacobian, expected, atol=1e-12)


# --- the distance of one pair ---


def bodies_of(*shapes, plane=None):
    solids = [solid_of(each) for each in shapes]
    return Bodies(
        np.full(len(solids), BASE),
        np.array([each.pose for each in solids]),
        np.array([each.half for each in solids]),
        np.array([each.is_box for each in solids]),
        np.array([each.rounding for each in solids]),
        np.empty((0, 4)) if plane is None else np.array((plane,)),
        np.array(((0, 1, SOLID) if plane is None else (0, 0, HALF_SPACE),)),
        np.array((MARGIN,)),
        np.zeros((1, 1)),
    )


def distance_of(bodies):
    points, normal = np.empty((2, 3)), np.empty(3)
    return (
        pair_distance(bodies, np.empty((0, 4, 4)), 0, np.empty((2, 4, 4)), points, normal),
        points,
        normal,
    )


def random_shape(random, kind, spread):
    size = {"sphere": 1, "capsule": 2, "cylinder": 2, "box": 3}[kind]
    rotation = Rotation.from_rotvec(2.0 * random.normal(size=3)).as_matrix()
    return Shape(
        kind,
        tuple(0.05 + 0.3 * random.random(size)),
        make_pose(spread * random.normal(size=3), rotation),
    )


def coal_shape(shape):
    size = np.array(shape.size)
    kinds = {
        "sphere": coal.Sphere,
        "capsule": coal.Capsule,
        "cylinder": coal.Cylinder,
        "box": coal.Box,
    }
    return kinds[shape.kind](*size), coal.Transform3s(shape.pose[:3, :3], shape.pose[:3, 3])


def coal_distance(first, second):
    result = coal.DistanceResult()
    request = coal.DistanceRequest()
    request.enable_signed_distance = True
    coal.distance(*coal_shape(first), *coal_shape(second), request, result)
    return result.min_distance


@pytest.mark.few(4)
@pytest.mark.parametrize(
    "kinds", [*combinations(("sphere", "capsule", "cylinder", "box"), 2), *KINDS]
)
def test_the_distance_of_two_bodies_is_that_of_coal_and_never_larger(kinds):
    random = np.random.default_rng(len(kinds[0]) + 10 * len(kinds[1]))
    errors = []
    for _ in range(1000):
        shapes = [random_shape(random, kind, 0.25) for kind in kinds]
        exact = coal_distance(*shapes)
        distance, points, normal = distance_of(bodies_of(*shapes))
        assert distance < exact + 1e-6 or exact < 0.0
        assert np.linalg.norm(normal) == pytest.approx(1.0)
        if exact > MARGIN + EXACT:
            assert distance >= min(MARGIN + EXACT, exact) - 1e-3
        elif exact > 0.0:
            errors.append(exact - distance)
        else:
            assert distance < 1e-6
        back, _, _ = distance_of(bodies_of(*shapes[::-1]))
        assert back == pytest.approx(distance, abs=5e-3) or not 0.0 < distance < MARGIN + EXACT
        if kinds in (("sphere", "capsule"), ("capsule", "capsule")):
            np.testing.assert_allclose(points[1] - points[0], distance * normal, atol=1e-9)
    assert len(errors) > 20
    assert np.quantile(errors, 0.95) < 1e-3
    assert np.max(errors) < 0.02


def test_capsules_that_cross_overlap_by_their_radii():
    turned = Rotation.from_rotvec((0.0, math.pi / 2.0, 0.0)).as_matrix()
    first = Shape("capsule", (0.1, 2.0), np.eye(4))
    distance, _, normal = distance_of(
        bodies_of(first, Shape("capsule", (0.2, 2.0), make_pose(np.zeros(3), turned)))
    )
    assert distance == pytest.approx(-0.3)
    np.testing.assert_allclose(np.abs(normal), (0.0, 1.0, 0.0), atol=1e-9)
    distance, _, normal = distance_of(bodies_of(first, first))
    assert distance == pytest.approx(-0.2)
    assert np.linalg.norm(normal) == pytest.approx(1.0)


@pytest.mark.parametrize("kind", ["sphere", "capsule", "cylinder", "box"])
def test_the_distance_to_a_half_space_is_that_of_the_lowest_point(kind):
    random = np.random.default_rng(3)
    for _ in range(50):
        up = random.normal(size=3)
        up /= np.linalg.norm(up)
        shape = random_shape(random, kind, 0.5)
        points = surface(shape, random) @ shape.pose[:3, :3].T + shape.pose[:3, 3]
        lowest = (points @ up).min() - 0.3
        distance, nearest, normal = distance_of(bodies_of(shape, plane=(*up, 0.3)))
        assert lowest - 0.03 < distance <= lowest + 1e-9
        np.testing.assert_allclose(normal, -up)
        np.testing.assert_allclose(nearest[1] - nearest[0], distance * normal, atol=1e-9)


def surface(shape, random, count=4000):
    """Points on the surface of a solid, in its own frame."""
    around = random.normal(size=(count, 3))
    around /= np.linalg.norm(around, axis=1)[:, None]
    if shape.kind == "box":
        return 0.5 * np.array(shape.size) * around / np.abs(around).max(axis=1)[:, None]
    if shape.kind == "cylinder":
        flat = shape.size[0] * around[:, :2] / np.linalg.norm(around[:, :2], axis=1)[:, None]
        return np.column_stack((flat, 0.5 * shape.size[1] * random.choice((-1.0, 1.0), count)))
    length = shape.size[1] if shape.kind == "capsule" else 0.0
    return shape.size[0] * around + 0.5 * length * np.sign(around[:, 2:]) * (0.0, 0.0, 1.0)


# --- all pairs of an arm ---


@pytest.mark.few(2)
@pytest.mark.parametrize("name", ROBOTS)
def test_the_gradient_is_that_of_finite_differences(name):
    model, arm = collisions(name, Payload(2.0, np.array((0.0, 0.0, 0.1))), cell=CELL)
    step = 1e-5
    compared = 0
    for q in postures(model, 60, seed=3):
        for pair in range(len(arm.bodies.pairs)):
            found = arm.pair(q, pair)
            # overlapping or far bodies: the distance is a bound
            if not 1e-3 < found.distance < found.margin + EXACT:
                continue
            compared += 1
            for joint, axis in enumerate(step * np.eye(model.n)):
                ahead = (arm.pair(q + axis, pair).distance - found.distance) / step
                back = (found.distance - arm.pair(q - axis, pair).distance) / step
                # between the two, where faces or edges are parallel: the nearest points jump there
                assert min(ahead, back) - 0.01 < found.gradient[joint] < max(ahead, back) + 0.01
    assert compared > 50 or name == "planar_two_link"


@pytest.mark.parametrize("name", ["ur5e", "gen3"])
def test_distances_are_those_of_the_shapes_of_the_description(name):
    robot = load_robot(name)
    model, arm = collisions(name)
    urdf = robot.urdf()
    whole = pin.buildModelFromXML(urdf)
    shapes = pin.buildGeomFromUrdfString(whole, urdf, pin.GeometryType.COLLISION)
    links = {each.name.rpartition("_")[0]: [] for each in shapes.geometryObjects}
    for number, each in enumerate(shapes.geometryObjects):
        links[each.name.rpartition("_")[0]].append(number)
    pairs = Counter(frozenset(arm.pair_names(pair)) for pair in range(len(arm.bodies.pairs)))
    count = Counter(arm.names)
    chosen = [
        (a, b) for a, b in combinations(links, 2) if pairs[frozenset((a, b))] == count[a] * count[b]
    ]
    assert len(chosen) > 5
    for first, second in chosen:
        for a in links[first]:
            for b in links[second]:
                shapes.addCollisionPair(pin.CollisionPair(a, b))
    data, placed = whole.createData(), pin.GeometryData(shapes)
    for q in postures(model, 30, seed=5):
        x = pin.neutral(whole)
        for joint, angle in zip(robot.joints, q, strict=True):
            place = whole.idx_qs[whole.getJointId(joint)]
            turns = whole.nqs[whole.getJointId(joint)] == 2
            x[place : place + (2 if turns else 1)] = (
                (math.cos(angle), math.sin(angle)) if turns else angle
            )
        pin.computeDistances(whole, data, shapes, placed, x)
        exact = {}
        for number, pair in enumerate(shapes.collisionPairs):
            names = [
                shapes.geometryObjects[i].name.rpartition("_")[0] for i in (pair.first, pair.second)
            ]
            key = frozenset(names)
            exact[key] = min(exact.get(key, math.inf), placed.distanceResults[number].min_distance)
        found = {}
        for number, distance in enumerate(arm.distances(q)):
            key = frozenset(arm.pair_names(number))
            found[key] = min(found.get(key, math.inf), distance)
        for key, distance in exact.items():
            assert found[key] < max(distance, 0.0) + 1e-6
            assert found[key] > min(distance, MARGIN + EXACT) - 1e-3 or distance < 0.0


def test_a_base_that_is_turned_with_its_cell_changes_nothing():
    mount = (0.3, -0.2, 0.5, 0.4, -0.6, 0.9)
    turned = make_pose(np.array(mount[:3]), Rotation.from_euler("xyz", mount[3:]).as_matrix())
    moved = {
        name: replace(each, shape=replace(each.shape, pose=turned @ each.shape.pose))
        for name, each in CELL.items()
    }
    model, arm = collisions("ur5e", cell=CELL)
    _, other = collisions("ur5e", cell=moved, mount=mount)
    for q in postures(model, 20):
        np.testing.assert_allclose(other.distances(q), arm.distances(q), atol=1e-9)
        np.testing.assert_allclose(other.nearest(q).points, arm.nearest(q).points, atol=1e-9)
        np.testing.assert_allclose(other.nearest(q).gradient, arm.nearest(q).gradient, atol=1e-9)


@pytest.mark.parametrize("name", ["ur5e", "gen3"])
def test_another_order_of_the_joints_changes_nothing(name):
    model, arm = collisions(name)
    order = np.random.default_rng(2).permutation(model.n)
    robot = load_robot(name)
    shuffled = replace(
        robot,
        joints=tuple(robot.joints[i] for i in order),
        home=tuple(robot.home[i] for i in order),
    )
    shuffled = replace(shuffled, rotor_inertia=tuple(robot.rotor_inertia[i] for i in order))
    other_model = RobotModel.of(shuffled)
    other = CollisionModel(shuffled, other_model, MARGIN, Payload())
    np.testing.assert_allclose(other.bodies.lever, arm.bodies.lever[:, order])
    for q in postures(model, 20):
        found, expected = other.nearest(q[order]), arm.nearest(q)
        assert found.distance == pytest.approx(expected.distance, abs=1e-12)
        np.testing.assert_allclose(found.gradient, expected.gradient[order], atol=1e-9)


@pytest.mark.parametrize("name", ["ur5", "ur5e", "gen3", "ur5e+robotiq_2f85", "gen3+robotiq_2f85"])
def test_home_keeps_all_margins(name):
    _, arm = collisions(name)
    assert arm.problems == ()
    assert arm.nearest(np.array(load_robot(name).home)).distance > MARGIN


def test_neighbours_and_what_always_touches_are_no_pairs():
    _, arm = collisions("ur5e", Payload(2.0))
    pairs = {frozenset(arm.pair_names(pair)) for pair in range(len(arm.bodies.pairs))}
    assert frozenset(("upper_arm_link", "forearm_link")) not in pairs
    assert frozenset(("wrist_2_link", "payload")) not in pairs
    assert frozenset(("upper_arm_link", "wrist_1_link")) in pairs
    assert frozenset(("upper_arm_link", "payload")) in pairs
    assert frozenset(("wrist_3_link", "floor")) in pairs
    assert frozenset(("base_link_inertia", "floor")) not in pairs
    touching = arm.touching_links()
    assert ("upper_arm_link", "forearm_link") in touching
    assert ("forearm_link", "upper_arm_link") in touching
    assert ("upper_arm_link", "wrist_1_link") not in touching


def test_a_payload_keeps_from_the_cell_where_its_size_is_given():
    heavy = Payload(2.0, np.array((0.0, 0.0, 0.1)))
    pairs = [
        {frozenset(arm.pair_names(pair)) for pair in range(len(arm.bodies.pairs))}
        for arm in (collisions("ur5e", heavy)[1], collisions("ur5e", heavy, 0.06)[1])
    ]
    assert [frozenset(("payload", "floor")) in each for each in pairs] == [False, True]
    assert payload_radius(1000.0 * 4.0 / 3.0 * math.pi * 0.1**3) == pytest.approx(0.1)


def test_bodies_of_the_configuration_take_the_place_of_those_of_the_description():
    given = {"forearm_link": (Shape("capsule", (0.2, 0.4), np.eye(4)),), "wrist_3_link": ()}
    _, arm = collisions("ur5e", bodies=given)
    assert arm.names.count("forearm_link") == 1
    assert 0.2 in arm.bodies.rounding
    assert "wrist_3_link" not in arm.names
    with refuses("frame", "nothing"):
        collisions("ur5e", bodies={"nothing": ()})


# --- along a way ---


def walked(model, arm, way):
    findings = np.empty(FINDINGS)
    walk(model.chain, arm.bodies, np.ascontiguousarray(way), findings)
    return findings


def sampled(arm, way, pieces=200):
    """Least room of all pairs along a way, by many postures."""
    least = math.inf
    for first, second in pairwise(way):
        for share in np.linspace(0.0, 1.0, pieces):
            least = min(
                least, (arm.distances(first + share * (second - first)) - arm.bodies.margin).min()
            )
    return least


@pytest.mark.few(1)
@pytest.mark.parametrize("name", ["ur5e", "gen3", "planar_two_link"])
def test_no_way_that_comes_too_near_is_taken_for_free_and_hardly_one_that_does_not(name):
    model, arm = collisions(name, cell=CELL)
    random = np.random.default_rng(7)
    free = blocked = wrong = 0
    for q in postures(model, 60, seed=11):
        if (arm.distances(q) - arm.bodies.margin).min() < 0.002:
            continue
        way = np.array((q, q + 0.8 * random.normal(size=model.n)))
        findings, room = walked(model, arm, way), sampled(arm, way)
        if findings[BLOCKED_AT] < 0.0:
            free += 1
            assert room >= -1e-9
        else:
            blocked += 1
            assert 0.0 < findings[BLOCKED_AT] <= 1.0
            wrong += room > 0.0013
    assert wrong == 0
    assert free > 5
    assert blocked > 0 or name == "planar_two_link"


def test_who_is_too_near_already_may_go_apart_only():
    model, arm = collisions("ur5e")
    inside = np.array((0.0, 0.2, 0.0, 0.0, 0.0, 0.0))  # reaches through the floor
    found = arm.nearest(inside)
    assert found.second == "floor"
    assert found.distance < 0.0
    away = found.gradient / np.linalg.norm(found.gradient)
    assert walked(model, arm, np.array((inside, inside + 0.05 * away)))[BLOCKED_AT] < 0.0
    findings = walked(model, arm, np.array((inside, inside - 0.05 * away)))
    assert findings[BLOCKED_AT] >= 0.0
    assert arm.pair_names(int(findings[DEEPEST_PAIR]))[1] == "floor"
    assert findings[DEEPEST_DISTANCE] < found.distance
