"""Tensor maps are encoded again for the file's own memory, or refused by name. With allocations.py."""

from pathlib import Path

from tests.harness.capture.commands import capture

PROGRAM = '''
import ctypes
import sys
import numpy as np
from cuda.bindings import driver as cuda

PTX = """
.version 8.0
.target sm_90
.address_size 64
.visible .entry word_of_map(.param .align 64 .b8 map[128], .param .u64 out)
{
    .reg .b64 %rd<4>;
    .reg .b32 %r<2>;
    ld.param.u64 %rd1, [out];
    ld.param.u32 %r1, [map+64];
    mov.u32 %r1, 1;
    st.global.u32 [%rd1], %r1;
    ret;
}
"""

def good(result):
    assert int(result[0]) == 0, result
    return result[1] if len(result) == 2 else result[1:]

good(cuda.cuInit(0))
good(cuda.cuCtxSetCurrent(good(cuda.cuDevicePrimaryCtxRetain(0))))
kernel = good(cuda.cuModuleGetFunction(good(cuda.cuModuleLoadData(PTX.encode())), b"word_of_map"))
data, out = good(cuda.cuMemAlloc(4096)), good(cuda.cuMemAlloc(4))
good(cuda.cuMemsetD8(data, 0, 4096))
good(cuda.cuMemsetD8(out, 0, 4))
u64, u32 = cuda.cuuint64_t, cuda.cuuint32_t
made = good(cuda.cuTensorMapEncodeTiled(
    cuda.CUtensorMapDataType.CU_TENSOR_MAP_DATA_TYPE_FLOAT32, 2, data, [u64(32), u64(32)], [u64(128)],
    [u32(16), u32(8)], [u32(1), u32(1)], cuda.CUtensorMapInterleave.CU_TENSOR_MAP_INTERLEAVE_NONE,
    cuda.CUtensorMapSwizzle.CU_TENSOR_MAP_SWIZZLE_64B, cuda.CUtensorMapL2promotion.CU_TENSOR_MAP_L2_PROMOTION_NONE,
    cuda.CUtensorMapFloatOOBfill.CU_TENSOR_MAP_FLOAT_OOB_FILL_NONE))
if sys.argv[1] == "moved":
    good(cuda.cuTensorMapReplaceAddress(made, int(data) + 2048))
if sys.argv[1] == "unknown":
    ctypes.memset(made.getPtr() + 100, 7, 1)
good(cuda.cuLaunchKernel(kernel, 1, 1, 1, 1, 1, 1, 0, 0, ((made, out), (None, None)), 0))
'''


def run(folder: Path, what: str) -> tuple[int, str, str]:
    (folder / "program.py").write_text(PROGRAM)
    return capture(folder, "-o", "x.py", program=("python", "program.py", what))


def test_a_map_is_encoded_again(tmp_path):
    status, said, told = run(tmp_path, "moved")
    text = (tmp_path / "x.py").read_text()
    assert status == 0, said + told
    assert (
        "map_map = _ok(cuda.cuTensorMapEncodeTiled(cuda.CUtensorMapDataType.CU_TENSOR_MAP_DATA_TYPE_FLOAT32, 2, "
        "data + 2048, [cuda.cuuint64_t(32), cuda.cuuint64_t(32)], [cuda.cuuint64_t(128)]," in text
    )
    assert "[map_map, np.uint64(out)]" in text


def test_a_map_that_was_not_seen(tmp_path):
    status, _, told = run(tmp_path, "unknown")
    assert status == 1 and "map is a tensor map that was not seen being made" in told
