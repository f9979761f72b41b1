"""alloca, stacksave, stackrestore: a stretch of local memory for each function that has them. PTX ISA 9.7.17.

How many bytes of it are in use is a register of the function, which stands among the operands of each instruction once
a module is read. The stack grows down from the end of the stretch.
"""

from __future__ import annotations

from dsl.emulator.families.control.emit import fault
from dsl.emulator.machine import context
from dsl.emulator.ptx.syntax import TYPE_BITS, Imm, Instr, Module, PtxError, Reg, Sym, Variable, Vec

SIZE_BYTES, MOST_ALIGNMENT, ALIGNMENT = 1 << 14, 1 << 10, 8
_STRETCH, _USED = Sym("$stack"), Reg("%$stack", 64, "b64")


def reserve(module: Module) -> None:
    """Give each function that has the instructions its stretch and its register."""
    for function in module.functions.values():
        own = [each for each in function.items if isinstance(each, Instr) and each.opcode in OPERANDS]
        if not own:
            continue
        function.variables[_STRETCH.name] = Variable(_STRETCH.name, "local", MOST_ALIGNMENT, SIZE_BYTES)
        function.regs[_USED.name] = _USED.bits
        for instr in own:
            counts, more = OPERANDS[instr.opcode]
            if len(instr.operands) not in counts:
                text = " or ".join(map(str, counts))
                raise PtxError(
                    f"`{instr.opcode}` takes {text} operand{'s' * (counts != (1,))}, got {len(instr.operands)}",
                    instr.line,
                )
            instr.operands = more(instr.operands)
        function.items.insert(0, Instr("mov", ("u64",), [_USED, Imm(0)], None, function.line, None, "mov.u64 %sp, 0;"))


# how many operands a text has, and what they become
OPERANDS = {
    "alloca": ((2, 3), lambda given: [Vec((given[0], _USED)), _USED, *given[1:]]),
    "stacksave": ((1,), lambda given: [*given, _USED]),
    "stackrestore": ((1,), lambda given: [_USED, *given]),
}


def allocate(body, instr):
    """alloca ptr, size{, alignment}: the lowest address of new bytes."""
    bits, (destination, used), (_, _, size, *more) = _bits(instr), instr.operands[0].items, instr.operands
    alignment = more[0].value if more and isinstance(more[0], Imm) else 0 if more else ALIGNMENT
    if alignment.bit_count() != 1:
        raise PtxError("the alignment must be a constant, and a power of 2")
    if alignment > MOST_ALIGNMENT:
        raise body.refuse(instr, f"the emulator aligns to at most {MOST_ALIGNMENT} bytes")
    more_bytes = body.resize(body.read(size, bits), bits, 64)
    more_bytes = body.op(f"call i64 @llvm.umin.i64(i64 {more_bytes}, i64 {2 * SIZE_BYTES})")  # so that no sum wraps
    total = body.add(body.add(body.read(used, 64), more_bytes, "i64"), alignment - 1, "i64")
    total = body.and_(total, -alignment, "i64")
    full, fine = body.fresh("full"), body.fresh("fits")
    body.do(f"br i1 {body.cmp('ugt', total, SIZE_BYTES, 'i64')}, label %{full}, label %{fine}")
    body.start(full, keep=True)
    fault(body, instr, context.ILLEGAL, context.STACK_FULL)
    body.start(fine, keep=True)
    body.write(used, total, 64)
    body.write(destination, body.resize(_turned(body, total), 64, bits), bits)


def save(body, instr):
    """stacksave d: the lowest address in use."""
    destination, used = instr.operands
    bits = _bits(instr)
    body.write(destination, body.resize(_turned(body, body.read(used, 64)), 64, bits), bits)


def restore(body, instr):
    """stackrestore a: what stacksave gave before."""
    used, address = instr.operands
    bits = _bits(instr)
    body.write(used, _turned(body, body.resize(body.read(address, bits), bits, 64)), 64)


def _bits(instr: Instr) -> int:
    return TYPE_BITS[instr.mods[0]]


def _turned(body, value: str) -> str:
    """The address that has so many bytes in use below the end, or how many an address has."""
    end = body.add(body.address_of(_STRETCH), SIZE_BYTES, "i64")
    return body.sub(end, value, "i64")
