"""Lists and tuples looked up by an index known only at run time: `xs[i]` as a choice between all elements.

NVIDIA's compiler refuses them. The elements are of one type, and an index out of range fails as an `assert` does.
A list, dict or object that is chosen stays what it is: it is read and written where it is (objects: dynamic_element).
"""

from __future__ import annotations

from typing import Any, NoReturn

from dsl import span
from dsl.core import pytree
from dsl.core.control_flow.assertions import require
from dsl.core.control_flow.objects.dynamic_element import Chosen, is_choosable, one_of
from dsl.core.errors import DSLUserCodeTypeError, warn_not_portable
from dsl.core.ir import arithmetic
from dsl.core.number.dtypes import Boolean, Int32, Int64, Numeric, Uint32, Uint64, is_dynamic, literal_as, numeric
from dsl.core.number.operators import operate, select, type_name
from dsl.core.phrase import Phrase, cast, dynamic

span.stands_for_python(__file__, operators=True)


def item(items: Any, index: Any) -> Any:
    """`items[index]`. A traced value is found in a dict as the object that it is, as in NVIDIA's compiler."""
    if is_dynamic(index) and not _is_key(index, items) and type(items) in (list, _Row, _Table, tuple, dict, str):
        position = _position(items, index)
        return _chosen([operate("eq", position, k) for k in range(len(items))], [items[k] for k in range(len(items))])
    return items[index]


def _is_key(index: object, items: object) -> bool:
    """Whether a dict has the very object `index` as a key."""
    return isinstance(items, dict) and any(key is index for key in items)


def items_of(items: Any) -> Any:
    """The object in place of `items` on the left of an assignment `items[index] = ...`."""
    return _Items(items) if type(items) in (list, dict) else items


class _Items:
    """The list of an assignment `items[index] = value`."""

    __slots__ = ("items",)

    def __init__(self, items: list | dict):
        self.items = items

    def __getitem__(self, index: Any) -> Any:
        return item(self.items, index)

    def __iter__(self):
        return iter(self.items)

    def __setitem__(self, index: Any, value: object) -> None:
        if is_dynamic(index) and not _is_key(index, self.items):
            position = _position(self.items, index)
            assert isinstance(self.items, list)
            _put(self.items, position, value, True)
        else:
            self.items[index] = value


class _Choice(Chosen):
    """The choice of a dynamic index out of `rows`: read where it is used, and written to the row whose test is true.

    The walk over the author's objects (mutable_state) goes through it to `rows`.
    """

    rows: list
    structure: str  # what must not change: "keys of a dict"

    def __reached__(self) -> list:
        return self.rows

    def _refuse(self, *_arguments, **_options) -> NoReturn:
        raise DSLUserCodeTypeError(
            f"changes the {self.structure} that a dynamic index has chosen",
            fix="change it while the index is static",
            id="PHASE_DYNAMIC_INDEX",
        )

    pop = clear = __delitem__ = __ior__ = __iadd__ = __imul__ = _refuse


class _Row(_Choice, list):
    """A list that a dynamic index has chosen out of `rows`, lists of one length."""

    structure = "length or order of a list"

    def __init__(self, tests: list, rows: list):
        if len({len(row) for row in rows}) > 1:
            raise _differ(*next((a, b) for a, b in zip(rows[1:], rows) if len(a) != len(b)))
        super().__init__([None] * len(rows[0]))
        self.tests, self.rows = tests, rows

    def __getitem__(self, index: Any) -> Any:
        if is_dynamic(index):
            return item(self, index)
        if isinstance(index, slice):
            return [self[k] for k in range(*index.indices(len(self)))]
        return _chosen(self.tests, [row[index] for row in self.rows])

    def __setitem__(self, index: Any, value: object) -> None:
        if isinstance(index, slice):
            self._refuse()
        position = _position(self, index) if is_dynamic(index) else None
        for test, row in zip(self.tests, self.rows):
            if position is None:
                row[index] = _choice(test, value, row[index])
            else:
                _put(row, position, value, test)

    def __iter__(self):
        return (self[k] for k in range(len(self)))

    def __reversed__(self):
        return (self[k] for k in reversed(range(len(self))))

    def __add__(self, other: list) -> list:
        return [*self, *other]

    def __radd__(self, other: list) -> list:
        return [*other, *self]

    def __mul__(self, times: int) -> list:
        return [*self] * times

    def __rmul__(self, times: int) -> list:
        return [*self] * times

    def __eq__(self, other: object):
        return [*self] == other

    def __contains__(self, value: object) -> bool:
        return value in [*self]

    def __repr__(self) -> str:
        return repr([*self])

    __hash__ = None

    def copy(self) -> list:
        return [*self]

    def index(self, *arguments) -> int:
        return [*self].index(*arguments)

    def count(self, value: object) -> int:
        return [*self].count(value)


