"""Generated copies by TMA: loads, stores and reductions of boxes in one to five modes, swizzled, partly outside their
tensor, to several blocks of a cluster.

Each block moves one tile; a tile's elements are counted with its first mode first.
"""

from __future__ import annotations

from tests.fuzz.kernels.choices import Choices
from tests.fuzz.kernels.text import (
    BFLOAT16,
    FLOAT16,
    FLOAT32,
    FLOAT64,
    HEAD,
    INT8,
    INT16,
    INT32,
    INT64,
    UINT8,
    Type,
    count,
)

UINT32, UINT64 = Type("Uint32", "torch.uint32", 32, 0, 90), Type("Uint64", "torch.uint64", 64, 0, 90)
LOADED = FLOAT32, FLOAT16, INT32, BFLOAT16, INT8, INT16, UINT8, INT64, FLOAT64
# The operations of a reduction on each type.  PTX ISA: cp.reduce.async.bulk.tensor.
# The tensor map of a signed type is one of the unsigned type of its width, so that values are positive.
POSITIVE32, POSITIVE64 = Type("Int32", "torch.int32", 32, 0, 90), Type("Int64", "torch.int64", 64, 0, 90)
SMALL = Type("BFloat16", "torch.bfloat16", 16, -30, 30)
REDUCED = {
    POSITIVE32: ("ADD", "MIN", "MAX", "AND", "OR", "XOR"), FLOAT32: ("ADD",), FLOAT16: ("ADD", "MIN", "MAX"),
    SMALL: ("ADD", "MIN", "MAX"), UINT32: ("ADD", "MIN", "MAX", "AND", "OR", "XOR", "INC", "DEC"), POSITIVE64: ("MIN", "MAX", "AND", "OR", "XOR"),
    UINT64: ("ADD", "MIN", "MAX", "AND", "OR", "XOR"),
}  # fmt: skip
IN_NUMPY = {
    "ADD": "old + new", "MIN": "np.minimum(old, new)", "MAX": "np.maximum(old, new)", "AND": "old & new", "OR": "old | new",
    "XOR": "old ^ new", "INC": "np.where(old >= new, 0, old + 1)", "DEC": "np.where((old == 0) | (old > new), new, old - 1)",
}  # fmt: skip

PARTS = '''
{note}SHAPE, TILE, GRID = {shape}, {tile}, {grid}
N_TILES, TILE_SIZE = {n_tiles}, {tile_size}


def smem_layout():
    return {layout}


def tile_of(block):
    """The slices of a block's tile in a tensor that is large enough for all tiles."""
    places = np.unravel_index(block{of_cluster}, GRID, order="F")
    return tuple(slice(place * extent, (place + 1) * extent) for place, extent in zip(places, TILE))
'''
LOAD = """

@cute.kernel
def kernel(load: cute.CopyAtom, coords: cute.Tensor, out: cute.Tensor):
    thread, _, _ = cute.arch.thread_idx()
    block, _, _ = cute.arch.block_idx()
    layout = smem_layout()
    smem = cutlass.memory.SmemAllocator()
    box = {allocate}
    barrier = smem.allocate_array(cutlass.Int64, 1)
{begin}
    tiles = cute.local_tile(coords, {tiler}, (None,) * {rank})
    to, start = cpasync.tma_partition(
        load, {in_cluster}, cute.make_layout({blocks}), cute.group_modes(box, 0, {tile_rank}), cute.group_modes(tiles, 0, {tile_rank})
    )
    if cute.arch.make_warp_uniform(cute.arch.warp_idx()) == 0:
        cute.copy(load, start[(None, {coordinate})], to{stage}, tma_bar_ptr=barrier{mask})
    cute.arch.mbarrier_wait(barrier, 0)
    for i in range(thread, TILE_SIZE, {threads}):
        out[i, block] = box[{element}]
{end}

@cute.jit
def host(a: cute.Tensor, out: cute.Tensor):
    load, coords = cpasync.make_tiled_tma_atom(cpasync.{op}(), a, smem_layout(), {tiler}{more})
    kernel(load, coords, out).launch(grid=(N_TILES * {blocks}, 1, 1), block=({threads}, 1, 1){cluster})


def run():
    a = device(numbers({count}, {low}, {high}, {seed}).reshape(SHAPE), {torch}, {stride})
    out = device(np.full((TILE_SIZE, N_TILES * {blocks}), {filler}), {torch})
    host(from_dlpack(a, assumed_align=16){dynamic}, from_dlpack(out))
    return {{"out": plain(out)}}


def expected():
    whole = np.zeros([tiles * extent for tiles, extent in zip(GRID, TILE)])
    whole[tuple(map(slice, SHAPE))] = numbers({count}, {low}, {high}, {seed}).reshape(SHAPE)
    return {{"out": np.stack([whole[tile_of(block)].reshape(-1, order="F") for block in range(N_TILES * {blocks})], 1)}}
"""
BEGIN = """\
    if thread == 0:
        cute.arch.mbarrier_init(barrier, 1)
        cute.arch.mbarrier_init_fence()
        cute.arch.mbarrier_arrive_and_expect_tx(barrier, {n_bytes})
    {meet}"""
