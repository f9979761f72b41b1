"""Claims about what a program prints: the keys of their block, and the whole text of every complaint."""

import pytest

from harness.claim.printed_claim import FILTERS, Printed
from harness.claim.repro_file import ReproError, read

GOOD = '''# /// script
# [tool.repro]
# compare = { stdout = "numbers rel:1e-6" }
# filters = ["time", { "job [0-9]+" = "job N" }]
# exit = 3
# args = ["--width", "8"]
# timeout = 9
# ///
"""It prints so."""
print(1)
'''


@pytest.fixture
def path(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    return tmp_path / "q.py"


def complaint(path, text: str) -> str:
    path.write_text(text)
    with pytest.raises(ReproError) as error:
        read(path)
    return str(error.value)


def test_reads_everything(path):
    path.write_text(GOOD)
    repro = read(path)
    assert (repro.claim, repro.timeout_s, repro.script.args) == ("It prints so.", 9.0, ("--width", "8"))
    assert str(repro.compare["stdout"]) == "numbers rel:1e-06"
    assert repro.script.printed == Printed(3, (FILTERS["time"], ("job [0-9]+", "job N")))
    assert [case.name for case in repro.cases()] == [""]


@pytest.mark.parametrize(
    "rule, shown",
    [
        ("text", "text"),
        ("numbers", "numbers"),
        ("numbers abs:0.5", "numbers abs:0.5"),
        ("numbers close:1e-6,2", "numbers close:1e-06,2"),
    ],
)
def test_rules(path, rule, shown):
    path.write_text(GOOD.replace("numbers rel:1e-6", rule))
    assert str(read(path).compare["stdout"]) == shown


@pytest.mark.parametrize(
    "text, read",
    [
        ("<object at 0x7f12ab34cd56> has 0x40 and 0x1p-3", "<object at [ADDRESS]> has 0x40 and 0x1p-3"),
        (
            "2026-11-26T09:10:11.5Z took 3.5 s, 12:30:01 and 1.5e-3ms of 8 sums",
            "[TIME] took [TIME], [TIME] and [TIME] of 8 sums",
        ),
        ("wrote /tmp/x-1/a.bin, and/or 1/2 </b>", "wrote [PATH], and/or 1/2 </b>"),
    ],
)
def test_filters_that_have_a_name(text, read):
    assert Printed(filters=tuple(FILTERS.values())).read(text) == read


COMPLAINTS = {
    "rule": (
        ("numbers rel:1e-6", "numbers rel:x"),
        """q.py:3:15: BAD_COMPARE
    # compare = { stdout = "numbers rel:x" }
                  ^^^^^^ has the rule 'numbers rel:x'
fix: write stdout = "text" (the same characters), "numbers" (the same numbers between the same words), \
"numbers rel:1e-6", "numbers abs:1e-9" or "numbers close:1e-6,1e-9\"""",
    ),
    "another output": (
        ("stdout =", "out ="),
        """q.py:3:15: BAD_COMPARE
    # compare = { out = "numbers rel:1e-6" }
                  ^^^ is not an output: a file without run() has only stdout and stderr
fix: remove out, or add `def run():` that returns it""",
    ),
    "filter": (
        ('"time", {', '"times", {'),
        """q.py:4:3: BAD_FILTERS
    # filters = ["times", { "job [0-9]+" = "job N" }]
      ^^^^^^^ holds 'times'
fix: write some of address, time, path, or a regular expression and what to read in its place, as in \
filters = ["time", { "job [0-9]+" = "job N" }]""",
    ),
    "regular expression": (
        ("job [0-9]+", "job ["),
        """q.py:4:3: BAD_FILTERS
    # filters = ["time", { "job [" = "job N" }]
      ^^^^^^^ holds 'job [': unterminated character set at position 4
fix: correct the regular expression; a \\ is written twice in TOML's "...", once in '...'""",
    ),
    "exit": (
        ("exit = 3", "exit = 256"),
        """q.py:5:3: BAD_EXIT
    # exit = 256
      ^^^^ is 256
fix: write the exit status, 0 to 255: exit = 1""",
    ),
    "args": (
        ('"8"]', "8]"),
        """q.py:6:3: BAD_ARGS
    # args = ["--width", 8]
      ^^^^ is not a list of strings
fix: write args = ["--width", "8"]""",
    ),
    "params": (
        ("timeout = 9", "params = { n = [1] }"),
        """q.py:7:3: NO_RUN
    # params = { n = [1] }
      ^^^^^^ is about what run() returns, and the file has no run()
fix: remove params; a claim about what a program prints has arch, args, compare, exit, filters, nvidia, outcome, \
silicon, timeout""",
    ),
    "no claim": (
        ('"""It prints so."""\n', ""),
        """q.py:9:1: NO_CLAIM
    print(1)
    ^^^ the file has no claim
fix: begin the file with a docstring whose first line is the claim: \"\"\"shfl.sync reads only inside its segment.\"\"\"""",
    ),
    "nvidia's outputs": (
        ("timeout = 9", "nvidia = { outputs = { stdout = [1] } }"),
        """q.py:7:3: BAD_NVIDIA
    # nvidia = { outputs = { stdout = [1] } }
      ^^^^^^ has `outputs` of run(), which the file has not
fix: write xfail""",
    ),
}


@pytest.mark.parametrize("name", COMPLAINTS)
def test_complaint(path, name):
    (old, new), text = COMPLAINTS[name]
    assert complaint(path, GOOD.replace(old, new, 1)) == text


def test_a_file_that_lost_its_run_is_not_a_claim_about_prints(path):
    block = '# /// script\n# [tool.repro]\n# KEY\n# ///\n"""It is so."""\nprint(1)\n'
    assert "NO_RUN" in complaint(path, block.replace("KEY", "params = { n = [1] }"))
    assert "NO_RUN" in complaint(path, block.replace("KEY", 'compare = { out = "bits" }'))
    assert "NO_RUN" in complaint(path, block.replace("KEY", "") + "def expected():\n    return {}\n")
    path.write_text(block.replace("KEY", 'arch = "sm_80"'))
    assert str(read(path).compare["stdout"]) == "text"


def test_keys_of_prints_in_a_file_with_run(path):
    text = '# /// script\n# [tool.repro]\n# exit = 1\n# ///\n"""It is so."""\ndef run():\n    return {}\n'
    assert complaint(path, text) == (
        "q.py:3:3: NO_PRINTED_CLAIM\n    # exit = 1\n      ^^^^ is about what a program prints, and this file has run()\n"
        "fix: remove exit, or remove run()"
    )
