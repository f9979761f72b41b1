"""A list, dict or object that a dynamic index has chosen stays what it is:
read and written where it is, as in Python."""

import re
import warnings

import numpy as np
import pytest

import dsl.cutlass as cutlass
from dsl.cutlass import cute
from dsl.cutlass.cute.runtime import from_dlpack
from tests.core.control_flow.objects.test_mutable_state import INPUTS, compiled, python_value

pytestmark = pytest.mark.filterwarnings("ignore::dsl.core.errors.PortabilityWarning")

EXTRA = """
import copy
import dataclasses


@dataclass
class Point:
    x: object
    y: object = 0

    def mv(self, d):
        self.x += d
        self.y = self.y - d
        return self.x


@dataclass(slots=True)
class Sized:
    x: object
    y: object = 3


class Acc:
    scale = 2

    def __init__(self, v):
        self.v = v
        self.hist = [v, 0, 0]
        self.sub = Point(v, 1)
        self.tag = "t"

    @property
    def double(self):
        return self.v * self.scale

    @double.setter
    def double(self, d):
        self.v = d + 1

    def step(self, d):
        if self.v > d:
            self.v -= d
            self.hist[0] += 1
        else:
            for k in range(2):
                self.hist[k + 1] += d
            self.sub.mv(d)
        return self.sub

    @staticmethod
    def st(x):
        return x + 1

    @classmethod
    def cl(cls, x):
        return x + cls.scale

    def __add__(self, o):
        return self.v + o

    def __len__(self):
        return 3

    def __getitem__(self, k):
        return self.hist[k]

    def __call__(self, d):
        self.v += d
        return self


class SubAcc(Acc):
    def step(self, d):
        self.v += 1
        return super().step(d)


def give(p, d):
    p.x += d
    return p.x


def give2(p, d):
    if d > 0:
        p.x += d
    return p.y
"""
# Each is the body of a function of a and b that returns a number.
ROWS = {
    "a chosen list is read where it is used": """
        m = [[a, 1], [b, 2]]
        t = 0
        for i in range(2):
            r = m[i]
            m[0][0] = 100 + i
            m[1][0] += 7
            t = t * 3 + r[0]
            r[1] += t
        return t + m[0][1] * 3 + m[1][1]""",
    "a chosen list in a loop that changes it": """
        m = [[a, 1], [b, 2]]
        k = 0
        if a > b:
            k = 1
        r = m[k]
        for i in range(3):
            r[0] += i
            r[i - 1 & 1] += 2
        return m[0][0] + m[0][1] * 3 + m[1][0] * 5 + m[1][1] * 7 + r[0]""",
    "what a list does": """
        m = [[a, 1, 5], [b, 2, 6]]
        t = 0
        for i in range(2):
            x, y, z = m[i]
            h, *rest = m[i]
            q = m[i] + [9]
            w = [0] + m[i]
            t += x + y * 3 + z * 5 + sum(rest) + q[3] + w[1] + sum(m[i][1:]) + m[i][-1] + len(m[i])
            for k, v in enumerate(m[i]):
                t += k * v
            t += max(m[i]) + min(reversed(m[i]))
        return t""",
    "dicts": """
        m = [{"x": a, "y": 1}, {"x": b, "y": 2}]
        t = 0
        for i in range(2):
            m[i]["x"] += 3
            d = m[i]
            d["y"] += d["x"]
            d.update(y=d["y"] + 1)
            t = t * 3 + d["y"] + d.get("x") + d.get("none", 4)
            for k, v in d.items():
                t += v
            t += sum(d.values())
        return t + m[0]["x"] + m[1]["y"]""",
    "methods, properties, operators and lists of chosen objects": """
        xs = [Acc(a), Acc(b), Acc(1)]
        t = 0
        for i in range(3):
            p = xs[i].step(i + 1)
            p.x += 1
            t = t * 3 + p.x + xs[i].double
            xs[i].double = xs[i].double - 1
            xs[i](2)
            t += xs[i] + 1
            t += xs[i][0] + len(xs[i]) + xs[i].st(1) + xs[i].cl(2)
            xs[i].hist[i] += 5
        return t + sum([x.v * 3 + x.sub.x * 5 + x.sub.y + sum(x.hist) for x in xs])""",
    "super()": """
        xs = [SubAcc(a), SubAcc(b)]
        for i in range(4):
            xs[i & 1].step(i)
            o = xs[(i + 1) & 1]
            o.v += 2
            if o.v > 3:
                o.hist[1] = o.v
        return sum([x.v * 3 + x.sub.x * 5 + x.sub.y + sum(x.hist) for x in xs])""",
    "one object at two places": """
        o = Acc(a)
        xs = [o, Acc(b), o]
        for i in range(3):
            xs[i].v += i + 1
        return o.v * 10 + xs[1].v""",
    "an early return": """
        xs = [Point(a, 1), Point(b, 2)]
        k = 0
        while xs[k].x < 10:
            xs[k].x += 2
            k = 1 - k
            if xs[k].y > 8:
                return xs[k].x * 100
            xs[k].y += 1
        return xs[0].x + xs[1].y * 3""",
    "a linked list by indices": """
        nodes = [Box(a, 0), Box(b, 0), Box(3, 0)]
        nxt = [1, 2, 0]
        cur = 0
        t = 0
        for i in range(5):
            t += nodes[cur].a
            nodes[cur].a += 1
            cur = nxt[cur]
        return t * 10 + nodes[0].a""",
    "objects in lists of lists": """
        g = [[Point(a, 1), Point(2, b)], [Point(3, 4), Point(5, 6)]]
        for i in range(2):
            for j in range(2):
                g[i][j].x += i * 2 + j
                g[i][j].y, g[j][i].y = g[j][i].y, g[i][j].y + 1
        return sum([p.x * (k + 1) + p.y * 7 for k, p in enumerate(g[0] + g[1])])""",
    "lists in objects": """
        o = SimpleNamespace()
        o.tab = [[a, b], [1, 2]]
        o.d = {"k": [a, 5]}
        for i in range(2):
            o.tab[i][1 - i] += o.d["k"][i]
            o.d["k"][i] += 1
        return o.tab[0][1] + o.tab[1][0] * 3 + o.d["k"][1]""",
    "passed to functions": """
        xs = [Point(a, 1), Point(b, 2)]
        t = 0
        for i in range(2):
            t += give(xs[i], 3) + give2(xs[1 - i], i)
        return t * 10 + xs[0].x""",
    "copies": """
        xs = [Point(a, 1), Point(b, 2)]
        t = 0
        for i in range(2):
            q = dataclasses.replace(xs[i], y=9)
            q.x += 100
            c = copy.copy(xs[i])
            c.x += 1000
            t += q.x + q.y + c.x
        return t + xs[0].x""",
    "objects with __slots__": """
        xs = [Sized(a), Sized(b)]
        ys = [Slotted(a, [a]), Slotted(b, [b])]
        for i in range(2):
            xs[i].x += 1
            ys[i].x += xs[i].x
            ys[i].owner[0] -= 1
        return xs[0].x + xs[1].x * 3 + ys[0].x * 5 + ys[1].owner[0] * 7""",
    "hasattr, getattr, setattr, isinstance": """
        xs = [Point(a, 1), Point(b, 2)]
        t = 0
        for i in range(2):
            if (isinstance(xs[i], Point) and hasattr(xs[i], "x") and not hasattr(xs[i], "zz")):
                t += getattr(xs[i], "x")
                setattr(xs[i], "y", t)
        return t + xs[1].y""",
}


