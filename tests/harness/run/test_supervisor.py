"""Real processes: how a repro ends, and that nothing of it stays.

Modules tested here: harness/run/transport.py.
"""

import signal
import subprocess
import sys
import uuid

import pytest

from harness import judge
from harness.run import frames
from harness.run.transport import Local
from tests.harness.conftest import wait_until


@pytest.fixture
def outcome_of(write, embedded):
    """Run a repro of this body on the embedded host."""
    host, transport = embedded

    def outcome_of(body: str, table: str = "", fresh: bool = False):
        case = next(write(body, table).cases())
        return judge.run(transport, case, host, fresh=fresh)

    return outcome_of


ARRAY = """
import numpy as np, os, sys
print("to stdout"); print("to stderr", file=sys.stderr)
def run(): return {"out": np.array([1, 2], np.int16), "here": np.array(os.getsid(0) == os.getpid())}
"""


@pytest.mark.parametrize("fresh", [False, True])
def test_outputs(outcome_of, fresh):
    outcome = outcome_of(ARRAY, fresh=fresh)
    assert (outcome.kind, outcome.stdout, outcome.stderr) == ("outputs", "to stdout\n", "to stderr\n")
    assert outcome.outputs["out"].values().tolist() == [1, 2] and outcome.outputs["out"].dtype.name == "int16"
    assert outcome.outputs["here"].values().tolist() is True
    assert set(outcome.durations) == {"load_s", "call_s", "run_s", "warm_s"}


def test_each_case_has_its_own_process(outcome_of):
    body = (
        "import numpy as np, sys\nsys.seen = getattr(sys, 'seen', 0) + 1\ndef run(): return {'n': np.array(sys.seen)}"
    )
    assert [outcome_of(body).outputs["n"].values().tolist() for _ in range(2)] == [1, 1]


def test_the_repro_is_a_module_whose_source_can_be_read(outcome_of):
    body = """
    import inspect, numpy as np, sys
    def run():
        assert __name__ != "__main__" and sys.modules[__name__].run is run and sys.argv == [__file__]
        return {"n": np.array(len(inspect.getsource(run).splitlines()))}
    """
    outcome = outcome_of(body)
    assert outcome.kind == "outputs", outcome.text
    assert outcome.outputs["n"].values().tolist() == 3


@pytest.mark.parametrize("fresh", [False, True])
def test_segfault(outcome_of, fresh):
    outcome = outcome_of("import ctypes\ndef run():\n    ctypes.string_at(0)", fresh=fresh)
    assert outcome.kind == "crash" and outcome.detail == {"signal": "SIGSEGV"}
    assert "Segmentation fault" in outcome.text and 'one.py", line 7 in run' in outcome.text
    assert "runner.py" not in outcome.text and "supervisor.py" not in outcome.text


def test_an_alarm_that_the_program_sets_is_reported(outcome_of):
    body = "import signal\ndef run():\n    signal.alarm(1)\n    while True:\n        pass"
    outcome = outcome_of(body)
    assert (outcome.kind, outcome.detail) == ("crash", {"signal": "SIGALRM"})
    assert outcome.text.startswith("the repro's process died of SIGALRM\n(most recent call first):\n")
    assert 'one.py", line ' in outcome.text


def test_a_timeout_reports_where_it_was(outcome_of):
    outcome = outcome_of("def run():\n    while True:\n        pass", "timeout = 0.5")
    assert outcome.kind == "timeout"
    assert outcome.text.startswith("the repro did not end within 0.5 s and was killed\nit was here:\n")
    assert "line 8 in run" in outcome.text or "line 7 in run" in outcome.text


@pytest.mark.slow
def test_a_timeout_that_ignores_every_signal(outcome_of):
    body = """
    import signal
    def run():
        for number in set(signal.Signals) - {signal.SIGKILL, signal.SIGSTOP}:
            signal.signal(number, signal.SIG_IGN)
        while True: pass
    """
    assert outcome_of(body, "timeout = 0.5").kind == "timeout"


LEAVER = """
import subprocess, os, time, numpy as np
def run():
    deep = ["sh", "-c", "setsid sh -c 'sleep 997 & sleep 997' &"]
    for command in (["sleep", "997"], ["setsid", "sleep", "997"], deep):
        subprocess.Popen(command)
    time.sleep(0.1)
    {end}
"""


@pytest.mark.parametrize("end", ["return {'out': np.zeros(1)}", "os.abort()", "time.sleep(99)"])
def test_nothing_stays(outcome_of, processes_with, monkeypatch, end):
    mark = f"REPRO_TEST_{uuid.uuid4().hex}"
    monkeypatch.setenv(mark, "1")
    outcome = outcome_of(LEAVER.replace("{end}", end), "timeout = 0.6")
    assert outcome.kind in ("outputs", "crash", "timeout")
    assert [line for line in processes_with(mark) if "supervisor" not in line] == []


