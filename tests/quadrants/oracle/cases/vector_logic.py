"""`and`, `or` and arithmetic of vectors and matrices whose entries are known while compiling, or are not."""

import quadrants as qd

V3 = qd.types.vector(3, qd.i64)
M2 = qd.types.matrix(2, 2, qd.i64)


def or_of_vectors():
    @qd.kernel
    def k(a: qd.i32) -> V3:
        return qd.Vector([a, 0, 0]) or qd.Vector([2, a, 0])

    return [int(k(3)[i]) for i in range(3)]


def and_of_vectors():
    @qd.kernel
    def k(a: qd.i32) -> V3:
        return qd.Vector([a, 0, -a]) and qd.Vector([2, a, 7])

    return [int(k(3)[i]) for i in range(3)]


def or_of_a_number_and_a_vector():
    @qd.kernel
    def k(a: qd.i32) -> V3:
        return (a > 4) or qd.Vector([a, 0, -a])

    return [int(k(3)[i]) for i in range(3)]


def and_of_a_literal_and_a_vector():
    @qd.kernel
    def k(a: qd.i32) -> V3:
        return 2 and qd.Vector([a, 0, -a])

    return [int(k(3)[i]) for i in range(3)]


def or_of_a_literal_that_decides_and_a_vector():
    @qd.kernel
    def k(a: qd.i32) -> V3:
        return 2 or qd.Vector([a, 0, -a])

    return [int(k(3)[i]) for i in range(3)]


def and_of_a_vector_and_a_number():
    @qd.kernel
    def k(a: qd.i32) -> V3:
        return qd.Vector([a, 0, -a], dt=qd.u8) and a

    return [int(k(3)[i]) for i in range(3)]


def or_of_matrices():
    @qd.kernel
    def k(a: qd.i32) -> M2:
        return qd.Matrix([[a, 0], [0, -a]]) or (qd.Matrix([[a, 0], [2, -a]]) != 0)

    return [int(k(3)[i, j]) for i in range(2) for j in range(2)]


def three_operands():
    @qd.kernel
    def k(a: qd.i32) -> V3:
        return (qd.Vector([a, 0, 5]) and qd.Vector([a, 1, 0])) or qd.Vector([0, 0, 4])

    return [int(k(3)[i]) for i in range(3)]


def logic_has_the_common_type():
    @qd.kernel
    def k(a: qd.i32) -> V3:
        wide = qd.Vector([a, 0, a], dt=qd.i64) or qd.Vector([2, 0, 0], dt=qd.u8)
        narrow = qd.Vector([a, 0, a]) or a
        return qd.Vector([(wide << 40)[0], (narrow - 2)[0], (narrow + narrow)[1]], dt=qd.i64)

    return [int(k(3)[i]) for i in range(3)]


def or_of_floats():
    @qd.kernel
    def k(x: qd.f32) -> V3:
        return qd.Vector([x, 0.0, -x]) or qd.Vector([1, 0, 0])

    return [int(k(3.0)[i]) for i in range(3)]


def or_of_two_shapes():
    @qd.kernel
    def k(a: qd.i32) -> V3:
        return qd.Vector([a, 0, 0]) or qd.Vector([1, 0])

    return [int(k(3)[i]) for i in range(3)]


def a_known_zero_divides_entries():
    @qd.kernel
    def k(a: qd.i32) -> qd.types.vector(3, qd.f64):
        return qd.Vector([2, a, -2]) / 0

    return [float(k(3)[i]) for i in range(3)]


def a_mask_divides():
    @qd.kernel
    def k(a: qd.i32) -> qd.types.vector(3, qd.f64):
        return 2 / (qd.Vector([a, 0, -a]) != 0)

    return [float(k(3)[i]) for i in range(3)]


def entries_wrap():
    @qd.kernel
    def k() -> V3:
        return qd.Vector([2147483647, 0, -1]) + 1

    return [int(k()[i]) for i in range(3)]


def without_short_circuit():
    @qd.kernel
    def k(a: qd.i32) -> V3:
        v = qd.Vector([a, 4, 0]) or qd.Vector([2, 1, 0])
        return qd.Vector([a or 4, v[0], v[1]], dt=qd.i64)

    return [int(k(3)[i]) for i in range(3)]


without_short_circuit.options = {"short_circuit_operators": False}
