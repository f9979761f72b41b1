"""Structs: types and makers, fields of them, methods, copies, arguments and results, and dataclasses as arguments."""

import dataclasses

import numpy as np
import quadrants as qd

_vec3 = qd.types.vector(3, float)


@qd.dataclass
class _Pair:
    i: int
    j: float


@qd.dataclass
class _Body:
    pair: _Pair
    v: _vec3
    k: qd.u8

    @qd.func
    def total(self):
        return self.pair.i + self.v.sum() + self.k

    @qd.func
    def move(self, by):
        self.pair.i += by
        self.v[1] = 7

    def doubled(self):
        return 2 * self.k


@dataclasses.dataclass
class _Inner:
    x: qd.types.ndarray(qd.f32, 1)
    scale: float


@dataclasses.dataclass(frozen=True)
class _Outer:
    inner: _Inner
    n: int
    pair: _Pair
    text: qd.template()
    v: _vec3


def _kernel(function, *arguments):
    return qd.kernel(function)(*arguments)


def made_in_python():
    return [
        _Pair().to_dict(),
        _Pair(1).to_dict(),
        _Pair(1.7, 2).to_dict(),
        _Pair(j=3).to_dict(),
        _Body(_Pair(1, 2), (1, 2, 3), 4).to_dict(),
        _Body(_Pair(1, 2), 1).to_dict(),
        _Body({"i": 1, "j": 2}, (1, 2, 3)).to_dict(),
        _Body(3).to_dict(),
        qd.Struct(a=1, b={"c": 2.5}).to_dict(),
        qd.Struct({"a": 1, "b": {"c": 2.5}}).to_dict(),
        _Body(k=4).doubled(),
    ]


def members_and_items():
    body = _Body(_Pair(1, 2), (1, 2, 3), 4)
    return [body.keys, [name for name, _ in body.items], body["k"], str(_Pair(1, 2.5)), sorted(_Body.methods)]


def a_member_is_assigned_in_python():
    pair = _Pair(1, 2)
    pair.i = 9
    pair["j"] = 4.5
    return pair.to_dict()


def a_method():
    def k() -> float:
        body = _Body(_Pair(1, 2.5), _vec3(1, 2, 3), 4)
        return body.total()

    return _kernel(k)


def a_method_changes_its_struct():
    def k() -> float:
        body = _Body(_Pair(1, 2.5), _vec3(1, 2, 3), 4)
        body.move(3)
        return body.total()

    return _kernel(k)


def a_method_changes_an_element():
    field = _Body.field(shape=4)

    def k() -> float:
        field[1].move(3)
        return field[1].total()

    return [_kernel(k), field.to_numpy()]


def a_small_member_wraps():
    def k() -> int:
        body = _Body(_Pair(1, 2.5), _vec3(1, 2, 3), 300)
        return body.k

    return _kernel(k)


def numbers_become_the_members_types():
    def k() -> float:
        pair = _Pair(2.7, 3)
        return pair.i + pair.j / 2

    return _kernel(k)


def what_is_not_given_is_zero():
    def k() -> float:
        body = _Body(_Pair(1, 2), k=3)
        return body.total()

    return _kernel(k)


def an_assignment_copies():
    def k() -> float:
        a = _Body(_Pair(1, 2), _vec3(1, 2, 3), 4)
        b = a
        b.pair.i = 9
        return a.pair.i * 10 + b.pair.i

    return _kernel(k)


def an_element_is_copied():
    field = _Pair.field(shape=3)

    def k() -> int:
        pair = field[0]
        pair.i = 77
        return field[0].i

    return _kernel(k)


def a_func_gets_a_copy():
    @qd.func
    def change(pair):
        pair.i = 5

    @qd.func
    def change_annotated(pair: _Pair):
        pair.i = 6

    @qd.func
    def change_template(pair: qd.template()):
        pair.j = 7

    def k() -> float:
        pair = _Pair(1, 2)
        change(pair)
        change_annotated(pair)
        change_template(pair)
        return pair.i * 10 + pair.j

    return _kernel(k)


def assigned_from_another_struct():
    def k() -> float:
        pair = _Pair(1, 2)
        other = qd.Struct(i=3.9, j=4)
        pair = other
        return pair.i + pair.j

    return _kernel(k)


def assigned_with_fewer_members():
    def k() -> int:
        pair = _Pair(1, 2)
        pair = qd.Struct(i=3)
        return pair.i

    return _kernel(k)


def assigned_a_number():
    def k() -> int:
        pair = _Pair(1, 2)
        pair = 3
        return pair.i

    return _kernel(k)


def assigned_in_an_if():
    def k(n: int) -> float:
        pair = _Pair(1, 2)
        if n > 2:
            pair = _Pair(5, 6)
            pair.j += 1
        return pair.i + pair.j

    return [_kernel(k, 3), _kernel(k, 1)]


def a_member_in_a_loop():
    def k() -> float:
        pair = _Pair(1, 2)
        for i in range(10):
            pair.j += i
        return pair.j

    return _kernel(k)


def a_loop_over_a_field():
    field = _Body.field(shape=4)

    def k():
        for i in field:
            field[i].pair.i = i
            field[i].v = _vec3(i)
            field[i].k += qd.u8(1)

    _kernel(k)
    return field.to_numpy()


def elements_are_assigned():
    field = _Body.field(shape=4)

    def k():
        field[1] = _Body(_Pair(3, 4), _vec3(1), 2)
        field[2] = field[1]
        field[3].pair = _Pair(8, 9)

    _kernel(k)
    return field.to_numpy()


