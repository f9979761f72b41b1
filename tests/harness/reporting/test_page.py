"""The report page: what of a record it shows, that nothing in a text becomes markup, and differences of code."""

import base64
import json
import re
import zlib
from dataclasses import replace
from html.parser import HTMLParser
from pathlib import Path

import pytest
from hypothesis import given, settings, strategies as st

from harness.records.index import states
from harness.reporting import page, page_diff, page_model
from harness.reporting.page_model import Cell, Claim, Code, Column, Output, Past, Report, Run

HOSTILE = (
    "</script><script>window.hostile=1</script>",
    "<img src=x onerror=window.hostile=1>",
    "\"'><svg onload=window.hostile=1>",
    "<!--",
    "]]>",
    "$title ${script} {0}",
    "javascript:window.hostile=1",
    "&lt;b&gt; & &amp;",
    "right to left: \u202egnp.exe",
    "bell \x07 nul \x00 escape \x1b[31m line\u2028end",
    "half a pair \ud83d",
    "emoji 🧵 and é and 日本",
    "#/?q=%3C&state=stale",
    "__proto__",
)
VOID = {"meta", "link", "input", "col", "br"}


def run(name="1a-1", date="2026-11-20T12:00:00Z", **facts):
    return Run(name, date, tuple(facts.items()))


def report(text="It is so.", state="regressed", **more):
    """One claim whose every text is `text`, with a validated one."""
    good = run("good-1", "2026-11-01T08:00:00Z", driver="575", gpu=text)
    bad = run("bad-1", driver="580", **{text or "none": text})
    wrong = Cell(
        0, 0, state, text, bad, good, "last good", bad, "2026-11-01T08:00:00Z",
        (Past("good-1", "2026-11-01T08:00:00Z", "pass", "", "a1"), Past(text, "2026-11-20", "fail", text, text)), 2,
        (Output(text, text, (0,) * 8 + (2,) * 24, ((text, text, text, text),)),),
        (Code("PTX", text, f"a\n{text}\nc", f"a\nb {text}\nc"),), text, text, (text,), ((text, text),),
    )  # fmt: skip
    fine = Cell(1, 1, "validated", "passed", good, good, validated="2026-11-19T00:00:00Z", rerun="repro run b.py")
    columns = (Column("sm_90", "embedded", "ours", False), Column("sm_90", text or "p1", "nvidia==4.6.3", True))
    claims = (Claim("repros/a.py", text, text), Claim("repros/b.py", "width=8", "The other."))
    return Report(more.get("title", text), claims, columns, (wrong, fine))


class Reader(HTMLParser):
    """The elements and the text of a page; fails where elements do not nest."""

    def __init__(self, text):
        super().__init__()
        self.elements, self.texts, self.open = [], [], []
        self.feed(text)
        self.close()
        assert not self.open

    def handle_starttag(self, tag, attributes):
        self.elements.append((tag, dict(attributes)))
        if tag not in VOID:
            self.open.append(tag)

    def handle_endtag(self, tag):
        assert self.open.pop() == tag

    def handle_data(self, text):
        if self.open and self.open[-1] not in ("script", "style"):
            self.texts.append(text)


def data(text):
    """The data from which the cells' pages are drawn."""
    packed = re.search(r'<script type="application/octet-stream" id="cells">([A-Za-z0-9+/=]*)</script>', text)[1]
    return json.loads(zlib.decompress(base64.b64decode(packed)))


def tags(text):
    return [tag for tag, _ in Reader(page.render(report(text))).elements]


@pytest.mark.parametrize("hostile", HOSTILE)
def test_a_text_can_hold_anything(hostile):
    text = page.render(report(hostile))
    text.encode()
    reader = Reader(text)
    assert [tag for tag, _ in reader.elements] == tags("It is so.")
    assert page.visible(hostile) in reader.texts
    assert not any(name.startswith("on") for _, attributes in reader.elements for name in attributes)
    cell = data(text)["cells"][page.fragment(*_first(report(hostile)))]
    assert cell["rerun"] == page.visible(hostile)


def _first(of):
    return of.claims[of.cells[0].claim], of.columns[of.cells[0].column]


@given(st.text(st.characters(exclude_characters="\n\t")))
@settings(deadline=None)
def test_any_text_is_seen_and_none_is_markup(text):
    made = page.escape(text)
    assert not re.search(r"[<>\"']", made)
    seen = Reader(f"<p>{made}</p>")
    assert "".join(seen.texts) == page.visible(text)


def test_backticks_make_code_of_what_is_escaped():
    assert page.prose("`a < b` is `<i>`, not ` alone") == (
        "<code>a &lt; b</code> is <code>&lt;i&gt;</code>, not ` alone"
    )


def test_the_same_report_gives_the_same_bytes_and_another_order_of_facts_does_not_hide():
    assert page.render(report()) == page.render(report())
    assert page.render(report()) != page.render(report("It is not so."))


