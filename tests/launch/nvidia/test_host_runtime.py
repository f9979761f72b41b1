"""The library that host functions of NVIDIA's compiler call."""

import ctypes
import importlib.metadata
import subprocess
from pathlib import Path

from dsl.launch.driver import library, results
from dsl.launch.nvidia import host_runtime


def test_has_every_c_name_of_the_installed_runtime(installed, needs):
    nm = needs("nm", "binutils")
    files = [
        Path(file.locate())
        for part in ("base", "core", "cu12", "cu13")
        for file in _files(f"nvidia-cutlass-dsl-libs-{part}")
        if file.name == "libcute_dsl_runtime.so" and "stubs" not in file.parts
    ]
    out = subprocess.run([nm, "-D", "--defined-only", files[0]], capture_output=True, text=True, check=True).stdout
    theirs = {line.split()[2] for line in out.splitlines() if line.split()[1] == "T"}
    theirs = {name for name in theirs if not name.startswith("_Z")}
    assert len(theirs) > 80
    assert theirs - set(host_runtime.functions()) == set()


def _files(distribution: str) -> list:
    try:
        return importlib.metadata.files(distribution) or []
    except importlib.metadata.PackageNotFoundError:
        return []


def test_without_a_device_it_answers_that_there_is_none():
    driver = library.load()
    assert driver is not None
    functions = host_runtime.functions()
    slot = ctypes.c_void_p()
    end = driver.use(None)
    try:
        assert functions["_cudaMalloc"](ctypes.byref(slot), 8) == results.NO_DEVICE
        assert functions["_cudaLaunchKernelEx"](bytes(56), None, None) == results.NO_DEVICE
        assert functions["_cudaGraphLaunch"]() == results.NOT_SUPPORTED
    finally:
        end()


def test_a_function_gets_the_arguments_that_host_functions_leave_out():
    kind = ctypes.CFUNCTYPE(ctypes.c_int, ctypes.c_int, ctypes.c_int, ctypes.c_int)
    whole = kind(lambda a, b, c: 100 * a + 10 * b + c)
    assert host_runtime._with_last(whole, "iii", (4, 5))(3) == 345


def test_a_module_is_found_by_its_handle_or_by_where_that_is_kept():
    """The second is what host functions of 4.3 give through TVM FFI."""
    number = 0x5000
    slot = ctypes.c_size_t(number)
    kind = ctypes.CFUNCTYPE(ctypes.c_int, ctypes.c_void_p, ctypes.c_void_p, ctypes.c_char_p)
    whole = kind(lambda kernel, library, name: library - number)
    get = host_runtime._by_handle_or_its_place(whole, number.__eq__)
    assert get(0, number, b"k") == get(0, ctypes.addressof(slot), b"k") == 0


def test_columns_of_places_count_from_1():
    text = "\t.loc\t1 20 4\n\t.loc 1 21 0, function_name $L, inlined_at 1 30 8\n\tmov.u32 %r1, 4;\n"
    assert host_runtime._columns_from_1(text) == (
        "\t.loc\t1 20 5\n\t.loc 1 21 1, function_name $L, inlined_at 1 30 9\n\tmov.u32 %r1, 4;\n"
    )
