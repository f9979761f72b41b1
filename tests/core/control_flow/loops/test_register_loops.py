"""Register tensors that a loop's variable indexes: in registers if the trips are known, with the values of numpy."""

import itertools
import re

import numpy as np
import pytest

from dsl.core.control_flow.loops.register_loops import MOST_OPERATIONS
from dsl.cutlass import Int32, cute
from dsl.cutlass.cute.runtime import from_dlpack


@cute.kernel
def squares(out: cute.Tensor, last: Int32):
    own = cute.make_rmem_tensor(32, Int32)
    for i in range(32):
        own[i] = i * last
    for half in range(2):
        for i in range(16):
            own[half * 16 + i] += i
    for i in range(32):
        out[i] = own[i]


@cute.kernel
def sum_of_some(out: cute.Tensor, last: Int32):
    own = cute.make_rmem_tensor(32, Int32)
    own.fill(3)
    for i in range(last):
        own[i] = i
    for i in range(32):
        out[i] = own[i]


@cute.kernel
def too_long(out: cute.Tensor, last: Int32):
    own = cute.make_rmem_tensor(MOST_OPERATIONS, Int32)
    for i in range(MOST_OPERATIONS):
        own[i] = last
    out[0] = own[last]


@cute.kernel
def too_deep(out: cute.Tensor, last: Int32):
    own = cute.make_rmem_tensor(32, Int32)
    own.fill(0)
    for i in range(32):
        for j in range(32):
            for k in range(32):
                own[i] = own[i] + own[j] * k + last
    for i in range(32):
        out[i] = own[i]


@cute.kernel
def as_the_author_says(out: cute.Tensor, last: Int32):
    own = cute.make_rmem_tensor(32, Int32)
    for i in range(32, unroll=1):
        own[i] = i * last
    for i in range(32):
        out[i] = own[i]


def deep(last: int) -> list[int]:
    """What `too_deep` computes, modulo 2**32."""
    own = [0] * 32
    for i, j, k in itertools.product(range(32), repeat=3):
        own[i] = (own[i] + own[j] * k + last) & (2**32 - 1)
    return np.array(own, np.uint32).astype(np.int32).tolist()


def compiled(kernel):
    @cute.jit
    def launch(out: cute.Tensor, last: Int32):
        kernel(out, last).launch(grid=(1, 1, 1), block=(1, 1, 1))

    out = np.zeros(32, np.int32)
    function = cute.compile(launch, from_dlpack(out), 7)
    function(from_dlpack(out), 7)
    return function.__ptx__, out


@pytest.mark.slow
@pytest.mark.parametrize(
    ("kernel", "is_local", "values"),
    [
        (squares, False, [i * 7 + i % 16 for i in range(32)]),
        (sum_of_some, True, [*range(7), *[3] * 25]),
        (too_long, True, [7, *[0] * 31]),
        (too_deep, None, deep(7)),  # as LLVM likes, in a short time
        (as_the_author_says, True, [i * 7 for i in range(32)]),
    ],
)
def test_it_is_in_local_memory_only_if_an_index_stays_unknown(kernel, is_local, values):
    ptx, out = compiled(kernel)
    assert is_local in (None, bool(re.search(r"\b(ld|st)\.local\b", ptx)))
    assert out.tolist() == values
