"""The plugin as its users meet it: real pytest runs over small projects.

Modules tested here: harness/judge.py.
"""

import json
import os
import re
import signal
import subprocess
import sys
import uuid

import pytest

from harness.cli import main
from harness.host.hosts import Host
from tests.harness.conftest import validate, wait_until
from tests.slow import rest_slow

TWICE = """
import numpy as np
def run(width):
    return {"out": np.arange(width, dtype=np.float32) * 2}
"""
WIDTHS = "params = { width = [8, 16] }"


def give(expression: str) -> str:
    return f"import numpy as np\ndef run():\n    return {{'out': {expression}}}"


@pytest.fixture
def accepted(pytester, repros):
    """Write repros and accept what they give."""

    def accept(**files):
        folder = repros(**files)
        result = pytester.runpytest("repros", "--update-goldens")
        assert result.ret == 0
        return folder

    return accept


def test_options_begin_with_gpu_and_their_former_spellings_work(pytester, repros):
    shown = pytester.runpytest("--help").stdout.str().partition("gpu-repro: claims")[2].partition("\n\n")[0]
    rows = [re.findall(r"--[\w-]+", row) for row in re.findall(r"(?m)^  (--.*)$", shown)]
    assert len(rows) > 15 and [row[0] for row in rows if not row[0].startswith("--gpu-")] == []
    repros(one=TWICE.replace("width)", "width=8)"))
    asked = ("--gpu-compiler", "ours", "--gpu-fresh", "--gpu-full-traceback", "--gpu-update-goldens")
    assert pytester.runpytest("repros", *asked).ret == 0
    former = ("--compiler", "ours", "--fresh", "--full-traceback", "--update-goldens")
    assert pytester.runpytest("repros", *former).ret == 0
    noted = pytester.runpytest("repros", "--compiler", "embedded")
    assert noted.ret == 0
    noted.stderr.fnmatch_lines(["note: the compiler `embedded` is now `ours`; the old spelling ends with 0.3"])


def test_a_missing_golden_fails_and_shows_how_to_accept_it(pytester, repros):
    repros(one=(TWICE, WIDTHS))
    result = pytester.runpytest("repros")
    assert result.ret == 1
    result.stdout.fnmatch_lines(
        [
            "gpu-repro: embedded (emulator)",
            "_* claim repros/one.py::embedded::width=8 _*",
            "fail: no golden",
            "claim: It is so.",
            "host:  embedded (emulator)",
            "",
            "there is no golden repros/goldens/one/width=8.json; this run gave",
            "    out: float32 (8) 0.0 2.0 4.0 6.0 8.0 10.0 12.0 14.0",
            "fix: if that is what the claim states, accept it with `repro golden accept repros/one.py::width=8`, or run *",
            "",
            "again: uv run repro run repros/one.py -p width=8",
            "FAILED repros/one.py::embedded::width=8 - fail: no golden",
        ]
    )
    assert not (pytester.path / "repros/goldens").exists()


def test_update_accepts_once_and_does_not_churn(pytester, accepted):
    folder = accepted(one=(TWICE, WIDTHS))
    files = sorted((folder / "goldens/one").iterdir())
    assert [path.name for path in files] == ["width=16.json", "width=8.json"]
    before = [(path.read_text(), path.stat().st_mtime_ns) for path in files]
    golden = json.loads(before[1][0])
    assert golden["validated"] is False and golden["outputs"]["out"]["values"] == [
        0.0,
        2.0,
        4.0,
        6.0,
        8.0,
        10.0,
        12.0,
        14.0,
    ]
    assert set(golden["provenance"]) == {
        "host",
        "device",
        "gpu",
        "driver",
        "arch",
        "compiler",
        "versions",
        "ptx_sha256",
        "repro_sha256",
        "date",
    }
    result = pytester.runpytest("repros", "--update-goldens")
    assert result.ret == 0
    assert [(path.read_text(), path.stat().st_mtime_ns) for path in files] == before
    result = pytester.runpytest("repros")
    assert result.ret == 0
    result.stdout.fnmatch_lines(["2 claims on emulator only: predicted, not validated", "*2 passed*"])