@pytest.mark.parametrize("how", [signal.SIGTERM, signal.SIGKILL])
def test_a_client_that_dies_takes_everything_with_it(write, processes_with, tmp_path, monkeypatch, how):
    mark = f"REPRO_TEST_{uuid.uuid4().hex}"
    monkeypatch.setenv(mark, "1")
    write(LEAVER.replace("{end}", "open('started', 'w'); time.sleep(99)"))
    code = "import sys; from harness.cli import main; main(['run', 'repros/one.py'])"
    client = subprocess.Popen([sys.executable, "-c", code], cwd=tmp_path, stdout=subprocess.DEVNULL)
    wait_until(lambda: (tmp_path / "started").exists())
    client.send_signal(how)
    client.wait()
    wait_until(lambda: not processes_with(mark))


def test_exit_without_a_result(outcome_of):
    assert outcome_of("import os\ndef run():\n    os._exit(0)").text == (
        "the repro's process ended with exit status 0 before run() returned"
    )
    text = outcome_of("import sys\ndef run():\n    sys.exit(3)").text
    assert text.startswith("the repro called sys.exit(3)\nTraceback") and "harness" not in text


def test_the_authors_exception_without_our_frames(outcome_of, tmp_path):
    outcome = outcome_of("def half(x):\n    return x['a']\ndef run():\n    return half(3)")
    path = tmp_path / "repros/one.py"
    assert outcome.kind == "error"
    assert [line for line in outcome.text.splitlines() if "^" not in line and "~" not in line] == [
        "Traceback (most recent call last):",
        f'  File "{path}", line 8, in run',
        "    return half(3)",
        f'  File "{path}", line 6, in half',
        "    return x['a']",
        "TypeError: 'int' object is not subscriptable",
    ]
    assert "runner.py" in outcome.full_text


RETURNS = {
    "[1]": "returned a list",
    "None": "returned None",
    "{}": "returned an empty dict: there is nothing to judge",
    "{'a': 1}": "returned an int for 'a'",
    "{1: np.zeros(1)}": "returned the name 1, which is not a string",
    "{'a': np.array(['x'])}": "returned an array of <U1 for 'a'",
    "{'a': np.zeros(1, complex)}": "returned an array of complex128 for 'a'",
    "{'a': np.zeros(9 << 20)}": "returned 75497472 bytes, and the limit is 67108864",
}


@pytest.mark.slow
@pytest.mark.parametrize("returned", RETURNS)
def test_values_that_run_may_not_return(outcome_of, tmp_path, returned):
    outcome = outcome_of(f"import numpy as np\ndef run():\n    return {returned}")
    fix = 'fix: return a dict of name to torch tensor or numpy array from run(), e.g. `return {"out": out}`'
    assert outcome.kind == "error"
    place, *rest = outcome.text.splitlines()
    assert place.endswith("one.py:6: BAD_RETURN")
    assert rest == ["    def run():", f"        ^^^ {RETURNS[returned]}", fix]


def test_an_exception_that_is_an_outcome(outcome_of):
    body = """
    class E(Exception):
        repro_outcome = {"outcome": "trap", "kind": "trap", "file": __file__, "line": 3, "text": "trap in block 0"}
    def run():
        raise E
    """
    outcome = outcome_of(body)
    assert (outcome.kind, outcome.text, outcome.detail["kind"]) == ("trap", "trap in block 0", "trap")


def test_a_torrent_of_output_keeps_its_head_and_tail(outcome_of):
    body = "import numpy as np\ndef run():\n    print('a' * 9_000_000 + 'end\\x1b[31m')\n    return {'o': np.zeros(1)}"
    stdout = outcome_of(body).stdout
    assert stdout.startswith("aaa") and stdout.endswith(r"aend\x1b[31m" "\n") and "bytes left out" in stdout
    assert len(stdout) < frames.TEXT_LIMIT_BYTES + 100


def test_output_of_grandchildren_and_of_c_is_captured(outcome_of):
    body = """
    import os, numpy as np
    def run():
        os.system("echo from sh")
        os.write(1, b"raw")
        return {"o": np.zeros(1)}
    """
    assert outcome_of(body).stdout == "from sh\nraw"


@pytest.mark.slow
def test_torch_tensors_of_every_kind(outcome_of):
    torch = pytest.importorskip("torch")
    body = """
    import torch
    def run():
        x = torch.arange(6).reshape(2, 3)
        return {"b": x.to(torch.bfloat16), "e": x.T.to(torch.float8_e4m3fn), "t": x.T > 2, "f": x.half()[0, 1],
                "g": torch.ones(3, requires_grad=True)}
    """
    outcome = outcome_of(body)
    assert outcome.kind == "outputs", outcome.text
    x = torch.arange(6).reshape(2, 3)
    wanted = {"b": x, "e": x.T, "t": x.T > 2, "f": x[0, 1], "g": torch.ones(3)}
    assert {name: array.values().tolist() for name, array in outcome.outputs.items()} == {
        name: value.tolist() for name, value in wanted.items()
    }
    names = {name: array.dtype.name for name, array in outcome.outputs.items()}
    assert names == {"b": "bfloat16", "e": "float8_e4m3fn", "t": "bool", "f": "float16", "g": "float32"}


