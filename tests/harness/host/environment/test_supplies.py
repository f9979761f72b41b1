"""The copied files that a host keeps, and whether it has a way out."""

import hashlib
import platform
import sys

import pytest
from packaging.specifiers import SpecifierSet

from harness.host.environment import supplies

HASH = hashlib.sha256(b"hello").hexdigest()


def test_pieces_make_a_file_that_is_whole_or_not_there(tmp_path):
    cache = str(tmp_path)
    assert supplies.stored(cache, [[HASH, "x"]]) == [0]
    assert supplies.append(cache, HASH, "x", 0, 5, b"he") == 2
    assert supplies.append(cache, HASH, "x", 0, 5, b"he") == 2  # another brings the same: not taken twice
    with pytest.raises(supplies.Refused, match="x was not copied to this host"):
        supplies.use(cache, HASH, "x")
    assert supplies.append(cache, HASH, "x", 2, 5, b"llo") == 5
    assert supplies.stored(cache, [[HASH, "x"]]) == [5] and supplies.append(cache, HASH, "x", 2, 5, b"?") == 5
    assert supplies.install_list(cache, [[HASH, "x"]]) == f"x @ file://{tmp_path}/files/{HASH}/x\n"


@pytest.mark.parametrize(("sha256", "name"), [(HASH, "../x"), (HASH, ""), (HASH, "a/b"), (HASH, ".x"), ("..", "x")])
def test_names_that_are_not_files(tmp_path, sha256, name):
    with pytest.raises(supplies.Refused, match="^no file is called "):
        supplies.append(str(tmp_path), sha256, name, 0, 1, b"1")
    assert not list(tmp_path.iterdir())


def test_a_file_that_is_not_an_archive(tmp_path):
    supplies.append(str(tmp_path), HASH, "python.tar.gz", 0, 5, b"hello")
    with pytest.raises(supplies.Refused, match=r"^python\.tar\.gz is not an archive: "):
        supplies.unpack_python(str(tmp_path), HASH, "python.tar.gz")
    assert not list((tmp_path / "pythons").iterdir())


def test_an_interpreter_stays_while_an_environment_has_it(tmp_path):
    for name in ("used", "unused"):
        (tmp_path / "pythons" / name / "bin").mkdir(parents=True)
    (tmp_path / "pythons/used/bin/python3").write_text("")
    (tmp_path / "envs/one/bin").mkdir(parents=True)
    (tmp_path / "envs/one/bin/python").symlink_to(tmp_path / "pythons/used/bin/python3")
    supplies.append(str(tmp_path), HASH, "x", 0, 5, b"hello")
    supplies.prune(str(tmp_path), 3600.0)
    assert len(list(tmp_path.glob("*/*"))) == 4
    supplies.prune(str(tmp_path), 0.0)
    assert sorted(path.name for path in tmp_path.glob("*/*")) == ["one", "used"]


@pytest.mark.parametrize(
    "wanted",
    [">=3.11", ">=3.11,<3.12", "==3.11.*", "==3.11.7", "!=3.11.7", "~=3.11", "~=3.11.2", ">3.11,<=3.13", "<3.11"],
)
def test_which_interpreters_fit(wanted):
    """The same ones as with `packaging`."""
    for version in ("3.8.20", "3.10.1", "3.11.0", "3.11.2", "3.11.7", "3.12.0", "3.13.1", "4.0.0"):
        assert supplies.fits(version, wanted) == SpecifierSet(wanted).contains(version), version


@pytest.mark.slow
def test_an_interpreter_is_found_where_there_is_no_uv():
    path, version = supplies.find_python(None, ">=3.11", {"PATH": "/nowhere"})
    assert (path, version) == (sys.executable, platform.python_version())
    assert supplies.find_python(None, ">=3.11,<3.11", {}) == supplies.find_python(None, "some", {}) == ("", "")
