"""The cost of a kernel's machine code in figures: registers, stack, spills, instructions, also in its main loop.

Read from the output of ptxas (`-v`) and from nvdisasm's text. Control flow is followed to find loops: a branch back to
an earlier line is not a loop if code was only moved out of line, as ptxas moves the waiting for an mbarrier.
"""

from __future__ import annotations

import collections
import re
from collections.abc import Iterator
from dataclasses import dataclass, field

_REGISTERS = re.compile(r"Used (\d+) registers")
_STACK = re.compile(r"(\d+) bytes stack frame, (\d+) bytes spill stores, (\d+) bytes spill loads")
_INSTRUCTION = re.compile(r"^\s*/\*[0-9a-f]{4,}\*/\s+(?:\{\s*)?(@!?U?P\w+\s+)?([A-Z][\w.]*)([^;]*);")
_LABEL = re.compile(r"^\s*(\.L_\w+):")
_TARGET = re.compile(r"`\((\.L_\w+)\)")
_ENTRY = re.compile(r"Compiling entry function (?=')")
_SECTION = re.compile(r"^(?=\t\.section\t)", re.MULTILINE)
_FUNCTION = re.compile(r"^\.text\.([\w$.]+):")
_MATRIX = re.compile(r"^(?:[HIQDO]MMA|[HIQ]GMMA|UTC\w*MMA|BMMA)\b")
_MEMORY = re.compile(r"^(?:LD|ST|ATOM|RED|UBLK|UTMA|SUST|SULD)")
_WIDTH = re.compile(r"\.([US]?(?:8|16)|64|128)(?=\.|$)")
_WAITS = re.compile(r"^LDGDEPBAR|^LDGMC|^LDC")


@dataclass
class Instruction:
    """One line of SASS: `@P0 ` or empty, the opcode with its modifiers, and the operands."""

    predicate: str
    opcode: str
    operands: str
    labels: tuple[str, ...] = ()  # just before it


@dataclass
class Figures:
    """Counts of one kernel. `memory`: instructions by opcode and bits an access, as `LDG.128`; `loop`: the instructions
    of its main loop, 0 if it has none."""

    registers: int = 0
    stack_bytes: int = 0
    spill_bytes: int = 0
    instructions: int = 0
    loop: int = 0
    matrix: int = 0
    memory: collections.Counter = field(default_factory=collections.Counter)


def figures(log: str, sass: str) -> Figures:
    """The figures of the kernel in `sass`, with the output of ptxas when it made it.

    Raises ValueError unless there is exactly one kernel.
    """
    kernels = [code for code in functions(sass).values() if code]
    registers, stack = _REGISTERS.findall(log), _STACK.findall(log)
    if len(kernels) != 1 or len(registers) != 1:
        raise ValueError(f"figures are of one kernel, got {len(kernels)}")
    code = without_padding(kernels[0])
    memory = collections.Counter(filter(None, map(memory_kind, code)))
    return Figures(
        int(registers[0]),
        max((int(frame) for frame, _, _ in stack), default=0),
        sum(int(stores) + int(loads) for _, stores, loads in stack),
        len(code),
        len(main_loop(code)),
        sum(bool(_MATRIX.match(each.opcode)) for each in code),
        memory,
    )


def of_kernel(log: str, sass: str, kernel: str) -> tuple[str, str]:
    """The parts of both texts, of a module with any number of kernels, on one kernel."""
    told = [part for part in _ENTRY.split(log) if part.startswith(f"'{kernel}'")]
    code = [part for part in _SECTION.split(sass) if f"\n.text.{kernel}:" in part]
    return "".join(told), "".join(code)


COLUMNS = ("registers", "stack", "spills", "instructions", "loop", "mma", "memory")  # of a row


def row(each: Figures) -> tuple[int, ...]:
    """The figures in the order of COLUMNS; memory instructions of all widths together."""
    memory = sum(each.memory.values())
    return (each.registers, each.stack_bytes, each.spill_bytes, each.instructions, each.loop, each.matrix, memory)


def worse(ours: Figures, theirs: Figures) -> list[str]:
    """The columns in which ours is above theirs by more than 3 %, registers by more than 4, stack and spills at all."""
    slack = {"registers": 4, "stack": 0, "spills": 0}
    return [
        name
        for name, mine, other in zip(COLUMNS, row(ours), row(theirs))
        if mine > other + slack.get(name, other * 0.03)
    ]


def differing_memory(ours: Figures, theirs: Figures) -> list[tuple[str, int, int]]:
    """The kinds of memory instructions that differ in number: `LDG.128`, 4, 8."""
    kinds = sorted({*ours.memory, *theirs.memory})
    return [
        (kind, ours.memory[kind], theirs.memory[kind]) for kind in kinds if ours.memory[kind] != theirs.memory[kind]
    ]


