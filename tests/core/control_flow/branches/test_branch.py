"""Control flow becomes scf: what is carried, what stays static, what is refused and how it reads.

Modules tested here: dsl/core/control_flow/statements.py.
"""

import queue

import pytest

from dsl.core.number.dtypes import Boolean, Float32, Int32, Int64
from dsl.core.number.pointer import Pointer
from dsl.cutlass.grammar import const_expr, range as cutlass_range, range_constexpr


def test_dynamic_if_carries_what_it_assigns(check):
    def program(n: Int32, p: Pointer):
        x = Int32(0)
        # CHECK: [[P:%.*]] = arith.cmpi slt, %arg0
        # CHECK: [[X:%.*]] = scf.if [[P]] -> (i32)
        # CHECK: scf.yield %arg0 : i32
        # CHECK: } else {
        # CHECK: llvm.store [[X]], %arg1
        if n < 4:
            x = n
        p.store(x)

    check(program)


def test_python_bool_is_dynamic_and_const_expr_is_not(check):
    def program(p: Pointer):
        # CHECK-NOT: arith.constant 7
        # CHECK: scf.if
        # CHECK: arith.constant 1 : i32
        # CHECK: } else {
        # CHECK: arith.constant 2 : i32
        if const_expr(False):
            p.store(7)
        if True:
            p.store(1)
        else:
            p.store(2)

    check(program)


def test_python_numbers_are_promoted_when_a_loop_changes_them(check):
    def program(n: Int32, p: Pointer):
        total = 0
        # CHECK: scf.for [[I:%.*]] = {{.*}} to %arg0 step {{.*}} iter_args([[T:%.*]] = {{.*}}) -> (i32)
        # CHECK: [[NEXT:%.*]] = arith.addi [[T]], [[I]]
        # CHECK: scf.yield [[NEXT]]
        for i in range(n):
            total += i
        p.store(total)

    check(program)


def test_range_over_python_ints_is_one_body(check):
    def program(p: Pointer):
        # CHECK: scf.for
        # CHECK-NOT: scf.for
        for i in range(3):
            p[i] = i

    check(program)


def test_range_constexpr_unrolls(check):
    def program(p: Pointer):
        # CHECK-NOT: scf.for
        # CHECK: llvm.getelementptr %arg0[1]
        # CHECK: llvm.getelementptr %arg0[2]
        for i in range_constexpr(3):
            if const_expr(i == 0):
                continue
            p[i] = i

    check(program)


def test_variables_that_a_loop_leaves_unchanged_are_not_carried(check):
    def program(n: Int32, p: Pointer):
        q = p + 1
        # CHECK: scf.for
        # CHECK-NOT: iter_args
        for i in range(n):
            q = q
            q[i] = i

    check(program)


def test_while_carries_and_evaluates_its_test(check):
    def program(n: Int32, p: Pointer):
        i = 0
        # CHECK: scf.while ([[I:%.*]] = {{.*}}) : (i32) -> i32 {
        # CHECK: [[T:%.*]] = arith.cmpi slt, [[I]], %arg0
        # CHECK: scf.condition([[T]]) [[I]]
        # CHECK: } do {
        while i < n:
            p[i] = i
            i += 1

    check(program)


def test_unroll_reaches_the_loop(check):
    def program(n: Int32, p: Pointer):
        # CHECK: scf.for
        # CHECK: llvm.loop_annotation = #{{.*}}
        for i in cutlass_range(n, unroll=4):
            p[i] = i

    check(program)


def test_64_bit_bound_makes_a_64_bit_variable(check):
    def program(n: Int64, p: Pointer):
        # CHECK: scf.for {{.*}} : i64
        for i in range(n):
            p[i] = 1

    check(program)


def test_tuples_are_carried_element_by_element(check):
    def program(n: Int32, p: Pointer):
        pair = (Int32(0), Float32(1.0))
        # CHECK: scf.for {{.*}} -> (i32, f32)
        for i in range(n):
            pair = (pair[0] + i, pair[1] * 2.0)
        p[pair[0]] = pair[1]

    check(program)


