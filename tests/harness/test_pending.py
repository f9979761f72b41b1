"""Results nobody judged yet: what leaves one, what it shows, and how it becomes a golden or goes.

Modules tested here: harness/cli/golden/golden_commands.py.
"""

import json

import pytest

from harness import pending, store
from harness.cli import main
from tests.harness.conftest import validate

VALUE = "import numpy as np\ndef run():\n    return {'out': np.float32([1, %s, 3])}"
BIG = "import numpy as np\ndef run():\n    return {'out': np.full(5000, %s)}"


@pytest.fixture(autouse=True)
def project(tmp_path, monkeypatch):
    monkeypatch.delenv("CI", raising=False)
    monkeypatch.chdir(tmp_path)
    (tmp_path / "pyproject.toml").write_text("")
    return tmp_path


@pytest.fixture
def said(capsys):
    """`said("golden", "review", ...)`: the exit status and what it printed."""

    def said(*argv: str) -> tuple[int, str]:
        status = main(argv)
        found = capsys.readouterr()
        return status, found.out + found.err

    return said


def golden_of(project, name: str = "one"):
    return json.loads((project / f"repros/goldens/{name}/default.json").read_text())


def test_from_a_new_result_to_a_golden(write, project, said):
    write(VALUE % 2)
    assert said("golden", "review") == (0, "nothing waits\n")
    assert said("run", "repros/one.py")[0] == 1
    status, text = said("golden", "review")
    assert status == 1
    assert text.startswith("repros/one.py\n    record ") and text.endswith(
        "\n\n1 wait: repro golden accept, repro golden reject\n"
    )
    assert "    claim: It is so.\n    new:    made by embedded (emulator) on 20" in text
    assert "    out: float32 (3) 1.0 2.0 3.0\n    (there was no golden)" in text
    assert not (project / "repros/goldens").exists()
    assert said("golden", "accept", "one") == (0, "accepted repros/goldens/one/default.json\n")
    assert golden_of(project)["outputs"]["out"]["values"] == [1.0, 2.0, 3.0]
    assert said("golden", "review")[0] == 0 and not any((project / ".repro/pending").iterdir())
    assert said("run", "repros/one.py")[0] == 0
    assert said("record", "status")[1].startswith("1 claim in 1 cell (case x arch x compiler x host): 1 predicted\n")
    assert (project / ".repro/.gitignore").read_text() == "*\n"


def test_a_difference_is_shown_and_rejected(write, project, said):
    write(VALUE % 2)
    said("run", "repros/one.py", "--update-goldens")
    before = golden_of(project)
    write(VALUE % 5)
    assert said("run", "repros/one.py")[0] == 1
    status, text = said("golden", "review", "repros/one.py")
    assert "`out` differs from the golden in 1 of 3 elements (bits)" in text
    assert "    [1]    0x40000000 2.0  0x40a00000 5.0" in text
    assert said("golden", "reject") == (
        2,
        "name what you mean, or write --all; `repro golden review` shows what waits\n",
    )
    assert said("golden", "reject", "one")[1] == "rejected repros/one.py\n"
    assert said("golden", "review")[0] == 0 and golden_of(project) == before


def test_a_result_that_waits_goes_when_the_case_passes_again(write, project, said):
    write(VALUE % 2)
    said("run", "repros/one.py", "--update-goldens")
    write(VALUE % 5)
    said("run", "repros/one.py")
    write(VALUE % 2)
    assert said("run", "repros/one.py")[0] == 0
    assert said("golden", "review")[0] == 0


STALE = {
    "the repro has changed since": lambda project: (project / "repros/one.py").write_text(
        (project / "repros/one.py").read_text() + "# more\n"),
    "the golden has changed since": lambda project: (project / "repros/goldens/one/default.json").unlink(),
    "its repro is gone": lambda project: (project / "repros/one.py").unlink(),
    "it cannot be read": lambda project: next((project / ".repro/pending").rglob("*.json")).write_text("{"),
    "the golden repros/goldens/one/default.json cannot be read: it is not a regular file": lambda project: (
        (project / "repros/goldens/one/default.json").unlink(), (project / "repros/goldens/one/default.json").mkdir()),
    "it cannot be read: ValueError: unknown outcome": lambda project: next((project / ".repro/pending").rglob("*.json")).write_text(
        next((project / ".repro/pending").rglob("*.json")).read_text().replace('outcome\\": \\"outputs', 'outcome\\": \\"luck')),
    "hardware gave the golden": lambda project: validate(project / "repros/goldens/one/default.json"),
    "the golden repros/goldens/one/default.json cannot be read: it is marked as validated": lambda project: (
        project / "repros/goldens/one/default.json").write_text(
        (project / "repros/goldens/one/default.json").read_text().replace('d": false', 'd": true')),
}  # fmt: skip


@pytest.mark.slow
@pytest.mark.parametrize("why", STALE)
def test_stale_results_are_reported_and_not_accepted(write, project, said, why):
    write(VALUE % 2)
    said("run", "repros/one.py", "--update-goldens")
    write(VALUE % 5)
    said("run", "repros/one.py")
    STALE[why](project)
    assert f"    stale: {why}" in said("golden", "review")[1]
    status, text = said("golden", "accept", "--all")
    assert status == 1 and "not accepted: " in text and why in text
    assert said("golden", "reject", "--all")[0] == 0 and said("golden", "review")[0] == 0


