"""Containers, dataclasses, objects with a protocol and layouts as arguments of jit functions and kernels."""

import ctypes
from dataclasses import dataclass, field
from typing import NamedTuple, Optional

import numpy as np
import pytest

import dsl.cutlass as cutlass
from dsl.core.errors import DSLUserCodeTypeError
from dsl.cutlass import Boolean, Constexpr, Float32, Int32, Int64, cute
from dsl.launch import session
from dsl.launch.argument.author_protocols import register_jit_arg_adapter


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


class Buffer:
    """A pointer and a number, delegating the protocols to them; the name is static."""

    def __init__(self, pointer, count, name):
        self.pointer, self.count, self.name = pointer, count, name

    def _parts(self):
        return self.pointer, self.count

    def __c_pointers__(self):
        return [cell for part in self._parts() for cell in part.__c_pointers__()]

    def __get_mlir_types__(self):
        return [type_ for part in self._parts() for type_ in part.__get_mlir_types__()]

    def __extract_mlir_values__(self):
        return [value for part in self._parts() for value in part.__extract_mlir_values__()]

    def __new_from_mlir_values__(self, values):
        pointer, count = (
            self.pointer.__new_from_mlir_values__(values[:1]),
            self.count.__new_from_mlir_values__(values[1:]),
        )
        return Buffer(pointer, count, self.name)


class OnlyDynamic(Buffer):
    """The DynamicExpression protocol alone."""

    __c_pointers__ = __get_mlir_types__ = property()

    def __new_from_mlir_values__(self, values):
        made = super().__new_from_mlir_values__(values)
        return OnlyDynamic(made.pointer, made.count, made.name)


@pytest.mark.parametrize("kind", [Buffer, OnlyDynamic])
def test_an_object_with_a_protocol(kind):
    @cute.kernel
    def kernel(out: cute.Tensor, buffer: Buffer):
        for i in range(buffer.count):
            buffer.pointer[i] = i * 2
        out[0] = buffer.count + len(buffer.name)

    @cute.jit
    def host(out: cute.Tensor, whole: cute.Tensor, buffer: Buffer):
        if buffer.count > 2:
            buffer.count = buffer.count - 1
        kernel(out, buffer).launch(grid=(1, 1, 1), block=(1, 1, 1))

    def buffer(data, count):
        pointer = cute.runtime.make_ptr(Int32, data.ctypes.data, cute.AddressSpace.gmem)
        return kind(pointer, Int32(count), "abc")

    out, data, other = np.zeros(1, np.int32), np.full(8, -1, np.int32), np.full(8, -1, np.int32)
    host(out, data, buffer(data, 5))
    assert list(data) == [0, 2, 4, 6, -1, -1, -1, -1] and out[0] == 7
    compiled = cute.compile(host, out, data, buffer(data, 1))
    compiled(out, other, buffer(other, 3))
    assert list(other) == [0, 2, -1, -1, -1, -1, -1, -1] and out[0] == 5


def test_c_pointers_of_the_authors_own_and_an_adapter():
    class Foreign:
        def __init__(self, value):
            self.value = value

    @register_jit_arg_adapter(Foreign)
    class Adapter:
        def __init__(self, foreign):
            self.cell = ctypes.c_int32(foreign.value)

        def __c_pointers__(self):
            return [ctypes.pointer(self.cell)]

        def __get_mlir_types__(self):
            return Int32(0).__get_mlir_types__()

        def __new_from_mlir_values__(self, values):
            return Foreign(Int32(values[0]))

    @cute.jit
    def double(foreign: Foreign):
        return foreign.value * 2

    assert double(Foreign(21)) == 42
    assert cute.compile(double, Foreign(1))(Foreign(-4)) == -8


def test_a_protocol_of_half_is_refused():
    class Half:
        def __extract_mlir_values__(self):
            return [3]

        def __new_from_mlir_values__(self, values):
            return self

    @cute.jit
    def host(half: Half):
        return 1

    with pytest.raises(DSLUserCodeTypeError) as error:
        host(Half())
    assert (error.value.message, error.value.fix) == (
        "`Half` defines `__extract_mlir_values__` but not `__c_pointers__`",
        "add `__get_mlir_types__` and `__c_pointers__`, or delegate to its members",
    )


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


@pytest.mark.parametrize(
    "value, text",
    [
        ("abc", "`host` cannot take a str for `x` at run time"),
        (b"abc", "`host` cannot take a bytes for `x` at run time"),
        (1j, "`host` cannot take a complex for `x` at run time"),
        ({1, 2}, "`host` takes no set for `x`: a set has no order"),
    ],
)
def test_what_is_no_argument_is_refused(value, text):
    @cute.jit
    def host(x):
        return 1

    with pytest.raises(DSLUserCodeTypeError) as error:
        host(value)
    assert error.value.message == text and error.value.place.file == __file__


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


def test_types_of_values_are_asked_as_upstream_spells_it():
    class Pair:
        def __init__(self, a, b):
            self.a, self.b = a, b

        def __c_pointers__(self):
            return [*Int32(self.a).__c_pointers__(), *Float32(self.b).__c_pointers__()]

        def __get_mlir_types__(self):
            return [Int32.mlir_type, Float32.mlir_type]

        def __extract_mlir_values__(self):
            return [self.a.ir_value(), self.b.ir_value()]

        def __new_from_mlir_values__(self, values):
            return Pair(Int32(values[0]), Float32(values[1]))

    @cute.jit
    def program(pair: Pair, n: Int32):
        for i in range(n):
            pair = Pair(pair.a + i, pair.b * 2.0)
        return pair.a, pair.b

    assert program(Pair(2, 0.5), 4) == (8, 8.0)