def test_and_evaluates_both_sides(check):
    def program(a: Int32, b: Int32, p: Pointer):
        # CHECK: [[A:%.*]] = arith.cmpi sgt, %arg0
        # CHECK: [[B:%.*]] = arith.cmpi sgt, %arg1
        # CHECK: arith.select [[A]], [[B]], [[A]] : i1
        if a > 0 and b > 0:
            p.store(1)

    check(program)


def test_chained_comparison_in_and_not(check):
    def program(a: Int32, p: Pointer):
        # CHECK: arith.cmpi sgt
        # CHECK: arith.cmpi slt
        # CHECK: arith.select
        # CHECK: arith.cmpi eq
        # CHECK: arith.cmpi eq
        # CHECK: arith.xori
        p[0] = 0 < a < 5
        p[1] = a in (1, 3)
        p[2] = not (a > 2)

    check(program)


def test_conditional_expression(check):
    def program(a: Int32, p: Pointer):
        # CHECK: [[R:%.*]] = scf.if {{.*}} -> (i32)
        # CHECK: llvm.store [[R]]
        p.store(a if a > 0 else -a)

    check(program)


def test_loop_variable_after_the_loop_keeps_its_value(check):
    def program(n: Int32, p: Pointer):
        i = Int32(-1)
        # CHECK: [[LAST:%.*]] = scf.for [[I:%.*]] = {{.*}} iter_args({{.*}}) -> (i32)
        # CHECK: scf.yield [[I]]
        # CHECK: llvm.store [[LAST]]
        for i in range(n):
            p[i] = 0
        p.store(i)

    check(program)


def test_type_change_in_a_loop(rejected):
    def program(n: Int32, p: Pointer):
        acc = Int32(0)
        for i in range(n):
            acc = acc + i * 0.5
        p.store(acc)

    assert rejected(program) == (
        "here:13: TYPE_UNSTABLE_JOIN\n"
        "    acc = acc + i * 0.5\n"
        "    ^^^ `acc` is Int32 before this loop and Float32 after it\n"
        "fix: start it as Float32: `acc = Float32(...)`"
    )


def test_type_mismatch_of_two_branches(rejected):
    def program(n: Int32, p: Pointer):
        x = Int32(1)
        if n > 0:
            x = Float32(2.0)
        p.store(x)

    assert rejected(program) == (
        "here:13: TYPE_UNSTABLE_JOIN\n"
        "    x = Float32(2.0)\n"
        "    ^ `x` is Float32 on one path and Int32 on another\n"
        "fix: give `x` one type on both paths"
    )


def test_name_first_assigned_in_one_branch(rejected):
    def program(n: Int32, p: Pointer):
        if n > 0:
            value = n
        p.store(value + 1)

    assert rejected(program) == (
        "here:17: SCOPE_UNBOUND_NAME\n"
        "    p.store(value + 1)\n"
        "            ^^^^^ `value` is not defined on every path\n"
        "here:12: see\n"
        "    if n > 0:\n"
        "       ^^^^^ nothing assigns `value` where this is false\n"
        "fix: assign `value` there too, or before it"
    )


@pytest.mark.filterwarnings("error::dsl.core.errors.PortabilityWarning")
def test_early_exit_where_warnings_are_errors(rejected):
    def program(n: Int32, p: Pointer):
        for i in range(n):
            if i == 5:
                break

    assert rejected(program).splitlines() == [
        "here:17: UNSUP_EARLY_EXIT",
        "    break",
        "    ^^^^^ `break` leaves a dynamic statement, which NVIDIA's compiler rejects",
        "fix: guard the rest with a flag, or mark what is static with const_expr and range_constexpr",
    ]


