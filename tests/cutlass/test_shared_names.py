"""The types that upstream has in three modules are the same objects in ours."""

import importlib

import pytest

from dsl.cutlass import shared_names


@pytest.mark.parametrize("module", ["dsl.cutlass", "dsl.cutlass.cute", "dsl.cutlass.cute.typing"])
def test_every_shared_name_is_exported(module):
    module = importlib.import_module(module)
    assert set(shared_names.__all__) <= set(module.__all__) and len(set(module.__all__)) == len(module.__all__)
    for name in shared_names.__all__:
        value = getattr(module, name)
        assert getattr(value, "__wrapped__", value) is getattr(shared_names, name)  # cute's functions are guarded
