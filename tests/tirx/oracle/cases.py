"""Programs of T, each with its arguments: what apache-tvm makes of them is held against what we make of them.

Run as a program it prints JSON: under `python -m dsl` the arrays after each kernel, with the real package the CUDA C++
of all kernels.
"""

import json
import sys

import numpy as np
import tvm
from tvm.script import tirx as T

N = 64
CASES = {}


def numbers(dtype, low=-100, high=100, seed=0, count=N):
    rng = np.random.default_rng(seed)
    made = rng.uniform(low, high, count) if np.dtype(dtype).kind == "f" else rng.integers(low, high, count)
    return made.astype(dtype)


def zeros(dtype, count=N):
    return np.zeros(count, dtype)


@T.prim_func
def branches(A: T.Buffer((64,), "float32"), O: T.Buffer((64,), "float32")):
    T.device_entry()
    bx = T.cta_id([1])
    tx = T.thread_id([64])
    if A[tx] > 10.0 and tx % 2 == 0:
        O[tx] = A[tx] * 2.0
    elif 0 < tx < 20 or not (A[tx] > -20.0):
        O[tx] = A[tx] - 1
    else:
        O[tx] = T.if_then_else(tx > 40, A[tx - 1], 3) + T.Select(A[tx] > 0.0, A[tx], T.float32(-1))


CASES["branches"] = branches, (numbers("float32"), zeros("float32"))


@T.prim_func
def divisions(A: T.Buffer((64,), "int32"), B: T.Buffer((64,), "int32"), O: T.Buffer((384,), "int32")):
    T.device_entry()
    bx = T.cta_id([1])
    tx = T.thread_id([64])
    O[tx] = A[tx] // B[tx]
    O[64 + tx] = A[tx] % B[tx]
    O[128 + tx] = A[tx] // (0 - B[tx]) + A[tx] % (0 - B[tx]) * 1000
    O[192 + tx] = T.truncdiv(A[tx], B[tx]) + T.truncmod(A[tx], B[tx]) * 1000
    O[256 + tx] = A[tx] // 8 + A[tx] % 16 * 1000
    O[320 + tx] = T.ceildiv(A[tx], 5) + T.shift_right(A[tx], 2) * 1000


CASES["divisions"] = divisions, (numbers("int32"), numbers("int32", 1, 9, 1), zeros("int32", 384))


@T.prim_func
def promotions(
    A: T.Buffer((64,), "int8"),
    B: T.Buffer((64,), "uint8"),
    C: T.Buffer((64,), "int32"),
    D: T.Buffer((64,), "float32"),
    O: T.Buffer((64,), "float32"),
    P: T.Buffer((64,), "int64"),
    Q: T.Buffer((64,), "uint32"),
):
    T.device_entry()
    bx = T.cta_id([1])
    tx = T.thread_id([64])
    O[tx] = A[tx] + D[tx] * B[tx] - C[tx]
    P[tx] = T.int64(A[tx]) * C[tx] + B[tx]
    Q[tx] = T.uint32(A[tx]) + T.uint32(B[tx]) * T.uint32(C[tx])


CASES["promotions"] = (
    promotions,
    (
        numbers("int8"),
        numbers("uint8", 0, 255, 1),
        numbers("int32", seed=2),
        numbers("float32", seed=3),
        zeros("float32"),
        zeros("int64"),
        zeros("uint32"),
    ),
)


@T.prim_func
def casts(
    A: T.Buffer((64,), "float32"),
    O: T.Buffer((64,), "int32"),
    P: T.Buffer((64,), "int8"),
    Q: T.Buffer((64,), "uint8"),
    H: T.Buffer((64,), "float16"),
):
    T.device_entry()
    bx = T.cta_id([1])
    tx = T.thread_id([64])
    O[tx] = T.int32(A[tx])
    P[tx] = T.int8(T.int32(A[tx]))
    Q[tx] = T.uint8(T.int32(A[tx]))
    H[tx] = T.float16(A[tx]) * T.float16(0.5)


CASES["casts"] = casts, (numbers("float32", -300, 300), zeros("int32"), zeros("int8"), zeros("uint8"), zeros("float16"))


