"""Numbers of threads, and of bytes, as text: `warps 1-3, warp 0 lanes 0-15`."""

from __future__ import annotations

from collections import defaultdict


def ranges(threads: list[int]) -> str:
    """Linear thread numbers as text: `warp 0 lanes 0-15` or `warps 1-3`."""
    by_warp: dict[int, list[int]] = defaultdict(list)
    for thread in threads:
        by_warp[thread // 32].append(thread % 32)
    whole = [w for w, lanes in by_warp.items() if len(lanes) == 32]
    parts = []
    if whole:
        parts.append(("warps " if len(whole) > 1 else "warp ") + runs(whole))
    for warp, lanes in by_warp.items():
        if len(lanes) < 32:
            parts.append(f"warp {warp} {'lanes' if len(lanes) > 1 else 'lane'} {runs(lanes)}")
    return ", ".join(parts) or "nobody"


def runs(numbers: list[int]) -> str:
    """Numbers in a row as `0-3`, others by themselves."""
    rows: list[list[int]] = []
    for n in sorted(numbers):
        if rows and n == rows[-1][1] + 1:
            rows[-1][1] = n
        else:
            rows.append([n, n])
    return ",".join(str(a) if a == b else f"{a}-{b}" for a, b in rows)


def of_bytes(count: int) -> str:
    """So many bytes, as text."""
    return f"{count} byte" + ("s" if count != 1 else "")
