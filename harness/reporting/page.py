"""The report as one HTML file: the matrix as a table that needs no script, and every cell's page as data.

Nothing of the file comes from elsewhere: its policy allows its own style and script, by their hashes, and no network.
An author's text reaches the table escaped and the cells' pages as text nodes. The same report gives the same bytes.
"""

from __future__ import annotations

import base64
import datetime
import hashlib
import html
import importlib.resources
import json
import re
import string
import zlib
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator
from itertools import groupby
from pathlib import Path
from typing import Any
from urllib.parse import quote

from harness import store
from harness.reporting import page_diff
from harness.reporting.page_model import ATTENTION, STATES, BothCodes, Cell, Claim, Column, Output, Past, Report, Run
from harness.terminal import printable

SHOWN_ATTENTION = 10  # at once; the rest unfolds
LISTED_ATTENTION = 300
NAMED_CHANGES = 5  # of each kind
FAILING, PASSING, NEW = "now failing", "passing again", "new"
SHOWN_HISTORY = 40  # stretches of equal runs, the newest


def render(report: Report) -> str:
    """The file's text. 300 claims x 12 columns: see benchmarks/report.py."""
    style, script = _ours("page.css"), _ours("page.js")
    drawing = "".join(map(_ours, ("page_cell.js", "page_code.js", "page_claim.js")))
    claims = dict(enumerate(report.claims))
    fragments = {
        (cell.claim, cell.column): fragment(claims[cell.claim], report.columns[cell.column]) for cell in report.cells
    }
    return string.Template(_ours("page.html")).substitute(
        title=escape(report.title),
        about=_about(report),
        style=style,
        style_hash=_hash(style),
        drawing=drawing,
        drawing_hash=_hash(drawing),
        script=script,
        script_hash=_hash(script),
        states=_states(report.cells),
        changes=_changes(report, fragments),
        attention=_attention(report, fragments),
        matrix=_matrix(report, fragments),
        columns=_json([[visible(part) for part in (c.arch, c.host, c.compiler)] for c in report.columns]),
        cells=_packed(_data(report, fragments)),
    )


def write(report: Report, path: Path) -> int:
    """Write the file whole or not at all; returns its size in bytes. Raises OSError, which names `path`."""
    data = render(report).encode()
    try:
        store.write_atomically(path, data)
    except OSError as error:
        raise OSError(error.errno, error.strerror, str(path)) from None
    return len(data)


def fragment(claim: Claim, column: Column) -> str:
    """A cell's permalink below the page: `/repros/shuffle_width.py/width=8@sm_90a/p1/nvidia 4.8.1`, percent-encoded."""
    row = [*claim.repro.split("/"), *filter(None, [claim.case])]
    parts = [_quoted(part) for part in row], [_quoted(part) for part in (column.arch, column.host, column.compiler)]
    return "/" + "@".join("/".join(side) for side in parts)


def _quoted(text: str) -> str:
    return quote(text.encode("utf-8", "surrogatepass"), safe="=,")


def visible(text: str) -> str:
    """The text with every character that shows nothing or turns others round written as its escape."""
    return printable(text)


def escape(text: str) -> str:
    return html.escape(visible(text))


def prose(text: str) -> str:
    """A sentence, escaped, with the text between backticks as code."""
    return re.sub("`([^`]+)`", r"<code>\1</code>", escape(text))


def age(date: str, newest: str) -> str:
    """How old a date is on the day of the newest run: `today`, `3 d`, `5 wk`, `7 mo`, `2 y`; '' where unknown."""
    try:
        days = (datetime.date.fromisoformat(newest[:10]) - datetime.date.fromisoformat(date[:10])).days
    except ValueError:
        return ""
    for limit, unit, name in ((14, 1, "d"), (70, 7, "wk"), (730, 30, "mo")):
        if days < limit:
            return f"{days // unit} {name}" if days > 0 else "today"
    return f"{days // 365} y"


def _ours(name: str) -> str:
    return importlib.resources.files("harness.reporting").joinpath(name).read_text("utf-8")


