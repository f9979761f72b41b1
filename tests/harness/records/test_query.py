"""Answers of the record: status, history, diff, regressions, matrix, as text and as data.

Modules tested here: harness/cli/record/record_commands.py.
"""

import datetime
import json

import pytest

from harness import store
from harness.cli import main
from tests.harness.documents import result_of
from tests.harness.records.conftest import PTX

pytestmark = pytest.mark.usefixtures("root")


def data(said, *argv):
    status, text = said(*argv, "--json")
    return result_of(text, status)


def test_a_claim_is_found_by_its_old_path_and_compared_across_the_move(said, put, root):
    good = put("zfill", "pass", 1)
    (root / "repros/cp_async").mkdir()
    (root / "repros/zfill.py").rename(root / "repros/cp_async/zfill.py")
    bad = put("cp_async/zfill", "fail", 2, version="0.2.0")
    for name in ("zfill", "repros/zfill.py", "repros/cp_async/zfill.py", "repros/cp_async"):
        found = data(said, "record", "history", name)
        assert [(one["id"], one["claim"], one["changed"]) for one in found["records"]] == [
            (bad, "repros/cp_async/zfill.py", ["compiler_version"]), (good, "repros/cp_async/zfill.py", None)]  # fmt: skip
    assert data(said, "record", "regressions")["regressions"][0]["first_bad"] == bad
    commands = [run["command"] for run in data(said, "record", "diff", good, bad)["runs"]]
    assert all("repros/cp_async/zfill.py" in command for command in commands), commands
    assert [row["claim"] for row in data(said, "record", "matrix")["rows"]] == ["repros/cp_async/zfill.py"]


def test_history_shows_the_outcomes_of_the_newest_run_of_a_racy_claim(said, put):
    put("vote", "pass", 1, histogram=[{"count": 200, "outputs": {"r": [0, 1]}}], allowed={"r": [[0, 1], [1, 0]]})
    counted = [{"count": 150, "outputs": {"r": [0, 1]}}, {"count": 48, "outputs": {"r": [1, 0]}}]
    newest = put("vote", "pass", 2, histogram=[*counted, {"count": 2, "outputs": None}], seed=7,
                 allowed={"r": [[0, 1], [1, 0], [1, 1]]})  # fmt: skip
    text = said("record", "history", "vote")[1]
    assert text.endswith(f"""
seen in 200 runs of {newest} vote on sm_90 ours embedded, seed 7
     150  r = [0, 1]
      48  r = [1, 0]
       2  yet other outcomes
       0  r = [1, 1]  (allowed)
""")
    assert data(said, "record", "history", "vote")["records"][0]["seen"][3] == [0, "r = [1, 1]  (allowed)"]


def test_nothing_was_run(said):
    assert said("record", "status") == (0, "there are no records yet: run something, e.g. `uv run pytest repros`\n")
    assert said("record", "matrix")[0] == 0 and said("record", "regressions") == (0, "no regression\n")
    assert said("record", "history", "shfl_width")[0] == 2


def test_status(put, said, root):
    put("shfl_width", "pass", 1)
    put("zfill", "pass", 1, hardware=True)
    put("vote", "pass", 1)
    assert said("record", "status")[0] == 0
    put("vote", "fail", 2)
    status, text = said("record", "status")
    assert status == 1
    lines = text.splitlines()
    assert lines[0] == "3 claims in 3 cells (case x arch x compiler x host): 1 regressed, 1 predicted, 1 validated"
    assert lines[1].startswith("hardware last validated one ") and lines[1].endswith(" ago; 4 records")
    assert lines[3:] == [
        "    state      claim  arch   compiler  host      why",
        "    regressed  vote   sm_90  ours      embedded  differs from the golden since 2026-11-02; nothing "
        "recorded...",
    ]  # fmt: skip
    assert said("record", "status", "shfl_width", "repros/zfill.py")[0] == 0
    found = data(said, "record", "status")
    assert found["states"] == {"regressed": 1, "predicted": 1, "validated": 1} and found["damaged"] == []
    assert found["attention"][0]["claim"] == "repros/vote.py"
    (file,) = (root / ".repro/records").glob("*.jsonl")
    file.write_bytes(b"torn\n" + file.read_bytes())
    assert f"    {file.relative_to(root)}: the line at byte 0 is damaged" in said("record", "status")[1]