CLUSTER_MEET = "cute.arch.cluster_arrive()\n    cute.arch.cluster_wait()"
STORE = """

@cute.kernel
def kernel(store: cute.CopyAtom, coords: cute.Tensor, values: cute.Tensor):
    thread, _, _ = cute.arch.thread_idx()
    block, _, _ = cute.arch.block_idx()
    layout = smem_layout()
    smem = cutlass.memory.SmemAllocator()
    box = {allocate}
    for i in range(thread, TILE_SIZE, {threads}):
        box[{element}] = values[i, block]
    cute.arch.fence_proxy("async.shared", space="cta")
    cute.arch.sync_threads()
    tiles = cute.local_tile(coords, {tiler}, (None,) * {rank})
    source, to = cpasync.tma_partition(
        store, 0, cute.make_layout(1), cute.group_modes(box, 0, {tile_rank}), cute.group_modes(tiles, 0, {tile_rank})
    )
    if {issuer}:
        cute.copy(store, source{stage}, to[(None, {coordinate})])
        cute.arch.cp_async_bulk_commit_group()
        cute.arch.cp_async_bulk_wait_group(0{read})


@cute.jit
def host(a: cute.Tensor, values: cute.Tensor):
    store, coords = cpasync.make_tiled_tma_atom(cpasync.{op}, a, smem_layout(), {tiler}{more})
    kernel(store, coords, values).launch(grid=({repeats} * N_TILES, 1, 1), block=({threads}, 1, 1))


def given():
    return numbers({repeats} * N_TILES * TILE_SIZE, {low}, {high}, {seed}).reshape(TILE_SIZE, {repeats} * N_TILES)


def run():
    a = device(numbers({count}, {low}, {high}, 77).reshape(SHAPE), {torch}, {stride})
    host(from_dlpack(a, assumed_align=16){dynamic}, from_dlpack(device(given(), {torch})))
    return {{"a": plain(a)}}


def expected():
    whole = np.zeros([tiles * extent for tiles, extent in zip(GRID, TILE)], np.int64)
    whole[tuple(map(slice, SHAPE))] = numbers({count}, {low}, {high}, 77).reshape(SHAPE)
    for block in range({repeats} * N_TILES):
        new, old = given()[:, block].reshape(TILE, order="F"), whole[tile_of(block % N_TILES)]
        whole[tile_of(block % N_TILES)] = {result}
    return {{"a": whole[tuple(map(slice, SHAPE))]}}
"""


