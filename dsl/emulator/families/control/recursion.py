"""Functions that call themselves, directly or through others: branches and a stack in local memory replace the calls.

The functions of a cycle of calls become one function, which has the text of all of them. A call of one of them saves
what its caller still needs and branches to the start of the other. `ret` branches back by the number that the call left
on the stack. Analyses, checkers and inlining see branches and local memory alone. PTX ISA 7.1, 9.7.12.5
"""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable, Iterator

from dsl.emulator.ptx.basic_blocks import BasicBlocks
from dsl.emulator.ptx.operands import LEAVES
from dsl.emulator.ptx.syntax import (
    Addr,
    Function,
    Imm,
    Instr,
    Label,
    Module,
    Not,
    Pair,
    PtxError,
    Reg,
    Sym,
    Unsupported,
    Variable,
    Vec,
)  # fmt: skip

SIZE_BYTES = 1 << 15  # of the stack of a thread
TOO_DEEP = "$too_deep"  # the function that is called when it is full
_STACK, _BASE, _TOP, _LIMIT = Sym("$calls"), *(Reg(f"%${name}", 64, "b64") for name in ("base", "top", "limit"))
_CASE, _IS_END, _ADDRESS = Reg("%$case", 32, "b32"), Reg("%$end", 1, "pred"), Reg("%$address", 64, "b64")
_RETURN, _LEAVE, _WAYS_BACK = "$return", "$leave", "$ways_back"
_WORD_BYTES, _LEAST_ALIGNMENT = 8, 16


def resolve(module: Module) -> None:
    """Make each function of a cycle of calls one that calls none of them. Raises Unsupported, PtxError."""
    calls: dict[str, set[str]] = {
        name: {_callee(item) for item in function.items} & module.functions.keys()
        for name, function in module.functions.items()
    }
    reached = {name: _reached(name, calls) for name in calls}
    made = {}
    for name in [name for name in calls if name in reached[name]]:
        others = sorted(each for each in reached[name] if name in reached[each] and each != name)
        made[name] = _Merged([module.functions[each] for each in (name, *others)]).function
    module.functions.update(made)


def _callee(item) -> str:
    """The function that an instruction calls by its name, or ''."""
    if not isinstance(item, Instr) or item.opcode != "call":
        return ""
    return next((each.name for each in item.operands if isinstance(each, Sym)), "")


def _reached(name: str, calls: dict[str, set[str]]) -> set[str]:
    """The functions that it calls, that those call, and so on."""
    found: set[str] = set()
    waiting = [name]
    while waiting:
        more = calls[waiting.pop()] - found
        found |= more
        waiting += more
    return found


