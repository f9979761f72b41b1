"""TensorSSA: NVIDIA's values on the host, numpy's in kernels, and the errors of its operators.

Modules tested here: dsl/tile/vector/transfer.py.
"""

import operator
import os
import re
from pathlib import Path

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings, strategies as st

from dsl import cutlass
from dsl.core.errors import DSLUserCodeError
from dsl.cutlass import cute
from dsl.cutlass.cute.runtime import from_dlpack
from tests import fork_server

PROGRAM = Path(__file__).with_name("ssa_program.py")
RECORD = Path(__file__).with_name("ssa_values.txt")  # CUTE_DSL_ARCH=sm_90a python -W ignore ssa_program.py > it
DTYPES = {np.int8: cutlass.Int8, np.int32: cutlass.Int32, np.uint32: cutlass.Uint32, np.float32: cutlass.Float32}


def output_of(*command: str, **variables: str) -> str:
    env = {**os.environ, "CUTE_DSL_ARCH": "sm_90a"} | variables
    done = fork_server.run(["-W", "ignore", *command, str(PROGRAM)], env=env)
    assert done.returncode == 0, done.stderr
    return done.stdout


@pytest.mark.slow
def test_values_are_those_recorded_of_upstream():
    assert RECORD.read_text().count("\n") > 800
    assert output_of("-m", "dsl") == RECORD.read_text()


@pytest.mark.slow
def test_the_record_is_what_upstream_gives(libgcc_13):
    assert output_of(**libgcc_13) == RECORD.read_text()


@st.composite
def layouts(draw):
    """A shape of up to three modes, one of them perhaps nested, and strides in some order, perhaps with gaps."""
    shape = draw(st.lists(st.sampled_from([1, 2, 3, 4, 8]), min_size=1, max_size=3).filter(lambda s: np.prod(s) <= 64))
    order = draw(st.permutations(range(len(shape))))
    strides, step = [0] * len(shape), draw(st.sampled_from([1, 1, 2]))
    for mode in order:
        strides[mode], step = step, step * shape[mode] + draw(st.sampled_from([0, 0, 1, 4]))
    if len(shape) == 3 and draw(st.booleans()):
        return (tuple(shape[:2]), shape[2]), (tuple(strides[:2]), strides[2])
    return tuple(shape), tuple(strides)


def indices(shape, strides) -> np.ndarray:
    """The memory index of every element, the first mode fastest."""
    flat = [
        (s, d)
        for s, d in zip(
            np.hstack([np.array(x).ravel() for x in shape]).tolist(),
            np.hstack([np.array(x).ravel() for x in strides]).tolist(),
        )
    ]
    index = np.zeros(1, np.int64)
    for extent, stride in flat:
        index = (index[None, :] + np.arange(extent)[:, None] * stride).ravel()
    return index


@settings(max_examples=12, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    layout=layouts(),
    dtype=st.sampled_from(list(DTYPES)),
    name=st.sampled_from(["add", "sub", "mul", "lt", "eq"]),
    seed=st.integers(0, 1000),
    aligned_to=st.sampled_from([1, 16]),
)
def test_kernels_compute_what_numpy_does(run, layout, dtype, name, seed, aligned_to):
    shape, strides = layout
    at = indices(*layout_in_order(shape, strides))
    rng = np.random.default_rng(seed)
    a, b = (rng.integers(0, 50, at.max() + 1).astype(dtype) for _ in range(2))
    out = np.zeros(at.max() + 1, bool if name in ("lt", "eq") else dtype)
    op = getattr(operator, name)

    @cute.kernel
    def kernel(a: cute.Tensor, b: cute.Tensor, out: cute.Tensor):
        view = cute.make_layout(shape, stride=strides)
        x, y = (cute.make_tensor(t.iterator, view).load() for t in (a, b))
        cute.make_tensor(out.iterator, view).store(op(x, y))

    host(kernel, from_dlpack(a), from_dlpack(b), from_dlpack(out))
    expected = np.zeros_like(out)
    expected[at] = op(a[at], b[at])
    np.testing.assert_array_equal(out, expected)


def layout_in_order(shape, strides):
    return tuple(reversed(shape_leaves(shape))), tuple(reversed(shape_leaves(strides)))


def shape_leaves(x):
    return [leaf for part in x for leaf in (shape_leaves(part) if isinstance(part, tuple) else [part])]


@cute.jit
def host(kernel: cutlass.Constexpr, *arguments):
    kernel(*arguments).launch(grid=(1, 1, 1), block=(1, 1, 1))


