"""Kernels that Triton compiles to wgmma, for test_wgmma.py."""

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
