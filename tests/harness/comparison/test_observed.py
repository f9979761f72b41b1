"""Allowed sets, predicates, masks, poison and runs, as an author meets them: `repro run` over small files."""

import json

import pytest

from harness import judge
from harness.claim import findings
from harness.claim.repro_file import ReproError, read
from harness.cli import main
from harness.comparison import golden
from harness.host.hosts import Host
from harness.run import result
from tests.harness.by_a_gpu import UUID
from tests.slow import rest_slow


@pytest.fixture(autouse=True)
def project(tmp_path, monkeypatch):
    monkeypatch.delenv("CI", raising=False)
    monkeypatch.chdir(tmp_path)
    (tmp_path / "pyproject.toml").write_text("")
    return tmp_path


@pytest.fixture
def said(write, capsys, project):
    """`said(body, table)`: exit status and text of a run that accepts, and the line it recorded."""

    def said(body: str, table: str = "") -> tuple[int, str, dict]:
        write("import numpy as np\n" + body, table)
        status = main(["run", "repros/one.py", "--update-goldens"])
        texts = [path.read_text() for path in (project / ".repro/records").glob("*.jsonl")]
        found = [json.loads(line) for text in texts for line in text.splitlines()]
        return status, capsys.readouterr().out, max(found, key=lambda line: line["date"])

    return said


COUNTER = "N = [0]\ndef run():\n    N[0] += 1\n"
RACE = COUNTER + "    return {'r': np.int32([0, 1] if N[0] % 4 else [1, 0])}"


def test_allowed_outcomes_are_counted(said):
    status, text, line = said(RACE, "runs = 100\nallowed = { r = [[0, 1], [1, 0], [1, 1]] }")
    assert status == 0
    counts = [{"count": 75, "outputs": {"r": [0, 1]}}, {"count": 25, "outputs": {"r": [1, 0]}}]
    assert line["histogram"] == counts
    assert "one, seen in 100 runs:\n          75 {'r': [0, 1]}\n          25 {'r': [1, 0]}" in text
    assert "one, `r`: allowed, but never seen: [1, 1]" in text


def test_one_run_in_a_hundred_that_is_not_allowed_fails(said):
    body = COUNTER + "    return {'r': np.int32([1, 1] if N[0] == 77 else [0, 1])}"
    status, text, line = said(body, "runs = 100\nallowed = { r = [[0, 1], [1, 0]] }")
    assert status == 1 and line["verdict"] == "fail"
    assert "`r` is [1, 1] in 1 of 100 runs; allowed are [0, 1], [1, 0]" in text


def test_runs_must_agree_where_nothing_else_is_allowed(said):
    status, text, line = said(RACE, "runs = 8")
    assert status == 1 and line["reason"] == "differs between runs"
    assert "`r` differs from another run of the same program in 2 of 2 elements" in text


SUMS = """
import itertools
count = itertools.count()
def run(): return {'r': np.float32([1000 + next(count) * STEP, np.nan])}
"""
EXPECTED = "def expected(): return {'r': np.float32([1001, np.nan])}\n"


def test_runs_within_a_bound_are_one_outcome(said):
    """Forty runs of forty values; each is held to expected(), or to the first run, by the rule."""
    table = 'runs = 40\ncompare = { r = "abs:2.5" }'
    assert said(SUMS.replace("STEP", "0.05"), table)[0] == 0
    assert said(SUMS.replace("STEP", "0.05") + EXPECTED, table)[0] == 0
    status, text, line = said(SUMS.replace("STEP", "0.1") + EXPECTED, table)
    assert (status, line["reason"]) == (1, "differs from expected()") and "1003.9" in text
    status, text, line = said(SUMS.replace("STEP", "0.1"), table)
    assert (status, line["reason"]) == (1, "differs between runs") and "1003.9" in text
    status, _, line = said(SUMS.replace("STEP", "0.1"), table.replace("2.5", "5"))
    assert status == 0 and [one["count"] for one in line["histogram"]] == [40]


def test_an_exception_of_a_predicate_is_the_authors(said):
    body = "def run(): return {'r': torch.ones(2, device='cuda')}\ndef good(r): return r.numpy() > BOUND\n"
    assert said("import torch\n" + body.replace("BOUND", "0"), 'compare = { r = "pred:good" }')[0] == 0
    status, text, _ = said("import torch\n" + body.replace("BOUND", "r.no_such"), 'compare = { r = "pred:good" }')
    assert status == 1 and "in good" in text and "raised inside the compiler" not in text


