"""The instructions of this family: see ir/rows.py. Section numbers are those of the PTX ISA 9.0."""

from __future__ import annotations

from dsl.emulator.families.memory import addresses, atomics, emit as memory
from dsl.emulator.ir.rows import BF, BITS, FETCH, HALF, INT, LOGIC, SCOPE, SHARED, WORDS, Rows, nothing, with_start

ROWS = Rows()
_row = ROWS.add

BYTES = "b8/u8/s8"
FLAT = f"{BYTES}/{BITS}/{INT}/f32/f64"  # of an element in memory
_SPACE = f"global/{SHARED}/local/const/param/param::entry/param::func"
_EVICT_L1 = "L1::evict_normal/L1::evict_unchanged/L1::evict_first/L1::evict_last/L1::no_allocate"
_EVICT_L2 = "L2::evict_last/L2::evict_normal/L2::evict_first"
_ELEMENT = f"?v2/v4/v8 {FLAT}/b128"
_WIDE_EVICT = f"?{_EVICT_L1} {_EVICT_L2} ?L2::cache_hint"  # of 32 bytes
_WIDE_ELEMENT = ("v8 b32/u32/s32/f32", "v4 b64/u64/s64/f64")
_row(
    "ld",
    "9.7.9.8",
    (
        f"?weak ?{_SPACE} ?ca/cg/cs/lu/cv {_ELEMENT}",
        f"?weak ?global ?ca/cg/cs/lu/cv/{_EVICT_L1} ?L2::cache_hint ?{FETCH} {_ELEMENT}",
        *(f"?weak ?global {_WIDE_EVICT} ?{FETCH} {each}" for each in _WIDE_ELEMENT),
        f"volatile ?{SHARED} {_ELEMENT} | volatile ?global ?{FETCH} {_ELEMENT}",
        f"relaxed/acquire {SCOPE} ?{SHARED} {_ELEMENT}",
        f"relaxed/acquire {SCOPE} ?global ?{_EVICT_L1} ?L2::cache_hint ?{FETCH} {_ELEMENT}",
        *(f"relaxed/acquire {SCOPE} ?global {_WIDE_EVICT} ?{FETCH} {each}" for each in _WIDE_ELEMENT),
        f"mmio relaxed sys ?global {FLAT}",
        f"global nc ?ca/cg/cs/{_EVICT_L1} ?L2::cache_hint ?{FETCH} {_ELEMENT}",
        *(f"global nc {_WIDE_EVICT} ?{FETCH} {each}" for each in _WIDE_ELEMENT),
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
    nothing,
)
_row("prefetchu", "9.7.9.15", "L1", nothing)
_WINDOWS = f"global/{SHARED}/local/const/param/param::entry"
_row("isspacep", "9.7.9.17", _WINDOWS, addresses.is_space)
_row("cvta", "9.7.9.18", f"^?to {_WINDOWS} u64", addresses.address_space)
_PRIMARY = "L2::evict_last/L2::evict_normal/L2::evict_first/L2::evict_unchanged"
_row(
    "createpolicy",
    "9.7.9.19",
    f"^fractional {_PRIMARY} ?L2::evict_first/L2::evict_unchanged b64 | "
    f"^range ?global {_PRIMARY} ?L2::evict_first/L2::evict_unchanged b64 | ^cvt L2 b64",
    memory.policy,
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
    return [*with_start(f"{order} {SHARED}", *here), *with_start(f"{order} ?global", *anywhere)]


_row("atom", "9.7.13.5", _atomics(f"?relaxed/acquire/release/acq_rel ?{SCOPE}", *_SUMS, *_SWAPS), atomics.atomic)
_row("red", "9.7.13.6", _atomics(f"?relaxed/release ?{SCOPE}", *_SUMS), atomics.atomic)
_row("discard", "9.7.9.16", "?global L2", nothing)
_row("applypriority", "9.7.9.16", "?global L2::evict_normal", nothing)

OPERANDS = {
    (0,): "membar",
    (1,): "prefetch prefetchu",
    (2,): "isspacep cvta discard applypriority ldu",
    (2, 3): "ld st red",
    (0, 2): "fence",
    (3, 4, 5): "atom",
    (1, 2, 3, 4): "createpolicy",
}
