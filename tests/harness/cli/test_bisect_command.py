"""`repro bisect` from the command line to the record, along the commits of a small repository.

With harness/bisection/runs.py and harness/bisection/difference.py.

Modules tested here: harness/bisection/difference.py, harness/bisection/runs.py.
"""

import json
import os
import re
import signal
import subprocess
import sys
import time
import zipfile
from pathlib import Path

import pytest

from harness.cli import main
from tests.harness.bisection.author_repository import BROKEN, RIGHT, SAME, WRONG, git, make
from tests.harness.documents import result_of


@pytest.fixture
def author(tmp_path, monkeypatch):
    """Makes the repository and goes there."""
    monkeypatch.delenv("CI", raising=False)
    folder = tmp_path / "author"
    folder.mkdir()
    monkeypatch.chdir(folder)
    return lambda texts: make(folder, texts)


def test_the_commit_that_changed_a_value(author, capsys, tmp_path):
    texts = {"Begin": RIGHT, "Add instead": SAME, "Break it": BROKEN, "Scale by three": WRONG, "Rest": WRONG}
    hashes = author(texts)
    assert main(["bisect", "claim.py", "--commit", f"{hashes[0]}..HEAD", "--json"]) == 1
    found = capsys.readouterr()
    result = result_of(found.out, 1)
    assert (result["kind"], result["last_good"]) == ("ambiguous", f"{hashes[1][:10]} Add instead")
    assert result["candidates"] == [f"{hashes[2][:10]} Break it", f"{hashes[3][:10]} Scale by three"]
    why = "it raises an exception, as neither end does: error: SyntaxError: invalid syntax"
    assert result["skipped"] == {f"{hashes[2][:10]} Break it": why}


def test_the_changed_answer_is_shown_and_recorded(author, capsys, tmp_path):
    hashes = author({"Begin": RIGHT, "Add instead": SAME, "Scale by three": WRONG, "Rest": WRONG})
    assert main(["bisect", "claim.py", "--commit", f"{hashes[0]}..HEAD"]) == 0
    found = capsys.readouterr()
    label = f"{hashes[2][:10]} Scale by three"
    assert found.out.startswith("--- what changed\npass -> fail: differs from expected()\n")
    assert "bad: `out` differs from expected() in 3 of 4 elements (bits)\n" in found.out
    assert f"\ncommit {hashes[2]}\nauthor, " in found.out and " scaling.py | 2 +-\n" in found.out
    assert found.out.endswith(f"\nfound: {label} is the first that changes the answer\n4 runs\n")
    assert found.err.splitlines()[0].endswith(": at most 4 runs") and found.err.endswith("; done\n")
    # Every run is a record of its commit, in its own column, and nothing waits for a review.
    main(["record", "history", "claim.py", "--json"])
    records = result_of(capsys.readouterr().out)["records"]
    assert {one["compiler"] for one in records} == {f"ours, commit {sha[:10]}" for sha in hashes}
    assert {one["provenance"]["commit"] for one in records} == set(hashes)
    assert main(["golden", "review"]) == 0 and "nothing waits" in capsys.readouterr().out
    # The worktrees are gone; the result is kept.
    assert len(git(tmp_path / "author", "worktree", "list").splitlines()) == 1
    (kept,) = (tmp_path / "author/.repro/bisections").glob("*/result.json")
    table = json.loads(kept.read_text())
    assert (table["claim"], table["kind"], table["first_bad"]) == ("claim.py", "found", label)


def test_a_claim_that_the_commits_do_not_have(author, capsys, tmp_path):
    """It runs with its text of now, and imports what each commit has."""
    hashes = author({"Begin": RIGHT, "Scale by three": WRONG})
    claim = tmp_path / "author/newer.py"
    claim.write_text((tmp_path / "author/claim.py").read_text().replace("arange(4)", "arange(6)"))
    assert main(["bisect", "newer.py", "--commit", f"{hashes[0]}..HEAD"]) == 0
    assert "in 5 of 6 elements" in capsys.readouterr().out


def test_a_script_by_what_it_prints(author, capsys):
    hashes = author({"Begin": RIGHT, "Add instead": SAME, "Scale by three": WRONG})
    assert main(["bisect", "script.py", "--commit", f"{hashes[0]}..HEAD", "--", "7"]) == 0
    out = capsys.readouterr().out
    assert out.startswith(
        "--- what changed\nanother text was printed\n    --- good\n    +++ bad\n    @@ -1 +1 @@\n    -doubled 14\n    +doubled 21\n"
    )
    assert "found: " in out and main(["record", "history", "script.py"]) == 0


