"""
Contacts as a message and as arrows.

Messages of the same contacts differ in their numbers alone, which are written in place, see
`Wire`. Those of the last few sets of contacts are kept.
"""

from __future__ import annotations

from functools import lru_cache

from geometry_msgs.msg import Point
import numpy as np
from visualization_msgs.msg import Marker, MarkerArray

from ...msg import Contact, Contacts as ContactsMessage, ContactWrench
from ...simulation.contacts import Contacts
from .markers import LONGEST, marker
from .wire import Wire

CONTACT_COLOUR = (0.90, 0.10, 0.55, 1.0)
KEPT = 32          # messages of different contacts
MOST_ARROWS = 100  # of the greatest forces, that are drawn
NAMESPACE = 'contacts'
Layout = tuple[tuple[str, str, bool, bool], ...]


class ContactMessages:
    """
    The message of all contacts of an instant.

    Parameters
    ----------
    frame_id : str
        Name of the robot's base_link.

    """

    def __init__(self, frame_id: str) -> None:
        self._frame_id = frame_id
        self._wire = lru_cache(KEPT)(self._make)

    def _make(self, layout: Layout, obstacles: tuple[str, ...]) -> Wire:
        message = ContactsMessage(
            contacts=[Contact(part=part, other=other, other_is_rod=rod, sliding=slides)
                      for part, other, rod, slides in layout],
            wrenches=[ContactWrench(obstacle=name) for name in obstacles])
        message.header.frame_id = self._frame_id
        return Wire(message)

    def message(self, contacts: Contacts, sec: int, nanosec: int) -> bytes | None:
        """Return all contacts, serialised; None if something is not finite."""
        a = contacts
        layout = tuple(zip(a.parts, a.others, a.others_are_rods.tolist(), a.slide.tolist()))
        numbers = np.concatenate([
            np.column_stack([a.s, a.places, a.normals, a.pressures, a.frictions, a.gaps]).ravel(),
            *(part for name in a.origins for part in (a.origins[name], a.wrenches[name]))])
        if not np.isfinite(numbers).all():
            return None
        wire = self._wire(layout, tuple(a.origins))
        wire.put(0, numbers)
        wire.put_stamp(sec, nanosec)
        return wire.data()


class ContactMarkers:
    """
    The forces of contacts on the robot as arrows, in ``contacts``.

    Parameters
    ----------
    frame_id : str
        Name of the robot's base_link.
    length : float
        Of the robot [m].

    """

    def __init__(self, frame_id: str, length: float) -> None:
        self._frame_id, self._length, self._shown = frame_id, length, 0
        self._wire = lru_cache(KEPT)(self._make)

    def _make(self, count: int, gone: int) -> Wire:
        size = 0.015 * self._length, 0.03 * self._length, 0.0
        markers = []
        for number in range(count):
            arrow = marker(
                self._frame_id, NAMESPACE, number, Marker.ARROW, CONTACT_COLOUR, size)
            arrow.points = [Point(), Point()]
            markers.append(arrow)
        for number in range(count, count + gone):
            markers.append(Marker(ns=NAMESPACE, id=number, action=Marker.DELETE))
        return Wire(MarkerArray(markers=markers))

    def message(
        self, contacts: Contacts, scale: float, sec: int, nanosec: int,
    ) -> bytes | None:
        """
        Return an arrow per contact, and what takes earlier ones away; None for nothing.

        Parameters
        ----------
        contacts : Contacts
        scale : float
            Length of an arrow per force [m/N]; 0: the longest has `LONGEST` times the robot's.
        sec, nanosec : int
            Stamp.

        """
        if not (contacts.parts or self._shown):
            return None
        forces = contacts.pressures + contacts.frictions
        sizes = np.linalg.norm(forces, axis=1)
        drawn = np.argsort(-sizes)[:MOST_ARROWS]
        drawn = np.sort(drawn[sizes[drawn] > 0.0])
        count, before = len(drawn), self._shown
        if not (count or before) or not np.isfinite(forces).all():
            return None
        self._shown = count
        wire = self._wire(count, max(before - count, 0))
        if count:
            tails = contacts.places[drawn]
            length = scale or LONGEST * self._length / sizes.max()
            ends = np.stack([tails, tails + length * forces[drawn]], axis=1)
            at = self._numbers_of_points(count)
            wire.put_at(at, ends.reshape(count, 6))
        wire.put_stamp(sec, nanosec)
        return wire.data()

    @staticmethod
    def _numbers_of_points(count: int) -> np.ndarray:
        """Return where the points of arrows are among the numbers of the message, (n, 6)."""
        return 16 * np.arange(count)[:, None] + 10 + np.arange(6)