def test_only_what_could_be_accepted_waits(write, project, said):
    """Not a result that expected() contradicts, not an outcome that the claim does not state, not NVIDIA's results."""
    write(VALUE % 2 + "\ndef expected(): return {'out': np.float32([1, 9, 3])}", name="wrong")
    write("def run(): raise ValueError", name="error")
    write("import os\ndef run(): os.kill(os.getppid(), 9)", name="infra")
    for name in ("wrong", "error", "infra"):
        assert said("run", f"repros/{name}.py")[0] in (1, 3)
    assert said("golden", "review")[0] == 0


def test_ci_decides_nothing(write, project, said, monkeypatch):
    write(VALUE % 2)
    said("run", "repros/one.py")
    monkeypatch.setenv("CI", "true")
    write(VALUE % 2, name="two")
    said("run", "repros/two.py")
    text = said("golden", "review")[1]
    assert "repros/one.py" in text and "repros/two.py" not in text
    refusal = "is refused where CI is set: decide by hand, and commit the goldens\n"
    assert said("golden", "accept", "--all") == (2, f"`repro golden accept` {refusal}")
    assert said("golden", "unused", "--delete") == (2, f"`repro golden unused --delete` {refusal}")
    assert not (project / "repros/goldens").exists()


def test_names(write, said):
    table = "params = { n = [1, 2] }"
    write("import numpy as np\ndef run(n): return {'out': np.int32([n])}", table)
    write(VALUE % 2, name="two")
    said("run", "repros/one.py"), said("run", "repros/two.py")
    for names, count in ((["one"], 2), (["one::n=2"], 1), (["repros/two.py"], 1), (["repros"], 3), (["one", "two"], 3),
                         (["repros/goldens/one/n=1.json"], 1)):  # fmt: skip
        assert said("golden", "review", *names)[1].endswith(
            f"{count} wait: repro golden accept, repro golden reject\n"
        ), names
    status, text = said("golden", "accept", "three")
    assert status == 2 and text.startswith("nothing that waits is called 'three'; waiting:\n    repros/one.py::n=1\n")
    assert said("golden", "accept", "one::n=2")[1] == "accepted repros/goldens/one/n=2.json\n"
    assert said("golden", "accept", "--all", "one")[0] == 2


def test_large_arrays(write, project, said):
    write(BIG % 1)
    said("run", "repros/one.py")
    assert said("golden", "accept", "--all")[0] == 0
    write(BIG % 2)
    said("run", "repros/one.py")
    assert "5000 of 5000 elements" in said("golden", "review")[1]
    assert said("golden", "accept", "--all")[0] == 0
    assert sorted(path.suffix for path in (project / "repros/goldens/one").iterdir()) == [".json", ".npy"]
    assert said("run", "repros/one.py")[0] == 0


def test_unused(write, project, said):
    write(VALUE % 2)
    write(VALUE % 2, name="two")
    for name in ("one", "two"):
        said("run", f"repros/{name}.py", "--update-goldens")
    assert said("golden", "unused") == (0, "")
    (project / "repros/two.py").rename(project / "repros/three.py")
    (project / "repros/goldens/one/n=9.json").write_text("{}")
    left = ["repros/goldens/one/n=9.json", "repros/goldens/two/default.json"]
    assert said("golden", "unused") == (1, "\n".join(left) + "\n")
    assert said("golden", "unused", "repros/one.py") == (1, left[0] + "\n")
    (project / "repros/two.py").write_text("# /// script\n# [tool.repro]\n# broken = 1\n# ///\n")
    assert said("golden", "unused", "repros") == (1, left[0] + "\n")
    assert said("golden", "unused", "--delete")[1] == f"deleted {left[0]}\n"
    assert said("golden", "unused") == (0, "") and (project / left[1]).exists()


def test_a_result_accepted_before_a_crash_is_accepted_again(write, project, said, monkeypatch):
    write(VALUE % 2)
    said("run", "repros/one.py")
    with monkeypatch.context() as patch:
        patch.setattr(pending, "discard", lambda *_: None)
        assert said("golden", "accept", "--all")[0] == 0
    (one,) = pending.waiting(project)
    assert one.stale == ""
    pending.accept(project, one, store.Run())
    assert pending.waiting(project) == [] and golden_of(project)["validated"] is False


def test_a_result_without_a_project_does_not_wait(write, project, said, tmp_path_factory):
    write(VALUE % 2 + "\ndef expected(): return run()")
    path = tmp_path_factory.mktemp("elsewhere") / "one.py"
    (project / "repros/one.py").rename(path)
    status, text = said("run", str(path))
    assert status == 0 and "not accepted yet: `repro golden accept" not in text
    assert text.endswith(
        f"{path} is in no project, so its result is not kept for `repro golden accept`\n"
        "fix: put a pyproject.toml into its folder or above it, or accept it with --update-goldens\n"
    )
    assert said("golden", "review") == (0, "nothing waits\n")
    assert said("run", str(path), "--update-goldens")[0] == 0 and (path.parent / "goldens/one/default.json").exists()
