"""CHECK lines, lanes, and what a person reads of them.

Modules tested here: harness/run/result.py.
"""

from pathlib import Path

import numpy as np

import dsl
from harness import judge
from harness.claim import check_lines
from harness.claim.rule import Rule
from harness.comparison.compare import compare
from harness.host.hosts import resolve
from harness.reporting import text_report
from harness.run.result import DTYPES, Array, Outcome, author_frames, from_reply
from harness.terminal import printable

PTX = """.visible .entry kernel(
\tld.global.f32 %f1, [%rd1];
\tmul.f32 %f2, %f1, 0f40000000;
\tst.global.f32 [%rd2], %f2;
\tret;
"""


def kernel(**changes):
    launches = [{"grid": [2, 1, 1], "block": [64, 1, 1], "smem_bytes": 0}]
    return {
        "name": "kernel",
        "arch": "sm_90a",
        "ptx": PTX,
        "ptx_sha256": "0",
        "sass": None,
        "launches": launches,
    } | changes


def outcome(kernels, **outputs):
    return Outcome("outputs", facts={"kernels": kernels, "device": {"kind": "emulator"}}, outputs=outputs)


CHECKS = """
# CHECK-PTX: ld.global
# CHECK-PTX-NEXT: mul.f32 [[R:%f[0-9]+]]
# CHECK-PTX(relu=False)-NOT: max.f32
# CHECK-PTX(relu=True): max.f32
# CHECK-PTX: st.global.f32 {{.*}}, [[R]]
def run(relu): return {}
"""


