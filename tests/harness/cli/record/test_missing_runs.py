"""Missing runs of a comparison are made, recorded and compared; the impossible ones are reported.

Modules tested here: harness/cli/record/compare_command.py.
"""

from harness.cli import main
from harness.cli.record import missing_runs
from tests.harness.documents import result_of

REPRO = '''# /// script
# dependencies = ["numpy"]
# [tool.repro]
# params = { width = [8, 16] }
# ///
"""It is so."""
import numpy as np
def run(width):
    return {"out": np.arange(width)}
def expected(width):
    return {"out": np.arange(width)}
'''


def test_missing_runs_are_counted_run_and_compared(needs, tmp_path, monkeypatch, capsys):
    needs("ssh", "openssh-client")
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("CI", raising=False)
    (tmp_path / "pyproject.toml").write_text("")
    (tmp_path / "repros").mkdir()
    (tmp_path / "repros/count.py").write_text(REPRO)
    assert main(["run", "repros/count.py", "-p", "width=8"]) == 0
    capsys.readouterr()
    # The other side cannot run here: its runs are counted, tried and reported; our runs are made.
    status = main(["record", "compare", "ours", "nvidia==0.0.1", "count::width=8", "--no-run"])
    found = capsys.readouterr()
    assert status == 0 and found.out.endswith(
        "\n0 compared: 0 the same\n\nnot compared: 1 run missing\n"
        "    claim           side           host      compiler       why\n"
        "    count::width=8  nvidia==0.0.1  embedded  nvidia==0.0.1  only ours has a record\n"
    )
    assert main(["record", "compare", "host=embedded", "host=nowhere", "repros/count.py"]) == 3
    found = capsys.readouterr()
    assert found.err.startswith("3 runs are missing (--no-run leaves them out):\n    2 by ours on nowhere\n")
    assert "    1 by ours on embedded\n" in found.err
    assert "pass: not accepted yet  repros/count.py::width=16  embedded ours\n" in found.err
    assert "not run: 2 runs on nowhere by ours: unknown host 'nowhere': the hosts are " in found.err
    assert main(["record", "history", "count", "--json"]) == 0
    assert len(result_of(capsys.readouterr().out, 0)["records"]) == 2


def test_only_what_has_a_place_can_be_run():
    rows = [{"host": "p1", "compiler": "ours"}, {"host": None, "compiler": None}]
    rows.append({"host": "p1", "compiler": "ours, torch==2.9.0"})
    assert missing_runs.runnable(rows) == rows[:1]
