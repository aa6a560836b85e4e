"""
Draw the figure of theory.md: frames and signs.

Run by `make docs`.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import matplotlib

matplotlib.use('Agg')

from matplotlib.axes import Axes  # noqa: E402 - after the choice of a backend
from matplotlib.patches import Circle, Polygon, Rectangle  # noqa: E402
import matplotlib.pyplot as plt  # noqa: E402
import numpy as np  # noqa: E402

FIGURE = Path(__file__).resolve().parent / 'theory.png'
X, Y, Z = 'tab:red', 'tab:green', 'tab:blue'
ROD, FORCE, TENDON, LABEL = '0.75', 'black', 'tab:orange', '0.25'
Point = tuple[float, float] | np.ndarray


def arrow(ax: Axes, start: Point, vector: Point, colour: str = FORCE, style: str = '-|>') -> None:
    """Draw a vector from a point."""
    x, y = start
    ax.annotate('', (x + vector[0], y + vector[1]), (x, y), arrowprops={
        'arrowstyle': style, 'color': colour, 'linewidth': 1.6, 'shrinkA': 0, 'shrinkB': 0,
        'mutation_scale': 13})


def turn(ax: Axes, middle: Point, radius: float, first: float, last: float,
         colour: str = FORCE) -> None:
    """Draw an arrow on a circle, from an angle to another one [deg]."""
    a = np.radians(np.linspace(first, last, 40))
    x, y = middle[0] + radius * np.cos(a), middle[1] + radius * np.sin(a)
    ax.plot(x, y, color=colour, linewidth=1.6)
    arrow(ax, (x[-2], y[-2]), (x[-1] - x[-2], y[-1] - y[-2]), colour)


def say(ax: Axes, x: float, y: float, words: str, colour: str = LABEL, **options: Any) -> None:
    """Write words next to a point."""
    ax.text(x, y, words, color=colour, fontsize=9, **{'va': 'center', **options})


def panel(ax: Axes, title: str, low: Point, high: Point) -> None:
    """Prepare a panel that shows the rectangle between two corners."""
    ax.set_title(title, loc='left', fontsize=10, fontweight='bold')
    ax.set_xlim(low[0], high[0])
    ax.set_ylim(low[1], high[1])
    ax.set_aspect('equal')
    ax.axis('off')


def frame(ax: Axes, origin: Point, axes: np.ndarray, size: float, name: str = '') -> None:
    """Draw a frame, given the directions of its axes on the page as rows (3, 2)."""
    for direction, colour, letter in zip(axes, (X, Y, Z), 'xyz'):
        vector = size * np.asarray(direction)
        arrow(ax, origin, vector, colour)
        end = np.asarray(origin) + 1.22 * vector
        say(ax, end[0], end[1], letter, colour, ha='center')
    if name:
        say(ax, origin[0] - 0.1, origin[1] - 0.26, name, ha='center')


def arc(radius: float, angle: float, count: int = 60) -> np.ndarray:
    """Return points of a rod that starts along z and is bent towards x, (count, 2)."""
    a = np.linspace(0.0, angle, count)
    return radius * np.stack([1.0 - np.cos(a), np.sin(a)], axis=1)


# --- The panels ----------------------------------------------------------------------------------

OBLIQUE = np.array([[0.80, -0.25], [0.45, 0.35], [0.0, 1.0]])  # x, y, z of a frame on the page


def draw_frames(ax: Axes) -> None:
    """World, base_link and body frame."""
    panel(ax, 'a  frames', (-1.75, -0.45), (1.45, 1.75))
    frame(ax, (-1.3, 0.0), OBLIQUE, 0.38, 'world (parent_frame)')
    frame(ax, (0.0, 0.0), OBLIQUE, 0.38, 'base_link')
    rod = arc(1.3, 1.15)
    ax.plot(*rod.T, color=ROD, linewidth=9, solid_capstyle='butt', zorder=0)
    k = 42
    a = 1.15 * k / 59
    axes = np.array([[np.cos(a), -np.sin(a)], [-0.1, 0.62], [np.sin(a), np.cos(a)]])
    frame(ax, rod[k], axes, 0.42)
    arrow(ax, (0.0, 0.0), rod[k], '0.45', '->')
    say(ax, 0.27, 0.38, 'p(s), R(s)')
    say(ax, 0.5, 1.6, 'body frame: z = e3 along the rod at rest', ha='center')
    say(ax, -0.12, 0.72, 's', ha='right')
    arrow(ax, (-0.08, 0.55), (0.04, 0.32), '0.45', '->')
    arrow(ax, (-1.3, 1.35), (0.0, -0.4))
    say(ax, -1.24, 1.15, 'gravity')


def draw_strains(ax: Axes) -> None:
    """Positive bending and twist."""
    panel(ax, 'b  strains (v, u), body frame', (-0.9, -0.35), (2.0, 1.35))
    for sign, colour in ((1.0, ROD), (-1.0, '0.9')):
        rod = arc(1.0, 1.0) * (sign, 1.0)
        ax.plot(*rod.T, color=colour, linewidth=9, solid_capstyle='butt', zorder=0)
    frame(ax, (0.0, 0.0), np.array([[1.0, 0.0], [0.0, 0.0], [0.0, 1.0]]), 0.42)
    ax.add_patch(Circle((0.0, 0.0), 0.05, facecolor='white', edgecolor=Y, zorder=3))
    say(ax, 0.0, 0.0, '×', Y, ha='center', zorder=4)
    say(ax, -0.1, -0.13, 'y into the page', Y, ha='center')
    say(ax, 0.62, 0.92, 'u_y > 0 bends towards +x')
    say(ax, 0.62, 0.74, 'u_x > 0 bends towards −y')
    say(ax, 0.62, 0.56, 'u_z > 0 twists: x towards y')
    say(ax, 0.62, 0.38, 'v_z > 1 stretches')
    say(ax, -0.8, 1.1, 'u_y < 0', '0.55')


def draw_wrenches(ax: Axes) -> None:
    """Internal wrench, loads and the reaction of a closure."""
    panel(ax, 'c  wrenches', (-0.2, -0.75), (3.2, 1.1))
    ax.add_patch(Rectangle((0.0, 0.2), 1.05, 0.22, facecolor=ROD))
    ax.add_patch(Rectangle((1.75, 0.2), 1.05, 0.22, facecolor=ROD))
    say(ax, 0.1, 0.31, 'proximal')
    say(ax, 2.2, 0.31, 'distal')
    arrow(ax, (1.05, 0.31), (0.32, 0.0))
    say(ax, 1.42, 0.45, 'n, m', ha='center')
    arrow(ax, (1.75, 0.31), (-0.25, 0.0))
    say(ax, 1.6, 0.13, '−n, −m', ha='center')
    turn(ax, (1.05, 0.31), 0.22, -60.0, 60.0)
    say(ax, 0.0, -0.05, 'n(s), m(s): of the distal part on the proximal one')
    for x in np.linspace(0.15, 0.9, 5):
        arrow(ax, (x, 0.78), (0.0, -0.3))
    say(ax, 0.0, 0.9, 'f, l: on the rod, per length, world axes')
    arrow(ax, (2.8, 0.31), (0.28, 0.28))
    say(ax, 2.35, 0.72, 'F, M on the end')
    ax.add_patch(Circle((0.55, -0.42), 0.1, facecolor='white', edgecolor='black'))
    ax.add_patch(Circle((1.05, -0.42), 0.1, facecolor='white', edgecolor='black'))
    say(ax, 0.55, -0.42, 'a', ha='center')
    say(ax, 1.05, -0.42, 'b', ha='center')
    arrow(ax, (0.45, -0.42), (-0.3, 0.0))
    arrow(ax, (1.15, -0.42), (0.3, 0.0))
    say(ax, 0.2, -0.3, '+r', ha='center')
    say(ax, 1.38, -0.3, '−r', ha='center')
    say(ax, 1.55, -0.42, 'reaction r of a closure')
    say(ax, 1.55, -0.58, 'p_a − p_b = 0')


def draw_tendon(ax: Axes) -> None:
    """A tendon: tension, displacement and sliding."""
    panel(ax, 'd  tendon', (-0.75, -0.6), (2.75, 1.3))
    ax.add_patch(Rectangle((0.0, 0.25), 2.2, 0.18, facecolor=ROD))
    ax.plot([-0.35, 2.2], [0.72, 0.72], color=TENDON, linewidth=2)
    ax.add_patch(Circle((-0.42, 0.72), 0.09, facecolor='white', edgecolor=TENDON, linewidth=2))
    ax.plot([2.2, 2.2], [0.43, 0.78], color='black', linewidth=2)
    ax.plot([0.0, 0.0], [0.1, 0.9], color='black', linewidth=2)
    arrow(ax, (2.18, 0.72), (-0.4, 0.0), TENDON)
    say(ax, 1.78, 0.83, 'τ(L) pulls its end', ha='center')
    arrow(ax, (-0.05, 0.86), (-0.45, 0.0), TENDON)
    say(ax, -0.7, 1.0, 'displacement > 0: pulled in')
    arrow(ax, (1.05, 0.34), (0.0, 0.37), '0.35', '->')
    say(ax, 1.1, 0.57, 'r(s)')
    say(ax, 0.06, 0.58, 'τ(0) = effort ≥ 0', TENDON)
    say(ax, -0.7, 0.02, 'l = ∫ |v + u × r + r_s| ds,   virtual work −τ δl')
    say(ax, -0.7, -0.18, 'x(s): growth of the length beyond s since rest')
    say(ax, -0.7, -0.38, 'x grows: paid out, f > 0;   τ(s) = τ(0) + ∫ f ds')


def draw_chamber(ax: Axes) -> None:
    """A chamber: pressure and effort."""
    panel(ax, 'e  chamber', (-0.45, -0.65), (2.75, 1.1))
    ax.add_patch(Rectangle((0.0, 0.1), 2.2, 0.7, facecolor=ROD))
    ax.add_patch(Rectangle((0.1, 0.5), 2.0, 0.2, facecolor='white', edgecolor='black'))
    ax.plot([-0.2, 2.5], [0.45, 0.45], color='0.4', linewidth=1, linestyle='-.')
    arrow(ax, (1.65, 0.6), (0.44, 0.0), TENDON)
    arrow(ax, (0.55, 0.6), (-0.44, 0.0), TENDON)
    say(ax, 1.1, 0.6, 'P A e3', ha='center')
    say(ax, 0.0, 0.94, 'P > 0 above ambient lengthens the chamber')
    say(ax, -0.4, -0.1, 'V = ∫ A e3 · (v + u × r + r_s) ds,   virtual work +P δV')
    say(ax, -0.4, -0.3, 'effort inside the solver: λ = −P (λ > 0 shortens)')
    say(ax, -0.4, -0.5, 'joint_states tells +P [Pa] and V [m³]')


def draw_contact(ax: Axes) -> None:
    """Contact: gap, normal, friction and anchor."""
    panel(ax, 'f  contact', (-1.5, -0.85), (1.9, 1.0))
    ax.add_patch(Polygon([(-1.4, -0.25), (1.8, -0.25), (1.8, -0.8), (-1.4, -0.8)],
                         facecolor='0.88'))
    ax.plot([-1.4, 1.8], [-0.25, -0.25], color='black')
    centre = np.array([0.1, 0.1])
    ax.add_patch(Circle((centre[0], centre[1]), 0.45, facecolor='none', edgecolor='0.35'))
    ax.plot(*centre, marker='o', color='black', markersize=4)
    arrow(ax, centre, (0.0, 0.62))
    say(ax, 0.18, 0.72, 'N n,  n = ∇d (out of the obstacle)')
    ax.plot([-0.75], [0.1], marker='x', color=TENDON, markersize=7, markeredgewidth=2)
    ax.plot([-0.75, 0.1], [0.1, 0.1], color=TENDON, linewidth=1, linestyle='--')
    arrow(ax, centre, (-0.42, 0.0), TENDON)
    say(ax, -1.2, 0.1, 'anchor', TENDON)
    say(ax, -0.62, 0.22, 'T = −k_t e', TENDON, ha='center')
    say(ax, -1.45, -0.05, 'e: from anchor\nto centre, across n', va='top')
    arrow(ax, (0.8, 0.1), (0.0, -0.35), '0.35', '<->')
    say(ax, 0.86, -0.05, 'd')
    ax.plot([0.1, 0.8], [0.1, 0.1], color='0.6', linewidth=0.8)
    arrow(ax, centre, (0.32, -0.32), '0.35', '->')
    say(ax, 0.32, 0.02, 'radius')
    say(ax, -1.3, -0.55, 'gap g = d − radius < 0: pressed')
    say(ax, -1.3, -0.7, 'δ = (−g)+')


def main() -> None:
    """Draw all panels and write the picture."""
    plt.rcParams.update({'font.family': 'DejaVu Sans', 'text.usetex': False})
    figure, axes = plt.subplots(3, 2, figsize=(11.0, 10.0), layout='constrained')
    for draw, ax in zip((draw_frames, draw_strains, draw_wrenches, draw_tendon, draw_chamber,
                         draw_contact), axes.flat):
        draw(ax)
    figure.savefig(FIGURE, dpi=110, metadata={'Software': None})
    plt.close(figure)


if __name__ == '__main__':
    main()
