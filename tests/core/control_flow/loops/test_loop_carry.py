"""State and names that no dynamic statement can carry: the whole text of each error, and each warning once.

Modules tested here: dsl/core/control_flow/loops/loop.py.
"""

import queue
import warnings
from dataclasses import dataclass

import pytest

from dsl.core.errors import PortabilityWarning
from dsl.core.number.dtypes import Float32, Int32
from dsl.core.number.pointer import Pointer
from dsl.cutlass import cute
from dsl.cutlass.grammar import range_constexpr


class Foo:
    def __init__(self, a):
        self.a, self.k, self.mode = a, None, "x"

    def set_a(self, value):
        self.a = value


@dataclass
class Pair:
    left: object
    right: object


def without_place(text: str) -> str:
    """An error's text without the lines' numbers."""
    return "\n".join(line.partition(" ")[2] if line.startswith("here:") else line for line in text.splitlines())


def test_list_that_grows_in_a_branch(rejected):
    def program(n: Int32, p: Pointer):
        xs = [n]
        if n > 3:
            xs.append(n)
        p.store(xs[0])

    assert without_place(rejected(program)) == (
        "TYPE_UNSTABLE_JOIN\n"
        "    xs.append(n)\n"
        "    ^^^^^^^^^^^^ `xs` holds 1 items on one path and 2 on another\n"
        "see\n"
        "    if n > 3:\n"
        "       ^^^^^ this branch is known only at run time\n"
        "fix: give `xs` all its items before this branch, and assign to them"
    )


def test_list_in_an_object_that_grows_in_a_loop(rejected):
    def program(n: Int32, p: Pointer):
        foo = Foo([n])
        for i in range(n):
            foo.a.append(i)
        p.store(n)

    assert without_place(rejected(program)) == (
        "TYPE_UNSTABLE_JOIN\n"
        "    foo.a.append(i)\n"
        "    ^^^^^^^^^^^^^^^ `foo.a` holds 1 items on one path and 2 on another\n"
        "see\n"
        "    for i in range(n):\n"
        "             ^^^^^^^^ this loop is known only at run time\n"
        "fix: give `foo.a` all its items before this loop, and assign to them"
    )


def test_new_key(rejected):
    def program(n: Int32, p: Pointer):
        d = {"a": n}
        if n > 3:
            d["b"] = n
        p.store(d["a"])

    assert without_place(rejected(program)) == (
        "CONTAINER_STRUCTURE_CHANGED\n"
        '    d["b"] = n\n'
        "    ^^^^^^ `d` has the key 'b' on one path and not on another\n"
        "see\n"
        "    if n > 3:\n"
        "       ^^^^^ this branch is known only at run time\n"
        "fix: give `d` all its keys before this branch, and assign to them"
    )


def test_new_member_of_a_set(rejected):
    def program(n: Int32, p: Pointer):
        seen = {1}
        for i in range(n):
            seen.add(2)
        p.store(n)

    assert without_place(rejected(program)) == (
        "TYPE_UNSTABLE_JOIN\n"
        "    seen.add(2)\n"
        "    ^^^^^^^^^^^ `seen` holds other members on one path than on another\n"
        "see\n"
        "    for i in range(n):\n"
        "             ^^^^^^^^ this loop is known only at run time\n"
        "fix: give `seen` all its items before this loop, and assign to them"
    )


def test_type_change_of_an_attribute_through_a_method(rejected):
    def program(n: Int32, p: Pointer):
        foo = Foo(n)
        for i in range(n):
            foo.set_a(i * 0.5)
        p.store(foo.a)

    assert without_place(rejected(program)) == (
        "TYPE_UNSTABLE_JOIN\n"
        "    foo.set_a(i * 0.5)\n"
        "              ^^^^^^^ `foo.a` is Int32 before this loop and Float32 after it\n"
        "fix: start it as Float32: `foo.a = Float32(...)`"
    )


