"""`repro record compare`: what differs on two sides of the record, how, where and since when; what is missing."""

import pytest

from tests.harness.by_a_gpu import UUID
from tests.harness.documents import result_of

OLD, NEW = "nvidia==4.6.3", "nvidia==4.8.1"
REPRO = '''# /// script
# [tool.repro]
# ///
"""It is so."""
def run():
    return {}
'''
REJECTED = {"outcome": "rejected", "detail": {"class": "DSLError", "id": "E_WIDTH", "line": 3}, "outputs": {}}


@pytest.fixture(autouse=True)
def repros(root):
    """Files that are repros, unlike the files of the other tests."""
    for path in (root / "repros").glob("*.py"):
        path.write_text(REPRO)


def compared(said, *argv):
    status, text = said("record", "compare", *argv, "--no-run", "--json")
    return result_of(text, status)


def test_a_change_names_how_where_and_since_when(said, put):
    a = put("zfill", "fail", 1, asked=OLD, version="4.6.3", hardware=True, reason="no", **REJECTED)
    put("zfill", "pass", 3, asked="nvidia==4.7.0", version="4.7.0", hardware=True)
    put("zfill", "pass", 4, asked=NEW, version="4.8.1", hardware=True)
    b = put("zfill", "pass", 6, asked=NEW, version="4.8.1", hardware=True)
    put("vote", "pass", 1, asked=OLD)
    put("vote", "pass", 2, asked=NEW)
    assert said("record", "compare", OLD, NEW, "--no-run") == (
        1,
        f"""\
A  nvidia==4.6.3: 2 records of 2 cases, 2026-11-01 to 2026-11-01
B  nvidia==4.8.1: 3 records of 2 cases, 2026-11-02 to 2026-11-06
2 compared: 1 the same; changed: 1 in verdict

verdict: zfill on sm_90 p1 (NVIDIA H100, driver 570) by nvidia==4.6.3 -> nvidia==4.8.1
    fail: no (rejected DSLError E_WIDTH) -> pass
    since 2026-11-04, first by nvidia==4.7.0; A last seen 2026-11-01
    look: repro record diff {a} {b}
""",
    )


def test_an_installed_compiler_counts_as_its_release(said, put):
    put("zfill", "pass", 1, asked=OLD)
    put("zfill", "pass", 2, asked="nvidia", version="4.8.1", outputs={"out": "c" * 64})
    put("zfill", "pass", 3, asked="nvidia", version="4.5.0", outputs={"out": "d" * 64})
    (row,) = compared(said, OLD, NEW)["changes"]
    assert row["kinds"] == ["values"] and row["says"] == "other values (pass)" and row["b"]["version"] == "4.8.1"


def test_kinds_of_changes_are_distinguished(said, put):
    put("zfill", "fail", 1, asked=OLD, **REJECTED)
    put("zfill", "fail", 2, asked=NEW, **REJECTED | {"detail": {"class": "DSLError", "id": "E_OTHER", "line": 3}})
    put("vote", "pass", 1, asked=OLD, sass={"k": "1" * 64})
    put("vote", "pass", 2, asked=NEW, sass={"other_name": "2" * 64}, ptx="other")
    found = compared(said, OLD, NEW)
    assert [(row["claim"], row["kinds"]) for row in found["changes"]] == [
        ("repros/zfill.py", ["diagnostic"]), ("repros/vote.py", ["SASS", "PTX"])]  # fmt: skip
    assert found["counts"] == {"diagnostic": 1, "SASS": 1}
    status, text = said("record", "compare", OLD, NEW, "--no-run", "vote")
    assert status == 0 and text.endswith("\n\n1 claim changed in machine code alone: --all lists them\n")
    assert "other SASS, PTX\n" in said("record", "compare", OLD, NEW, "--no-run", "vote", "--all")[1]


def test_since_is_the_day_of_the_answer_and_not_of_the_newest_run(said, put):
    put("zfill", "pass", 1, asked=OLD)
    put("zfill", "pass", 2, asked=NEW)
    for day in (3, 4, 5):
        put("zfill", "fail", day, asked=NEW)
    assert [row["since"][:10] for row in compared(said, OLD, NEW)["changes"]] == ["2026-11-03"]
    assert compared(said, OLD, NEW, "--since", "2026-11-03")["earlier"] == 0
    found = compared(said, OLD, NEW, "--since", "2026-11-04")
    assert (found["changes"], found["earlier"]) == ([], 1)


