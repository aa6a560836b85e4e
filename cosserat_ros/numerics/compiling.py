"""
What makes numba compile this library in half the time; without it all works as well.

Both parts reach into numba, whose versions differ: where one does not find what it needs, it does
nothing.
"""

from __future__ import annotations

from importlib import import_module
from typing import Any

from numba.core.codegen import CPUCodeLibrary
from numba.core.compiler import CompilerBase, DefaultPassBuilder
from numba.core.compiler_machinery import AnalysisPass, register_pass
from numba.core.targetconfig import TargetConfig
from numba.core.typed_passes import IRLegalization, NativeLowering

_dynfunc: Any = import_module('numba._dynfunc')
_STAGES = '_optimize_final_module', '_finalize_final_module'  # of a library of numba's


def compare_options_quickly() -> None:
    """
    Let numba compare the options of two functions by those that are set.

    It does so for every call that it finds the types of, and asks for each of 45 options.
    """
    if '_values' not in getattr(TargetConfig, '__slots__', ()):
        return

    def same(one: Any, other: Any) -> bool:
        return isinstance(other, TargetConfig) and one._values == other._values

    def count(one: Any) -> int:
        return len(one._values)

    patched: Any = TargetConfig
    patched.__eq__, patched.__hash__ = same, count


class Inner(CompilerBase):
    """
    Of functions that only kernels call: their code is neither optimised alone nor made.

    numba takes the code of all that a kernel calls into it, and optimises it there.
    """

    def define_pipelines(self) -> list[Any]:
        """Return the usual passes, but for the last."""
        passes = DefaultPassBuilder.define_nopython_pipeline(self.state)
        if all(hasattr(CPUCodeLibrary, name) for name in _STAGES):
            passes.add_pass_after(_ToBeLinked, IRLegalization)
            passes.add_pass_after(_Known, NativeLowering)
            passes.finalize()
        return [passes]


@register_pass(mutates_CFG=False, analysis_only=True)
class _ToBeLinked(AnalysisPass):
    _name = 'to_be_linked'

    def __init__(self) -> None:
        AnalysisPass.__init__(self)

    def run_pass(self, state: Any) -> bool:
        """Let the code be taken into others as it is, and not be made for calls."""
        library = state.targetctx.codegen().create_library(state.func_id.func_qualname)
        library._optimize_final_module = _nothing
        library._finalize_final_module = lambda: setattr(library, '_finalized', True)
        state.library, state.flags.no_compile = library, True
        return False


@register_pass(mutates_CFG=False, analysis_only=True)
class _Known(AnalysisPass):
    _name = 'known'

    def __init__(self) -> None:
        AnalysisPass.__init__(self)

    def run_pass(self, state: Any) -> bool:
        """Tell numba where the code is, as it does of what can be called."""
        done, library = state['cr'], state.library
        known_by = _dynfunc.make_function(
            done.fndesc.lookup_module(), done.fndesc.qualname, '', 0, done.env, (library,))
        state.targetctx.insert_user_function(known_by, done.fndesc, [library])
        if hasattr(library, '_reload_init'):  # from numba 0.59 on
            state.reload_init.extend(library._reload_init)
        state['cr'] = done._replace(cfunc=known_by)
        return False


def _nothing() -> None:
    pass
