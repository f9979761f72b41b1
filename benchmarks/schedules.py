"""The orders that `--check schedules` explores, whether they speak for all, and seconds next to a plain checked run.

    uv run python benchmarks/schedules.py [NAME ...] [--seconds 10] [--cutlass CHECKOUT] [--json]

NAME is a part of the path of a repro or of a program; default: all of GROUPS in repros/. --cutlass adds programs of a
checkout of https://github.com/NVIDIA/cutlass, compiled by NVIDIA's compiler. A program runs in one order: if that one
does not speak for all, no others are tried.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import os
import shlex
import sys
import time
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
sys.path[0] = str(ROOT)  # a file next to this one is called harness.py

from harness.claim import script_file, selection  # noqa: E402
from harness.claim.repro_file import Case, read  # noqa: E402
from harness.run.result import Outcome  # noqa: E402
from harness.session import Session  # noqa: E402

GROUPS = ("barrier", "cluster", "copy", "cp_async", "launch", "mma", "shuffle", "tma", "vote")
LIMIT_S = 600.0
_CUTE = "examples/python/CuTeDSL"
_ONCE = "--warmup_iterations 0 --iterations 1"
PROGRAMS = f"""
experimental/primitives/tma/tma_load_store.py
experimental/primitives/tma/tma_1cta_mbarrier.py
experimental/primitives/tma/tma_pipeline_warpspec.py
experimental/primitives/async_pipeline.py
cute/hopper/kernel/cta_norm/cta_norm.py --M 8 --N 1024 {_ONCE}
cute/ampere/kernel/dense_gemm/tensorop_gemm.py --mnkl 128,128,64,1 {_ONCE}
cute/hopper/kernel/dense_gemm/dense_gemm.py --mnkl 128,128,640,1
cute/hopper/kernel/attention/fmha.py --q_shape 1,128,1,64 --k_shape 1,128,1,64
""".strip().splitlines()


@dataclass(frozen=True)
class Row:
    """`plain_s`, `schedules_s`: of the whole run. `reasons`: why one order does not speak for all; empty if it does."""

    name: str
    ended: str
    orders: int
    complete: bool
    reasons: list[str]
    plain_s: float
    schedules_s: float


def repros(names: list[str]) -> Iterator[tuple[str, Case]]:
    """The first case of each repro that gives outputs."""
    for group in GROUPS:
        for path in selection.repros_in(ROOT / "repros" / group):
            repro, name = read(path), f"{group}/{path.stem}"
            if repro.outcome == "outputs" and (not names or any(each in name for each in names)):
                yield name, next(iter(repro.cases()))


def programs(checkout: Path, names: list[str]) -> Iterator[tuple[str, Case]]:
    for command in PROGRAMS:
        path, *arguments = shlex.split(command)
        if not names or any(each in path for each in names):
            file = checkout.resolve() / _CUTE / path
            yield path, Case(script_file.read(file, file.read_bytes(), tuple(arguments)), {})


def all_of(compiler: str, cases: list[tuple[str, Case]], seconds: float) -> Iterator[Row]:
    """The row of each case, in one session: its process has imported what they need after the first one."""
    session = Session(ROOT, ["embedded"], compiler=compiler, checks="all")
    try:
        for name, case in cases:
            with contextlib.redirect_stdout(sys.stderr):
                row = measured(session, name, case, seconds)
            print(f"{name}: {row.orders} orders, {row.schedules_s} s", file=sys.stderr, flush=True)
            yield row
    finally:
        session.close()


def measured(session: Session, name: str, case: Case, seconds: float) -> Row:
    """A run with all checks, and one that explores orders; both find the compiled code in the caches."""
    timed(session, case, "all")
    _, plain_s = timed(session, case, "all")
    outcome, schedules_s = timed(session, case, f"schedules={seconds:g}")
    orders = outcome.orders
    ended = "in order" if orders and orders.what == "same" else orders.what if orders else outcome.kind
    reasons = orders.reasons if orders else [outcome.text.partition("\n")[0]]
    return Row(name, ended, orders.tried if orders else 0, bool(orders) and not reasons, reasons, plain_s, schedules_s)


def timed(session: Session, case: Case, checks: str) -> tuple[Outcome, float]:
    (host,), session.checks = session.hosts(), checks
    begun = time.monotonic()
    _, outcome = session.run(case, host, LIMIT_S, False)
    return outcome, round(time.monotonic() - begun, 2)


def table(rows: list[Row]) -> str:
    lines = ["| kernel | orders | complete | plain | with orders |", "|---|---|---|---|---|"]
    for row in rows:
        complete = "yes" if row.complete else "no" if row.orders else row.ended
        lines.append(f"| `{row.name}` | {row.orders} | {complete} | {row.plain_s} s | {row.schedules_s} s |")
    return "\n".join([*lines, summary(rows)])


def summary(rows: list[Row]) -> str:
    done, tried = [row for row in rows if row.complete], [row for row in rows if row.orders and not row.complete]
    with_orders, plain = sum(row.schedules_s for row in done), sum(row.plain_s for row in done)
    return (
        f"{len(rows)} kernels: {len(done)} complete ({sum(row.orders for row in done)} orders, {with_orders:.1f} s, "
        f"plain {plain:.1f} s), {len(tried)} not ({sum(row.orders for row in tried)} orders), "
        f"{len(rows) - len(done) - len(tried)} ended otherwise; load {os.getloadavg()[0]:.1f} on {os.cpu_count()} CPUs"
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("names", nargs="*", metavar="NAME")
    parser.add_argument("--seconds", type=float, default=10, help="for other orders of a kernel; default: 10")
    parser.add_argument("--cutlass", type=Path, metavar="CHECKOUT")
    parser.add_argument("--json", action="store_true", help="print the rows as JSON")
    options = parser.parse_args()
    todo = [("ours", [*repros(options.names)])]
    if options.cutlass is not None:
        todo.append(("nvidia", [*programs(options.cutlass, options.names)]))
    if not any(cases for _, cases in todo):
        sys.exit(f"no kernel has {' or '.join(options.names)} in its name")
    rows = [row for compiler, cases in todo for row in all_of(compiler, cases, options.seconds)]
    load = [round(each, 2) for each in os.getloadavg()]
    print(json.dumps({"rows": [asdict(row) for row in rows], "load": load}) if options.json else table(rows))


if __name__ == "__main__":
    main()