@T.prim_func
def functions(A: T.Buffer((64,), "float32"), O: T.Buffer((704,), "float32")):
    T.device_entry()
    bx = T.cta_id([1])
    tx = T.thread_id([64])
    O[tx] = T.exp(A[tx])
    O[64 + tx] = T.log(A[tx])
    O[128 + tx] = T.sqrt(A[tx])
    O[192 + tx] = T.sin(A[tx]) + T.cos(A[tx])
    O[256 + tx] = T.tanh(A[tx])
    O[320 + tx] = T.pow(A[tx], T.float32(1.5))
    O[384 + tx] = T.floor(A[tx]) + T.ceil(A[tx]) * 10.0 + T.trunc(A[tx]) * 100.0
    O[448 + tx] = T.round(A[tx] * 2.0)
    O[512 + tx] = T.max(A[tx], 2.0) + T.min(A[tx], 3.0)
    O[576 + tx] = T.sigmoid(A[tx]) + T.exp2(A[tx]) + T.log2(A[tx])
    O[640 + tx] = T.fmod(A[tx], T.float32(0.7)) + T.erf(A[tx])


CASES["functions"] = functions, (numbers("float32", 0.1, 5), zeros("float32", 704))


@T.prim_func
def loops(A: T.Buffer((64,), "int32"), O: T.Buffer((64,), "int32")):
    T.device_entry()
    bx = T.cta_id([1])
    tx = T.thread_id([64])
    s: T.int32 = 0
    for i in range(10):
        if i == 3:
            continue
        if A[tx] > 50 and i == 7:
            break
        s = s + A[i] * i
    for i in T.serial(2, 20, step=3):
        s += i
    for i, j in T.grid(3, 4):
        s += i * 4 + j
    for k in T.unroll(4):
        s += A[k] * k
    c: T.int32 = A[tx]
    while c > 0:
        s += 1
        c = c // 2
        if s > 5000:
            break
    O[tx] = s


CASES["loops"] = loops, (numbers("int32"), zeros("int32"))


@T.prim_func
def registers(A: T.Buffer((64,), "float32"), O: T.Buffer((64,), "float32")):
    T.device_entry()
    bx = T.cta_id([1])
    tx = T.thread_id([64])
    x = A[tx]
    y = x
    y = y + 1.0
    n = 3
    half: T.let = n * 2
    acc: T.f32[4]
    for i in range(4):
        acc[i] = x * i
    t: T.float32 = 0
    for i in range(4):
        t += acc[3 - i] * (i + 1)
    O[tx] = x * 1000.0 + y * half + t


CASES["registers"] = registers, (numbers("float32"), zeros("float32"))


@T.prim_func
def shared(A: T.Buffer((128,), "float32"), O: T.Buffer((128,), "float32")):
    T.device_entry()
    bx = T.cta_id([1])
    tx = T.thread_id([128])
    sm = T.alloc_shared((128,), "float32")
    dy = T.alloc_buffer((128,), "float32", scope="shared.dyn")
    sm[tx] = A[tx]
    dy[tx] = A[127 - tx]
    T.cuda.cta_sync()
    O[tx] = sm[127 - tx] * 2.0 + dy[tx ^ 1]


CASES["shared"] = shared, (numbers("float32", count=128), zeros("float32", 128))


@T.prim_func
def lanes(A: T.Buffer((32,), "float32"), O: T.Buffer((160,), "float32"), B: T.Buffer((64,), "uint32")):
    T.device_entry()
    bx = T.cta_id([1])
    warp = T.warp_id([1])
    lane = T.lane_id([32])
    v: T.float32 = A[lane]
    O[lane] = T.tvm_warp_shuffle(0xFFFFFFFF, v, 5, 32, 32)
    O[32 + lane] = T.tvm_warp_shuffle_up(0xFFFFFFFF, v, 3, 32, 32)
    O[64 + lane] = T.tvm_warp_shuffle_down(0xFFFFFFFF, v, 2, 32, 32)
    O[96 + lane] = T.tvm_warp_shuffle_xor(0xFFFFFFFF, v, 1, 32, 32)
    O[128 + lane] = T.cuda.warp_sum(v, width=8) + T.cuda.warp_max(v)
    B[lane] = T.cuda.ballot_sync(T.uint32(0xFFFFFFFF), lane % 3 == 0)
    B[32 + lane] = T.cuda.reduce_add_sync_u32(T.uint32(0xFFFFFFFF), T.uint32(lane))


