"""Clocks: {block: the last label seen of each of its threads}. See order.py."""

from __future__ import annotations

import numpy as np


def joined(clocks: dict, more: dict) -> dict:
    """The later of both, block by block. Clocks are never changed in place."""
    if not clocks or not more:
        return clocks or more
    result = dict(clocks)
    for block, labels in more.items():
        mine = result.get(block)
        result[block] = labels if mine is None else np.maximum(mine, labels)
    return result


def later(clocks: dict, older: dict) -> dict:
    """`joined`, or `clocks` itself if the older ones add nothing."""
    if all(block in clocks and (clocks[block] is labels or (labels <= clocks[block]).all())
           for block, labels in older.items()):  # fmt: skip
        return clocks
    return joined(clocks, older)
