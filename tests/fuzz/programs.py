"""Hypothesis strategies for CuTe DSL programs that are accepted and whose every value is defined.

`programs()` gives the text of a module: `program(inputs, ints, floats, thread)`, a jit function, stores what it
computes into `ints` and `floats`; `kernel` is the same with the number of the thread. `INPUTS` are the numbers that
threads read. `programs(portable=True)` keeps to what NVIDIA's compiler accepts.

Kept out, because the two sides may differ there by design: operators between two values that may both be static (their
`%` is that in Python), products that a sum could contract with (kernels have fma), changes through a second name of a
container that is rebound on some path (docs/control-flow.md), assignments to a loop's variable that is read after the
loop (they are local to the trip), and a name in two types in one function.
"""

from __future__ import annotations

from dataclasses import replace

from expressions import BITS, SUMS, Expressions, Helper, Value, Variable
from hypothesis import strategies as st
from reference import FLOATS, INTEGERS

THREADS = 4
ROW = 6  # inputs of a thread
SLOTS = 32  # results of a thread, of each kind
POOL = [
    1,
    2,
    3,
    0,
    -1,
    5,
    -3,
    7,
    -8,
    100,
    13,
    -100,
    255,
    1000,
    -129,
    32767,
    40000,
    -70000,
    2**31 - 1,
    -(2**31),
    12345678,
]
HEADER = """\
from dataclasses import dataclass

import cutlass
import cutlass.cute as cute
"""
SIGNATURE = "(inputs: cute.Tensor, ints: cute.Tensor, floats: cute.Tensor"


