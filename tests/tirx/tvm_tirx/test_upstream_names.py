"""The names of tvm_tirx: each is in the real package too, and each of the real package's is here or refused by name.

Modules tested here: dsl/tirx/tvm_tirx/ir.py, dsl/tirx/tvm_tirx/testing.py, dsl/core/diagnosis/unsupported_names.py.
"""

from __future__ import annotations

import importlib
import json
import re
import types

import pytest

from dsl.core.diagnosis.unsupported_names import UnsupportedName
from dsl.tirx.errors.unsupported import UnknownName
from dsl.tirx.tvm_tirx.upstream_names import RENAMED
from tests.tirx.tvm_tirx import record

MODULES = {
    "tvm_tirx": "dsl.tirx.tvm_tirx",
    "tirx": "dsl.tirx.tvm_tirx.tirx",
    "runtime": "dsl.tirx.tvm_tirx.runtime",
    "T": "dsl.tirx.tvm_tirx.script.tirx",
    "T.cuda": "dsl.tirx.tvm_tirx.cuda",
}
THEIRS = json.loads(record.NAMES.read_text())
NEWER = {"tvm_tirx": {"compile", "testing"}}  # of later releases, and a module that is imported by its name
INTERNAL = {  # classes and standard modules that no program asks for
    "tvm_tirx": {"TYPE_CHECKING", "multiprocessing", "os", "sys", "tvm_wrap_excepthook"},
    "T.cuda": {name for name in THEIRS["T.cuda"] if name.endswith("Namespace") or "encode_" in name or "iket_" in name}
    | {"annotations", "wgmma_noop_barrier"},
}


def module(name: str) -> types.ModuleType:
    return importlib.import_module(MODULES[name])


def ours(name: str) -> set[str]:
    return set(module(name).__all__)


def is_vector_type(name: str) -> bool:
    return re.search(r"\dx\d+$", name) is not None


@pytest.mark.parametrize("name", MODULES)
def test_the_real_package_has_our_names(name):
    assert sorted(ours(name) - set(THEIRS[name]) - NEWER.get(name, set())) == []


@pytest.mark.parametrize("name", ["tvm_tirx", "tirx", "runtime", "T", "T.cuda"])
def test_names_that_are_not_here_are_refused_by_name(name):
    operations = set(THEIRS["T"]) | {"all", "any", "div", "indexdiv", "indexmod", "logaddexp", "power"}
    structural = {each for each in THEIRS[name] if "tructural" in each or "llvm" in each or "gpu_" in each}
    for each in set(THEIRS[name]) - ours(name) - INTERNAL.get(name, set()):
        if hasattr(types.ModuleType, each) or (name == "tirx" and each in operations | structural | BACKENDS):
            continue
        with pytest.raises(UnsupportedName, match="is not part of this compiler"):
            getattr(module(name), each)


BACKENDS = set("adreno cuda get_vscale_expr hexagon metal opencl rocm rust trn tvm_tirx vulkan webgpu".split())


@pytest.mark.parametrize("name", RENAMED)
def test_tvms_names_are_refused_with_the_name_here(name):
    assert name not in THEIRS["T"]
    with pytest.raises(UnknownName) as caught:
        getattr(module("T"), name)
    named = re.match(r"T\.(?:cuda\.)?(\w+)", caught.value.fix)
    assert named[1] in THEIRS["T"] + THEIRS["T.cuda"]


def test_other_modules():
    from dsl.tirx.tvm_tirx import ir, testing

    assert ir.__all__ == ["IRModule", "assert_structural_equal", "structural_equal"]
    assert testing.env.has_cuda()