def test_the_page_asks_for_nothing():
    reader = Reader(page.render(report()))
    loaded = [attributes.get("src") or attributes.get("href", "") for _, attributes in reader.elements]
    assert all(address.startswith(("#", "data:,")) for address in loaded if address)
    policy = next(one["content"] for _, one in reader.elements if one.get("http-equiv") == "Content-Security-Policy")
    assert "default-src 'none'" in policy and "unsafe" not in policy and "http" not in policy
    assert "url(" not in page._ours("page.css") and "@import" not in page._ours("page.css")


def test_the_scripts_draw_texts_only():
    for name in ("page.js", "page_cell.js", "page_code.js", "page_claim.js"):
        script = page._ours(name)
        assert not re.search(r"innerHTML|outerHTML|insertAdjacentHTML|document\.write|eval\(|fetch\(|import\(", script)


def test_states_are_the_ones_of_the_record_each_with_its_own_symbol():
    assert (*page_model.STATES, states.GONE) == states.STATES  # a page has no cells that are gone
    assert len({symbol for symbol, _ in page_model.STATES.values()}) == len(page_model.STATES)
    style = page._ours("page.css")
    assert all(re.search(rf"^\.{state} {{ --state", style, re.MULTILINE) for state in page_model.STATES)


def test_the_documentation_has_the_states():
    text = (Path(__file__).parents[3] / "docs/goldens-and-records.md").read_text()
    rows = re.findall(r"^\| (\S) \| (\w+) \| (.*) \|$", text, re.MULTILINE)
    assert [(state, (symbol, means)) for symbol, state, means in rows] == list(page_model.STATES.items())


def test_the_matrix_is_a_table_with_headers():
    reader = Reader(page.render(report()))
    scopes = [attributes.get("scope") for tag, attributes in reader.elements if tag == "th"]
    assert scopes == ["col", "colgroup", "col", "col", "row", "row"]
    text = " ".join(" ".join(reader.texts).split())
    assert "emulator: predicts" in text and "hardware" in text
    assert "▼ regressed 2 wk" in text and "✓ validated 1 d" in text and text.count("not run") == 2


def test_a_cell_page_knows_what_the_record_knows():
    made = data(page.render(report()))
    cell = made["cells"]["/repros/a.py/It%20is%20so.@sm_90/embedded/ours"]
    pairs = [made["facts"][cell[side][2]] for side in ("base", "newest")]
    facts = [{made["texts"][name]: made["texts"][value] for name, value in one} for one in pairs]
    assert [one["driver"] for one in facts] == ["575", "580"]
    assert cell["outputs"][0][2] == [0] * 8 + [2] * 24
    assert [made["texts"][row[2]] for row in cell["history"]] == ["pass", "fail"] and cell["runs"] == 2
    hunks, changed, renamed, left = made["code"][cell["code"][0][2]]
    assert [row[0] for row in hunks[0]] == [" ", "!", " "] and (changed, renamed, left) == (1, 0, 0)


def test_verdicts_that_changed_on_the_day_of_the_newest_run_are_named():
    histories = {
        "failing": ["01 pass", "03 fail"], "passing": ["01 fail", "03 fail", "03 pass"], "same": ["01 pass", "03 pass"],
        "new": ["03 fail"], "skipped": ["01 pass", "03 infra"], "old": ["01 pass", "02 fail"],
    }  # fmt: skip
    claims = tuple(Claim(f"{name}.py", "", "A.") for name in histories)
    past = [
        tuple(Past(f"{n}", f"2026-11-{run[:2]}T08:00:00Z", run[3:], "", "q") for n, run in enumerate(runs))
        for runs in histories.values()
    ]
    cells = tuple(
        Cell(row, 0, "failing", "", run(date=runs[-1].date), history=runs, runs=len(runs))
        for row, runs in enumerate(past)
    )
    columns = (Column("any", "e", "e", True),)

    def said(cells):
        return "".join(Reader(page.render(Report("x", claims, columns, cells))).texts)

    assert "On 2026-11-03, since 2026-11-02: now failing: 1 (failing); passing again: 1 (passing); new: 1 (new)." in (
        said(cells)
    )
    assert "On 2026-11-03, since 2026-11-01: no verdict changed." in said(cells[2:3])
    assert "since 2026" not in said(cells[3:4])


def test_equal_runs_are_one_row():
    past = [Past(f"{n}", f"2026-11-{n + 1:02}", "fail" if n == 4 else "pass", "", "q") for n in range(8)]
    cell = Cell(0, 0, "flaky", "both", run(), history=tuple(past), runs=80)
    made = data(page.render(Report("x", (Claim("a.py", "", "A."),), (Column("any", "e", "e", True),), (cell,))))
    (drawn,) = made["cells"].values()
    assert [row[6] for row in drawn["history"]] == [4, 1, 3] and drawn["runs"] == 80
    assert made["texts"][drawn["history"][0][5]] == "2026-11-01"


