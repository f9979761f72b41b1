"""The parts of docs/fidelity.md on hardware, disagreements and sources, from files; the rest of the page is prose.

python tests/emulator/fidelity_page.py            # write those parts again

Files: validation/*.json (a GPU's results of instruction forms), validation/failing/*.json (forms that a GPU
contradicted; `resolution` in one is the explanation), the goldens of repros, repros/bibliography.toml.
"""

from __future__ import annotations

import json
import re
import sys
from collections import defaultdict
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parents[2]))

from dsl.emulator.families.arithmetic.leeway import APPROXIMATE
from dsl.emulator.families.table import ROWS
from dsl.forms import failing
from harness.terminal import markdown
from tests.emulator import coverage_table

ROOT = coverage_table.ROOT
PAGE = ROOT / "docs" / "fidelity.md"
COMMAND = "python tests/emulator/fidelity_page.py"
MARK = re.compile(r"(<!-- generated: (\w+) -->\n).*?(<!-- end -->\n)", re.DOTALL)


def validation(root: Path) -> list[dict[str, Any]]:
    """The results of each GPU and driver."""
    return [json.loads(path.read_text()) for path in sorted((root / "validation").glob("*.json"))]


def goldens(root: Path) -> list[dict[str, Any]]:
    """The goldens of all repros."""
    return [json.loads(path.read_text()) for path in sorted((root / "repros").rglob("goldens/*/*.json"))]


def hardware(root: Path) -> str:
    """Which GPUs gave results, and how many agree."""
    by_gpu: dict[str, int] = defaultdict(int)
    for golden in goldens(root):
        if golden.get("validated"):
            by_gpu[golden["provenance"].get("gpu") or "a GPU"] += 1
    gpus = validation(root)
    if not gpus and not by_gpu:
        return "**Nothing has been replayed on hardware yet.** No golden is validated; every pass so far is a pass on the emulator.\n"
    lines = [f"{sum(by_gpu.values())} goldens are validated.", ""]
    lines += [
        "| GPU | driver | date | forms that agree | within a bound | open | disagree | not run | goldens |",
        "|---" * 9 + "|",
    ]
    for each in gpus:
        status = [row["status"] for row in each["rows"]]
        counts = [status.count(word) for word in ("agrees", "bounded", "open", "disagrees")]
        counts.append(len(status) - sum(counts))
        device = each["device"]
        cells = [
            markdown(device["name"]),
            markdown(device["driver"]),
            each["date"][:10],
            *counts,
            by_gpu.pop(device["name"], 0),
        ]
        lines.append("| " + " | ".join(map(str, cells)) + " |")
    lines += [f"| {markdown(gpu)} | | | | | | | | {count} |" for gpu, count in sorted(by_gpu.items())]
    return "\n".join(lines) + "\n"


def disagreements(root: Path) -> str:
    """A row for each form that a GPU contradicted."""
    lines = ["| GPU | form | operands | emulator | hardware | resolution |", "|---" * 6 + "|"]
    for path in sorted((root / "validation" / "failing").glob("*.json")):
        case = json.loads(path.read_text())
        lane = next(
            i for i in range(case["threads"]) if any(g[i] != p[i] for g, p in zip(case["got"], case["predicted"]))
        )
        cells = [
            ", ".join(f"0x{column[lane][:16]}" for column in case[key]) for key in ("operands", "predicted", "got")
        ]
        state = "not explained yet" if failing.report(case, path) else "the emulator gives it now"
        lines.append(
            f"| {markdown(case['device']['name'])} | `{case['form']}` | {' | '.join(cells)} | {case.get('resolution', state)} |"
        )
    if len(lines) == 2:
        lines.append("| | | | | | none known |")
    return "\n".join(lines) + "\n"


def sources(root: Path) -> str:
    """For each source of a rule the instructions that have it."""
    by_source: dict[str, list[str]] = defaultdict(list)
    evidence = coverage_table.hardware_evidence(root)
    for opcode in coverage_table.OPCODES:
        for row in ROWS.get(opcode, ()):
            for source in re.split(r"; (?![^()]*\))", coverage_table.knowledge(opcode, row, evidence)):
                head = re.match(r"ISA|bound|published [\w, ]+?(?= \(|$)|hardware [^(]+|[^:]*open", source)
                by_source[head[0].strip() if head else source].append(f"`{opcode}` {row.section}")
    names = {"ISA": "PTX ISA, every bit", "bound": "PTX ISA, a largest error"}
    lines = ["| source of the rule | instruction and section of the PTX ISA |", "|---|---|"]
    lines += [
        f"| {names.get(source, source)} | {', '.join(dict.fromkeys(rows))} |" for source, rows in by_source.items()
    ]
    return "\n".join(lines) + "\n"


def bounds(root: Path) -> str:
    """The largest errors that the ISA states."""
    lines = ["| instruction | largest error |", "|---|---|"]
    lines += [f"| `{opcode}.approx.{kind}` | {leeway.bound} |" for (opcode, kind), leeway in APPROXIMATE.items()]
    return "\n".join(lines) + "\n"


PARTS = {"hardware": hardware, "disagreements": disagreements, "sources": sources, "bounds": bounds}


def page(text: str, root: Path = ROOT) -> str:
    """The page with its generated parts written again."""
    return MARK.sub(lambda match: match[1] + PARTS[match[2]](root) + match[3], text)


if __name__ == "__main__":
    PAGE.write_text(page(PAGE.read_text()))
