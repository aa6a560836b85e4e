"""
Many tasks at once: on processes of this machine, or on a Dask cluster by its address.

Both are executors of :mod:`concurrent.futures`, so that whoever uses them does not know which, and
the results are the same. What is finished can be kept in a file, and is not done again.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import as_completed, Executor, ProcessPoolExecutor
from contextlib import contextmanager
import hashlib
import json
import multiprocessing
import os
from pathlib import Path
from typing import Any

from ..checked import check_number
from ..errors import CosseratError

PATIENCE = 30.0  # [s] to wait for a cluster


class NoCluster(CosseratError):
    """A cluster that cannot be used, for the reason given."""


@contextmanager
def workers(processes: int | None = None, cluster: str | None = None) -> Iterator[
        tuple[Executor, int]]:
    """
    Give an executor, and how many tasks it does at once.

    Parameters
    ----------
    processes : int, optional
        Of this machine; as many as it has cores if not given.
    cluster : str, optional
        Address of the scheduler of a Dask cluster, as ``tcp://host:8786``.

    """
    if cluster is None:
        count = int(check_number('processes', processes or os.cpu_count() or 1, least=1.0))
        # Forked, they share the compiled code that is loaded here.
        with ProcessPoolExecutor(count, mp_context=multiprocessing.get_context('fork')) as pool:
            yield pool, count
        return
    try:
        from distributed import Client
    except ImportError:
        raise NoCluster('to use a cluster install distributed (pip install distributed)') from None
    try:
        client = Client(cluster, timeout=PATIENCE)
    except (OSError, ValueError) as error:
        raise NoCluster(f'no cluster at {cluster}: {error}') from None
    with client:
        yield client.get_executor(pure=False), max(1, sum(client.ncores().values()))


class Store:
    """
    Results in a file of JSON lines, each with the digest of its task.

    Parameters
    ----------
    path : Path, optional
        Where they are kept; nowhere if not given. What is there is taken as done.

    """

    def __init__(self, path: Path | None = None) -> None:
        self._path = path
        self._known: dict[str, Any] = {}
        if path is None or not path.exists():
            return
        for line in path.read_text(encoding='utf-8').splitlines():
            try:
                entry = json.loads(line)
                self._known[entry['digest']] = entry['result']
            except (ValueError, KeyError, TypeError):
                continue  # cut off where the last run ended
        text = path.read_bytes()
        if text and not text.endswith(b'\n'):
            with path.open('ab') as file:
                file.write(b'\n')

    def __contains__(self, digest: str) -> bool:
        return digest in self._known

    def __getitem__(self, digest: str) -> Any:
        return self._known[digest]

    def add(self, digest: str, task: Any, result: Any) -> None:
        """Keep a result, on the disk at once."""
        self._known[digest] = result
        if self._path is not None:
            with self._path.open('a', encoding='utf-8') as file:
                file.write(json.dumps({'digest': digest, 'task': task, 'result': result}) + '\n')


def digest_of(*parts: Any) -> str:
    """Return the SHA-256 of things that JSON can write."""
    return hashlib.sha256(json.dumps(parts, sort_keys=True).encode()).hexdigest()


def run(
    function: Callable[[Any, Any], Any], common: Any, tasks: Sequence[Any], pool: Executor,
    store: Store, progress: Callable[[int, int], None] = lambda done, total: None,
) -> list[Any]:
    """
    Return what a function makes of what is common and of each task, in the order of tasks.

    Parameters
    ----------
    function : callable
        Of a module, so that other processes find it.
    common, tasks
        What JSON can write.
    pool : Executor
    store : Store
        What it knows is not done again.
    progress : callable
        Is told how many of how many are done.

    """
    begin = digest_of(f'{function.__module__}.{function.__qualname__}', common)
    digests = [digest_of(begin, task) for task in tasks]
    open_tasks = {d: task for d, task in zip(digests, tasks) if d not in store}
    waiting = {pool.submit(function, common, task): d for d, task in open_tasks.items()}
    progress(len(tasks) - len(waiting), len(tasks))
    for k, future in enumerate(as_completed(waiting)):
        store.add(waiting[future], open_tasks[waiting[future]], future.result())
        progress(len(tasks) - len(waiting) + k + 1, len(tasks))
    return [store[d] for d in digests]
