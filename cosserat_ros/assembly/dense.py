"""The tangent of an assembly as one square matrix, and its inverse times many columns."""

from __future__ import annotations

from ..numerics.arena import unowned
from ..numerics.kernels import kernel, run
from .equations import residual
from .tangent import differentiate, multiply
from .ties import solve


@unowned
@kernel
def linearise(tree, work, tangent, code, instant, c, r, K):
    """
    Write what must be zero, and its derivative.

    Parameters
    ----------
    tree, work, tangent
        Of the assembly; `tangent` is overwritten.
    code : Procedures
    instant : (3, Z) float64
        z, z_t and z_tt.
    c : (2,) float64
        cV and cA: ``z_t = cV z + ...`` [1/s], ``z_tt = cA z + ...`` [1/s^2].
    r : (Z,) float64
        Overwritten by the residual.
    K : (1 + Z, Z) float64
        Its rows are overwritten by columns of the derivative; the last one is room.

    Returns
    -------
    int
        18 variations of each frame's motion, or 6 where nothing moves.

    """
    n = r.size
    run(residual, code.residual, (tree, instant[0], instant[1], instant[2], work, r))
    ny = 6
    if c[0] != 0.0 or c[1] != 0.0:
        ny = 18
    for i in range(n):
        if instant[1, i] != 0.0 or instant[2, i] != 0.0:
            ny = 18
    for link in range(tree.links.kind.size):
        for i in range(3):
            if (tree.roots.Om[link, i] != 0.0 or tree.roots.p_t[link, i] != 0.0
                    or tree.roots.Om_t[link, i] != 0.0 or tree.roots.p_tt[link, i] != 0.0):
                ny = 18
    run(differentiate, code.differentiate, (tree, work, instant[0], c[0], c[1], ny, tangent))
    unit = K[n]
    for i in range(n):
        unit[i] = 0.0
    for i in range(n):
        unit[i] = 1.0
        run(multiply, code.multiply, (tree, ny, tangent, unit, K[i]))
        unit[i] = 0.0
    return ny


@unowned
@kernel
def solve_rows(tree, ny, tangent, fronts, code, rows, dy, out):
    """Write the inverse of the tangent times each row of `rows` (m, Z), by its factors."""
    for i in range(rows.shape[0]):
        run(solve, code.solve, (tree, ny, tangent, fronts, rows[i], dy, out[i]))
