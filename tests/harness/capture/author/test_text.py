"""An author's module as statements, and their text again."""

import importlib.util
import sys
import textwrap

import pytest

from harness.capture.author import text


@pytest.fixture
def module(tmp_path, monkeypatch):
    """A module of an author with this text."""
    text.forget()

    def make(source, name="authors_program"):
        file = tmp_path / f"{name}.py"
        file.write_text(textwrap.dedent(source))
        spec = importlib.util.spec_from_file_location(name, file)
        made = importlib.util.module_from_spec(spec)
        monkeypatch.setitem(sys.modules, name, made)
        spec.loader.exec_module(made)
        return made

    return make


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


def test_the_text_of_a_statement_has_its_new_names_and_no_comments(module):
    read = text.read(
        module('''
        def f(x):
            """What it is for."""
            # why it is so
            size = x.SIZE + SIZE  # both
            return g(size, SIZE)
        ''')
    )
    statement = read.bindings["f"]
    statement.renamed = {"SIZE": "SIZE_2", "f": "f_2"}
    assert statement.text() == "def f_2(x):\n    size = x.SIZE + SIZE_2  # both\n    return g(size, SIZE_2)"


def test_methods_that_nothing_mentions_are_left_out(module):
    read = text.read(
        module("""
        class Model:
            def __call__(self):
                return self.used()
            def used(self):
                return 1
            def unused(self):
                return other
            def named(self):
                return 3
        """)
    )
    statement = read.bindings["Model"]
    text.drop_unused_methods([statement], [statement.node], {"named"})
    assert "unused" not in statement.text() and "def used" in statement.text() and "def named" in statement.text()
    assert "other" not in statement.loads()


def test_a_licence_at_the_top_of_a_file_is_found(module):
    header = "# Copyright the authors\n# SPDX-License-Identifier: BSD-3-Clause\nA = 1\n"
    assert text.read(module(header)).licence == header.removesuffix("A = 1\n").rstrip()
    assert text.read(module("# a note\nA = 1\n", "other_program")).licence == ""


def test_the_text_of_definitions_inside_functions(module):
    made = module("""
        def make():
            def inner(x):
                return x + 1
            return inner, (lambda y:
                           y * 2)
        INNER, LAMBDA = make()
        """)
    node = text.node_of(made.INNER)
    assert text.text_of(node, made.INNER) == "def inner(x):\n    return x + 1\n"
    node = text.node_of(made.LAMBDA)
    assert eval(text.text_of(node, made.LAMBDA))(4) == 8


@pytest.mark.parametrize(
    ("ours", "theirs"),
    [("dsl.cutlass.cute", "cutlass.cute"), ("dsl.tirx", "tvm"), ("dsl.launch", "dsl.launch"), ("torch", "torch")],
)
def test_names_of_modules_are_those_that_programs_import(ours, theirs):
    assert text.public_name(ours) == theirs
