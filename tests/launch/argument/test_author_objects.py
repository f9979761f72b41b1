"""Objects of an author's classes as arguments, by the two protocols."""

import ctypes
from typing import NamedTuple

import numpy as np
import pytest

from dsl.core.errors import DSLUserCodeTypeError
from dsl.cutlass import Int32, Numeric, cute
from dsl.launch import session
from dsl.launch.argument.author_objects import register_jit_arg_adapter


@pytest.fixture(autouse=True)
def emulator():
    yield session.start("emulator")
    session.stop()


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


class Options(NamedTuple):
    """Its typed numbers are arguments, what else it has is static."""

    clusters: Int32
    swizzle: Int32 = Int32(8)

    def __extract_mlir_values__(self):
        return [value for each in self if isinstance(each, Numeric) for value in each.__extract_mlir_values__()]

    def __new_from_mlir_values__(self, values):
        return Options(*map(Int32, values))


def test_a_call_may_give_pythons_numbers_for_the_typed_ones_of_a_named_tuple():
    @cute.jit
    def both(options: Options):
        return options.clusters * 10 + options.swizzle

    compiled = cute.compile(both, Options(Int32(1)))
    assert [compiled(Options(Int32(3), 5)), compiled(Options(4, 6)), compiled(Options(Int32(2)))] == [35, 46, 28]


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
