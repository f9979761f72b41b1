"""`--compiler nvidia`: the compiler is asked for, named and never mistaken for ours.

Modules tested here: harness/records/history.py.
"""

import dataclasses
import importlib.metadata
import json
import re

import numpy as np
import pytest

from harness import judge
from harness.claim.repro_file import read
from harness.cli import main
from harness.comparison import golden
from harness.errors import UsageError
from harness.host.environment import releases
from harness.host.hosts import Host
from harness.records import history
from harness.reporting import text_report
from harness.run.result import DTYPES, Array, Outcome
from harness.session import Session
from tests.harness.by_a_gpu import UUID

HOST = Host("embedded", "emulator")
RUN = "def run():\n    return {}"
NVIDIA = {"name": "nvidia", "version": "4.8.1"}
OURS = {"name": "ours", "version": "0.1.0"}
KERNEL = """
import cutlass, torch
import cutlass.cute as cute
from cutlass.cute.runtime import from_dlpack
@cute.kernel
def kernel(out: cute.Tensor):
    tid, _, _ = cute.arch.thread_idx()
    out[tid] = tid * 2
@cute.jit
def host(out: cute.Tensor):
    kernel(out).launch(grid=(1, 1, 1), block=(32, 1, 1))
def run():
    out = torch.zeros(32, dtype=torch.int32, device="cuda")
    host(from_dlpack(out))
    return {"out": out}
"""


def outputs(value: int, compiler: dict) -> Outcome:
    array = Array(DTYPES["int32"], np.full(4, value, np.uint32))
    return Outcome("outputs", outputs={"out": array}, facts={"compiler": compiler}, compiler=compiler["name"])


def rejected(compiler: dict, **detail) -> Outcome:
    return Outcome("rejected", "error", detail=detail, facts={"compiler": compiler}, compiler=compiler["name"])


def accept(case, outcome: Outcome) -> None:
    golden.write(golden.make(case, outcome, history.provenance(case, HOST, outcome)))


def test_its_result_is_compared_with_the_golden_of_ours(write, tmp_path):
    (case,) = write(RUN).cases()
    accept(case, outputs(1, OURS))
    same = judge.judge(case, HOST, outputs(1, NVIDIA), tmp_path)
    assert same.status == "pass"
    assert same.record["compiler"] == NVIDIA and same.record["key"]["toolchain"] == "name=nvidia version=4.8.1"
    assert "\ncompiler: nvidia 4.8.1\n" in text_report.verdict(case, HOST, same) + "\n"
    other = judge.judge(case, HOST, outputs(2, NVIDIA), tmp_path)
    text = text_report.failure(case, HOST, other)
    assert other.status == "fail"
    assert "the compilers disagree: this result comes from nvidia, and the golden from ours" in text
    assert "--update-goldens" not in text
    assert text.endswith(f"again: uv run repro run {text_report.short(case.repro.path)} --compiler nvidia")


def test_an_answer_of_nvidias_compiler_waits_for_nobody(write, tmp_path):
    (tmp_path / "pyproject.toml").write_text("")
    (case,) = write(RUN).cases()
    for compiler, waits in ((NVIDIA, False), (OURS, True)):
        verdict = judge.judge(case, HOST, outputs(1, compiler), tmp_path)
        assert (verdict.reason, verdict.proposal is not None) == ("no golden", waits)
        assert ("accept it with `repro golden accept " in verdict.text, "`--compiler ours`" in verdict.text) == (
            waits,
            not waits,
        )


def test_a_rejection_is_the_same_by_its_id_alone(write, tmp_path):
    (case,) = write(RUN, 'outcome = "rejected"').cases()
    ours = {"class": "DSLUserCodeTypeError", "id": "TYPE_UNSTABLE_JOIN", "file": str(case.repro.path), "line": 1}
    theirs = ours | {"class": "DSLUserCodeError", "line": 2}
    accept(case, rejected(OURS, **ours))
    assert judge.judge(case, HOST, rejected(NVIDIA, **theirs), tmp_path).status == "pass"
    assert judge.judge(case, HOST, rejected(OURS, **theirs), tmp_path).status == "fail"
    assert judge.judge(case, HOST, rejected(NVIDIA, **theirs | {"id": "OTHER"}), tmp_path).status == "fail"