class Program(Expressions):
    """One program while it is drawn."""

    # ** statements

    def block(self, depth: int, loop: bool, result: str | None) -> list[str]:
        """Statements in their own scope. `result`: the type that `return` gives, '' where it gives nothing."""
        outer, lines = dict(self.scope), []
        for _ in range(1 + self.number(2)):
            lines += self.statement(depth, loop, result)
        if depth < 3 and self.chance(20):
            lines += self.exit(loop, result)
        self.scope = outer
        return lines or ["pass"]

    def exit(self, loop: bool, result: str | None) -> list[str]:
        if self.portable:
            return []
        choices = ["break", "continue"] if loop else []
        choices += [] if result is None else [f"return {self.of(result, 1)}".strip() if result else "return"]
        return [self.pick(choices)] if choices else []

    def statement(self, depth: int, loop: bool, result: str | None) -> list[str]:
        self.budget -= 1
        simple = ["assign", "assign", "update", "update", "part", "store", "new", "swap", "method"]
        nested = ["if_", "if_", "for_", "for_", "while_", "leave", "constexpr", "forever", "both", "const_if", "each"]
        if depth <= 0 or self.budget <= 0 or self.chance(30):
            form = self.pick(simple)
        else:
            form = self.pick(nested)
        return getattr(self, form)(depth, loop, result)

    def assignable(self, *kinds: str) -> list[str]:
        return [name for name, it in self.scope.items() if it.kind in kinds and not it.fixed]

    def assign(self, *_) -> list[str]:
        if not self.assignable("scalar"):
            return self.new()
        name = self.pick(self.assignable("scalar"))
        return [f"{name} = {self.of(self.scope[name].type, 2)}"]

    def update(self, *_) -> list[str]:
        """An augmented assignment, where it keeps the type."""
        if not self.assignable("scalar"):
            return self.new()
        name = self.pick(self.assignable("scalar"))
        it = self.scope[name]
        signs = SUMS | (BITS if it.type not in FLOATS else {})
        signs |= {"*": "mul", "//": "floordiv"} if it.type in INTEGERS else {}
        sign = self.pick(signs)
        b = self.defined() if sign == "//" else None
        b = b if b and not it.static else self.value(1) if it.static else self.other(2)
        if sign == "//" and self.portable and b.dynamic:
            sign = "*"
        if self.typed(signs[sign], Value(name, it.type), b) != it.type:
            return [f"{name} = {self.of(it.type, 1)}"]
        return [f"{name} {sign}= {b.text}"]

    def part(self, *_) -> list[str]:
        """A slot of a container or object."""
        names = self.assignable("list", "tuple", "dict", "object", "data", "nest")
        if not names:
            return self.assign()
        name = self.pick(names)
        it = self.scope[name]
        if it.kind == "list":
            if not it.static and self.chance(20):
                return [f"{name} = [{', '.join(self.of(it.type, 1) for _ in it.fields)}]"]
            dynamic = not self.portable and self.chance(30)
            index = self.position(len(it.fields)) if dynamic else self.pick(range(len(it.fields)))
            return [f"{name}[{index}] = {self.of(it.type, 2)}"]
        if it.kind == "tuple":
            return [f"{name} = ({', '.join(self.of(type_, 1) for type_ in it.fields)},)"]
        if it.kind == "nest":
            a, b, c = (self.of(type_, 1) for type_ in it.fields)
            return [f"{name} = {self.pick([f'(({a}, {b}), {c})', f'({name}[0], {c})', f'(({a}, {b}), {name}[1])'])}"]
        if it.kind == "data" and self.chance(20):
            return [f"{name} = {it.type}({', '.join(self.of(type_, 1) for _, type_ in it.fields)})"]
        key, type_ = self.pick(it.fields)
        place = f'{name}["{key}"]' if it.kind == "dict" else f"{name}.{key}"
        if type_ in INTEGERS and self.chance(30):
            literal = Value("3", "int", False)
            if self.typed("add", Value("", type_), literal) == type_:
                return [f"{place} += 3"]
        return [f"{place} = {self.of(type_, 2)}"]

    def store(self, *_) -> list[str]:
        if self.called or self.stores >= 6:
            return self.assign()
        self.stores += 1
        value = self.value(2)
        floating = value.type in FLOATS
        place = f"{'floats' if floating else 'ints'}[thread * {SLOTS} + {SLOTS - self.stores}]"
        return [f"{place} = cutlass.{'Float64' if floating else 'Int64'}({value.text})"]

    def fresh(self, type_: str) -> str:
        """A name that is not in scope; one that was in another scope is there again in the same type."""
        name = next(
            name
            for name in (f"v{k}" for k in range(100))
            if name not in self.scope and self.types.get(name, type_) == type_
        )
        self.types[name] = type_
        return name

    def new(self, *_) -> list[str]:
        type_ = self.type()
        name = self.fresh(type_)
        if self.chance(30) and self.loops == 0 and type_ != "Boolean":
            text = {"Int32": "0", "Float32": "0.5"}.get(type_, f"cutlass.{type_}(1)")
            self.scope[name] = Variable("scalar", type_, static=True)
            return [f"{name} = {text}"]
        made = self.of(type_, 2)
        self.scope[name] = Variable("scalar", type_)
        return [f"{name} = {made}"]

    def swap(self, *_) -> list[str]:
        names = [name for name in self.assignable("scalar") if not self.scope[name].static]
        if not names:
            return self.new()
        a = self.pick(names)
        b = self.pick([name for name in names if self.scope[name].type == self.scope[a].type])
        return [f"{a}, {b} = {b}, {self.of(self.scope[a].type, 1)}"]

    def method(self, *_) -> list[str]:
        names = [name for name, it in self.scope.items() if it.methods]
        if not names:
            return self.part()
        name = self.pick(names)
        method, parameter, result = self.pick(self.scope[name].methods)
        call = f"{name}.{method}({self.of(parameter, 1)})"
        targets = [other for other in self.assignable("scalar") if self.scope[other].type == result]
        return [f"{self.pick(targets)} = {call}"] if targets and self.chance(50) else [call]

    # ** statements with blocks

    def if_(self, depth, loop, result) -> list[str]:
        lines = [f"if {self.condition()}:", *indented(self.block(depth - 1, loop, result))]
        for _ in range(self.number(2) if self.chance(30) else 0):
            lines += [f"elif {self.condition()}:", *indented(self.block(depth - 1, loop, result))]
        if self.chance(50):
            lines += ["else:", *indented(self.block(depth - 1, loop, result))]
        return lines

    def leave(self, depth, loop, result) -> list[str]:
        """`if test: <exit>`, and a name that the other arm assigns first."""
        exit_ = self.exit(loop, result)
        if not exit_:
            return self.if_(depth, loop, result)
        lines = [f"if {self.condition()}:", *indented([*self.simple(), *exit_])]
        if self.chance(30):
            type_ = self.type()
            name = self.fresh(type_)
            lines += ["else:", f"    {name} = {self.of(type_, 1)}"]
            self.scope[name] = Variable("scalar", type_)
        return lines

    def simple(self) -> list[str]:
        return self.pick([self.assign, self.part, self.store])() if self.chance(50) else []

    def both(self, depth, loop, result) -> list[str]:
        """A name that both arms assign first."""
        if self.portable:
            return self.if_(depth, loop, result)
        type_ = self.type()
        name = self.fresh(type_)
        lines = []
        for head in (f"if {self.condition()}:", "else:"):
            body = self.block(depth - 1, False, None) if self.chance(40) else []
            lines += [head, *indented([*body, f"{name} = {self.of(type_, 2)}"])]
        self.scope[name] = Variable("scalar", type_)
        return lines

    def const_if(self, depth, loop, result) -> list[str]:
        indices = [name for name, it in self.scope.items() if it.kind == "index"]
        if not indices:
            return self.both(depth, loop, result)
        head = f"if cutlass.const_expr({self.pick(indices)} == {self.number(2)}):"
        lines = [head, *indented(self.simple() or ["pass"]), "else:", *indented(self.block(depth - 1, False, None))]
        return lines

    def bounds(self) -> tuple[str, str]:
        """The arguments of a range of few trips, and the type of its numbers."""
        x, y = self.of("Int32", 1), self.of("Int32", 1)
        form = self.pick(
            [
                "({x}) & 3",
                str(1 + self.number(3)),
                "({x}) & 1, ({y}) & 3",
                "({x}) & 3, -1, -1",
                "0, ({x}) & 7, 2",
                "-2, 3, (({x}) & 1) + 1",
                "({x}) & 1, -3, -(({y}) & 1) - 1",
                "cutlass.Int64({x}) & 3",
                "({x}) & 3, ({y}) & 1",
            ]
        )
        return form.format(x=x, y=y), "Int64" if "Int64" in form else "Int32"

    def for_(self, depth, loop, result) -> list[str]:
        if self.loops >= 3:
            return self.if_(depth, loop, result)
        outer = dict(self.scope)
        bounds, type_ = self.bounds()
        static = self.by_value and bounds.isdigit()
        targets = [name for name in self.assignable("scalar") if self.scope[name].type == type_]
        name, known = f"{'i' if type_ == 'Int32' else 'j'}{self.loops}", False
        if targets and not static and self.chance(20):
            name, known = self.pick(targets), True
        self.scope[name] = (
            Variable("index")
            if static
            else Variable("scalar", type_, static=known and self.scope[name].static, fixed=known)
        )
        call = f"range({bounds})"
        if not static and self.chance(20):
            call = f"cutlass.range({bounds}, unroll={self.pick([1, 2, 4])})"
        self.loops += 1
        body = self.block(depth - 1, True, result)
        self.loops -= 1
        self.scope = outer
        return [f"for {name} in {call}:", *indented(body), *self.otherwise(depth, loop, result)]

    def otherwise(self, depth, loop, result) -> list[str]:
        """The `else` of a loop."""
        if self.portable or not self.chance(20):
            return []
        return ["else:", *indented(self.block(depth - 1, loop, result))]

    def constexpr(self, depth, loop, result) -> list[str]:
        if self.loops >= 2:
            return self.if_(depth, loop, result)
        outer, name = dict(self.scope), f"c{self.loops}"
        self.scope[name] = Variable("index")
        self.loops += 1
        body = self.block(depth - 1, True, result)
        self.loops -= 1
        self.scope = outer
        return [
            f"for {name} in cutlass.range_constexpr({1 + self.number(2)}):",
            *indented(body),
            *self.otherwise(depth, loop, result),
        ]

    def each(self, depth, loop, result) -> list[str]:
        """A loop over a list: static, with whatever inside."""
        lists = [name for name, it in self.scope.items() if it.kind == "list"]
        if self.loops >= 2 or self.portable or not lists:
            return self.constexpr(depth, loop, result)
        outer, over = dict(self.scope), self.pick(lists)
        type_, self.scope[over] = self.scope[over].type, replace(self.scope[over], static=True)
        name, head = f"x{type_}{self.loops}", over
        if self.chance(30):
            self.scope[f"c{self.loops}"] = Variable("index")
            name, head = f"c{self.loops}, {name}", f"enumerate({over})"
        self.scope[name.split()[-1]] = Variable("scalar", type_, fixed=True)
        self.loops += 1
        body = self.block(depth - 1, True, result)
        self.loops -= 1
        self.scope = outer
        return [f"for {name} in {head}:", *indented(body), *self.otherwise(depth, loop, result)]

    def counter(self) -> str:
        self.counters += 1
        return f"k{self.counters}"

    def while_(self, depth, loop, result) -> list[str]:
        if self.loops >= 3:
            return self.if_(depth, loop, result)
        k, condition = self.counter(), self.condition()
        outer = dict(self.scope)
        self.scope[k] = Variable("scalar", "Int32", static=True, fixed=True)
        self.loops += 1
        body = self.block(depth - 1, True, result)
        self.loops -= 1
        self.scope = outer
        end, also = 1 + self.number(4), f" and ({condition})" if self.chance(50) else ""
        head = [f"while {k} < {end}{also}:", f"    {k} += 1"]
        if not self.portable and self.chance(20):
            head = [f"while ({k} := {k} + 1) <= {end}{also}:"]
        return [f"{k} = 0", *head, *indented(body), *self.otherwise(depth, loop, result)]

    def forever(self, depth, loop, result) -> list[str]:
        """`while True`, left by `break`."""
        if self.loops >= 3 or self.portable:
            return self.while_(depth, loop, result)
        k = self.counter()
        outer = dict(self.scope)
        self.scope[k] = Variable("scalar", "Int32", static=True, fixed=True)
        self.loops += 1
        leave = [f"if {k} > {1 + self.number(4)}:", *indented([*self.simple(), "break"])]
        body = self.block(depth - 1, True, result)
        self.loops -= 1
        self.scope = outer
        return [f"{k} = 0", "while True:", f"    {k} += 1", *indented(leave), *indented(body)]

    # ** the parts of a program

    def helper(self) -> list[str]:
        """A function with early returns; undecorated, nested in nothing."""
        parameters, result = [self.type() for _ in range(1 + self.number(2))], self.type()
        name, decorated = f"helper{len(self.helpers)}", self.portable or self.chance(30)
        outer, self.scope = self.scope, {f"a{k}": Variable("scalar", type_) for k, type_ in enumerate(parameters)}
        self.by_value, self.called = not decorated, True
        body = []
        for _ in range(1 + self.number(2)):
            body += self.statement(2, False, result)
        body.append(f"return {self.of(result, 2)}")
        self.scope, self.by_value, self.called = outer, False, False
        self.helpers.append(Helper(name, tuple(parameters), result))
        return ["@cute.jit"] * decorated + [
            f"def {name}({', '.join(f'a{k}' for k in range(len(parameters)))}):",
            *indented(body),
            "",
            "",
        ]

    def class_(self) -> list[str]:
        """A plain class or a dataclass, with methods that change it."""
        data, name = self.portable or self.chance(40), f"Class{len(self.classes)}"
        fields = [(key, self.type()) for key in "abc"[: 1 + self.number(2)]]
        if data:
            lines = ["@dataclass", f"class {name}:", *(f"    {key}: cutlass.{type_}" for key, type_ in fields)]
        else:
            keys = [key for key, _ in fields]
            lines = [
                f"class {name}:",
                f"    def __init__(self, {', '.join(keys)}):",
                *(f"        self.{key} = {key}" for key in keys),
            ]
        methods = []
        for k in range(0 if self.portable else self.number(2)):
            parameter, result = self.type(), self.type()
            outer, helpers = self.scope, self.helpers
            self.scope = {"x": Variable("scalar", parameter), "self": Variable("object", fields=tuple(fields))}
            self.by_value = self.called = True
            body = self.statement(1, False, None) + self.part() + [f"return {self.of(result, 1)}"]
            self.scope, self.helpers = outer, helpers
            self.by_value = self.called = False
            lines += ["", f"    def method{k}(self, x):", *indented(indented(body))]
            methods.append((f"method{k}", parameter, result))
        self.classes.append((name, "data" if data else "object", tuple(fields), tuple(methods)))
        return [*lines, "", ""]

    def start(self) -> list[str]:
        """The variables a program begins with."""
        lines = []
        for k, type_ in enumerate(["Int32", "Int32", "Int32", *(self.type() for _ in range(self.number(ROW - 3)))]):
            read = f"inputs[thread * {ROW} + {k}]"
            lines.append(f"v{k} = {read if type_ == 'Int32' else f'cutlass.{type_}({read})'}")
            self.scope[f"v{k}"], self.types[f"v{k}"] = Variable("scalar", type_), type_
        for name, kind, fields, methods in self.classes:
            made = f"{name}({', '.join(self.of(type_, 1) for _, type_ in fields)})"
            lines.append(f"{name.lower()} = {made}")
            self.scope[name.lower()] = Variable(kind, name, fields, methods=methods)
        held = [name for name, kind, *_ in self.classes if kind == "object"]
        if held and not self.portable and self.chance(30):  # an object in an object
            name, kind, fields, methods = self.pick(self.classes)
            place = f"{self.pick(held).lower()}.held"
            lines.append(f"{place} = {name}({', '.join(self.of(type_, 1) for _, type_ in fields)})")
            self.scope[place] = Variable(kind, name, fields, methods=methods)
        if not self.portable and self.chance(20):
            types = [self.type() for _ in range(3)]
            a, b, c = (self.of(type_, 1) for type_ in types)
            lines.append(f"the_nest = (({a}, {b}), {c})")
            self.scope["the_nest"] = Variable("nest", fields=tuple(types))
        for kind in ("list", "tuple", "dict"):
            if not self.chance(30):
                continue
            count = 1 + self.number(2)
            types = [self.type()] * (count + 1) if kind == "list" else [self.type() for _ in range(count)]
            values = [self.of(type_, 1) for type_ in types]
            if kind == "dict":
                lines.append("the_dict = {" + ", ".join(f'"{key}": {value}' for key, value in zip("abc", values)) + "}")
                self.scope["the_dict"] = Variable("dict", fields=tuple(zip("abc", types)))
            else:
                text = ", ".join(values)
                lines.append(f"the_{kind} = [{text}]" if kind == "list" else f"the_tuple = ({text},)")
                self.scope[f"the_{kind}"] = Variable(kind, types[0], tuple(types))
        if self.chance(30):
            lines.append("flag = False")
            self.scope["flag"] = Variable("flag")
        return lines

    def finish(self) -> list[str]:
        """Every variable in scope, stored."""
        lines, count = [], {"ints": 0, "floats": 0}
        for value in self.scalars(dynamic=False):
            to, type_ = ("floats", "Float64") if value.type in FLOATS else ("ints", "Int64")
            if count[to] < SLOTS - 6:
                lines.append(f"{to}[thread * {SLOTS} + {count[to]}] = cutlass.{type_}({value.text})")
                count[to] += 1
        return lines

    def text(self) -> str:
        seed = [self.number(len(POOL) - 1) for _ in range(ROW)]
        step = 1 + self.number(5)
        inputs = [
            POOL[(seed[k] + thread * step * (k + 1)) % len(POOL)] for thread in range(THREADS) for k in range(ROW)
        ]
        parts = []
        for _ in range(self.number(2)):
            parts += self.helper()
        for _ in range(self.number(2)):
            parts += self.class_()
        body = self.start()
        for _ in range(1 + self.number(5)):
            body += self.statement(3, False, "")
        body += self.finish()
        if self.chance(20):  # a separate kernel costs as much again
            device = indented(["thread, _, _ = cute.arch.thread_idx()", *body])
        else:
            device = ["    thread, _, _ = cute.arch.thread_idx()", "    program(inputs, ints, floats, thread)"]
        lines = [
            HEADER,
            f"INPUTS = {inputs}",
            "",
            "",
            *parts,
            "@cute.jit",
            f"def program{SIGNATURE}, thread: cutlass.Int32):",
            *indented(body),
            "",
            "",
            "@cute.kernel",
            f"def kernel{SIGNATURE}):",
            *device,
        ]
        return "\n".join(lines) + "\n"


def indented(lines: list[str]) -> list[str]:
    return [f"    {line}" if line else line for line in lines]


@st.composite
def programs(draw, portable: bool = False) -> str:
    return Program(draw, portable).text()
