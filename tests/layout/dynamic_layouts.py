"""Operations on layouts with dynamic extents and strides; both compilers print the same layouts.

The test compares a line only if NVIDIA's compiler prints a layout for it.
"""

import itertools

import cutlass
import cutlass.cute as cute
from cutlass import Int32

LAYOUTS = {
    "(2,n):(1,2)": lambda n, m: cute.make_layout((2, n), stride=(1, 2)),
    "(2,n):(1,3)": lambda n, m: cute.make_layout((2, n), stride=(1, 3)),
    "(2,4,n):(1,2,8)": lambda n, m: cute.make_layout((2, 4, n), stride=(1, 2, 8)),
    "(2,4,n):(1,4,16)": lambda n, m: cute.make_layout((2, 4, n), stride=(1, 4, 16)),
    "(n,4):(1,n)": lambda n, m: cute.make_layout((n, 4), stride=(1, n)),
    "(4,2):(n,m)": lambda n, m: cute.make_layout((4, 2), stride=(n, m)),
    "(192,n):(1,192)": lambda n, m: cute.make_layout((192, n), stride=(1, 192)),
    "(16,n):(8,128)": lambda n, m: cute.make_layout((16, n), stride=(8, 128)),
    "((2,n),4):((1,2),7)": lambda n, m: cute.make_layout(((2, n), 4), stride=((1, 2), 7)),
    "((n,4),(n,m)):((1,2),(3,m))": lambda n, m: cute.make_layout(((n, 4), (n, m)), stride=((1, 2), (3, m))),
    "(4,1,n):(1,9,4)": lambda n, m: cute.make_layout((4, 1, n), stride=(1, 9, 4)),
    "n:1": lambda n, m: cute.make_layout(n, stride=1),
}
OPERATIONS = {
    "coalesce": lambda a, n: cute.coalesce(a),
    "coalesce by mode": lambda a, n: cute.coalesce(a, target_profile=(1, 1)),
    "filter": lambda a, n: cute.filter(a),
    "flatten": lambda a, n: cute.flatten(a),
    "group_modes": lambda a, n: cute.group_modes(a, 0, 2),
    "slice": lambda a, n: cute.slice_(a, (None, 1)),
    "dice": lambda a, n: cute.dice(a, (None, 1)),
    "o 4": lambda a, n: cute.composition(a, 4),
    "o (4,2)": lambda a, n: cute.composition(a, cute.make_layout((4, 2))),
    "o 2:2": lambda a, n: cute.composition(a, cute.make_layout(2, stride=2)),
    "o n": lambda a, n: cute.composition(a, cute.make_layout(n)),
    "o 384": lambda a, n: cute.composition(a, cute.make_layout(384)),
    "by mode 2": lambda a, n: cute.composition(a, (2, 2)),
    "complement n": lambda a, n: cute.complement(a, n),
    "logical_divide 2": lambda a, n: cute.logical_divide(a, cute.make_layout(2)),
    "logical_divide (2, n)": lambda a, n: cute.logical_divide(a, (2, n)),
    "zipped_divide (2, 2)": lambda a, n: cute.zipped_divide(a, (2, 2)),
    "tiled_divide (2, 2)": lambda a, n: cute.tiled_divide(a, (2, 2)),
    "flat_divide (2, 2)": lambda a, n: cute.flat_divide(a, (2, 2)),
    "zipped_divide (2, 1)": lambda a, n: cute.zipped_divide(a, (cute.make_layout(2), 1)),
    "identity": lambda a, n: cute.zipped_divide(cute.make_identity_layout(a.shape), (2, 2)),
    "make_layout": lambda a, n: cute.make_layout(a.shape),
    "append": lambda a, n: cute.append(a, cute.make_layout(2)),
}
SHAPES = {
    "(n,n)": lambda n: (n, n),
    "(n,4,4,n)": lambda n: (n, 4, 4, n),
    "(8,n,1,n)": lambda n: (8, n, 1, n),
    "(2,4,n,n)": lambda n: (2, 4, n, n),
    "((8,n),(n,4))": lambda n: ((8, n), (n, 4)),
}
PARTS = {
    "1": lambda: cute.make_layout(1),
    "2": lambda: cute.make_layout(2),
    "8": lambda: cute.make_layout(8),
    "2:2": lambda: cute.make_layout(2, stride=2),
}


@cute.jit
def operation(of: cutlass.Constexpr, layout: cutlass.Constexpr, n: Int32, m: Int32):
    print(of(layout(n, m), n))


@cute.jit
def complement(part: cutlass.Constexpr, shape: cutlass.Constexpr, n: Int32):
    print(cute.complement(part(), shape(n)))


def show(name, *arguments):
    print(name, end=" | ", flush=True)
    try:
        cute.compile(*arguments)
    except Exception:
        print("refused", flush=True)


for layout, of in itertools.product(LAYOUTS, OPERATIONS):
    show(f"{layout} {of}", operation, OPERATIONS[of], LAYOUTS[layout], 4, 8)
for part, shape in itertools.product(PARTS, SHAPES):
    show(f"complement {part} in {shape}", complement, PARTS[part], SHAPES[shape], 4)