def test_a_program_it_rejects_and_ours_runs(write, tmp_path):
    (case,) = write(RUN, 'nvidia = { rejected = "UNSUP_EARLY_EXIT" }').cases()
    accept(case, outputs(1, OURS))
    assert judge.judge(case, HOST, outputs(1, OURS), tmp_path).status == "pass"
    assert judge.judge(case, HOST, rejected(OURS, id="UNSUP_EARLY_EXIT"), tmp_path).status == "fail"
    assert judge.judge(case, HOST, rejected(NVIDIA, id="UNSUP_EARLY_EXIT"), tmp_path).status == "pass"
    other = judge.judge(case, HOST, rejected(NVIDIA, id="OTHER"), tmp_path)
    assert (other.status, other.reason) == ("fail", "differs from `nvidia`")
    says = 'the file\'s block states `nvidia = { rejected = "UNSUP_EARLY_EXIT" }`, but it '
    assert other.text.startswith(
        says + "rejected it with OTHER\nerror\nfix: write what it does now, or remove `nvidia`"
    )
    after_all = judge.judge(case, HOST, outputs(1, NVIDIA), tmp_path)
    assert (after_all.status, after_all.reason) == ("fail", "unexpected pass")
    assert after_all.text.startswith(
        says.removesuffix("it ") + "release 4.8.1 does what the claim states\nfix: remove `nvidia`, "
    )
    assert judge.judge(case, HOST, outputs(2, NVIDIA), tmp_path).text.startswith(says + "gave outputs\nfix: ")


def test_releases_have_their_own_expectations(write, tmp_path):
    (case,) = write(RUN, 'nvidia = { "<4.7" = { rejected = "E1" }, ">=4.7,<4.8" = { xfail = "wrong" } }').cases()
    accept(case, outputs(1, OURS))

    def judged(outcome: Outcome, release: str) -> judge.Verdict:
        outcome.facts["compiler"] = NVIDIA | {"version": release}
        return judge.judge(case, HOST, outcome, tmp_path)

    old = judged(rejected(NVIDIA, id="E1"), "4.6.3")
    assert (old.status, old.reason) == ("pass", "expected failure")
    assert old.expected == 'nvidia = { "<4.7" = { rejected = "E1" } }'
    assert old.record["reason"] == "expected failure"
    wrong = judged(outputs(2, NVIDIA), "4.7.0")
    assert (wrong.status, wrong.expected) == ("pass", 'nvidia = { ">=4.7,<4.8" = { xfail = "wrong" } }')
    right = judged(outputs(1, NVIDIA), "4.7.0")
    assert (right.status, right.reason, right.text) == (
        "fail", "unexpected pass", 'the file\'s block states `nvidia = { ">=4.7,<4.8" = { xfail = "wrong" } }`, but release '
        '4.7.0 does what the claim states\nfix: leave release 4.7.0 out of ">=4.7,<4.8"')  # fmt: skip
    assert (judged(outputs(1, NVIDIA), "4.8.1").status, judged(outputs(2, NVIDIA), "4.8.1").status) == ("pass", "fail")
    assert judged(rejected(NVIDIA, id="E1"), "4.8.1").status == "fail"


def test_a_rejection_without_an_id_is_known_by_its_words(write, tmp_path):
    (case,) = write(RUN, 'outcome = "trap"\nnvidia = { rejected = "not defined" }').cases()

    def status(text: str, **detail) -> str:
        outcome = dataclasses.replace(rejected(NVIDIA, **detail), text=text)
        return judge.judge(case, HOST, outcome, tmp_path).status

    assert status("name 'v' is not defined", id=None) == "pass"
    assert status("name 'v' is not known", id=None) == "fail"
    assert status("name 'v' is not defined", id="SCOPE_UNBOUND_NAME") == "fail"


def test_values_that_differ_under_it(write, tmp_path):
    (case,) = write(RUN, "nvidia = { outputs = { out = [2, 2, 2, 2] } }").cases()
    accept(case, outputs(1, OURS))
    expected = outputs(1, OURS).outputs

    def judged(value: int, compiler: dict, **more) -> judge.Verdict:
        outcome = dataclasses.replace(outputs(value, compiler), expected=expected)
        outcome.outputs.update(more)
        return judge.judge(case, HOST, outcome, tmp_path)

    assert judged(1, OURS).status == "pass"
    assert judged(2, OURS).reason == "differs from expected()"
    assert judged(2, NVIDIA).status == "pass"
    same = judged(1, NVIDIA)
    assert same.reason == "unexpected pass"
    neither = judged(3, NVIDIA)
    assert neither.reason == "differs from `nvidia`"
    assert "under NVIDIA's compiler `out` is [2, 2, 2, 2], but it is [3, 3, 3, 3]\nfix: " in neither.text
    other = Array(DTYPES["int32"], np.zeros(4, np.uint32))
    assert judged(2, NVIDIA, other=other).reason == "differs from the golden"


