"""The places where the source of a function is found: files, notebooks, lambdas, executed texts;
and the message if there is none."""

import ast
import builtins
import doctest
import importlib
import linecache
import py_compile
import subprocess
import sys
import textwrap
import types
import warnings
import zipfile

import pytest

import dsl.cutlass as cutlass
from dsl.core.errors import DSLUserCodeError
from dsl.core.syntax import function_source
from dsl.cutlass import cute

SQUARE, CUBE = lambda x: x * x, lambda x: x * x * x
SAME = [lambda x: x + 1, lambda x: x + 1]


def test_each_lambda_of_a_line_is_found():
    assert ast.unparse(function_source.find_definition(SQUARE)) == "lambda x: x * x"
    assert ast.unparse(function_source.find_definition(CUBE)) == "lambda x: x * x * x"
    assert ast.unparse(function_source.find_definition(SAME[1])) == "lambda x: x + 1"


def cell(name: str, text: str, **names) -> dict:
    """Run a cell as a notebook does: its text is in linecache under a name that is not a file."""
    text = textwrap.dedent(text)
    linecache.cache[name] = (len(text), None, text.splitlines(keepends=True), name)
    namespace = {"cute": cute, "cutlass": cutlass, **names}
    exec(compile(text, name, "exec"), namespace)
    return namespace


def test_a_notebook():
    first = cell(
        "/tmp/ipykernel_1/1.py",
        """\
        def helper(x):
            return 1 if x > 3 else 2
        """,
    )
    second = cell(
        "<ipython-input-2-abc>",
        """\
        @cute.jit
        def program(n: cutlass.Int32):
            for i in range(n):
                n = n + helper(i)
            return n
        """,
        helper=first["helper"],
    )
    with pytest.warns(UserWarning, match="`helper` is not decorated"):
        assert second["program"](6) == 6 + 2 * 4 + 2


def test_a_cell_run_again_is_read_again():
    for k in (3, 4):
        assert (
            cell(
                "<ipython-input-3-abc>",
                f"""\
            @cute.jit
            def program(n: cutlass.Int32):
                return n + {k}
            """,
            )["program"](1)
            == 1 + k
        )


def test_a_doctest():
    text = """
    >>> @cute.jit
    ... def program(n: cutlass.Int32):
    ...     if n > 2:
    ...         n = n * 2
    ...     return n
    >>> program(3)
    6
    """
    test = doctest.DocTestParser().get_doctest(text, {"cute": cute, "cutlass": cutlass}, "example", "example", 0)
    assert doctest.DocTestRunner().run(test).failed == 0


def without_source(file: str) -> str:
    namespace = {}
    exec(compile("def program(n):\n    return n\n", file, "exec"), namespace)
    with pytest.raises(DSLUserCodeError) as caught:
        cute.jit(namespace["program"])(1)
    return str(caught.value)


def test_a_missing_source_is_reported(monkeypatch):
    monkeypatch.delitem(linecache.cache, "<string>", raising=False)  # Python 3.13 has a text where `-c` runs the tests
    assert (
        without_source("<string>")
        == """\
<string>:1:1: DSLUserCodeError
    the source of `program` cannot be read: it was made by exec or eval
fix: put it in a file, or run the program with `python -m dsl FILE`, `python -m dsl -` or, \
as a prompt, `python -m dsl -i`"""
    )
    assert "it was typed at Python's prompt, or piped into it" in without_source("<stdin>")
    assert "there is no file gone.py to read" in without_source("gone.py")


def test_the_program_of_c_is_not_the_source_of_what_it_executes(monkeypatch):
    lines = ["def program(n):\n", "    return 7\n"]
    monkeypatch.setitem(linecache.cache, "<string>", (len("".join(lines)), None, lines, "<string>"))
    assert "the source of `program` cannot be read: it was made by exec or eval" in without_source("<string>")


def test_files_of_libraries_are_not_the_authors_files():
    assert (
        function_source.is_authors(__file__)
        and function_source.is_authors("<ipython-input-1-abc>")
        and function_source.is_authors("<stdin>")
    )
    for module in (textwrap, pytest, function_source):
        assert not function_source.is_authors(module.__file__)
    assert not function_source.is_authors("<frozen importlib._bootstrap>")


@pytest.fixture
def executing():
    """A module of the author's in which exec, eval and compile keep what they are given."""
    before = set(linecache.cache)
    with function_source.executed_texts_kept():
        yield
    for name in set(linecache.cache) - before:
        del linecache.cache[name]


def builtins_are_pythons() -> bool:
    return all(isinstance(each, types.BuiltinFunctionType) for each in (exec, eval, compile))


