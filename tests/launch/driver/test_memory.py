"""Memory of the device, through the driver."""


def test_memory_is_checked_and_moves(program):
    assert (
        program("""
        good(d.cuInit(0)); good(d.cuCtxSetCurrent(good(d.cuDevicePrimaryCtxRetain(0))))
        a, b = good(d.cuMemAlloc(64)), good(d.cuMemAlloc(64))
        good(d.cuMemsetD32(a, 7, 16)); good(d.cuMemcpyDtoD(b, a, 64))
        host = np.zeros(17, np.int32)
        good(d.cuMemcpyDtoH(host.ctypes.data, b, 64))
        print(host.sum(), code(d.cuMemcpyDtoH(host.ctypes.data, b, 68)), code(d.cuMemsetD32(int(a) + 2, 7, 1)))
        kind = d.CUpointer_attribute
        print(int(good(d.cuPointerGetAttribute(kind.CU_POINTER_ATTRIBUTE_MEMORY_TYPE, a))),
              good(d.cuPointerGetAttribute(kind.CU_POINTER_ATTRIBUTE_RANGE_SIZE, int(a) + 60)),
              code(d.cuPointerGetAttribute(kind.CU_POINTER_ATTRIBUTE_MEMORY_TYPE, host.ctypes.data)))
        start, size = good(d.cuMemGetAddressRange(int(a) + 5))
        print(int(start) == int(a), size, code(d.cuMemAlloc(0)), code(d.cuMemFree(int(a) + 4)))
        good(d.cuMemFree(a)); print(code(d.cuMemFree(a)))
    """)
        == "112 INVALID_VALUE INVALID_VALUE\n2 64 INVALID_VALUE\nTrue 64 INVALID_VALUE INVALID_VALUE\nINVALID_VALUE\n"
    )


def test_torchs_tensors_are_memory_of_the_driver(program):
    assert (
        program("""
        import torch
        x = torch.arange(4, device="cuda", dtype=torch.int32)
        host = np.zeros(4, np.int32)
        good(d.cuMemcpyDtoH(host.ctypes.data, x.data_ptr(), 16))
        print(host, int(good(d.cuCtxGetDevice())))
    """)
        == "[0 1 2 3] 0\n"
    )


def test_cuda_core_allocates_without_memory_pools(program):
    body = """
        from cuda.core import Device
        device = Device()
        device.set_current()
        stream = device.create_stream()
        buffer = device.allocate(64, stream=stream)
        good(d.cuMemsetD32(int(buffer.handle), 5, 16))
        print(buffer.size, buffer.is_device_accessible)
        buffer.close(stream)
    """
    assert program(body) == "64 True\n"
