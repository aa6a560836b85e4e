"""
The compiler of the numerics: ``@kernel`` is numba's ``njit`` with this library's settings.

Compiled code is cached on disk. numba's own cache looks only at the file of the function it
loads, so that an edit of a callee in another file would go unseen; here the cache key is the
source of all modules that the kernel's module imports, directly or not, of what extends numba, and
of all named tuples: kernels get these also from modules that theirs does not import.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
import hashlib
from pathlib import Path
import re
from typing import Any, TypeVar

import numba
import numba.extending

F = TypeVar('F', bound=Callable)
ROOT = Path(__file__).resolve().parent.parent
IMPORTS = re.compile(rb'^[ \t]*from[ \t]+(\.*)([\w.]*)[ \t]+import[ \t]+(\([^)]*\)|[^\n]*)', re.M)
NAMED_TUPLES = re.compile(rb'^class \w+\(NamedTuple\):\n(?:[ \t][^\n]*\n|\n)*', re.M)
DISABLED = bool(getattr(numba.config, 'DISABLE_JIT', False))  # numba makes its fields as it runs

try:
    from .compiling import compare_options_quickly, Inner
except (ImportError, AttributeError):  # of a numba that is other inside: slower, that is all
    INNER: dict[str, Any] = {}
else:
    compare_options_quickly()
    INNER = {'pipeline_class': Inner}

try:
    from .loading import load_at_once, read_code_once
except ImportError:
    def load_at_once(cache: Any) -> None:
        """Leave the cache of a function as it is."""
else:
    read_code_once()

try:
    from .first_use import announce
except ImportError:  # of a numba that tells nobody when it compiles
    pass
else:
    announce()


@cache
def _stamp(path: Path) -> bytes:
    """Return the digest of all sources whose changes change code of kernels in this file."""
    digest = hashlib.sha256(_shared())
    for module in sorted(_needed(path)):
        digest.update(_digest(module))
    return digest.digest()


@cache
def _digest(path: Path) -> bytes:
    return hashlib.sha256(path.read_bytes()).digest()


def _needed(path: Path) -> set[Path]:
    """Return this module of the library, and all that it imports, directly or not."""
    needed: set[Path] = set()
    unseen = [path]
    while unseen:
        module = unseen.pop()
        if module not in needed:
            needed.add(module)
            unseen += _imported(module)
    return needed


@cache
def _imported(path: Path) -> tuple[Path, ...]:
    """Return the modules of the library that a module imports."""
    found = []
    for dots, name, names in IMPORTS.findall(path.read_bytes()):
        origin = path.parents[len(dots) - 1] if dots else ROOT
        module = origin.joinpath(*filter(None, name.decode().split('.')))
        parts = re.findall(r'\w+', names.decode())
        found += [module.with_suffix('.py'), *(module / f'{part}.py' for part in parts)]
    return tuple(each for each in found if each.is_file())


@cache
def _shared() -> bytes:
    """Return the digest of what extends numba, and of all named tuples of the library."""
    digest = hashlib.sha256()
    for path in sorted(filter(Path.is_file, ROOT.rglob('*.py'))):
        source = path.read_bytes()
        for part in [source] if b'numba.' in source else NAMED_TUPLES.findall(source):
            digest.update(part)
    return digest.digest()


def kernel(function: F) -> F:
    """
    Compile `function` on first call, without Python objects, and cache the result on disk.

    Division by zero gives inf or NaN as in numpy, not an exception, so that the hot loops have no
    error branches; callers check what they return. Other threads of Python run meanwhile.
    """
    return _cached(function, nogil=True)


def _cached(function: Any, **options: bool) -> Any:
    """Return a compiled function with a cache on disk, or without one where that cannot be."""
    def make() -> Any:
        njit: Any = numba.njit  # whose type hints lack some of these options
        return njit(error_model='numpy', **options)(function)

    made = make()
    if DISABLED:
        return made
    try:
        made.enable_caching()
        # numba has no public way to add to its cache key; test_kernels.py holds this one.
        file = made._cache._cache_file
        load, _ = file._load_index, file._source_stamp
    except (AttributeError, RuntimeError):
        # A numba that is other inside, whose key would not see edits of callees; or no folder that
        # can be written (a robot's read-only disk).
        return make()
    file._source_stamp = _stamp(Path(function.__code__.co_filename).resolve())

    def load_if_known():
        try:
            return load()
        except (AttributeError, ImportError):  # of a version whose types had other names
            return {}

    file._load_index = load_if_known
    load_at_once(made._cache)
    return made


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
    return _cached(function, no_cpython_wrapper=True, no_cfunc_wrapper=True)


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
