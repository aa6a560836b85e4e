"""The equations of a rod with modified Rodrigues parameters: Surmont & Coache, eq. 31."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from ..numerics.kernels import kernel
from ..numerics.lie import matrix_from_mrp, mrp_rate_matrix


class Sections(NamedTuple):
    """Pieces of rods at one place of each."""

    length: np.ndarray  # (P,) of the whole piece [m]
    v0: np.ndarray      # (P, 3) strain at rest
    u0: np.ndarray      # (P, 3) curvature at rest [1/m]
    Qn: np.ndarray      # (P, 3) compliance, eq. 21 [1/N]
    Qm: np.ndarray      # (P, 3) eq. 22 [1/(N m^2)]
    force: np.ndarray   # (P, 3) f, per length, world frame [N/m]
    moment: np.ndarray  # (P, 3) l, likewise [N]


@kernel
def rates(a, which, phi, out):
    """
    Write the rate of each state with the part of its piece, by eqs. 8, 10, 17 and 24.

    Parameters
    ----------
    a : Sections
    which : (Q,) int64
        The piece of each state.
    phi, out : (Q, 12) float64
        Position, sigma, force and moment; overwritten by its rate.

    """
    v, u = np.empty(3), np.empty(3)
    for row in range(which.size):
        p, y, d = which[row], phi[row], out[row]
        for i in range(3):
            v[i] = a.v0[p, i] + a.Qn[p, i] * y[6 + i]
            u[i] = a.u0[p, i] + a.Qm[p, i] * y[9 + i]
        R, B = matrix_from_mrp(y[3:6]), mrp_rate_matrix(y[3:6])
        for i in range(3):
            j, k = (i + 1) % 3, (i + 2) % 3
            d[i] = R[i, 0] * v[0] + R[i, 1] * v[1] + R[i, 2] * v[2]
            d[3 + i] = B[i, 0] * u[0] + B[i, 1] * u[1] + B[i, 2] * u[2]
            d[6 + i] = -(u[j] * y[6 + k] - u[k] * y[6 + j]) - (
                R[0, i] * a.force[p, 0] + R[1, i] * a.force[p, 1] + R[2, i] * a.force[p, 2])
            d[9 + i] = -(v[j] * y[6 + k] - v[k] * y[6 + j]) - (
                u[j] * y[9 + k] - u[k] * y[9 + j]) - (
                R[0, i] * a.moment[p, 0] + R[1, i] * a.moment[p, 1] + R[2, i] * a.moment[p, 2])
        for i in range(12):
            d[i] *= a.length[p]
