"""Every case of cases/ does here what the record shows for Quadrants, or what differs.toml lists with a reason.

A value is compared with its type and every bit, text that is printed character by character. An error is of the class
that it has there, or a subclass: its words are our own.

Modules tested here: dsl/quadrants/functions/parameter_kinds.py, dsl/quadrants/functions/struct_types.py,
dsl/quadrants/memory/struct_field.py, dsl/quadrants/memory/tensor.py, dsl/quadrants/syntax/expression.py, dsl/quadrants/syntax/grammar.py,
dsl/quadrants/syntax/hooks.py, dsl/quadrants/syntax/rewrite_expression.py, dsl/quadrants/syntax/rewrite_statement.py,
dsl/quadrants/values/structure.py.
"""

import json
import os
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

HERE = Path(__file__).resolve().parent
RECORD = json.loads((HERE / "record.json").read_text())["cases"]
DIFFERS = tomllib.loads((HERE / "differs.toml").read_text())


def table(package: str, *command: str) -> dict:
    """The row of every case, by one run of record.py, which must find this package."""
    run = subprocess.run(
        [sys.executable, *command],
        capture_output=True,
        text=True,
        timeout=900,
        cwd=HERE.parents[2],
        env=dict(os.environ, GPU_REPRO_CACHE="0"),
    )
    assert run.returncode == 0, run.stdout[-2000:] + run.stderr[-4000:]
    found = json.loads(run.stdout)
    assert found["package"] == package
    return found["cases"]


def agree(found: dict, recorded: dict) -> bool:
    """Whether the row of a case agrees with its record."""
    if "raises" in recorded:
        return "raises" in found and recorded["raises"] in (found["raises"], *found["bases"])
    return found == recorded


@pytest.fixture(scope="module")
def ours(request) -> dict:
    """The rows here of the cases whose tests run."""
    names = {
        item.callspec.params["name"]
        for item in request.session.items
        if item.path == Path(__file__) and hasattr(item, "callspec")
    }
    return table("dsl.quadrants", "-m", "dsl", "--device", "emulator", str(HERE / "record.py"), *sorted(names))


@pytest.mark.parametrize("name", sorted(RECORD))
def test_a_case_does_what_quadrants_does(name, ours):
    found, recorded = ours[name], RECORD[name]
    if name not in DIFFERS:
        assert agree(found, recorded), (found, recorded)
        return
    assert not agree(found, recorded), f"differs.toml names {name}, which no longer differs"
    expected = json.loads(DIFFERS[name]["ours"])
    assert {key: found.get(key) for key in expected} == expected, found
    assert "crash" not in found and DIFFERS[name]["why"]


@pytest.mark.slow
def test_the_record_and_the_cases_are_of_one_another():
    ours = table("dsl.quadrants", "-m", "dsl", "--device", "emulator", str(HERE / "record.py"))
    assert ours.keys() == RECORD.keys() and DIFFERS.keys() <= RECORD.keys()
    assert len(RECORD) >= 250


def test_every_error_has_a_text(ours):
    assert [name for name, row in ours.items() if "raises" in row and not row["says"]] == []


@pytest.mark.slow
def test_the_record_is_what_quadrants_does(needs_module):
    """Every tenth case, live."""
    needs_module("quadrants", "quadrants")
    names = sorted(RECORD)[::10]
    found = table("quadrants", str(HERE / "record.py"), *names)
    assert {name: found[name] for name in names} == {name: RECORD[name] for name in names}
