"""The expressions of generated programs: every operator over every pair of types, with defined values.

An operator's two sides are never both possibly static, and no float product is an operand of a sum: see programs.py.
"""

from __future__ import annotations

from dataclasses import dataclass

from hypothesis import strategies as st
from reference import FLOATS, INTEGERS, TYPES, table

LITERALS = {"int": ["1", "2", "3", "0", "5", "-1", "7", "100", "-13"], "float": ["0.5", "2.5", "-1.25", "3.0"]}
COMPARISONS = {"==": "eq", "<": "lt", ">=": "ge", "!=": "ne", ">": "gt", "<=": "le"}
SUMS = {"+": "add", "-": "sub"}
BITS = {"&": "and", "^": "xor", "|": "or"}
DIVISIONS = {"//": "floordiv", "%": "mod"}
SHIFTS = {"<<": "lshift", ">>": "rshift"}


@dataclass(frozen=True)
class Value:
    """An expression: its type (int and float are Python types), and whether it is surely dynamic."""

    text: str
    type: str
    dynamic: bool = True


@dataclass(frozen=True)
class Variable:
    """A name in scope. `kind`: scalar, list, tuple, nest (a tuple in one), dict, object, data,
    or index (a Python integer)."""

    kind: str
    type: str = ""
    fields: tuple = ()
    static: bool = False  # may hold a static value: never the only dynamic side of an operator;
    # of a list: a loop is over it, so that no other takes its name
    fixed: bool = False  # counters: never assigned
    methods: tuple = ()


@dataclass(frozen=True)
class Helper:
    name: str
    parameters: tuple
    type: str


_UP_TO = [st.integers(0, n) for n in range(64)]