def test_a_supervisor_that_dies_is_infra_and_the_next_run_works(write, embedded):
    host, transport = embedded
    repro = write("import numpy as np, os, signal\ndef run():\n    os.kill(os.getppid(), 9); return {'o': np.zeros(1)}")
    outcome = judge.run(transport, next(repro.cases()), host)
    assert outcome.kind == "infra" and "exit status -9" in outcome.text
    assert judge.run(transport, next(write(ARRAY).cases()), host).kind == "outputs"


def test_garbage_on_the_way_is_infra(write, embedded, monkeypatch):
    host, _ = embedded
    fake = "import sys; sys.stdout.write('Welcome to this machine! '); sys.stdout.flush(); sys.stdin.read()"
    real = subprocess.Popen
    monkeypatch.setattr(subprocess, "Popen", lambda argv, **kw: real([sys.executable, "-c", fake], **kw))
    outcome = judge.run(Local(), next(write(ARRAY).cases()), host)
    assert outcome.kind == "infra" and "expected a frame, got b'Welcome '" in outcome.text


def test_no_core_files_and_no_terminal(outcome_of):
    body = """
    import os, resource, numpy as np
    def run():
        return {"core": np.array(resource.getrlimit(resource.RLIMIT_CORE)), "stdin": np.array(len(os.read(0, 9)))}
    """
    outputs = outcome_of(body).outputs
    assert outputs["core"].values().tolist() == [0, 0] and outputs["stdin"].values().tolist() == 0


SPINS = """
import cutlass, torch
import cutlass.cute as cute
@cute.kernel
def spins(x: cute.Tensor):
    n = cutlass.Int32(0)
    while n < 10:
        x[0] = x[0] + 1.0
@cute.jit
def host(x: cute.Tensor):
    spins(x).launch(grid=(1, 1, 1), block=(32, 1, 1))
def run():
    x = torch.zeros(32, device="cuda")
    host(x)
    return {"x": x}
"""


@pytest.mark.slow
def test_a_kernel_that_spins_gives_its_line(embedded, write, monkeypatch, tmp_path):
    monkeypatch.chdir(tmp_path)
    host, transport = embedded
    repro = write(SPINS, "timeout = 5")
    (case,) = repro.cases()
    outcome = judge.run(transport, case, host)
    line = repro.text.splitlines().index("    while n < 10:") + 1
    path = str(repro.path)
    said = outcome.text.splitlines()
    assert outcome.kind == "timeout" and said[:2] == ["the repro did not end within 5 s and was killed", "it was here:"]
    assert said[2].startswith(f"repros/one.py:{line}:") and said[2].endswith(": STOPPED"), outcome.text
    assert f"in the loop at repros/one.py:{line}, PTX line " in outcome.text
    call = repro.text.splitlines().index("    host(x)") + 1
    assert said[-2:] == ["(most recent call first):", f'  File "{path}", line {call} in run']


def test_modules_of_this_package_that_a_job_imports_are_imported_before_the_next(outcome_of):
    body = """
    import sys, numpy as np
    before = "dsl.reduction.schedules" in sys.modules
    import cutlass, dsl.reduction.schedules
    def run(): return {"before": np.array(before)}
    """
    assert [outcome_of(body).outputs["before"].values().tolist() for _ in range(2)] == [False, True]


def test_late_imports_of_torch_come_before_the_next_fork_and_start_no_thread(outcome_of):
    body = """
    import os, sys, numpy as np
    before, threads = "torch.distributed.tensor" in sys.modules, len(os.listdir("/proc/self/task"))
    import torch, cutlass
    def run():
        torch.testing.assert_close(torch.ones(2), torch.ones(2))
        return {"before": np.array(before), "threads": np.array(threads)}
    """
    seen = [outcome_of(body).outputs for _ in range(2)]
    assert [each["before"].values().tolist() for each in seen] == [False, True]
    assert [each["threads"].values().tolist() for each in seen] == [1, 1]


@pytest.mark.parametrize(
    "line, is_there", [("from torch.utils import benchmark", True), ("import torch.fx, torch.utils.benchmark", False)]
)
def test_modules_of_torch_that_a_job_imports_late_are_there_for_the_next(outcome_of, line, is_there):
    """Not what the program imports by a dotted name: without that line it must fail."""
    body = f"""
    import sys
    import cutlass, numpy as np, torch
    def run():
        there = "torch.utils.benchmark" in sys.modules
        sys.modules["dsl.made_here"] = sys  # of no file: it stops nothing
        {line}
        return {{"there": np.array(there)}}
    """
    outcomes = [outcome_of(body) for _ in range(2)]
    assert [one.outputs["there"].values().tolist() for one in outcomes] == [False, is_there]