def test_equal_ends_and_ends_that_cannot_run(author, capsys):
    hashes = author({"Begin": RIGHT, "Add instead": SAME, "Need more": "import not_here\n"})
    assert main(["bisect", "claim.py", "--commit", f"{hashes[0]}..{hashes[1]}"]) == 1
    out = capsys.readouterr().out
    assert out.startswith(
        f"unchanged: {hashes[0][:10]} Begin and {hashes[1][:10]} Add instead give the same answer: pass"
    )
    assert main(["bisect", "claim.py", "--commit", f"{hashes[0]}..HEAD"]) == 3
    out = capsys.readouterr().out
    said = f"aborted: the bad end, {hashes[2][:10]} Need more, cannot run: the module not_here is not installed "
    assert out.startswith(said)


@pytest.mark.parametrize(
    "argv, message",
    [
        (["claim.py"], "repro bisect needs a range in one of "),
        (["claim.py", "x", "--host", "a,b"], "claim.py is a repro, which takes no arguments: x\n"),
        (["claim.py", "--commit", "HEAD..HEAD"], "--commit HEAD..HEAD: both ends are the same commit\n"),
        (["nothing.py", "--host", "a,b"], "repro: "),
    ],
)
def test_wrong_usage(author, capsys, argv, message):
    author({"Begin": RIGHT})
    assert main(["bisect", *argv]) == 2
    assert capsys.readouterr().err.startswith(message)


def test_the_example_of_the_page(author, capsys, tmp_path):
    page = (Path(__file__).parents[3] / "docs/bisect.md").read_text()
    files = dict(re.findall(r"^```python\n# file: (\w+\.py)\n(.*?)^```$", page, re.MULTILINE | re.DOTALL))
    command, shown = re.search(r"^```\n\$ repro (bisect claim.*?)\n(.*?)^```$", page, re.MULTILINE | re.DOTALL).groups()
    right, wrong = files["scaling.py"], files["scaling.py"].replace("* 2", "* 3")
    author({"Begin": right, "Read": right, "Scale by three": wrong, "Rest": wrong})
    (tmp_path / "author/claim.py").write_text(files["claim.py"])
    git(tmp_path / "author", "commit", "-qam", "Write it as on the page", "--amend")
    assert main(command.split()) == 0
    assert capsys.readouterr().out.startswith(shown)


