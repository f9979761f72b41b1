"""Prints tensors, layouts and numbers in host functions; run under both compilers by test_print.py."""

import cutlass
import cutlass.cute as cute
import numpy as np
from cutlass.cute.runtime import from_dlpack

SHAPES = [
    1,
    (1,),
    5,
    6,
    7,
    10,
    (2, 2),
    (5, 6),
    (6, 7),
    (7, 6),
    (9, 9),
    (1, 9),
    (9, 1),
    (2, 3, 4),
    (7, 8, 9),
    (2, 2, 2, 2),
    (9, 1, 1, 2),
    ((2, 2), 3),
    (3, (2, 2)),
    ((2, 3),),
    ((2, 3), (2, 2), 2),
    (2, (2, (2, 2))),
]


@cute.jit
def tensor(x: cute.Tensor, shape: cutlass.Constexpr, stride: cutlass.Constexpr, verbose: cutlass.Constexpr):
    cute.print_tensor(cute.make_tensor(x.iterator, cute.make_layout(shape, stride=stride)), verbose=verbose)


@cute.jit
def dynamic(x: cute.Tensor, n: cutlass.Int32, verbose: cutlass.Constexpr):
    cute.print_tensor(x, verbose=verbose)
    for shape in ((n, 2), (2, n, 2), n, (n, (2, n)), (n, n, n)):
        cute.print_tensor(cute.make_tensor(x.iterator, cute.make_layout(shape)), verbose=verbose)
    swizzled = cute.make_composed_layout(cute.make_swizzle(1, 1, 1), 0, cute.make_layout((4, 2)))
    cute.print_tensor(cute.make_tensor(x.iterator, swizzled), verbose=verbose)


@cute.jit
def values(x: cute.Tensor):
    cute.print_tensor(x.load() * 2)
    cute.print_tensor(cute.full((2, 2), 1.5, cutlass.BFloat16))
    cute.print_tensor(cute.full(2, -3, cutlass.Int64), verbose=True)
    cute.print_tensor(cute.make_identity_tensor((9, (2, 2))))


@cute.jit
def formats(x: cute.Tensor, a: cutlass.Int32, b: cutlass.Float32, c: cutlass.Boolean, d: cutlass.Int64):
    cute.printf(a, b, c, d)
    cute.printf("{} {} {} {}", 1, 2.5, True, -3)
    cute.printf("{} {} {}", (1, a, (2, 3)), (a,), ())
    cute.printf("{} {}", None, (None, 1))
    cute.printf("{} {} {}", cute.make_layout((4, (2, 3))), cute.make_layout((a, 2)), cute.make_layout(a))
    cute.printf(cute.make_layout(3), cute.make_layout((3,)))
    cute.printf("{}", cute.make_composed_layout(cute.make_swizzle(2, 3, 3), a, cute.make_layout((8, 8))))
    cute.printf("{} {} {}", cute.make_identity_layout((4, 3)), cute.E(0), cute.make_identity_tensor((4, 3))[5])
    cute.printf(x)
    cute.printf("{} | {}", x.iterator, x)
    cute.printf("%d %5.2f %x %lld %c 100%%", a, b, a, d, a)
    cute.printf("{}", a, end="|")
    cute.printf("{}\n", b)
    cute.printf(f"{a} {c} {b:.2f} {a + 1:5d} {d:lld}")  # after one with a format upstream mixes up those without
    cute.printf(f"{x}")
    print(x, x.iterator, cute.make_rmem_tensor((2, 3), cutlass.Float16))


numbers = np.arange(1024, dtype=np.int32) - 20
for shape in SHAPES:
    tensor(from_dlpack(numbers), shape, None, False)
for shape in (3, (2, 3), (9, 9), ((2, 2), 2), (2, 2, 2)):
    tensor(from_dlpack(numbers), shape, None, True)
tensor(from_dlpack(numbers), (2, 3), (0, 1), False)
for name in ("int8", "int16", "int64", "float16", "float32", "float64", "bool"):
    tensor(from_dlpack(np.array([0, 1, -1, 100, -100, 3]).astype(name)), (2, 3), (3, 1), False)
special = np.array([1e30, 1e-30, np.nan, np.inf, -np.inf, -0.0], dtype=np.float32)
tensor(from_dlpack(special), 6, 1, False)
dynamic(from_dlpack(np.arange(1000, dtype=np.int32).reshape(10, 100)).mark_layout_dynamic(), cutlass.Int32(4), False)
dynamic(from_dlpack(np.arange(12, dtype=np.int32).reshape(3, 4)).mark_layout_dynamic(), cutlass.Int32(2), True)
values(from_dlpack(np.arange(6, dtype=np.int32).reshape(2, 3)))
array = np.arange(6, dtype=np.int16)
formats(from_dlpack(array), cutlass.Int32(65), cutlass.Float32(1.5), cutlass.Boolean(True), cutlass.Int64(1 << 40))
