"""The order in which statements ran."""

import ast
import importlib
import sys

import pytest

from harness.capture.author import order, text

PROGRAMS = {
    "an import in the middle": ({"top": "a = 1\nimport low\nb = 2", "low": "c = 3"}, ["a = 1", "c = 3", "b = 2"]),
    "a cycle": ({"top": "a = 1\nimport low\nb = 2", "low": "import top\nc = top.a"}, ["a = 1", "c = top.a", "b = 2"]),
    "twice": ({"top": "import one, low", "one": "from low import c\nd = c", "low": "c = 3"}, ["c = 3", "d = c"]),
    "if it is there": (
        {"top": "try:\n    import low\nexcept ImportError:\n    pass\nb = 2", "low": "c = 3"},
        ["c = 3", "try:", "b = 2"],
    ),
}


@pytest.mark.parametrize("case", PROGRAMS)
def test_an_import_runs_its_module_there(tmp_path, monkeypatch, case):
    monkeypatch.syspath_prepend(tmp_path)
    text.forget()
    files, wanted = PROGRAMS[case]
    for name, source in files.items():
        (tmp_path / f"{name}.py").write_text(source + "\n")
        monkeypatch.delitem(sys.modules, name, raising=False)
    importlib.import_module("top")
    modules = {name: sys.modules[name] for name in files}
    ran = [ast.unparse(statement.node).splitlines()[0] for statement in order.statements(modules)]
    for name in files:
        monkeypatch.delitem(sys.modules, name)
    assert ran == wanted
