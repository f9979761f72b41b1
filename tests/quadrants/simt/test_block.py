"""qd.simt.block: threads of a block that meet, and meetings that not all of them get to."""

import numpy as np
import pytest

import dsl.quadrants as qd
from dsl.core.diagnosis.unsupported_names import UnsupportedName
from dsl.launch.call.limits.launch_limits import DivergentCollective
from dsl.quadrants.errors.errors import QuadrantsCompilationError

pytestmark = pytest.mark.usefixtures("running")


@qd.kernel
def reversed_in_blocks(a: qd.types.ndarray(), b: qd.types.ndarray()):
    qd.loop_config(block_dim=64)
    for i in range(256):
        a[i] = i
        qd.simt.block.mem_fence()
        qd.simt.block.sync()
        b[i] = a[i ^ 63] * 1000 + qd.simt.block.thread_idx()


def test_a_block_meets():
    a, b = np.zeros(256, np.int32), np.zeros(256, np.int32)
    reversed_in_blocks(a, b)
    i = np.arange(256)
    assert b.tolist() == ((i ^ 63) * 1000 + i % 64).tolist()


@qd.kernel
def some_threads(k: qd.Template):
    for i in range(128):
        if qd.simt.block.thread_idx() < k:
            qd.simt.block.sync()


@qd.kernel
def odd_threads(k: qd.Template):
    for i in range(128):
        if qd.simt.block.thread_idx() % k == 0:
            qd.simt.block.sync()


@qd.kernel
def one_iteration(k: qd.Template):
    for i in range(128):
        if k or i == 5:
            qd.simt.block.sync()


@qd.kernel
def trips_of_their_own(k: qd.Template):
    for i in range(128):
        for j in range(qd.simt.block.thread_idx() * k + 1):
            qd.simt.block.sync()


@pytest.mark.parametrize(
    "kernel, wrong, right",
    [(some_threads, 16, 128), (odd_threads, 2, 1), (one_iteration, False, True), (trips_of_their_own, 1, 0)],
)
def test_a_meeting_that_not_all_get_to_is_refused(kernel, wrong, right):
    with pytest.raises(QuadrantsCompilationError, match="waits for all 128 threads of the block") as raised:
        kernel(wrong)
    assert "\nfix: " in str(raised.value) and str(raised.value).count("test_block.py") == 2
    assert isinstance(raised.value, DivergentCollective) and raised.value.id == "DIVERGENT_COLLECTIVE"
    kernel(right)


def test_missing_names_are_refused_by_name():
    with pytest.raises(UnsupportedName, match=r"quadrants.simt.block.sync_all_nonzero is not part of this compiler"):
        qd.simt.block.sync_all_nonzero(1)
    with pytest.raises(UnsupportedName, match=r"quadrants.simt.subgroup.elect is not part"):
        qd.simt.subgroup.elect()
