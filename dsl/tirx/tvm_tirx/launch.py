"""T.cuda.LaunchConfig and KernelAttributes: the launch of a device part, for T.device_entry."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from dsl.core import trace
from dsl.core.errors import DSLUserCodeError, DSLUserCodeTypeError, DSLUserCodeValueError
from dsl.core.number.dtypes import is_dynamic, numeric, static_int
from dsl.tirx.errors.error_wording import type_name
from dsl.tirx.functions import ids
from dsl.tirx.syntax import device_part
from dsl.tirx.tvm_tirx.dynamic import valued

_UNSUPPORTED = frozenset(
    "preferred_cluster stream cluster_scheduling_policy priority mem_sync_domain mem_sync_domain_map "
    "access_policy_window programmatic_event launch_completion_event portable_cluster_size_mode "
    "shared_memory_mode preferred_shared_memory_carveout".split()
)
_LAUNCH = "T.cuda.LaunchConfig(grid=4, block=(32, 2))"


def _refuse_options(owner: str, options: dict[str, Any], upstream: frozenset[str] = frozenset()) -> None:
    """Raise for options that are not supported, or that upstream does not have either."""
    for name, value in options.items():
        if name not in upstream:
            raise DSLUserCodeTypeError(
                f"{owner} has no option `{name}`", id="LAUNCH_OPTION", fix=f"leave it out: `{_LAUNCH}`"
            )
        if value is not None:
            raise DSLUserCodeError(f"{owner}({name}=...) is not supported here", id="LAUNCH_OPTION", fix="leave it out")


def _dimensions(name: str, value: Any) -> tuple:
    """The extents of `grid`, `block` or `cluster`. Raises for anything but one to three positive integers."""
    extents = tuple(value) if isinstance(value, (list, tuple)) else (value,)
    if not 1 <= len(extents) <= 3:
        raise DSLUserCodeValueError(
            f"`{name}` has one to three dimensions, got {len(extents)}", id="LAUNCH_EXTENT", fix=_LAUNCH
        )
    return tuple(_dimension(name, extent) for extent in extents)


def _dimension(name: str, extent: Any) -> Any:
    extent = valued(extent)
    number = numeric(extent)
    if number is None or not number.is_integer or isinstance(extent, bool):
        raise DSLUserCodeTypeError(
            f"a dimension of `{name}` must be an integer, got {type_name(extent)}", id="LAUNCH_EXTENT", fix=_LAUNCH
        )
    if not is_dynamic(number) and int(number.value) < 1:
        raise DSLUserCodeValueError(
            f"a dimension of `{name}` must be positive, got {number.value}", id="LAUNCH_EXTENT", fix=_LAUNCH
        )
    return number if is_dynamic(number) else int(number.value)


class LaunchConfig:
    """The launch of a device part: `grid` blocks of `block` threads, in clusters of `cluster` blocks.

    `dynamic_smem_bytes` may ask for more shared memory than the kernel allocates.
    """

    def __init__(
        self,
        *,
        grid: Any,
        block: Any,
        cluster: Any = None,
        dynamic_smem_bytes: int | None = None,
        cooperative: bool | None = None,
        programmatic_stream_serialization: bool | None = None,
        **unsupported: Any,
    ):
        _refuse_options("T.cuda.LaunchConfig", unsupported, _UNSUPPORTED)
        self.grid, self.block = grid, block
        self.cluster = cluster
        self.dynamic_smem_bytes = dynamic_smem_bytes
        self.cooperative, self.programmatic = bool(cooperative), bool(programmatic_stream_serialization)

    def declare(self) -> None:
        """Make these the extents of the kernel that is being traced."""
        ids.declare("cta_id", _dimensions("grid", self.grid))
        ids.declare("thread_id", _dimensions("block", self.block))
        if self.cluster is not None:
            ids.declare("cta_id_in_cluster", _dimensions("cluster", self.cluster))
        extents = ids.current("cuda.LaunchConfig")
        extents.cooperative, extents.programmatic = self.cooperative, self.programmatic

    def allocate(self) -> None:
        """Ask for `dynamic_smem_bytes`, after the kernel has allocated its own."""
        if self.dynamic_smem_bytes is None:
            return
        wanted, needed = static_int(self.dynamic_smem_bytes), trace.kernel().smem_bytes
        if wanted is None or wanted < needed:
            raise DSLUserCodeValueError(
                f"`dynamic_smem_bytes` must be at least the {needed} bytes that the kernel allocates, "
                f"got {type_name(self.dynamic_smem_bytes) if wanted is None else wanted}",
                id="LAUNCH_SMEM",
                fix="leave it out: the launch asks for what the kernel allocates",
            )
        trace.kernel().allocated(wanted)


class KernelAttributes:
    """Launch bounds of a kernel. A block's extents are part of every kernel here (`required_block_size`)."""

    def __init__(
        self,
        *,
        min_blocks_per_sm: int | None = None,
        max_blocks_per_cluster: int | None = None,
        required_block_size: bool = False,
        **unsupported: Any,
    ):
        _refuse_options("T.cuda.KernelAttributes", unsupported, frozenset(["max_registers_per_thread"]))
        self.bounds = {
            "tirx.launch_bounds_min_blocks_per_sm": _positive("min_blocks_per_sm", min_blocks_per_sm),
            "tirx.launch_bounds_max_blocks_per_cluster": _positive("max_blocks_per_cluster", max_blocks_per_cluster),
        }

    def declare(self) -> None:
        """Make these the bounds of the kernel that is being traced."""
        given = {name: value for name, value in self.bounds.items() if value is not None}
        ids.current("cuda.KernelAttributes").attributes.update(given)


def _positive(name: str, value: Any) -> int | None:
    number = static_int(value)
    if value is not None and (number is None or number < 1):
        raise DSLUserCodeValueError(
            f"KernelAttributes.{name} must be a positive number known while compiling",
            id="LAUNCH_OPTION",
            fix=f"{name}=2",
        )
    return number


def enter(function: Callable, options: dict[str, Any], *arguments: Any) -> None:
    """Trace `function` as the device part that T.device_entry(**options) begins."""
    launch, attributes = options.pop("launch", None), options.pop("kernel_attrs", None)
    _refuse_options("T.device_entry", options, frozenset(["backend_config", "attrs", "body_params"]))
    for value, kind in ((launch, LaunchConfig), (attributes, KernelAttributes)):
        if value is not None and not isinstance(value, kind):
            raise DSLUserCodeTypeError(
                f"T.device_entry takes a T.cuda.{kind.__name__}, got {type_name(value)}",
                id="DEVICE_ENTRY",
                fix=f"T.device_entry(launch={_LAUNCH})",
            )

    def launched(*inner: Any) -> None:
        for value in filter(None, (launch, attributes)):
            value.declare()
        function(*inner)
        if launch is not None:
            launch.allocate()

    device_part.run(launched, *arguments)
