"""Structs and unions: offsets as NVIDIA's compiler has them, fields in memory, dynamic control flow, errors."""

import os
from pathlib import Path

import numpy as np
import pytest

import dsl.cutlass as cutlass
from dsl.core.errors import DSLUserCodeError, PortabilityWarning
from dsl.cutlass import Float16, Float32, Int8, Int32, Int64, cute
from tests import fork_server

PROGRAM = Path(__file__).with_name("struct_program.py")
RECORD = Path(__file__).with_name("upstream_structs.txt")
MemRange, Align = cute.struct.MemRange, cute.struct.Align


def output_of(*command: str) -> str:
    run = fork_server.run([*command, str(PROGRAM)], env={**os.environ, "CUTE_DSL_ARCH": "sm_90a"})
    assert run.returncode == 0, run.stderr
    return run.stdout


def test_sizes_and_offsets_are_the_recorded_ones():
    assert output_of("-m", "dsl") == RECORD.read_text()


@pytest.mark.slow
def test_the_record_is_what_upstream_prints():
    assert output_of() == RECORD.read_text()


@cute.struct
class Pair:
    left: Float32
    right: Float32


@cute.struct
class Shared:
    """The shared memory of a block."""

    tile: MemRange[Float32, 8]
    count: Int64
    pair: Pair
    flag: cutlass.Boolean
    aligned: Align[MemRange[Float16, 4], 64]


@cute.union
class Word:
    number: Int32
    bits: Float32


def test_properties_of_a_struct():
    assert (Shared.__sizeof__(), Shared.size_in_bytes(), Shared.__alignof__()) == (128, 128, 64)
    assert repr(Shared) == (
        "struct Shared(tile: MemRange[Float32, 8] at 0, count: Int64 at 32, pair: Pair at 40, "
        "flag: Boolean at 48, aligned: Align[MemRange[Float16, 4], 64] at 64; 128 bytes)"
    )
    assert (Shared.__name__, Shared.__doc__) == ("Shared", "The shared memory of a block.")
    halves = MemRange[Float16, 5]
    assert (halves.size, halves.elem_width, halves.size_in_bytes) == (5, 16, 10)
    assert (Align[Int32, 16].dtype, Align[Int32, 16].align) == (Int32, 16)


def test_fields_are_read_and_written(run):
    @cute.kernel
    def kernel(out: cute.Tensor):
        shared = cutlass.utils.SmemAllocator().allocate(Shared)
        shared.tile[3] = 7
        shared.count = 1 << 40
        shared.count.ptr.store(shared.count.load() + 5)
        shared.pair.left = 1.5
        shared.pair.right.store(shared.pair.left.load() * 2)
        shared.flag = shared.tile[3] > 6.0
        halves = shared.aligned.get_tensor(cute.make_layout((2, 2)))
        halves[1, 1] = 9
        out[0] = shared.tile[3]
        out[1] = Float32(shared.count.load() - (1 << 40))
        out[2] = shared.pair.right.load()
        out[3] = Float32(shared.flag.load())
        out[4] = shared.aligned[3]
        out[5] = Float32(shared.aligned.data_ptr().toint() - shared.base.toint())

    out = np.zeros(6, np.float32)
    run(kernel, out, threads=1)
    assert list(out) == [7, 5, 3, 1, 9, 64]


def test_methods_of_the_class_are_methods_of_its_storage(run):
    @cute.struct
    class Counter:
        n: Int32

        def add(self, by):
            self.n = self.n.load() + by

    @cute.kernel
    def kernel(out: cute.Tensor):
        counter = cutlass.utils.SmemAllocator().allocate(Counter)
        counter.n = 1
        counter.add(41)
        out[0] = counter.n.load()

    out = np.zeros(1, np.int32)
    run(kernel, out, threads=1)
    assert out[0] == 42


def test_a_union_is_one_memory(run):
    @cute.kernel
    def kernel(out: cute.Tensor):
        word = cutlass.utils.SmemAllocator().allocate(Word)
        word.bits = -2.5
        out[0] = word.number.load()

    out = np.zeros(1, np.int32)
    run(kernel, out, threads=1)
    assert out.view(np.float32)[0] == -2.5 and Word.size_in_bytes() == 4


def test_memory_seen_as_another_type(run):
    @cute.kernel
    def kernel(out: cute.Tensor):
        shared = cutlass.utils.SmemAllocator().allocate(Shared)
        shared.tile.get_tensor(8).fill(0)
        shared.tile[1] = 1.0
        words = shared.tile.get_tensor((2, 4), dtype=Int32)
        out[0] = words[1, 0]

    out = np.zeros(1, np.int32)
    run(kernel, out, threads=1)
    assert out[0] == 0x3F800000


