"""Reductions of vectors with a shape: numpy's over the same axes, every operation, type and profile."""

import itertools

import numpy as np
import pytest

import dsl.cutlass as cutlass
from dsl.cutlass import cute
from dsl.cutlass.cute import ReductionOp

OPS = {ReductionOp.ADD: np.add, ReductionOp.MUL: np.multiply, ReductionOp.MIN: np.minimum, ReductionOp.MAX: np.maximum}
STARTS = {ReductionOp.ADD: 0, ReductionOp.MUL: 1, ReductionOp.MIN: 5, ReductionOp.MAX: -5}


@cute.kernel
def reduced(a: cute.Tensor, out: cute.Tensor):
    x = cute.make_tensor(a.iterator, cute.make_layout((2, 3, 2))).load()
    row = 0
    for op in OPS:
        for profile in (0, (0, None, None), (None, 0, None), (None, None, 0), (0, None, 0)):
            value = x.reduce(op, STARTS[op], profile)
            if cutlass.const_expr(profile == 0):
                out[row, 0] = value
            else:
                for k in range(cute.size(value.shape)):
                    out[row, k] = value[k]
            row += 1


@pytest.mark.parametrize("dtype", [np.int32, np.uint32, np.float32, np.int64])
def test_every_operation_and_profile(run, aligned, dtype):
    a, out = aligned(12, dtype), aligned((20, 6), dtype)
    a[:] = np.random.default_rng(1).integers(0 if dtype is np.uint32 else -3, 4, 12)
    cube = a.reshape(2, 3, 2, order="F")
    run(reduced, a, out, threads=1)
    for row, (op, axes) in zip(out, itertools.product(OPS, ((0, 1, 2), (0,), (1,), (2,), (0, 2)))):
        with np.errstate(over="ignore"):
            start = (
                np.array(STARTS[op]).astype(dtype)[()]
                if dtype is not np.uint32 or STARTS[op] >= 0
                else dtype(2**32 - 5)
            )
            wanted = np.ravel(OPS[op].reduce(cube, axis=axes, initial=start), order="F")
        assert row[: wanted.size].tolist() == wanted.tolist(), (op, axes)


def wrong(body):
    @cute.kernel
    def kernel(a: cute.Tensor):
        body(cute.make_tensor(a.iterator, cute.make_layout((2, 3))).load())

    return kernel


@pytest.mark.parametrize(
    "body, message",
    [
        (lambda x: x.reduce("add", 0, 0), "op of a reduction must be a cute.ReductionOp, got 'add'"),
        (lambda x: x.reduce(ReductionOp.ADD, "0", 0), "init_val of a reduction must be a number, got Python str"),
        (
            lambda x: x.reduce(ReductionOp.ADD, 0, (0, None, 0)),
            "the reduction profile (0,_,0) does not fit the shape (2,3)",
        ),
    ],
)
def test_wrong_reductions_are_refused(refused, aligned, body, message):
    assert refused(wrong(body), aligned(6))[0] == message
