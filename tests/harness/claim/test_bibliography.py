"""The bibliography: found above the repro, checked, and cited by claims whose values it holds."""

import pytest

from harness.claim import bibliography
from harness.claim.repro_file import ReproError, read
from harness.cli import main

WORKS = """
[fasi2021]
authors = "M. Fasi, N. J. Higham"
title = "Tensor cores"
year = 2021
doi = "10.7717/peerj-cs.330"
[one]
authors = "A. Writer"
title = "Notes"
year = 2020
"""
TEXT = '# /// script\n# [tool.repro]\n# {table}\n# ///\n"""It is so."""\nimport numpy as np\n' \
    'def run():\n    return {{"out": np.int32([1])}}\n{more}'  # fmt: skip
EXPECTED = "def expected():\n    return run()\n"


@pytest.fixture
def project(tmp_path, monkeypatch):
    """`project(table, more)`: the path of a repro with this line in its table, two folders below the bibliography."""
    monkeypatch.delenv("CI", raising=False)
    monkeypatch.chdir(tmp_path)
    (tmp_path / "pyproject.toml").write_text("")
    folder = tmp_path / "repros/mma"
    folder.mkdir(parents=True)
    (tmp_path / "repros/bibliography.toml").write_text(WORKS)

    def project(table: str, more: str = EXPECTED):
        (folder / "one.py").write_text(TEXT.format(table=table, more=more))
        return folder / "one.py"

    return project


def test_works_are_named(tmp_path):
    (tmp_path / "bibliography.toml").write_text(WORKS)
    works = bibliography.read(bibliography.find(tmp_path / "a" / "b", tmp_path))
    assert [str(work) for work in works.values()] == [
        "M. Fasi and others 2021: Tensor cores (doi:10.7717/peerj-cs.330)", "A. Writer 2020: Notes"
    ]  # fmt: skip
    assert bibliography.read(None) == {}


@pytest.mark.parametrize("text, why", [
    ("[a]\nauthors = 'A'\ntitle = 'T'\n", "a.year is missing"),
    ("[a]\nauthors = 'A'\ntitle = 'T'\nyear = 'x'\n", "a.year must be a whole number from 1900 to 2200, got 'x'"),
])  # fmt: skip
def test_a_work_must_have_authors_a_title_and_a_year(tmp_path, text, why):
    path = tmp_path / "bibliography.toml"
    path.write_text(text)
    with pytest.raises(bibliography.BadBibliography) as error:
        bibliography.read(path)
    assert str(error.value) == f"{path}: {why}"


@pytest.mark.parametrize("table, more, text", [
    ('evidence = "me"', EXPECTED, "^^^^^^^^ is 'me'"),
    ('evidence = "published:two"', EXPECTED, "^^^^^^^^ cites two; the keys of bibliography.toml are: fasi2021, one"),
    ('evidence = "published:one"', "", "^^^^^^^^ cites what was published, but there is no expected()"),
])  # fmt: skip
def test_evidence_that_a_claim_cannot_cite(project, table, more, text):
    with pytest.raises(ReproError) as error:
        read(project(table, more))
    assert str(error.value).splitlines()[0].endswith("BAD_EVIDENCE")
    assert str(error.value).splitlines()[2].strip() == text


def test_evidence_is_in_golden_record_and_status(project, capsys):
    path = project('evidence = "published:fasi2021"')
    assert main(["run", str(path), "--update-goldens"]) == 0
    golden = (path.parent / "goldens/one/default.json").read_text()
    assert '\n  "evidence": "published:fasi2021",\n' in golden
    capsys.readouterr()
    assert main(["record", "status"]) == 0
    assert capsys.readouterr().out.splitlines()[3:] == [
        "evidence: 1 published",
        "    fasi2021  1 cell  M. Fasi and others 2021: Tensor cores (doi:10.7717/peerj-cs.330)",
    ]


def test_without_a_source_the_evidence_is_the_emulators(project, capsys):
    path = project("runs = 1", "")
    assert main(["run", str(path), "--update-goldens"]) == 0
    assert '\n  "evidence": "emulator",\n' in (path.parent / "goldens/one/default.json").read_text()