DIFFERING = {
    "a value": (
        "np.array([1, 2, 3], np.float32)",
        "np.array([1, 5, 3], np.float32)",
        [
            "`out` differs from the golden in 1 of 3 elements (bits)",
            "    index  expected        got",
            "    [[]1[]]    0x40000000 2.0  0x40a00000 5.0",
        ],
    ),
    "minus zero": ("np.float32([0])", "np.float32([-0.0])", ["    [[]0[]]    0x00000000 0.0  0x80000000 -0.0"]),
    "a NaN's payload": (
        "np.uint32([0x7fc00000]).view(np.float32)",
        "np.uint32([0x7fc00001]).view(np.float32)",
        ["    [[]0[]]    0x7fc00000 nan  0x7fc00001 nan"],
    ),
    "the shape": ("np.zeros(2)", "np.zeros(3)", ["`out` has the shape (3,); the golden has (2,)"]),
    "the dtype": ("np.zeros(2)", "np.zeros(2, int)", ["`out` is int64; the golden has float64"]),
    "a large array": ("np.zeros(5000)", "np.ones(5000)", ["`out` differs from*5000 of 5000*", "    ... and 4984 more"]),
}


def test_a_difference_fails(pytester, accepted, repros):
    names = {name: name.replace(" ", "_").replace("'", "") for name in DIFFERING}
    accepted(**{names[name]: give(old) for name, (old, _, _) in DIFFERING.items()})
    assert pytester.runpytest("repros").ret == 0
    repros(**{names[name]: give(new) for name, (_, new, _) in DIFFERING.items()})
    result = pytester.runpytest("repros")
    result.assert_outcomes(failed=len(DIFFERING))
    for name in sorted(names, key=names.get):
        golden = f"golden: repros/goldens/{names[name]}/default.json, made by embedded (emulator) on 20??-??-??, *"
        fix = f"fix: if the new result is right, accept it with `repro golden accept repros/{names[name]}.py`, or run again *"
        result.stdout.fnmatch_lines(["fail: differs from the golden", *DIFFERING[name][2], golden, fix])


def test_expected_judges_every_run_and_is_never_overruled(pytester, repros):
    body = give("np.float32([1, 2])") + "\ndef expected():\n    return {'out': np.float32([1, 3])}"
    repros(one=body, near=(body, 'compare = { out = "rel:0.5" }'))
    result = pytester.runpytest("repros", "--update-goldens")
    result.stdout.fnmatch_lines(["fail: differs from expected()", "    [[]1[]]*0x40400000 3.0*0x40000000 2.0"])
    result.assert_outcomes(passed=1, failed=1)
    assert os.listdir(pytester.path / "repros/goldens") == ["near"]


OUTCOME = """
class Refused(Exception):
    repro_outcome = {"outcome": "rejected", "class": "DSLUserCodeError", "id": "UNSUP_X", "file": __file__, "line": 10,
                     "text": "one.py:8:1: UNSUP_X"}
def run():
    raise Refused
"""


@pytest.mark.slow
def test_an_outcome_is_accepted_only_if_it_is_declared(pytester, repros):
    repros(one=OUTCOME)
    result = pytester.runpytest("repros", "--update-goldens")
    assert result.ret == 1 and not (pytester.path / "repros/goldens").exists()
    result.stdout.fnmatch_lines(
        [
            "fail: rejected: one.py:8:1: UNSUP_X",
            "rejected:",
            "one.py:8:1: UNSUP_X",
            'if that is what the claim states, write `outcome = "rejected"` in the file\'s [[]tool.repro[]]',
        ]
    )
    repros(one=(OUTCOME, 'outcome = "rejected"'))
    assert pytester.runpytest("repros", "--update-goldens").ret == 0
    golden = json.loads((pytester.path / "repros/goldens/one/default.json").read_text())
    identity = {"outcome": "rejected", "class": "DSLUserCodeError", "id": "UNSUP_X"}
    assert {key: golden[key] for key in identity} == identity and golden["line_text"] == "raise Refused"
    repros(one=("\n# moved\n" + OUTCOME.replace('"line": 10', '"line": 12'), 'outcome = "rejected"'))
    assert pytester.runpytest("repros").ret == 0
    repros(one=(OUTCOME.replace("UNSUP_X", "UNSUP_Y"), 'outcome = "rejected"'))
    result = pytester.runpytest("repros")
    result.stdout.fnmatch_lines(["    id: expected 'UNSUP_X', got 'UNSUP_Y'"])
    repros(one=(give("np.zeros(1)"), 'outcome = "rejected"'))
    result = pytester.runpytest("repros")
    result.stdout.fnmatch_lines(['the claim states `outcome = "rejected"`, but run() returned out'])


