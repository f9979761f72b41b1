"""The Markdown of an issue."""

import re
import shlex
import subprocess
import sys

import pytest
from hypothesis import HealthCheck, given, settings, strategies as st

from harness.issue import issue
from harness.issue.anonymous import Anonymous
from harness.issue.facts import Bisected
from tests.harness.issue import recorded
from tests.harness.issue.recorded import DIFFERENCE, GPU, facts

NAMES = st.from_regex(r"[a-z]{3}[a-z0-9-]{1,8}[a-z0-9]", fullmatch=True)
RACE = "repros/one.py:9:5: RACE\n    x[t] = t\n    ^ writes smem+0x0\n"


def nobody() -> Anonymous:
    return Anonymous({}, {})


def test_a_value_that_differs():
    text = issue.write(facts(), nobody()).text
    assert text.startswith(
        "Each lane reads its neighbour.\n\nParameters: `width=8`.\n\n"
        "### Expected\n\nThe values of expected() in the table below.\n\n"
        "### Got\n\nout differs from expected() in 7 of 8 elements\n\n"
        "| index | expected | got |\n|---|---|---|\n| 1 | 0x2 2 | 0x1 1 |\n| 2 | 0x4 4 | 0x2 2 |\n\n"
        "5 more elements differ.\n\n"
        "### Versions\n\n|  |  |\n|---|---|\n| Compiler | nvidia-cutlass-dsl 4.8.1 |\n"
        "| GPU | NVIDIA H100, sm_90, driver 580.65 |\n| CUDA | 13.0 |\n| Python | 3.12.4 |\n| numpy | 2.4.6 |\n\n"
        "### Program\n\n<details>\n<summary>one.py</summary>\n\n```python\n# /// script\n"
    )
    assert text.endswith(
        "### Run it\n\nWithout gpu-repro:\n\n```sh\n"
        "uv run --no-project --python 3.12 --with nvidia-cutlass-dsl==4.8.1 --with numpy==2.4.6 python -c "
        "'import one; print(one.run(width=8)); print(one.expected(width=8))'\n```\n\n"
        "With it:\n\n```sh\nuv run repro run one.py -p width=8 --host local --compiler nvidia==4.8.1\n```\n"
    )


def test_the_command_runs_the_program(tmp_path):
    text = issue.write(facts(), nobody()).text
    source = re.search(r"```python\n(.*?)```", text, re.DOTALL)[1]
    (tmp_path / "one.py").write_text(source)
    words = shlex.split(re.search(r"```sh\n(uv run --no-project.*)\n", text)[1])
    done = subprocess.run([sys.executable, *words[-2:]], cwd=tmp_path, capture_output=True, text=True)
    assert done.stdout.splitlines() == [
        "{'out': array([0, 1, 2, 3, 4, 5, 6, 7])}", "{'out': array([ 0,  2,  4,  6,  8, 10, 12, 14])}"]  # fmt: skip


@pytest.mark.parametrize(
    "path, command",
    [
        ("one.py", "python -c 'import one; print(one.run(width=8)); print(one.expected(width=8))'"),
        (
            "one-two.py",
            "python -c 'import runpy; f = runpy.run_path('\"'\"'one-two.py'\"'\"'); "
            "print(f['\"'\"'run'\"'\"'](width=8)); print(f['\"'\"'expected'\"'\"'](width=8))'",
        ),
    ],
)
def test_the_command_of_any_file_name(path, command):
    one = facts()
    one.repro = recorded.repro(recorded.SOURCE, f"/x/{path}")
    assert command in issue.write(one, nobody()).text


def test_a_finding_has_its_report():
    text = issue.write(facts(differences=(), said={"text": RACE}, outcome="race"), nobody()).text
    assert (
        "### Expected\n\n`run()` returns its outputs, and the claim holds.\n\n### Got\n\n```text\none.py:9:5: RACE\n"
        in text
    )


def test_on_the_emulator_there_is_no_gpu():
    said = {
        "device": {"kind": "emulator", "arch": "sm_90a"},
        "compiler": {"name": "ours", "version": "0.1.0"},
        "asked": "ours",
    }
    text = issue.write(facts(said=said), nobody()).text
    assert "| Compiler | gpu-repro 0.1.0 |\n| GPU | none: the emulator of gpu-repro, sm\\_90a |" in text.replace(
        "sm_", "sm\\_"
    )
    assert "uv run repro run one.py -p width=8\n" in text


