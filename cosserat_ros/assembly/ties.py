r"""
Contact between moving parts in the tangent: an update of low rank of what the tree has.

With U the generalised forces of all channels (see :mod:`cosserat_ros.assembly.channels`) and V the
change of their forces with the unknowns, the tangent is ``K = K_0 - U V``, where K_0 is that of
the tree, with all that contacts change in their own place alone. Then (Woodbury)

    K^-1 r = w + X h,   w = K_0^-1 r,   X = K_0^-1 U,   (1 - V X) h = V w.

X takes one right-hand side per channel. Without contact of this kind nothing is done here.
"""

from __future__ import annotations

import numpy as np

from ..numerics.arena import unowned, view
from ..numerics.kernels import inner, kernel, run
from .channel_rows import dot
from .fronts import eliminate, substitute


@unowned
@kernel
def factorise(tree, ny, tangent, fronts):
    """Eliminate all unknowns; return the link whose block is singular, or -1."""
    run(eliminate, tree.code.eliminate, (tree, ny, tangent, fronts))
    ties = tangent.ties
    count = ties.used[0]
    if fronts.singular[0] >= 0 or count == 0:
        return fronts.singular[0]
    A = view(ties.matrix, 0, (count, count))
    for c in range(count):
        run(substitute, tree.code.substitute, (
            tree, ny, tangent, fronts, ties.push[c], ties.dy, ties.answer[c]))
    for a in range(count):
        for c in range(count):
            A[a, c] = (1.0 if a == c else 0.0) - dot(ties.feel[a], ties.answer[c])
    return -1 if _decompose(A, ties.pivot) else 0


@unowned
@kernel
def solve(tree, ny, tangent, fronts, r, dy, step):
    """
    Write the inverse of the tangent times r (Z,) to `step` (Z,), by the last `factorise`.

    dy (L, 18) is room.
    """
    run(substitute, tree.code.substitute, (tree, ny, tangent, fronts, r, dy, step))
    ties = tangent.ties
    count = ties.used[0]
    if count == 0:
        return
    A, h = view(ties.matrix, 0, (count, count)), ties.force
    for c in range(count):
        h[c] = dot(ties.feel[c], step)
    _substitute_back(A, ties.pivot, h)
    for c in range(count):
        for i in range(step.size):
            step[i] += h[c] * ties.answer[c, i]


@inner
def _decompose(A, pivot):
    """Factorise a matrix in its place, with pivots (LU); return whether it could be."""
    n = A.shape[0]
    for c in range(n):
        best = c
        for i in range(c + 1, n):
            if abs(A[i, c]) > abs(A[best, c]):
                best = i
        if not (abs(A[best, c]) > 0.0 and np.isfinite(A[best, c])):
            return False
        pivot[c] = best
        if best != c:
            for j in range(n):
                A[best, j], A[c, j] = A[c, j], A[best, j]
        for i in range(c + 1, n):
            factor = A[i, c] / A[c, c]
            A[i, c] = factor
            if factor != 0.0:
                for j in range(c + 1, n):
                    A[i, j] -= factor * A[c, j]
    return True


@inner
def _substitute_back(A, pivot, h):
    """Solve with the factors of `_decompose`; h is overwritten."""
    n = A.shape[0]
    for c in range(n):
        h[c], h[pivot[c]] = h[pivot[c]], h[c]
    # Rows were exchanged as a whole, multipliers too.
    for c in range(n):
        for i in range(c + 1, n):
            h[i] -= A[i, c] * h[c]
    for c in range(n - 1, -1, -1):
        h[c] /= A[c, c]
        for i in range(c):
            h[i] -= A[i, c] * h[c]
