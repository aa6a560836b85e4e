"""What must be zero of an assembly: sweeps over its tree, and laws along whole rods."""

from __future__ import annotations

from ..numerics.arena import unowned
from ..numerics.kernels import kernel, run
from .along_rods import add_chords, pull
from .contact import touch
from .crossings import meet
from .flow import stream
from .tree import backward, close, forward


@unowned
@kernel
def residual(tree, z, z_t, z_tt, work, r):
    """Write what must be zero to r (Z,)."""
    forward(tree, work, z, z_t, z_tt)
    if tree.contacts.numbers.shape[0] > 0:
        run(touch, tree.code.touch, (tree, work))
        if work.touch.channels.link.shape[0] > 0:
            run(meet, tree.code.meet, (tree, work))
    if tree.flows.first.size + tree.flows.along.size > 0:
        run(stream, tree.code.stream, (tree, work))
    pull(tree, work, z)
    backward(tree, work, z, z_t, r)
    add_chords(tree, work, z, r)
    close(tree, work, z, r)
