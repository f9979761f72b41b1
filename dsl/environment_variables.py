"""This project's environment variables, `GPU_REPRO_*`: docs/environment-variables.md lists them.

Those that 0.1 called `DSL_*` are still read, after the name of today. Upstream's variables keep their names
(CUTE_DSL_*) and are read where they count.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping

CACHE, CACHE_DIR, CACHE_MB = "GPU_REPRO_CACHE", "GPU_REPRO_CACHE_DIR", "GPU_REPRO_CACHE_MB"
CHECK = "GPU_REPRO_CHECK"
FULL_TRACEBACK = "GPU_REPRO_FULL_TRACEBACK"
GPU_MODEL = "GPU_REPRO_GPU_MODEL"
SYNC_NOTES = "GPU_REPRO_NOTES"
# read by the library and the helper of dsl/driver
HELPER_PYTHON, REPORT, SEED = "GPU_REPRO_HELPER_PYTHON", "GPU_REPRO_REPORT", "GPU_REPRO_SEED"


def value(name: str, default: str = "") -> str:
    """The variable's text; an empty one counts as unset."""
    return os.environ.get(name) or os.environ.get(former(name)) or default


def former(name: str) -> str:
    """The name in 0.1: DSL_CACHE for GPU_REPRO_CACHE; "" if 0.1 had none."""
    return "" if name in (SYNC_NOTES, HELPER_PYTHON, REPORT, SEED) else name.replace("GPU_REPRO_", "DSL_")


def replaced(values: Mapping[str, str]) -> Callable[[], None]:
    """Set variables of any name, for this process and what it starts; returns what gives them their old values."""
    before = {name: os.environ.get(name) for name in values}
    os.environ.update(values)

    def undo() -> None:
        for name, old in before.items():
            if old is None:
                os.environ.pop(name, None)
            else:
                os.environ[name] = old

    return undo
