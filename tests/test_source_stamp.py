"""Stamps tell every change of a source apart, and nothing else."""

import os
import shutil

import pytest

from dsl.source_stamp import stamp


@pytest.fixture
def package(tmp_path):
    (tmp_path / "package" / "inner").mkdir(parents=True)
    for name in ("one.py", "inner/two.py"):
        (tmp_path / "package" / name).write_text("x = 1\n")
    return tmp_path / "package"


@pytest.mark.parametrize("name", ["one.py", "inner/two.py"])
def test_an_edit_of_the_same_size_and_time_changes_it(package, name):
    first, state = stamp(package), (package / name).stat()
    (package / name).write_text("x = 2\n")
    os.utime(package / name, ns=(state.st_atime_ns, state.st_mtime_ns))
    assert stamp(package) != first


@pytest.mark.parametrize("change", ["add", "remove", "rename"])
def test_files_that_come_and_go_change_it(package, change):
    first = stamp(package)
    if change == "add":
        (package / "inner" / "three.py").write_text("")
    elif change == "remove":
        (package / "one.py").unlink()
    else:
        (package / "one.py").rename(package / "three.py")
    assert stamp(package) != first


def test_other_files_do_not_change_it(package):
    first = stamp(package)
    (package / "__pycache__").mkdir()
    (package / "__pycache__" / "one.py").write_text("")
    (package / "notes.txt").write_text("")
    assert stamp(package) == first


def test_a_file_alone_and_a_copy(package, tmp_path):
    assert stamp(package / "one.py") == stamp(package / "one.py") != stamp(package / "inner" / "two.py")
    shutil.copytree(package, tmp_path / "copy")
    assert stamp(tmp_path / "copy") != stamp(package)
