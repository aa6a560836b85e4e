"""What the log says where real time is not kept."""

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