def test_unknown_claims_get_a_hint(put, said):
    put("shfl_width", "pass", 1)
    assert said("record", "status", "shfl_widht") == (
        2,
        "no record is of a claim 'shfl_widht': did you mean shfl_width?\n",
    )


def test_history_shows_what_changed(put, said):
    put("zfill", "pass", 1, hardware=True)
    put("zfill", "pass", 2)
    put("zfill", "fail", 3, hardware=True, driver="580")
    status, text = said("record", "history", "zfill")
    rows = [line.split("  ")[-1].strip() for line in text.splitlines() if "2026-11-0" in line and "    " == line[:4]]
    assert rows == ["differs from the golden; driver", "first", "first"]
    found = data(said, "record", "history", "zfill", "--host", "p1", "-n", "1")
    assert [(r["verdict"], r["changed"]) for r in found["records"]] == [("fail", ["driver"])] and found["total"] == 2


def test_diff_of_one_field_names_the_cause(put, said):
    a, b = put("zfill", "pass", 1, hardware=True), put("zfill", "fail", 3, hardware=True, driver="580")
    status, text = said("record", "diff", a, b)
    assert status == 0
    assert "    field   A    B\n    driver  570  580\n" in text
    assert "    out  aaaaaaaaaaaa  bbbbbbbbbbbb\n" in text
    assert "cause: only the driver differs\n" in text and "PTX of" not in text
    assert said("record", "diff", "zfill")[1] == text
    assert said("record", "diff", a, b, "--exit-code") == (1, text)
    assert said("record", "diff", a, a, "--exit-code")[0] == 0
    assert [run["command"] for run in data(said, "record", "diff", a, b)["runs"]] == [
        "uv run repro run repros/zfill.py --host p1"
    ]


def test_diff_of_ptx(put, said):
    other = PTX.replace("add.s32", "sub.s32")
    a, b = put("zfill", "pass", 1), put("zfill", "fail", 2, ptx=other, version="0.2.0")
    text = said("record", "diff", a, b)[1]
    assert "--- PTX of k\n" in text and "-add.s32 %r2, %r1, 1;\n+sub.s32 %r2, %r1, 1;\n" in text
    assert "cause: only the compiler differs" in text


def test_equal_ptx_clears_the_compiler(put, said):
    a = put("zfill", "pass", 1, hardware=True)
    b = put("zfill", "fail", 2, hardware=True, version="0.2.0", driver="580", numpy="2.5.0")
    found = data(said, "record", "diff", a, b)
    assert found["suspects"] == ["driver"]
    assert found["cause"] == "the PTX is the same, so it is not the packages or the compiler; only the driver differs"


def test_machine_code_tells_of_ptxas(put, said):
    both = {"hardware": True, "version": "0.1.0"}
    a = put("zfill", "pass", 1, **both, ptxas="13.0.88", sass={"k": "1" * 64})
    b = put("zfill", "fail", 2, **both, ptxas="13.5.37", sass={"k": "2" * 64})
    found = data(said, "record", "diff", a, b)
    assert (found["suspects"], found["cause"]) == (["ptxas"], "only ptxas differs")
    c = put("zfill", "fail", 3, **both, ptxas="13.5.37", sass={"k": "1" * 64}, driver="580")
    found = data(said, "record", "diff", a, c)
    assert found["suspects"] == ["driver"] and "the SASS is the same, so it is not ptxas" in found["cause"]
    commands = {run["command"] for run in data(said, "record", "diff", a, put("zfill", "fail", 4, **both, ptxas="13.5.37",
                sass={"k": "2" * 64}, driver="580"))["runs"]}  # fmt: skip
    assert "uv run --with 'nvidia-cuda-nvcc==13.0.*' repro run repros/zfill.py --host p1" in commands
    without = put("zfill", "fail", 5, **both, no_sass="`ptxas` is not on PATH", driver="580")
    found = data(said, "record", "diff", a, without)
    assert found["suspects"] == ["driver"] and not [text for text in found["texts"] if text["kind"] == "sass"]
    assert {"field": "no_sass", "a": None, "b": "`ptxas` is not on PATH"} in found["fields"]
    assert "sass.k" not in json.dumps(data(said, "record", "history", "zfill")["records"][0]["changed"])


