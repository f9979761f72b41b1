"""Programs of NVIDIA/cutlass, each broken by one edit of a few words, for tests/upstream/reductions.py.

`HELD_OUT` are looked at only when the passes are tuned.
"""

from __future__ import annotations

from pathlib import Path
from typing import NamedTuple

_CUTE = "examples/python/CuTeDSL"
_TIMED = ("--iterations", "1", "--warmup_iterations", "0")
RACE = ("--check", "race")
BARRIER = "self.cta_sync_barrier.arrive_and_wait()"
SYNC = "prims.barrier_cta_sync(0)"


class Broken(NamedTuple):
    """In `line` (1-based) of the program at `path`, `old` becomes `new`. `options` are those of `python -m dsl`."""

    name: str
    path: str
    line: int
    old: str
    new: str
    arguments: tuple[str, ...] = ()
    options: tuple[str, ...] = ()

    def text(self, folder: Path, cured: bool = False) -> str:
        """The broken program, which needs no arguments. Raises ValueError, OSError."""
        lines = (folder / _CUTE / self.path).read_text(encoding="utf-8").splitlines(keepends=True)
        if self.old not in lines[self.line - 1]:
            raise ValueError(f"{self.path}:{self.line} has not {self.old!r}: another version of the repository?")
        if not cured:
            lines[self.line - 1] = lines[self.line - 1].replace(self.old, self.new, 1)
        if self.arguments:
            lines.insert(0, f"import sys; sys.argv[1:] = {[*self.arguments]!r}\n")
        return "".join(lines)


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
_NORM_SIZE = ("--M", "32", "--N", "1024", *_TIMED)
_HOPPER_SIZE = ("--mnkl", "128,128,128,1", "--tile_shape_mn", "64,64")

PROGRAMS = (
    Broken("sgemm, no barrier before the first read", _SGEMM, 512, BARRIER, "pass", _SGEMM_SIZE, RACE),
    Broken("sgemm, waits for too few copies", _SGEMM, 548, "k_pipe_max - 2", "k_pipe_max - 1", _SGEMM_SIZE, RACE),
    Broken(
        "sgemm, no predicate of the result", _SGEMM, 625, "cute.elem_less(tCpC[i], (residue_m, residue_n))",
        "cutlass.Boolean(True)", ("--mnk", "120,128,32", *_TIMED),
    ),
    Broken("sgemm, a stage that is a float", _SGEMM, 499, "cutlass.Int32(", "cutlass.Float32(", _SGEMM_SIZE),
    Broken("tensorop_gemm, no barrier before the first read", _TENSOROP, 664, "cute.arch.sync_threads()", "pass", _TENSOROP_SIZE, RACE),
    Broken("tensorop_gemm, no barrier in the epilogue", _TENSOROP, 788, "cute.arch.sync_threads()", "pass", _TENSOROP_SIZE, RACE),
    Broken("tensorop_gemm, waits for too few copies", _TENSOROP, 663, "num_smem_stages - 2", "num_smem_stages", _TENSOROP_SIZE, RACE),
    Broken("flash_attention, no barrier before Q K", _FLASH, 789, BARRIER, "pass", _FLASH_SIZE, RACE),
    Broken("flash_attention, a mask off by one", _FLASH, 997, "[3] + 1", "[3]", (*_FLASH_SIZE, "--is_causal"), ()),
    Broken("hstu_attention, no barrier before Q K", _HSTU, 667, BARRIER, "pass", (), RACE),
    Broken("cta_norm, no barrier in the sum", _NORM, 201, "cute.arch.sync_threads()", "pass", _NORM_SIZE, RACE),
    Broken("cta_norm, a wrong lane", _NORM, 198, "tidx & 31", "tidx & 15", _NORM_SIZE),
    Broken("dense_gemm, no proxy fence", _HOPPER + "dense_gemm.py", 1007, "async.shared", "alias", _HOPPER_SIZE, RACE),
    Broken(
        "dense_gemm, a stage released too early", _HOPPER + "dense_gemm.py", 862, "consumer_release_state",
        "consumer_read_state", _HOPPER_SIZE, RACE,
    ),
    Broken("async_pipeline, a wrong phase", _PRIMITIVES + "async_pipeline.py", 195, "& 1", "& 0", ()),
    Broken("async_pipeline, no barrier of the producer", _PRIMITIVES + "async_pipeline.py", 209,
           "prims.barrier_cta_sync(_PRODUCER_SYNC_BARRIER, thread_count=_WARP_SIZE)", "pass", (), RACE),
    Broken("bar_warp_sync, no barrier", _PRIMITIVES + "bar_warp_sync.py", 115, "prims.bar_warp_sync(cute.arch.FULL_MASK)", "pass", (), RACE),
    Broken("bar_warp_sync, the other mask", _PRIMITIVES + "bar_warp_sync.py", 258, "_HIGH_MASK", "_LOW_MASK"),
    Broken("cp_async_bulk, waits for too few copies", _PRIMITIVES + "cp_async_bulk.py", 240, "(0)", "(1)", (), RACE),
    Broken("ldmatrix_stmatrix, no barrier", _PRIMITIVES + "ldmatrix_stmatrix.py", 228, SYNC, "pass", (), RACE),
    Broken("shfl_sync, a wrong clamp", _PRIMITIVES + "shfl_sync.py", 259, "_MAC_IDX_DOWN_BFLY", "_MAC_UP"),
    Broken("redux_sync, another operation", _PRIMITIVES + "redux_sync.py", 130, "ReductionKind.ADD", "ReductionKind.XOR"),
    Broken("block_smem_reduce, no barrier", _PRIMITIVES + "reduction/block_smem_reduce.py", 308, SYNC, "pass", (), RACE),
    Broken(
        "cluster_smem_reduce, no barrier of the cluster", _PRIMITIVES + "reduction/cluster_smem_reduce.py", 230,
        "prims.barrier_cluster_arrive_relaxed()", "pass", (), RACE,
    ),
    Broken("tma_pipeline_warpspec, a wrong phase", _PRIMITIVES + "tma/tma_pipeline_warpspec.py", 199, "& 1", "& 0"),
    Broken(
        "tma_load_store, no proxy fence", _PRIMITIVES + "tma/tma_load_store.py", 300,
        "prims.fence_proxy(prims.Proxy.ASYNC_SHARED, space=prims.SharedSpace.shared_cta)", "pass", (), RACE,
    ),
    Broken("tma_load_to_ldmatrix, no swizzle", _PRIMITIVES + "tma/tma_load_to_ldmatrix.py", 231, ".apply_swizzle(smem_sw)", ""),
    Broken("tma_pipeline_count2, one arrival too few", _PRIMITIVES + "tma/tma_pipeline_count2.py", 147, "2)", "1)", (), RACE),
    Broken("softmax, no barrier in the maximum", _PRIMITIVES + "tutorial/06_softmax.py", 169, SYNC, "pass", (), RACE),
    Broken(
        "pipeline_software_fill, no barrier of the producer", _PRIMITIVES + "pipeline_software_fill.py", 169,
        "prims.barrier_cta_sync(0, thread_count=32)", "pass", (), RACE,
    ),
)  # fmt: skip
HELD_OUT = frozenset(each.name for each in PROGRAMS[2::3])
