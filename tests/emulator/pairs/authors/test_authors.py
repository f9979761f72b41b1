"""Mistakes in CuTe DSL, Quadrants and TIRx: at the default seed each wrong program is found at the author's line, with a
fix in the words of the language, and the edit that the finding proposes cures it. Each right one is silent and computes
what numpy does.

Modules tested here: dsl/emulator/diagnosis/reasons/handovers.py, dsl/emulator/diagnosis/reasons/flag_relays.py.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import NamedTuple

import pytest

from tests import fork_server
from tests.edits import applied
from tests.emulator.pairs.authors import cute_copies, cute_threads, quadrants, tirx
from tests.emulator.pairs.authors.program import Pair
from tests.emulator.pairs.cuda import test_cuda
from tests.emulator.pairs.test_pairs import PAIRS
from tests.emulator.pairs.triton import test_triton

DOCS = Path(__file__).parents[4] / "docs"
LANGUAGES = {each.__name__.rpartition(".")[2]: each.PAIRS for each in (cute_copies, cute_threads, quadrants, tirx)}
CASES = [(name, number) for name, pairs in LANGUAGES.items() for number in range(len(pairs))]
DRIVER = """import json, runpy, sys, warnings
import numpy as np
for file in sys.argv[1:]:
    text, edit, is_right, outcome = "", None, False, ""
    with warnings.catch_warnings(record=True) as warned:
        warnings.simplefilter("always")
        try:
            names = runpy.run_path(file, run_name="__main__")
            is_right = bool(np.array_equal(names["out"], names["expected"]))
            outcome = names["out"].tobytes().hex()
        except Exception as error:
            text, edit = str(error), (getattr(error, "finding", None) or {}).get("edit")
            outcome = text.partition("\\n")[0]
    print(json.dumps([file, text, edit, is_right, [str(each.message) for each in warned], outcome]))
"""


class Report(NamedTuple):
    """The end of a program: the text of its error, the edit of its finding, whether its result is right, its warnings, and
    the result or the first line of the error."""

    text: str
    edit: dict | None
    is_right: bool
    warned: list[str]
    outcome: str


def run(folder: Path, files: list[str], *options: str) -> dict[str, Report]:
    (folder / "driver.py").write_text(DRIVER)
    done = fork_server.run(["-m", "dsl", *options, "driver.py", *files], cwd=folder)
    assert done.returncode == 0, done.stderr
    rows = [json.loads(row) for row in done.stdout.splitlines() if row.startswith("[")]
    return {file: Report(*rest) for file, *rest in rows}


@pytest.fixture(scope="module")
def reports(tmp_path_factory) -> dict[str, Report]:
    """By file: NAME0wrong.py, NAME0right.py, and NAME0edited.py with the edit of the first one's finding."""
    found: dict[str, Report] = {}
    for name, pairs in LANGUAGES.items():
        folder = tmp_path_factory.mktemp(name)
        texts = {f"{name}{number}{kind}.py": pair.source(kind == "right")
                 for number, pair in enumerate(pairs) for kind in ("wrong", "right")}  # fmt: skip
        for file, text in texts.items():
            (folder / file).write_text(text)
        found |= run(folder, list(texts))
        edited = {}
        for file, text in texts.items():
            if (edit := found[file].edit) is not None:
                assert edit["file"] == file
                edited[file.replace("wrong", "edited")] = applied(text, edit)
        for file, text in edited.items():
            (folder / file).write_text(text)
        found |= run(folder, list(edited))
    return found


def pair_of(case: tuple[str, int]) -> Pair:
    return LANGUAGES[case[0]][case[1]]


@pytest.mark.parametrize("case", CASES, ids=lambda case: f"{case[0]}: {pair_of(case).name}")
def test_the_wrong_one_is_found_and_the_right_one_is_silent(case, reports):
    pair, file = pair_of(case), f"{case[0]}{case[1]}"
    wrong, right = reports[f"{file}wrong.py"], reports[f"{file}right.py"]
    head, message = wrong.text.split("\n")[0], wrong.text
    assert head.startswith(f"{file}wrong.py:{pair.line}:") and head.endswith(f": {pair.kind}"), message
    assert pair.text in message and pair.fix in message.partition("\nfix: ")[2], message
    assert right == Report("", None, True, [], right.outcome), right.text


@pytest.mark.parametrize("case", CASES, ids=lambda case: f"{case[0]}: {pair_of(case).name}")
def test_the_edit_cures_and_brings_no_other_finding(case, reports):
    file = f"{case[0]}{case[1]}"
    if reports[f"{file}wrong.py"].edit is not None:
        edited = reports[f"{file}edited.py"]
        assert edited == Report("", None, True, [], edited.outcome), edited.text


def test_the_pages_have_the_numbers():
    """How many programs there are, and how many propose an edit."""
    cutes = EDITS["cute_copies"] + EDITS["cute_threads"], len(cute_copies.PAIRS) + len(cute_threads.PAIRS)
    qds, tirxs = (EDITS["quadrants"], len(quadrants.PAIRS)), (EDITS["tirx"], len(tirx.PAIRS))
    cudas = sum(test_cuda.EDITS.values()), sum(map(len, test_cuda.PAIRS.values()))
    tritons = len(test_triton.EDITS), len(test_triton.PAIRS)
    fixes, checkers = (" ".join((DOCS / name).read_text().split()) for name in ("fixes.md", "checkers.md"))
    rows = zip(
        (cutes, qds, tirxs, cudas, tritons),
        ("kernels in CuTe DSL", "in Quadrants", "in TIRx", "in CUDA C++", "in Triton"),
    )
    for (edits, count), language in rows:
        assert f" {edits} of {count} {language}" in fixes, language
        assert f" {count} {language.removeprefix('kernels ')}" in checkers, language
    every = len(PAIRS) + sum(each[1] for each in (cutes, qds, tirxs, cudas, tritons))
    assert f"has {every} kernels with a mistake" in checkers and f" {len(PAIRS)} in PTX" in checkers


def test_how_many_propose_an_edit(reports):
    assert {name: sum(reports[f"{name}{n}wrong.py"].edit is not None for n in range(len(pairs)))
            for name, pairs in LANGUAGES.items()} == EDITS  # fmt: skip


EDITS = {"cute_copies": 9, "cute_threads": 5, "quadrants": 4, "tirx": 7}


@pytest.mark.slow
def test_the_result_of_many_depends_on_the_order(tmp_path_factory):
    """Without checks: the right result in some order of the threads, or different ones."""
    count = 0
    for name, pairs in LANGUAGES.items():
        folder = tmp_path_factory.mktemp(name)
        files = [f"{name}{number}.py" for number in range(len(pairs))]
        for file, pair in zip(files, pairs):
            (folder / file).write_text(pair.source(False))
        runs = [run(folder, files, "--check", "none", "--seed", seed) for seed in "012"]
        for file in files:
            every = [each[file] for each in runs]
            count += any(each.is_right for each in every) or len({each.outcome for each in every}) > 1
    assert count >= 25
