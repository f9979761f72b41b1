"""Memory of the host prints as generic, torch's cuda memory as gmem, in host functions and in kernels."""

import re

from tests import fork_server

PROGRAM = """\
import cutlass
import cutlass.cute as cute
import numpy as np
import torch
from cutlass.cute.runtime import from_dlpack


@cute.kernel
def kernel(x: cute.Tensor):
    cute.printf("kernel {}", (x.iterator + 1))


@cute.jit
def host(x: cute.Tensor):
    print("traced", x)
    cute.printf("host {}", x.iterator)
    kernel(x).launch(grid=1, block=1)


host(from_dlpack(np.zeros(4, np.float32)))
host(from_dlpack(torch.zeros(4)))
host(from_dlpack(torch.zeros(4, device="cuda")))
"""


def test_the_space_of_a_pointer_is_printed(tmp_path):
    (tmp_path / "author.py").write_text(PROGRAM)
    run = fork_server.run(["-m", "dsl", "--device", "emulator", "author.py"], cwd=tmp_path)
    assert run.returncode == 0, run.stderr
    found = re.findall(r"^(traced|host|kernel) .*?(generic|gmem)", run.stdout, re.MULTILINE)
    assert found == [
        (where, space) for space in ("generic", "generic", "gmem") for where in ("traced", "host", "kernel")
    ]
