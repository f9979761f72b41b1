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


def test_an_instruction_without_a_function_keeps_its_name(tmp_path):
    file = tmp_path / "kernel.py"
    file.write_text("import triton\n")
    assert (
        language.translated("a barrier of the warp (bar.warp.sync)", str(file))
        == "a barrier of the warp (bar.warp.sync)"
    )
    assert language.translated("a barrier (bar.sync)", "") == "a barrier (bar.sync)"
    assert language.translated("a barrier (bar.sync)", str(tmp_path / "none.py")) == "a barrier (bar.sync)"


def test_each_phrase_has_a_function_or_none_in_each_language():
    assert {len(functions) for functions in language.WORDS.values()} == {5}
