"""Strip charts of one robot: where its tip is and what its actuators exert, over some seconds."""

from __future__ import annotations

from collections import deque
from collections.abc import Sequence
import colorsys
from typing import Any, NamedTuple

import numpy as np

WINDOW = 10.0           # [s] that a chart shows
SAMPLE_PERIOD = 1 / 15  # [s] between two points of a line
DRAW_PERIOD = 0.25      # [s] between two drawings
HEIGHT = 150            # [px]
LEGEND = 8              # lines that a legend names at most
Y_RANGE = {             # as wide as the lines, with zero where that is near, and never nothing
    'min': {'pad': 0.1, 'soft': 0.0, 'mode': 3}, 'max': {'pad': 0.1, 'soft': 1.0, 'mode': 3}}


class Lines(NamedTuple):
    """What one chart shows."""

    title: str
    names: Sequence[str]
    scale: float  # of its unit, in that of the samples


class Charts:
    """
    A folder of charts.

    Parameters
    ----------
    gui : viser.GuiApi
    tab : viser.GuiTabHandle
        Where the folder goes.
    title : str
        Of the folder.
    charts : sequence of Lines
        Their lines, one after another, are the numbers of a sample.

    """

    def __init__(self, gui: Any, tab: Any, title: str, charts: Sequence[Lines]) -> None:
        self._samples: deque[tuple[float, np.ndarray]] = deque()
        self._scale = np.concatenate([np.full(len(one.names), one.scale) for one in charts])
        self._drawn_at = -np.inf
        with tab:
            self._folder = gui.add_folder(title)
        with self._folder:
            self._plots = [add_plot(gui, one) for one in charts]
        self._ends = np.cumsum([len(one.names) for one in charts])[:-1]

    def wants_sample(self, now: float) -> bool:
        """Tell whether it is time for one."""
        return not self._samples or now - self._samples[-1][0] >= 0.9 * SAMPLE_PERIOD

    def add(self, sample: np.ndarray, now: float) -> None:
        """Take note of all lines' numbers at a time [s]; NaN where one is not known."""
        self._samples.append((now, sample / self._scale))
        while now - self._samples[0][0] > WINDOW:
            self._samples.popleft()

    def draw(self, now: float) -> None:
        """Bring the charts up to date, if it is time for it."""
        if now - self._drawn_at < DRAW_PERIOD or not self._samples:
            return
        self._drawn_at = now
        times = np.array([when for when, _ in self._samples]) - now
        values = np.array([sample for _, sample in self._samples]).T
        for plot, lines in zip(self._plots, np.split(values, self._ends)):
            plot.data = (times, *lines)

    def remove(self) -> None:
        """Take the folder away."""
        self._folder.remove()


def add_plot(gui: Any, lines: Lines) -> Any:
    """Add one chart to the folder that is open."""
    nothing = np.array([-WINDOW, 0.0])
    series: list[dict[str, Any]] = [{'label': 't [s]'}]
    for name, colour in zip(lines.names, colours(len(lines.names))):
        series.append({'label': name, 'stroke': colour, 'width': 1.5, 'points': {'show': False}})
    return gui.add_uplot(
        data=(nothing, *(np.full(2, np.nan) for _ in lines.names)), series=tuple(series),
        title=lines.title, height=HEIGHT, padding=(0, 12, 14, 0),
        scales={'x': {'time': False, 'range': (-WINDOW, 0.0)}, 'y': {'range': Y_RANGE}},
        axes=({'size': 24, 'font': '10px sans-serif'}, {'size': 44, 'font': '10px sans-serif'}),
        legend={'show': len(lines.names) <= LEGEND, 'live': False},
        cursor={'show': False})


def colours(count: int) -> list[str]:
    """Return so many colours that are told apart, red, green and blue for three."""
    found = [colorsys.hls_to_rgb(i / max(count, 3), 0.42, 0.75) for i in range(count)]
    return ['#' + ''.join(f'{round(255 * part):02x}' for part in one) for one in found]
