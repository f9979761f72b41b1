"""The library that is written without a linker: loaded, found by its name, every function called."""

import ctypes

import pytest

from dsl.launch.driver import shared_object


@pytest.mark.parametrize("count", [1, 2, 7, 300])
def test_each_function_jumps_to_its_own(count):
    names = [f"f_{count}_{index}" for index in range(count)]
    kind = ctypes.CFUNCTYPE(ctypes.c_int, ctypes.c_int, ctypes.c_void_p)
    functions = {name: kind(lambda a, b, index=index: a + (b or 0) + index) for index, name in enumerate(names)}
    soname = f"libjumps{count}.so.1"
    library = shared_object.load(shared_object.path_of(soname, names), functions)
    assert [getattr(library, name)(100, 1000) for name in names] == [1100 + index for index in range(count)]
    again = ctypes.CDLL(soname)  # by its name, though no folder has it
    assert getattr(again, names[-1])(0, None) == count - 1
    with pytest.raises(AttributeError):
        again.f_none


def test_another_machine_has_none(monkeypatch):
    monkeypatch.setattr(shared_object.platform, "machine", lambda: "riscv64")
    with pytest.raises(shared_object.NoSharedObject, match="must run on x86_64, got"):
        shared_object.path_of("lib.so", ["f"])
