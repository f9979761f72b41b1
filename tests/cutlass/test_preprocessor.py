"""The visitor of decorated functions' texts, to which libraries add methods."""

import ast

import dsl.cutlass as cutlass
from dsl.cutlass import cute
from dsl.cutlass.base_dsl import ast_preprocessor


def test_a_librarys_method_sees_the_statement_first(monkeypatch):
    def visit_If(self, node):
        node.test = ast.copy_location(ast.Constant(False), node.test)
        return self.generic_visit(node)

    @cute.jit
    def before(n: cutlass.Int32):
        x = n
        if n > 0:
            x = n + 1
        return x

    @cute.jit
    def after(n: cutlass.Int32):
        x = n
        if n > 0:
            x = n + 1
        return x

    assert before(1) == 2
    monkeypatch.setattr(ast_preprocessor.DSLPreprocessor, "visit_If", visit_If)
    assert after(1) == 1
