"""Fields, qd.root, ndarrays, and numpy and torch arguments."""

import numpy as np
import quadrants as qd
from options import options


def scalar_field():
    x = qd.field(qd.f32, shape=())
    before = x[None]
    x[None] = 2.5
    return [before, x[None], x.shape, str(x.dtype)]


def index_of_zero_dimensions():
    x = qd.field(qd.i32, shape=())
    x[()] = 4
    return [x[None], x[()]]


def shape_is_an_integer():
    x = qd.field(qd.i32, shape=3)
    x[1] = 7
    return [x.shape, x.to_numpy()]


def field_from_and_to_numpy():
    x = qd.field(qd.f32, shape=(2, 3))
    x.from_numpy(np.arange(6, dtype=np.float32).reshape(2, 3))
    return [x[1, 2], x.to_numpy()]


def field_from_numpy_of_another_type():
    x = qd.field(qd.i32, shape=3)
    x.from_numpy(np.array([1.9, 2.9, -3.9], np.float64))
    return x.to_numpy()


def field_from_numpy_of_another_shape():
    x = qd.field(qd.i32, shape=3)
    x.from_numpy(np.zeros(4, np.int32))


def field_fill():
    x = qd.field(qd.f32, shape=(2, 2))
    x.fill(1.5)
    return x.to_numpy()


def field_fill_in_a_kernel():
    x = qd.field(qd.i32, shape=3)

    @qd.kernel
    def k():
        x.fill(4)

    k()
    return x.to_numpy()


def field_copy_from():
    x, y = qd.field(qd.i32, shape=3), qd.field(qd.i32, shape=3)
    x.from_numpy(np.array([1, 2, 3], np.int32))
    y.copy_from(x)
    return y.to_numpy()


def field_of_every_type():
    found = []
    for t in (qd.i8, qd.i16, qd.i32, qd.i64, qd.u8, qd.u16, qd.u32, qd.u64, qd.f16, qd.f32, qd.f64):
        x = qd.field(t, shape=2)
        x[0] = 3
        found.append([x[0], x.to_numpy()])
    return found


def placed_under_root():
    x, y = qd.field(qd.i32), qd.field(qd.f32)
    qd.root.dense(qd.i, 4).place(x, y)

    @qd.kernel
    def k():
        for i in x:
            x[i] = i
            y[i] = i * 0.5

    k()
    return [x.shape, x.to_numpy(), y.to_numpy()]


def placed_in_two_levels():
    x = qd.field(qd.i32)
    qd.root.dense(qd.ij, (2, 2)).dense(qd.ij, (2, 3)).place(x)

    @qd.kernel
    def k():
        for i, j in x:
            x[i, j] = i * 10 + j

    k()
    return [x.shape, x.to_numpy()]


def placed_by_two_axes():
    x = qd.field(qd.i32)
    qd.root.dense(qd.i, 2).dense(qd.j, 3).place(x)
    x[1, 2] = 5
    return [x.shape, x.to_numpy()]


def placed_at_root():
    x = qd.field(qd.i32)
    qd.root.place(x)
    x[None] = 3
    return x[None]


@options(random_seed=1)  # in a separate group: no later field can be made
def field_never_placed():
    x = qd.field(qd.i32)

    @qd.kernel
    def k():
        x[None] = 1

    k()


def wrong_number_of_indices():
    x = qd.field(qd.i32, shape=(2, 3))

    @qd.kernel
    def k():
        x[0] = 1

    k()


def wrong_number_of_indices_in_python():
    x = qd.field(qd.i32, shape=(2, 3))
    return x[0]


def float_index():
    x = qd.field(qd.i32, shape=3)

    @qd.kernel
    def k(a: qd.f32):
        x[a] = 1

    k(1.0)


def shape_in_a_kernel():
    x = qd.field(qd.i32, shape=(2, 3))

    @qd.kernel
    def k() -> qd.i32:
        return x.shape[0] * 10 + x.shape[1]

    return k()


def vector_index():
    x = qd.field(qd.i32, shape=(2, 3))

    @qd.kernel
    def k():
        p = qd.Vector([1, 2])
        x[p] = 6

    k()
    return x.to_numpy()


def numpy_argument_in_place():
    a = np.arange(4, dtype=np.float32)

    @qd.kernel
    def k(a: qd.types.ndarray()):
        for i in range(4):
            a[i] *= 2

    k(a)
    return a


def numpy_argument_two_dimensions():
    a = np.zeros((2, 3), np.int64)

    @qd.kernel
    def k(a: qd.types.ndarray()):
        for i, j in qd.ndrange(a.shape[0], a.shape[1]):
            a[i, j] = i * 10 + j

    k(a)
    return a


def numpy_argument_of_every_type():
    found = []

    @qd.kernel
    def k(a: qd.types.ndarray()):
        for i in range(3):
            a[i] = a[i] + i

    for t in (np.int8, np.int16, np.int32, np.int64, np.uint8, np.uint16, np.uint32, np.uint64, np.float32, np.float64):
        a = np.ones(3, t)
        k(a)
        found.append(a)
    return found


def numpy_argument_transposed():
    a = np.arange(6, dtype=np.int32).reshape(2, 3)

    @qd.kernel
    def k(a: qd.types.ndarray()) -> qd.i32:
        return a[2, 1] * 10 + a.shape[0]

    return k(a.T)


def numpy_argument_strided():
    a = np.arange(8, dtype=np.int32)

    @qd.kernel
    def k(a: qd.types.ndarray()) -> qd.i32:
        return a[1]

    return k(a[::2])


