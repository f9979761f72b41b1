"""Answers of the record as plain text tables."""

from __future__ import annotations

import datetime
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from harness.claim import case_id
from harness.records import sides
from harness.records.index import states
from harness.records.index.answers import CODE

WIDTH = 110
SHOWN_DIFFS = 5
SHOWN_CHANGES, SHOWN_MISSING = 40, 8
GLYPHS = {
    states.VALIDATED: "V",
    states.PREDICTED: "p",
    states.STALE: "s",
    states.REGRESSED: "R",
    states.CONTRADICTED: "C",
    states.FLAKY: "~",
    states.FAILING: "F",
    states.UNKNOWN: "?",
}


def table(rows: Sequence[Sequence[str]], indent: str = "    ") -> list[str]:
    """Lines with columns as wide as their widest cell; the last is cut at WIDTH."""
    if not rows:
        return []
    widths = [max(len(row[column]) for row in rows) for column in range(len(rows[0]))]
    lines = (indent + "  ".join(f"{cell:{w}}" for cell, w in zip(row, widths, strict=True)).rstrip() for row in rows)
    return [line if len(line) <= WIDTH else line[: WIDTH - 3] + "..." for line in lines]


def _count(number: int, things: str) -> str:
    return f"{number} {things if number != 1 else things[:-1]}"


def name(claim: str, case: str) -> str:
    return case_id.name(Path(claim).stem, case)


