"""Random programs over objects: attributes, methods, aliases, containers, loops, branches, early exits, late names.

The text of one runs under Python with 32-bit integers, and compiled; `Writer(seed).function(name)` gives the text.
"""

import random
from dataclasses import dataclass

PRELUDE = """
from dataclasses import replace
from typing import NamedTuple


class Box:
    def __init__(self, a, b):
        self.a, self.b = a, b
        self.inner = None
        self.items = [a, b, 0]

    def bump(self, by):
        self.a = self.a + by
        if self.a > self.b:
            self.b += self.items[0]
        return self.a

    def swap(self):
        self.a, self.b = self.b, self.a

    def fold(self, n):
        for k in range(n):
            self.items[k_index(1)] += self.a ^ k
            self.inner.a += 1


class Slotted:
    __slots__ = ("x", "owner")

    def __init__(self, x, owner):
        self.x, self.owner = x, owner


@dataclass
class Pair:
    left: object
    right: object

    def turn(self):
        self.left, self.right = self.right, self.left


@dataclass(frozen=True)
class Fixed:
    left: object
    right: object

    def moved(self, by):
        return replace(self, left=self.right, right=self.left + by)


class Span(NamedTuple):
    low: object
    high: object

    @property
    def size(self):
        return self.high - self.low


class Lowered(Box):
    def bump(self, by):
        self.b = self.b - 1
        return super().bump(by - 1) + self.low

    @property
    def low(self):
        return self.a - self.b

    @low.setter
    def low(self, value):
        self.a = value + self.b

    def __add__(self, number):
        return self.a + number

    def first_above(self, bound):
        for item in self.items:
            if item > bound:
                return item
        return bound


def k_index(k):
    return k
"""

NUMBERS = (
    "a",
    "b",
    "p.a",
    "p.b",
    "q.a",
    "r.b",
    "p.inner.a",
    "q.items[1]",
    "xs[1]",
    "xs[0].a",
    'd["k"]',
    'd["p"].b',
    "s.x",
    "s.owner.a",
    "pair.left",
    "pair.right",
    "t[0]",
    "t[1][0]",
    "fresh.left",
    "low.low",
    "rows[0][1]",
    "table[1]['n']",
    "pairs[0].right",
    "low.items[-1]",
)
READ_ONLY = (
    "t[0]",
    "span.low",
    "span.size",
    "fixed.left",
    "rows[a & 1][b & 1]",
    "pairs[b & 1].left",
    "(low + 1)",
    "table[a & 1]['n']",
    "low.first_above(2)",
    "max(row)",
    "sum(row)",
    "len(row)",
)
TARGETS = (
    *(name for name in NUMBERS if name != "t[0]"),
    "rows[a & 1][b & 1]",
    "pairs[b & 1].left",
    "row[a & 1]",
    "table[a & 1]['n']",
    "pairs[a & 1].right",
)
HEAD = """    p, q = Box(Int32(a), Int32(1)), Box(Int32(2), Int32(b))
    p.inner, q.inner = q, Box(3, 4)
    q.inner.inner = p
    r, s, pair, fresh = {alias}, Slotted(a, p), Pair(a, 0), Pair(Int32(1), Int32(2))
    xs, t = [p, 5, q], (b, [Int32(7)])
    low, span, fixed = Lowered(a + 1, Int32(3)), Span(a, b), Fixed(b, a)
    rows, row, pairs = [[a, 1], [2, b]], [b, a, 4], [Pair(a, 1), Pair(b, 2)]
    table = [{{"n": a}}, {{"n": b}}]
    d = {{"k": 0, "p": q, "xs": xs}}
"""
TAIL = """    return (p.a + p.b * 3 + q.a * 5 + q.b * 7 + q.inner.a * 11 + xs[1] * 13 + d["k"] * 17 + s.x * 19
            + pair.left * 23 + pair.right * 29 + t[0] * 31 + t[1][0] * 37 + p.items[1] * 41 + q.items[1] * 43
            + a * 47 + b * 53 + fresh.left * 59 + fresh.right * 61 + low.a * 67 + low.b * 71 + span.low * 73
            + span.high * 79 + fixed.left * 83 + fixed.right * 89 + rows[0][0] * 97 + rows[0][1] * 101
            + rows[1][0] * 103 + rows[1][1] * 107 + row[0] * 109 + row[1] * 113 + row[2] * 127 + pairs[0].left * 131
            + pairs[0].right * 137 + pairs[1].left * 139 + pairs[1].right * 149 + table[0]["n"] * 151
            + table[1]["n"] * 157)
"""


@dataclass
class Context:
    depth: int = 0
    loops: int = 0
    indent: int = 1


