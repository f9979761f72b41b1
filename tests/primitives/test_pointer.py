"""cutlass.Pointer: loads and stores of numbers and vectors, swizzles, masks, addresses."""

import numpy as np
import pytest

from dsl.core.errors import DSLUserCodeError
from dsl.cutlass import (
    AddressSpace,
    Array,
    Boolean,
    Float32,
    Int32,
    Int64,
    Pointer,
    Swizzle,
    Vector,
    cute,
    full,
    inttoptr,
)  # fmt: skip
from tests.primitives import kernels


def numbers(count: int = 64) -> np.ndarray:
    return np.arange(count, dtype=np.float32)


def test_numbers_and_vectors():
    def body(a, b):
        p = a.data_ptr() + 4
        assert isinstance(p, Pointer) and isinstance(cute.make_tensor(p, 4).iterator.raw_ptr(), Pointer)
        assert (p.dtype, p.space, p.alignment, str(p)) == (
            Float32,
            AddressSpace.gmem,
            4,
            "ptr<space=gmem, dtype=Float32>",
        )
        p.store(p.load(count=4, alignment=16) * 2.0, alignment=16)
        (p - 4).store(p[1] + p[Int32(2)])
        p[8] = 7
        inttoptr(p.toint() + 36, AddressSpace.gmem, Float32).store(Float32(3.0))
        (a.data_ptr(50) & -16).tospace(AddressSpace.generic).store(Float32(5.0))

    expected = numbers()
    expected[4:8] *= 2
    expected[0], expected[12], expected[13], expected[48] = expected[5] + expected[6], 7, 3, 5
    buffer = np.zeros(68, np.float32)
    start = (-buffer.ctypes.data % 16) // 4
    values = buffer[start : start + 64]
    values[:] = numbers()
    assert np.array_equal(kernels.run(body, values), expected)


def test_masks_and_gathers():
    def body(a, b):
        p, mask = a.data_ptr(), Vector.from_elements((True, b[0] > 0, False, True), Boolean)
        (p + 8).store(p.masked_load(mask, full((4,), -1.0, Float32)))
        (p + 12).masked_store(p.load(count=4), mask)
        (p + 16).store(p.masked_gather(Vector.from_elements((3, 2, 1, 40), Int32), mask))

    expected = numbers(24)
    expected[8:12], expected[[12, 15]], expected[16:20] = [0, -1, -1, 3], [0, 3], [3, 0, 0, 0]
    result = kernels.run(body, np.append(numbers(24), np.zeros(24, np.float32)), np.zeros(1, np.int32))
    assert np.array_equal(result[:24], expected)


@pytest.mark.parametrize("name", ["none", "s32b", "s64b", "s128b"])
def test_a_swizzle_permutes_bits_of_the_address(name):
    def body(a, b):
        i, _, _ = cute.arch.thread_idx()
        shared = Array(Float32, 256, space=AddressSpace.smem, alignment=1024)
        swizzle = Swizzle.from_name(name)
        if i < 64:
            shared.data_ptr(4 * i).store_swizzled(a[4 * i : 4], swizzle, 16)
        cute.arch.sync_threads()
        a[i] = shared[i]
        again = shared.data_ptr(i - i % 8).load_swizzled(swizzle, count=8)
        if again[i % 8] != Float32(i) or shared.data_ptr(i).load_swizzled(swizzle, count=1)[0] != Float32(i):
            a[i] = -1

    expected = numbers(256)
    swizzle = Swizzle.from_name(name)
    moved = np.array([swizzle(4 * i) // 4 for i in range(256)])
    permuted = np.empty_like(expected)
    permuted[moved] = expected
    assert np.array_equal(kernels.run(body, numbers(256), threads=256), permuted)


def test_volatile_and_invariant_loads_and_orders():
    def body(a, b):
        p = a.data_ptr()
        p.store(p.load(is_volatile=True) + (p + 1).load(is_invariant=True), is_volatile=True)
        (p + 2).store((p + 3).load(ordering="acquire", syncscope="gpu"), ordering="release", syncscope="gpu")

    text = kernels.ptx(body, numbers())
    for each in ("ld.volatile.global", "st.volatile.global", "ld.global.nc", "ld.acquire.gpu.global", "st.release.gpu"):
        assert each in text


MISTAKES = [
    (lambda p: p.store(1), "a pointer to Float32 stores its own type, got Python int"),
    (lambda p: p.store(Int32(1)), "a pointer to Float32 stores its own type, got Int32"),
    (lambda p: p.load(3), "alignment must be a power of two, got 3"),
    (lambda p: p.load(count=0), "count of a load must be a positive integer, got Python int"),
    (lambda p: p.load(ordering="later"), "ordering must be one of not_atomic, unordered, monotonic, acquire, release, "
     "acq_rel, seq_cst, got 'later'"),
    (lambda p: p.masked_load(p.load(count=4)), "mask must be a Vector of Boolean, got Vector of 4 Float32"),
    (lambda p: p.masked_load(p.load(count=4) > 0, 0.0), "pass_thru must be a Vector, got Python float"),
    (lambda p: p.apply_swizzle("s128b"), "apply_swizzle takes a Swizzle, got Python str"),
    (lambda p: p["a"], "pointer index must be one integer, got str"),
    (lambda p: inttoptr(Int64(0), AddressSpace.gmem, int), "a pointer needs a numeric type, got the type int"),
]  # fmt: skip


@pytest.mark.parametrize(("mistake", "message"), MISTAKES, ids=[text for _, text in MISTAKES])
def test_mistakes(mistake, message):
    with pytest.raises(DSLUserCodeError) as error:
        kernels.ptx(lambda a, b: mistake(a.data_ptr()), numbers())
    assert str(error.value.message) == message


def test_a_swizzle_that_has_no_name():
    with pytest.raises(Exception, match="swizzle must be one of none, s32b, s64b, s128b, got 'SW128'"):
        Swizzle.from_name("SW128")


def test_a_pointer_of_tensors_is_made_of_a_raw_one():
    def body(a, b):
        p = cute.make_ptr(Int32, a.data_ptr(2), AddressSpace.gmem)
        assert p.dtype is Int32 and not isinstance(p, Pointer)
        p.store(0)

    assert kernels.run(body, numbers(4)).tolist() == [0, 1, 0, 3]