def test_type_change_of_an_item_in_a_branch(rejected):
    def program(n: Int32, p: Pointer):
        xs = [n, (n, 2)]
        if n > 3:
            xs[1] = (n, 2.0)
        p.store(xs[0])

    assert without_place(rejected(program)) == (
        "TYPE_UNSTABLE_JOIN\n"
        "    xs[1] = (n, 2.0)\n"
        "    ^^^^^ `xs[1][1]` is Python float on one path and Python int on another\n"
        "fix: give `xs[1][1]` one type on both paths"
    )


def test_none_that_becomes_a_number(rejected):
    def program(n: Int32, p: Pointer):
        foo = Foo(n)
        if n > 3:
            foo.k = n
        p.store(foo.a)

    assert without_place(rejected(program)) == (
        "TYPE_UNSTABLE_JOIN\n"
        "    foo.k = n\n"
        "    ^^^^^ `foo.k` is Int32 on one path and None on another\n"
        "fix: give `foo.k` one type on both paths"
    )


def test_string_that_changes(rejected):
    def program(n: Int32, p: Pointer):
        foo = Foo(n)
        if n > 3:
            foo.mode = "y"
        p.store(foo.a)

    assert without_place(rejected(program)) == (
        "TYPE_DYNAMIC_EXPR_UNSUPPORTED\n"
        '    foo.mode = "y"\n'
        "    ^^^^^^^^ `foo.mode` is 'y' on one path and 'x' on another\n"
        "fix: mark the test `const_expr(...)` where it is static, or choose among numbers"
    )


def test_choice_between_two_objects(rejected):
    def program(n: Int32, p: Pointer):
        foo, other = Foo(n), Foo(n + 1)
        if n > 3:
            foo = other
        p.store(foo.a)

    assert without_place(rejected(program)) == (
        "TYPE_DYNAMIC_EXPR_UNSUPPORTED\n"
        "    foo = other\n"
        "    ^^^ `foo` is one Foo on one path and another Foo on another\n"
        "fix: choose among what the objects hold, or assign to the attributes of one object"
    )


def test_two_objects_that_change_places(rejected):
    def program(n: Int32, p: Pointer):
        foo, other = Foo(n), Foo(n + 1)
        for i in range(n):
            foo, other = other, foo
        p.store(foo.a)

    assert without_place(rejected(program)) == (
        "TYPE_DYNAMIC_EXPR_UNSUPPORTED\n"
        "    foo, other = other, foo\n"
        "    ^^^ `foo` is one Foo before this loop and another Foo after it\n"
        "fix: choose among what the objects hold, or assign to the attributes of one object"
    )


def test_object_that_is_replaced_and_changed(rejected):
    def program(n: Int32, p: Pointer):
        box = Foo(Foo(n))
        kept = box.a
        for i in range(n):
            if i == 2:
                box.a = Foo(i)
            box.a.a += 10
        p.store(box.a.a + kept.a)

    assert without_place(rejected(program)) == (
        "TYPE_DYNAMIC_EXPR_UNSUPPORTED\n    if i == 2:\n       ^^^^^^ `box.a` is a different object on "
        "each path, but `box.a.a` is assigned after that: which object changes is known only at run "
        "time\nfix: assign a new object to `box.a`, or make it a @dataclass, which is copied"
    )


def test_object_that_is_replaced_and_read(check):
    def program(n: Int32, p: Pointer):
        # CHECK: scf.for
        foo = Foo(n)
        for i in range(n):
            foo = Foo(foo.a + i)
        p.store(foo.a)

    check(program)


def test_attribute_created_on_one_path(rejected):
    def program(n: Int32, p: Pointer):
        foo = Foo(n)
        if n > 3:
            foo.new = n
        p.store(foo.new + 1)

    assert without_place(rejected(program)) == (
        "SCOPE_UNBOUND_NAME\n"
        "    p.store(foo.new + 1)\n"
        "            ^^^^^^^^^^^ `foo.new` is not defined on every path\n"
        "see\n"
        "    if n > 3:\n"
        "       ^^^^^ nothing assigns `foo.new` where this is false\n"
        "fix: assign `foo.new` there too, or before it"
    )


