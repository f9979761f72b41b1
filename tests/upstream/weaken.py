"""Remove or weaken every synchronisation of right kernels, one at a time, and show the findings of the checkers.

    git clone https://github.com/NVIDIA/cutlass; python tests/upstream/weaken.py RESULTS --cutlass cutlass [NAME ...]

RESULTS is a folder, with a file of JSON lines for each program; a program that has one is not run again. Prints the
changes that nobody found and that equivalent_weakenings.txt does not explain, and a table by instruction.
"""

from __future__ import annotations

import argparse
import collections
import concurrent.futures
import fnmatch
import json
import os
import shlex
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
EQUIVALENT = Path(__file__).with_name("equivalent_weakenings.txt")
COLUMNS = ("changes", "found", "equivalent", "not reached", "not PTX", "no answer", "open", "silent")
_CUTE = "examples/python/CuTeDSL"
# Programs of this repository, by our compiler.
REPROS = """
barrier/barrier_named_joins_only_its_threads barrier/mbarrier_bytes_may_come_before_they_are_expected
barrier/mbarrier_counts_each_arrival barrier/mbarrier_parity_says_which_phase_ended
barrier/mbarrier_phase_needs_arrivals_and_bytes barrier/mbarrier_ring_waits_for_empty_slots
cluster/cluster_barrier_counts_threads_that_ended cluster/dsmem_async_store_brings_its_bytes
cluster/dsmem_load_reads_the_block_that_is_named cluster/dsmem_store_is_seen_after_the_cluster_barrier
cluster/mbarrier_arrival_of_another_block_counts cluster/multicast_goes_to_the_blocks_of_the_mask
cluster/multicast_parts_make_the_whole_tile copy/bulk_store_source_is_free_after_wait_group_read
cp_async/zfill_mixed_tile launch/pdl_wait_sees_what_the_kernel_before_wrote mma/ldmatrix_lane_names_a_row
mma/wgmma_adds_to_the_sums_it_is_given mma/wgmma_wait_group_1_ends_all_groups_but_one
mma/wgmma_descriptor_reads_each_swizzle mma/wgmma_without_accumulating_ignores_the_sums
shuffle/shuffle_bfly_width shuffle/shuffle_down_width vote/vote_ballot_any_all
tma/tma_fills_outside_with_zeros tma/tma_reduce_adds_the_boxes_of_all_blocks
tma/tma_store_source_may_change_once_it_is_read tma/tma_store_writes_only_what_lies_inside
tma/tma_swizzle_xors_the_line_into_the_chunk
""".split()
# Tests of this repository: kernels by nvcc and Triton. Wrong kernels in them are left alone.
TESTS = """
tests/emulator/cuda/test_barriers.py tests/emulator/cuda/test_clusters.py tests/emulator/cuda/test_grid.py
tests/emulator/cuda/test_tma.py tests/emulator/cuda/test_wgmma.py
tests/emulator/triton/test_descriptors.py tests/emulator/triton/test_wgmma.py
""".split()
_TMA = "experimental/primitives/tma/tma"
_ONCE = "--warmup_iterations 0 --iterations 1"
# Programs of NVIDIA/cutlass, by NVIDIA's compiler.
CUTLASS = f"""
{_TMA}_store.py
{_TMA}_load_store.py
{_TMA}_1cta_mbarrier.py
{_TMA}_pipeline_warpspec.py
{_TMA}_pipeline_pingpong.py
{_TMA}_pipeline_count2.py
{_TMA}_tensormap_replace.py
{_TMA}_load_to_ldmatrix.py
experimental/primitives/mbarrier.py
experimental/primitives/mbarrier_lifecycle.py
experimental/primitives/warp_named_barrier.py
experimental/primitives/pipeline_software_fill.py
experimental/primitives/async_pipeline.py
experimental/primitives/cp_async_mbarrier_arrive_cta.py
experimental/primitives/cp_async_mbarrier_arrive_cluster.py
experimental/primitives/reduction/cluster_smem_reduce.py
cute/hopper/kernel/cta_norm/cta_norm.py --M 8 --N 1024 {_ONCE}
cute/ampere/kernel/dense_gemm/tensorop_gemm.py --mnkl 128,128,64,1 {_ONCE}
cute/ampere/kernel/dense_gemm/sgemm.py --mnk 128,128,32 {_ONCE}
cute/hopper/kernel/dense_gemm/dense_gemm.py --mnkl 128,128,640,1
cute/hopper/kernel/dense_gemm/dense_gemm.py --mnkl 256,128,640,1 --cluster_shape_mn 2,1
cute/hopper/kernel/dense_gemm/dense_gemm_persistent.py --mnkl 128,256,640,1
cute/hopper/kernel/attention/fmha.py --q_shape 1,128,1,64 --k_shape 1,128,1,64
cute/hopper/kernel/grouped_gemm/grouped_gemm.py --num_groups 1 --problem_sizes_mnkl (128,128,64,1) --iterations 0
""".strip().splitlines()


def programs(cutlass: Path | None) -> dict[str, list[str]]:
    """By name: what follows `python` for each program."""
    found = {each: ["-m", "dsl", str(ROOT / "repros" / f"{each}.py")] for each in REPROS}
    quiet = ["-q", "-n0", "--no-header", "-p", "no:cacheprovider"]
    found |= {each: ["-m", "pytest", *quiet, str(ROOT / each)] for each in TESTS}
    if cutlass is not None:
        for each in CUTLASS:
            path, *arguments = shlex.split(each)
            of = ["-m", "dsl", "--compiler", "nvidia", "--device", "emulator", str(cutlass / _CUTE / path)]
            found[each] = [*of, "--", *arguments]
    return found


