"""The instructions of this family: see ir/rows.py. Section numbers are from the PTX ISA 9.0."""

from __future__ import annotations

from dsl.emulator.families.bulk import async_stores, emit as bulk
from dsl.emulator.ir.rows import HINT, LOGIC, NONE, Rows, with_start
from dsl.emulator.ptx.traits import BULK, COPY, REDUCTION, REMOTE, STORE

ROWS = Rows()
_row = ROWS.add

_row("cp", "9.7.9.27.2", "^async ^bulk commit_group @90:8.0", bulk.group, meets=True, operands=NONE, traits=COPY | BULK)
_row(
    "cp",
    "9.7.9.27.2",
    "^async ^bulk wait_group ?read @90:8.0",
    bulk.group,
    meets=True,
    operands="n",
    traits=COPY | BULK,
)
_FILL = f"mbarrier::complete_tx::bytes ?multicast::cluster ?{HINT} @90:8.0"
_GROUP = "cta_group::1@100f,110f:8.6/cta_group::2@100f,110f:8.6"
_FILL_BOX = f"mbarrier::complete_tx::bytes ?multicast::cluster ?{_GROUP} ?{HINT} @90:8.0"
_TO_CLUSTER = "shared::cluster >shared::cta mbarrier::complete_tx::bytes @90:8.0"
_DONE = f"bulk_group ?{HINT} @90:8.0"
_HINT = "u64@L2::cache_hint"
_BARRIER = "[]@mbarrier::complete_tx::bytes"  # of a copy inwards
_row(
    "cp",
    "9.7.9.25.4.1",
    with_start(
        "^async ^bulk", f"shared::cluster/shared::cta@:8.6 >global {_FILL}", _TO_CLUSTER, f"global >shared::cta {_DONE}"
    ),
    bulk.copy,
    meets=True,
    operands=f"[] [] u32 {_BARRIER} u16@multicast::cluster {_HINT}",
    traits=COPY | BULK,
)
_RANK = "1d/2d/3d/4d/5d"
_PIXELS = "3d/4d/5d"
_PIXEL_OFFSETS = "{p}u16@im2col {2}u16@im2col::w {2}u16@im2col::w::128"
_row(
    "cp",
    "9.7.9.27.1.2",
    with_start(
        f"^async ^bulk ^tensor {_RANK}",
        f"shared::cluster/shared::cta@:8.6 >global ?tile {_FILL_BOX}",
        f"global >shared::cta ?tile {_DONE}",
    )
    + with_start(
        "^async ^bulk ^tensor 2d",
        f"shared::cluster@100f,110f/shared::cta >global tile::gather4@100:8.6 {_FILL_BOX}",
        f"global >shared::cta tile::scatter4@100f,110f:8.6 {_DONE}",
    ),
    bulk.copy_box,
    meets=True,
    operands=f"{_BARRIER} [d] [] u16@multicast::cluster {_HINT}",
    traits=COPY | BULK,
)
_row(
    "cp",
    "9.7.9.27.1.2",
    with_start(
        f"^async ^bulk ^tensor {_PIXELS}",
        f"shared::cluster/shared::cta@:8.6 >global im2col {_FILL_BOX}",
        f"shared::cluster@100f,110f/shared::cta >global im2col::w@100:8.6 {_FILL_BOX}",
        f"shared::cluster/shared::cta >global im2col::w::128@100f,110f:8.6 {_FILL_BOX}",
        f"global >shared::cta im2col_no_offs {_DONE}",
    ),
    bulk.copy_pixels,
    meets=True,
    operands=f"{_BARRIER} [d] [] {_PIXEL_OFFSETS} u16@multicast::cluster {_HINT}",
    traits=COPY | BULK,
)
_row(
    "cp",
    "9.7.9.25.4.2",
    [
        *with_start(
            f"^reduce ^async ^bulk {_TO_CLUSTER}", "add u32/s32/u64", "min/max u32/s32", "inc/dec u32", f"{LOGIC} b32"
        ),
        *with_start(
            f"^reduce ^async ^bulk global >shared::cta {_DONE}",
            "add u32/s32/u64/f32/f64",
            "min/max u32/s32/u64/s64/f16/bf16",
            "inc/dec u32",
            f"{LOGIC} b32/b64",
            "add noftz f16/bf16",
        ),
    ],
    bulk.reduce,
    meets=True,
    operands=f"[] [] u32 {_BARRIER} {_HINT}",
    traits=COPY | BULK,
)
_OPERATION = f"add/min/max/inc/dec/{LOGIC}"
_row(
    "cp",
    "9.7.9.27.1.3",
    (
        f"^reduce ^async ^bulk ^tensor {_RANK} global >shared::cta {_OPERATION} ?tile {_DONE}",
        f"^reduce ^async ^bulk ^tensor {_PIXELS} global >shared::cta {_OPERATION} im2col_no_offs {_DONE}",
        f"^reduce ^async ^bulk ^tensor 2d global >shared::cta {_OPERATION} tile::scatter4@100f,110f:8.6 {_DONE}",
    ),
    bulk.reduce_box,
    meets=True,
    operands=f"[d] [] {_HINT}",
    traits=COPY | BULK,
)
_row(
    "cp",
    "9.7.9.27.1.4",
    (
        f"^async ^bulk ^prefetch ^tensor {_RANK} L2 global ?tile ?{HINT} @90:8.0",
        f"^async ^bulk ^prefetch ^tensor {_PIXELS} L2 global im2col ?{HINT} @90:8.0",
        f"^async ^bulk ^prefetch ^tensor {_PIXELS} L2 global im2col::w/im2col::w::128 ?{HINT} @100f,110f:8.6",
        f"^async ^bulk ^prefetch ^tensor 2d L2 global tile::gather4 ?{HINT} @100f,110f:8.6",
    ),
    bulk.prefetch,
    operands=f"[d] {_PIXEL_OFFSETS} {_HINT}",
    traits=COPY,
)
_row(
    "cp",
    "9.7.9.25.4.3",
    f"^async ^bulk ^prefetch L2 global ?{HINT} @90:8.0",
    bulk.prefetch,
    operands=f"[] u32 {_HINT}",
    traits=COPY,
)
_row(
    "st",
    "9.7.9.12",
    with_start(
        "@90:8.1 ^async ?weak shared::cluster mbarrier::complete_tx::bytes",
        "?v2/v4 b32/u32/s32/f32",
        "?v2 b64/u64/s64/f64",
    ),
    async_stores.store,
    meets=True,
    operands="[] {v}1 []",
    traits=STORE | REMOTE,
)
_row(
    "red",
    "9.7.13.7",
    with_start(
        "@90:8.1 ^async relaxed cluster shared::cluster mbarrier::complete_tx::bytes",
        "add u32/s32/u64",
        "min/max u32/s32",
        "inc/dec u32",
        f"{LOGIC} b32",
    ),
    async_stores.reduce,
    meets=True,
    operands="[] 1 []",
    traits=REDUCTION | REMOTE,
)

OPERANDS = {}
