"""Lists and tuples looked up by an index known only at run time: `xs[i]` as a choice between all elements.

NVIDIA's compiler refuses them. The elements are of one type, and an index out of range fails as an `assert` does.
"""

from __future__ import annotations

from dsl.core import arith, tree
from dsl.core.dtypes import Boolean, Int32, Int64, Numeric, Uint32, Uint64, is_dynamic
from dsl.core.errors import DSLUserCodeTypeError, warn_not_portable
from dsl.core.failure import require
from dsl.core.source import index_text
from dsl.core.value import operate, select, type_name
from dsl.span import here


def item(items: object, index: object) -> object:
    """`items[index]`."""
    if is_dynamic(index) and type(items) in (list, _Row, tuple, dict, str):
        position = _position(items, index)
        return _chosen([operate("eq", position, k) for k in range(len(items))], [items[k] for k in range(len(items))])
    return items[index]


def items_of(items: object) -> object:
    """What stands for `items` on the left of an assignment `items[index] = ...`."""
    return _Items(items) if type(items) in (list, dict) else items


class _Items:
    """The list of an assignment `items[index] = value`."""

    __slots__ = ("items",)

    def __init__(self, items: list):
        self.items = items

    def __getitem__(self, index: object) -> object:
        return item(self.items, index)

    def __setitem__(self, index: object, value: object) -> None:
        if is_dynamic(index):
            _put(self.items, _position(self.items, index), value, True)
        else:
            self.items[index] = value


class _Row(list):
    """A list that a dynamic index has chosen out of `rows`: what is assigned to it goes to the one whose test is true."""

    def __init__(self, tests: list, rows: list):
        if len({len(row) for row in rows}) > 1:
            raise _differ(*next((a, b) for a, b in zip(rows[1:], rows) if len(a) != len(b)))
        super().__init__(_chosen(tests, [row[k] for row in rows]) for k in range(len(rows[0])))
        self.tests, self.rows = tests, rows

    def __getitem__(self, index: object) -> object:
        return item(self, index) if is_dynamic(index) else super().__getitem__(index)

    def __setitem__(self, index: object, value: object) -> None:
        if isinstance(index, slice):
            self._refuse()
        position = _position(self, index) if is_dynamic(index) else None
        for test, row in zip(self.tests, self.rows):
            if position is None:
                row[index] = _choice(test, value, row[index])
            else:
                _put(row, position, value, test)
        super().__init__(_chosen(self.tests, [row[k] for row in self.rows]) for k in range(len(self)))

    def _refuse(self, *_arguments, **_options):
        raise DSLUserCodeTypeError("changes the length or order of a list that a dynamic index has chosen",
                                   fix="change it while the index is static", id="PHASE_DYNAMIC_INDEX")

    append = extend = insert = remove = pop = clear = sort = reverse = _refuse
    __delitem__ = __iadd__ = __imul__ = _refuse


def _put(items: list, position: Numeric, value: object, where: object) -> None:
    """`items[position] = value` where `where` is true."""
    for k in range(len(items)):
        here = operate("eq", position, k)
        items[k] = _choice(here if where is True else operate("and", here, where), value, items[k])


def _position(items: list | tuple | dict | str, index: Numeric) -> Numeric:
    """`index` counted from the front. It is in range from here on."""
    if type(items) in (dict, str):
        what = "the key of a dict" if isinstance(items, dict) else "the index of a string"
        raise DSLUserCodeTypeError(f"{what} is needed while compiling, and this is a dynamic {type_name(index)}",
                                   fix="use a list of numbers, or an `if` for each case", id="PHASE_DYNAMIC_INDEX")
    if not index.is_integer:
        raise DSLUserCodeTypeError(f"an index is an integer, and this is a {type_name(index)}", id="PHASE_DYNAMIC_INDEX",
                                   fix="convert it: `Int32(x)`")
    if not items:
        raise DSLUserCodeTypeError(f"an empty {type(items).__name__} has no element to choose", id="PHASE_DYNAMIC_INDEX",
                                   fix="fill it first")
    kind = type(items).__name__.replace("_Row", "list")
    warn_not_portable(f"a {kind} is indexed by a dynamic {type_name(index)}", "PHASE_DYNAMIC_INDEX",
                      fix="use a fragment (`cute.make_rmem_tensor`), or a static index")
    signed, unsigned = (Int64, Uint64) if index.width == 64 else (Int32, Uint32)
    position, count = signed(index), len(items)
    if index.signed:
        position = operate("add", position, select(operate("lt", position, 0), signed(count), signed(0)))
    text = index_text(here())
    require(operate("lt", unsigned(position), unsigned(count)), IndexError,
            f"{kind} index{f' `{text}`' * bool(text)} out of range: it has {count} element{'s' * (count != 1)}")
    return position


def _chosen(tests: list, values: list) -> object:
    """The one of `values` whose test is true; one of them is."""
    if all(isinstance(value, list) for value in values):
        return _Row(tests, values)
    made = values[-1]
    for test, value in zip(reversed(tests[:-1]), reversed(values[:-1])):
        made = _choice(test, value, made)
    return made


def _choice(test: Numeric, if_true: object, if_false: object) -> object:
    """`if_true` where `test`, else `if_false`, leaf by leaf."""
    if if_true is if_false:
        return if_true
    (left, left_node), (right, right_node) = tree.flatten(if_true), tree.flatten(if_false)
    pairs = [_one_type(a, b) for a, b in zip(left, right)]
    if not _alike(left_node, right_node) or None in pairs:
        raise _differ(if_true, if_false)
    if _can_change(left_node):
        raise DSLUserCodeTypeError(f"a dynamic index chooses between values that can be changed later ({type_name(if_true)})",
                                   fix="keep numbers, tensors or tuples of them in the list", id="PHASE_DYNAMIC_INDEX")
    made = [a.with_ir(arith.select(Boolean(test).ir(), a.ir(), b.ir())) for a, b in pairs]
    return tree.unflatten(left_node, iter(made), if_true)


def _can_change(node: tree.Node) -> bool:
    """Whether a value holds a list, a dict or a dataclass, of which a choice would be a copy."""
    if node.kind == "dataclass" and not node.key[0].__dataclass_params__.frozen or node.kind in ("list", "dict"):
        return True
    return node.kind in ("tuple", "dataclass") and any(map(_can_change, node.children))


def _one_type(a, b) -> tuple | None:
    """Two leaves in one type; a Python integer takes the other's integer type. None where there is none."""
    if a.type_key() == b.type_key():
        return a, b
    for literal, other in ((a, b), (b, a)):
        if type(literal) in (Int32, Int64) and not is_dynamic(literal) and getattr(other, "is_integer", False) \
                and type(other) is not Boolean:
            made = type(other)(literal)
            return (made, b) if literal is a else (a, made)
    return None


def _alike(a: tree.Node, b: tree.Node) -> bool:
    if a.kind != b.kind or len(a.children) != len(b.children):
        return False
    if a.kind == "static" and a.key is not b.key and not (type(a.key) is type(b.key) and a.key == b.key):
        return False
    if a.kind not in ("leaf", "static") and a.key != b.key:
        return False
    return all(map(_alike, a.children, b.children))


def _differ(a: object, b: object) -> DSLUserCodeTypeError:
    return DSLUserCodeTypeError(f"the elements a dynamic index chooses from are of one type, and these are {type_name(b)} "
                                f"and {type_name(a)}", fix="convert them to one type, or use an `if` for each",
                                id="PHASE_DYNAMIC_INDEX")
