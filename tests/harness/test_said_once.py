"""Four cases that cannot be run for one reason."""

import textwrap

from harness.cli import main
from harness.run import result
from harness.said_once import SaidOnce
from harness.verdict import Verdict


def infra(text: str) -> Verdict:
    return Verdict("infra", "could not be run", text, result.infra(text), {})


def test_another_reason_is_another_text():
    said, first, second = SaidOnce(), infra("no disk"), infra("no driver")
    assert said.shown(first, "a") is first and said.shown(second, "b") is second
    assert said.shown(infra("no disk"), "c").text == "could not be run, for the reason given at a"
    assert said.shown(infra("no disk"), "a").text == "no disk"
    failed = Verdict("fail", "", "no disk", result.infra(""), {})
    assert said.shown(failed, "d") is failed


def test_repro_run_prints_it_once(on_host, tmp_path, capsys, monkeypatch):
    on_host()
    monkeypatch.chdir(tmp_path)
    block = '# /// script\n# [tool.repro]\n# params = { width = [8, 16, 24, 32] }\n# ///\n"""It is so."""\n'
    body = "import numpy as np\ndef run(width):\n    return {'out': np.zeros(width)}\n"
    (tmp_path / "one.py").write_text(block + textwrap.dedent(body))
    assert main(["run", "one.py", "--host", "p1", "--set", "python=/no/such/python"]) == 3
    said = capsys.readouterr().out
    assert said.count("there is no program /no/such/python on the host") == 1
    assert said.count("could not be run, for the reason given at one.py::width=8\n") == 3
