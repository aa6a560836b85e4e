"""
The simulator node with faults put in, as a process; the name of a load brings each about.

``slow`` makes a step take `SLOW` seconds, ``broken`` has every new instant raise, ``deadly`` ends
the thread that steps. ``unseen`` and ``unsolved`` do so to what is published and solved, and with
``unbearable`` no other load can be put on.

A word on the command line is there from the first step on: with ``heavy`` each step takes `LATE`
seconds of processor time, with ``kept`` it waits for so long.
"""

import sys
import threading
import time

from cosserat_ros.nodes import simulator
from cosserat_ros.nodes.simulation import robot_publisher, stepping
from cosserat_ros.simulation.simulator import Simulator

SLOW = 10.0  # [s]: longer than a thread is waited for, twice
LATE = 0.05  # [s]: three periods


def before(kind, name, fault):
    """Have a method of a class begin with a fault, which is given the object."""
    method = getattr(kind, name)

    def faulty(self, *given, **named):
        fault(self)
        return method(self, *given, **named)
    setattr(kind, name, faulty)


def slow(sim):
    if 'heavy' in sys.argv:
        end = time.thread_time() + LATE
        while time.thread_time() < end:
            pass
    if 'kept' in sys.argv:
        time.sleep(LATE)
    if 'slow' in sim.named_loads:
        time.sleep(SLOW)
    if [t.name for t in threading.enumerate()].count('stepping') > 1:
        print('two threads step', flush=True)


def broken(stepper):
    if 'broken' in stepper._sim.named_loads:
        raise OverflowError('too long a wait')
    if 'deadly' in stepper._sim.named_loads:
        raise SystemExit('of this thread')


def unseen(publisher):
    if 'unseen' in publisher._view.named_loads:
        raise ZeroDivisionError('nothing to see')


def unsolved(sim):
    if 'unsolved' in sim.named_loads:
        raise ArithmeticError('nothing to solve')


def unbearable(sim):
    if 'unbearable' in sim.named_loads:
        raise ArithmeticError('nothing more to bear')


if __name__ == '__main__':
    before(Simulator, 'step', slow)
    before(Simulator, 'statics', unsolved)
    before(Simulator, 'set_loads', unbearable)
    before(stepping.Stepper, '_tell', broken)
    before(robot_publisher.RobotPublisher, 'publish', unseen)
    sys.exit(simulator.main())