for _name in ("append", "extend", "insert", "remove", "sort", "reverse"):
    setattr(_Row, _name, _Choice._refuse)


class _Table(_Choice, dict):
    """A dict that a dynamic index has chosen out of `rows`, dicts of the same keys."""

    structure = "keys of a dict"

    def __init__(self, tests: list, rows: list):
        if any(row.keys() != rows[0].keys() for row in rows):
            raise _differ(*next((row, rows[0]) for row in rows if row.keys() != rows[0].keys()))
        super().__init__(dict.fromkeys(rows[0]))
        self.tests, self.rows = tests, rows

    def __getitem__(self, key: object) -> object:
        return _chosen(self.tests, [row[key] for row in self.rows])

    def __setitem__(self, key: object, value: object) -> None:
        if key not in self:
            self._refuse()
        for test, row in zip(self.tests, self.rows):
            row[key] = _choice(test, value, row[key])

    def get(self, key: object, default: object = None) -> object:
        return self[key] if key in self else default  # noqa: SIM401 - this is `get`

    def setdefault(self, key: object, default: object = None) -> object:
        return self[key] if key in self else self._refuse()

    def update(self, *others, **more) -> None:
        for key, value in dict(*others, **more).items():
            self[key] = value

    def values(self) -> list:
        return [self[key] for key in self]

    def items(self) -> list:
        return [(key, self[key]) for key in self]

    def copy(self) -> dict:
        return dict(self.items())

    def __or__(self, other: dict) -> dict:
        return self.copy() | other

    def __ror__(self, other: dict) -> dict:
        return other | self.copy()

    def __eq__(self, other: object):
        return self.copy() == other

    def __repr__(self) -> str:
        return repr(self.copy())

    __hash__ = None


_Table.popitem = _Choice._refuse


def _put(items: list, position: Numeric, value: object, where: object) -> None:
    """`items[position] = value` where `where` is true."""
    for k in range(len(items)):
        here = operate("eq", position, k)
        items[k] = _choice(here if where is True else operate("and", here, where), value, items[k])


def _position(items: list | tuple | dict | str, index: Numeric) -> Numeric:
    """`index` counted from the front. It is in range from here on."""
    if type(items) in (dict, _Table, str):
        what = "the key of a dict" if isinstance(items, dict) else "the index of a string"
        raise DSLUserCodeTypeError(
            Phrase("{what} must be known while compiling, got {index}", what=what, index=dynamic(type_name(index))),
            fix="use a list of numbers, or an `if` for each case",
            id="PHASE_DYNAMIC_INDEX",
        )
    if not index.is_integer:
        raise DSLUserCodeTypeError(
            Phrase("index must be an integer, got {type}", type=type_name(index)),
            id="PHASE_DYNAMIC_INDEX",
            fix=Phrase("convert it: {cast}", cast=cast(Int32)),
        )
    if not items:
        raise DSLUserCodeTypeError(
            f"an empty {type(items).__name__} has no element to choose", id="PHASE_DYNAMIC_INDEX", fix="fill it first"
        )
    kind = type(items).__name__.replace("_Row", "list")
    warn_not_portable(
        f"a {kind} is indexed by a dynamic {type_name(index)}",
        "PHASE_DYNAMIC_INDEX",
        fix="use a fragment (`cute.make_rmem_tensor`), or a static index",
    )
    signed, unsigned = (Int64, Uint64) if index.width == 64 else (Int32, Uint32)
    position, count = signed(index), len(items)
    if index.signed:
        position = operate("add", position, select(operate("lt", position, 0), signed(count), signed(0)))
    require(
        operate("lt", unsigned(position), unsigned(count)),
        IndexError,
        f"{kind} index {{}} is out of range for {count} element{'s' * (count != 1)}",
        index,
    )
    return position


