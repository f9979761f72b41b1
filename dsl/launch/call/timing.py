"""How long calls of a compiled function take on the device in use: wall time, the host's part included."""

from __future__ import annotations

import itertools
import time
from collections.abc import Callable
from typing import Any

from dsl.core.errors import DSLUserCodeError
from dsl.launch import session


class JitArguments:
    """The arguments of one call, and with them what must live as long."""

    def __init__(self, *args, **kwargs):
        self.args, self.kwargs = args, kwargs
        self.references: list = []

    def add_to_scope(self, references: list) -> None:
        """Keep `references` alive for as long as this object."""
        self.references.extend(references)


def benchmark(
    callable: Callable,
    *,
    warmup_iterations: int = 10,
    iterations: int = 100,
    stream: Any = None,
    kernel_arguments: JitArguments | None = None,
    workspace_generator: Callable[[], JitArguments] | None = None,
    workspace_count: int = 1,
    use_cuda_graphs: bool = False,
    use_cupti: bool = False,
    nvtx_tag: str | None = None,
) -> float:
    """Microseconds a call, the mean of `iterations` after `warmup_iterations`.

    With `workspace_generator` the calls take the arguments it made in turn, `workspace_count` sets of them, so that
    each finds cold caches.
    """
    if use_cuda_graphs or use_cupti:
        raise DSLUserCodeError(
            "benchmark with CUDA graphs or CUPTI is not part of this compiler yet",
            fix="leave out use_cuda_graphs and use_cupti",
            id="UNSUPPORTED_NAME",
        )
    if iterations < 1 or workspace_count < 1:
        raise DSLUserCodeError(
            f"benchmark needs at least one iteration and one workspace, got {iterations} and {workspace_count}",
            fix="iterations=1, workspace_count=1",
        )
    argument_sets = (
        [workspace_generator() for _ in range(workspace_count)] if workspace_generator else [kernel_arguments]
    )
    turns = itertools.cycle(arguments or JitArguments() for arguments in argument_sets)

    def run(count: int) -> float:
        start = time.perf_counter()
        for arguments in itertools.islice(turns, count):
            callable(*arguments.args, **arguments.kwargs)
        session.current().device.sync()
        return time.perf_counter() - start

    run(warmup_iterations)
    return run(iterations) / iterations * 1e6


_L2_BYTES = 50 << 20  # of an H100, the largest until then


def get_workspace_count(one_workspace_bytes: int, warmup_iterations: int, iterations: int) -> int:
    """How many sets of arguments pass the L2 cache, so that each call finds it cold; no more than there are calls."""
    if one_workspace_bytes < 1:
        raise DSLUserCodeError(
            f"size of a workspace must be positive, got {one_workspace_bytes}",
            fix="the sum of numel() * element_size() of its tensors",
        )
    return max(1, min(-(-_L2_BYTES // one_workspace_bytes) + 1, warmup_iterations + iterations))
