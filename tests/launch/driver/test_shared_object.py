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
    library = shared_object.load(shared_object.path_of(soname, names), names, functions.__getitem__).library
    assert [getattr(library, name)(100, 1000) for name in names] == [1100 + index for index in range(count)]
    again = ctypes.CDLL(soname)  # by its name, though no folder has it
    assert getattr(again, names[-1])(0, None) == count - 1
    with pytest.raises(AttributeError):
        again.f_none


def test_the_first_call_passes_all_arguments_and_later_ones_bind_nothing():
    kind = ctypes.CFUNCTYPE(ctypes.c_double, *[ctypes.c_int64] * 8, *[ctypes.c_double] * 10)
    weighted = kind(lambda *values: sum(place * value for place, value in enumerate(values, 1)))
    bound = []
    path = shared_object.path_of("libarguments.so.1", ["weighted"])
    library = shared_object.load(path, ["weighted"], lambda name: bound.append(name) or weighted).library
    call = kind(("weighted", library))
    arguments = [2**40 + place for place in range(8)] + [0.5 * place for place in range(10)]
    expected = float(sum(place * value for place, value in enumerate(arguments, 1)))
    assert [call(*arguments), call(*arguments), bound] == [expected, expected, ["weighted"]]


def test_a_function_that_cannot_be_made_is_an_unknown_error(capfd):
    path = shared_object.path_of("libbroken.so.1", ["gone"])
    library = shared_object.load(path, ["gone"], {}.__getitem__).library
    assert library.gone(1) == 999
    assert capfd.readouterr().err.endswith("KeyError: 'gone'\n")


def test_another_machine_has_none(monkeypatch):
    monkeypatch.setattr(shared_object.platform, "machine", lambda: "riscv64")
    with pytest.raises(shared_object.NoSharedObject, match="must run on x86_64, got"):
        shared_object.path_of("lib.so", ["f"])


def test_functions_do_without_python_after_the_end(monkeypatch):
    """Bound before the end or not: what gives something back succeeds, the rest fails; text is text."""
    monkeypatch.setattr(shared_object, "_loaded", [])
    names = ["cuMemFree_v2", "cuStreamDestroy", "cudaDeviceSynchronize", "cuMemAlloc_v2", "_cudaMemcpy"]
    called = []
    kind = ctypes.CFUNCTYPE(ctypes.c_int)
    functions = {
        name: kind(lambda name=name: called.append(name) or 7) for name in [*names, "cuda_dialect_get_error_name"]
    }
    path = shared_object.path_of("libended.so", list(functions))
    library = shared_object.load(path, list(functions), functions.__getitem__).library
    assert [library.cuMemFree_v2(), library.cuMemAlloc_v2(), called] == [7, 7, ["cuMemFree_v2", "cuMemAlloc_v2"]]
    shared_object.end()
    assert [getattr(library, name)() for name in names] == [0, 0, 0, 4, 4]
    library.cuda_dialect_get_error_name.restype = ctypes.c_char_p
    assert library.cuda_dialect_get_error_name(1) == b"driver ended"
    assert called == ["cuMemFree_v2", "cuMemAlloc_v2"]
