"""A loaded PTX module: its entries, where its variables live, and its machine code, made on first use."""

from __future__ import annotations

import ctypes
import functools
import hashlib
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from dsl.emulator import context, native
from dsl.emulator.emit import isa
from dsl.emulator.emit.body import Places
from dsl.emulator.execute import object_code
from dsl.emulator.ptx.analysis import has_loops, loops, order_matters, reachable
from dsl.emulator.ptx.parse import parse
from dsl.emulator.ptx.syntax import Function, Instr, Module, PtxError, Sym, Unsupported, Variable
from dsl.emulator.runtime import tensor_core
from dsl.emulator.runtime.memory import Allocation
from dsl.emulator.runtime.relaunch import Repeat
from dsl.emulator.runtime.tensor_core import DEFAULT_GPU_MODEL, TensorCore
from dsl.emulator.translate.checked import Checked
from dsl.emulator.translate.coroutine import Thread
from dsl.emulator.translate.region_code import RegionCode
from dsl.emulator.translate.uniform_branches import plan_of
from dsl.span import Span

LARGE_INSTRUCTIONS = 20_000  # beyond this O1 is used: compile time grows faster than it pays
MAX_LOCAL_BYTES = 512 * 1024  # a thread; CUDA guide, compute capabilities
QUICK_THREADS = 1 << 14  # launches of fewer threads are compiled quickly, a fifth of the time, and run slower
QUICK_WORK = 1 << 23  # and without loops launches of fewer PTX instructions in all
OPTIMISE_AFTER = 4  # times the seconds that quick compiling took


@dataclass(frozen=True, slots=True)
class Param:
    """One .param of an entry."""

    name: str
    size_bytes: int
    align_bytes: int


@dataclass(frozen=True, slots=True)
class Entry:
    """What a launch has to know of a kernel; `reqntid` is the block shape it demands, or None, `cluster` that of its
    clusters, `most_cluster` their most blocks."""

    name: str
    params: tuple[Param, ...]
    static_smem_bytes: int
    reqntid: tuple[int, int, int] | None
    cluster: tuple[int, int, int] | None = None
    most_cluster: int | None = None


@dataclass(slots=True)
class Code:
    """The machine code of one entry, and by site number its instructions. `block` is 0 until it is linked."""

    object: bytes
    cold: bytes  # what `object` seldom calls, or nothing
    parts: list[str]  # of the runtime, which it calls
    sites: list[Instr]
    uses: list[str]
    places: Places
    size: int  # PTX instructions
    loops: bool
    spins: bool
    in_turn: bool
    compile_s: float
    checks: list[str]
    race_shift: int  # see check/access.py
    order_kinds: int
    block: int = 0
    tracker: Any = None
    ran_s: float = 0.0  # seconds of its launches until now
    last_s: float = 0.0  # of the last one

    @property
    def meets(self) -> bool:
        """Whether its threads are coroutines that a scheduler runs."""
        return "meetings" in self.parts

    @property
    def prints(self) -> bool:
        """Whether it calls the host, to print or for a failed assertion."""
        return "print" in self.uses

    def link(self) -> None:
        """Bring it into this process."""
        imports = dict(native.libm())
        for part in self.parts:
            imports.update(native.runtime(part))
        self.tracker = native.link([self.object, self.cold] if self.cold else [self.object], ["block"], imports)
        self.block = self.tracker["block"]


_STORED = ("parts", "uses", "size", "loops", "spins", "in_turn", "compile_s", "checks", "race_shift", "order_kinds")


