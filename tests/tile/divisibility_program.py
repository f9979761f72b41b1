"""Prints what numbers are known to be multiples of, and the widths of loads and stores that follow from it.

Run under both compilers by test_divisibility.py.
"""

import collections
import os
import re
import tempfile

import cutlass
import cutlass.cute as cute
from cutlass import Float32, Int32, Int64, Uint32
from cutlass.cute.runtime import make_fake_compact_tensor

NUMBERS = {
    "a * 2": lambda a, b, n: a * 2,
    "a + 4": lambda a, b, n: a + 4,
    "4 - a": lambda a, b, n: 4 - a,
    "a + b": lambda a, b, n: a + b,
    "a * b": lambda a, b, n: a * b,
    "a * n": lambda a, b, n: a * n,
    "a // 2": lambda a, b, n: a // 2,
    "a // 3": lambda a, b, n: a // 3,
    "a // b": lambda a, b, n: a // b,
    "a % 16": lambda a, b, n: a % 16,
    "a % b": lambda a, b, n: a % b,
    "a << 1": lambda a, b, n: a << 1,
    "a >> 1": lambda a, b, n: a >> 1,
    "n * 8": lambda a, b, n: n * 8,
    "-a": lambda a, b, n: -a,
    "a & -4": lambda a, b, n: a & -4,
    "Int64(a)": lambda a, b, n: Int64(a),
    "Uint32(a)": lambda a, b, n: Uint32(a),
    "max": lambda a, b, n: cutlass.max(a, 4),
    "a * -2": lambda a, b, n: a * -2,
    "a * 4 + b": lambda a, b, n: a * 4 + b,
    "a / 2": lambda a, b, n: a / 2,
    "again": lambda a, b, n: cute.assume(a, divby=2),
    "size": lambda a, b, n: cute.size((a, b)),
    "sum": lambda a, b, n: sum([a, b, a]),
    "ceil": lambda a, b, n: cute.ceil_div(a, 4),
    "index": lambda a, b, n: cute.make_layout((a, 4), stride=(8, b))((n, n)),
    "a * 1": lambda a, b, n: a * 1,
    "a * 0": lambda a, b, n: a * 0 + 1,
}


def offset(of):
    return lambda t, n, m: cute.make_tensor(t.iterator + of(n, m), cute.make_layout(4))


def rows(stride):
    return lambda t, n, m: cute.make_tensor(t.iterator, cute.make_layout((8, 4), stride=(stride(m), 1)))[n, None]


TENSORS = {
    "n": offset(lambda n, m: n),
    "4": offset(lambda n, m: cute.assume(n, divby=4)),
    "4 + 2": offset(lambda n, m: cute.assume(n, divby=4) + 2),
    "2 * 2": offset(lambda n, m: cute.assume(n, divby=2) * cute.assume(m, divby=2)),
    "8 // 2": offset(lambda n, m: cute.assume(n, divby=8) // 2),
    "4 - 6": offset(lambda n, m: cute.assume(n, divby=4) - cute.assume(m, divby=6)),
    "shift": offset(lambda n, m: cute.assume(n, divby=4) << 1),
    "rows of 4": rows(lambda m: cute.assume(m, divby=4)),
    "rows of 2": rows(lambda m: cute.assume(m, divby=2)),
    "rows": rows(lambda m: m),
    "2 by 2": lambda t, n, m: cute.make_tensor(
        t.iterator, cute.make_layout((2, 2), stride=(1, cute.assume(m, divby=2)))
    ),
    "moved": lambda t, n, m: cute.composition(cute.domain_offset((cute.assume(n, divby=2),), t), cute.make_layout(4)),
    "tile": lambda t, n, m: cute.local_tile(t, (4,), (n,)),
}


@cute.jit
def number(n: Int32, m: Int32, of: cutlass.Constexpr):
    print(cute.get_divisibility(of(cute.assume(n, divby=8), cute.assume(m, divby=12), n)))


@cute.jit
def flow(n: Int32):
    a = cute.assume(n, divby=8)
    if n > 3:
        b = a + 16
        print("in an arm", cute.get_divisibility(a), cute.get_divisibility(b))
    for i in range(0, n, 8):
        print("in a loop", cute.get_divisibility(a), cute.get_divisibility(i))
    for i in range(n):
        a = a + 8
    print("carried", cute.get_divisibility(a))


@cute.kernel
def kernel(t: cute.Tensor, out: cute.Tensor, n: Int32, m: Int32, of: cutlass.Constexpr):
    src = of(t, n, m)
    held = cute.make_rmem_tensor(src.shape, Float32)
    cute.autovec_copy(src, held)
    cute.autovec_copy(held, cute.make_tensor(out.iterator, cute.make_layout(src.shape)))


@cute.jit
def host(t: cute.Tensor, out: cute.Tensor, n: Int32, m: Int32, of: cutlass.Constexpr):
    kernel(t, out, n, m, of).launch(grid=1, block=1)


def widths(ptx):
    """The number of loads and stores of global memory for each size in bytes."""
    found = re.findall(r"\b(ld|st)\.global\S*?(?:\.v(\d))?\.[bfsu](\d+)\s", ptx)
    return sorted(collections.Counter((op, int(n or 1) * int(bits) // 8) for op, n, bits in found).items())


for name, of in NUMBERS.items():
    print(name, end=": ", flush=True)
    number(16, 24, of)
flow(16)
os.chdir(tempfile.mkdtemp())
for name, of in TENSORS.items():
    fakes = [make_fake_compact_tensor(Float32, (64,), assumed_align=16)] * 2
    print(name, widths(cute.compile(host, *fakes, 8, 4, of, options="--keep-ptx").__ptx__))
