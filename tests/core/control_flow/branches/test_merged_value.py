"""Values taken apart and put together: structures that fit, and objects built again with other leaves."""

import collections
import dataclasses

import pytest

from dsl.core import trace
from dsl.core.control_flow.branches.merged_value import Copied, Leaf, Maybe, Same, Tree, leaf_of, opened, paired
from dsl.core.errors import DSLUserCodeTypeError
from dsl.core.number.dtypes import Boolean, Float32, Int32
from dsl.core.unbound import Partial
from dsl.span import Span

Point = collections.namedtuple("Point", "x y")


class Plain:
    def __init__(self, **slots):
        vars(self).update(slots)


@dataclasses.dataclass
class Data:
    x: object


class Typed:
    """A leaf that keeps what it is given."""

    def with_ir(self, value):
        return ("leaf", value)


def test_python_numbers_are_leaves_of_the_types_that_they_take():
    assert [type(leaf_of(value)) for value in (True, 3, 2.5, Int32(1))] == [Boolean, Int32, Float32, Int32]
    assert leaf_of("text") is None and leaf_of([1]) is None


@pytest.mark.parametrize(
    "value, kind, slots, held, names",
    [
        ([5, 6], "list", [0, 1], [5, 6], ["v[0]", "v[1]"]),
        ((5,), "tuple", [0], [5], ["v[0]"]),
        (Point(1, 2), "tuple", [0, 1], [1, 2], ["v[0]", "v[1]"]),
        ({"a": 1}, "dict", ["a"], [1], ["v['a']"]),
        (Plain(x=3), "object", ["x"], [3], ["v.x"]),
        (Data(4), "object", ["x"], [4], ["v.x"]),
    ],
)
def test_one_level_of_a_value(value, kind, slots, held, names):
    level = opened(value)
    assert (level.kind, level.slots, level.held) == (kind, slots, held)
    assert [level.name("v", position) for position in range(len(slots))] == names


def test_structures_that_fit_are_paired_slot_by_slot():
    assert paired(opened({"a": 1, "b": 2}), opened({"b": 3, "a": 4})) == [(1, 4), (2, 3)]
    assert paired(opened([1, 2]), opened([3])) is None and paired(opened([1]), opened((1,))) is None
    assert paired(opened(Plain(x=1)), opened(Plain(y=1))) is None and paired(opened(5), opened(5)) is None


def build(part, values=("p", "q")):
    return part.build(values, {})


def tree(value, *parts) -> Tree:
    return Tree(opened(value), value, "", list(parts))


@pytest.mark.parametrize(
    "value", [[1, 2], (1, 2), Point(1, 2), {"a": 1, "b": 2}, collections.deque([1, 2], 5)], ids=str
)
def test_an_object_is_built_again_with_other_leaves(value):
    made = build(tree(value, Leaf(1, Typed()), Same("kept")))
    held = list(made.values()) if isinstance(made, dict) else list(made)
    assert type(made) is type(value) and made is not value and held == [("leaf", "q"), "kept"]
    assert getattr(made, "maxlen", None) == getattr(value, "maxlen", None)


def test_an_object_that_is_held_twice_stays_one():
    inner = tree([1], Leaf(0, Typed()))
    made = build(tree((1, 2), inner, inner))
    assert made[0] is made[1] == [("leaf", "p")]


def test_a_value_that_some_paths_lack():
    missing = ((Span("k.py", 1), "not here"),)
    made = build(Maybe(Leaf(0, Typed()), "x", missing))
    assert isinstance(made, Partial) and made.value == ("leaf", "p") and made.take(proven=True) == ("leaf", "p")


def test_an_object_that_stands_for_several_may_only_be_read():
    value = Plain(x=1)
    copied = Copied(value, "state", {"x": 1}, Span("k.py", 9, 5))
    copied.simplify()
    value.x = 2
    with pytest.raises(DSLUserCodeTypeError) as error:
        copied.simplify()
    assert error.value.message == (
        "`state` is a different object on each path, but `state.x` is assigned after that: which object changes is "
        "known only at run time"
    )
    assert error.value.place.line == 9 and not trace.active()
