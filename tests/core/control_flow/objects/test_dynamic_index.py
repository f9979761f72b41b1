"""`xs[i]` with an index known only at run time: a choice, in bounds, of one type; Python's lists are the judge."""

import dataclasses
import re
import warnings

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st

import dsl.cutlass as cutlass
from dsl.core.errors import PortabilityWarning
from dsl.core.number.dtypes import Float32, Int8, Int32, Int64, Uint8
from dsl.cutlass import cute
from dsl.cutlass.cute.runtime import from_dlpack
from dsl.emulator.faults import Fault

pytestmark = pytest.mark.filterwarnings("ignore::dsl.core.errors.PortabilityWarning")


@pytest.mark.slow
@settings(max_examples=25, deadline=None, database=None)
@given(
    st.lists(st.integers(-100, 100), min_size=1, max_size=6),
    st.integers(-8, 8),
    st.integers(-8, 8),
    st.sampled_from([Int32, Int64, Int8]),
)
def test_reads_and_writes_are_pythons(values, i, j, dtype):
    def python(xs, i, j):
        xs = list(xs)
        xs[i] = xs[j] + 1
        xs[j] += 10
        total = 0
        for x in xs:
            total = total * 3 + x
        return total + tuple(xs)[i]

    @cute.jit
    def compiled(i: dtype, j: dtype, static: cutlass.Constexpr, x: cutlass.Int32):
        return python([x, *static], i, j)

    def outcome(call):
        try:
            return int(call())
        except IndexError:
            return IndexError

    assert outcome(lambda: compiled(i, j, values[1:], values[0])) == outcome(lambda: python(values, i, j))


def test_an_index_out_of_range_is_reported():
    @cute.jit
    def host(i: cutlass.Int32, n: cutlass.Int32):
        xs = [n, 2]
        return xs[i]

    @cute.kernel
    def kernel(out: cute.Tensor):
        t, _, _ = cute.arch.thread_idx()
        xs = (t * 2, t * 3, 7)
        out[t] = xs[t]

    @cute.jit
    def launch(out: cute.Tensor):
        kernel(out).launch(grid=1, block=out.shape[0])

    with pytest.raises(IndexError) as caught:
        host(2, 1)
    assert (
        re.sub(r"^\S*:\d+:(\d+): ", r"here:\1: ", str(caught.value))
        == """\
here:16: IndexError
    return xs[i]
           ^^^^^ list index 2 is out of range for 2 elements"""
    )
    out = np.zeros(3, np.int32)
    launch(from_dlpack(out))
    assert out.tolist() == [0, 3, 7]
    with pytest.raises(
        Fault,
        match=r"assertion failed: IndexError: tuple index 3 is out of range for 3 elements\n"
        r"    in `kernel_kernel_0`, block \(0, 0, 0\), thread \(3, 0, 0\)",
    ):
        launch(from_dlpack(np.zeros(4, np.int32)))


@pytest.mark.parametrize("index", [3, -4, 2147483647, -2147483648, (1 << 63) - 1, -(1 << 63)])
def test_errors_name_the_index_in_host_code_and_in_a_kernel(index):
    dtype = cutlass.Int32 if abs(index) <= 1 << 31 else cutlass.Int64

    @cute.jit
    def host(i: dtype):
        return [i, 2, 3][i]

    @cute.kernel
    def kernel(out: cute.Tensor, i: dtype):
        xs = [out[0], 2, 3]
        xs[i] += 1
        out[0] = xs[i]

    @cute.jit
    def launch(out: cute.Tensor, i: dtype):
        kernel(out, i).launch(grid=1, block=1)

    said = f"list index {index} is out of range for 3 elements"
    with pytest.raises(IndexError, match=said):
        host(index)
    with pytest.raises(Fault, match=f"assertion failed: IndexError: {said}"):
        launch(from_dlpack(np.zeros(1, np.int32)), index)