@pytest.mark.parametrize("alignment", [64, 1024])
def test_a_swizzle_permutes_addresses_whatever_the_alignment(run, alignment):
    """Element c of rows of 128 bytes is at the address whose bits 4 to 6 are xored with bits 7 to 9."""

    @cute.struct
    class Tile:
        pad: MemRange[Int8, 3]
        data: Align[MemRange[Int8, 2048], alignment]

    @cute.kernel
    def kernel(out: cute.Tensor):
        tid, _, _ = cute.arch.thread_idx()
        tile = cutlass.utils.SmemAllocator().allocate(Tile)
        whole = cute.make_tensor(tile.base, cute.make_layout(Tile.size_in_bytes()))
        for i in range(tid, Tile.size_in_bytes(), 32):
            whole[i] = -1
        cute.arch.sync_threads()
        data = tile.data.get_tensor(cute.make_layout(1024), cute.make_swizzle(3, 4, 3))
        for i in range(32):
            data[tid + 32 * i] = tid
        cute.arch.sync_threads()
        for i in range(tid, Tile.size_in_bytes(), 32):
            out[i] = whole[i]

    out = np.zeros(Tile.size_in_bytes(), np.int8)
    run(kernel, out)
    at = alignment + np.arange(1024)
    wanted = np.full(Tile.size_in_bytes(), -1, np.int8)
    wanted[at ^ (at >> 3 & 0x70)] = np.arange(1024) % 32
    assert (out == wanted).all()


def test_a_struct_is_used_in_and_carried_through_dynamic_control_flow(run):
    @cute.kernel
    def kernel(out: cute.Tensor, n: Int32):
        tid, _, _ = cute.arch.thread_idx()
        smem = cutlass.utils.SmemAllocator()
        first, second = smem.allocate(Shared), smem.allocate(Shared)
        first.count, second.count = 10, 20
        chosen = first
        if tid < n:
            chosen = second
            chosen.pair.left = 4.0
        elif tid == n:
            chosen.pair.left = 8.0
        cute.arch.sync_threads()
        total = Int64(0)
        for _i in range(3):
            chosen, other = second, first
            total += chosen.count.load() + other.count.load()
        while total < 100:
            first.tile[0] = 1.0
            total += second.count.load()
        out[tid] = Float32(total) + chosen.pair.left.load()

    out = np.zeros(32, np.float32)
    run(kernel, out, 5)
    assert (out == 114).all()


def test_a_struct_may_be_chosen_by_a_dynamic_test(run):
    @cute.kernel
    def kernel(out: cute.Tensor, n: Int32):
        tid, _, _ = cute.arch.thread_idx()
        smem = cutlass.utils.SmemAllocator()
        first, second = smem.allocate(Pair), smem.allocate(Pair)
        if tid == 0:
            first.left, second.left = 1.0, 2.0
        cute.arch.sync_threads()
        chosen, field = first, first.tail if cutlass.const_expr(False) else first.left
        if tid < n:
            chosen, field = second, second.left
        out[tid] = chosen.left.load() + 10 * field.ptr.load()

    out = np.zeros(32, np.float32)
    run(kernel, out, 5)
    assert (out == np.where(np.arange(32) < 5, 22, 11)).all()


def test_a_struct_in_global_memory_is_an_argument_of_a_kernel():
    @cute.kernel
    def kernel(pair: cutlass.Constexpr, where: Pair):
        where.right = where.left.load() + 1

    @cute.jit
    def host(data: cute.Tensor):
        pair = Pair(cute.recast_ptr(data.iterator, dtype=Int8))
        kernel(None, pair).launch(grid=(1, 1, 1), block=(1, 1, 1))

    data = np.array([3, 0], np.float32)
    host(data)
    assert list(data) == [3, 4]


def test_a_dynamic_index_is_taken_with_a_warning(run):
    @cute.kernel
    def kernel(out: cute.Tensor):
        tid, _, _ = cute.arch.thread_idx()
        shared = cutlass.utils.SmemAllocator().allocate(Shared)
        shared.tile[tid] = tid
        out[tid] = shared.tile[tid]

    out = np.zeros(8, np.float32)
    with pytest.warns(PortabilityWarning) as warned:
        run(kernel, out, threads=8)
    assert list(out) == list(range(8))
    assert str(warned[0].message) == (
        "a MemRange is indexed by a dynamic value: NVIDIA's compiler rejects that (PHASE_DYNAMIC_TO_STATIC_BOOL)"
    )
    assert warned[0].filename == __file__


def test_annotations_that_are_text_are_read_with_a_warning():
    with pytest.warns(PortabilityWarning) as warned:

        @cute.struct
        class Lazy:
            first: "Int8"
            second: "Align[Pair, 16]"

    assert (Lazy.offsets, Lazy.size_in_bytes()) == ({"first": 0, "second": 16}, 32)
    assert str(warned[0].message) == (
        "annotations of the struct `Lazy` are text (`from __future__ import annotations`)"
        ": NVIDIA's compiler rejects that"
    )


