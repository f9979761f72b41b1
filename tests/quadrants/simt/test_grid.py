"""qd.simt.grid: a value that one block leaves for another, after a fence."""

import numpy as np
import pytest

import dsl.quadrants as qd

pytestmark = pytest.mark.usefixtures("running")


@qd.kernel
def last_block_adds(parts: qd.types.ndarray(), done: qd.types.ndarray(), total: qd.types.ndarray()):
    qd.loop_config(block_dim=32)
    for i in range(256):
        part = qd.simt.subgroup.reduce_all_add(i)
        if i % 32 == 0:
            parts[qd.block_idx()] = part
            qd.simt.grid.mem_fence()
            if qd.atomic_add(done[0], 1) == 7:
                qd.simt.grid.mem_fence()
                for k in range(8):
                    total[0] += parts[k]


def test_the_last_block_reads_what_the_others_wrote():
    parts, done, total = (np.zeros(count, np.int32) for count in (8, 1, 1))
    last_block_adds(parts, done, total)
    assert parts.tolist() == np.arange(256).reshape(8, 32).sum(1).tolist() and total[0] == 255 * 128


def test_its_old_name_warns():
    @qd.kernel
    def old():
        for _ in range(1):
            qd.simt.grid.memfence()

    with pytest.warns(DeprecationWarning, match="use qd.simt.grid.mem_fence"):
        old()
