"""Every class that is indexed defines its iteration: without `__iter__` Python asks for [0], [1]... for ever."""

import importlib
import inspect
import pkgutil
import sys

import pytest

import dsl
import dsl.cutlass as cutlass
from dsl.core.errors import DSLUserCodeTypeError
from dsl.cutlass import cute
from dsl.launch import session


def classes():
    for module in pkgutil.walk_packages(dsl.__path__, "dsl."):
        if not module.name.endswith("__main__"):
            importlib.import_module(module.name)
    for name, module in sorted(sys.modules.items()):
        if name.split(".")[0] == "dsl":
            for value in vars(module).values():
                if inspect.isclass(value) and value.__module__.startswith("dsl."):
                    yield value


def test_classes_that_are_indexed_define_iteration():
    found = set(classes())
    assert len(found) > 300
    indexed = [
        made
        for made in found
        if any("__getitem__" in vars(base) for base in made.__mro__) and "ctypes" not in str(made.__mro__)
    ]
    assert len(indexed) > 20
    assert [made for made in indexed if not any("__iter__" in vars(base) for base in made.__mro__)] == []


@cute.jit
def over_tensor():
    t = cute.make_rmem_tensor((4,), cutlass.Int32)
    return [x for x in t]


@cute.jit
def over_pointer():
    t = cute.make_rmem_tensor((4,), cutlass.Int32)
    return list(t.iterator)


@pytest.fixture
def running():
    yield session.start("emulator")
    session.stop()


def test_tensors_and_pointers_are_not_iterated_by_python(running):
    for function, text in (
        (over_tensor, "a tensor is not iterated by Python"),
        (over_pointer, "a pointer is not iterated"),
    ):
        with pytest.raises(DSLUserCodeTypeError, match=text) as caught:
            function()
        assert "fix: loop over" in str(caught.value) and "return" in str(caught.value)


def test_a_composed_layout_has_its_modes():
    made = cute.make_composed_layout(cute.make_swizzle(1, 0, 1), 0, cute.make_layout((4, 2)))
    assert [str(mode) for mode in made] == [str(made[0]), str(made[1])]
