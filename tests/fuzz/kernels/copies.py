"""Generated tiled copies: random thread and value layouts, vectors, types, tiles that lie partly outside; and matrices.

A program copies, and also writes which thread had an element as which of its values.
"""

from __future__ import annotations

from tests.fuzz.kernels.choices import Choices
from tests.fuzz.kernels.matrices import matrices
from tests.fuzz.kernels.text import HEAD, TYPES, strides

TILED = """
THREADS, VALUES, SHAPE = {threads}, {values}, {shape}


@cute.kernel
def kernel(a: cute.Tensor, out: cute.Tensor, owner: cute.Tensor, place: cute.Tensor):
    thread, _, _ = cute.arch.thread_idx()
    m, n, _ = cute.arch.block_idx()
    atom = cute.make_copy_atom({op}, {type}, num_bits_per_copy={bits})
    store = cute.make_copy_atom(CopyUniversalOp(), {type}, num_bits_per_copy={store_bits})
    tiled = cute.make_tiled_copy_tv(atom, {thread_layout}, {value_layout})
    tiled_store = {store_copy}
    mine, mine_store = tiled.get_slice(thread), tiled_store.get_slice(thread)
    coords = cute.make_identity_tensor(SHAPE)
    tile_a, tile_out, tile_owner, tile_place, tile_coords = (
        cute.local_tile(each, {tile}, (m, n)) for each in (a, out, owner, place, coords)
    )
    source, at = mine.partition_S(tile_a), mine_store.partition_D(tile_coords)
    target, owners, places = (mine_store.partition_D(each) for each in (tile_out, tile_owner, tile_place))
{move}
    for i in cutlass.range_constexpr(cute.size(at)):
        if cute.elem_less(at[i], SHAPE):
            owners[i] = thread
            places[i] = i


@cute.jit
def host(a: cute.Tensor, out: cute.Tensor, owner: cute.Tensor, place: cute.Tensor):
    kernel(a, out, owner, place).launch(grid={grid}, block=({n_threads}, 1, 1))


def run():
    values = numbers({count}, {low}, {high}, {seed}).reshape(SHAPE)
    a, out = device(values, {torch}, {stride}), device(np.zeros(SHAPE), {torch}, {out_stride})
    owner, place = (device(np.full(SHAPE, -1), torch.int32) for _ in range(2))
    host({arguments}, from_dlpack(owner), from_dlpack(place))
    return {{"out": plain(out), "owner": plain(owner), "place": plain(place)}}


def expected():
    owner, place = (np.zeros(SHAPE) for _ in range(2))
    for m, n in np.ndindex(SHAPE):
        rows, columns = divmod(m % {tile_m}, VALUES[0]), divmod(n % {tile_n}, VALUES[1])
{formula}
    return {{"out": numbers({count}, {low}, {high}, {seed}).reshape(SHAPE), "owner": owner, "place": place}}
"""

PREDICATE = """\
    pred = cute.make_rmem_tensor(cute.make_layout((at.shape[0][1], at.shape[1], at.shape[2]){pred_order}), cutlass.Boolean)
    for v in cutlass.range_constexpr(cute.size(pred, mode=[0])):
        for i in cutlass.range_constexpr(cute.size(pred, mode=[1])):
            for j in cutlass.range_constexpr(cute.size(pred, mode=[2])):
                pred[v, i, j] = cute.elem_less(at[(0, v), i, j], SHAPE)
"""
REGISTERS = """\
    values = cute.make_{maker}
{pred}    cute.copy({by}, source, values{pred_argument})
    cute.copy({by_store}, {retiled}, target{pred_argument})
"""
SHARED = """\
    smem = cutlass.memory.SmemAllocator()
    box = smem.allocate_tensor({type}, cute.make_layout({tile}, stride={smem_stride}), 1024{swizzle})
    inside = mine.partition_D(box)
{pred}    cute.copy({by}, source, inside{pred_argument})
    cute.arch.cp_async_commit_group()
    cute.arch.cp_async_wait_group(0)
    cute.arch.sync_threads()
    values = cute.make_fragment_like(mine_store.partition_S(box))
    cute.autovec_copy(mine_store.partition_S(box), values)
    cute.copy({by_store}, values, target{pred_argument})
"""
# The thread of an element is the thread layout at its place among the threads, and so for its value; after the
# values of a tile's first copy come the values of the next.
FORMULA = """\
        owner[m, n] = (rows[0] % THREADS[0]) * {thread_strides}[0] + (columns[0] % THREADS[1]) * {thread_strides}[1]
        place[m, n] = rows[1] * {value_strides}[0] + columns[1] * {value_strides}[1]
        place[m, n] += VALUES[0] * VALUES[1] * (rows[0] // THREADS[0] + {repeats} * (columns[0] // THREADS[1]))
"""


