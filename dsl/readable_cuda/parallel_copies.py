"""Values that variables get all at once, one after another."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from dsl.analysis.mlir_reader import Op, Value


def in_order(
    pairs: list[tuple[Value, Value]], of: Callable[[Value], Value], leaves: Callable[[Value], tuple[Value, ...]]
) -> Iterator[tuple[Value, Value, Value | None]]:
    """(target, source, None) in an order in which nothing is overwritten before it is read.

    If there is none, (target, source, stand-in) means: keep a source in a separate variable, the stand-in, which is the
    source from then on.
    """
    waiting = [
        (target, source) for target, source in pairs if leaves(source) != (source,) or of(source) is not of(target)
    ]
    kept: set[Value] = set()

    def read(source: Value) -> set[Value]:
        return set() if source in kept else {of(leaf) for leaf in leaves(source)}

    while waiting:
        free = next(
            (
                pair
                for pair in waiting
                if not any(of(pair[0]) in read(other[1]) for other in waiting if other is not pair)
            ),
            None,
        )
        if free is not None:
            waiting.remove(free)
            yield free[0], free[1], None
            continue
        target, source = waiting[0]
        stand_in = Op("kept", [], [target.type], {"name": ""}, None).result
        kept.add(stand_in)
        yield target, source, stand_in
        waiting[0] = (target, stand_in)
