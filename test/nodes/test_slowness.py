"""What the log says where real time is not kept."""

from pathlib import Path
import re
import sys

from driver import Driver
import pytest

from cosserat_ros.nodes.simulation.diagnostics import slowness


def test_steps_that_take_too_long_are_told_with_the_factor():
    words = slowness(0.4, 1.0, 2e-3, 200, 1.0)
    assert '0.40 of 1 s simulated per second' in words
    assert 'takes 5 ms of processor time, and there are 2 ms' in words
    assert 'lower step_rate' in words and 'Other programs' not in words


def test_a_busy_machine_is_told_where_steps_are_short():
    words = slowness(0.8, 1.0, 2e-3, 400, 0.04)
    assert '0.1 ms of processor time' in words
    assert 'Other programs' in words and 'lower step_rate' not in words


@pytest.mark.parametrize('fault, least, most, words, others', [
    ('heavy', 50.0, 1e3, 'lower step_rate or time_scale', 'Other programs'),
    ('kept', 0.0, 11.0, 'Other programs', 'lower step_rate or time_scale'),
])
def test_a_node_that_is_too_slow_logs_it_once_with_the_reason(
        start, fault, least, most, words, others):
    process = start(sys.executable, Path(__file__).with_name('faulty_simulator.py'), fault)
    driver = Driver(bound=60.0)
    try:
        for _ in range(3):  # seconds, in each of which periods are given up
            before = int(driver.diagnosis()[2]['overruns'])
            assert driver.spin_until(
                lambda before=before: int(driver.diagnosis()[2]['overruns']) > before, 10.0)
    finally:
        driver.close()
    line, = (one for one in process.output().splitlines() if 'cannot keep real time' in one)
    assert 'WARN' in line and words in line and others not in line
    found = re.search(r'(\S+) of 1 s simulated per second; a step takes (\S+) ms', line)
    factor, taken = map(float, found.groups())
    assert 0.0 < factor < 0.4 and least <= taken <= most