@pytest.mark.slow
@pytest.mark.parametrize(
    ("value", "allowed", "holds"),
    [
        ("np.float32([-0.0])", "[[0.0]]", False),
        ("np.float32([0.1])", "[[0.1]]", True),
        ("np.float32([np.nan])", "[[nan]]", True),
        ("np.int8([-1])", "[[255]]", False),
        ("np.int32([1, 2])", "[[1], [2]]", False),
        ("np.int32([[1, 2]])", "[[1, 2]]", False),
        ("np.int32(7)", "[6, 7]", True),
        ("np.int32([1])", "[[1.5]]", False),
    ],
)
def test_an_allowed_value_is_that_value(said, value, allowed, holds):
    status, _, line = said(f"def run(): return {{'r': {value}}}", f"allowed = {{ r = {allowed} }}")
    assert status == (0 if holds else 1), line


def test_a_predicate_judges(said):
    body = "def run(): return {'r': np.int32([3, 1, 2])}\ndef small(r): return r < 3\n"
    status, text, line = said(body + "def odd(r): return r.sum() % 2 == 1", 'compare = { r = "pred:small" }')
    assert status == 1 and "small() does not hold for `r` in 1 of 3 elements\n    [0]  3" in text
    assert line["differences"][0]["count"] == 1
    status, text, _ = said(body + "def even(r): return bool(r.sum() % 2 == 0)", 'compare = { r = "pred:even" }')
    assert status == 0
    status, text, _ = said(body + "def vague(r): return 1", 'compare = { r = "pred:vague" }')
    assert status == 1 and "vague() returned int64 (): it must return a bool" in text


MASKED = """
def run(): return {'r': np.int32([1, 2, 9, 9])}
def expected(): return {'r': np.int32([1, 2, 3, 4]), 'valid': np.array(VALID)}
"""


@pytest.mark.parametrize(
    ("valid", "says"),
    [
        ("[True, True, False, False]", ""),
        ("[True, True, True, False]", "`r` differs from expected() in 1 of 3 elements that count (bits)"),
        ("[False] * 4", "the mask `valid` leaves no element of `r`: nothing would be compared"),
        ("[1, 1, 0, 0]", "the mask `valid` is int64 (4,), but `r` has the shape (4,)"),
        ("[True]", "the mask `valid` is bool (1,), but `r` has the shape (4,)"),
    ],
)
def test_a_mask_selects_the_elements_that_count(said, valid, says):
    status, text, _ = said(MASKED.replace("VALID", valid), 'mask = { r = "valid" }')
    assert status == bool(says) and says in text


def test_a_lane_that_is_not_written_is_seen(said):
    body = "def run():\n    out = np.empty(4, np.int32)\n    out[:3] = 7\n    return {'out': out}"
    status, text, line = said(body, "poison = true")
    assert status == 1 and line["reason"] == "not written"
    assert "`out` differs from a run over other contents of new memory in 1 of 4 elements" in text
    assert "[3]" in text and "0x5a5a5a5a" in text and "0xa5a5a5a5" in text
    assert [first[0] for first in line["differences"][0]["first"]] == [[3]]


def test_undefined_outputs_are_poisoned_and_told(said):
    body = "def run():\n    out = np.empty(4, np.float32)\n    out[:3] = 7\n    return {'out': out, 'x': np.zeros(1)}"
    status, text, _ = said(body, 'compare = { out = "undef" }')
    assert status == 0 and "`out`: 1 of 4 elements hold what memory held before" in text


@pytest.mark.slow
def test_poison_reaches_torch(said):
    pytest.importorskip("torch")
    body = "import torch\ndef run():\n    out = torch.empty(4, dtype=torch.bfloat16)\n    out[1:] = 1\n"
    body += "    return {'out': out, 'like': torch.empty_like(out).zero_(), 'new': out.new_empty(2)}"
    status, text, line = said(body, "poison = true")
    assert [(d["output"], d["count"]) for d in line["differences"]] == [("out", 1), ("new", 2)]


def test_random_numbers_are_the_same_in_every_run(said):
    body = "import random\ndef run(): return {'a': np.random.rand(3), 'b': np.float64([random.random()])}"
    assert said(body)[0] == 0
    status, _, line = said(body)
    assert status == 0 and line["seed"] == 0


COMPLAINTS = {
    "allowed = { r = [] }": "must be a list of at least one value",
    "allowed = 3": "is not a table",
    'compare = { r = "set" }': 'is compared by "set", but `allowed` does not name it',
    'compare = { r = "bits" }\nallowed = { r = [1] }': "is compared by bits",
    'compare = { r = "pred:nothing" }': "is judged by nothing, which the file does not define",
    'mask = { r = "r" }': "has the mask 'r'",
    'mask = { r = "v" }\ncompare = { r = "undef" }': "is compared by undef, which takes no mask",
    "runs = 0": "is 0",
    "runs = true": "is True",
    "poison = 1": "is 1",
}