def test_kernels_that_two_compilers_name_otherwise_are_compared(put, said, root):
    a = put("zfill", "pass", 1)
    other = PTX.replace("add", "sub")
    b = put("zfill", "pass", 2, ptx=other, kernels={"kernel_cutlass_k": store.sha256(other)}, asked="nvidia")
    (text,) = data(said, "record", "diff", a, b)["texts"]
    assert text["kernel"] == "k (A) and kernel_cutlass_k (B)" and "-add.s32" in text["diff"]
    c = put("zfill", "pass", 3, kernels={"k": store.sha256(PTX), "more": "3" * 64})
    assert [(t["kernel"], t["note"].strip()) for t in data(said, "record", "diff", a, c)["texts"]] == [
        ("more", "only B has this kernel")]  # fmt: skip


def test_another_seed_is_asked_for_by_its_number(put, said):
    a, b = put("zfill", "pass", 1, seed=3), put("zfill", "fail", 2, seed=4)
    found = data(said, "record", "diff", a, b)
    assert found["suspects"] == ["seed"] and found["cause"] == "only the seed differs"
    assert [run["command"] for run in found["runs"]] == [
        "uv run repro run repros/zfill.py --seed 4", "uv run repro run repros/zfill.py --seed 3"]  # fmt: skip


def test_several_suspects_and_the_cheapest_runs(put, said):
    other = PTX + "ret;\n"
    a = put("zfill", "pass", 1, hardware=True)
    b = put("zfill", "fail", 2, hardware=True, ptx=other, version="0.2.0", driver="580", numpy="2.5.0")
    found = data(said, "record", "diff", a, b)
    assert found["suspects"] == ["packages", "compiler", "driver"] and found["known"] == []
    commands = [run["command"] for run in found["runs"]]
    assert commands[0] == "uv run repro run repros/zfill.py --host p1"
    assert commands[1] == "uv run --with numpy==2.4.6 repro run repros/zfill.py --host p1"
    assert commands[2].startswith("git worktree add ") and len(commands) == 3
    mixed = put("zfill", "pass", 3, hardware=True, driver="580")
    assert data(said, "record", "diff", a, b)["known"] == [
        f"{mixed} with B's driver ends as A: so it is not that alone"
    ]
    put("zfill", "fail", 4, hardware=True, ptx=other, version="0.2.0")
    assert any(
        "B's compiler ends as B: so that is enough" in text for text in data(said, "record", "diff", a, b)["known"]
    )


def test_a_golden_that_changed_is_the_cause_where_outputs_are_the_same(put, said):
    same = {"outputs": {"out": "a" * 64}}
    a, b = put("zfill", "pass", 1, golden_sha256="g1", **same), put("zfill", "fail", 2, golden_sha256="g2", **same)
    found = data(said, "record", "diff", a, b)
    assert found["suspects"] == ["golden"] and "the golden changed, not the program" in found["cause"]


def test_diff_refuses_what_it_cannot_find(put, said):
    put("zfill", "pass", 1)
    assert said("record", "diff", "zfill") == (
        2, "zfill did not pass and then fail; give two records: `repro record history zfill`\n")  # fmt: skip
    assert said("record", "diff", "nope", "nope")[0] == 2


def test_diff_reports_records_of_two_claims(put, said):
    a, b = put("zfill", "pass", 1), put("vote", "fail", 2, version="0.2.0")
    text = said("record", "diff", a, b)[1]
    why = "A is a record of repros/zfill.py, B one of repros/vote.py, another claim"
    assert f"\nunrelated: {why}\n" in text and text.endswith(f"\ncause: none to look for: {why}\n")
    wide, narrow = put("zfill", "pass", 3, case="width=8"), put("zfill", "fail", 4, case="width=16")
    found = data(said, "record", "diff", wide, narrow)
    assert found["unrelated"] == "A is a record of width=8, B one of width=16, another case"
    assert (found["suspects"], found["runs"], found["known"]) == ([], [], [])


def test_diff_and_regressions_tell_changes_in_the_words_of_compare(put, said):
    a, b = put("zfill", "pass", 1), put("zfill", "fail", 2, version="0.2.0")
    change = "pass -> fail: differs from the golden; other values"
    assert f"\nchanged: {change}\n" in said("record", "diff", a, b)[1]
    assert f"\n    {change}\n" in said("record", "regressions")[1]
    assert data(said, "record", "regressions")["regressions"][0]["kinds"] == ["verdict", "values"]


