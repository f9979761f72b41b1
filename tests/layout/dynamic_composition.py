"""Compositions whose extents and strides are known at run time only; both compilers print the same."""

import cutlass
import cutlass.cute as cute
from cutlass import Int32


@cute.jit
def compose(a0: Int32, a1: Int32, b0: Int32, b1: Int32, one: Int32):
    left = cute.make_layout((a0, a1), stride=(Int32(16), Int32(4)))
    right = cute.make_layout((b0, b1), stride=(one, Int32(5)))
    both = cute.composition(left, right)
    print(both)
    cute.printf("{}", both)
    cute.printf("{}", cute.composition(left, cute.make_layout(b0, stride=one)))
    cute.printf("{} {}", cute.composition(left, cute.make_layout(4, stride=5)), cute.composition(left, (b0, a1)))
    half = cute.make_layout((10, 2), stride=(16, a1))
    cute.printf("{}", cute.composition(half, cute.make_layout(b1, stride=5)))
    cute.printf("{}", cute.composition(half, cute.make_layout((5, b1), stride=(1, 5))))
    three = cute.make_layout((a1, (a0, 4)), stride=(1, (a1, 100)))
    cute.printf("{}", cute.composition(three, cute.make_layout(b0, stride=a1)))
    for modes, tile in (((64, a0, a1), 64), ((32, 4, a0), 64), ((64, a0, a1), 16), ((16, a1, a0), 32)):
        divided = cute.zipped_divide(cute.make_identity_tensor((modes, 1)), (tile, 1)).layout
        print(divided)
        cute.printf("{}", divided.shape)
    for i in cutlass.range_constexpr(20):
        cute.printf("{} {}", both(i), left(right(i)))


compose(10, 2, 5, 4, 1)
compose(20, 2, 5, 8, 1)
compose(5, 8, 5, 4, 1)