def test_the_builtins_are_pythons_but_while_they_are_needed():
    from dsl import alias

    alias.install("emulator")
    try:
        import cutlass.cute  # noqa: F401 - what it does to Python

        assert builtins_are_pythons()
    finally:
        alias.uninstall()
    assert warnings.showwarning.__module__ == "warnings"
    with pytest.raises(ZeroDivisionError), function_source.executed_texts_kept():
        keeping = exec
        with function_source.executed_texts_kept():
            assert exec is keeping and not builtins_are_pythons()
        assert exec is keeping
        exec("1 / 0")
    assert builtins_are_pythons()
    keeping("assert True")  # whoever has kept it may call it
    python_eval = eval
    with function_source.executed_texts_kept():
        builtins.eval = replaced = lambda text: text  # somebody else's stays
    try:
        assert eval is replaced
    finally:
        builtins.eval = python_eval
    assert builtins_are_pythons()


def test_executed_texts_are_kept(executing):
    for k in (1, 2):
        namespace = {"cute": cute, "cutlass": cutlass}
        exec(f"@cute.jit\ndef program(n: cutlass.Int32):\n    if n > {k}: n = n + {k}\n    return n", namespace)
        assert namespace["program"](5) == 5 + k
    assert cute.jit(eval("lambda n: n + 2 if n is not None else 0"))(3) == 5
    made = compile("def f(n):\n    return n * 2\n", "made up.py", "exec")
    namespace = {}
    exec(made, namespace)
    assert cute.jit(namespace["f"])(3) == 6
    assert namespace["f"].__code__.co_filename == "made up.py"
    with pytest.raises(DSLUserCodeError, match=r"<text at .*test_function_source.py:\d+>:3:5: PHASE_REQUIRES_CONSTANT"):
        exec("@cute.jit\ndef bad(n: cutlass.Int32):\n    bool(n)\nbad(1)", {"cute": cute, "cutlass": cutlass})


def test_executing_is_pythons_own_otherwise(executing):
    local = 3
    exec("made = local + 1")
    assert eval(" local * 2 ") == 6 and eval("x", {"x": 5}) == 5 and eval("y", {}, {"y": 6}) == 6
    namespace = {}
    exec(compile(ast.parse("x = 1"), "tree", "exec"), namespace)
    exec("from __future__ import annotations\ndef f(a: missing): pass", namespace)
    exec(b"y = 2", namespace)
    assert namespace["x"] == 1 and namespace["y"] == 2 and namespace["f"].__annotations__ == {"a": "missing"}
    with pytest.raises(NameError):
        exec("def g(a: missing): pass", namespace)
    with pytest.raises(SyntaxError):
        eval("1 +")
    module = types.ModuleType("plain")
    sys.modules["plain"] = module
    try:
        exec("import plain; plain.value = 7", namespace)
    finally:
        del sys.modules["plain"]
    assert module.value == 7


def changing(tmp_path, name, monkeypatch):
    """A module that writes, imports and returns what `add k` gives."""
    monkeypatch.syspath_prepend(str(tmp_path))
    file = tmp_path / f"{name}.py"

    def write(k, above=""):
        file.write_text(f"{above}from dsl.cutlass import cute\n@cute.jit\ndef add(n):\n    return n + {k}\n")

    return file, write


def test_a_file_that_changes_after_its_import(tmp_path, monkeypatch):
    file, write = changing(tmp_path, "changes_later", monkeypatch)
    write(1)
    import changes_later

    write(2, "# another line\n")
    assert changes_later.add(1) == 2
    changes_later = importlib.reload(changes_later)
    assert changes_later.add(1) == 3


def test_a_file_that_is_removed_after_its_import(tmp_path, monkeypatch):
    file, write = changing(tmp_path, "goes_away", monkeypatch)
    write(1)
    import goes_away

    file.unlink()
    assert goes_away.add(1) == 2


def test_a_module_in_a_zip_file(tmp_path, monkeypatch):
    file, write = changing(tmp_path, "zipped", monkeypatch)
    write(1)
    with zipfile.ZipFile(tmp_path / "modules.zip", "w") as archive:
        archive.write(file, "zipped.py")
    file.unlink()
    monkeypatch.syspath_prepend(str(tmp_path / "modules.zip"))
    import zipped

    assert zipped.__file__.endswith("modules.zip/zipped.py") and zipped.add(1) == 2


def test_only_compiled_code(tmp_path, monkeypatch):
    file, write = changing(tmp_path, "compiled_only", monkeypatch)
    write(1)
    py_compile.compile(str(file), str(tmp_path / "compiled_only.pyc"))
    file.unlink()
    import compiled_only

    with pytest.raises(DSLUserCodeError, match="there is no file .*compiled_only.py to read, only what was made of it"):
        compiled_only.add(1)


C_PROGRAM = """
from dsl import alias; alias.install("emulator")
import cutlass.cute as cute
@cute.jit
def add(n):
    return n + 1
print(add(1))
exec("@cute.jit\\ndef add(n):\\n    return n + 2")
print(add(1))
"""


@pytest.mark.slow
def test_a_program_given_by_option_c():
    run = subprocess.run([sys.executable, "-c", C_PROGRAM], capture_output=True, text=True, timeout=600)
    assert run.stdout == "2\n"
    assert "the source of `add` cannot be read: it was made by exec or eval" in run.stderr
