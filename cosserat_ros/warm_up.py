"""
Compile the numerics into the cache on disk, so that no node has to: run at installation.

    python -m cosserat_ros.warm_up
"""

from __future__ import annotations

import inspect

import numpy as np

from . import lie

# An argument of each name that the kernels of `lie` have.
_SAMPLES = {
    'w': np.ones(3), 'theta': np.ones(3), 'sigma': np.ones(3), 'xi': np.ones(6),
    'R': np.eye(3), 'W': np.eye(3), 'g': np.eye(4), 'Xi': np.eye(4), 'q': np.ones(4),
}


def warm_up() -> None:
    """Call every public kernel once with the types that the library uses."""
    for name, function in vars(lie).items():
        if not name.startswith('_') and getattr(function, '__module__', '') == lie.__name__:
            function(*(_SAMPLES[argument] for argument in inspect.signature(function).parameters))


if __name__ == '__main__':
    warm_up()