class Writer:
    def __init__(self, seed: int):
        self.random = random.Random(seed)
        self.count = 0

    def number(self) -> str:
        return self.random.choice([*NUMBERS, *READ_ONLY, "1", "3", "-2"])

    def condition(self) -> str:
        pick = self.random.choice
        return f"{pick(NUMBERS)} {pick(['<', '>', '==', '!=', '<='])} {self.number()}"

    def simple(self) -> str:
        pick = self.random.choice
        target = pick(TARGETS)
        return pick(
            [
                f"{target} = {self.number()} + {self.random.randint(-3, 3)}",
                f"{target} += {self.number()}",
                f"{target} = ({self.number()} * 3) & 63",
                f"{pick('pqr')}.bump({self.number()})",
                f"{pick('pqr')}.swap()",
                "pair.turn()",
                f"t = (t[0] + {self.number()}, t[1])",
                f"xs[0].inner.{pick('ab')} -= {self.number()}",
                f"fresh = Pair({self.number()} + 1, {self.number()} - 1)",
                f"{pick('pq')}.fold({pick(['2', '(a & 3)'])})",
                f'd["xs"][1] ^= {self.number()}',
                f"s.owner.items[2] += {self.number()}",
                f"low.bump({self.number()})",
                f"low.low = {self.number()}",
                f"fixed = fixed.moved({self.number()})",
                f"span = Span(span.high, {self.number()})",
                f"span = span._replace(low={self.number()})",
                f"row.append({self.number()}); b += row.pop(0)",
                "row.reverse()",
                "row[1:] = [row[2], row[1]]",
                f"row = [x + {self.number()} for x in row]",
                f"row.insert(0, {self.number()}); del row[-1]",
                "rows[0], rows[1] = rows[1], rows[0]",
                f"rows[1] = [{self.number()}, rows[1][0]]",
                f"pairs[{pick('ab')} & 1].turn()",
                f"d.update(k={self.number()})",
                f"table[1].update(n={self.number()})",
                f"b += (m := {self.number()}) + m",
                f"a = {self.number()} if {self.condition()} else {self.number()}",
                f"t[1][0], p.a = p.a, {self.number()} - t[1][0]",
                f'b = d["p"].bump(1) if {self.condition()} else b + 0',
            ]
        )

    def block(self, at: Context) -> list[str]:
        pad, lines = "    " * at.indent, []
        for _ in range(self.random.randint(1, 3)):
            choice = self.random.random()
            if choice < 0.25 and at.depth < 3:
                lines += self.branch(at)
            elif choice < 0.45 and at.depth < 3:
                lines += self.loop(at)
            else:
                lines.append(pad + self.simple())
        return lines

    def inside(self, at: Context, loops: int = 0) -> Context:
        return Context(at.depth + 1, at.loops + loops, at.indent + 1)

    def branch(self, at: Context) -> list[str]:
        pad = "    " * at.indent
        lines = [f"{pad}if {self.condition()}:", *self.block(self.inside(at))]
        kind = self.random.random()
        if kind < 0.2:
            exits = ["break", "continue", "return p.a"] if at.loops else ["return p.b"]
            lines.append(f"{pad}    " + self.random.choice(exits))
        elif kind < 0.5:
            lines += [f"{pad}else:", *self.block(self.inside(at))]
        elif kind < 0.8:  # a name that both arms, or the only way on, define first
            self.count += 1
            name = f"v{self.count}"
            lines.append(f"{pad}    {name} = {self.number()} + 1")
            leave = "break" if at.loops else "return q.a"
            lines += [
                f"{pad}else:",
                *self.block(self.inside(at)),
                f"{pad}    " + self.random.choice([f"{name} = {self.number()} - 1"] * 2 + [leave]),
            ]
            lines.append(f"{pad}{self.random.choice(TARGETS)} += {name}")
        return lines

    def loop(self, at: Context) -> list[str]:
        self.count += 1
        pad, k = "    " * at.indent, f"k{self.count}"
        kind = self.random.random()
        if kind < 0.12:
            lines = [
                f"{pad}for {k}, item in enumerate(list({self.random.choice(['row', 'rows[0]', 'rows[1]'])})):",
                f"{pad}    p.a += item + {k}",
            ]
            after = []
        elif kind < 0.7:
            bounds = self.random.choice(["3", "(a & 3)", "1, 6, 2"])
            lines = [f"{pad}for {k} in range({bounds}):", f"{pad}    p.a += {k}"]
            after = []
        else:
            lines = [
                f"{pad}{k} = 0",
                f"{pad}while True:",
                f"{pad}    {k} += 1",
                f"{pad}    if {k} > 3:",
                f"{pad}        last{k} = {self.number()}",
                f"{pad}        break",
            ]
            after = [f"{pad}xs[1] += last{k}"]
        body = self.block(self.inside(at, 1))
        if after and any(line.strip() == "break" and line.startswith(pad + "    ") for line in body):
            after = []  # another break may leave without the name
        return [*lines, *body, *after]

    def function(self, name: str) -> str:
        alias = self.random.choice("pq")
        return f"def {name}(a, b):\n" + HEAD.format(alias=alias) + "\n".join(self.block(Context())) + "\n" + TAIL