@pytest.mark.parametrize("profile, axis", [(0, None), ((None, 1), 1), ((1, None), 0)])
@pytest.mark.parametrize("op, fold", [(cute.ReductionOp.MIN, np.min), (cute.ReductionOp.MAX, np.max)])
@pytest.mark.parametrize("dtype", list(DTYPES))
def test_extremes_of_integers_and_floats(run, profile, axis, op, fold, dtype):
    """NVIDIA's compiler refuses extremes of integers; numpy has the same meaning."""
    x = np.array([[3, -7, 5], [100, 2, -1]]).astype(dtype)
    start = 50 if op is cute.ReductionOp.MIN else 4
    folded = fold(x, axis=axis)
    out = np.zeros(np.size(folded), dtype)

    @cute.kernel
    def kernel(x: cute.Tensor, out: cute.Tensor):
        result = x.load().reduce(op, start, profile)
        out.store(cute.full(1, result, out.element_type) if cutlass.const_expr(profile == 0) else result)

    run(kernel, x, out)
    np.testing.assert_array_equal(out, fold([np.ravel(folded), np.full(np.size(folded), start, dtype)], axis=0))


def test_values_in_loops_branches_and_calls(run):
    @cute.jit
    def doubled(x):
        return x * 2.0, x[0]

    @cute.kernel
    def kernel(a: cute.Tensor, out: cute.Tensor, n: cutlass.Int32):
        x = a.load()
        for i in range(n):
            x = x + 1.0
            if i == 2:
                x = x * 10.0
        while x[0] < 100.0:
            x, first = doubled(x)
        out.store(x)

    a, out = np.arange(6, dtype=np.float32).reshape(2, 3), np.zeros((2, 3), np.float32)
    run(kernel, a, out, cutlass.Int32(4), threads=1)
    expected = (a + 3) * 10 + 1
    while expected[0, 0] < 100:
        expected = expected * 2
    np.testing.assert_array_equal(out, expected)


@pytest.mark.parametrize("order", [(0, 1), (1, 0)], ids=["columns", "rows"])
def test_contiguous_elements_are_one_access(run, aligned, emulator, order):
    @cute.kernel
    def kernel(a: cute.Tensor, out: cute.Tensor):
        view = cute.make_ordered_layout((8, 4), order)
        cute.make_tensor(out.iterator, view).store(cute.make_tensor(a.iterator, view).load())

    a, out = aligned((32,)), aligned((32,))
    a[:] = np.arange(32)
    run(kernel, a, out, threads=1)
    np.testing.assert_array_equal(a, out)
    ptx = emulator.show("ptx")
    assert re.findall(r"(ld|st)\.global\.(v\d)?", ptx) == [("ld", "v4")] * 8 + [("st", "v4")] * 8


def test_no_access_reaches_past_the_end(run):
    """LLVM would read 8 bytes for 6 that are known to be aligned to 8; the emulator finds a read past the array."""

    @cute.kernel
    def kernel(a: cute.Tensor, out: cute.Tensor):
        out.store(a.load())

    for count in (3, 6, 7, 13):
        a, out = np.arange(count, dtype=np.int8), np.zeros(count, np.int8)
        run(kernel, a, out, threads=1)
        np.testing.assert_array_equal(a, out)


def test_swizzled_and_strided_tensors(run):
    @cute.kernel
    def kernel(a: cute.Tensor, out: cute.Tensor, n: cutlass.Int32):
        shared = cutlass.utils.SmemAllocator().allocate_tensor(
            cutlass.Float32, cute.make_layout((8, 4)), 128, swizzle=cute.make_swizzle(2, 4, 3)
        )
        shared.store(cute.make_tensor(a.iterator, cute.make_layout((8, 4), stride=(1, n))).load())
        out.store(shared.load())

    a, out = np.arange(40, dtype=np.float32), np.zeros((8, 4), np.float32)
    run(kernel, a, out, cutlass.Int32(9), threads=1)
    np.testing.assert_array_equal(out, np.arange(8)[:, None] + np.arange(4)[None, :] * 9)


def test_a_run_does_not_cross_what_a_swizzle_moves(run):
    shape, stride, swizzle = (4, 3), (1, 5), cute.make_swizzle(1, 3, 1)

    @cute.kernel
    def kernel(a: cute.Tensor, out: cute.Tensor):
        out.store(
            cute.make_tensor(
                a.iterator, cute.make_composed_layout(swizzle, 0, cute.make_layout(shape, stride=stride))
            ).load()
        )

    a, out = np.arange(32, dtype=np.float32), np.zeros(12, np.float32)
    run(kernel, a, out, threads=1)
    np.testing.assert_array_equal(out, [swizzle(i + 5 * j) for j in range(3) for i in range(4)])


