"""The output of a program while it is compiled: a traced value reads as its type and name,
and everything else as in Python."""

import pytest

import dsl.cutlass as cutlass
from dsl.core.control_flow.text import trace_output
from dsl.core.number.dtypes import Boolean, Float32, Int32
from dsl.cutlass import cute

pytestmark = pytest.mark.filterwarnings("ignore::dsl.core.errors.PortabilityWarning")


def printed(capsys, program, *arguments) -> list[str]:
    capsys.readouterr()
    cute.jit(program)(*arguments)
    return capsys.readouterr().out.splitlines()


def test_traced_values_have_type_and_name(capsys):
    def program(n: Int32, x: Float32):
        print(n, n + 1, x)
        print(f"{n} and {n + 1:>5}, {x!r}, {n > 3:d}")
        print(str(n), repr(x), format(n, "04d"), "%s" % n, "{}".format(x))
        print((n, 1), [x], {"n": n})
        print(n * 2 + n * 3 + n * 4 + n * 5 + n * 6)
        pair = (n, x)
        print(*pair)
        print(pair[1])

    assert printed(capsys, program, 5, 1.5) == [
        "Int32 n Int32 n + 1 Float32 x",
        "Int32 n and Int32 n + 1, Float32 x, Boolean n > 3",
        "Int32 n Float32 x Int32 n Int32 Float32",
        "(Int32, 1) [Float32] {'n': Int32}",
        "Int32",
        "Int32 Float32",
        "Float32 pair[1]",
    ]


def test_static_values_are_pythons(capsys):
    def program(k: cutlass.Constexpr):
        print(k, "text", 1.5, None, [k], sep="-", end="|\n", flush=True)
        print()
        print(f"{k:03d} {k!r:>4} {'x'}", Int32(5), [Int32(5)], Float32(1.5), Boolean(True), f"{Int32(5):3d}|")
        print("sep", k, sep=None, end=None)

    assert printed(capsys, program, 7) == ["7-text-1.5-None-[7]|", "", "007    7 x 5 [Int32(5)] 1.5 True   5|", "sep 7"]


def test_an_undecorated_function_prints_the_same(capsys):
    def helper(value):
        print(f"value = {value}", value)

    def program(n: Int32):
        helper(n)
        helper(3)

    assert printed(capsys, program, 1) == ["value = Int32 value Int32 value", "value = 3 3"]


def test_print_to_a_file_and_under_another_name(tmp_path):
    with (tmp_path / "out.txt").open("w") as stream:
        say = print

        def program(n: Int32):
            say(n, 1, file=stream)

        cute.jit(program)(3)
    assert (tmp_path / "out.txt").read_text() == "Int32 n 1\n"


def test_a_layout_keeps_the_fields_notation(capsys):
    def program(n: Int32):
        print(cute.make_layout((4, n)))

    assert printed(capsys, program, 3) == ["(4,?):(1,4)"]


def test_nothing_is_printed_twice(capsys):
    """Loops whose carried state is found by tracing them are traced more than once."""

    class Box:
        def __init__(self):
            self.value = 0

    def program(n: Int32):
        box = Box()
        for i in range(n):
            print("trip", i)
            box.value = box.value + i
        while box.value > 3:
            print("while")
            box.value = box.value - 1
        return box.value

    assert printed(capsys, program, 5) == ["trip Int32 i", "while"]


def test_shown_is_the_value_itself_where_it_is_known():
    assert trace_output.shown(5, "x") == 5 and trace_output.shown("text", "x") == "text"
    assert trace_output.shown(Int32(5), "x").value == 5
