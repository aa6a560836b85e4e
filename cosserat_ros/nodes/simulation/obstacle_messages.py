"""Obstacles between messages and the library: see msg/Obstacle.msg."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Optional

from builtin_interfaces.msg import Time
from geometry_msgs.msg import Pose as PoseMessage
import numpy as np
from shape_msgs.msg import Mesh as MeshMessage, MeshTriangle, Plane as PlaneMessage, SolidPrimitive

from ...checks.errors import InvalidModel, UnknownName
from ...checks.fields import check_number, FARTHEST
from ...description.joints import BASE
from ...description.obstacles import (
    BaseGeometry,
    Box,
    Capsule,
    Compound,
    Cylinder,
    Obstacle,
    Plane,
    simple_parts,
    Sphere,
    Triangles,
)
from ...description.parts import Pose
from ...description.robot import Robot
from ...laws.shapes import shape_of
from ...msg import Obstacle as ObstacleMessage, Obstacles
from ...numerics.lie import inverse_se3
from ..common.conversions import fill_poses, fill_xyz, rotation, xyz
from ..common.frame_tree import plain_name
from .frames import RobotFrames

OPERATIONS = {ObstacleMessage.ADD: 'ADD', ObstacleMessage.REMOVE: 'REMOVE',
              ObstacleMessage.APPEND: 'APPEND', ObstacleMessage.MOVE: 'MOVE'}
PRIMITIVES = {  # with the number of their dimensions
    SolidPrimitive.BOX: ('BOX', 3), SolidPrimitive.SPHERE: ('SPHERE', 1),
    SolidPrimitive.CYLINDER: ('CYLINDER', 2), SolidPrimitive.CONE: ('CONE', 2)}
SHORTEST_NORMAL = 1e-9  # of a plane: a shorter one is a mistake
CONE_SIDES = 48
MESH_CELLS = 32         # along the longest edge of a mesh, so that it does not take long, and
MOST_CELLS = 64         # with the margin around it
Part = tuple[BaseGeometry, Pose]


@dataclass(frozen=True)
class Change:
    """What one message asks for, checked as far as it can be by itself."""

    field: str
    operation: int
    name: str
    body: Optional[str]
    pose: Pose
    parts: tuple[Part, ...]
    friction: float
    stiffness: Optional[float]

    @property
    def takes_long(self) -> bool:
        """Whether distances from a mesh must be computed."""
        return any(isinstance(geometry, Triangles) for geometry, _ in self.parts)

    def prepare(self) -> None:
        """Compute what takes long, to be kept; raise if it cannot be."""
        for geometry, _ in self.parts:
            try:
                shape_of(geometry)
            except InvalidModel as error:
                raise error.within(self.field) from None

    def made(self, present: Mapping[str, Obstacle]) -> dict[str, Obstacle]:
        """Return the obstacles after this change, or raise."""
        try:
            return self._made(dict(present))
        except InvalidModel as error:
            raise error.within(self.field) from None

    def _made(self, obstacles: dict[str, Obstacle]) -> dict[str, Obstacle]:
        if self.operation == ObstacleMessage.ADD:
            obstacles[self.name] = Obstacle(
                _joined(self.parts), self.pose, self.body, self.friction, self.stiffness)
            return obstacles
        if self.operation == ObstacleMessage.REMOVE and not self.name:
            return {}
        if self.name not in obstacles:
            raise UnknownName('id', self.name, list(obstacles))
        held = obstacles[self.name]
        if self.operation == ObstacleMessage.REMOVE:
            del obstacles[self.name]
        elif self.operation == ObstacleMessage.MOVE:
            obstacles[self.name] = replace(held, pose=self.pose, body=self.body)
        else:
            seen = self.pose.matrix()
            if self.body != held.body:
                raise InvalidModel(
                    'header.frame_id', self.body or BASE, f'that of {self.name}: '
                    f'{held.body or BASE}')
            g = inverse_se3(held.pose.matrix()) @ seen
            joined: Any = Compound((*simple_parts(held.geometry), *(
                (geometry, pose_of(g @ pose.matrix())) for geometry, pose in self.parts)))
            obstacles[self.name] = replace(held, geometry=joined)
        return obstacles


def _joined(parts: tuple[Part, ...]) -> Any:
    """Return several shapes as one; a single one at the origin stays what it is."""
    return parts[0][0] if len(parts) == 1 and parts[0][1] == Pose() else Compound(parts)


class ObstacleReader:
    """
    Reads and writes messages of obstacles for one robot.

    Parameters
    ----------
    robot : Robot
    frames : RobotFrames

    """

    def __init__(self, robot: Robot, frames: RobotFrames) -> None:
        self._robot, self._frames = robot, frames
        self._home = robot.base.matrix()
        self._fixed = robot.base.motion == 'fixed'
        radii = [body.contact.radius for body in robot.standing.values() if body.contact]
        radii += [rod.contact.radius or 0.5 * float(rod.outline(
            np.linspace(0.0, rod.length, 9)).max())
            for rod in robot.rods.values() if rod.contact]
        self._margin = 2.0 * max(radii, default=0.01)  # where distances from meshes are known

    def changes(self, messages: Sequence[ObstacleMessage]) -> list[Change]:
        """Return what messages ask for, or raise."""
        changes = []
        for i, message in enumerate(messages):
            field = f'obstacles[{i}] {message.id!r}'
            try:
                changes.append(self._change(field, message))
            except InvalidModel as error:
                raise error.within(field) from None
        return changes

    def _change(self, field: str, message: ObstacleMessage) -> Change:
        operation = message.operation
        if operation not in OPERATIONS:
            raise InvalidModel('operation', operation, 'one of ' + ', '.join(
                f'{name} ({number})' for number, name in OPERATIONS.items()))
        if not message.id and operation != ObstacleMessage.REMOVE:
            raise InvalidModel('id', '', 'given')
        body, pose, parts = None, Pose(), self._parts(message)
        adds = operation in (ObstacleMessage.ADD, ObstacleMessage.APPEND)
        if adds and not parts:
            raise InvalidModel('primitives', [], 'at least one shape, or a mesh or plane')
        if not adds and parts:
            raise InvalidModel(
                'primitives', f'{len(parts)} shapes', f'none, to {OPERATIONS[operation]}')
        if operation != ObstacleMessage.REMOVE:
            body, on_body = self._seen_from(message.header.frame_id)
            pose = pose_of(on_body @ read_pose('pose', message.pose))
        # What is wrong with these is said by an obstacle.
        made = Obstacle(Plane(), pose, body, message.friction, message.stiffness or None)
        return Change(field, operation, message.id, body, pose, parts, made.friction,
                      made.stiffness)

    def _seen_from(self, frame: str) -> tuple[Optional[str], np.ndarray]:
        """Return the body that a frame is on (None: none that moves), and its pose there."""
        frame = plain_name(frame)
        if not frame:
            return None, np.eye(4)
        if frame == self._frames.parent:
            return None, inverse_se3(self._home)
        body, pose = self._frames.body(frame)
        return (None if body == BASE and self._fixed else body), pose

    # --- Shapes ---

    def _parts(self, message: ObstacleMessage) -> tuple[Part, ...]:
        parts: list[Part] = []
        for name, shapes, poses, read in (
            ('primitive', message.primitives, message.primitive_poses, self._read_primitive),
            ('mesh', message.meshes, message.mesh_poses, self._read_mesh),
            ('plane', message.planes, message.plane_poses, read_plane),
        ):
            if len(poses) not in (0, len(shapes)):
                raise InvalidModel(
                    f'{name}_poses', f'{len(poses)} poses', f'none, or {len(shapes)}')
            for k, shape in enumerate(shapes):
                field = f'{"meshes" if name == "mesh" else name + "s"}[{k}]'
                try:
                    geometry, own = read(shape)
                except InvalidModel as error:
                    raise error.within(field) from None
                g = read_pose(f'{name}_poses[{k}]', poses[k]) if poses else np.eye(4)
                parts.append((geometry, pose_of(g @ own)))
        return tuple(parts)

    def _read_mesh(self, mesh: MeshMessage) -> tuple[BaseGeometry, np.ndarray]:
        vertices = np.array([(v.x, v.y, v.z) for v in mesh.vertices]).reshape(-1, 3)
        faces = np.array([t.vertex_indices for t in mesh.triangles]).reshape(-1, 3)
        return self._surface(vertices, faces), np.eye(4)

    def _read_primitive(self, solid: SolidPrimitive) -> tuple[BaseGeometry, np.ndarray]:
        geometry = read_primitive(solid)
        if isinstance(geometry, Triangles):
            geometry = self._surface(geometry.vertices, geometry.faces)
        return geometry, np.eye(4)

    def _surface(self, vertices: np.ndarray, faces: np.ndarray) -> Triangles:
        checked = Triangles(vertices, faces)
        extent = float(np.ptp(checked.vertices, axis=0).max())
        cells = int(MOST_CELLS * extent / (extent + 2.0 * self._margin))
        return replace(checked, cells=min(max(cells, 8), MESH_CELLS), margin=self._margin)

    # --- Messages ---

    def state(self, obstacles: Mapping[str, Obstacle], stamp: Time) -> Obstacles:
        """Return all obstacles, as what adds them again."""
        message = Obstacles()
        message.header.stamp, message.header.frame_id = stamp, self._frames.base_link
        for name, obstacle in obstacles.items():
            one = ObstacleMessage(
                id=name, operation=ObstacleMessage.ADD, friction=obstacle.friction,
                stiffness=obstacle.stiffness or 0.0)
            one.header.stamp = stamp
            g = obstacle.pose.matrix()
            if obstacle.body is not None or self._fixed:
                one.header.frame_id = self._frames.of_body(obstacle.body or BASE)
            elif self._frames.parent:
                one.header.frame_id, g = self._frames.parent, self._home @ g
            fill_poses([one.pose], g[None])
            for geometry, pose in simple_parts(obstacle.geometry):
                _write_shape(one, geometry, pose)
            message.obstacles.append(one)
        return message


def read_pose(field: str, message: PoseMessage) -> np.ndarray:
    """Return a pose as a matrix (4, 4), or raise."""
    g = np.eye(4)
    for i, (axis, x) in enumerate(zip('xyz', xyz(message.position))):
        g[i, 3] = check_number(
            f'{field}.position.{axis}', x, least=-FARTHEST, most=FARTHEST, unit='m')
    g[:3, :3] = rotation(f'{field}.orientation', message.orientation)
    return g


def pose_of(g: np.ndarray) -> Pose:
    """Return a matrix (4, 4) as a pose."""
    R = g[:3, :3]
    level = np.hypot(R[0, 0], R[1, 0])
    if level > 1e-9:
        angles = (np.arctan2(R[2, 1], R[2, 2]), np.arctan2(-R[2, 0], level),
                  np.arctan2(R[1, 0], R[0, 0]))
    else:  # pitched upright, roll and yaw are about one axis
        angles = np.arctan2(-R[1, 2], R[1, 1]), np.arctan2(-R[2, 0], level), 0.0
    x, y, z = g[:3, 3].tolist()
    roll, pitch, yaw = map(float, angles)
    return Pose((x, y, z), (roll, pitch, yaw))


def read_primitive(solid: SolidPrimitive) -> BaseGeometry:
    """Return a primitive, or raise."""
    if solid.type not in PRIMITIVES:
        raise InvalidModel('type', solid.type, 'one of ' + ', '.join(
            f'{name} ({number})' for number, (name, _) in PRIMITIVES.items()))
    name, count = PRIMITIVES[solid.type]
    if len(solid.dimensions) != count:
        raise InvalidModel(
            'dimensions', list(solid.dimensions), f'{count} of a {name} [m]')
    sizes = [check_number(f'dimensions[{k}]', x, above=0.0, most=FARTHEST, unit='m')
             for k, x in enumerate(solid.dimensions)]
    if name == 'BOX':
        return Box((sizes[0], sizes[1], sizes[2]))
    if name == 'SPHERE':
        return Sphere(sizes[0])
    if name == 'CYLINDER':
        return Cylinder(sizes[1], sizes[0])
    return _cone(*sizes)


def _cone(height: float, radius: float) -> Triangles:
    """Return a cone about z, its apex up and its origin at half its height."""
    angle = np.linspace(0.0, 2.0 * np.pi, CONE_SIDES, endpoint=False)
    ring = np.column_stack([radius * np.cos(angle), radius * np.sin(angle),
                            np.full(CONE_SIDES, -0.5 * height)])
    k = np.arange(CONE_SIDES)
    after, base, apex = (k + 1) % CONE_SIDES, np.full(CONE_SIDES, CONE_SIDES), np.full(
        CONE_SIDES, CONE_SIDES + 1)
    return Triangles(
        np.vstack([ring, [0.0, 0.0, -0.5 * height], [0.0, 0.0, 0.5 * height]]),
        np.vstack([np.column_stack([k, after, apex]), np.column_stack([after, k, base])]))


def read_plane(plane: PlaneMessage) -> tuple[BaseGeometry, np.ndarray]:
    """Return a plane, its pose with z along its normal, or raise."""
    a = np.array([check_number(f'coef[{k}]', x, least=-FARTHEST, most=FARTHEST)
                  for k, x in enumerate(plane.coef)])
    size = float(np.linalg.norm(a[:3]))
    if not size > SHORTEST_NORMAL:
        raise InvalidModel('coef', a.tolist(), 'a plane: its first three are its normal, not 0')
    n = a[:3] / size
    x = np.cross((0.0, 1.0, 0.0) if abs(n[1]) < 0.9 else (1.0, 0.0, 0.0), n)
    x /= np.linalg.norm(x)
    g = np.eye(4)
    g[:3, :3] = np.column_stack([x, np.cross(n, x), n])
    g[:3, 3] = -a[3] / size * n
    return Plane(), g


def _write_shape(message: ObstacleMessage, geometry: BaseGeometry, pose: Pose) -> None:
    """Add a shape to a message, if there is a message for it."""
    solids: list[tuple[int, list[float], float]] = []  # with their places along z
    if isinstance(geometry, Box):
        solids = [(SolidPrimitive.BOX, list(geometry.size), 0.0)]
    elif isinstance(geometry, Sphere):
        solids = [(SolidPrimitive.SPHERE, [geometry.radius], 0.0)]
    elif isinstance(geometry, Cylinder):
        solids = [(SolidPrimitive.CYLINDER, [geometry.length or FARTHEST, geometry.radius], 0.0)]
    elif isinstance(geometry, Capsule):
        half = 0.5 * geometry.length
        solids = [(SolidPrimitive.CYLINDER, [geometry.length, geometry.radius], 0.0),
                  (SolidPrimitive.SPHERE, [geometry.radius], half),
                  (SolidPrimitive.SPHERE, [geometry.radius], -half)]
    g = pose.matrix()
    for kind, sizes, z in solids:
        at = PoseMessage()
        fill_poses([at], (g @ _lifted(z))[None])
        message.primitives.append(SolidPrimitive(type=kind, dimensions=sizes))
        message.primitive_poses.append(at)
    if isinstance(geometry, Plane):
        n = g[:3, 2]
        message.planes.append(PlaneMessage(coef=[*n.tolist(), float(-n @ g[:3, 3])]))
    if isinstance(geometry, Triangles):
        at = PoseMessage()
        fill_poses([at], g[None])
        mesh = MeshMessage(triangles=[
            MeshTriangle(vertex_indices=face) for face in geometry.faces.astype(np.uint32)])
        for vertex in geometry.vertices:
            mesh.vertices.append(_point(vertex))
        message.meshes.append(mesh)
        message.mesh_poses.append(at)


def _lifted(z: float) -> np.ndarray:
    g = np.eye(4)
    g[2, 3] = z
    return g


def _point(values: np.ndarray) -> Any:
    point: Any = PoseMessage().position
    fill_xyz(point, values)
    return point