@pytest.mark.filterwarnings("ignore::dsl.core.errors.PortabilityWarning")
def test_attribute_created_on_one_path_given_to_a_function_of_this_package(rejected):
    def program(n: Int32, p: Pointer):
        foo = Foo(n)
        if n > 3:
            foo.new = n
        cute.printf("{}", foo.new)

    assert without_place(rejected(program)) == (
        "SCOPE_UNBOUND_NAME\n"
        '    cute.printf("{}", foo.new)\n'
        "    ^^^^^^^^^^^^^^^^^^^^^^^^^^ `foo.new` is not defined on every path\n"
        "see\n"
        "    if n > 3:\n"
        "       ^^^^^ nothing assigns `foo.new` where this is false\n"
        "fix: assign `foo.new` there too, or before it"
    )


def test_name_of_a_loop_that_may_run_no_trip(rejected):
    def program(n: Int32, p: Pointer):
        for i in range(n):
            last = i
        p.store(last)

    assert without_place(rejected(program)) == (
        "SCOPE_UNBOUND_NAME\n"
        "    p.store(last)\n"
        "            ^^^^ `last` is not defined on every path\n"
        "see\n"
        "    for i in range(n):\n"
        "             ^^^^^^^^ it may run no trip, and nothing else assigns `last`\n"
        "fix: assign `last` there too, or before it"
    )


def test_loop_variable_of_a_loop_that_may_run_no_trip(rejected):
    def program(n: Int32, p: Pointer):
        for i in range(n):
            p.store(0)
        p.store(i)

    assert without_place(rejected(program)) == (
        "SCOPE_UNBOUND_NAME\n"
        "    p.store(i)\n"
        "            ^ `i` is not defined on every path\n"
        "see\n"
        "    for i in range(n):\n"
        "             ^^^^^^^^ it may run no trip, and nothing else assigns `i`\n"
        "fix: assign `i` there too, or before it"
    )


def test_name_of_the_trip_before(rejected):
    def program(n: Int32, p: Pointer):
        for i in range(n):
            if i > 0:
                p.store(before)
            before = i

    assert without_place(rejected(program)) == (
        "SCOPE_UNBOUND_NAME\n"
        "    p.store(before)\n"
        "            ^^^^^^ `before` is not defined on every path\n"
        "see\n"
        "    for i in range(n):\n"
        "             ^^^^^^^^ on the first trip nothing has assigned `before`\n"
        "fix: assign `before` there too, or before it"
    )


def test_name_that_an_early_exit_skips(rejected):
    def program(n: Int32, p: Pointer):
        for i in range(3):
            if n == i:
                break
            value = i
        p.store(value)

    text = without_place(rejected(program))
    assert text.startswith(
        "SCOPE_UNBOUND_NAME\n    p.store(value)\n            ^^^^^ `value` is not defined on every path\nsee\n"
    )


def test_names_of_two_types(rejected):
    def program(n: Int32, p: Pointer):
        if n > 3:
            value = n
        else:
            value = Float32(2.0)
        p.store(value)

    assert without_place(rejected(program)) == (
        "TYPE_UNSTABLE_JOIN\n"
        "    p.store(value)\n"
        "            ^^^^^ `value` is Int32 on one path and Float32 on another\n"
        "see\n"
        "    value = Float32(2.0)\n"
        "    ^^^^^ assigned here\n"
        "fix: give `value` one type on both paths"
    )


def test_a_value_kept_in_an_object_of_the_library(rejected):
    def program(n: Int32, p: Pointer):
        kept = queue.SimpleQueue()
        if n > 3:
            kept.put(n + 1)
            p.store(0)
        p.store(kept.get())

    assert "VALUE_OF_ANOTHER_REGION" in rejected(program)