def program(pick: Choices) -> str:
    way = pick("load", "store", "multicast", "reduce")
    odd = pick(*(False,) * 11, True)
    operation = ""
    if way == "reduce":
        kind = pick(*REDUCED)
        operation = pick(*REDUCED[kind]) if not odd else pick(*IN_NUMPY)
    else:
        kind = pick(*LOADED)
    blocks = pick(2, 4) if way == "multicast" else 1
    parts = _tensor(pick, kind, odd, blocks) | dict(
        seed=pick(*range(9)), threads=pick(32, 64, 128), more="", filler=kind.high
    )
    if way in ("load", "multicast"):
        return _load(pick, kind, parts, blocks)
    if way == "reduce":
        repeats = 1 if operation in ("INC", "DEC") else pick(1, 2)
        op, issuer = (
            f"CopyReduceBulkTensorTileS2GOp(cpasync.ReductionKind.{operation})",
            pick("thread == 0", "thread < 32"),
        )
    else:
        repeats, op, issuer = 1, "CopyBulkTensorTileS2GOp()", pick("thread == 0", "thread < 32")
    parts |= dict(op=op, issuer=issuer, result=IN_NUMPY.get(operation, "new"), repeats=repeats, read="")
    return HEAD.format(title="A store by TMA.") + (PARTS + STORE).format(of_cluster="", **parts)


