"""What a comparison of two robots says: as messages, and in words."""

from __future__ import annotations

from dataclasses import asdict
from typing import Optional

from builtin_interfaces.msg import Time
from diagnostic_msgs.msg import DiagnosticStatus, KeyValue

from ...comparison.live import Instant, LiveComparison
from ...comparison.metrics import RunningError
from ...msg import Alignment, Comparison, Deviation, MarkerComparison
from ...numerics.lie import quaternion_from_matrix
from ..common.conversions import fill_quaternion, fill_xyz, time_message
from .marker_places import MarkerPlaces


def deviation(error: RunningError) -> Deviation:
    """Return an error that goes on, as a message."""
    return Deviation(
        now=error.last, rmse=error.rmse, largest=error.largest, percent=error.percent,
        rmse_percent=100.0 * error.rmse / error.length)


def comparison_message(
    comparison: LiveComparison, places: MarkerPlaces, instant: Instant,
) -> Comparison:
    """Return both robots at an instant that has just been compared."""
    message = Comparison(
        tip=deviation(comparison.tip), shape=deviation(comparison.shape),
        delay=comparison.present_delay)
    message.header.frame_id = places.base_frame
    message.header.stamp = time_message(round(1e9 * instant.time))
    for k, place in enumerate(places.places):
        marker = MarkerComparison(
            rod=place.rod, arc_length=place.arc_length, seen=bool(instant.seen[k]),
            angle=float(instant.angles[k]), deviation=deviation(comparison.errors[k]))
        fill_xyz(marker.simulated, instant.simulated[k])
        fill_xyz(marker.real, instant.real[k])
        message.markers.append(marker)
    return message


def alignment_message(
    comparison: LiveComparison, places: MarkerPlaces, stamp: Time,
) -> Alignment:
    """Return how the two robots lie to each other."""
    delay, placement = comparison.delay, comparison.placement
    message = Alignment(
        delay_found=delay is not None, delay=comparison.present_delay,
        delay_uncertainty=0.0 if delay is None else delay.uncertainty,
        placement_known=placement is not None, placement_kept=comparison.placement_kept, scale=1.0)
    message.header.frame_id, message.header.stamp = places.base_frame, stamp
    if placement is not None:
        fill_xyz(message.placement.translation, placement.translation)
        fill_quaternion(message.placement.rotation, quaternion_from_matrix(placement.rotation))
        message.scale, message.residual = placement.scale, placement.residual
        message.largest_residual = placement.largest
        message.rotation_uncertainty = placement.uncertainty
    return message


def diagnosis(
    comparison: Optional[LiveComparison], still: bool, unseen: list[int],
    thresholds: tuple[float, float],
) -> DiagnosticStatus:
    """
    Return how a comparison is doing.

    Parameters
    ----------
    comparison : LiveComparison or None
        None until the simulated robot is there.
    still : bool
        Whether no simulated shape came for a while.
    unseen : list of int
        Markers that were not measured for a while.
    thresholds : (float, float)
        RMSE of tip or shape as a part of the length, that is a warning or an error [%].

    """
    if comparison is None:
        return DiagnosticStatus(
            level=DiagnosticStatus.STALE, message='no simulated shape has come yet')
    tip, shape = comparison.tip, comparison.shape
    level, words = DiagnosticStatus.OK, _in_words(tip, shape)
    worst = 100.0 * max(tip.rmse, shape.rmse) / tip.length
    for threshold, at in zip(thresholds, (DiagnosticStatus.WARN, DiagnosticStatus.ERROR)):
        if worst >= threshold:
            level, words = at, f'{_in_words(tip, shape)}: {threshold:g} % or more'
    if not shape.samples:
        level, words = DiagnosticStatus.STALE, f'nothing to compare: {_why(comparison)}'
    elif unseen and level == DiagnosticStatus.OK:
        which = ', '.join(map(str, unseen))
        level, words = DiagnosticStatus.WARN, f'{words}; not seen for a while: markers {which}'
    silent = ['simulated shape'] if still else []
    silent += ['good measurement'] if len(unseen) == len(comparison.errors) else []
    if silent:
        level, words = DiagnosticStatus.STALE, f'no {" and no ".join(silent)} came for a while'
    return DiagnosticStatus(level=level, message=words, values=[
        KeyValue(key=key, value=str(value)) for key, value in _values(comparison).items()])


def _in_words(tip: RunningError, shape: RunningError) -> str:
    return (f'RMSE of the tip {1e3 * tip.rmse:.2f} mm, of the shape {1e3 * shape.rmse:.2f} mm, '
            f'{100.0 * max(tip.rmse, shape.rmse) / tip.length:.2f} % of the length')


def _why(comparison: LiveComparison) -> str:
    """Return why nothing is compared."""
    if comparison.placement is None:
        return f'the placement of the real robot is not known yet: {comparison.placement_fault}'
    lead = comparison.lead
    if abs(lead) > comparison.settings.span:
        return (f'the measurements are stamped {abs(lead):.1f} s '
                f'{"after" if lead > 0.0 else "before"} the simulated shapes; check '
                'use_sim_time, or set the parameter stamps to "arrival"')
    return 'measurements and simulated shapes do not overlap in time yet'


def _values(comparison: LiveComparison) -> dict[str, object]:
    delay, placement, total = comparison.delay, comparison.placement, comparison.total()
    values: dict[str, object] = {}
    for name, error in (('tip', comparison.tip), ('shape', comparison.shape)):
        values |= {
            f'{name} error [m]': f'{error.last:.6f}', f'{name} RMSE [m]': f'{error.rmse:.6f}',
            f'{name} RMSE [%]': f'{100.0 * error.rmse / error.length:.3f}',
            f'{name} maximum [m]': f'{error.largest:.6f}'}
    values |= {
        'delay [s]': f'{comparison.present_delay:.6f}',
        'delay uncertainty [s]': f'{delay.uncertainty:.6f}' if delay else 'not estimated',
        'delay estimate': comparison.delay_fault or ('found' if delay else 'given'),
        'placement': comparison.placement_fault or (
            'kept' if comparison.placement_kept else 'found' if placement else 'not found'),
    }
    if placement is not None:
        rotation = quaternion_from_matrix(placement.rotation)
        values |= {
            'placement translation [m]': ' '.join(f'{x:.5f}' for x in placement.translation),
            'placement rotation x y z w': ' '.join(f'{x:.6f}' for x in rotation),
            'placement scale': f'{placement.scale:.5f}',
            'placement residual [m]': f'{placement.residual:.6f}'}
    names = {'taken': 'measurements', 'not_finite': 'not finite', 'out_of_order': 'out of order',
             'dropouts': 'dropouts', 'clock_jumps': 'clock jumps'}
    values |= {names[name]: count for name, count in asdict(total).items()}
    values['not compared'] = comparison.uncompared
    values['simulated shapes'] = comparison.simulated_counts.taken
    values['simulated clock jumps'] = comparison.simulated_counts.clock_jumps
    for k in range(len(comparison.errors)):
        counts = asdict(comparison.counts(k))
        values[f'marker {k}'] = ', '.join(
            f'{count} {names[name]}' for name, count in counts.items() if count) or 'silent'
    return values
