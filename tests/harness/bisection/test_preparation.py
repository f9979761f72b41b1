"""Separate processes make worktrees and environments; they end with the bisection."""

import dataclasses
import io
import os
import signal
import sys
import time

import pytest

from harness.bisection import preparation
from harness.bisection.commits import Tree
from harness.bisection.preparation import Preparations
from tests.harness.bisection.author_repository import RIGHT, make


@pytest.fixture
def tree(tmp_path):
    (sha,) = make(tmp_path / "author", {"One": RIGHT})
    return Tree(str(tmp_path / "author"), sha, str(tmp_path / "trees"))


def test_a_worktree_is_there_after_the_wait(tree):
    notes = []
    ahead = Preparations(notes.append)
    ahead.begin("one", {"tree": dataclasses.asdict(tree)})
    ahead.begin("one", {"tree": {}})  # nothing happens the second time
    ahead.begin("none", None)
    ahead.wait("one")
    ahead.wait("none")
    assert (tree.place / "scaling.py").read_text() == RIGHT
    ahead.close()


def test_a_failure_is_left_to_the_run(tree, monkeypatch, capsys):
    job = '{"tree": {"repo": "/nowhere", "sha": "abc", "folder": "%s"}}' % tree.folder
    monkeypatch.setattr(sys, "stdin", io.StringIO(job))
    kept = signal.getsignal(signal.SIGINT)
    try:
        assert preparation.main() == 1
    finally:
        signal.signal(signal.SIGINT, kept)
    assert capsys.readouterr().err.startswith("git worktree: ")


def test_closing_ends_what_still_works(tree, monkeypatch, tmp_path):
    """A git that takes long: it and the process that waits for it are gone after the close."""
    program, pid = tmp_path / "bin/git", tmp_path / "pid"
    program.parent.mkdir()
    program.write_text(f"#!/bin/sh\necho $$ > {pid}.part; mv {pid}.part {pid}\nexec sleep 600\n")
    program.chmod(0o755)
    monkeypatch.setenv("PATH", f"{program.parent}{os.pathsep}{os.environ['PATH']}")
    ahead = Preparations(lambda text: None)
    ahead.begin("one", {"tree": dataclasses.asdict(tree)})
    while not pid.exists():
        time.sleep(0.01)
    ahead.close()
    state = f"/proc/{pid.read_text().strip()}/stat"
    assert not os.path.exists(state) or open(state).read().split()[2] == "Z"
