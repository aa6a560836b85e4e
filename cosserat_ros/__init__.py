"""
Cosserat-rod simulation and control of tendon, fluidic and parallel continuum robots.

The library needs no ROS; the nodes in :mod:`cosserat_ros.nodes` wrap it in ROS 2.
"""

from pkgutil import extend_path

# The generated interfaces (cosserat_ros.msg, cosserat_ros.srv) live in the installed package of
# the same name: find them also when Python runs from the source tree.
__path__ = extend_path(__path__, __name__)

__version__ = '0.1.0'
