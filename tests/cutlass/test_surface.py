"""The surface has upstream's names only, and docs/cute.md lists them all.

Modules tested here: dsl/cutlass/cuda.py, dsl/cutlass/cute/runtime.py, dsl/cutlass/memory.py,
dsl/cutlass/tensor_utils.py, dsl/cutlass/testing.py, dsl/cutlass/torch.py, dsl/cutlass/unsupported.py,
dsl/cutlass/utils/tensor_helpers.py.
"""

import inspect
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


@pytest.mark.parametrize("module", MODULES)
def test_a_star_import_takes_every_name(module):
    missing = names(MODULES[module]) - set(getattr(MODULES[module], "__all__", names(MODULES[module])))
    assert missing == set()


def test_a_star_import_of_cutlass_leaves_torch_alone():
    taken: dict = {}
    exec("from dsl.cutlass import *", taken)
    assert "torch" not in taken


# Parameters of upstream's that are not here, or are called otherwise, and why.
OTHER_PARAMETERS = {
    "Swizzle": "made by make_swizzle", "Layout": "made by make_layout",
    "CopyAtom": "made by make_copy_atom", "TiledCopy": "made by make_tiled_copy", "ThrCopy": "of a tiled copy",
    "MmaAtom": "made by make_mma_atom", "TiledMma": "made by make_tiled_mma", "ThrMma": "of a tiled product",
    "PipelineTmaStore": "made by create", "PipelineTmaMultiConsumersAsync": "made by create", "Vector": "made by load",
    "print_latex": "has no colors", "print_latex_tv": "has no colors", "assume": "no pow2",
    "autovec_copy": "no l1c_evict_priority", "dtype": "of cutlass.torch: any type", "warp_redux_sync": "abs and nan need Blackwell",
    "fma_bf16": "no oob", "fma_f16": "no oob", "register_jit_arg_adapter": "no scope, not lazy",
}  # fmt: skip


def test_parameters_are_called_as_upstream_calls_them():
    other = set()
    for module, ours in MODULES.items():
        for name in names(ours):
            value, wanted = getattr(ours, name), [p for p in upstream.parameters(module, name)]
            is_number = isinstance(value, type) and issubclass(value, (cute.Numeric, type))
            if (
                wanted and "*" not in wanted and callable(value) and not is_number and not name.startswith("cvt_")
            ):  # cvt_: one vector
                own = list(inspect.signature(inspect.unwrap(value)).parameters)
                if [p for p in own if p not in ("loc", "ip")][: len(wanted)] != wanted:
                    other.add(name)
    assert other - {"TmaInfo"} == set(OTHER_PARAMETERS)


def test_arguments_are_taken_by_name():
    layout = cute.make_layout((4, 8))
    assert cute.composition(lhs=layout, rhs=cute.make_layout(8)) == cute.make_layout(8)
    assert cute.coalesce(input=layout) == cute.make_layout(32)
    assert cute.find(t=((1, 2), 3), x=2) == (0, 1) and cute.find(((1, 2), 3), 2, hierarchical=False) == 0
    assert cute.recast_layout(new_type_bits=32, old_type_bits=16, src_layout=cute.make_layout(8)) == cute.make_layout(4)
    with pytest.raises(dsl.cutlass.DSLUserCodeError, match="`composition` has no parameter `by`"):
        cute.composition(lhs=layout, by=2)


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
        ("cutlass.cute.nvgpu.cpasync", "CopyBulkTensor2DGather4G2SOp"),
    ],
)
def test_missing_names_are_refused_by_name(module, name):
    with pytest.raises(AttributeError, match=f"{module}.{name} is not part of this compiler yet"):
        getattr(MODULES[module], name)


@pytest.mark.parametrize(
    "module, name, instead",
    [
        ("cutlass.pipeline", "PipelineClcFetchAsync", "on Hopper StaticPersistentTileScheduler deals out the tiles"),
        ("cutlass.utils", "ClcDynamicPersistentTileScheduler", "clusterlaunchcontrol needs Blackwell"),
        ("cutlass.cute.nvgpu", "make_tiled_tma_atom_A", "on Hopper write cpasync.make_tiled_tma_atom"),
        ("cutlass.utils", "TmemAllocator", "on Hopper wgmma keeps its sums in registers"),
    ],
)
def test_errors_for_blackwell_names_give_the_hopper_alternative(module, name, instead):
    with pytest.raises(AttributeError) as refused:
        getattr(MODULES[module], name)
    assert f"{module}.{name} is not part of this compiler yet" in str(refused.value) and instead in str(refused.value)