ERRORS = [
    (
        lambda x, t: x + t,
        "`+` of a TensorSSA and Tensor of Float32 (2,3):(3,1) is not defined",
        "load it first: `t.load()`",
    ),
    (lambda x, t: x & 1, "`&` needs integers, got elements of Float32", None),
    (lambda x, t: bool(x), "the argument of bool() must be a number, got TensorSSA of Float32 (2,3)", None),
    (lambda x, t: [e for e in x], "a TensorSSA is not iterated", None),
    (lambda x, t: x[6], "the index 6 is outside the 6 elements; the value is (2,3)", "valid are 0 to 5"),
    (
        lambda x, t: x + cute.full((2, 4), 0, cutlass.Int32),
        "the shapes (2,3) and (2,4) cannot be broadcast together: 3 meets 4",
        "modes are matched from the first, and one of two extents must be 1",
    ),
    (lambda x, t: x.reshape(5), "a value of 6 elements (2,3) has no shape 5", "give a shape of as many elements"),
    (lambda x, t: x.broadcast_to((4, 3)), "a value of shape (2,3) does not repeat to (4,3)", None),
    (lambda x, t: x.reduce("add", 0, 0), "op of a reduction must be a cute.ReductionOp, got 'add'", None),
    (
        lambda x, t: x.reduce(cute.ReductionOp.ADD, 0, (None, 1, 1)),
        "the reduction profile (_,1,1) does not fit the shape (2,3)",
        None,
    ),
    (lambda x, t: t.store(x.to(cutlass.Int32)), "a tensor of Float32 does not store Int32", "x.to(cutlass.Float32)"),
    (
        lambda x, t: t.store(cute.full(5, 0, cutlass.Float32)),
        "a tensor of 6 elements (2,3) stores as many, got 5 elements 5",
        "`x.broadcast_to(shape)` repeats elements",
    ),
    (lambda x, t: t.store(1.0), "a tensor stores a TensorSSA, got Python float", None),
    (
        lambda x, t: cute.where(x, x, x),
        "condition of where must be a TensorSSA of Boolean, got Float32",
        "compare: `x != 0`",
    ),
    (
        lambda x, t: cute.where(x > 0, x, x.to(cutlass.Int32)),
        "where needs two values of one type, got Float32 and Int32",
        None,
    ),
    (
        lambda x, t: cute.full((2, -1), 0, cutlass.Int32),
        "shape of a TensorSSA must be static and positive, got (2,-1)",
        None,
    ),
    (lambda x, t: x.to(int), "`.to()` takes a numeric type, got the type int", None),
]


@pytest.mark.parametrize("use, message, fix", ERRORS, ids=[message[:40] for _, message, _ in ERRORS])
def test_errors(use, message, fix):
    @cute.jit
    def host(t: cute.Tensor):
        use(t.load(), t)

    with pytest.raises(DSLUserCodeError) as error:
        host(from_dlpack(np.zeros((2, 3), np.float32)))
    assert error.value.message == message
    assert fix in (None, error.value.fix)


def _error_of(function, *arguments) -> str:
    with pytest.raises(DSLUserCodeError) as error:
        function(*arguments)
    return re.sub(r"^.*?:\d+:", "", str(error.value))


def test_a_variable_keeps_its_shape():
    """NVIDIA's compiler: CONTAINER_STRUCTURE_CHANGED; it accepts another shape of as many elements, in silence."""

    @cute.jit
    def reshaped(a: cute.Tensor, n: cutlass.Int32):
        x = a.load()
        for i in range(n):
            x = x.reshape(6)

    @cute.jit
    def converted(a: cute.Tensor, n: cutlass.Int32):
        x = a.load()
        if n > 2:
            x = x.to(cutlass.Float16)

    @cute.jit
    def sliced(a: cute.Tensor, n: cutlass.Int32):
        t = a
        for i in range(n):
            t = a[0, None]
        t[0] = 1

    tensor = from_dlpack(np.zeros((2, 3), np.float32))
    assert (
        _error_of(reshaped, tensor, 2)
        == """13: CONTAINER_STRUCTURE_CHANGED
    x = x.reshape(6)
    ^ `x` is TensorSSA of Float32 (2,3) before this loop and TensorSSA of Float32 6 after it
fix: give `x` one type on every path"""
    )
    assert (
        _error_of(converted, tensor, 2).split("\n", 2)[2]
        == """\
    ^ `x` is TensorSSA of Float16 (2,3) on one path and TensorSSA of Float32 (2,3) on another
fix: give `x` one type on both paths"""
    )
    assert (
        _error_of(sliced, tensor, 2).split("\n", 2)[2]
        == """\
    ^ `t` is Tensor of Float32 (2,3):(3,1) before this loop and Tensor of Float32 (3):(1) after it
fix: give `t` one type on every path"""
    )
