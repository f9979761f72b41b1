"""Random programs over objects: attributes, methods, aliases, containers, loops, branches, early exits, late names.

The text of one runs under Python with 32-bit integers, and compiled; `Writer(seed).function(name)` gives the text.
"""

import random
from dataclasses import dataclass

PRELUDE = '''
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


def k_index(k):
    return k
'''

NUMBERS = ("a", "b", "p.a", "p.b", "q.a", "r.b", "p.inner.a", "q.items[1]", "xs[1]", "xs[0].a", 'd["k"]', 'd["p"].b',
           "s.x", "s.owner.a", "pair.left", "pair.right", "t[0]", "t[1][0]", "fresh.left")
TARGETS = tuple(name for name in NUMBERS if name != "t[0]")
HEAD = '''    p, q = Box(Int32(a), Int32(1)), Box(Int32(2), Int32(b))
    p.inner, q.inner = q, Box(3, 4)
    q.inner.inner = p
    r, s, pair, fresh = {alias}, Slotted(a, p), Pair(a, 0), Pair(Int32(1), Int32(2))
    xs, t = [p, 5, q], (b, [Int32(7)])
    d = {{"k": 0, "p": q, "xs": xs}}
'''
TAIL = '''    return (p.a + p.b * 3 + q.a * 5 + q.b * 7 + q.inner.a * 11 + xs[1] * 13 + d["k"] * 17 + s.x * 19
            + pair.left * 23 + pair.right * 29 + t[0] * 31 + t[1][0] * 37 + p.items[1] * 41 + q.items[1] * 43
            + a * 47 + b * 53 + fresh.left * 59 + fresh.right * 61)
'''


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
        return self.random.choice([*NUMBERS, "1", "3", "-2"])

    def condition(self) -> str:
        pick = self.random.choice
        return f"{pick(NUMBERS)} {pick(['<', '>', '==', '!=', '<='])} {self.number()}"

    def simple(self) -> str:
        pick = self.random.choice
        target = pick(TARGETS)
        return pick([
            f"{target} = {self.number()} + {self.random.randint(-3, 3)}", f"{target} += {self.number()}",
            f"{target} = ({self.number()} * 3) & 63", f"{pick('pqr')}.bump({self.number()})", f"{pick('pqr')}.swap()",
            "pair.turn()", f"t = (t[0] + {self.number()}, t[1])", f"xs[0].inner.{pick('ab')} -= {self.number()}",
            f"fresh = Pair({self.number()} + 1, {self.number()} - 1)", f"{pick('pq')}.fold({pick(['2', '(a & 3)'])})",
            f"d[\"xs\"][1] ^= {self.number()}", f"s.owner.items[2] += {self.number()}",
            f"t[1][0], p.a = p.a, {self.number()} - t[1][0]", f"b = d[\"p\"].bump(1) if {self.condition()} else b + 0"])

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
        elif kind < 0.8:                                       # a name that both arms, or the only way on, define first
            self.count += 1
            name = f"v{self.count}"
            lines.append(f"{pad}    {name} = {self.number()} + 1")
            leave = "break" if at.loops else "return q.a"
            lines += [f"{pad}else:", *self.block(self.inside(at)),
                      f"{pad}    " + self.random.choice([f"{name} = {self.number()} - 1"] * 2 + [leave])]
            lines.append(f"{pad}{self.random.choice(TARGETS)} += {name}")
        return lines

    def loop(self, at: Context) -> list[str]:
        self.count += 1
        pad, k = "    " * at.indent, f"k{self.count}"
        if self.random.random() < 0.7:
            bounds = self.random.choice(["3", "(a & 3)", "1, 6, 2"])
            lines = [f"{pad}for {k} in range({bounds}):", f"{pad}    p.a += {k}"]
            after = []
        else:
            lines = [f"{pad}{k} = 0", f"{pad}while True:", f"{pad}    {k} += 1", f"{pad}    if {k} > 3:",
                     f"{pad}        last{k} = {self.number()}", f"{pad}        break"]
            after = [f"{pad}xs[1] += last{k}"]
        body = self.block(self.inside(at, 1))
        if after and any(line.strip() == "break" and line.startswith(pad + "    ") for line in body):
            after = []                                         # another break may leave without the name
        return [*lines, *body, *after]

    def function(self, name: str) -> str:
        alias = self.random.choice("pq")
        return f"def {name}(a, b):\n" + HEAD.format(alias=alias) + "\n".join(self.block(Context())) + "\n" + TAIL
