"""The instructions of this family: see ir/rows.py. Section numbers are from the PTX ISA 9.0."""

from __future__ import annotations

from dsl.emulator.families.tcgen05 import emit as tcgen05
from dsl.emulator.ir.rows import NONE, Rows, nothing
from dsl.emulator.ptx.traits import CLUSTER, TENSOR, TWO_RESULTS

ROWS = Rows()
_row = ROWS.add

_ALONE, _PAIR = "cta_group::1", "cta_group::2"
_WARP = "sync aligned"
for _group, _traits in ((_ALONE, 0), (_PAIR, CLUSTER)):
    _row(
        "tcgen05", "9.7.16.7.1", f"@100f,110f ^alloc {_group} {_WARP} ?shared::cta b32",
        tcgen05.allocate, meets=True, operands="[] u32", traits=_traits,
    )  # fmt: skip
    _row(
        "tcgen05", "9.7.16.7.1", f"@100f,110f ^dealloc {_group} {_WARP} b32",
        tcgen05.deallocate, meets=True, operands="u32 u32", traits=_traits,
    )  # fmt: skip
    _row(
        "tcgen05", "9.7.16.7.1", f"@100f,110f ^relinquish_alloc_permit {_group} {_WARP}",
        tcgen05.relinquish, meets=True, operands=NONE, traits=_traits,
    )  # fmt: skip

# a lane has at most 128 registers
_SHAPES = [
    f"{_shape} {'/'.join(f'x{1 << _log}' for _log in range(_count))}"
    for _shape, _count in (("32x32b/16x64b", 8), ("16x128b", 7), ("16x256b", 6))
]
_HALVES = [_SHAPES[0].replace("32x32b/16x64b", "16x32bx2")]
for _forms, _more in ((_SHAPES, ""), (_HALVES, "n")):
    _row(
        "tcgen05", "9.7.16.8.2", [f"@100f,110f ^ld {_WARP} {_each} ?pack::16b b32" for _each in _forms],
        tcgen05.load, meets=True, operands=f"={{x}}b32 [] {_more}", traits=TENSOR,
    )  # fmt: skip
    _row(
        "tcgen05", "9.7.16.8.3", [f"@100f,110f ^st {_WARP} {_each} ?unpack::16b b32" for _each in _forms],
        tcgen05.store, meets=True, operands=f"[] {_more} {{x}}b32", traits=TENSOR,
    )  # fmt: skip
_COUNTS = "/".join(f"x{2 << _log}" for _log in range(7))
for _shape, _more in (("32x32b", ""), ("16x32bx2", "n")):
    _row(
        "tcgen05", "9.7.16.8.2",
        f"@103f,110f:8.8 ^ld ^red {_WARP} {_shape} {_COUNTS} min/max ?abs ?NaN f32 | "
        f"@103f,110f:8.8 ^ld ^red {_WARP} {_shape} {_COUNTS} min/max u32/s32",
        tcgen05.load_and_reduce, meets=True, operands=f"={{x}}b32 =b32 [] {_more}", traits=TWO_RESULTS | TENSOR,
    )  # fmt: skip
_row("tcgen05", "9.7.16.8.5", f"@100f,110f wait::ld/wait::st {_WARP}", tcgen05.wait, operands=NONE)

