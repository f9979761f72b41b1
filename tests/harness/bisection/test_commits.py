"""Commits between two ends, and the Python of each, on a small repository made here."""

import subprocess
from pathlib import Path

import pytest

from harness.bisection import commits
from harness.bisection.commits import Tree
from harness.errors import UsageError
from tests.harness.bisection.author_repository import RIGHT, WRONG, git, make


@pytest.fixture
def repo(tmp_path):
    return tmp_path / "author"


def test_the_commits_of_a_range(repo):
    first, second, third = make(repo, {"One": RIGHT, "Two\tparts": RIGHT, "Three": WRONG})
    found = commits.between(repo, "HEAD~2..main")
    assert [one.sha for one in found] == [first, second, third]
    assert found[1].label == f"{second[:10]} Two\tparts" and not found[1].is_merge


def test_a_merge_stands_for_what_it_brought(repo):
    make(repo, {"One": RIGHT})
    git(repo, "switch", "-q", "-c", "side")
    make(repo, {"Of the side": WRONG})
    git(repo, "switch", "-q", "main")
    git(repo, "merge", "-q", "--no-ff", "-m", "Merge it", "side")
    found = commits.between(repo, "main~1..main")
    assert [(one.label[11:], one.is_merge) for one in found] == [("One", False), ("Merge it", True)]


def test_wrong_ranges_of_commits_are_refused(repo):
    first, second = make(repo, {"One": RIGHT, "Two": WRONG})
    for text, message in {
        "HEAD": "write two commits, as in v1.2..HEAD",
        "HEAD...HEAD": "write two commits, as in v1.2..HEAD",
        "HEAD..main": "both ends are the same commit",
        "HEAD..--all": f"git knows no commit '--all' in {repo}",
        "v9..HEAD": f"git knows no commit 'v9' in {repo}",
        "HEAD..HEAD~1": f"HEAD is not an ancestor of HEAD~1\nfix: begin at {first[:10]}",
    }.items():
        with pytest.raises(UsageError) as error:
            commits.between(repo, text)
        assert str(error.value) == f"--commit {text}: {message}"
    with pytest.raises(UsageError, match="is not in a git repository\nfix: name one by --repo DIR"):
        commits.repository(Path("/"))
    assert commits.repository(repo / "scaling.py") == repo


def imported(tree: Tree) -> str:
    start = tree.start()
    program = "import scaling; print(scaling.doubled(5))"
    return subprocess.run(
        [*start.argv, "-P", "-c", program], env=start.variables, capture_output=True, text=True
    ).stdout


def test_a_worktree_has_the_modules_of_its_commit_and_goes_again(repo, tmp_path):
    hashes = make(repo, {"One": RIGHT, "Two": WRONG})
    trees = [Tree(str(repo), sha, str(tmp_path / "trees")) for sha in hashes]
    assert [imported(tree) for tree in trees] == ["10\n", "15\n"]
    assert len(git(repo, "worktree", "list").splitlines()) == 3
    for tree in trees:
        tree.remove()
        tree.remove()
    assert len(git(repo, "worktree", "list").splitlines()) == 1
    assert list((tmp_path / "trees").iterdir()) == [] and git(repo, "status", "--porcelain") == ""


def test_a_half_made_worktree_is_made_again(repo, tmp_path):
    (sha,) = make(repo, {"One": RIGHT})
    tree = Tree(str(repo), sha, str(tmp_path / "trees"))
    tree.place.mkdir(parents=True)
    (tree.place / "scaling.py").write_text("raise SystemExit('half')")
    assert imported(tree) == "10\n"


def test_only_dsl_is_taken_from_the_commit(repo, tmp_path):
    for name in ("dsl", "harness"):
        (repo / name).mkdir(parents=True)
        (repo / name / "__init__.py").write_text("raise SystemExit('of the commit')\n")
    (repo / "dsl/__init__.py").write_text("COMMIT = 'old'\n")
    first, second = make(repo, {"One": RIGHT, "Two": RIGHT})
    assert commits.is_compiler(repo)
    (repo / "dsl/__init__.py").write_text("COMMIT = 'new'\n")
    third = make(repo, {"Three": RIGHT})[0]
    assert [one.sha for one in commits.between(repo, f"{first}..HEAD")] == [first, third]  # two changes nothing
    start = Tree(str(repo), first, str(tmp_path / "trees")).start()
    program = "import dsl, harness; print(dsl.COMMIT, harness.__name__)"
    done = subprocess.run([*start.argv, "-P", "-c", program], env=start.variables, capture_output=True, text=True)
    assert done.stdout == "old harness\n", done.stderr
