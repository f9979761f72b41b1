"""Small kernels of T over every dtype and many constructs: their sources, and the arrays that they are called with."""

from __future__ import annotations

import numpy as np

HEAD = "import numpy as np\nimport tvm\nfrom tvm.script import tirx as T\n"
LAUNCH = (2, 1, 1), (32, 1, 1)
INTEGERS = [f"{sign}int{width}" for width in (8, 16, 32, 64) for sign in ("", "u")]
FLOATS = ["float16", "float32", "float64"]
OUTPUTS = "OPF"  # parameters of these names begin as zeros
SOURCES: dict[str, str] = {}
PARAMETERS: dict[str, list[tuple[str, str, int]]] = {}  # name, dtype, elements; the dtype "n" is a number


def case(name: str, parameters: str, *lines: str) -> None:
    """A kernel of two blocks of 32 threads; `i` is the thread's number in the grid."""
    PARAMETERS[name] = [(part[0], *_typed(part[2:])) for part in parameters.split()]
    typed = ", ".join(
        f'{p}: T.Buffer(({n},), "{dtype}")' if dtype != "n" else f"{p}: T.int32" for p, dtype, n in PARAMETERS[name]
    )
    body = ["T.device_entry()", "bx = T.cta_id([2])", "tx = T.thread_id([32])", "i: T.let = bx * 32 + tx", *lines]
    SOURCES[name] = f"{HEAD}@T.prim_func\ndef {name}({typed}):\n" + "".join(f"    {line}\n" for line in body)


def _typed(text: str) -> tuple[str, int]:
    dtype, _, count = text.partition("*")
    return dtype, int(count or 64)


def arguments(name: str) -> list[np.ndarray | int]:
    """The arguments of a kernel; the same in every run."""
    made = []
    for seed, (parameter, dtype, count) in enumerate(PARAMETERS[name]):
        made.append(
            count if dtype == "n" else np.zeros(count, dtype) if parameter in OUTPUTS else _numbers(dtype, count, seed)
        )
    return made


def _numbers(dtype: str, count: int, seed: int) -> np.ndarray:
    generator = np.random.default_rng(seed)
    if dtype.startswith("float"):
        return generator.uniform(-100, 100, count).astype(dtype)
    found = generator.integers(1 if dtype[0] == "u" else -100, 100, count)
    return np.where(found == 0, 3, found).astype(dtype)


def _rows(*values: str) -> list[str]:
    """O[i], O[64 + i], ... = values."""
    return [f"O[{64 * k} + i] = {value}" for k, value in enumerate(values)]


for d in INTEGERS:
    case(
        f"arithmetic_{d}",
        f"A:{d} B:{d} O:{d}*512",
        *_rows(
            "A[i] + B[i]",
            "A[i] - B[i]",
            "A[i] * B[i]",
            "A[i] // B[i]",
            "A[i] % B[i]",
            "T.max(A[i], B[i])",
            "T.min(A[i], B[i])",
            "(A[i] & B[i]) ^ (A[i] | B[i])",
        ),
    )
    case(
        f"compare_{d}",
        f"A:{d} B:{d} O:int32",
        "s: T.int32 = 0",
        "if A[i] < B[i]:",
        "    s += 1",
        "if A[i] <= B[i]:",
        "    s += 2",
        "if A[i] == B[i]:",
        "    s += 4",
        "if A[i] >= 5:",
        "    s += 8",
        "if A[i] != B[i] and A[i] > 3 or B[i] < 2:",
        "    s += 16",
        "O[i] = s",
    )
    case(f"shift_{d}", f"A:{d} O:{d}*192", *_rows("T.shift_left(A[i], 2)", "T.shift_right(A[i], 1)", "A[i] ^ 5"))
    case(
        f"mixed_{d}",
        f"A:{d} B:int32 C:float32 O:float32 P:int64",
        "O[i] = A[i] * C[i] + B[i]",
        "P[i] = A[i] + B[i] * 3 - 7",
    )
    case(
        f"sum_{d}",
        f"A:{d} O:{d}*2",
        f'sm = T.alloc_shared((32,), "{d}")',
        "sm[tx] = A[i]",
        "T.cuda.cta_sync()",
        "if tx == 0:",
        f"    t: T.{d} = 0",
        "    for j in range(32):",
        "        t += sm[j]",
        "    O[bx] = t",
    )
