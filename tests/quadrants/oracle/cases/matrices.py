"""Vectors and matrices: making, indexing, arithmetic, reductions, fields of them."""

import numpy as np
import quadrants as qd


def vector_made_and_indexed():
    @qd.kernel
    def k() -> qd.i32:
        v = qd.Vector([1, 2, 3])
        return v[0] * 100 + v[1] * 10 + v[2]

    return k()


def vector_of_run_time_values():
    @qd.kernel
    def k(a: qd.i32) -> qd.i32:
        v = qd.Vector([a, a + 1])
        v[0] = 9
        return v[0] * 10 + v[1]

    return k(3)


def vector_mixed_types():
    @qd.kernel
    def k() -> qd.f32:
        v = qd.Vector([1, 2.5])
        return v[0] / 2 + v[1]

    return k()


def vector_with_dtype():
    @qd.kernel
    def k() -> qd.f32:
        v = qd.Vector([1, 2], qd.f32)
        return v[0] / 2 + v[1]

    return k()


def vector_run_time_index():
    @qd.kernel
    def k(i: qd.i32) -> qd.i32:
        v = qd.Vector([4, 5, 6])
        return v[i]

    return [k(0), k(2)]


def vector_run_time_index_store():
    @qd.kernel
    def k(i: qd.i32) -> qd.i32:
        v = qd.Vector([4, 5, 6])
        v[i] = 0
        return v[0] * 100 + v[1] * 10 + v[2]

    return [k(0), k(2)]


def elementwise_arithmetic():
    @qd.kernel
    def k(n: qd.i32) -> qd.i32:
        a = qd.Vector([n, -n])
        b = qd.Vector([2, 3])
        c = a + b * 2 - 1
        d = a // b
        e = a % b
        return c[0] * 10000 + c[1] * 1000 + d[0] * 100 + d[1] * 10 + e[0] + e[1]

    return k(7)


def scalar_on_the_left():
    @qd.kernel
    def k() -> qd.f32:
        v = 1.0 / qd.Vector([2.0, 4.0])
        return v[0] + v[1]

    return k()


def shapes_that_differ():
    @qd.kernel
    def k():
        a = qd.Vector([1, 2]) + qd.Vector([1, 2, 3])

    k()


def dot_cross_norm():
    x = qd.field(qd.f32, shape=8)

    @qd.kernel
    def k():
        a = qd.Vector([1.0, 2.0, 3.0])
        b = qd.Vector([4.0, 5.0, 6.0])
        c = a.cross(b)
        x[0] = a.dot(b)
        x[1] = c[0]
        x[2] = c[1]
        x[3] = c[2]
        x[4] = qd.Vector([3.0, 4.0]).norm()
        x[5] = qd.Vector([3.0, 4.0]).norm_sqr()
        x[6] = qd.Vector([3.0, 4.0]).normalized()[0]
        x[7] = qd.math.length(qd.Vector([3.0, 4.0]))

    k()
    return x.to_numpy()


def sum_min_max_any_all():
    @qd.kernel
    def k() -> qd.i32:
        v = qd.Vector([3, 1, 2])
        return v.sum() * 10000 + v.min() * 1000 + v.max() * 100 + (v > 2).any() * 10 + (v > 0).all()

    return k()


def matrix_product():
    x = qd.field(qd.i32, shape=(2, 2))

    @qd.kernel
    def k():
        a = qd.Matrix([[1, 2], [3, 4]])
        b = qd.Matrix([[5, 6], [7, 8]])
        c = a @ b
        for i, j in qd.static(qd.ndrange(2, 2)):
            x[i, j] = c[i, j]

    k()
    return x.to_numpy()


def matrix_times_vector():
    @qd.kernel
    def k() -> qd.i32:
        a = qd.Matrix([[1, 2], [3, 4]])
        v = a @ qd.Vector([5, 6])
        return v[0] * 100 + v[1]

    return k()


def product_of_wrong_shapes():
    @qd.kernel
    def k():
        a = qd.Matrix([[1, 2, 3], [3, 4, 5]])
        b = a @ a

    k()


