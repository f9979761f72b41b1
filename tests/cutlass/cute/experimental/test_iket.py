"""Marks for a profiler: they are accepted and make no code, and a wrong one is named."""

import numpy as np
import pytest

from dsl.core.errors import DSLUserCodeError
from dsl.cutlass import cute
from dsl.cutlass.cute.experimental import iket
from dsl.cutlass.cute.runtime import from_dlpack


@cute.kernel
def marked(out: cute.Tensor):
    iket.range_push("all")
    token = iket.sentinel_token()
    for i in range(out[1]):
        token = iket.range_start("trip", payload=i)
        out[0] = i
        iket.range_end(token)
    iket.mark("done", out[0])
    iket.range_pop()


@cute.kernel
def misnamed(out: cute.Tensor):
    iket.mark(3)


@cute.jit
def host(out: cute.Tensor):
    marked(out).launch(grid=(1, 1, 1), block=(1, 1, 1))


@cute.jit
def wrong(out: cute.Tensor):
    misnamed(out).launch(grid=(1, 1, 1), block=(1, 1, 1))


def test_marks_are_taken_and_what_is_none_is_named():
    out = np.array([0, 3], np.int32)
    host(from_dlpack(out))
    assert list(out) == [2, 3]
    with pytest.raises(DSLUserCodeError, match="the name of an event must be text, got 3"):
        wrong(from_dlpack(out))
