"""Members that a kernel reaches through an object, and calls after a member was replaced.

Arrays are found again, whatever way leads to them; numbers and fields are part of the code, as in quadrants 1.3.3, and
a call with other ones warns. The table is kind of member x the way to it.
"""

import dataclasses
import importlib.util
import itertools
import warnings

import numpy as np
import pytest

import dsl.quadrants as qd

pytestmark = pytest.mark.usefixtures("running")


def array(value, dtype=qd.i32, shape=4):
    made = qd.ndarray(dtype, shape)
    made.fill(value)
    return made


def pairs(value):
    made = qd.Vector.ndarray(2, qd.i32, 4)
    made.fill(value)
    return made


def field(value):
    made = qd.field(qd.i32, 4)
    made.fill(value)
    return made


class Plain:
    def __init__(self, v):
        self.v = v


@qd.data_oriented
class Inner:
    def __init__(self, v):
        self.v = v


@dataclasses.dataclass(frozen=True)
class Record:
    v: object


FOUND_ANEW = {  # kind: (a member with this value, how a kernel reads it)
    "array": (array, "M[1]"),
    "array of floats": (lambda v: array(v, qd.f32 if v == 5 else qd.i32), "M[1]"),
    "size": (lambda v: array(v, shape=v), "M.shape[0]"),
    "rank": (lambda v: array(v, shape=(2, 2) if v == 5 else (4,)), "M[1] if qd.static(len(M.shape) == 1) else M[1, 1]"),
    "vectors": (pairs, "M[1][1]"),
    "list": (lambda v: [array(0), array(v)], "M[1][2]"),
    "tuple": (lambda v: (array(v),), "M[0][2]"),
    "dict": (lambda v: {"a": array(v)}, "M['a'][2]"),
    "inner": (lambda v: Inner(array(v)), "M.v[1]"),
    "plain": (lambda v: Plain(array(v)), "M.v[1]"),
    "record": (lambda v: Record(array(v)), "M.v[1]"),
    "deep": (lambda v: Inner([Plain({"x": array(v)})]), "M.v[0].v['x'][3]"),
    "unrolled": (lambda v: [array(v), array(0)], "first(M)"),
}
FROZEN = {
    "int": (int, "M"),
    "float": (float, "M"),
    "text": (str, "qd.static(len(M)) * 0 + int(M)"),
    "field": (field, "M[1]"),
    "list of numbers": (lambda v: [v], "M[0]"),
    "inner number": (Inner, "M.v"),
    "fields": (lambda v: [field(v)], "M[0][1]"),
}
CLASS = """import dsl.quadrants as qd
@qd.func
def first(m: qd.template()):
    return m[0][1]
@qd.data_oriented
class S:
    def __init__(self, m):
        self.m = m
    @qd.func
    def g(self):
        return {inside}
    @qd.kernel
    def method(self) -> qd.f32:
        return {inside}
    @qd.kernel
    def through_func(self) -> qd.f32:
        return self.g()
@qd.kernel
def argument(s: qd.template()) -> qd.f32:
    return {argument}
G = None
@qd.kernel
def from_global() -> qd.f32:
    return {globally}
"""


def module(tmp_path, name, expression):
    path = tmp_path / f"{name}.py"
    path.write_text(
        CLASS.format(
            inside=expression.replace("M", "self.m"),
            argument=expression.replace("M", "s.m"),
            globally=expression.replace("M", "G"),
        )
    )
    spec = importlib.util.spec_from_file_location(name, path)
    made = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(made)
    return made


def ways(made):
    yield "method", lambda s: s.method()
    yield "func", lambda s: s.through_func()
    yield "argument", made.argument


@pytest.mark.slow
def test_an_array_is_found_again_at_every_call(tmp_path):
    for position, (kind, (make, expression)) in enumerate(FOUND_ANEW.items()):
        made = module(tmp_path, f"anew{position}", expression)
        for name, call in ways(made):
            first, second = make(3), make(5)
            s = made.S(first)
            with warnings.catch_warnings():
                warnings.simplefilter("error")
                found = []
                for member in (first, second, second, first, first, make(7), second):
                    s.m = member
                    found.append(call(s))
            assert found == [3, 5, 5, 3, 3, 7, 5], (kind, name)