def _hash(text: str) -> str:
    return "sha256-" + base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()


def _json(value: Any) -> str:
    """JSON that is safe in a script element."""
    return json.dumps(value, ensure_ascii=False, separators=(",", ":")).replace("<", "\\u003c")


def _packed(value: Any) -> str:
    data = json.dumps(value, ensure_ascii=False, separators=(",", ":")).encode()
    return base64.b64encode(zlib.compress(data, 6)).decode()


# --- the table and the text above it -----------------------------------------------------------------------------


def _about(report: Report) -> str:
    claims, cases = len({claim.repro for claim in report.claims}), len(report.claims)
    sizes = [(claims, "claim"), *([(cases, "case")] if cases != claims else [])]
    sizes += [(len(report.columns), "column"), (len(report.cells), "cell")]
    count = ", ".join(counted(size, thing) for size, thing in sizes)
    if not report.newest:
        return f"{count}. Nothing was run yet."
    date = escape(report.newest)
    sure = Counter(cell.arithmetic for cell in report.cells)
    told = ", ".join(f"{sure[kind]} {kind}" for kind in ("exact", "bounded", "open") if sure[kind])
    count += f". Arithmetic: {told}" if told else ""
    why = Counter(cell.evidence.partition(":")[0] for cell in report.cells)
    told = ", ".join(f"{why[kind]} {kind}" for kind in ("emulator", "published", "hardware") if why[kind])
    count += f". Evidence: {told}" if told else ""
    return f'{count}. Newest run <time datetime="{date}" id="newest">{_day(report.newest)}</time>; ages count to it.'


def counted(number: int, thing: str) -> str:
    """`1 claim`, `2 claims`."""
    return f"{number} {thing}{'s' * (number != 1)}"


def _day(date: str) -> str:
    return escape(date[:10])


def _states(cells: Iterable[Cell]) -> str:
    counts = dict.fromkeys(STATES, 0)
    for cell in cells:
        counts[cell.state] += 1
    return "\n".join(
        f'<li><button type="button" class="state {state}" data-state="{state}" aria-pressed="false" disabled>'
        f'<span aria-hidden="true">{symbol}</span> {state} <b>{counts[state]}</b></button>'
        f'<span class="means">{meaning}</span></li>'
        for state, (symbol, meaning) in STATES.items()
    )


def _changes(report: Report, fragments: dict[tuple[int, int], str]) -> str:
    """The verdicts that changed on the day of the newest run, in one line; '' if that is the first day."""
    day = report.newest[:10]
    before = max((run.date[:10] for cell in report.cells for run in cell.history if run.date[:10] < day), default="")
    if not before:
        return ""
    found: dict[str, list[str]] = defaultdict(list)
    for cell in report.cells:
        if kind := _change(cell, day):
            claim = report.claims[cell.claim]
            name = escape(" ".join(filter(None, [Path(claim.repro).stem, claim.case])))
            found[kind].append(f'<a href="#{fragments[cell.claim, cell.column]}">{name}</a>')
    kinds = [
        f"{kind}: {len(links)} ({', '.join([*links[:NAMED_CHANGES], *['...'] * (len(links) > NAMED_CHANGES)])})"
        for kind in (FAILING, PASSING, NEW)
        if (links := found[kind])
    ]
    return f"<p class=changes>On {day}, since {before}: {'; '.join(kinds) or 'no verdict changed'}.</p>"


def _change(cell: Cell, day: str) -> str:
    """How the verdict of a cell changed on that day, or ''."""
    judged = [run for run in cell.history if run.verdict in ("pass", "fail", "contradicted")]
    then = [run.verdict == "pass" for run in judged if run.date[:10] < day]
    now = [run.verdict == "pass" for run in judged if run.date[:10] == day]
    if not now or (then and then[-1] == now[-1]):
        return ""
    if not then:
        return NEW
    return PASSING if now[-1] else FAILING