@pytest.mark.parametrize(
    "bisected, sentence",
    [
        (
            Bisected("repros/one.py", "2026-11-20T12:00:00Z", "found", "--compiler", "nvidia==4.6.3", "nvidia==4.7.0"),
            "First bad release: **nvidia==4.7.0**. Last good release: **nvidia==4.6.3**.",
        ),
        (
            Bisected("repros/one.py", "2026-11-20T12:00:00Z", "ambiguous", "--commit", "aa", "bb"),
            "The answer changed between the commits **aa** (good) and **bb** (bad).",
        ),
    ],
)
def test_the_first_bad_release(bisected, sentence):
    one = facts()
    one.bisected = bisected
    assert f"\n\n{sentence}\n\n### Program\n" in issue.write(one, nobody()).text


def test_code_of_two_sides():
    one = facts()
    one.good = recorded.record(
        recorded.line(), verdict="pass", compiler="nvidia==4.6.3", provenance={"gpu": "NVIDIA H100"}
    )
    diff = "\n".join(["--- A", "+++ B", "-add.s32", "+add.u32", *["+x"] * 200])
    one.difference = {
        "texts": [
            {"kind": "ptx", "kernel": "k", "diff": diff, "note": ""},
            {"kind": "sass", "kernel": "k", "diff": "", "note": "n"},
        ]
    }
    text = issue.write(one, nobody()).text
    assert "### Difference of the code\n\nA is nvidia==4.6.3, NVIDIA H100, which passes. B is nvidia==4.8.1." in text
    assert "<summary>PTX of k</summary>\n\n```diff\n--- A\n+++ B\n-add.s32\n" in text
    assert "... 84 more lines\n```\n" in text and "SASS" not in text


def test_the_program_cannot_end_its_fence_or_mention_anybody():
    source = recorded.SOURCE.replace("neighbour.", "neighbour: ask @anna, #12.\n\n```\n</details>\n@bob\n```")
    text = issue.write(facts(source), nobody()).text
    assert text.startswith("Each lane reads its neighbour: ask \\@&#8203;anna, \\#&#8203;12.\n")
    assert "\n````python\n" in text and text.count("\n````") == 2


@pytest.mark.parametrize("lines", [2_000, 20_000])
def test_githubs_limit(lines):
    one = facts(recorded.SOURCE + "# a line that is long enough\n" * lines, differences=(), said={"text": "x\n" * 2000})
    written = issue.write(one, nobody())
    assert len(written.text) <= issue.MOST_CHARACTERS
    is_cut = lines > 2_000
    assert written.shortened == (["the message", "the program"] if is_cut else [])
    assert ("GitHub takes at most 65536 characters" in written.text) is is_cut
    assert written.text.endswith("```\n") and "### Run it" in written.text


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=20, deadline=None)
@given(NAMES, NAMES, NAMES)
def test_nothing_private_is_left(user, host, folder):
    """Neither in the claim nor in comments, strings, messages, names of outputs, elements, code and commands."""
    root = f"/home/{user}/{folder}"
    anonymous = Anonymous(
        {user: "USER", host: "HOST", f"{host}.lan": "HOST"}, {f"{root}/": "", root: ".", f"/home/{user}": "~"}
    )
    place = f"{root}/repros/one.py"
    source = recorded.SOURCE.replace("neighbour.", f"neighbour on {host}, in {root}.").replace(
        "import numpy as np", f"import numpy as np  # {user}@{host}.lan:{place}\nDATA = '/data/{user}/{host}.bin'"
    )
    message = f'File "{place}", line 3\nssh {user}@{host} printed: {host}.lan: /scratch/{user}/x: no\n'
    difference = DIFFERENCE | {"message": f"out of {place} differs", "output": user}
    one = facts(source, (), {"text": message, "repro": f"{folder}/one.py"}, claim=f"{folder}/one.py", host=host)
    one.good = recorded.record(recorded.line(), verdict="pass", host=host)
    one.difference = {
        "texts": [{"kind": "ptx", "kernel": "k", "diff": f'-.file 1 "{place}"\n+// {user} {host}', "note": ""}]
    }
    for differences in ([], [difference]):
        one.record.differences[:] = differences
        text = issue.write(one, anonymous).text
        words = re.sub(r"USER|HOST|ADDRESS", "", text)
        for private in (user, host, folder):
            assert not re.search(rf"(?<![a-zA-Z0-9]){re.escape(private)}(?![a-zA-Z0-9])", words, re.IGNORECASE), text
        assert "/home" not in text and "/data" not in text and "/scratch" not in text


def test_a_private_name_in_an_identifier_is_a_warning():
    written = issue.write(facts(recorded.SOURCE + "anna_table = 1\n"), Anonymous({"anna": "USER"}, {}))
    assert written.warnings == ["the name anna_table in the program contains a user or host name"]


def test_a_claim_that_holds():
    text = issue.write(facts(differences=(), verdict="pass", verdict_reason="", said={"device": GPU}), nobody()).text
    assert "### Expected\n\nThe claim holds.\n\n### Got, as expected\n\nOutputs.\n" in text
