"""Reading a repro from its text: its parts, and the whole text of every complaint."""

import subprocess
import sys

import pytest

from harness.claim.expectation import Otherwise
from harness.claim.repro_file import ReproError, is_repro, read
from harness.claim.rule import Rule

GOOD = '''# /// script
# dependencies = ["numpy"]
# [tool.repro]
# arch = "sm_80"
# params = { width = [8, 16], relu = [true, false] }
# compare = { out = "ulp:2", other = "rel:1e-5", rest = "undef", exact = "bits" }
# timeout = 2
# ///
"""The claim.  Source: somewhere.

More words.
"""
import cutlass

def kernel():
    # CHECK-PTX: ld.global
    # CHECK-PTX(width=8, relu=False)-NOT: max.f32
    # CHECK-SASS-NEXT{LITERAL}: [[x]]
    pass

def run(width, relu, *, more=3):
    return {}

def expected(width, **rest):
    return {}
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
    assert repro.claim == "The claim."
    assert (repro.arch, repro.timeout_s, repro.outcome, repro.has_expected) == ("sm_80", 2.0, "outputs", True)
    assert repro.warm == ("cutlass",)
    assert repro.compare["out"] == Rule("ulp", 2) and repro.compare["other"] == Rule("rel", 1e-5)
    assert [str(rule) for rule in repro.compare.values()] == ["ulp:2", "rel:1e-05", "undef", "bits"]
    names = ["width=8,relu=True", "width=8,relu=False", "width=16,relu=True", "width=16,relu=False"]
    assert [case.name for case in repro.cases()] == names


def test_reads_what_nvidias_compiler_does_otherwise(path):
    path.write_text(GOOD)
    assert not read(path).nvidia
    path.write_text(GOOD.replace("timeout = 2", 'nvidia = { rejected = "UNSUP_EARLY_EXIT" }'))
    assert read(path).nvidia.of("4.7.1") == Otherwise("UNSUP_EARLY_EXIT")
    path.write_text(GOOD.replace("timeout = 2", "nvidia = { outputs = { out = [1, 2] } }"))
    assert read(path).nvidia.of(None) == Otherwise(outputs={"out": [1, 2]})
    text = GOOD.replace("timeout = 2", 'outcome = "trap"\n# nvidia = { outputs = { out = [1, 2] } }')
    assert "has `outputs`, but the claim is an outcome without any" in complaint(path, text)


def test_check_lines_hold_for_their_parameters(path):
    path.write_text(GOOD)
    counts = {case.name: len(case.checks("PTX")) for case in read(path).cases()}
    assert counts == {
        "width=8,relu=True": 1,
        "width=8,relu=False": 2,
        "width=16,relu=True": 1,
        "width=16,relu=False": 1,
    }
    (sass,) = next(read(path).cases()).checks("SASS")
    assert (sass.directive, sass.pattern, sass.line) == ("NEXT{LITERAL}", "[[x]]", 18)


def test_a_file_that_is_not_utf_8(path):
    path.write_bytes(GOOD.replace("somewhere", "s\xf8mewhere").encode("latin-1"))
    with pytest.raises(ReproError) as caught:
        read(path)
    assert str(caught.value) == (
        "q.py: SYNTAX_ERROR\n    the file is not UTF-8: 'utf-8' codec can't decode byte 0xf8 in position 251: "
        "invalid start byte\nfix: save it as UTF-8"
    )


def test_is_repro():
    assert is_repro(GOOD.encode()) and is_repro(GOOD.replace("\n", "\r\n").encode())
    assert not is_repro(b"# [tool.repro]\n")
    assert not is_repro(b"# /// script\n# dependencies = []\n# ///\nx = '[tool.repro]'\n")


COMPLAINTS = {
    "a key of the project's settings": (
        ("arch =", "hosts ="),
        """q.py:4:3: UNKNOWN_KEY
    # hosts = "sm_80"
      ^^^^^ is not a key of the file's block
fix: write [tool.repro.hosts.NAME] in pyproject.toml, which has the project's settings""",
    ),
    "unknown key": (
        ("arch =", "arc ="),
        """q.py:4:3: UNKNOWN_KEY
    # arc = "sm_80"
      ^^^ is not a key of the file's block
fix: write `arch`; the keys of a file's block are
    allowed  values that an output compared by "set" may have: { out = [[0, 1], [1, 0]] }
    arch     the least GPU that has the feature, e.g. "sm_80"
    args     of a file without run(): the arguments of the program: ["--width", "8"]
    compare  a table of output name to rule: { out = "bits" | "ulp:N" | "rel:R" | "abs:A" | "close:R,A" | "set" | "pred:NAME" | "undef" }
    evidence where the values of expected() were published: "published:KEY", a KEY of bibliography.toml
    exit     of a file without run(): the exit status of the program (default 0)
    filters  of a file without run(): what of its output is not compared: ["address", "time", "path"]
    mask     a table of output name to the boolean array that selects its elements: { out = "valid" }
    nvidia   where NVIDIA's compiler ends otherwise: { rejected = "its id" }, { outputs = { out = [1, 2] } } or { xfail = "why" }; of some releases: { "<4.7" = { rejected = "its id" } }
    outcome  the outcome of the claim: "outputs" (the default) | "rejected" | "trap" | "deadlock" | "fault", or a \
fault by its name, as in "misaligned"
    params   a table of parameter name to list of values: { width = [8, 16, 32] }
    poison   true: run it twice over different contents of new memory, to see what was not written
    runs     how often run() is called; each outcome is counted
    silicon  the GPU whose bits the claim is about, where others may give others: "h100"
    source   the CUDA C++ of its kernels: source = "kernels.cu", and run(ptx) gets their PTX
    timeout  seconds one case may run (default 60)""",
    ),
    "bad toml": (
        ('"sm_80"', '"sm_80'),
        """q.py:4:16: BAD_TOML
    # arch = "sm_80
                   ^ Illegal character '\\n'
fix: write the block between `# /// script` and `# ///` as TOML, each line after `# `""",
    ),
    "unclosed block": (
        ("# ///\n", "#///\n"),
        """q.py:1:1: UNCLOSED_BLOCK
    # /// script
    ^^^^^^^^^^^^ opens a block that does not end
fix: end the block with a line `# ///`, and begin each line between with `# `""",
    ),
    "bad rule": (
        ("ulp:2", "ulps:2"),
        """q.py:6:15: BAD_COMPARE
    # compare = { out = "ulps:2", other = "rel:1e-5", rest = "undef", exact = "bits" }
                  ^^^ has the rule 'ulps:2'
fix: write out = "bits" (exact), "ulp:2", "rel:1e-5", "abs:1e-6", "close:1e-5,1e-6" (relative, absolute), "set", "pred:NAME" or "undef" (not compared)""",
    ),
    "value that cannot name a file": (
        ("[8, 16]", '["a/b"]'),
        """q.py:5:14: BAD_PARAMS
    # params = { width = ["a/b"], relu = [true, false] }
                 ^^^^^ holds 'a/b'
fix: use booleans, numbers, or strings of letters, digits and `_ . + -` (they name items and files)""",
    ),
    "value twice": (
        ("[8, 16]", "[8, 8]"),
        """q.py:5:14: BAD_PARAMS
    # params = { width = [8, 8], relu = [true, false] }
                 ^^^^^ holds a value twice
fix: keep one of each""",
    ),
    "bad timeout": (
        ("timeout = 2", "timeout = -2"),
        """q.py:7:3: BAD_TIMEOUT
    # timeout = -2
      ^^^^^^^ is -2
fix: write seconds, more than 0 and at most 86400""",
    ),
    "bad outcome": (
        ("timeout = 2", 'outcome = "crash"'),
        "q.py:7:3: BAD_OUTCOME\n    # outcome = \"crash\"\n      ^^^^^^^ is 'crash'\nfix: write the "
        'outcome of the claim: "outputs" (the default) | "rejected" | "trap" | '
        '"deadlock" | "fault", or a fault by its name, as in "misaligned"; the faults are '
        "out_of_bounds, misaligned, illegal, invalid_launch, race, undefined_read, mbarrier_not_initialized, "
        "mbarrier_in_use, barrier_collision, mbarrier_lapped, divergent_barrier",
    ),
    "bad nvidia": (
        ("timeout = 2", 'nvidia = "rejected"'),
        """q.py:7:3: BAD_NVIDIA
    # nvidia = "rejected"
      ^^^^^^ has none of `rejected`, `outputs` and `xfail`
fix: write { rejected = "UNSUP_EARLY_EXIT" }, { outputs = { out = [1, 2] } } with the values that differ, or { xfail = "why" }; or one of them for some releases: { "<4.7" = { rejected = "ID" }, ">=4.7" = "passes" }""",
    ),
    "no nvidia id": (
        ("timeout = 2", "nvidia = { rejected = true }"),
        """q.py:7:3: BAD_NVIDIA
    # nvidia = { rejected = true }
      ^^^^^^ has rejected = True, which is not a diagnostic id
fix: write { rejected = "UNSUP_EARLY_EXIT" }, { outputs = { out = [1, 2] } } with the values that differ, or { xfail = "why" }; or one of them for some releases: { "<4.7" = { rejected = "ID" }, ">=4.7" = "passes" }""",
    ),
    "no nvidia outputs": (
        ("timeout = 2", "nvidia = { outputs = {} }"),
        """q.py:7:3: BAD_NVIDIA
    # nvidia = { outputs = {} }
      ^^^^^^ has `outputs` that name none
fix: write { rejected = "UNSUP_EARLY_EXIT" }, { outputs = { out = [1, 2] } } with the values that differ, or { xfail = "why" }; or one of them for some releases: { "<4.7" = { rejected = "ID" }, ">=4.7" = "passes" }""",
    ),
    "syntax error": (
        ("def run(width, relu, *, more=3):", "def run(width, relu"),
        """q.py:21:8: SYNTAX_ERROR
    def run(width, relu
           ^ '(' was never closed
fix: correct the Python syntax""",
    ),
    "no run": (
        ("def run(", "def runs("),
        """q.py:25:5: NO_RUN
    return {}
    ^^^^^^^^^ the file ends here without a function `run`
fix: add `def run(width, relu):` that returns a dict of arrays, e.g. `return {"out": out}`""",
    ),
    "run takes less": (
        ("def run(width, relu, *, more=3)", "def run(width)"),
        """q.py:21:5: BAD_SIGNATURE
    def run(width):
        ^^^ does not take relu
fix: write `def run(width, relu):`, or change params in the file's block""",
    ),
    "run takes more": (
        ("more=3", "more"),
        """q.py:21:5: BAD_SIGNATURE
    def run(width, relu, *, more):
        ^^^ takes more, which is not in params
fix: write `def run(width, relu):`, or change params in the file's block""",
    ),
    "mistyped check": (
        ("PTX(width=8, relu=False)-NOT:", "PTX-NTO:"),
        """q.py:17:7: BAD_CHECK
    # CHECK-PTX-NTO: max.f32
      ^^^^^^^^^^^^^ is not a CHECK line
fix: write `# CHECK-PTX: text` or `# CHECK-SASS: text`, with one of NOT NEXT SAME DAG LABEL EMPTY COUNT-N: \
`# CHECK-PTX(width=8)-NOT: text`""",
    ),
    "check of another value": (
        ("width=8, relu=False", "width=9"),
        """q.py:17:17: BAD_CHECK
    # CHECK-PTX(width=9)-NOT: max.f32
                ^^^^^^^ is not a value of a parameter
fix: one of width=8, width=16, relu=True, relu=False""",
    ),
}


@pytest.mark.parametrize("name", COMPLAINTS)
def test_complaint(path, name):
    (old, new), text = COMPLAINTS[name]
    assert complaint(path, GOOD.replace(old, new, 1)) == text


def test_no_claim(path):
    text = complaint(path, "# /// script\n# [tool.repro]\n# ///\ndef run():\n    return {}\n")
    assert text.startswith("q.py:4:1: NO_CLAIM\n    def run():\n    ^^^ the file has no claim\nfix: begin the file")


def test_collection_imports_neither_numpy_nor_torch_nor_a_compiler(path):
    path.write_text(GOOD)
    code = "import sys, pathlib, harness.plugin, harness.session, harness.claim.repro_file as r; r.read(pathlib.Path('q.py'));"
    code += "harness.session.Session(pathlib.Path('.')).hosts();"
    code += "print([m for m in sys.modules if m.partition('.')[0] in ('numpy', 'torch', 'dsl', 'llvmlite', 'cutlass', 'filecheck')])"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "['dsl', 'dsl.native_library']"  # which imports the standard library alone


@pytest.mark.parametrize("text, rule", [
    ("rel:1e-5", Rule("rel", 1e-5)), ("abs:1e-6", Rule("abs", absolute=1e-6)), ("abs:0", Rule("abs")),
    ("close:1e-5,1e-6", Rule("close", 1e-5, absolute=1e-6)), ("close:.5, 2", Rule("close", 0.5, absolute=2)),
])  # fmt: skip
def test_bounds_are_read_and_print_as_rules_that_are_read_again(path, text, rule):
    path.write_text(GOOD.replace("rel:1e-5", text))
    assert read(path).compare["other"] == rule
    path.write_text(GOOD.replace("rel:1e-5", str(rule)))
    assert read(path).compare["other"] == rule


@pytest.mark.parametrize(
    "text", ["abs:-1", "abs:", "abs:1e", "abs:inf", "close:1", "close:1,", "close:,1", "close:nan,1", "rel:1e999"]
)
def test_wrong_bounds_are_refused(path, text):
    path.write_text(GOOD.replace("rel:1e-5", text))
    with pytest.raises(ReproError, match="BAD_COMPARE"):
        read(path)