def _load(pick: Choices, kind: Type, parts: dict, blocks: int) -> str:
    parts |= dict(
        op="CopyBulkTensorTileG2SOp", blocks=blocks, in_cluster="0", mask="", cluster="", end="", of_cluster=""
    )
    meet = "cute.arch.sync_threads()"
    if blocks > 1:
        meet = CLUSTER_MEET
        parts |= dict(
            op="CopyBulkTensorTileG2SMulticastOp", mask=f", mcast_mask=cutlass.Int16({(1 << blocks) - 1})", cluster=f", cluster=({blocks}, 1, 1)",
            in_cluster="cute.arch.make_warp_uniform(cute.arch.block_idx_in_cluster())", more=f", num_multicast={blocks}",
            end=f"    {CLUSTER_MEET}\n", of_cluster=f" // {blocks}", coordinate=parts["coordinate"].replace("block", f"(block // {blocks})"),
        )  # fmt: skip
    elif kind is FLOAT32 and pick(False, False, True):
        parts["more"] = ", internal_type=cutlass.TFloat32"
    begin = BEGIN.format(n_bytes=parts["tile_size"] * kind.bits // 8, meet=meet)
    return HEAD.format(title="A load by TMA.") + (PARTS + LOAD).format(begin=begin, **parts)


def _tensor(pick: Choices, kind: Type, odd: bool, blocks: int) -> dict:
    """The tensor, its tiles and their shared memory."""
    rank = pick(2, 1, 3, 4, 5)
    order = pick.order(rank)
    line = 128 // kind.bits  # elements in 16 bytes
    tile = [pick(4, 1, 8, 3, 2) for _ in range(rank)]
    tile[order[0]] = line * pick(1, 2, 4, 8) if not odd else pick(line, line // 2 or 1, 3 * line)
    for mode in order[:0:-1]:
        while count(tile) > 2048 and tile[mode] > 1:
            tile[mode] //= 2
    if blocks > 1 and not odd:  # each block's part of a box begins at a multiple of 128 bytes
        tile[order[0]], last = 8 * line, order[-1]
        unit = blocks * (8 * line if rank == 1 else 1)
        tile[last] = -(-tile[last] // unit) * unit
    tile_rank = rank if rank < 3 or blocks > 1 else pick(rank, 2)
    for mode in range(tile_rank, rank):
        if mode == order[0]:
            tile_rank = rank
    tile[tile_rank:] = [1] * (rank - tile_rank)
    grid = [1] * rank
    for mode in range(rank):
        grid[mode] = pick(1, 2, 3) if count(grid) < 4 else 1
    shape = [tile[i] * grid[i] - pick(0, 0, 1, 2, 5) % tile[i] for i in range(rank)]
    shape = [max(extent, min(tile[i], 2)) for i, extent in enumerate(shape)]
    stride, step = [0] * rank, 1
    for place, mode in enumerate(order):
        stride[mode] = step
        step *= shape[mode]
        if place == 0:
            step = -(-step // line) * line + pick(0, 0, line) + (pick(0, 1) if odd else 0)
    is_dynamic = pick(False, False, True)
    rows_of_tiles = any(stride[mode] % tile[order[0]] == 0 for mode in order[1:])
    padded = not is_dynamic and shape[order[0]] % tile[order[0]] and rows_of_tiles
    bits = pick(0, 1, 2, 3)
    smem_order = order[:]
    layout, stage = _smem(pick, kind, tuple(tile[:tile_rank]), [mode for mode in smem_order if mode < tile_rank], bits)
    staged = bool(stage)
    coordinate, steps = [], 1
    for mode in range(rank):
        coordinate.append(f"block // {steps} % {grid[mode]}")
        steps *= grid[mode]
    swizzled = "make_composed_layout" in layout or "tile_to_shape" in layout
    arguments = "layout.outer, 1024, layout.inner" if swizzled else "layout, 1024"
    element = "i" if not staged else ", ".join(_coordinates(tile[:tile_rank])) + f", {stage[-1]}"
    return dict(
        shape=tuple(shape), tile=tuple(tile), grid=tuple(grid), n_tiles=count(grid), tile_size=count(tile), layout=layout,
        allocate=f"smem.allocate_tensor({kind}, {arguments})", rank=rank, tile_rank=tile_rank, tiler=tuple(tile[:tile_rank]),
        coordinate=", ".join(coordinate), stage=f"[(None, {stage[-1]})]" if staged else "", element=element, count=count(shape),
        low=kind.low, high=kind.high, torch=kind.torch, stride=tuple(stride),
        dynamic=f".mark_layout_dynamic(leading_dim={order[0]})" if is_dynamic else "",
        note="# Rows are padded to whole tiles.\n" if padded and rank > 1 else "",
    )  # fmt: skip


def _coordinates(tile: list[int]) -> list[str]:
    """A tile's coordinates of its element i."""
    made, steps = [], 1
    for extent in tile:
        made.append(f"i // {steps} % {extent}")
        steps *= extent
    return made


def _smem(pick: Choices, kind: Type, tile: tuple[int, ...], order: list[int], bits: int) -> tuple[str, tuple[int, ...]]:
    """The layout of shared memory, and (stages, the stage that is used) where it has stages."""
    row = tile[order[0]] * kind.bits // 8
    if len(tile) == 2 and row % (16 << bits) == 0 and tile[order[1]] % 8 == 0 and pick(False, True):
        name = "K" if order[0] == 1 else "MN"
        swizzle = ("INTER", "SW32", "SW64", "SW128")[bits]
        stages = pick(0, 2)
        shape, how = ((*tile, stages), (*pick.order(2), 2)) if stages else (tile, pick.order(2))
        atom = f"warpgroup.make_smem_layout_atom(warpgroup.SmemLayoutAtomKind.{name}_{swizzle}, {kind})"
        return f"cute.tile_to_shape({atom}, {shape}, {how})", (stages, pick(0, 1)) if stages else ()
    stride, step = [0] * len(tile), 1
    for mode in order:
        stride[mode] = step
        step *= tile[mode]
    stages = pick(0, 0, 3)
    # Shared memory of a stage begins at a multiple of 128 bytes.
    if stages:
        step = -(-step * kind.bits // 1024) * 1024 // kind.bits
        tile, stride = (*tile, stages), [*stride, step]
    layout = f"cute.make_layout({tile}, stride={tuple(stride)})"
    if bits and row == 16 << bits:
        layout = f"cute.make_composed_layout(cute.make_swizzle({bits}, 4, 3), 0, {layout})"
    return layout, (stages, pick(0, 1, 2)) if stages else ()
