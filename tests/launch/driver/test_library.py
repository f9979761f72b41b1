"""What cuda.bindings find in place of NVIDIA's libraries."""


def test_what_the_runtime_lacks_tells_its_name(program):
    text = program("print(code(r.cudaGraphCreate(0)))")
    assert text.startswith("NotSupported\n") and "RuntimeWarning: the embedded device has no cudaGraphCreate" in text


def test_a_process_without_the_device_has_none_and_says_so(program):
    """The library stays in the process; the driver behind it goes with the device."""
    assert (
        program("""
        from dsl.launch.driver import driver
        before = driver.current()
        driver.use(None)
        print(code(d.cuInit(0)), code(d.cuDeviceGetCount()), good(d.cuDriverGetVersion()), code(r.cudaMalloc(8)))
        driver.use(before)
        print(good(r.cudaGetDeviceCount()))
    """)
        == "NO_DEVICE NO_DEVICE 13000 NoDevice\n1\n"
    )
