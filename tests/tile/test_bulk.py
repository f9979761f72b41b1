"""CopyBulkG2SOp and CopyBulkS2GOp: NVIDIA's values, and what is refused."""

from pathlib import Path

import numpy as np
import pytest

from dsl.core.errors import DSLUserCodeError
from dsl.cutlass import Constexpr, Float32, Int64, cute, memory
from dsl.cutlass.cute.nvgpu import cpasync
from dsl.cutlass.cute.runtime import from_dlpack

PROGRAM = Path(__file__).with_name("bulk_program.py")


@pytest.mark.slow
def test_values_are_upstreams(both):
    ours, theirs = both(PROGRAM)
    assert theirs.status == 0, theirs.errors
    assert theirs.output.count("\n") == 24 and ours.output == theirs.output


@cute.kernel
def kernel(source: cute.Tensor, call: Constexpr):
    smem = memory.SmemAllocator()
    box, barrier = smem.allocate_tensor(Float32, cute.make_layout(64), 128), smem.allocate_array(Int64, 1)
    call(source, box, barrier)


@cute.jit
def host(source: cute.Tensor, call: Constexpr):
    kernel(source, call).launch(grid=1, block=32)


def load(bits=0):
    return cute.make_copy_atom(cpasync.CopyBulkG2SOp(), Float32, num_bits_per_copy=bits)


def part(tensor, shape, stride=None):
    return cute.make_tensor(tensor.iterator, cute.make_layout(shape, stride=stride))


REFUSED = [
    (lambda g, s, b: load(96), "a bulk copy moves a multiple of 128 bits, whole elements of Float32, got 96"),
    (lambda g, s, b: cute.copy(load(), g, s), "needs the mbarrier that tells when it is there"),
    (lambda g, s, b: cute.copy(load(), s, g, mbar_ptr=b), "the source of this bulk copy is a tensor in gmem"),
    (lambda g, s, b: cute.copy(load(), part(g, 3), part(s, 3), mbar_ptr=b), "have 12 contiguous bytes on both sides"),
    (
        lambda g, s, b: cute.copy(load(256), part(g, (4, 8), (1, 8)), part(s, (4, 8)), mbar_ptr=b),
        "have 16 contiguous bytes on both sides",
    ),
    (lambda g, s, b: cute.copy(load(), part(g, 32), part(s, 64), mbar_ptr=b), "needs as many elements in each mode"),
    (lambda g, s, b: cute.copy(load(), cute.domain_offset(1, g), s, mbar_ptr=b), "and of this one only 4 is known"),
    (lambda g, s, b: cute.copy(load(), g, s, pred=g, mbar_ptr=b), "bulk copies have no predicate"),
]


@pytest.mark.parametrize("call, text", REFUSED, ids=range(len(REFUSED)))
def test_what_a_bulk_copy_cannot_do_is_refused(call, text):
    with pytest.raises(DSLUserCodeError) as caught:
        host(from_dlpack(np.zeros(64, np.float32), assumed_align=16), call)
    assert text in str(caught.value) and "test_bulk.py" in str(caught.value) and "fix: " in str(caught.value)
