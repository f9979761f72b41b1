"""Host functions whose printed text must be the same under NVIDIA's compiler and under this one."""

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


for number in (0, 1, 3, 7, 12, 27):
    loops(number)
    branches(number, number - 3.5)
    calls(number, 3)
    shapes(number + 1)
whiles(27)
branches(3, -4.0)
for left, right in ((7, 2), (-7, 2), (7, -2), (-7, -2), (100, 9), (-1, 5)):
    arithmetic(left, right, left / 4)