def test_corrupt_golden_fails_alone(pytester, accepted):
    folder = accepted(one=(TWICE, WIDTHS))
    (folder / "goldens/one/width=8.json").write_text("{")
    result = pytester.runpytest("repros", "--update-goldens")
    result.assert_outcomes(passed=1, failed=1)
    result.stdout.fnmatch_lines(
        ["fail: corrupt golden", "the golden repros/goldens/one/width=8.json cannot be read: *"]
    )


@pytest.mark.slow
def test_unused_goldens_fail_unless_their_file_was_narrowed(pytester, accepted):
    folder = accepted(one=(TWICE, WIDTHS), two=give("np.zeros(1)"))
    stale = folder / "goldens/one/width=9.json"
    stale.write_text("{}")
    result = pytester.runpytest("repros")
    assert result.ret == 1
    result.assert_outcomes(passed=3)
    result.stdout.fnmatch_lines(
        ["*unused goldens*", "    repros/goldens/one/width=9.json", "fix: rm repros/goldens/one/width=9.json"]
    )
    one, item = "repros/one.py", "repros/one.py::embedded::width=8"
    for narrowed in (
        ["repros", "-k", "width=8"],
        ["repros", "--lf"],
        ["repros/two.py"],
        [item],
        ["repros", "--deselect", item],
        [one, "-k", "width=8"],
        ["repros", "--ignore", "repros/two.py"],
    ):
        assert pytester.runpytest(*narrowed).ret == 0, narrowed
    for whole in ([one], ["repros", "-k", "one"], ["repros", "--deselect", "repros/two.py"], [item, "repros"]):
        result = pytester.runpytest(*whole)
        result.stdout.fnmatch_lines(["    repros/goldens/one/width=9.json"])
        assert result.ret == 1, whole
    (folder / "two.py").unlink()
    stale.unlink()
    pytester.runpytest("repros").stdout.fnmatch_lines(["    repros/goldens/two/default.json"])
    assert pytester.runpytest(one).ret == 0


@pytest.mark.slow
def test_goldens_without_their_repro_are_reported_and_followed(pytester, accepted):
    folder = accepted(one=(TWICE, WIDTHS))
    (folder / "goldens/somebody_elses").mkdir()
    (folder / "goldens/somebody_elses/table.json").write_text('{"rows": []}')
    (folder / "shuffle").mkdir()
    (folder / "one.py").rename(folder / "shuffle/one.py")
    result = pytester.runpytest("repros")
    result.assert_outcomes(failed=2)
    result.stdout.fnmatch_lines([
        "there is no golden repros/shuffle/goldens/one/width=8.json; this run gave",
        "repros/goldens/one holds goldens whose repro is not there",
        "fix: if this repro was there, mkdir -p repros/shuffle/goldens && git mv repros/goldens/one "
        "repros/shuffle/goldens/one",
        "*unused goldens*",
        "    repros/goldens/one/width=16.json",
        "    repros/goldens/one/width=8.json",
        "fix: rm repros/goldens/one/width=16.json repros/goldens/one/width=8.json",
    ])  # fmt: skip
    assert "somebody_elses" not in result.stdout.str()
    (folder / "shuffle/goldens").mkdir()
    (folder / "goldens/one").rename(folder / "shuffle/goldens/one")
    result = pytester.runpytest("repros")
    result.assert_outcomes(passed=2)
    assert result.ret == 0 and "unused goldens" not in result.stdout.str()
    pytester.runpytest("repros/shuffle").assert_outcomes(passed=2)


