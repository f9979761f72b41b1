"""What cuda.bindings find in place of NVIDIA's libraries."""

from pathlib import Path

from dsl.launch.driver import driver, library
from tests.launch.driver.conftest import HEAD


def test_each_function_of_the_driver_is_exported():
    exported = Path(library.__file__).with_name(library.EXPORTS).read_text().split()
    assert exported == sorted(driver.functions())


def test_functions_are_made_at_the_first_call_of_one(program):
    body = """
        import sys
        from dsl.launch.driver import library
        print("dsl.launch.driver.driver" in sys.modules, code(held(0)), "dsl.launch.driver.driver" in sys.modules)
    """
    head = "from cuda.bindings.driver import cuInit as held\n"
    assert program(body, head + HEAD) == "False CUDA_SUCCESS True\n"


def test_what_the_runtime_lacks_tells_its_name(program):
    text = program("print(code(r.cudaGraphCreate(0)))")
    assert text.startswith("NotSupported\n") and "RuntimeWarning: the embedded device has no cudaGraphCreate" in text


def test_a_process_without_the_device_has_none_and_says_so(program):
    """The library stays in the process; the driver behind it goes with the device."""
    assert (
        program("""
        from dsl.launch.driver import current
        before = current.current()
        current.use(None)
        print(code(d.cuInit(0)), code(d.cuDeviceGetCount()), good(d.cuDriverGetVersion()), code(r.cudaMalloc(8)))
        current.use(before)
        print(good(r.cudaGetDeviceCount()))
    """)
        == "NO_DEVICE NO_DEVICE 13000 NoDevice\n1\n"
    )
