"""
Recorders one after another in one process, each in a namespace ``/run_<k>`` of its own.

    python recorders.py folder count

A signal ends one and begins the next.
"""

import sys

from cosserat_ros.nodes import recorder

if __name__ == '__main__':
    for k in range(int(sys.argv[2])):
        code = recorder.main([
            '--ros-args', '-r', f'__ns:=/run_{k}', '-p', f'folder:={sys.argv[1]}',
            '-p', f'name:=run_{k}'])
        if code:
            sys.exit(code)
