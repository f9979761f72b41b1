"""The versions between two ends, as the index lists them."""

import pytest
from packaging.version import Version

from harness.bisection import versions
from harness.errors import UsageError

LISTED = ["1.0", "1.1", "1.2rc1", "1.2.0", "1.10", "2.0.dev1", "2.0"]


@pytest.fixture(autouse=True)
def index(monkeypatch):
    monkeypatch.setattr(versions, "released", lambda package: [Version(one) for one in LISTED])


def names(text: str) -> list[str]:
    return [version for _, version in versions.between(text, ["tiny"], "--package")]


def test_releases_are_in_order_of_versions():
    assert names("1.0..2.0") == ["1.0", "1.1", "1.2.0", "1.10", "2.0"]
    assert names("1.10..1.1") == ["1.10", "1.2.0", "1.1"]
    assert names("1.1.0..1.2") == ["1.1", "1.2.0"]
    assert names("1.1..2.0.dev1") == ["1.1", "1.2rc1", "1.2.0", "1.10", "2.0.dev1"]
    assert names("3.0, 1.0,2") == ["3.0", "1.0", "2"]


def test_builds_with_a_local_label_count_where_an_end_has_it(monkeypatch):
    listed = [Version(one) for one in ("2.8.0", "2.9.0", "2.9.0+cpu", "2.9.1", "2.10.0+cpu", "2.10.0+cu130", "2.10.0")]
    monkeypatch.setattr(versions, "released", lambda package: listed)
    assert names("2.8..2.10") == ["2.8.0", "2.9.0", "2.9.1", "2.10.0"]
    assert names("2.9.0+cpu..2.10.0+cpu") == ["2.9.0+cpu", "2.10.0+cpu"]


@pytest.mark.parametrize(
    "text, message",
    [
        ("1.0", "--package 1.0: name two ends, as in 4.3.0..4.8.1, or a list, as in 4.3.5,4.6.3,4.8.1"),
        ("1.0..new", "--package 1.0..new: 'new' is not a version, as in 4.8.1"),
        ("1.0..1.0.0", "--package 1.0..1.0.0: both ends are the same version"),
    ],
)
def test_wrong_ranges_are_refused(text, message):
    with pytest.raises(UsageError) as error:
        names(text)
    assert str(error.value) == message


def test_an_end_that_is_not_on_the_index_names_its_neighbours():
    with pytest.raises(
        UsageError, match=r"^--package 1.0..1.3: the index has no tiny 1.3 for Python 3.\d+; the nearest"
    ):
        names("1.0..1.3")


def test_each_version_names_its_package(monkeypatch):
    listed = {"new": ["13.0"], "old": ["12.8", "12.9"]}
    monkeypatch.setattr(versions, "released", lambda package: [Version(one) for one in listed[package]])
    found = versions.between("12.8..13.0", ["new", "old"], "--ptxas")
    assert found == [("old", "12.8"), ("old", "12.9"), ("new", "13.0")]
