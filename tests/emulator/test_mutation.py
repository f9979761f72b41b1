"""The mutants of a C++ file; a test that fails, crashes or hangs kills one."""

import collections
import json
import subprocess
import sys

import pytest

from tests.emulator import mutation
from tests.emulator.mutation import Mutant, Run, Stop, mutants

FILE = """#include <shared.h>
#define AT_LEAST(a, b) if (a < b) return a && b ? a : b
static_assert(sizeof(u32) == 4 && sizeof(u64) == 8);
template <u32 what> u32 first(u32 a, u32 b) {
  if constexpr (what == 1) return 1;
  if (what == 2 && a) return 2;
  if (u32 both = a & b) return both;
  if (u32 both = a | b; both > 3) return both;
  else if (b) return a ? b : 3;
  AT_LEAST(a, 7);
  while (a || b || a > b) --a;
  return 0;
}
"""


def changes(text, path):
    path.write_text(text)
    return [(each.line, each.kind, each.was, each.text) for each in mutants(path)]


def test_conditions_that_are_changed(tmp_path):
    made = changes(FILE, tmp_path / "some.cc")
    assert [(line, kind, was) for line, kind, was, _ in made] == [
        *((2, kind, "a < b") for kind in ("false", "negated", "true")),
        (6, "dropped", "what == 2"),
        *((6, kind, "what == 2 && a") for kind in ("false", "negated", "true")),
        (6, "dropped", "a"),
        *((8, kind, "both > 3") for kind in ("false", "negated", "true")),
        *((9, kind, "b") for kind in ("false", "negated", "true")),
        *((9, kind, "a") for kind in ("false", "negated", "true")),
        *((11, "dropped", was) for was in ("a", "b", "a > b")),
    ]
    assert {text for *_, text in made if "both" in text} == {
        "!(both > 3)", "((void)(both > 3), true)", "((void)(both > 3), false)"
    }  # fmt: skip
    assert [text for line, kind, _, text in made if kind == "dropped"] == ["true", "true", "false", "false", "false"]


def test_a_mutant_is_the_file_with_its_text(tmp_path):
    path = tmp_path / "some.cc"
    path.write_text(FILE)
    one = next(each for each in mutants(path) if each.line == 6 and each.kind == "false")
    assert FILE[: one.start] + one.text + FILE[one.end :] == FILE.replace(
        "if (what == 2 && a)", "if (((void)(what == 2 && a), false))"
    )
    assert len({one.key(FILE), one.key(FILE + "\n"), mutants(path)[0].key(FILE)}) == 3


def test_a_file_that_clang_cannot_read_is_an_error(tmp_path):
    with pytest.raises(SyntaxError, match="unknown type name 'u33'"):
        changes("#include <shared.h>\nu33 first();\n", tmp_path / "some.cc")


def test_each_file_of_the_table_has_tests_that_are_there():
    root = mutation.ROOT / mutation.TESTS
    for stages in (*mutation.TESTS_OF.values(), mutation.ELSE):
        assert [each for stage in stages for each in stage if not (root / each).exists()] == []


class Tree:
    """In place of one that builds and runs tests: what becomes of a mutant is in its line."""

    def __init__(self, folder, outcomes):
        self.folder, self.outcomes, self.stopped, self.tried = folder, outcomes, False, []

    def build(self):
        self.text = (self.folder / "dsl/emulator/runtime/some.cc").read_text()
        return "no" if "void" in self.text else ""

    def test(self, files, limit_s):
        self.tried.append((self.text, files))
        return self.outcomes.get((self.text, files), "passed"), "a test"

    def end(self):
        self.stopped = True


MUTANT = Mutant("runtime/some.cc", 1, "negated", "a", 4, 5, "!(a)")


@pytest.fixture
def run(tmp_path, monkeypatch):
    monkeypatch.setattr(mutation, "TESTS_OF", {"some.cc": (("first",), ("second",))})
    (tmp_path / "dsl/emulator/runtime").mkdir(parents=True)
    (tmp_path / "dsl/emulator/runtime/some.cc").write_text("if (a) b;")

    def go(outcomes, mutant=MUTANT, again=False):
        tree = Tree(tmp_path, outcomes)
        one = Run([tree], tmp_path / "results.json", again)
        one.limits = {("first",): 1, ("second",): 1}
        todo = one.plan([(mutant, mutant.key("if (a) b;"))])
        one.go(todo)
        assert (tmp_path / "dsl/emulator/runtime/some.cc").read_text() == "if (a) b;"
        kept = json.loads((tmp_path / "results.json").read_text())
        return kept[mutant.key("if (a) b;")], tree.tried

    return go