def test_a_validated_golden_is_never_overwritten_by_the_emulator(pytester, accepted, repros):
    folder = accepted(one=give("np.float32([1])"))
    path = folder / "goldens/one/default.json"
    validate(path)
    result = pytester.runpytest("repros")
    assert result.ret == 0 and "predicted" not in result.stdout.str()
    repros(one=give("np.float32([2])"))
    before = path.read_text()
    result = pytester.runpytest("repros", "--update-goldens")
    assert result.ret == 1 and path.read_text() == before
    result.stdout.fnmatch_lines(
        ["contradicted: hardware gave the golden", "contradicted: hardware gave the golden, so*"]
    )


def test_bad_files_are_reported_and_the_others_go_on(pytester, repros):
    folder = repros(good=give("np.zeros(1)"))
    (folder / "bad.py").write_text("# /// script\n# [tool.repro]\n# wdith = 3\n# ///\ndef run(:\n    pass\n")
    (folder / "plain.py").write_text("def run(f):\n    return f\n\n\nraise SystemExit('imported')\n")
    result = pytester.runpytest("repros")
    result.assert_outcomes(failed=1, errors=1)
    result.stdout.fnmatch_lines(["repros/bad.py:5:9: SYNTAX_ERROR", "    def run(:", "            ^ invalid syntax"])
    assert result.ret == 1 and "Traceback" not in result.stdout.str() and "plain.py" not in result.stdout.str()
    result = pytester.runpytest("repros", "-x")
    result.assert_outcomes(errors=1)
    pytester.makepyfile(test_broken="import no_such_module")
    result = pytester.runpytest("repros", "test_broken.py")
    assert result.ret == 2 and "2 errors during collection" in result.stdout.str()


def test_other_python_files_are_left_to_pytest(pytester, repros):
    folder = repros(one=give("np.zeros(1)"))
    (folder / "plain.py").write_text("raise SystemExit('imported')\n")
    pytester.makepyfile(test_ordinary="def test_it(): pass")
    result = pytester.runpytest("--collect-only", "-q")
    assert result.stdout.lines[:2] == ["repros/one.py::embedded", "test_ordinary.py::test_it"]
    result = pytester.runpytest("--collect-only", "-q", "repros/one.py")
    assert result.stdout.lines[:2] == ["repros/one.py::embedded", ""]


@pytest.mark.slow
def test_selection_and_last_failed(pytester, repros):
    repros(one=(TWICE, WIDTHS), bad="def run():\n    return 3")
    result = pytester.runpytest("-q", "repros/one.py::embedded::width=16", "--update-goldens")
    result.assert_outcomes(passed=1)
    result = pytester.runpytest("repros", "-q", "-k", "one and not 16", "--update-goldens")
    result.assert_outcomes(passed=1, deselected=2)
    pytester.runpytest("repros", "-k", "width=8 or nothing").assert_outcomes(passed=1, deselected=2)
    pytester.runpytest("repros", "-k", "one and not width=8").assert_outcomes(passed=1, deselected=2)
    pytester.runpytest("repros").assert_outcomes(passed=2, failed=1)
    result = pytester.runpytest("repros", "--lf", "-v")
    result.assert_outcomes(failed=1)
    result.stdout.fnmatch_lines(["repros/bad.py::embedded FAILED*"])


def test_records_and_junit(pytester, accepted):
    accepted(one=(TWICE, WIDTHS))
    result = pytester.runpytest("repros", "--junitxml=junit.xml")
    assert result.ret == 0
    files = sorted((pytester.path / ".repro/records").glob("*.jsonl"))
    lines = [json.loads(line) for path in files for line in path.read_text().splitlines()]
    assert [(line["repro"], line["case"], line["verdict"]) for line in lines] == [
        ("repros/one.py", case, "pass") for case in ("width=8", "width=16") * 2
    ]
    assert re.fullmatch(r"\d{4}-\d\d-\d\d-[0-9a-f]{8}\.jsonl", files[0].name)
    assert (
        lines[0]["key"]["repro_sha256"] == lines[2]["key"]["repro_sha256"] and lines[0]["key"]["platform"] == "emulator"
    )
    xml = (pytester.path / "junit.xml").read_text()
    for name, value in {"host": "embedded", "device": "emulator", "verdict": "pass", "asked": "ours"}.items():
        assert f'<property name="{name}" value="{value}" />' in xml
    for name in ("repro_sha256", "golden_sha256", "bundle_sha256", "digest", "seed", "date", "version.numpy"):
        assert f'name="{name}"' in xml
    assert 'name="duration.call_s"' in xml


