"""Run Quadrants' own test files, unmodified, with the real package and with this compiler, both on the CPU.

The repository is not part of this one: clone it and name its folder. A case counts where the real package passes it.
This compiler must pass each of those too, unless left_out.toml names it with a reason.
"""

from __future__ import annotations

import argparse
import json
import os
import signal
import subprocess
import sys
import tempfile
import tomllib
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

HERE = Path(__file__).resolve().parent
FILES = """\
static loops for for_break for_group_mismatch continue while if ndrange ndrange_axes grouped kernel_templates argument
atomic local_atomics bool_op cast div mod pow type_check type_promotion type_system literal return function scope_errors
syntax_errors ast_refactor assign tuple_assign basics offload offload_cross
random types math_module bit_operations fields_builder copy_from fill element_wise expr_list expr_dict
custom_struct struct py_dataclass data_oriented_mixed_combos tensor_annotation tensor_annotation_in_func tensor_backend
tensor_factory tensor_factory_vec_mat tensor_layout tensor_wrapper_kernel tensor_wrapper_skeleton tensor_wrapper_surface
tensor_wrapper_in_struct tensor_consistency svd eig matrix_solve
field matrix overflow debug compare complex_struct assert data_oriented_ndarray data_oriented_template_primitives exception
indices kernel_arg_errors graph_do_while graph_parallel checkpoint checkpoint_resume_offset""".split()
LIMIT_S = 300
EXAMPLES = """\
examples:
  git clone https://github.com/Genesis-Embodied-AI/quadrants           the files of 1.3.3, or near it
  uv run python tests/quadrants/upstream/run.py quadrants              every file of the table
  uv run python tests/quadrants/upstream/run.py quadrants static for_break --verbose
  uv run python tests/quadrants/upstream/run.py quadrants --real real.json     keep what the real package passes
exit status: 0 every failure is listed with its reason, 1 not so, 2 wrong usage
"""


def main(arguments: list[str] | None = None) -> int:
    options = _parser().parse_args(arguments)
    folder = Path(options.folder).resolve()
    if not (folder / "tests/python").is_dir():
        print(f"run.py: {options.folder} is not a clone of Quadrants: it has no tests/python", file=sys.stderr)
        return 2
    if unknown := [name for name in options.names if not (folder / f"tests/python/test_{name}.py").is_file()]:
        print(f"run.py: this clone has no tests/python/test_{unknown[0]}.py", file=sys.stderr)
        return 2
    names = options.names or FILES
    kept = Path(options.real) if options.real else None
    real = json.loads(kept.read_text()) if kept and kept.exists() else {}
    with ThreadPoolExecutor(options.jobs) as pool:
        missing = [name for name in names if name not in real]
        real |= dict(zip(missing, pool.map(lambda name: outcomes("real", folder, name), missing)))
        if kept and missing:
            kept.write_text(json.dumps(real, indent=1) + "\n")
        if options.only_real:
            return 0
        found = zip(names, pool.map(lambda name: outcomes("ours", folder, name), names))
        return report(real, found, tomllib.loads(Path(options.left_out).read_text()), options)


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="run.py", description=__doc__, epilog=EXAMPLES, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("folder", help="a clone of https://github.com/Genesis-Embodied-AI/quadrants")
    parser.add_argument("names", nargs="*", metavar="NAME", help="the files test_NAME.py; default: the table")
    parser.add_argument("--real", metavar="FILE", help="read what the real package did from FILE, or write it there")
    parser.add_argument("--left-out", metavar="FILE", default=HERE / "left_out.toml", help="default: %(default)s")
    parser.add_argument("--jobs", type=int, default=2, help="files at once; default: %(default)s")
    parser.add_argument("--only-real", action="store_true", help="run the real package alone, for --real")
    parser.add_argument("--json", metavar="FILE", help="also write what each case of ours did")
    parser.add_argument("--verbose", action="store_true", help="show every failing case, listed or not, with why")
    return parser


