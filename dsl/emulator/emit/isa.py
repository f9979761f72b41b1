"""The instruction table: one row an opcode and operand kind, with its PTX ISA section, legal modifiers and emitter.

An instruction runs if a row has its form (grammar.py); what no row has is refused by name when its entry is used.
Section numbers are those of the PTX ISA 9.0.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterable
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
    grammar,
    integer,
    matrix,
    mbarrier,
    memory,
    tensormap,
    warp,
    warpgroup,
)
from dsl.emulator.ptx.syntax import Instr, Module


@dataclass(frozen=True, slots=True)
class Row:
    """`text`: its forms, as grammar.read takes them.
    `meets`: the thread may have to wait for others, so it must be able to suspend."""

    section: str
    text: str
    emit: Callable
    meets: bool = False

    @property
    def forms(self) -> tuple[grammar.Form, ...]:
        """What its text says; read when one of its instructions is first looked for."""
        return grammar.read(self.text)

    @property
    def modifiers(self) -> frozenset[str]:
        """All that an instruction of this row may have."""
        return frozenset(each for form in self.forms for group in form.groups for each in group.modifiers)


INT = "u16/s16/u32/s32/u64/s64"
WORDS = "u32/s32/u64/s64"
BITS = "b16/b32/b64"
BYTES = "b8/u8/s8"
FLAT = f"{BYTES}/{BITS}/{INT}/f32/f64"  # of an element in memory
HALF = "f16/f16x2"
BF = "bf16/bf16x2"
ROUND = "rn/rz/rm/rp"
SCOPE = "cta/cluster/gpu/sys"
SHARED = "shared/shared::cta/shared::cluster"
LOGIC = "and/or/xor"
COMPARE = "eq/ne/lt/le/gt/ge"
COMPARE_FLOAT = f"{COMPARE}/equ/neu/ltu/leu/gtu/geu/num/nan"

ROWS: dict[str, list[Row]] = {}


def _row(opcodes: str, section: str, forms: str | Iterable[str], emit: Callable, meets: bool = False) -> None:
    """`forms`: as grammar.read takes them, or several such texts."""
    text = forms if isinstance(forms, str) else " | ".join(forms)
    for opcode in opcodes.split():
        ROWS.setdefault(opcode, []).append(Row(section, text, emit, meets))


def _each(first: str, *rest: str) -> list[str]:
    """Forms that begin alike."""
    return [f"{first} {each}" for each in rest]


# ** integer arithmetic, 9.7.1; extended precision, 9.7.2
_row("add", "9.7.1.1", f"{INT}/u16x2/s16x2 | sat s32 | cc {WORDS}", integer.add_sub("add"))
_row("sub", "9.7.1.2", f"{INT} | sat s32 | cc {WORDS}", integer.add_sub("sub"))
_row("mul", "9.7.1.3", "^lo/hi/wide u16/s16/u32/s32 | ^lo/hi u64/s64", integer.mul)
_row("mad", "9.7.1.4", f"^lo/hi/wide u16/s16/u32/s32 | ^lo/hi u64/s64 | ^hi sat s32 | ^lo/hi cc {WORDS}", integer.mad)
_row("mul24", "9.7.1.5", "^lo/hi u32/s32", integer.mul24)
_row("mad24", "9.7.1.6", "^lo/hi u32/s32 | ^hi sat s32", integer.mul24)
_row("sad", "9.7.1.7", INT, integer.sum_of_differences)
_row("div rem", "9.7.1.8", INT, integer.divide)
_row("abs", "9.7.1.10", "s16/s32/s64", integer.absolute)
_row("neg", "9.7.1.11", "s16/s32/s64", integer.negate)
_row("min max", "9.7.1.12", f"{INT}/u16x2/s16x2 | relu s16x2/s32", integer.minmax)
_row("popc", "9.7.1.14", "b32/b64", integer.count("ctpop"))
_row("clz", "9.7.1.15", "b32/b64", integer.count("ctlz", ", i1 false"))
_row("bfind", "9.7.1.16", f"?shiftamt {WORDS}", integer.find_leading)
_row("brev", "9.7.1.18", "b32/b64", integer.reverse)
_row("bfe", "9.7.1.19", WORDS, integer.extract)
_row("bfi", "9.7.1.20", "b32/b64", integer.insert)
_row("bmsk", "9.7.1.22", "clamp/wrap b32", integer.bit_mask)
_row("dp4a", "9.7.1.23", "u32/s32 u32/s32", integer.dot)
_row("dp2a", "9.7.1.24", "^lo/hi u32/s32 u32/s32", integer.dot)
_row("addc", "9.7.2.2", f"?cc {WORDS}", integer.with_carry("add"))
_row("subc", "9.7.2.4", f"?cc {WORDS}", integer.with_carry("sub"))
_row("madc", "9.7.2.6", f"^lo/hi ?cc {WORDS}", integer.madc)

# ** floating point, 9.7.3; half precision, 9.7.4; mixed precision, 9.7.5
_row("testp", "9.7.3.1", "finite/infinite/number/notanumber/normal/subnormal f32/f64", floating.test_class)
_row("copysign", "9.7.3.2", "f32/f64", floating.copy_sign)
for _opcode, _operation, _section in (("add", "fadd", 3), ("sub", "fsub", 4), ("mul", "fmul", 5)):
    _row(
        _opcode,
        f"9.7.3.{_section}",
        f"?{ROUND} ?ftz ?sat f32 | ?{ROUND} f64 | ?{ROUND} ?ftz f32x2",
        floating.arithmetic(_operation),
    )
    _row(_opcode, f"9.7.4.{_section - 2}", f"?rn ?ftz ?sat {HALF} | ?rn {BF}", floating.arithmetic(_operation))
_row("fma", "9.7.3.6", f"{ROUND} ?ftz ?sat f32 | {ROUND} f64 | {ROUND} ?ftz f32x2", floating.arithmetic("fma"))
_row("mad", "9.7.3.7", f"{ROUND} ?ftz ?sat f32 | {ROUND} f64", floating.arithmetic("fma"))
_row("fma", "9.7.4.4", f"rn ?ftz ?sat/relu {HALF} | rn ?relu {BF}", floating.arithmetic("fma"))
for _opcode, _operation, _section in (("add", "fadd", 1), ("sub", "fsub", 2), ("fma", "fma", 3)):
    _rounds = ROUND if _opcode == "fma" else f"?{ROUND}"
    _row(_opcode, f"9.7.5.{_section}", f"{_rounds} ?sat f32 >f16/bf16", floating.mixed(_operation))
_row("div", "9.7.3.8", f"{ROUND}/approx ?ftz f32 | ^full ?ftz f32 | {ROUND} f64", floating.divide)
_row("abs", "9.7.3.9", f"?ftz f32/{HALF} | f64/{BF}", floating.sign("abs"))
_row("neg", "9.7.3.10", f"?ftz f32/{HALF} | f64/{BF}", floating.sign("neg"))
_row(
    "min max",
    "9.7.3.11",
    [f"?NaN {_more} {BF} | ?ftz ?NaN {_more} f32/{HALF}" for _more in ("", "xorsign abs")] + ["f64"],
    floating.minmax,
)
_row("rcp", "9.7.3.13", f"approx/{ROUND} ?ftz f32 | {ROUND} f64 | approx ftz f64", floating.reciprocal)
_row("sqrt", "9.7.3.15", f"approx/{ROUND} ?ftz f32 | {ROUND} f64", floating.arithmetic("sqrt"))
_row("rsqrt", "9.7.3.16", "approx ?ftz f32/f64", floating.reciprocal_root)
for _opcode, _function, _section, _types in (
    ("sin", "sinf", 18, "approx ?ftz f32"), ("cos", "cosf", 19, "approx ?ftz f32"),
    ("lg2", "log2f", 20, "approx ?ftz f32"),
    ("ex2", "exp2f", 21, f"approx ?ftz f32 | approx {HALF} | approx ftz {BF}"),
    ("tanh", "tanhf", 22, f"approx f32/{HALF}/{BF}"),
):  # fmt: skip
    _row(_opcode, f"9.7.3.{_section}", _types, floating.through_libm(_function))

# ** comparison and selection, 9.7.6, 9.7.7
_INTEGERS = (
    f"eq/ne ?{LOGIC} {{to}} >{BITS}/{INT}",
    f"lt/le/gt/ge ?{LOGIC} {{to}} >{INT}",
    f"lo/ls/hi/hs ?{LOGIC} {{to}} >u16/u32/u64",
)
_FLOATS = f"{COMPARE_FLOAT} ?{LOGIC}"
_row("set", "9.7.6.1", [each.format(to="u32/s32/f32/f16/bf16") for each in _INTEGERS], convert.set_value)
_row(
    "set",
    "9.7.6.1",
    (
        f"{_FLOATS} ?ftz u32/s32/f32/f16/bf16 >f32 | {_FLOATS} u32/s32/f32/f16/bf16 >f64",
        f"{_FLOATS} ?ftz u32/s32/u16/s16/f16/bf16 >f16 | {_FLOATS} u32/s32/u16/s16/bf16 >bf16",
    ),
    convert.set_value,
)
_row("setp", "9.7.6.2", [each.format(to="") for each in _INTEGERS], convert.set_predicate)
_row("setp", "9.7.6.2", f"{_FLOATS} ?ftz f32/{HALF} | {_FLOATS} f64/{BF}", convert.set_predicate)
_row("selp", "9.7.6.3", f"{BITS}/{INT}/f32/f64", integer.select)
_row("slct", "9.7.6.4", f"{BITS}/{INT}/f32/f64 >s32 | ?ftz {BITS}/{INT}/f32/f64 >f32", integer.select_by_sign)

# ** logic and shifts, 9.7.8
for _opcode in ("and", "or", "xor"):
    _row(_opcode, "9.7.8.1", f"pred/{BITS}", integer.simple(_opcode))
_row("not", "9.7.8.4", f"pred/{BITS}", integer.invert)
_row("cnot", "9.7.8.5", BITS, integer.logical_not)
_row("lop3", "9.7.8.6", "?and/or b32", integer.logic3)
_row("shf", "9.7.8.7", "^l/r clamp/wrap b32", integer.funnel)
_row("shl", "9.7.8.8", BITS, integer.shift_left)
_row("shr", "9.7.8.9", f"{BITS}/{INT}", integer.shift_right)

# ** data movement and conversion, 9.7.9
_SPACE = f"global/{SHARED}/local/const/param/param::entry/param::func"
_EVICT_L1 = "L1::evict_normal/L1::evict_unchanged/L1::evict_first/L1::evict_last/L1::no_allocate"
_EVICT_L2 = "L2::evict_last/L2::evict_normal/L2::evict_first"
_FETCH = "L2::64B/L2::128B/L2::256B"
_ELEMENT = f"?v2/v4/v8 {FLAT}/b128"
_WIDE_EVICT = f"?{_EVICT_L1} {_EVICT_L2} ?L2::cache_hint"  # of 32 bytes
_WIDE_ELEMENT = ("v8 b32/u32/s32/f32", "v4 b64/u64/s64/f64")
_row("mov", "9.7.9.3", f"pred/{BITS}/{INT}/f32/f64/b128", convert.move)
_row("shfl", "9.7.9.6", "sync up/down/bfly/idx b32", warp.shuffle, meets=True)
_row("prmt", "9.7.9.7", "b32 ?f4e/b4e/rc8/ecl/ecr/rc16", integer.permute)
_row(
    "ld",
    "9.7.9.8",
    (
        f"?weak ?{_SPACE} ?ca/cg/cs/lu/cv {_ELEMENT}",
        f"?weak ?global ?ca/cg/cs/lu/cv/{_EVICT_L1} ?L2::cache_hint ?{_FETCH} {_ELEMENT}",
        *(f"?weak ?global {_WIDE_EVICT} ?{_FETCH} {each}" for each in _WIDE_ELEMENT),
        f"volatile ?{SHARED} {_ELEMENT} | volatile ?global ?{_FETCH} {_ELEMENT}",
        f"relaxed/acquire {SCOPE} ?{SHARED} {_ELEMENT}",
        f"relaxed/acquire {SCOPE} ?global ?{_EVICT_L1} ?L2::cache_hint ?{_FETCH} {_ELEMENT}",
        *(f"relaxed/acquire {SCOPE} ?global {_WIDE_EVICT} ?{_FETCH} {each}" for each in _WIDE_ELEMENT),
        f"mmio relaxed sys ?global {FLAT}",
        f"global nc ?ca/cg/cs/{_EVICT_L1} ?L2::cache_hint ?{_FETCH} {_ELEMENT}",
        *(f"global nc {_WIDE_EVICT} ?{_FETCH} {each}" for each in _WIDE_ELEMENT),
    ),
    memory.load,
)
_row("ldu", "9.7.9.10", f"?global ?v2/v4 {FLAT}", memory.load)
_row(
    "st",
    "9.7.9.11",
    (
        f"?weak ?{SHARED}/local/param/param::func ?wb/cg/cs/wt {_ELEMENT}",
        f"?weak ?global ?wb/cg/cs/wt/{_EVICT_L1} ?L2::cache_hint {_ELEMENT}",
        *(f"?weak ?global {_WIDE_EVICT} {each}" for each in _WIDE_ELEMENT),
        f"volatile ?global/{SHARED} {_ELEMENT}",
        f"relaxed/release {SCOPE} ?{SHARED} {_ELEMENT}",
        f"relaxed/release {SCOPE} ?global ?{_EVICT_L1} ?L2::cache_hint {_ELEMENT}",
        *(f"relaxed/release {SCOPE} ?global {_WIDE_EVICT} {each}" for each in _WIDE_ELEMENT),
        f"mmio relaxed sys ?global {FLAT}",
    ),
    memory.store,
)
_row(
    "prefetch",
    "9.7.9.15",
    "?global/local L1/L2 | ?global L2::evict_last/L2::evict_normal | ?const/param tensormap",
    memory.nothing,
)
_row("prefetchu", "9.7.9.15", "L1", memory.nothing)
_WINDOWS = f"global/{SHARED}/local/const/param/param::entry"
_row("isspacep", "9.7.9.17", _WINDOWS, convert.is_space)
_row("cvta", "9.7.9.18", f"^?to {_WINDOWS} u64", convert.address_space)
_WHOLE = f"u8/s8/{INT}"
_BACK = "rni/rzi/rmi/rpi"
_SMALL = "e4m3x2/e5m2x2/e2m1x2/e2m3x2/e3m2x2"
_row(
    "cvt",
    "9.7.9.21",
    (
        f"{_WHOLE} >{_WHOLE} | sat u8 >s8/{INT} | sat s8 >u8/{INT} | sat u16 >s8/s16/{WORDS} | sat s16 >u16/{WORDS}",
        "sat u32 >s8/s16/s32/u64/s64 | sat s32 >u32/u64/s64 | sat u64 >s8/s16/s32/s64 | sat s64 >u64",
        f"{_BACK} ?sat {_WHOLE} >f16/bf16/f64 | {_BACK} ?ftz ?sat {_WHOLE} >f32",
        f"{ROUND} ?ftz ?sat f16/f32/f64 >{_WHOLE} | {ROUND} bf16 >{_WHOLE}",
        f"?{_BACK} ?ftz ?sat f32 >f32 | ?{_BACK} ?sat f64 >f64 | ?{_BACK} ?sat f16 >f16 | ?{_BACK} bf16 >bf16",
        "?ftz ?sat f64 >f32 | ?ftz ?sat f32 >f16 | ?ftz f32 >bf16 | ?sat f64 >f16 | f64 >bf16",
        f"{ROUND} ?ftz ?sat f32 >f64 | {ROUND} ?ftz ?sat f16 >f32 | {ROUND} ?sat f16 >f64 | {ROUND} bf16 >f64/f32/f16",
        "rn/rz ?relu ?satfinite f16/bf16/f16x2/bf16x2 >f32",
        "rna/rn/rz ?satfinite tf32 >f32 | rn/rz relu ?satfinite tf32 >f32",
        f"rn satfinite ?relu {_SMALL} >f32 | rn satfinite ?relu e4m3x2/e5m2x2 >f16x2 | rn ?relu f16x2 >{_SMALL}",
    ),
    convert.convert,
)
_row(
    "cp",
    "9.7.9.25",
    (f"^async ca/cg shared/shared::cta >global ?L2::cache_hint ?{_FETCH}", "^async ^commit_group/wait_group/wait_all"),
    cp_async.copy,
)
_row("cp", "9.7.13.15.17", "^async ^mbarrier ^arrive ?noinc ?shared/shared::cta b64", cp_async.arrive_on)
_row("cp", "9.7.9.25.6", "^async ^bulk commit_group | ^async ^bulk wait_group ?read", bulk.group, meets=True)
_FILL = "mbarrier::complete_tx::bytes ?multicast::cluster ?L2::cache_hint"
_TO_CLUSTER = "shared::cluster >shared::cta mbarrier::complete_tx::bytes"
_DONE = "bulk_group ?L2::cache_hint"
_row(
    "cp",
    "9.7.9.25.5.2",
    _each("^async ^bulk", f"shared::cluster/shared::cta >global {_FILL}", _TO_CLUSTER, f"global >shared::cta {_DONE}"),
    bulk.copy,
    meets=True,
)
_RANK = "1d/2d/3d/4d/5d"
_PIXELS = "3d/4d/5d"
_row(
    "cp",
    "9.7.9.27.1.2",
    _each(
        f"^async ^bulk ^tensor {_RANK}",
        f"shared::cluster/shared::cta >global ?tile {_FILL}",
        f"global >shared::cta ?tile {_DONE}",
    ),
    bulk.copy_box,
    meets=True,
)
_row(
    "cp",
    "9.7.9.27.1.2",
    _each(
        f"^async ^bulk ^tensor {_PIXELS}",
        f"shared::cluster/shared::cta >global im2col {_FILL}",
        f"global >shared::cta im2col_no_offs {_DONE}",
    ),
    bulk.copy_pixels,
    meets=True,
)
_row(
    "cp",
    "9.7.9.25.5.3",
    [
        *_each(
            f"^reduce ^async ^bulk {_TO_CLUSTER}", "add u32/s32/u64", "min/max u32/s32", "inc/dec u32", f"{LOGIC} b32"
        ),
        *_each(
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
)
_OPERATION = f"add/min/max/inc/dec/{LOGIC}"
_row(
    "cp",
    "9.7.9.27.1.3",
    (
        f"^reduce ^async ^bulk ^tensor {_RANK} global >shared::cta {_OPERATION} ?tile {_DONE}",
        f"^reduce ^async ^bulk ^tensor {_PIXELS} global >shared::cta {_OPERATION} im2col_no_offs {_DONE}",
    ),
    bulk.reduce_box,
    meets=True,
)
_row(
    "cp",
    "9.7.9.25.5.4",
    (
        "^async ^bulk ^prefetch L2 global ?L2::cache_hint",
        f"^async ^bulk ^prefetch ^tensor {_RANK} L2 global ?tile ?L2::cache_hint",
        f"^async ^bulk ^prefetch ^tensor {_PIXELS} L2 global im2col ?L2::cache_hint",
    ),
    bulk.prefetch,
)
_MAP = "global/shared/shared::cta b1024"
_row(
    "tensormap",
    "9.7.9.28",
    f"replace tile global_address ?{_MAP} b64 | replace tile global_stride ?{_MAP} b64 | replace tile "
    f"rank/box_dim/global_dim/element_stride/elemtype/interleave_layout/swizzle_mode/swizzle_atomicity/fill_mode "
    f"?{_MAP} b32",
    tensormap.replace,
    meets=True,
)
_row(
    "tensormap",
    "9.7.13.16",
    f"cp_fenceproxy global shared/shared::cta tensormap::generic release {SCOPE} sync aligned",
    tensormap.copy,
    meets=True,
)
_PRIMARY = "L2::evict_last/L2::evict_normal/L2::evict_first/L2::evict_unchanged"
_row(
    "createpolicy",
    "9.7.9.19",
    f"^fractional {_PRIMARY} ?L2::evict_first/L2::evict_unchanged b64 | "
    f"^range ?global {_PRIMARY} ?L2::evict_first/L2::evict_unchanged b64 | ^cvt L2 b64",
    memory.policy,
)
_row("mapa", "9.7.9.23", "?shared::cluster u32/u64", cluster.map_address)
_row("getctarank", "9.7.9.24", "?shared::cluster u32/u64", cluster.rank_of)

# ** control flow, 9.7.12
_row("bra", "9.7.12.3", "?uni", control.branch)
_row("brx", "9.7.12.4", "^idx ?uni", control.branch_indexed)
_row("call", "9.7.12.5", "?uni", call.call)
_row("ret", "9.7.12.6", "?uni", control.leave)
_row("exit", "9.7.12.7", "", control.leave_thread)

# ** threads that meet, 9.7.13
_row(
    "barrier",
    "9.7.13.1",
    "^?cta sync/arrive ?aligned | ^?cta ^red popc ?aligned u32 | ^?cta ^red and/or ?aligned pred",
    barrier.barrier,
    meets=True,
)
_row(
    "bar", "9.7.13.1", "^?cta ^sync/arrive | ^?cta ^red popc u32 | ^?cta ^red and/or pred", barrier.barrier, meets=True
)
_row("bar", "9.7.13.2", "^warp ^sync", barrier.barrier, meets=True)
_row(
    "barrier",
    "9.7.13.3",
    "^cluster ^arrive ?release/relaxed ?aligned | ^cluster ^wait ?acquire ?aligned",
    cluster.barrier,
    meets=True,
)
_row("membar", "9.7.13.4", "cta/gl/sys", memory.fence)
_row(
    "fence",
    "9.7.13.4",
    (
        f"?sc/acq_rel/acquire/release {SCOPE}",
        "proxy alias/async/async::global/async::shared::cta | proxy async global/shared::cta/shared::cluster",
        "mbarrier_init release cluster",
        f"proxy tensormap::generic release/acquire {SCOPE}",
        "acquire sync_restrict::shared::cluster cluster | release sync_restrict::shared::cta cluster",
        "proxy async::generic acquire sync_restrict::shared::cluster cluster | "
        "proxy async::generic release sync_restrict::shared::cta cluster",
    ),
    memory.fence,
)
_SUMS = (
    "add {hint} u32/s32/u64/f32/f64",
    f"add noftz {{hint}} {HALF}/{BF}",
    f"min/max {{hint}} {WORDS}",
    "inc/dec {hint} u32",
    f"{LOGIC} {{hint}} b32/b64",
)
_SWAPS = "exch {hint} b32/b64/b128", "cas {hint} b16/b32/b64/b128"
_VECTORS = (
    "add {hint} v2/v4 f32",
    "add/min/max noftz {hint} v2/v4/v8 f16/bf16",
    "add/min/max noftz {hint} v2/v4 f16x2/bf16x2",
)


def _atomics(order: str, *operations: str) -> list[str]:
    here = (each.format(hint="") for each in operations)
    anywhere = (each.format(hint="?L2::cache_hint") for each in (*operations, *_VECTORS))
    return [*_each(f"{order} {SHARED}", *here), *_each(f"{order} ?global", *anywhere)]


_row("atom", "9.7.13.5", _atomics(f"?relaxed/acquire/release/acq_rel ?{SCOPE}", *_SUMS, *_SWAPS), atomics.atomic)
_row("red", "9.7.13.6", _atomics(f"?relaxed/release ?{SCOPE}", *_SUMS), atomics.atomic)
_row(
    "st",
    "9.7.9.12",
    _each("^async ?weak shared::cluster mbarrier::complete_tx::bytes", "?v2/v4 b32/u32/s32/f32", "?v2 b64/u64/s64/f64"),
    async_stores.store,
    meets=True,
)
_row(
    "red",
    "9.7.13.8",
    _each(
        "^async relaxed cluster shared::cluster mbarrier::complete_tx::bytes",
        "add u32/s32/u64",
        "min/max u32/s32",
        "inc/dec u32",
        f"{LOGIC} b32",
    ),
    async_stores.reduce,
    meets=True,
)
_row("vote", "9.7.13.9", "sync all/any/uni pred | sync ballot b32", warp.vote, meets=True)
_row("match", "9.7.13.10", "any/all sync b32/b64", warp.match, meets=True)
_row("activemask", "9.7.13.11", "b32", warp.active_mask, meets=True)
_row("redux", "9.7.13.12", f"sync add/min/max u32/s32 | sync {LOGIC} b32", warp.reduce, meets=True)
_row("elect", "9.7.13.15", "sync", warp.elect, meets=True)

_MBARRIER = "?shared/shared::cta b64"


def _ordered(start: str, order: str, rest: str) -> list[str]:
    """Without an order and a scope, and with both."""
    return [f"{start} {rest}", f"{start} {order} cta/cluster {rest}"]


_row(
    "mbarrier",
    "9.7.13.15",
    [
        f"^init/inval {_MBARRIER} | ^pending_count b64",
        *_ordered("^arrive/arrive_drop ?expect_tx", "release/relaxed", f"?{SHARED} b64"),
        f"^arrive/arrive_drop noComplete {_MBARRIER} | ^arrive/arrive_drop noComplete release cta {_MBARRIER}",
        *_ordered("^expect_tx/complete_tx", "relaxed", f"?{SHARED} b64"),
        *_ordered("^test_wait/try_wait ?parity", "acquire/relaxed", _MBARRIER),
    ],
    mbarrier.barrier,
)

# ** matrices of a warp, 9.7.14.5
_row(
    "mma",
    "9.7.14.5.14",
    _each(
        "sync aligned",
        "m8n8k4 row/col row/col f16/f32 >f16 >f16 >f16/f32",
        "m16n8k8/m16n8k16 row >col f16/f32 >f16 >f16 >f16/f32",
        "m16n8k8/m16n8k16 row >col f32 >bf16 >bf16 >f32",
        "m16n8k4/m16n8k8 row >col f32 >tf32 >tf32 >f32",
        "m16n8k16/m16n8k32 row >col f16/f32 >e4m3/e5m2 >e4m3/e5m2 >f16/f32",
        "m8n8k4/m16n8k4/m16n8k8/m16n8k16 row >col f64 f64 f64 f64",
        "m8n8k16/m16n8k16/m16n8k32 row >col ?satfinite s32 >s8/u8 >s8/u8 >s32",
    ),
    matrix.mma,
    meets=True,
)
_TILES = "sync aligned m8n8 x1/x2/x4 ?trans ?shared/shared::cta b16"
_row("ldmatrix", "9.7.14.5.15", _TILES, matrix.ldmatrix, meets=True)
_row("stmatrix", "9.7.14.5.16", _TILES, matrix.stmatrix, meets=True)
_row("movmatrix", "9.7.14.5.17", "sync aligned m8n8 trans b16", matrix.movmatrix, meets=True)

# ** matrices of a warpgroup, 9.7.15.5


def _warpgroup(k: int, types: str, sparse: int, widths: Iterable[int] = range(8, 257, 8)) -> list[str]:
    return [
        f"^mma_async {more} sync aligned {'/'.join(f'm64n{n}k{depth}' for n in widths)} {types}"
        for more, depth in (("", k), ("^sp", sparse))
        if depth
    ]


_WIDE = (8, 24, *range(16, 257, 16))  # of integers
_row(
    "wgmma",
    "9.7.15.5.2",
    (
        *_warpgroup(16, "f16/f32 >f16 >f16", 32), *_warpgroup(16, "f32 >bf16 >bf16", 32),
        *_warpgroup(8, "f32 >tf32 >tf32", 16), *_warpgroup(32, "f16/f32 >e4m3/e5m2 >e4m3/e5m2", 64),
        *_warpgroup(32, "?satfinite s32 >s8/u8 >s8/u8", 64, _WIDE), *_warpgroup(256, "s32 >b1 >b1 and >popc", 0, _WIDE),
    ),
    warpgroup.multiply,
    meets=True,
)  # fmt: skip
_row("wgmma", "9.7.15.7", "fence/commit_group/wait_group sync aligned", memory.nothing)

# ** miscellaneous, 9.7.19
_row("brkpt trap", "9.7.19.1", "", control.trap)
_row("nanosleep", "9.7.19.2", "u32", control.nanosleep)
_row("pmevent", "9.7.19.3", "?mask", memory.nothing)
_row("discard", "9.7.9.16", "?global L2", memory.nothing)
_row("applypriority", "9.7.9.16", "?global L2::evict_normal", memory.nothing)
_row("griddepcontrol", "9.7.13.13", "launch_dependents/wait", memory.nothing)
_row("setmaxnreg", "9.7.19.5", "inc/dec sync aligned u32", memory.nothing)

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
    """The row that has a form with the modifiers of an instruction, or None."""
    return row_of(instr.opcode, instr.mods)


def row_of(opcode: str, modifiers: tuple[str, ...]) -> Row | None:
    """The same of an opcode and its modifiers."""
    return _find(opcode, modifiers)[0]


def problem(instr: Instr) -> str:
    """Why no row has an instruction, of whose opcode there are rows: what its modifiers are in their nearest form; ''
    where one of them is in no row."""
    rows = ROWS[instr.opcode]
    if any(all(each not in row.modifiers for row in rows) for each in instr.mods):
        return ""
    return min(form.problem(instr.mods) for row in rows for form in row.forms)[1]


def order(module: Module) -> Module:
    """Give the modifiers of each instruction that has a row the order of the ISA, by which emitters read them."""
    for function in module.functions.values():
        for item in function.items:
            if isinstance(item, Instr):
                item.mods = _find(item.opcode, item.mods)[1]
    return module


@functools.cache
def _find(opcode: str, modifiers: tuple[str, ...]) -> tuple[Row | None, tuple[str, ...]]:
    for row in ROWS.get(opcode, ()):
        for form in row.forms:
            if (ordered := form.ordered(modifiers)) is not None:
                return row, ordered
    return None, modifiers
