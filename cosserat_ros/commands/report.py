"""How far a simulated robot is from recordings of a real one, as a page with plots and a table."""

from __future__ import annotations

import base64
from collections.abc import Sequence
import html
import io
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from ..calibration.prediction import Prediction
from ..checks.errors import CosseratError
from ..comparison.alignment import align_points, Alignment
from ..comparison.metrics import angle_errors, marker_errors, summarise, summarise_angles
from ..comparison.recordings import Recording

ALIGNMENTS = ('none', 'offset', 'rigid')
STYLE = """
body { font-family: sans-serif; max-width: 70em; margin: 2em auto; color: #222 }
table { border-collapse: collapse } td, th { padding: 0.3em 0.8em; border: 1px solid #ccc }
td { text-align: right } td:first-child, th { text-align: left } img { max-width: 100% }
"""


class Missing(CosseratError):
    """A library that is needed for this and not installed."""


class Compared(NamedTuple):
    """A recording beside what a model says of it, in one frame."""

    recording: Recording
    simulated: np.ndarray  # (T, M, 3) [m]
    real: np.ndarray       # (T, M, 3) [m], moved to the simulated robot's frame
    used: np.ndarray       # (T, M) bool: points that were seen, at samples that were solved
    angles: np.ndarray     # (T, M) of the real rotations from the simulated ones [rad]
    turned: np.ndarray     # (T, M) bool: rotations that were seen, at samples that were solved
    moved: str             # how, in words
    seconds: float         # per sample
    failed: int


def line_up(recording: Recording, found: Prediction, align: str) -> Compared:
    """
    Put a recording beside a prediction.

    Parameters
    ----------
    recording : Recording
    found : Prediction
    align : str
        'none': as measured. 'offset': moved by the mean difference, rotations as measured.
        'rigid': by the rigid motion that takes the points nearest (Horn), rotations too.

    """
    used, real = recording.seen & found.solved[:, None], recording.positions.copy()
    moved, turn = 'not moved', np.eye(3)
    if align == 'none' or not used.any():
        pass
    elif align == 'offset':
        offset = (found.positions - real)[used].mean(axis=0)
        real[used] += offset
        moved = f'moved by {_words(1e3 * offset)} mm'
    else:
        motion: Alignment = align_points(real[used], found.positions[used])
        real[used], turn = motion.apply(real[used]), motion.rotation
        angle = np.degrees(np.arccos(np.clip(0.5 * (np.trace(motion.rotation) - 1.0), -1.0, 1.0)))
        moved = f'moved by {_words(1e3 * motion.translation)} mm and turned by {angle:.2f} degrees'
    return Compared(
        recording, found.positions, real, used,
        angle_errors(found.rotations, turn @ recording.rotations),
        recording.turned & found.solved[:, None], moved, found.seconds, found.failed)


def _words(vector: np.ndarray) -> str:
    return ', '.join(f'{x:.2f}' for x in vector)


# --- Numbers -------------------------------------------------------------------------------------

HEADINGS = ('', 'samples', 'RMSE [mm]', 'mean [mm]', 'max [mm]', '% of length', 'not solved')
OF_ANGLES = ('angle RMS [deg]', 'angle max [deg]')  # last, where rotations were recorded


def table(compared: Sequence[Compared], length: float) -> list[tuple[str, ...]]:
    """
    Return headings and lines of errors: of each recording, its points if several, its groups.

    What was not solved is not in them, but counted.
    """
    with_angles = any(c.recording.has_rotations for c in compared)
    lines: list[tuple[str, ...]] = [HEADINGS + OF_ANGLES if with_angles else HEADINGS]
    for c in compared:
        names = list(c.recording.channels.measured)
        groups = list(dict.fromkeys(c.recording.groups))
        parts = {c.recording.name: np.ones_like(c.used)}
        for m, name in enumerate(names if len(names) > 1 else []):
            parts[f'{c.recording.name}, {name}'] = np.arange(len(names)) == m
        for group in groups if len(groups) > 1 else []:
            parts[f'{c.recording.name}, group {group}'] = np.array(
                [g == group for g in c.recording.groups])[:, None]
        lines += [
            _line(name, c, part, length) + (_angle_cells(c, part) if with_angles else ())
            for name, part in parts.items() if (c.recording.seen & part).any()]
    return lines


def _line(name: str, c: Compared, part: np.ndarray, length: float) -> tuple[str, ...]:
    """Return a line on some points at some samples, (T, M) bool."""
    used = c.used & part
    missing = str(int((c.recording.seen & part).sum() - used.sum()))
    if not used.any():
        return name, '0', '-', '-', '-', '-', missing
    s = summarise(c.simulated[used], c.real[used], length)
    return (name, str(s.samples), f'{1e3 * s.rmse:.3f}', f'{1e3 * s.mean:.3f}',
            f'{1e3 * s.largest:.3f}', f'{s.percent:.2f}', missing)


def _angle_cells(c: Compared, part: np.ndarray) -> tuple[str, ...]:
    """Return RMS and maximum of the angles of some points at some samples, (T, M) bool."""
    used = c.turned & part
    if not used.any():
        return '-', '-'
    s = summarise_angles(c.angles[used])
    return f'{np.degrees(s.rms):.3f}', f'{np.degrees(s.largest):.3f}'


