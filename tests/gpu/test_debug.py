"""printf compared with NVIDIA's compiler: the recorded table, on the host and in a kernel; and mistakes."""

import json

import pytest

from dsl import cutlass
from dsl.core.errors import DSLUserCodeError, DSLWarning, PortabilityWarning
from dsl.cutlass import cute
from tests.gpu import printf_table as table

ROWS = json.loads(table.TABLE.read_text())
OURS = ("-m", "dsl", "--device", "emulator")


def test_the_table_is_of_these_cases():
    assert [row[0] for row in ROWS] == table.cases()
    assert len(ROWS) >= 200


@pytest.mark.slow
@pytest.mark.parametrize("in_kernel", (False, True), ids=("host", "kernel"))
def test_prints_what_nvidia_prints(in_kernel):
    found = table.printed(table.program([row[0] for row in ROWS], in_kernel), OURS)
    assert found is not None
    wrong = [
        (row[0], row[1 + in_kernel], text) for row, text in zip(ROWS, found, strict=True) if row[1 + in_kernel] != text
    ]
    assert wrong == []


# NVIDIA's compiler prints garbage, the format itself, or too few values for most of these, and dies of %s and %n.
COUNT = "write one {} for each value"
MISTAKES = [
    ('"%d", x', "%d prints integers, got Float32", "%f, or {}"),
    ('"%x", x', "%x prints integers, got Float32", "%f, or {}"),
    ('"%d", 1.5', "%d prints integers, got Python float", "%f, or {}"),
    ('"%s", n', "%s does not print Int32", "write {} in its place"),
    ('"%s", "text"', "%s does not print Python str", "write {} in its place"),
    ('"%p", n', "%p does not print Int32", "write {} in its place"),
    ('"%*d", x, n', "%d prints integers, got Float32", "%f, or {}"),
    ('"%n", n', "printf has no conversion `%n`", "%% prints a percent sign"),
    ('"%q", n', "printf has no conversion `%q`", "%% prints a percent sign"),
    ('"100% done"', "the format has 1 place for 0 values", COUNT + "; %% prints a percent sign"),
    ('"%d"', "the format has 1 place for 0 values", COUNT + "; %% prints a percent sign"),
    ('"%d", n, n', "the format has 1 place for 2 values", COUNT + "; %% prints a percent sign"),
    ('"%*d", n', "the format has 2 places for 1 value", COUNT + "; %% prints a percent sign"),
    ('"{} {}", n', "the format has 2 places for 1 value", COUNT),
    ('"{}"', "the format has 1 place for 0 values", COUNT),
    ('"none", n', "the format has 0 places for 1 value", COUNT),
    *(
        (
            f'"{place}", n',
            f"printf does not support `{place}`: values are printed in order and as they are",
            """write {}, or a conversion of C's (%5d), or an f-string: f"{x:5d}\"""",
        )
        for place in ("{0}", "{n}", "{:5d}", "{:>5}", "{!r}", "{n:x}")
    ),
    (
        'f"{n:5}"',
        "`:5` is not a format for a value known at run time",
        "write it as C does, with its conversion: {x:5d}, {x:.2f}, {x:08x}",
    ),
    (
        'f"{n:,}"',
        "`:,` is not a format for a value known at run time",
        "write it as C does, with its conversion: {x:5d}, {x:.2f}, {x:08x}",
    ),
    (
        'f"{n:>5d}"',
        "`:>5d` aligns a value known at run time",
        "give a width as C does: {x:5d}, and {x:-5d} for the left",
    ),
    ('f"{x:d}"', "%d prints integers, got Float32", "%f, or {}"),
    (
        'f"{n} %d", n',
        "an f-string contains its values, but 1 more follows it",
        "write them all in the f-string, or all after a plain string",
    ),
    ('f"{n} %d"', "`%d` in an f-string stands for no value", "write the value there: {x:d}; %% prints a percent sign"),
    ('"{}", n, end=5', "`end` must be a string, got Python int", 'end="\\n"'),
    (
        '"{}", {"a": n}',
        "printf prints numbers, pointers, layouts, tensors and tuples of them, got dict of 1",
        "print its parts, or use Python's print while compiling",
    ),
    ("", "printf prints at least one argument", 'printf("")'),
]


def compiled(statement: str, tmp_path):
    """A jit function of n: Int32, x: Float32 and w: Int64 that is this statement."""
    file = tmp_path / "author.py"
    file.write_text(f"@cute.jit\ndef host(n: cutlass.Int32, x: cutlass.Float32, w: cutlass.Int64):\n    {statement}\n")
    names = {"cute": cute, "cutlass": cutlass}
    exec(compile(file.read_text(), str(file), "exec"), names)
    return names["host"]


@pytest.mark.parametrize("arguments, message, fix", MISTAKES, ids=[row[0] for row in MISTAKES])
def test_arguments_that_fit_no_format(arguments, message, fix, tmp_path):
    with pytest.raises(DSLUserCodeError) as error:
        compiled(f"cute.printf({arguments})", tmp_path)(1, 1.5, 2)
    place = error.value.place
    assert (error.value.message, error.value.fix, place.line, place.column) == (message, fix, 3, 5)


@pytest.mark.parametrize(
    "arguments, text",
    [
        ('"{} {}", 1 << 64, [1, n]', "18446744073709551616 (1,-7)\n"),  # 0, and rejected
        ('"%f %e", n, 5', "-7.000000 5.000000e+00\n"),  # garbage
        ('"%lld", n', "-7\n"),  # 4294967289
        ('"{}", cutlass.Int128(w)', "0x" + "f" * 21 + "0" * 11 + "\n"),  # 0
        ('"{} {}", "50% {}", n', "50% {} -7\n"),  # rejected
        ('f"{x:.2f} {n}"', "1.50 -7\n"),  # mixes them up
        ("f\"100%, {n} {'%d'}\"", "100%, -7 %d\n"),  # takes what follows for a conversion
        ('"{}", n, end=None', "-7\n"),
        ('"{}", n, end="%d"', "-7%d"),
        ('"100%"', "100%\n"),
    ],
)
def test_calls_that_nvidias_compiler_prints_wrong_or_rejects(arguments, text, tmp_path, capfd):
    compiled(f"cute.printf({arguments})", tmp_path)(-7, 1.5, -1 << 44)
    assert capfd.readouterr().out == text


def test_a_computed_format(tmp_path, capfd):
    with pytest.warns(PortabilityWarning, match="UNSUP_FSTRING_FORMAT"):
        compiled('k = 5; cute.printf(f"{n:{k}d}|{x:{k}.{1}f}|")', tmp_path)(-7, 1.5, 0)
    assert capfd.readouterr().out == "   -7|  1.5|\n"


def test_values_after_an_f_string_are_not_printed(tmp_path, capfd):
    """NVIDIA's compiler prints the braces; ours too, with a warning."""
    host = compiled('cute.printf(f"{1 + 1} {n} {{}} {x:.1f}", n)', tmp_path)
    with pytest.warns(DSLWarning) as told:
        host(7, 2.5, 1)
    assert capfd.readouterr().out == "2 7 {} 2.5\n"
    assert [str(w.message) for w in told] == [
        "PRINTF_VALUES_UNUSED: printf prints `{{}}` of an f-string as braces, not as a value: write the "
        "values in the f-string, or the format in a variable"
    ]
