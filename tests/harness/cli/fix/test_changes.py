"""Edits made in files: the diff, the lines that are new, and files that are written or left alone."""

import dataclasses
import stat
import subprocess

import pytest

from harness.cli.fix import changes
from harness.errors import UsageError
from harness.reporting.case_findings import Edit, Finding

TEXT = "a\n  b\nc\n"
AFTER_B = Edit("k.py", 2, "insert_after", "  x\n  y", "  b")


def finding(edit: Edit) -> Finding:
    return Finding("RACE", "error", "races", edit=edit)


@pytest.fixture
def file(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    path = tmp_path / "k.py"
    path.write_text(TEXT)
    return path


def changes_of(file, *edits):
    return changes.of(map(finding, edits), file, file.parent)


@pytest.mark.parametrize(
    ("edit", "after", "added"),
    [
        (AFTER_B, "a\n  b\n  x\n  y\nc\n", {3, 4}),
        (Edit("k.py", 2, "insert_before", "  x", "  b"), "a\n  x\n  b\nc\n", {2}),
        (Edit("k.py", 2, "replace", "  x", "  b"), "a\n  x\nc\n", {2}),
        (Edit("k.py", 3, "insert_after", "x", "c"), "a\n  b\nc\nx\n", {4}),
    ],
)
def test_each_kind_of_edit(file, edit, after, added):
    (one,) = changes_of(file, edit)
    assert (one.before, one.after, set(one.added)) == (TEXT, after, added)


def test_several_edits_each_once_and_one_for_a_line(file):
    first, last = Edit("k.py", 1, "insert_after", "1", "a"), Edit("k.py", 3, "insert_before", "3", "c")
    (one,) = changes_of(file, first, last, first, dataclasses.replace(last, text="another"))
    assert (one.after, set(one.added)) == ("a\n1\n  b\n3\nc\n", {2, 4})


def test_the_diff_is_one_that_git_applies(file):
    (one,) = changes_of(file, AFTER_B)
    assert one.diff() == "--- a/k.py\n+++ b/k.py\n@@ -1,3 +1,5 @@\n a\n   b\n+  x\n+  y\n c\n"
    subprocess.run(["git", "apply"], input=one.diff(), cwd=file.parent, text=True, check=True)
    assert file.read_text() == one.after


def test_a_file_whose_last_line_has_no_end_and_one_with_the_ends_of_windows(file):
    file.write_bytes(b"a\r\n  b\r\nc")
    (one,) = changes_of(file, AFTER_B, Edit("k.py", 3, "insert_after", "x", "c"))
    assert one.after == "a\r\n  b\r\n  x\r\n  y\r\nc\r\nx\r\n"


def test_a_file_is_written_and_put_back_with_its_mode(file):
    file.chmod(0o750)
    (one,) = changes_of(file, AFTER_B)
    one.write()
    assert file.read_text() == one.after and stat.S_IMODE(file.stat().st_mode) == 0o750
    one.put_back()
    assert file.read_text() == TEXT and [each.name for each in file.parent.iterdir()] == ["k.py"]


def test_a_file_that_has_changed_is_left_alone(file):
    (one,) = changes_of(file, AFTER_B)
    file.write_text("other\n")
    with pytest.raises(UsageError) as raised:
        one.write()
    assert str(raised.value) == "k.py has changed since it ran: nothing was written\nfix: run it again"
    with pytest.raises(UsageError) as raised:
        changes_of(file, AFTER_B)
    assert str(raised.value) == "line 2 of k.py is not what ran\nfix: run it again"
    assert file.read_text() == "other\n"


@pytest.mark.parametrize("name", ["/etc/hosts", "../k.py"])
def test_a_file_outside_of_the_project_is_refused(file, name):
    with pytest.raises(UsageError) as raised:
        changes_of(file, dataclasses.replace(AFTER_B, file=name))
    assert str(raised.value) == f"the edit is of {name}, which is outside of the project\nfix: make it by hand"


def test_a_file_that_is_not_utf_8_is_refused(file):
    file.write_bytes(b"\xff\n  b\n")
    with pytest.raises(UsageError) as raised:
        changes_of(file, AFTER_B)
    assert str(raised.value) == "k.py is not UTF-8\nfix: make the edit by hand"


def test_ptx_is_edited_where_the_program_has_it_as_text(file):
    of_ptx = Edit(None, 31, "insert_after", "bar.sync 0;", "  b")
    (one,) = changes_of(file, of_ptx)
    assert one.after == "a\n  b\nbar.sync 0;\nc\n"
    file.write_text("  b\n  b\n")
    assert changes_of(file, of_ptx) == []