CASES["lanes"] = lanes, (numbers("float32", count=32), zeros("float32", 160), zeros("uint32", 64))


@T.prim_func
def reduction(A: T.Buffer((128,), "float32"), O: T.Buffer((128,), "float32")):
    T.device_entry()
    bx = T.cta_id([1])
    warp = T.warp_id([4])
    lane = T.lane_id([32])
    tx = T.thread_id([128])
    scratch = T.alloc_shared((4,), "float32")
    O[tx] = T.cuda.cta_sum(A[tx], 4, scratch.ptr_to([0]))


CASES["reduction"] = reduction, (numbers("float32", count=128), zeros("float32", 128))


@T.prim_func
def vectors(A: T.Buffer((64,), "float32"), O: T.Buffer((64,), "float32")):
    T.device_entry()
    bx = T.cta_id([1])
    tx = T.thread_id([16])
    for i in T.vectorized(4):
        O[tx * 4 + i] = A[tx * 4 + i] * 2.0 + 1.0


CASES["vectors"] = vectors, (numbers("float32"), zeros("float32"))


@T.prim_func
def ids(O: T.Buffer((1536,), "int32")):
    T.device_entry()
    bx, by = T.cta_id([2, 3])
    wg = T.warpgroup_id([2])
    w = T.warp_id_in_wg([4])
    lane = T.lane_id([32])
    t = T.thread_id_in_wg([128])
    tx = T.thread_id([256])
    O[(by * 2 + bx) * 256 + tx] = ((((by * 10 + bx) * 10 + wg) * 10 + w) * 100 + lane) * 1000 + t


CASES["ids"] = ids, (zeros("int32", 1536),)


@T.prim_func
def bits(A: T.Buffer((64,), "uint32"), O: T.Buffer((320,), "uint32")):
    T.device_entry()
    bx = T.cta_id([1])
    tx = T.thread_id([64])
    O[tx] = (A[tx] & T.uint32(255)) | (A[tx] >> T.uint32(24))
    O[64 + tx] = (A[tx] << T.uint32(3)) ^ (~A[tx])
    O[128 + tx] = T.popcount(A[tx])
    O[192 + tx] = T.reinterpret("uint32", T.float32(tx) * T.float32(0.5))
    O[256 + tx] = A[tx] // T.uint32(7) + A[tx] % T.uint32(10)


CASES["bits"] = bits, (numbers("uint32", 0, 1 << 31), zeros("uint32", 320))


@T.prim_func
def atomics(I: T.Buffer((4,), "int32"), F: T.Buffer((1,), "float32")):
    T.device_entry()
    bx = T.cta_id([2])
    tx = T.thread_id([32])
    T.cuda.atomic_add(I.ptr_to([1]), T.int32(2))
    T.cuda.atomic_add(F.data, T.float32(0.5))
    if tx == 0:
        T.cuda.atomic_cas(I.ptr_to([2]), T.int32(0), T.int32(7))


CASES["atomics"] = atomics, (zeros("int32", 4), zeros("float32", 1))


def target():
    return tvm.target.Target({"kind": "cuda", "arch": "sm_90a"})


def results() -> dict:
    """The arrays after each kernel, as ours computes them."""
    found = {}
    for name, (function, arguments) in CASES.items():
        given = [tvm.runtime.tensor(argument, device=tvm.cuda(0)) for argument in arguments]
        tvm.compile(function, target=target())(*given)
        found[name] = [tensor.numpy().tolist() for tensor in given]
    return found


def cuda_source() -> str:
    """The CUDA C++ that apache-tvm makes of all kernels, in one text."""
    module = tvm.IRModule({name: function.with_attr("global_symbol", name) for name, (function, _) in CASES.items()})
    return tvm.compile(module, target=target(), tir_pipeline="tirx").mod.imports[0].inspect_source()


if __name__ == "__main__":
    print("JSON" + json.dumps(results() if tvm.__name__ == "dsl.tirx" else cuda_source()), flush=True)
    sys.stdout.flush()
