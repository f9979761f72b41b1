"""The code that functions of a program use, as one module: it must give the same results as the program."""

import importlib
import linecache
import sys
import textwrap

import pytest

from harness.capture.author import slicer
from harness.capture.author.packages import packages_of
from harness.capture.refusal import CannotBeCaptured

MAIN = """
from __future__ import annotations
import math
import os
import numpy as np
import measures
from measures import area as surface
from measures import twice

SIZE = 4
NAME = os.environ.get("NOT_SET_ANYWHERE", "none")
UNUSED = object()

def unused():
    return UNUSED

def scaled(x):
    return twice(x) * SIZE + measures.half(x) + len(NAME)

class Box:
    def __init__(self, width):
        self.width = width
    def room(self):
        return surface(self.width) + math.floor(np.float32(1.5))
    def shown(self):
        return unused()

def make(factor):
    def inner(x):
        return scaled(x) * factor
    return inner

INNER = make(3)
"""
MEASURES = """
# Copyright the authors of measures; MIT license
SIZE = 100

def area(width):
    return width * width + SIZE

def twice(x):
    return 2 * x

def half(x):
    return x / 2
"""


@pytest.fixture
def program(tmp_path, monkeypatch):
    monkeypatch.syspath_prepend(tmp_path)
    for name, text in (("authors_main", MAIN), ("measures", MEASURES)):
        (tmp_path / f"{name}.py").write_text(text)
        monkeypatch.delitem(sys.modules, name, raising=False)
    import authors_main

    return authors_main


def run(part):
    names = dict(part.values)
    exec(compile(part.text, "<slice>", "exec"), names)
    return names


def test_a_function_and_what_it_reaches_in_other_files(program):
    part = slicer.slice_of([program.scaled])
    names = run(part)
    assert names[part.names[id(program.scaled)]](5) == program.scaled(5)
    assert "unused" not in part.text and "UNUSED" not in part.text and "make" not in part.text
    assert part.missing == []


def test_a_value_that_a_statement_would_not_give_again_is_a_value(program):
    part = slicer.slice_of([program.scaled])
    assert part.values == {"NAME": "none"} and "environ" not in part.text


def test_equal_names_of_two_files_stay_apart(program):
    part = slicer.slice_of([program.scaled, program.Box], called={"room"})
    names = run(part)
    assert names["Box"](3).room() == program.Box(3).room() == 110
    assert names["scaled"](5) == program.scaled(5)


def test_methods_that_are_called_from_outside_stay(program):
    assert "def room" not in slicer.slice_of([program.Box]).text
    assert "def room" in slicer.slice_of([program.Box], called={"room"}).text


def test_a_closure_takes_its_variables_along(program):
    part = slicer.slice_of([program.INNER])
    assert part.values["factor"] == 3
    assert run(part)["inner"](2) == program.INNER(2)


def test_the_licence_of_copied_code_stays_with_it(program):
    assert slicer.slice_of([program.scaled]).licences == ["# Copyright the authors of measures; MIT license"]
    assert slicer.slice_of([program.unused]).licences == []


def test_installed_packages_stay_imports():
    from packaging.version import Version

    part = slicer.slice_of([Version])
    assert part.names[id(Version)] == "Version"
    assert "from packaging.version import Version" in part.text and "class" not in part.text
    assert set(packages_of(part.text)) == {"packaging"}


@pytest.mark.parametrize("text", ["def f(x):\n    return x", "class f:\n    def g(self):\n        pass"])
def test_a_definition_without_text_is_refused(text):
    names = {"__name__": "nowhere"}
    exec(text, names)
    with pytest.raises(CannotBeCaptured, match="the source of f is in no file: write the text that is executed to a"):
        slicer.slice_of([names["f"]])


def test_a_text_that_linecache_knows(monkeypatch):
    """Cells of a notebook: functions, a class without methods, and what they mention."""
    names = {"__name__": "nowhere"}
    for number, text in enumerate(
        ["SIZE = 3\nclass Pair:\n    first: int = 2", "def f(x):\n    return Pair.first * x * SIZE"]
    ):
        name = f"<cell-{number}>"
        monkeypatch.setitem(linecache.cache, name, (len(text), None, text.splitlines(keepends=True), name))
        exec(compile(text, name, "exec"), names)
    result = slicer.slice_of([names["f"]])
    assert result.values == {"SIZE": 3}
    made = {"__name__": "captured", **result.values}
    exec(result.text, made)
    assert made["f"](5) == 30


def test_names_that_are_taken_are_not_used(program):
    part = slicer.slice_of([program.scaled], {"scaled", "twice"})
    assert part.names[id(program.scaled)] == "scaled_2"
    assert run(part)["scaled_2"](5) == program.scaled(5)