def _attention(report: Report, fragments: dict[tuple[int, int], str]) -> str:
    """The list of what is wrong, worst first; '' where nothing is."""
    wrong = [cell for state in ATTENTION for cell in report.cells if cell.state == state]
    if not wrong:
        return ""
    rows = [_wrong(report, cell, fragments[cell.claim, cell.column]) for cell in wrong[:LISTED_ATTENTION]]
    shown, folded = ("".join(part) for part in (rows[:SHOWN_ATTENTION], rows[SHOWN_ATTENTION:]))
    left = len(wrong) - len(rows)
    more = f"<p class=hint>and {left} more, marked in the matrix</p>" if left else ""
    if folded:
        count = len(wrong) - SHOWN_ATTENTION
        more = f"<details><summary>{count} more</summary><ul class=attention>{folded}</ul>{more}</details>"
    return (
        '<section aria-labelledby="attention-title"><h2 id="attention-title">Needs attention</h2>'
        f"<ul class=attention>{shown}</ul>{more}</section>"
    )


def _wrong(report: Report, cell: Cell, link: str) -> str:
    claim, column = report.claims[cell.claim], report.columns[cell.column]
    where = escape(" · ".join((column.arch, column.host, column.compiler)))
    place = f'<span class="where"><span class="file">{escape(claim.repro)}</span> {where}</span>'
    return (
        f'<li>{_badge(cell.state)} <a href="#{link}"><bdi>{prose(claim.text)}</bdi> {_case(claim)}</a>'
        f'{place} <span class="why"><bdi>{prose(cell.reason)}</bdi></span></li>\n'
    )


def _badge(state: str) -> str:
    return f'<span class="state {state}"><span aria-hidden="true">{STATES[state][0]}</span> {state}</span>'


def _case(claim: Claim) -> str:
    return f"<code>{escape(claim.case)}</code>" if claim.case else ""


def _matrix(report: Report, fragments: dict[tuple[int, int], str]) -> str:
    """A body for each claim's rows; if repros are in several folders, a header above the claims of each folder."""
    cells = {(cell.claim, cell.column): cell for cell in report.cells}
    states: dict[str, Counter[str]] = defaultdict(Counter)
    for cell in report.cells:
        states[_folder(report.claims[cell.claim])][cell.state] += 1
    numbered = enumerate(report.claims)
    folders = [(folder, list(group)) for folder, group in groupby(numbered, key=lambda one: _folder(one[1]))]
    rows = []
    for folder, claims in folders:
        if len(folders) > 1:
            count = len({claim.repro for _, claim in claims})
            rows.append(_folder_header(folder, count, states[folder], 1 + len(report.columns)))
        for _, group in groupby(claims, key=lambda one: (one[1].repro, one[1].text)):
            rows += ["<tbody>", *_rows(group, report, cells, fragments), "</tbody>"]
    return f"<table class=matrix>\n{_head(report.columns)}\n" + "\n".join(rows) + "\n</table>"


def _rows(
    group: Iterable[tuple[int, Claim]],
    report: Report,
    cells: dict[tuple[int, int], Cell],
    fragments: dict[tuple[int, int], str],
) -> Iterator[str]:
    for place, (number, claim) in enumerate(group):
        cased = [
            _cell(cells.get((number, column)), fragments.get((number, column), ""), report.newest)
            for column in range(len(report.columns))
        ]
        yield f"<tr{'' if place else ' class=first'}>{_row_header(claim)}{''.join(cased)}</tr>"


def _folder(claim: Claim) -> str:
    return claim.repro.rpartition("/")[0]


def _folder_header(folder: str, count: int, states: Counter[str], columns: int) -> str:
    """The folder, how many claims it has, and how many of their cells are in each state."""
    badges = " ".join(
        f'<span class="state {state}" title="{state}"><span aria-hidden="true">{STATES[state][0]}</span>'
        f"<span class=unseen>{state}</span> {states[state]}</span>"
        for state in STATES
        if states[state]
    )
    fold = f"<button type=button aria-expanded=true disabled><bdi class=file>{escape(folder or '.')}</bdi></button>"
    name = f"{fold} <span class=where>{counted(count, 'claim')}</span>"
    return f"<tbody class=folder><tr><th scope=rowgroup colspan={columns}><div>{name} {badges}</div></th></tr></tbody>"


