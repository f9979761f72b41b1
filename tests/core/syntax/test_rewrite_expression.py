"""`:=` inside `and`, `or`, comparisons and conditional expressions; comparisons of tuples;
`in`, `any`, `max` of iterables.

Measured where NVIDIA's compiler takes a function: it gives the numbers that stand here.
"""

import warnings

import pytest

from dsl.core.errors import DSLWarning, PortabilityWarning
from dsl.core.number.dtypes import Int32
from dsl.cutlass import cute
from dsl.cutlass.grammar import const_expr


@cute.jit
def behind_and(n: Int32):
    k, j, seen = Int32(50), Int32(60), Int32(-1)
    if n > 0 and (k := n * 2) > 5:
        seen = k
    if n > 2 or (j := k + 1) > 1:
        seen += j
    return seen, k, j


@cute.jit
def behind_and_in_a_test(n: Int32):
    k = count = Int32(0)
    while count < 5 and (k := k + 2) < n + 4:
        count += 1
    return count, k


@cute.jit
def short_circuit(n: Int32):
    k = j = n
    a = const_expr(True) and (k := n + 1)
    b = const_expr(False) and (j := n + 1)
    return a, b, k, j


@cute.jit
def in_a_comparison(n: Int32):
    k, j = Int32(50), Int32(60)
    chain = 0 < (k := n * 2) < k + n
    among = n in ((j := n + 1), 3)
    return chain, among, k, j


@cute.jit
def nested(n: Int32):
    k, j = Int32(50), Int32(60)
    if n > 0 and ((k := n * 2) > 5 or (j := n * 3) > 8):
        k += 1
    return k, j


@pytest.mark.parametrize(
    "function, values",
    (
        (behind_and, {0: (-1, 0, 1), 1: (2, 2, 3), 3: (13, 6, 7)}),
        (behind_and_in_a_test, {0: (1, 4), 1: (2, 6), 3: (3, 8), 7: (5, 12)}),
        (short_circuit, {3: (4, False, 4, 3)}),
        (in_a_comparison, {0: (False, False, 0, 1), 3: (True, True, 6, 4)}),
        (nested, {0: (0, 0), 1: (2, 3), 3: (7, 9)}),
    ),
)
def test_an_assignment_inside_an_operand_is_made(function, values):
    assert {n: function(n) for n in values} == values


def helper(flag, n):
    k, j = 50, 60
    a = (k := n * 2) if flag else (j := 3)
    b = flag and (k := k + 1)
    return a, b, k, j


def dynamic_helper(n):
    k = 50
    a = (k := n * 2) if n > 2 else 3
    return a, k


@pytest.mark.filterwarnings("ignore::dsl.core.errors.PortabilityWarning")
def test_an_undecorated_function_assigns_as_python_does():
    @cute.jit
    def host(n: Int32):
        return (*helper(True, n), *helper(False, n), *dynamic_helper(n))

    for n in (1, 5):
        assert host(n) == (*helper(True, n), *helper(False, n), *dynamic_helper(n))


def test_an_assignment_in_an_arm_of_a_conditional_expression_is_lost_with_a_warning():
    @cute.jit
    def program(n: Int32):
        k = Int32(50)
        a = (k := n * 2) if n > 2 else n
        return a, k

    with pytest.warns(DSLWarning, match="`k` is assigned in an arm of a conditional expression"):
        assert program(3) == (6, 50)


@cute.jit
def sequences(n: Int32):
    pair, values = (n, 1), [n, (2, n)]
    return (
        pair == (3, 1),
        pair != (3, 1),
        pair == (3,),
        pair < (3, 2),
        pair < (4, 0),
        pair >= (3, 1),
        (1, n) > (1, 2),
        values == [3, (2, 3)],
        (2, 1) == pair == (n, 1),
        pair in [(4, 1), (3, 1)],
        (n, None) == (3, None),
    )


@pytest.mark.parametrize("n", (2, 3, 4))
def test_tuples_and_lists_are_compared_element_by_element(n):
    with warnings.catch_warnings():
        warnings.simplefilter("error", PortabilityWarning)
        assert sequences(n) == sequences.__wrapped__(n)


def test_a_tuple_with_a_dynamic_element_may_equal_a_list():
    @cute.jit
    def program(n: Int32):
        return (n, 1) == [3, 1], (1, 2) == [1, 2]

    assert program(3) == (True, False)


@cute.jit
def iterables(n: Int32):
    table = {1: 2, 3: 4}
    return (
        n in table,
        n in table.keys(),
        n in {1, 7},
        n in range(2, 6),
        n in table.values(),
        any(n > k for k in (1, 5)),
        all(map(lambda k: n > k, (1, 5))),
        any((n, 0)),
        all([n, 1]),
        max(n * k for k in (2, 1)),
        max(k for k in (1, 2)) + n,
    )


@pytest.mark.filterwarnings("ignore::dsl.core.errors.PortabilityWarning")
@pytest.mark.parametrize("n", (1, 3, 7))
def test_iterables_are_asked_for_dynamic_values(n):
    answers = iterables(n)
    assert answers == tuple(bool(v) if i < 9 else v for i, v in enumerate(iterables.__wrapped__(n)))


@pytest.mark.parametrize(
    "text, id",
    (
        ("n in {1: 2}", "UNSUP_IN_OPERATOR"),
        ("n in {1, 2}", "UNSUP_IN_OPERATOR"),
        ("n in {1: 2}.keys()", "UNSUP_IN_OPERATOR"),
        ("any(n > k for k in (1, 2))", "PHASE_DYNAMIC_TO_STATIC_BOOL"),
        ("max(n * k for k in (1, 2))", "PHASE_DYNAMIC_TO_STATIC_BOOL"),
        ("n in range(4)", ""),
        ("n in (1, 2)", ""),
        ("any([n > k for k in (1, 2)])", ""),
        ("any(k > 1 for k in (1, 2))", ""),
        ("(n, 1) < (2, 3)", ""),
    ),
)
def test_which_iterables_nvidia_refuses(text, id, tmp_path):
    file = tmp_path / "program.py"
    file.write_text(f"from dsl.core.number.dtypes import Int32\n\n\ndef program(n: Int32):\n    return {text}\n")
    namespace = {}
    exec(compile(file.read_text(), str(file), "exec"), namespace)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        cute.compile(cute.jit(namespace["program"]), 3)
    found = [str(warning.message) for warning in caught if warning.category is PortabilityWarning]
    assert len(found) == bool(id) and (not id or found[0].endswith(f"NVIDIA's compiler rejects that ({id})"))
