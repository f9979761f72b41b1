"""The instructions of this family: see ir/rows.py. Section numbers are from the PTX ISA 9.0."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from dsl.emulator.families.memory import addresses, atomics, emit as memory
from dsl.emulator.ir.rows import FETCH, HALF, HINT, NONE, SCOPE, SHARED, WORDS, Rows, nothing, since, with_start
from dsl.emulator.ptx.traits import (
    ANYWHERE,
    ATOMIC,
    CONVERTS,
    FENCE,
    IDLE,
    IDLE_WITH_ZERO,
    LOAD,
    NO_EFFECT,
    POLLS,
    REDUCTION,
    STORE,
    TILE_STORE,
    WIDER,
)

ROWS = Rows()
_row = ROWS.add

_NARROW = "b8/u8/s8/b16/u16/s16"
_MIDDLE = "b32/u32/s32/f32"
_LONG = "b64/u64/s64/f64"
FLAT = f"{_NARROW}/{_MIDDLE}/{_LONG}"  # of an element in memory
_SPACE = f"global/{SHARED}/local/const/param/param::entry@:8.3/param::func@:8.3"
_EVICT_L1 = since(":7.4", "L1::evict_normal/L1::evict_unchanged/L1::evict_first/L1::evict_last/L1::no_allocate")
_EVICT_L2 = "L2::evict_last/L2::evict_normal/L2::evict_first"
_WIDE_EVICT = f"?{_EVICT_L1} {_EVICT_L2} ?{HINT}"  # of 32 bytes
_WIDE_ELEMENT = (f"v8@100:8.8 {_MIDDLE}", f"v4@100:8.8 {_LONG}")
_ELEMENT = (f"?v2/v4/v8 {_NARROW}", f"?v2/v4 {_MIDDLE}", f"?v2 {_LONG}", "b128@:8.3")


def _elements(*starts: str) -> Iterator[str]:
    """Accesses of one element, or of several; of 32 bytes where the space can only be global, or none is written."""
    wide = (start for start in starts if "global" in start.replace("?", "").split())
    yield from (f"{start} {each}" for start in starts for each in _ELEMENT)
    yield from (f"{start} {each}" for start in wide for each in _WIDE_ELEMENT)


_row(
    "ld",
    "9.7.9.8",
    (
        *_elements(
            f"?weak ?{_SPACE} ?ca/cg/cs/lu/cv",
            f"?weak ?global ?ca/cg/cs/lu/cv/{_EVICT_L1} ?{HINT} ?{FETCH}",
            f"volatile ?{SHARED}",
            f"volatile ?global ?{FETCH}",
            f"relaxed/acquire {SCOPE} ?{SHARED}",
            f"relaxed/acquire {SCOPE} ?global ?{_EVICT_L1} ?{HINT} ?{FETCH}",
            f"global nc ?ca/cg/cs/{_EVICT_L1} ?{HINT} ?{FETCH}",
        ),
        *(
            f"{start} {_WIDE_EVICT} ?{FETCH} {each}"
            for start in ("?weak ?global", f"relaxed/acquire {SCOPE} ?global", "global nc")
            for each in _WIDE_ELEMENT
        ),
        f"mmio@:8.2 relaxed sys ?global {FLAT}",
    ),
    memory.load,
    traits=LOAD | IDLE | WIDER,
)
_row("ldu", "9.7.9.10", f"?global ?v2/v4 {FLAT}", memory.load, traits=LOAD | IDLE | WIDER)
_row(
    "st",
    "9.7.9.11",
    (
        *_elements(
            f"?weak ?{SHARED}/local/param/param::func@:8.3 ?wb/cg/cs/wt",
            f"?weak ?global ?wb/cg/cs/wt/{_EVICT_L1} ?{HINT}",
            f"volatile ?{SHARED}",
            "volatile ?global",
            f"relaxed/release {SCOPE} ?{SHARED}",
            f"relaxed/release {SCOPE} ?global ?{_EVICT_L1} ?{HINT}",
        ),
        *(
            f"{start} {_WIDE_EVICT} {each}"
            for start in ("?weak ?global", f"relaxed/release {SCOPE} ?global")
            for each in _WIDE_ELEMENT
        ),
        f"mmio@:8.2 relaxed sys ?global {FLAT}",
    ),
    memory.store,
    traits=STORE | IDLE | WIDER,
)
_row("st", "9.7.9.13", "^bulk ?weak ?shared::cta @100:8.6", memory.fill, operands="[] u64 n=0", traits=TILE_STORE)
_row(
    "prefetch",
    "9.7.9.15",
    "?global/local L1/L2 | ?global L2::evict_last@80:7.4/L2::evict_normal@80:7.4 | ?const/param tensormap@90:8.0",
    nothing,
    traits=NO_EFFECT | IDLE,
)
_row("prefetchu", "9.7.9.15", "L1", nothing, traits=NO_EFFECT | IDLE)
_WINDOWS = f"global/{SHARED}/local/const/param@:7.7/param::entry@:8.3"
_row("isspacep", "9.7.9.17", _WINDOWS, addresses.is_space, traits=CONVERTS | IDLE)
_row("cvta", "9.7.9.18", f"^?to {_WINDOWS} u64", addresses.address_space, traits=CONVERTS | IDLE)
_PRIMARY = "L2::evict_last/L2::evict_normal/L2::evict_first/L2::evict_unchanged"
_row(
    "createpolicy",
    "9.7.9.19",
    f"^fractional {_PRIMARY} ?L2::evict_first/L2::evict_unchanged b64 @80:7.4",
    memory.policy,
    operands="=u64 f32?",
)
_row(
    "createpolicy",
    "9.7.9.19",
    f"^range ?global {_PRIMARY} ?L2::evict_first/L2::evict_unchanged b64 @80:7.4",
    memory.policy,
    operands="=u64 [] u32 u32",
)
_row("createpolicy", "9.7.9.19", "^cvt L2 b64 @80:7.4", memory.policy, operands="=u64 u64")
_row("membar", "9.7.13.4", "cta/gl/sys", memory.fence, traits=FENCE | IDLE)
_row(
    "fence",
    "9.7.13.4",
    (
        f"?sc/acq_rel/acquire/release {SCOPE}",
        "proxy alias@:7.5 | proxy async/async::global/async::shared::cta @90:8.0",
        "proxy async global/shared::cta/shared::cluster @90:8.0",
        "mbarrier_init release cluster @90:8.0",
        f"proxy tensormap::generic release {SCOPE} @90:8.3",
        "acquire sync_restrict::shared::cluster cluster @90:8.6 | release sync_restrict::shared::cta cluster @90:8.6",
        "proxy async::generic acquire sync_restrict::shared::cluster cluster @90:8.6 | "
        "proxy async::generic release sync_restrict::shared::cta cluster @90:8.6",
    ),
    memory.fence,
    traits=FENCE | IDLE,
)
_row(
    "fence",
    "9.7.13.4",
    f"proxy tensormap::generic acquire {SCOPE} @90:8.3",
    memory.fence,
    operands="[] n",
    traits=FENCE | IDLE,
)
_BF = "bf16@90/bf16x2@90"
_WITH_ZERO = (  # they leave memory as it was if their operand is 0
    "add {hint} u32/s32/u64/f32/f64",
    f"add noftz {{hint}} {HALF}/{_BF}",
    "max {hint} u32/u64",
    "or/xor {hint} b32/b64",
)
_OTHERS = f"min {{hint}} {WORDS}", "max {hint} s32/s64", "inc/dec {hint} u32", "and {hint} b32/b64"
_EXCHANGE, _COMPARE = "exch {hint} b32/b64/b128@90:8.3", "cas {hint} b16/b32/b64/b128@90:8.3"
_VECTORS = (
    "add {hint} v2/v4 f32 @90:8.1",
    "add/min/max noftz {hint} v2/v4/v8 f16/bf16 @90:8.1",
    "add/min/max noftz {hint} v2/v4 f16x2/bf16x2 @90:8.1",
)


def _atomics(order: str, *operations: str, vectors: Sequence[str] = ()) -> list[str]:
    here = (each.format(hint="") for each in operations)
    anywhere = (each.format(hint=f"?{HINT}") for each in (*operations, *vectors))
    return [*with_start(f"{order} {SHARED}", *here), *with_start(f"{order} ?global", *anywhere)]


_ORDER = f"?relaxed/acquire/release/acq_rel ?{SCOPE}"
_row("atom", "9.7.13.5", _atomics(_ORDER, *_WITH_ZERO), atomics.atomic, traits=ATOMIC | IDLE_WITH_ZERO)
_row("atom", "9.7.13.5", _atomics(_ORDER, *_OTHERS, vectors=_VECTORS), atomics.atomic, traits=ATOMIC)
_SWAPS = ATOMIC | IDLE | POLLS
_row("atom", "9.7.13.5", _atomics(_ORDER, _EXCHANGE), atomics.atomic, traits=_SWAPS)
_row("atom", "9.7.13.5", _atomics(_ORDER, _COMPARE), atomics.atomic, operands="=~1_ [] ~1 ~1 u64?", traits=_SWAPS)
_row(
    "red",
    "9.7.13.6",
    _atomics(f"?relaxed/release ?{SCOPE}", *_WITH_ZERO, *_OTHERS, vectors=_VECTORS),
    atomics.atomic,
    traits=REDUCTION,
)
_row("discard", "9.7.9.16", "?global L2 @80:7.4", memory.discard, traits=TILE_STORE | ANYWHERE)
_row("applypriority", "9.7.9.16", "?global L2::evict_normal @80:7.4", nothing, traits=NO_EFFECT)

OPERANDS = {
    NONE: "membar fence",
    "[]": "prefetch prefetchu",
    "[] n=128": "discard applypriority",
    "=pred *": "isspacep",
    "=1 *": "cvta",
    "=~1 []": "ldu",
    "=~1 [] u64?": "ld",
    "[] ~1 u64?": "st red",
    "=~1_ [] ~1 u64?": "atom",
}