def run(name: str, command: list[str], folder: Path, limit_s: float, most: int) -> str:
    """Try the weaker kernels of a program; the end of what it printed if it failed."""
    results, part = results_of(folder, name), results_of(folder, name).with_suffix(".part")
    part.unlink(missing_ok=True)
    script = Path(__file__).with_name("weaken_launches.py")
    done = subprocess.run(
        [sys.executable, "-W", "ignore", script, part, str(limit_s), str(most), *command],
        cwd=ROOT, capture_output=True, text=True, stdin=subprocess.DEVNULL,
    )  # fmt: skip
    if part.exists():
        os.replace(part, results)
    return (done.stdout + done.stderr)[-1500:] if done.returncode or not results.exists() else ""


def results_of(folder: Path, name: str) -> Path:
    return folder / ("".join(c if c.isalnum() else "_" for c in name) + ".jsonl")


def reasons() -> list[list[str]]:
    """The rows `program | kernel | opcode#number | change | reason` of EQUIVALENT; `*` in them is for any text. A reason
    that begins with "open: " is a mistake that the checkers do not find yet."""
    rows = [line.split(" | ") for line in EQUIVALENT.read_text().splitlines() if line and not line.startswith("#")]
    wrong = [row for row in rows if len(row) != 5]
    if wrong:
        raise ValueError(f"a row of {EQUIVALENT.name} must have 5 parts: {' | '.join(wrong[0])}")
    return rows


def outcome(name: str, row: dict, known: list[list[str]]) -> str:
    """One of COLUMNS for a change."""
    verdict = row["verdict"]
    if verdict.startswith("refused"):
        return "not PTX"
    if verdict == "not reached":
        return verdict
    if verdict in ("over the limit", "crash"):
        return "no answer"
    if verdict != "silent":
        return "found"
    names = (name, row["kernel"], f"{row['opcode']}#{row['number']}", row["change"])
    reason = next((each[-1] for each in known if all(map(fnmatch.fnmatchcase, names, each))), None)
    if reason is None:
        return "silent"
    return "open" if reason.startswith("open: ") else "equivalent"


def mechanism(opcode: str) -> str:
    """The group of an instruction in the table."""
    root, first, *rest = opcode.split(".") + [""]
    if root in ("bar", "barrier"):
        return {"warp": "bar.warp.sync", "cluster": "barrier.cluster"}.get(first, "bar.sync, bar.arrive")
    if root == "fence" and first in ("proxy", "mbarrier_init"):
        return f"fence.{first}"
    if root == "cp":
        return "cp.async.bulk groups" if "bulk" in rest else "cp.async groups and arrivals"
    if root == "mbarrier":
        return f"mbarrier.{first}"
    if root in ("wgmma", "tcgen05", "griddepcontrol"):
        return root
    return {"fence": "fence", "membar": "fence"}.get(root) or (
        "shfl, vote, match, redux" if root in ("shfl", "vote", "match", "redux") else "ld, st, atom, red"
    )


def table(results: Path, names: list[str]) -> tuple[str, int]:
    """The changes without an answer or a reason, and a row for each mechanism; how many are silent without a reason."""
    counts: dict[str, collections.Counter[str]] = {}
    lines, known, kernels, silent = [], reasons(), 0, 0
    for name in names:
        path = results_of(results, name)
        for row in map(json.loads, path.read_text().splitlines() if path.exists() else ()):
            if "changes" in row:
                kernels += row["verdict"] == "silent" or row["verdict"].startswith(("warning", "note"))
                continue
            what = outcome(name, row, known)
            counts.setdefault(mechanism(row["opcode"]), collections.Counter()).update([what, "changes"])
            if what in ("silent", "no answer"):
                silent += what == "silent"
                place = f"{name}: {row['kernel']}: PTX line {row['line']}: {row['was'][:90]}"
                lines.append(f"{what}: {place}: {row['opcode']}#{row['number']} {row['change']}")
    lines += [f"{kernels} kernels", f"| instruction | {' | '.join(COLUMNS)} |", "|---" * (1 + len(COLUMNS)) + "|"]
    total: collections.Counter[str] = sum(counts.values(), collections.Counter())
    for group, of in [*sorted(counts.items()), ("all", total)]:
        lines.append(f"| {group} | {' | '.join(str(of[column]) for column in COLUMNS)} |")
    return "\n".join(lines), silent


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("results", type=Path)
    parser.add_argument("names", nargs="*", metavar="NAME", help="programs with this in their name; default: all")
    parser.add_argument("--cutlass", type=Path, help="a clone of https://github.com/NVIDIA/cutlass")
    parser.add_argument("--limit", type=float, default=30, metavar="SECONDS", help="of one launch; default: 30")
    parser.add_argument("--most", type=int, default=3, help="changes of one kind in a kernel; default: 3")
    parser.add_argument("--jobs", type=int, default=1, help="programs at once; default: 1")
    options = parser.parse_args()
    options.results.mkdir(parents=True, exist_ok=True)
    wanted = {
        name: command
        for name, command in programs(options.cutlass and options.cutlass.resolve()).items()
        if not options.names or any(each in name for each in options.names)
    }
    todo = {name: each for name, each in wanted.items() if not results_of(options.results, name).exists()}
    with concurrent.futures.ThreadPoolExecutor(options.jobs) as pool:
        runs = {
            pool.submit(run, name, each, options.results, options.limit, options.most): name
            for name, each in todo.items()
        }
        for done in concurrent.futures.as_completed(runs):
            print(f"{runs[done]}: {done.result() or 'done'}", file=sys.stderr, flush=True)
    text, silent = table(options.results, list(wanted))
    print(text)
    return min(silent, 1)


if __name__ == "__main__":
    sys.exit(main())
