"""
The engine against Till's shooting method (2019, section 3), compiled alike, on one core.

    environment/enter python benchmarks/cantilever.py

A steel rod of 0.4 m, gravity across, is held by a force at its tip and let go. Till's release:
0.5 N, BDF-alpha (-0.2), 5 ms, one second. The hard release: 3.5 N, which bends and twists the rod
in space, mostly at 2 ms. Where shooting finds no solution the table says when, and both are timed
up to there. Times are the best of three, ratios are within this run.

The error is that of space alone, the largest distance of the tip from the same method and time
scheme refined: of strain modes from 8 of shear and 12 of bending, of shooting from collocation.
"""

from __future__ import annotations

from releases import (
    best_of_three,
    both,
    engine,
    farthest,
    HARD,
    oracle,
    REFINED,
    Release,
    shooting,
    TILL,
)


def compare(title: str, release: Release, counts: list[tuple[int, int]], most: int) -> None:
    """Print a table; `counts` of shear and of bending modes, `most` iterations of shooting."""
    print(f'\n{title}: {release.scheme}, {1e3 * release.dt:g} ms')
    print(f'{"method":36} {"ms per s":>9} {"x shooting":>11} {"x real time":>12} {"error mm":>9}')
    paper = best_of_three(shooting, release, most)
    managed = release._replace(steps=len(paper.path))
    error = farthest(paper.path, oracle(managed).path)
    _print_row('shooting, RK4, 150 nodes', paper.seconds, paper.seconds, error)
    reference = engine(managed, REFINED).path
    for shear, bending in counts:
        run = best_of_three(engine, managed, both(shear, bending))
        name = f'strain modes, {shear} shear + {bending} bending'
        _print_row(name, run.seconds, paper.seconds, farthest(run.path, reference))
    if managed.steps < release.steps:
        print(f'Shooting fails at {1e3 * release.dt * (managed.steps + 1):g} ms; strain modes '
              f'go on to {1e3 * release.dt * release.steps:g} ms:')
        reference = engine(release, REFINED).path
        for shear, bending in counts:
            run = best_of_three(engine, release, both(shear, bending))
            assert len(run.path) == release.steps
            name = f'strain modes, {shear} shear + {bending} bending'
            _print_row(name, run.seconds, None, farthest(run.path, reference))


def _print_row(name: str, seconds: float, paper: float | None, error: float) -> None:
    ratio = f'{paper / seconds:11.1f}' if paper else f'{"-":>11}'
    print(f'{name:36} {1e3 * seconds:9.1f} {ratio} {1.0 / seconds:12.1f} {1e3 * error:9.1e}')


def main() -> None:
    """Print the tables."""
    compare("Till's release", TILL, [(0, 4), (2, 4), (2, 5), (4, 6), (4, 8)], most=100)
    hard = [(2, 5), (3, 6), (3, 8)]
    compare('Hard release', HARD, hard, most=100)
    compare('Hard release', HARD._replace(scheme='backward_euler'), hard, most=2000)
    compare('Hard release', HARD._replace(dt=5e-3, steps=200), hard, most=100)


if __name__ == '__main__':
    main()