def test_elements_of_other_kinds():
    @cute.jit
    def nested(i: cutlass.Int32, n: cutlass.Int32):
        pairs = [(n, 1.5), (n + 1, 2.5), (3, 4.5)]
        first, second = pairs[i]
        return first, second

    @cute.kernel
    def kernel(a: cute.Tensor, b: cute.Tensor, i: cutlass.Int32):
        t, _, _ = cute.arch.thread_idx()
        tensors, pointers = [a, b], [b.iterator, a.iterator]
        tensors[i][t] = t + 1
        cute.make_tensor(pointers[i], a.layout)[t + 4] = t

    @cute.jit
    def launch(a: cute.Tensor, b: cute.Tensor, i: cutlass.Int32):
        kernel(a, b, i).launch(grid=1, block=4)

    assert [nested(i, 7) for i in range(3)] == [(7, 1.5), (8, 2.5), (3, 4.5)]
    for i in (0, 1):
        a, b = np.zeros(8, np.int32), np.zeros(8, np.int32)
        launch(from_dlpack(a), from_dlpack(b), i)
        written, other = (a, b) if i == 0 else (b, a)
        assert written.tolist() == [1, 2, 3, 4, 0, 0, 0, 0] and other.tolist() == [0, 0, 0, 0, 0, 1, 2, 3]


@settings(max_examples=15, deadline=None, database=None)
@given(st.integers(-3, 2), st.integers(-2, 2), st.integers(-2, 1))
def test_lists_of_lists_are_pythons(i, j, k):
    def python(i, j, k):
        table = [[1, 2], [3, 4], [5, 6]]
        deep = [[[1, 2], [3, 4]], [[5, 6], [7, 8]]]
        table[i][j] = 9
        table[i][k] += table[i - 1][-1] * 10
        row = table[i]
        row[0] = row[1] + 100
        first, second = table[i]
        deep[k][j][k] = 50
        deep[k][0][j] += 1000
        return [*table[0], *table[1], *table[2], first, second, *(x for a in deep for b in a for x in b)]

    @cute.jit
    def compiled(i: Int32, j: Int32, k: Int32):
        return tuple(python(i, j, k))

    def outcome(call):
        try:
            return list(call())
        except IndexError:
            return IndexError

    assert outcome(lambda: compiled(i, j, k)) == outcome(lambda: python(i, j, k))


def test_a_choice_never_hides_a_change():
    @dataclasses.dataclass
    class Pair:
        a: Int32

    def changed(i: Int32):
        rows = [[i, 1], [2, 3]]
        rows[i].append(4)

    def objects(i: Int32):
        pairs = [Pair(i), Pair(i + 1)]
        pairs[i] = Pair(7)

    def assigned(i: Int32):
        rows = [[i, 1], [2, 3]]
        rows[i] = [5, 6]

    def ragged(i: Int32):
        return [[i, 1], [2]][i]

    assert (
        rejected(changed, 1)
        == """\
here:9: PHASE_DYNAMIC_INDEX
    rows[i].append(4)
    ^^^^^^^^^^^^^^^^^ changes the length or order of a list that a dynamic index has chosen
fix: change it while the index is static"""
    )
    assert (
        rejected(objects, 1)
        == """\
here:9: PHASE_DYNAMIC_INDEX
    pairs[i] = Pair(7)
    ^^^^^^^^ puts another Pair at an index that is known only at run time
fix: assign to the attributes of the one that is there"""
    )
    assert "values that can be changed later (list of 2)" in rejected(assigned, 1)
    assert "got list of 2 and list of 1" in rejected(ragged, 1)


def test_in_a_loop():
    @cute.jit
    def histogram(n: cutlass.Int32):
        bins = [0, 0, 0]
        for i in range(n):
            bins[i * i % 3] += 1
        return bins[0], bins[1], bins[2]

    assert histogram(10) == tuple(np.bincount(np.arange(10) ** 2 % 3, minlength=3))


def rejected(program, *arguments) -> str:
    with pytest.raises(TypeError) as caught:
        cute.jit(program)(*arguments)
    return re.sub(r"^\S*:\d+:(\d+): ", r"here:\1: ", str(caught.value))


