"""Implementation modules of upstream: importable, with the names of their packages.

Modules tested here: dsl/cutlass/upstream.py.
"""

import importlib

import pytest

from dsl.cutlass import Float32, cute, stand_ins, upstream

NAMES = [f"{package}.{name}" for package, inner in stand_ins.IMPLEMENTATIONS.items() for name in inner]


@pytest.mark.parametrize("name", NAMES)
def test_every_module_is_upstreams_and_imports(name):
    assert name in upstream.modules()
    assert importlib.import_module(f"dsl.{name}").__name__ == f"dsl.{name}"


def test_names_are_the_packages():
    core = importlib.import_module("dsl.cutlass.cute.core")
    assert core.make_layout is cute.make_layout and dir(core) == sorted(cute.__all__)
    with pytest.raises(AttributeError, match="cutlass.cute has no name `make_layuot`"):
        core.make_layuot


def test_every_copy_operation_is_a_copy_op_of_the_atom_module():
    atom, cpasync = importlib.import_module("dsl.cutlass.cute.atom"), cute.nvgpu.cpasync
    assert atom.CopyOp is cpasync.CopyOp
    operations = (
        cute.nvgpu.CopyUniversalOp(),
        cpasync.CopyG2SOp(),
        cpasync.CopyBulkG2SOp(),
        cute.nvgpu.warp.LdMatrix8x8x16bOp(),
    )
    assert all(isinstance(op, atom.CopyOp) for op in (*operations, cpasync.CopyBulkTensorTileS2GOp()))
    assert isinstance(cute.nvgpu.MmaUniversalOp(Float32), atom.MmaOp) and not isinstance(atom, atom.MmaOp)


def test_a_class_that_only_its_module_has_can_be_patched(monkeypatch):
    tensor = importlib.import_module("dsl.cutlass.cute.tensor")
    assert tensor._Tensor is cute.Tensor
    monkeypatch.setattr(tensor, "_Tensor", int)
    assert tensor._Tensor is int