def _chosen(tests: list, values: list) -> object:
    """The one of `values` whose test is true; one of them is."""
    if all(value is values[0] for value in values):
        return values[0]
    wanted = next((type(value) for value in values if isinstance(value, Numeric) and value.is_integer), None)
    values = [
        value if type(value) is not int or (literal := literal_as(numeric(value), wanted)) is None else literal
        for value in values
    ]
    for kind, chosen in ((list, _Row), (dict, _Table)):
        if all(isinstance(value, kind) for value in values):
            return chosen(tests, values)
    if is_choosable(values):
        return one_of(tests, values, _chosen, _choice)
    result = values[-1]
    for test, value in zip(reversed(tests[:-1]), reversed(values[:-1])):
        result = _choice(test, value, result)
    return result


def _choice(test: Numeric, if_true: object, if_false: object) -> object:
    """`if_true` where `test`, else `if_false`, leaf by leaf."""
    if if_true is if_false:
        return if_true
    if is_choosable([if_true, if_false]):
        raise DSLUserCodeTypeError(
            Phrase("puts another {type} at an index that is known only at run time", type=type_name(if_true)),
            fix="assign to the attributes of the one that is there",
            id="PHASE_DYNAMIC_INDEX",
        )
    (left, left_node), (right, right_node) = pytree.flatten(if_true), pytree.flatten(if_false)
    pairs = [pair for a, b in zip(left, right) if (pair := _one_type(a, b)) is not None]
    if not _alike(left_node, right_node) or len(pairs) < len(left):
        raise _differ(if_true, if_false)
    if _can_change(left_node):
        raise DSLUserCodeTypeError(
            Phrase(
                "{index} chooses between values that can be changed later ({type})",
                index=dynamic("index"),
                type=type_name(if_true),
            ),
            fix="keep numbers, tensors or tuples of them in the list",
            id="PHASE_DYNAMIC_INDEX",
        )
    leaves = [a.with_ir(arithmetic.select(Boolean(test).ir(), a.ir(), b.ir())) for a, b in pairs]
    return pytree.unflatten(left_node, iter(leaves), if_true)


def _can_change(node: pytree.Node) -> bool:
    """Whether a value holds a list, a dict or a dataclass, of which a choice would be a copy."""
    if (node.kind == "dataclass" and not node.key[0].__dataclass_params__.frozen) or node.kind in ("list", "dict"):
        return True
    return node.kind in ("tuple", "dataclass") and any(map(_can_change, node.children))


def _one_type(a, b) -> tuple | None:
    """Two leaves in one type; a Python integer takes the other's integer type. None where there is none."""
    if a.type_key() == b.type_key():
        return a, b
    if (converted := literal_as(a, b.type_key())) is not None:
        return converted, b
    return None if (converted := literal_as(b, a.type_key())) is None else (a, converted)


def _alike(a: pytree.Node, b: pytree.Node) -> bool:
    if a.kind != b.kind or len(a.children) != len(b.children):
        return False
    if a.kind == "static" and a.key is not b.key and not (type(a.key) is type(b.key) and a.key == b.key):
        return False
    if a.kind not in ("leaf", "static") and a.key != b.key:
        return False
    return all(map(_alike, a.children, b.children))


def _differ(a: object, b: object) -> DSLUserCodeTypeError:
    return DSLUserCodeTypeError(
        Phrase(
            "{index} needs elements of one type, got {a} and {b}",
            index=dynamic("index"),
            a=type_name(b),
            b=type_name(a),
        ),
        fix="convert them to one type, or use an `if` for each",
        id="PHASE_DYNAMIC_INDEX",
    )
