"""Every repro under nvidia-cutlass-dsl: it compiles, its PTX has what the CHECK-PTX lines say, and gives expected().

No GPU takes part: NVIDIA's compiler makes the PTX, its compiled host functions launch it through nvidia_runtime.c, and
dsl.emulator executes it (nvidia_runs.py).
"""

import json
import subprocess
import sys
from pathlib import Path

import pytest

from harness import codegen, golden, repro
from harness.result import printable

HERE = Path(__file__).parent
REPROS = sorted(HERE.parents[1].joinpath("repros").glob("*.py"))
CASES = [case for path in REPROS for case in repro.read(path).cases()]


@pytest.fixture(scope="module")
def nvidia(tmp_path_factory, needs):
    """A function that runs a case in the process that has NVIDIA's compiler, which starts once."""
    cc = needs("cc", "build-essential")
    runtime_so = tmp_path_factory.mktemp("nvidia") / "runtime.so"
    subprocess.run([cc, "-shared", "-fPIC", "-o", runtime_so, HERE / "nvidia_runtime.c"], check=True)
    process = subprocess.Popen([sys.executable, HERE / "nvidia_runs.py", runtime_so], text=True,
                               stdin=subprocess.PIPE, stdout=subprocess.PIPE)

    def run(case: repro.Case) -> dict:
        print(json.dumps({"path": str(case.repro.path), "params": dict(case.params)}), file=process.stdin, flush=True)
        answer = process.stdout.readline()
        assert answer, f"nvidia_runs.py ended with {process.wait()}"
        return json.loads(answer)

    with process:
        yield run


@pytest.mark.parametrize("case", CASES, ids=lambda case: ",".join(filter(None, (case.repro.path.stem, case.name))))
def test_gives_what_the_repro_says(case, nvidia):
    ran = nvidia(case)
    text = printable(ran["text"])
    assert ran["outcome"] == case.repro.outcome, text
    if ran["outcome"] == "outputs":
        assert not text, text
        assert ran["kernels"], "nothing was launched"
    else:
        accepted = golden.read(golden.path_of(case))
        assert accepted is not None, f"no golden {golden.path_of(case)}"
        assert [ran.get(key) for key in ("id", "kind")] == [accepted.identity.get(key) for key in ("id", "kind")], text
    wrong = codegen.failure(case, ran["kernels"], "PTX")
    assert not wrong, wrong
