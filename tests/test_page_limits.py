"""The limits that pages state are true: each name is tried, so that the page is corrected on the day it works.

Limits that need a kernel are tried by the tests of the package that refuses them.
"""

import json
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
CUTLASS = "import cutlass.cute as cute, cutlass.pipeline as pipeline\nfrom cutlass.cute.nvgpu import cpasync, warp"
QUADRANTS = "import quadrants as qd\nqd.init(arch=qd.gpu)"
TIRX = "import tvm\nfrom tvm.script import tirx as T"
LIMITS = {  # imports -> (page, its words, what they mean as an expression, what the error names)
    CUTLASS: [
        ("mma", "sparse and block-scaled mma", "warp.MmaF16BF16SparseOp()", "MmaF16BF16SparseOp"),
        ("mma", "sparse and block-scaled mma", "warp.MmaMXF4Op()", "MmaMXF4Op"),
        ("mma", "`LdMatrix16x16x8bOp`", "warp.LdMatrix16x16x8bOp()", "LdMatrix16x16x8bOp"),
        ("mma", "`StMatrix16x8x8bOp`", "warp.StMatrix16x8x8bOp()", "StMatrix16x8x8bOp"),
        ("pipelines", "`arrive_and_drop`", "pipeline.MbarrierArray.arrive_and_drop", "arrive_and_drop"),
        ("pipelines", "`PipelineUmmaAsync`", "pipeline.PipelineUmmaAsync.create()", "PipelineUmmaAsync"),
        ("hopper", "`tcgen05`", "cute.nvgpu.tcgen05.MmaF16BF16Op()", "tcgen05.MmaF16BF16Op"),
        ("hopper", "tensor memory (`AddressSpace.tmem`)", "cute.AddressSpace.tmem", "AddressSpace.tmem"),
        ("tma", "gather and scatter", "cpasync.CopyBulkTensor2DGather4G2SOp()", "CopyBulkTensor2DGather4G2SOp"),
        ("tma", "gather and scatter", "cpasync.CopyBulkTensor2DScatter4S2GOp()", "CopyBulkTensor2DScatter4S2GOp"),
        ("cute", "`warp_reduce` of `cutlass.cute.experimental`", "cute.experimental.warp_reduce", "warp_reduce"),
        ("cute", "TMA, pipelines, `math`", "cute.experimental.math", "experimental.math"),
        ("export", "`cutlass.cute.export.aot_config`", "__import__('cutlass.cute.export.aot_config', fromlist='x').main()",
         "aot_config.main"),
    ],
    QUADRANTS: [
        ("quadrants", "automatic differentiation", "qd.ad.Tape()", "quadrants.ad.Tape"),
        ("quadrants", "automatic differentiation", "qd.field(qd.f32, shape=4, needs_grad=True)", "needs_grad"),
        ("quadrants", "sparse and quantised layouts", "qd.root.pointer(qd.i, 4)", "sparse"),
        ("quadrants", "sparse and quantised layouts", "qd.types.quant.int(4)", "quadrants.types.quant.int"),
        ("quadrants", "buffer views", "qd.BufferView()", "quadrants.BufferView"),
        ("quadrants", "tiles of registers", "qd.simt.Tile16x16()", "quadrants.simt.Tile16x16"),
        ("quadrants", "meshes", "qd.Mesh()", "quadrants.Mesh"),
    ],
    TIRX: [
        ("tirx", "layouts of buffers", "T.TileLayout", "T.TileLayout"),
        ("tirx", "tensor maps", "T.TensorMap", "T.TensorMap"),
        ("tirx", "`tcgen05`", "T.ptx.tcgen05", "T.ptx.tcgen05"),
        ("tirx", "`T.cuda.wait_until`", "T.cuda.wait_until", "T.cuda.wait_until"),
        ("tirx", "`T.cuda.func_call`", "T.cuda.func_call", "T.cuda.func_call"),
        ("tirx", "`T.cuda.grid_sync`", "T.cuda.grid_sync", "T.cuda.grid_sync"),
    ],
}  # fmt: skip
PROGRAM = """
import json, sys
import dsl.alias
dsl.alias.install("emulator")
imports, expressions = json.load(sys.stdin)
names = {}
exec(imports, names)
found = []
for expression in expressions:
    try:
        found.append(f"no error: {eval(expression, names)!r}")
    except Exception as error:
        found.append(f"refused: {error}")
print(json.dumps(found))
"""


@pytest.fixture(scope="module", params=LIMITS, ids=["cutlass", "quadrants", "tirx"])
def tried(request):
    """The limits of a language, each with what came of it."""
    limits = LIMITS[request.param]
    asked = json.dumps([request.param, [expression for _, _, expression, _ in limits]])
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM], input=asked, capture_output=True, text=True, timeout=600, cwd=ROOT
    )
    assert done.returncode == 0, done.stderr
    return list(zip(limits, json.loads(done.stdout.splitlines()[-1]), strict=True))


def test_each_name_is_refused_by_name(tried):
    wrong = [(limit, said) for limit, said in tried if not said.startswith("refused: ") or limit[3] not in said]
    assert wrong == []


def test_each_refusal_is_of_a_name_that_upstream_has(tried):
    """An error about a misspelt name would prove nothing."""
    assert [limit for limit, said in tried if "has no name" in said or "did you mean" in said] == []


def test_the_pages_state_these_limits():
    for page, words, _, _ in [limit for limits in LIMITS.values() for limit in limits]:
        assert words in (ROOT / f"docs/{page}.md").read_text(), (page, words)
