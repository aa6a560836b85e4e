"""
The compiler of the numerics: ``@kernel`` is numba's ``njit`` with this library's settings.

Compiled code is cached on disk. numba's own cache looks only at the file of the function it
loads, so that an edit of a callee in another file would go unseen; here the cache key is the
source of every module that has kernels, and of this one.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
import hashlib
from pathlib import Path
from typing import Any, TypeVar

import numba
import numba.extending

F = TypeVar('F', bound=Callable)
# Of modules that have kernels, structures that kernels get, or parts of the compiler.
MARKS = (b'\n@kernel', b'\n@inner', b'\n@merged', b'\n@remote', b'(NamedTuple)', b'intrinsic',
         b'CompilerBase')
DISABLED = bool(getattr(numba.config, 'DISABLE_JIT', False))  # numba makes its fields as it runs

try:
    from .compiling import compare_options_quickly, Inner
except (ImportError, AttributeError):  # of a numba that is other inside: slower, that is all
    INNER: dict[str, Any] = {}
else:
    compare_options_quickly()
    INNER = {'pipeline_class': Inner}


@cache
def _library_stamp() -> bytes:
    """Digest of the sources of all modules whose changes change compiled code."""
    digest = hashlib.sha256()
    for path in sorted(filter(Path.is_file, Path(__file__).parent.parent.rglob('*.py'))):
        source = path.read_bytes()
        if path == Path(__file__) or any(mark in source for mark in MARKS):
            digest.update(source)
    return digest.digest()


def kernel(function: F) -> F:
    """
    Compile `function` on first call, without Python objects, and cache the result on disk.

    Division by zero gives inf or NaN as in numpy, not an exception, so that the hot loops have no
    error branches; callers check what they return. Other threads of Python run meanwhile.
    """
    return _cached(numba.njit(error_model='numpy', nogil=True)(function))


def _cached(function: Any) -> Any:
    if DISABLED:
        return function
    try:
        function.enable_caching()
    except RuntimeError:  # no folder to cache in can be written (a robot's read-only disk)
        return function
    # numba has no public way to add to its cache key; test_kernels.py holds this one.
    file = function._cache._cache_file
    file._source_stamp, load = _library_stamp(), file._load_index

    def load_if_known():
        try:
            return load()
        except (AttributeError, ImportError):  # of a version whose types had other names
            return {}

    file._load_index = load_if_known
    return function


def inner(function: F) -> F:
    """Compile `function` for calls from kernels only: without the way in from Python."""
    njit: Any = numba.njit  # whose type hints lack these options
    return njit(error_model='numpy', no_cpython_wrapper=True, no_cfunc_wrapper=True,
                **INNER)(function)


def merged(function: F) -> F:
    """Like `inner`, and made a part of its callers: for what has few, and many arguments."""
    njit: Any = numba.njit
    return njit(error_model='numpy', no_cpython_wrapper=True, no_cfunc_wrapper=True,
                forceinline=True, **INNER)(function)


def remote(function: F) -> F:
    """
    Compile `function` once, to be called from kernels by its address: see `call`.

    numba takes the code of all that a kernel calls into it, and optimises it anew in each. For
    what is large this would be most of the time that compiling takes.
    """
    njit: Any = numba.njit
    return _cached(njit(
        error_model='numpy', no_cpython_wrapper=True, no_cfunc_wrapper=True)(function))


class Direct:
    """
    A kernel that looks at the types of its arguments in the first call only.

    For nested tuples of arrays that takes numba longer than the call itself. Whoever owns one has
    to see that they stay the same, layouts of arrays too.
    """

    def __init__(self, function: Any) -> None:
        self._function = function
        self._entry: Callable | None = function if DISABLED else None

    def __call__(self, *arguments: Any) -> Any:
        """Call the kernel."""
        if self._entry is None:
            self._entry = compiled(self._function, *arguments).entry_point
        return self._entry(*arguments)


def address(function: Any, *arguments: Any) -> int:
    """Return where the code of a `remote` function is, for arguments of these types."""
    if DISABLED:
        return 0
    result = compiled(function, *arguments)
    return result.library.get_pointer_to_function(result.fndesc.llvm_func_name)


def compiled(function: Any, *arguments: Any) -> Any:
    """Return what numba has compiled of a function for arguments of these types, or does now."""
    types = tuple(numba.typeof(argument) for argument in arguments)
    function.compile(types)
    return function.overloads[types]


def _call(typing_context, function, address, arguments):
    """In a kernel: call a `remote` function at its `address` with a tuple of arguments."""
    function.dispatcher.compile(tuple(arguments))
    result = function.dispatcher.overloads[tuple(arguments)].signature.return_type
    return _calling(result, function, address, arguments)


def _run(typing_context, function, address, arguments):
    """In a kernel: like `call`, of what returns nothing, which need not be compiled for that."""
    return _calling(numba.types.none, function, address, arguments)


def _calling(result, function, address, arguments):
    """Return the type of a call by address, and what generates it."""
    types = tuple(arguments)

    def generate(context, builder, signature, values):
        convention = context.call_conv
        kind = convention.get_function_type(result, types)
        pointer = builder.inttoptr(values[1], kind.as_pointer())
        status, value = convention.call_function(
            builder, pointer, result, types,
            [builder.extract_value(values[2], i) for i in range(len(types))])
        with builder.if_then(status.is_error, likely=False):
            convention.return_status_propagate(builder, status)
        return value

    return result(function, address, arguments), generate


def _call_directly(function, address, arguments):
    return function(*arguments)


call: Any = _call_directly if DISABLED else numba.extending.intrinsic(_call)
run: Any = _call_directly if DISABLED else numba.extending.intrinsic(_run)