_WIDENS = "b8x16 >b4x16_p64/b6x16_p32"
_COPIES = "128x256b/4x256b/128x128b", "64x128b warpx2::02_13/warpx2::01_23", "32x128b warpx4"
_PLACES = "mbarrier::arrive::one ?shared::cluster"
_COLLECTOR = "?collector::a::fill/collector::a::use/collector::a::lastuse/collector::a::discard"
_SHIFTS = "ashift ?collector::a::lastuse/collector::a::discard"
_SCALED = [
    "kind::mxf8f6f4 block_scale scale_vec::1X @100a,103a,110a",
    "kind::mxf4 block_scale scale_vec::2X @100a,103a,110a",
    "kind::mxf4nvf4 block_scale scale_vec::2X/scale_vec::4X @100a,103a,110a:8.7",
    "kind::mxf8f6f4 block_scale ?block32@:8.8 @100f,110f",
]
_SPARSE_SCALED = [
    *_SCALED,
    "kind::mxf4 block_scale ?block32@:8.8 @100a,103a,110a",
    "kind::mxf4nvf4 block_scale block16/block32 @100a,103a,110a:8.8",
]
_SCALED += [
    "kind::mxf4 block_scale ?block32@:8.8 @100f,110f",
    "kind::mxf4nvf4 block_scale block16/block32 @100f,110f:8.8",
]
for _group, _lanes, _traits in ((_ALONE, 4, 0), (_PAIR, 8, CLUSTER)):
    _row(
        "tcgen05", "9.7.16.9.2",
        [f"@100f,110f ^cp {_group} {_each} {_more}" for _each in _COPIES for _more in ("", _WIDENS)],
        tcgen05.copy, operands="[] u64", traits=_traits | TENSOR,
    )  # fmt: skip
    _row(
        "tcgen05", "9.7.16.9.3", f"@100a,103a,110a ^shift {_group} down",
        tcgen05.shift, operands="[]", traits=_traits | TENSOR,
    )  # fmt: skip
    _row(
        "tcgen05", "9.7.16.12.1", f"@100f,110f ^commit {_group} {_PLACES} b64",
        tcgen05.commit, operands="[]", traits=_traits,
    )  # fmt: skip
    _row(
        "tcgen05", "9.7.16.12.1", f"@100f,110f ^commit {_group} {_PLACES} multicast::cluster b64",
        tcgen05.commit, operands="[] u16", traits=CLUSTER,
    )  # fmt: skip
    for _kinds, _last in (("kind::f16/kind::tf32", "n=0..15?"), ("kind::f8f6f4/kind::i8@100a,110a", "")):
        for _section, _sparse, _metadata in (("9.7.16.10.9.1", "", ""), ("9.7.16.10.9.2", "sp", "[]")):
            _lists = [
                f"[] {_a} u64 {_metadata} u32 {_mask} pred {_last}"
                for _a in ("u64", "[]")
                for _mask in ("", f"{{{_lanes}}}u32")
            ]
            _form = f"@100f,110f ^mma {_sparse} {_group} {_kinds}"
            for _more, _some in ((_COLLECTOR, _lists), (_SHIFTS, _lists[2:])):  # A of .ashift is in tensor memory
                _row(
                    "tcgen05", _section, f"{_form} {_more}",
                    tcgen05.multiply, operands=" | ".join(_some), traits=_traits | TENSOR,
                )  # fmt: skip
    for _section, _sparse, _metadata, _some in (
        ("9.7.16.10.9.1", "", "", _SCALED), ("9.7.16.10.9.2", "sp", "[]", _SPARSE_SCALED)
    ):  # fmt: skip
        _lists = [f"[] {_a} u64 {_metadata} u32 [] [] pred" for _a in ("u64", "[]")]
        _row(
            "tcgen05", _section, [f"^mma {_sparse} {_group} {_each} {_COLLECTOR}" for _each in _some],
            tcgen05.multiply, operands=" | ".join(_lists), traits=_traits | TENSOR,
        )  # fmt: skip
_BUFFERS = "/".join(f"collector::b{_i}::{_use}" for _i in range(4) for _use in ("fill", "use", "lastuse", "discard"))
for _section, _sparse, _metadata in (("9.7.16.10.9.3", "", ""), ("9.7.16.10.9.4", "sp", "[]")):
    _row(
        "tcgen05", _section,
        f"@100f,110f ^mma ^ws {_sparse} {_ALONE} kind::f16/kind::tf32/kind::f8f6f4/kind::i8@100a,110a ?{_BUFFERS}",
        tcgen05.multiply, operands=" | ".join(f"[] {_a} u64 {_metadata} u32 pred u64?" for _a in ("u64", "[]")),
    )  # fmt: skip
_row("tcgen05", "9.7.16.11", "@100f,110f fence::before_thread_sync", nothing, operands=NONE)
_row("tcgen05", "9.7.16.11", "@100f,110f fence::after_thread_sync", tcgen05.fence, operands=NONE)

OPERANDS = {}