def test_indices_without_a_meaning_are_refused():
    def types(i: Int32, x: Float32):
        return [i, x][i]

    def key(i: Int32):
        return {1: 2}[i]

    def text(i: Int32):
        return "abc"[i]

    def empty(i: Int32):
        return [][i]

    def fraction(x: Float32):
        return [1, 2][x]

    assert (
        rejected(types, 1, 2.0)
        == """\
here:16: PHASE_DYNAMIC_INDEX
    return [i, x][i]
           ^^^^^^^^^ a dynamic index needs elements of one type, got Float32 and Int32
fix: convert them to one type, or use an `if` for each"""
    )
    assert (
        rejected(key, 1)
        == """\
here:16: PHASE_DYNAMIC_INDEX
    return {1: 2}[i]
           ^^^^^^^^^ the key of a dict must be known while compiling, got a dynamic Int32
fix: use a list of numbers, or an `if` for each case"""
    )
    assert "the index of a string must be known while compiling" in rejected(text, 1)
    assert "an empty list has no element to choose" in rejected(empty, 1)
    assert "index must be an integer, got Float32" in rejected(fraction, 1.0)


def test_python_integers_take_the_type_of_the_others():
    @cute.jit
    def program(i: cutlass.Int32, x: Uint8):
        xs = [1, x, 200]
        assert type(xs[i]) is Uint8
        return xs[i]

    assert [program(i, Uint8(5)) for i in range(3)] == [1, 5, 200]


@pytest.mark.filterwarnings("default::dsl.core.errors.PortabilityWarning")
def test_it_is_warned_of():
    @cute.jit
    def program(i: cutlass.Int32):
        xs = [i, 2]
        xs[0] = 3
        xs[i] = 4
        return xs[1]

    with pytest.warns(PortabilityWarning) as caught:
        program(1)
    assert [str(w.message) for w in caught] == [
        "a list is indexed by a dynamic Int32: NVIDIA's compiler rejects that (PHASE_DYNAMIC_INDEX)"
    ]


def test_static_indices_are_pythons():
    @cute.jit
    def program(k: cutlass.Constexpr):
        xs, d = [10, 20, 30], {k: 7, "a": 8}
        assert (xs[k], xs[-k], xs[k:], d[k], d["a"], "abc"[k]) == (20, 30, [20, 30], 7, 8, "b")
        xs[k], d[k] = 5, 6
        xs[k:] = [1]
        assert xs == [10, 1] and d[k] == 6
        with_error = None
        try:
            xs[k + 5]
        except IndexError as error:
            with_error = str(error)
        assert with_error == "list index out of range"

    with warnings.catch_warnings():
        warnings.simplefilter("error")
        program(1)


def test_a_row_of_lists_is_called_a_list():
    @cute.jit
    def program(i: cutlass.Int32):
        rows = [[1, 2], [3, 4]]
        return rows[i][i]

    with pytest.warns(PortabilityWarning) as told:
        assert program(1) == 4
    assert {str(warning.message).partition(":")[0] for warning in told} == {"a list is indexed by a dynamic Int32"}


def test_a_dict_finds_the_traced_value_that_is_its_key():
    """Measured: NVIDIA's compiler looks a traced value up by what it is, not by its number."""

    @cute.jit
    def program(n: cutlass.Int32, m: cutlass.Int32):
        d = {n: 3, m: m + 1, "k": n}
        d[m] += 1
        return d[n], d[m], d["k"]

    assert program(7, 7) == (3, 9, 7)


def test_layouts_that_meet_are_named():
    def program(n: Int32):
        x = cute.make_layout((4, 2))
        if n > 0:
            x = cute.make_layout((2, 4))
        return cute.size(x)

    assert rejected(program, 1).splitlines()[0] == "here:13: CONTAINER_STRUCTURE_CHANGED"
    assert "`x` is Layout (2,4):(1,2) on one path and Layout (4,2):(1,4) on another" in rejected(program, 1)
