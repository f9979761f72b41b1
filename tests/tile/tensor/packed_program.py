"""Prints what elements of 4 and 6 bits become: in memory, copied, recast, converted. Run under both compilers.

CUTE_DSL_ARCH must be sm_100a: earlier GPUs do not convert from and to them.
"""

import sys

import cutlass
import cutlass.cute as cute
import numpy as np
from cutlass.cute.runtime import from_dlpack

COUNT = 64
NUMBERS = [
    0.0,
    -0.0,
    0.25,
    0.26,
    0.75,
    1.25,
    1.75,
    2.5,
    3.5,
    5.0,
    6.0,
    7.0,
    100.0,
    -100.0,
    float("inf"),
    -1.1,
    0.06,
    0.07,
    7.4,
    7.6,
    27.0,
    0.031,
    -0.19,
    -2.6,
    14.0,
    15.0,
    0.5,
    -0.5,
    1.0,
    -4.0,
    2.0,
    float("nan"),
]
WIDE = [cutlass.Float32, cutlass.Float16, cutlass.BFloat16, cutlass.Int32, cutlass.Int8]
NARROW = [cutlass.Float4E2M1FN, cutlass.Float6E2M3FN, cutlass.Float6E3M2FN]
NUMPY = {"Float32": np.float32, "Float16": np.float16, "BFloat16": np.uint16, "Int32": np.int32, "Int8": np.int8}


def show(kernel, label, *arrays, threads=1):
    @cute.jit
    def launched(*tensors):
        kernel(*tensors).launch(grid=(1, 1, 1), block=(threads, 1, 1))

    try:
        launched(*(from_dlpack(array, assumed_align=16) for array in arrays))
        print(label, arrays[-1].tolist(), flush=True)
    except Exception:
        print(label, "refused", flush=True)


