"""The examples of docs/object-state.md print what the page shows."""

import re
from pathlib import Path

import pytest

from tests import fork_server

PAGE = Path(__file__).parents[2] / "docs" / "object-state.md"
EXAMPLES = re.findall(r"^```python\n(.*?)^```\n```text\n(.*?)^```$", PAGE.read_text(), re.MULTILINE | re.DOTALL)


@pytest.mark.parametrize("number", range(len(EXAMPLES)))
def test_example(number, tmp_path):
    program, expected = EXAMPLES[number]
    file = tmp_path / "example.py"
    file.write_text(program)
    run = fork_server.run(["-m", "dsl", "--device", "emulator", str(file)])
    printed = run.stdout if run.returncode == 0 else re.sub(r"^\S*example\.py:", "", run.stderr, flags=re.MULTILINE)
    lines = [line for line in printed.splitlines() if "PortabilityWarning" not in line]
    assert "\n".join(lines[-len(expected.splitlines()) :]) + "\n" == expected


def test_the_page_has_its_examples():
    assert len(EXAMPLES) == 4
