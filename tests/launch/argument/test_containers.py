"""Containers, dataclasses, objects with a protocol and layouts as arguments of jit functions and kernels."""

from dataclasses import dataclass, field
from typing import NamedTuple, Optional

import numpy as np
import pytest

import dsl.cutlass as cutlass
from dsl.cutlass import Boolean, Constexpr, Float32, Int32, Int64, cute
from dsl.launch import session


@pytest.fixture(autouse=True)
def emulator():
    yield session.start("emulator")
    session.stop()


class Pair(NamedTuple):
    x: Int64
    y: float


@dataclass(frozen=True)
class Inner:
    out: cute.Tensor
    n: int


@dataclass
class Outer:
    inner: Inner
    scale: Float32
    unroll: Constexpr[int] = 2
    label: str = "none"
    extra: Optional[tuple] = None  # noqa: UP045 - the older spelling
    seen: list = field(default_factory=list, init=False)


@cute.kernel
def fill(outer: Outer, pair: Pair, table: dict):
    for i in cutlass.range_constexpr(outer.unroll):
        outer.inner.out[i] = outer.scale * outer.inner.n + pair.x + table["bias"]


@cute.jit
def host(outer: Outer, pair: Pair, table: dict):
    fill(outer, pair, table).launch(grid=(1, 1, 1), block=(1, 1, 1))


def test_containers_go_through_host_and_kernel_and_take_new_values():
    out = np.zeros(4, np.float32)
    first = (Outer(Inner(out, 3), 2), Pair(10, 0.5), {"bias": 0.25})
    host(*first)
    assert list(out) == [16.25, 16.25, 0, 0]
    compiled = cute.compile(host, *first)
    other = np.zeros(9, np.float32)
    compiled(Outer(Inner(other, 5), 0.5), Pair(1 << 20, 0), {"bias": 1})
    assert list(other[:3]) == [2.5 + (1 << 20) + 1] * 2 + [0]
    with pytest.raises(ValueError, match=r"Mismatched outer.unroll on argument #0 .* expected to be 2, got 4"):
        compiled(Outer(Inner(other, 5), 0.5, 4), Pair(0, 0), {"bias": 1})


def types_of(value):
    """The types of a value's leaves: what a parameter is in the function."""
    if isinstance(value, (tuple, list)):
        return type(value)(map(types_of, value)) if not hasattr(value, "_fields") else tuple(map(types_of, value))
    if isinstance(value, dict):
        return {key: types_of(part) for key, part in value.items()}
    return type(value).__name__


# The left column as nvidia-cutlass-dsl 4.8.1 has it (the dict and the NamedTuple of Python numbers it rejects).
@pytest.mark.parametrize(
    "value, types",
    [
        ((1, 2.5, True), ("Int32", "Float32", "Boolean")),
        ([1, (2, None)], ["Int32", ("Int32", "NoneType")]),
        ((1, "a"), ("Int32", "str")),
        ({"a": 1, "b": Int64(3)}, {"a": "Int32", "b": "Int64"}),
        (Pair(1, 2), ("Int64", "Int32")),
        (None, "NoneType"),
        (Int32, "NumericMeta"),
        ((), ()),
    ],
)
def test_python_numbers_in_containers_are_arguments(value, types):
    found = []

    @cute.kernel
    def kernel(x):
        found.append(types_of(x))

    @cute.jit
    def host(x, again: Constexpr):
        found.append(types_of(x))
        kernel(again).launch(grid=(1, 1, 1), block=(1, 1, 1))

    cute.compile(host, value, value)
    assert found == [types, types]


def test_annotated_int_tuples_are_static():
    found = []

    @cute.kernel
    def kernel(shape: cute.Shape):
        found.append(types_of(shape))

    @cute.jit
    def host(shape: cute.Shape, n: cute.IntTuple):
        found.append((types_of(shape), types_of(n)))
        kernel(shape).launch(grid=(1, 1, 1), block=(1, 1, 1))

    compiled = cute.compile(host, (4, (2, 3)), Int32(5))
    assert found == [(("int", ("int", "int")), "Int32"), ("int", ("int", "int"))]
    compiled((4, (2, 3)), 7)
    with pytest.raises(ValueError, match="expected to be"):
        compiled((4, (2, 4)), 7)


@dataclass
class Add:
    pass


@dataclass
class Scale:
    by: int


def test_a_static_choice_between_dataclasses():
    @cute.kernel
    def kernel(out: cute.Tensor, what: Add | Scale):
        match what:
            case Add():
                out[0] = out[0] + 1
            case Scale(by):
                out[0] = out[0] * by

    @cute.jit
    def host(out: cute.Tensor, what: Add | Scale):
        kernel(out, what).launch(grid=(1, 1, 1), block=(1, 1, 1))

    out = np.full(1, 5, np.int32)
    added, scaled = cute.compile(host, out, Add()), cute.compile(host, out, Scale(2))
    added(out, Add())
    scaled(out, Scale(10))
    assert out[0] == 60
    with pytest.raises(TypeError, match="expected to be Scale, got Add"):
        scaled(out, Add())


def test_a_layout_is_an_argument_static_or_with_numbers_a_call_brings():
    @cute.jit
    def offset(layout: cute.Layout, i: Int32):
        return layout((i, 1)), cute.size(layout)

    static = cute.make_layout((4, 8), stride=(8, 1))
    assert offset(static, 2) == (17, 32)
    compiled = cute.compile(offset, static, 0)
    assert compiled(static, 3) == (25, 32)
    with pytest.raises(ValueError, match=r"Mismatched layout .* expected to be \(4,8\):\(8,1\), got \(4,8\):\(1,4\)"):
        compiled(cute.make_layout((4, 8)), 3)
    dynamic = cute.compile(offset, cute.Layout((Int32(4), 8), (Int32(8), 1)), 0)
    for n, stride in ((4, 8), (6, 100)):
        assert dynamic(cute.Layout((Int32(n), 8), (Int32(stride), 1)), 2) == (2 * stride + 1, 8 * n)
    with pytest.raises(ValueError, match="expected to be"):
        dynamic(cute.Layout((Int32(4), 9), (Int32(8), 1)), 2)

    @cute.jit
    def constant(layout: Constexpr):
        return cute.cosize(layout)

    assert constant(static) == 32


def test_boolean_parts_keep_their_values():
    @cute.jit
    def both(flags: tuple):
        return flags[0] and not flags[1]

    compiled = cute.compile(both, (True, Boolean(False)))
    assert [compiled((a, b)) for a in (False, True) for b in (False, True)] == [False, False, True, False]


def test_a_composed_layout_is_an_argument():
    @cute.jit
    def index(layout: cute.ComposedLayout, i: Int32):
        return layout(i), cute.size(layout)

    def composed(offset, rows, bits=2):
        return cute.make_composed_layout(
            cute.make_swizzle(bits, 0, 3), offset, cute.make_layout((rows, 8), stride=(8, 1))
        )

    assert [index(composed(0, 8), i) for i in range(64)] == [(composed(0, 8)(i), 64) for i in range(64)]
    dynamic = cute.compile(index, composed(Int32(1), Int32(4)), 0)
    for offset, rows in ((0, 4), (3, 9)):
        assert dynamic(composed(Int32(offset), Int32(rows)), 5) == (composed(offset, rows)(5), 8 * rows)
    for other in (composed(Int32(0), Int32(4), bits=1), cute.make_layout((4, 8))):
        with pytest.raises((TypeError, ValueError), match="Mismatched"):
            dynamic(other, 1)