@pytest.mark.parametrize("about", ROWS)
def test_row(about):
    body = "\n".join(line[4:] for line in ROWS[about].splitlines()[1:])
    source = f"{EXTRA}\n\ndef row(a, b):\n{body}\n"
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        function = compiled(source, "row")
        for a, b in INPUTS:
            out = np.zeros(1, np.int32)
            function(from_dlpack(out), a, b)
            assert out[0] == python_value(source, "row", a, b), f"a={a} b={b}"


class Plain:
    def __init__(self, v):
        self.v = v


class Guarded(Plain):
    def __setattr__(self, name, value):
        object.__setattr__(self, name, value)


def same(i, xs):
    return xs[i] is xs[0]


def equal(i, xs):
    return xs[i] == xs[0]


def created(i, xs):
    xs[i].new = 3


def deleted(i, xs):
    del xs[i].v


def replaced(i, xs):
    xs[i] = xs[0]


def other_type(i, xs):
    xs[i].v = 1.5


def own_setattr(i, xs):
    return [Guarded(i), Guarded(1)][i].v


def two_classes(i, xs):
    return [Guarded(i), Plain(1)][i].v


def keys(i, xs):
    [{"a": i}, {"a": 1}][i]["b"] = 2


REFUSED = {
    same: "return xs[i] is xs[0] | which object a dynamic index has chosen is known only at run time",
    equal: "return xs[i] == xs[0] | which object a dynamic index has chosen is known only at run time",
    created: "xs[i].new = 3 | creates the attribute `new` of an object that a dynamic index has chosen",
    deleted: "del xs[i].v | deletes the attribute `v` of an object that a dynamic index has chosen",
    replaced: "xs[i] = xs[0] | puts another Plain at an index that is known only at run time",
    other_type: "xs[i].v = 1.5 | a dynamic index needs elements of one type, got Int32 and Python float",
    own_setattr: (
        "return [Guarded(i), Guarded(1)][i].v | a dynamic index cannot choose between objects of "
        "`Guarded`, which defines `__setattr__`"
    ),
    two_classes: (
        "return [Guarded(i), Plain(1)][i].v | a dynamic index needs elements of one type, got Plain and Guarded"
    ),
    keys: '[{"a": i}, {"a": 1}][i]["b"] = 2 | changes the keys of a dict that a dynamic index has chosen',
}


@pytest.mark.parametrize("program", REFUSED, ids=lambda program: program.__name__)
def test_programs_that_need_the_object_itself_are_refused(program):
    def host(i: cutlass.Int32):
        return program(i, [Plain(i), Plain(i + 1)])

    with pytest.raises(cutlass.DSLUserCodeError) as caught:
        cute.jit(host)(1)
    first, line, mark, *_ = str(caught.value).splitlines()
    assert first.endswith("PHASE_DYNAMIC_INDEX")
    assert f"{line.strip()} | {re.sub(r'^ *[^ ]+ ', '', mark)}" == REFUSED[program]