for d in FLOATS:
    case(
        f"floats_{d}",
        f"A:{d} B:{d} O:{d}*384",
        *_rows(
            "A[i] + B[i]",
            "A[i] - B[i]",
            "A[i] * B[i]",
            "A[i] / B[i]",
            "T.max(A[i], B[i])",
            "T.abs(A[i]) - T.min(A[i], B[i])",
        ),
    )
    case(
        f"choices_{d}",
        f"A:{d} B:{d} O:int32",
        "O[i] = T.if_then_else(A[i] < B[i], 1, 0) + T.Select(A[i] >= 0.0, 10, 20) + (100 if A[i] != B[i] else 200)",
    )
    case(f"rounded_{d}", f"A:{d} O:{d}*192", *_rows("T.floor(A[i])", "T.ceil(A[i])", "T.trunc(A[i])"))
for d in INTEGERS + FLOATS:
    for to in ("int8", "uint16", "int32", "uint32", "int64", *FLOATS):
        case(f"cast_{d}_{to}", f"A:{d} O:{to}", f"O[i] = T.{to}(A[i])")
case(
    "collatz",
    "A:int32 O:int32",
    "n: T.int32 = T.abs(A[i]) + 1",
    "c: T.int32 = 0",
    "while n != 1 and c < 200:",
    "    if n % 2 == 0:",
    "        n = n // 2",
    "    else:",
    "        n = n * 3 + 1",
    "    c += 1",
    "O[i] = c",
)
case(
    "exits",
    "A:int32 O:int32",
    "s = 0",
    "for a in range(6):",
    "    for b in T.serial(a, 9):",
    "        if a * b > 20:",
    "            break",
    "        if (a + b) % 3 == 0:",
    "            continue",
    "        s += a * 10 + b",
    "    if s > 300:",
    "        break",
    "O[i] = s + A[i]",
)
case(
    "pairs_of_grid",
    "A:int32 O:int32",
    "s = 0",
    "for a, b in T.grid((1, 3), (2, 4)):",
    "    s += a * 10 + b",
    "O[i] = s + A[i]",
)
case(
    "local_array",
    "A:float32 O:float32",
    "m: T.f32[3, 4]",
    "for a, b in T.grid(3, 4):",
    "    m[a, b] = A[(i + a * 4 + b) % 64]",
    "t: T.float32 = 0",
    "for b in range(4):",
    "    for a in range(3):",
    "        t += m[a, b] * (a + 1)",
    "O[i] = t",
)
case(
    "views",
    "A:float32 O:float32",
    'B = T.decl_buffer((8, 8), "float32", data=A.data)',
    'C = T.decl_buffer((16,), "float32", data=A.data, elem_offset=16)',
    "O[i] = B[i // 8, i % 8] + C[i % 16] * 2.0",
)
case(
    "transpose",
    "A:float32 O:float32",
    'sm = T.alloc_shared((8, 9), "float32")',
    "sm[tx // 8, tx % 8] = A[tx]",
    "sm[tx // 8 + 4, tx % 8] = A[tx + 32]",
    "T.cuda.cta_sync()",
    "if bx == 0:",
    "    O[tx] = sm[tx % 8, tx // 8]",
    "else:",
    "    O[32 + tx] = sm[tx % 8, tx // 8 + 4]",
)
case(
    "scan",
    "A:int32 O:int32",
    "v: T.int32 = A[i]",
    "for s in T.unroll(5):",
    "    u: T.int32 = T.tvm_warp_shuffle_up(0xFFFFFFFF, v, 1 << s, 32, 32)",
    "    if tx >= (1 << s):",
    "        v = v + u",
    "O[i] = v",
)
case(
    "shuffles",
    "A:float32 O:float32*192",
    *_rows(
        "T.tvm_warp_shuffle(0xFFFFFFFF, A[i], 3, 8, 32)",
        "T.tvm_warp_shuffle_down(0xFFFFFFFF, A[i], 2, 16, 32)",
        "T.tvm_warp_shuffle_xor(0xFFFFFFFF, A[i], 5, 32, 32)",
    ),
)
case(
    "atomics",
    "A:int32 O:int32*8 F:float32*2",
    "T.cuda.atomic_add(O.ptr_to([T.floormod(A[i], 8)]), T.int32(1))",
    "T.cuda.atomic_add(F.ptr_to([bx]), T.float32(1))",
)
case("guarded", "A:float32 O:float32", "O[i] = T.if_then_else(i > 0 and i < 63, A[i - 1] + A[i + 1], A[i])")
case(
    "augmented",
    "A:int32 O:int32",
    "x = A[i]",
    "x += 3",
    "x *= 2",
    "x -= i",
    "x //= 3",
    "x %= 7",
    "x <<= 2",
    "x |= 1",
    "x ^= 6",
    "x &= 31",
    "O[i] = x",
)
case(
    "vectorized",
    "A:float32 O:float32",
    "for v in T.vectorized(2):",
    "    if bx == 0:",
    "        O[tx * 2 + v] = A[tx * 2 + v] * 3.0 - 1.0",
)
case(
    "vectors",
    "A:float32 O:float32",
    "if i < 16:",
    '    v = A.vload([i * 4], "float32x4")',
    "    O.vstore([i * 4], v * T.Broadcast(T.float32(2), 4))",
)
case(
    "bits",
    "A:uint32 O:uint32*256",
    *_rows(
        "T.popcount(A[i])",
        'T.reinterpret("uint32", T.float32(A[i]))',
        "T.clz(A[i])",
        "A[i] // T.uint32(7) * T.uint32(3) + A[i] % T.uint32(5)",
    ),
)
case(
    "divisions",
    "A:int32 B:int32 O:int32*320",
    *_rows(
        "T.truncdiv(A[i], B[i])",
        "T.truncmod(A[i], B[i])",
        "T.floordiv(A[i], 0 - B[i])",
        "T.floormod(A[i], 0 - B[i])",
        "T.ceildiv(A[i], B[i])",
    ),
)
case(
    "chained",
    "A:int32 O:int32",
    "if 0 < A[i] < 30 <= A[i] + 20:",
    "    O[i] = 1",
    "elif not A[i] > 0:",
    "    O[i] = 2",
    "else:",
    "    O[i] = 3",
)
case(
    "bools",
    "A:int32 O:bool P:int32",
    "O[i] = A[i] > 3",
    "b: T.bool = A[i] % 2 == 0",
    "if b:",
    "    P[i] = 1",
    "if not b and O[i]:",
    "    P[i] = T.int32(O[i]) + 5",
)
case("scalar", "A:int32 O:int32 n:n*7", "if i < n * 4:", "    O[i] = A[i] * n", "for j in range(n):", "    O[i] += j")
case(
    "functions",
    "A:float32 O:float32*1216",
    *_rows(
        *(
            f"T.{name}(T.abs(A[i]) * T.float32(0.009) + T.float32(0.05))"
            for name in (
                "exp log sqrt rsqrt sin cos tanh exp2 log2 sigmoid tan atan asin acos sinh cosh log10 log1p erf"
            ).split()
        )
    ),
)
case(
    "functions_of_two",
    "A:float32 O:float32*256",
    "x: T.let = T.abs(A[i]) * T.float32(0.05)",
    *_rows(
        "T.pow(x, T.float32(2.5))",
        "T.fmod(A[i], T.float32(3.5))",
        "T.atan2(A[i], x + T.float32(1))",
        "T.copysign(x, A[i])",
    ),
)
case(
    "operators_by_name",
    "A:int32 O:int32*256",
    *_rows("T.Div(A[i], 3)", "T.Mod(A[i], 3)", "T.FloorDiv(A[i], 3)", "T.FloorMod(A[i], 3)"),
)
case(
    "scalars",
    "A:float32 O:float32",
    's = T.local_scalar("float32")',
    'p = T.shared_scalar("float32")',
    "s = A[i]",
    "if T.filter(tx, tx == 0):",
    "    p = T.float32(5)",
    "T.cuda.cta_sync()",
    "O[i] = s + p",
)