def test_text_keeps_its_meaning_with_annotations_as_text(program):
    assert textwrap.dedent(slicer.slice_of([program.scaled]).text).startswith("from __future__ import annotations")


G = "def g(x): return x * 2"
PROGRAMS = {
    "one name for two imports": {
        "of_author": "from math import floor as r\nimport other\ndef f(x): return r(x + 0.5) + other.g(x)",
        "other": "from math import ceil as r\ndef g(x): return r(x + 0.5)",
    },
    "one name for two packages": {
        "of_author": "import math as m\nimport other\ndef f(x): return m.floor(x + 0.5) + other.g(x)",
        "other": "import operator as m\ndef g(x): return m.neg(x)",
    },
    "one name for two files": {
        "of_author": "import first as h\nimport other\ndef f(x): return h.a(x) + other.g(x)",
        "other": "import second as h\ndef g(x): return h.a(x) + h.b(x)",
        "first": "def a(x): return x",
        "second": "def a(x): return 10 * x\ndef b(x): return 7",
    },
    "a file and a function of one name": {
        "of_author": "import h\nimport other\ndef f(x): return h.a(x) + other.g(x)",
        "other": "def h(x): return 100\ndef g(x): return h(x)",
        "h": "def a(x): return x",
    },
    "an import and a function of one name": {
        "of_author": "from math import floor\nimport other\ndef f(x): return floor(x + 0.5) + other.g(x)",
        "other": "def floor(x): return 100\ndef g(x): return floor(x)",
    },
    "an item that is stored": {"of_author": "T = {}\nT['a'] = 5\ndef f(x): return x + T['a']"},
    "an attribute that is stored": {"of_author": "class C: pass\nC.k = 5\ndef f(x): return x + C.k"},
    "a list that grows": {"of_author": "T = [object]\nT.append(5)\ndef f(x): return x + T[1]"},
    "a registration": {
        "of_author": "T = {}\ndef known(g):\n    T[g.__name__] = g\n    return g\n"
        "@known\ndef a(x): return x + 1\ndef f(x): return T['a'](x)"
    },
    "a name imported in a function": {"of_author": "def f(x):\n    from other import g\n    return g(x)", "other": G},
    "a file imported in a function": {"of_author": "def f(x):\n    import other\n    return other.g(x)", "other": G},
    "a global that has another name": {
        "of_author": "import other\nC = 1\ndef f(x): return other.g(x) + C",
        "other": "C = 50\ndef g(x):\n    global C\n    C += 1\n    r = C\n    C -= 1\n    return r * x",
    },
    "a base class in another file": {
        "of_author": "import other\nclass A: pass\nclass B(other.A):\n    z = other.Z\n"
        "    def m(self): return super().m() + self.z\ndef f(x): return B().m() + x + isinstance(1, A)",
        "other": "Z = 3\nclass A:\n    def m(self): return 10",
    },
    "a method by a name that is computed": {
        "of_author": "class C:\n    def run_a(self): return 4\ndef f(x): return getattr(C(), 'run_' + 'a')() + x"
    },
    "modules that import each other": {
        "of_author": "import other\nA = 3\ndef f(x): return other.g(x) + A",
        "other": "import of_author\ndef g(x): return of_author.A * x",
    },
    "a function that another module replaces": {
        "of_author": "import other\ndef h(x): return -x\nother.g = h\ndef f(x): return other.k(x)",
        "other": "def g(x): return x\ndef k(x): return g(x) + 1",
    },
    "a function that a function replaces": {
        "of_author": "import other\ndef h(x): return -x\ndef main(): other.g = h\nmain()\ndef f(x): return other.k(x)",
        "other": "def g(x): return x\ndef k(x): return g(x) + 1",
    },
    "a method that another module replaces": {
        "of_author": "import other\ndef h(self): return 7\nother.C.m = h\ndef f(x): return x + other.C().m()",
        "other": "class C:\n    def m(self): return 1",
    },
    "a number that another module replaces": {
        "of_author": "import other\nother.N = 8\ndef f(x): return other.k(x)",
        "other": "N = 1\ndef k(x): return N * x",
    },
    "a global of another module": {
        "of_author": "import other\nC = 5\ndef f(x):\n    other.C = x\n    return other.g() + C",
        "other": "C = 1\ndef g(): return C",
    },
    "a function that has the name as a parameter": {
        "of_author": "from other import g as h\ndef f(g): return h(g)",
        "other": "def g(x): return x * 2",
    },
    "a function with the name of a builtin": {
        "of_author": "import other\ndef f(x): return other.max(x) + max(x, 100)",
        "other": "def max(x): return x * 2",
    },
    "a closure that counts": {
        "of_author": "def make():\n    n = 0\n    def up(x):\n        nonlocal n\n        n += x\n        n -= x\n"
        "        return n + x\n    return up\ndef once(g):\n    def h(x): return g(x)\n    return h\nf = once(make())"
    },
    "a default of an enclosing function": {
        "of_author": "def make(n):\n    def g(x, k=n + 1): return x * k\n    return g\nf = make(3)"
    },
    "a base class of an enclosing function": {
        "of_author": "def make():\n    class A:\n        def m(self): return 4\n    class B(A):\n        k = 2\n"
        "    return B\nB = make()\ndef f(x): return B().m() + x"
    },
    "a decorator that wraps": {
        "of_author": "def twice(g):\n    def h(x): return 2 * g(x)\n    return h\n@twice\ndef f(x): return x + 1"
    },
    "a name that is bound again": {"of_author": "def f(x): return x + 1\nold = f\nf = lambda x: old(x) * 2"},
    "a list that is added to": {"of_author": "T = [object]\nT += [5]\ndef f(x): return x + T[1]"},
    "a star import": {"of_author": "from other import *\ndef f(x): return g(x) + N", "other": G + "\nN = 3"},
    "an import for a type checker": {
        "of_author": "from __future__ import annotations\nfrom typing import TYPE_CHECKING\n"
        "if TYPE_CHECKING:\n    from nowhere import T\ndef f(x: T): return x"
    },
    "a dictionary that a function fills": {
        "of_author": "T = {}\ndef main(): T['a'] = 4\nmain()\ndef f(x): return x + T['a']"
    },
    "a class that loses its methods": {
        "of_author": "class C:\n    def m(self): return 4\ndef f(x): return len([C]) + x"
    },
}