class Program:
    """A PTX module whose .global and .const variables live as long as it does."""

    def __init__(self, ptx: str, gpu_model: str = DEFAULT_GPU_MODEL):
        self._begin(ptx, gpu_model)
        self.files = self.module.files
        self._check_instructions()
        rows = [v for v in self.module.variables.values() if v.space in ("global", "const")]
        for function in self.module.functions.values():
            rows += [v for v in function.variables.values() if v.space in ("global", "const")]
        self._variables = _Variables(rows)
        self.entries = {f.name: self._entry(f) for f in self.module.functions.values() if f.is_entry}
        for name in self.entries:
            self._source(name)  # refuses what cannot run

    def _begin(self, ptx: str, gpu_model: str) -> None:
        self.ptx, self.gpu_model, self.tensor_core = ptx, gpu_model, tensor_core.of_gpu(gpu_model)
        self.sha256 = _digest(ptx, gpu_model)
        self._code: dict[tuple[str, bool, tuple], Code] = {}
        self._seeded: dict[tuple[str, tuple], Code] = {}
        self._lock = threading.Lock()
        self._sources: dict[tuple[str, bool], tuple[Thread, str]] = {}
        self.shuffled_absent: set[str] = set()  # entries in which a shuffle read a lane that took no part
        self.launched: set[tuple] = set()  # shapes of launches that were found right
        self.repeats: dict[tuple, Repeat] = {}  # by shape and memory: how machine code makes a launch again

    @functools.cached_property
    def module(self) -> Module:
        """The parsed text."""
        return parse(self.ptx)

    # ** as bytes

    def object_bytes(self) -> bytes:
        """This program with the machine code it has by now, for `from_object` in another process.

        An entry that was never launched is compiled as for a large launch. The state of its variables is not kept.
        """
        for name in self.entries.keys() - {name for name, *_ in self._code}:
            self.code(name, QUICK_WORK)
        codes = dict(self._code)
        header = {
            "ptx": self.ptx,
            "gpu_model": self.gpu_model,
            "files": list(self.files.items()),
            "variables": [object_code.variable_row(row) for row in self._variables.rows],
            "entries": [
                [e.name, [[p.name, p.size_bytes, p.align_bytes] for p in e.params], e.static_smem_bytes, e.reqntid,
                 e.cluster, e.most_cluster]
                for e in self.entries.values()
            ],
            "codes": [
                [name, quick, checks, {key: getattr(code, key) for key in _STORED},
                 list(map(object_code.site_row, code.sites)), object_code.places_row(code.places)]
                for (name, quick, checks), code in codes.items()
            ],
        }  # fmt: skip
        blobs = {f"code:{i}": code.object for i, code in enumerate(codes.values())}
        blobs |= {f"cold:{i}": code.cold for i, code in enumerate(codes.values())}
        for part in dict.fromkeys(part for code in codes.values() for part in code.parts):
            blobs[f"runtime:{part}"] = native.runtime_object(part)
        return object_code.pack(header, blobs)

    @classmethod
    def from_object(cls, data: bytes) -> Program:
        """The program that gave these bytes, its variables as at the start. Raises objects.BadObject."""
        header, blobs = object_code.unpack(data)
        object_code.keep_runtime(blobs)
        self = cls.__new__(cls)
        self._begin(header["ptx"], header["gpu_model"])
        self.files = dict(header["files"])
        self._variables = _Variables([object_code.variable_of(row) for row in header["variables"]])
        self.entries = {
            name: Entry(name, tuple(Param(*p) for p in params), smem_bytes, _shape(reqntid), _shape(cluster), most)
            for name, params, smem_bytes, reqntid, cluster, most in header["entries"]
        }
        for i, (name, quick, checks, stored, sites, places) in enumerate(header["codes"]):
            tables = {"sites": [object_code.site_of(row) for row in sites], "places": object_code.places_of(places)}
            self._code[name, quick, tuple(checks)] = Code(blobs[f"code:{i}"], blobs[f"cold:{i}"], **tables, **stored)
        return self

    @property
    def compiled(self) -> frozenset:
        """What has machine code: (entry, whether compiled quickly, what it checks) each."""
        return frozenset(self._code)

    # ** what launches and reports ask

    def place_of(self, loc: tuple | None) -> Span | None:
        """The author's place of a .loc (file, line, column)."""
        if loc is None or loc[1] == 0 or loc[0] not in self.files:
            return None
        column = max(loc[2], 1)
        return Span(self.files[loc[0]], loc[1], column, loc[1], column + 1)

    def allocations(self) -> list[Allocation]:
        """The module's own variables, for bounds checks."""
        return self._variables.allocations

    @property
    def variables_address(self) -> int:
        return self._variables.address

    def code(self, entry_name: str, threads: int, checks: tuple[str, ...] = ()) -> Code:
        """Machine code of an entry for a launch of `threads`, compiled on first use. Raises PtxError.

        `checks` names what it looks for (checked.CHECKS).
        Quick code that has run for longer than optimising it is likely to take gives way.
        """
        with self._lock:
            quick = self._code.get((entry_name, True, checks))
            small = self._few(entry_name, quick, threads)
            small = small and (quick is None or quick.ran_s < OPTIMISE_AFTER * quick.compile_s)
            code = self._code.get((entry_name, False, checks)) or (quick if small else None)
            if code is None:
                code = self._code[entry_name, small, checks] = self._compile(entry_name, small, checks)
            if not code.block:
                code.link()
            return code

    def seeded_code(self, entry_name: str, checks: tuple[str, ...] = ()) -> Code:
        """Machine code of an entry for launches with a seed, compiled on first use. Raises PtxError."""
        with self._lock:
            code = self._seeded.get((entry_name, checks))
            if code is None:
                function = self.module.functions[entry_name]
                places = _places(self.module, function, self._variables, self.tensor_core)
                if checks:
                    thread = Checked(self.module, function, places, self.place_of, checks, seeded=True)
                else:
                    thread = Thread(self.module, function, places, self.place_of, seeded=True)
                code = self._seeded[entry_name, checks] = self._made(thread, thread.module_text(), True)
                code.link()
            return code

    def _few(self, entry_name: str, quick: Code | None, threads: int) -> bool:
        """Whether a launch is so small that quick code is worth it."""
        if threads < QUICK_THREADS:
            return True
        if quick is not None:
            size, repeats = quick.size, quick.loops
        else:
            functions = reachable(self.module, self.module.functions[entry_name])
            size, repeats = sum(len(f.items) for f in functions), any(map(has_loops, functions))
        return not repeats and size * threads < QUICK_WORK

    def llvm_ir(self, entry_name: str, quick: bool = True) -> str:
        """The LLVM IR text of an entry, before optimisation."""
        return self._source(entry_name, quick)[1]

    # ** making it

    def _check_instructions(self) -> None:
        for function in self.module.functions.values():
            for item in function.items:
                if isinstance(item, Instr) and isa.find(item) is None:
                    has_row = item.opcode in isa.ROWS
                    why = "the emulator does not support this form" if has_row else ""
                    raise Unsupported(item.name, item.line, self.place_of(item.loc), why, item.text)

    def _entry(self, function: Function) -> Entry:
        places = _places(self.module, function, self._variables, self.tensor_core)
        params = tuple(Param(p.name, p.size, p.align) for p in function.params)
        limits = function.reqntid, function.cluster, function.most_cluster
        return Entry(function.name, params, places.smem_static, *limits)

    def _source(self, entry_name: str, quick: bool = True) -> tuple[Thread, str]:
        """The entry as IR: regions, where they are faster and may be compiled with care, else threads."""
        source = self._sources.get((entry_name, quick))
        if source is None:
            function = self.module.functions[entry_name]
            places = _places(self.module, function, self._variables, self.tensor_core)
            plan = None
            if not quick:
                thread, _ = self._source(entry_name)
                plan = plan_of(function, loops(function), thread.coroutine)
            if plan is not None:
                thread = RegionCode(self.module, function, places, self.place_of, plan)
            elif quick or not thread.coroutine:
                thread = Thread(self.module, function, places, self.place_of, quick=quick)
            else:
                return self._source(entry_name)  # the same text
            source = thread, thread.module_text()
            self._sources[entry_name, quick] = source
        return source

    def _compile(self, entry_name: str, quick: bool, checks: tuple[str, ...] = ()) -> Code:
        if checks:
            function = self.module.functions[entry_name]
            places = _places(self.module, function, self._variables, self.tensor_core)
            thread = Checked(self.module, function, places, self.place_of, checks)
            return self._made(thread, thread.module_text(), quick)
        return self._made(*self._source(entry_name, quick), quick)

    def _made(self, thread: Thread, text: str, quick: bool) -> Code:
        functions = reachable(self.module, thread.entry)
        size = sum(len(f.items) for f in functions)
        level = native.QUICK if quick else 1 if size > LARGE_INSTRUCTIONS else 2
        start = time.perf_counter()
        try:
            code = native.object_code(text, level)
            cold = native.object_code(thread.cold_text, native.QUICK) if thread.cold_text else b""
        except RuntimeError as error:  # LLVM's reader or verifier: operands that no PTX instruction has
            raise PtxError(
                f"`{thread.entry.name}` has an instruction whose operand types do not fit: {error}"
            ) from error
        parts = ["blocks"] + (["threads", "meetings"] if thread.coroutine else [])
        parts += ["queues"] if "cp.async" in thread.uses else []
        parts += ["bulk"] if "bulk" in thread.uses else []
        parts += ["clusters"] if "cluster" in thread.uses else []
        parts += ["wgmma"] if "wgmma" in thread.uses else []
        parts += ["rounding"] if thread.directed else []
        parts += ["leaving"] if "emu_leave" in thread.uses else []
        checks: list[str] = sorted(getattr(thread, "checks", ()))
        parts += ["checks"] if checks else []
        return Code(
            code, cold, parts, thread.sites, sorted(thread.uses), thread.places, size, any(map(has_loops, functions)),
            thread.spins, any(map(order_matters, functions)), time.perf_counter() - start, checks,
            getattr(thread, "race_shift", 0), getattr(thread, "order_kinds", 0),
        )  # fmt: skip