def tiled(pick: Choices) -> str:
    """A tile (M, N) of each block through registers or shared memory."""
    odd = pick(*(False,) * 9, True)  # whether it may be one that a compiler refuses
    kind = pick(*TYPES)
    shared = pick(False, True)
    bits = pick(*(bits for bits in ((kind.bits, 32, 64, 128) if not shared else (32, 64, 128)) if bits >= kind.bits))
    vector = bits // kind.bits
    threads = pick((32, 1), (1, 32), (8, 4), (4, 8), (16, 2), (2, 16), (16, 4), (8, 8), (4, 16))
    across = pick(0, 1)  # the mode that vectors lie along
    values = [pick(1, 2, 4), pick(1, 2, 3)]
    values[across] = vector * pick(1, 2)
    thread_order = pick.order(2)
    value_order = (across, 1 - across) if not odd or pick(True, False) else (1 - across, across)
    repeats = pick(1, 2), pick(1, 1, 2)
    if values[0] * values[1] * threads[0] * threads[1] > 1024:
        values[1 - across], repeats = 1, (1, 1)
    tile = tuple(threads[i] * values[i] * repeats[i] for i in (0, 1))
    grid = pick(1, 2), pick(1, 2)
    less = [pick(0, 1, 3, 5), pick(0, 1, 2, 7)]
    less[across] *= vector
    less[across] += pick(0, 1) if odd else 0
    shape = tuple(tile[i] * grid[i] - less[i] if tile[i] * grid[i] > less[i] else tile[i] for i in (0, 1))
    grid = tuple(-(-shape[i] // tile[i]) for i in (0, 1))
    predicated = shape != tuple(tile[i] * grid[i] for i in (0, 1))
    memory_order = (across, 1 - across) if not odd or pick(True, False) else (1 - across, across)
    stride = strides(shape, memory_order, pick(0, vector, vector * 3) + (pick(0, 1) if odd else 0))
    out_stride = strides(shape, memory_order, pick(0, vector * 2))
    store_bits = pick(kind.bits, bits)
    layout = [
        f"cute.make_layout({each}, stride={strides(each, order)})"
        for each, order in ((threads, thread_order), (tuple(values), value_order))
    ]
    if predicated and store_bits != bits:
        store_bits = bits
    # A swizzle goes up to the end of 128 bytes.
    whole = tile[0] * tile[1] * kind.bits % 1024 == 0
    swizzle = pick("", f", cute.make_swizzle({pick(1, 2, 3)}, 4, 3)") if whole else ""
    wants = dict(
        type=kind,
        by=pick("tiled", "tiled", "atom"),
        by_store=pick("tiled_store", "store"),
        pred="",
        pred_argument="",
        maker=pick("fragment_like(source)", "rmem_tensor_like(source)", f"rmem_tensor(source.shape, {kind})"),
        tile=tile,
        smem_stride=strides(tile, memory_order, 0 if swizzle else pick(0, 0, vector)),
        swizzle=swizzle,
    )
    store_copy = pick(
        "tiled",
        "cute.make_tiled_copy_tv(store, {}, {})".format(*layout),
        "cute.make_tiled_copy_S(store, tiled)",
        "cute.make_tiled_copy_D(store, tiled)",
    )
    if store_copy == "tiled" and shared:
        store_copy = "cute.make_tiled_copy_S(store, tiled)"
    if store_copy == "tiled":
        store_bits = bits
    wants["retiled"] = pick("values", "mine_store.retile(values)")
    if predicated:
        order = pick("", ", stride=(0, 1, at.shape[1])" if values[0] * values[1] == vector else "")
        wants |= dict(pred=PREDICATE.format(pred_order=order), pred_argument=", pred=pred")
    op = "CopyUniversalOp()"
    if shared:
        through_l2 = "cpasync.CopyG2SOp(cache_mode=cpasync.LoadCacheMode.GLOBAL)"
        op = pick("cpasync.CopyG2SOp()", "CopyUniversalOp()", *([through_l2] if odd or bits == 128 else []))
    move = (SHARED if shared else REGISTERS).format(**wants)
    formula = FORMULA.format(
        thread_strides=strides(threads, thread_order),
        value_strides=strides(tuple(values), value_order),
        repeats=repeats[0],
    )
    align = pick(16, 8) if odd else 16
    views = ", ".join(
        f"from_dlpack({name}, assumed_align={align}){dynamic(pick, memory_order, vector)}" for name in ("a", "out")
    )
    return HEAD.format(title="A tiled copy of a matrix.") + TILED.format(
        threads=threads, values=tuple(values), shape=shape, op=op, type=kind, bits=bits, store_bits=store_bits, thread_layout=layout[0],
        value_layout=layout[1], store_copy=store_copy, tile=tile, move=move, grid=(*grid, 1), n_threads=threads[0] * threads[1],
        count=shape[0] * shape[1], low=kind.low, high=kind.high, seed=pick(*range(9)), torch=kind.torch, stride=stride, out_stride=out_stride,
        arguments=views, tile_m=tile[0], tile_n=tile[1], formula=formula,
    )  # fmt: skip


def dynamic(pick: Choices, order: tuple[int, int], vector: int) -> str:
    """Which parts of a tensor's layout are known at run time only."""
    return pick("", "", f".mark_layout_dynamic(leading_dim={order[0]})" if vector == 1 else "")


def program(pick: Choices) -> str:
    return pick(tiled, tiled, matrices)(pick)
