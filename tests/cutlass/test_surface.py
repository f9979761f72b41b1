"""The surface has upstream's names only, and docs/cute.md lists them all.

Modules tested here: dsl/cutlass/cute/runtime.py, dsl/cutlass/unsupported.py, dsl/cutlass/utils/tensor_helpers.py.
"""

import re
import types
from pathlib import Path

import pytest

import dsl.cutlass
from dsl.cutlass import cuda, cute, memory, pipeline, upstream, utils
from tests import fork_server

DOCS = (Path(__file__).parents[2] / "docs" / "cute.md").read_text()
MODULES = {
    "cutlass": dsl.cutlass,
    "cutlass.utils": utils,
    "cutlass.memory": memory,
    "cutlass.cuda": cuda,
    "cutlass.cute": cute,
    "cutlass.pipeline": pipeline,
    "cutlass.cute.arch": cute.arch,
    "cutlass.cute.math": cute.math,
    "cutlass.torch": dsl.cutlass.torch,
    "cutlass.cute.nvgpu": cute.nvgpu,
    "cutlass.cute.runtime": cute.runtime,
    "cutlass.cute.testing": cute.testing,
    "cutlass.cute.viz": cute.viz,
    "cutlass.cute.typing": cute.typing,
    "cutlass.cute.nvgpu.cpasync": cute.nvgpu.cpasync,
    "cutlass.cute.nvgpu.warp": cute.nvgpu.warp,
    "cutlass.cute.nvgpu.warpgroup": cute.nvgpu.warpgroup,
    "cutlass.utils.hopper_helpers": utils.hopper_helpers,
    "cutlass.testing": dsl.cutlass.testing,
    "cutlass.tensor_utils": dsl.cutlass.tensor_utils,
    "cutlass.utils.tensor_helpers": utils.tensor_helpers,
}


def names(module: types.ModuleType) -> set[str]:
    return {
        name
        for name in dir(module)
        if not name.startswith("_")
        and name != "annotations"
        and not isinstance(getattr(module, name), types.ModuleType)
    }


@pytest.mark.slow
def test_the_file_of_upstreams_names_is_what_the_package_has():
    script = Path(__file__).with_name("upstream_names.py")
    run = fork_server.run([script])
    assert run.returncode == 0, run.stderr
    assert run.stdout == Path(dsl.cutlass.__file__).with_name("upstream_names.txt").read_text()


def test_every_name_is_upstreams():
    extra = {module: sorted(names(ours) - upstream.names(module)) for module, ours in MODULES.items()}
    assert {module: missing for module, missing in extra.items() if missing} == {}


@pytest.mark.parametrize("module", MODULES)
def test_the_page_lists_every_name(module):
    rows = [line for line in DOCS.splitlines() if re.match(rf"\| [^|]*`{re.escape(module)}`", line)]
    listed = {name for row in rows for name in re.findall(r"`(\w+)`", row.split("|")[2])}
    assert listed == names(MODULES[module])


def test_a_missing_name_is_refused_by_name():
    with pytest.raises(
        AttributeError, match="cutlass.cute.nvgpu.tcgen05.MmaF16BF16Op is not part of this compiler yet"
    ):
        cute.nvgpu.tcgen05.MmaF16BF16Op
    assert not hasattr(cute.nvgpu.tcgen05, "MmaF16BF16Op")


@pytest.mark.parametrize(
    "module, name",
    [
        ("cutlass.cute.arch", "alloc_tmem"),
        ("cutlass.cute.arch", "fence_view_async_tmem_load"),
        ("cutlass.pipeline", "PipelineUmmaAsync"),
        ("cutlass.utils", "TmemAllocator"),
        ("cutlass.cute.nvgpu.cpasync", "make_im2col_tma_atom"),
        ("cutlass.cute.nvgpu.cpasync", "CopyDsmemStoreOp"),
    ],
)
def test_what_is_not_here_is_refused_by_name(module, name):
    with pytest.raises(AttributeError, match=f"{module}.{name} is not part of this compiler yet"):
        getattr(MODULES[module], name)
