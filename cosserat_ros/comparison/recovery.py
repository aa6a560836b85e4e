"""
Bags that were cut off: a recorder that is killed leaves no metadata.yaml, and no end of its file.

An MCAP file is a magic, records (operation, length, content) and the magic again. What is whole of
one that was cut off is copied, and an end without an index is put to it: readers then scan it.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
import os
from pathlib import Path
import shutil
import struct
from tempfile import TemporaryDirectory
from typing import NamedTuple

METADATA = 'metadata.yaml'
STORAGES = '.mcap', '.db3'
MAGIC = b'\x89MCAP0\r\n'
RECORD = struct.Struct('<BQ')  # operation and length [bytes] that begin a record
FOOTER, DATA_END = 0x02, 0x0F  # operations from which on there is only an index
END = RECORD.pack(DATA_END, 4) + bytes(4) + RECORD.pack(FOOTER, 20) + bytes(20) + MAGIC


class Source(NamedTuple):
    """What can be read of a bag."""

    paths: list[Path]
    files: list[Path]  # that they are made of
    recovered: bool    # whether something may be missing


@contextmanager
def readable(path: Path) -> Iterator[Source]:
    """
    Give what can be read of a bag, for as long as a block lasts.

    Parameters
    ----------
    path : Path
        Folder or file of a bag. A file is read with all others of its bag, if it has metadata.

    """
    folder = path if path.is_dir() else path.parent
    if (folder / METADATA).exists():
        yield Source([folder], sorted(f for f in folder.iterdir() if f.is_file()), False)
        return
    files = [path] if path != folder else sorted(
        f for f in folder.iterdir() if f.is_file() and f.suffix in STORAGES)
    with TemporaryDirectory() as scratch:
        paths = [_completed(file, Path(scratch)) for file in files]
        yield Source(paths, files, path == folder or paths != files)


def _completed(path: Path, scratch: Path) -> Path:
    """Return a file as it is, or if it was cut off a copy of what is whole of it."""
    with path.open('rb') as file:
        size = file.seek(0, os.SEEK_END)
        file.seek(max(0, size - len(MAGIC)))
        ended = file.read() == MAGIC
        file.seek(0)
        if ended or file.read(len(MAGIC)) != MAGIC:
            return path
        end = file.tell()
        while len(head := file.read(RECORD.size)) == RECORD.size:
            operation, length = RECORD.unpack(head)
            if operation in (FOOTER, DATA_END) or length > size - file.tell():
                break
            end = file.seek(length, os.SEEK_CUR)
    copy = scratch / path.name
    shutil.copyfile(path, copy)
    with copy.open('r+b') as file:
        file.truncate(end)
        file.seek(end)
        file.write(END)
    return copy
