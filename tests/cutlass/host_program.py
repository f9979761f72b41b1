"""Host functions whose printed text must be the same under NVIDIA's compiler and under this one."""

from dataclasses import dataclass
from typing import NamedTuple

import cutlass
import cutlass.cute as cute


@cute.jit
def loops(n: cutlass.Int32):
    total, last = cutlass.Int32(0), cutlass.Int32(-1)
    for i in range(n):
        total += i
    for last in range(2, n, 3):
        total += last * 10
    for k in range(n, 0, -2):
        total = total * 3 + k
    for j in cutlass.range(3, unroll=2):
        for k in range(j):
            total += k
    for i in cutlass.range_constexpr(4):
        if cutlass.const_expr(i == 2):
            continue
        total += i
    cute.printf("loops %d %d", total, last)


@cute.jit
def branches(n: cutlass.Int32, x: cutlass.Float32):
    y = cutlass.Float32(0.0)
    kind = cutlass.Int32(0)
    if n > 10:
        kind = cutlass.Int32(1)
        y = x * 2.0
    elif n == 3 or x < 0.0:
        kind = cutlass.Int32(2)
        if x > -1.0 and n < 5:
            y = x - 1.0
        else:
            y = x + 1.0
    else:
        y = cutlass.Float32(7.5)
    z = n if n > 4 else -n
    flag = not (n > 4)
    cute.printf("branches %d %f %d %d", kind, y, z, cutlass.Int32(flag))


@cute.jit
def whiles(n: cutlass.Int32):
    steps = cutlass.Int32(0)
    value = n
    while value > 1:
        if value % 2 == 0:
            value = value // 2
        else:
            value = 3 * value + 1
        steps += 1
    cute.printf("whiles %d", steps)


@cute.jit
def arithmetic(a: cutlass.Int32, b: cutlass.Int32, x: cutlass.Float32):
    cute.printf("int %d %d %d %d %d", a + b, a - b, a * b, a // b, a % b)
    cute.printf("bits %d %d %d %d %d", a & b, a | b, a ^ b, a << 3, a >> 2)
    cute.printf("float %f %f %f", x / 3.0, x * a, a / b)
    cute.printf("power %d %f", a**3, x**2)
    cute.printf("minmax %d %d %f", min(a, b), max(a, b), max(x, 0.5))
    cute.printf("compare %d %d %d", cutlass.Int32(0 < a < 100), cutlass.Int32(a in (1, 7, 9)), cutlass.Int32(a != b))
    wide = cutlass.Int64(a) * 1000000007
    cute.printf("wide %lld", wide)
    cute.printf("casts %d %d %d", cutlass.Int32(x), cutlass.Int32(cutlass.Int8(a * 40)), cutlass.Int32(-x))
    cute.printf("neg %d %d", -a, ~a)
    minus = cutlass.Int32(-7)
    cute.printf("static %d %d %d", minus % 2, minus // 2, minus % b)


@cute.jit
def fibonacci(n: cutlass.Int32):
    a, b = cutlass.Int32(0), cutlass.Int32(1)
    for _ in range(n):
        a, b = b, a + b
    return a


@cute.jit
def calls(n: cutlass.Int32, scale: cutlass.Constexpr):
    def nested(v):
        return v * scale

    pair = (fibonacci(n), nested(n))
    for i in range(2):
        pair = (pair[0] + i, pair[1] - i)
    values = [pair[0], pair[1]]
    values[0] = values[0] + 100
    cute.printf("calls %d %d", values[0], values[1])


@cute.jit
def shapes(n: cutlass.Int32):
    layout = cute.make_layout((4, n), stride=(1, 4))
    cute.printf("shapes %d %d %d", cute.size(layout), layout((2, 1)), cute.ceil_div(n, 3))


@dataclass
class Account:
    total: cutlass.Int32
    count: cutlass.Int32

    def take(self, amount):
        self.total += amount
        self.count += 1


class Counter:
    """An object with the protocol that lists the values in it."""

    def __init__(self, value):
        self.value = value

    def bump(self, by):
        self.value = self.value + by

    def __extract_mlir_values__(self):
        return [self.value.ir_value()]

    def __new_from_mlir_values__(self, values):
        return Counter(cutlass.Int32(values[0]))


class Point(NamedTuple):
    x: cutlass.Int32
    y: cutlass.Int32


@cute.jit
def state(n: cutlass.Int32):
    account = Account(cutlass.Int32(0), cutlass.Int32(0))
    counter = Counter(cutlass.Int32(1))
    items, table = [cutlass.Int32(0), 7], {"a": cutlass.Int32(0), "b": 2}
    point, pair = Point(n, cutlass.Int32(1)), (n, 0)
    for i in range(n):
        account.take(i)
        items[0] += i
        table["a"] += i * 2
        point = Point(point.x + i, point.y - 1)
        pair = (pair[1], pair[0] + i)
        if i % 2 == 1:
            account.total += 100
            items[1] = items[1] - 1
            counter.bump(i)
        temporary = i * 3
        counter.bump(temporary)
    last = cutlass.Int32(-1)
    for last in range(n):
        pass
    cute.printf("account %d %d counter %d", account.total, account.count, counter.value)
    cute.printf("items %d %d table %d %d", items[0], items[1], table["a"], table["b"])
    cute.printf("point %d %d pair %d %d last %d", point.x, point.y, pair[0], pair[1], last)


for number in (0, 1, 3, 7, 12, 27):
    state(number)
    loops(number)
    branches(number, number - 3.5)
    calls(number, 3)
    shapes(number + 1)
whiles(27)
branches(3, -4.0)
for left, right in ((7, 2), (-7, 2), (7, -2), (-7, -2), (100, 9), (-1, 5)):
    arithmetic(left, right, left / 4)
