"""Methods that nothing mentions."""

import pytest

from harness.capture.author import methods, text

MODEL = """
class Model:
    def __call__(self):
        return self.used()
    def used(self):
        return 1
    # about unused
    def unused(self):
        return other
    def named(self):
        return 3
"""


def test_methods_that_nothing_mentions_are_left_out_with_their_comments(module):
    statement = text.read(module(MODEL)).bindings["Model"]
    methods.drop_unused([statement], [statement.node], {"named"})
    assert "unused" not in statement.text() and "def used" in statement.text() and "def named" in statement.text()
    assert "other" not in statement.loads()


@pytest.mark.parametrize("more", ["def f(m, n): return getattr(m, n)", "class A(Model.Other): pass"])
def test_all_methods_stay_if_they_may_be_reached_otherwise(module, more):
    read = text.read(module(MODEL.replace("class Model:", "class Model:\n    class Other: pass") + more))
    statement = read.bindings["Model"]
    methods.drop_unused(read.statements, [each.node for each in read.statements], set())
    assert "def unused" in statement.text()
