"""Kernels that Triton compiles to wgmma and TMA, for test_wgmma.py and test_descriptors.py."""

import triton
import triton.language as tl


@triton.jit
def product(a_ptr, b_ptr, c_ptr, N, K, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr, BY_K: tl.constexpr):
    """C = A * B, a block of C each; B as (K, N), or as (N, K) where BY_K."""
    blocks = tl.cdiv(N, BN)
    rows = tl.program_id(0) // blocks * BM + tl.arange(0, BM)
    columns = tl.program_id(0) % blocks * BN + tl.arange(0, BN)
    ks = tl.arange(0, BK)
    a = a_ptr + rows[:, None] * K + ks[None, :]
    step_k = 1 if BY_K else N
    step_n = K if BY_K else 1
    b = b_ptr + ks[:, None] * step_k + columns[None, :] * step_n
    total = tl.zeros((BM, BN), dtype=tl.float32)
    for _ in range(0, tl.cdiv(K, BK)):
        total = tl.dot(tl.load(a), tl.load(b), total)
        a += BK
        b += BK * step_k
    tl.store(c_ptr + rows[:, None] * N + columns[None, :], total)


@triton.jit
def attention(q_ptr, k_ptr, v_ptr, o_ptr, length, BM: tl.constexpr, BN: tl.constexpr, D: tl.constexpr):
    """softmax2(Q K^T) V, a block of Q each."""
    rows, d, columns = tl.program_id(0) * BM + tl.arange(0, BM), tl.arange(0, D), tl.arange(0, BN)
    q = tl.load(q_ptr + rows[:, None] * D + d[None, :])
    most = tl.full((BM,), float("-inf"), tl.float32)
    total = tl.zeros((BM,), tl.float32)
    o = tl.zeros((BM, D), tl.float32)
    for n in range(0, length, BN):
        s = tl.dot(q, tl.load(k_ptr + (n + columns)[None, :] * D + d[:, None]))
        now = tl.maximum(most, tl.max(s, 1))
        p, scale = tl.exp2(s - now[:, None]), tl.exp2(most - now)
        total = total * scale + tl.sum(p, 1)
        o = tl.dot(p.to(tl.float16), tl.load(v_ptr + (n + columns)[:, None] * D + d[None, :]), o * scale[:, None])
        most = now
    tl.store(o_ptr + rows[:, None] * D + d[None, :], o / total[:, None])


@triton.jit
def product_by_own_descriptors(a_ptr, b_ptr, c_ptr, M, N, K, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr,
                               SPECIALISED: tl.constexpr):  # fmt: skip
    """C = A * B, B as (N, K); each block makes its tensor maps in global memory."""
    a = tl.make_tensor_descriptor(a_ptr, [M, K], [K, 1], [BM, BK])
    b = tl.make_tensor_descriptor(b_ptr, [N, K], [K, 1], [BN, BK])
    c = tl.make_tensor_descriptor(c_ptr, [M, N], [N, 1], [BM, BN])
    row, column = tl.program_id(0) * BM, tl.program_id(1) * BN
    total = tl.zeros((BM, BN), dtype=tl.float32)
    for k in tl.range(0, tl.cdiv(K, BK), warp_specialize=SPECIALISED):
        total = tl.dot(a.load([row, k * BK]), b.load([column, k * BK]).T, total)
    c.store([row, column], total.to(tl.float16))


@triton.jit
def product_by_descriptors(a, b, c, K, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr, SPECIALISED: tl.constexpr):
    """The same by descriptors that the host made."""
    row, column = tl.program_id(0) * BM, tl.program_id(1) * BN
    total = tl.zeros((BM, BN), dtype=tl.float32)
    for k in tl.range(0, tl.cdiv(K, BK), warp_specialize=SPECIALISED):
        total = tl.dot(a.load([row, k * BK]), b.load([column, k * BK]).T, total)
    c.store([row, column], total.to(tl.float16))


