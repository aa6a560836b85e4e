"""
The parts of numba that arrays and references in kernels are made of.

numba's documents on extending it use most of them, but none is promised to stay where it is: a
numba that lacks one is named here, with those that are known to have it. What is only faster with
private parts of numba is guarded where it is used, and slower without them.
"""

from __future__ import annotations

import numba

__all__ = ['AttributeTemplate', 'cgutils', 'infer_getattr', 'make_array', 'models',
           'populate_array']

try:
    from numba.core import cgutils
    from numba.core.datamodel import models
    from numba.core.typing.templates import AttributeTemplate, infer_getattr
    from numba.np.arrayobj import make_array, populate_array
except ImportError as error:
    raise ImportError(
        f'cosserat_ros does not run with numba {numba.__version__} ({error}): '
        'install one from 0.58.1 to 0.68.1') from error
