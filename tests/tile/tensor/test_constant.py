"""Constants are trees without leaves; views of one thread have that thread as their leaf."""

import dataclasses

from dsl.core.number.dtypes import Int32
from dsl.core.pytree import flatten, unflatten
from dsl.tile.tensor.constant import Constant, OneThread


@dataclasses.dataclass(frozen=True)
class Atom(Constant):
    width: int


@dataclasses.dataclass(frozen=True)
class View(OneThread):
    atom: Atom
    thr_idx: object


def test_a_constant_is_carried_as_it_is():
    atom = Atom(128)
    leaves, node = flatten(atom)
    assert leaves == [] and unflatten(node, iter([]), atom) is atom and atom.type_text == "Atom"
    assert node == flatten(Atom(128))[1] != flatten(Atom(64))[1]


def test_a_view_carries_its_thread():
    leaves, node = flatten(View(Atom(128), Int32(5)))
    assert [leaf.value for leaf in leaves] == [5]
    rebuilt = unflatten(node, iter([Int32(7)]))
    assert type(rebuilt) is View and rebuilt.atom == Atom(128) and rebuilt.thr_idx.value == 7