@pytest.mark.slow
def test_xdist_writes_in_the_controller_alone(pytester, repros):
    files = {f"r{i}": (TWICE, WIDTHS) for i in range(3)}
    repros(**files, big=give("np.zeros(5000)"), fails=give("3"))
    result = pytester.runpytest_subprocess("repros", "-n2", "--update-goldens", "-q", "--junitxml=junit.xml")
    result.assert_outcomes(passed=7, failed=1)
    result.stdout.fnmatch_lines(["accepted repros/goldens/big/default.json", "7 claims on emulator only*"])
    goldens = pytester.path / "repros/goldens"
    assert len(list(goldens.glob("*/*.json"))) == 7 and len(list(goldens.glob("big/*.npy"))) == 1
    (records,) = (pytester.path / ".repro/records").iterdir()
    assert len(records.read_text().splitlines()) == 8
    assert '<property name="verdict" value="fail" />' in (pytester.path / "junit.xml").read_text()
    assert not (pytester.path / ".repro/pending").exists()
    (goldens / "big/default.json").unlink()
    result = pytester.runpytest_subprocess("repros", "-n2", "-q")
    result.stdout.fnmatch_lines(
        ["1 result waits for you: `repro golden review`, then `repro golden accept` or `repro golden reject`"]
    )
    assert [path.name for path in (pytester.path / ".repro/pending").rglob("*.json")] == ["default.json"]
    assert pytester.runpytest_subprocess("repros", "-n2", "--update-goldens", "-q", "-k", "big").ret == 0
    assert not list((pytester.path / ".repro/pending").rglob("*.json"))
    (goldens / "r1/width=9.json").write_text("{}")
    (pytester.path / "repros/fails.py").unlink()
    result = pytester.runpytest_subprocess("repros", "-n2")
    assert result.ret == 1
    result.assert_outcomes(passed=7)
    result.stdout.fnmatch_lines(["    repros/goldens/r1/width=9.json"])


@pytest.mark.slow
@pytest.mark.parametrize("options", rest_slow([[], ["-n2"]], 1))
def test_ctrl_c_leaves_nothing(pytester, repros, processes_with, options):
    mark = f"REPRO_TEST_{uuid.uuid4().hex}"
    body = """
    import subprocess, time, numpy as np
    def run(n):
        if n:
            subprocess.Popen(["setsid", "sleep", "997"])
            open(f"started{n}", "w")
            while True: pass
        return {"out": np.zeros(1)}
    """
    repros(one=(body, "params = { n = [0, 1, 2] }"))
    argv = [sys.executable, "-m", "pytest", "repros", "--update-goldens", *options]
    client = subprocess.Popen(
        argv, env=os.environ | {mark: "1"}, stdout=subprocess.PIPE, text=True, start_new_session=True, cwd=pytester.path
    )
    wait_until((pytester.path / "started1").exists)
    os.killpg(client.pid, signal.SIGINT)
    output, _ = client.communicate(timeout=600)
    assert client.returncode == 2, output
    wait_until(lambda: not processes_with(mark))
    assert not (pytester.path / "repros/goldens").exists()
    for path in (pytester.path / ".repro").rglob("*.jsonl"):
        assert all(json.loads(line) for line in path.read_text().splitlines())


def test_usage_errors(needs, pytester, repros, monkeypatch):
    needs("ssh", "openssh-client")
    repros(one=give("np.zeros(1)"))
    result = pytester.runpytest("repros", "--gpu-host", "p9")
    assert result.ret == 4
    result.stderr.fnmatch_lines(["ERROR: unknown host 'p9': the hosts are embedded, local"])
    monkeypatch.setenv("CI", "true")
    result = pytester.runpytest("repros", "--update-goldens")
    assert result.ret == 4
    result.stderr.fnmatch_lines(["ERROR: --update-goldens is refused where CI is set*"])


