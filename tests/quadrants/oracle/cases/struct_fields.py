"""Fields of structs as wholes: copies, tensors of torch, members."""

import quadrants as qd


def _field():
    field = qd.Struct.field({"a": qd.i32, "b": qd.types.vector(2, qd.f32)}, shape=3)
    field.a.fill(7)
    field.b.fill(0.5)
    return field


def members_in_their_order():
    return list(_field().keys)


def tensors_of_torch():
    field = _field()
    given = {name: part + 1 for name, part in field.to_torch().items()}
    field.from_torch(given)
    return [part.numpy() for part in field.to_torch().values()]


def arrays_that_lack_a_member():
    field = _field()
    field.from_numpy({"a": field.a.to_numpy()})


def copy_of_a_field():
    field, other = _field(), _field()
    field.a.fill(1)
    other.copy_from(field)
    return other.a.to_numpy()


def element_in_a_kernel():
    field, other = _field(), _field()

    @qd.kernel
    def k():
        for i in field:
            one = field[i]
            one.a += i
            other[2 - i] = one

    k()
    return [field.a.to_numpy(), other.a.to_numpy()]


def element_that_python_writes():
    field = _field()
    field[1] = {"a": 3, "b": [1.0, 2.0]}
    return [field.a.to_numpy(), field.b.to_numpy()]


def element_that_lacks_a_member():
    field = _field()
    field[1] = {"a": 3}
    return [field.a.to_numpy(), field.b.to_numpy()]


def iteration_in_python():
    return list(_field())


def iteration_over_numbers_in_python():
    return list(_field().a)


def iteration_over_an_array_in_python():
    return list(qd.ndarray(qd.i32, 3))
