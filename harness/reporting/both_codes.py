"""Machine code of one kernel from two compilers: what ptxas makes of the PTX that records keep, with its figures."""

from __future__ import annotations

import json
import subprocess
import sys
from collections import defaultdict
from collections.abc import Iterator, Sequence

from harness.compiler_name import NVIDIA, OURS
from harness.records import differ
from harness.records.index.index import Cell as Indexed, Record
from harness.reporting import code_figures
from harness.reporting.page_model import BothCodes, Figure
from harness.store import normalised_sass

LISTING = (sys.executable, "-m", "dsl.launch.machine_listing")


def both_codes(cells: Sequence[Indexed], records: dict[str, Record]) -> list[tuple[Indexed, BothCodes]]:
    """Every kernel whose PTX of both compilers was kept, with the cell of ours. `records`: the cells' newest ones."""
    found = [
        (cell, (one, mine[one]), (two, other[two]), release)
        for cell, ours, theirs in _pairs(cells, records)
        for mine, other, release in [(ours.ptx(), theirs.ptx(), theirs.provenance.get("compiler_version"))]
        for one, two in differ.kernel_pairs(mine, other)
        if one and two
    ]
    texts = dict.fromkeys(ptx for _, *both, _ in found for _, ptx in both)
    answers = dict(zip(texts, _listings(list(texts))))
    return [
        (cell, _both(f"NVIDIA's {release}" if release else "NVIDIA's", *((name, answers[ptx]) for name, ptx in both)))
        for cell, *both, release in found
    ]


def _pairs(cells: Sequence[Indexed], records: dict[str, Record]) -> Iterator[tuple[Indexed, Record, Record]]:
    """The newest record of ours with kernels for each claim, case and architecture, with NVIDIA's newest."""
    groups: dict[tuple[str, ...], list[tuple[Indexed, Record]]] = defaultdict(list)
    for cell in cells:
        if (record := records.get(cell.last or "")) and record.line.get("kernels"):
            groups[cell.claim, cell.case, cell.arch].append((cell, record))
    for group in groups.values():
        group.sort(key=lambda pair: pair[1].date)
        ours, theirs = ([pair for pair in group if pair[0].compiler.startswith(name)] for name in (OURS, NVIDIA))
        if ours and theirs:
            yield *ours[-1], theirs[-1][1]


def _listings(texts: Sequence[str]) -> list[dict[str, str]]:
    """The answer of the compiler's process for each PTX text; if there is none, how it ended."""
    if not texts:
        return []
    asked = "".join(json.dumps(ptx) + "\n" for ptx in texts)
    done = subprocess.run(LISTING, input=asked, capture_output=True, text=True)
    lines = [json.loads(line) for line in done.stdout.splitlines()]
    last = (done.stderr.strip().splitlines() or [f"exit status {done.returncode}"])[-1]
    return lines + [{"rejected": last}] * (len(texts) - len(lines))


def _both(theirs: str, mine: tuple[str, dict[str, str]], other: tuple[str, dict[str, str]]) -> BothCodes:
    kernel = mine[0]
    problems = [answer.get("missing") or answer.get("rejected") for _, answer in (mine, other)]
    if any(problems):
        return BothCodes(kernel, theirs, problem=problems[0] or f"of {theirs}: {problems[1]}")
    made = [code_figures.of_kernel(answer["log"], answer["sass"], name) for name, answer in (mine, other)]
    try:
        ours, others = (code_figures.figures(*both) for both in made)
    except ValueError as error:
        return BothCodes(kernel, theirs, problem=str(error))
    worse = code_figures.worse(ours, others)
    columns = zip(code_figures.COLUMNS, code_figures.row(ours), code_figures.row(others))
    rows = [Figure(name, one, two, name in worse) for name, one, two in columns]
    rows += [Figure(kind, one, two) for kind, one, two in code_figures.differing_memory(ours, others)]
    return BothCodes(kernel, theirs, mine[1]["ptxas"], tuple(rows), *(normalised_sass(sass) for _, sass in made))