@pytest.mark.slow
def test_timeouts_and_output(pytester, repros):
    repros(
        hang="def run():\n    print('here', flush=True)\n    while True: pass", dies="import os\ndef run(): os.abort()"
    )
    result = pytester.runpytest("repros", "--gpu-timeout", "3", "--fresh")
    result.assert_outcomes(failed=2)
    result.stdout.fnmatch_lines(
        ["fail: crash: SIGABRT", "fail: timeout", "the repro did not end within 3 s*", "*stdout of the repro*", "here"]
    )


def test_a_disk_that_takes_no_golden_fails_the_run(pytester, repros):
    repros(one=give("np.zeros(1)"))
    (pytester.path / "repros/goldens").write_text("in the way")
    result = pytester.runpytest("repros", "--update-goldens")
    assert result.ret == 1
    result.stdout.fnmatch_lines(
        ["fail: corrupt golden", "*repros/goldens/one/default.json cannot be read: Not a directory"]
    )


def test_disabled_the_plugin_does_nothing(pytester, repros):
    repros(one=give("np.zeros(1)"))
    result = pytester.runpytest_subprocess("-p", "no:gpu-repro", "repros", "-q")
    assert result.ret == 5


@pytest.mark.slow
def test_a_suite_without_repros_imports_no_session(pytester):
    pytester.makepyfile(test_theirs="import sys\ndef test(): assert 'harness.session' not in sys.modules")
    pytester.runpytest_subprocess("-q").assert_outcomes(passed=1)


def test_one_id_everywhere(pytester, repros, accepted, capsys, monkeypatch):
    """The id that pytest prints for a case works in pytest itself, in -k and in every command of repro."""
    accepted(one=(TWICE, WIDTHS), two=(TWICE, WIDTHS))
    listed = pytester.runpytest_inprocess("repros", "--collect-only", "-q").stdout.lines
    (printed,) = [line for line in listed if line.startswith("repros/one.py") and line.endswith("=8")]
    assert printed == "repros/one.py::embedded::width=8"
    monkeypatch.chdir(pytester.path)
    for text in (printed, "repros/one.py::width=8"):
        pytester.runpytest_inprocess(text).assert_outcomes(passed=1)
        pytester.runpytest_inprocess("repros", "-k", text).assert_outcomes(passed=1, deselected=3)
    pytester.runpytest_inprocess("repros/one.py::embedded").assert_outcomes(passed=2)
    pytester.runpytest_inprocess("-n1", printed, "repros/two.py::width=16").assert_outcomes(passed=2)
    assert pytester.runpytest_inprocess("repros/one.py::width=9").ret == 4
    for text in (printed, "repros/one.py::width=8", "one::width=8", "one width=8"):
        for command in ("run", "history", "status", "matrix", "regressions"):
            capsys.readouterr()
            assert main([command, text]) == 0, (command, text)
            assert "width=16" not in capsys.readouterr().out
    repros(one=(TWICE.replace("* 2", "* 3"), WIDTHS))
    assert main(["run", printed]) == 1
    for command in ("review", "accept"):
        assert main([command, printed]) == (1 if command == "review" else 0)
        assert "repros/one.py::width=8\n" in capsys.readouterr().out or command == "accept"
    assert main(["run", printed]) == 0
    pytester.runpytest_inprocess("repros/one.py::nowhere::width=8").stdout.no_fnmatch_line("*passed*")


EXPECTED = "\ndef expected(width):\n    return {'out': np.arange(width, dtype=np.float32) * 2}\n"