class _Merged:
    """The functions of a cycle as one, which is called as the first of them is."""

    def __init__(self, functions: list[Function]):
        self.members = {function.name: _Member(function, number) for number, function in enumerate(functions)}
        first = functions[0]
        self.function = Function(first.name, False, first.params, first.returns, line=first.line)
        self.ways_back: list[str] = []
        self._declare()
        self._write(next(iter(self.members.values())))

    def _declare(self) -> None:
        alignment = _LEAST_ALIGNMENT
        for member in self.members.values():
            self.function.regs |= member.regs
            self.function.variables |= member.variables
            self.function.targets |= member.targets
            alignment = max([alignment, *(each.align for each in member.locals)])
        for register in (_BASE, _TOP, _LIMIT, _CASE, _IS_END, _ADDRESS, *_CHUNKS.values()):
            self.function.regs[register.name] = register.bits
        self.function.variables[_STACK.name] = Variable(_STACK.name, "local", alignment, SIZE_BYTES)
        for member in self.members.values():
            member.lay_out(alignment)

    def _write(self, first: _Member) -> None:
        write = _Writer(first.function.items[0])
        largest = max(member.frame_bytes for member in self.members.values())
        write("mov", "u64", operands=[_BASE, _STACK])
        write("mov", "u64", operands=[_TOP, _BASE])
        write("add", "u64", operands=[_LIMIT, _BASE, Imm(SIZE_BYTES - largest)])
        for formal in first.function.params:
            write.copy_parameter(Sym(formal.name), first.symbol(formal.name), formal)
        write("bra", operands=[Sym(first.start)])
        self.function.items = [*write.items]
        for member in self.members.values():
            self.function.items += [Label(member.start), *self._body(member)]
        self.function.items += self._end(first)
        self.function.targets[_WAYS_BACK] = self.ways_back

    def _body(self, member: _Member) -> Iterator:
        for at, item in enumerate(member.function.items):
            if isinstance(item, Label):
                yield Label(member.own(item.name))
            elif _callee(item) in self.members:
                yield from self._call(member, item, at)
            else:
                yield from member.renamed(item)
        if not isinstance(item, Instr) or item.opcode not in LEAVES:
            yield from member.renamed(Instr("ret", (), [], None, member.function.line, None, "ret;"))

    def _call(self, member: _Member, call: Instr, at: int) -> Iterator:
        """A call of a member: save, pass the arguments, go; and what follows when it has come back."""
        other = self.members[_callee(call)]
        results, arguments = _lists(call)
        if len(results) != len(other.function.returns) or len(arguments) != len(other.function.params):
            raise PtxError(f"`{other.function.name}` takes other arguments", call.line)
        number, write = len(self.ways_back), _Writer(call)
        back, after = f"$back{number}", f"$after{number}"
        if call.guard is not None:
            inverse = call.guard.item if isinstance(call.guard, Not) else Not(call.guard)
            write("bra", operands=[Sym(after)], guard=member.mapped(inverse))
        saved = member.saved[at]
        write.each(saved, save=True)
        for formal, actual in zip(other.function.params, arguments):
            write.copy_parameter(member.variable_of(actual, call), other.symbol(formal.name), formal)
        write("add", "u64", operands=[_TOP, _TOP, Imm(member.frame_bytes)])
        write("setp", "le", "u64", operands=[_IS_END, _TOP, _LIMIT])
        write("bra", operands=[Sym(f"$fits{number}")], guard=_IS_END)
        write("call", operands=[Sym(TOO_DEEP)])
        write.items.append(Label(f"$fits{number}"))
        write("st", "local", "u32", operands=[Addr(_TOP), Imm(number)])
        write("bra", operands=[Sym(other.start)])
        write.items.append(Label(back))
        write("sub", "u64", operands=[_TOP, _TOP, Imm(member.frame_bytes)])
        for formal, actual in zip(other.function.returns, results):
            write.copy_parameter(other.symbol(formal.name), member.variable_of(actual, call), formal)
        write.each(saved, save=False)
        write.items.append(Label(after))
        self.ways_back.append(back)
        yield from write.items

    def _end(self, first: _Member) -> Iterator:
        """The end that each `ret` branches to: back to the call whose number is on the stack, or out."""
        write = _Writer(first.function.items[-1])
        write.items.append(Label(_RETURN))
        write("setp", "eq", "u64", operands=[_IS_END, _TOP, _BASE])
        write("bra", operands=[Sym(_LEAVE)], guard=_IS_END)
        write("ld", "local", "u32", operands=[_CASE, Addr(_TOP)])
        write("brx", "idx", operands=[_CASE, Sym(_WAYS_BACK)])
        write.items.append(Label(_LEAVE))
        for formal in first.function.returns:
            write.copy_parameter(first.symbol(formal.name), Sym(formal.name), formal)
        write("ret", operands=[])
        return iter(write.items)


def _lists(call: Instr) -> tuple[tuple, tuple]:
    """The results and the arguments of a call."""
    operands = list(call.operands)
    results = operands.pop(0).items if isinstance(operands[0], Vec) else ()
    rest = operands[1:]
    return results, rest[0].items if rest and isinstance(rest[0], Vec) else ()


