"""Prints what the scalar functions of cute.arch give: atomics, long and packed numbers, PTX text.
Run under both compilers."""

import cutlass
import cutlass.cute as cute
import numpy as np
from cutlass.cute.runtime import from_dlpack

arch = cute.arch


def show(kernel, *arrays, threads=1):
    @cute.jit
    def host(*tensors):
        kernel(*tensors).launch(grid=(1, 1, 1), block=(threads, 1, 1))

    host(*(from_dlpack(array, assumed_align=16) for array in arrays))
    print(kernel.__name__, arrays[-1].tolist(), flush=True)


@cute.kernel
def integers(old: cute.Tensor, words: cute.Tensor):
    i = arch.thread_idx()[0]
    old[0, i] = arch.atomic_add(words.iterator, i)
    old[1, i] = arch.atomic_max(words.iterator + 1, i - 5, sem="acquire", scope="cta")
    old[2, i] = arch.atomic_min(words.iterator + 2, i - 5, scope="sys")
    old[3, i] = arch.atomic_and(words.iterator + 3, ~(cutlass.Int32(1) << i), sem="release")
    old[4, i] = arch.atomic_or(words.iterator + 4, cutlass.Int32(1) << i, sem="acq_rel", scope="cluster")
    old[5, i] = arch.atomic_xor(words.iterator + 5, cutlass.Int32(3) << i)
    old[6, i] = arch.atomic_exch(words.iterator + 6, i)
    old[7, i] = arch.atomic_cas(words.iterator + 7, cmp=i, val=i + 1)
    arch.red(words.iterator + 8, i, op="add", dtype="s32", sem="relaxed", scope="gpu")
    arch.red(words.iterator + 9, i - 5, op="umax", dtype="s32", sem="release", scope="sys")
    arch.red(words.iterator + 10, i | 8, op="xor", dtype="b32", sem="relaxed", scope="cta")


@cute.kernel
def longs(words: cute.Tensor):
    i = cutlass.Int64(arch.thread_idx()[0])
    arch.atomic_add(words.iterator, i << 40)
    arch.atomic_add(words.iterator + 1, -i, scope="sys")
    arch.atomic_min(words.iterator + 2, -i, sem="release")
    arch.atomic_cas(words.iterator + 3, cmp=i, val=i + 1, sem="acq_rel", scope="sys")
    arch.red(words.iterator + 4, i, op="max", dtype=cutlass.Int64, sem="relaxed", scope="gpu")


@cute.kernel
def floats(values: cute.Tensor, words: cute.Tensor):
    for k in cutlass.range_constexpr(9):
        arch.atomic_fmax(words.iterator + k, values[k])
        arch.atomic_fmin(words.iterator + 9 + k, values[k])
    arch.atomic_fmax(words.iterator + 18, values[0], sign_bit=True)
    arch.atomic_max_float32(words.iterator + 19, values[3])
    arch.atomic_max_float32(words.iterator + 20, values[0], positive_only=False)
    arch.atomic_add(words.iterator + 21, values[3], scope="cta", sem="relaxed")
    words[22] = arch.atomic_exch(words.iterator + 23, values[3])
    arch.red(words.iterator + 24, values[3], op="add", dtype="f32", sem="relaxed", scope="gpu")


@cute.kernel
def halves(src: cute.Tensor, dst: cute.Tensor):
    arch.atomic_add(dst.iterator, src[0])
    arch.red(dst.iterator + 1, src[1], op="add", dtype=cutlass.Float16, sem="relaxed", scope="gpu")
    arch.atomic_cas(dst.iterator + 2, cmp=cutlass.Float16(0.0), val=src[2])
    pairs = [
        arch.add_packed_f16x2((src[0], src[1]), (src[2], src[3])),
        arch.sub_packed_f16x2((src[0], src[1]), (src[2], src[3])),
        arch.fma_packed_f16x2((src[0], src[1]), (src[2], src[3]), (src[4], src[5])),
        arch.add_packed_f16x2((src[0], src[1]), (src[2], src[3]), sat=True),
        arch.fma_packed_f16x2((src[6], src[7]), (src[6], src[7]), (src[4], src[4])),
        arch.fma_packed_f16x2((src[0], src[1]), (src[3], src[3]), (src[4], src[4]), relu=True),
        arch.exp2_packed_f16x2((src[2], src[3])),
    ]
    for k in cutlass.range_constexpr(len(pairs)):
        dst[4 + 2 * k], dst[5 + 2 * k] = pairs[k]


