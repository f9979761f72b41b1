"""The report of a project's record files: the text of its cells, and the command that writes it.

Modules tested here: harness/cli/record/report_command.py.
"""

import hashlib

import pytest

from harness import cli, store
from harness.errors import UsageError
from harness.records.index.index import open_index
from harness.reporting import page, page_records
from tests.harness.by_a_gpu import UUID

REPRO = '# /// script\n# [tool.repro]\n# ///\n"""A sentence from the file."""\ndef run():\n    return {}\n'
PTX = {"good": "add.s32 %r1, %r0, 1;\nret;\n", "bad": "add.s32 %r1, %r0, 2;\nret;\n"}


@pytest.fixture
def root(tmp_path, monkeypatch):
    (tmp_path / "pyproject.toml").write_text('[project]\nname = "kestrel"\n')
    (tmp_path / "repros").mkdir()
    for name in ("one", "two"):
        (tmp_path / f"repros/{name}.py").write_text(REPRO)
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.fixture
def put(root):
    """`put(day, ...)`: one record of that day, and its PTX; returns its id."""
    run = store.Run()

    def put(day, verdict="pass", repro="one", case="", host="p1", ptx="good", driver="575", **more):
        hardware = host != "embedded"
        device = {"kind": "cuda", "name": "H100", "arch": "sm_90", "driver": driver, "uuid": UUID} if hardware else {
            "kind": "emulator", "arch": "sm_90a"}  # fmt: skip
        folder = store.folder(root / f"repros/{repro}.py", hardware, root)
        name = store.sha256(PTX[ptx])
        store.make_folder(folder)
        store.keep_text(folder, f"{name}.ptx", PTX[ptx])
        line = {
            "schema": 2, "key": {"repro_sha256": hashlib.sha256(REPRO.encode()).hexdigest()}, "case": case,
            "repro": f"repros/{repro}.py", "host": host, "hardware": hardware, "device": device, "asked": "ours",
            "compiler": {"name": "ours", "version": "0.1.0"}, "versions": {}, "verdict": verdict,
            "reason": "" if verdict == "pass" else "differs from the golden", "outcome": "outputs",
            "outputs": {"out": ptx}, "kernels": {"k": name}, "date": f"2026-11-{day:02}T00:00:00Z",
            "digest": f"{driver} {ptx}", "title": "It is so.",
        } | more  # fmt: skip
        return run.append(folder, line)["id"]

    return put


DIFFERS = {
    "output": "out", "against": "the golden", "message": "`out` differs", "count": 8, "size": 32,
    "first": [["[24]", "block 0 warp 0 lane 24", "0x1 1", "0x0 0"]], "lanes": [0] * 24 + [1] * 8,
}  # fmt: skip


def collected(root, names=()):
    with open_index(root) as records:
        return page_records.collect(records, names)


def test_a_regression_with_all_that_changed(root, put):
    good, bad = put(1), put(2, "fail", ptx="bad", driver="580", differences=[DIFFERS])
    found = collected(root)
    (cell,) = found.cells
    assert (found.title, cell.state, cell.validated) == ("kestrel", "regressed", "2026-11-01T00:00:00Z")
    assert (cell.base.id, cell.bad.id, cell.newest.id, cell.base_name) == (good, bad, bad, "last good")
    assert dict(cell.base.facts)["driver"] == "575" and dict(cell.newest.facts)["driver"] == "580"
    assert dict(cell.newest.facts)["verdict"] == "fail: differs from the golden"
    assert [(one.kind, one.kernel, one.base, one.newest) for one in cell.code] == [("PTX", "k", *PTX.values())]
    assert cell.outputs[0].lanes == (0,) * 24 + (1,) * 8 and cell.outputs[0].rows[0][2:] == ("0x1 1", "0x0 0")
    assert [(one.id, one.verdict) for one in cell.history] == [(good, "pass"), (bad, "fail")] and cell.runs == 2
    assert cell.cause.startswith("A is the last good run, B the newest. ") and "driver" in cell.cause and cell.tell
    assert cell.rerun == "uv run repro run repros/one.py --host p1"


def test_a_finding_and_the_source_that_it_names(root, put):
    put(1)
    put(20, "fail", outcome="race", text="repros/one.py:3:1: RACE")
    (cell,) = collected(root).cells
    assert cell.finding == "repros/one.py:3:1: RACE" and cell.source == REPRO
    (root / "repros/one.py").write_text(REPRO + "\n")
    (cell,) = collected(root).cells
    assert cell.finding and not cell.source


def test_an_output_that_differs_knows_the_line_that_names_it(root, put):
    text = REPRO.partition("def run")[0] + "def run():\n    return {'out': 1}\n"
    (root / "repros/one.py").write_text(text)
    key = {"key": {"repro_sha256": hashlib.sha256(text.encode()).hexdigest()}, "differences": [DIFFERS]}
    put(1)
    put(20, "fail", **key)
    (cell,) = collected(root).cells
    assert text.splitlines()[cell.outputs[0].line - 1] == "    return {'out': 1}"
    (root / "repros/one.py").write_text(text + "\n")
    assert collected(root).cells[0].outputs[0].line == 0