def transpose_trace_determinant_inverse():
    x = qd.field(qd.f32, shape=4)

    @qd.kernel
    def k():
        a = qd.Matrix([[1.0, 2.0], [3.0, 5.0]])
        x[0] = a.transpose()[0, 1]
        x[1] = a.trace()
        x[2] = a.determinant()
        x[3] = a.inverse()[0, 0]

    k()
    return x.to_numpy()


def identity_zero_one_unit():
    @qd.kernel
    def k() -> qd.i32:
        a = qd.Matrix.identity(qd.i32, 2)
        b = qd.Matrix.zero(qd.i32, 2, 2)
        c = qd.Matrix.one(qd.i32, 2, 2)
        d = qd.Vector.unit(3, 1, qd.i32)
        e = qd.Vector.zero(qd.i32, 2)
        return (a + b + c).sum() * 100 + d[1] * 10 + e[0]

    return k()


def diag_and_rows():
    @qd.kernel
    def k() -> qd.i32:
        a = qd.Matrix.diag(2, 3)
        b = qd.Matrix.rows([qd.Vector([1, 2]), qd.Vector([3, 4])])
        c = qd.Matrix.cols([qd.Vector([1, 2]), qd.Vector([3, 4])])
        return a[0, 0] * 1000 + a[0, 1] * 100 + b[0, 1] * 10 + c[0, 1]

    return k()


def outer_product():
    @qd.kernel
    def k() -> qd.i32:
        m = qd.Vector([1, 2]).outer_product(qd.Vector([3, 4, 5]))
        return m[0, 0] * 1000 + m[1, 2] * 10 + m.m

    return k()


def cast_of_a_vector():
    @qd.kernel
    def k() -> qd.i32:
        v = qd.cast(qd.Vector([1.9, -2.9]), qd.i32)
        w = qd.Vector([1.9, 2.9]).cast(int)
        return v[0] * 1000 + v[1] * 100 + w[0] * 10 + w[1]

    return k()


def swizzles():
    @qd.kernel
    def k() -> qd.i32:
        v = qd.Vector([1, 2, 3])
        w = v.zx
        v.xy = v.yx
        return w[0] * 1000 + w[1] * 100 + v.x * 10 + v.y

    return k()


def components_by_name():
    @qd.kernel
    def k() -> qd.i32:
        v = qd.Vector([1, 2, 3, 4])
        v.w = 9
        v.r = 5
        return v.x * 1000 + v.y * 100 + v.z * 10 + v.w

    return k()


def vector_field_access():
    x = qd.Vector.field(3, qd.f32, shape=2)

    @qd.kernel
    def k():
        for i in x:
            x[i] = qd.Vector([1.0, 2.0, 3.0]) * i
            x[i].x = 7
            x[i][2] += 0.5

    k()
    return x.to_numpy()


def vector_field_in_python():
    x = qd.Vector.field(2, qd.i32, shape=2)
    x[0] = [1, 2]
    x[1][1] = 5
    return [x[0][1], x[1].to_numpy(), x.to_numpy(), str(x[0])]


def matrix_field():
    x = qd.Matrix.field(2, 2, qd.i32, shape=2)

    @qd.kernel
    def k():
        for i in x:
            x[i] = qd.Matrix([[1, 2], [3, 4]]) + i
            x[i][0, 1] = 0

    k()
    return x.to_numpy()


def matrix_in_python():
    a = qd.Matrix([[1, 2], [3, 4]])
    b = a @ a + 1
    return [b.to_numpy(), (a * 2).sum(), a.transpose().to_numpy(), a[1, 0]]


def vector_in_python():
    v = qd.Vector([1.5, 2.5])
    return [v.dot(v), (v + 1).to_numpy(), v.norm(), len(v), v.to_list()]


def vector_assignment_copies():
    @qd.kernel
    def k() -> qd.i32:
        a = qd.Vector([1, 2])
        b = a
        b[0] = 9
        return a[0] * 10 + b[0]

    return k()


def vector_augmented_assignment():
    @qd.kernel
    def k() -> qd.i32:
        a = qd.Vector([1, 2])
        a += qd.Vector([3, 4])
        a *= 2
        return a[0] * 100 + a[1]

    return k()