# --- The page ------------------------------------------------------------------------------------

def write(folder: Path, title: str, compared: Sequence[Compared], length: float) -> Path:
    """
    Write ``report.html`` with its plots in it, and these as PNG beside it; return the page.

    Parameters
    ----------
    folder : Path
        It is made if it is not there.
    title : str
    compared : sequence of Compared
    length : float
        Of the robot [m].

    """
    plots = prepare(folder)
    parts = [f'<h1>{html.escape(title)}</h1>', _table(table(compared, length))]
    for k, c in enumerate(compared):
        r = c.recording
        parts.append(
            f'<h2>{html.escape(r.name)}</h2><p>{r.tally}, {c.failed} not solved, '
            f'{1e3 * c.seconds:.2f} ms per sample; the real robot is {html.escape(c.moved)}; '
            f'SHA-256 {r.digest}</p>')
        for name, draw in PLOTS.items():
            if draw is _angles and not r.has_rotations:
                continue
            data = _picture(plots, draw, c)
            (folder / f'{k + 1}_{name}.png').write_bytes(data)
            parts.append(f'<img alt="{name}" src="data:image/png;base64,'
                         f'{base64.b64encode(data).decode()}">')
    page = folder / 'report.html'
    page.write_text(f'<!DOCTYPE html><html lang="en"><head><meta charset="utf-8"><title>'
                    f'{html.escape(title)}</title><style>{STYLE}</style></head><body>'
                    + '\n'.join(parts) + '</body></html>\n', encoding='utf-8')
    return page


def prepare(folder: Path) -> Any:
    """Make the folder; return the drawing library, which is needed here alone."""
    try:
        from matplotlib.figure import Figure
    except ImportError:
        raise Missing('to write a report install matplotlib (pip install matplotlib)') from None
    folder.mkdir(parents=True, exist_ok=True)
    return Figure


def _table(lines: Sequence[tuple[str, ...]]) -> str:
    def row(cells: Sequence[str], tag: str) -> str:
        return '<tr>' + ''.join(f'<{tag}>{html.escape(c)}</{tag}>' for c in cells) + '</tr>'
    return ('<table>' + row(lines[0], 'th') + ''.join(row(x, 'td') for x in lines[1:])
            + '</table>')


def _picture(figure_class: Any, draw: Any, c: Compared) -> bytes:
    """Return a plot as PNG."""
    figure = figure_class(figsize=(10, 5), layout='constrained')
    draw(figure, c)
    stream = io.BytesIO()
    figure.savefig(stream, format='png', dpi=100)
    return stream.getvalue()


def _along(c: Compared) -> tuple[np.ndarray, str]:
    """Return what samples are drawn over."""
    if c.recording.dynamic:
        return c.recording.times, 'time [s]'
    return np.arange(len(c.recording)), 'sample'


def _coordinates(figure: Any, c: Compared) -> None:
    """Draw x, y and z of the last point, real and simulated."""
    x, label = _along(c)
    seen = c.used[:, -1]
    for k, axis in enumerate(figure.subplots(3, 1, sharex=True)):
        axis.plot(x[seen], 1e3 * c.real[seen, -1, k], '.', ms=2, label='real')
        axis.plot(x[seen], 1e3 * c.simulated[seen, -1, k], lw=1, label='simulated')
        axis.set_ylabel(f'{"xyz"[k]} [mm]')
    axis.set_xlabel(label)
    axis.legend()


def _errors(figure: Any, c: Compared) -> None:
    """Draw the errors of all points."""
    _over_samples(figure, c, 1e3 * marker_errors(c.simulated, c.real), c.used, 'error [mm]')


def _angles(figure: Any, c: Compared) -> None:
    """Draw the errors of all rotations."""
    _over_samples(figure, c, np.degrees(c.angles), c.turned, 'angle [deg]')


def _over_samples(
    figure: Any, c: Compared, errors: np.ndarray, used: np.ndarray, title: str,
) -> None:
    """Draw errors (T, M) of the points where they are `used`, (T, M) bool."""
    x, label = _along(c)
    axis = figure.subplots()
    for m, name in enumerate(c.recording.channels.measured):
        if used[:, m].any():
            axis.plot(x[used[:, m]], errors[used[:, m], m], lw=1, label=name)
            axis.legend()
    axis.set_xlabel(label)
    axis.set_ylabel(title)


def _paths(figure: Any, c: Compared) -> None:
    """Draw the path of the last point, from above and from the side."""
    seen = c.used[:, -1]
    for axis, (a, b) in zip(figure.subplots(1, 2), ((0, 1), (0, 2))):
        for what, p in (('real', c.real), ('simulated', c.simulated)):
            axis.plot(1e3 * p[seen, -1, a], 1e3 * p[seen, -1, b], '.', ms=2, label=what)
        axis.set_xlabel(f'{"xyz"[a]} [mm]')
        axis.set_ylabel(f'{"xyz"[b]} [mm]')
        axis.set_aspect('equal', adjustable='datalim')
    axis.legend()


PLOTS = {'coordinates': _coordinates, 'errors': _errors, 'angles': _angles, 'paths': _paths}
