"""T's printed kernels, compiled by nvcc, leave the same arrays as ours (compiled_by_nvcc.py: all of them)."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

FOLDER = Path(__file__).parent
CHOSEN = {
    "syntax/test_statements.py": [
        "the_page_if",
        "the_page_grid_and_while",
        "elements_that_are_not_chosen_are_not_loaded",
    ],
    "functions/test_cuda.py": ["shared_memory_and_barriers", "lanes", "an_mbarrier_joins_a_producer_and_consumers"],
    "functions/test_float_functions.py": ["functions_of_floats"],
    "functions/test_operations.py": ["bits_and_limits"],
}


@pytest.mark.slow
def test_launches_under_nvcc(needs):
    needs("nvcc", "nvidia-cuda-toolkit")
    tests = [f"{FOLDER / file}::test_{name}" for file, names in CHOSEN.items() for name in names]
    command = [sys.executable, "-W", "ignore", FOLDER / "compiled_by_nvcc.py", *tests]
    done = subprocess.run(command, cwd=FOLDER.parents[1], capture_output=True, text=True, timeout=600)
    assert done.returncode == 0, done.stdout + done.stderr
    numbers = json.loads(done.stdout.splitlines()[-1])["numbers"]
    assert numbers.keys() == {"same"} and numbers["same"] >= len(tests)
