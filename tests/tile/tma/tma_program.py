"""Boxes by TMA: the layouts of partitions, and what goes through shared memory, a line a case."""

import cutlass
import cutlass.cute as cute
import torch
from cutlass.cute.nvgpu import cpasync
from cutlass.cute.runtime import from_dlpack

# shape of the tensor, tile, and what else: the order of shared memory's modes, stages, a swizzle,
# the tensor's own order
CASES = [
    dict(shape=(120, 72), tile=(32, 16), dynamic=1),
    dict(shape=(120, 72), tile=(32, 32), swizzle=(2, 4, 3)),
    dict(shape=(4, 512), tile=(2, 512)),
    dict(shape=(2, 3, 8, 32), tile=(1, 2, 4, 16)),
    dict(shape=(64, 96), tile=(32, 16), transposed=True),
    dict(shape=(3, 40, 64), tile=(16, 32), permuted=(1, 2, 0)),
    dict(shape=(64, 64), tile=(32, 32), stages=3),
    dict(shape=(96, 80), tile=(16, 32), dtype="float32"),
]


@cute.kernel
def through_smem(
    load: cute.CopyAtom,
    source: cute.Tensor,
    store: cute.CopyAtom,
    target: cute.Tensor,
    raw: cute.Tensor,
    case: cutlass.Constexpr,
):
    tile, modes = case["tile"], len(case["tile"])
    smem = cutlass.utils.SmemAllocator()
    barrier = smem.allocate_array(cutlass.Int64, 1)
    layout = smem_layout(case)
    if cutlass.const_expr(case.get("swizzle") is not None):
        box = smem.allocate_tensor(raw.element_type, layout.outer, 1024, swizzle=layout.inner)
    else:
        box = smem.allocate_tensor(raw.element_type, layout, 1024)
    tidx, _, _ = cute.arch.thread_idx()
    cpasync.prefetch_descriptor(load)
    gmem_tile = (*tile, *(1,) * (cute.rank(source) - modes))
    tiles = [cute.local_tile(tensor, gmem_tile, (None,) * cute.rank(tensor)) for tensor in (source, target)]
    grouped = cute.group_modes(box, 0, modes)
    parts = [
        cpasync.tma_partition(atom, 0, cute.make_layout(1), grouped, cute.group_modes(t, 0, cute.rank(source)))
        for atom, t in zip((load, store), tiles)
    ]
    print(parts[0][0].layout, parts[0][1].layout, parts[0][1])
    with cute.arch.elect_one():
        cute.arch.mbarrier_init(barrier, 1)
        cute.arch.mbarrier_init_fence()
        cute.arch.mbarrier_arrive_and_expect_tx(barrier, cute.size(tile) * raw.element_type.width // 8)
    cute.arch.sync_threads()
    stage = (None, 1) if cutlass.const_expr("stages" in case) else (None,)
    place = case["at"]
    cute.copy(load, parts[0][1][(None, *place)], parts[0][0][stage], tma_bar_ptr=barrier)
    cute.arch.mbarrier_wait(barrier, 0)
    one = box[(*(None,) * modes, 1)] if cutlass.const_expr("stages" in case) else box
    for i in range(tidx, cute.size(tile), 32):
        raw[i] = one[i]
    cute.copy(store, parts[1][0][stage], parts[1][1][(None, *place)])
    cute.arch.cp_async_bulk_commit_group()
    cute.arch.cp_async_bulk_wait_group(0)


def smem_layout(case):
    tile, stages = case["tile"], (case["stages"],) if "stages" in case else ()
    order = tuple(range(len(tile))) if case.get("transposed") else tuple(reversed(range(len(tile))))
    layout = cute.make_ordered_layout(tile + stages, order=order + ((len(tile),) if stages else ()))
    swizzle = case.get("swizzle")
    return layout if swizzle is None else cute.make_composed_layout(cute.make_swizzle(*swizzle), 0, layout)


@cute.jit
def host(source: cute.Tensor, target: cute.Tensor, raw: cute.Tensor, case: cutlass.Constexpr):
    layout = smem_layout(case)
    load, coords = cpasync.make_tiled_tma_atom(cpasync.CopyBulkTensorTileG2SOp(), source, layout, case["tile"])
    store, out_coords = cpasync.make_tiled_tma_atom(cpasync.CopyBulkTensorTileS2GOp(), target, layout, case["tile"])
    print(load)
    print(coords)
    through_smem(load, coords, store, out_coords, raw, case).launch(grid=(1, 1, 1), block=(32, 1, 1))


def argument(tensor, case):
    made = from_dlpack(tensor, assumed_align=16)
    if "dynamic" in case:
        made = made.mark_layout_dynamic(leading_dim=1).mark_compact_shape_dynamic(mode=1, divisibility=8)
    return made


def show(case):
    dtype = getattr(torch, case.get("dtype", "float16"))
    count = 1
    for extent in case["shape"]:
        count *= extent
    source = (torch.arange(count) % 251).to(dtype).reshape(case["shape"]).to("cuda")
    if case.get("transposed"):
        source = source.t()
    source = source.permute(case.get("permuted", tuple(range(source.dim()))))
    target = torch.zeros_like(source)
    elements = 1
    for extent in case["tile"]:
        elements *= extent
    raw = torch.zeros(elements, dtype=dtype).to("cuda")
    tiles = [-(-extent // part) for extent, part in zip(source.shape, (*case["tile"], 1, 1))]
    case = dict(case, at=tuple(count - 1 for count in tiles))
    print(case)
    host(argument(source, case), argument(target, case), from_dlpack(raw), case)
    torch.cuda.synchronize()
    values = raw.cpu().float().tolist()
    print(values[:40], sum(values), sum(v * (i % 97) for i, v in enumerate(values)))
    print(target.cpu().float().sum().item(), (target == source).cpu().sum().item(), (target != 0).cpu().sum().item())


for case in CASES:
    show(case)
