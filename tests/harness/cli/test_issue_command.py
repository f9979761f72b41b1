"""`repro issue`."""

import re
import subprocess
import sys
from pathlib import Path

import pytest

from harness.cli import issue_command, main
from tests.harness.documents import result_of

pytestmark = pytest.mark.usefixtures("project")

PAGE = (Path(__file__).parents[3] / "docs/issue.md").read_text()
TWICE = """
import numpy as np
def run(width):
    return {"out": np.arange(width, dtype=np.float32) * 2}
def expected(width):
    return {"out": np.arange(width, dtype=np.float32) * 3}
"""


def test_a_claim(write, project, capsys):
    write(TWICE, "params = { width = [8, 16] }")
    assert main(["run", "repros/one.py", "-p", "width=8"]) == 1
    capsys.readouterr()
    assert main(["issue", "one"]) == 0
    text = capsys.readouterr().out
    assert "| 1 | 0x40400000 3.0 | 0x40000000 2.0 |\n" in text and str(project) not in text
    assert main(["issue", "one", "-o", "issue.md"]) == 0 and issue_command
    assert capsys.readouterr().out == f"wrote issue.md: {len(text)} characters\n"
    assert (project / "issue.md").read_text() == text
    assert main(["issue", "one", "--json"]) == 0
    result = result_of(capsys.readouterr().out, 0)
    assert result == {"written": None, "markdown": text, "shortened": [], "warnings": []}


def test_a_finding_keeps_its_report_in_the_record(write, project, capsys):
    write("def run():\n    return {'out': 1 // 0}")
    assert main(["run", "repros/one.py"]) == 1
    capsys.readouterr()
    assert main(["issue", "one"]) == 0
    text = capsys.readouterr().out
    assert 'File "one.py", line 6, in run\n' in text and "ZeroDivisionError" in text and str(project) not in text


def test_a_script(project, capsys):
    (project / "script.py").write_text(
        f"import sys\nprint(sys.argv[1:], '{project}/data.npy')\nraise ValueError('no')\n"
    )
    command = [sys.executable, "-c", "from harness.cli import main; raise SystemExit(main())"]
    subprocess.run([*command, "run", "script.py", "a", "--", "--b"], stdin=subprocess.DEVNULL, capture_output=True)
    assert main(["issue", "script.py"]) == 0
    text = capsys.readouterr().out
    assert text.startswith(
        "This program ends with `exit status 1`.\n\n### Got\n\nIt printed:\n\n```text\n['a', '--b'] data.npy\n"
    )
    assert 'File "script.py", line 3' in text and "python script.py a --b\n" in text
    assert "uv run repro run script.py -- a --b\n" in text and str(project) not in text


def test_nothing_is_recorded(project, capsys):
    assert main(["issue", "nothing"]) == 2
    assert capsys.readouterr().err.startswith("no record is of a claim 'nothing'")


def test_the_example_of_the_page(project, capsys):
    name, program = re.search(r"```python\n# file: (\S+)\n(.*?)```", PAGE, re.DOTALL).groups()
    (project / name).parent.mkdir()
    (project / name).write_text(program)
    shown = re.search(r"`{5}markdown\n(.*?)`{5}", PAGE, re.DOTALL)[1]
    assert main(["run", name]) == 1
    capsys.readouterr()
    assert main(["issue", Path(name).stem]) == 0
    text = capsys.readouterr().out
    parts = [part.strip() for part in re.split(r"(?m)^…$", shown)]
    places = [text.find(part) for part in parts]
    assert -1 not in places and places == sorted(places), text
