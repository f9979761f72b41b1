"""Assignments to names of other modules."""

import sys
import types

from harness.capture.author import patches


def test_assignments_to_names_of_modules_are_found(module):
    helper = module("def f(): pass\nclass C: pass\nsize = 1", "authors_helper")
    main = module("import authors_helper as h\nh.f = print\nh.size += 1\nh.C.k = 2\nif h.f == h.size: pass")
    found = {key: rows for key, rows in patches.patches().items() if key[0] == helper.__name__}
    assert {key[1]: [(one.__name__, each.node.lineno) for one, each in rows] for key, rows in found.items()} == {
        "f": [(main.__name__, 2)],
        "size": [(main.__name__, 3)],
    }


def test_a_module_that_changes_a_class_of_the_compiler(module, monkeypatch):
    compiler = types.ModuleType("a_compiler.tensor")
    exec("class Tensor:\n    def to(self):\n        pass", vars(compiler))
    monkeypatch.setitem(sys.modules, "a_compiler.tensor", compiler)
    monkeypatch.setattr(patches, "COMPILERS", ("a_compiler",))
    assert patches.changes_of_compilers() == []
    author = module("def to(self):\n    return 1\n", "changing")
    compiler.Tensor.to = author.to
    (said,) = patches.changes_of_compilers()
    assert (
        said == "changing puts its own Tensor.to into the compiler when it is imported, but the file has the original"
    )