def test_dynamic_value_where_python_decides(rejected):
    def program(n: Int32, p: Pointer):
        if const_expr(n > 3):
            p.store(1)

    assert rejected(program) == (
        "here:12: PHASE_REQUIRES_CONSTANT\n    if const_expr(n > 3):\n       ^^^^^^^^^^^^^^^^^ needs a "
        "value known while compiling, got a dynamic Boolean\nfix: drop const_expr, or pass the value as "
        "cutlass.Constexpr"
    )


def test_dynamic_bound_of_range_constexpr(rejected):
    def program(n: Int32, p: Pointer):
        for i in range_constexpr(n):
            p.store(i)

    assert "ARG_NON_CONSTANT" in rejected(program)


def test_reading_underscore(rejected):
    def program(n: Int32, p: Pointer):
        _ = n
        p.store(_)

    assert "UNSUP_READ_UNDERSCORE" in rejected(program)


def test_list_that_grows_in_a_loop(rejected):
    def program(n: Int32, p: Pointer):
        items = [Int32(0)]
        for i in range(n):
            items[0] = items[0] + i
            items = items + [i]
        p.store(items[0])

    assert "`items` is list of 1 before this loop and list of 2 after it" in rejected(program)


def test_division_and_shift_are_guarded(check):
    def program(a: Int32, b: Int32, p: Pointer):
        # CHECK: [[ZERO:%.*]] = arith.cmpi eq, %arg1
        # CHECK: arith.select [[ZERO]]
        # CHECK: arith.divsi %arg0
        p[0] = a // b
        # CHECK: [[IN:%.*]] = arith.cmpi ult, %arg1
        # CHECK: arith.shli %arg0
        # CHECK: arith.select [[IN]]
        p[1] = a << b

    check(program)


def test_boolean_argument(check):
    def program(flag: Boolean, p: Pointer):
        # CHECK: [[F:%.*]] = arith.trunci %arg0 : i8 to i1
        # CHECK: scf.if [[F]]
        if flag:
            p.store(1)

    check(program)


def test_a_value_of_another_function(traced, rejected):
    kept = []

    def first(n: Int32, p: Pointer):
        kept.append(n + 1)

    def second(n: Int32, p: Pointer):
        p.store(kept[0] + n)

    traced(first)
    text = rejected(second)
    assert text.splitlines()[1:] == [
        "    p.store(kept[0] + n)",
        "            ^^^^^^^^^^^ a value is used outside the function or call that computed it: it was "
        "kept in an object or a closure",
        "fix: pass it to this function as an argument",
    ]


def test_a_value_of_another_region(rejected):
    def program(n: Int32, p: Pointer):
        kept = queue.SimpleQueue()  # an object of Python's library, which is not looked into
        for i in range(n):
            kept.put(i + 1)
        p.store(kept.get())

    text = rejected(program)
    assert "VALUE_OF_ANOTHER_REGION" in text and "    p.store(kept.get())" in text


def test_two_types_of_return_keep_their_parts():
    """So that other languages can name the types."""
    from dsl.core.control_flow.branches.branch import returned
    from dsl.core.errors import DSLUserCodeTypeError
    from dsl.core.number.dtypes import Float32, Int32
    from dsl.core.phrase import Phrase, reworded
    from dsl.core.syntax.early_exits import VALUE
    from dsl.core.unbound import Conflict

    parts = {"path": VALUE, "first": Phrase("{type}", type=Int32), "second": Phrase("{type}", type=Float32)}
    phrase = Phrase("`{path}` is {first} on one path and {second} on another", **parts)
    with pytest.raises(DSLUserCodeTypeError) as caught:
        returned(True, Conflict(VALUE, DSLUserCodeTypeError(phrase)), True)
    message = caught.value.message
    assert message == "returns Int32 on one path and Float32 on another"
    assert (
        reworded(message, {}, lambda kind: kind.__name__.lower()) == "returns int32 on one path and float32 on another"
    )