def test_a_case_that_could_not_be_run_names_the_compiler_too(write, tmp_path):
    (case,) = write(RUN).cases()
    verdict = judge.judge(case, HOST, dataclasses.replace(Outcome("infra", "no"), compiler="nvidia"), tmp_path)
    assert "\ncompiler: nvidia\n" in text_report.failure(case, HOST, verdict)


def test_it_never_makes_goldens(tmp_path, monkeypatch):
    monkeypatch.delenv("CI", raising=False)
    with pytest.raises(UsageError, match="--update-goldens is refused with --compiler nvidia: a golden is what this "):
        Session(tmp_path, ["embedded"], update=True, compiler="nvidia")


def test_without_the_package_a_run_ends_before_it_starts(repros, pytester, monkeypatch):
    found = importlib.metadata.version

    def version(name):
        if name == "nvidia-cutlass-dsl":
            raise importlib.metadata.PackageNotFoundError(name)
        return found(name)

    monkeypatch.setattr(importlib.metadata, "version", version)
    repros(one="import numpy as np\ndef run(): return {'out': np.zeros(1)}")
    result = pytester.runpytest_inprocess("repros", "--compiler", "nvidia")
    assert result.ret == 4
    result.stderr.fnmatch_lines(
        [
            "ERROR: --compiler nvidia needs the package nvidia-cutlass-dsl, which is not inst*",
            "fix: uv sync --group nvidia *",
        ]
    )


@pytest.mark.slow
def test_on_a_host_it_is_the_package_there(on_host, write):
    host = on_host(compiler="nvidia")
    for fresh in (False, True):
        outcome = host.run(write(KERNEL), fresh)
        if re.search("nvidia-cutlass-dsl, which is not installed|no C compiler", outcome.text):
            (pytest.fail if judge.in_ci() else pytest.skip)(outcome.text)
        assert outcome.kind == "outputs", outcome.text
        assert outcome.outputs["out"].values().tolist() == [2 * n for n in range(32)]
        assert outcome.facts["compiler"]["name"] == outcome.compiler == "nvidia"
        assert outcome.kernels[0]["launches"] == [{"grid": [1, 1, 1], "block": [32, 1, 1], "smem_bytes": 0}]


@pytest.mark.slow
def test_machine_code_is_recorded_where_it_is_asked_for(write, tmp_path, ptxas_path):
    (case,) = write(KERNEL).cases()
    found, run = {}, Session(tmp_path)
    try:
        for run.sass in (False, True):
            host, outcome = run.run(case, run.hosts()[0], None, False)
            found[run.sass] = judge.judge(case, host, outcome, tmp_path)
    finally:
        run.close()
    without, made = found[False].record, found[True].record
    assert without["kernels"] == made["kernels"] and not without["sass"] and without["ptxas"] is None
    (sha256,) = made["sass"].values()
    text = history.blobs(found[True].outcome)[f"{sha256}.sass"]
    assert "S2R R" in text and "/*0010*/" not in text and re.fullmatch(r"\d+\.\d+[\d.]*", made["ptxas"])
    assert made["digest"] == without["digest"] and made["no_sass"] is None


def test_a_gpu_is_asked_for_machine_code_and_reports_if_there_is_none(write, tmp_path):
    (case,) = write("def run():\n    return {'out': 1}").cases()
    asked = []

    class Gpu:
        def run(self, job):
            asked.append(job.sass)
            frame = {"outcome": "outputs", "outputs": [{"name": "out", "dtype": "int32", "shape": []}], "expected": [],
                     "facts": {"kernels": [], "device": {"kind": "cuda"}},
                     "no_sass": {"missing": True, "text": "`ptxas` is not on PATH"}}  # fmt: skip
            header = {"status": {"exit": 0}, "result": frame, "fault": "", "stdout": "", "stderr": "", "timeout_s": 5}
            return header | {"durations": {}}, [b"\1\0\0\0"]

    gpu = Host("p1", "cuda", device_facts={"name": "H100", "arch": "sm_90", "driver": "570", "uuid": UUID})
    outcome = judge.run(Gpu(), case, gpu)
    verdict = judge.judge(case, gpu, outcome, tmp_path, update=True)
    assert asked == [True] and verdict.status == "pass"
    assert verdict.record["no_sass"] == "`ptxas` is not on PATH" and verdict.record["sass"] == {}


