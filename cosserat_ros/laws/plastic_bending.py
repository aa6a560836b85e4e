r"""
Dry friction of rods against bending: sheaths, discs and slack tendons that rub as a rod bends.

It does not depend on tension: such an arm stays a little bent with all of its tendons slack. At
each node the bending strain u = (u_x, u_y) is held by a bristle whose root is at a:

    m = k (u - a),   |m| <= M,   k = M / presliding

Where the bristle would carry more than M it slips: its root follows, so that |m| = M along u - a
(the return mapping of perfect plasticity). That is the law of least dissipation in two directions,
and m has a symmetric slope. The roots are remembered from step to step.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from ..numerics.kernels import inner
from .capstan_friction import AT_LIMIT

BENDING = 3  # first of the two components of strain


class Bristles(NamedTuple):
    """Against bending at the nodes of an element, for kernels; there may be none."""

    limit: np.ndarray      # (m,) moment at which they slip [N m]
    stiffness: np.ndarray  # (m,) [N m^2]
    root: np.ndarray       # (m, 2) as remembered [1/m]
    now: np.ndarray        # (m, 2) as it is at the present [1/m]
    regime: np.ndarray     # (m,) 1 where it slips, 0 where it sticks
    yields: np.ndarray     # (1,) bool, whether a bristle at its limit slips on, or sticks


@inner
def bend(a, k, u, moment, slope):
    """
    Write the moment (2,) of bristle k where the rod is bent by u (2,), and its slope (2, 2).

    Where the root would be then is written to `a.now`, and whether it slips to `a.regime`.
    """
    x, y = u[0] - a.root[k, 0], u[1] - a.root[k, 1]
    size = np.sqrt(x * x + y * y)
    edge = 1.0 - AT_LIMIT if a.yields[0] else 1.0 + AT_LIMIT
    secant, slips = a.stiffness[k], a.stiffness[k] * size > a.limit[k] * edge
    slope[0, 0], slope[0, 1], slope[1, 0], slope[1, 1] = 1.0, 0.0, 0.0, 1.0
    a.regime[k] = 0.0
    if slips:
        secant, a.regime[k] = a.limit[k] / size, 1.0
        slope[0, 0] -= x * x / size ** 2
        slope[0, 1] -= x * y / size ** 2
        slope[1, 0] -= x * y / size ** 2
        slope[1, 1] -= y * y / size ** 2
    moment[0], moment[1] = secant * x, secant * y
    for i in range(2):
        for j in range(2):
            slope[i, j] *= secant
        a.now[k, i] = u[i] - moment[i] / a.stiffness[k] if a.stiffness[k] > 0.0 else a.root[k, i]