class Expressions:
    """The expressions of one program while it is drawn, over the variables in `scope`."""

    def __init__(self, draw, portable: bool = False):
        self.portable = portable  # only what NVIDIA's compiler accepts
        self.draw, self.scope, self.helpers, self.classes = draw, {}, [], []
        self.counters, self.budget, self.loops, self.stores = 0, 30, 0, 0
        self.types: dict[str, str] = {}  # the type of each name that was ever new
        self.by_value = self.called = False  # in an undecorated function; in any but the program itself

    # ** drawing

    def number(self, most: int) -> int:
        return self.draw(_UP_TO[most])

    def pick(self, items):
        items = list(items)
        return items[self.number(len(items) - 1)]

    def chance(self, percent: int) -> bool:
        """Shrinks to False."""
        return self.number(9) >= 10 - percent // 10

    def type(self) -> str:
        """Int32 more often than the others."""
        return self.pick(["Int32", "Int32", "Int32", "Boolean", *TYPES[1:]])

    # ** expressions

    def scalars(self, dynamic: bool = True) -> list[Value]:
        """Values that can be read: variables and their parts."""
        found = []
        for name, it in self.scope.items():
            if it.kind == "scalar":
                if not (dynamic and it.static):
                    found.append(Value(name, it.type, not it.static))
            elif it.kind == "index":
                if not dynamic:
                    found.append(Value(name, "int", False))
            elif it.kind == "list":
                found.append(Value(f"{name}[{self.pick(range(len(it.fields)))}]", it.type))
            elif it.kind == "tuple":
                found += [Value(f"{name}[{k}]", type_) for k, type_ in enumerate(it.fields)]
            elif it.kind == "nest":
                found += [
                    Value(f"{name}{place}", type_) for place, type_ in zip(("[0][0]", "[0][1]", "[1]"), it.fields)
                ]
            elif it.kind == "dict":
                found += [Value(f'{name}["{key}"]', type_) for key, type_ in it.fields]
            else:
                found += [Value(f"{name}.{key}", type_) for key, type_ in it.fields]
        return found

    def atom(self) -> Value:
        lists = [(name, it) for name, it in self.scope.items() if it.kind == "list"]
        if lists and not self.portable and self.chance(10):
            name, it = self.pick(lists)
            return Value(f"{name}[{self.position(len(it.fields))}]", it.type)
        return self.pick(self.scalars())

    def position(self, length: int) -> str:
        """A dynamic index in range; for a length of 3 it may count from the end."""
        index = self.of("Int32", 1)
        return f"({index}) & {length - 1}" if length in (2, 4) else f"({index}) % {length}"

    def other(self, depth: int) -> Value:
        """A second operand: any value, or a literal."""
        choice = self.number(5)
        if choice <= 1:
            return Value(self.pick(LITERALS["int"]), "int", False)
        if choice == 2 and self.chance(50):
            return Value(self.pick(LITERALS["float"]), "float", False)
        if choice == 3:
            return self.pick(self.scalars(dynamic=False))
        return self.value(depth - 1)

    def typed(self, name: str, a: Value, b: Value) -> str:
        return table().get((name, a.type, b.type), "!")

    def value(self, depth: int) -> Value:
        """A dynamic value of any type."""
        if depth <= 0:
            return self.atom()
        a = self.value(depth - 1) if self.chance(40) else self.atom()
        form = self.pick(
            [
                "atom",
                "sum",
                "sum",
                "compare",
                "bits",
                "product",
                "division",
                "choice",
                "extreme",
                "shift",
                "logic",
                "unary",
                "convert",
                "call",
                "power",
                "quotient",
                "chain",
            ]
        )
        made = getattr(self, "_" + form)(a, depth)
        return made or a

    def _atom(self, a, depth):
        return a

    def _binary(self, a: Value, b: Value, sign: str, name: str) -> Value | None:
        divides = name in ("floordiv", "mod", "lshift", "rshift")
        if self.chance(20) and not b.dynamic and name != "pow" and not (divides and self.portable):
            a, b = b, a
        type_ = self.typed(name, a, b)
        return None if type_ == "!" else Value(f"({a.text} {sign} {b.text})", type_)

    def _sum(self, a, depth):
        sign = self.pick(SUMS)
        return self._binary(a, self.other(depth), sign, SUMS[sign])

    def _bits(self, a, depth):
        sign = self.pick(BITS)
        return self._binary(a, self.other(depth), sign, BITS[sign])

    def _product(self, a, depth):
        made = self._binary(a, self.other(depth), "*", "mul")
        if made and made.type in FLOATS:  # nothing adds to the product of two floats
            return Value(f"cutlass.min({made.text}, {a.text})", made.type)
        return made

    def defined(self) -> Value | None:
        """A second operand for which NVIDIA's compiler leaves nothing undefined on a host, where that is asked for."""
        return Value(self.pick(["2", "3", "5", "7"]), "int", False) if self.portable else None

    def _division(self, a, depth):
        sign, b = self.pick(DIVISIONS), self.defined() or self.other(depth)
        if self.typed("add", a, b) == "Boolean":
            return None
        return self._binary(a, b, sign, DIVISIONS[sign])

    def _quotient(self, a, depth):
        b = self.pick(["2", "3", "0.5", "-7"])
        return self._binary(a, Value(b, "float" if "." in b else "int"), "/", "truediv") if a.type in INTEGERS else None

    def _shift(self, a, depth):
        sign = self.pick(SHIFTS)
        b = self.defined() or self.other(depth)
        return None if "Boolean" in (a.type, b.type) else self._binary(a, b, sign, SHIFTS[sign])

    def _power(self, a, depth):
        b = self.defined() or (
            self.atom() if self.chance(50) else Value(self.pick(["2", "3", "0", "1", "5"]), "int", False)
        )
        if a.type not in INTEGERS or b.type not in (*INTEGERS, "int"):
            return None
        return self._binary(a, b, "**", "pow")

    def _compare(self, a, depth):
        b, sign = self.other(depth), self.pick(COMPARISONS)
        return self._binary(a, b, sign, COMPARISONS[sign])

    def _chain(self, a, depth):
        b, c = self.atom(), self.other(depth)
        signs = self.pick(["<", "<="]), self.pick(["<", "<=", "!="])
        if "!" in (self.typed("lt", a, b), self.typed("lt", b, c)):
            return None
        return Value(f"({a.text} {signs[0]} {b.text} {signs[1]} {c.text})", "Boolean")

    def _extreme(self, a, depth):
        b, name = self.other(depth), self.pick(["min", "max"])
        type_ = self.typed(name, a, b)
        spelled = self.pick([name, f"cutlass.{name}"])
        return None if type_ == "!" else Value(f"{spelled}({a.text}, {b.text})", type_)

    def _choice(self, a, depth):
        b = self.value(depth - 1)
        type_ = a.type if a.type == b.type else "!" if self.portable else self.typed("add", a, b)
        if type_ == "!":
            return None
        test = self.condition(depth - 1, dynamic=a.type != b.type)  # a static one chooses, and converts nothing
        return Value(f"({a.text} if {test} else {b.text})", type_)

    def _logic(self, a, depth):
        b, word = self.value(depth - 1), self.pick(["and", "or"])
        type_ = a.type if a.type == b.type else self.typed("add", a, b)
        return None if type_ == "!" else Value(f"({a.text} {word} {b.text})", type_)

    def _unary(self, a, depth):
        if a.type == "Boolean":
            return Value(f"({self.pick(['not ', '~'])}{a.text})", "Boolean")
        return (
            Value(f"abs({a.text})", a.type)
            if self.chance(30)
            else Value(f"({self.pick(['-', '~'] if a.type in INTEGERS else ['-'])}{a.text})", a.type)
        )

    def _convert(self, a, depth):
        type_ = self.type()
        return (
            Value(self.converted(a, type_) if self.chance(50) else f"({a.text}).to(cutlass.{type_})", type_)
            if not self.portable
            else Value(self.converted(a, type_), type_)
        )

    def converted(self, a: Value, type_: str) -> str:
        """`a` in a type; a float out of an integer's range is undefined on a host under NVIDIA's compiler."""
        if self.portable and a.type in FLOATS and type_ in INTEGERS:
            return f"cutlass.{type_}({a.text} > 0.5)"
        return f"cutlass.{type_}({a.text})"

    def _call(self, a, depth):
        if not self.helpers:
            return None
        helper = self.pick(self.helpers)
        arguments = ", ".join(self.of(type_, depth - 1) for type_ in helper.parameters)
        return Value(f"{helper.name}({arguments})", helper.type)

    def of(self, type_: str, depth: int) -> str:
        """A dynamic expression of exactly one type."""
        if depth <= 1 and self.chance(60):
            atoms = [it for it in self.scalars() if it.type == type_]
            if atoms:
                return self.pick(atoms).text
        made = self.value(depth)
        return made.text if made.type == type_ else self.converted(made, type_)

    def condition(self, depth: int = 2, dynamic: bool = False) -> str:
        """Something to be tested, `dynamic` where it must not be known while compiling."""
        form = self.pick(["compare", "compare", "compare", "flag", "value", "not", "logic", "chain"])
        flags = [name for name, it in self.scope.items() if it.kind == "flag" and not dynamic]
        if form == "flag" and flags:
            return self.pick(["", "not "]) + self.pick(flags)
        if form == "not":
            return f"not {self.atom().text}"
        if form == "logic" and depth > 0:
            a, b = (self.condition(depth - 1, dynamic) for _ in range(2))
            return f"({a} {self.pick(['and', 'or'])} {b})"
        made = None if form == "value" else getattr(self, "_chain" if form == "chain" else "_compare")(self.atom(), 1)
        return (made or self.atom()).text