def test_answers_to_two_texts_of_a_repro_are_not_compared_but_between_commits(said, put):
    put("zfill", "pass", 1, asked=OLD, key={"repro_sha256": "1" * 64})
    put("zfill", "fail", 2, asked=NEW, key={"repro_sha256": "2" * 64})
    found = compared(said, OLD, NEW)
    assert (found["compared"], found["changes"]) == (0, [])
    assert [(one["side"], one["why"]) for one in found["missing"]] == [
        (NEW, f"only {OLD} has a record"), (OLD, f"only {NEW} has a record")]  # fmt: skip
    put("zfill", "fail", 3, asked=NEW, key={"repro_sha256": "1" * 64})
    assert compared(said, OLD, NEW)["compared"] == 1


def test_two_drivers_two_gpus_and_two_hosts(said, put):
    put("zfill", "pass", 1, hardware=True, driver="570.86")
    put("zfill", "fail", 2, hardware=True, driver="580.1")
    a100 = {"kind": "cuda", "name": "NVIDIA A100-SXM4-80GB", "arch": "sm_80", "driver": "570.1", "uuid": UUID}
    put("zfill", "pass", 1, hardware=True, device=a100, host="p2")
    for pair in (("driver=570", "driver=580"), ("gpu=a100", "gpu=h100"), ("host=p2", "host=p1")):
        (row,) = compared(said, *pair)["changes"]
        assert row["kinds"] == ["verdict", "values"], pair
    (row,) = compared(said, "driver=570", "driver=580")["changes"]
    assert (row["a"]["host"], row["a"]["driver"], row["b"]["driver"]) == ("p1", "570.86", "580.1")  # not the one of p2
    text = said("record", "compare", "gpu=a100", "gpu=h100", "--no-run")[1]
    assert "on sm_80 -> sm_90 p2 -> p1 (NVIDIA A100-SXM4-80GB -> NVIDIA H100, driver 570.1 -> 580.1) by ours" in text


def test_missing_records_name_the_runs(said, put):
    put("zfill", "pass", 1, hardware=True, asked=OLD)
    put("vote", "skip", 1, asked=NEW, reason="not its language")
    put("vote", "pass", 1, asked=OLD)
    put("shfl_width", "pass", 1)
    rows = compared(said, OLD, NEW, "zfill", "vote")["missing"]
    assert [(one["claim"], one["side"], one["host"], one["compiler"]) for one in rows] == [
        ("repros/zfill.py", NEW, "p1", NEW)]  # fmt: skip
    rows = compared(said, OLD, NEW, "--host", "embedded", "shfl_width")["missing"]
    assert [(one["side"], one["host"], one["why"]) for one in rows] == [
        (OLD, "embedded", "neither side has a record"), (NEW, "embedded", "neither side has a record")]  # fmt: skip
    rows = compared(said, "driver=570", "driver=999")["missing"]
    assert [(one["side"], one["host"]) for one in rows] == [("driver=999", None)]


def test_cases_that_no_repro_declares_any_more_are_left_out(said, put, root):
    put("zfill", "pass", 1, asked=OLD)
    put("zfill", "fail", 2, asked=NEW)
    (root / "repros/zfill.py").unlink()
    assert compared(said, OLD, NEW)["compared"] == 0


@pytest.mark.parametrize(
    "argv, text",
    [
        (
            (OLD, "driver=570"),
            "repro record compare nvidia==4.6.3 driver=570: a compiler and a driver cannot be held against",
        ),
        ((OLD, OLD), "repro record compare nvidia==4.6.3 nvidia==4.6.3: both sides are the same\n"),
        (
            ("4.6.3", NEW),
            "repro record compare 4.6.3: write one of\n    ours, nvidia, nvidia==4.6.3          a compiler\n",
        ),
        (("commit=nope", "commit=HEAD"), "repro record compare commit=nope: git knows no commit 'nope' in "),
        ((OLD, NEW, "nope"), "no record is of a claim 'nope'"),
    ],
)
def test_sides_that_cannot_be_compared_are_refused(said, put, argv, text):
    put("zfill", "pass", 1)
    status, found = said("record", "compare", *argv)
    assert status == 2 and found.startswith(text), found


def test_a_side_without_records_lists_what_there_is(said, put):
    assert said("record", "compare", "host=p1", "host=p2", "--no-run")[1].endswith(
        "0 compared: 0 the same\nname what is to be run on both sides: a file or a folder, such as `repros`\n"
    )
    put("zfill", "pass", 1, hardware=True, driver="570.86")
    text = said("record", "compare", "driver=56", "driver=57", "--no-run")[1]
    assert text.startswith("A  driver=56: no records; the record has 570.86\nB  driver=57: no records; ")
