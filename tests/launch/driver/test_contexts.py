"""The device, contexts, streams and events."""


def test_a_context_is_needed_and_there_is_one_device(program):
    assert program("""
        good(d.cuInit(0))
        print(good(d.cuDeviceGetCount()), int(good(d.cuDeviceGet(0))), code(d.cuDeviceGet(1)))
        print(good(d.cuDeviceGetName(13, 0)).rstrip(b"\\0"), good(d.cuDriverGetVersion()))
        of = d.CUdevice_attribute
        print([good(d.cuDeviceGetAttribute(getattr(of, "CU_DEVICE_ATTRIBUTE_" + name), 0)) for name in (
            "MULTIPROCESSOR_COUNT", "COMPUTE_CAPABILITY_MAJOR", "MAX_SHARED_MEMORY_PER_BLOCK_OPTIN")])
        own = good(d.cuCtxCreate(None, 0, 0))
        assert int(good(d.cuCtxGetCurrent())) == int(own)
        good(d.cuCtxDestroy(own))
        primary = good(d.cuDevicePrimaryCtxRetain(0))
        good(d.cuCtxPushCurrent(primary))
        assert int(good(d.cuCtxPopCurrent())) == int(primary)
        print(code(d.cuCtxDestroy(primary)), code(d.cuCtxSetCurrent(d.CUcontext(0x999))))
    """) == ("1 0 INVALID_DEVICE\nb'PTX emulator' 13090\n[132, 9, 232448]\nINVALID_CONTEXT INVALID_CONTEXT\n")


def test_streams_and_events(program):
    assert (
        program("""
        good(d.cuInit(0)); good(d.cuCtxSetCurrent(good(d.cuDevicePrimaryCtxRetain(0))))
        stream = good(d.cuStreamCreateWithPriority(1, -9))
        print(good(d.cuStreamGetPriority(stream)), good(d.cuStreamGetFlags(stream)), code(d.cuStreamQuery(stream)))
        start, end = good(d.cuEventCreate(0)), good(d.cuEventCreate(0))
        print(code(d.cuEventElapsedTime(start, end)))
        good(d.cuEventRecord(start, stream)); good(d.cuEventRecord(end, 0)); good(d.cuEventSynchronize(end))
        print(0 <= good(d.cuEventElapsedTime(start, end)) < 1000)
        good(d.cuStreamWaitEvent(stream, end, 0)); good(d.cuStreamDestroy(stream))
        print(code(d.cuStreamSynchronize(stream)))
        good(d.cuEventDestroy(start)); print(code(d.cuEventQuery(start)), code(d.cuStreamCreate(7)))
    """)
        == "-5 1 CUDA_SUCCESS\nINVALID_HANDLE\nTrue\nINVALID_HANDLE\nINVALID_HANDLE INVALID_VALUE\n"
    )


def test_ten_threads_share_the_context_and_have_their_own_stacks(program):
    assert (
        program("""
        import threading
        good(d.cuInit(0)); primary = good(d.cuDevicePrimaryCtxRetain(0)); good(d.cuCtxSetCurrent(primary))
        seen = []
        def work():
            before = int(good(d.cuCtxGetCurrent()))
            good(d.cuCtxSetCurrent(primary)); good(d.cuMemFree(good(d.cuMemAlloc(64))))
            seen.append(before)
        threads = [threading.Thread(target=work) for _ in range(10)]
        [each.start() for each in threads]; [each.join() for each in threads]
        print(len(seen), set(seen) <= {0, int(primary)})
    """)
        == "10 True\n"
    )
