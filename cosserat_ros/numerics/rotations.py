"""
Rotations and vectors of three numbers within kernels: products, exponentials and their slopes.

Results are written into arrays that are given: small arrays of numba's own cost as much as the
arithmetic. An exponential ``exp(hat(o))`` comes with eight `coefficients`, of which all of its
derivatives are made.
"""

from __future__ import annotations

from .arena import view
from .kernels import inner
from .lie import stumpff


@inner
def cross(a, b, out):
    x = a[1] * b[2] - a[2] * b[1]
    y = a[2] * b[0] - a[0] * b[2]
    z = a[0] * b[1] - a[1] * b[0]
    out[0] = x
    out[1] = y
    out[2] = z


@inner
def rotate(R, a, out):
    """Write R a."""
    for i in range(3):
        out[i] = R[i, 0] * a[0] + R[i, 1] * a[1] + R[i, 2] * a[2]


@inner
def rotate_back(R, a, out):
    """Write R^T a."""
    for i in range(3):
        out[i] = R[0, i] * a[0] + R[1, i] * a[1] + R[2, i] * a[2]


@inner
def multiply(A, B, out):
    """Write A B, (3, 3)."""
    for i in range(3):
        for j in range(3):
            out[i, j] = A[i, 0] * B[0, j] + A[i, 1] * B[1, j] + A[i, 2] * B[2, j]


@inner
def coefficients(o, c):
    """Write the Stumpff functions c_0 to c_7 of |o|^2, of which all that follows is made."""
    x = o[0] * o[0] + o[1] * o[1] + o[2] * o[2]
    c[0], c[1], c[2], c[3], c[4], c[5], c[6], c[7] = stumpff(x)


@inner
def tangent_and_slope(o, c, w, T, D):
    """Write T = T_l(o) and D = d(T_l(o) w)/do, both (3, 3); c are o's coefficients."""
    c1, c2, c3, c4, c5 = c[1], c[2], c[3], c[4], c[5]
    c1s, c2s, c3s = c3 - c2, 2.0 * c4 - c3, 3.0 * c5 - c4
    ow = o[0] * w[0] + o[1] * w[1] + o[2] * w[2]
    oxw = (o[1] * w[2] - o[2] * w[1], o[2] * w[0] - o[0] * w[2], o[0] * w[1] - o[1] * w[0])
    for i in range(3):
        j = (i + 1) % 3
        k = (i + 2) % 3
        for m in range(3):
            T[i, m] = c3 * o[i] * o[m]
            D[i, m] = (c1s * w[i] + c2s * oxw[i] + c3s * o[i] * ow) * o[m] + c3 * o[i] * w[m]
        T[i, i] += c1
        D[i, i] += c3 * ow
        T[i, j] -= c2 * o[k]
        T[i, k] += c2 * o[j]
        D[i, j] += c2 * w[k]
        D[i, k] -= c2 * w[j]


@inner
def tangent_times(o, c, sign, w, out):
    """Write T_l(sign o) w; with sign -1 this is T_l(o)^T w. c are o's coefficients."""
    c2, ow = sign * c[2], c[3] * (o[0] * w[0] + o[1] * w[1] + o[2] * w[2])
    x = c[1] * w[0] + c2 * (o[1] * w[2] - o[2] * w[1]) + ow * o[0]
    y = c[1] * w[1] + c2 * (o[2] * w[0] - o[0] * w[2]) + ow * o[1]
    z = c[1] * w[2] + c2 * (o[0] * w[1] - o[1] * w[0]) + ow * o[2]
    out[0] = x
    out[1] = y
    out[2] = z


@inner
def add_quadratic_rate(o, c, w, out):
    """Add h(o, w) = (d(T_l(o) w)/do) w, quadratic in the rate w = o_t, to out (3,)."""
    c2, c3, c4, c5 = c[2], c[3], c[4], c[5]
    ow = o[0] * w[0] + o[1] * w[1] + o[2] * w[2]
    ww = w[0] * w[0] + w[1] * w[1] + w[2] * w[2]
    along_w, across = ow * (2.0 * c3 - c2), ow * (2.0 * c4 - c3)
    along_o = (3.0 * c5 - c4) * ow * ow + c3 * ww
    out[0] += along_w * w[0] + across * (o[1] * w[2] - o[2] * w[1]) + along_o * o[0]
    out[1] += along_w * w[1] + across * (o[2] * w[0] - o[0] * w[2]) + along_o * o[1]
    out[2] += along_w * w[2] + across * (o[0] * w[1] - o[1] * w[0]) + along_o * o[2]