def _head(columns: tuple[Column, ...]) -> str:
    arches = "".join(
        f"<th scope=colgroup colspan={len(list(group))}>{escape(arch)}</th>"
        for arch, group in groupby(columns, key=lambda column: column.arch)
    )
    hosts = "".join(
        f"<th scope=col><bdi>{escape(column.host)}</bdi><span>{'hardware' if column.hardware else 'emulator: predicts'}"
        f"</span><span><span class=unseen>compiled </span>by <bdi>{escape(column.compiler)}</bdi>"
        f"{_axis(' ', column.release)}</span>{_about_column(column)}</th>"
        for column in columns
    )
    return (
        "<caption class=unseen>The state of each claim, by GPU architecture, host and compiler</caption>\n"
        f"<thead><tr><th scope=col rowspan=2 class=corner>Claim</th>{arches}</tr>\n<tr class=hosts>{hosts}</tr></thead>"
    )


def _axis(before: str, text: str) -> str:
    return f"{before}<bdi>{escape(text)}</bdi>" if text else ""


def _about_column(column: Column) -> str:
    """The GPU, the driver, and from when to when there are runs, a line each."""
    lines = [_axis("", column.gpu), _axis("driver ", column.driver)]
    if column.first:
        days = dict.fromkeys((_day(column.first), _day(column.last)))
        lines.append(" to ".join(f'<time datetime="{day}">{day}</time>' for day in days))
    return "".join(f"<span>{line}</span>" for line in lines if line)


def claim_fragment(claim: Claim) -> str:
    """The permalink of a repro's page, with all of its cells."""
    return "/" + "/".join(_quoted(part) for part in claim.repro.split("/"))


def _row_header(claim: Claim) -> str:
    return (
        f'<th scope=row><a href="#{claim_fragment(claim)}"><bdi class=claim>{prose(claim.text)}</bdi></a>'
        f"<span class=file>{escape(claim.repro)}</span> {_case(claim)}</th>"
    )


def _cell(cell: Cell | None, link: str, newest: str) -> str:
    if cell is None:
        return "<td class=none><span class=unseen>not run</span></td>"
    symbol = STATES[cell.state][0]
    old = age(cell.validated, newest)
    when = f'<time datetime="{_day(cell.validated)}">{old}</time>' if old else ""
    seen = f"seen {cell.first} to {cell.last}, so since {cell.changed}" if cell.first else ""
    if seen and cell.state in ATTENTION:
        when = f'<time datetime="{escape(cell.changed)}">since {escape(cell.changed)}</time>'
    told = f' title="{escape(seen)}"' if seen else ""
    sure = f" <span class=leeway>{cell.arithmetic}</span>" if cell.arithmetic in ("bounded", "open") else ""
    shown = f"<span aria-hidden=true>{symbol}</span> {cell.state}"
    return f'<td class={cell.state}{told}><a href="#{link}">{shown}</a>{sure}{when}</td>'


# --- the pages of the cells, as data -----------------------------------------------------------------------------


class _Pool:
    """Values kept once: the number of `key` is the index of `make(key)` in `values`."""

    def __init__(self, make: Callable[[Any], Any]) -> None:
        self.values: list[Any] = []
        self._make, self._numbers = make, {}

    def __call__(self, key: Any) -> int:
        number = self._numbers.get(key)
        if number is None:
            value = self._make(key)
            number = self._numbers[key] = len(self.values)
            self.values.append(value)
        return number


class _Pools:
    """The data that cells share: texts, provenances and differences of code (pairs of texts)."""

    def __init__(self) -> None:
        self.text = _Pool(visible)
        self.facts = _Pool(lambda facts: [[self.text(name), self.text(value)] for name, value in facts])
        self.code = _Pool(lambda pair: _difference(*pair))

    def run(self, run: Run | None) -> list[int] | None:
        return run and [self.text(run.id), self.text(run.date), self.facts(run.facts)]