@cute.kernel
def brain(words: cute.Tensor, dst: cute.Tensor):
    dst[0] = arch.add_packed_bf16x2(words[0], words[1])
    dst[1] = arch.sub_packed_bf16x2(words[0], words[1], rnd="rn")
    dst[2] = arch.fma_packed_bf16x2(words[0], words[1], words[2])
    dst[3] = arch.fma_packed_bf16x2(words[0], words[1], words[2], relu=True)
    dst[4] = arch.exp2_packed_bf16x2(words[3])


@cute.kernel
def carries(a: cute.Tensor, out: cute.Tensor):
    out[0], out[1] = arch.add_cc(a[0], a[1]), arch.addc(a[2], a[3])
    out[2], out[3], out[4] = arch.add_cc(a[0], a[1]), arch.addc(a[0], a[1]), arch.addc(a[2], a[3])
    out[5], out[6] = arch.sub_cc(a[2], a[0]), arch.subc(a[3], a[1])
    out[7], out[8] = arch.mad_cc(a[0], a[3], a[1]), arch.madc(a[2], a[3], a[4])


@cute.kernel
def texts(a: cute.Tensor, out: cute.Tensor):
    out[0] = arch.inline_ptx(
        "add.s32 {$w0}, {$r0}, {$r1};", write_only_types=[cutlass.Int32], read_only_args=[a[1], a[2]]
    )
    out[1], out[2] = arch.inline_ptx(
        "add.s32 {$w0}, {$r0}, {$r1}; sub.s32 {$w1}, {$r2}, {$r0};",
        write_only_types=[cutlass.Int32, cutlass.Int32],
        read_only_args=[a[1], 7, a[2]],
    )
    arch.inline_ptx("bar.warp.sync {$r0};", read_only_args=[0xFFFFFFFF])
    out[3] = arch.load(a.iterator + 3, cutlass.Int32, sem="acquire", scope="gpu")
    out[4] = arch.load(a.iterator + 2, cutlass.Int8, cop="cg").to(cutlass.Int32)
    arch.store(out.iterator + 5, a[1] * 3, sem="release", scope="sys")
    arch.store(out.iterator + 6, a[2], level1_eviction_priority="evict_first")
    arch.prefetch(a.iterator, cache_level="L2")
    out[7] = arch.warp_reduction(a[1], lambda x, y: x * y, threads_in_group=8)


@cute.kernel
def vectors(src: cute.Tensor, out: cute.Tensor):
    eight = cute.make_tensor(src.iterator, cute.make_layout(8)).load().ir_value()
    four = cute.make_tensor(src.iterator, cute.make_layout(4)).load().ir_value()
    nibbles = cute.make_tensor(cute.recast_tensor(src, cutlass.Int4).iterator, cute.make_layout(8)).load().ir_value()
    made = [
        (arch.cvt_i8_bf16_intrinsic(eight, 8), 8, cutlass.BFloat16),
        (arch.cvt_i8x4_to_f32x4(four), 4, cutlass.Float32),
        (arch.cvt_i4x8_to_bf16x8(nibbles), 8, cutlass.BFloat16),
    ]
    at = 0
    for k in cutlass.range_constexpr(3):
        value, count, dtype = made[k]
        cute.make_tensor(out.iterator + at, cute.make_layout(count)).store(
            cute.TensorSSA(value, (count,), dtype).to(cutlass.Float32)
        )
        at += count


def main():
    old, words = np.zeros((8, 32), np.int32), np.array([100, 0, 0, -1, 0, 0, 7, 3, 5, 4, 6, 0], np.int32)
    show(integers, old, words, threads=32)
    print(sorted(old[0].tolist()), old[6].tolist().count(7))
    show(longs, np.array([1, 2, 3, 0, 5], np.int64), threads=8)
    values = np.array([-1.5, -0.0, 0.0, 2.5, np.inf, -np.inf, 1e-40, -1e-40, np.nan], np.float32)
    held = np.array(
        [1.0, -1.0, -2.0, 0.0, 3.0, -3.0, 0.0, 0.0, 5.0] * 2 + [-2.0, 1.0, -2.0, 1.0, 0.0, 4.0, 6.0], np.float32
    )
    show(floats, values, held)
    show(halves, np.array([1.5, -2.25, 0.1, 3.0, 1e-3, -65504, 255.9, 0.0999], np.float16), np.zeros(18, np.float16))
    show(brain, np.array([0x3FC0BF81, 0x40494049, 0x3F80C000, 0x3F80BF80], np.int32), np.zeros(5, np.int32))
    for dtype in (np.int32, np.uint32, np.int64):
        ones = np.array([-1, 1, 5, 7, 9]).astype(dtype)
        show(carries, ones, np.zeros(9, dtype))
    show(texts, np.array([1, 2, 300, 4], np.int32), np.zeros(8, np.int32), threads=32)
    show(vectors, np.array([16, -53, 90, 127, -128, 0, 7, -1], np.int8), np.zeros(20, np.float32))


main()
