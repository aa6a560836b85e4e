"""
The scene of the viewer's page.

Knows viser and numpy, not ROS: markers come as `Marker`, frames as matrices. Solids of one kind
and namespace are one instanced mesh, and the page is sent only what changed, so that a robot of
a hundred parts costs little more than one of ten.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
import math
from typing import Any, NamedTuple

import numpy as np

from .geometry import arrows, Bounds, Marker, place, Placed, quaternions, segments, unit_meshes

VIEW = (1.0, -1.0, 0.6)     # from where the camera looks, from x and the right, above
FIELD = math.radians(40.0)  # [rad] vertical field of view
PHONE_ASPECT = 0.65         # width over height below which the panel lies over the scene,
PHONE_FREE = 0.58           # and the part of the height that it leaves free, at the top
GONE = 0.4                  # of the scene's radius, from which on cameras follow robots that leave


class Shown(NamedTuple):
    """A node of the page's scene."""

    signature: Any          # what cannot be changed without making it anew
    handle: Any
    values: dict[str, Any]  # what was last sent


class Scene:
    """
    What is drawn in the page's middle.

    Parameters
    ----------
    server : viser.ViserServer

    """

    def __init__(self, server: Any) -> None:
        self._server = server
        self._api = server.scene
        self._meshes = unit_meshes()
        self._shown: dict[tuple, Shown] = {}
        self._groups: dict[tuple[str, str], Any] = {}   # (topic, namespace): parent node
        self._hidden: set[tuple[str, str]] = set()
        self._touched: set[tuple] = set()
        self._count = 0
        self._framed = Bounds()   # what the floor and the camera are made for
        self._met: dict[int, float] = {}  # pages that look, and since when [s]
        self._seen_since = math.inf
        self._followed: tuple[int, np.ndarray] | None = None  # how many robots, and where
        self.bounds = Bounds()
        self._light()
        server.initial_camera.fov = FIELD

    def _light(self) -> None:
        """Light the scene so that a marker's sides have about the color that it was given."""
        self._api.configure_default_lights(enabled=False)
        self._api.configure_environment_map(None)
        self._api.add_light_hemisphere(
            '/light/sky', sky_color=(255, 255, 255), ground_color=(150, 150, 160), intensity=2.5)
        self._api.add_light_directional(
            '/light/sun', position=(0.6, -1.0, 1.6), intensity=1.6, cast_shadow=False)

    def groups(self) -> list[tuple[str, str]]:
        """Every (topic, namespace) that has been drawn and not cleared."""
        return list(self._groups)

    def set_visible(self, group: tuple[str, str], visible: bool) -> None:
        """Show or hide a namespace, also one that is still to come."""
        (self._hidden.discard if visible else self._hidden.add)(group)
        parent = self._groups.get(group)
        if parent is not None:
            parent.visible = visible

    def is_visible(self, group: tuple[str, str]) -> bool:
        """Tell whether a namespace is shown."""
        return group not in self._hidden

    def clear(self, topic: str) -> None:
        """Forget a topic and all its namespaces."""
        for group in [group for group in self._groups if group[0] == topic]:
            self._groups.pop(group).remove()  # and what hangs on it
            self._shown = {key: value for key, value in self._shown.items() if key[0] != group}

    def draw(
        self, topics: Mapping[str, Iterable[Marker]], pose: Callable[[str], np.ndarray | None],
        frames: Mapping[str, np.ndarray], axis_size: float, names: bool,
    ) -> list[str]:
        """
        Bring the page up to date.

        Parameters
        ----------
        topics : mapping of topic to markers
            Everything there is to see.
        pose : callable
            From a frame's name to its (4, 4) pose in the fixed frame, or None.
        frames : mapping of name to (4, 4) float64
            Frames to draw axes for; may be none.
        axis_size : float
            Length of the axes, as a part of the scene's radius [-].
        names : bool
            Whether the frames' names are written beside them.

        Returns
        -------
        list of str
            Complaints about markers that were left out.

        """
        self.bounds = Bounds()
        self._touched = set()
        complaints: list[str] = []
        with self._server.atomic():
            for topic, markers in topics.items():
                complaints += self._draw_topic(topic, markers, pose)
            self._draw_frames(frames, axis_size, names)
            for key in self._shown.keys() - self._touched:
                self._shown.pop(key).handle.remove()
        return complaints

    def _draw_topic(
        self, topic: str, markers: Iterable[Marker], pose: Callable[[str], np.ndarray | None],
    ) -> list[str]:
        complaints: list[str] = []
        groups: dict[tuple, list[tuple[Marker, np.ndarray]]] = {}
        poses: dict[str, np.ndarray | None] = {}
        for marker in markers:
            fault = marker.fault()
            if fault:
                complaints.append(
                    f'marker {marker.namespace!r} {marker.number} on {topic} {fault}')
                continue
            if marker.frame not in poses:
                poses[marker.frame] = pose(marker.frame)
            frame = poses[marker.frame]
            if frame is not None and marker.is_seen():
                groups.setdefault(marker.group(), []).append((marker, frame))
        if groups:
            self._draw_groups(topic, groups)
        return complaints

    def _draw_groups(
        self, topic: str, groups: Mapping[tuple, list[tuple[Marker, np.ndarray]]],
    ) -> None:
        members = [member for group in groups.values() for member in group]
        placed = place([marker for marker, _ in members], np.array([pose for _, pose in members]))
        solids: dict[tuple, list[Placed]] = {}
        start = 0
        for (namespace, sort, detail), group in groups.items():
            key = self._group(topic, namespace), sort, detail
            alike = [marker for marker, _ in group]
            part = placed.part(start, start + len(alike))
            start += len(alike)
            if sort in self._meshes:
                solids.setdefault(key, []).append(part)
            elif sort == 'arrow':
                for mesh, piece in arrows(alike, part).items():
                    solids.setdefault((key[0], mesh, None), []).append(piece)
            else:
                getattr(self, '_draw_' + sort)(key, alike, part)
        for key, parts in solids.items():
            self._draw_solids(key, parts)

    def _group(self, topic: str, namespace: str) -> tuple[str, str]:
        """Return a namespace's key; its node is the parent that can hide all of it."""
        group = topic, namespace
        if group not in self._groups:
            self._count += 1
            self._groups[group] = self._api.add_frame(
                f'/markers/{self._count}', show_axes=False, visible=self.is_visible(group))
        return group

    def _draw_solids(self, key: tuple, solids: Sequence[Placed]) -> None:
        wxyz, scale, points, colors = (np.concatenate(arrays) for arrays in zip(*(
            (s.wxyz[s.owner], s.scale[s.owner], s.points, s.colors) for s in solids)))
        if not len(points):
            return
        self.bounds.add(points, scale.max(axis=1, keepdims=True) / 2.0)
        clear = bool((colors[:, 3] < 1.0).any())
        vertices, faces = self._meshes[key[1]]

        def create(name: str, **values: Any) -> Any:
            return self._api.add_batched_meshes_simple(name, vertices, faces, lod='off', **values)

        self._show(
            key, (len(points), clear), create, batched_positions=points,
            batched_wxyzs=wxyz, batched_scales=scale.astype(np.float32),
            batched_colors=as_bytes(linear(colors)),
            batched_opacities=colors[:, 3].astype(np.float32) if clear else None)

    def _draw_lines(self, key: tuple, markers: Sequence[Marker], placed: Placed) -> None:
        pairs = segments(markers, placed)
        self.bounds.add(placed.points)
        self._show(
            key, len(pairs), self._api.add_line_segments, points=placed.points[pairs],
            colors=as_bytes(linear(placed.colors[pairs])), thickness=float(key[2]))

    def _draw_points(self, key: tuple, markers: Sequence[Marker], placed: Placed) -> None:
        self.bounds.add(placed.points)

        def create(name: str, **values: Any) -> Any:
            return self._api.add_point_cloud(
                name, precision='float32', point_shading='flat', **values)

        self._show(key, len(placed.points), create, points=placed.points.astype(np.float32),
                   colors=as_bytes(placed.colors), point_size=key[2] / 2.0)  # viser's is a radius

    def _draw_text(self, key: tuple, markers: Sequence[Marker], placed: Placed) -> None:
        self.bounds.add(placed.points)

        def create(name: str, **values: Any) -> Any:
            return self._api.add_label(
                name, font_size_mode='scene', anchor='center-center', **values)

        self._show(key, None, create, text=markers[0].text, position=placed.points[0],
                   font_scene_height=float(placed.scale[0, 2]))

    def _draw_triangles(self, key: tuple, markers: Sequence[Marker], placed: Placed) -> None:
        points = placed.points
        self.bounds.add(points)
        faces = np.arange(len(points)).reshape(-1, 3)
        colors = as_bytes(placed.colors)
        opacity = float(placed.colors[:, 3].min())

        def create(name: str, **values: Any) -> Any:
            return self._api.add_mesh_simple(
                name, faces=faces, flat_shading=True, side='double', **values)

        def create_coloured(name: str) -> Any:
            import trimesh  # takes a second to import, and few markers need it
            return self._api.add_mesh_trimesh(name, trimesh.Trimesh(
                points, faces, vertex_colors=as_bytes(placed.colors, 4), process=False))

        if (colors == colors[0]).all():
            self._show(key, len(points), create, vertices=points,
                       color=tuple(map(int, colors[0])),
                       opacity=None if opacity == 1.0 else opacity)
        else:
            self._show(key, (points.tobytes(), colors.tobytes()), create_coloured)

    def _draw_frames(
        self, frames: Mapping[str, np.ndarray], axis_size: float, names: bool,
    ) -> None:
        if not frames:
            return
        length = axis_size * (self._framed.radius if self._framed else 1.0)
        poses = np.array(list(frames.values()))
        if not self.bounds:
            self.bounds.add(poses[:, :3, 3])
        self._show(
            ('frames',), len(poses), self._api.add_batched_axes,
            batched_positions=poses[:, :3, 3], batched_wxyzs=quaternions(poses[:, :3, :3]),
            axes_length=length, axes_radius=0.04 * length)
        if names:
            for name, position in zip(frames, poses[:, :3, 3]):
                self._show(('frame name', name), None, self._api.add_label, text=name,
                           position=position, font_screen_scale=0.7)

    def _show(
        self, key: tuple, signature: Any, create: Callable[..., Any], **values: Any,
    ) -> None:
        """Give a node of the scene new values; make it anew only when its signature changes."""
        self._touched.add(key)
        shown = self._shown.get(key)
        if shown is None or shown.signature != signature:
            name = shown.handle.name if shown else self._name(key)
            self._shown[key] = Shown(signature, create(name, **values), values)
            return
        for name, value in values.items():
            # viser compares too, but takes five times as long.
            if not np.array_equal(value, shown.values[name]):
                setattr(shown.handle, name, value)
                shown.values[name] = value

    def _name(self, key: tuple) -> str:
        """Return a new node's path."""
        self._count += 1
        group = key[0]
        if not isinstance(group, tuple):
            return f'/frames/{self._count}'
        return f'{self._groups[group].name}/{self._count}'

    # ------------------------------------------------------------ floor and camera

    def frame_view(self, now: float) -> None:
        """
        Keep the floor and the camera's first view fit for what is drawn.

        The cameras of those who look are left alone, but for the first second of a scene: it may
        come in pieces.
        """
        if not self.bounds:
            return
        self._seen_since = min(self._seen_since, now)
        if not (self._framed and self.bounds.close_to(self._framed)):
            self._framed = self.bounds
            self._lay_floor()
            position, look_at, near, far = self._stand(1.0)
            camera = self._server.initial_camera
            camera.position, camera.look_at = position, look_at
            camera.near, camera.far = near, far
            if now - self._seen_since < 1.0:
                self._met.clear()
        clients = self._server.get_clients()
        self._met = {number: self._met.get(number, now) for number in clients}
        for number, since in self._met.items():
            if now - since < 1.0:  # a page may overlook what comes while it starts
                self.fit(clients[number])

    def follow(self, bases: Sequence[np.ndarray]) -> None:
        """Let all cameras go with the robots, as far as their bases (3,) [m] leave together."""
        if not bases or not self._framed:
            return
        count, place = len(bases), np.mean(bases, axis=0)
        if self._followed is None or self._followed[0] != count:
            self._followed = count, place
        moved = place - self._followed[1]
        if np.linalg.norm(moved) < GONE * self._framed.radius:
            return
        self._followed = count, place
        for client in self._server.get_clients().values():
            with client.atomic():  # viser lets the camera look on at where it looked
                look_at = client.camera.look_at + moved
                client.camera.position = client.camera.position + moved
                client.camera.look_at = look_at

    def fit(self, client: Any) -> None:
        """Move one page's camera to where everything is seen."""
        if not self._framed:
            return
        position, look_at, near, far = self._stand(client.camera.aspect)
        with client.atomic():
            client.camera.near, client.camera.far = near, far
            client.camera.fov = FIELD
            client.camera.up_direction = (0.0, 0.0, 1.0)
            client.camera.position = position
            client.camera.look_at = look_at

    def _stand(self, aspect: float) -> tuple[np.ndarray, np.ndarray, float, float]:
        """
        Choose a view for a page of some width over height.

        Returns
        -------
        (3,) float64, (3,) float64
            Where the camera is, and what it looks at [m].
        float, float
            Its clipping distances [m].

        """
        radius = self._framed.radius
        free = PHONE_FREE if aspect < PHONE_ASPECT else 1.0
        half_height = math.tan(FIELD / 2.0)
        half = math.atan(half_height * min(free, aspect))
        distance = 1.05 * radius / math.sin(half)
        backwards = np.array(VIEW) / np.linalg.norm(VIEW)
        upwards = np.array((0.0, 0.0, 1.0)) - backwards[2] * backwards
        upwards /= np.linalg.norm(upwards)
        middle = self._framed.center - (1.0 - free) * half_height * distance * upwards
        return middle + distance * backwards, middle, radius / 50.0, 200.0 * radius

    def _lay_floor(self) -> None:
        """Lay a grid under the scene, its cells of a round size, its lines through the origin."""
        radius, center = self._framed.radius, self._framed.center
        cell = round_length(radius / 4.0)
        below = min(0.0, math.floor(self._framed.low[2] / cell + 0.1) * cell)
        middle = np.round(center[:2] / cell / 5.0) * cell * 5.0
        size = math.ceil(4.0 * radius / cell / 5.0) * cell * 10.0
        self._api.add_grid(
            '/floor', width=size, height=size, position=(*middle, below), cell_size=cell,
            section_size=5.0 * cell, cell_color=(225, 228, 232), section_color=(190, 196, 204),
            shadow_opacity=0.0, fade_distance=12.0 * radius, fade_strength=1.5)


def linear(colors: np.ndarray) -> np.ndarray:
    """
    Undo the gamma of colors.

    Meshes and points take sRGB, as do markers, but viser hands the colors of instances and of
    lines' ends on as they are, and three.js takes those for linear.
    """
    return np.where(colors > 0.04045, ((colors + 0.055) / 1.055) ** 2.4, colors / 12.92)


def as_bytes(colors: np.ndarray, channels: int = 3) -> np.ndarray:
    """Return colors from 0 to 255."""
    return np.round(colors[..., :channels] * 255.0).astype(np.uint8)


def round_length(length: float) -> float:
    """Return the largest of 1, 2 or 5 times a power of ten that is not longer."""
    power = 10.0 ** math.floor(math.log10(length) + 1e-9)
    return max(f for f in (1.0, 2.0, 5.0) if f * power <= length * (1.0 + 1e-9)) * power
