"""Values wait on the disk when they are large, and come back as they were."""

import tempfile
import tracemalloc
from pathlib import Path

import numpy as np
import pytest

from harness.fleet import shelf


def test_values_come_back_and_the_files_are_gone(tmp_path, monkeypatch):
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    kept, values = shelf.Shelf(), [np.arange(8), np.arange(1 << 20, dtype=np.int32), {"a": "x" * 100_000}]
    places = [kept.put(value) for value in values]
    assert len(list(tmp_path.rglob("*"))) == 3  # the folder, and a file for each large one
    assert all(np.array_equal(place.take(), value) for place, value in zip(places[:2], values, strict=False))
    assert places[2].take() == values[2] and len(list(tmp_path.rglob("*"))) == 1
    left = kept.put(values[1])
    kept.close()
    assert list(tmp_path.iterdir()) == []
    with pytest.raises(OSError):
        left.take()
    kept.close()


def test_few_of_many_are_in_memory():
    kept = shelf.Shelf()
    tracemalloc.start()
    try:
        places = [kept.put(np.full(1 << 20, number, np.int32)) for number in range(12)]
        assert tracemalloc.get_traced_memory()[0] < 1 << 20
        assert [int(place.take()[0]) for place in places] == list(range(12))
        assert tracemalloc.get_traced_memory()[1] < 4 * (4 << 20)
    finally:
        tracemalloc.stop()
        kept.close()


def test_a_full_disk_leaves_it_in_memory(monkeypatch):
    def full(self, data):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(Path, "write_bytes", full)
    assert shelf.Shelf().put("x" * 100_000).take() == "x" * 100_000