def test_an_element_or_inner_member_is_found_again(tmp_path):
    def put(owner, key, value):
        owner.__setitem__(key, value) if isinstance(owner, (list, dict)) else setattr(owner, key, value)

    for position, (kind, key) in enumerate({"list": 1, "dict": "a", "inner": "v", "plain": "v"}.items()):
        make, expression = FOUND_ANEW[kind]
        made = module(tmp_path, f"inner{position}", expression)
        for name, call in ways(made):
            s = made.S(make(3))
            found = [call(s)]
            for value in (5, 7):
                put(s.m, key, array(value))
                found.append(call(s))
            assert found == [3, 5, 7], (kind, name)


def test_numbers_and_fields_are_part_of_the_code_and_a_change_warns(tmp_path):
    for position, (kind, (make, expression)) in enumerate(FROZEN.items()):
        made = module(tmp_path, f"frozen{position}", expression)
        for name, call in ways(made):
            s = made.S(make(3))
            with warnings.catch_warnings(record=True) as told:
                warnings.simplefilter("always")
                assert call(s) == call(s) == 3 and not told
                s.m = make(5)
                assert call(s) == call(s) == call(s) == 3, (kind, name)
            assert len(told) == 1, (kind, name, [str(each.message) for each in told])
            owner = "s" if name == "argument" else "self"
            said = str(told[0].message)
            assert said.startswith(f"`{owner}.m") and (
                "the kernel still uses 3." in said
                or "'3'" in said
                or "is another object than when this kernel was compiled" in said
            )
            assert made.S(make(9)).method() == 9  # another object is another specialisation


def test_a_field_that_becomes_an_array_and_back(tmp_path):
    made = module(tmp_path, "turns", "M[1]")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for name, call in ways(made):
            s, found = made.S(field(3)), []
            for member in (s.m, array(5), s.m, array(7), s.m):
                s.m = member
                found.append(call(s))
            assert found == [3, 5, 3, 7, 3], name


def test_two_ways_to_one_object(tmp_path):
    made = module(tmp_path, "aliases", "M.v[0][0] * 10 + M.w[0][0]")
    for name, call in ways(made):
        s, shared = made.S(Plain([array(3)])), [array(4)]
        s.m.v = s.m.w = shared
        found = [call(s)]
        s.m.v = [array(5)]
        found.append(call(s))
        s.m.v, s.m.w = shared, [array(6)]
        found.append(call(s))
        assert found == [44, 54, 46], name


def test_an_array_that_no_argument_leads_to_is_refused(tmp_path):
    made = module(tmp_path, "globally", "M[1]")
    made.G = array(3)
    with pytest.raises(qd.QuadrantsCompilationError) as caught:
        made.from_global()
    assert "a kernel uses this ndarray without being given it" in str(caught.value)
    assert "fix: pass it as an argument annotated qd.types.ndarray()" in str(caught.value)
    assert caught.value.place.source_line().strip() == "return G[1]"


@qd.data_oriented(template_primitives=False)
class Lifted:
    def __init__(self):
        self.n, self.f, self.on, self.inner = 3, 1.5, True, Record(10)
        self.x = qd.ndarray(qd.f32, 8)

    @qd.kernel
    def step(self):
        for i in range(self.n):
            self.x[i] = self.f * self.inner.v + self.on

    @qd.kernel
    def unrolled(self):
        for i in qd.static(range(self.n)):
            self.x[i] = 1


def test_numbers_of_a_class_without_template_primitives_are_read_at_every_call():
    made = Lifted()
    compiled = set()
    for n, f, on, inner in itertools.product((3, 5), (1.5, 2), (True, False), (10, 20)):
        made.x.fill(0)
        made.n, made.f, made.on, made.inner = n, f, on, Record(inner)
        made.step()
        np.testing.assert_array_equal(made.x.to_numpy(), [f * inner + on] * n + [0] * (8 - n))
        compiled.add(id(Lifted.__dict__["step"]._last))
    assert len(compiled) == 1
    made.n = 2.5
    with pytest.raises(TypeError, match="`n` is 2.5, but was an integer when the kernel was compiled"):
        made.step()
    made.n = 3
    with pytest.raises(qd.QuadrantsCompilationError) as caught:
        made.unrolled()
    assert caught.value.place.source_line().strip() == "for i in qd.static(range(self.n)):"


def test_a_deleted_member_is_python_s_error(tmp_path):
    made = module(tmp_path, "deleted", "M[1]")
    s = made.S(array(3))
    assert s.method() == 3
    del s.m
    with pytest.raises(AttributeError, match="'S' object has no attribute 'm'"):
        s.method()