@pytest.mark.slow
def test_a_new_repro_that_agrees_with_expected_is_one_line(pytester, repros, capsys, monkeypatch):
    """Once a file, and no failure; --gpu-strict and CI fail it; nobody judged it, so it has no state."""
    folder = repros(
        one=(TWICE + EXPECTED, WIDTHS), part=(TWICE.replace("{", "{'more': np.zeros(1), ") + EXPECTED, WIDTHS)
    )
    result = pytester.runpytest_inprocess("repros")
    result.assert_outcomes(passed=2, failed=2)  # one output of the other is in no expected()
    advice = "repros/one.py agrees with expected(), not accepted yet: `repro golden accept repros/one.py`"
    assert result.stdout.lines.count(advice) == 1 and "predicted, not validated" not in result.stdout.str()
    assert "2 results wait for you" in result.stdout.str() and not (folder / "goldens").exists()
    pytester.runpytest_inprocess("repros/one.py", "--gpu-strict").assert_outcomes(failed=2)
    with monkeypatch.context() as patch:
        patch.setenv("CI", "true")
        pytester.runpytest_inprocess("repros/one.py").assert_outcomes(failed=2)
    monkeypatch.chdir(pytester.path)
    capsys.readouterr()
    assert main(["run", "repros/one.py"]) == 0
    said = capsys.readouterr().out
    assert said.count("pass: agrees with expected(), not accepted yet\n") == 2 and said.endswith(f"\n{advice}\n")
    assert main(["record", "status", "one"]) == 0
    assert (
        "unknown  one::width=8   any   ours      embedded  never judged: not accepted yet\n" in capsys.readouterr().out
    )
    assert main(["golden", "accept", "repros/one.py"]) == 0
    result = pytester.runpytest_inprocess("repros/one.py")
    result.assert_outcomes(passed=2)
    assert "2 claims on emulator only: predicted, not validated" in result.stdout.str()
    repros(one=(TWICE.replace("* 2", "* 3") + EXPECTED, WIDTHS))
    pytester.runpytest_inprocess("repros/one.py").assert_outcomes(failed=2)


def test_a_host_in_an_id_is_that_arguments_alone(pytester, repros, monkeypatch):
    repros(one=(TWICE, WIDTHS), two=(TWICE, WIDTHS))
    monkeypatch.setattr("harness.host.hosts.resolve", lambda name, *_: Host(name, "emulator"))
    on_p1, rest = "repros/one.py::p1::width=8", ("repros/two.py", "repros/one.py::width=16")
    listed = pytester.runpytest_inprocess(on_p1, *rest, "--collect-only", "-q").stdout.lines
    assert sorted(line for line in listed if "::" in line) == [
        "repros/one.py::embedded::width=16",
        on_p1,
        "repros/two.py::embedded::width=16",
        "repros/two.py::embedded::width=8",
    ]
    listed = pytester.runpytest_inprocess("repros", on_p1, "--collect-only", "-q").stdout.lines  # a folder next to it
    everywhere = [f"repros/{name}.py::embedded::width={width}" for name in ("one", "two") for width in (16, 8)]
    assert sorted({line for line in listed if "::" in line}) == sorted([*everywhere, on_p1])
    listed = pytester.runpytest_inprocess("repros/two.py", "--gpu-host", "p1", "--collect-only", "-q").stdout.lines
    assert [line for line in listed if "::" in line] == ["repros/two.py::p1::width=8", "repros/two.py::p1::width=16"]


COUNT = """\
import sys
import pytest
calls = 0
def count(frame, event, argument):
    global calls
    calls += event in ("call", "c_call")
sys.setprofile(count)
status = pytest.main(["-q", "--collect-only", "-p", "no:cacheprovider", *sys.argv[1:]])
sys.setprofile(None)
print(status + 0, calls)
"""


def test_an_unused_plugin_takes_two_percent_of_a_collection_at_most(tmp_path):
    """Calls of Python and C functions, which a busy machine does not change."""
    for number in range(5):
        tests = "".join(f"def test_{one}(): pass\n" for one in range(5))
        (tmp_path / f"test_{number}.py").write_text(tests)
    (tmp_path / "pytest.ini").write_text("[pytest]\n")

    def calls(*options: str) -> int:
        done = subprocess.run(
            [sys.executable, "-c", COUNT, *options], cwd=tmp_path, capture_output=True, text=True, timeout=600
        )
        *said, numbers = done.stdout.splitlines()
        assert numbers.split()[0] == "0" and "25 tests collected" in "\n".join(said), done.stdout + done.stderr
        return int(numbers.split()[1])

    calls()  # compiles the tests, and what a new environment has not compiled
    without, used = calls("-p", "no:gpu-repro"), calls()
    assert without < used < 1.02 * without
