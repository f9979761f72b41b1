"""tvm_tirx.testing, as far as tests of this subset use it."""

from dsl.tirx.testing import assert_allclose, env, run_with_gpu_lock

__all__ = ["assert_allclose", "env", "run_with_gpu_lock"]
