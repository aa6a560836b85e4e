"""
Many tasks at once: on processes of this machine, or on a Dask cluster by its address.

Both are executors of :mod:`concurrent.futures`, so that whoever uses them does not know which, and
the results are the same. What is finished can be kept in a file, and is not done again. Processes
end with whoever started them, however that ends.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import (
    BrokenExecutor,
    Executor,
    FIRST_COMPLETED,
    Future,
    ProcessPoolExecutor,
    wait,
)
from contextlib import contextmanager
import ctypes
import hashlib
import json
import multiprocessing
import os
from pathlib import Path
import signal
import sys
from typing import Any

from ..checks.errors import CosseratError
from ..checks.fields import check_number

PATIENCE = 30.0        # [s] to wait for a cluster
MOST_PROCESSES = 1000
AHEAD = 4              # tasks that wait for each worker, so that none is idle
PR_SET_PDEATHSIG = 1   # of Linux' prctl


class NoCluster(CosseratError):
    """A cluster that cannot be used, for the reason given."""


class LostWorker(CosseratError):
    """A worker that ended before its task did."""


class InvalidStore(CosseratError):
    """A file that is not one of results; the message names it and the line."""


@contextmanager
def workers(processes: int | None = None, cluster: str | None = None) -> Iterator[
        tuple[Executor, int]]:
    """
    Give an executor, and how many tasks it does at once.

    A block that ends with an exception ends the processes at once, whatever they are doing.

    Parameters
    ----------
    processes : int, optional
        Of this machine; as many as it has cores if not given.
    cluster : str, optional
        Address of the scheduler of a Dask cluster, as ``tcp://host:8786``.

    """
    if cluster is None:
        with _processes(processes) as given:
            yield given
        return
    try:
        from distributed import Client, KilledWorker
    except ImportError:
        raise NoCluster('to use a cluster install distributed (pip install distributed)') from None
    try:
        client = Client(cluster, timeout=PATIENCE)
    except (OSError, ValueError) as error:
        raise NoCluster(f'no cluster at {cluster}: {error}') from None
    with client:
        try:
            yield client.get_executor(pure=False), max(1, sum(client.ncores().values()))
        except KilledWorker as error:
            raise LostWorker(f'a worker of the cluster ended abruptly: {error}') from None


@contextmanager
def _processes(wanted: int | None) -> Iterator[tuple[Executor, int]]:
    """Give processes of this machine, see `workers`."""
    count = int(check_number(
        'processes', (os.cpu_count() or 1) if wanted is None else wanted, least=1.0,
        most=MOST_PROCESSES))
    others = multiprocessing.active_children()
    # Forked, they share the compiled code that is loaded here.
    pool = ProcessPoolExecutor(count, multiprocessing.get_context('fork'), _begin, (os.getpid(),))
    try:
        yield pool, count
    except BaseException as error:
        for process in multiprocessing.active_children():
            if process not in others:
                process.kill()
        if isinstance(error, BrokenExecutor):
            raise LostWorker('a worker process ended abruptly: it was killed, perhaps for want of '
                             'memory') from None
        raise
    finally:
        pool.shutdown(cancel_futures=True)


def _begin(parent: int) -> None:
    """Begin a worker: a signal to all is for its parent, whose end is its own."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    signal.signal(signal.SIGTERM, signal.SIG_DFL)
    if sys.platform == 'linux':
        ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, signal.SIGKILL)
    if os.getppid() != parent:  # which ended before it could be asked to
        os._exit(1)


class Store:
    """
    Results in a file of JSON lines, each with the digest of its task and that of all of it.

    Parameters
    ----------
    path : Path, optional
        Where they are kept; nowhere if not given. What is there is taken as done. Raises
        `InvalidStore` if it is a file of another kind, `OSError` if it cannot be written.

    """

    def __init__(self, path: Path | None = None) -> None:
        self._path = path
        self._known: dict[str, Any] = {}
        if path is not None:
            cut = _read(path, self._known) if path.is_file() else False
            self._append('\n' if cut else '')

    def __contains__(self, digest: str) -> bool:
        return digest in self._known

    def __getitem__(self, digest: str) -> Any:
        return self._known[digest]

    def add(self, digest: str, task: Any, result: Any) -> None:
        """Keep a result, in the file at once."""
        self._known[digest] = result
        entry = {'digest': digest, 'task': task, 'result': result}
        self._append(json.dumps({**entry, 'check': digest_of(entry)}) + '\n')

    def _append(self, text: str) -> None:
        if self._path is not None:
            with self._path.open('a', encoding='utf-8') as file:
                file.write(text)


BEGIN = '{"digest": "'  # of each line


def _read(path: Path, known: dict[str, Any]) -> bool:
    """
    Read the results of a file; tell whether its last line has no end.

    A line that was cut off where a run ended, or that is not what was written, is left out: its
    task is done again.
    """
    line = ''
    try:
        with path.open(encoding='utf-8', newline='\n') as file:
            for number, line in enumerate(file, start=1):
                if not line.startswith(BEGIN[:len(line.rstrip('\n'))]):
                    raise InvalidStore(f'{path}:{number}: not a file of results, which is left as '
                                       'it is: choose another')
                try:
                    entry = json.loads(line)
                    if entry.pop('check') == digest_of(entry):
                        known[entry['digest']] = entry['result']
                except (ValueError, KeyError, TypeError, AttributeError, RecursionError):
                    pass
    except UnicodeDecodeError:
        raise InvalidStore(f'{path}: not a file of results, but binary: choose another') from None
    return line != '' and not line.endswith('\n')


def digest_of(*parts: Any) -> str:
    """Return the SHA-256 of things that JSON can write."""
    return hashlib.sha256(json.dumps(parts, sort_keys=True).encode()).hexdigest()


def run(
    function: Callable[[Any, Any], Any], common: Any, tasks: Iterable[Any], pool: Executor,
    count: int, store: Store, progress: Callable[[int], None] = lambda done: None,
) -> list[Any]:
    """
    Return what a function makes of what is common and of each task, in the order of tasks.

    Parameters
    ----------
    function : callable
        Of a module, so that other processes find it.
    common, tasks
        What JSON can write. Tasks are asked for as they are done.
    pool, count
        See `workers`.
    store : Store
        What it knows is not done again.
    progress : callable
        Is told how many are done.

    """
    begin = digest_of(f'{function.__module__}.{function.__qualname__}', common)
    digests: list[str] = []
    waiting: dict[Future, tuple[str, Any]] = {}

    def keep() -> None:
        for future in wait(waiting, return_when=FIRST_COMPLETED).done:
            digest, task = waiting.pop(future)
            store.add(digest, task, future.result())
        progress(len(digests) - len(waiting))

    progress(0)
    for task in tasks:
        digests.append(digest_of(begin, task))
        if digests[-1] not in store:
            waiting[pool.submit(function, common, task)] = digests[-1], task
        elif not waiting:
            progress(len(digests))
        if len(waiting) >= AHEAD * count:
            keep()
    while waiting:
        keep()
    return [store[digest] for digest in digests]
