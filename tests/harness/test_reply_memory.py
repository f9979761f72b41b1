"""A run of many cases keeps few of their replies in memory."""

import json
import tracemalloc

import numpy as np

from harness import judge, session
from harness.host.hosts import Host
from harness.run import result

SIZE = 1 << 20  # elements of an output, of 4 bytes; characters of a kernel's PTX
BYTES = 5 * SIZE  # of a reply
CONFTEST = """
import gc
from harness.run.result import Outcome
most = 0

def pytest_runtest_logfinish(nodeid, location):
    global most
    gc.collect()
    most = max(most, sum(isinstance(one, Outcome) and bool(one.outputs) for one in gc.get_objects()))

def pytest_terminal_summary(terminalreporter):
    terminalreporter.line(f"at most {most} outcomes")
"""


def reply(number: int) -> tuple[dict, list[bytes]]:
    array = np.arange(number, number + SIZE, dtype=np.int32)
    kernel = {"name": "k", "arch": "sm_90", "ptx": f"//{number}" + "x" * SIZE, "launches": []}
    facts = {"device": {"kind": "emulator", "name": "e", "arch": "sm_90"}, "kernels": [kernel]}
    outputs = [{"name": "o", "dtype": "int32", "shape": [array.size]}]
    header = {"kind": "reply", "status": {"exit": 0}, "stdout": "", "stderr": "", "fault": "", "timeout_s": 1.0}
    return header | {"durations": {}, "result": {"outcome": "outputs", "outputs": outputs, "facts": facts}}, [
        array.tobytes()
    ]


def test_a_session_keeps_none_of_what_it_took(write, tmp_path, monkeypatch):
    monkeypatch.delenv("CI", raising=False)
    repro = write("def run(n): ...", "params = { n = [0, 1, 2, 3, 4, 5, 6, 7] }")
    for update in (False, True):
        run = session.Session(tmp_path)
        tracemalloc.start()
        try:
            for number, case in enumerate(repro.cases()):
                verdict = judge.judge(case, Host("p1", "emulator"), result.from_reply(*reply(number)), tmp_path, update)
                run.take(session.as_data(verdict, repro.path, False))
                del verdict
                assert tracemalloc.get_traced_memory()[0] < 2 * BYTES
            run.finish(interrupted=False)
            assert tracemalloc.get_traced_memory()[0] < 2 * BYTES and run.errors == []
        finally:
            tracemalloc.stop()
    goldens = sorted((tmp_path / "repros/goldens/one").glob("*.json"))
    assert len(goldens) == 8  # each with its own values
    assert len({json.loads(path.read_text())["outputs"]["o"]["sha256"] for path in goldens}) == 8


def test_pytest_keeps_none_either(repros, pytester):
    folder = repros(one=("def run(n):\n    return {'o': np.arange(n)}", "params = { n = [1, 2, 3, 4, 5, 6] }"))
    path = folder / "one.py"
    path.write_text(path.read_text().replace('"""It is so."""', '"""It is so."""\nimport numpy as np'))
    pytester.makeconftest(CONFTEST)
    said = pytester.runpytest_subprocess("repros", "--update-goldens").stdout.str()
    assert "6 passed" in said and "at most 0 outcomes" in said
