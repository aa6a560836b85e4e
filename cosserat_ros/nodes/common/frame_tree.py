"""
The newest pose of every coordinate frame, from transforms between them.

What tf2's buffer answers when asked for the latest time, without its history: a viewer shows
only now. Knows nothing of ROS; names and arrays come in, 4 x 4 matrices go out.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
import math
from typing import NamedTuple

import numpy as np

FARTHEST = 1e9         # [m] that a frame may be from its parent: more is a mistake
MOST_FRAMES = 10_000
NORM_TOLERANCE = 1e-2  # of a squared quaternion norm, as in tf2


class Edge(NamedTuple):
    """Where a frame sits in its parent."""

    parent: str
    values: tuple[float, ...]  # x, y, z [m], then the quaternion x, y, z, w
    time: float                # of arrival [s], on the caller's clock
    source: str                # who said so


class FrameTree:
    """
    A forest of frames, each with the newest transform to its parent.

    Whatever would break the forest is rejected: a frame that is its own ancestor, numbers that are
    not finite or too large, quaternions that are not rotations, too many frames. So every question
    has an answer and ends.
    """

    def __init__(self) -> None:
        self._edges: dict[str, Edge] = {}
        self._to_root: dict[str, tuple[str, np.ndarray]] = {}  # answers until a pose changes
        self._roots: list[str] | None = None                   # answer until a parent changes

    def set_transform(
        self, child: str, parent: str, values: Sequence[float], *, time: float = 0.0,
        source: str = '',
    ) -> None:
        """
        Place a frame in its parent, instead of where it was.

        Parameters
        ----------
        child, parent : str
            Names; a leading slash means nothing, as in tf2.
        values : (7,) sequence of float
            Pose of the child in the parent: position x, y, z [m] and unit quaternion x, y, z, w.
        time : float
            Of arrival [s].
        source : str
            Who says so; see `forget`.

        Raises
        ------
        ValueError
            If the transform is none, with the reason. The tree is then as it was.

        """
        child, parent = plain_name(child), plain_name(parent)
        if not child or not parent:
            raise ValueError(f'transform from {parent!r} to {child!r} lacks a name')
        old = self._edges.get(child)
        moved = old is None or old.parent != parent
        if moved and child in self.ancestors(parent):
            raise ValueError(f'frame {child!r} would be its own ancestor, through {parent!r}')
        values = tuple(map(float, values))
        if len(values) != 7 or not all(map(math.isfinite, values)):
            raise ValueError(f'transform of {child!r} is not 7 finite numbers')
        if max(map(abs, values[:3])) > FARTHEST:
            raise ValueError(f'frame {child!r} is more than {FARTHEST:g} m from its parent')
        if old is None and len(self._edges) >= MOST_FRAMES:
            raise ValueError(f'frame {child!r} is one more than {MOST_FRAMES}')
        x, y, z, w = values[3:]
        if not abs(x * x + y * y + z * z + w * w - 1.0) < NORM_TOLERANCE:
            raise ValueError(f'quaternion of {child!r} has not length one')
        self._edges[child] = Edge(parent, values, time, source)
        self._to_root.clear()
        if moved:
            self._roots = None

    def forget(self, *, before: float, source: str = '') -> None:
        """Drop the transforms that came from a source before a time [s]."""
        old = [name for name, edge in self._edges.items()
               if edge.source == source and edge.time < before]
        for name in old:
            del self._edges[name]
        if old:
            self._to_root.clear()
            self._roots = None

    @property
    def frames(self) -> list[str]:
        """Every known frame, in the order in which they came."""
        return list(dict.fromkeys(
            name for child, edge in self._edges.items() for name in (edge.parent, child)))

    @property
    def roots(self) -> list[str]:
        """Frames without a parent, that of the most frames first."""
        if self._roots is None:
            sizes = Counter(self.ancestors(name)[-1] for name in self.frames)
            self._roots = sorted(sizes, key=lambda root: (-sizes[root], root))
        return self._roots.copy()

    def pose(self, frame: str, fixed_frame: str) -> np.ndarray | None:
        """
        Pose of a frame as seen from another.

        Returns
        -------
        (4, 4) float64 or None
            Homogeneous matrix that takes coordinates in `frame` to `fixed_frame` [-, m]; None if
            no chain of transforms connects them.

        """
        frame, fixed_frame = plain_name(frame), plain_name(fixed_frame)
        root, pose = self._root_pose(frame)
        fixed_root, fixed = self._root_pose(fixed_frame)
        if root != fixed_root:
            return None
        if root == fixed_frame:
            return pose.copy()
        return inverse(fixed) @ pose

    def ancestors(self, frame: str) -> list[str]:
        """Return the frame, its parent, and so on to the root."""
        chain = [frame]
        while chain[-1] in self._edges:
            chain.append(self._edges[chain[-1]].parent)
        return chain

    def _root_pose(self, frame: str) -> tuple[str, np.ndarray]:
        """Return the frame's root and its pose there, remembered for all frames on the way."""
        chain = []
        while frame not in self._to_root and frame in self._edges:
            chain.append(frame)
            frame = self._edges[frame].parent
        answer = self._to_root.get(frame) or (frame, np.eye(4))
        for name in reversed(chain):
            answer = answer[0], answer[1] @ matrix(self._edges[name].values)
            self._to_root[name] = answer
        return answer


def plain_name(frame: str) -> str:
    """Name without the leading slash that older sources put there."""
    return frame[1:] if frame.startswith('/') else frame


def matrix(values: Sequence[float]) -> np.ndarray:
    """Homogeneous (4, 4) matrix of a position and a quaternion x, y, z, w of about unit length."""
    px, py, pz, x, y, z, w = values
    s = 2.0 / (x * x + y * y + z * z + w * w)
    return np.array((
        (1.0 - s * (y * y + z * z), s * (x * y - z * w), s * (x * z + y * w), px),
        (s * (x * y + z * w), 1.0 - s * (x * x + z * z), s * (y * z - x * w), py),
        (s * (x * z - y * w), s * (y * z + x * w), 1.0 - s * (x * x + y * y), pz),
        (0.0, 0.0, 0.0, 1.0)))


def inverse(pose: np.ndarray) -> np.ndarray:
    """Inverse of a rigid (4, 4) pose."""
    result = np.eye(4)
    result[:3, :3] = pose[:3, :3].T
    result[:3, 3] = -pose[:3, :3].T @ pose[:3, 3]
    return result
