"""Mistakes of authors, each with the whole text of its error: mistakes.txt has the programs and the texts.

The law over all: an error has a place in the author's file, carets, a fix, a class that the real package raises too (or
Quadrants' own, where that package ends or fails inside), and no word of the compiler's inside.
`python tests/quadrants/errors/test_wording.py` writes the texts again.
"""

import ast
import builtins
import linecache
import re
import sys
import warnings
from pathlib import Path

import pytest

import dsl.quadrants as qd
from dsl.launch import session

ROOT = Path(__file__).resolve().parents[3]
TABLE = Path(__file__).with_name("mistakes.txt")
HEAD = "import numpy as np\nimport quadrants as qd\n\nqd.init(arch=qd.cpu)\n\n"
# Accidents of the real package, which accepts, ends or fails inside; ours raises its own class of error.
ACCIDENTS = {
    "nothing",
    "died",
    "float_for_int",
    "string_for_int",
    "none_for_int",
    "array_for_int",
    "complex_array",
    "vector_of_wrong_size",
    "assign_loop_variable",
    "scalar_field_assigned",
    "python_wrong_indices",
    "none_in_arithmetic",
    "matrix_ragged",
    "pointer_layout",
    "barrier_outside",
    "struct_field_iterated_in_python",
    "dataclass_of_another_class",
}
OURS = re.compile(
    r"site-packages|INTERNAL|\b(Int|Uint|Float)\d|Boolean|dsl[/.]|cutlass|cute\b|Traceback|NoneType|__dsl_|"
    r"\w+\.<locals>|Lvalue|ArrayView|Numeric"
)


def mistakes() -> dict[str, tuple[str, str, str]]:
    """The exception of the real package, the program and the text, for every mistake."""
    found = {}
    for part in re.split(r"^=== ", TABLE.read_text(), flags=re.MULTILINE)[1:]:
        head, _, rest = part.partition("\n")
        name, _, real = head.partition(": ")
        program, _, text = rest.partition("---\n")
        found[name] = real, program, text.rstrip("\n")
    return found


def error_of(name: str, program: str, folder: Path) -> Exception | None:
    """The exception that the program raises."""
    file = folder / f"{name}.py"
    file.write_text(HEAD + program)
    linecache.checkcache(str(file))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            exec(compile(file.read_text(), str(file), "exec"), {"__name__": "__main__"})
        except Exception as error:
            return error
    return None


def text_of(error: Exception, folder: Path) -> str:
    return str(error).replace(f"{folder}/", "")


@pytest.fixture
def aliased():
    from dsl import alias

    sys.modules.pop("quadrants", None)
    alias.install("emulator")
    yield
    alias.uninstall()