class _Member:
    """One function of a cycle: its names in the whole, and its frame on the stack. The frame has the number of the
    call, the local variables, and what a call saves."""

    def __init__(self, function: Function, number: int):
        self.function, self.number = function, number
        self.start = f"$start{number}"
        formals = [*function.params, *function.returns]
        for formal in formals:
            if formal.space != "param":
                raise PtxError(
                    f"`{function.name}` calls itself, so its parameters must be .param variables", formal.line
                )
        self._labels = {item.name for item in function.items if isinstance(item, Label)}
        own = {each.name: each for each in [*formals, *function.variables.values()]}
        self.locals = [each for each in own.values() if each.space == "local"]
        self._named = {name: each for name, each in own.items() if each.space != "local"}
        self.regs = {self.own(name): bits for name, bits in function.regs.items()}
        self.variables = {
            self.own(name): dataclasses.replace(each, name=self.own(name)) for name, each in self._named.items()
        }
        self.targets = {
            self.own(name): [self.own(each) for each in targets] for name, targets in function.targets.items()
        }

    def own(self, name: str) -> str:
        """A name of the function's text in the whole."""
        return f"{name}${self.number}"

    def symbol(self, name: str) -> Sym:
        return Sym(self.own(name))

    def variable_of(self, operand, call: Instr) -> Sym:
        """The .param variable that a call passes. Raises PtxError for another operand."""
        if not isinstance(operand, Sym) or operand.name not in self._named:
            raise PtxError("a .param argument is not a .param variable", call.line)
        return self.symbol(operand.name)

    # ** the frame

    def lay_out(self, alignment: int) -> None:
        """Find the places in the frame, and what each call saves."""
        used = _WORD_BYTES
        self._places: dict[str, int] = {}
        for each in self.locals:
            used = _rounded(used, each.align)
            self._places[each.name] = used
            used += each.size
        start, blocks = _rounded(used, _WORD_BYTES), BasicBlocks(self.function)
        self.saved: dict[int, list[tuple[Reg | Variable, int]]] = {}
        for at, item in enumerate(self.function.items):
            if isinstance(item, Instr) and item.opcode == "call":
                self.saved[at] = self._saved(item, at, start, blocks)
        ends = [place + _bytes_of(what) for rows in self.saved.values() for what, place in rows]
        self.frame_bytes = _rounded(max([start, *ends]), alignment)
        if self.frame_bytes > SIZE_BYTES // 4:
            first = next(item for item in self.function.items if _callee(item))
            why = f"`{self.function.name}` calls itself and needs {self.frame_bytes} bytes of stack each time"
            raise Unsupported(first.name, first.line, text=first.text, why=why, fix="keep its arrays in global memory")

    def _saved(self, call: Instr, at: int, start: int, blocks: BasicBlocks) -> list[tuple[Reg | Variable, int]]:
        """The registers and .param variables that are read after a call, the results that are set before it among them,
        each with its place in the frame."""
        results = {each.name for each in _lists(call)[0] if isinstance(each, Sym)}
        rows: list[tuple[Reg | Variable, int]] = []
        what: list[Reg | Variable] = [
            Reg(self.own(name), bits) for name, bits in self.function.regs.items() if blocks.is_read(name, at)
        ]
        read = _parameters_read(blocks, at) | {each.name for each in self.function.returns if _is_set(each, at, blocks)}
        what += [each for name, each in self._renamed() if name in read - results]
        for each in what:
            rows.append((each, start))
            start = _rounded(start + _bytes_of(each), _WORD_BYTES)
        return rows

    def _renamed(self) -> Iterable[tuple[str, Variable]]:
        """The .param variables, by the names in the text."""
        return ((name, self.variables[self.own(name)]) for name, each in self._named.items() if each.space == "param")

    # ** the text

    def renamed(self, instr: Instr) -> Iterator[Instr]:
        """An instruction with the names of the whole; `ret` becomes a branch."""
        if instr.opcode == "ret":
            guard = self.mapped(instr.guard)
            yield dataclasses.replace(instr, opcode="bra", mods=(), operands=[Sym(_RETURN)], guard=guard)
            return
        operands = []
        for operand in instr.operands:
            place = self._places.get(operand.name) if isinstance(operand, Sym) else None
            if isinstance(operand, Sym) and place is not None:
                operands.append(_ADDRESS)
                total = [_ADDRESS, _TOP, Imm(place + operand.offset)]
                yield dataclasses.replace(instr, opcode="add", mods=("u64",), operands=total, guard=None)
            else:
                operands.append(self.mapped(operand))
        yield dataclasses.replace(instr, operands=operands, guard=self.mapped(instr.guard))

    def mapped(self, operand):
        """An operand by the names of the whole; a local variable is an address above the top of the stack."""
        match operand:
            case Reg():
                return dataclasses.replace(operand, name=self.own(operand.name))
            case Sym() if operand.name in self._named or operand.name in self._labels | self.function.targets.keys():
                return Sym(self.own(operand.name), operand.offset)
            case Addr(base=Sym()) if operand.base.name in self._places:
                place = self._places[operand.base.name] + operand.base.offset
                return Addr(_TOP, operand.offset + place, operand.coords)
            case Addr():
                return Addr(self.mapped(operand.base), operand.offset, self.mapped(operand.coords))
            case Vec():
                return Vec(tuple(map(self.mapped, operand.items)))
            case Not():
                return Not(self.mapped(operand.item))
            case Pair():
                return Pair(self.mapped(operand.first), self.mapped(operand.second))
        return operand


