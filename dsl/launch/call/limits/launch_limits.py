"""Launches that no GPU runs, refused while compiling: extents and shared memory past the architecture's limits.

Source: CUDA C++ Programming Guide, Technical Specifications per Compute Capability.
"""

from __future__ import annotations

import functools
import re
from collections.abc import Mapping, Sequence
from typing import Any

from dsl.analysis import uniformity
from dsl.core.errors import DSLUserCodeError, DSLUserCodeTypeError, DSLUserCodeValueError, warn
from dsl.core.ir import mlir
from dsl.core.number.dtypes import Numeric, is_dynamic, numeric
from dsl.core.number.operators import type_name
from dsl.core.traced_program import Allocation, Kernel, Traced
from dsl.launch import disk_cache
from dsl.span import Span
from dsl.tile.memory.memory import CAPACITY_BYTES

MAX_THREADS = 1024
_GREATEST = {"grid": (2**31 - 1, 65535, 65535), "block": (1024, 1024, 64), "cluster": (16, 16, 16)}
_OF = {"grid": "blocks", "block": "threads", "cluster": "blocks"}
PORTABLE_CLUSTER, GREATEST_CLUSTER = 8, 16


class BadLaunch(DSLUserCodeValueError):
    """A launch that no GPU runs."""


def check_launch(kernel: str, grid: Any, block: Any, cluster: Any) -> None:
    """Raise for extents that are not integers, and for static ones past a limit; dynamic ones are checked when run."""
    extents = {
        what: _extents(kernel, what, value) for what, value in (("grid", grid), ("block", block), ("cluster", cluster))
    }
    wrong = wrong_extents(kernel, extents)
    if wrong is not None:
        raise BadLaunch(*wrong, id="LAUNCH_EXTENT_OUT_OF_RANGE")
    blocks = _product(extents["cluster"])
    if blocks is not None and blocks > PORTABLE_CLUSTER:
        warn(
            f"the cluster of `{kernel}` has {blocks} blocks; more than {PORTABLE_CLUSTER} run on some GPUs only",
            "LAUNCH_CLUSTER_NOT_PORTABLE",
        )


def wrong_extents(kernel: str, extents: Mapping[str, Sequence[int | None]]) -> tuple[str, str] | None:
    """The limit that these extents exceed, and the fix; None if they fit. An extent of None is dynamic, and fits."""
    for what, sizes in extents.items():
        for axis, size, greatest in zip("xyz", sizes, _GREATEST[what]):
            if isinstance(size, int) and not 1 <= size <= greatest:
                return (
                    f"the {what} of `{kernel}` has {size} {_OF[what]} in {axis}",
                    f"1 to {greatest} {_OF[what]} in {axis}",
                )
    threads, blocks = (_product(extents[what]) for what in ("block", "cluster"))
    if threads is not None and threads > MAX_THREADS:
        return (
            f"the block of `{kernel}` has {threads} threads",
            f"at most {MAX_THREADS} threads a block; more blocks in the grid",
        )
    if blocks is not None and blocks > GREATEST_CLUSTER:
        return (
            f"the cluster of `{kernel}` has {blocks} blocks",
            f"at most {PORTABLE_CLUSTER} blocks a cluster ({GREATEST_CLUSTER} on some GPUs)",
        )
    for axis, whole, part in zip("xyz", extents["grid"], extents["cluster"]):
        if isinstance(whole, int) and isinstance(part, int) and whole % part:
            return (
                f"grid of `{kernel}` in {axis} must be a multiple of the cluster's {part}, got {whole}",
                f"a multiple of {part} blocks in {axis}",
            )
    return None


def _extents(kernel: str, what: str, value: Any) -> list[int | None]:
    """Three extents, None for a dynamic one."""
    values = list(value) if isinstance(value, (tuple, list)) else [value]
    if len(values) > 3 or not values:
        raise DSLUserCodeTypeError(f"the {what} of `{kernel}` has {len(values)} extents", fix=f"{what}=(x, y, z)")
    return [_extent(kernel, what, extent) for extent in values] + [1] * (3 - len(values))


def _extent(kernel: str, what: str, extent: Any) -> int | None:
    number = numeric(extent) if isinstance(extent, Numeric) or type(extent) is not int else None
    if type(extent) is int:
        return extent
    if number is None or not number.is_integer or isinstance(extent, bool):
        raise DSLUserCodeTypeError(
            f"{what} of `{kernel}` must be integers, got {_spell(extent)}",
            fix="divide with `//` or `cute.ceil_div(a, b)`: an extent is an int or an integer of the DSL"
            if isinstance(extent, float) or (number is not None and number.is_float)
            else f"{what}=(x, y, z), each an int or an integer of the DSL",
        )
    return None if is_dynamic(number) else int(number.value)


def _spell(value: Any) -> str:
    if isinstance(value, Numeric):
        return f"a {type(value).__name__}"
    if isinstance(value, (int, float, str, complex, type(None))):
        return repr(value)
    text = type_name(value)
    return text if text.startswith("the ") else f"a {text}"


def _product(extents: Sequence[int | None]) -> int | None:
    x, y, z = extents
    return None if x is None or y is None or z is None else x * y * z


def check_shared_memory(traced: Traced, arch: str) -> None:
    """Raise where a kernel allocates, or a launch asks for, more shared memory than a block of `arch` may have."""
    capacity = CAPACITY_BYTES.get(re.sub("[af]$", "", arch))
    for kernel in traced.kernels:
        if capacity is not None:
            _check_capacity(kernel, arch, capacity)