def bytes_of(dtype):
    return np.arange(COUNT * dtype.width // 8, dtype=np.uint8) * 37 + 16


# --- memory ---------------------------------------------------------------------------------------------------------


def whole(src, dst):
    dst.store(src.load())


def copied(src, dst):
    cute.autovec_copy(src, dst)


def one_tile_to_another(src, dst):
    cute.autovec_copy(cute.zipped_divide(src, (8,))[None, 1], cute.zipped_divide(dst, (8,))[None, 2])


def a_tile_a_thread(src, dst):
    thread = cute.arch.thread_idx()[0]
    cute.autovec_copy(cute.zipped_divide(src, (8,))[None, thread], cute.zipped_divide(dst, (8,))[None, 7 - thread])


def by_an_atom(src, dst):
    atom = cute.make_copy_atom(cute.nvgpu.CopyUniversalOp(), src.element_type, num_bits_per_copy=32)
    cute.copy(atom, cute.logical_divide(src, cute.make_layout(8)), cute.logical_divide(dst, cute.make_layout(8)))


def through_registers(src, dst):
    fragment = cute.make_fragment_like(src)
    cute.autovec_copy(src, fragment)
    dst.store(fragment.load())


def two_rows(src, dst):
    rows = cute.make_tensor(src.iterator, cute.make_layout((16, 2), stride=(1, 32)))
    cute.make_tensor(dst.iterator + 8, cute.make_layout((16, 2))).store(rows.load())


def in_memory(dtype, body, threads=1):
    @cute.kernel
    def kernel(src: cute.Tensor, dst: cute.Tensor):
        body(cute.recast_tensor(src, dtype), cute.recast_tensor(dst, dtype))

    src = bytes_of(dtype)
    show(kernel, f"{dtype.__name__} {body.__name__}", src, np.zeros_like(src), threads=threads)


# --- conversions ----------------------------------------------------------------------------------------------------


def converted(source, target):
    """NUMBERS as `source`, then as `target`; the bytes they are, and what they are in Float32."""

    @cute.kernel
    def kernel(numbers: cute.Tensor, out: cute.Tensor):
        held = cute.make_rmem_tensor(32, target)
        held.store(numbers.load().to(source).to(target))
        cute.autovec_copy(cute.recast_tensor(held, cutlass.Uint8), out)

    show(
        kernel,
        f"{source.__name__} to {target.__name__}",
        np.array(NUMBERS, np.float32),
        np.zeros(4 * target.width, np.uint8),
    )


def back(source, target):
    """Every code of `source` as `target`."""
    count = 1 << source.width
    bits = np.arange(count, dtype=np.uint8)
    codes = np.packbits((bits[:, None] >> np.arange(source.width)) & 1, bitorder="little")

    @cute.kernel
    def kernel(codes: cute.Tensor, out: cute.Tensor):
        held = cute.make_rmem_tensor(count, source)
        cute.autovec_copy(codes, cute.recast_tensor(held, cutlass.Uint8))
        made = cute.make_rmem_tensor(count, target)
        made.store(held.load().to(target))
        cute.autovec_copy(cute.recast_tensor(made, cutlass.Uint8), out)

    show(kernel, f"{source.__name__} back to {target.__name__}", codes, np.zeros(count * target.width // 8, np.uint8))


def of_int4():
    @cute.kernel
    def kernel(numbers: cute.Tensor, out: cute.Tensor):
        held = cute.make_rmem_tensor(16, cutlass.Int32)
        held.store(numbers.load())
        a = held.load().to(cutlass.Int4)
        results = [a, a + a, a * a, a - a * a, a & (a + a), a ^ a * a]
        for k in cutlass.range_constexpr(len(results)):
            cute.make_tensor(out.iterator + 16 * k, cute.make_layout(16)).store(results[k].to(cutlass.Int32))

    show(kernel, "Int4 arithmetic", np.arange(-8, 24, 2, dtype=np.int32), np.zeros(96, np.int32))


# --- texts ----------------------------------------------------------------------------------------------------------


@cute.jit
def texts(dtype: cutlass.Constexpr):
    held = cute.make_rmem_tensor(cute.make_layout((16, 2)), dtype)
    print(held, held.load(), cute.recast_tensor(held, cutlass.Uint8), cute.recast_tensor(held, cutlass.Int32))
    print(held.iterator, held.iterator + 1, held.iterator + 4, held.iterator + 16)
    print(cute.size_in_bytes(dtype, cute.make_layout(13)), cute.cosize(held.layout), dtype.width, dtype.bytes)
    print(
        cute.recast_layout(dtype.width, 8, cute.make_layout(24)),
        cute.recast_layout(8, dtype.width, cute.make_layout(24)),
    )
    print(cute.full((16,), 1.5, dtype) if cutlass.const_expr(dtype.is_float) else "", cute.make_fragment_like(held))
    bits = cute.make_rmem_tensor(12, cutlass.Uint8).load().bitcast(dtype)
    print(bits, bits.bitcast(cutlass.Uint8))


@cute.jit
def addresses(tensor: cute.Tensor, n: cutlass.Int32):
    start = cute.recast_ptr(tensor.iterator, dtype=cutlass.Float4E2M1FN)
    for offset in (0, 1, 2, 3, 7, 8):
        cute.printf("{}", (start + offset).toint() - start.toint())
    cute.printf(
        "{} {} {}",
        (start + n).toint() - start.toint(),
        (start + 2 * n).toint() - start.toint(),
        ((start + 1) + n).toint() - start.toint(),
    )


def main():
    if sys.argv[1:] == ["short"]:
        texts(cutlass.Float4E2M1FN)
        in_memory(cutlass.Int4, two_rows)
        converted(cutlass.Float32, cutlass.Float4E2M1FN)
        return
    for dtype in (cutlass.Int4, cutlass.Float4E2M1FN):
        texts(dtype)
        for body in (whole, copied, one_tile_to_another, by_an_atom, through_registers, two_rows):
            in_memory(dtype, body)
        in_memory(dtype, a_tile_a_thread, threads=8)
    addresses(from_dlpack(np.zeros(8, np.uint8)), 5)
    for narrow in NARROW:
        for wide in WIDE:
            converted(wide, narrow)
            back(narrow, wide)
    for wide in WIDE:
        back(cutlass.Int4, wide)
    of_int4()


main()
