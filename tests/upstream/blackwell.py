"""Run NVIDIA's Blackwell programs, compiled by NVIDIA's own compiler, on the emulator of the model that each is for:
under three schedules, and with the checks for races; print the outcomes as the tables of docs/blackwell.md.

NVIDIA/cutlass is not part of this repository: clone it and name its folder. Each program checks itself against torch.
"""

from __future__ import annotations

import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
if __name__ == "__main__":
    sys.path.insert(0, str(ROOT))

from tests.upstream import hopper  # noqa: E402
from tests.upstream.hopper import Program  # noqa: E402

EXAMPLES = """\
examples:
  git clone --depth 1 https://github.com/NVIDIA/cutlass
  uv run python tests/upstream/blackwell.py cutlass               the whole table, about two hours
  uv run python tests/upstream/blackwell.py cutlass dense_gemm    programs whose name has this in it
  uv run python tests/upstream/blackwell.py cutlass fmha --only race --verbose
exit status: 0 all passed or ended as is known, 1 some did not, 2 wrong usage
"""
# The features in the order of work; a program is under the last that it needs.
FEATURES = (
    "dense", "pairs of blocks", "A in tensor memory", "block scales", "cluster launch control", "tensor maps changed",
    "mma.sync",
)  # fmt: skip
DENSE, PAIRS, TENSOR_A, SCALES, CLC, MAPS, MMA_SYNC = FEATURES
NO_COMPILE = ("does not compile",)  # under 4.8.1, without this project too


def _each(folder: str, needs: str, *runs: str, model: str = "b200", known: tuple[str, ...] = ()) -> list[Program]:
    """Programs of a folder: `NAME ARGUMENTS` each."""
    parts = (run.partition(" ") for run in runs)
    return [Program(f"{folder}/{name}.py", rest, known, model, needs) for name, _, rest in parts]