ELSEWHERE = "import {module}\ndef run():\n    raise SystemExit('it ran')"
NEEDS = '# dependencies = ["{need}", "numpy"]\n# [tool.repro]'


def other_language(write, need="quadrants>=1.3", module="quadrants as qd"):
    """A repro in another language than CuTe, with the requirement and the import that are given."""
    path = write(ELSEWHERE.format(module=module)).path
    path.write_text(path.read_text().replace("# [tool.repro]", NEEDS.format(need=need)))
    return read(path)


@pytest.mark.parametrize("compiler", ["nvidia", "nvidia==4.6.3"])
@pytest.mark.parametrize("need, module, language", [
    ("quadrants", "numpy", "Quadrants"), ("Quadrants>=1.3", "quadrants as qd", "Quadrants"),
    ("numpy", "quadrants as qd", "Quadrants"), ("apache_tvm==0.26.0", "numpy", "TIRx"), ("numpy", "tvm.script", "TIRx"),
    ("triton", "triton.language as tl", "Triton"), ("tilelang", "tilelang", "TileLang"), ("numba-cuda", "numba.cuda", "Numba"),
])  # fmt: skip
def test_a_program_in_another_language_is_not_run(write, tmp_path, compiler, need, module, language):
    (case,) = other_language(write, need, module).cases()
    outcome = judge.run(None, case, Host("embedded", "emulator", compiler=compiler), compiler=compiler)
    verdict = judge.judge(case, HOST, outcome, tmp_path)
    assert (verdict.status, verdict.reason) == ("skip", "not its language")
    assert verdict.text == f"written in {language}: NVIDIA's compiler does not take it"


@pytest.mark.parametrize("need, module", [("nvidia-cutlass-dsl", "cutlass.cute"), ("apache-tvm-ffi", "tvm_ffi")])
def test_a_program_in_its_own_language_is(write, need, module):
    repro = other_language(write, need, module)
    assert releases.untaken(repro, "nvidia") == ""
    assert releases.needs_of(repro, "nvidia==4.6.3") == (need, "numpy", *releases.requirement("nvidia==4.6.3"))


def test_it_is_skipped_by_name_and_no_verdict(write, tmp_path, capsys, pytester, monkeypatch):
    """By `repro run` and by pytest, in a run of both compilers too."""
    monkeypatch.delenv("CI", raising=False)
    monkeypatch.chdir(tmp_path)
    (tmp_path / "pyproject.toml").write_text("")
    found = importlib.metadata.version
    version = lambda name: "4.8.1" if name == "nvidia-cutlass-dsl" else found(name)
    monkeypatch.setattr(importlib.metadata, "version", version)
    repro = other_language(write)
    why = "written in Quadrants: NVIDIA's compiler does not take it"
    assert main(["run", str(repro.path), "--compiler", "nvidia", "--compiler", "nvidia==4.6.3"]) == 0
    assert capsys.readouterr().out.count(why) == 2
    result = pytester.runpytest_inprocess(str(repro.path), "--compiler", "nvidia", "-rs")
    result.assert_outcomes(skipped=1)
    result.stdout.fnmatch_lines([f"SKIPPED * {why}"])
    lines = [line for path in (tmp_path / ".repro/records").iterdir() for line in path.read_text().splitlines()]
    assert {json.loads(line)["verdict"] for line in lines} == {"skip"}


def test_under_ours_its_package_is_not_needed(write):
    """Our compiler replaces it; NVIDIA's compiler does not, and neither replaces the other needs of a repro."""
    repro = other_language(write, "quadrants>=1.3")
    assert releases.needs_of(repro, "ours") == ("numpy",)
    assert releases.needs_of(other_language(write, "apache_tvm"), "ours") == ("numpy",)
    assert releases.needs_of(other_language(write, "apache-tvm-ffi"), "ours") == ("apache-tvm-ffi", "numpy")