@pytest.mark.parametrize("case", PROGRAMS)
def test_the_text_alone_gives_what_the_program_gives(tmp_path, monkeypatch, case):
    monkeypatch.syspath_prepend(tmp_path)
    for name, text in PROGRAMS[case].items():
        (tmp_path / f"{name}.py").write_text(text + "\n")
        monkeypatch.delitem(sys.modules, name, raising=False)
    function = importlib.import_module("of_author").f
    wanted = function(3)
    part = slicer.slice_of([function])
    for name in PROGRAMS[case]:
        monkeypatch.delitem(sys.modules, name)
        (tmp_path / f"{name}.py").unlink()
    assert run(part)[part.names[id(function)]](3) == wanted and part.missing == []


def test_changes_by_a_loop_of_a_module_are_reported(tmp_path, monkeypatch):
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.delitem(sys.modules, "of_author", raising=False)
    (tmp_path / "of_author.py").write_text("T = [object]\nfor i in range(4):\n    T.append(i)\ndef f(x): return T[2]\n")
    part = slicer.slice_of([importlib.import_module("of_author").f])
    assert part.missing == ["T is changed by a block at line 2 of its module"]


def test_names_that_every_module_has(module):
    made = module("def place():\n    return __file__, __name__\n")
    result = slicer.slice_of([made.place])
    assert not result.values and not result.missing
    names = {"__name__": "captured", "__file__": "x.py"}
    exec(result.text, names)
    assert names["place"]() == ("x.py", "captured")


def test_annotations_of_files_with_and_without_the_future_import(module):
    later = module(
        """
        from __future__ import annotations
        class Pair:
            first: NotThere | "a 'b'"
            second: list[
                int
            ]
        def first_of(pair: Pair) -> NotThere:
            return pair.first
        """,
        "later",
    )
    now = module(
        """
        import later
        from later import first_of
        class Fields:
            width: int
        def used(pair: later.Pair):
            return first_of(pair), Fields.__annotations__["width"] is int
        """,
        "now",
    )
    result = slicer.slice_of([now.used, later.Pair])
    names = {"__name__": "captured"}
    exec(result.text, names)
    pair = names["Pair"]()
    pair.first = 3
    assert names["used"](pair) == (3, True)
    assert "NotThere" in names["Pair"].__annotations__["first"] and "import annotations" not in result.text
    assert "import annotations" in slicer.slice_of([later.first_of, later.Pair]).text


def test_a_module_that_is_used_as_a_value(module):
    module("def double(x):\n    return 2 * x\ndef unused():\n    pass\nSIZE = 3\n", "tools")
    module("SIZE = 4\ndef double(x):\n    return 3 * x\n", "other_tools")
    made = module(
        """
        import tools as helper
        import other_tools
        def chosen(is_other):
            return other_tools if is_other else helper
        def used(x):
            return chosen(x > 1).double(x) + getattr(chosen(False), "SIZE")
        """
    )
    result = slicer.slice_of([made.used])
    assert not result.missing and "unused" not in result.text
    names = {"__name__": "captured"}
    exec(result.text, names)
    assert [names["used"](x) for x in (1, 2)] == [made.used(x) for x in (1, 2)] == [5, 9]
