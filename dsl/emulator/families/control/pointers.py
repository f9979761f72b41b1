"""Addresses of functions, and calls through them: a call becomes a chain of comparisons and direct calls.

A function whose address a module takes has a number in place of an address, which no memory has. A call through a
register tries the functions with such a number whose parameters have the sizes of its arguments. Analyses and
checkers see direct calls alone. A call of another number is a fault.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator

from dsl.emulator.ptx.syntax import Function, Imm, Instr, Label, Module, Not, Reg, Sym, Vec

_FIRST, _STEP = 0x00F0_0000_0000_0000, 16  # not an address of a program on x86-64


def resolve(module: Module) -> None:
    """Replace the addresses of functions, and the calls through registers."""
    numbers = {name: _FIRST + _STEP * place for place, name in enumerate(module.functions)}
    taken: set[str] = set()
    for variable in module.variables.values():
        variable.init = [
            (offset, size, _number(value, numbers, taken), shift) for offset, size, value, shift in variable.init
        ]
    for function in module.functions.values():
        for item in function.items:
            if isinstance(item, Instr) and item.opcode == "mov":
                item.operands = [_number(each, numbers, taken) for each in item.operands]
    targets = [function for name, function in module.functions.items() if name in taken and function.items]
    for function in module.functions.values():
        function.items = [each for item in function.items for each in _direct(function, item, targets, numbers)]


def _number(operand, numbers: dict[str, int], taken: set[str]):
    if not isinstance(operand, Sym) or operand.name not in numbers:
        return operand
    taken.add(operand.name)
    return Imm(numbers[operand.name])


def _direct(function: Function, item, targets: list[Function], numbers: dict[str, int]) -> Iterator:
    place = _place(item) if isinstance(item, Instr) and item.opcode == "call" else None
    if place is None:
        yield item
        return
    address, unique = item.operands[place], len(function.regs)

    def other(opcode: str, *modifiers: str, operands: list, guard=None) -> Instr:
        return dataclasses.replace(item, opcode=opcode, mods=modifiers, operands=operands, guard=guard)

    after = f"$called{unique}"
    if item.guard is not None:
        inverse = item.guard.item if isinstance(item.guard, Not) else Not(item.guard)
        yield other("bra", operands=[Sym(after)], guard=inverse)
    for number, target in enumerate(each for each in targets if _fits(function, item, place, each)):
        predicate, label = Reg(f"%called{unique}.{number}", 1, "pred"), f"$other{unique}.{number}"
        function.regs[predicate.name] = 1
        yield other("setp", "ne", "u64", operands=[predicate, address, Imm(numbers[target.name])])
        yield other("bra", operands=[Sym(label)], guard=predicate)
        operands = [*item.operands]
        operands[place] = Sym(target.name)
        yield other("call", *item.mods, operands=operands)
        yield other("bra", operands=[Sym(after)])
        yield Label(label)
    yield other("call", *item.mods, operands=item.operands)
    yield Label(after)


def _place(call: Instr) -> int | None:
    """The number of the operand of a call that is a register with the function; None of a direct call."""
    return next((place for place, each in enumerate(call.operands) if isinstance(each, Reg)), None)


def _fits(caller: Function, call: Instr, place: int, target: Function) -> bool:
    """Whether a function takes the arguments of a call and gives its results."""
    rest = call.operands[place + 1 :]
    results = call.operands[0].items if place else ()
    arguments = rest[0].items if rest and isinstance(rest[0], Vec) else ()
    pairs = ((results, target.returns), (arguments, target.params))
    return all(
        len(given) == len(formal) and all(_size(caller, one) in (None, other.size) for one, other in zip(given, formal))
        for given, formal in pairs
    )


def _size(caller: Function, argument) -> int | None:
    """The bytes of a .param variable; None of another argument."""
    variable = caller.variables.get(getattr(argument, "name", ""))
    return variable.size if variable is not None else None
