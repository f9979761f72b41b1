"""The process that answers what edits a program has: JSON lines in, JSON lines out."""

import io
import json
import subprocess
import sys

from dsl.reduction.answers import Answers, serve

SOURCE = "import os, sys\n\n\ndef unused():\n    return 1\n\n\nif sys.argv:\n    print(sys.argv)\nelse:\n    print(1)\n"


def asked(*requests):
    out = io.StringIO()
    assert serve([json.dumps(each) + "\n" for each in requests], out) == 0
    return [json.loads(line) for line in out.getvalue().splitlines()]


def test_a_pass_that_needs_lines():
    source = "def f():\n    x = 1\nf()\n"
    listed, applied, none, wrong = asked(
        {"do": "edits", "pass": "unrun", "source": source, "lines": [1, 3]},
        {"do": "apply", "pass": "unrun", "source": source, "lines": [1, 3], "edits": [0]},
        {"do": "edits", "pass": "unrun", "source": source, "lines": []},
        {"do": "edits", "pass": "unrun", "source": source, "lines": ["a"]},
    )
    assert [edit["about"] for edit in listed["edits"]] == ["`f` was not called"]
    assert applied == {"source": "def f():\n    pass\nf()\n"}
    assert none == {"edits": []}
    assert wrong == {"error": 'lines must be a list of numbers, got ["a"]'}


def test_the_passes_of_a_language_have_names_and_descriptions():
    (answer,) = asked({"do": "passes", "language": "python"})
    about = "names that are imported and not read"
    assert {"name": "imports", "about": about, "needs": "", "is_fine": False} in answer["passes"]


def test_edits_are_listed_and_applied_by_number():
    listed, applied = asked(
        {"do": "edits", "pass": "branches", "source": SOURCE},
        {"do": "apply", "pass": "branches", "source": SOURCE, "edits": [1]},
    )
    assert [(each["id"], each["about"], each["line"]) for each in listed["edits"]] == [
        (0, "always take the branch", 8),
        (1, "always take the else", 8),
        (2, "drop the else", 11),
    ]
    assert [each["gain"] for each in listed["edits"]] == [3, 3, 2]
    assert applied["source"] == SOURCE.partition("if")[0] + "print(1)\n"


def test_edits_that_want_different_things_of_one_place_leave_the_first():
    (applied,) = asked({"do": "apply", "pass": "branches", "source": SOURCE, "edits": [0, 1]})
    assert applied["source"] == SOURCE.partition("if")[0] + "print(sys.argv)\n"


def test_a_wrong_request_is_answered_and_the_process_goes_on():
    out = io.StringIO()
    lines = ["{\n", "\n", "[1]\n", '{"do": "passes", "language": "lisp"}\n', '{"do": "passes", "language": "python"}\n']
    assert serve(lines, out) == 0
    errors = [json.loads(line) for line in out.getvalue().splitlines()]
    assert ["error" in each for each in errors] == [True, True, True, False]
    assert errors[2]["error"].startswith("language must be one of python")


def test_text_that_is_not_a_program_is_an_error():
    requests = [{"do": "edits", "pass": "outer", "source": source} for source in ("a = (", "\ud800", "a\0")]
    assert all("this is not a python program" in each["error"] for each in asked(*requests))
    (answer,) = asked({"do": "edits", "pass": "none", "source": ""})
    assert answer["error"] == "there is no pass 'none'; ask for the passes of a language first"
    (answer,) = asked({"do": "apply", "pass": "outer", "source": "a = 1\n", "edits": [7]})
    assert answer["error"] == "edits must be numbers from 0 to 0, got [7]"


def test_no_edits_are_refused():
    (answer,) = asked({"do": "apply", "pass": "outer", "source": "a = 1\n", "edits": []})
    assert answer == {"refused": "the text stays as it is"}


def test_the_process_answers_until_its_input_ends():
    request = json.dumps({"do": "apply", "pass": "strings", "source": 'a = "zwölf Zeichen"\n', "edits": [0]})
    done = subprocess.run(
        [sys.executable, "-m", "dsl", "reductions"], input=request + "\n", capture_output=True, text=True
    )
    assert (done.returncode, done.stdout, done.stderr) == (0, '{"source": "a = \\"\\"\\n"}\n', "")


def test_programs_are_read_once():
    answers = Answers()
    answers.answer({"do": "edits", "pass": "outer", "source": SOURCE})
    kept = answers._program("python", SOURCE)
    answers.answer({"do": "apply", "pass": "outer", "source": SOURCE, "edits": [0]})
    assert answers._program("python", SOURCE) is kept
