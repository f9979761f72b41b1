"""Values made of numbers and chosen by a condition: numpy's full, where, any and all."""

import numpy as np
import pytest

import dsl.cutlass as cutlass
from dsl.cutlass import cute


@cute.kernel
def chosen(a: cute.Tensor, b: cute.Tensor, out: cute.Tensor):
    x, y = a.load(), b.load()
    rows = (
        cute.where(x > y, x, y),
        cute.where(x > 0, 1.0, y),
        cute.where(cutlass.Boolean(True), x, cute.zeros_like(x)),
        cute.full((8,), 2.5, cutlass.Float32),
        cute.ones_like(x) + cute.full_like(x, 3),
        cute.full_like(x, 2.75, cutlass.Int32).to(cutlass.Float32),
    )
    for k, row in enumerate(rows):
        for i in range(8):
            out[k, i] = row[i]
    for k, flag in enumerate((cute.any_(x), cute.all_(x), cute.any_(x > 100), cute.all_(x < 100))):
        out[6, k] = cutlass.Float32(flag)


@pytest.mark.parametrize("zeros", [0, 3, 8])
def test_values_are_numpys(run, aligned, zeros):
    a, b, out = aligned(8), aligned(8), aligned((7, 8))
    rng = np.random.default_rng(zeros)
    a[:], b[:] = rng.normal(size=8), rng.normal(size=8)
    a[:zeros] = 0
    run(chosen, a, b, out, threads=1)
    wanted = [
        np.where(a > b, a, b), np.where(a > 0, np.float32(1), b), a, np.full(8, 2.5), np.full(8, 4.0), np.full(8, 2.0),
        [a.any(), a.all(), (a > 100).any(), (a < 100).all(), 0, 0, 0, 0],
    ]  # fmt: skip
    assert (out == np.array(wanted, np.float32)).all()


def test_a_number_is_chosen_for_any_nesting(run, aligned):
    @cute.kernel
    def kernel(a: cute.Tensor, out: cute.Tensor):
        x = cute.make_tensor(a.iterator, cute.make_layout(((4, 1), 1, 2))).load()
        nested = cute.make_tensor(out.iterator, cute.make_layout(((4, 1), 1, 2, 3)))
        nested[None, None, None, 0] = cute.where(x > 0, x, 1e-10)
        nested[None, None, None, 1] = cute.where(x > 0, 2.0, cutlass.Float32(-1))
        nested[None, None, None, 2] = cute.where(cutlass.Boolean(False), 5.0, x)

    a, out = aligned(8), aligned((3, 8))
    a[:] = np.arange(-4, 4)
    run(kernel, a, out, threads=1)
    assert (out == np.array([np.where(a > 0, a, 1e-10), np.where(a > 0, 2, -1), a], np.float32)).all()


def wrong(body):
    @cute.kernel
    def kernel(a: cute.Tensor):
        body(a.load())

    return kernel


@pytest.mark.parametrize(
    "body, message",
    [
        (lambda x: cute.full((2,), 0, "f32"), "a TensorSSA needs a numeric type, got 'f32'"),
        (lambda x: cute.full((2,), x, cutlass.Float32), None),
        (lambda x: cute.full_like(3, 0), "needs a tensor or a TensorSSA to copy the shape of, got Python int"),
        (lambda x: cute.where(x, x, x), "condition of where must be a TensorSSA of Boolean, got Float32"),
        (lambda x: cute.where(x > 0, x, cutlass.Int32(1)), "where needs two values of one type, got Float32 and Int32"),
        (lambda x: cute.where(x > 0, x, "y"), "where chooses between numbers, got Python str"),
        (lambda x: cute.any_(3), "any_ takes a TensorSSA, got Python int"),
    ],
)
def test_wrong_operands_are_refused(refused, aligned, body, message):
    said, fix = refused(wrong(body), aligned(8))
    assert fix and (message is None or said == message)
