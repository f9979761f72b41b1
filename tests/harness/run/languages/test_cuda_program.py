"""`.cu` files as pytest runs them, compiled by nvcc: what they print, what is found in their kernels, how they end."""

import dataclasses
import shutil
from pathlib import Path

import pytest

from harness.claim.repro_file import Case, read
from harness.judge import run

pytestmark = pytest.mark.skipif(not shutil.which("nvcc"), reason="needs nvcc")
BLOCK = "// /// script\n// [tool.repro]\n// ///\n// It is so.\n"
PROGRAM = """
#include <cstdio>
#include <cstdlib>
#include "turned.cuh"

int main(int count, char **words) {
  int *x;
  cudaMallocManaged(&x, 64 * sizeof(int));
  for (int i = 0; i < 64; i++) x[i] = i;
  switch (atoi(words[1])) {
    case 1: turned<true><<<1, 64>>>(x); break;
    case 2: turned<false><<<1, 64>>>(x); break;
    case 3: abort();
    case 4: while (true) fflush(stdout);
    case 5: return 7;
  }
  int result = cudaDeviceSynchronize();
  printf("%d %d\\n", result, x[0]);
}
"""
HEADER = """
template <bool waits>
__global__ void turned(int *x) {
  __shared__ int tile[64];
  int i = threadIdx.x;
  tile[i] = x[i];
  if (waits) __syncthreads();
  x[i] = tile[63 - i];
}
"""


@pytest.fixture
def outcome_of(tmp_path, embedded):
    """Run one program with an argument: it is compiled once, as only the first run finds none on disk."""
    host, transport = embedded
    (tmp_path / "turned.cuh").write_text(HEADER)

    def outcome_of(word: int, text: str = PROGRAM, timeout_s: float = 60):
        path = tmp_path / "q.cu"
        path.write_text(BLOCK + text)
        repro = read(path)
        script = dataclasses.replace(repro.script, args=(str(word),))
        return run(transport, Case(dataclasses.replace(repro, script=script), {}), host, timeout_s)

    return outcome_of


def test_programs(outcome_of):
    right = outcome_of(1)
    assert (right.kind, right.stdout, right.stderr) == ("outputs", "0 63\n", "")
    assert len(right.kernels) == 2 and "bar.sync" in right.kernels[0]["ptx"]

    racy = outcome_of(2)
    assert (racy.kind, racy.stdout.split()[0]) == ("race", "719")
    assert racy.text.startswith(f"{racy.detail['file']}:6:") and "turned.cuh" in racy.detail["file"]
    assert "tile[i] = x[i];" in racy.text

    assert outcome_of(3).detail == {"signal": "SIGABRT"}
    assert outcome_of(4, timeout_s=1).kind == "timeout"
    assert "exit status 7" in outcome_of(5).text


def test_a_compile_error_is_a_verdict(outcome_of):
    outcome = outcome_of(1, PROGRAM.replace("int *x;", "int *x = nothing;"))
    assert (outcome.kind, outcome.detail["id"]) == ("rejected", "COMPILE_ERROR")
    assert outcome.text.splitlines()[1:] == [
        "    int *x = nothing;",
        '             ^ identifier "nothing" is undefined',
    ]


def test_options_of_one_process_are_refused(tmp_path, embedded):
    host, transport = embedded
    path = tmp_path / "q.cu"
    path.write_text(f"{BLOCK}int main() {{}}\n")
    outcome = run(transport, next(read(path).cases()), host, notes=True)
    assert outcome.kind == "infra" and "--notes is for Python repros" in outcome.text


def test_the_example_of_the_page(tmp_path, embedded):
    page = (Path(__file__).parents[4] / "docs/languages.md").read_text()
    (tmp_path / "q.cu").write_text(page[page.index("// /// script\n// [tool.repro]") :].split("```")[0])
    outcome = run(embedded[1], next(read(tmp_path / "q.cu").cases()), embedded[0])
    assert (outcome.kind, outcome.stdout) == ("outputs", "5\n"), outcome.text
