"""Functions by name and release, as cuGetProcAddress gives them and as the library exports them."""

import ctypes

import pytest

from dsl.launch.driver import driver, results, shared_object


@pytest.fixture(autouse=True)
def library(monkeypatch):
    """A library of the driver's functions."""
    monkeypatch.setattr(shared_object, "_loaded", [])
    names = sorted(driver.functions())
    path = shared_object.path_of("libcuda-of-this-test.so", names)
    return shared_object.load(path, names, driver.functions().__getitem__)


def asked(name: str, version: int) -> tuple[int, int | None]:
    found, status = ctypes.c_void_p(7), ctypes.c_int(7)
    places = ctypes.addressof(found), ctypes.addressof(status)
    code = driver.guarded("cuGetProcAddress_v2")(name.encode(), places[0], version, 0, places[1])
    assert status.value == (code == results.NOT_FOUND)
    return code, found.value


def test_a_function_has_the_form_of_the_release_that_is_asked_for():
    forms = [asked("cuCtxCreate", version) for version in (3020, 11030, 11040, 12040, 12050, 13040)]
    assert [code for code, _ in forms] == [0] * 6
    oldest, second, third, fourth, fifth, last = (address for _, address in forms)
    assert oldest == second and third == fourth and fifth == last and len({oldest, third, fifth}) == 3


def test_a_missing_function_is_not_found():
    assert asked("cuGraphLaunch", 13000) == (results.NOT_FOUND, None)


@pytest.mark.parametrize("name", ["cuMemAlloc", "cuCtxCreate", "cuEventDestroy", "cuModuleGetGlobal"])
def test_both_names_of_cuda_h_are_exported(name, library):
    """Programs get functions of the library: a function of ctypes would end with Python, and the program may not."""
    assert driver.functions()[name + "_v2"] is driver.functions()[name]
    assert asked(name, 2000)[1] == library.addresses[name]
    assert asked(name + "_v2", 13000)[1] == library.addresses[name + "_v2"]


def test_the_oldest_form_takes_no_status(library):
    """cuGetProcAddress of CUDA 11.3 has four arguments."""
    found = ctypes.c_void_p()
    kind = ctypes.CFUNCTYPE(ctypes.c_int, ctypes.c_char_p, ctypes.c_void_p, ctypes.c_int, ctypes.c_uint64)
    assert kind(asked("cuGetProcAddress", 11030)[1])(b"cuInit", ctypes.addressof(found), 13000, 0) == 0
    assert found.value == library.addresses["cuInit"]
    assert asked("cuGetProcAddress", 12000)[1] == library.addresses["cuGetProcAddress_v2"]
