"""
Structures of many arrays that kernels get by their address.

numba takes a tuple apart wherever it is handed on: for hundreds of arrays, each with its shape and
strides, that is most of the time of a call, and of compiling it. A `reference` is one address. In
kernels its fields are read where they are needed, a field that is a tuple as a reference again;
arrays are not counted, so that a kernel must not return them.
"""

from __future__ import annotations

from functools import cache
import hashlib
from typing import Any, TypeVar

from llvmlite import ir
import numba
from numba import types
from numba.extending import (
    intrinsic,
    lower_getattr_generic,
    NativeValue,
    register_model,
    typeof_impl,
    unbox,
)
import numpy as np

from .kernels import DISABLED
from .numba_parts import (
    AttributeTemplate,
    cgutils,
    infer_getattr,
    make_array,
    models,
    populate_array,
)

T = TypeVar('T', bound=tuple)
WORD = 8  # bytes; of a field that is no tuple and no array


class _Reference:
    """A named tuple, and where its fields are: see `reference`."""

    def __init__(self, value: Any) -> None:
        self._value = value
        self._type = _type_to(numba.typeof(value))
        self._words = np.array(_words(value), dtype=np.int64)  # kept alive, as the arrays are
        self.address = self._words.ctypes.data

    def __getattr__(self, name: str) -> Any:
        """Return a field, or a method of the tuple."""
        return getattr(self._value, name)

    def __reduce__(self) -> Any:
        """Refuse copies, whose address would be that of the original."""
        raise TypeError('a reference cannot be copied; copy the tuple')


def reference(value: T) -> T:
    """
    Return a named tuple so that kernels get its address alone; for all else it is the tuple.

    Its fields are arrays (dense), numbers, and named tuples of these. What is in the arrays may
    change, the fields may not.
    """
    if DISABLED or isinstance(value, _Reference):
        return value
    made: Any = _Reference(value)
    return made


def _words(value: Any) -> list[int]:
    """Return what is at the address of a field: an array by its address and shape."""
    if isinstance(value, tuple):
        return [word for field in value for word in _words(field)]
    if isinstance(value, np.ndarray):
        if not value.flags.c_contiguous:
            raise TypeError('only dense arrays may be referred to')
        return [value.ctypes.data, *value.shape]
    if isinstance(value, float):
        return [int(np.array(value, dtype=float).view(np.int64))]
    if not isinstance(value, int | np.integer | np.bool_):
        raise TypeError(f'{value!r} is no field for kernels: an array, a number or a tuple')
    return [int(value)]


def type_of(value: Any) -> Any:
    """Return the type of what a reference refers to, for kernels."""
    return None if DISABLED else value._type


# --- In kernels ----------------------------------------------------------------------------------

class ReferenceType(types.Type):
    """Of a reference to a named tuple of this type."""

    def __init__(self, fields: Any) -> None:
        self.fields = fields
        name = fields.instance_class.__name__
        # Names of compiled functions have those of the types of their arguments: keep it short.
        digest = hashlib.sha256(_described(fields).encode()).hexdigest()[:12]
        super().__init__(f'Reference({name}, {digest})')


def _described(kind: Any) -> str:
    """Return a type with the names of all fields in it."""
    if not isinstance(kind, types.BaseTuple):
        return str(kind)
    parts: Any = kind
    inside = ', '.join(
        f'{name}: {_described(part)}' for name, part in zip(parts.fields, parts, strict=True))
    return f'{parts.instance_class.__module__}.{parts.instance_class.__qualname__}({inside})'


@cache
def _type_to(fields: Any) -> ReferenceType:
    return ReferenceType(fields)


@typeof_impl.register(_Reference)
def _type_of(value, context):
    return value._type


@register_model(ReferenceType)
class _Model(models.PrimitiveModel):
    def __init__(self, manager, kind):
        super().__init__(manager, kind, ir.IntType(8).as_pointer())


@unbox(ReferenceType)
def _unbox(kind, value, c):
    given = c.pyapi.object_getattr_string(value, 'address')
    place = c.pyapi.long_as_longlong(given)
    c.pyapi.decref(given)
    return NativeValue(
        c.builder.inttoptr(place, c.context.get_value_type(kind)),
        is_error=cgutils.is_not_null(c.builder, c.pyapi.err_occurred()))