@inner
def acceleration_slopes(o, c, w, E1, E2):
    """
    Write E1 = dh/do and E2 = dh/dw for h(o, w) = (d(T_l(o) w)/do) w, both (3, 3).

    h is the part of the chain's acceleration that is quadratic in the rate w = o_t.
    """
    c2, c3, c4, c5, c6, c7 = c[2], c[3], c[4], c[5], c[6], c[7]
    c1s, c2s, c3s = c3 - c2, 2.0 * c4 - c3, 3.0 * c5 - c4
    c1ss = 3.0 * c5 - 3.0 * c4 + c3
    c2ss = 8.0 * c6 - 5.0 * c5 + c4
    c3ss = 15.0 * c7 - 7.0 * c6 + c5
    a = o[0] * w[0] + o[1] * w[1] + o[2] * w[2]
    ww = w[0] * w[0] + w[1] * w[1] + w[2] * w[2]
    oxw = (o[1] * w[2] - o[2] * w[1], o[2] * w[0] - o[0] * w[2], o[0] * w[1] - o[1] * w[0])
    for i in range(3):
        j = (i + 1) % 3
        k = (i + 2) % 3
        for m in range(3):
            E1[i, m] = (
                w[i] * ((c1ss + c3s) * a * o[m] + (c1s + c3) * w[m])
                + oxw[i] * (c2ss * a * o[m] + c2s * w[m])
                + o[i] * ((c3ss * a * a + c3s * ww) * o[m] + 2.0 * c3s * a * w[m]))
            E2[i, m] = (
                (c1s + c3) * w[i] * o[m] + c2s * oxw[i] * o[m]
                + 2.0 * c3s * a * o[i] * o[m] + 2.0 * c3 * o[i] * w[m])
        E1[i, i] += c3s * a * a + c3 * ww
        E2[i, i] += (c1s + c3) * a
        E1[i, j] += c2s * a * w[k]
        E1[i, k] -= c2s * a * w[j]
        E2[i, j] -= c2s * a * o[k]
        E2[i, k] += c2s * a * o[j]


@inner
def exponential(o, c, E):
    """Write exp(hat(o)), (3, 3); c are o's coefficients."""
    c0, c1, c2 = c[0], c[1], c[2]
    for i in range(3):
        j = (i + 1) % 3
        k = (i + 2) % 3
        for m in range(3):
            E[i, m] = c2 * o[i] * o[m]
        E[i, i] += c0
        E[i, j] -= c1 * o[k]
        E[i, k] += c1 * o[j]


@inner
def add_cross(a, B, out, sign):
    """Add sign a x B to out, for a (3,) and columns B (3, n)."""
    for c in range(B.shape[1]):
        b0, b1, b2 = B[0, c], B[1, c], B[2, c]
        out[0, c] += sign * (a[1] * b2 - a[2] * b1)
        out[1, c] += sign * (a[2] * b0 - a[0] * b2)
        out[2, c] += sign * (a[0] * b1 - a[1] * b0)


@inner
def add_rotated_back(R, B, out):
    """Add R^T B to out, for columns B (3, n)."""
    for i in range(3):
        for c in range(B.shape[1]):
            out[i, c] += R[0, i] * B[0, c] + R[1, i] * B[1, c] + R[2, i] * B[2, c]


@inner
def add_rotated(R, B, out, factor):
    """Add factor R B to out, for columns B (3, n)."""
    for i in range(3):
        for c in range(B.shape[1]):
            out[i, c] += factor * (R[i, 0] * B[0, c] + R[i, 1] * B[1, c] + R[i, 2] * B[2, c])


@inner
def add(A, out, factor):
    """Add factor A to out, for columns (3, n); out may have more."""
    for i in range(3):
        for c in range(A.shape[1]):
            out[i, c] += factor * A[i, c]


@inner
def add_like(A, out, factor):
    """Add factor A to out, which has as many columns: one loop over both."""
    a, b = view(A, 0, (A.size,)), view(out, 0, (A.size,))
    for i in range(a.size):
        b[i] += factor * a[i]
