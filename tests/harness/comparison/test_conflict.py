"""Both sides of what git could not merge."""

import subprocess

from harness.comparison.conflict import sides

ONE, TWO = "a\nb\nc\nd\ne\n", "a\nB\nc\nd\nE2\n"


def test_sides_are_what_git_merged(tmp_path, needs):
    needs("git", "git")
    base, ours, theirs = (tmp_path / name for name in ("base", "ours", "theirs"))
    base.write_text("a\nx\nc\nd\ny\n")
    ours.write_text(ONE)
    theirs.write_text(TWO)
    for style in ([], ["--diff3"]):
        argv = ["git", "merge-file", "-p", *style, "-L", "main", "-L", "base", "-L", "topic", ours, base, theirs]
        merged = subprocess.run(argv, capture_output=True, text=True)
        assert merged.returncode > 0 and "<<<<<<< main" in merged.stdout
        assert sides(merged.stdout) == (("main", ONE), ("topic", TWO))


def test_other_text_has_none():
    for text in ("", ONE, "=======\n", ">>>>>>> x\n", "<<<<<<< a\nb\n", "<<<<<<< a\nb\n=======\nc\n"):
        assert sides(text) is None, text
