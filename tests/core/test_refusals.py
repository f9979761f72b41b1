"""Programs that the front end refuses: NVIDIA's diagnostic, the author's place, one sentence, one fix;
the whole text of each."""

import re

import pytest

import dsl.cutlass as cutlass
from dsl.core.errors import DSLUserCodeError, DSLUserCodeTypeError
from dsl.core.number.dtypes import Float32, Int32
from dsl.cutlass import cute

pytestmark = pytest.mark.filterwarnings("ignore::dsl.core.errors.PortabilityWarning")


def const_expr_in_if(n: Int32):
    if cutlass.const_expr(n > 2):
        pass


def const_expr_in_while(n: Int32):
    while cutlass.const_expr(n > 2):
        pass


def range_constexpr(n: Int32):
    for _ in cutlass.range_constexpr(1, n):
        pass


def underscore(n: Int32):
    _ = n
    return _


def global_name(n: Int32):
    global NAME
    NAME = n


def nonlocal_name(n: Int32):
    def inner():
        nonlocal n
        n = 3

    if n > 2:
        inner()


def yields(n: Int32):
    yield n


async def asynchronous(n: Int32):
    return n


def to_bool(n: Int32):
    return bool(n > 2)


def to_int(n: Int32):
    return int(n)


def to_float(x: Int32):
    return float(x)


def comprehension(n: Int32):
    return [i for i in range(n)]


def filtered(n: Int32):
    return [i for i in (1, 2) if i > n]


def matches(n: Int32):
    match n:
        case 1:
            pass


def two_targets(n: Int32):
    for i, j in range(n):
        pass


def texts(n: Int32):
    return "a" if n > 2 else "b"


def none(n: Int32):
    return n if n > 2 else None


def containers(n: Int32):
    return (1, 2) if n > 2 else (1, 2, 3)


def logic(n: Int32):
    return n and "x"


def vectorized(n: Int32):
    for _ in cutlass.range(n, vectorize=True):
        pass


def caught(n: Int32):
    try:
        if n > 2:
            raise ValueError("n")
    except ValueError:
        n = n + 1
    return n


def caught_assertion(n: Int32):
    try:
        assert n > 2
    except AssertionError:
        n = n + 1
    return n


def sliced(n: Int32):
    return [1, 2][n:]


