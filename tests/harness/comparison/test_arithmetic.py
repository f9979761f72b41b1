"""exact, bounded, open: notes for golden, record and the author on outputs that came through approximations."""

import json

import numpy as np
import pytest

from harness import judge, store
from harness.cli import main
from harness.comparison import arithmetic, golden
from harness.host.hosts import Host
from harness.run.reply import Decision, Dependence
from harness.run.result import DTYPES, RAW, Array, Outcome

HOST = Host("embedded", "emulator")
RUN = "def run():\n    return {}"
EX2 = Dependence("ex2.approx.ftz.f32", "2 ulp", "one.py", 31, relative=2 * 2**-23)
TANH = Dependence("tanh.approx.f32", "relative error 2^-11", "one.py", 32, relative=2**-11)
SIN = Dependence("sin.approx.f32", "absolute error 2^-20.5 in [-2pi, 2pi]", "one.py", 33, absolute=2**-20.5)
ATOMS = Dependence("red.global.add.f32", "the order of the additions is open", "one.py", 34)


def array(dtype: str = "float32") -> Array:
    return Array(DTYPES[dtype], np.arange(4, dtype=RAW[DTYPES[dtype].bits]))


def outcome(**outputs: tuple[str, list[Dependence]]) -> Outcome:
    arrays = {name: array(dtype) for name, (dtype, _) in outputs.items()}
    return Outcome("outputs", outputs=arrays, depends={name: depends for name, (_, depends) in outputs.items()})


@pytest.mark.parametrize("dtype, depends, kind, rule", [
    ("float32", [], "exact", None),
    ("int32", [], "exact", None),
    ("float32", [EX2], "bounded", "ulp:4"),
    ("float32", [EX2, EX2], "bounded", "ulp:8"),
    ("float16", [EX2], "bounded", "ulp:1"),
    ("bfloat16", [EX2, TANH], "bounded", "ulp:1"),
    ("float32", [TANH], "bounded", "rel:1e-03"),
    ("float32", [SIN], "bounded", "rel:2e-06"),
    ("float64", [EX2], "bounded", "rel:5e-07"),
    ("int32", [EX2], "open", None),
    ("bool", [EX2], "open", None),
    ("float32", [EX2, ATOMS], "open", None),
])  # fmt: skip
def test_kinds_and_proposals(dtype, depends, kind, rule):
    assert arithmetic.kind(array(dtype), depends) == kind
    assert arithmetic.proposal(array(dtype), depends) == rule


def test_a_proposal_names_its_basis():
    assert arithmetic.basis([EX2]) == "twice the documented 2 ulp"
    assert arithmetic.basis([EX2, EX2, TANH]) == "twice the sum of documented errors: 2 ulp, relative error 2^-11"
    more = [Dependence("x", f"{count} ulp", relative=0.0) for count in range(5)]
    assert arithmetic.basis(more) == "twice the sum of documented errors: 0 ulp, 1 ulp, 2 ulp ..."


def test_instructions_are_named_with_their_lines():
    elsewhere = Dependence("ex2.approx.ftz.f32", "2 ulp", "helper.py", 5, relative=2**-22)
    nowhere = Dependence("rcp.approx.f32", "1 ulp", None, None, relative=2**-23)
    text = arithmetic.through([EX2, elsewhere, EX2, nowhere, SIN, TANH], "one.py")
    assert text == "ex2.approx.ftz.f32 (lines 31, helper.py:5), rcp.approx.f32, sin.approx.f32 (line 33) and 1 more"


def test_an_author_gets_a_note_if_bits_are_compared(write):
    (case,) = write(RUN, 'compare = { close = "ulp:4" }').cases()
    got = outcome(out=("float32", [EX2]), close=("float32", [EX2]), n=("int32", [EX2]), sure=("float32", []))
    path = arithmetic.short(case.repro.path)
    assert arithmetic.notes(case, got) == [
        f"{path}: `n` depends on ex2.approx.ftz.f32 (line 31): silicon may differ; write `silicon = \"h100\"`",
        f"{path}: `out` depends on ex2.approx.ftz.f32 (line 31): silicon may differ; "
        'compare with `ulp:4` (a proposal: twice the documented 2 ulp) or write `silicon = "h100"`',
    ]  # fmt: skip
    (said,) = write(RUN, 'silicon = "h100"').cases()
    assert arithmetic.notes(said, got) == []


def test_a_missing_golden_proposes_the_comparison_and_an_accepted_one_keeps_it(write, tmp_path):
    (case,) = write(RUN).cases()
    got = outcome(out=("float32", [EX2]), sure=("int32", []))
    verdict = judge.judge(case, HOST, got, tmp_path)
    assert verdict.reason == "no golden" and verdict.text.endswith(arithmetic.notes(case, got)[0])
    accepted = judge.judge(case, HOST, got, tmp_path, update=True)
    assert accepted.notes[1:] == arithmetic.notes(case, got)
    outputs = json.loads(accepted.pending.text)["outputs"]
    through = [{"instruction": "ex2.approx.ftz.f32", "line": 31, "bound": "2 ulp"}]
    assert {name: one.get("arithmetic") for name, one in outputs.items()} == {"out": "bounded", "sure": "exact"}
    assert outputs["out"]["through"] == through and "through" not in outputs["sure"]
    assert accepted.record["arithmetic"] == {
        "out": {"arithmetic": "bounded", "through": through}, "sure": {"arithmetic": "exact"}
    }  # fmt: skip


