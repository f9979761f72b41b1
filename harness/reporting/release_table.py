"""The table claim x compiler of one run, as Markdown: what each release makes of each claim, and what changed when.

A cell shows how the program ended: `pass`; `differs` from expected() or the golden; `CHECK-PTX`, a line that the PTX
lacks; `rejected` with the diagnostic's id; `accepted` where the claim is that it is rejected; or another outcome by its
name. Bold is what the verdict calls a failure; what `nvidia = {...}` announces is none.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

from harness import store
from harness.terminal import markdown as as_markdown, one_line

BEGIN, END = "<!-- release table -->", "<!-- end of the release table -->"
NOT_RUN = "not run"
_SHOWN_NOTES = 120  # characters
_ENDINGS = {name: name for name in ("CHECK-PTX", "CHECK-SASS")} | {"not rejected": "accepted"}


def write(path: Path, compilers: Sequence[str], reports: Iterable[dict[str, Any]]) -> None:
    """Write the table to the file, or between the marks BEGIN and END where it has them. Raises OSError."""
    text = markdown(compilers, reports)
    old = path.read_text() if path.exists() else ""
    before, begin, rest = old.partition(BEGIN)
    _, end, after = rest.partition(END)
    if begin and end:
        text = f"{before}{BEGIN}\n\n{text}\n{END}{after}"
    store.write_atomically(path, text.encode())


def markdown(compilers: Sequence[str], reports: Iterable[dict[str, Any]]) -> str:
    """Rows that differ between compilers or fail, then the claims that are alike everywhere, then the changes.

    Repros in a language that NVIDIA's compiler does not take are left out.
    """
    cells: dict[str, dict[str, list[tuple[str, str]]]] = {}
    for data in reports:
        if data["record"]["reason"] == "not its language":
            continue
        claim = Path(data["record"]["repro"]).stem
        cells.setdefault(claim, {}).setdefault(data["compiler"], []).append((ending(data), data["brief"]))
    rows = {
        claim: [_together(outcomes.get(name, [])) for name in compilers] for claim, outcomes in sorted(cells.items())
    }
    alike = {claim: row for claim, row in rows.items() if len(set(row)) == 1 and "**" not in row[0]}
    names = [name.replace("nvidia==", "") for name in compilers]
    cases = sum(len(outcomes) for by in cells.values() for outcomes in by.values())
    lines = [f"{len(rows)} claims, {cases} cases in all. Claims that do not end alike under every release:", ""]
    lines += [f"| claim | {' | '.join(names)} |", "|---" * (len(names) + 1) + "|"]
    lines += [f"| {claim} | {' | '.join(row)} |" for claim, row in rows.items() if claim not in alike]
    lines += ["", *_alike(alike), *_totals(names, cells, compilers), *_changes(names, rows), *_why(cells, compilers)]
    return "\n".join(lines).rstrip() + "\n"


def ending(data: dict[str, Any]) -> str:
    """How one case ended, in a few words; bold where its verdict is a failure."""
    record = data["record"]
    if record["verdict"] == "infra":
        return NOT_RUN
    kind, detail = record["outcome"], record["detail"]
    if kind == "rejected":
        text = f"rejected {as_markdown(detail.get('id') or detail.get('class') or '')}".rstrip()
    elif kind == "outputs" and record["verdict"] not in ("pass", "skip"):
        text = _ENDINGS.get(record["reason"], "differs")
    elif kind == "outputs":
        text = "pass" if record["verdict"] == "pass" else "skipped"
    elif kind == "error":
        text = "error " + (re.match(r"(?:error: )?(?:\w+\.)*(\w+)", data["brief"]) or ["", ""])[1]
    else:
        text = kind
    return text if record["verdict"] in ("pass", "skip") else f"**{text.rstrip()}**"


def _together(endings: list[tuple[str, str]]) -> str:
    """The cell of a claim: its cases' endings, with how many there are of each where they are several."""
    counts = Counter(text for text, _ in endings)
    if len(counts) < 2:
        return next(iter(counts), "")
    return ", ".join(f"{text} {count}" for text, count in sorted(counts.items()))


def _alike(alike: dict[str, list[str]]) -> list[str]:
    by_ending: dict[str, list[str]] = {}
    for claim, row in alike.items():
        by_ending.setdefault(row[0], []).append(claim)
    return [
        part
        for text, claims in sorted(by_ending.items())
        for part in (f"`{text}` under every release, {len(claims)} claims: {', '.join(claims)}.", "")
    ]


def _totals(names: Sequence[str], cells: dict[str, Any], compilers: Sequence[str]) -> list[str]:
    lines = ["| cases | " + " | ".join(names) + " |", "|---" * (len(names) + 1) + "|"]
    kinds = ("as the claim and its header state", "otherwise", NOT_RUN)
    counts = {name: Counter() for name in compilers}
    for by in cells.values():
        for name, endings in by.items():
            counts[name].update(
                kinds[2] if text == NOT_RUN else kinds[1] if "**" in text else kinds[0] for text, _ in endings
            )
    return lines + [f"| {k} | {' | '.join(str(counts[name][k]) for name in compilers)} |" for k in kinds] + [""]


def _changes(names: Sequence[str], rows: dict[str, list[str]]) -> list[str]:
    """For each release after the first, the claims that end otherwise than under the one before."""
    lines = ["Changes from one release to the next:", ""]
    for place in range(1, len(names)):
        changed: dict[tuple[str, str], list[str]] = {}
        for claim, row in rows.items():
            if row[place] != row[place - 1]:
                changed.setdefault((row[place - 1], row[place]), []).append(claim)
        head = f"- {names[place - 1]} to {names[place]}: "
        said = [f"{old} became {new}: {', '.join(claims)}" for (old, new), claims in sorted(changed.items())]
        lines.append(head + ("; ".join(said) or "nothing that a claim shows"))
    return [*lines, ""]


def _why(cells: dict[str, Any], compilers: Sequence[str]) -> list[str]:
    """The texts of errors and of failures to run, each once, with its claims and releases."""
    said: dict[str, dict[str, list[str]]] = {}
    for claim, by in cells.items():
        for name in compilers:
            for text, brief in by.get(name, []):
                if (text == NOT_RUN or "**" in text) and brief != "outputs":
                    places = said.setdefault(f"{text}: {_escaped(brief)}", {}).setdefault(claim, [])
                    places += [short] if (short := name.replace("nvidia==", "")) not in places else []
    if not said:
        return []
    lines = ["Messages of failures:", ""]
    for text, claims in sorted(said.items()):
        lines.append(f"- {text}: " + "; ".join(f"{claim} ({', '.join(places)})" for claim, places in claims.items()))
    return lines


def _escaped(text: str) -> str:
    plain = one_line(re.sub(r"\x1b\[[\d;]*m", "", text))
    short = plain if len(plain) <= _SHOWN_NOTES else plain[:_SHOWN_NOTES] + "..."
    return "`" + short.replace("`", "'").replace("|", "\\|") + "`" if short else ""
