"""Conversions and packed sums of the primitives API, a line a case, as bits; a tensor map that is copied."""

import cutlass
import cutlass.cute as cute
import torch
from cutlass import Float32, Int32, Vector
from cutlass.cute.runtime import from_dlpack
from cutlass.experimental import primitives as prims

E4M3, E5M2 = cutlass.Float8E4M3FN, cutlass.Float8E5M2
VALUES = [1.0, 2.5, -3.75, 0.1, 448.0, 500.0, -1e30, 70000.0, float("inf"), float("nan"), 1e-8, -1e-42, 1.0009765, -0.5,
          3.14159, 100000.7]  # fmt: skip


def vector(numbers, dtype):
    return Vector.from_elements([dtype(number) for number in numbers], dtype)


def pair(x, y):
    return vector((x, y), Float32)


def word(made):
    """The 32 bits of a vector of two halves; of what is narrower, the low 16."""
    if isinstance(made, Vector):
        return made.bitcast(Int32)[0]
    return Int32(made) & 0xFFFF


BYTES = dict(rnd="rn", sat="satfinite")
CASES = {
    "tf32 rna": lambda x, y: prims.convert_float_to_tf32(x, rnd="rna"),
    "tf32 rn": lambda x, y: prims.convert_float_to_tf32(x, rnd=prims.FPRoundingMode.RN),
    "tf32 rz relu": lambda x, y: prims.convert_float_to_tf32(x, rnd="rz", relu=True),
    "tf32 rna satfinite": lambda x, y: prims.convert_float_to_tf32(x, rnd="rna", sat="satfinite"),
    "integer": lambda x, y: prims.convert_float_to_integer(x),
    "integer rpi": lambda x, y: prims.convert_float_to_integer(x, rnd="rpi"),
    "integer signed": lambda x, y: prims.convert_float_to_integer(x, rnd="rzi", is_signed=True),
    "integer sat ftz": lambda x, y: prims.convert_float_to_integer(x, rnd="rmi", sat=True, ftz=True),
    "byte": lambda x, y: Int32(prims.convert_float_to_integer(x, rnd="rzi", result_type=cutlass.Int8)),
    "signed byte": lambda x, y: Int32(prims.convert_float_to_integer(y, result_type=cutlass.Int8, is_signed=True)),
    "e4m3": lambda x, y: word(prims.cvt_f32x2_to_f8x2(x, y, E4M3, **BYTES)),
    "e5m2 relu": lambda x, y: word(prims.cvt_f32x2_to_f8x2(x, y, E5M2, relu=True, **BYTES)),
    "f16 rn": lambda x, y: word(prims.convert(pair(x, y), cutlass.Float16, rnd="rn")),
    "f16 rz": lambda x, y: word(prims.convert(pair(x, y), cutlass.Float16, rnd="rz")),
    "f16 satfinite": lambda x, y: word(prims.convert(pair(x, y), cutlass.Float16, **BYTES)),
    "bf16 rz relu": lambda x, y: word(prims.convert(pair(x, y), cutlass.BFloat16, rnd="rz", relu=True)),
    "to e4m3": lambda x, y: word(prims.convert(pair(x, y), E4M3, **BYTES)),
    "bytes": lambda x, y: Int32(prims.convert(pair(x, y), E5M2, result_type=Vector[cutlass.Int8, 2], **BYTES)[1]),
    "from e4m3": lambda x, y: word(prims.convert(pair(x, y).to(E4M3), cutlass.Float16)),
    "from e5m2 relu": lambda x, y: word(prims.convert(pair(x, y).to(E5M2), cutlass.Float16, relu=True)),
    "f16 to e4m3": lambda x, y: word(prims.convert(pair(x, y).to(cutlass.Float16), E4M3)),
    "4 signed": lambda x, y: prims.dot_accumulate_4way(
        vector((1, 2, 3, -4), cutlass.Int8), "signed", vector((5, 6, 7, -8), cutlass.Int8), "signed", Int32(x)
    ),
    "4 mixed": lambda x, y: prims.dot_accumulate_4way(
        vector((1, 2, 3, -4), cutlass.Int8), "unsigned", vector((5, 6, 7, -8), cutlass.Int8), "signed", Int32(x)
    ),
    "2 high": lambda x, y: prims.dot_accumulate_2way(
        vector((1, -2), cutlass.Int16), "signed", vector((5, 6, 7, 8), cutlass.Int8), "signed", Int32(x), True
    ),
    "2 low": lambda x, y: prims.dot_accumulate_2way(
        vector((1, -2), cutlass.Int16), "unsigned", vector((5, 6, 7, 8), cutlass.Int8), "signed", Int32(x), False
    ),
}


@cute.kernel
def kernel(a: cute.Tensor, out: cute.Tensor):
    t, _, _ = cute.arch.thread_idx()
    prims.pmevent(event_id=3)
    prims.pmevent(mask=0b1010)
    for i, case in enumerate(CASES.values()):
        out[i, t] = case(a[2 * t], a[2 * t + 1])


@cute.jit
def host(a: cute.Tensor, out: cute.Tensor):
    kernel(a, out).launch(grid=(1, 1, 1), block=(8, 1, 1))


@cute.kernel
def copy_map(a: cutlass.Array, out: cutlass.Array):
    t, _, _ = cute.arch.thread_idx()
    there = cutlass.Array(Int32, (32,), space=cutlass.AddressSpace.smem, alignment=128)
    there[t] = a[t]
    cute.arch.sync_threads()
    prims.tensormap_cp_fenceproxy(out, there, 128, prims.MemScope.GPU)


@cute.jit
def host_of_map(a: cutlass.Array, out: cutlass.Array):
    copy_map(a, out).launch(grid=(1, 1, 1), block=(32, 1, 1))


values = torch.tensor(VALUES, device="cuda")
out = torch.zeros(len(CASES), 8, dtype=torch.int32, device="cuda")
host(from_dlpack(values), from_dlpack(out))
for name, row in zip(CASES, out.tolist()):
    print(name, *(f"{number & 0xFFFFFFFF:x}" for number in row))
a, out = torch.arange(32, dtype=torch.int32, device="cuda"), torch.zeros(32, dtype=torch.int32, device="cuda")
host_of_map(from_dlpack(a, assumed_align=128), from_dlpack(out, assumed_align=128))
print(torch.equal(a, out))