def _parameters_read(blocks: BasicBlocks, at: int) -> set[str]:
    """The .param variables that instructions read which may run after a position."""
    here = blocks.block_of[at]
    rest = [item for item in blocks.items[at + 1 : blocks.positions(here).stop] if isinstance(item, Instr)]
    for each in blocks.reach(blocks.following[here]):
        rest += blocks.instructions(each)
    found: set[str] = set()
    for instr in rest:
        if instr.opcode == "ld":
            found |= {
                each.base.name for each in instr.operands if isinstance(each, Addr) and isinstance(each.base, Sym)
            }
        elif instr.opcode == "call":
            found |= {each.name for each in _lists(instr)[1] if isinstance(each, Sym)}
    return found


def _is_set(variable: Variable, at: int, blocks: BasicBlocks) -> bool:
    """Whether instructions set a result that may run before a position."""
    for place, item in enumerate(blocks.items):
        if isinstance(item, Instr) and item.opcode == "st" and _has_base(item.operands[0], variable.name):
            block = blocks.block_of[place]
            is_before = place < at and block == blocks.block_of[at]
            if is_before or blocks.block_of[at] in blocks.reach(blocks.following[block]):
                return True
    return False


def _has_base(operand, name: str) -> bool:
    return isinstance(operand, Addr) and isinstance(operand.base, Sym) and operand.base.name == name


def _rounded(size: int, alignment: int) -> int:
    return -(-size // alignment) * alignment


def _bytes_of(what: Reg | Variable) -> int:
    return what.size if isinstance(what, Variable) else max(what.bits // 8, 4)


_CHUNKS = {size: Reg(f"%$chunk{size}", 8 * size, f"b{8 * size}") for size in (1, 2, 4, 8)}


class _Writer:
    """Makes instructions at the place of another one."""

    def __init__(self, place):
        self.place = place if isinstance(place, Instr) else Instr("", (), [], None, 0, None, "")
        self.items: list = []

    def __call__(self, opcode: str, *modifiers: str, operands: list, guard=None) -> None:
        made = dataclasses.replace(self.place, opcode=opcode, mods=modifiers, operands=operands, guard=guard)
        self.items.append(made)

    def copy_parameter(self, source: Sym, target: Sym, variable: Variable) -> None:
        """Copy a .param variable into another one of its size."""
        for offset, chunk in _chunks(variable):
            self("ld", "param", chunk.type, operands=[chunk, Addr(source, offset)])
            self("st", "param", chunk.type, operands=[Addr(target, offset), chunk])

    def each(self, rows: list[tuple[Reg | Variable, int]], *, save: bool) -> None:
        """Store registers and .param variables at their places in the frame, or load them."""
        for what, place in rows:
            if isinstance(what, Reg):
                self._register(what, Addr(_TOP, place), save)
                continue
            for offset, chunk in _chunks(what):
                memory, variable = Addr(_TOP, place + offset), Addr(Sym(what.name), offset)
                self("ld", "param" if save else "local", chunk.type, operands=[chunk, variable if save else memory])
                self("st", "local" if save else "param", chunk.type, operands=[memory if save else variable, chunk])

    def _register(self, register: Reg, memory: Addr, save: bool) -> None:
        kind = f"b{register.bits}"
        if register.bits > 1 and save:
            self("st", "local", kind, operands=[memory, register])
        elif register.bits > 1:
            self("ld", "local", kind, operands=[register, memory])
        elif save:
            self("selp", "u32", operands=[_CASE, Imm(1), Imm(0), register])
            self("st", "local", "u32", operands=[memory, _CASE])
        else:
            self("ld", "local", "u32", operands=[_CASE, memory])
            self("setp", "ne", "u32", operands=[register, _CASE, Imm(0)])


def _chunks(variable: Variable) -> Iterator[tuple[int, Reg]]:
    """The parts that a copy moves at once: offset in bytes, register."""
    offset = 0
    while offset < variable.size:
        size = min(_WORD_BYTES, max(variable.align, 1))
        while size > variable.size - offset:
            size //= 2
        yield offset, _CHUNKS[size]
        offset += size
