"""Values as trees: what goes apart comes together again, with other leaves in the same places."""

import collections
import dataclasses

from dsl.core.number.dtypes import Boolean, Float32, Int32
from dsl.core.pytree import flatten, unflatten

Point = collections.namedtuple("Point", "x y")


@dataclasses.dataclass
class Pair:
    first: object
    second: object


@dataclasses.dataclass(frozen=True)
class Frozen:
    value: object


class Opened:
    def __init__(self, parts, note):
        self.parts, self.note = parts, note

    def __flatten__(self):
        return tuple(self.parts), self.note

    @classmethod
    def __unflatten__(cls, key, children):
        return cls(children, key)


VALUE = {"a": (1, [2.5, True]), "b": Point(Int32(3), "text"), "c": Pair(None, Frozen(4))}


def test_leaves_come_from_left_to_right_with_their_types():
    leaves, _ = flatten(VALUE)
    assert [(type(leaf), leaf.value) for leaf in leaves] == [
        (Int32, 1), (Float32, 2.5), (Boolean, True), (Int32, 3), (Int32, 4),
    ]  # fmt: skip
    assert [leaf.value for leaf in flatten(VALUE, promote=False)[0]] == [3]


def test_a_tree_is_rebuilt_of_other_leaves():
    leaves, node = flatten(VALUE)
    rebuilt = unflatten(node, iter(["p", "q", "r", "s", "t"]), VALUE)
    assert rebuilt == {"a": ("p", ["q", "r"]), "b": Point("s", "text"), "c": Pair(None, Frozen("t"))}
    assert rebuilt["c"] is not VALUE["c"] and type(rebuilt["b"]) is Point


def test_an_object_that_opens_itself_keeps_parts_that_are_not_leaves():
    value = Opened([1, 2], "note")
    leaves, node = flatten(value)
    rebuilt = unflatten(node, iter(leaves[::-1]), value)
    assert [leaf.value for leaf in rebuilt.parts] == [2, 1] and rebuilt.note == "note"


def test_structures_are_equal_where_types_and_static_parts_are():
    assert flatten((1, "x"))[1] == flatten((2, "x"))[1] != flatten((1, "y"))[1]
    assert flatten((1,))[1] != flatten([1])[1] and flatten((1,))[1] != flatten((1.0,))[1]
    assert flatten({"a": 1})[1] != flatten({"b": 1})[1]
