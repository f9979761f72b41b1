"""The keywords of a launch besides the numbers of threads: some bound the registers of a kernel, some are hints.

Hints, accepted, without effect here: `preferred_smem_carveout`, `smem_merge_branch_allocs`, `hint_smem_base_uniform`.
Other blocks of clusters to fall back on are refused.  CUDA: __launch_bounds__; PTX ISA: .maxntid,
.minnctapersm.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from dsl.core.diagnosis import spelling
from dsl.core.errors import DSLUserCodeError, DSLUserCodeTypeError
from dsl.core.number.dtypes import Numeric, is_dynamic
from dsl.core.number.operators import type_name
from dsl.core.phrase import shown

KNOWN = (
    "grid",
    "block",
    "cluster",
    "smem",
    "stream",
    "async_deps",
    "cooperative",
    "use_pdl",
    "min_blocks_per_mp",
    "max_number_threads",
)
_EVENTS = ("launch_completion_event", "programmatic_event")
_EVENT_OPTIONS = (
    "launch_completion_event_flags",
    "programmatic_event_flags",
    "programmatic_event_trigger_at_block_start",
)
_HINTS = {
    "smem_merge_branch_allocs": bool,
    "hint_smem_base_uniform": (bool, type(None)),
    "preferred_smem_carveout": (int, type(None)),
}


def check_others(kernel: str, others: Mapping[str, Any]) -> None:
    """Raise DSLUserCodeError for a keyword that a launch does not have, and for one that is not supported here."""
    for name, value in sorted(others.items()):
        if name in _HINTS:
            if not isinstance(value, _HINTS[name]):
                raise DSLUserCodeTypeError(
                    f"`{name}` of the launch of `{kernel}` is {type_name(value)}",
                    fix=f"{name}={50 if name.startswith('preferred') else True}",
                )
        elif name in _EVENT_OPTIONS:
            if not _is_zero(value):
                raise DSLUserCodeError(
                    f"`{name}` of the launch of `{kernel}` is {_spell(value)}: events of a launch have no options here",
                    fix=f"leave `{name}` out, or run it with NVIDIA's compiler on a GPU",
                )
        elif name in _EVENTS:
            _event(kernel, name, value)
        elif name == "fallback_cluster":
            _check_fallback(kernel, value)
        else:
            near = spelling.nearest(name, KNOWN)
            raise DSLUserCodeError(
                f"the launch of `{kernel}` has no parameter `{name}` here",
                id="CALL_UNEXPECTED_KWARG",
                fix=f"did you mean `{near}`?" if near else f"launch({', '.join(f'{keyword}=' for keyword in KNOWN)})",
            )


def events(kernel: str, others: Mapping[str, Any]) -> tuple[Any, Any]:
    """The events that a launch records: when all blocks run, and when all have let the next kernel start."""
    first, second = (_event(kernel, name, others.get(name)) for name in _EVENTS)
    return first, second


def _event(kernel: str, name: str, value: Any) -> Any:
    if value is None or isinstance(value, (Numeric, int)):
        return value
    if type(value).__name__ in ("CUevent", "cudaEvent_t"):
        return int(value)
    raise DSLUserCodeTypeError(
        f"`{name}` of the launch of `{kernel}` is {type_name(value)}: it must be an event of cuda.bindings",
        fix=f"{name}=cuda.CUevent(event.cuda_event)",
    )


def _is_zero(value: Any) -> bool:
    return value is None or (not is_dynamic(value) and not getattr(value, "value", value))


def _check_fallback(kernel: str, value: Any) -> None:
    extents = value if isinstance(value, (tuple, list)) else (value,)
    if value is not None and any(type(extent) is not int or extent != 1 for extent in extents):
        raise DSLUserCodeError(
            f"`fallback_cluster` of the launch of `{kernel}` is {shown(value)}: a launch has one shape of cluster here",
            fix="leave `fallback_cluster` out",
        )


def stream_of(kernel: str, stream: Any, async_deps: Any) -> Any:
    """The stream of a launch. Raises DSLUserCodeError where it is to wait for more than one."""
    deps = list(async_deps) if isinstance(async_deps, (tuple, list)) else [async_deps] if async_deps is not None else []
    if len(deps) + (stream is not None) > 1:
        raise DSLUserCodeError(
            f"the launch of `{kernel}` runs in one stream, got {len(deps) + (stream is not None)}", fix="stream=stream"
        )
    stream = deps[0] if deps else stream
    if hasattr(stream, "cuda_stream"):
        raise DSLUserCodeTypeError(
            f"the stream of the launch of `{kernel}` must be a CUstream, got a Stream of torch",
            fix="take it as a parameter, `stream: cuda.CUstream`, and pass it from Python",
        )
    return stream


def min_blocks(kernel: str, value: Any) -> int:
    """How many blocks a multiprocessor is to hold at once, 0 for no bound."""
    value = value.value if isinstance(value, Numeric) and not is_dynamic(value) else value
    if type(value) is not int:
        raise DSLUserCodeTypeError(
            f"`min_blocks_per_mp` of the launch of `{kernel}` is {_spell(value)}: it must be an "
            "int known while compiling",
            fix="min_blocks_per_mp=2",
        )
    return max(value, 0)


def max_threads(kernel: str, value: Any, block: Any) -> tuple[int, int, int] | None:
    """The greatest block that the kernel is compiled for. Raises DSLUserCodeError where `block` has more threads."""
    extents = [
        extent.value if isinstance(extent, Numeric) and not is_dynamic(extent) else extent
        for extent in (value if isinstance(value, (tuple, list)) else (value,))
    ]
    if not 1 <= len(extents) <= 3 or any(type(extent) is not int or extent < 0 for extent in extents):
        raise DSLUserCodeTypeError(
            f"`max_number_threads` of the launch of `{kernel}` is {_spell(value)}: it must be "
            "three ints known while compiling",
            fix="max_number_threads=[128, 1, 1]",
        )
    if not any(extents):
        return None
    bound = tuple([*extents, 1, 1][:3])
    asked = [
        extent.value if isinstance(extent, Numeric) else extent
        for extent in (block if isinstance(block, (tuple, list)) else (block,))
    ]
    if all(type(extent) is int for extent in asked) and _product(asked) > _product(bound):
        raise DSLUserCodeError(
            f"the launch of `{kernel}` has blocks of {_product(asked)} threads, but max_number_threads={list(bound)} "
            f"allows {_product(bound)}",
            fix="a greater `max_number_threads`, or leave it out: the block's size is the bound then",
            id="LAUNCH_TOO_MANY_THREADS",
        )
    return bound


def _product(extents: Any) -> int:
    total = 1
    for extent in extents:
        total *= extent
    return total


def _spell(value: Any) -> str:
    return repr(value) if isinstance(value, (int, float, str, tuple, list, type(None))) else type_name(value)
