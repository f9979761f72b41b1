"""The table claim x compiler: how each case ended, which claims are alike, what changed from one release to the next."""

import pytest

from harness.reporting import release_table


def report(
    claim: str,
    compiler: str,
    verdict: str,
    outcome: str = "outputs",
    reason: str = "",
    brief: str = "outputs",
    **detail,
):
    record = {"repro": f"repros/{claim}.py", "verdict": verdict, "reason": reason, "outcome": outcome, "detail": detail}
    return {"record": record, "compiler": compiler, "brief": brief}


@pytest.mark.parametrize(
    "facts, text",
    [
        (("pass",), "pass"),
        (("fail", "outputs", "differs from the golden"), "**differs**"),
        (("fail", "outputs", "CHECK-PTX"), "**CHECK-PTX**"),
        (("fail", "outputs", "not rejected"), "**accepted**"),
        (("skip",), "skipped"),
        (("infra", "outputs"), "not run"),
        (("fail", "timeout"), "**timeout**"),
        (("pass", "trap"), "trap"),
        (("fail", "error", "", "error: cutlass.errors.DSLError: no"), "**error DSLError**"),
    ],
)
def test_how_a_case_ended(facts, text):
    assert release_table.ending(report("a", "x", *facts)) == text


def test_a_rejection_has_its_id_or_class():
    assert release_table.ending(report("a", "x", "pass", "rejected", id="UNSUP_X")) == "rejected UNSUP_X"
    assert (
        release_table.ending(report("a", "x", "fail", "rejected", **{"class": "ValueError"}))
        == "**rejected ValueError**"
    )


REPORTS = [
    report("alike", "nvidia==1", "pass"),
    report("alike", "nvidia==2", "pass"),
    report("changed", "nvidia==1", "fail", "outputs", "differs from expected()"),
    report("changed", "nvidia==2", "pass"),
    report("cases", "nvidia==1", "pass"),
    report("cases", "nvidia==1", "infra", brief="no | disk `x`"),
    report("cases", "nvidia==2", "pass"),
    report("left out", "nvidia==1", "skip", reason="not its language"),
]


def test_the_table_as_a_whole():
    assert (
        release_table.markdown(["nvidia==1", "nvidia==2"], REPORTS)
        == """\
3 claims, 7 cases in all. Claims that do not end alike under every release:

| claim | 1 | 2 |
|---|---|---|
| cases | not run 1, pass 1 | pass |
| changed | **differs** | pass |

`pass` under every release, 1 claims: alike.

| cases | 1 | 2 |
|---|---|---|
| as the claim and its header state | 2 | 3 |
| otherwise | 1 | 0 |
| not run | 1 | 0 |

Changes from one release to the next:

- 1 to 2: **differs** became pass: changed; not run 1, pass 1 became pass: cases

Messages of failures:

- not run: `no \\| disk 'x'`: cases (1)
"""
    )


def test_it_is_written_between_its_marks_or_as_the_file(tmp_path):
    path = tmp_path / "releases.md"
    release_table.write(path, ["nvidia==1"], REPORTS[:1])
    whole = path.read_text()
    path.write_text(f"before\n{release_table.BEGIN}\nold\n{release_table.END}\nafter\n")
    release_table.write(path, ["nvidia==1"], REPORTS[:1])
    assert path.read_text() == f"before\n{release_table.BEGIN}\n\n{whole}\n{release_table.END}\nafter\n"
