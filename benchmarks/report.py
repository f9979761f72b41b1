"""`repro record report` for 300 claims x 12 columns: CPU seconds to make the page and its size, against 3 s and 5 MB.

    uv run python benchmarks/report.py                         the whole matrix, seven runs
    uv run python benchmarks/report.py --claims 1000
    uv run python benchmarks/report.py -o page.html            and keep the page, to look at it
    uv run python benchmarks/report.py --records               the same of record files: 30 runs of every cell

The report is made up: every cell has a history of 30 runs; a quarter differ from their last good run, each with its
own PTX and SASS of 200 lines, differing lanes and provenance. Without --records nothing is read from files.
"""

from __future__ import annotations

import argparse
import datetime
import json
import random
import re
import statistics
import sys
import tempfile
import time
from collections import defaultdict
from pathlib import Path

sys.path[0] = str(Path(__file__).resolve().parents[1])  # not this folder, in which this file hides the package

from harness import store  # noqa: E402
from harness.records.index import index  # noqa: E402
from harness.reporting import page, page_model, page_records  # noqa: E402

TARGET_S, TARGET_MB = 3.0, 5.0
LINES = 200
SUBJECTS = ("shuffle", "vote", "barrier", "cp_async", "promotion", "layout", "predicate", "pointer", "atomic", "loop")
CLAIMS = (
    "shfl.sync with width w reads only inside its own w-lane segment",
    "cp.async with a false predicate leaves shared memory as it was",
    "An Int32 with a Uint32 is a Uint32",
    "A range whose bound is dynamic runs at run time, and its variable keeps the last value",
)
PLACES = (
    ("sm_90a", "embedded", "ours", False),
    ("sm_90a", "p1", "ours", True),
    ("sm_90a", "p1", "nvidia 4.8.1", True),
    ("sm_90a", "p1", "nvidia 4.6.3", True),
    ("sm_100a", "embedded", "ours", False),
    ("sm_100a", "b200-lab", "ours", True),
    ("sm_100a", "b200-lab", "nvidia 4.8.1", True),
    ("sm_100a", "b200-lab", "nvidia 4.6.3", True),
    ("sm_120a", "embedded", "ours", False),
    ("sm_120a", "desk", "ours", True),
    ("sm_120a", "desk", "nvidia 4.8.1", True),
    ("sm_120a", "desk", "nvidia 4.6.3", True),
)
WEIGHTS = {"validated": 72, "stale": 20, "regressed": 1.5, "contradicted": 1, "flaky": 1.5}


def ptx(rng: random.Random) -> str:
    """A kernel of straight-line code."""
    lines = [".version 8.8", ".target sm_90a", ".address_size 64", "", ".visible .entry kernel(", ")", "{"]
    ops = ("add.s32", "mul.lo.s32", "shfl.sync.idx.b32", "ld.global.f32", "fma.rn.f32", "st.shared.f32", "xor.b32")
    for number in range(LINES):
        lines.append(f"\t{rng.choice(ops)} \t%r{number + 3}, %r{rng.randrange(number + 1)}, {rng.randrange(64)};")
    return "\n".join([*lines, "\tret;", "}"])


def changed(text: str, rng: random.Random) -> str:
    """The same with one line more, three lines else, and every register's number one higher below."""
    lines = text.split("\n")
    for _ in range(3):
        at = rng.randrange(10, len(lines) - 2)
        lines[at] = lines[at].replace("s32", "u32").replace("f32", "f64")
    at = rng.randrange(10, 40)
    first = int(re.search(r"%r(\d+)", lines[at])[1])
    below = [re.sub(r"%r(\d+)", lambda found: renumbered(found, first), line) for line in lines[at:]]
    return "\n".join([*lines[:at], f"\tmov.u32 \t%r{first}, %laneid;", *below])


def renumbered(name: re.Match, first: int) -> str:
    """A register from `first` on has the next number."""
    return f"%r{int(name[1]) + (int(name[1]) >= first)}"


def run(rng: random.Random, at: datetime.datetime, column: page_model.Column, **facts: str) -> page_model.Run:
    compiler, _, version = column.compiler.partition(" ")
    known = {
        "compiler": compiler, "compiler_version": version or "0.1.0", "ptxas": "13.0.88", "python": "3.12.3",
        "torch": "2.8.0", "numpy": "2.3.1", "gpu": "NVIDIA H200" if column.hardware else "", "host": column.host,
        "seed": "0",
    }  # fmt: skip
    return page_model.Run(f"{rng.getrandbits(32):08x}-1", stamp(at), tuple((known | facts).items()))


