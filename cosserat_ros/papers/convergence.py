"""What systems of the papers ask of each solution on the way to their result."""

from __future__ import annotations

from ..assembly.solver import Solution
from ..checks.errors import NotConverged


def require(solution: Solution) -> None:
    """Raise `NotConverged` with the solver's message unless it has converged."""
    if not solution.converged:
        raise NotConverged(solution.message)