@pytest.mark.filterwarnings("error::dsl.core.errors.PortabilityWarning")
def test_a_plain_object_where_warnings_are_errors(rejected):
    def program(n: Int32, p: Pointer):
        foo = Foo(n)
        for i in range(n):
            foo.set_a(i)
        p.store(foo.a)

    assert without_place(rejected(program)) == (
        "TYPE_DYNAMIC_EXPR_UNSUPPORTED\n"
        "    for i in range(n):\n"
        "             ^^^^^^^^ `foo.a` of a plain object changes inside a dynamic `for`, "
        "which NVIDIA's compiler rejects\n"
        "fix: make it a @dataclass, or assign to a variable"
    )


@pytest.mark.filterwarnings("error::dsl.core.errors.PortabilityWarning")
def test_a_late_name_where_warnings_are_errors(rejected):
    def program(n: Int32, p: Pointer):
        if n > 3:
            value = n
        else:
            value = -n
        p.store(value)

    assert without_place(rejected(program)) == (
        "SCOPE_UNBOUND_NAME\n"
        "    value = -n\n"
        "    ^^^^^ `value` is first assigned inside a dynamic statement and used after it, "
        "which NVIDIA's compiler rejects\n"
        "fix: assign `value` before the statement"
    )


def said(program, check) -> list[str]:
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        check(program)
    return [str(warning.message) for warning in caught if warning.category in (PortabilityWarning, DeprecationWarning)]


def test_each_statement_and_each_name_is_warned_of_once(check):
    def program(n: Int32, p: Pointer):
        # CHECK: scf.for
        foo = Foo(n)
        for i in range(n):
            for j in range(i):
                foo.set_a(j)
                if foo.a > 3:
                    late = i
                else:
                    late = j
                p.store(late)

    assert sorted(said(program, check), reverse=True) == [
        "`late` is first assigned inside a dynamic statement and used after it: NVIDIA's compiler rejects that "
        "(SCOPE_UNBOUND_NAME)",
        "`foo.a` of a plain object changes inside a dynamic `for`: NVIDIA's compiler rejects that "
        "(TYPE_DYNAMIC_EXPR_UNSUPPORTED)",
        "`foo.a` of a plain object changes inside a dynamic `for`: NVIDIA's compiler rejects that "
        "(TYPE_DYNAMIC_EXPR_UNSUPPORTED)",
    ]


def test_values_that_upstream_carries_give_no_warning(check):
    def program(n: Int32, p: Pointer):
        # CHECK: scf.for
        pair, xs, d = Pair(n, 0), [n, 1], {"a": n}
        for i in range(n):
            pair.left += i
            xs[1] += i
            if i > 3:
                d["a"] = d["a"] + pair.right
                temporary = i
            else:
                temporary = (i, 1)
        p.store(pair.left + xs[1] + d["a"])

    assert said(program, check) == []


def test_a_body_that_is_traced_again_prints_once(check, capsys):
    def program(n: Int32, p: Pointer):
        # CHECK: scf.for
        foo = Foo(n)
        for i in range(n):
            for j in range(i):
                print("the inner body")
                foo.set_a(j)
            print("the outer body")
        p.store(foo.a)

    check(program)
    assert capsys.readouterr().out == "the inner body\nthe outer body\n"


def test_a_cache_of_a_called_function_is_left_alone(check):
    def program(n: Int32, p: Pointer):
        # CHECK: scf.for
        for i in range(n):
            p.store(i + cached(3))

    CACHE.clear()
    check(program)
    assert CACHE == {3: 9}


CACHE: dict = {}


def cached(k):
    if k not in CACHE:
        CACHE[k] = k * k
    return CACHE[k]


def test_slots_that_stay_are_not_carried(check):
    def program(n: Int32, p: Pointer):
        # CHECK: scf.for
        # CHECK-SAME: -> (i32)
        # CHECK: llvm.getelementptr %arg1[2]
        foo, pair = Foo(n), Pair(n + 1, 3)
        for i in range(n):
            foo.set_a(pair.left + i)
            for k in range_constexpr(pair.right):
                p[k] = foo.a
        p.store(foo.a)

    check(program)
