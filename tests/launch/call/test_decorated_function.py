"""A decorated function: its annotations, its method binding, and the text of a call that does not fit."""

import pytest

from dsl.core.errors import DSLUserCodeTypeError
from dsl.cutlass import Constexpr, Int32, cute


@cute.jit
def scaled(a: Int32, factor: "Constexpr" = 2, *, unknown: "no_such_name" = None):
    return a * factor


def test_annotations_are_objects_and_one_that_cannot_be_evaluated_is_none():
    assert scaled.annotations == {"a": Int32, "factor": Constexpr, "unknown": None}
    assert [name for name in scaled.annotations if scaled.is_static(name)] == ["factor"]


def test_annotations_see_the_names_around_the_function():
    Number = Int32

    @cute.jit
    def local(a: "Number"):
        return a + Number(0)

    assert local.annotations == {"a": Int32}


def test_the_prefix_is_part_of_the_symbol():
    @cute.jit
    def named():
        pass

    assert named.symbol == "named"
    named.set_name_prefix("mine")
    assert named.symbol == "mine_named" and named.__name__ == "named"


class Owner:
    factor = 3

    @cute.jit
    def times(self, n: Int32):
        return n * self.factor


def test_a_method_brings_its_instance():
    assert Owner().times(5) == 15 and Owner.times(Owner(), 6) == 18
    assert Owner().times.__reached__()[0].factor == 3


@pytest.mark.parametrize(
    "args, keywords, message, id",
    [
        ((), {}, "`scaled` lacks argument 'a'", "CALL_MISSING_ARG"),
        ((1,), {"factr": 3}, "`scaled` has no parameter `factr`", "CALL_UNEXPECTED_KWARG"),
        ((1, 2, 3), {}, "`scaled` takes 2 arguments without a name, got 3", "CALL_EXTRA_ARG"),
        ((1, 2, 3, 4), {}, "`scaled` takes 2 arguments without a name, got 4", "CALL_EXTRA_ARG"),
    ],
)
def test_a_call_that_does_not_fit(args, keywords, message, id):
    with pytest.raises(DSLUserCodeTypeError) as error:
        scaled(*args, **keywords)
    assert (error.value.message, error.value.id) == (message, id)
    assert error.value.fix == "call it as `scaled(a, factor=2, unknown=None)`"