def ndarray_annotation_with_type():
    @qd.kernel
    def k(a: qd.types.ndarray(dtype=qd.i32, ndim=1)) -> qd.i32:
        return a[0]

    return [k(np.array([4, 5], np.int32)), k(np.array([7], np.int32))]


def ndarray_annotation_wrong_type():
    @qd.kernel
    def k(a: qd.types.ndarray(dtype=qd.i32, ndim=1)) -> qd.i32:
        return a[0]

    return k(np.array([4.0, 5.0], np.float32))


def ndarray_annotation_wrong_dimension():
    @qd.kernel
    def k(a: qd.types.ndarray(dtype=qd.i32, ndim=1)) -> qd.i32:
        return a[0]

    return k(np.zeros((2, 2), np.int32))


def ndarray_wrong_number_of_indices():
    @qd.kernel
    def k(a: qd.types.ndarray()):
        a[0] = 1

    k(np.zeros((2, 2), np.int32))


def ndarray_made_and_filled():
    a = qd.ndarray(qd.f32, shape=(2, 2))
    before = a.to_numpy()
    a.fill(2.5)
    a[0, 1] = 7
    return [before, a.to_numpy(), a[0, 1], a.shape]


def ndarray_from_numpy():
    a = qd.ndarray(qd.i32, shape=3)
    a.from_numpy(np.array([1, 2, 3], np.int32))

    @qd.kernel
    def k(a: qd.types.ndarray()) -> qd.i32:
        s = 0
        for i in range(3):
            s += a[i]
        return s

    return k(a)


def ndarray_of_vectors():
    a = qd.Vector.ndarray(2, qd.i32, shape=3)

    @qd.kernel
    def k(a: qd.types.ndarray()):
        for i in range(3):
            a[i] = qd.Vector([i, i * i])
            a[i][0] += 1

    k(a)
    return a.to_numpy()


def torch_argument_in_place():
    import torch

    a = torch.arange(4, dtype=torch.float32)

    @qd.kernel
    def k(a: qd.types.ndarray()):
        for i in range(4):
            a[i] += i

    k(a)
    return a.numpy()


def torch_and_numpy_together():
    import torch

    a, b = torch.arange(3, dtype=torch.int32), np.zeros(3, np.int32)

    @qd.kernel
    def k(a: qd.types.ndarray(), b: qd.types.ndarray()):
        for i in range(3):
            b[i] = a[i] * 2

    k(a, b)
    return b


def field_to_torch():
    x = qd.field(qd.i32, shape=3)
    x[2] = 4
    return x.to_torch().numpy()


def integer_for_a_float_argument():
    @qd.kernel
    def k(a: qd.f32) -> qd.f32:
        return a / 2

    return k(3)


def float_for_an_integer_argument():
    @qd.kernel
    def k(a: qd.i32) -> qd.i32:
        return a

    return k(3.5)


def numpy_scalar_arguments():
    @qd.kernel
    def k(a: qd.i32, b: qd.f32) -> qd.f32:
        return a + b

    return k(np.int32(3), np.float32(0.5))


def i32_argument_out_of_range():
    @qd.kernel
    def k(a: qd.i32) -> qd.i32:
        return a

    return k((1 << 32) + 5)


def negative_for_an_unsigned_argument():
    @qd.kernel
    def k(a: qd.u32) -> qd.u32:
        return a

    return k(-1)


def bool_argument():
    @qd.kernel
    def k(a: qd.i32, b: qd.u1) -> qd.i32:
        return a * 10 + b

    return k(True, True)


def i64_and_f64_arguments():
    @qd.kernel
    def k(a: qd.i64, b: qd.f64) -> qd.f64:
        return a + b

    return k(1 << 40, 0.1)


def list_for_an_integer_argument():
    @qd.kernel
    def k(a: qd.i32) -> qd.i32:
        return a

    return k([1])


def keyword_arguments():
    @qd.kernel
    def k(a: qd.i32, b: qd.i32) -> qd.i32:
        return a * 10 + b

    return [k(1, b=2), k(b=1, a=2)]


def missing_argument():
    @qd.kernel
    def k(a: qd.i32, b: qd.i32) -> qd.i32:
        return a

    return k(1)


def too_many_arguments():
    @qd.kernel
    def k(a: qd.i32) -> qd.i32:
        return a

    return k(1, 2)


def unknown_keyword():
    @qd.kernel
    def k(a: qd.i32) -> qd.i32:
        return a

    return k(1, c=2)


def argument_cannot_be_assigned():
    @qd.kernel
    def k(a: qd.i32) -> qd.i32:
        a = 3
        return a

    return k(1)


def argument_cannot_be_augmented():
    @qd.kernel
    def k(a: qd.i32) -> qd.i32:
        a += 3
        return a

    return k(1)


@options(debug=True)
def index_out_of_bounds_in_debug():
    x = qd.field(qd.i32, shape=3)

    @qd.kernel
    def k(i: qd.i32):
        x[i] = 1

    k(3)


@options(debug=True)
def negative_index_in_debug():
    x = qd.field(qd.i32, shape=3)

    @qd.kernel
    def k(i: qd.i32):
        x[i] = 1

    k(-1)


@options(debug=True)
def assert_in_debug():
    @qd.kernel
    def k(i: qd.i32):
        assert i < 3, "i is too large"

    k(2)
    k(3)


def assert_that_holds():
    @qd.kernel
    def k(i: qd.i32) -> qd.i32:
        assert i < 3, "i is too large"
        return i

    return k(2)
