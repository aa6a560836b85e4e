"""
Run benchmarks and put what they print into docs/measured.md.

    environment/enter python docs/make_measured.py [names of benchmarks]

Run by `make tables`. What one prints goes between a line ``<!-- benchmark: name -->``, with
arguments if it takes any, and the next ``<!-- end -->``; all else is written by hand. A benchmark
that fails leaves its table as it was.
"""

from __future__ import annotations

from datetime import date
import os
from pathlib import Path
import platform
import re
import subprocess
import sys

import numba

ROOT = Path(__file__).resolve().parent.parent
PAGE = ROOT / 'docs' / 'measured.md'
MARK = re.compile(r'<!-- benchmark: (\w+)( [^>]*)? -->\n.*?<!-- end -->', re.S)


def machine() -> str:
    """Return what it runs on, in a line."""
    models = re.findall(r'^model name\s*: (.*)', Path('/proc/cpuinfo').read_text(), re.M)
    commit = subprocess.run(
        ['git', 'rev-parse', '--short', 'HEAD'], cwd=ROOT, capture_output=True, text=True,
        check=False).stdout.strip() or 'no commit'
    return (f'{date.today()}, commit {commit}, {len(models)} cores of {models[0]}, '
            f'Python {platform.python_version()}, numba {numba.__version__}')


def printed_by(name: str, arguments: str) -> str | None:
    """Return what a benchmark prints, None if it fails."""
    print(f'{name}{arguments} ...', flush=True)
    ran = subprocess.run(
        [sys.executable, str(ROOT / 'benchmarks' / f'{name}.py'), *arguments.split()],
        stdout=subprocess.PIPE, text=True, check=False, cwd=ROOT,
        env={**os.environ, 'OPENBLAS_NUM_THREADS': '1'})
    if ran.returncode:
        print(f'{name} failed: its table is left as it was', file=sys.stderr)
        return None
    lines = [line.rstrip() for line in ran.stdout.rstrip().splitlines()]
    return '\n'.join(lines)


def main() -> int:
    """Renew the tables of the benchmarks that are named, or all of them."""
    wanted, failed = set(sys.argv[1:]), 0
    known = {name for name, _ in MARK.findall(PAGE.read_text())}
    if wanted - known:
        print(f'no table of {", ".join(sorted(wanted - known))}; there are those of '
              f'{", ".join(sorted(known))}', file=sys.stderr)
        return 2
    for name, arguments in MARK.findall(PAGE.read_text()):
        if wanted and name not in wanted:
            continue
        text = printed_by(name, arguments)
        if text is None:
            failed += 1
            continue
        block = (f'<!-- benchmark: {name}{arguments} -->\n{machine()}:\n\n```\n{text}\n```\n'
                 '<!-- end -->')
        begin = re.escape(f'<!-- benchmark: {name}{arguments} -->')
        PAGE.write_text(re.sub(
            rf'{begin}\n.*?<!-- end -->', lambda _, block=block: block,  # type: ignore[misc]
            PAGE.read_text(), count=1, flags=re.S))
    return int(failed > 0)


if __name__ == '__main__':
    sys.exit(main())