def age(date: str | None) -> str:
    """`3 days ago`, of any text."""
    if not date:
        return "never"
    try:
        then = datetime.datetime.fromisoformat(date)
    except ValueError:
        return f"at {date}"
    then = then if then.tzinfo else then.replace(tzinfo=datetime.UTC)
    hours = int((datetime.datetime.now(datetime.UTC) - then).total_seconds() // 3600)
    return f"{hours // 24} days ago" if hours >= 48 else f"{hours} hours ago" if hours > 0 else "within the hour"


def status(data: dict[str, Any], limit: int) -> str:
    if not data["cells"] and not data["gone"]:
        return "\n".join(["there are no records yet: run something, e.g. `uv run pytest repros`", *data["damaged"]])
    counts = ", ".join(f"{count} {state}" for state, count in data["states"].items())
    claims, cells, records = (_count(data[key], key) for key in ("claims", "cells", "records"))
    lines = [f"{claims} in {cells} (case x arch x compiler x host)" + (f": {counts}" if counts else "")]
    lines.append(f"hardware last validated one {age(data['last_validated'])}; {records}")
    rows = [
        (c["state"], name(c["claim"], c["case"]), c["arch"], c["compiler"], c["host"], c["reason"])
        for c in data["attention"]
    ]
    if rows:
        lines += ["", *table([("state", "claim", "arch", "compiler", "host", "why"), *rows[:limit]])]
    if data["gone"]:
        aside = "`repro record forget --gone` puts them aside"
        lines += ["", f"no repro claims these any more, so they are not verdicts ({aside})"]
        gone = [(name(c["claim"], c["case"]), c["arch"], c["compiler"], c["host"], _why_gone(c)) for c in data["gone"]]
        lines += table([("claim", "arch", "compiler", "host", "why"), *gone[:limit]])
        lines += [f"    ... and {len(gone) - limit} more: --all"] if len(gone) > limit else []
    if data["arithmetic"]:
        lines += ["", "arithmetic: " + ", ".join(f"{count} {kind}" for kind, count in data["arithmetic"].items())]
        leeway = [(c["arithmetic"], name(c["claim"], c["case"]), c["arch"], c["through"]) for c in data["leeway"]]
        lines += table(
            [("which", "claim", "arch", "outputs and the instructions they came through"), *leeway[:limit]]
            if leeway
            else []
        )
    if data["evidence"]:
        lines += ["", "evidence: " + ", ".join(f"{count} {kind}" for kind, count in data["evidence"].items())]
        lines += table([(one["key"], _count(one["cells"], "cells"), one["work"]) for one in data["published"]])
    other = [f"    repro record diff {c['last']} {c['other_code']}" for c in data["attention"] if c["other_code"]]
    lines += ["", "how the PTX differs", *other[:SHOWN_DIFFS]] if other else []
    if len(rows) > limit:
        lines.append(f"    ... and {len(rows) - limit} more: --all")
    if data["damaged"]:
        lines += ["", "not read:", *(f"    {text}" for text in data["damaged"])]
    return "\n".join(lines)


def _why_gone(cell: dict[str, Any]) -> str:
    return cell["reason"] + (f"; {cell['renamed']} has the same text" if cell["renamed"] else "")


def history(data: dict[str, Any]) -> str:
    lines = []
    for cell in data["cells"]:
        place = f"{cell['arch']} {cell['compiler']} {cell['host']}"
        said = f"{cell['state']}: {cell['reason']}"
        lines.append(f"{name(cell['claim'], cell['case'])} on {place}  {cell['ticks']}  {said}")
    rows = [("record", "when", "verdict", "case", "host", "compiler", "why; changed since the one before")]
    for record in data["records"]:
        changed = record["changed"]
        said = "first" if changed is None else ", ".join(changed)
        why = "; ".join(part for part in (record["verdict_reason"], said) if part)
        where = (record["case"], record["host"], record["compiler"])
        rows.append((record["id"], record["date"][:19].replace("T", " "), record["verdict"], *where, why))
    lines += ["", *table(rows)]
    if data["total"] > len(data["records"]):
        lines.append("    ... and older ones: -n")
    told = set()
    for record in data["records"]:
        place = (record["case"], record["arch"], record["compiler"], record["host"])
        if record["seen"] and place not in told:
            told.add(place)
            lines += ["", *_seen(record)]
    return "\n".join(lines)


def _seen(record: dict[str, Any]) -> list[str]:
    """The histogram of a record."""
    runs = sum(count for count, _ in record["seen"])
    place = (name(record["claim"], record["case"]), "on", record["arch"], record["compiler"], record["host"])
    about = " ".join(filter(None, place))
    seed = record["provenance"].get("seed", 0)
    lines = [f"seen in {runs} runs of {record['id']} {about}, seed {seed}"]
    return lines + table([(f"{count:8}", text) for count, text in record["seen"]], "")


def regressions(rows: list[dict[str, Any]]) -> str:
    if not rows:
        return "no regression"
    lines = []
    for one in rows:
        place = f"{one['arch']} {one['compiler']} {one['host']}"
        lines.append(f"{one['state']}: {name(one['claim'], one['case'])} on {place}")
        lines.append(f"    {one['reason']}")
        lines += [f"    {one['says']}"] if one["says"] else []
        if one["last_good"] and one["first_bad"]:
            lines.append(f"    look: repro record diff {one['last_good']} {one['first_bad']}")
    return "\n".join(lines)


def comparison(data: dict[str, Any], every: bool) -> str:
    """What `repro record compare` prints; with `every`, changes of machine code alone are listed too."""
    lines = []
    for letter in ("a", "b"):
        side = data[letter]
        days = f", {side['first'][:10]} to {side['last'][:10]}" if side["first"] else ""
        about = f"{_count(side['records'], 'records')} of {_count(side['cases'], 'cases')}{days}"
        if not side["records"]:
            about = "no records" + (f"; the record has {', '.join(side['known'])}" if side["known"] else "")
        lines.append(f"{letter.upper()}  {side['side']}: {about}")
    counts = [f"{count} in {kind}" for kind, count in data["counts"].items()]
    lines.append(
        f"{data['compared']} compared: {data['same']} the same" + (f"; changed: {', '.join(counts)}" * bool(counts))
    )
    if not data["compared"] and not data["missing"] and data["a"]["kind"] in (sides.COMPILER, "host"):
        lines.append("name what is to be run on both sides: a file or a folder, such as `repros`")
    shown = [row for row in data["changes"] if every or row["kinds"][0] not in CODE]
    limit = len(shown) if every else SHOWN_CHANGES
    for row in shown[:limit]:
        lines += ["", *_change(row)]
    left = [f"{len(shown) - limit} more changes: --all"] if len(shown) > limit else []
    left += [f"{data['earlier']} changes began before --since"] if data["earlier"] else []
    only_code = len(data["changes"]) - len(shown)
    left += [f"{_count(only_code, 'claims')} changed in machine code alone: --all lists them"] if only_code else []
    lines += ["", *left] if left else []
    return "\n".join(lines + _missing(data, every))


def _change(row: dict[str, Any]) -> list[str]:
    a, b = row["a"], row["b"]
    since = f"since {row['since'][:10]}" + (f", first by {row['since_release']}" if row["since_release"] else "")
    lines = [f"{row['kinds'][0]}: {name(row['claim'], row['case'])} on {_where(a, b)}"]
    lines += [f"    {row['says']}", f"    {since}; A last seen {a['date'][:10]}"]
    return [*lines, f"    look: repro record diff {a['id']} {b['id']}"]


def _where(a: dict[str, Any], b: dict[str, Any]) -> str:
    """The places of both runs, and their differences: `sm_90 p1 (NVIDIA H100, driver 570 -> 580)`."""

    def both(key: str) -> str:
        values = [str(one[key]) for one in (a, b) if one[key]]
        return " -> ".join(dict.fromkeys(values))

    driver = f"driver {both('driver')}" if both("driver") else ""
    device = ", ".join(filter(None, (both("gpu"), driver)))
    compiled = [f"{one['compiler']} {one['version'] or ''}".strip() for one in (a, b)]
    compiled = [
        one["compiler"] if "==" in one["compiler"] else text for one, text in zip((a, b), compiled, strict=True)
    ]
    by = " -> ".join(dict.fromkeys(compiled))
    return f"{both('arch')} {both('host')}" + (f" ({device})" if device else "") + f" by {by}"


def _missing(data: dict[str, Any], every: bool) -> list[str]:
    """The runs that one side lacks."""
    if not data["missing"]:
        return []
    runs = [one for one in data["missing"] if one["host"]]
    lines = ["", f"not compared: {_count(len(data['missing']), 'runs')} missing"]
    lines[-1] += (
        f", {len(data['missing']) - len(runs)} of them where no known host is"
        if len(runs) < len(data["missing"])
        else ""
    )
    rows = [
        (name(one["claim"], one["case"]), one["side"], one["host"] or "-", one["compiler"] or "-", one["why"])
        for one in data["missing"]
    ]
    limit = len(rows) if every else SHOWN_MISSING
    lines += table([("claim", "side", "host", "compiler", "why"), *rows[:limit]])
    return lines + ([f"    ... and {len(rows) - limit} more: --all"] if len(rows) > limit else [])


def matrix(data: dict[str, Any]) -> str:
    if not data["rows"]:
        return "there are no records yet: run something, e.g. `uv run pytest repros`"
    columns = data["columns"]
    lines = [f"    {number + 1}  {c['arch']} {c['compiler']} {c['host']}" for number, c in enumerate(columns)]
    rows = [("claim", *(str(number + 1) for number in range(len(columns))), "state")]
    for row in data["rows"]:
        cells = (GLYPHS[state] if state else "." for state in row["cells"])
        rows.append((Path(row["claim"]).stem, *cells, row["state"]))
    legend = "  ".join(f"{glyph} {state}" for state, glyph in GLYPHS.items())
    return "\n".join(["columns", *lines, "", *table(rows, ""), "", f"{legend}  . not run"])


def _shown(value: Any) -> str:
    text = "-" if value is None else str(value)
    return text[:12] if len(text) == 64 else text


def diff(data: dict[str, Any]) -> str:
    a, b = data["a"], data["b"]
    lines = []
    for letter, one in (("A", a), ("B", b)):
        why = f" ({one['verdict_reason']})" if one["verdict_reason"] else ""
        place = f"{one['arch']} {one['compiler']} {one['host']}"
        when = one["date"][:19].replace("T", " ")
        claim = name(one["claim"], one["case"])
        lines.append(f"{letter}  {one['id']}  {when}  {one['verdict']}{why}  {claim}  {place}")
    lines.append(f"unrelated: {data['unrelated']}" if data["unrelated"] else f"changed: {data['says']}")
    rows = [("field", "A", "B")]
    rows += [(one["field"], _shown(one["a"]), _shown(one["b"])) for one in data["fields"]]
    lines += ["", *(table(rows) if len(rows) > 1 else ["    every recorded field is the same"])]
    if data["outputs"]:
        lines += ["", "outputs", *table([(o["output"], _shown(o["a"]), _shown(o["b"])) for o in data["outputs"]])]
    for one in data["differences"]:
        lines += ["", f"{one['letter']}: {one['message']}"]
        lines += table([("index", "where", "expected", "got"), *(tuple(map(str, r)) for r in one["first"][:16])])
    for text in data["texts"]:
        lines += ["", f"--- {text['kind'].upper()} of {text['kernel']}", text["diff"] or text["note"]]
    lines += ["", f"cause: {data['cause']}"]
    if data["known"]:
        lines += ["already known", *(f"    {text}" for text in data["known"])]
    if data["runs"]:
        lines.append("the cheapest runs that would tell, in this order; stop at the first whose verdict changes")
        lines += [f"    {n}. {run['command']}\n       {run['tells']}" for n, run in enumerate(data["runs"], 1)]
    return "\n".join(lines)
