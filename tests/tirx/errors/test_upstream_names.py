"""The surface has upstream's names only, and docs/tirx.md lists them all.

Modules tested here: dsl/core/diagnosis/unsupported_names.py, dsl/tirx/backend/cuda/lang/clc.py, dsl/tirx/error.py,
dsl/tirx/errors/unsupported.py, dsl/tirx/tile.py, dsl/tirx/tirx.py.
"""

from __future__ import annotations

import json
import re
import subprocess
import sys
import types
from pathlib import Path

import pytest

from dsl.core.diagnosis.unsupported_names import UnsupportedName
from dsl.tirx.errors.unsupported import UnknownName
from dsl.tirx.functions.instructions import Instruction, Namespace
from dsl.tirx.script import tirx as T
from dsl.tirx.values.dtypes import DType

cuda, ptx = T.cuda, T.ptx
DOCS = (Path(__file__).parents[3] / "docs" / "tirx.md").read_text()
NEWER = {"cuda.elect_sync", "ptx.pred", "ptx.addr", "ptx.SINK"}  # of 0.27


def names(module: types.ModuleType | Namespace) -> set[str]:
    """The names that a module defines: neither modules nor what it imports from below."""
    if module is ptx:
        return {name for name in vars(ptx) if not name.startswith("_")}
    own = {"dsl.tirx.functions.cuda": "dsl.tirx.functions.cuda"}.get(module.__name__)
    found = set()
    for name, value in vars(module).items():
        if (name.startswith("_") and not name.startswith(("__shfl", "__activemask"))) or isinstance(
            value, (types.ModuleType, Namespace)
        ):
            continue
        where = getattr(value, "__module__", None) or getattr(type(value), "__module__", "")
        if own is None or where == own or name == "clock64":
            found.add(name)
    return found - {"annotations", "check_barrier", "BARRIERS", "WARPGROUP"}


@pytest.fixture(scope="module")
def theirs():
    """The names of the real package, by namespace."""
    script = (
        "import json; from tvm.script import tirx as T;"
        "print(json.dumps({'T': dir(T), 'cuda': dir(T.cuda), 'ptx': dir(T.ptx)}))"
    )
    run = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, timeout=600)
    assert run.returncode == 0, run.stderr
    return json.loads(run.stdout.splitlines()[-1])


@pytest.mark.slow
def test_every_name_is_upstreams(theirs):
    known = {
        *theirs["T"],
        *(f"cuda.{name}" for name in theirs["cuda"]),
        *(f"ptx.{name}" for name in theirs["ptx"]),
        *NEWER,
    }
    ours = {*names(T), *(f"cuda.{name}" for name in names(cuda)), *(f"ptx.{name}" for name in names(ptx))}
    assert sorted(ours - known) == []


@pytest.mark.slow
def test_every_name_of_upstreams_is_here_or_refused_by_name(theirs):
    for spelt, module, space in (("T", T, "T"), ("T.cuda", cuda, "cuda"), ("T.ptx", ptx, "ptx")):
        for name in theirs[space]:
            if (
                name.startswith("__")
                or name in vars(module)
                or (module is ptx and isinstance(ptx.find(name), Instruction))
            ):
                continue
            with pytest.raises(UnsupportedName) as refused:
                getattr(module, name)
            assert refused.value.message == f"{spelt}.{name} is not part of this compiler yet"
            assert refused.value.fix == "docs/tirx.md lists what is"


def test_a_name_that_upstream_lacks_too_is_probably_mistyped():
    for spelt, meant in (
        ("T.flaot32", "T.float32"),
        ("T.cta_sync", "T.cuda.cta_sync"),
        ("T.cuda.thread_id", "T.thread_id"),
        ("T.ptx.elect_snyc", "T.ptx.elect_sync"),
        ("T.cuda.warp_summ", "T.cuda.warp_sum"),
    ):
        owner, _, name = spelt.rpartition(".")
        with pytest.raises(UnknownName) as refused:
            getattr({"T": T, "T.cuda": cuda, "T.ptx": ptx}[owner], name)
        assert (refused.value.message, refused.value.fix) == (f"`{owner}` has no `{name}`", f"did you mean `{meant}`?")


@pytest.mark.parametrize("module", [T, cuda, ptx], ids=("T", "T.cuda", "T.ptx"))
def test_the_page_lists_every_name(module):
    listed = set(re.findall(r"`(\w+)`", DOCS))
    missing = {name for name in names(module) if name not in listed and not isinstance(getattr(module, name), DType)}
    assert sorted(missing) == []


def test_missing_names_are_refused_by_name():
    for spelt, module in (
        ("T.TileLayout", T),
        ("T.cuda.grid_sync", cuda),
        ("T.ptx.tcgen05", ptx),
        ("T.ptx.multimem_cp", ptx),
        ("T.ptx.mbarrier.try_wait_acquire_cluster", ptx.mbarrier),
    ):
        with pytest.raises(UnsupportedName, match=rf"{spelt} is not part of this compiler yet"):
            getattr(module, spelt.rpartition(".")[2])
