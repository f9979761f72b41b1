"""Repros whose file is gone: followed to the file that is the same claim, and to no other."""

import hashlib

import pytest

from harness.records.index import moved
from tests.harness.conftest import repro_text

RUN = "def run():\n    return {}"


@pytest.fixture
def project(tmp_path):
    (tmp_path / "pyproject.toml").write_text("")

    def write(path: str, claim: str = "It is so.") -> str:
        file = tmp_path / path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(repro_text(RUN, claim=claim))
        return hashlib.sha256(file.read_bytes()).hexdigest()

    write.root = tmp_path
    return write


def test_a_file_of_the_same_name_and_claim_is_the_repro(project):
    project("repros/mma/one.py")
    assert moved.follow({"repros/one.py": {"It is so."}}, project.root) == {"repros/one.py": "repros/mma/one.py"}
    assert moved.follow({"repros/one.py": {"It is not so."}}, project.root) == {}
    assert moved.follow({"repros/two.py": {"It is so."}}, project.root) == {}  # another name


def test_a_file_that_is_there_stays_where_it_is(project):
    project("repros/one.py")
    project("repros/mma/one.py")
    assert moved.follow({"repros/one.py": {"It is so."}}, project.root) == {}


def test_of_several_the_one_with_the_same_text(project):
    text = project("a/one.py")
    project("b/one.py", claim="It is so. ")
    marks = {"repros/one.py": {"It is so.", text}}
    assert moved.follow(marks, project.root) == {"repros/one.py": "a/one.py"}
    project("c/one.py")
    assert moved.follow(marks, project.root) == {}  # two with that text: nobody knows which


def test_another_name_with_the_same_text_is_known(project):
    text = project("repros/renamed.py")
    assert moved.same_text({"repros/one.py": {text}}, project.root) == {"repros/one.py": "repros/renamed.py"}
    assert moved.by_name(project.root) == {"renamed.py": ["repros/renamed.py"]}
