"""nvvm.atomicrmw, red, fmax and fmin, which MLIR's own bindings do not have."""

import numpy as np
import pytest

import dsl.cutlass as cutlass
from dsl.core.errors import DSLUserCodeError
from dsl.cutlass import Float32, Int32, cute
from dsl.cutlass._mlir.dialects import cute as cute_dialect, nvvm
from dsl.cutlass.cute.runtime import from_dlpack

KINDS = nvvm.AtomicOpKind


def updated(kind, value, before, **order):
    """The number that one thread's atomicrmw leaves in memory, and the old value that it returns."""

    @cute.kernel
    def kernel(memory: cute.Tensor, old: cute.Tensor):
        old[0] = type(value)(nvvm.atomicrmw(kind, memory.iterator.llvm_ptr, value.ir_value(), **order))

    @cute.jit
    def host(memory: cute.Tensor, old: cute.Tensor):
        kernel(memory, old).launch(grid=(1, 1, 1), block=(1, 1, 1))

    memory, old = np.array([before], np.float32 if isinstance(value, Float32) else np.int32), np.zeros(1, np.float32)
    old = old.astype(memory.dtype)
    host(from_dlpack(memory), from_dlpack(old))
    assert old[0] == before
    return memory[0]


@pytest.mark.parametrize(
    "kind, value, before, after",
    [
        (KINDS.ADD, Int32(5), -3, 2),
        (KINDS.AND, Int32(6), 3, 2),
        (KINDS.MAX, Int32(-1), 7, 7),
        (KINDS.UMAX, Int32(-1), 7, -1),
        (KINDS.EXCH, Int32(4), 9, 4),
        (KINDS.FADD, Float32(0.5), 1.0, 1.5),
    ],
)
def test_atomic_operations(kind, value, before, after):
    assert updated(kind, value, before) == after


def test_an_order_and_a_scope():
    assert updated(KINDS.ADD, Int32(5), 1, mem_order=nvvm.MemOrderKind.RELEASE, syncscope=nvvm.MemScopeKind.GPU) == 6


def test_an_operation_without_an_instruction_is_refused():
    with pytest.raises(DSLUserCodeError, match="nvvm.atomicrmw has no CAS here"):
        updated(KINDS.CAS, Int32(5), 1)


OPS, TYPES, ORDERS = nvvm.ReductionOp, nvvm.ReductionType, nvvm.MemOrderKind


def reduced(op, kind, value, before, **order):
    """The number that nvvm.red of one thread leaves in memory."""

    @cute.kernel
    def kernel(memory: cute.Tensor):
        nvvm.red(op, kind, memory.iterator.llvm_ptr, value.ir_value(), **order)

    @cute.jit
    def host(memory: cute.Tensor):
        kernel(memory).launch(grid=(1, 1, 1), block=(1, 1, 1))

    memory = np.array([before], np.float32 if isinstance(value, Float32) else np.int32)
    host(from_dlpack(memory))
    return memory[0]


@pytest.mark.parametrize(
    "op, kind, value, before, after",
    [
        (OPS.ADD, TYPES.S32, Int32(5), -3, 2),
        (OPS.MAX, TYPES.U32, Int32(-1), 7, -1),
        (OPS.MAX, TYPES.S32, Int32(-1), 7, 7),
        (OPS.ADD, TYPES.F32, Float32(0.5), 1.0, 1.5),
    ],
)
def test_reductions(op, kind, value, before, after):
    assert reduced(op, kind, value, before, mem_order=ORDERS.RELAXED, mem_scope=nvvm.MemScopeKind.GPU) == after


def test_a_reduction_needs_an_order_that_red_has():
    with pytest.raises(DSLUserCodeError, match="nvvm.red needs an order"):
        reduced(OPS.ADD, TYPES.S32, Int32(5), 1)
    with pytest.raises(DSLUserCodeError, match="mem_order of a reduction must be relaxed or release, got acquire"):
        reduced(OPS.ADD, TYPES.S32, Int32(5), 1, mem_order=ORDERS.ACQUIRE)


def test_nvidias_own_dialects_are_refused_by_name():
    assert hasattr(cute_dialect, "make_layout")
    with pytest.raises(DSLUserCodeError) as refused:
        cute_dialect.make_layout(1)
    assert "cutlass._mlir.dialects.cute.make_layout is not part of this compiler yet" in str(refused.value)
    assert "the dialect `cute` is NVIDIA's own: call the function of `cute` that it is in" in str(refused.value)


def test_three_numbers_need_a_newer_chip():
    @cute.kernel
    def kernel(x: cutlass.Float32):
        nvvm.fmax(x.ir_value(), x.ir_value(), c=x.ir_value())

    @cute.jit
    def host(x: cutlass.Float32):
        kernel(x).launch(grid=(1, 1, 1), block=(1, 1, 1))

    with pytest.raises(DSLUserCodeError, match="max and min of three numbers need compute capability 10"):
        host(1.0)


def test_the_type_of_the_result_may_come_first_as_in_earlier_releases():
    @cute.kernel
    def kernel(out: cute.Tensor):
        three, two = Float32(out[0]).ir_value(), Float32(2.0).ir_value()
        out[1] = Float32(nvvm.fmin(three.type, three, two))
        out[2] = Float32(nvvm.fmax(three.type, three, two))

    @cute.jit
    def host(out: cute.Tensor):
        kernel(out).launch(grid=(1, 1, 1), block=(1, 1, 1))

    out = np.array([3, 0, 0], np.float32)
    with pytest.warns(UserWarning, match="`nvvm.fmin` takes no type of the result today"):
        host(from_dlpack(out))
    assert out.tolist() == [3, 2, 3]
