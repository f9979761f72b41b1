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


def test_memory_stays_while_torch_has_the_primary_context(program):
    body = """
        import torch
        torch.zeros(1, device="cuda")
        good(d.cuDevicePrimaryCtxRetain(0))
        a = good(d.cuMemAlloc(64))
        good(d.cuDevicePrimaryCtxRelease(0))
        print(code(d.cuMemsetD32(a, 7, 16)))
    """
    assert program(body) == "CUDA_SUCCESS\n"


def test_memory_of_the_host_is_registered_where_it_is(program):
    body = """
        good(d.cuInit(0)); good(d.cuCtxSetCurrent(good(d.cuDevicePrimaryCtxRetain(0))))
        host = np.arange(16, dtype=np.int32)
        at = host.ctypes.data
        good(d.cuMemHostRegister(at, 64, 0)); print(code(d.cuMemHostRegister(at, 64, 0)))
        print(int(good(d.cuMemHostGetDevicePointer(at, 0))) == at, code(d.cuMemHostUnregister(at)))
        print(code(d.cuMemHostUnregister(at)))
    """
    assert program(body) == ("HOST_MEMORY_ALREADY_REGISTERED\nTrue CUDA_SUCCESS\nHOST_MEMORY_NOT_REGISTERED\n")


def test_cuda_core_allocates_from_its_pool(program):
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
