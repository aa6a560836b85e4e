"""
What makes numba load compiled kernels in a third of the time; without it all works as well.

Before it loads anything, numba makes ready to compile; and it reads the code of a kernel twice: as
it is run, and as other kernels take it in when they are compiled. Here both wait until something
is compiled. All parts reach into numba, see `compiling`.
"""

from __future__ import annotations

from typing import Any

import llvmlite.binding as llvm
from numba.core.codegen import JITCodeLibrary
from numba.core.runtime import rtsys

_OF_LIBRARY = ('_unserialize', '_get_module_for_linking', '_set_compiled_object',
               '_finalize_final_module', 'enable_object_caching', 'get_pointer_to_function')
_OF_CACHE = '_load_overload', '_guard_against_spurious_io_errors'


class Loaded(JITCodeLibrary):
    """The code of a kernel from disk."""

    def __init__(self, codegen: Any, name: str, code: bytes, bitcode: bytes) -> None:
        super().__init__(codegen, name)
        self._code, self._to_be_taken_in = code, bitcode
        self.enable_object_caching()
        self._set_compiled_object(code)
        self._finalize_final_module()

    def _get_module_for_linking(self) -> Any:
        """Return the code for kernels that take it in."""
        if self._shared_module is None:
            self._shared_module = llvm.parse_bitcode(self._to_be_taken_in)
        return self._shared_module

    def get_pointer_to_function(self, name: str) -> int:
        """Return where a function is, 0 if it is not in this code."""
        # numba asks the engine, whose list of names is read from the other form of the code; to
        # ask for the place of what is not there would end the process.
        if name.encode() + b'\0' not in self._code:
            return 0
        return self._codegen._engine.get_function_address(name)


def read_code_once() -> None:
    """Let numba read the code of kernels on disk as it is run, and in no other form."""
    library: Any = JITCodeLibrary
    if not all(hasattr(library, name) for name in _OF_LIBRARY):
        return
    former = library._unserialize

    def unserialize(cls: Any, codegen: Any, state: Any) -> Any:
        name, kind, data = state
        if cls is JITCodeLibrary and kind == 'object':
            return Loaded(codegen, name, *data)
        return former(codegen, state)

    library._unserialize = classmethod(unserialize)


def load_at_once(cache: Any) -> None:
    """Let the cache of a function load without making ready to compile."""
    if not all(hasattr(cache, name) for name in _OF_CACHE):
        return

    def load(signature: Any, context: Any) -> Any:
        rtsys.initialize(context)
        with cache._guard_against_spurious_io_errors():
            return cache._load_overload(signature, context)

    cache.load_overload = load
