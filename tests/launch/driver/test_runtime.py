"""The runtime API on the driver."""

import pytest

from tests.launch.driver.conftest import HEAD


@pytest.mark.parametrize("first", ["", "import cuda.bindings.runtime, torch\n"])
def test_the_runtime_is_the_devices_whenever_it_is_imported(program, first):
    body = """
        print(good(r.cudaGetDeviceCount()), good(r.cudaGetDevice()), good(r.cudaRuntimeGetVersion()))
        properties = good(r.cudaGetDeviceProperties(0))
        print(properties.name, properties.multiProcessorCount, properties.clusterLaunch)
        a = good(r.cudaMalloc(64))
        good(r.cudaMemset(a, 1, 64))
        host = np.zeros(64, np.uint8)
        to_host = r.cudaMemcpyKind.cudaMemcpyDeviceToHost
        good(r.cudaMemcpy(host.ctypes.data, a, 64, to_host)); print(host.sum())
        print(code(r.cudaMemcpy(host.ctypes.data, a, 65, to_host)), code(r.cudaGetLastError()),
              code(r.cudaGetLastError()))
        start, end = good(r.cudaEventCreate()), good(r.cudaEventCreate())
        good(r.cudaEventRecord(start, 0)); good(r.cudaEventRecord(end, 0)); good(r.cudaDeviceSynchronize())
        print(0 <= good(r.cudaEventElapsedTime(start, end)) < 1000, good(r.cudaGetErrorName(r.cudaError_t(700))))
        good(r.cudaFree(a)); print(code(r.cudaFree(a)))
    """
    assert program(body, first + HEAD) == (
        "1 0 13090\nb'PTX emulator' 132 1\n64\nInvalidValue InvalidValue cudaSuccess\n"
        "True b'cudaErrorIllegalAddress'\nInvalidValue\n"
    )
