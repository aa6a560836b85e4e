"""
Room for the arrays that kernels make: an `Arena`, or the frame of the kernel itself.

numba takes each array from the heap, and counts in it who uses it; for a small rod that takes as
long as the arithmetic. Arrays of this module are neither taken nor counted. What is in an arena
lasts until the arena is used anew from there on; what is `vector` or `matrix` lasts as long as the
function that made it, which must not return it. Kernels that have no others are `unowned`.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple, TypeVar

from numba import types
from numba.extending import intrinsic, lower_builtin, overload, type_callable
import numpy as np

from .kernels import DISABLED
from .numba_parts import cgutils, make_array, populate_array
from .references import read_field, ReferenceType

try:
    from numba.core.options import DefaultOptions
except ImportError:
    COUNTING_IS_OPTIONAL = False
else:
    COUNTING_IS_OPTIONAL = hasattr(DefaultOptions, '_nrt')  # private: slower without it

F = TypeVar('F', bound=Callable)


class Arena(NamedTuple):
    """Memory for arrays, one after another."""

    data: np.ndarray  # (size,) float64
    used: np.ndarray  # (1,) int64, how much of it: set it back to use what is beyond anew


def unowned(function: F) -> F:
    """
    Let a kernel, and all that it calls, not count who uses its arrays.

    numba counts wherever a part of an array gets a name, by a call each. The kernel must not take
    arrays from the heap; it cannot be compiled then.
    """
    if not DISABLED and COUNTING_IS_OPTIONAL:
        options: Any = function
        options.targetoptions['_nrt'] = False
    return function


def arena(size: int) -> Arena:
    """Return an empty arena for so many numbers."""
    return Arena(np.empty(size), np.zeros(1, dtype=np.int64))


def empty(room: Arena | None, shape: tuple[int, ...]) -> np.ndarray:
    """In a kernel: return an array in an arena, whatever is in it; without one, from the heap."""
    if room is None:
        return np.empty(shape)
    first = int(room.used[0])
    room.used[0] += int(np.prod(shape))
    return view(room.data, first, shape)


def zeros(room: Arena | None, shape: tuple[int, ...]) -> np.ndarray:
    """Like `empty`, but all zero."""
    array = empty(room, shape)
    array[...] = 0.0
    return array


def _array(context: Any, builder: Any, kind: Any, data: Any, shape: list[Any]) -> Any:
    """Return an array of numba's at some place, dense, and not counted."""
    result = make_array(kind)(context, builder)
    strides: list[Any] = []
    stride = context.get_constant(types.intp, 8)
    for n in reversed(shape):
        strides.insert(0, stride)
        stride = builder.mul(stride, n)
    populate_array(result, data=data, shape=shape, strides=strides,
                   itemsize=context.get_constant(types.intp, 8), meminfo=None)
    return result._getvalue()


def _generate_view(typing_context, data, first, shape):
    """In a kernel: return the array of this shape that begins at data[first]; not counted."""
    result = types.Array(data.dtype, len(shape), 'C')

    def generate(context, builder, signature, values):
        whole = make_array(signature.args[0])(context, builder, values[0])
        return _array(context, builder, result, builder.gep(whole.data, [values[1]]),
                      cgutils.unpack_tuple(builder, values[2]))

    return result(data, types.intp, shape), generate


def _view_of(data: np.ndarray, first: int, shape: tuple[int, ...]) -> np.ndarray:
    return data.reshape(-1)[first:first + int(np.prod(shape))].reshape(shape)


view: Any = _view_of if DISABLED else intrinsic(_generate_view)


def _in_frame(context: Any, builder: Any, kind: Any, sizes: list[int]) -> Any:
    number = context.get_data_type(types.float64)
    data = cgutils.alloca_once(builder, number, size=int(np.prod(sizes)))
    return _array(context, builder, kind, data,
                  [context.get_constant(types.intp, n) for n in sizes])


@intrinsic(prefer_literal=True)
def _vector(typing_context, n):
    """In a kernel: return an array (n,) in its frame, whatever is in it; n must be a literal."""
    if not isinstance(n, types.IntegerLiteral):
        return None
    result = types.Array(types.float64, 1, 'C')

    def generate(context, builder, signature, values):
        return _in_frame(context, builder, result, [n.literal_value])

    return result(n), generate


@intrinsic(prefer_literal=True)
def _matrix(typing_context, n, m):
    """In a kernel: return an array (n, m) in its frame; n and m must be literals."""
    if not (isinstance(n, types.IntegerLiteral) and isinstance(m, types.IntegerLiteral)):
        return None
    result = types.Array(types.float64, 2, 'C')

    def generate(context, builder, signature, values):
        return _in_frame(context, builder, result, [n.literal_value, m.literal_value])

    return result(n, m), generate


def _is_none(room: Any) -> bool:
    return isinstance(room, types.NoneType | types.Omitted)


@overload(empty)
def _empty(room, shape):
    return (lambda room, shape: np.empty(shape)) if _is_none(room) else None


@overload(zeros)
def _zeros(room, shape):
    return (lambda room, shape: np.zeros(shape)) if _is_none(room) else None


# From an arena, in place of the call: numba lets no function that is `unowned` return an array.

@type_callable(empty)
@type_callable(zeros)
def _type_of_taken(context):
    def typed(room, shape):
        if isinstance(room, types.NamedTuple | ReferenceType):
            return types.Array(types.float64, len(shape), 'C')
        return None

    return typed


@lower_builtin(empty, types.NamedTuple, types.BaseTuple)
@lower_builtin(empty, ReferenceType, types.BaseTuple)
def _take(context, builder, signature, values):
    return _taken(context, builder, signature, values)[0]


@lower_builtin(zeros, types.NamedTuple, types.BaseTuple)
@lower_builtin(zeros, ReferenceType, types.BaseTuple)
def _take_zeros(context, builder, signature, values):
    result, data, size = _taken(context, builder, signature, values)
    cgutils.memset(builder, data, builder.mul(size, context.get_constant(types.intp, 8)), 0)
    return result


def _taken(context: Any, builder: Any, signature: Any, values: Any) -> tuple[Any, Any, Any]:
    """Return the next array of an arena, with where it begins and how many numbers it has."""
    room_type, room = signature.args[0], values[0]
    fields: Any = room_type.fields if isinstance(room_type, ReferenceType) else room_type
    data, used = (
        make_array(kind)(context, builder, (
            builder.extract_value(room, i) if fields is room_type else
            read_field(context, builder, room_type, room, name)))
        for i, (name, kind) in enumerate(zip(fields.fields, fields.types)))
    shape = cgutils.unpack_tuple(builder, values[1])
    size = context.get_constant(types.intp, 1)
    for n in shape:
        size = builder.mul(size, n)
    first = builder.load(used.data)
    beyond = builder.add(first, size)
    most = builder.extract_value(data.shape, 0)
    with builder.if_then(builder.icmp_signed('>', beyond, most), likely=False):
        context.call_conv.return_user_exc(builder, MemoryError, ('arena too small',))
    builder.store(beyond, used.data)
    begin = builder.gep(data.data, [first])
    return _array(context, builder, signature.return_type, begin, shape), begin, size


def _fresh(*shape):
    return np.empty(shape)


vector: Any = _fresh if DISABLED else _vector
matrix: Any = _fresh if DISABLED else _matrix