_KERNEL, _GEMM = "cute/blackwell/kernel", "cute/blackwell/tutorial/tutorial_gemm"
_EXT, _PRIMITIVES = "cute_ext/blackwell", "experimental/primitives"
_TASKS = "experimental/task_scheduling/blackwell/tutorial"
_ONCE = "--iterations 1 --warmup_iterations 0"
_ONE_BLOCK = f"--mnkl 256,256,128,1 --mma_tiler_mn 128,128 --cluster_shape_mn 1,1 {_ONCE}"
_SMALL, _SQUARE = "--mnk 512,512,256", f"--mnkl 256,256,256,1 {_ONCE}"
PROGRAMS: tuple[Program, ...] = (
    *_each(_GEMM, DENSE, f"fp16_gemm_0 {_SMALL}"),
    *_each(_GEMM, PAIRS, f"fp16_gemm_1 {_SMALL}", f"fp16_gemm_2 {_SMALL}", f"fp16_gemm_3 {_SMALL}"),
    *_each(
        _GEMM, CLC,
        f"fp16_gemm_3_1 {_SMALL}", f"fp16_gemm_4 {_SMALL}", f"fp16_gemm_5 {_SMALL}", f"fp16_gemm_6 {_SMALL}",
    ),
    *_each(_GEMM, SCALES, "nvfp4_gemm_0 --mnkl 256,256,256,1", "nvfp4_gemm_1 --mnkl 256,256,256,1"),
    *_each(
        f"{_KERNEL}/dense_gemm", DENSE,
        f"dense_gemm {_ONE_BLOCK}", f"dense_gemm_persistent {_ONE_BLOCK}",
        f"dense_gemm_persistent_prefetch {_ONE_BLOCK}", f"dense_gemm_software_pipeline {_ONE_BLOCK}",
    ),
    # lane 0 of each warp gives a slot back that all lanes have read, with no barrier of the warp
    *_each(f"{_KERNEL}/dense_gemm", DENSE, f"dense_gemm_alpha_beta_persistent {_ONE_BLOCK}", known=("`RACE`",)),
    *_each(f"{_KERNEL}/dense_gemm", CLC, f"dense_gemm_persistent_dynamic {_ONE_BLOCK}"),
    *_each(
        f"{_KERNEL}/blockscaled_gemm", SCALES,
        *(f"{name} --mnkl 512,256,256,1 {_ONCE}" for name in (
            "dense_blockscaled_gemm_persistent", "dense_blockscaled_gemm_persistent_amax",
            "dense_blockscaled_gemm_persistent_prefetch",
        )),
    ),
    *_each(f"{_KERNEL}/blockscaled_gemm", SCALES,
           f"sm103_dense_blockscaled_gemm_persistent --mnkl 256,256,768,1 {_ONCE}", model="b300"),
    *_each(f"{_KERNEL}/blockscaled_grouped_gemm", MAPS,
           f"grouped_blockscaled_gemm --num_groups 2 --problem_sizes_mnkl '(256,256,256,1),(256,256,256,1)' {_ONCE}"),
    *_each(f"{_KERNEL}/blockscaled_grouped_gemm", MAPS,
           "sm103_grouped_blockscaled_gemm --num_groups 2 --problem_sizes_mnkl '(256,256,768,1),(256,256,768,1)' "
           f"{_ONCE}", model="b300"),
    *_each(f"{_KERNEL}/blockwise_gemm", TENSOR_A, f"blockwise_gemm {_SQUARE}", f"contiguous_grouped_gemm {_SQUARE}"),
    *_each(f"{_KERNEL}/blockwise_gemm", TENSOR_A, f"masked_grouped_gemm {_SQUARE}",
           known=("`OUT_OF_BOUNDS`",)),  # the group after the last
    *_each(f"{_KERNEL}/grouped_gemm", MAPS,
           f"grouped_gemm --num_groups 2 --problem_sizes_mnkl '(128,128,64,1),(128,128,128,1)' {_ONCE}"),
    # warps of one warpgroup execute setmaxnreg with several counts
    *_each(f"{_KERNEL}/mixed_input_gemm", TENSOR_A, f"mixed_input_gemm {_SQUARE}",
           f"grouped_mixed_input_gemm {_SQUARE}", f"grouped_mixed_input_gemm_acc_scale {_SQUARE}",
           known=("`ILLEGAL`",)),
    # the scheduler's tail waits again for the slot that it has just filled
    *_each(f"{_KERNEL}/moe", MAPS,
           "torch_grouped_mm --tokens 64 --experts 2 --top_k_select 1 --hidden 128 --intermediate 128",
           known=("`MBARRIER_LAPPED`", "`DEADLOCK`")),
    *_each(f"{_KERNEL}/moe", SCALES,
           "torch_scaled_grouped_mm --tokens 64 --experts 2 --top_k_select 1 --hidden 128 --intermediate 128",
           known=("`MBARRIER_LAPPED`", "`DEADLOCK`")),
    *_each(
        f"{_KERNEL}/attention", TENSOR_A,
        f"fmha/fmha --q_shape 1,128,1,128 --k_shape 1,128,1,128 {_ONCE}",
        f"mamba2_ssd/mamba2_ssd --gbehcdln 2,2,2,2,2,64,128,128 {_ONCE}",
        *(f"mla/mla_decode_{name} {_ONCE}" for name in ("fp16", "fp8")),
    ),
    # tensor memory is freed, read or written over while other warps use it: docs/blackwell.md
    *_each(
        f"{_KERNEL}/attention", TENSOR_A,
        f"fmha/fmha_bwd --s_q 128 --s_k 128 --h_q 1 --h_k 1 --b 1 --d 64 {_ONCE}",
        "mixed_input_fmha/mixed_input_fmha_decode --seqlen 256 --h_q 8 --h_k 1",
        *(f"mixed_input_fmha/mixed_input_fmha_prefill_d{d} --q_shape 1,1,256,{d} --k_shape 1,1,256,{d} {_ONCE}"
          for d in (256, 512)),
        known=("`RACE`", "`ILLEGAL`"),
    ),
    *_each(
        "cute/blackwell/efc", DENSE,
        *(f"{name}custom_epilogue_dense_gemm {_ONE_BLOCK}" for name in ("", "activation_", "synthetic_")),
        known=("`RACE`",),  # as dense_gemm_alpha_beta_persistent
    ),
    *_each(_EXT, DENSE, f"dense_gemm --mnkl 256,256,128,1 {_ONCE}", f"dense_gemm_cute_pipeline {_ONE_BLOCK}",
           f"dense_gemm_ptr_array --mnkl 256,256,128,1 {_ONCE}"),
    # the second block gives the sums back to the first, which does not wait for it
    *_each(_EXT, PAIRS, f"dense_gemm_2sm --mnkl 512,256,128,1 {_ONCE}", known=("`EXITED_BLOCK`",)),
    *_each(_EXT, SCALES, "dense_block_scaled_gemm --mnkl 512,256,256,1"),
    *_each(f"{_PRIMITIVES}/tcgen05", DENSE, "1cta_mma_basic", "1cta_mma_mn_major", "1cta_mma_pipeline",
           "slicek_m32n8k128"),
    # its blocks end while others still signal their mbarriers
    *_each(f"{_PRIMITIVES}/tcgen05", PAIRS, "mcast_clusterMxN_1cta_mma", "mcast_clusterMxN_2cta_mma",
           known=("`EXITED_BLOCK`",)),
    *_each(f"{_PRIMITIVES}/tcgen05", PAIRS, "2cta_mma_basic", "2cta_mma_tma_store", "clusterMxN_2cta_mma"),
    *_each(f"{_PRIMITIVES}/tcgen05", TENSOR_A, "1cta_mma_a_from_tmem", "tmem_ld_st", "tmem_ld_to_stmatrix_transpose"),
    # it waits for the scales of B in its own block alone, and an arrival with .cta is for the other block
    *_each(f"{_PRIMITIVES}/tcgen05", SCALES, "2cta_mma_blockscale_m128", known=("`RACE`",)),
    *_each(f"{_PRIMITIVES}/tcgen05", SCALES, "cp_narrow_a_to_tmem_mma"),
    *_each(f"{_PRIMITIVES}/tutorial", DENSE, "05_minimal_tensor_mma", "10_minimal_tensor_mma_fp8",
           "gemm_M128_N128_Kany_TN_warpspec_multistage", known=("`MBARRIER_IN_USE`",)),  # one thread a warp makes them
    # tcgen05.wait::st does not wait for tcgen05.cp
    *_each(f"{_PRIMITIVES}/reduction", TENSOR_A, "cluster_tmem_reduce", known=("`ILLEGAL`", "`RACE`")),
    # the warp that loads has no barrier after mbarrier.init
    *_each(_TASKS, DENSE, "02_gemm_simple_ts/01_fp16_bf16_gemm_3 --mnk 256,256,256", known=("`MBARRIER_NOT_VISIBLE`",)),
    # four warps copy the same chunk to the same place of another block
    *_each(_TASKS, DENSE, "06_gemm_split_k_fp16_ts/01_gemm_split_k_fp16 --mnk 256,256,512", known=("`RACE`",)),
    *_each(_TASKS, CLC, "04_gemm_bf16_advanced_ts/01_fp16_bf16_gemm_3_cluster --mnk 512,512,256",
           "04_gemm_bf16_advanced_ts/02_fp16_bf16_gemm_3_cute_cluster --mnk 512,512,256", known=NO_COMPILE),
    *_each(_TASKS, SCALES, "05_gemm_nvfp4_ts/01_gemm_nvfp4 --mnkl 512,256,256,1", known=NO_COMPILE),
    *_each(_TASKS, DENSE, *(f"07_group_pipeline_ts/{name} --mnk 256,256,256" for name in (
        "02_merge_gemm", "03_merge_gemm_resadd", "04_fork_load_gemm_act")), known=NO_COMPILE),
    *_each("dsl_tutorials", CLC, f"fp16_gemm_4_iket {_SMALL}"),
    *_each("cute/blackwell_geforce/kernel/dense_gemm", MMA_SYNC, f"dense_gemm --mnkl 128,128,64,1 {_ONCE}",
           model="rtx5090"),
    *_each("cute/blackwell_geforce/kernel/blockscaled_gemm", SCALES,
           *(f"dense_blockscaled_gemm_persistent_{name} {_SQUARE}" for name in ("cooperative", "pingpong")),
           model="rtx5090"),
)  # fmt: skip


def main(arguments: list[str] | None = None) -> int:
    return hopper.main(arguments, PROGRAMS, "blackwell.py", __doc__, EXAMPLES)


if __name__ == "__main__":
    sys.exit(main())
