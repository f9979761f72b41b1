"""The commit of a folder: a clean checkout, a changed one, none; and the commit that a name in git means."""

import subprocess

from harness.records import checkout


def test_a_commit_is_named_and_so_is_that_files_changed(tmp_path):
    def git(*arguments):
        command = ["git", "-C", str(tmp_path), "-c", "user.name=a", "-c", "user.email=a@b.c", *arguments]
        return subprocess.run(command, check=True, capture_output=True, text=True).stdout.strip()

    checkout.commit.cache_clear()
    assert checkout.commit(tmp_path / "no") is None
    git("init", "-q")
    (tmp_path / "one.py").write_text("1\n")
    git("add", "."), git("commit", "-qm", "one"), git("tag", "v1.2")
    head = git("rev-parse", "HEAD")
    assert checkout.commit(tmp_path) == head
    assert [checkout.resolve(tmp_path, name) for name in ("HEAD", "v1.2", head[:8])] == [head] * 3
    assert checkout.resolve(tmp_path, "nope") is None and checkout.resolve(tmp_path, "--all") is None
    (tmp_path / "one.py").write_text("2\n")
    checkout.commit.cache_clear()
    assert checkout.commit(tmp_path) == head + "-dirty"
