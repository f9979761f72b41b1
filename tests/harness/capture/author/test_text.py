"""An author's module as statements, and their text again."""

import pytest

from harness.capture.author import text


def test_statements_by_the_names_they_bind(module):
    read = text.read(
        module("""
        import os.path, re as regular
        SIZE, ROOM = 4, 5
        def f(x):
            return x
        if __name__ == "__main__":
            HIDDEN = 1
        """)
    )
    assert set(read.bindings) == {"os", "regular", "SIZE", "ROOM", "f"}
    assert read.bindings["SIZE"] is read.bindings["ROOM"]


def test_a_licence_at_the_top_of_a_file_is_found(module):
    header = "# Copyright the authors\n# SPDX-License-Identifier: BSD-3-Clause\nA = 1\n"
    assert text.read(module(header)).licence == header.removesuffix("A = 1\n").rstrip()
    assert text.read(module("# a note\nA = 1\n", "other_program")).licence == ""


def test_a_licence_in_the_docstring_of_a_file_is_found(module):
    made = module('"""It adds numbers.\n\nCopyright (c) 2026 the authors\n"""\nA = 1\n')
    assert text.read(made).licence == "# It adds numbers.\n#\n# Copyright (c) 2026 the authors"


def test_all_statements_that_bind_a_name_are_found(module):
    read = text.read(module("from math import floor as f\nA = [1]\nA += [2]\nf = A\n"))
    assert [statement.node.lineno for statement in read.bindings_of("A")] == [2, 3]
    assert [statement.node.lineno for statement in read.bindings_of("f")] == [4]


@pytest.mark.parametrize(
    ("ours", "theirs"),
    [("dsl.cutlass.cute", "cutlass.cute"), ("dsl.tirx", "tvm"), ("dsl.launch", "dsl.launch"), ("torch", "torch")],
)
def test_names_of_modules_are_those_that_programs_import(ours, theirs):
    assert text.public_name(ours) == theirs
