"""Branches whose arms are functions: if_generate."""

import numpy as np
import pytest

import dsl.cutlass as cutlass
from dsl.core.errors import DSLUserCodeTypeError
from dsl.cutlass import Float32, Int32, cute, cutlass_dsl
from dsl.cutlass.cute.runtime import from_dlpack


def test_it_has_upstreams_places():
    assert cutlass_dsl.if_generate is cutlass.if_generate is cute.arch.if_generate


@cute.jit
def branches(out: cute.Tensor, n: Int32):
    def put(at):
        out[at] = n

    cutlass.if_generate(n > 2, lambda: put(0))
    cutlass.if_generate(n > 2, put, lambda at: put(at + 1), [1])
    out[3] = cutlass.if_generate(n > 2, lambda x: x + 1, lambda x: x - 1, [n], [Int32])
    pair = cutlass.if_generate(n > 2, lambda: (n, 1.5), lambda: [7, 2.5], return_types=[Int32, Float32])
    out[4], out[5] = pair[0], Int32(pair[1] * 2)
    if cutlass.const_expr(cutlass.if_generate(True, lambda: put(6)) is None):
        out[7] = 1


@pytest.mark.parametrize("n, expected", [(3, [3, 3, 0, 4, 3, 3, 3, 1]), (2, [0, 0, 2, 1, 7, 5, 2, 1])])
def test_one_arm_runs_and_gives_its_values(n, expected):
    out = np.zeros(8, np.int32)
    branches(from_dlpack(out), n)
    assert out.tolist() == expected


def test_a_body_that_gives_too_little_is_refused():
    @cute.jit
    def nothing(n: Int32):
        cutlass.if_generate(n > 2, lambda: None, lambda: 1, return_types=[Int32])

    @cute.jit
    def no_other(n: Int32):
        cutlass.if_generate(n > 2, lambda: 1, return_types=[Int32])

    with pytest.raises(DSLUserCodeTypeError, match="must give 1 numbers, as return_types lists, got None"):
        nothing(3)
    with pytest.raises(DSLUserCodeTypeError, match="no values where the condition is false"):
        no_other(3)