def an_element_is_assigned_a_number():
    field = _Pair.field(shape=4)

    def k():
        field[1] = 3

    _kernel(k)


def elements_in_python():
    field = _Body.field(shape=4)
    kept = field[1]
    field[1].pair.i = 5
    kept.v = (1, 2, 3)
    kept.v[2] = 9
    field[2] = _Body(_Pair(1, 2), (1, 2, 3), 4)
    field[3] = {"pair": {"i": 1, "j": 2}, "v": [1, 2, 3], "k": 3}
    return [int(kept.pair.i), field.to_numpy()]


def fields_all_at_once():
    field, copy = _Body.field(shape=3), _Body.field(shape=3)
    field.fill(2)
    field.v.fill(1.5)
    copy.copy_from(field)
    arrays = copy.to_numpy()
    arrays["k"] += np.uint8(1)
    field.from_numpy(arrays)
    return [field.to_numpy(), field.keys, field.shape, type(field.pair).__name__, type(field.v).__name__]


def a_field_that_is_placed():
    field = qd.Struct.field({"a": qd.f32, "b": qd.types.vector(2, qd.i32)})
    qd.root.dense(qd.ij, (2, 3)).place(field)

    def k():
        for i, j in field:
            field[i, j].a = i
            field[i, j].b = qd.Vector([i, j])

    _kernel(k)
    return [field.shape, field.to_numpy()]


def members_of_a_field_in_a_kernel():
    field = _Body.field(shape=4)
    field.fill(3)

    def k() -> float:
        return field.pair.j[3] + field[3].pair.j + field.v[1][2]

    return _kernel(k)


def a_field_as_a_template():
    field = _Body.field(shape=4)
    field.fill(3)

    def k(x: qd.template()) -> float:
        total = 0.0
        for i in x:
            total += x[i].pair.j
        return total

    return _kernel(k, field)


def an_argument():
    def k(body: _Body) -> float:
        return body.total()

    return _kernel(k, _Body(_Pair(1, 2), (1, 2, 3), 4))


def an_argument_of_another_struct():
    def k(body: _Body) -> float:
        return body.total()

    return _kernel(k, _Pair(1, 2))


def an_argument_that_is_a_number():
    def k(body: _Body) -> float:
        return body.total()

    return _kernel(k, 3)


def a_result():
    def k() -> _Body:
        return _Body(_Pair(1, 2), _vec3(1, 2, 3), 4)

    return str(_kernel(k))


def a_result_of_an_element():
    field = _Body.field(shape=4)
    field.fill(3)

    def k() -> _Pair:
        return field[3].pair

    return _kernel(k).to_dict()


def a_result_beside_a_number():
    def k() -> (int, _Pair):
        return 3, _Pair(1, 2)

    number, pair = _kernel(k)
    return [number, pair.to_dict()]


def a_real_func_takes_and_returns_them():
    @qd.real_func
    def made(n: int) -> _Pair:
        pair = _Pair(1, 2)
        if n > 3:
            pair = _Pair(7, 8)
        return pair

    @qd.real_func
    def added(pair: _Pair) -> float:
        return pair.i + pair.j

    def k(n: int) -> float:
        return added(made(n)) + added(_Pair(10, 20))

    return [_kernel(k, 5), _kernel(k, 2)]


def a_list_of_them():
    def k() -> float:
        pairs = [_Pair(1, 2), _Pair(3, 4)]
        return pairs[1].j

    return _kernel(k)


def no_member_of_that_name():
    def k() -> int:
        pair = _Pair(1, 2)
        return pair.zz

    return _kernel(k)


def a_sum_of_structs():
    def k() -> float:
        pair = _Pair(1, 2) + _Pair(1, 2)
        return pair.i

    return _kernel(k)


def an_augmented_struct():
    def k() -> float:
        pair = _Pair(1, 2)
        pair += _Pair(1, 2)
        return pair.i

    return _kernel(k)


def unpacked():
    def k() -> int:
        a, b = _Pair(1, 2)
        return a

    return _kernel(k)


def a_type_made_of_a_call():
    line = qd.types.struct(direction=_vec3, length=float)
    named = qd.types.struct(line=line, index=int)
    field = named.field(shape=(2,))

    def k():
        for i in field:
            field[i] = named(line=line(direction=_vec3(1), length=i + 0.5), index=i)

    _kernel(k)
    return [field.to_numpy(), named(3).to_dict()]


def a_dataclass_argument():
    def k(outer: _Outer) -> float:
        for i in range(outer.n):
            outer.inner.x[i] += outer.pair.j * outer.inner.scale + outer.v[1]
        return outer.inner.x[0] + outer.text

    x = np.zeros(5, np.float32)
    return [_kernel(k, _Outer(_Inner(x, 0.5), 3, _Pair(1, 2), 4, _vec3(1, 2, 3))), x]


def a_dataclass_given_to_a_func():
    @qd.func
    def touch(inner: _Inner):
        inner.x[1] += inner.scale

    @qd.func
    def touch_both(outer: _Outer):
        outer.inner.x[2] += outer.n
        touch(outer.inner)

    @qd.kernel
    def k(outer: _Outer):
        touch_both(outer)
        touch(inner=outer.inner)

    x = np.zeros(5, np.float32)
    k(_Outer(_Inner(x, 0.5), 3, _Pair(1, 2), 4, _vec3(1, 2, 3)))
    k(_Outer(_Inner(x, 1.5), 2, _Pair(1, 2), 4, _vec3(1, 2, 3)))
    return x


def a_dataclass_of_another_class():
    def k(inner: _Inner) -> float:
        return inner.scale

    return _kernel(k, _Pair(1, 2))
