"""Tensors: a field or an array in one class, as values, arguments and members."""

import dataclasses
import pickle

import numpy as np
import quadrants as qd

_BACKENDS = (qd.Backend.FIELD, qd.Backend.NDARRAY)


@qd.kernel
def _count(x: qd.Tensor):
    for i in range(x.shape[0]):
        x[i] += i


def made():
    rows = []
    for backend in _BACKENDS:
        x = qd.tensor(qd.f32, shape=(3, 4), backend=backend)
        rows.append([isinstance(x, qd.Tensor), x.shape, str(x.layout), x.to_numpy()])
    return rows


def of_vectors_and_matrices():
    rows = []
    for backend in _BACKENDS:
        v = qd.Vector.tensor(3, qd.f32, shape=(4,), backend=backend)
        m = qd.Matrix.tensor(2, 2, qd.i32, shape=2, backend=backend)
        v.fill(1.5)
        m[1] = [[1, 2], [3, 4]]
        rows.append([type(v).__name__, v.shape, v.element_shape, v.to_numpy(), type(m).__name__, m.to_numpy()])
    return rows


def arguments():
    array, field = qd.tensor(qd.i32, 4), qd.tensor(qd.i32, 4, backend=qd.Backend.FIELD)
    bare, plain = qd.ndarray(qd.i32, 4), qd.field(qd.i32, 4)
    for x in (array, field, array, bare, plain, bare):
        _count(x)
    return [x.to_numpy() for x in (array, field, bare, plain)]


def none_is_an_argument():
    @qd.kernel
    def add(out: qd.Tensor, x: qd.Tensor):
        for i in range(4):
            if qd.static(x is not None):
                out[i] += x[i]
            else:
                out[i] += 100

    out, x = qd.tensor(qd.i32, 4), qd.tensor(qd.i32, 4)
    x.fill(7)
    add(out, x)
    add(out, None)
    add(out, x)
    return out.to_numpy()


def in_a_func():
    @qd.func
    def add(x: qd.Tensor, i, by):
        x[i] += by

    @qd.kernel
    def k(x: qd.Tensor):
        for i in range(4):
            add(x, i, 2 * i)

    rows = []
    for backend in _BACKENDS:
        x = qd.tensor(qd.i32, 4, backend=backend)
        k(x)
        rows.append(x.to_numpy())
    return rows


def as_template_and_array():
    @qd.kernel
    def of_field(x: qd.template()):
        for i in x:
            x[i] = 2 * i

    @qd.kernel
    def of_array(x: qd.types.ndarray()):
        for i in range(4):
            x[i] = 3 * i

    field, array = (qd.tensor(qd.i32, 4, backend=backend) for backend in _BACKENDS)
    of_field(field)
    of_array(array)
    return [field.to_numpy(), array.to_numpy()]


def members_of_a_dataclass():
    @dataclasses.dataclass
    class State:
        a: qd.Tensor
        b: qd.Tensor

    @qd.kernel
    def k(s: State):
        for i in range(4):
            s.a[i] += i
            s.b[i] += 2 * s.a[i]

    rows = []
    for first in _BACKENDS:
        for second in _BACKENDS:
            s = State(qd.tensor(qd.i32, 4, backend=first), qd.tensor(qd.i32, 4, backend=second))
            k(s)
            k(s)
            rows += [s.a.to_numpy(), s.b.to_numpy()]
    return rows


def members_of_an_object():
    @qd.data_oriented
    class State:
        def __init__(self):
            self.a = qd.tensor(qd.i32, 4)
            self.b = qd.tensor(qd.i32, 4, backend=qd.Backend.FIELD)

        @qd.kernel
        def step(self):
            for i in range(4):
                self.a[i] += i
                self.b[i] += 2 * self.a[i]

    state = State()
    state.step()
    state.step()
    state.a = qd.tensor(qd.i32, 4)
    state.step()
    return [state.a.to_numpy(), state.b.to_numpy()]


def a_layout_changes_no_value():
    rows = []
    for backend in _BACKENDS:
        x = qd.tensor(qd.i32, shape=(2, 3), backend=backend, layout=(1, 0))
        x.from_numpy(np.arange(6, dtype=np.int32).reshape(2, 3))

        @qd.kernel
        def k(x: qd.Tensor):
            for i, j in qd.ndrange(2, 3):
                x[i, j] += 10 * i

        k(x)
        rows.append([x.layout, x.shape, x.to_numpy(), int(x[1, 2])])
    return rows


def a_view_without_a_copy():
    rows = []
    for backend in _BACKENDS:
        x = qd.tensor(qd.i32, 4, backend=backend)
        view = x.to_numpy(copy=False)
        view[2] = 9
        maybe = x.to_numpy(copy=None)
        maybe[1] = 5
        converted = x.to_numpy(dtype=np.float64, copy=None)
        converted[0] = 3
        _count(x)
        rows.append([x.to_numpy(), view.copy(), converted])
    return rows


def a_view_of_another_type():
    qd.tensor(qd.f32, 4).to_numpy(dtype=np.float64, copy=False)


def pickled():
    rows = []
    for backend in _BACKENDS:
        x = qd.tensor(qd.i32, shape=(2, 3), backend=backend, layout=(1, 0))
        x.from_numpy(np.arange(6, dtype=np.int32).reshape(2, 3))
        v = qd.Vector.tensor(3, qd.f32, shape=2, backend=backend)
        v.from_numpy(np.arange(6, dtype=np.float32).reshape(2, 3))
        x, v = pickle.loads(pickle.dumps(x)), pickle.loads(pickle.dumps(v))
        rows.append([x.to_numpy(), x.layout, type(v).__name__, v.to_numpy()])
    return rows


def wrapped():
    array = qd.Vector.ndarray(3, qd.f32, 2)
    x = qd.wrap(array)
    return [type(x).__name__, type(qd.wrap(qd.field(qd.f32, 3))).__name__, x._unwrap() is array]


def copied():
    x, y = qd.tensor(qd.i32, 4), qd.tensor(qd.i32, 4)
    x.fill(3)
    y.copy_from(x)
    return y.to_numpy()


def wrapped_twice():
    qd.Tensor(qd.tensor(qd.i32, 4))


def an_unknown_backend():
    qd.tensor(qd.f32, 3, backend="field")


def an_unknown_option():
    qd.tensor(qd.f32, (4, 5), offset=(1, 1))


def an_order():
    qd.tensor(qd.f32, (4, 5), order="ji")


def a_layout_that_is_no_permutation():
    qd.tensor(qd.f32, (4, 5), layout=(0, 0))


def a_layout_of_too_many_axes():
    qd.tensor(qd.f32, (4, 5), layout=(0, 1, 2))


def a_layout_of_vectors():
    qd.Vector.tensor(3, qd.f32, shape=(4, 5), layout=(1, 0))