def test_the_arithmetic_is_not_part_of_the_answer(write, tmp_path):
    """A golden of before, without these keys, holds the same answer: nothing becomes stale by a new one."""
    (case,) = write(RUN).cases()
    before, after = (golden.make(case, outcome(out=("float32", depends)), {"host": "h"}) for depends in ([], [EX2]))
    table = json.loads(before.text)
    del table["outputs"]["out"]["arithmetic"]
    texts = [json.dumps(table).encode(), before.text.encode(), after.text.encode()]
    assert len({store.answer_sha256(text) for text in texts}) == 1
    golden.write(after)
    assert golden.read(golden.path_of(case)).outputs["out"].raw.tobytes() == array().raw.tobytes()


def decided(*rows: tuple[str, list[Dependence]]) -> Outcome:
    got = outcome(out=("float32", []))
    got.decisions = [Decision(what, "bra", "one.py", 40, through) for what, through in rows]
    return got


def test_notes_on_decisions_by_an_approximation(write):
    (case,) = write(RUN).cases()
    path = arithmetic.short(case.repro.path)
    rows = [("branch", [EX2]), ("loop", [EX2, TANH]), ("address", [EX2]), ("count", [ATOMS])]
    assert arithmetic.notes(case, decided(*rows)) == [
        f"{path}:40: the branch depends on an approximate value (ex2.approx.ftz.f32 (line 31): within 2 ulp): another "
        "GPU may take the other way",
        f"{path}:40: the number of rounds of the loop depends on an approximate value (ex2.approx.ftz.f32 (line 31), "
        "tanh.approx.f32 (line 32): within 2 ulp, relative error 2^-11): another GPU may run it more or less often",
        f"{path}:40: the address depends on an approximate value (ex2.approx.ftz.f32 (line 31): within 2 ulp): another "
        "GPU may access another place",
        f"{path}:40: what the barrier waits for depends on an open value (red.global.add.f32 (line 34): the order of "
        "the additions is open): another GPU may wait for other threads",
    ]
    (said,) = write(RUN, 'silicon = "h100"').cases()
    assert arithmetic.notes(said, decided(*rows)) == []


def test_golden_and_record_keep_decisions(write, tmp_path):
    (case,) = write(RUN).cases()
    accepted = judge.judge(case, HOST, decided(("branch", [EX2])), tmp_path, update=True)
    through = [{"instruction": "ex2.approx.ftz.f32", "line": 31, "bound": "2 ulp"}]
    rows = [{"what": "branch", "instruction": "bra", "line": 40, "through": through}]
    assert accepted.record["decisions"] == rows
    assert json.loads(accepted.pending.text)["provenance"]["decisions"] == rows
    none = judge.judge(case, HOST, decided(), tmp_path, update=True)
    assert none.record["decisions"] is None and "decisions" not in json.loads(none.pending.text)["provenance"]
    hashes = {store.answer_sha256(one.pending.text.encode()) for one in (accepted, none)}
    assert len(hashes) == 1, "the answer is the same"


def test_outputs_that_nobody_followed_get_no_notes(write, tmp_path):
    (case,) = write(RUN).cases()
    got = Outcome("outputs", outputs={"out": array()})
    assert arithmetic.table(got) == {} and arithmetic.notes(case, got) == []
    assert "arithmetic" not in json.loads(golden.make(case, got, {"host": "h"}).text)["outputs"]["out"]


KERNEL = """
import cutlass, torch
import cutlass.cute as cute
from cutlass.cute.runtime import from_dlpack
@cute.kernel
def kernel(a: cute.Tensor, out: cute.Tensor, twice: cute.Tensor):
    t, _, _ = cute.arch.thread_idx()
    out[t] = cute.math.exp2(a[t], fastmath=True)
    twice[t] = a[t] * 2
@cute.jit
def host(a: cute.Tensor, out: cute.Tensor, twice: cute.Tensor):
    kernel(a, out, twice).launch(grid=(1, 1, 1), block=(8, 1, 1))
def run():
    a, out, twice = (torch.arange(8.0, device="cuda") for _ in range(3))
    host(from_dlpack(a), from_dlpack(out), from_dlpack(twice))
    return {"out": out, "twice": twice, "copied": out.cpu().clone()}
"""


@pytest.mark.slow
def test_from_a_kernel_to_status(write, tmp_path, monkeypatch, capsys):
    monkeypatch.delenv("CI", raising=False)
    monkeypatch.chdir(tmp_path)
    (tmp_path / "pyproject.toml").write_text("")
    write(KERNEL)
    assert main(["run", "repros/one.py", "--update-goldens"]) == 0
    told = capsys.readouterr().out
    for name in ("out", "copied"):
        assert f'repros/one.py: `{name}` depends on ex2.approx.ftz.f32 (line 11): silicon may differ; compare with' \
            ' `ulp:4` (a proposal: twice the documented 2 ulp) or write `silicon = "h100"`\n' in told  # fmt: skip
    assert "`twice`" not in told
    assert main(["record", "status"]) == 0
    assert capsys.readouterr().out.splitlines()[3:] == [
        "arithmetic: 1 bounded",
        "    which    claim  arch   outputs and the instructions they came through",
        "    bounded  one    sm_90  `copied`, `out`: ex2.approx.ftz.f32 (line 11, 2 ulp)",
        "",
        "evidence: 1 emulator",
    ]


def test_a_kernel_that_decides_by_an_approximation(write, tmp_path, monkeypatch, capsys):
    monkeypatch.delenv("CI", raising=False)
    monkeypatch.chdir(tmp_path)
    (tmp_path / "pyproject.toml").write_text("")
    write(
        KERNEL.replace("twice[t] =", "twice[cutlass.Int32(out[t]) % 8] =").replace("torch.arange(8.0,", "torch.ones(8,")
    )
    assert main(["run", "repros/one.py", "--update-goldens"]) == 0
    told = "the address depends on an approximate value (ex2.approx.ftz.f32 (line 11): within 2 ulp): another GPU may access"
    assert f"repros/one.py:12: {told} another place\n" in capsys.readouterr().out
