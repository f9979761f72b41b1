"""Values that host functions return to Python: numbers they computed, in every structure, new at each call."""

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import pytest

import dsl.cutlass as cutlass
from dsl.core.errors import DSLUserCodeTypeError
from dsl.cutlass import Boolean, Float16, Float32, Float64, Int8, Int32, Int64, Uint8, Uint32, Uint64, cute
from dsl.launch import session


@pytest.fixture(autouse=True)
def emulator():
    yield session.start("emulator")
    session.stop()


def same(value, wanted):
    assert value == wanted and type(value) is type(wanted), (value, wanted)


def test_a_number_comes_back_as_pythons():
    @cute.jit
    def add(a: Int32, b: Int32) -> Int32:
        return a + b

    same(add(2, 3), 5)
    compiled = cute.compile(add, 0, 0)
    for a, b in ((1, 2), (-5, 3), (2**31 - 1, 0)):
        same(compiled(a, b), a + b)


@pytest.mark.parametrize(
    "dtype, value",
    [
        (Boolean, True),
        (Boolean, False),
        (Int8, -128),
        (Uint8, 255),
        (Int32, -7),
        (Uint32, 2**32 - 1),
        (Int64, -(2**63)),
        (Uint64, 2**64 - 1),
        (Float16, 1.5),
        (Float32, -0.25),
        (Float64, 1e300),
        (cutlass.BFloat16, 3.0),
    ],
)
def test_every_type_keeps_its_value(dtype, value):
    @cute.jit
    def same_number(x: dtype):
        return x

    same(same_number(dtype(value) if dtype in (Uint8, Uint32, Uint64) else value), value)


def test_nan_and_infinity_come_back():
    @cute.jit
    def divide(a: Float32, b: Float32):
        return a / b

    compiled = cute.compile(divide, 1.0, 1.0)
    assert np.isnan(compiled(0.0, 0.0)) and compiled(-1.0, 0.0) == -np.inf


class Point(NamedTuple):
    x: Int32
    label: str


@dataclass(frozen=True)
class Box:
    corner: Point
    sizes: list
    name: str = "box"


def test_structures_keep_their_shape_and_static_parts():
    @cute.jit
    def box(n: Int32, scale: cutlass.Constexpr):
        return {"box": Box(Point(n, "left"), [n * scale, 7, None]), "big": n > 10}, (n / 2, scale)

    compiled = cute.compile(box, 0, 3)
    for n in (4, 40):
        found, pair = compiled(n)
        assert found == {"box": Box(Point(n, "left"), [3 * n, 7, None]), "big": n > 10} and pair == (n / 2, 3)
        assert type(found["box"].corner) is Point and type(found["big"]) is bool


def test_static_results_are_what_they_were():
    @cute.jit
    def layout(n: cutlass.Constexpr):
        return cute.make_layout((n, 8)), n, "text", Int32(3) + 1

    made, n, text, number = layout(4)
    assert (str(made), n, text) == ("(4,8):(1,4)", 4, "text")
    same(number, 4)


def test_a_layout_with_dynamic_leaves_comes_back_static():
    @cute.jit
    def layout(n: Int32):
        return cute.make_layout((n, 8))

    made = layout(6)
    assert str(made) == "(6,8):(1,6)" and cute.size(made) == 48


def test_early_returns():
    @cute.jit
    def collatz(n: Int32) -> Int32:
        steps = Int32(0)
        while True:
            if n == 1:
                return steps
            n = n // 2 if n % 2 == 0 else 3 * n + 1
            steps += 1
        return Int32(-1)

    @cute.jit
    def sign(n: Int32):
        if n > 0:
            return 1, Float32(0.5)
        if n < 0:
            return -1, Float32(-0.5)
        return 0, Float32(0.0)

    with pytest.warns(UserWarning):
        compiled = cute.compile(collatz, 1)
        signs = cute.compile(sign, 1)
    assert [compiled(n) for n in (1, 2, 7, 27)] == [0, 1, 16, 111]
    assert [signs(n) for n in (5, -5, 0)] == [(1, 0.5), (-1, -0.5), (0, 0.0)]


def test_a_pointer_comes_back_as_make_ptr_makes_it():
    @cute.jit
    def third(p: cute.Pointer):
        return p + 2

    data = np.zeros(4, np.float32)
    made = third(cute.runtime.make_ptr(Float32, data.ctypes.data, cute.AddressSpace.gmem, assumed_align=4))
    assert (made.address, made.dtype, made.memspace) == (data.ctypes.data + 8, Float32, cute.AddressSpace.gmem)


class Counter:
    def __init__(self, n):
        self.n = n

    def __extract_mlir_values__(self):
        return [self.n.ir()]

    def __new_from_mlir_values__(self, values):
        return Counter(Int32(values[0]))


def test_an_object_with_a_protocol_is_made_of_the_numbers():
    @cute.jit
    def count(n: Int32):
        return Counter(n + 1)

    made = count(41)
    assert isinstance(made, Counter) and made.n.value == 42


def test_a_result_and_a_launch():
    @cute.kernel
    def kernel(out: cute.Tensor, n: Int32):
        out[0] = n

    @cute.jit
    def host(out: cute.Tensor, n: Int32):
        kernel(out, n * 2).launch(grid=(1, 1, 1), block=(1, 1, 1))
        return n * 3

    out = np.zeros(1, np.int32)
    assert host(out, 7) == 21 and out[0] == 14


@pytest.mark.parametrize(
    "what, name", [("out", "Tensor"), ("cute.make_rmem_tensor(4, Float32)", "Tensor"), ("(1, [out])", "Tensor")]
)
def test_memory_cannot_be_returned(what, name):
    names = {}
    exec(f"def give(out, n): return {what}", globals(), names)
    give = names["give"]

    @cute.jit
    def host(out: cute.Tensor, n: Int32):
        return give(out, n)

    with pytest.raises(DSLUserCodeTypeError) as error:
        host(np.zeros(4, np.float32), 1)
    assert (error.value.message, error.value.fix) == (
        f"`host` returns a {name} to Python, but its memory ends with the function",
        "write into a tensor that is an argument, and return numbers",
    )


def test_inlined_calls_return_traced_values():
    @cute.jit
    def inner(n: Int32):
        return n + 1

    @cute.jit
    def outer(n: Int32):
        return inner(inner(n)) * 10

    assert outer(1) == 30
