"""Loops that may wait for another thread: such a thread must give way, and where nobody else moves it waits for ever.

A loop polls where it contains what is made for that (volatile, relaxed and acquire loads, cas, exch, test_wait and
try_wait, nanosleep), where whether it goes on is decided by memory alone: by a load or an atomic in the loop whose
address does not change from round to round, and by nothing that the loop counts; or where an atomic, whatever else,
has a part in that decision. Loops of the second and third kind give way after PATIENCE rounds only: most of them end
by themselves.

A loop is idle if its rounds do nothing: it only looks, meets other threads, and stores what memory holds already (which
is seen when it runs); and if nothing that it counts, no clock and no other effect has a part in whether it goes on, or
in whether it stores. The threads of such loops wait for ever if no thread does anything else.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import NamedTuple

from dsl.emulator.ptx.analysis import back_edges, names
from dsl.emulator.ptx.basic_blocks import BasicBlocks
from dsl.emulator.ptx.operands import result
from dsl.emulator.ptx.syntax import FLOATS, Addr, Function, Imm, Instr, Pair, Special, Sym, Vec
from dsl.emulator.ptx.traits import ATOMIC, COMPUTES, IDLE, IDLE_WITH_ZERO, LOAD, MOVES, POLLS, REPEATS, STORE

PATIENCE = 256
_MADE_FOR_IT = frozenset({"volatile", "relaxed", "acquire"})
_PRIVATE = frozenset({"param", "const", "local"})
_CLOCKS = ("%clock", "%globaltimer")


class Poll(NamedTuple):
    """How a loop polls: the instruction that reads, whether it gives way at once, whether it does nothing but look,
    whether it is idle; the positions of its items in the function. `ends`: whether it ends as soon as no other thread
    writes what it reads: it swaps, and expects what the round before has seen."""

    instr: Instr
    at_once: bool
    looks: bool
    idle: bool
    positions: frozenset[int]
    ends: bool = False


def polls(function: Function, functions: Mapping[str, Function] | None = None) -> dict[str, Poll]:
    """The loops of a function that poll, by the label of their head. `functions`: those it may call."""
    heads: dict[tuple[str, int], list[int]] = {}
    for name, start, end in back_edges(function):
        heads.setdefault((name, start), []).append(end)
    if not heads:
        return {}
    blocks = BasicBlocks(function)
    polls: dict[str, Poll] = {}
    for (name, start), ends in heads.items():
        poll = _poll(_Loop(function, blocks, start, ends, functions or {}))
        if poll is None or not poll.idle:
            poll = _innermost(function, blocks, start, ends, functions or {}) or poll
        if poll is not None:
            polls[name] = poll
    return polls


def _innermost(
    function: Function, blocks: BasicBlocks, start: int, ends: list[int], functions: Mapping[str, Function]
) -> Poll | None:
    """The idle loop that is first in another loop, where both begin at one label: compilers leave out what is empty."""
    for end in ends if len(ends) > 1 else ():
        loop = _Loop(function, blocks, start, [end], functions)
        if all(other == end or other not in loop.positions for other in ends):
            poll = _poll(loop)
            if poll is not None and poll.idle:
                return poll
    return None


def _poll(loop: _Loop) -> Poll | None:
    wait = next(filter(_is_made_for_it, loop.everything), None)
    instr, idle = wait or loop.decided_by_memory(), False
    if instr is None and any(item.traits & ATOMIC for item in loop.items):
        instr = loop.decided_by_an_atomic()
    elif instr is not None:
        idle = loop.looks and loop.ends_by_others()
        instr = loop.source_of(instr) if idle and wait is None else instr
    if instr is None:
        return None
    return Poll(instr, wait is not None, loop.looks, idle, loop.positions, loop.retries_a_swap())


def _is_made_for_it(item: Instr) -> bool:
    looks = item.traits & (LOAD | ATOMIC) and not _MADE_FOR_IT.isdisjoint(item.mods)
    return bool(item.traits & POLLS or looks)


def _is_harmless(item: Instr) -> bool:
    """Whether it only computes, looks, meets or waits; cas and exch are what locks poll with."""
    return bool(item.traits & IDLE or (item.traits & IDLE_WITH_ZERO and item.operands[-1] == Imm(0)))


def _reads_shared(item: Instr) -> bool:
    roots = {each.split("::")[0] for each in item.mods}
    return bool(item.traits & ATOMIC or (item.traits & LOAD and _PRIVATE.isdisjoint(roots)))


def _stores(item: Instr) -> bool:
    return bool(item.traits & ATOMIC or (item.traits & STORE and _PRIVATE.isdisjoint(item.mods)))


class _Loop:
    """The items of a function from a label to a branch back to it."""

    def __init__(
        self, function: Function, blocks: BasicBlocks, start: int, ends: list[int], functions: Mapping[str, Function]
    ) -> None:
        self.function, self.blocks = function, blocks
        self.head = blocks.block_of[start]
        self.inside = blocks.loop(self.head, [blocks.block_of[end] for end in ends])
        self.positions = frozenset(i for block in self.inside for i in blocks.positions(block))
        self.items = [each for block in sorted(self.inside) for each in blocks.instructions(block)]
        self.called: dict[str, list[Instr]] = {}  # by a call's result: the instructions of the function
        self.passed: dict[str, list[Instr]] = {}  # by a call's result: the stores of its arguments
        self.is_closed = True  # whether the text of all that is called is there
        self.everything = self._with_calls(functions)
        self.writers = _writers(self.items)
        self.guards = list(self._exits())

    def _with_calls(self, functions: Mapping[str, Function]) -> list[Instr]:
        items = list(self.items)
        for call in (each for each in self.items if each.opcode == "call"):
            body, rows = [], [call]
            seen: set[str] = set()
            while rows:
                name = next((o.name for o in rows.pop().operands if isinstance(o, Sym)), "")
                callee = functions.get(name)
                self.is_closed &= callee is not None and bool(callee.items)
                if callee is not None and name not in seen:
                    seen.add(name)
                    inner = [each for each in callee.items if isinstance(each, Instr)]
                    body += inner
                    rows += [each for each in inner if each.opcode == "call"]
            items += body
            lists = [o.items for o in call.operands if isinstance(o, Vec)]
            if len(lists) and isinstance(call.operands[0], Vec):
                arguments = {each.name for row in lists[1:] for each in row if isinstance(each, Sym)}
                stores = [
                    each
                    for each in self.items
                    if each.traits & STORE
                    and isinstance(each.operands[0], Addr)
                    and getattr(each.operands[0].base, "name", None) in arguments
                ]  # fmt: skip
                for result in lists[0]:
                    if isinstance(result, Sym):
                        self.called[result.name], self.passed[result.name] = body, stores
        return items

    def _behind(self, guards) -> list[Instr]:
        """The instructions of the loop that the values of `guards` come from."""
        seen: set[str] = set()
        items: dict[int, Instr] = {}
        waiting = [name for guard in guards for name in names(guard)]
        while waiting:
            name = waiting.pop()
            if name in seen:
                continue
            seen.add(name)
            for item in self.writers.get(name, ()):
                items[id(item)] = item
                waiting += self._sources(item)
        return list(items.values())

    def _sources(self, item: Instr) -> list[str]:
        """The registers that an instruction's result comes from."""
        operands = [item.guard, *item.operands[1:]]
        operands += [store.operands[1] for store in self.passed.get(_parameter(item), ())]
        return [name for operand in operands for name in names(operand)]

    def _counts(self, items: list[Instr]) -> bool:
        """Whether values that these instructions compute of each other change from round to round without memory."""
        if any(isinstance(o, Special) and o.name.startswith(_CLOCKS) for item in items for o in item.operands):
            return True
        inside = {id(item): item for item in items}
        before = {
            key: {id(each) for name in self._sources(item) for each in self.writers.get(name, ()) if id(each) in inside}
            for key, item in inside.items()
        }
        after: dict[int, set[int]] = {key: set() for key in inside}
        for key, sources in before.items():
            for each in sources:
                after[each].add(key)
        cycles = _trimmed(_trimmed(set(inside), before, after), after, before)
        return not all(inside[key].traits & REPEATS for key in cycles)

    def _reads(self, items: list[Instr]) -> list[Instr]:
        """The reads of memory that other threads write among instructions."""
        called = [each for item in items for each in self.called.get(_parameter(item), ())]
        return [each for each in (*items, *called) if _reads_shared(each)]

    def decided_by_memory(self) -> Instr | None:
        """The read that alone decides whether the loop goes on, None where there is none."""
        for guard in self.guards:
            behind = self._behind([guard])
            reads = self._reads(behind)
            if reads and not self._counts(behind):
                return reads[0]
        return None

    def decided_by_an_atomic(self) -> Instr | None:
        """An atomic that has a part in whether the loop goes on: by its value, or by a branch around what decides."""
        guards = list(self.guards)
        deciding = self._behind(guards)
        if any(len(self.writers.get(name, ())) > 1 for item in deciding for name in _written(item)):
            guards += [item.guard for item in self.items if item.opcode == "bra" and item.guard is not None]
            deciding = self._behind(guards)
        return next((item for item in deciding if item.traits & ATOMIC), None)

    def retries_a_swap(self) -> bool:
        """Whether it is `do old = cas(place, expected, f(expected)) while (old != expected), expected = old`.

        It then ends in the round in which no other thread has written since the round before.
        """
        swaps = [item for item in self.items if item.traits & ATOMIC and "cas" in item.mods]
        branches = [item for item in self.items if item.opcode == "bra"]
        if len(swaps) != 1 or len(branches) != 1 or len(self.inside) != 1:
            return False
        (swap,), (branch,) = swaps, branches
        if not all(item in (swap, branch) or item.traits & COMPUTES for item in self.items):
            return False
        old, address, expected, _ = swap.operands
        tests = self.writers.get(getattr(branch.guard, "name", ""), ())
        adopted = self.writers.get(getattr(expected, "name", ""), ())
        if len(tests) != 1 or len(adopted) != 1 or self.writers.get(getattr(address.base, "name", "")):
            return False
        test, copy = tests[0], adopted[0]
        order = [next(i for i, item in enumerate(self.items) if item is each) for each in (swap, test, copy, branch)]
        return bool(
            len(test.operands) == 3
            and "ne" in test.mods
            and not FLOATS.intersection(test.mods)
            and test.operands[1:] in ([old, expected], [expected, old])
            and copy.traits & MOVES
            and copy.operands[1:] == [old]
            and self.writers[old.name] == [swap]
            and all(item.guard is None for item in (swap, test, copy))
            and order == sorted(order)
        )

    @property
    def looks(self) -> bool:
        """Whether it does nothing but look, meet others and store."""
        return self.is_closed and all(map(_is_harmless, self.everything))

    def ends_by_others(self) -> bool:
        """Whether it neither counts nor asks a clock."""
        return not self._counts(self._behind([*self.guards, *self._guards_of_stores()]))

    def _branches(self) -> Iterator[tuple[int, Instr]]:
        """The conditional branches, each with its block."""
        for block in self.inside:
            last = self.blocks.instructions(block)[-1:]
            if last and last[0].opcode in ("bra", "brx", "ret", "exit", "trap"):
                yield block, last[0]

    def _exits(self) -> Iterator:
        """The registers that decide whether the loop goes on: the guards of branches out of it."""
        for block, branch in self._branches():
            if any(each not in self.inside for each in self.blocks.following[block]):
                yield branch.operands[0] if branch.opcode == "brx" else branch.guard

    def _guards_of_stores(self) -> Iterator:
        """The guards of stores, and of branches that lead to a store one way only."""
        stores = {block for block in self.inside if any(_stores(each) for each in self.blocks.instructions(block))}
        yield from (each.guard for each in self.items if _stores(each))
        for block, branch in self._branches() if stores else ():
            reached = [
                self.blocks.reach([each], self.head, self.inside) & stores for each in self.blocks.following[block]
            ]
            if any(each != reached[0] for each in reached):
                yield branch.operands[0] if branch.opcode == "brx" else branch.guard

    def source_of(self, read: Instr) -> Instr:
        """Of a read of shared memory which the loop itself fills from elsewhere: the read from there."""
        if not any(each.split("::")[0] == "shared" for each in read.mods):
            return read
        stored = [each.operands[1] for each in self.items if each.traits & STORE and "shared" in each.mods]
        others = (each for each in self._reads(self._behind(stored)) if "shared" not in each.mods)
        return next(others, read)


def _trimmed(nodes: set[int], before: dict[int, set[int]], after: dict[int, set[int]]) -> set[int]:
    """The nodes of a graph that a cycle leads to."""
    nodes = set(nodes)
    missing = {key: len(before[key] & nodes) for key in nodes}
    waiting = [key for key, count in missing.items() if not count]
    while waiting:
        key = waiting.pop()
        nodes.discard(key)
        for each in after[key] & nodes:
            missing[each] -= 1
            if not missing[each]:
                waiting.append(each)
    return nodes


def _parameter(item: Instr) -> str:
    """The .param variable that a load reads; ""."""
    address = item.operands[1] if item.traits & LOAD and "param" in item.mods else None
    return getattr(getattr(address, "base", None), "name", "")


def _writers(items: list[Instr]) -> dict[str, list[Instr]]:
    """The instructions of a loop that write each register."""
    writers: dict[str, list[Instr]] = {}
    for item in items:
        for name in _written(item):
            writers.setdefault(name, []).append(item)
    return writers


def _written(item: Instr):
    first = result(item)
    if item.opcode == "call":
        return
    for each in (
        (first.first, first.second) if isinstance(first, Pair) else first.items if isinstance(first, Vec) else (first,)
    ):
        yield from names(each)
