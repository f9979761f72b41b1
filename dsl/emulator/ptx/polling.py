"""Loops that may wait for another thread: such a thread must give way, and where nobody else moves it waits for ever.

A loop polls where it contains what is made for that (volatile, relaxed and acquire loads, cas, exch, test_wait and
try_wait, nanosleep), where whether it goes on is decided by memory alone: by a load or an atomic in the loop whose
address does not change from round to round, and by nothing that the loop counts; or where an atomic, whatever else,
has a part in that decision. Loops of the second and third kind give way after PATIENCE rounds only: most of them end
by themselves. One of the third kind may end by what it counts, so that waiting there is never a deadlock.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from dsl.emulator.ptx.analysis import back_edges, names
from dsl.emulator.ptx.syntax import SINK, Addr, Function, Imm, Instr, Pair, Vec

PATIENCE = 256
_MADE_FOR_IT = frozenset({"volatile", "relaxed", "acquire", "cas", "exch"})
_PRIVATE = frozenset({"param", "const", "local"})
_NEUTRAL = (
    frozenset({"add"}),
    frozenset({"or"}),
    frozenset({"xor"}),
    frozenset({"max", "u32"}),
    frozenset({"max", "u64"}),
)  # what leaves memory as it was, of an operand 0


@dataclass(frozen=True)
class Poll:
    """How a loop polls: the instruction that reads, whether it gives way at once, and whether it does nothing else."""

    instr: Instr
    at_once: bool
    idle: bool


def polls(function: Function) -> dict[str, Poll]:
    """The loops of a function that poll, by the label of their head."""
    polls: dict[str, Poll] = {}
    for name, start, end in back_edges(function):
        items = [each for each in function.items[start : end + 1] if isinstance(each, Instr)]
        idle = not any(map(_changes_memory, items))
        wait = next(filter(_is_made_for_it, items), None)
        instr = wait or _decided_by_memory(function, start, end, items)
        if instr is None and any(item.opcode == "atom" for item in items):
            instr, idle = _decided_by_an_atomic(function, start, end, items), False
        if instr is not None and (name not in polls or wait is not None):
            polls[name] = Poll(instr, wait is not None, idle)
    return polls


def _is_made_for_it(item: Instr) -> bool:
    if item.opcode == "mbarrier":
        return "test_wait" in item.mods or "try_wait" in item.mods
    return item.opcode == "nanosleep" or (item.opcode in ("ld", "atom") and not _MADE_FOR_IT.isdisjoint(item.mods))


def _changes_memory(item: Instr) -> bool:
    """Whether it does more than look: cas and exch are what locks poll with."""
    if item.opcode in ("st", "stmatrix"):
        return _PRIVATE.isdisjoint(item.mods)
    if item.opcode not in ("atom", "red"):
        return False
    neutral = any(each.issubset(item.mods) for each in _NEUTRAL) and item.operands[-1] == Imm(0)
    return not neutral and {"cas", "exch"}.isdisjoint(item.mods)


def _reads_shared(item: Instr) -> bool:
    roots = {each.split("::")[0] for each in item.mods}
    return item.opcode == "atom" or (item.opcode in ("ld", "ldu") and _PRIVATE.isdisjoint(roots))


def _decided_by_memory(function: Function, start: int, end: int, items: list[Instr]) -> Instr | None:
    """The read that alone decides whether the loop goes on, None where there is none."""
    writers = _writers(items)
    reads = (_only_read(guard, writers) for guard in _exits(function, start, end, items))
    return next((read for read in reads if read is not None), None)


def _decided_by_an_atomic(function: Function, start: int, end: int, items: list[Instr]) -> Instr | None:
    """An atomic that has a part in whether the loop goes on: by its value, or by a branch around what decides."""
    writers = _writers(items)
    guards = list(_exits(function, start, end, items))
    deciding = _behind(guards, writers)
    if any(len(writers.get(name, ())) > 1 for item in deciding for name in _written(item)):
        guards += [item.guard for item in items if item.opcode == "bra" and item.guard is not None]
        deciding = _behind(guards, writers)
    return next((item for item in deciding if item.opcode == "atom"), None)


def _behind(guards: list, writers: dict[str, list[Instr]]) -> list[Instr]:
    """The instructions of a loop that the values of `guards` come from."""
    labels: set[str] = set()
    items: list[Instr] = []
    waiting = [name for guard in guards for name in names(guard)]
    while waiting:
        name = waiting.pop()
        if name in labels:
            continue
        labels.add(name)
        for item in writers.get(name, ()):
            items.append(item)
            waiting += [each for operand in (item.guard, *item.operands[1:]) for each in names(operand)]
    return items


def _writers(items: list[Instr]) -> dict[str, list[Instr]]:
    """The instructions of a loop that write each register."""
    writers: dict[str, list[Instr]] = {}
    for item in items:
        for name in _written(item):
            writers.setdefault(name, []).append(item)
    return writers


def _exits(function: Function, start: int, end: int, items: list[Instr]) -> Iterator:
    """The guards of the branches that decide whether a loop goes on."""
    inside = {getattr(each, "name", None) for each in function.items[start : end + 1] if not isinstance(each, Instr)}
    head = getattr(function.items[start], "name", None)
    leaves = False
    for item in items:  # a branch without a guard that leaves makes every branch one that may
        target = getattr(item.operands[0], "name", None) if item.operands else None
        leaves |= item.guard is None and (
            item.opcode in ("ret", "exit") or (item.opcode == "bra" and target not in inside)
        )
    for item in items:
        if item.guard is None or item.opcode not in ("bra", "ret", "exit"):
            continue
        target = getattr(item.operands[0], "name", None) if item.operands else None
        if leaves or item.opcode != "bra" or target not in inside or target == head:
            yield item.guard


def _only_read(guard, writers: dict[str, list[Instr]]) -> Instr | None:
    """The read that a value comes from; None where it comes from none, or from what the loop carries over."""
    reads: list[Instr] = []

    def visit(name: str, path: frozenset) -> bool:
        if name in path or len(path) > 24:
            return False
        for item in writers.get(name, ()):
            if item.guard is not None and item.opcode != "bra" and not follow(names(item.guard), path | {name}):
                return False
            if _reads_shared(item):
                reads.append(item)
                if not follow(names(item.operands[1]), path | {name}):
                    return False
            elif not follow((n for each in item.operands[1:] for n in names(each)), path | {name}):
                return False
        return True

    def follow(sources, path: frozenset) -> bool:
        return all(visit(each, path) for each in sources)

    return reads[0] if follow(names(guard), frozenset()) and reads else None


def _written(item: Instr):
    if not item.operands or item.opcode in ("st", "red", "bra", "brx", "bar", "barrier", "cp", "nanosleep", "call"):
        return
    first = item.operands[0]
    if first is SINK or isinstance(first, Addr):
        return
    for each in (
        (first.first, first.second) if isinstance(first, Pair) else first.items if isinstance(first, Vec) else (first,)
    ):
        yield from names(each)
