"""A fitted robot as a YAML file that tells where its numbers come from."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime, timezone
import math
from pathlib import Path

from .. import __version__
from ..comparison.maps import RecordingMap
from ..comparison.recordings import Recording
from ..description.robot import Robot
from .calibration import Calibration, Result, Score
from .parameters import of_map, ParameterSet
from .written import rewritten


def robot_file(
    source: Path, parameters: ParameterSet, calibration: Calibration, result: Result,
    recordings: Sequence[Recording],
) -> str:
    """
    Return the text of the fitted robot's file: where its numbers come from, then the file.

    Parameters
    ----------
    source : Path
        The robot's file.
    parameters : ParameterSet
    calibration : Calibration
    result : Result
    recordings : sequence of Recording
        All that were used.

    """
    robot, _ = parameters.documents(result.values)
    places = [place for place in parameters.places if not of_map(place)]
    modes = [f'modes.{key}' for key in robot['modes']] if calibration.modes is not None else []
    return _commented(provenance(calibration, result, recordings)) + rewritten(
        source, Robot, robot, [*modes, *places])


def map_file(
    source: Path, parameters: ParameterSet, calibration: Calibration, result: Result,
    recordings: Sequence[Recording],
) -> str:
    """Return the text of the map with the fitted scales, offsets and delay, likewise."""
    _, channels = parameters.documents(result.values)
    return _commented(provenance(calibration, result, recordings)) + rewritten(
        source, RecordingMap, channels, filter(of_map, parameters.places))


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
        'values with 95 % confidence intervals: if residuals are white noise, and if they are',
        f'correlated (blocks of {result.block} samples; {result.effective:.3g} seem independent):',
        *(f'  {x.name} = {x.value:.6g} +- {x.half:.2g}, +- {x.correlated:.2g}'
          + (' (at its bound)' if x.at_bound else '') for x in result.intervals),
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