def check_needs(traced: Traced, arch: str) -> None:
    """Raise where a kernel does what GPUs have only from a later architecture than `arch` on."""
    for need in (need for kernel in traced.kernels for need in kernel.needs):
        if _order(arch) < _order(need.arch):
            raise DSLUserCodeError(
                f"{need.what}, which needs {need.arch} or later, but this is compiled for {arch}",
                fix=f"--gpu-arch {need.arch}, or keep to what {arch} has",
                id="UNSUP_ARCH",
                place=need.place,
            )


def _order(arch: str) -> tuple[int, bool]:
    """Compute capability, and whether the features of one architecture alone are on (`a`, `f`)."""
    number = re.match(r"sm_(\d+)", arch)
    return int(number[1]) if number else 0, arch[-1:] in "af"


def _check_capacity(kernel: Kernel, arch: str, capacity: int) -> None:
    past = next((allocation for allocation in kernel.allocations if allocation.end_bytes > capacity), None)
    if past is not None:
        raise BadLaunch(
            f"takes shared memory up to {past.end_bytes} bytes, but {arch} has {capacity} a block",
            fix="smaller tiles or fewer stages; memory of other dtypes; another `--gpu-arch`",
            id="SMEM_TOO_LARGE",
            place=past.place,
            also=_earlier(kernel, past),
        )
    if kernel.asked_bytes is not None and kernel.asked_bytes > capacity:
        raise BadLaunch(
            f"asks for {kernel.asked_bytes} bytes of shared memory, but {arch} has {capacity} a block",
            fix="leave `smem` out: the launch takes what the kernel allocates",
            id="SMEM_TOO_LARGE",
            place=kernel.place,
        )


def _earlier(kernel: Kernel, past: Allocation) -> tuple[tuple[Span, str], ...]:
    """The launch, and the allocation of most bytes before `past`."""
    also = [(kernel.place, "the kernel is launched here")] if kernel.place else []
    sizes, start = [], 0
    for allocation in kernel.allocations[: kernel.allocations.index(past)]:
        sizes.append((allocation.end_bytes - start, allocation.place))
        start = allocation.end_bytes
    if sizes:
        most, place = max(sizes, key=lambda pair: pair[0])
        also.insert(0, (place, f"this takes {most} bytes of it"))
    return tuple(also)


def check_asked(kernel: str, asked: Any, allocated_bytes: int) -> int | None:
    """The static bytes a launch asks for, None where it asks for none or they are dynamic. Warns of too few."""
    if type(asked) is int and not 0 <= asked < 1 << 31:
        raise BadLaunch(f"`smem` of `{kernel}` is {asked} bytes", fix="leave `smem` out", id="SMEM_TOO_LARGE")
    number = None if asked is None else numeric(asked)
    if asked is not None and (number is None or not number.is_integer or isinstance(asked, bool)):
        raise DSLUserCodeTypeError(
            f"`smem` of `{kernel}` must be a number of bytes, got {_spell(asked)}", fix="smem=1024"
        )
    if number is None or is_dynamic(number):
        return None
    if number.value < 0:
        raise BadLaunch(f"`smem` of `{kernel}` is {number.value} bytes", fix="leave `smem` out", id="SMEM_TOO_LARGE")
    if number.value < allocated_bytes:
        warn(
            f"`{kernel}` allocates {allocated_bytes} bytes of shared memory and is launched with smem={number.value}",
            "SMEM_TOO_SMALL",
        )
    return int(number.value)


class DivergentCollective(DSLUserCodeError):
    """A barrier, shuffle or vote that provably not all of its threads reach."""


def check_collectives(device_mlir: str) -> None:
    """Raise DivergentCollective for a kernel that declares the size of its block (analysis.uniformity)."""
    _refuse(uniformity.check(device_mlir))


class Collectives:
    """The collectives of a compiled module, whose block size only a launch gives: checked once a kernel and block.

    Reading the text takes as long as compiling a part of it, so a launch asks for what is known of the kernel.
    """

    def __init__(self, device_mlir: str):
        self._device_mlir = device_mlir
        self._findings: dict[tuple[str, tuple], uniformity.Finding | None] = {}

    @functools.cached_property
    def _undecided(self) -> frozenset[str]:
        return uniformity.undecided(self._device_mlir)

    def check(self, kernel: str, block: tuple[int, int, int]) -> None:
        """Raise DivergentCollective, with the places of the collective and of the condition round it."""
        if kernel in self._undecided:
            if (kernel, block) not in self._findings:
                self._findings[kernel, block] = self._find(kernel, block)
            _refuse(self._findings[kernel, block])

    def _find(self, kernel: str, block: tuple[int, int, int]) -> uniformity.Finding | None:
        """The finding for a kernel and block, or None; the disk cache keeps which have none."""
        disk = disk_cache.current()
        key = disk_cache.key("collectives", self._device_mlir, kernel, block) if disk is not None else b""
        if disk is not None and disk.get(key) is not None:
            return None
        finding = uniformity.check(self._device_mlir, block, kernel)
        if disk is not None and finding is None:
            disk.put(key, b"")
        return finding


def _refuse(finding: uniformity.Finding | None) -> None:
    if finding is not None:
        raise DivergentCollective(
            finding.message,
            fix=finding.fix,
            id="DIVERGENT_COLLECTIVE",
            place=_whole(finding.place),
            also=((_whole(finding.condition), finding.at_condition),),
        )


def _whole(place: Span) -> Span:
    """The author's expression that starts at `place`."""
    return mlir.place_of(mlir.location(place)) or place