@pytest.mark.parametrize(
    "date, said",
    [("2026-11-20", "today"), ("2026-11-19T23:59:59Z", "1 d"), ("2026-11-07", "13 d"), ("2026-11-06", "2 wk"),
     ("2026-09-11", "2 mo"), ("2024-11-20", "2 y"), ("2026-11-21", "today"), ("", ""), ("yesterday", "")],
)  # fmt: skip
def test_ages_count_to_the_newest_run(date, said):
    assert page.age(date, "2026-11-20T12:00:00Z") == said


def test_links_tell_cells_apart_and_survive_an_address():
    columns = [Column("sm_90", host, "nvidia==4.6.3", True) for host in ("a/b", "a", "é", "%2F", "#")]
    claims = [Claim("r/a.py", case, "") for case in ("", "x=1", "x=1,y=[2]", "\ud800")]
    links = [page.fragment(claim, column) for claim in claims for column in columns]
    assert len(set(links)) == len(links)
    assert all(re.fullmatch(r"/[A-Za-z0-9._~=,@/%-]*", link) for link in links)


def test_an_empty_record_gives_a_page():
    reader = Reader(page.render(Report("x", (), (), ())))
    assert "0 claims, 0 columns, 0 cells. Nothing was run yet." in reader.texts


# --- differences of code ---------------------------------------------------------------------------------------------

PTX = "\n".join(["add.s32 %r1, %r0, 1;", "mul.lo.s32 %r2, %r1, %r1;", "st.global.u32 [%rd1], %r2;", "ret;"])


def kinds(found):
    return [[row.kind for row in hunk] for hunk in found.hunks]


def test_renumbered_registers_are_not_a_change():
    found = page_diff.diff(PTX, PTX.replace("%r1", "%r7").replace("%r2", "%r1"))
    assert found == ((), 0, 3, 0)


def test_a_renaming_that_is_not_one_to_one_is_a_change():
    merged = PTX.replace("%r2", "%r1")
    assert sum(len(hunk) for hunk in page_diff.diff(PTX, merged).hunks) and page_diff.diff(PTX, merged).changed >= 1
    swapped = PTX.replace("[%rd1], %r2", "[%rd1], %r1")
    assert page_diff.diff(PTX, swapped).changed == 1


def test_an_inserted_line_is_one_change():
    lines = PTX.split("\n")
    found = page_diff.diff(PTX, "\n".join([lines[0], "bar.sync 0;", *lines[1:]]))
    assert kinds(found) == [["same", "added", "same", "same", "same"]] and found.changed == 1


def test_lines_that_are_not_shown_are_counted():
    found = page_diff.diff("\n".join(f"a {n}" for n in range(1000)), "\n".join(f"b {n}" for n in range(1000)))
    assert found.changed == 1000
    assert sum(map(len, found.hunks)) == page_diff.SHOWN_LINES and found.left_out == 1000 - page_diff.SHOWN_LINES


LINES = ["add %r1, %r2;", "add %r2, %r1;", "ret;", "bar.sync 0;", "R1 P0", "UR1 $L__BB0_1", ""]
CODE = st.lists(st.sampled_from(LINES))


@given(CODE, CODE)
@settings(deadline=None, max_examples=300)
def test_a_diff_loses_no_line(good, this):
    """Lines of both sides are in order and once; the lines left out are the same up to one renaming."""
    found = page_diff.diff("\n".join(good), "\n".join(this))
    shown = [row for hunk in found.hunks for row in hunk]
    for number, text, lines in ((1, 2, good or [""]), (3, 4, this or [""])):
        mine = [row[number] for row in shown if row[number]]
        assert mine == sorted(set(mine))
        lines = "\n".join(lines).rstrip("\n").split("\n")
        assert all(row[text] == lines[row[number] - 1] for row in shown if row[number])
    left = [[line for number, line in enumerate("\n".join(lines).rstrip("\n").split("\n"), 1)
             if number not in {row[side] for row in shown}] for side, lines in ((1, good), (3, this))]  # fmt: skip
    assert len(left[0]) == len(left[1])
    there = {}
    for a, b in zip(*left, strict=True):
        names = [page_diff.NAME.findall(one) for one in (a, b)]
        assert page_diff.NAME.sub("%", a) == page_diff.NAME.sub("%", b)
        assert all(there.setdefault(x, y) == y for x, y in zip(*names, strict=True))
    assert len(set(there.values())) == len(there)
    assert found.changed == sum(row.kind in page_diff.CHANGED for row in shown)


def test_claims_cases_and_columns_are_counted():
    whole = report()
    text = " ".join(Reader(page.render(whole)).texts)
    assert "2 claims, 2 columns, 2 cells." in text
    cases = tuple(replace(claim, repro="repros/a.py") for claim in whole.claims)
    one = replace(whole, claims=cases, columns=whole.columns[:1], cells=whole.cells[:1])
    assert "1 claim, 2 cases, 1 column, 1 cell." in " ".join(Reader(page.render(one)).texts)
