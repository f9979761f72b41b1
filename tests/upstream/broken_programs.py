"""Programs of other people, each broken by one edit of a few words, for tests/upstream/reductions.py.

The passes of `repro reduce` were not tuned for those in `HELD_OUT`.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import NamedTuple

from third_party import HEAD

_CUTE = "examples/python/CuTeDSL"
_TIMED = ("--iterations", "1", "--warmup_iterations", "0")
RACE = ("--check", "race")
MARK = '"no barrier"'  # a statement without meaning, where one is missing
BARRIER = "self.cta_sync_barrier.arrive_and_wait()"
SYNC = "prims.barrier_cta_sync(0)"


class Broken(NamedTuple):
    """In `line` (1-based) of the file at `path` of a package's folder, `old` becomes `new`, words that it has nowhere else.

    `options` are options of `repro run`, and `keep` is the one of `repro reduce`. `head` and `tail` are put around a
    file that is not a program. `miscompiled`: what this compiler's LLVM IR has instead, as `old` and `new`; then the
    file stays as it is.
    """

    name: str
    path: str
    line: int
    old: str
    new: str
    arguments: tuple[str, ...] = ()
    options: tuple[str, ...] = ()
    package: str = "cutlass"
    head: str = ""
    tail: str = ""
    keep: str = ""
    miscompiled: tuple[str, str] = ("", "")

    def text(self, folders: Mapping[str, Path], cured: bool = False) -> str:
        """The broken program, which needs no arguments. Raises ValueError, OSError."""
        lines = (self.home(folders) / Path(self.path).name).read_text(encoding="utf-8").splitlines(keepends=True)
        if self.line and self.old not in lines[self.line - 1]:
            raise ValueError(f"{self.path}:{self.line} has not {self.old!r}: another version of {self.package}?")
        if self.line and not cured:
            lines[self.line - 1] = lines[self.line - 1].replace(self.old, self.words, 1)
        if self.arguments:
            lines.insert(0, f"import sys; sys.argv[1:] = {[*self.arguments]!r}\n")
        return self.head + "".join(lines) + self.tail

    @property
    def words(self) -> str:
        """The words that the program has instead; a statement that is removed leaves a mark."""
        return MARK if self.new == "pass" else self.new

    def home(self, folders: Mapping[str, Path]) -> Path:
        """The folder of its file."""
        return folders[self.package] / (_CUTE if self.package == "cutlass" else "") / Path(self.path).parent


_SGEMM = "cute/ampere/kernel/dense_gemm/sgemm.py"
_TENSOROP = "cute/ampere/kernel/dense_gemm/tensorop_gemm.py"
_FLASH = "cute/ampere/kernel/attention/flash_attention_v2.py"
_HSTU = "cute/ampere/kernel/attention/hstu_attention.py"
_NORM = "cute/hopper/kernel/cta_norm/cta_norm.py"
_HOPPER = "cute/hopper/kernel/dense_gemm/"
_PRIMITIVES = "experimental/primitives/"
_SGEMM_SIZE = ("--mnk", "128,128,32", *_TIMED)
_TENSOROP_SIZE = ("--mnkl", "128,128,64,1", *_TIMED)
_FLASH_SIZE = ("--batch_size", "1", "--seqlen_q", "128", "--seqlen_k", "128", "--num_head", "1", *_TIMED)
_HSTU_SIZE = ("--batch_size", "1", "--seqlen_q", "64", "--seqlen_kv", "64", "--num_head", "1")
_NORM_SIZE = ("--M", "32", "--N", "1024", *_TIMED)
_HOPPER_SIZE = ("--mnkl", "128,128,128,1", "--tile_shape_mn", "64,64")

_REDUCE = f"""
{HEAD}
import quack

library = sys.modules["quack.softmax"]
library.online_softmax_reduce = online_softmax_reduce

x = torch.randn(4, 4096, device="cuda")
close(library.softmax(x), F.softmax(x.cpu().double(), -1), 1e-5)
"""
_SOFTMAX = f"""
{HEAD}
x = torch.randn(6, 256, device="cuda")
close(softmax(x), F.softmax(x.cpu().double(), -1), 1e-5)
"""
_LIGER = f"""
{HEAD}
x, w = torch.randn(4, 250, device="cuda"), torch.randn(250, device="cuda")
close(LigerRMSNormFunction.apply(x, w, 1e-6), F.rms_norm(twin(x), (250,), twin(w), 1e-6), 1e-4)
"""
_FLASH_HEAD = """\
import os, sys, types
os.environ.update(FLASH_ATTENTION_ARCH="sm_80", CUTE_DSL_ARCH="sm_80", FLASH_ATTENTION_NUM_SMS="108")
library = types.ModuleType("flash_attn")
library.__path__ = [next(each for each in sys.path if os.path.isdir(each + "/flash_attn")) + "/flash_attn"]
sys.modules["flash_attn"] = library
"""
_FLASH_TAIL = f"""
{HEAD}
import flash_attn.cute.interface as interface

