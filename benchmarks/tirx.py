"""T programs on this compiler compared with the real apache-tvm: one run, alternating fresh processes.

    uv run python benchmarks/tirx.py [--runs 5]

CPU time of the process and its ended children: of importing, in seconds; from a script to CUDA text, in milliseconds,
first in a process and warm (the least of 20). The program is the first of the control-flow page of TIRx. Both have
compiled bytecode in their own caches, and no cache of compiled kernels.
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).parents[1]
START = """
import json, sys, resource
def cpu():
    return sum(sum(resource.getrusage(who)[:2]) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN))
begin = cpu()
if sys.argv[1] == "ours":
    sys.path.insert(0, sys.argv[2])
    from dsl import alias
    alias.install("emulator")
import tvm
from tvm.script import tirx as T
found = {"import, s": cpu() - begin}
TARGET = tvm.target.Target({"kind": "cuda", "arch": "sm_90a"})


def script_to_text():
    begin = cpu()
    @T.prim_func
    def main(A: T.Buffer((256,), "float32")):
        T.device_entry()
        bx = T.cta_id([1])
        tx = T.thread_id([256])
        if tx < 128:
            A[tx] = A[tx] * T.float32(2.0)
        else:
            A[tx] = A[tx] + T.float32(1.0)
    compiled = tvm.compile(tvm.IRModule({"main": main}), target=TARGET, tir_pipeline="tirx")
    assert "threadIdx.x" in compiled.mod.imports[0].inspect_source()
    return (cpu() - begin) * 1000


found["script to text first, ms"] = script_to_text()
found["script to text warm, ms"] = min(script_to_text() for _ in range(20))
print(json.dumps(found))
"""


def sample(whose: str, file: Path, bytecode: str) -> dict[str, float]:
    """Measurements by name, from a fresh process."""
    environment = os.environ | {"GPU_REPRO_CACHE": "0", "PYTHONPYCACHEPREFIX": bytecode}
    environment.pop("PYTHONDONTWRITEBYTECODE", None)
    run = subprocess.run([sys.executable, file, whose, str(ROOT)], capture_output=True, text=True, env=environment)
    if run.returncode:
        sys.exit(f"{whose} failed:\n{run.stderr}")
    return json.loads(run.stdout.splitlines()[-1])


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--runs", type=int, default=5, help="processes a package, after one that is not counted")
    options = parser.parse_args()
    rows: dict[str, list[dict]] = {"ours": [], "real": []}
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "program.py"
        file.write_text(START)
        for number in range(options.runs + 1):
            for whose, found in rows.items():
                one = sample(whose, file, folder)
                found += [one] if number else []
    print(f"{'CPU time':28}{'ours':>10}{'real':>10}{'ratio':>8}   least of {options.runs}")
    for name in rows["ours"][0]:
        ours, real = (min(row[name] for row in rows[whose]) for whose in ("ours", "real"))
        ratio = statistics.median(a[name] / b[name] for a, b in zip(rows["ours"], rows["real"]))
        print(f"{name:28}{ours:10.2f}{real:10.2f}{ratio:8.2f}")


if __name__ == "__main__":
    main()