@triton.jit
def persistent_product(a, b, c, M, N, K, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr, BLOCKS: tl.constexpr,
                       FLAT: tl.constexpr, SPECIALISED: tl.constexpr):  # fmt: skip
    """Few blocks go over all tiles of C."""
    columns = tl.cdiv(N, BN)
    tiles = tl.cdiv(M, BM) * columns
    for tile in tl.range(tl.program_id(0), tiles, BLOCKS, flatten=FLAT, warp_specialize=SPECIALISED):
        row, column = tile // columns * BM, tile % columns * BN
        total = tl.zeros((BM, BN), dtype=tl.float32)
        for k in range(tl.cdiv(K, BK)):
            total = tl.dot(a.load([row, k * BK]), b.load([column, k * BK]).T, total)
        c.store([row, column], total.to(tl.float16))


@triton.jit
def attention_by_descriptors(q, k, v, o, length, BM: tl.constexpr, BN: tl.constexpr, D: tl.constexpr,
                             SPECIALISED: tl.constexpr):  # fmt: skip
    """softmax2(Q K^T) V, a block of Q each."""
    row = tl.program_id(0) * BM
    queries = q.load([row, 0])
    most = tl.full((BM,), float("-inf"), tl.float32)
    total = tl.zeros((BM,), tl.float32)
    sums = tl.zeros((BM, D), tl.float32)
    for n in tl.range(0, length, BN, warp_specialize=SPECIALISED):
        s = tl.dot(queries, k.load([n, 0]).T)
        now = tl.maximum(most, tl.max(s, 1))
        p, scale = tl.exp2(s - now[:, None]), tl.exp2(most - now)
        total = total * scale + tl.sum(p, 1)
        sums = tl.dot(p.to(tl.float16), v.load([n, 0]), sums * scale[:, None])
        most = now
    o.store([row, 0], (sums / total[:, None]).to(tl.float16))


@triton.jit
def add_tiles(a, c, ROWS: tl.constexpr, COLUMNS: tl.constexpr):
    """Each block adds its tile of A to the one tile of C."""
    c.atomic_add([0, 0], a.load([tl.program_id(0) * ROWS, 0]))


@triton.jit
def transpose(a, c, ROWS: tl.constexpr, COLUMNS: tl.constexpr):
    """Tiles of which the last ones reach over the edges."""
    row, column = tl.program_id(0) * ROWS, tl.program_id(1) * COLUMNS
    c.store([column, row], a.load([row, column]).T)


@triton.jit
def scaled_product(a_ptr, a_scale_ptr, b_ptr, b_scale_ptr, c_ptr, N, K, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr,
                   OF_A: tl.constexpr, OF_B: tl.constexpr, PACK_A: tl.constexpr, PACK_B: tl.constexpr,
                   SIZE: tl.constexpr):  # fmt: skip
    """C = A * B with a scale for SIZE elements along K; B as (N, K). Elements of 4 bits lie two in a byte."""
    rows, columns = tl.program_id(0) * BM + tl.arange(0, BM), tl.program_id(1) * BN + tl.arange(0, BN)
    ka, kb, ks = tl.arange(0, BK // PACK_A), tl.arange(0, BK // PACK_B), tl.arange(0, BK // SIZE)
    total = tl.zeros((BM, BN), dtype=tl.float32)
    for k in range(0, K, BK):
        a = tl.load(a_ptr + rows[:, None] * (K // PACK_A) + k // PACK_A + ka[None, :])
        b = tl.load(b_ptr + columns[None, :] * (K // PACK_B) + k // PACK_B + kb[:, None])
        a_scale = tl.load(a_scale_ptr + rows[:, None] * (K // SIZE) + k // SIZE + ks[None, :])
        b_scale = tl.load(b_scale_ptr + columns[:, None] * (K // SIZE) + k // SIZE + ks[None, :])
        total = tl.dot_scaled(a, a_scale, OF_A, b, b_scale, OF_B, total)
    tl.store(c_ptr + rows[:, None] * N + columns[None, :], total)