@pytest.mark.parametrize("table", COMPLAINTS)
def test_complaints_point_at_the_key(write, table):
    with pytest.raises(ReproError) as error:
        write("def run(): return {}", table)
    place, _, says = str(error.value).partition("^ ")
    assert says.startswith(COMPLAINTS[table]) and "\nfix: " in says and ": BAD_" in place


def test_the_keys_are_read(write):
    repro = write("def run(): return {}", 'allowed = { r = [1] }\nmask = { s = "v" }\nruns = 5')
    assert (repro.runs, dict(repro.mask), dict(repro.allowed), repro.poison) == (5, {"s": "v"}, {"r": [1]}, False)
    assert str(repro.compare["r"]) == "set" and read(repro.path) == repro


FOUND = """
class Found(Exception):
    repro_outcome = {{"outcome": "fault", "kind": "{kind}", "file": None, "line": None, "text": "one.py:8:1: {kind}"}}
def run():
    raise Found
"""


@pytest.mark.slow
@pytest.mark.parametrize("kind", rest_slow(findings.MEANINGS, 2))
def test_each_finding_of_a_checker_is_a_separate_outcome(said, project, kind):
    status, text, line = said(FOUND.format(kind=kind))
    assert status == 1 and line["outcome"] == kind and line["detail"]["kind"] == kind
    assert f'if that is what the claim states, write `outcome = "{kind}"`' in text
    for declared in (kind, "fault"):
        status, text, line = said(FOUND.format(kind=kind), f'outcome = "{declared}"')
        assert (status, line["verdict"]) == (0, "pass")
        known = json.loads((project / "repros/goldens/one/default.json").read_text())
        assert known["outcome"] == kind and "kind" not in known
    other = "race" if kind != "race" else "misaligned"
    status, text, line = said(FOUND.format(kind=kind), f'outcome = "{other}"')
    assert status == 1 and f'the claim states `outcome = "{other}"`, but it was {kind}:' in text


def test_a_golden_of_one_fault_does_not_match_another_fault(said, capsys):
    assert said(FOUND.format(kind="race"), 'outcome = "fault"')[0] == 0
    path = "repros/one.py"
    text = open(path).read().replace("race", "misaligned")
    open(path, "w").write(text)
    assert main(["run", path]) == 1
    assert "the golden holds race; this run gave misaligned" in capsys.readouterr().out


def test_goldens_with_fault_and_a_kind_are_read_as_the_kind(project):
    table = {"outcome": "fault", "kind": "out_of_bounds", "provenance": {}, "validated": False}
    known = golden.parse(project / "x.json", json.dumps(table).encode(), lambda name: b"")
    assert (known.outcome, known.identity) == ("out_of_bounds", {})


def test_a_gpu_that_checks_nothing_is_not_asked(write):
    repro = write(FOUND.format(kind="race"), 'outcome = "race"')
    case = next(repro.cases())
    gpu = Host("p1", "cuda", device_facts={"name": "H100", "arch": "sm_90", "driver": "570", "uuid": UUID})
    outcome = judge.run(None, case, gpu)
    verdict = judge.judge(case, gpu, outcome, repro.path.parent)
    assert (verdict.status, verdict.reason) == ("skip", "no checker") and "a GPU reports no error" in verdict.text


@pytest.mark.slow
def test_the_seed_reaches_random_numbers_and_the_record(write, capsys, project):
    write("import random\nimport numpy as np\ndef run():\n    return {'r': np.int32([random.randrange(10**6)])}")
    drawn = {}
    for seed in (0, 7, 7):
        main(["run", "repros/one.py", "--seed", str(seed)])
        text = capsys.readouterr().out
        drawn.setdefault(seed, set()).add(text.partition("this run gave")[2].splitlines()[1])
        assert f"repros/one.py{' --seed 7' if seed else ''}\n" in text
    assert len(drawn[7]) == 1 and drawn[0] != drawn[7]
    texts = [path.read_text() for path in (project / ".repro/records").glob("*.jsonl")]
    assert sorted(json.loads(line)["seed"] for text in texts for line in text.splitlines()) == [0, 7, 7]
    assert main(["record", "history", "one", "--json"]) == 0
    assert "--seed" not in capsys.readouterr().err


def test_the_first_facts_of_a_crashed_process_are_kept():
    device = {"kind": "emulator", "arch": "sm_90a"}
    begun = {"facts": {"device": device, "compiler": {"name": "ours"}, "kernels": []}}
    header = {"status": {"signal": "SIGSEGV"}, "result": None, "fault": "", "stdout": "", "stderr": "", "timeout_s": 5,
              "durations": {}, "begun": begun}  # fmt: skip
    outcome = result.from_reply(header, [])
    assert outcome.kind == "crash" and outcome.device["arch"] == "sm_90a"