interface.FlashAttentionForwardSm80 = FlashAttentionForwardSm80
q, k, v = (torch.randn(1, 64, 1, 64, dtype=torch.float16, device="cuda") for _ in "qkv")
out = interface.flash_attn_func(q, k, v)
Q, K, V = (x[0, :, 0].cpu().double() for x in (q, k, v))
close(out[0] if isinstance(out, tuple) else out, ((Q @ K.T / 8).softmax(-1) @ V)[None, :, None], 5e-3)
"""

PROGRAMS = (
    Broken("sgemm, no barrier before the first read", _SGEMM, 512, BARRIER, "pass", _SGEMM_SIZE, RACE),
    Broken("sgemm, a tile off by one", _SGEMM, 291, "coord=tiler_coord", "coord=(bidx + 1, bidy, None)", _SGEMM_SIZE),
    Broken(
        "sgemm, no predicate of the result", _SGEMM, 625, "cute.elem_less(tCpC[i], (residue_m, residue_n))",
        "cutlass.Boolean(True)", ("--mnk", "120,128,32", *_TIMED),
    ),
    Broken("sgemm, a stage that is a float", _SGEMM, 499, "cutlass.Int32(", "cutlass.Float32(", _SGEMM_SIZE),
    Broken(
        "dense_gemm, a wrong layout", _HOPPER + "dense_gemm.py", 323, "self.b_layout.", "(self.a_layout).",
        (*_HOPPER_SIZE, "--b_major", "n"),
    ),
    Broken("tensorop_gemm, no barrier in the epilogue", _TENSOROP, 788, "cute.arch.sync_threads()", "pass", _TENSOROP_SIZE, RACE),
    Broken(
        "quack reduce, no barrier", "quack/reduce.py", 311, "cute.arch.barrier()", "pass", (), RACE, "quack",
        tail=_REDUCE,
    ),
    Broken("flash_attention, no barrier before Q K", _FLASH, 789, BARRIER, "pass", _FLASH_SIZE, RACE),
    Broken("flash_attention, a mask off by one", _FLASH, 997, "[3] + 1", "[3] + 0", (*_FLASH_SIZE, "--is_causal"), ()),
    Broken("hstu_attention, no barrier before Q K", _HSTU, 667, BARRIER, "pass", _HSTU_SIZE, RACE),
    Broken("cta_norm, no barrier in the sum", _NORM, 201, "cute.arch.sync_threads()", "pass", _NORM_SIZE, RACE),
    Broken("cta_norm, a wrong lane", _NORM, 198, "tidx & 31", "tidx & 15", _NORM_SIZE),
    Broken("dense_gemm, no proxy fence", _HOPPER + "dense_gemm.py", 1007, "async.shared", "alias", _HOPPER_SIZE, RACE),
    Broken(
        "flash_attn forward, no barrier before Q K", "flash_attn/cute/flash_fwd.py", 1127, "cute.arch.barrier()", "pass",
        (), RACE, "flash_attn", head=_FLASH_HEAD, tail=_FLASH_TAIL,
    ),
    Broken("async_pipeline, a wrong phase", _PRIMITIVES + "async_pipeline.py", 195, "& 1", "& 0", ()),
    Broken(
        "shfl_sync, a sum miscompiled as an exclusive or", _PRIMITIVES + "shfl_sync.py", 0, "", "",
        keep="differs ours nvidia", miscompiled=(r" = add (?:nsw )?i32 ", " = xor i32 "),
    ),
    Broken("bar_warp_sync, no barrier", _PRIMITIVES + "bar_warp_sync.py", 115, "prims.bar_warp_sync(cute.arch.FULL_MASK)", "pass", (), RACE),
    Broken("bar_warp_sync, the other mask", _PRIMITIVES + "bar_warp_sync.py", 258, "_HIGH_MASK", "_LOW_MASK | 0"),
    Broken("cp_async_bulk, waits for too few copies", _PRIMITIVES + "cp_async_bulk.py", 240, "(0)", "(1)", (), RACE),
    Broken("ldmatrix_stmatrix, no barrier", _PRIMITIVES + "ldmatrix_stmatrix.py", 228, SYNC, "pass", (), RACE),
    Broken("shfl_sync, a wrong clamp", _PRIMITIVES + "shfl_sync.py", 259, "_MAC_IDX_DOWN_BFLY", "_MAC_UP | 0"),
    Broken(
        "quack softmax, a row too many", "quack/softmax.py", 133, "< shape[0]", "<= shape[0]", (), RACE, "quack",
        tail=_SOFTMAX,
    ),
    Broken("block_smem_reduce, no barrier", _PRIMITIVES + "reduction/block_smem_reduce.py", 308, SYNC, "pass", (), RACE),
    Broken(
        "sgemm, software pipelining in 4.7.1", _SGEMM, 543, "range(k_tile_count)",
        "cutlass.range(k_tile_count, prefetch_stages=2)", _SGEMM_SIZE, keep="differs nvidia==4.7.1 nvidia==4.8.1",
    ),
    Broken("tma_pipeline_warpspec, a wrong phase", _PRIMITIVES + "tma/tma_pipeline_warpspec.py", 199, "& 1", "& 0"),
    Broken(
        "tma_load_store, no proxy fence", _PRIMITIVES + "tma/tma_load_store.py", 300,
        "prims.fence_proxy(prims.Proxy.ASYNC_SHARED, space=prims.SharedSpace.shared_cta)", "pass", (), RACE,
    ),
    Broken("tma_load_to_ldmatrix, no swizzle", _PRIMITIVES + "tma/tma_load_to_ldmatrix.py", 231, ".apply_swizzle(smem_sw)", " + 0 * 1"),
    Broken("tma_pipeline_count2, one arrival too few", _PRIMITIVES + "tma/tma_pipeline_count2.py", 147, "2)", "1 | 0)", (), RACE),
    Broken(
        "liger rms_norm, no barrier before the sum", "liger_kernel/ops/cutedsl/ops/rms_norm.py", 312, "cute.arch.barrier()",
        "pass", (), RACE, "liger", tail=_LIGER,
    ),
    Broken(
        "liger rms_norm, a mean of one too many", "liger_kernel/ops/cutedsl/ops/rms_norm.py", 317, "Float32(n_cols)",
        "Float32(n_cols + 1)", (), (), "liger", tail=_LIGER,
    ),
)  # fmt: skip
HELD_OUT = frozenset(each.name for each in PROGRAMS[2::3])
