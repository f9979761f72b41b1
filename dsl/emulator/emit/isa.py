"""The instruction table: one row an opcode and operand kind, with its PTX ISA section, legal modifiers and emitter.

An instruction runs if every modifier of it is in a row; what no row allows is refused by name when its entry is used.
Section numbers are those of the PTX ISA 9.0.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from dsl.emulator.emit import (
    async_stores,
    atomics,
    barrier,
    bulk,
    call,
    cluster,
    control,
    convert,
    cp_async,
    float as floating,
    integer,
    matrix,
    mbarrier,
    memory,
    tensormap,
    warp,
    warpgroup,
)


@dataclass(frozen=True, slots=True)
class Row:
    """`meets`: the thread may have to wait for others, so it must be able to suspend."""

    section: str
    modifiers: frozenset
    emit: Callable
    meets: bool = False


def _set(text: str) -> frozenset:
    return frozenset(text.split())


INT = "u16 s16 u32 s32 u64 s64"
BITS = "b8 b16 b32 b64"
ANY = "b8 u8 s8 b16 u16 s16 b32 u32 s32 b64 u64 s64 b128 f32 f64 f16 bf16 f16x2 bf16x2"
HALF = "f16 f16x2 bf16 bf16x2"
ROUND = "rn rz rm rp"
SCOPES = "cta cluster gpu sys"
CACHE = (
    "ca cg cs lu cv wb wt nc volatile weak relaxed acquire release acq_rel sc mmio unified "
    "L1::evict_normal L1::evict_unchanged L1::evict_first L1::evict_last L1::no_allocate "
    "L2::cache_hint L2::64B L2::128B L2::256B L2::evict_last L2::evict_normal L2::evict_first level::eviction_priority"
)
SPACES = "global shared shared::cta shared::cluster local const param param::entry param::func"
COMPARE_INT = "eq ne lt le gt ge lo ls hi hs and or xor"
COMPARE_FLOAT = "eq ne lt le gt ge equ neu ltu leu gtu geu num nan and or xor ftz"

ROWS: dict[str, list[Row]] = {}


def _row(opcodes: str, section: str, modifiers: str, emit: Callable, meets: bool = False) -> None:
    for opcode in opcodes.split():
        ROWS.setdefault(opcode, []).append(Row(section, _set(modifiers), emit, meets))


# ** integer arithmetic, 9.7.1; extended precision, 9.7.2
_row("add", "9.7.1.1", f"{INT} u16x2 s16x2 sat cc", integer.add_sub("add"))
_row("sub", "9.7.1.2", f"{INT} sat cc", integer.add_sub("sub"))
_row("mul", "9.7.1.3", f"{INT} lo hi wide", integer.mul)
_row("mad", "9.7.1.4", f"{INT} lo hi wide sat cc", integer.mad)
_row("mul24 mad24", "9.7.1.5", "u32 s32 lo hi sat", integer.mul24)
_row("sad", "9.7.1.7", INT, integer.sum_of_differences)
_row("div rem", "9.7.1.8", INT, integer.divide)
_row("abs", "9.7.1.10", "s16 s32 s64", integer.absolute)
_row("neg", "9.7.1.11", "s16 s32 s64", integer.negate)
_row("min max", "9.7.1.12", f"{INT} u16x2 s16x2 relu", integer.minmax)
_row("popc", "9.7.1.14", "b32 b64", integer.count("ctpop"))
_row("clz", "9.7.1.15", "b32 b64", integer.count("ctlz", ", i1 false"))
_row("bfind", "9.7.1.16", "u32 s32 u64 s64 shiftamt", integer.find_leading)
_row("brev", "9.7.1.18", "b32 b64", integer.reverse)
_row("bfe", "9.7.1.19", "u32 s32 u64 s64", integer.extract)
_row("bfi", "9.7.1.20", "b32 b64", integer.insert)
_row("bmsk", "9.7.1.22", "clamp wrap b32", integer.bit_mask)
_row("dp4a", "9.7.1.23", "u32 s32", integer.dot)
_row("dp2a", "9.7.1.24", "u32 s32 lo hi", integer.dot)
_row("addc", "9.7.2.2", "u32 s32 u64 s64 cc", integer.with_carry("add"))
_row("subc", "9.7.2.4", "u32 s32 u64 s64 cc", integer.with_carry("sub"))
_row("madc", "9.7.2.6", "u32 s32 u64 s64 lo hi cc", integer.madc)

# ** floating point, 9.7.3; half precision, 9.7.4; mixed precision, 9.7.5
_row("testp", "9.7.3.1", "f32 f64 finite infinite number notanumber normal subnormal", floating.test_class)
_row("copysign", "9.7.3.2", "f32 f64", floating.copy_sign)
for _opcode, _operation, _section in (("add", "fadd", 3), ("sub", "fsub", 4), ("mul", "fmul", 5)):
    _row(_opcode, f"9.7.3.{_section}", f"f32 f64 f32x2 {ROUND} ftz sat", floating.arithmetic(_operation))
    _row(_opcode, f"9.7.4.{_section - 2}", f"{HALF} rn ftz sat", floating.arithmetic(_operation))
_row("fma mad", "9.7.3.6", f"f32 f64 f32x2 {ROUND} ftz sat", floating.arithmetic("fma"))
_row("fma", "9.7.4.4", f"{HALF} rn ftz sat relu", floating.arithmetic("fma"))
for _opcode, _operation, _section in (("add", "fadd", 1), ("sub", "fsub", 2), ("fma", "fma", 3)):
    _row(_opcode, f"9.7.5.{_section}", f"f32 f16 bf16 {ROUND} sat", floating.mixed(_operation))
_row("div", "9.7.3.8", f"f32 f64 {ROUND} approx full ftz", floating.divide)
_row("abs", "9.7.3.9", f"f32 f64 {HALF} ftz", floating.sign("abs"))
_row("neg", "9.7.3.10", f"f32 f64 {HALF} ftz", floating.sign("neg"))
_row("min max", "9.7.3.11", f"f32 f64 {HALF} ftz NaN xorsign abs", floating.minmax)
_row("rcp", "9.7.3.13", f"f32 f64 {ROUND} approx ftz", floating.reciprocal)
_row("sqrt", "9.7.3.15", f"f32 f64 {ROUND} approx ftz", floating.arithmetic("sqrt"))
_row("rsqrt", "9.7.3.16", "f32 f64 approx ftz", floating.reciprocal_root)
for _opcode, _function, _section, _types in (
    ("sin", "sinf", 18, "f32 ftz"), ("cos", "cosf", 19, "f32 ftz"), ("lg2", "log2f", 20, "f32 ftz"),
    ("ex2", "exp2f", 21, f"f32 {HALF} ftz"), ("tanh", "tanhf", 22, f"f32 {HALF}"),
):  # fmt: skip
    _row(_opcode, f"9.7.3.{_section}", f"{_types} approx", floating.through_libm(_function))

# ** comparison and selection, 9.7.6, 9.7.7
_row("set", "9.7.6.1", f"{COMPARE_INT} {BITS} {INT} f32", convert.set_value)
_row("set", "9.7.6.1", f"{COMPARE_FLOAT} f32 f64 f16 bf16 u16 s16 u32 s32", convert.set_value)
_row("setp", "9.7.6.2", f"{COMPARE_INT} {BITS} {INT}", convert.set_predicate)
_row("setp", "9.7.6.2", f"{COMPARE_FLOAT} f32 f64 {HALF}", convert.set_predicate)
_row("selp", "9.7.6.3", f"{BITS} {INT} f32 f64", integer.select)
_row("slct", "9.7.6.4", f"{BITS} {INT} f32 f64 ftz", integer.select_by_sign)

# ** logic and shifts, 9.7.8
for _opcode in ("and", "or", "xor"):
    _row(_opcode, "9.7.8.1", "pred b16 b32 b64", integer.simple(_opcode))
_row("not", "9.7.8.4", "pred b16 b32 b64", integer.invert)
_row("cnot", "9.7.8.5", "b16 b32 b64", integer.logical_not)
_row("lop3", "9.7.8.6", "b32 and or", integer.logic3)
_row("shf", "9.7.8.7", "l r clamp wrap b32", integer.funnel)
_row("shl", "9.7.8.8", "b16 b32 b64", integer.shift_left)
_row("shr", "9.7.8.9", f"{INT} b16 b32 b64", integer.shift_right)

# ** data movement and conversion, 9.7.9
_row("mov", "9.7.9.3", f"pred {ANY}", convert.move)
_row("shfl", "9.7.9.6", "sync up down bfly idx b32", warp.shuffle, meets=True)
_row("prmt", "9.7.9.7", "b32 f4e b4e rc8 ecl ecr rc16", integer.permute)
_row("ld ldu", "9.7.9.8", f"{ANY} {SPACES} {CACHE} {SCOPES} v2 v4 v8", memory.load)
_row("st", "9.7.9.11", f"{ANY} {SPACES} {CACHE} {SCOPES} v2 v4 v8", memory.store)
_row(
    "prefetch prefetchu",
    "9.7.9.15",
    "global local const param L1 L2 L2::evict_last L2::evict_normal tensormap",
    memory.nothing,
)
_row(
    "isspacep", "9.7.9.17", "global shared shared::cta shared::cluster local const param param::entry", convert.is_space
)
_row(
    "cvta",
    "9.7.9.18",
    "to global shared shared::cta shared::cluster local const param param::entry u64",
    convert.address_space,
)
_row(
    "cvt",
    "9.7.9.21",
    f"u8 s8 {INT} f16 bf16 f32 f64 tf32 f16x2 bf16x2 e4m3x2 e5m2x2 e2m1x2 e2m3x2 e3m2x2 {ROUND} rni rzi rmi rpi rna "
    "ftz sat relu satfinite",
    convert.convert,
)
_row(
    "cp",
    "9.7.9.25",
    "async ca cg shared shared::cta global commit_group wait_group wait_all L2::64B L2::128B L2::256B L2::cache_hint",
    cp_async.copy,
)

_row("cp", "9.7.13.15.17", "async mbarrier arrive noinc shared shared::cta b64", cp_async.arrive_on)
_row("cp", "9.7.9.25.6", "async bulk commit_group wait_group read", bulk.group, meets=True)
_ON_ITS_WAY = (
    "async bulk shared::cta shared::cluster global mbarrier::complete_tx::bytes bulk_group L2::cache_hint "
    "multicast::cluster"
)
_row("cp", "9.7.9.25.5.2", _ON_ITS_WAY, bulk.copy, meets=True)
_row("cp", "9.7.9.27.1.2", f"{_ON_ITS_WAY} tensor 1d 2d 3d 4d 5d tile", bulk.copy_box, meets=True)
_row("cp", "9.7.9.27.1.2", f"{_ON_ITS_WAY} tensor 3d 4d 5d im2col im2col_no_offs", bulk.copy_pixels, meets=True)
_REDUCTION = "reduce add min max inc dec and or xor"
_row(
    "cp",
    "9.7.9.25.5.3",
    f"{_ON_ITS_WAY} {_REDUCTION} noftz f16 bf16 b32 u32 s32 b64 u64 s64 f32 f64",
    bulk.reduce,
    meets=True,
)
_row(
    "cp",
    "9.7.9.27.1.3",
    f"async bulk global shared::cta bulk_group L2::cache_hint tensor 1d 2d 3d 4d 5d tile im2col_no_offs {_REDUCTION}",
    bulk.reduce_box,
    meets=True,
)
_row(
    "cp",
    "9.7.9.25.5.4",
    "async bulk prefetch tensor 1d 2d 3d 4d 5d L2 global tile im2col L2::cache_hint",
    bulk.prefetch,
)
_row(
    "tensormap",
    "9.7.9.28",
    "replace tile global_address rank box_dim global_dim global_stride element_stride elemtype interleave_layout "
    "swizzle_mode swizzle_atomicity fill_mode global shared shared::cta b1024 b32 b64",
    tensormap.replace,
    meets=True,
)
_row(
    "tensormap",
    "9.7.13.16",
    f"cp_fenceproxy global shared shared::cta tensormap::generic release {SCOPES} sync aligned",
    tensormap.copy,
    meets=True,
)
_EVICT = "L2::evict_last L2::evict_normal L2::evict_first L2::evict_unchanged"
_row("createpolicy", "9.7.9.19", f"fractional range cvt L2 global b64 {_EVICT}", memory.policy)
_row("mapa", "9.7.9.23", "shared::cluster u32 u64", cluster.map_address)
_row("getctarank", "9.7.9.24", "shared::cluster u32 u64", cluster.rank_of)

# ** control flow, 9.7.12
_row("bra", "9.7.12.3", "uni", control.branch)
_row("brx", "9.7.12.4", "idx uni", control.branch_indexed)
_row("call", "9.7.12.5", "uni", call.call)
_row("ret", "9.7.12.6", "uni", control.leave)
_row("exit", "9.7.12.7", "", control.leave_thread)

# ** threads that meet, 9.7.13
_row("bar barrier", "9.7.13.1", "cta sync arrive red aligned popc and or pred u32", barrier.barrier, meets=True)
_row("bar", "9.7.13.2", "warp sync", barrier.barrier, meets=True)
_row("barrier", "9.7.13.3", "cluster arrive wait acquire release relaxed aligned", cluster.barrier, meets=True)
_row(
    "membar fence",
    "9.7.13.4",
    f"cta gl sys acq_rel sc acquire release {SCOPES} proxy alias async global shared::cta "
    "tensormap::generic shared::cluster async::global async::shared::cta mbarrier_init "
    "async::generic sync_restrict::shared::cluster sync_restrict::shared::cta",
    memory.fence,
)
_row(
    "atom",
    "9.7.13.5",
    f"global shared shared::cta shared::cluster relaxed acquire release acq_rel {SCOPES} and or xor cas exch add inc "
    f"dec min max noftz b16 b32 b64 b128 u32 s32 u64 s64 f32 f64 f16 f16x2 bf16 bf16x2 L2::cache_hint v2 v4 v8",
    atomics.atomic,
)
_row(
    "red",
    "9.7.13.6",
    f"global shared shared::cta shared::cluster relaxed release {SCOPES} and or xor add inc dec min max noftz "
    f"b32 b64 u32 s32 u64 s64 f32 f64 f16 f16x2 bf16 bf16x2 L2::cache_hint v2 v4 v8",
    atomics.atomic,
)
_ASYNC_STORE = "async shared::cluster mbarrier::complete_tx::bytes weak"
_row("st", "9.7.9.12", f"{_ASYNC_STORE} v2 v4 b32 u32 s32 f32 b64 u64 s64 f64", async_stores.store, meets=True)
_row(
    "red",
    "9.7.13.8",
    f"{_ASYNC_STORE} relaxed cluster add min max and or xor inc dec u32 s32 b32 u64",
    async_stores.reduce,
    meets=True,
)
_row("vote", "9.7.13.9", "sync all any uni ballot pred b32", warp.vote, meets=True)
_row("match", "9.7.13.10", "any all sync b32 b64", warp.match, meets=True)
_row("activemask", "9.7.13.11", "b32", warp.active_mask, meets=True)
_row("redux", "9.7.13.12", "sync add min max and or xor u32 s32 b32", warp.reduce, meets=True)
_row("elect", "9.7.13.15", "sync", warp.elect, meets=True)

_row(
    "mbarrier",
    "9.7.13.15",
    "init inval arrive arrive_drop noComplete pending_count expect_tx complete_tx test_wait try_wait parity relaxed "
    f"release acquire {SCOPES} shared shared::cta shared::cluster b64",
    mbarrier.barrier,
)

# ** matrices of a warp, 9.7.14.5
_MATRIX = "sync aligned shared shared::cta m8n8 trans b16"
_row(
    "mma",
    "9.7.14.5.14",
    "sync aligned row col m8n8k4 m8n8k16 m16n8k4 m16n8k8 m16n8k16 m16n8k32 f16 bf16 tf32 f32 f64 s8 u8 s32 e4m3 e5m2 "
    "satfinite",
    matrix.mma,
    meets=True,
)
_row("ldmatrix", "9.7.14.5.15", f"{_MATRIX} x1 x2 x4", matrix.ldmatrix, meets=True)
_row("stmatrix", "9.7.14.5.16", f"{_MATRIX} x1 x2 x4", matrix.stmatrix, meets=True)
_row("movmatrix", "9.7.14.5.17", "sync aligned m8n8 trans b16", matrix.movmatrix, meets=True)

# ** matrices of a warpgroup, 9.7.15.5
_WGMMA_SHAPES = " ".join(f"m64n{n}k{k}" for n in range(8, 257, 8) for k in (8, 16, 32, 64, 256))
_row(
    "wgmma",
    "9.7.15.5.2",
    f"mma_async sp sync aligned {_WGMMA_SHAPES} f16 bf16 tf32 f32 e4m3 e5m2 s8 u8 s32 b1 and popc satfinite",
    warpgroup.multiply,
    meets=True,
)
_row("wgmma", "9.7.15.7", "fence commit_group wait_group sync aligned", warpgroup.order)

# ** miscellaneous, 9.7.19
_row("brkpt trap", "9.7.19.1", "", control.trap)
_row("nanosleep", "9.7.19.2", "u32", control.nanosleep)
_row("pmevent", "9.7.19.3", "mask", memory.nothing)
_row("discard applypriority", "9.7.9.16", "global L2 L2::evict_normal", memory.nothing)
_row("griddepcontrol", "9.7.13.13", "launch_dependents wait", memory.nothing)
_row("setmaxnreg", "9.7.19.5", "inc dec sync aligned u32", memory.nothing)

# How many operands an opcode takes. Emitters read those of the opcodes that are not here, which depend on the form.
_COUNTS = {
    (0,): "ret exit membar trap brkpt griddepcontrol",
    (1,): "bra prefetch prefetchu nanosleep pmevent activemask setmaxnreg",
    (2,): "abs neg popc clz bfind brev testp rcp sqrt rsqrt sin cos lg2 ex2 tanh not cnot isspacep cvta mov getctarank "
          "brx elect discard applypriority ldmatrix stmatrix movmatrix ldu",
    (3,): "add sub mul mul24 div rem min max addc subc copysign bmsk and or xor shl shr mapa match redux",
    (4,): "mad mad24 sad fma bfe dp4a dp2a madc selp slct shf prmt mma",
    (5,): "bfi",
    (2, 3): "cvt ld st red vote",
    (4, 5): "shfl",
    (0, 2): "fence",
    (3, 4): "set setp",
    (3, 4, 5): "atom",
    (5, 6): "lop3",
    (0, 1, 2, 3, 4): "bar barrier",
    (1, 2, 3, 4): "mbarrier createpolicy",
}  # fmt: skip
OPERANDS = {opcode: counts for counts, opcodes in _COUNTS.items() for opcode in opcodes.split()}


def find(instr) -> Row | None:
    """The row that allows every modifier of an instruction, or None."""
    for row in ROWS.get(instr.opcode, ()):
        if row.modifiers.issuperset(instr.mods):
            return row
    return None
