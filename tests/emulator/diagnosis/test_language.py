"""Fixes in the language of the author's file."""

import pytest

from dsl.emulator.diagnosis import language

SOURCES = {
    "import cutlass.cute as cute\n": "put a barrier of the block (`cute.arch.sync_threads()`) between",
    "from cutlass import cute\n": "put a barrier of the block (`cute.arch.sync_threads()`) between",
    "import quadrants as qd\n": "put a barrier of the block (`qd.simt.block.sync()`) between",
    "from tvm.script import tirx as T\n": "put a barrier of the block (`T.cuda.cta_sync()`) between",
    "import triton\nimport triton.language as tl\n": "put a barrier of the block (`tl.debug_barrier()`) between",
    "import torch  # and not cutlass\n": "put a barrier of the block (bar.sync) between",
}


@pytest.mark.parametrize("source", SOURCES)
def test_the_function_of_the_language_of_the_file(tmp_path, source):
    file = tmp_path / "kernel.py"
    file.write_text(source)
    assert language.translated("put a barrier of the block (bar.sync) between", str(file)) == SOURCES[source]


def test_a_file_of_cuda():
    fix = "put a barrier of the warp (bar.warp.sync) or of the block (bar.sync)"
    assert (
        language.translated(fix, "a.cu")
        == "put a barrier of the warp (`__syncwarp()`) or of the block (`__syncthreads()`)"
    )


def test_an_address_in_another_block(tmp_path):
    file = tmp_path / "kernel.py"
    file.write_text("import cutlass.cute as cute\n")
    mapped = "cute.make_ptr(cutlass.Int64, cute.arch.map_dsmem_ptr(barrier, rank).toint(), cute.AddressSpace.smem)"
    assert language.translated("its address (mapa)", str(file)) == f"its address (`{mapped}`)"
    assert (
        language.translated("its address (mapa)", "a.cu") == "its address (`cluster.map_shared_rank(&barrier, rank)`)"
    )


def test_an_instruction_without_a_function_keeps_its_name(tmp_path):
    file = tmp_path / "kernel.py"
    file.write_text("import triton\n")
    assert (
        language.translated("an arrival (barrier.cluster.arrive)", str(file)) == "an arrival (barrier.cluster.arrive)"
    )
    assert language.translated("a barrier (bar.sync)", "") == "a barrier (bar.sync)"
    assert language.translated("a barrier (bar.sync)", str(tmp_path / "none.py")) == "a barrier (bar.sync)"


@pytest.mark.parametrize(
    ("source", "name", "code"),
    [
        ("import cutlass.cute as cute\n", "barrier of the block", ["cute.arch.sync_threads()"]),
        ("from cutlass import cute as c, Int32\n", "barrier of the block", ["c.arch.sync_threads()"]),
        ("import cutlass, cutlass.cute as qu\n", "barrier of the cluster",
         ["qu.arch.cluster_arrive()", "qu.arch.cluster_wait()"]),
        ("import cutlass.cute\n", "wait for a wgmma", ["cutlass.cute.nvgpu.warpgroup.wait_group(2)"]),
        ("import cutlass\n", "barrier of the block", []),
        ("import quadrants as qd\n", "barrier of the block", ["qd.simt.block.sync()"]),
        ("import quadrants\n", "fence of the block", ["quadrants.simt.block.mem_fence()"]),
        ("import quadrants as qd\n", "barrier of the warp", []),
        ("from tvm.script import tirx as T\n", "proxy fence", ["T.ptx.fence.proxy_async()"]),
        ("from tvm_tirx.script import tirx as T\n", "barrier of the block", ["T.cuda.cta_sync()"]),
        ("import tvm_tirx\n", "barrier of the block", []),
        ("import triton.language as tl\n", "barrier of the block", ["tl.debug_barrier()"]),
        ("#include <cuda_pipeline.h>\n", "wait for copies", ["__pipeline_wait_prior(0);"]),
        ("", "wait for copies", []),
    ],
)  # fmt: skip
def test_statements_as_a_file_writes_them(tmp_path, source, name, code):
    file = tmp_path / ("kernel.py" if "import" in source else "kernel.cu")
    file.write_text(source)
    assert language.statements(name, language.of(str(file)), source, number=2) == code
    assert language.statements("wait for a wgmma", None, source, number=2) == ["wgmma.wait_group.sync.aligned 2;"]


@pytest.mark.parametrize(
    ("name", "of", "line", "made"),
    [
        ("a barrier of the block", language.CUTE, "    c.arch.sync_warp(15)  # all", "    c.arch.sync_threads()  # all"),
        ("a barrier of the block", language.CUTE, "c.arch.sync_warp(); c.arch.sync_warp()", None),
        ("a barrier of the block", language.CUTE, "cute.arch.sync_warp()", None),
        ("a barrier that waits", language.CUTE, "c.arch.barrier_arrive(barrier_id=1)", "c.arch.barrier(barrier_id=1)"),
        ("an arrival at the cluster that orders memory", language.CUTE, "c.arch.cluster_arrive_relaxed()",
         "c.arch.cluster_arrive()"),
        ("the scope of the GPU", language.CUTE, 'c.arch.atomic_add(p, 1, scope="cta")',
         'c.arch.atomic_add(p, 1, scope="gpu")'),
        ("a barrier of the whole warp", language.CUDA, "__syncwarp(0xffff);", "__syncwarp();"),
        ("a barrier of the whole warp", None, "@%p bar.warp.sync 15;", "bar.warp.sync -1;"),
        ("a release", None, "st.relaxed.gpu.u32 [%a], 1;", "st.release.gpu.u32 [%a], 1;"),
        ("a load of what may change", None, "ld.global.L1::evict_last.nc.u32 %r, [%a];", "ld.global.L1::evict_last.u32 %r, [%a];"),
    ],
)  # fmt: skip
def test_changes_of_a_line(name, of, line, made):
    assert language.changed(name, of, "import cutlass.cute as c\n", line) == made


def test_each_statement_has_a_text_or_none_in_each_language():
    assert {len(code) for code in language.STATEMENTS.values()} == {6}
    assert set(language.STATEMENTS) >= language.OF_ALL


NVVM, LLVM = "//\n// Generated by NVIDIA NVVM Compiler\n//\n", "//\n// Generated by LLVM NVPTX Back-End\n//\n"


@pytest.mark.parametrize(
    ("ptx", "kind"),
    [
        (NVVM + ".visible .entry _Z3addPi() {}", language.CUDA),
        (NVVM + '.visible .entry kernel_cutlass_add_0() {} .file 1 "/gone/add.py"', language.CUTE),
        (NVVM + '.visible .entry add() {} .file 1 "/gone/add.py"', None),
        (NVVM + ".visible .entry _ZN6cudapy8__main__3addE() {}", None),
        (LLVM + ".extern .shared .align 16 .b8 global_smem[];\n.visible .entry add() {}", language.TRITON),
        (LLVM + ".visible .entry add() {}", None),
        (".visible .entry add() {}", None),
    ],
)
def test_the_language_of_ptx_without_its_source(ptx, kind):
    assert language.of_ptx(ptx) == kind
    fix = language.translated("put a barrier of the block (bar.sync) between", "/gone/add.py", ptx)
    assert ("__syncthreads()" in fix) == (kind == language.CUDA)
    assert ("tl.debug_barrier()" in fix) == (kind == language.TRITON)