MISTAKES = {
    "class Empty: pass": ("TypeError", "`Empty` is a struct without fields", "x: cutlass.Float32"),
    "class S: x: int": (
        "TypeError",
        "field `x` of `S` is int: a field is a number of the DSL, a MemRange, an Align or another struct",
        "x: cutlass.Int32, or cute.struct.MemRange[cutlass.Float32, 128]",
    ),
    "class S: x: Align[Int32, 3]": (
        "TypeError",
        "alignment must be a power of two in bytes, got 3",
        "cute.struct.Align[cutlass.Int32, 16]",
    ),
    "class S: x: Align[Align[Int32, 8], 16]": (
        "TypeError",
        "Align takes a number, a MemRange, a struct or a union, got Align[Int32, 8]",
        "cute.struct.Align[cutlass.Int32, 16]",
    ),
    "class S: x: MemRange[int, 4]": (
        "TypeError",
        "a MemRange needs a numeric type, got int",
        "cute.struct.MemRange[cutlass.Float32, 128]",
    ),
    "class S: x: MemRange[Int32, -4]": (
        "TypeError",
        "size of a MemRange must be a static number of elements, got -4",
        "cute.struct.MemRange[cutlass.Float32, 128]",
    ),
    "class S: x: MemRange[Int32]": (
        "TypeError",
        "takes two items in brackets, got Int32",
        "cute.struct.MemRange[cutlass.Float32, 128]",
    ),
}


@pytest.mark.parametrize("definition", MISTAKES)
def test_a_definition_that_means_nothing_is_refused(definition):
    error, message, fix = MISTAKES[definition]
    with pytest.raises(DSLUserCodeError) as raised:
        exec(f"@cute.struct\n{definition}", {**globals(), "__name__": __name__})
    assert (raised.value.message, raised.value.fix) == (message, fix)
    assert isinstance(raised.value, TypeError) == (error == "TypeError")


@pytest.mark.parametrize(
    "statement, message, fix",
    [
        (
            "shared.tile = 5",
            "cannot assign to `tile` of `Shared`, which is a range: assign its elements",
            "`s.tile[0] = ...`",
        ),
        (
            "shared.pair = 5",
            "cannot assign to `pair` of `Shared`, which is a struct: assign its fields",
            "`s.pair.left = ...`",
        ),
        ("shared.wide = 5", "`Shared` has no field `wide`", "its fields are tile, count, pair, flag, aligned"),
        ("shared.wide.load()", "`Shared` has no field `wide`", "its fields are tile, count, pair, flag, aligned"),
        ("shared.tile[8]", "the index 8 is outside a MemRange of 8 elements", "0 to 7"),
        ("shared.tile[-1] = 2", "the index -1 is outside a MemRange of 8 elements", "0 to 7"),
        (
            "shared.tile.get_tensor(cute.make_layout((3, 3)))",
            "the layout (3,3):(1,3) of Float32 needs 36 bytes, but MemRange[Float32, 8] has 32",
            "make the MemRange as long as the layout: cute.cosize(layout)",
        ),
        (
            "shared.tile.get_tensor(8, dtype=Int64)",
            "the layout 8:1 of Int64 needs 64 bytes, but MemRange[Float32, 8] has 32",
            "make the MemRange as long as the layout: cute.cosize(layout)",
        ),
        (
            "Shared(shared.tile.data_ptr())",
            "Shared takes a pointer to bytes, got ptr<f32, smem, align<64>>",
            "`Shared(cute.recast_ptr(p, dtype=cutlass.Int8))`",
        ),
        (
            "smem.allocate(MemRange[Float32, 4])",
            "allocate takes a number of bytes, a struct or a numeric type, got MemRange[Float32, 4]",
            "allocate(64), or allocate(cutlass.Float32)",
        ),
        (
            "smem.allocate(Int8, 2048)",
            "alignment of shared memory must be a power of two up to 1024 bytes, got 2048",
            "byte_alignment=16, for example",
        ),
    ],
)
def test_mistakes_with_fields_are_named(refused, tmp_path, statement, message, fix):
    path = tmp_path / "mistake.py"
    path.write_text(
        f"@cute.kernel\ndef kernel(a: cute.Tensor):\n    smem = cutlass.utils.SmemAllocator()\n"
        f"    shared = smem.allocate(Shared)\n    {statement}\n"
    )
    names = dict(globals())
    exec(compile(path.read_text(), str(path), "exec"), names)
    assert refused(names["kernel"], np.zeros(4, np.float32)) == (message, fix)
