"""The quadratic programs of steps, and what belongs to them, compiled."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from ..numerics.kernels import inner, kernel

DEPENDENT = 1e-22  # of a normal's square, below which it depends on those of active limits
ROUNDING = 1e-15   # of the quadratic form, relative, that is added to it
VIOLATED = 1e-13   # by which limits may be violated
SINGULAR = 1e-9    # singular value, over the greatest, of what depends on other rows
PRESSED = 1e-6     # multiplier, over the gradient's greatest part, from which a limit presses


class Linear(NamedTuple):
    """Shape and task near a point, as functions of x = du / scale."""

    slope: np.ndarray   # (m, unknowns) of z
    motion: np.ndarray  # (errors, unknowns) of the task with z
    J: np.ndarray       # (errors, m) of the task with x
    normal: np.ndarray  # (limits, m) of limits of u, least and greatest, then of commands


class Box(NamedTuple):
    """Limits of the actuation u (m,)."""

    least: np.ndarray
    most: np.ndarray
    scale: np.ndarray


@inner
def _project(B, active, count, p, Q, T, along):
    """
    Split row p of B into what active rows make of it and the rest; write `along`, return the rest.

    Q and T become the active rows' orthonormal basis and the triangle of their coordinates.
    """
    n = B.shape[1]
    rest = np.empty(n)
    for k in range(count + 1):
        row = p if k == count else active[k]
        for i in range(n):
            rest[i] = B[row, i]
        for j in range(k):
            T[j, k] = 0.0
        for _ in range(2):  # twice is enough against rounding errors
            for j in range(k):
                part = 0.0
                for i in range(n):
                    part += Q[j, i] * rest[i]
                T[j, k] += part
                for i in range(n):
                    rest[i] -= part * Q[j, i]
        if k < count:
            size = 0.0
            for i in range(n):
                size += rest[i] * rest[i]
            T[k, k] = np.sqrt(size)
            for i in range(n):
                Q[k, i] = rest[i] / T[k, k]
    for k in range(count - 1, -1, -1):
        along[k] = T[k, count]
        for j in range(k + 1, count):
            along[k] -= T[k, j] * along[j]
        along[k] /= T[k, k]
    return rest


@inner
def _most_violated(C, b, x, active, count, tolerance):
    """Return the limit that is violated most, and by how much; -1 if none is."""
    p, worst = -1, -tolerance
    for i in range(b.size):
        gap = -b[i]
        for c in range(x.size):
            gap += C[i, c] * x[c]
        if gap < worst:
            taken = False
            for k in range(count):
                taken = taken or active[k] == i
            if not taken:
                p, worst = i, gap
    return p, worst


@inner
def _free_minimum(L, a, C):
    """Return ``-G^-1 a``, and C in the coordinates in which G is 1, for ``G^-1 = L^T L``."""
    n, m = a.size, C.shape[0]
    B, x = np.zeros((m, n)), np.zeros(n)
    for k in range(n):
        part = 0.0
        for c in range(n):
            part += L[k, c] * a[c]
            for i in range(m):
                B[i, k] += L[k, c] * C[i, c]
        for c in range(n):
            x[c] -= L[k, c] * part
    return x, B


@inner
def _length(gap, square, whole, count, pull, along):
    """Return how far to go to a limit, which active one gives way (-1: none), if x moves."""
    moves = count < along.size - 1 and square > DEPENDENT * whole
    step, drop = -gap / square if moves else np.inf, -1
    for k in range(count):
        if along[k] > 0.0 and pull[k] < step * along[k]:
            step, drop = pull[k] / along[k], k
    return step, drop, moves


@inner
def _dot(a, b):
    total = 0.0
    for i in range(a.size):
        total += a[i] * b[i]
    return total


@inner
def _least_quadratic(G, a, C, b, tolerance):
    """
    Minimise ``x G x / 2 + a x`` where ``C x >= b`` (Goldfarb and Idnani 1983, the dual method).

    Parameters
    ----------
    G : (n, n) float64
        Positive definite.
    a : (n,) float64
    C : (m, n) float64
    b : (m,) float64
    tolerance : float
        By which limits may be violated.

    Returns
    -------
    x : (n,) float64
    found : bool
        False if the limits contradict each other; x then satisfies some of them.

    """
    n, m = a.size, b.size
    L = np.linalg.inv(np.linalg.cholesky(G))  # G^-1 = L^T L
    x, B = _free_minimum(L, a, C)
    active, count, pull = np.zeros(n + 1, dtype=np.int64), 0, np.zeros(n + 1)
    Q, T, along = np.zeros((n + 1, n)), np.zeros((n + 1, n + 2)), np.zeros(n + 1)
    p, gap = _most_violated(C, b, x, active, count, tolerance)
    own = 0.0  # multiplier of limit p
    for _ in range(20 * (n + m)):
        if p < 0:
            return x, True
        rest = _project(B, active, count, p, Q, T, along)
        square = _dot(rest, rest)
        step, drop, moves = _length(gap, square, _dot(B[p], B[p]), count, pull, along)
        if not np.isfinite(step):
            return x, False
        own += step
        for k in range(count):
            pull[k] -= step * along[k]
        if moves:
            gap += step * square
            for c in range(n):
                for i in range(n):
                    x[c] += step * L[i, c] * rest[i]
        if drop < 0:
            active[count], pull[count] = p, own
            count += 1
            p, gap = _most_violated(C, b, x, active, count, tolerance)
            own = 0.0
        else:
            count -= 1
            for k in range(drop, count):
                active[k], pull[k] = active[k + 1], pull[k + 1]
    return x, False


@kernel
def null_space(M):
    """Return an orthonormal basis of the null space of rows (k, m), (m, n)."""
    _, sizes, rows = np.linalg.svd(M)
    rank = 0
    for size in sizes:
        if size > SINGULAR * sizes[0]:
            rank += 1
    return np.ascontiguousarray(rows[rank:].T)


@kernel
def least_on(H, g, N, C, b):
    """
    Minimise ``g x + x H x / 2`` on the span of N, where ``C x >= b``.

    Parameters
    ----------
    H : (m, m) float64
        Positive definite on that span.
    g : (m,) float64
    N : (m, n) float64
        Orthonormal columns.
    C : (limits, m) float64
    b : (limits,) float64

    Returns
    -------
    x : (m,) float64
    gain : float
        By how much that is less than at 0.
    found : bool
        False if it was not found.

    """
    x = np.zeros(g.size)
    if N.shape[1] == 0:
        return x, 0.0, True
    along = np.ascontiguousarray(N.T)
    w, found = _least_quadratic(along @ (H @ N), along @ g, C @ N, b, VIOLATED)
    x = N @ w
    gain = -_dot(g, x) - 0.5 * _dot(x, H @ x)
    return x, gain, found and np.isfinite(gain)


@kernel
def multipliers(gradient, J, C, active):
    """
    Return the multipliers of the task, and those of limits, 0 where they do not press.

    Parameters
    ----------
    gradient : (m,) float64
        It is ``C^T pull - J^T task`` there.
    J : (errors, m) float64
    C : (limits, m) float64
    active : (limits,) bool
        Which may press.

    Returns
    -------
    task : (errors,) float64
    pull : (limits,) float64

    """
    k, size, pull = J.shape[0], np.abs(gradient).max(), np.zeros(active.size)
    rows = np.flatnonzero(active)
    while True:
        A = np.empty((gradient.size, k + rows.size))
        A[:, :k] = J.T
        for i in range(rows.size):
            A[:, k + i] = C[rows[i]]
        found = np.linalg.lstsq(A, gradient, 1e-12)[0]
        weakest, least = -1, 0.0
        for i in range(rows.size):
            if found[k + i] < least:
                weakest, least = i, found[k + i]
        if weakest < 0:
            break
        rows = np.concatenate((rows[:weakest], rows[weakest + 1:]))
    for i in range(rows.size):
        if found[k + i] > PRESSED * size:
            pull[rows[i]] = found[k + i]
    return -found[:k], pull


@kernel
def firm(curvature, W, basis, least):
    """
    Return a form with second derivatives W on a basis, and the curvature of effort elsewhere.

    Parameters
    ----------
    curvature : (m,) float64
        Diagonal of the effort's.
    W : (n, n) float64
    basis : (m, n) float64
        Orthonormal columns.
    least : float
        Curvature that the form has on them at least; where W's is negative, it is turned round.

    Returns
    -------
    H : (m, m) float64
    lowest : float
        The least curvature of W.
    way : (m,) float64
        The direction of that.

    """
    curvatures, ways = np.linalg.eigh(W)
    H, ways = np.diag(curvature), basis @ ways
    for k in range(curvatures.size):
        own = 0.0
        for i in range(curvature.size):
            own += curvature[i] * ways[i, k] ** 2
        more = max(abs(curvatures[k]), least) - own
        for i in range(curvature.size):
            for j in range(curvature.size):
                H[i, j] += more * ways[i, k] * ways[j, k]
    return H, curvatures[0], ways[:, 0].copy()


@inner
def _bounds(box, u, further):
    """Return b of ``normal x >= b``: limits of u, then further ones."""
    m = u.size
    b = np.empty(2 * m + further.size)
    for i in range(m):
        b[i] = (box.least[i] - u[i]) / box.scale[i]
        b[m + i] = (u[i] - box.most[i]) / box.scale[i]
    for i in range(further.size):
        b[2 * m + i] = further[i]
    return b


@kernel
def quadratic_step(linear, box, further, u, error, settle, weight, pull, strain):
    """
    Minimise ``|error + J x|^2 + x weight x + 2 pull x`` within limits.

    Parameters
    ----------
    linear : Linear
    box : Box
    further : (limits,) float64
        By which commands are within their limits, negative; -inf where there is none.
    u, weight, pull : (m,) float64
    error : (errors,) float64
        Of the task, once the shape has settled.
    settle : (unknowns,) float64
        Its way to the equilibrium.
    strain : (unknowns,) float64
        Size of each unknown as strain.

    Returns
    -------
    x, dz : arrays
        Changes of the actuation over its scale, and of the shape.
    size : float
        Of the latter, as strain; infinite if anything is not finite.

    """
    J, m = linear.J, u.size
    G, a, trace = np.zeros((m, m)), pull.copy(), 0.0
    for i in range(m):
        for e in range(error.size):
            a[i] += J[e, i] * error[e]
            for j in range(m):
                G[i, j] += J[e, i] * J[e, j]
        G[i, i] += weight[i]
        trace += G[i, i]
    for i in range(m):
        G[i, i] += ROUNDING * trace
    dz, size = settle.copy(), 0.0
    if not (np.isfinite(trace) and np.isfinite(_dot(a, a))):
        return a, dz, np.inf
    x, _ = _least_quadratic(G, a, linear.normal, _bounds(box, u, further), VIOLATED)
    for c in range(dz.size):
        for i in range(m):
            dz[c] += linear.slope[i, c] * x[i]
        if not np.isfinite(dz[c]):
            return x, dz, np.inf
        size = max(size, abs(dz[c]) * strain[c])
    return x, dz, size