def outcomes(whose: str, folder: Path, name: str) -> dict[str, list[str]]:
    """The outcome of each case of a file: {case: [passed, failed, skipped or crash, why]}.

    A case that ends the process is a crash, and the others run again without those that are done. The case '' is the
    file itself, where it could not be imported.
    """
    file = folder / f"tests/python/test_{name}.py"
    found: dict[str, list[str]] = {}
    with tempfile.TemporaryDirectory() as scratch:
        results = Path(scratch) / "results.jsonl"
        while True:
            results.write_text("")
            run = subprocess.run(
                [sys.executable, HERE / "drive.py", whose, file, results, str(LIMIT_S), *found],
                cwd=scratch,
                capture_output=True,
                text=True,
                errors="replace",
                stdin=subprocess.DEVNULL,
                env=dict(os.environ, GPU_REPRO_CACHE="0"),
            )
            rows = [json.loads(line) for line in results.read_text().splitlines()]
            started = None
            for row in rows:
                if row["outcome"] == "started":
                    started = row["case"]
                    continue
                if found.get(row["case"], ["passed"])[0] != "failed":  # a case may end well and fail afterwards
                    found[row["case"]] = [row["outcome"], row["why"]]
                started = None
            if started is None:
                if not rows and run.returncode not in (0, 5) and not found:
                    found[""] = ["failed", (run.stdout + run.stderr)[-600:]]
                return found
            found[started] = ["crash", _ending(run)]


def _ending(run: subprocess.CompletedProcess) -> str:
    lines = [line for line in run.stderr.splitlines() if line.strip()]
    how = signal.Signals(-run.returncode).name if run.returncode < 0 else f"status {run.returncode}"
    return f"{how} {lines[-1][:200] if lines else ''}".strip()


def report(real: dict, found, left_out: dict[str, dict[str, str]], options: argparse.Namespace) -> int:
    """Print a line for each file and what is wrong; 1 where a failure has no reason, or a reason no failure."""
    print(f"{'file':22}{'real':>6}{'ours':>6}{'%':>8}   not listed")
    wrong, every, total_real, total_ours = [], {}, 0, 0
    if broken := [f"test_{name}: {cases['']}" for name, cases in real.items() if "" in cases]:
        print("the real package does not run", *broken, sep="\n")
        return 1
    for name, ours in found:
        every[name] = ours
        listed = left_out.get(f"test_{name}", {})
        ours = aligned(real[name], ours)
        passed = [case for case, (outcome, _) in real[name].items() if outcome == "passed"]
        failed = [case for case in passed if ours.get(case, ["missing"])[0] != "passed"]
        unlisted = [case for case in failed if not _listed(case, listed)]
        total_real, total_ours = total_real + len(passed), total_ours + len(passed) - len(failed)
        print(
            f"{'test_' + name:22}{len(passed):6}{len(passed) - len(failed):6}"
            f"{100 * (1 - len(failed) / max(1, len(passed))):8.1f}{len(unlisted):6}",
            flush=True,
        )
        for case in failed if options.verbose else unlisted:
            outcome, why = ours.get(case) or ours.get("") or ["missing", "our run has no such case"]
            print(f"    {case}: {outcome}: {why if options.verbose else why[:200]}", flush=True)
        wrong += unlisted
        for entry in listed:
            if not any(_listed(case, {entry: ""}) for case in failed):
                print(f"    {entry} is listed as left out, and passes")
                wrong.append(entry)
    print(f"{'together':22}{total_real:6}{total_ours:6}{100 * total_ours / max(1, total_real):8.1f}")
    if options.json:
        Path(options.json).write_text(json.dumps(every, indent=1) + "\n")
    return int(bool(wrong))


def aligned(real: dict, ours: dict) -> dict:
    """`ours` under the names that `real` has: the names of parameters may differ, their order may not."""
    made = {case: row for case, row in ours.items() if case in real or "[" not in case}
    for function in {case.partition("[")[0] for case in real}:
        theirs, mine = ([case for case in cases if case.partition("[")[0] == function] for cases in (real, ours))
        if len(theirs) == len(mine):
            made |= {case: ours[own] for case, own in zip(theirs, mine)}
    return made


def _listed(case: str, listed: dict[str, str]) -> bool:
    return case in listed or case.partition("[")[0] in listed


if __name__ == "__main__":
    sys.exit(main())
