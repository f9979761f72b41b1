"""cutlass.Array: what is an element, what a vector, what it prints, and what it is not."""

import numpy as np
import pytest

from dsl.core.errors import DSLUserCodeError
from dsl.cutlass import AddressSpace, Array, Boolean, Float32, Int32, cute, make_array_view
from dsl.cutlass.cute.runtime import from_dlpack
from tests.primitives import kernels


def matrix(rows: int = 3, columns: int = 8) -> np.ndarray:
    return np.arange(rows * columns, dtype=np.float32).reshape(rows, columns)


def test_an_index_counts_from_the_first_element_and_a_tuple_by_strides():
    def body(a, b):
        i = Int32(1)
        a[0] = a[i, 2] + a[i * 8 + 3]
        a[i, 0] = a.load((2, 7))

    expected = matrix()
    expected[0, 0], expected[1, 0] = 10 + 11, 23
    assert np.array_equal(kernels.run(body, matrix()), expected)


def test_strides_of_a_transposed_tensor():
    def body(a, b):
        b[0] = Int32(a[2, 1])
        assert (a.shape, a.strides) == ((8, 3), (1, 8))

    out = np.zeros(1, np.int32)
    kernels.run(body, matrix().T, out)
    assert out[0] == matrix().T[2, 1]


def test_the_number_after_the_colon_is_the_length_of_the_vector():
    def body(a, b):
        a[8:4] = a[0:4] * 2.0 + 1.0
        a[2, 4:4] = a[1, 4:4]
        a.store(5.0, 3, 2)

    expected = matrix()
    flat = expected.reshape(-1)
    flat[8:12] = flat[0:4] * 2 + 1
    expected[2, 4:8] = expected[1, 4:8]
    flat[3:5] = 5
    assert np.array_equal(kernels.run(body, matrix()), expected)


def test_shared_memory_and_registers():
    def body(a, b):
        i, _, _ = cute.arch.thread_idx()
        shared = Array(Float32, (2, 8), space=AddressSpace.smem, alignment=16)
        own = Array(Float32, 4)
        shared[0, i] = a[i]
        cute.arch.sync_threads()
        for j in range(4):
            own[j] = shared[7 - (i + j) % 8]
        a[1, i] = own[i % 4]
        view = shared.subview((1, 0))
        view[i] = shared[i]
        cute.arch.sync_threads()
        a[2, i] = view.data_ptr(7 - i).load()

    expected = matrix()
    expected[1] = [expected[0, 7 - (i + i % 4) % 8] for i in range(8)]
    expected[2] = expected[0][::-1]
    assert np.array_equal(kernels.run(body, matrix(), threads=8), expected)


def test_a_view_has_the_modes_of_its_slices():
    def body(a, b):
        row, rest = a[Int32(b[0]), :], a[1:, :]
        assert (row.shape, row.strides, rest.shape, a[1:3, 2:].shape) == ((8,), (1,), (2, 8), (2, 6))
        row[3] = rest[1, 0] + a[:2][0, 1]
        a[0, 2:][0] = a[1:, 4:][1, 1]

    expected = matrix()
    expected[1, 3], expected[0, 2] = expected[2, 0] + expected[0, 1], expected[2, 5]
    assert np.array_equal(kernels.run(body, matrix(), np.ones(1, np.int32)), expected)


def test_masks():
    def body(a, b):
        mask = Array(Boolean, 4)
        for i in range(4):
            mask[i] = i < b[0]
        a.masked_store(8, a.masked_load(0, 4, mask, default=Float32(-1.0)), mask)
        a[16:4] = a.masked_load(0, 4, mask)

    expected = matrix()
    expected[1, :3], expected[2, :4] = expected[0, :3], [0, 1, 2, 0]
    assert np.array_equal(kernels.run(body, matrix(), np.array([3], np.int32)), expected)


def test_carried_through_a_dynamic_loop_and_into_a_jit_function():
    @cute.jit
    def twice(a: Array, i: Int32):
        a[i] = a[i] * 2.0

    def body(a, b):
        view = a
        for i in range(b[0]):
            twice(view, i)
            view = view.subview(1)

    expected = matrix(1)
    expected[0, [0, 2, 4]] *= 2
    assert np.array_equal(kernels.run(body, matrix(1), np.array([3], np.int32)), expected)


def test_a_dynamic_layout_has_dynamic_extents_and_strides():
    @cute.kernel
    def kernel(a: Array):
        a[a.shape[0] - 1, 1] = Float32(a.shape[1]) + make_array_view(cute.make_tensor(a.data_ptr(), 8))[3]

    @cute.jit
    def host(a: cute.Tensor):
        kernel(a).launch(grid=1, block=1)

    from dsl.launch import session

    session.start("emulator")
    values = matrix()
    host(from_dlpack(values).mark_layout_dynamic())
    session.stop()
    assert values[2, 1] == 8 + 3


def test_the_output_of_an_array(capfd):
    def body(a, b):
        print(a, a.data_ptr(1), a.dtype, a.align)
        a.print_runtime(max_elements=3)
        b.print_runtime(max_elements=4)

    kernels.run(body, matrix(2, 4) + 0.25, np.arange(3, dtype=np.int32))
    assert capfd.readouterr().out.splitlines() == [
        "Array(dtype=Float32, address_space=gmem, shape=(2, 4), alignment=4) ptr<space=gmem, dtype=Float32> Float32 4",
        "Array[2x4]:",
        " [0]: [0.2, 1.2, 2.2, ...]",
        " [1]: [4.2, 5.2, 6.2, ...]",
        "Array[3][Space=gmem]: [0, 1, 2]",
    ]


MISTAKES = [
    (lambda a: a[0, 0, 0], "index of an Array of 2 modes must have as many parts, got 3"),
    (lambda a: a[1.5], "array index must be an integer, got Python float"),
    (lambda a: a[0:4:2], "a slice of an Array is `start:count`, with a count known while compiling"),
    (lambda a: a[:, 0], "an index of a view comes before its slices"),
    (lambda a: a[:, ::2], "a slice of a view has no step"),
    (lambda a: a + 1, "an Array has no arithmetic"),
    (lambda a: list(a), "an Array is not iterated"),
    (lambda a: len(a), "an Array has no len()"),
    (lambda a: bool(a), "the argument of bool() must be a number, got Array of Float32"),
    (lambda a: Array(Float32), "an Array in rmem needs a shape"),
    (lambda a: Array(Float32, (4, Int32(a[0]))), "shape of an Array must be positive integers known while compiling"),
    (lambda a: Array(int, 4), "an Array is made of a numeric type, a tensor or a pointer, got the type int"),
    (lambda a: Array(Float32, 4, space=AddressSpace.gmem), "space of a new Array must be smem or rmem, got gmem"),
    (lambda a: a.store(a[0:4], 0, 2), "2 elements store as many, got 4"),
]


@pytest.mark.parametrize(("mistake", "message"), MISTAKES, ids=[text for _, text in MISTAKES])
def test_mistakes(mistake, message):
    with pytest.raises(DSLUserCodeError) as error:
        kernels.ptx(lambda a, b: mistake(a), matrix())
    assert error.value.message.startswith(message)
