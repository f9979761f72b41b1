"""The statements that ran, of one file and of every thread."""

import ast

import numpy as np
import pytest

from harness.run import executed

SOURCE = '''\
"""It has a docstring."""
from __future__ import annotations
import threading
def one():
    """And so has this."""
    return 1
def other():
    return 2
thread = threading.Thread(target=one)
thread.start()
thread.join()
if (
    thread.is_alive()
):
    one()
elif thread:
    kept = [number
            for number in range(3)]
else:
    other()
try:
    kept[5]
except IndexError:
    failed = True
class Shape:
    rows: unknown = 2
'''
RAN = {3, 4, 6, 7, 9, 10, 11, 12, 16, 17, 21, 22, 24, 25, 26}


def test_statements_of_the_file_alone_and_of_its_threads():
    with executed.record("<program>") as lines:
        exec(compile(SOURCE, "<program>", "exec", dont_inherit=True), names := {})
        exec(compile("def f():\n    return 3\nf()", "<another>", "exec"), {})
        np.ones(3)
    assert lines == RAN
    assert names["__doc__"] == "It has a docstring." and names["one"].__doc__ == "And so has this."


def test_a_tree_that_a_compiler_made_of_a_function_keeps_its_lines():
    with executed.record("<program>") as lines:
        tree = compile(SOURCE, "<program>", "exec", ast.PyCF_ONLY_AST, dont_inherit=True)
        tree.body = [tree.body[1], tree.body[3]]
        exec(compile(tree, "<program>", "exec", dont_inherit=True), names := {})
    assert lines == {4} and len(tree.body) == 2  # the caller's tree is as it was
    names["one"]()
    assert lines == {4, 6}


def test_a_caller_gives_its_future_as_before():
    asked = "def f(x: unknown): pass\n"
    caller = "from __future__ import annotations\nexec(compile(asked, '<program>', 'exec'), {})"
    with executed.record("<program>") as lines:
        exec(caller, {"asked": asked})
        assert lines == {1}
        with pytest.raises(NameError):
            exec(compile(asked, "<program>", "exec"), {})