def functions(sass: str) -> dict[str, list[Instruction]]:
    """The instructions of every function in nvdisasm's text, by its name."""
    found: dict[str, list[Instruction]] = {}
    code, labels = None, []
    for line in sass.splitlines():
        if match := _FUNCTION.match(line):
            code, labels = found.setdefault(match[1], []), []
        elif match := _LABEL.match(line):
            labels.append(match[1])
        elif code is not None and (match := _INSTRUCTION.match(line)):
            code.append(Instruction(match[1] or "", match[2], match[3], tuple(labels)))
            labels = []
    return found


def without_padding(code: list[Instruction]) -> list[Instruction]:
    """The code up to the branch to itself and the NOPs that fill its last lines."""
    end = len(code)
    while end and code[end - 1].opcode == "NOP":
        end -= 1
    if end and code[end - 1].opcode == "BRA" and set(_TARGET.findall(code[end - 1].operands)) & {*code[end - 1].labels}:
        end -= 1
    return code[:end]


def memory_kind(instruction: Instruction) -> str | None:
    """`LDG.128`, `STS.U16`, `LDS.32` of an access to memory; None of another instruction."""
    opcode = instruction.opcode
    if not _MEMORY.match(opcode) or _WAITS.match(opcode):
        return None
    name = opcode.split(".")[0]
    if name == "LDSM" or name == "STSM":
        return ".".join([name, *re.findall(r"\b(?:M88|MT88|[24])\b", opcode)])
    if name.startswith(("UBLK", "UTMA")):
        return name
    width = _WIDTH.search(opcode)
    return f"{name}.{width[1] if width else 32}"


# ** loops


def main_loop(code: list[Instruction]) -> list[int]:
    """Indices of the instructions of the main loop: the innermost loop with the most mma instructions, or, where no
    loop has any, with the most instructions; empty where there is no loop."""
    blocks = _blocks(code)
    sizes = [(sum(bool(_MATRIX.match(code[i].opcode)) for i in _lines(blocks, each)), each) for each in _loops(blocks)]
    working = [each for matrices, each in sizes if matrices or not any(count for count, _ in sizes)]
    inner = [each for each in working if not any(other < each for other in working)]
    best = max(inner, key=lambda each: _weight(code, _lines(blocks, each)), default=frozenset())
    return sorted(_lines(blocks, best))


def _weight(code: list[Instruction], lines: list[int]) -> tuple[int, int]:
    return sum(bool(_MATRIX.match(code[line].opcode)) for line in lines), len(lines)


@dataclass
class _Block:
    """Instructions that run one after another, from line `start` to before `end`, and the blocks that follow."""

    start: int
    end: int
    after: list[int] = field(default_factory=list)


def _lines(blocks: list[_Block], loop: frozenset[int]) -> list[int]:
    return [line for number in loop for line in range(blocks[number].start, blocks[number].end)]


def _blocks(code: list[Instruction]) -> list[_Block]:
    """The code as basic blocks, the first one first."""
    at = {label: line for line, each in enumerate(code) for label in each.labels}
    leaves = [each.opcode.split(".")[0] in ("BRA", "EXIT", "RET", "BRX", "JMP", "BREAK") for each in code]
    starts = sorted({0, *at.values(), *(line + 1 for line, leaving in enumerate(leaves) if leaving)} - {len(code)})
    blocks = [_Block(start, end) for start, end in zip(starts, [*starts[1:], len(code)])]
    numbers = {block.start: number for number, block in enumerate(blocks)}
    for block in blocks:
        last = code[block.end - 1]
        block.after += [numbers[at[label]] for label in _TARGET.findall(last.operands) if label in at]
        goes_on = not leaves[block.end - 1] or last.predicate or _conditional(last)
        if goes_on and block.end in numbers:
            block.after.append(numbers[block.end])
    return blocks


def _conditional(branch: Instruction) -> bool:
    """Whether a branch reads a predicate as an operand: `BRA.DIV`, `BRA P0, ...`."""
    return ".DIV" in branch.opcode or bool(re.match(r"\s*!?U?P\d", branch.operands))


def _loops(blocks: list[_Block]) -> Iterator[frozenset[int]]:
    """The natural loops, as sets of blocks; loops with the same head are one loop."""
    dominators = _dominators(blocks)
    before = [[n for n, block in enumerate(blocks) if number in block.after] for number in range(len(blocks))]
    bodies: dict[int, set[int]] = {}
    for number, block in enumerate(blocks):
        for head in block.after:
            if number not in dominators or head not in dominators[number]:
                continue
            body, ahead = bodies.setdefault(head, {head}), [number]
            while ahead:
                each = ahead.pop()
                if each not in body:
                    body.add(each)
                    ahead += before[each]
    return map(frozenset, bodies.values())


def _dominators(blocks: list[_Block]) -> dict[int, set[int]]:
    """For every block that is reached: the blocks that each way to it passes."""
    found: dict[int, set[int]] = {0: {0}} if blocks else {}
    changed = True
    while changed:
        changed = False
        for number, block in enumerate(blocks):
            if number not in found:
                continue
            for next_ in block.after:
                ways = found[number] | {next_}
                joined = ways if next_ not in found else (found[next_] & ways) | {next_}
                if found.get(next_) != joined:
                    found[next_], changed = joined, True
    return found
