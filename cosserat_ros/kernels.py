"""
The compiler of the numerics: ``@kernel`` is numba's ``njit`` with this library's settings.

Compiled code is cached on disk. numba's own cache looks only at the file of the function it
loads, so that an edit of a callee in another file would go unseen; here the cache key is the
source of every module that has kernels.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
import hashlib
from pathlib import Path
from typing import Any, TypeVar

import numba

F = TypeVar('F', bound=Callable)


@cache
def _library_stamp() -> bytes:
    """Digest of the sources of all modules with kernels."""
    digest = hashlib.sha256()
    for path in sorted(filter(Path.is_file, Path(__file__).parent.rglob('*.py'))):
        source = path.read_bytes()
        if b'kernels import' in source:
            digest.update(source)
    return digest.digest()


def kernel(function: F) -> F:
    """
    Compile `function` on first call, without Python objects, and cache the result on disk.

    Division by zero gives inf or NaN as in numpy, not an exception, so that the hot loops have no
    error branches; callers check what they return. Other threads of Python run meanwhile.
    """
    compiled: Any = numba.njit(error_model='numpy', nogil=True)(function)
    if compiled is function:  # NUMBA_DISABLE_JIT is set
        return compiled
    try:
        compiled.enable_caching()
    except RuntimeError:  # no folder to cache in can be written (a robot's read-only disk)
        return compiled
    # numba has no public way to add to its cache key; test_kernels.py holds this one.
    compiled._cache._cache_file._source_stamp = _library_stamp()
    return compiled


def inner(function: F) -> F:
    """Compile `function` for calls from kernels only: without the way in from Python."""
    njit: Any = numba.njit  # whose type hints lack these options
    return njit(error_model='numpy', no_cpython_wrapper=True, no_cfunc_wrapper=True)(function)


def part(function: F) -> F:
    """
    Make `function` a part of the kernels that call it, compiled there and not on its own.

    numba compiles every function by itself and then again within each caller: this saves one
    round for a thin layer.
    """
    compiled: Any = numba.njit(error_model='numpy', inline='always')(function)
    return compiled