def stamp(at: datetime.datetime) -> str:
    return at.strftime("%Y-%m-%dT%H:%M:%SZ")


REASONS = {
    "stale": "the driver changed from 575.51 to 580.65", "regressed": "differs from the golden since 2026-11-19",
    "contradicted": "p1 fails, the emulator passes", "flaky": "the same question got both verdicts",
}  # fmt: skip


def cell(rng: random.Random, claim: int, column: int, where: page_model.Column, runs: int) -> page_model.Cell:
    state = rng.choices(list(WEIGHTS), list(WEIGHTS.values()))[0] if where.hardware else "predicted"
    now = datetime.datetime(2026, 11, 20, 12) - datetime.timedelta(days=rng.choice((0, 0, 0, 1, 2, 9, 30, 200)))
    differs = state not in ("validated", "predicted")
    same = {f"{name}_sha256": f"{rng.getrandbits(256):064x}" for name in ("repro", "golden", "lock")}
    good = run(rng, now - datetime.timedelta(days=differs), where, **same, driver="575.51")
    this = run(rng, now, where, **same, driver="580.65") if differs else good
    ids = [f"{rng.getrandbits(32):08x}-{one}" for one in range(runs)]
    history = [
        page_model.Past(name, stamp(now - datetime.timedelta(days=runs - at)), "pass", "", f"{at // 5:08x}")
        for at, name in enumerate(ids)
    ]
    if differs:
        history.append(page_model.Past(this.id, this.date, "fail", "differs from the golden", "f" * 8))
    text = ptx(rng) if differs else ""
    lanes = tuple(rng.randrange(1, 4) * (lane >= 8 and rng.random() < 0.8) for lane in range(32))
    rows = tuple((f"[{n}]", f"block 0 warp 0 lane {n}", f"0x{n:08x} {n}", "0x00000000 0") for n in range(8, 24))
    outputs = (page_model.Output("out", "differs from the golden in 44 of 64 elements (bits)", lanes, rows),)
    code = tuple(
        page_model.Code(kind, "kernel_shuffle_0", text, changed(text, rng)) for kind in ("PTX", "SASS") if differs
    )
    return page_model.Cell(
        claim, column, state, REASONS.get(state, ""), this, good, "last good", this if differs else None,
        good.date if where.hardware else "", tuple(history), len(history),
        outputs if state in ("regressed", "contradicted", "flaky") else (), code,
        f"uv run repro run repros/claim_{claim}.py --host {where.host}",
        "one of driver, compiler, or both together" if differs else "", (),
        (("uv run repro run x.py --compiler nvidia==4.6.3", "B with A's compiler: if it passes, it is the cause"),),
    )  # fmt: skip