def vector_filled_from_a_scalar():
    x = qd.Vector.field(2, qd.i32, shape=())

    @qd.kernel
    def k():
        x[None] = 3

    k()
    return x.to_numpy()


def loop_over_components():
    @qd.kernel
    def k() -> qd.i32:
        v = qd.Vector([1, 2, 3])
        r = 0
        for i in qd.static(range(v.n)):
            r = r * 10 + v[i]
        return r

    return k()


def vector_from_a_comprehension():
    @qd.kernel
    def k(n: qd.i32) -> qd.i32:
        v = qd.Vector([n * i for i in range(4)])
        return v.sum()

    return k(3)


def index_outside_a_vector():
    @qd.kernel
    def k() -> qd.i32:
        v = qd.Vector([1, 2])
        return v[5]

    return k()


def too_many_indices_of_a_vector():
    @qd.kernel
    def k() -> qd.i32:
        v = qd.Vector([1, 2])
        return v[0, 1]

    return k()


def vector_type_by_name():
    vec3 = qd.types.vector(3, qd.f32)

    @qd.kernel
    def k(a: vec3) -> qd.f32:
        b = vec3(1, 2, 3)
        c = vec3(2)
        return (a + b + c).sum()

    return k(qd.Vector([1.0, 1.0, 1.0]))


def math_vectors():
    @qd.kernel
    def k() -> qd.f32:
        a = qd.math.vec2(1, 2)
        b = qd.math.vec3(a, 3)
        c = qd.math.ivec2(1.9, 2)
        return b.sum() + c.x

    return k()


def vector_return():
    @qd.kernel
    def k() -> qd.types.vector(3, qd.i32):
        return qd.Vector([1, 2, 3])

    v = k()
    return [v[0], v[2], v.to_numpy()]


def matrix_return():
    @qd.kernel
    def k() -> qd.types.matrix(2, 2, qd.f32):
        return qd.Matrix([[1, 2], [3, 4]])

    return k().to_numpy()


def vector_of_another_length_returned():
    @qd.kernel
    def k() -> qd.types.vector(3, qd.i32):
        return qd.Vector([1, 2])

    return k().to_numpy()


def vector_argument():
    @qd.kernel
    def k(v: qd.types.vector(2, qd.i32)) -> qd.i32:
        return v[0] * 10 + v[1]

    return [k(qd.Vector([1, 2])), k([3, 4]), k(np.array([5, 6], np.int32))]


def min_max_of_vectors():
    @qd.kernel
    def k() -> qd.i32:
        a = qd.max(qd.Vector([1, 5]), qd.Vector([2, 4]))
        b = qd.min(qd.Vector([1, 5]), 3)
        return a[0] * 1000 + a[1] * 100 + b[0] * 10 + b[1]

    return k()


def functions_of_vectors():
    @qd.kernel
    def k() -> qd.f32:
        a = qd.sqrt(qd.Vector([4.0, 9.0]))
        b = abs(qd.Vector([-1, 2]))
        c = qd.floor(qd.Vector([1.5, -1.5]))
        return a[0] * 1000 + a[1] * 100 + b[0] * 10 + c[0] + c[1]

    return k()


def unpacking_a_vector():
    @qd.kernel
    def k() -> qd.i32:
        a, b = qd.Vector([3, 4])
        return a * 10 + b

    return k()


def slices_of_a_vector():
    @qd.kernel
    def k() -> qd.i32:
        v = qd.Vector([1, 2, 3, 4])
        w = v[1:3]
        return w[0] * 10 + w[1]

    return k()


def negation_and_comparison():
    @qd.kernel
    def k() -> qd.i32:
        v = -qd.Vector([1, -2])
        e = v == qd.Vector([-1, 2])
        return v[0] * 100 + v[1] * 10 + e.all()

    return k()


def captured_matrix():
    m = qd.Matrix([[1, 2], [3, 4]])

    @qd.kernel
    def k() -> qd.i32:
        return (m @ m)[1, 1] + m[0, 1]

    return k()
