"""Which strains a rod has, and how finely they are resolved."""

from __future__ import annotations

from dataclasses import dataclass

from numpy.polynomial import chebyshev, legendre, polynomial

from ..checks.fields import Checked, choice, integer

COMPONENTS = ('shear_x', 'shear_y', 'stretch', 'bend_x', 'bend_y', 'twist')
FAMILIES = {
    'legendre': legendre.legvander,
    'chebyshev': chebyshev.chebvander,
    'monomial': polynomial.polyvander,
}


@dataclass(frozen=True)
class StrainModes(Checked):
    """
    Which strains a rod has, and how finely they are resolved on each element.

    A component with 0 modes keeps its rest value (the selection matrix B of Boyer 2020,
    section II-C): no shear and no stretch make a Kirchhoff rod, no modes at all a rigid one.

    Parameters
    ----------
    shear_x : int
        Modes of shear along the local x axis: polynomials of degree 0, 1 and so on; 0 modes keep
        a strain at its rest value.
    shear_y : int
        Modes of shear along the local y axis.
    stretch : int
        Modes of stretch.
    bend_x : int
        Modes of bending about the local x axis.
    bend_y : int
        Modes of bending about the local y axis.
    twist : int
        Modes of twist.
    family : str
        'legendre', 'chebyshev' or 'monomial': another basis of the same polynomials.
    elements : int
        Equal elements that each segment of the rod is divided into.
    nodes : int
        Gauss points of each element; 0 for three more than there are modes, at least 6.
    substeps : int
        Steps of the chain of rotations between neighbouring nodes.

    """

    shear_x: int = integer(least=0, most=40, default=2)
    shear_y: int = integer(least=0, most=40, default=2)
    stretch: int = integer(least=0, most=40, default=2)
    bend_x: int = integer(least=0, most=40, default=5)
    bend_y: int = integer(least=0, most=40, default=5)
    twist: int = integer(least=0, most=40, default=3)
    family: str = choice(*FAMILIES, default='legendre')
    elements: int = integer(least=1, most=1000, default=1)
    nodes: int = integer(least=0, most=100, default=0)
    substeps: int = integer(least=1, most=100, default=1)

    @property
    def counts(self) -> tuple[int, ...]:
        """Modes of each component, in the order of `COMPONENTS`."""
        return tuple(getattr(self, name) for name in COMPONENTS)

    @property
    def nodes_per_element(self) -> int:
        """Gauss points of each element."""
        return self.nodes or max(6, max(self.counts) + 3)
