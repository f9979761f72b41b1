"""torch.profiler for activities of CUDA, under NVIDIA's compiler too: its process has CUDA's libraries."""

import pytest

from tests import fork_server

PROGRAM = """
import torch
from torch.profiler import ProfilerActivity, profile
with profile(activities=[ProfilerActivity.CUDA], record_shapes=True) as found:
    (torch.ones(4, 4, device="cuda") @ torch.ones(4, 4, device="cuda")).sum()
assert "aten::mm" in found.key_averages().table(sort_by="cuda_time_total", row_limit=20)
assert ProfilerActivity.CUDA not in found.activities
"""


@pytest.mark.parametrize("compiler", ["ours", "nvidia"])
def test_work_of_the_gpu_is_work_of_the_cpu(tmp_path, compiler):
    (tmp_path / "profiles.py").write_text(PROGRAM)
    command = ["-W", "ignore", "-m", "dsl", "--compiler", compiler, "profiles.py"]
    done = fork_server.run(command, cwd=tmp_path, timeout=600)
    assert done.returncode == 0, done.stderr
