"""Fit parameters of a robot to recordings, and write the robot as a new file."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
import sys

from ..calibration.calibration import fit, load, Misfit, scores
from ..calibration.parameters import of_map, ParameterSet
from ..calibration.provenance import map_file, provenance, robot_file
from ..calibration.scale_out import Store, workers
from ..comparison.maps import load_map
from ..comparison.recordings import read
from ..description.robot import load as load_robot
from .command import add_workers, check_writable, exit_code
from .progress import Progress


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command; return its exit code."""
    parser = argparse.ArgumentParser(prog='cosserat calibrate', description=__doc__)
    parser.add_argument('calibration', type=Path,
                        help='YAML file: robot, recordings and parameters to fit')
    parser.add_argument('--data', type=Path, help='folder of the recordings; that of the file '
                        'if not given')
    parser.add_argument('--output', type=Path, default=Path('calibrated.yaml'),
                        help="the new robot's file (default: %(default)s); where the map was "
                        'fitted too, it is written beside it, as <name>_map.yaml')
    add_workers(parser)
    parser.add_argument('--resume', type=Path, help='file of finished starts, which are skipped')
    given = parser.parse_args(arguments)
    return exit_code(
        'calibrate', lambda: calibrate(
            given.calibration, given.data or given.calibration.parent, given.output,
            given.processes, given.cluster, given.resume),
        f'finished starts are in {given.resume}; the same command continues from there'
        if given.resume else 'nothing was written')


def calibrate(
    path: Path, data: Path, output: Path, processes: int | None = None,
    cluster: str | None = None, resume: Path | None = None,
) -> int:
    """Fit what a file says to the recordings in a folder, and write the robot."""
    calibration, store = load(path), Store(resume)
    check_writable(output)
    robot = load_robot(path.parent / calibration.robot)
    if calibration.modes is not None:
        robot = replace(robot, modes=calibration.modes)
    channels = load_map(path.parent / calibration.map)
    channels.check_robot(robot)
    parameters = ParameterSet(calibration.parameters, robot, channels)
    train, validate = ([read(data / name, channels, robot) for name in names]
                       for names in (calibration.train, calibration.validate))
    length = max(rod.length for rod in robot.rods.values())
    for r in (*train, *validate):
        print(f'{r.name}: {r.tally}')
    with Progress('calibrate') as progress, workers(processes, cluster) as (pool, count):
        misfit = Misfit(
            parameters, train, calibration.noise, calibration.align, calibration.hold_out,
            pool, count, calibration.rotation_noise)
        progress(f'{sum(map(len, train))} samples, {len(parameters.names)} parameters')
        result = fit(misfit, calibration.starts, calibration.seed, calibration.most, progress,
                     store)
        result = result._replace(scores=[
            *scores(misfit, result.values, train, length, 'train', calibration.hold_out),
            *scores(misfit, result.values, validate, length, 'validate')])
    print('\n'.join(provenance(calibration, result, [*train, *validate])))
    told = parameters, calibration, result, [*train, *validate]
    output.write_text(robot_file(path.parent / calibration.robot, *told))
    print(f'wrote {output}')
    if any(map(of_map, parameters.places)):
        beside = output.with_name(f'{output.stem}_map.yaml')
        beside.write_text(map_file(path.parent / calibration.map, *told))
        print(f'wrote {beside}')
    return 0


if __name__ == '__main__':
    sys.exit(main())
