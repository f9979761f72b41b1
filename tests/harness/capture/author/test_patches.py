"""Assignments to names of other modules."""

from harness.capture.author import patches


def test_assignments_to_names_of_modules_are_found(module):
    helper = module("def f(): pass\nclass C: pass\nsize = 1", "authors_helper")
    main = module("import authors_helper as h\nh.f = print\nh.size += 1\nh.C.k = 2\nif h.f == h.size: pass")
    found = {key: rows for key, rows in patches.patches().items() if key[0] == helper.__name__}
    assert {key[1]: [(one.__name__, each.node.lineno) for one, each in rows] for key, rows in found.items()} == {
        "f": [(main.__name__, 2)],
        "size": [(main.__name__, 3)],
    }