def _shape(row: list[int] | None) -> tuple[int, int, int] | None:
    return (row[0], row[1], row[2]) if row else None


class _Variables:
    """Host memory of .global and .const variables, initialised."""

    def __init__(self, rows: list[Variable]):
        self.rows = rows
        self.offsets: dict[str, int] = {}
        end = 0
        for variable in rows:
            if variable.extern and not variable.init:
                raise Unsupported(
                    variable.name, 0, why="an .extern variable has no memory: link the module that has it"
                )
            align = max(variable.align, 16)
            end = -(-end // align) * align
            self.offsets[variable.name] = end
            end += variable.size + 16
        self._buffer = ctypes.create_string_buffer(end + 256)
        self.address = (ctypes.addressof(self._buffer) + 255) // 256 * 256
        kinds = {"global": context.GLOBAL, "const": context.CONST}
        self.allocations = [
            Allocation(self.address + self.offsets[v.name], v.size, v.name, kinds[v.space]) for v in rows if v.size
        ]
        for variable in rows:
            self._initialise(variable)

    def _initialise(self, variable: Variable) -> None:
        start = self.address + self.offsets[variable.name]
        for offset, size, value, shift in variable.init:
            if isinstance(value, Sym):
                if value.name not in self.offsets:
                    raise PtxError(
                        f"`{variable.name}` is initialised with the address of `{value.name}`, not a variable"
                    )
                number = self.address + self.offsets[value.name] + value.offset
            else:
                number = value.value
            number = (number >> shift) & ((1 << (8 * size)) - 1)
            if offset + size <= variable.size:
                ctypes.memmove(start + offset, number.to_bytes(size, "little"), size)


def _aligned(offset: int, align: int) -> int:
    return -(-offset // align) * align


def _places(module: Module, entry: Function, variables: _Variables, core: TensorCore) -> Places:
    """Offsets of parameters, shared, local and module variables for one entry."""
    places = Places(tensor_core=core)
    for param in entry.params:
        places.param_bytes = _aligned(places.param_bytes, max(param.align, 1))
        places.param_offsets.append(places.param_bytes)
        places.param_bytes += param.size
    functions = reachable(module, entry)
    used = {name for function in functions for name in _symbols(function)}
    shared = [((v.name), v) for v in module.variables.values() if v.space == "shared" and v.name in used]
    local = []
    for function in functions:
        for variable in function.variables.values():
            row = ((function.name, variable.name), variable)
            if variable.space == "shared":
                shared.append(row)
            elif variable.space == "local":
                local.append(row)
            elif variable.space in ("global", "const"):
                places.rows[row[0]] = (variable.space, variables.offsets[variable.name])
    for name, variable in shared:
        if variable.size:
            places.smem_static = _aligned(places.smem_static, max(variable.align, 1))
            places.rows[name] = ("shared", places.smem_static)
            places.smem_static += variable.size
    dynamic = [(name, v) for name, v in shared if not v.size]
    start = _aligned(places.smem_static, max([16, *(v.align for _, v in dynamic)])) if dynamic else places.smem_static
    for name, _ in dynamic:
        places.rows[name] = ("shared", start)
    places.smem_static = start
    for name, variable in local:
        places.local_bytes = _aligned(places.local_bytes, max(variable.align, 1))
        places.rows[name] = ("local", places.local_bytes)
        places.local_bytes += variable.size
    places.local_bytes = _aligned(places.local_bytes, 16)
    if places.local_bytes > MAX_LOCAL_BYTES:
        raise PtxError(f"`{entry.name}` has {places.local_bytes} bytes of .local a thread; 512 KiB is the most")
    for variable in module.variables.values():
        if variable.space in ("global", "const"):
            places.rows[variable.name] = (variable.space, variables.offsets[variable.name])
    return places


def _symbols(function: Function):
    """Names of the symbols a function's operands mention."""
    for item in function.items:
        if isinstance(item, Instr):
            for operand in item.operands:
                inner = getattr(operand, "base", operand)
                if isinstance(inner, Sym):
                    yield inner.name
                for each in getattr(operand, "items", ()):
                    if isinstance(each, Sym):
                        yield each.name


_programs: dict[str, Program] = {}
CACHED_PROGRAMS = 256


def load(ptx: str, stored: Callable[[], bytes | None] = lambda: None, gpu_model: str = DEFAULT_GPU_MODEL) -> Program:
    """Parse a PTX module. Raises PtxError or Unsupported (opcode, PTX line, author's place), ValueError for an unknown
    GPU model. The same text is loaded once while it has no variables of its own to start afresh. `stored` may have its
    `object_bytes`."""
    key = _digest(ptx, gpu_model)
    program = _programs.get(key)
    if program is None:
        program = _of_bytes(stored()) or Program(ptx, gpu_model)
        if not program.allocations():
            if len(_programs) >= CACHED_PROGRAMS:
                _programs.pop(next(iter(_programs)))
            _programs[key] = program
    return program


def _digest(ptx: str, gpu_model: str) -> str:
    return hashlib.sha256(f"{gpu_model}\0{ptx}".encode()).hexdigest()


def _of_bytes(data: bytes | None) -> Program | None:
    try:
        return Program.from_object(data) if data is not None else None
    except object_code.BadObject:
        return None