def test_a_contradiction_is_held_against_the_other_side(root, put):
    emulated, on_gpu = put(1, host="embedded"), put(2, "fail", ptx="bad")
    found = collected(root)
    by_host = {found.columns[cell.column].host: cell for cell in found.cells}
    assert {cell.state for cell in found.cells} == {"contradicted"}
    assert (by_host["p1"].base.id, by_host["p1"].base_name) == (emulated, "embedded's newest")
    assert (by_host["embedded"].base.id, by_host["embedded"].base_name) == (on_gpu, "p1's newest")
    assert by_host["p1"].code[0].base == PTX["good"] and by_host["embedded"].code[0].base == PTX["bad"]


def test_a_racy_claim_shows_what_was_seen_and_what_never_was(root, put):
    counted = [{"count": 75, "outputs": {"r": [0, 1]}}, {"count": 25, "outputs": {"r": [1, 0]}}]
    put(1, histogram=counted, allowed={"r": [[0, 1], [1, 0], [1, 1]]})
    (cell,) = collected(root).cells
    assert cell.seen == ((75, "r = [0, 1]"), (25, "r = [1, 0]"), (0, "r = [1, 1]  (allowed)"))


def test_facts_of_other_cells_about_a_cause_are_known(root, put):
    put(1, versions={"numpy": "1"})
    elsewhere = put(2, host="p2", driver="580", versions={"numpy": "1"})
    put(3, "fail", ptx="bad", driver="580", versions={"numpy": "2"})
    found = collected(root)
    (cell,) = (cell for cell in found.cells if cell.state == "regressed")
    assert "One of packages, driver, or several together." in cell.cause
    assert cell.known == (f"{elsewhere} with B's driver ends as A: so it is not that alone",)
    assert [command for command, _ in cell.tell][0] == cell.rerun and len(cell.tell) > 1


def test_an_emulator_validates_nothing(root, put):
    put(1, host="embedded")
    found = collected(root)
    assert [(c.state, c.validated, found.columns[c.column].hardware) for c in found.cells] == [("predicted", "", False)]


def test_rows_and_columns_are_in_an_order_for_readers(root, put):
    text = REPRO.replace("# ///\n", "# params = { width = [16, 8] }\n# ///\n", 1).replace("run()", "run(width)")
    (root / "repros/one.py").write_text(text)
    for case in ("width=16", "width=8"):
        put(1, case=case)
    put(1, host="embedded", repro="two", device={"kind": "emulator", "arch": None}, title="")
    put(1, repro="two", device={"kind": "cuda", "arch": "sm_100a"}, title="")
    found = collected(root)
    assert [one.case for one in found.claims] == ["width=8", "width=16", ""]
    assert [one.arch for one in found.columns] == ["sm_90", "sm_100", "any"]
    assert found.claims[2].text == "A sentence from the file."  # of old records, which hold none
    assert collected(root, ["two"]).claims == found.claims[2:]
    with pytest.raises(UsageError, match="no record is of a claim 'three'"):
        collected(root, ["three"])


def test_the_text_of_a_kernel_that_was_not_kept(root, put):
    put(1)
    put(2, "fail", ptx="bad")
    for path in root.glob("repros/records/blobs/*.ptx"):
        path.unlink()
    (cell,) = collected(root).cells
    assert [(one.base, one.newest) for one in cell.code] == [(None, None)]
    page.render(collected(root))


def test_the_command_writes_the_same_page_twice_and_names_what_it_could_not_read(root, put, capsys):
    put(1)
    put(2, "fail", ptx="bad")
    assert cli.main(["record", "report"]) == 0
    first = (root / "report.html").read_bytes()
    assert capsys.readouterr().out == f"wrote report.html: 1 case x 1 column, {len(first)} bytes\n"
    (root / ".repro/index.sqlite").unlink()
    assert cli.main(["record", "report", "-o", "again.html", "repros"]) == 0
    assert (root / "again.html").read_bytes() == first
    with open(next(root.glob("repros/records/*.jsonl")), "a") as file:
        file.write("{nonsense\n")
    assert cli.main(["record", "report"]) == 0
    assert "not read: repros/records/" in capsys.readouterr().err


def test_a_path_that_it_cannot_write(root, put, capsys):
    put(1)
    (root / "folder").mkdir()
    for out in ("nowhere/x.html", "folder"):
        assert cli.main(["record", "report", "-o", out]) == 2
        assert f"repro: {out}: " in capsys.readouterr().err
    assert list((root / "folder").iterdir()) == [] and not list(root.glob(".*tmp"))


def test_without_records(root, capsys):
    assert cli.main(["record", "report"]) == 0
    assert "Nothing was run yet." in (root / "report.html").read_text()


def test_how_sure_claims_are_and_why(put, root):
    through = [{"instruction": "ex2.approx.f32", "line": 31, "bound": "2 ulp"}]
    open_ones = {"out": {"arithmetic": "bounded", "through": through}, "n": {"arithmetic": "open", "through": through}}
    put(1, host="embedded", arithmetic=open_ones, evidence="emulator")
    put(1, host="embedded", repro="two", arithmetic={"out": {"arithmetic": "exact"}}, evidence="published:fasi2021")
    put(2, repro="two", evidence="hardware:NVIDIA H100")
    with open_index(root) as records:
        report = page_records.collect(records)
    facts = dict(report.cells[0].newest.facts)
    assert (
        facts["arithmetic"] == "open; `n`, `out`: ex2.approx.f32 (line 31, 2 ulp)" and facts["evidence"] == "emulator"
    )
    text = page.render(report)
    assert "3 cells. Arithmetic: 1 exact, 1 open. Evidence: 1 emulator, 1 published, 1 hardware. Newest run" in text
    assert text.count("<span class=leeway>open</span>") == 1