def test_a_mutant_is_tested_until_a_test_tells_it(run):
    row, tried = run({("if (!(a)) b;", ("first",)): "crashed"})
    assert (row["outcome"], row["test"]) == ("crashed", "a test") and tried == [("if (!(a)) b;", ("first",))]


def test_a_survivor_has_passed_all_tests_and_may_be_tried_again(run):
    row, tried = run({})
    assert row["outcome"] == "survived" and [files for _, files in tried] == [("first",), ("second",)]
    assert run({})[1] == []  # it is known
    row, tried = run({("if (!(a)) b;", ("second",)): "hung"}, again=True)
    assert row["outcome"] == "hung" and len(tried) == 2
    assert run({}, again=True)[1] == []


def test_a_mutant_that_does_not_compile_is_not_tested(run):
    row, tried = run({}, Mutant("runtime/some.cc", 1, "true", "a", 4, 5, "(void)a"))
    assert row["outcome"] == "not built" and tried == []


ROWS = """# file | change | condition | why it changes nothing

some.cc | true | a | b | equal
some.cc | true | c | equal
other.cc | false | c | equal
"""


def test_the_table_begins_with_what_survives_without_a_reason():
    row = dict(file="some.cc", line=3, kind="true", was="a |\n  b", start=4, outcome="survived")
    rows = [row, {**row, "line": 9, "start": 90}, {**row, "was": "c", "outcome": "hung"}]
    rows += [
        {**row, "kind": "false"},
        {**row, "outcome": "not built"},
        {**row, "file": "third.cc", "outcome": "failed"},
    ]
    text, left = mutation.table(rows, mutation.equivalents(ROWS))
    assert left == 2 and text.splitlines() == [
        "some.cc:3 false `a | b`: survived",
        "some.cc:9 true `a | b`: survived",
        "| file | mutants | killed | not built | equivalent | survived |",
        "|---|---|---|---|---|---|",
        "| some.cc | 5 | 1 | 1 | 1 | 2 |",
        "| third.cc | 1 | 1 | 0 | 0 | 0 |",
        "in equivalent_mutants.txt, and did not survive: some.cc | true | c",
    ]


def test_each_equivalent_mutant_is_one_of_its_file():
    rows = mutation.equivalents(mutation.EQUIVALENT.read_text())
    found = collections.Counter()
    for file in {file for file, *_ in rows}:
        made = mutants(mutation.EMULATOR / file)
        found.update((each.file, each.kind, " ".join(each.was.split())) for each in made)
    assert +(rows - found) == collections.Counter()


@pytest.mark.parametrize(
    "body, outcome",
    [
        ("pass", "passed"),
        ("assert False", "failed"),
        ("import os; os.abort()", "crashed"),
        pytest.param("import time; time.sleep(3600)", "hung", marks=pytest.mark.slow),
    ],
)
def test_a_tree_reports_the_outcome_of_its_tests(tmp_path, monkeypatch, body, outcome):
    tree = mutation.Tree.__new__(mutation.Tree)
    tree.folder, tree.note, tree.stopped, tree._process = tmp_path, tmp_path / "note", False, None
    for name in ("emulator/mutation.py", "emulator/test_some.py"):
        (tmp_path / "tests" / name).parent.mkdir(parents=True, exist_ok=True)
    (tmp_path / "tests/emulator/mutation.py").write_text((mutation.ROOT / "tests/emulator/mutation.py").read_text())
    (tmp_path / "dsl").symlink_to(mutation.ROOT / "dsl")
    (tmp_path / "tests/emulator/test_some.py").write_text(
        "import pytest\n"
        f"def test_it():\n    {body}\n"
        "@pytest.mark.slow\ndef test_slow():\n    assert False\n"
    )  # fmt: skip
    limit = 20 if outcome == "hung" else None
    assert tree.test(("test_some.py",), limit) == (outcome, "tests/emulator/test_some.py::test_it")


def test_a_run_stops_if_it_fails_without_a_change(run):
    one = Run([Tree(None, {})], mutation.ROOT / "nowhere.json", False)
    one.trees[0].build = lambda: "it does not compile"
    with pytest.raises(Stop, match="it does not compile"):
        one.measure([(MUTANT, "")])


def test_the_list_needs_no_results():
    command = [sys.executable, "tests/emulator/mutation.py", "machine/threads.cc", "--list"]
    done = subprocess.run(command, capture_output=True, text=True, cwd=mutation.ROOT, check=True)
    assert done.stdout.splitlines()[-1].endswith(" mutants")
