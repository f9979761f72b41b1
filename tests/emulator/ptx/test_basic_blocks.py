"""Basic blocks: which may follow which, and the loops among them, against a walk over single instructions."""

import pytest

from dsl.emulator.ptx.analysis import back_edges
from dsl.emulator.ptx.basic_blocks import BasicBlocks
from dsl.emulator.ptx.operands import reads, writes
from dsl.emulator.ptx.parse import parse
from dsl.emulator.ptx.syntax import Function, Instr, Label

HEAD = ".version 8.0\n.target sm_90a\n.address_size 64\n.visible .entry k()\n{\n.reg .pred %p; .reg .b32 %r<3>;\n"
BODIES = {
    "straight": "mov.u32 %r1, 0; add.u32 %r1, %r1, 1;",
    "a branch": "@%p bra A; mov.u32 %r1, 0; bra E; A: mov.u32 %r1, 1;",
    "a loop": "mov.u32 %r1, 0; L: add.u32 %r1, %r1, 1; @%p bra L; mov.u32 %r2, 0;",
    "two loops": "L: M: add.u32 %r1, %r1, 1; @%p bra M; add.u32 %r2, %r2, 1; @%p bra L;",
    "two ways back": "L: add.u32 %r1, %r1, 1; @%p bra L; add.u32 %r2, %r2, 1; @%p bra L;",
    "a loop entered in its middle": "bra M; L: mov.u32 %r1, 0; @%p bra M; bra E; M: mov.u32 %r2, 0; bra L;",
    "a branch back without a loop": "@%p bra B; J: mov.u32 %r1, 0; bra E; B: mov.u32 %r2, 0; bra J;",
    "an exit in a loop": "L: @%p exit; add.u32 %r1, %r1, 1; @!%p bra L;",
    "a loop without an end": "L: add.u32 %r1, %r1, 1; bra L;",
}


def function_of(name: str) -> Function:
    return parse(HEAD + BODIES[name] + "\nE: ret;\n}\n").functions["k"]


def steps(function: Function, at: int) -> list[int]:
    """The positions that may come after one, by the meaning of its instruction."""
    item = function.items[at]
    if not isinstance(item, Instr) or item.opcode not in ("bra", "ret", "exit"):
        return [at + 1]
    to = [i for i, each in enumerate(function.items) if isinstance(each, Label) and each.name == getattr(
        item.operands[0] if item.operands else None, "name", "")]  # fmt: skip
    return to + [at + 1] * (item.guard is not None)


def reached(function: Function, start: list[int], without: int = -1) -> set[int]:
    seen, waiting = set(), list(start)
    while waiting:
        one = waiting.pop()
        if one not in seen and one != without and one < len(function.items):
            seen.add(one)
            waiting += steps(function, one)
    return seen


@pytest.mark.parametrize("name", BODIES)
def test_blocks_reach_the_items_that_a_walk_reaches(name):
    function = function_of(name)
    blocks = BasicBlocks(function)
    for block, start in enumerate(blocks.starts):
        positions = {i for i, b in enumerate(blocks.block_of) if b in blocks.reach(blocks.following[block])}
        limit = [*blocks.starts, len(function.items)][block + 1]
        assert positions == reached(function, steps(function, limit - 1)), (block, start)


@pytest.mark.parametrize("name", BODIES)
def test_a_register_is_read_if_a_walk_comes_to_a_reader_before_it_is_set(name):
    function = function_of(name)
    blocks, items = BasicBlocks(function), function.items
    for register in ("%p", "%r1", "%r2"):
        reading = {i for i, each in enumerate(items) if isinstance(each, Instr) and register in map(_name, reads(each))}
        setting = {
            i
            for i, each in enumerate(items)
            if isinstance(each, Instr) and each.guard is None and register in map(_name, writes(each))
        }
        for at in range(len(items)):
            seen, waiting = set(), steps(function, at)
            while waiting:
                one = waiting.pop()
                if one not in seen and one < len(items):
                    seen.add(one)
                    waiting += [] if one in setting else steps(function, one)
            assert blocks.is_read(register, at) == bool(seen & reading), (register, at)


def _name(register):
    return register.name


@pytest.mark.parametrize("name", BODIES)
def test_a_loop_is_what_leads_from_its_head_back_to_it(name):
    function = function_of(name)
    blocks = BasicBlocks(function)
    ends: dict[int, list[int]] = {}
    for _, start, end in back_edges(function):
        ends.setdefault(start, []).append(end)
    for head, sources in ends.items():
        loop = blocks.loop(blocks.block_of[head], [blocks.block_of[each] for each in sources])
        inside = {i for i, block in enumerate(blocks.block_of) if block in loop}
        after = reached(function, steps(function, head), head) | {head}
        walk = {i for i in after if any(end in reached(function, [i], head) for end in sources)} | {head}
        assert inside == (walk if any(end in after for end in sources) else set())
