"""A repro run once for each outcome that the PTX memory model allows for its launches (`repro outcomes`).

It runs next to the repro: standard library and numpy.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

MOST_RESULTS = 512
MOST_ELEMENTS = 64  # of an output that is given whole


def claim(run: Callable[[], dict[str, Any]], exploration: Any) -> dict[str, Any]:
    """Call run() for each combination of outcomes; each different answer once, with a combination that gives it.

    `exploration` is what session.explore gave (dsl/launch/devices/exploration.py).
    """
    results: dict[str, dict[str, Any]] = {}
    is_complete = True
    while True:
        try:
            returned, ends = run(), True
        except Exception as error:
            if type(error).__name__ != "NeverEnds":
                raise
            returned, ends = {}, False
        outputs = {name: _values(value) for name, value in returned.items()}
        key = repr((ends, outputs)) if ends else repr(exploration.choice)
        results.setdefault(key, {"outputs": outputs, "ends": ends, "choice": exploration.choice})
        if not exploration.again():
            break
        if len(results) >= MOST_RESULTS:
            is_complete = False
            break
    return about(exploration, list(results.values()), is_complete)


def about(exploration: Any, results: list[dict[str, Any]], is_complete: bool = True) -> dict[str, Any]:
    """The outcomes, for the reply."""
    return {
        "complete": exploration.is_complete and is_complete,
        "bound": exploration.bound,
        "launches": exploration.launches(),
        "results": results,
    }


def _values(value: Any) -> str:
    """The values of an output as nested lists; of a large one its first elements."""
    array = np.asarray(value.detach().cpu().float() if _is_half(value) else getattr(value, "cpu", lambda: value)())
    if array.size <= MOST_ELEMENTS:
        return str(array.tolist())
    return f"{array.reshape(-1)[:MOST_ELEMENTS].tolist()} ... ({array.size} elements)"


def _is_half(value: Any) -> bool:
    return str(getattr(value, "dtype", "")) in ("torch.bfloat16", "torch.float8_e4m3fn", "torch.float8_e5m2")
