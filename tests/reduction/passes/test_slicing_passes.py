"""The statements that go with a statement: all that compute values for it alone."""

import pytest

from dsl.reduction.passes.passes import named
from dsl.reduction.passes.slicing_passes import checks, optional_arguments
from dsl.reduction.program import Program

KERNEL = """\
def kernel(x, y, z):
    t = thread()
    a = part(x, t)
    b = part(y, t)
    c = part(z, t)
    copy(a, b)
    for i in range(4):
        c[i] = a[i]
    d = e = size(c)
"""


def test_a_copy_goes_with_what_is_computed_for_it_alone():
    assert after("effects", "drop `copy(a, b)`, with what is computed for it") == KERNEL.replace(
        "    b = part(y, t)\n", ""
    ).replace("    copy(a, b)\n", "")


def test_a_value_that_nothing_reads_goes():
    assert after("unread", "drop `d = e = size(c)`, which nothing reads") == KERNEL.replace("    d = e = size(c)\n", "")


def test_a_chain_of_values_goes_at_once():
    program = Program("def f(x):\n    a = x\n    b = a\n    self.c = b\n    return x\n")
    (edit,) = named("unread")[1].edits(program)
    assert program.apply([edit]) == "def f(x):\n    return x\n"


@pytest.mark.parametrize("text", ["class C:\n    x: int = 3\n", "a = 1\nf(a)\n", "x.y = 1\n", "a[0] = 1\n"])
def test_a_field_and_values_that_others_may_read_are_not_unread(text):
    assert [*named("unread")[1].edits(Program(text))] == []


def after(name, about):
    program = Program(KERNEL)
    (edit,) = (edit for edit in named(name)[1].edits(program) if edit.about == about)
    return program.apply([edit])


def test_an_optional_argument_goes_with_what_is_computed_for_it():
    source = "a = f()\np = g(a)\nq = h(p)\ncopy(a, pred=q)\n"
    program = Program(source)
    assert [program.apply([edit]) for edit in optional_arguments(program)] == ["a = f()\ncopy(a, )\n"]


def test_checks_go_first():
    program = Program("x = f()\nassert x > 1\nr = ref()\ntorch.testing.assert_close(x, r)\nkernel(x)\n")
    assert program.apply([*checks(program)]) == "x = f()\nkernel(x)\n"


def test_a_check_goes_alone_if_what_it_reads_is_what_fails():
    program = Program("x = kernel()\ncheck(x)\n")
    assert [program.apply([edit]) for edit in checks(program)] == ["", "x = kernel()\n"]
