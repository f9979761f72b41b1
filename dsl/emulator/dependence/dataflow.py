"""The sources that a kernel's stores depend on: instructions whose result is open, and memory before. PTX only.

Registers and memory are followed without order: what may ever flow into one counts. Places in memory
differ by the parameter or variable that their address is made of; an address made of neither may be any of its space.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from dsl.emulator.dependence.sources import Leeway, leeway_of, leeway_of_register
from dsl.emulator.ptx.analysis import names, reachable
from dsl.emulator.ptx.control import Regions
from dsl.emulator.ptx.operands import given
from dsl.emulator.ptx.syntax import TYPE_BITS, Addr, Function, Instr, Module, Not, Pair, Special, Sym, Vec
from dsl.emulator.ptx.traits import (
    ANYWHERE,
    BARRIER,
    COPY,
    FENCE,
    LOAD,
    MBARRIER,
    NO_EFFECT,
    NO_RESULT,
    PRODUCT,
    TENSOR,
    TILE_LOAD,
    TILE_STORE,
    UPDATES,
)
from dsl.emulator.tensor_core.tensor_core import TensorCore

# ("param", index, offset): where a word of a parameter points; ("variable", space, name); ("any", space)
Place = tuple
Pointers = Mapping[int, Sequence[int]]  # parameter -> offsets of the words in it that point into device memory
MEMORY = None  # the first part of the key of what a place holds; of a register it is the function
_NO_VALUE = BARRIER | FENCE | MBARRIER | NO_EFFECT | NO_RESULT
_SPACES = ("global", "shared", "local", "param", "const")


@dataclass(frozen=True, slots=True)
class Source:
    """An instruction that leaves its result open; `loc` is its .loc."""

    instruction: str
    loc: tuple | None
    leeway: Leeway


@dataclass
class Summary:
    """The effect of one launch on memory: bits for each place that it writes.

    Bit i below `len(sources)` is that source; then two bits a place: what it held, and that a branch asked for it.
    """

    sources: list[Source] = field(default_factory=list)
    places: list[Place] = field(default_factory=list)
    writes: dict[Place, int] = field(default_factory=dict)


class _Value:
    """The bits that a register or a place depends on, and the places that its value may be an address in (`bases`)."""

    __slots__ = ("bits", "bases")

    def __init__(self) -> None:
        self.bits, self.bases = 0, frozenset()


class Flow:
    def __init__(self, module: Module, entry: Function, core: TensorCore, pointers: Pointers):
        self.module, self.entry, self.core, self.pointers = module, entry, core, pointers
        self.functions = reachable(module, entry)
        self.values: dict[tuple, _Value] = {}
        self.memory: set[Place] = set()  # that something was stored to or read from
        self.changed = False
        self.summary = Summary()
        self.params = {param.name: number for number, param in enumerate(entry.params)}
        self.spaces = {name: each.space for name, each in module.variables.items()}
        for function in self.functions:
            self.spaces.update({name: each.space for name, each in function.variables.items()})
            if function is not entry:
                self.spaces.update({each.name: "param" for each in (*function.params, *function.returns)})
        self.collect(core)
        self.control: dict[tuple[str, int], int] = {}
        self.regions = {function.name: Regions(function) for function in self.functions}

    # ** bits

    def collect(self, core: TensorCore) -> None:
        """Number the sources: an instruction on a line of the author's is one, however often it is there."""
        numbers: dict[tuple, int] = {}
        self.of_instruction: dict[int, int] = {}
        self.decides = 0
        for function in self.functions:
            read = {name for item in function.items if isinstance(item, Instr) for name in registers_read(item)}
            for item in function.items:
                for name, leeway in _leeways(item, core, read) if isinstance(item, Instr) else ():
                    key = name, item.loc and item.loc[:2]
                    if key not in numbers:
                        numbers[key] = len(numbers)
                        self.summary.sources.append(Source(name, item.loc, leeway))
                        self.decides |= leeway.decides << numbers[key]
                    self.of_instruction[id(item)] = self.of_instruction.get(id(item), 0) | 1 << numbers[key]
        self.first_place_bit = len(numbers)
        self.place_bits: dict[Place, int] = {}

    def held(self, place: Place) -> int:
        """The bit of what a place held before the launch."""
        if place not in self.place_bits:
            self.place_bits[place] = 1 << self.first_place_bit + 2 * len(self.place_bits)
            self.summary.places.append(place)
        return self.place_bits[place]

    def asked(self, bits: int) -> int:
        """The bits that pass on from a value to the code that runs because of it."""
        sources = bits & ((1 << self.first_place_bit) - 1)
        behind = bits >> self.first_place_bit
        even = behind & int("01" * (behind.bit_length() // 2 + 1), 2)
        return sources & self.decides | (even << 1 | behind & ~even) << self.first_place_bit

    # ** values

    def value(self, key: tuple) -> _Value:
        value = self.values.get(key)
        if value is None:
            value = self.values[key] = _Value()
            if key[0] is MEMORY:
                self.memory.add(key[1])
        return value

    def add(self, key: tuple, bits: int, bases: frozenset) -> None:
        value = self.value(key)
        if bits & ~value.bits or not bases <= value.bases:
            value.bits |= bits
            value.bases |= bases
            self.changed = True

    def read(self, function: Function, operand) -> tuple[int, frozenset]:
        """The bits that an operand's value depends on, and the places that it may point into."""
        bits, bases = 0, frozenset()
        for name in names(operand):
            value = self.value((function.name, name))
            bits, bases = bits | value.bits, bases | value.bases
        if isinstance(operand, Sym):
            bases |= self.address_of(operand)
        return bits, bases

    def address_of(self, symbol: Sym) -> frozenset:
        if symbol.name in self.params:
            number = self.params[symbol.name]
            return frozenset(("param", number, offset) for offset in self.pointers.get(number, ()))
        if symbol.name in self.spaces:
            return frozenset({("variable", self.spaces[symbol.name], symbol.name)})
        return frozenset()

    # ** memory

    def places(self, function: Function, address: Addr, space: str) -> frozenset:
        """The places that an access may touch."""
        base = address.base
        bases = self.address_of(base) if isinstance(base, Sym) else self.read(function, base)[1]
        if space == "generic":
            fitting = bases
        elif space == "global":
            fitting = frozenset(one for one in bases if one[0] == "param" or one[1] in ("global", "const"))
        else:
            fitting = frozenset(one for one in bases if one[0] == "variable" and one[1] == space)
        return fitting or frozenset({("any", space)})

    def load(self, function: Function, address: Addr, space: str) -> tuple[int, frozenset]:
        bits, bases = self.read(function, address)
        bases = frozenset(one for one in bases if space == "param" and one[0] == "param")
        places = self.places(function, address, space)
        for place in self._overlapping(places):
            value = self.value((MEMORY, place))
            bits, bases = bits | value.bits, bases | value.bases
        for place in filter(_outlives, places):
            bits |= self.held(place)
        return bits, bases

    def store(self, function: Function, address: Addr, space: str, bits: int, bases: frozenset) -> None:
        bits |= self.read(function, address)[0]
        for place in self.places(function, address, space):
            self.add((MEMORY, place), bits, bases)
            if _outlives(place):
                self.summary.writes[place] = self.value((MEMORY, place)).bits

    def _overlapping(self, places: frozenset) -> frozenset:
        """These places, and those that may be the same memory."""
        spaces = {place[1] if place[0] != "param" else "global" for place in places}
        if ("any", "generic") in places:
            spaces |= set(_SPACES)
        if any(place[0] == "any" for place in places):
            return places | {p for p in self.memory if (p[1] if p[0] != "param" else "global") in spaces}
        return places | {p for p in self.memory if p[0] == "any" and (p[1] in spaces or p[1] == "generic")}

    # ** instructions

    def run(self) -> Summary:
        self.changed = True
        while self.changed:
            self.changed = False
            for function in self.functions:
                for block, item in zip(self.regions[function.name].block_of, function.items, strict=True):
                    if isinstance(item, Instr):
                        self.step(function, block, item)
        return self.summary

    def step(self, function: Function, block: int, instr: Instr) -> None:
        by_control = self.control.get((function.name, block), 0)
        if instr.guard is not None:
            by_control |= self.asked(self.read(function, instr.guard)[0])
        if instr.opcode in ("bra", "brx", "ret", "exit"):
            index = self.read(function, instr.operands[0])[0] if instr.opcode == "brx" else 0
            self.branch(function, block, by_control | self.asked(index))
        elif instr.opcode == "call":
            self.call(function, instr, by_control)
        elif instr.operands and not instr.traits & _NO_VALUE:
            self.compute(function, instr, by_control)

    def branch(self, function: Function, block: int, bits: int) -> None:
        if bits:
            self.runs_by(function, self.regions[function.name].decided(block), bits)

    def runs_by(self, function: Function, blocks: Iterable[int], bits: int) -> None:
        """Note that these bits decide whether these blocks run."""
        for one in blocks:
            before = self.control.get((function.name, one), 0)
            if bits & ~before:
                self.control[function.name, one] = before | bits
                self.changed = True

    def compute(self, function: Function, instr: Instr, by_control: int) -> None:
        if instr.traits & LOAD and self._loads_parameter(function, instr):
            return
        own = self.of_instruction.get(id(instr), 0)
        bits, bases = by_control, frozenset()
        first, *others = instr.operands
        spaces = _spaces(instr)
        for operand in others[:1] if instr.traits & COPY else others:
            where = (
                self.load(function, operand, spaces[-1]) if isinstance(operand, Addr) else self.read(function, operand)
            )
            bits, bases = bits | where[0], bases | where[1]
        if instr.traits & (PRODUCT | TENSOR):
            bits |= self.load(function, Addr(None), "shared")[0] | self.read(function, first)[0]
        if instr.traits & UPDATES:
            address = next(each for each in instr.operands if isinstance(each, Addr))
            bits |= self.load(function, address, spaces[0])[0]
            left = own if leeway_of(instr, self.core, is_read=False) else 0
            self.store(function, address, spaces[0], bits | left, bases)
        elif isinstance(first, Addr):
            self.store(function, first, spaces[0], bits | own, bases)
        for name in () if isinstance(first, Addr) else registers_written(first):
            self.add((function.name, name), bits | own, bases)

    def _loads_parameter(self, function: Function, instr: Instr) -> bool:
        """Whether it reads the entry's own parameters; a word of them that points somewhere is an address."""
        address = instr.operands[1]
        base = getattr(address, "base", None)
        if function is not self.entry or not isinstance(base, Sym) or base.name not in self.params:
            return False
        number, offset = self.params[base.name], address.offset + base.offset
        for place, name in enumerate(registers_written(instr.operands[0])):
            word = offset + place * TYPE_BITS.get(instr.mods[-1], 64) // 8
            if word in self.pointers.get(number, ()):
                self.add((function.name, name), 0, frozenset({("param", number, word)}))
        return True

    def call(self, function: Function, instr: Instr, by_control: int) -> None:
        """Let arguments flow into the callee's parameters, and its results back into the caller."""
        callee = self.callee(instr)
        if callee is None:
            return
        vectors = [operand.items for operand in instr.operands if isinstance(operand, Vec)]
        given = vectors[-1] if callee.params and vectors else ()
        for param, operand in zip(callee.params, given):
            bits, bases = self._argument(function, operand)
            self.add((MEMORY, ("variable", "param", param.name)), bits | by_control, bases)
        results = vectors[0] if callee.returns and vectors else ()
        for param, operand in zip(callee.returns, results):
            value = self.value((MEMORY, ("variable", "param", param.name)))
            for key in self._keys(function, operand):
                self.add(key, value.bits | by_control, value.bases)

    def callee(self, instr: Instr) -> Function | None:
        named = map(self.module.functions.get, map(_name, instr.operands))
        return next((each for each in named if each in self.functions), None)

    def _argument(self, function: Function, operand) -> tuple[int, frozenset]:
        if isinstance(operand, Sym):
            value = self.value((MEMORY, ("variable", "param", operand.name)))
            return value.bits, value.bases
        return self.read(function, operand)

    def _keys(self, function: Function, operand) -> Iterator[tuple]:
        if isinstance(operand, Sym):
            yield MEMORY, ("variable", "param", operand.name)
        for name in names(operand):
            yield function.name, name


def _leeways(instr: Instr, core: TensorCore, read: set[str]) -> Iterator[tuple[str, Leeway]]:
    first = instr.operands[0] if instr.operands else None
    leeway = leeway_of(instr, core, any(name in read for name in names(first)))
    if leeway is not None:
        yield instr.name, leeway
    for operand in instr.operands[1:]:
        if isinstance(operand, Special) and (leeway := leeway_of_register(operand)) is not None:
            yield operand.name, leeway


def _name(operand) -> str | None:
    return getattr(operand, "name", None)


def registers_read(instr: Instr) -> Iterator[str]:
    """Names of the registers that an instruction may read."""
    yield from names(instr.guard)
    for operand in given(instr):
        yield from names(operand)


def registers_written(operand) -> Iterator[str]:
    if isinstance(operand, Pair):
        yield from registers_written(operand.first)
        yield from registers_written(operand.second)
    elif not isinstance(operand, Not):
        yield from names(operand)


def _spaces(instr: Instr) -> list[str]:
    """The spaces of an instruction's addresses: the written space, then the read one; if it names one, both."""
    if instr.traits & (TILE_LOAD | TILE_STORE) and not instr.traits & ANYWHERE:
        return ["shared"]
    if instr.traits & TENSOR:
        return ["tensor"]
    return [mod.partition("::")[0] for mod in instr.mods if mod.partition("::")[0] in _SPACES] or ["generic"]


def _outlives(place: Place) -> bool:
    """Whether a place is there before and after a launch."""
    return place[0] == "param" or place[1] in ("global", "generic")


def summary_of(module: Module, entry: str, core: TensorCore, pointers: Pointers) -> Summary:
    """The sources that an entry's stores depend on; `pointers` names the words of its parameters that are addresses."""
    return Flow(module, module.functions[entry], core, pointers).run()