TEXTS = {
    const_expr_in_if: """\
8: PHASE_REQUIRES_CONSTANT
    if cutlass.const_expr(n > 2):
       ^^^^^^^^^^^^^^^^^^^^^^^^^ needs a value known while compiling, got a dynamic Boolean
fix: drop const_expr, or pass the value as cutlass.Constexpr""",
    const_expr_in_while: """\
11: PHASE_REQUIRES_CONSTANT
    while cutlass.const_expr(n > 2):
          ^^^^^^^^^^^^^^^^^^^^^^^^^ needs a value known while compiling, got a dynamic Boolean
fix: drop const_expr, or pass the value as cutlass.Constexpr""",
    range_constexpr: """\
14: ARG_NON_CONSTANT
    for _ in cutlass.range_constexpr(1, n):
             ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^ a bound of range_constexpr is known only at run time
fix: use `range(...)`, or pass the bound as cutlass.Constexpr""",
    underscore: """\
12: UNSUP_READ_UNDERSCORE
    return _
           ^ `_` is write-only here
fix: give the value a name""",
    global_name: """\
5: UNSUP_GLOBAL
    global NAME
    ^^^^^^^^^^^ `global` cannot be compiled: a kernel cannot rebind outside names
fix: return the value and assign it outside""",
    nonlocal_name: """\
9: SCOPE_CLOSURE_CAPTURE
    nonlocal n
    ^^^^^^^^^^ `inner` rebinds `n`, but a dynamic statement decides whether it runs
fix: return `n` and assign it there: `n = inner(...)`""",
    yields: """\
5: UNSUP_YIELD
    yield n
    ^^^^^^^ a generator cannot be compiled
fix: return a tuple""",
    asynchronous: """\
1: UNSUP_YIELD
    async def asynchronous(n: Int32):
    ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^ an `async` function cannot be compiled
fix: write `def`""",
    to_bool: """\
12: PHASE_REQUIRES_CONSTANT
    return bool(n > 2)
           ^^^^^^^^^^^ Python needs a bool while compiling, got a dynamic Boolean
fix: use it as it is, or `cutlass.Boolean(x)`""",
    to_int: """\
12: PHASE_DYNAMIC_INDEX
    return int(n)
           ^^^^^^ is a dynamic Int32: its value is not known while compiling, but Python needs an int
fix: use it as it is (`cutlass.Int32(x)` converts), or pass the value as cutlass.Constexpr""",
    to_float: """\
12: PHASE_DYNAMIC_INDEX
    return float(x)
           ^^^^^^^^ is a dynamic Int32: its value is not known while compiling, but Python needs a float
fix: use it as it is (`cutlass.Float32(x)` converts), or pass the value as cutlass.Constexpr""",
    comprehension: """\
24: PHASE_DYNAMIC_INDEX
    return [i for i in range(n)]
                       ^^^^^^^^ a comprehension runs while compiling, and cannot count to a dynamic Int32
fix: write a loop, `for i in range(n):`, that changes a variable or a tensor, or pass the value as cutlass.Constexpr""",
    filtered: (
        "34: PHASE_DYNAMIC_TO_STATIC_BOOL\n    return [i for i in (1, 2) if i > n]\n                    "
        "             ^^^^^ is a dynamic Boolean: its value is not known while compiling, but Python "
        "needs a bool\nfix: decide in an `if` statement of a @cute.jit or @cute.kernel function, or "
        "pass the value as cutlass.Constexpr"
    ),
    matches: """\
11: PHASE_DYNAMIC_TO_STATIC_BOOL
    match n:
          ^ the subject of `match` must be known while compiling, got a dynamic Int32
fix: write `if x == 1: ... elif x == 2: ...`""",
    two_targets: """\
9: DSLUserCodeError
    for i, j in range(n):
        ^^^^ a dynamic `for` has one loop variable
fix: write `for i in range(...)`""",
    texts: """\
12: TYPE_DYNAMIC_EXPR_UNSUPPORTED
    return "a" if n > 2 else "b"
           ^^^^^^^^^^^^^^^^^^^^^ is 'a' where the test is true and 'b' where it is false
fix: choose between numbers of one kind, or mark the test `const_expr(...)`""",
    none: """\
12: TYPE_CONDITIONAL_BRANCH_MISMATCH
    return n if n > 2 else None
           ^^^^^^^^^^^^^^^^^^^^ is Int32 where the test is true and None where it is false
fix: choose between numbers of one kind, or mark the test `const_expr(...)`""",
    containers: """\
12: TYPE_CONDITIONAL_BRANCH_MISMATCH
    return (1, 2) if n > 2 else (1, 2, 3)
           ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^ is tuple of 2 where the test is true and tuple of 3 where it is false
fix: choose between numbers of one kind, or mark the test `const_expr(...)`""",
    logic: """\
12: DSLUserCodeTypeError
    return n and "x"
           ^^^^^^^^^ `and` and `or` of a dynamic value need numbers, got Python str
fix: use an `if` statement""",
    vectorized: """\
14: UNSUP_ARCH
    for _ in cutlass.range(n, vectorize=True):
             ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^ cutlass.range(vectorize=True) needs compute capability 10
fix: drop vectorize""",
    caught: """\
13: UNSUP_EARLY_EXIT
    raise ValueError("n")
    ^^^^^^^^^^^^^^^^^^^^^ what a dynamic value makes `raise` raise at run time cannot be caught by the `try` around it
fix: use an `if` statement in place of the `try`""",
    caught_assertion: """\
9: UNSUP_EARLY_EXIT
    assert n > 2
    ^^^^^^^^^^^^ what a dynamic value makes `assert` raise at run time cannot be caught by the `try` around it
fix: use an `if` statement in place of the `try`""",
    sliced: """\
12: PHASE_DYNAMIC_INDEX
    return [1, 2][n:]
           ^^^^^^^^^^ a list, a tuple or a text cannot be cut at a dynamic Int32: its length must be known while compiling
fix: loop over all its elements and use those that an `if` selects, or keep them in a tensor, or pass the value as cutlass.Constexpr""",
}


@pytest.mark.parametrize("program", TEXTS, ids=lambda program: program.__name__)
def test_the_whole_text(program):
    with pytest.raises(DSLUserCodeError) as caught:
        cute.jit(program)(3)
    assert re.sub(r"^\S*test_refusals\.py:\d+:", "", str(caught.value)) == TEXTS[program]
    if caught.value.id and caught.value.id.startswith(("PHASE", "TYPE", "ARG")):
        assert isinstance(caught.value, DSLUserCodeTypeError)


def test_older_names_work_and_are_deprecated():
    def program(n: Int32):
        total = Int32(0)
        for i in cutlass.range_dynamic(1, n):
            total += i
        if cutlass.dynamic_expr(n > 2):
            total += 100
        return total

    with pytest.warns(DeprecationWarning) as warned:
        assert cute.jit(program)(4) == 106
    first = program.__code__.co_firstlineno
    assert {(str(w.message), w.lineno - first) for w in warned if w.category is DeprecationWarning} == {
        ("cutlass.range_dynamic is deprecated: `range` is dynamic already", 2),
        ("cutlass.dynamic_expr is deprecated: a test without const_expr is dynamic already", 4),
    }


@pytest.mark.parametrize("name", ["range", "range_dynamic"])
def test_a_dynamic_range_is_for_statements_only(name):
    with pytest.raises(DSLUserCodeError, match=f"cutlass.{name} is the iterable of a `for` statement"):
        list(getattr(cutlass, name)(3))


def test_the_first_of_both_kinds_of_choice_is_warned_of():
    def program(n: Int32, x: Float32):
        return n if n > 2 else x

    with pytest.warns(UserWarning) as warned:
        assert cute.jit(program)(3, 2.5) == 3.0
    assert str(warned[0].message) == (
        "a choice between Int32 and Float32 becomes Float32: NVIDIA's compiler rejects "
        "that (TYPE_CONDITIONAL_BRANCH_MISMATCH)"
    )
