"""Files that count, and saves of them: as editors write."""

import os
import threading

import pytest

from harness.watch import files
from tests.harness.conftest import wait_until


@pytest.fixture
def project(tmp_path):
    (tmp_path / "one.py").write_text("import helper, numpy\nfrom package.part import x\nfrom . import sibling\n")
    (tmp_path / "helper.py").write_text("import deeper\n")
    (tmp_path / "deeper.py").write_text("x = (\n")
    (tmp_path / "package").mkdir()
    (tmp_path / "package/__init__.py").write_text("")
    (tmp_path / "package/part.py").write_text("x = 1\n")
    return tmp_path


def test_the_authors_modules_count(project):
    """Those that are not there may yet come; a module that is no Python is one all the same."""
    found = files.of(project / "one.py")
    there = {path.relative_to(project).as_posix() for path in found if path.exists()}
    assert there == {"one.py", "helper.py", "deeper.py", "package/__init__.py", "package/part.py"}
    assert {project / "numpy.py", project / "sibling.py"} <= set(found)


def replaced(path, text):
    """As vim and many others save: another file, which is renamed."""
    path.with_suffix(".tmp").write_text(text)
    os.replace(path.with_suffix(".tmp"), path)


@pytest.mark.parametrize(
    "save",
    [
        lambda folder: (folder / "one.py").write_text("1"),
        lambda folder: replaced(folder / "helper.py", "1"),
        lambda folder: (folder / "deeper.py").unlink(),
        lambda folder: (folder / "numpy.py").write_text(""),
        lambda folder: (folder / "package/part.py").write_text("2"),
        lambda folder: (
            (folder / "goldens/one").mkdir(parents=True) or (folder / "goldens/one/default.json").write_text("")
        ),
        lambda folder: os.utime(folder / "one.py"),
    ],
    ids=["written", "renamed", "deleted", "appeared", "in a package", "golden", "saved as it was"],
)
def test_a_save_ends_the_wait(project, save):
    goldens, watched = project / "goldens/one", files.of(project / "one.py")
    watcher = files.Watcher()
    watcher.begin(watched, goldens)
    seen = files.stamp(watched, goldens)
    ended = threading.Event()
    waiting = threading.Thread(
        target=lambda: (watcher.wait(lambda: files.stamp(watched, goldens) != seen), ended.set()), daemon=True
    )
    waiting.start()
    (project / "other.txt").write_text("")
    (project / "unknown.py").write_text("")
    assert not ended.is_set()
    save(project)
    wait_until(ended.is_set)


def test_modules_of_packages(tmp_path):
    """`from . import b` in a package names a module of that package."""
    package = tmp_path / "lib"
    package.mkdir()
    (tmp_path / "one.py").write_text("from lib.a import f")
    (package / "__init__.py").touch()
    (package / "a.py").write_text("from . import b\nfrom .c import d")
    assert {package / name for name in ("a.py", "b.py", "c.py")} <= set(files.of(tmp_path / "one.py"))