def made_up(claims: int, runs: int) -> page_model.Report:
    """A report of `claims` rows and 12 columns, always the same one."""
    rng = random.Random(0)
    columns = tuple(page_model.Column(*place) for place in PLACES)
    rows = tuple(
        page_model.Claim(f"repros/{SUBJECTS[n // 4 % 10]}_{n // 4}.py", f"width={2 << n % 4}", CLAIMS[n // 4 % 4] + ".")
        for n in range(claims)
    )
    cells = tuple(
        cell(rng, n, k, column, runs) for n in range(claims) for k, column in enumerate(columns) if rng.random() < 0.97
    )
    return page_model.Report("gpu-repro", rows, columns, cells)


def write_records(report: page_model.Report, root: Path) -> int:
    """The report's history as record files: a run a day, PTX and SASS kept; returns how many records."""
    (root / "pyproject.toml").write_text('[project]\nname = "made-up"\n')
    days: dict[str, list[dict]] = defaultdict(list)
    texts: dict[str, str] = {}
    for one in report.cells:
        claim, column = report.claims[one.claim], report.columns[one.column]
        (root / claim.repro).parent.mkdir(exist_ok=True)
        (root / claim.repro).write_text(f'"""{claim.text}"""')
        facts = dict(one.newest.facts)
        line = {
            "schema": 2, "key": {"repro_sha256": store.sha256(f'"""{claim.text}"""')}, "repro": claim.repro,
            "case": claim.case, "title": claim.text, "host": column.host, "hardware": column.hardware,
            "asked": column.compiler, "compiler": {"name": facts["compiler"], "version": facts["compiler_version"]},
            "device": {"kind": "cuda" if column.hardware else "emulator", "arch": column.arch, "driver": "575.51"},
            "lock_sha256": facts["lock_sha256"], "versions": {"python": "3.12.3", "torch": "2.8.0", "numpy": "2.3.1"},
            "outcome": "outputs", "outputs": {"out": "ab"}, "durations": {"run_s": 1.0}, "digest": "0",
        }  # fmt: skip
        code = {"base": {}, "newest": {}}
        for part in one.code:
            for side in code:
                text = getattr(part, side)
                name = store.sha256(text)
                texts[f"{name}.{part.kind.lower()}"] = text
                code[side]["kernels" if part.kind == "PTX" else "sass"] = {part.kernel: name}
        for past in one.history[:-1]:
            days[past.date].append(line | code["base"] | {"date": past.date, "verdict": "pass"})
        failed = one.state in ("regressed", "contradicted", "flaky")
        last = {"date": one.history[-1].date, "verdict": "fail" if failed else "pass"}
        if failed:
            first = [list(row) for row in one.outputs[0].rows]
            last |= {"reason": "differs from the golden", "digest": "1"}
            last |= {"device": line["device"] | {"driver": "580.65"}}
            last |= {"differences": [{"output": "out", "message": "differs", "first": first,
                                      "lanes": list(one.outputs[0].lanes)}]}  # fmt: skip
        days[last["date"]].append(line | code["newest"] | last)
    folder = root / "repros/records"
    (folder / "blobs").mkdir(parents=True)
    for name, text in texts.items():
        (folder / "blobs" / name).write_text(text)
    for number, (day, lines) in enumerate(days.items()):
        named = (json.dumps(line | {"id": f"{number:08x}-{n}"}) + "\n" for n, line in enumerate(lines))
        (folder / f"{day[:10]}-{number:08x}.jsonl").write_text("".join(named))
    return sum(map(len, days.values()))


def of_records(report: page_model.Report, runs: int) -> int:
    with tempfile.TemporaryDirectory() as folder:
        root = Path(folder)
        print(f"{write_records(report, root)} records")
        taken = []
        for _ in range(runs + 1):
            began = time.process_time()
            with index.open_index(root) as records:
                found = page_records.collect(records)
            collected = time.process_time() - began
            size_mb = page.write(found, root / "report.html") / 1e6
            taken.append((time.process_time() - began, collected))
    (built, _), *later = taken
    whole, collecting = min(later)
    print(
        f"{len(found.cells)} cells: {whole:.2f} s (target {TARGET_S} s), of it {collecting:.2f} s reading; "
        f"{built:.2f} s where the index had to be built; {size_mb:.2f} MB (target {TARGET_MB} MB)"
    )
    return int(whole > TARGET_S or size_mb > TARGET_MB)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--claims", type=int, default=300)
    parser.add_argument("--history", type=int, default=30, metavar="RUNS", help="of each cell")
    parser.add_argument("--runs", type=int, default=7)
    parser.add_argument("--records", action="store_true", help="write record files, and time the whole command")
    parser.add_argument("-o", "--out", type=Path)
    arguments = parser.parse_args()
    report = made_up(arguments.claims, arguments.history)
    if arguments.records:
        return of_records(report, arguments.runs)
    taken = []
    for _ in range(arguments.runs):
        began = time.process_time()
        text = page.render(report)
        taken.append(time.process_time() - began)
    size_mb = len(text.encode()) / 1e6
    if arguments.out:
        arguments.out.write_text(text)
    first, later = taken[0], statistics.median(taken[1:] or taken)
    print(f"{len(report.claims)} claims x {len(report.columns)} columns, {len(report.cells)} cells")
    print(
        f"made in {first:.2f} s the first time, {later:.2f} s later (target {TARGET_S} s); {size_mb:.2f} MB "
        f"(target {TARGET_MB} MB)"
    )
    return int(first > TARGET_S or size_mb > TARGET_MB)


if __name__ == "__main__":
    sys.exit(main())