@pytest.mark.slow
def test_ctrl_c_leaves_what_is_known_and_nothing_else(author, tmp_path):
    hashes = author(
        {
            "Begin": RIGHT,
            "Hang": "import time, pathlib\npathlib.Path('../hangs').touch()\ntime.sleep(600)\n",
            "Rest": WRONG,
        }
    )
    code = "import sys; from harness import cli; sys.exit(cli.main(sys.argv[1:]))"
    argv = [sys.executable, "-c", code, "bisect", "script.py", "--commit", f"{hashes[0]}..HEAD", "--", "7"]
    process = subprocess.Popen(argv, stderr=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    hangs = tmp_path / "hangs"
    while not hangs.exists():
        assert process.poll() is None, process.stderr.read()
        time.sleep(0.01)
    process.send_signal(signal.SIGINT)
    said = process.communicate(timeout=600)[1]
    assert process.returncode == 130
    assert "\n2 versions are known: the same command goes on from there\ninterrupted: nothing is left running" in said
    assert _processes_in(tmp_path / "author") == []
    # The same command runs the version in the middle alone, and the worktrees are gone at the end.
    again = subprocess.run([*argv[:-2], "--timeout", "3", *argv[-2:]], capture_output=True, text=True, timeout=600)
    assert again.returncode == 0, again.stderr
    assert "\n1 run\n" in again.stdout and len(git(tmp_path / "author", "worktree", "list").splitlines()) == 1


def _processes_in(folder: Path) -> list[str]:
    """The commands of processes that work below a folder."""
    found = []
    for path in Path("/proc").glob("[0-9]*/cwd"):
        try:
            if Path(os.readlink(path)).is_relative_to(folder) and path.parent.name != str(os.getpid()):
                found.append((path.parent / "cmdline").read_text())
        except OSError:
            continue
    return found


def _wheel(folder: Path, version: str, body: str, tag: str = "py3-none-any") -> None:
    """A wheel of the package `tiny-scaling` with one module."""
    info = f"tiny_scaling-{version}.dist-info"
    files = {
        "tiny_scaling.py": body,
        f"{info}/METADATA": f"Metadata-Version: 2.1\nName: tiny-scaling\nVersion: {version}\n",
        f"{info}/WHEEL": f"Wheel-Version: 1.0\nGenerator: test\nRoot-Is-Purelib: true\nTag: {tag}\n",
    }
    files[f"{info}/RECORD"] = "".join(f"{name},,\n" for name in [*files, f"{info}/RECORD"])
    with zipfile.ZipFile(folder / f"tiny_scaling-{version}-{tag}.whl", "w") as archive:
        for name, text in files.items():
            archive.writestr(name, text)


@pytest.mark.slow
def test_the_release_of_a_package_that_changed_a_value(author, capsys, tmp_path, monkeypatch):
    """Wheels of a folder; two releases are broken, one has no wheel for this machine. The rest comes from the index."""
    author({"Begin": RIGHT})
    links = tmp_path / "links"
    links.mkdir()
    for version, body in {"1.0": RIGHT, "1.1": SAME, "1.2": BROKEN, "1.10": BROKEN, "2.0": WRONG, "2.1": WRONG}.items():
        _wheel(links, version, body)
    _wheel(links, "1.5", WRONG, "cp35-cp35m-win32")
    monkeypatch.setenv("UV_FIND_LINKS", str(links))
    claim = tmp_path / "author/claim.py"
    claim.write_text(claim.read_text().replace("from scaling", "from tiny_scaling"))
    assert main(["bisect", "claim.py", "--package", "tiny-scaling==1.0..2.1", "--json"]) == 1
    found = capsys.readouterr()
    result = result_of(found.out)
    assert result["versions"] == [f"tiny-scaling=={number}" for number in ("1.0", "1.1", "1.2", "1.10", "2.0", "2.1")]
    assert (result["kind"], result["last_good"]) == ("ambiguous", "tiny-scaling==1.1")
    assert result["candidates"] == [f"tiny-scaling=={number}" for number in ("1.2", "1.10", "2.0")]
    assert set(result["skipped"]) == {"tiny-scaling==1.2", "tiny-scaling==1.10"}
    # A list names versions that the index does not have: they are skipped with uv's reason.
    listed = "tiny-scaling==1.0,1.5,1.1,2.0"
    assert main(["bisect", "claim.py", "--package", listed]) == 0
    out = capsys.readouterr().out
    assert "found: tiny-scaling==2.0 is the first that changes the answer\n" in out
    assert "bad: `out` differs from expected() in 3 of 4 elements (bits)\n" in out


@pytest.mark.slow
def test_the_release_of_nvidias_compiler_that_rejects(author, capsys):
    """Real releases of the package index."""
    author({"Begin": RIGHT})
    claim = str(Path(__file__).parents[3] / "repros/launch/kernel_never_launched_is_rejected.py")
    assert main(["bisect", claim, "--compiler", "nvidia==4.7.1..4.8.1", "--json"]) == 0
    result = result_of(capsys.readouterr().out)
    assert (result["last_good"], result["first_bad"]) == ("nvidia==4.7.1", "nvidia==4.8.0")


def test_the_host_that_answers_otherwise(author, capsys, on_host, sshd, tmp_path):
    author({"Begin": RIGHT})
    on_host()
    claim = tmp_path / "author/claim.py"
    body = "import os\nimport numpy as np\ndef run():\n    return {'far': np.array('SSH_CONNECTION' in os.environ)}\n"
    claim.write_text("\n".join(claim.read_text().split("\n")[:5]) + "\n" + body)
    options = ["--set", f"cache={sshd.folder}/cache", "--set", f"python={sys.executable}"]
    assert main(["bisect", "claim.py", "--host", "embedded,p1", *options]) == 0
    found = capsys.readouterr()
    assert found.out.startswith("--- what changed\n`far` differs from the good end in 1 of 1 elements (bits)\n")
    assert found.out.endswith("\nfound: p1 is the first that changes the answer\n2 runs\n")
