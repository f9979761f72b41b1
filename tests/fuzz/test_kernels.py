"""Generated kernels: a small sample is equal under both compilers and numpy, and what differs is found and made simpler."""

import numpy as np
import pytest

from tests.fuzz.kernels import run
from tests.fuzz.kernels.choices import Choices, simplified
from tests.fuzz.kernels.explained import explanation

KINDS = sorted(run.KINDS)


def findings(names):
    texts = [run.KINDS[name.split()[0]](Choices(name)) for name in names]
    found = zip(names, texts, run.check(texts))
    return {name: each for name, text, each in found if each and not explanation(text, each.kind, each.detail)}


@pytest.mark.slow
def test_a_program_of_each_kind_is_equal_under_both_compilers_and_numpy():
    assert findings([f"{kind} 7 0" for kind in KINDS]) == {}


@pytest.mark.slow
@pytest.mark.parametrize("kind", KINDS)
def test_programs_of_a_kind_are_equal_under_both_compilers_and_numpy(kind):
    assert findings([f"{kind} 200 {number}" for number in range(25)]) == {}


@pytest.mark.slow
@pytest.mark.parametrize("kind", KINDS)
def test_a_program_is_the_same_each_time_and_expects_what_is_not_all_one_number(kind, tmp_path):
    name = f"{kind} 7 1"
    text = run.KINDS[kind](Choices(name))
    assert text == run.KINDS[kind](Choices(name)) != run.KINDS[kind](Choices(f"{kind} 7 2"))
    (expected,) = run.expected([run.write(text, tmp_path)], tmp_path / "numpy")
    assert any(len(np.unique(array)) > 1 for array in expected.values())


@pytest.mark.slow
def test_a_text_that_comes_twice_has_two_answers_and_is_one_program_of_a_run(tmp_path, monkeypatch):
    texts = [f"def expected():\n    return {{'out': [{number}]}}\n" for number in (1, 1, 2)]
    given = run.expected([run.write(text, tmp_path) for text in texts], tmp_path / "numpy")
    assert [int(each["out"][0]) for each in given] == [1, 1, 2]
    monkeypatch.setattr(run, "check", lambda texts: [None] * len(texts))
    monkeypatch.setitem(run.KINDS, "tma", lambda pick: texts[pick.number])
    monkeypatch.setattr(run, "Choices", lambda name: type("", (), {"number": int(name.split()[-1])}))
    made = run.Run(run.options_of(["--kind", "tma"]))
    made.batch("tma", ["tma 1 0", "tma 1 1", "tma 1 2"])
    assert made.counts["tma"] == {"equal": 2, run.AGAIN: 1} and "\n2 programs" in made.summary()


def test_the_finding_names_who_differs():
    right, wrong = {"out": np.arange(3)}, {"out": np.array([0, 5, 2])}
    assert run.judge(right, right, right) is None
    assert run.judge(right, wrong, right) == run.Finding("ours differs", "1 of 3: out[1] is 5, not 1")
    assert run.judge(right, right, wrong) == run.Finding("nvidia differs", "1 of 3: out[1] is 5, not 1")
    assert run.judge(right, wrong, wrong).kind == "both differ from numpy"
    assert run.judge(right, "Refused: no", right) == run.Finding("ours refuses", "Refused: no")
    assert run.judge(right, right, "Refused: no") == run.Finding("nvidia refuses", "Refused: no")
    assert run.judge(right, "Refused: no", wrong).kind == run.WRONG_THERE
    assert run.judge(right, wrong, "Refused: no").kind == "ours differs"
    assert run.judge(right, "Refused: no", "Refused: no").kind == run.REFUSED
    assert run.judge({"out": np.arange(4)}, right, right).detail.startswith("ours: out has the shape (3,), not (4,)")


def test_a_program_that_computes_for_ever_hangs_and_the_next_one_runs(tmp_path, monkeypatch):
    monkeypatch.setattr(run, "LIMIT_S", 0.3)
    texts = ("def run():\n    while True:\n        pass\n", "def run():\n    return {'out': [1]}\n")
    given = run.answers("ours", [run.write(text, tmp_path) for text in texts], tmp_path / "ours")
    assert given == ["hangs: ", {"out": [1]}]


def test_a_failing_program_is_made_simpler():
    def generate(pick):
        return f"{pick(*range(20))} {pick('a', 'b', 'c')} {pick(*range(9))}"

    name = next(f"x {i}" for i in range(99) if "c" in generate(Choices(f"x {i}")))
    text, taken = simplified(generate, name, lambda text: "c" in text)
    assert (text, taken) == ("0 c 0", [0, 2, 0])


@pytest.mark.slow
def test_a_wrong_kernel_is_found(tmp_path):
    """A copy that leaves an element out differs from numpy under both compilers."""
    text = run.KINDS["copies"](Choices("copies 7 0"))
    assert "owners[i] = thread\n" in text
    found = run.check([text.replace("owners[i] = thread\n", "owners[i] = thread + 1\n")])
    assert found[0].kind == "both differ from numpy" and "owner[0, 0] is 1" in found[0].detail


def test_a_known_difference_is_named_only_for_its_programs():
    told = "type mismatch, store i8 to Int8"
    assert explanation("warpgroup.MmaI8Op(a, RMEM)", "nvidia refuses", told) == "A of bytes in registers"
    assert explanation("warpgroup.MmaI8Op(a, SMEM)", "nvidia refuses", told) is None
    assert explanation("warpgroup.MmaI8Op(a, RMEM)", "ours refuses", told) is None
    told = "TMA_MAJOR_MODE: TMA cannot transpose"
    assert explanation("", run.WRONG_THERE, told) == "a transposed box"
    assert explanation("cpasync.ReductionKind.MAX", "ours refuses", told) == "a transposed box"
    assert explanation("cpasync.ReductionKind.ADD", "ours refuses", told) is None
    told = "the atom copies 8 values at once, but a thread has 4"
    assert explanation("warp.LdMatrix8x8x16bOp(False, 4)", "ours refuses", told) == "more matrices than values"
    assert explanation("cute.make_tiled_copy_tv(atom)", "ours refuses", told) is None


@pytest.mark.slow
def test_the_command_prints_its_counts(tmp_path, capsys):
    status = run.main(["--kind", "pipelines", "--programs", "1", "--seed", "7", "--repros", str(tmp_path)])
    assert status == 0 and not list(tmp_path.iterdir())
    assert "1 programs under both compilers, 0 unexplained" in capsys.readouterr().out