@pytest.mark.slow
def test_every_mistake_is_reported_in_the_authors_words(aliased, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    wrong = {}
    for name, (real, program, text) in mistakes().items():
        error = error_of(name, program, tmp_path)
        told = text_of(error, tmp_path) if error is not None else "nothing"
        if told != text:
            wrong[name] = told
        elif broken := law(name, real, error, told):
            wrong[name] = broken
    assert not wrong, "\n".join(f"{name}:\n{told}" for name, told in wrong.items())


def law(name: str, real: str, error: Exception, told: str) -> str:
    """The part that the error lacks, or ""."""
    import quadrants as qd

    place, lines = error.place, told.splitlines()
    if not lines[0].startswith(f"{name}.py:{place.line}:") or not place.source_line().strip():
        return "no place in the author's file"
    if lines[1] != f"    {place.source_line().strip()}" or set(lines[2].split()[0]) != {"^"}:
        return "no line with carets"
    if not lines[-1].startswith("fix: ") or len(lines[-1]) < len("fix: ") + 8:
        return "no fix"
    if found := OURS.search(told):
        return f"says {found[0]}"
    if real in ACCIDENTS or name in ACCIDENTS:
        return ""
    expected = getattr(qd, real, None) if real.startswith("Quadrants") else getattr(builtins, real)
    return "" if isinstance(error, expected) else f"is a {type(error).__name__}, there a {real}"


def test_there_are_enough_mistakes_and_all_differ():
    table = mistakes()
    assert len(table) >= 150 and len({program for _, program, _ in table.values()}) == len(table)
    assert ACCIDENTS - {"nothing", "died"} <= set(table)


def test_every_error_that_the_surface_raises_has_a_fix():
    """The fix is a second argument in the source, or `fix=`."""
    kinds = ("Quadrants", "Wrong", "Unknown", "OutOf", "Called", "Invalid", "runtime.Quadrants")
    for file in sorted((ROOT / "dsl/quadrants").rglob("*.py")):
        for node in ast.walk(ast.parse(file.read_text())):
            if (
                isinstance(node, ast.Raise)
                and isinstance(node.exc, ast.Call)
                and ast.unparse(node.exc.func).startswith(kinds)
            ):
                given = node.exc.args
                assert (
                    len(given) > 1
                    or any(isinstance(each, ast.Starred) for each in given)
                    or any(keyword.arg == "fix" for keyword in node.exc.keywords)
                ), f"{file.name}:{node.lineno}"


def write() -> None:
    """Write the current texts into the table."""
    import os
    import tempfile

    from dsl import alias

    alias.install("emulator")
    head = TABLE.read_text().partition("=== ")[0]
    with tempfile.TemporaryDirectory() as folder:
        os.chdir(folder)
        made = [
            f"=== {name}: {real}\n{program}---\n{text_of(error_of(name, program, Path(folder)), Path(folder))}\n"
            for name, (real, program, _) in mistakes().items()
        ]
    TABLE.write_text(head + "".join(made))


if __name__ == "__main__":
    sys.path.insert(0, str(ROOT))
    write()


COMPONENTS = {  # assigned or read: the class of the real package's error, and the fix
    "v[0].w": ("QuadrantsSyntaxError", "use one of x, y, z"),
    "v[0].xw": ("QuadrantsSyntaxError", "use one of x, y, z"),
    "v[0].a": ("QuadrantsSyntaxError", "use one of r, g, b"),
    "v[0].stq": ("QuadrantsSyntaxError", "use one of s, t, p"),
    "v[0].xy.z": ("QuadrantsSyntaxError", "use one of x, y"),
    "v[0].xg": ("QuadrantsCompilationError", "take the letters of one name from one of xyzw, rgba, stpq: `v.xy`"),
    "v[0].foo": ("QuadrantsCompilationError", "index it: `x[i]`"),
    "v.x": ("QuadrantsCompilationError", "name an element: `x[i].x`"),
    "f.x": ("QuadrantsCompilationError", "index it: `x[i]`"),
    "f[0].x": ("QuadrantsCompilationError", "a number has none: use a qd.Vector for components"),
    "m[0].x": ("QuadrantsIndexError", "index it: `m[i, j]`"),
    "m[0].xy": ("QuadrantsIndexError", "index it: `m[i, j]`"),
    "m[0][2]": ("QuadrantsIndexError", "write `m[i, j]` for an element of a matrix, `m[i, :]` for a row"),
    "v[0][3]": ("QuadrantsIndexError", "index from 0 to 2"),
}


@pytest.mark.parametrize("statement", ["{} = 1.0", "{} += 1.0", "y = {}"])
@pytest.mark.parametrize("component", COMPONENTS)
def test_a_component_that_is_not_there_is_one_error_however_it_is_used(statement, component):
    session.start("emulator")
    try:
        qd.init(arch=qd.cpu)
        line = statement.format(component)
        source = f"@qd.kernel\ndef kernel():\n    {line}\n"
        linecache.cache["component.py"] = (len(source), None, source.splitlines(True), "component.py")
        names = {
            "qd": qd,
            "v": qd.Vector.field(3, qd.f32, shape=4),
            "f": qd.field(qd.f32, shape=4),
            "m": qd.Matrix.field(2, 2, qd.f32, shape=4),
        }
        exec(compile(source, "component.py", "exec"), names)
        with pytest.raises(qd.QuadrantsCompilationError) as error:
            names["kernel"]()
    finally:
        session.stop()
    assert (type(error.value).__name__, error.value.fix) == COMPONENTS[component]
