"""torch.profiler with activities of CUDA: the mapped GPU works on the CPU, so these are activities of the CPU. CUPTI,
which torch would ask for activities of CUDA, ends a process that has no GPU."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from types import ModuleType
from typing import Any


def stand_ins(torch: ModuleType) -> Iterator[tuple[Any, str, Any]]:
    """(owner, name, stand-in)"""
    activity, kind = torch.profiler.ProfilerActivity, torch.profiler.profiler._KinetoProfile
    yield kind, "__init__", _of_the_cpu(activity, kind.__init__)


def _of_the_cpu(activity: Any, init: Callable) -> Callable:
    def made(self, *, activities=None, **kwargs):
        asked = [activity.CPU] if activities is None else activities
        init(self, activities=[activity.CPU if each is activity.CUDA else each for each in asked], **kwargs)

    return made
