"""The base class of modes that see torch's operations."""

from __future__ import annotations

import functools
from typing import Any


@functools.cache
def dispatch_mode() -> Any:
    """torch's TorchDispatchMode, made so that torch does not import its compiler when a mode first sees an operation:
    that takes seconds, where nothing is compiled."""
    from torch.utils._python_dispatch import TorchDispatchMode

    class Mode(TorchDispatchMode):
        @classmethod
        def _should_skip_dynamo(cls) -> bool:
            return False

    return Mode
