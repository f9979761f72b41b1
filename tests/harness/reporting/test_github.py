"""Annotations and the summary of a step on GitHub."""

import pytest

from harness.reporting import github
from tests.harness.reporting.findings_of_a_run import NOT_RUN, case, finding


@pytest.fixture(autouse=True)
def workspace(tmp_path, monkeypatch):
    for name in ("WORKSPACE", "SERVER_URL", "REPOSITORY", "SHA"):
        monkeypatch.delenv(f"GITHUB_{name}", raising=False)
    monkeypatch.setenv("GITHUB_WORKSPACE", str(tmp_path))
    return tmp_path


@pytest.mark.parametrize(
    "message, title, line",
    [
        ("100% of a\r\nb", "RACE", "::error title=RACE::100%25 of a%0Ab"),
        ("a: b, c", "a: b, 5%\nc", "::error title=a%3A b%2C 5%25\\nc::a: b, c"),
        ("\x1b[31mred\x00", "t", "::error title=t::\\x1b[31mred\\x00"),
        ("::set-output name=x::y", "t", "::error title=t::::set-output name=x::y"),
        ("%0A", "%2C", "::error title=%252C::%250A"),
    ],
)
def test_characters_that_github_requires_to_be_escaped(message, title, line):
    assert github.command("error", message, title=title) == line
    assert "\n" not in line


def test_an_annotation_has_the_authors_line_and_the_other_access(workspace):
    other = {"file": "repros/one.py", "line": 24, "column": None, "message": "read: thread 0"}
    (line,) = github.commands([case(finding(related=[other], fix="put a barrier"))], workspace)
    assert line == (
        "::error file=repros/one.py,line=21,col=5,title=RACE::writes smem+0x0%0A"
        "repros/one.py (host embedded, compiler ours)%0Arepros/one.py:24: read: thread 0%0Afix: put a barrier"
    )


def test_paths_are_relative_to_the_checkout(workspace):
    root = workspace / "gpu"
    (line,) = github.commands([case(finding())], root)
    assert line.startswith("::error file=gpu/repros/one.py,line=21,")
    (line,) = github.commands([case(finding(file="/usr/lib/x.py"))], root)
    assert line.startswith("::error title=RACE::")


def test_levels_and_what_could_not_be_run(workspace):
    found = [case(finding("WARP_SYNCHRONOUS", level="warning"), finding("STOPPED", level="note")), NOT_RUN]
    levels = [line.partition(" ")[0] for line in github.commands(found, workspace)]
    assert levels == ["::warning", "::notice", "::error"]
    assert github.commands([NOT_RUN], workspace) == [
        "::error title=could not be run%3A repros/one.py::on p1: the host%0Ais gone"
    ]


def test_github_shows_ten_of_a_level(workspace):
    many = [case(*(finding(line=line) for line in range(30)), finding("WARP_SYNCHRONOUS", level="warning"))]
    assert len(github.commands([*many, NOT_RUN], workspace)) == github.MOST_ANNOTATIONS + 1


def test_the_summary_lists_what_did_not_pass(workspace):
    tables = [case(), case(finding(), name="repros/one.py::a=1|2", claim="`x` is *so*."), NOT_RUN]
    assert github.summary(tables, workspace) == (
        "### gpu-repro: 3 cases, 1 failed, 1 could not be run, 1 passed\n\n"
        "| | claim | host | outcome | reason |\n|---|---|---|---|---|\n"
        "| ❌ | repros/one.py::a=1\\|2<br>\\`x\\` is \\*so\\*. | embedded | race | repros/one.py:21: RACE: writes smem+0x0 |\n"
        "| ⚠️ | repros/one.py<br>It is so. | p1 | infra | could not be run |\n\n"
    )


def test_a_row_leads_to_the_line_of_the_commit(workspace, monkeypatch):
    for name, value in (("SERVER_URL", "https://github.com"), ("REPOSITORY", "a/b"), ("SHA", "c0ffee")):
        monkeypatch.setenv(f"GITHUB_{name}", value)
    text = github.summary([case(finding())], workspace)
    assert "[repros/one.py](https://github.com/a/b/blob/c0ffee/repros/one.py#L21)<br>" in text


def test_a_run_where_all_pass_has_one_line(workspace):
    assert github.summary([case(), case()], workspace) == "### gpu-repro: 2 cases, 2 passed\n\n"


def test_the_summary_stays_below_githubs_limit(workspace):
    tables = [case(finding(message="é" * 500), claim="x" * 9000) for _ in range(300)]
    text = github.summary(tables, workspace)
    assert len(text.encode()) <= github.MOST_BYTES and text.endswith(" more cases are not listed.\n\n")


def test_the_summary_is_appended(workspace):
    path = workspace / "summary.md"
    path.write_text("before\n")
    github.write_summary(path, [case()], workspace)
    assert path.read_text() == "before\n### gpu-repro: 1 case, 1 passed\n\n"