_Attributes: Any = AttributeTemplate


@infer_getattr
class _Fields(_Attributes):
    key = ReferenceType

    def generic_resolve(self, kind: Any, name: str) -> Any:
        """Return the type of a field."""
        if name not in kind.fields.fields:
            return None
        field = kind.fields[kind.fields.fields.index(name)]
        return _type_to(field) if isinstance(field, types.BaseTuple) else field


@lower_getattr_generic(ReferenceType)
def _read(context, builder, kind, value, name):
    return read_field(context, builder, kind, value, name)


def read_field(context: Any, builder: Any, kind: Any, value: Any, name: str) -> Any:
    """Generate the reading of a field of a reference."""
    place = kind.fields.fields.index(name)
    first = sum(_size(field) for field in kind.fields.types[:place])
    return _at(context, builder, kind.fields[place], _beyond(builder, value, first))


def _size(kind: Any) -> int:
    """Return how many words a field has."""
    if isinstance(kind, types.BaseTuple):
        parts: Any = kind
        return sum(_size(part) for part in parts)
    return 1 + kind.ndim if isinstance(kind, types.Array) else 1


def _beyond(builder: Any, place: Any, words: int) -> Any:
    return builder.gep(place, [ir.Constant(ir.IntType(64), WORD * words)], inbounds=True)


def _at(context: Any, builder: Any, kind: Any, place: Any) -> Any:
    """Generate the field of this type at some place."""
    if isinstance(kind, types.BaseTuple):
        return place
    if not isinstance(kind, types.Array):
        if isinstance(kind, types.Boolean):
            return builder.trunc(_load(builder, place, ir.IntType(64)), ir.IntType(1))
        return _load(builder, place, context.get_value_type(kind))
    item = context.get_data_type(kind.dtype)
    data = _load(builder, place, item.as_pointer())
    shape = [_load(builder, _beyond(builder, place, 1 + i), ir.IntType(64))
             for i in range(kind.ndim)]
    width = context.get_constant(types.intp, context.get_abi_sizeof(item))
    strides: list[Any] = []
    stride = width
    for n in reversed(shape):
        strides.insert(0, stride)
        stride = builder.mul(stride, n)
    array = make_array(kind)(context, builder)
    populate_array(array, data=data, shape=shape, strides=strides, itemsize=width, meminfo=None)
    return array._getvalue()


def _load(builder: Any, place: Any, kind: Any) -> Any:
    """Generate a load of what never changes, so that it need not be loaded again."""
    loaded = builder.load(builder.bitcast(place, kind.as_pointer()))
    loaded.set_metadata('invariant.load', builder.module.add_metadata([]))
    return loaded


def _referred(typing_context, value):
    """
    In a kernel: return a reference to a named tuple that was made there.

    For calls by address alone. It lasts until the same line runs again.
    """
    if not isinstance(value, types.BaseTuple):
        return None

    def generate(context, builder, signature, values):
        words = cgutils.alloca_once(builder, ir.IntType(64), size=_size(value))
        place = builder.bitcast(words, ir.IntType(8).as_pointer())
        _store(context, builder, value, values[0], place)
        return place

    return _type_to(value)(value), generate


def _store(context: Any, builder: Any, kind: Any, value: Any, place: Any) -> None:
    """Generate what `_words` does."""
    if isinstance(kind, types.BaseTuple):
        parts: Any = kind
        for i, part in enumerate(parts):
            _store(context, builder, part, builder.extract_value(value, i), place)
            place = _beyond(builder, place, _size(part))
        return
    words = [value]
    if isinstance(kind, types.Array):
        if kind.layout != 'C':
            raise numba.TypingError('only dense arrays may be referred to')
        array = make_array(kind)(context, builder, value)
        words = [array.data, *cgutils.unpack_tuple(builder, array.shape)]
    elif isinstance(kind, types.Boolean):
        words = [builder.zext(value, ir.IntType(64))]
    for i, word in enumerate(words):
        builder.store(word, builder.bitcast(
            _beyond(builder, place, i), word.type.as_pointer()))


def _as_it_is(value):
    return value


referred: Any = _as_it_is if DISABLED else intrinsic(_referred)
