"""The body of one GPU thread as LLVM IR: registers, operands, blocks, and inlined device functions."""

from __future__ import annotations

import ctypes
from collections.abc import Mapping
from contextlib import AbstractContextManager
from dataclasses import dataclass, field, replace
from types import MappingProxyType
from typing import Any

from dsl.emulator.ir import needs
from dsl.emulator.ir.builder import Builder
from dsl.emulator.ir.places import Places
from dsl.emulator.ir.special import read_special
from dsl.emulator.machine import context
from dsl.emulator.ptx.literals import float_bits
from dsl.emulator.ptx.syntax import (
    SINK,
    TYPE_BITS,
    Addr,
    FloatImm,
    Function,
    Imm,
    Instr,
    Module,
    Not,
    PtxError,
    Reg,
    Special,
    Sym,
    Unsupported,
    Variable,
)
from dsl.emulator.ptx.traits import WIDER

LLVM_FLOAT = {"f16": "half", "f32": "float", "f64": "double"}
MAX_PARAM_BYTES = 32 * 1024  # of one .param; PTX ISA: 32764 bytes of kernel parameters at most
MAX_STACK_BYTES = 1 << 20  # of all .param variables in function bodies
CACHED_SITES = 64  # more last-hit caches than this live in memory instead of registers


@dataclass
class Frame:
    """One inlined instance of a function: its registers, parameters and labels."""

    function: Function
    number: int
    slots: dict = field(default_factory=dict)
    loaded: set = field(default_factory=set)  # slots that code may load: they begin as zero
    params: dict = field(default_factory=dict)  # name -> (pointer text, size)
    carry: str = ""
    leave: str = ""
    callers: tuple = ()  # where it is called, as Instr.callers


