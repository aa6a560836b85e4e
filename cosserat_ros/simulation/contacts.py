"""What a robot touches, and where obstacles are, seen from base_link."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from ..numerics.lie import inverse_se3
from .simulator import Simulator


@dataclass(frozen=True)
class Contacts:
    """All n contacts of one instant: the forces are those on the parts."""

    parts: list[str]             # rod or body
    s: np.ndarray                # (n,) arc length [m], or number of the ball of a body
    others: list[str]            # obstacle, or rod
    others_are_rods: np.ndarray  # (n,) bool
    places: np.ndarray           # (n, 3) on the surface of the other [m]
    normals: np.ndarray          # (n, 3) out of the other
    pressures: np.ndarray        # (n, 3) normal forces [N]
    frictions: np.ndarray        # (n, 3) forces across the normals [N]
    gaps: np.ndarray             # (n,) < 0 [m]
    slide: np.ndarray            # (n,) bool
    origins: dict[str, np.ndarray]   # (3,) of the obstacles [m]
    wrenches: dict[str, np.ndarray]  # (6,) on them, about their origins [N, N m]


def contacts_of(sim: Simulator) -> Contacts:
    """Return all that touches at the present instant."""
    solver = sim.solver
    found = solver.contacts()
    if not (found or solver.obstacles):
        return NOTHING
    rows = np.array([[*c.place, *c.normal, *c.force, c.s, c.gap] for c in found]).reshape(-1, 11)
    pairs = solver.work.touch.pairs[:len(found)]
    origins = {name: solver.scene.origin(solver, name) for name in solver.obstacles}
    g = inverse_se3(sim.base.pose())
    R = g[:3, :3].T
    places, normals, forces = rows[:, :3] @ R + g[:3, 3], rows[:, 3:6] @ R, rows[:, 6:9] @ R
    normals /= np.maximum(np.linalg.norm(normals, axis=1, keepdims=True), 1e-300)
    pressures = np.einsum('ni,ni->n', forces, normals)[:, None] * normals
    rods = pairs[:, 1] >= solver.tree.contacts.link.size
    others = [c.obstacle for c in found]
    seen = {name: g[:3, :3] @ origin + g[:3, 3] for name, origin in origins.items()}
    wrenches = {name: np.zeros(6) for name in origins}
    for other, rod, place, force in zip(others, rods, places, forces):
        if not rod:
            wrenches[other][:3] -= force
            wrenches[other][3:] -= np.cross(place - seen[other], force)
    return Contacts(
        [c.part for c in found], rows[:, 9], others, rods, places, normals, pressures,
        forces - pressures, rows[:, 10], np.array([c.sliding for c in found], dtype=bool),
        seen, wrenches)


_NONE, _FALSE, _NOWHERE = np.zeros(0), np.zeros(0, dtype=bool), np.zeros((0, 3))
NOTHING = Contacts([], _NONE, [], _FALSE, _NOWHERE, _NOWHERE, _NOWHERE, _NOWHERE, _NONE, _FALSE,
                   {}, {})


class ObstaclePlaces:
    """Where the obstacles of a simulator are: what does not change is computed once."""

    def __init__(self) -> None:
        self._of: Mapping | None = None
        self._links, self._poses = np.zeros(0, dtype=int), np.zeros((0, 4, 4))

    def at(self, sim: Simulator) -> np.ndarray:
        """Return the poses of all obstacles, in their order, (n, 4, 4)."""
        solver = sim.solver
        if sim.obstacles is not self._of:
            self._of = sim.obstacles
            frames = [solver.scene.frame(*item) for item in solver.obstacles.items()]
            self._links = np.array([frame.link for frame in frames], dtype=int)
            self._poses = np.array([
                frame.pose @ obstacle.pose.matrix() for frame, obstacle in zip(
                    frames, solver.obstacles.values())]).reshape(-1, 4, 4)
        end = solver.refresh().end
        R, g = end.R[self._links], np.zeros(self._poses.shape)
        g[:, :3] = R @ self._poses[:, :3]
        g[:, :3, 3] += end.p[self._links]
        g[:, 3, 3] = 1.0
        return sim.base.seen(g)

    def ride(self, sim: Simulator) -> np.ndarray:
        """Tell which obstacles may move, seen from base_link, (n,) bool."""
        self.at(sim)
        if not sim.base.fixed:
            return np.ones(len(self._links), dtype=bool)
        return ~sim.solver.tree.links.fixed[self._links]
