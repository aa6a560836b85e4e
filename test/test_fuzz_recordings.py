"""Whatever a bag or a table has gone through: a recording, or an error that names the file."""

from random import Random
import re

from conftest import FUZZ
from corruption import corrupted, misspelt
import numpy as np
import pytest
from rosbags.rosbag2 import StoragePlugin
from test_recordings import ARM, BAG_MAP, TABLE, TABLE_MAP, write_bag

from cosserat_ros.checks.errors import CosseratError
from cosserat_ros.comparison.maps import load_map
from cosserat_ros.comparison.recordings import read

BAGS = 100 * FUZZ     # of each kind
TABLES = 400 * FUZZ


@pytest.fixture
def chart(tmp_path):
    """Return a function that makes a map of its text."""
    def make(text):
        (tmp_path / 'map.yaml').write_text(text)
        return load_map(tmp_path / 'map.yaml')
    return make


def check(path, channels):
    """Read a file; return whether it could be."""
    try:
        recording = read(path, channels, ARM)
    except CosseratError as error:
        assert path.name in str(error)
        assert '\n' not in str(error)
        return False
    assert np.isfinite(recording.commands()).all()
    assert np.isfinite(recording.positions).all()
    assert (np.diff(recording.times) > 0.0).all() or not recording.dynamic
    assert recording.seen.any()
    return True


@pytest.mark.parametrize('plugin', list(StoragePlugin), ids=lambda plugin: plugin.value)
def test_fuzz_bags(chart, tmp_path, plugin):
    random, channels = Random(1), chart(BAG_MAP)
    folder = tmp_path / 'bag'
    write_bag(folder, plugin)
    files = {file: file.read_bytes() for file in folder.iterdir()}
    storage = next(file for file in files if file.suffix != '.yaml')
    taken = 0
    for _ in range(BAGS):
        for file, data in files.items():
            file.write_bytes(data)
        file = random.choice([storage, storage, storage, *files])
        file.write_bytes(corrupted(random, files[file]))
        if random.random() < 0.4:  # as a killed recorder leaves it
            (folder / 'metadata.yaml').unlink()
        taken += check(folder, channels)
    assert 0 < taken < BAGS


def test_fuzz_metadata_of_bags(chart, tmp_path):
    random, channels = Random(2), chart(BAG_MAP)
    folder = tmp_path / 'bag'
    write_bag(folder, StoragePlugin.MCAP)
    metadata = folder / 'metadata.yaml'
    text = metadata.read_text()
    for _ in range(BAGS // 2):
        metadata.write_text(misspelt(random, text, re.compile(r'[\w./]+')))
        check(folder, channels)


def test_fuzz_tables(chart, tmp_path):
    random, path = Random(3), tmp_path / 'table.csv'
    taken = 0
    for k in range(TABLES):
        channels = chart(TABLE_MAP.replace('static', 'dynamic' if k % 2 else 'static'))
        path.write_bytes(corrupted(random, TABLE.encode()) if k % 3 == 0
                         else misspelt(random, TABLE, re.compile(r'[\w.]+')).encode())
        taken += check(path, channels)
    assert 0 < taken < TABLES