class Body(Builder):
    """Emits the instructions of an entry and of the functions it calls, which are inlined."""

    order_kinds = 0  # what checkers ask of the order of threads: see check/access.py
    watches: Mapping[type, Any] = MappingProxyType({})  # what families look at in checked code, by class
    gives_way = False  # whether threads give way to others before they touch memory that others see, and in nanosleep

    def __init__(self, module: Module, entry: Function, places: Places, coroutine: bool, place_of):
        super().__init__()
        self.module, self.entry, self.places, self.coroutine = module, entry, places, coroutine
        self.place_of = place_of
        self.hits_in_memory = coroutine
        self.wrap = None  # gives what a whole warp calls in place of a function, while an instruction is checked
        self.clustered = False  # whether blocks of a cluster meet, or see each other's shared memory
        self.any_nan = frozenset()  # registers that may hold a NaN that is not the canonical one
        self.takes_any_nan = False  # whether what is emitted now may read such a NaN
        self.sites: list[Instr] = []
        self.frames: list[Frame] = []
        self.frame_count = 0
        self.values: dict[str, str] = {}
        self.written: set[str] = set()
        self.checked: set[tuple] = set()  # accesses (address, space, bytes) that cannot fail from here on
        self.cached_sites: list[tuple] = []  # (site, the two stack slots of its last hit)
        self.stack_bytes = 0
        self.threads: dict[str, str] = {}
        self.uses: set[str] = set()
        self.takes_wider = False  # whether registers may be wider than the type of the instruction
        self.prologue: list[str] = []
        self.areas: dict[type[ctypes.Structure], str] = {}

    def exchange_area(self, layout: type[ctypes.Structure]) -> str:
        """This thread's memory in which the functions of a family are given what an instruction has, and give what it
        computes; one for each layout."""
        if layout not in self.areas:
            self.areas[layout] = self.alloca(f"[{ctypes.sizeof(layout)} x i8]", 16)
        return self.areas[layout]

    def place_in(self, area: str, member, index: int = 0) -> str:
        """The address of a member of an area, or of a word of it."""
        return self.op(f"getelementptr i8, ptr {area}, i32 {member.offset + 4 * index}")

    def put_in(self, area: str, member, value: str, kind: str = "i32", index: int = 0) -> None:
        self.do(f"store {kind} {value}, ptr {self.place_in(area, member, index)}, align 4")

    def get_from(self, area: str, member, index: int = 0, kind: str = "i32") -> str:
        return self.op(f"load {kind}, ptr {self.place_in(area, member, index)}, align 4")

    @property
    def idle_poll(self):
        """The idle loop that the current instruction is in; see translate/coroutine.py."""
        return None

    # ** refusing

    def refuse(self, instr: Instr, why: str = "", fix: str = "") -> Unsupported:
        return Unsupported(instr.name, instr.line, self.place_of(instr.loc), why, instr.text, fix)

    def require(self, instr: Instr, need: str) -> None:
        """Raise Unsupported if the module lacks what the operands need (needs.py). Rows have the needs of modifiers."""
        why, fix = needs.read(need).refusal(self.module.target, self.module.version)
        if why:
            raise self.refuse(instr, why, fix)

    def malformed(self, instr: Instr, why: str) -> PtxError:
        return PtxError(f"{why}: {instr.text}", instr.line, self.place_of(instr.loc))

    # ** blocks

    def start(self, block: str, keep: bool = False) -> None:
        """Begin a block; `keep` where all that is known of registers still holds (its only way in is known)."""
        super().start(block)
        if not keep:
            self.values.clear()
            self.checked.clear()

    def branch(self, block: str) -> None:
        self.do(f"br label %{block}")

    def site(self, instr: Instr) -> int:
        """A number by which native code can name this instruction."""
        callers = self.frames[-1].callers if self.frames else ()
        self.sites.append(replace(instr, callers=instr.callers + callers) if callers else instr)
        return len(self.sites) - 1

    @property
    def frame(self) -> Frame:
        return self.frames[-1]

    # ** registers

    def slot(self, reg: Reg) -> str:
        frame = self.frame
        slot = frame.slots.get(reg.name)
        if slot is None:
            slot = frame.slots[reg.name] = f"%v{len(frame.slots)}.{frame.number}"
            self.allocas.append(f"  {slot} = alloca i{reg.bits}")
        return slot

    def read_reg(self, reg: Reg) -> str:
        slot = self.slot(reg)
        value = self.values.get(slot)
        if value is None:
            value = self.values[slot] = self.op(f"load i{reg.bits}, ptr {slot}")
            if slot not in self.frame.loaded:
                self.frame.loaded.add(slot)
                self.prologue.append(f"  store i{reg.bits} 0, ptr {slot}")
        if reg.name in self.any_nan and not self.takes_any_nan:
            number = self.op(f"bitcast i32 {value} to float")
            return self.select(self.op(f"fcmp uno float {number}, 0.0"), 0x7FFFFFFF, value)
        return value

    def read(self, operand, bits: int, signed: bool = False) -> str:
        """An operand as an i`bits` value. Raises PtxError for a register that does not fit."""
        if type(operand) is Reg:
            self.fits(operand, bits)
            return self.resize(self.read_reg(operand), operand.bits, bits, signed)
        if type(operand) is Imm:
            return constant(operand.value, bits)
        if type(operand) is FloatImm:
            return constant(float_bits(operand, bits), bits)
        if type(operand) is Not:
            return self.op(f"xor i1 {self.read(operand.item, 1)}, true")
        if type(operand) is Special:
            value, width = self.special(operand)
            return self.resize(value, width, bits, signed)
        if type(operand) is Sym:
            return self.resize(self.address_of(operand), 64, bits)
        raise PtxError("an operand must be a value")

    def read_address(self, operand) -> str:
        """An address as an i64: a register of 32 bits may have one of shared memory."""
        if type(operand) is Reg:
            return self.resize(self.read_reg(operand), operand.bits, 64)
        return self.read(operand, 64)

    def set_widths(self, instr: Instr) -> None:
        """Let the next reads and writes be of this instruction."""
        self.takes_wider = bool(instr.traits & WIDER)

    def fits(self, register: Reg, bits: int) -> None:
        """Raise PtxError where a register has not the size of what an instruction reads or writes. PTX ISA 9.4.1"""
        if register.bits < bits or (register.bits > bits and not self.takes_wider):
            raise PtxError(f"`{register.name}` has {register.bits} bits, and {bits} are read or written here")

    def resize(self, value: str, source: int, target: int, signed: bool = False) -> str:
        if source == target:
            return value
        if source > target:
            return self.op(f"trunc i{source} {value} to i{target}")
        return self.op(f"{'sext' if signed else 'zext'} i{source} {value} to i{target}")

    def write(self, operand, value: str, bits: int, signed: bool = False) -> None:
        """Set a register from an i`bits` value, extended where the register is wider."""
        if operand is SINK or (type(operand) is Special and operand.name == "_"):
            return
        if type(operand) is not Reg:
            raise PtxError("a destination must be a register")
        self.fits(operand, bits)
        value = self.resize(value, bits, operand.bits, signed)
        slot = self.slot(operand)
        self.do(f"store i{operand.bits} {value}, ptr {slot}")
        self.values[slot] = value
        self.written.add(slot)

    # ** floats

    def read_float(self, operand, kind: str) -> str:
        """An operand as the LLVM float type of f16, f32 or f64."""
        bits = TYPE_BITS[kind]
        return self.op(f"bitcast i{bits} {self.read(operand, bits)} to {LLVM_FLOAT[kind]}")

    def bits_of(self, value: str, kind: str) -> str:
        return self.op(f"bitcast {LLVM_FLOAT[kind]} {value} to i{TYPE_BITS[kind]}")

    # ** addresses

    def address_of(self, symbol: Sym) -> str:
        """A variable's address in its own space, as i64: shared and local are offsets, the others host addresses."""
        name = symbol.name
        if name in self.frame.params:
            pointer, _ = self.frame.params[name]
            base = self.op(f"ptrtoint ptr {pointer} to i64")
            return self.add(base, symbol.offset, "i64") if symbol.offset else base
        row = self.places.rows.get((self.frame.function.name, name)) or self.places.rows.get(name)
        if row is None:
            raise PtxError(f"`{name}` is not declared")
        space, offset = row
        if space in ("shared", "local"):
            return str(offset + symbol.offset)
        return self.add(self.load("variables", constant=True), offset + symbol.offset, "i64")

    def space_of(self, symbol: Sym) -> str | None:
        """The state space a symbol was declared in, None for what is not a variable."""
        if symbol.name in self.frame.params:
            return "param"
        row = self.places.rows.get((self.frame.function.name, symbol.name)) or self.places.rows.get(symbol.name)
        return row[0] if row else None

    def address(self, operand: Addr) -> str:
        """The i64 value of `[base + offset]`."""
        base = operand.base
        if isinstance(base, Imm):
            return constant(base.value + operand.offset, 64)
        if isinstance(base, Sym):
            return self.address_of(Sym(base.name, base.offset + operand.offset))
        value = self.read_address(base)
        if operand.offset:
            if isinstance(base, Reg) and base.bits == 32:
                narrow = self.add(self.read(base, 32), constant(operand.offset, 32))
                return self.resize(narrow, 32, 64)
            return self.add(value, operand.offset, "i64")
        return value

    def linear_pointer(self, instr: Instr, operand: Addr, space: str, size_bytes: int) -> str | None:
        """A pointer for an access that has been checked for all threads at once; None where each must check."""
        return None

    def one_place(self, instr: Instr, operand: Addr, space: str) -> bool:
        """Whether an update runs for many threads at once, which all go to one address; before_threads and
        after_threads are then contexts for code round them."""
        return False

    def before_threads(self) -> AbstractContextManager[None]:
        """The place of code that runs once before the threads of a region."""
        raise NotImplementedError

    def after_threads(self) -> AbstractContextManager[None]:
        """The place of code that runs once after them."""
        raise NotImplementedError

    # ** what checkers want to know: see checked.py. Nothing, unless a kernel is checked.

    def accessed(self, instr: Instr, pointer: str, space: str, size_bytes: int, kind: int | None = None) -> str:
        """`instr` touches `size_bytes` at a host pointer, now; `kind` (check/access.py) where its opcode does not tell.
        Returns where a load is to read.

        `memory.host_address` calls it for every address it checks; call it for memory that is touched in another way.
        """
        return pointer

    def check_of_rows(self, instr: Instr) -> tuple[str, int]:
        """The site of an instruction that writes rows of a tile, plus 1, and the kind of the access: its C++ looks for
        races when it writes. (0, 0): it does not."""
        return "0", 0

    def rows_written(self, is_right: str) -> None:
        """The same has ended; the address of whether the row of this lane is part of no race, as u32."""

    def reached(self, label: str) -> None:
        """A thread comes by a label."""

    def copied(self, instr: Instr, pointer: str, size_bytes: int) -> None:
        """`instr` writes bytes at a host pointer at some time until the thread waits for them."""

    def ordered(self, what: int, a: str = "0", b: str = "0") -> None:
        """The thread meets others in a way that orders memory: `what` is one of context.ORDER_..., a and b are i64."""

    # ** predefined registers: PTX ISA chapter 10

    def special(self, operand: Special) -> tuple[str, int]:
        """The value and width of a predefined register."""
        return read_special(self, operand.name)

    # ** inlining

    def param_slots(self, variables: dict[str, Variable]) -> None:
        """Stack slots for the .param variables of the current function body."""
        for variable in variables.values():
            if variable.space == "param":
                align = min(max(variable.align, 8), 128)
                size = max(variable.size, 1)
                self.stack_bytes += size
                if size > MAX_PARAM_BYTES or self.stack_bytes > MAX_STACK_BYTES:
                    raise PtxError(
                        f"`{variable.name}`: .param variables of {self.stack_bytes} bytes are too large", variable.line
                    )
                pointer = self.alloca(f"[{size} x i8]", align)
                self.prologue.append(f"  call void @llvm.memset.p0.i64(ptr {pointer}, i8 0, i64 {size}, i1 false)")
                self.frame.params[variable.name] = (pointer, variable.size)

    def label(self, name: str) -> str:
        return f'"{name}.{self.frame.number}"'


def constant(value: int, bits: int) -> str:
    """An integer as LLVM writes it: signed decimal; i1 as 0 or 1."""
    value &= (1 << bits) - 1
    if bits > 1 and value >> (bits - 1):
        value -= 1 << bits
    return str(value)


def kinds_of(space: str) -> int:
    """The interval kinds an access in a state space may touch."""
    return {
        "generic": context.GENERIC,
        "global": context.GLOBAL,
        "const": context.CONST | context.GLOBAL,
        "param": context.PARAM,
        "shared": context.SHARED,
        "cluster": context.SHARED,
        "local": context.LOCAL,
        "multicast": context.MULTIMEM,
    }[space]