def test_check_lines_of_a_case(write, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    with_relu, without = write(CHECKS, "params = { relu = [true, false] }").cases()
    assert check_lines.failure(without, [kernel()], "PTX") == ""
    assert check_lines.failure(with_relu, [kernel()], "PTX").splitlines() == [
        "repros/one.py:9: CHECK_FAILED",
        "    # CHECK-PTX(relu=True): max.f32",
        '      ^^^^^^^^^^^^^^^^^^^^ Couldn\'t match "max.f32".',
        "searched from PTX line 2:",
        "    mul.f32 %f2, %f1, 0f40000000;",
    ]
    assert (
        check_lines.failure(with_relu, [], "PTX")
        == "the CHECK-PTX lines have nothing to match: the case compiled no kernel"
    )
    relu = PTX.replace("\tst", "\tmax.f32 %f2, %f2, 0f00000000;\n\tst")
    assert check_lines.failure(with_relu, [kernel(ptx=relu)], "PTX") == ""
    assert check_lines.failure(without, [kernel(ptx=relu)], "PTX").splitlines() == [
        "repros/one.py:8: CHECK_FAILED",
        "    # CHECK-PTX(relu=False)-NOT: max.f32",
        "      ^^^^^^^^^^^^^^^^^^^^^^^^^ CHECK-PTX-NOT: excluded string found in input ('max.f32')",
        "found in the PTX:",
        "    max.f32 %f2, %f2, 0f00000000;",
    ]


def test_kernels_of_one_module_are_matched_once(write):
    (case,) = write("# CHECK-PTX-COUNT-1: ld.global\n# CHECK-PTX-NOT: ld.global\ndef run(): return {}").cases()
    assert check_lines.failure(case, [kernel(), kernel(name="other")], "PTX") == ""
    assert check_lines.failure(case, [kernel(), kernel(ptx=PTX + "\n")], "PTX") != ""


def test_sass_is_skipped_without_tools_and_fails_in_ci(write, tmp_path, monkeypatch):
    monkeypatch.delenv("CI", raising=False)
    (case,) = write("# CHECK-SASS: LDGSTS\ndef run(): return {}").cases()
    host, out = resolve("embedded"), outcome([kernel()], out=Array(DTYPES["uint8"], np.zeros(1, np.uint8)))
    out.detail["no_sass"] = {"missing": True, "text": "`ptxas` is not on PATH"}
    verdict = judge.judge(case, host, out, tmp_path, update=True)
    assert (verdict.status, verdict.text) == ("skip", "CHECK-SASS: `ptxas` is not on PATH")
    monkeypatch.setenv("CI", "true")
    assert judge.judge(case, host, out, tmp_path).status == "fail"
    monkeypatch.delenv("CI")
    out.detail["no_sass"] = {"missing": False, "text": "ptxas: syntax error"}
    assert judge.judge(case, host, out, tmp_path).reason == "CHECK-SASS"
    out.detail.clear()
    out.facts["kernels"] = [kernel(sass="LDGSTS.E.BYPASS")]
    assert judge.judge(case, host, out, tmp_path, update=True).status == "pass"


def difference(shape, index, kernels):
    raw = np.zeros(shape, np.float32)
    changed = raw.copy()
    changed[index] = 5
    arrays = [Array(DTYPES["float32"], a.view(np.uint32)) for a in (raw, changed)]
    found = compare("out", *arrays, Rule(), "the golden")
    return text_report.differences([found], outcome(kernels)).splitlines()


def test_differences_name_the_lane():
    assert difference((128,), 101, [kernel()]) == [
        "`out` differs from the golden in 1 of 128 elements (bits)",
        "    index  where                  expected        got",
        "    [101]  block 1 warp 1 lane 5  0x00000000 0.0  0x40a00000 5.0",
    ]
    assert "[1, 37]  block 1 warp 1 lane 5 " in difference((2, 64), (1, 37), [kernel()])[2]
    assert "[1, 37, 3]  block 1 warp 1 lane 5 " in difference((2, 64, 4), (1, 37, 3), [kernel()])[2]
    assert "lane" not in difference((100,), 3, [kernel()])[1]
    assert "lane" not in difference((128,), 3, [kernel(), kernel()])[2]
    assert "lane" not in difference((128,), 3, [])[2]


def test_text_of_a_repro_is_made_printable():
    assert printable("a\x1b[31mred\x1b]0;title\x07\tb\r\n\x9bx") == r"a\x1b[31mred\x1b]0;title\x07" "\tb\n" r"\x9bx"
    fault = "Fatal Python error: Aborted\n\nThread 0x7f (most recent call first):\n"
    fault += '  File "/a/harness/run/runner.py", line 1 in x\n'
    assert author_frames(fault) == "Fatal Python error: Aborted\n\n(most recent call first):"


def test_frames_of_the_author_are_kept_whatever_the_folder_is_called():
    def report(*paths):
        return "(most recent call first):\n" + "\n".join(f'  File "{path}", line 1 in x' for path in paths)

    mine = ["/home/me/dsl/core/one.py", "/home/me/threading.py", "/home/me/harness/run/two.py"]
    ours = ["/usr/lib/python3.11/threading.py", "/venv/dsl/core/a.py", "/venv/dsl/emulator/b.py"]
    ours += ["/venv/harness/run/repeat.py", "/venv/harness/run/runner.py", "<frozen runpy>"]
    assert author_frames(report(*mine, *ours)) == report(*mine)
    root = Path(dsl.__file__).parents[1]  # of a report that is cut before the frames of the runner
    assert author_frames(report(*mine, root / "dsl/launch/a.py")) == report(*mine)


def reply(**changes):
    result = {
        "outcome": "outputs",
        "outputs": [{"name": "o", "dtype": "int32", "shape": [2]}],
        "expected": [],
    } | changes
    streams = {"stdout": "", "stderr": "", "fault": ""}
    return {"status": {"exit": 0}, "timeout_s": 1, "result": result, "durations": {}} | streams


def test_a_reply_is_not_trusted():
    data = [np.int32([1, 2]).tobytes()]
    assert from_reply(reply(), data).outputs["o"].values().tolist() == [1, 2]
    bad = [
        (reply(outcome="winner"), data),
        (reply(outputs=[{"name": "o", "dtype": "object", "shape": [2]}]), data),
        (reply(outputs=[{"name": "o", "dtype": "int32", "shape": [3]}]), data),
        (reply(outputs=[{"name": "o", "dtype": "int32", "shape": [-1, -2]}]), data),
        (reply(outputs=[{"name": "o", "dtype": "int64", "shape": [1 << 62, 4]}]), data),
        (reply(outputs=None), data),
        (reply(), []),
        (reply(), [b"123"]),
        ({"status": None}, []),
        (reply() | {"durations": {"x": "y"}}, data),
    ]
    for header, buffers in bad:
        got = from_reply(header, buffers)
        assert got.kind == "infra" and got.text.startswith("the reply of the runner is broken: ")


def test_an_invalid_pattern(write):
    (case,) = write("# CHECK-PTX: [[unknown]]\ndef run(): return {}").cases()
    assert "one.py:5: CHECK_FAILED" in check_lines.failure(case, [kernel()], "PTX")
