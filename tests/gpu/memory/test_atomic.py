"""Atomic operations: every one of integers against numpy, the extremes of floats, the order in the instruction."""

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st

import dsl.cutlass as cutlass
from dsl.cutlass import cute
from dsl.cutlass.cute.runtime import from_dlpack
from tests.one_block import run

arch = cute.arch


pytestmark = pytest.mark.usefixtures("emulator")


ORDERS = [{}, {"scope": "cta"}, {"sem": "acq_rel", "scope": "sys"}, {"sem": "release"}]
COMBINED = {
    "add": np.add,
    "and": np.bitwise_and,
    "or": np.bitwise_or,
    "xor": np.bitwise_xor,
    "min": np.minimum,
    "max": np.maximum,
}


@pytest.mark.parametrize("order", ORDERS, ids=str)
@pytest.mark.parametrize("dtype", [np.int32, np.uint32, np.int64, np.uint64])
def test_every_combination_of_integers(dtype, order):
    names = list(COMBINED)

    @cute.kernel
    def kernel(values: cute.Tensor, out: cute.Tensor):
        i = arch.thread_idx()[0]
        for k in cutlass.range_constexpr(len(names)):
            getattr(arch, f"atomic_{names[k]}")(out.iterator + k, values[i], **order)

    values = np.random.default_rng(0).integers(0, 1 << 62, 32).astype(dtype) * 3
    out = np.arange(len(names)).astype(dtype) * 12345
    wanted = [COMBINED[name].reduce(values, initial=start, dtype=dtype) for name, start in zip(names, out)]
    run(kernel, values, out, threads=32)
    assert out.tolist() == [int(number) for number in wanted]


@settings(max_examples=30, deadline=None)
@given(st.lists(st.floats(width=32), min_size=8, max_size=8), st.floats(width=32, allow_nan=False))
def test_float_extremes_are_the_extremes_of_the_numbers(values, start):
    compiled = float_extremes()
    numbers, out = np.array(values, np.float32), np.array([start, start], np.float32)
    compiled(from_dlpack(numbers), from_dlpack(out))
    signless = [number for number in numbers if not (np.isnan(number) and np.signbit(number))]
    if len(signless) < 8:
        return  # a NaN with a sign is not ordered
    present = np.append(numbers, np.float32(start))
    known = present[~np.isnan(present)]
    assert out[1] == known.min()
    assert np.isnan(out[0]) if np.isnan(present).any() else out[0] == known.max()


_compiled: list = []


def float_extremes():
    @cute.kernel
    def kernel(values: cute.Tensor, out: cute.Tensor):
        i = arch.thread_idx()[0]
        arch.atomic_fmax(out.iterator, values[i])
        arch.atomic_fmin(out.iterator + 1, values[i])

    @cute.jit
    def host(values: cute.Tensor, out: cute.Tensor):
        kernel(values, out).launch(grid=(1, 1, 1), block=(8, 1, 1))

    if not _compiled:
        _compiled.append(cute.compile(host, from_dlpack(np.zeros(8, np.float32)), from_dlpack(np.zeros(2, np.float32))))
    return _compiled[0]


def test_an_order_and_a_scope_are_in_the_instruction(emulator):
    @cute.kernel
    def kernel(out: cute.Tensor):
        shared = cutlass.memory.SmemAllocator().allocate_array(cutlass.Int32, 1)
        arch.atomic_add(out.iterator, 1)
        arch.atomic_add(out.iterator, 1, scope="sys")
        arch.atomic_max(shared, 1, sem="acquire", scope="cta")
        arch.atomic_cas(out.iterator, cmp=cutlass.Int32(0), val=cutlass.Int32(1), sem="release")
        arch.red(out.iterator, cutlass.Int32(1), op="add", dtype="u32", sem="release", scope="cluster")

    run(kernel, np.zeros(1, np.int32))
    for instruction in (
        "atom.global.add.u32",
        "atom.relaxed.sys.global.add.u32",
        "atom.acquire.cta.shared.max.s32",
        "atom.release.gpu.global.cas.b32",
        "red.release.cluster.global.add.u32",
    ):
        assert emulator.show("ptx").count(instruction) == 1


def test_the_type_of_the_value_decides():
    @cute.kernel
    def kernel(out: cute.Tensor):
        arch.atomic_add(out.iterator, cutlass.Int64(1 << 32))

    out = np.array([5, 6], np.int32)
    with pytest.warns(UserWarning, match="atomic_add of a Int64 in memory of Int32 works on 64 bits as Int64"):
        run(kernel, out)
    assert out.tolist() == [5, 7]


def test_a_pointer_of_mlir_is_one_to_the_type_of_the_value():
    """`llvm_ptr`, as libraries hand it to these functions."""

    @cute.kernel
    def kernel(floats: cute.Tensor, integers: cute.Tensor):
        p, q, one = floats.iterator, integers.iterator, cutlass.Float32
        arch.atomic_add((p + 0).llvm_ptr, one(1.5))
        arch.atomic_fmax((p + 1).to_llvm_ptr(), one(3.5))
        arch.atomic_fmin((p + 2).llvm_ptr, one(-3.5))
        arch.red((p + 3).llvm_ptr, one(7.5), op="add", dtype="f32", sem="relaxed")
        arch.store((p + 4).llvm_ptr, one(5.5))
        floats[5] = arch.load((p + 4).llvm_ptr, cutlass.Float32)
        arch.atomic_xor((q + 0).llvm_ptr, cutlass.Int32(6))
        arch.atomic_cas((q + 1).llvm_ptr, cmp=cutlass.Int32(3), val=cutlass.Int32(9))

    floats, integers = np.zeros(6, np.float32), np.full(2, 3, np.int32)
    run(kernel, floats, integers, threads=1)
    assert floats.tolist() == [1.5, 3.5, -3.5, 7.5, 5.5, 5.5] and integers.tolist() == [5, 9]


@pytest.mark.parametrize("name", ["atomic_fmax", "atomic_max_float32"])
def test_an_extreme_takes_a_pointer(name):
    @cute.kernel
    def kernel(floats: cute.Tensor):
        getattr(arch, name)(floats, cutlass.Float32(1))

    with pytest.raises(Exception, match=f"{name} takes a pointer and a number, got Tensor"):
        run(kernel, np.zeros(1, np.float32), threads=1)
