"""The axis that the options ask for."""

import shutil
from pathlib import Path

import pytest
from packaging.version import Version

from harness.bisection import axes, versions
from harness.errors import UsageError
from tests.harness.bisection.author_repository import RIGHT, WRONG, make

RANGE_FIX = "fix: as in --compiler nvidia==4.3.0..4.8.1"


@pytest.fixture
def read(write, monkeypatch):
    repro = write("def run(): pass")
    listed = {"nvidia-cuda-nvcc-cu12": ["12.8"], "nvidia-cuda-nvcc": ["13.0", "13.1"]}
    monkeypatch.setattr(
        versions, "released", lambda name: [Version(one) for one in listed.get(name, ("12.8", "13.0", "13.1"))]
    )

    def read(given, compiler="ours", host="embedded", repo=None):
        return axes.read(given, repro, compiler, host, repo, Path("/trees"))

    return read


def test_releases_of_the_compiler(read):
    axis = read({"compiler": "nvidia==12.8..13.0", "host": "p1"}, host="p1")
    labels = ["nvidia==12.8", "nvidia==13.0"]
    assert [one.label for one in axis.versions] == [one.compiler for one in axis.versions] == labels
    assert [one.asked for one in axis.versions] == labels and {one.host for one in axis.versions} == {"p1"}
    assert axis.option == "--compiler" and not axis.sass


def test_releases_of_a_package_are_pins_under_one_compiler(read):
    axis = read({"package": "tiny==12.8..13.1", "compiler": "nvidia"}, compiler="nvidia")
    assert [(one.label, one.pins, one.compiler) for one in axis.versions] == [
        (f"tiny=={number}", (f"tiny=={number}",), "nvidia") for number in ("12.8", "13.0", "13.1")
    ]
    assert axis.versions[0].asked == "nvidia, tiny==12.8"


@pytest.mark.parametrize("text", ["12.8..13.1", "12.8,13.0,13.1"])
def test_ptxas_comes_from_two_packages_and_its_code_counts(read, text):
    axis = read({"ptxas": text})
    assert [one.label for one in axis.versions] == ["ptxas==12.8", "ptxas==13.0", "ptxas==13.1"]
    assert [one.pins[0] for one in axis.versions] == [
        "nvidia-cuda-nvcc-cu12==12.8", "nvidia-cuda-nvcc==13.0", "nvidia-cuda-nvcc==13.1"
    ]  # fmt: skip
    assert axis.sass


def test_hosts_are_in_the_order_given(read):
    axis = read({"host": "p2, p1", "compiler": "nvidia"}, compiler="nvidia")
    assert [(one.label, one.host, one.compiler) for one in axis.versions] == [
        ("p2", "p2", "nvidia"), ("p1", "p1", "nvidia")
    ]  # fmt: skip


def test_commits_are_worktrees_of_the_repository(read, tmp_path):
    first, second = make(tmp_path / "author", {"One": RIGHT, "Two": WRONG})
    axis = read({"commit": f"{first}..HEAD"}, repo=tmp_path / "author")
    assert [one.label for one in axis.versions] == [f"{first[:10]} One", f"{second[:10]} Two"]
    assert axis.versions[1].asked == f"ours, commit {second[:10]}"
    assert axis.versions[1].tree.place == Path("/trees", second[:10])


def test_git_that_fails_is_wrong_usage(read, tmp_path, monkeypatch):
    make(tmp_path / "author", {"One": RIGHT, "Two": WRONG})
    program = tmp_path / "bin/git"
    program.parent.mkdir()
    works = f'case " $* " in *" log "*) echo no >&2; exit 1;; *) exec {shutil.which("git")} "$@";; esac'
    program.write_text(f"#!/bin/sh\n{works}\n")
    program.chmod(0o755)
    monkeypatch.setenv("PATH", str(program.parent), prepend=":")
    with pytest.raises(UsageError, match="^--commit HEAD~1..HEAD: .*no"):
        read({"commit": "HEAD~1..HEAD"}, repo=tmp_path / "author")
    monkeypatch.setenv("PATH", "")
    with pytest.raises(UsageError, match="is not in a git repository\nfix: name one by --repo DIR$"):
        read({"commit": "a..b"}, repo=tmp_path / "author")


@pytest.mark.parametrize(
    "given, about, message",
    [
        ({}, {}, f"repro bisect needs a range in one of --compiler, --commit, --package, --ptxas, --host: got none\n{RANGE_FIX}"),
        (
            {"compiler": "nvidia==1.0..2.0", "ptxas": "1.0..2.0"}, {},
            "repro bisect needs a range in one of --compiler, --commit, --package, --ptxas, --host: "
            f"got --compiler and --ptxas\n{RANGE_FIX}",
        ),
        ({"compiler": "ours..nvidia"}, {}, "--compiler ours..nvidia: write releases of nvidia, as in nvidia==4.3.0..4.8.1"),
        ({"package": "torch"}, {}, "--package torch: write NAME==GOOD..BAD, as in torch==2.8..2.11"),
        ({"ptxas": "12.8..13.0"}, {"host": "p1"}, "--ptxas runs on this machine: got --host p1"),
        ({"commit": "a..b"}, {"host": "p1"}, "--commit runs on this machine: got --host p1"),
        (
            {"commit": "a..b"}, {"compiler": "nvidia==4.8.1"},
            "--commit with --compiler nvidia==4.8.1: use ours, or nvidia without a release",
        ),
    ],
)  # fmt: skip
def test_wrong_axes_are_refused(read, given, about, message):
    with pytest.raises(UsageError) as error:
        read(given, **about)
    assert str(error.value) == message
