"""Structures that kernels get by their address: they read what Python has."""

import copy
from typing import NamedTuple

import numpy as np
import pytest

from cosserat_ros.numerics.arena import Arena, arena, empty
from cosserat_ros.numerics.kernels import inner, kernel
from cosserat_ros.numerics.references import reference


class Part(NamedTuple):
    block: np.ndarray  # (a, b, c)
    flag: bool
    number: float


class Whole(NamedTuple):
    count: int
    first: Part
    which: np.ndarray
    second: Part
    held: np.ndarray
    room: Arena


def whole(seed):
    rng = np.random.default_rng(seed)
    return Whole(
        -3, Part(rng.normal(size=(2, 3, 4)), True, -0.25), np.array([2, 0, 1]),
        Part(rng.normal(size=(1, 5, 2)), False, 1e300), np.array([True, False, True]), arena(8))


@inner
def _sum(part, c):
    total = part.number if part.flag else 0.0
    for i in range(part.block.shape[0]):
        for j in range(part.block.shape[1]):
            total += part.block[i, j, c]
    return total


@kernel
def _read(a, out):
    out[0] = _sum(a.first, 3)
    out[1] = _sum(a.second, 1)
    out[2] = a.count
    for i in range(a.which.size):
        if a.held[i]:
            out[3] += a.which[i] * a.second.number
    taken = empty(a.room, (3,))
    for i in range(3):
        taken[i] = i + 1.0
    out[4] = a.room.used[0]


def test_fields_of_all_kinds_are_read():
    for seed in range(3):
        a, out = whole(seed), np.zeros(5)
        _read(reference(a), out)
        assert out == pytest.approx([
            a.first.block[:, :, 3].sum() - 0.25, a.second.block[:, :, 1].sum(), -3, 3e300, 3])
        assert a.room.data[:3].tolist() == [1.0, 2.0, 3.0]


def test_what_python_writes_is_seen():
    a, out = reference(whole(0)), np.zeros(5)
    a.first.block[...] = 1.0
    _read(a, out)
    assert out[0] == 6.0 - 0.25


def test_it_is_the_tuple_in_python():
    given = whole(0)
    a = reference(given)
    assert a.first is given.first and a._replace(count=4).count == 4
    assert reference(a) is a


def test_a_strided_array_is_refused():
    part = whole(0).first
    with pytest.raises(TypeError, match='dense'):
        reference(part._replace(block=part.block[:, :, ::2]))


def test_what_kernels_cannot_have_is_refused():
    part = whole(0).first
    with pytest.raises(TypeError, match='no field'):
        reference(part._replace(number='much'))
    with pytest.raises(TypeError, match='cannot be copied'):
        copy.deepcopy(reference(part))
