"""Where markers are on a robot, and where that is in a Backbone message."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from ...checks.errors import InvalidModel, UnknownName
from ...checks.fields import check_number
from ...msg import Backbone
from ...numerics.lie import exp_se3, inverse_se3, log_se3
from ..common.conversions import pose_numbers, rotation, xyz

PARAMETER = 'parameter arc_lengths'
TIP = 'tip'
SHORTEST, LARGEST = 1e-6, 1e6  # between which lengths [m] and quaternions are; places are up to it


class Place(NamedTuple):
    """A point of a robot; without a rod, that of the only one, or the tip if `at_tip`."""

    rod: str
    arc_length: float  # [m]
    at_tip: bool = False


def read_places(text: str) -> list[Place]:
    """Return the places that a text such as "0.06 leg_2:0.1 tip" names, or raise."""
    words = text.split()
    if not words:
        raise InvalidModel(PARAMETER, text, 'one place per marker, with blanks between')
    places = []
    for word in words:
        if word == TIP:
            places.append(Place('', 0.0, True))
            continue
        rod, _, number = word.rpartition(':')
        try:
            places.append(Place(rod, check_number(PARAMETER, float(number), least=0.0, unit='m')))
        except ValueError:
            raise InvalidModel(
                PARAMETER, word, f'arc lengths >= 0 [m], as 0.1 or rod:0.1, or "{TIP}"') from None
    return places


class MarkerPlaces:
    """
    Finds places in the messages of one robot.

    Parameters
    ----------
    places : list of Place
    message : Backbone
        Any of that robot that `check_shape` finds nothing wrong with.

    """

    def __init__(self, places: list[Place], message: Backbone) -> None:
        self.layout = layout(message)
        self.base_frame = message.header.frame_id
        self.arc_lengths = {rod.name: np.array(rod.arc_lengths) for rod in message.rods}
        self.length = max(float(s[-1]) for s in self.arc_lengths.values())
        self.places = [self._resolved(place) for place in places]
        self._found = [self._find(place) for place in self.places]

    def _resolved(self, place: Place) -> Place:
        """Return a place with the name of its rod, or raise if the robot has no such place."""
        if place.at_tip:
            return place
        rods = list(self.arc_lengths)
        if not place.rod and len(rods) > 1:
            raise InvalidModel(PARAMETER, f'{place.arc_length:g}',
                               f'with the name of a rod, as {rods[0]}:{place.arc_length:g}')
        rod = place.rod or rods[0]
        if rod not in self.arc_lengths:
            raise UnknownName(PARAMETER, rod, rods)
        check_number(PARAMETER, place.arc_length, least=0.0, unit='m',
                     most=float(self.arc_lengths[rod][-1]))
        return Place(rod, place.arc_length)

    def _find(self, place: Place) -> tuple[int, int, float]:
        """Return rod, station and part of the way to the next one; minus one for the tip."""
        if place.at_tip:
            return -1, 0, 0.0
        s = self.arc_lengths[place.rod]
        k = int(np.clip(np.searchsorted(s, place.arc_length) - 1, 0, len(s) - 2))
        gap = float(s[k + 1] - s[k])
        part = float(place.arc_length - s[k]) / gap if gap > 0.0 else 0.0
        return list(self.arc_lengths).index(place.rod), k, part

    def poses(self, message: Backbone) -> np.ndarray:
        """Return the poses of all places, (M, 7): position [m] and quaternion x, y, z, w."""
        poses = []
        for rod, k, part in self._found:
            if rod < 0:
                poses.append(_matrix(message.tip))
                continue
            start, end = (_matrix(pose) for pose in message.rods[rod].poses[k:k + 2])
            # Along the screw motion between stations: exact where strain is constant.
            poses.append(start @ exp_se3(part * log_se3(inverse_se3(start) @ end)))
        return pose_numbers(np.array(poses))


def check_shape(message: Backbone) -> None:
    """Raise if a message tells no shape."""
    if not message.rods:
        raise InvalidModel('rods', [], 'at least one')
    for rod in message.rods:
        s = np.array(rod.arc_lengths)
        if len(s) < 2 or not (0.0 <= s[0] and SHORTEST <= s[-1] <= LARGEST
                              and (np.diff(s) >= 0.0).all()):
            raise InvalidModel(
                f'rods.{rod.name}.arc_lengths', s.tolist(),
                f'two or more, never decreasing, from 0 or more to at most {LARGEST:g} [m]')
        if len(rod.poses) != len(s):
            raise InvalidModel(
                f'rods.{rod.name}.poses', len(rod.poses), f'as many as arc_lengths, {len(s)}')
    poses = [message.tip, *(pose for rod in message.rods for pose in rod.poses)]
    numbers = np.array([
        (p.position.x, p.position.y, p.position.z, p.orientation.x, p.orientation.y,
         p.orientation.z, p.orientation.w) for p in poses])
    sizes = np.abs(numbers[:, 3:]).max(axis=1)
    good = (np.abs(numbers) <= LARGEST).all(axis=1) & (sizes >= SHORTEST)
    if not good.all():
        raise InvalidModel('poses', numbers[~good][0].tolist(),
                           f'finite, of a size up to {LARGEST:g}, with rotations')


def layout(message: Backbone) -> tuple:
    """Return what stays the same in the messages of one robot."""
    return message.header.frame_id, *((rod.name, tuple(rod.arc_lengths)) for rod in message.rods)


def _matrix(pose) -> np.ndarray:
    g = np.eye(4)
    g[:3, :3] = rotation('orientation', pose.orientation)
    g[:3, 3] = xyz(pose.position)
    return g