def test_regressions_since(put, said):
    today = datetime.datetime.now(datetime.UTC)
    old = put("vote", "pass", 1)
    first = put("vote", "fail", 3)
    put("vote", "fail", 5)
    fresh = (today - datetime.timedelta(hours=3)).strftime("%Y-%m-%dT%H:%M:%S.000000Z")
    put("zfill", "pass", 1)
    put("zfill", "fail", 2, date=fresh, digest="other")
    status, text = said("record", "regressions", "--since", "2026-11-03")
    assert status == 1 and f"    look: repro record diff {old} {first}\n" in text
    assert {one["claim"] for one in data(said, "record", "regressions")["regressions"]} == {
        "repros/zfill.py",
        "repros/vote.py",
    }
    assert [one["claim"] for one in data(said, "record", "regressions", "--since", "6h")["regressions"]] == [
        "repros/zfill.py"
    ]
    assert said("record", "regressions", "--since", "1h") == (0, "no regression\n")
    assert said("record", "regressions", "--since", "yesterday")[1].startswith(
        "--since yesterday: write a date (2026-11-20)"
    )


def test_matrix(put, said):
    put("zfill", "pass", 1)
    put("zfill", "pass", 1, hardware=True)
    put("vote", "fail", 1, asked="nvidia")
    text = said("record", "matrix")[1]
    assert text.startswith(
        "columns\n    1  sm_90 ours embedded\n    2  sm_90 ours p1\n    3  sm_90 nvidia embedded\n\n"
        "claim  1  2  3  state\nvote   .  .  F  failing\nzfill  p  V  .  validated\n\nV validated  p predicted"
    )
    found = data(said, "record", "matrix", "zfill")
    assert [column["host"] for column in found["columns"]] == ["embedded", "p1"]


@pytest.mark.parametrize(
    "command",
    ["golden review", "golden accept", "golden reject", "golden unused", "record status", "record history",
     "record diff", "record compare", "record regressions", "record matrix"],
)  # fmt: skip
def test_help_teaches(capsys, command):
    with pytest.raises(SystemExit) as left:
        main([*command.split(), "--help"])
    text = capsys.readouterr().out
    assert left.value.code == 0 and text.count(f"\n  repro {command}") >= 2


@pytest.mark.slow
def test_from_a_kernel_to_the_lanes_and_the_ptx_that_changed(root, said):
    """Results of a real run: PTX as text, the differing lanes, the question; and the way back to a pass."""
    for name in ("shfl_width", "zfill", "vote"):
        (root / f"repros/{name}.py").unlink()
    assert main(["new", "mine"]) == 0
    path = root / "repros/mine.py"
    good = path.read_text()
    kernel = good[: good.index("def expected")]
    path.write_text(kernel.replace("a[i] * 3.0", "a[i] * 5.0"))
    assert main(["run", "repros/mine.py", "-p", "n=40"]) == 1
    said("record", "status")
    status, text = said("record", "diff", "mine::n=40")
    assert "--- PTX of " in text and "\n@@ " in text and "repro_sha256" in text
    found = data(said, "record", "diff", "mine::n=40")
    (difference,) = found["differences"]
    assert difference["letter"] == "B" and difference["count"] and sum(difference["lanes"]) == difference["count"]
    assert difference["first"][0][1].startswith("block 0 warp 0 lane ")
    path.write_text(good)
    assert main(["run", "repros/mine.py", "-p", "n=40"]) == 0
    assert "1 predicted" in said("record", "status", "mine::n=40")[1]


def test_status_and_diff_agree_on_what_is_stale(said, put):
    """A claim is stale by its PTX if, and only if, `repro record diff` of the two records that it names shows other PTX."""
    ptx = {"same": PTX, "other": PTX.replace("r1, 1", "r1, 2"), "elsewhere": '.file 1 "/x/one.py"\n' + PTX}
    for day, (name, text) in enumerate((("shfl_width", "same"), ("zfill", "other"), ("vote", "same")), 1):
        put(name, "pass", day)
        put(name, "pass", day + 3, hardware=True, ptx=ptx[text])
    found = {cell["claim"]: cell for cell in data(said, "record", "status")["attention"]}
    assert list(found) == ["repros/zfill.py"] and found["repros/zfill.py"]["state"] == "stale"
    cell = found["repros/zfill.py"]
    text = said("record", "status")[1]
    assert f"how the PTX differs\n    repro record diff {cell['last']} {cell['other_code']}\n" in text + "\n"
    differs = data(said, "record", "diff", cell["last"], cell["other_code"])
    assert "ptx.k" in [row["field"] for row in differs["fields"]]
    assert "-add.s32 %r2, %r1, 1;\n+add.s32 %r2, %r1, 2;" in differs["texts"][0]["diff"]
