"""A fitted robot as a YAML file that tells where its numbers come from."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime, timezone
import io
import math
from pathlib import Path
from typing import Any

from ruamel.yaml import YAML

from .. import __version__
from ..comparison.recordings import Recording
from ..description.documents import document
from .calibration import Calibration, Result, Score
from .parameters import ParameterSet


def robot_file(
    parameters: ParameterSet, calibration: Calibration, result: Result,
    recordings: Sequence[Recording],
) -> str:
    """
    Return the text of the fitted robot's file: comments, and what `robot.load` takes as it is.

    Parameters
    ----------
    parameters : ParameterSet
    calibration : Calibration
    result : Result
    recordings : sequence of Recording
        All that were used.

    """
    robot = parameters.at(result.values).robot
    return _commented(provenance(calibration, result, recordings)) + _yaml(
        document(robot, defaults=False))


def map_file(
    parameters: ParameterSet, calibration: Calibration, result: Result,
    recordings: Sequence[Recording],
) -> str:
    """Return the text of the map with the fitted scales and offsets, likewise."""
    channels = parameters.at(result.values).channels
    return _commented(provenance(calibration, result, recordings)) + _yaml(
        document(channels, defaults=False))


def provenance(
    calibration: Calibration, result: Result, recordings: Sequence[Recording],
) -> list[str]:
    """Return where a fitted robot's numbers come from, in lines."""
    now = datetime.now(timezone.utc).strftime('%Y-%m-%d %H:%M UTC')
    lines = [
        f'Fitted by cosserat_ros {__version__} on {now} to recordings:',
        *(f'  {r.name}: {len(r)} samples, SHA-256 {r.digest}' for r in recordings),
        f'from {Path(calibration.robot).name}; {len(result.values)} parameters, '
        f'{result.iterations} iterations, {len(result.costs)} starts, sensitivities '
        + ('exact' if result.exact else 'by differences'),
        'values with their 95 % confidence intervals, if what is left were white noise:',
        *(f'  {x.name} = {x.value:.6g} +- {x.half:.2g}' + (' (at its bound)' if x.at_bound else '')
          for x in result.intervals),
        'errors [mm]:', *(f'  {line}' for line in score_lines(calibration, result.scores))]
    return lines + [f'warning: {w}' for w in result.warnings]


def score_lines(calibration: Calibration, scores: Sequence[Score]) -> list[str]:
    """Return a table of errors [mm], in the metric that was fitted; of rotations [deg]."""
    lines = ['recording             used      samples  rmse   max    % of length  ms per sample']
    if any(score.angles for score in scores):
        lines[0] += ', angle rms, max [deg]'
    for score in scores:
        s, failed = score.summary, f', {score.failed} not solved' if score.failed else ''
        if s is None:
            lines.append(f'{score.name:<21} {score.use:<9} {0:>7}  -{failed}')
            continue
        rmse, largest = ((s.rmse_without_offset, s.largest_without_offset)
                         if calibration.align == 'offset' else (s.rmse, s.largest))
        percent = s.percent * rmse / s.rmse if s.rmse > 0.0 else 0.0
        lines.append(f'{score.name:<21} {score.use:<9} {s.samples:>7}  {1e3 * rmse:<6.3f} '
                     f'{1e3 * largest:<6.2f} {percent:<11.2f}  {1e3 * score.seconds:.2f}'
                     f'{_angles(score)}{failed}')
    return lines


def _angles(score: Score) -> str:
    """Return the errors of rotations, where there are any."""
    a = score.angles
    return '' if a is None else f', {math.degrees(a.rms):.3f}, {math.degrees(a.largest):.3f}'


def _commented(lines: Sequence[str]) -> str:
    return ''.join(f'# {line}\n' for line in lines)


def _yaml(node: Any) -> str:
    stream, yaml = io.StringIO(), YAML()
    yaml.default_flow_style = None
    yaml.width = 95
    yaml.dump(node, stream)
    return stream.getvalue()