def _data(report: Report, fragments: dict[tuple[int, int], str]) -> dict[str, Any]:
    """See page_cell.js."""
    pools = _Pools()
    cells = {fragments[cell.claim, cell.column]: _page(cell, report, pools) for cell in report.cells}
    both = [_both_codes(*one, pools) for one in report.both_codes]
    claims = [[visible(part) for part in (claim.text, claim.repro, claim.case)] for claim in report.claims]
    return {
        "claims": claims,
        "cells": cells,
        "texts": pools.text.values,
        "facts": pools.facts.values,
        "code": pools.code.values,
        "states": {state: list(told) for state, told in STATES.items()},
        "both": both,
    }


def _page(cell: Cell, report: Report, pools: _Pools) -> dict[str, Any]:
    """The data from which page_cell.js draws a cell; empty parts are left out."""
    stretches = [_stretch(list(group), pools) for _, group in groupby(cell.history, key=_sameness)]
    page = {
        "claim": cell.claim,
        "column": cell.column,
        "hardware": int(report.columns[cell.column].hardware),
        "state": cell.state,
        "reason": pools.text(cell.reason),
        "newest": pools.run(cell.newest),
        "base": pools.run(cell.base),
        "base_name": pools.text(cell.base_name),
        "bad": pools.run(cell.bad),
        "validated": visible(cell.validated),
        "age": age(cell.validated, report.newest),
        "first": visible(cell.first),
        "last": visible(cell.last),
        "changed": visible(cell.changed),
        "history": stretches[-SHOWN_HISTORY:],
        "earlier": max(len(stretches) - SHOWN_HISTORY, 0),
        "runs": max(cell.runs, len(cell.history)),
        "outputs": [_output(output) for output in cell.outputs],
        "finding": visible(cell.finding),
        "source": pools.text(cell.source) if cell.source else None,
        "code": [
            [code.kind, pools.text(code.kernel), pools.code((code.base, code.newest))]
            for code in cell.code
            if code.base is None or code.newest is None or code.base != code.newest
        ],
        "seen": [[count, visible(text)] for count, text in cell.seen],
        "rerun": visible(cell.rerun),
        "cause": visible(cell.cause),
        "known": [visible(text) for text in cell.known],
        "tell": [[visible(part) for part in one] for one in cell.tell],
    }
    return {name: value for name, value in page.items() if value or name in ("claim", "column", "reason")}


def _both_codes(claim: int, column: int, code: BothCodes, pools: _Pools) -> list[Any]:
    """The data from which page_code.js draws a kernel that both compilers made."""
    problem = pools.text(code.problem) if code.problem else None
    number = None if code.problem else pools.code((code.our_sass, code.their_sass))
    figures = [[figure.name, figure.ours, figure.theirs, int(figure.worse)] for figure in code.figures]
    names = [pools.text(text) for text in (code.kernel, code.theirs, code.ptxas)]
    return [claim, column, *names, figures, number, problem]


def _output(output: Output) -> list[Any]:
    rows = [[visible(part) for part in row] for row in output.rows]
    return [visible(output.name), visible(output.message), list(output.lanes), rows, output.line]


def _sameness(past: Past) -> tuple[str, ...]:
    return past.verdict, past.reason, past.digest


def _stretch(runs: list[Past], pools: _Pools) -> list[int]:
    """Successive runs with the same result: the newest, the date of the first, how many."""
    last = runs[-1]
    texts = (last.id, last.date, last.verdict, last.reason, last.digest[:8], runs[0].date)
    return [*map(pools.text, texts), len(runs)]


KINDS = {"same": " ", "renamed": "~", "changed": "!", "removed": "-", "added": "+"}


def _difference(base: str | None, newest: str | None) -> list[Any]:
    """[hunks, lines that changed, lines renumbered, rows left out], or [the sides whose text was not kept]."""
    if base is None or newest is None:
        return [[side for side, text in enumerate((base, newest)) if text is None]]
    difference = page_diff.diff(visible(base), visible(newest))
    hunks = [[[KINDS[row.kind], *row[1:]] for row in hunk] for hunk in difference.hunks]
    return [hunks, difference.changed, difference.renamed, difference.left_out]
