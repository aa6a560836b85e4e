r"""
Inverse statics: the actuation that brings stations of a robot to their targets.

Shape z and actuation u are sought together. With the equations ``r(z, u) = 0``, their tangent K
and columns ``C = dr/du``, a step is ``dz = -K^-1 (r + C du)``, and the task's error ``e(z)``
changes by ``J dz``: what is left is a quadratic program in the few du,

    minimise |e + J dz|^2 + mu |u + du - u_0|^2 + lam |du|^2   within limits of u and commands,

with u_0 = 0 for least effort. mu falls to `damping`^2, so that effort decides only among
actuations that are equally good for the task; lam is that of Levenberg and Marquardt.

Tendons and chambers are driven by their efforts here, whatever they are told in the end: a tendon
that is slack has no slope with its displacement, but one with its tension. Commands that are not
efforts follow from shape and effort, and their limits are limits of the quadratic program. Joints
are driven by position or effort as they are told; one with a velocity drive stays where it is.

All laws are in these equations, dry friction and contact with what they remember of the
simulator's state. With friction the equilibrium depends on the way to it: there, in the end,
`Simulator.statics` tells what the commands do.

That finds an actuation that meets the targets. For least effort, `effort` then goes on to the
local optimum, whose conditions are checked. There may be several: answers from other starts,
`samples`, are compared with it, one if that agrees, up to six if not. Where the answer to a target
nearby was found so, it is followed without other starts.

`mechanics` has the equations, `limits` those of actuation and commands, `task` the targets,
`search` the ways to them, and `statics` what users call.
"""

from .statics import InverseStatics, Result
from .task import Target

__all__ = ['InverseStatics', 'Result', 'Target']
