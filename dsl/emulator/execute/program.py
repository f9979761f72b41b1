"""A loaded PTX module: its entries, where its variables live, and its machine code, made on first use."""

from __future__ import annotations

import functools
import hashlib
import linecache
import os
import tempfile
import threading
from collections import defaultdict
from collections.abc import Callable, Iterable, Sequence
from typing import TYPE_CHECKING, Any

from dsl import gpu_models
from dsl.emulator.execute import heap, object_code
from dsl.emulator.execute.code import Code, Entry, Param
from dsl.emulator.execute.variables import Variables
from dsl.emulator.machine.memory import Allocation
from dsl.emulator.machine.numbers import Repeat
from dsl.emulator.tensor_core import tensor_core
from dsl.emulator.tensor_core.tensor_core import DEFAULT_GPU_MODEL
from dsl.span import Span

if TYPE_CHECKING:
    from dsl.emulator.execute.compilation import Compiler
    from dsl.emulator.families.removal import Position, Step
    from dsl.emulator.ptx.syntax import Instr, Module

QUICK_THREADS = 1 << 14  # launches of fewer threads are compiled quickly, a fifth of the time, and run slower
QUICK_WORK = 1 << 23  # and without loops launches of fewer PTX instructions in all
OPTIMISE_AFTER = 4  # times the seconds that quick compiling took


_STORED = (
    "calls",
    "uses",
    "size",
    "loops",
    "spins",
    "in_turn",
    "compile_s",
    "checks",
    "race_shift",
    "order_kinds",
    "ranks",
)


class Program:
    """A PTX module whose .global and .const variables live as long as it does.

    `refused` names the entries that have, or call, an instruction that is not supported: they raise when used.
    """

    refused: frozenset[str]

    def __init__(self, ptx: str, gpu_model: str = DEFAULT_GPU_MODEL):
        self._begin(ptx, gpu_model)
        self._read()

    def _read(self) -> None:
        """Take entries and variables from the parsed text."""
        from dsl.emulator.execute import compilation  # noqa: PLC0415

        self.files = self.module.files
        _keep_temporary(self.files.values())
        self._variables = Variables(compilation.variables_of(self.module))
        functions = [each for each in self.module.functions.values() if each.is_entry]
        self.entries = {each.name: self._compiler.entry(each) for each in functions}
        self.refused = frozenset(name for name in self.entries if not self._compiler.supports(name))

    def _begin(self, ptx: str, gpu_model: str) -> None:
        self.ptx, self.gpu_model, self.tensor_core = ptx, gpu_model, tensor_core.of_gpu(gpu_model)
        self.limits = gpu_models.limits_of(gpu_model)
        self.sha256, self.uses_heap = _digest(ptx, gpu_model), "malloc" in ptx
        self._code: dict[tuple[str, bool, tuple], Code] = {}
        self._seeded: dict[tuple[str, tuple], Code] = {}
        self._lock = threading.Lock()
        self.seen: dict[str, int] = defaultdict(int)  # of each entry, what its launches were seen to do
        self.launched: set[tuple] = set()  # shapes of launches that were found right
        self.repeats: dict[tuple, Repeat] = {}  # by shape and memory: how machine code makes a launch again

    @functools.cached_property
    def module(self) -> Module:
        """The parsed text."""
        from dsl.emulator.families import table as isa  # noqa: PLC0415
        from dsl.emulator.ptx.parse import parse  # noqa: PLC0415

        return isa.prepare(parse(self.ptx))

    @functools.cached_property
    def _compiler(self) -> Compiler:
        from dsl.emulator.execute.compilation import Compiler  # noqa: PLC0415

        return Compiler(self.module, self._variables.offsets, self.tensor_core, self.place_of)

    # ** as bytes

    def object_bytes(self) -> bytes:
        """This program with the machine code it has by now, for `from_object` in another process.

        An entry that was never launched is compiled as for a large launch. The state of its variables is not kept.
        """
        for name in self.entries.keys() - self.refused - {name for name, *_ in self._code}:
            self.code(name, QUICK_WORK)
        codes = dict(self._code)
        header = {
            "ptx": self.ptx,
            "gpu_model": self.gpu_model,
            "files": list(self.files.items()),
            "refused": sorted(self.refused),
            "variables": [object_code.variable_row(row) for row in self._variables.rows],
            "entries": [
                [e.name, [[p.name, p.size_bytes, p.align_bytes] for p in e.params], e.static_smem_bytes, e.reqntid,
                 e.cluster, e.most_cluster, e.maxntid]
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
        return object_code.pack(header, blobs)

    @classmethod
    def from_object(cls, data: bytes) -> Program:
        """The program that gave these bytes, its variables as at the start. Raises BadObject."""
        header, blobs = object_code.unpack(data)
        self = cls.__new__(cls)
        self._begin(header["ptx"], header["gpu_model"])
        self.files, self.refused = dict(header["files"]), frozenset(header["refused"])
        self._variables = Variables([object_code.variable_of(row) for row in header["variables"]])
        self.entries = {
            name: Entry(
                name,
                tuple(Param(*p) for p in params),
                smem_bytes,
                _shape(reqntid),
                _shape(cluster),
                most,
                _shape(maxntid),
            )
            for name, params, smem_bytes, reqntid, cluster, most, maxntid in header["entries"]
        }
        for i, (name, quick, checks, stored, sites, places) in enumerate(header["codes"]):
            tables = {"sites": [object_code.site_of(row) for row in sites], "places": object_code.places_of(places)}
            self._code[name, quick, tuple(checks)] = Code(blobs[f"code:{i}"], blobs[f"cold:{i}"], **tables, **stored)
        return self

    @property
    def compiled(self) -> frozenset:
        """The kinds of machine code that exist: (entry, whether compiled quickly, what it checks)."""
        return frozenset(self._code)

    # ** what launches and reports ask

    def place_of(self, loc: tuple | None) -> Span | None:
        """The author's place of a .loc (file, line, column)."""
        if loc is None or loc[1] == 0 or loc[0] not in self.files:
            return None
        column = max(loc[2], 1)
        return Span(self.files[loc[0]], loc[1], column, loc[1], column + 1)

    def frames_of(self, instr: Instr) -> list[Span]:
        """The places of an instruction and of the calls that led to it, the innermost first."""
        return [place for loc in (instr.loc, *instr.callers) if (place := self.place_of(loc))]

    @functools.cached_property
    def letting_next_begin(self) -> frozenset[str]:
        """The kernels that may let the launch after them begin: by griddepcontrol.launch_dependents."""
        if "griddepcontrol.launch_dependents" not in self.ptx:
            return frozenset()
        from dsl.emulator.ptx.analysis import reachable  # noqa: PLC0415
        from dsl.emulator.ptx.syntax import Instr  # noqa: PLC0415

        def may(entry: str) -> bool:
            functions = reachable(self.module, self.module.functions[entry])
            items = (item for function in functions for item in function.items if isinstance(item, Instr))
            return any("launch_dependents" in item.mods for item in items)

        return frozenset(filter(may, self.entries))

    def order_dependences(self, entry: str) -> dict[str, bool]:
        """Why the effect of an entry depends on the order of its threads, by the author's lines; and of each whether
        it is a peek (families/order_dependence.py)."""
        from dsl.emulator.families.order_dependence import dependences  # noqa: PLC0415

        functions = self.module.functions
        rows = [*dependences(functions[entry], functions)]
        return {f"{self._told_place(one.instr)}: {one.why}": one.is_peek for one in rows}

    def edited(self, *edits: Callable[[Module], None]) -> Program:
        """The same program with changes of its parsed text. Its variables start afresh."""
        other = Program.__new__(Program)
        other._begin(self.ptx, self.gpu_model)
        for edit in edits:
            edit(other.module)
        other._read()
        return other

    def with_failing_peeks(self) -> Program:
        """The same program, in which each peek at an mbarrier fails. Its variables start afresh."""
        from dsl.emulator.families.order_dependence import fail_peeks  # noqa: PLC0415

        return self.edited(fail_peeks)

    def steps(self, entry: str) -> list[Step]:
        """The instructions of an entry that do nothing but order threads (families/removal.py)."""
        from dsl.emulator.families.removal import steps  # noqa: PLC0415

        return list(steps(self.module, entry))

    def without(self, positions: Sequence[Position], trapped: bool = False, peeks_fail: bool = False) -> Program:
        """The same program, with the same variables, without these instructions, or with traps in their places."""
        from dsl.emulator.families import order_dependence, removal  # noqa: PLC0415

        edit = functools.partial(removal.trap if trapped else removal.remove, positions=positions)
        other = self.edited(edit, *([order_dependence.fail_peeks] if peeks_fail else []))
        other._variables = self._variables
        return other

    def _told_place(self, instr: Instr) -> str:
        """`path:line: atom.add`, of the author's line or of the PTX."""
        place, name = self.place_of(instr.loc), ".".join((instr.opcode, *instr.mods))
        return f"{os.path.relpath(place.file)}:{place.line}: `{name}`" if place else f"PTX line {instr.line}: `{name}`"

    def shared_places(self, entry_name: str) -> dict[Any, tuple[int, int]]:
        """Offset and size of the shared variables of an entry (compilation.shared_places)."""
        from dsl.emulator.execute.compilation import shared_places  # noqa: PLC0415

        return shared_places(self.module, self.module.functions[entry_name])[0]

    def allocations(self) -> list[Allocation]:
        """The module's own variables, and the heap of device code, for bounds checks."""
        return self._variables.allocations + heap.allocations(self.uses_heap)

    @property
    def variables_address(self) -> int:
        return self._variables.address

    def code(self, entry_name: str, threads: int, checks: tuple[str, ...] = ()) -> Code:
        """Machine code of an entry for a launch of `threads`, compiled on first use. Raises PtxError, Unsupported.

        `checks` names what it looks for (checked.CHECKS).
        Quick code that has run for longer than optimising it is likely to take gives way.
        """
        with self._lock:
            quick = self._code.get((entry_name, True, checks))
            small = self._few(entry_name, quick, threads)
            small = small and (quick is None or quick.ran_s < OPTIMISE_AFTER * quick.compile_s)
            code = self._code.get((entry_name, False, checks)) or (quick if small else None)
            if code is None:
                code = self._code[entry_name, small, checks] = self._compiler.code(entry_name, small, checks)
            if not code.block:
                code.link()
            return code

    def seeded_code(self, entry_name: str, checks: tuple[str, ...] = ()) -> Code:
        """Machine code of an entry for launches with a seed, compiled on first use. Raises PtxError, Unsupported."""
        with self._lock:
            code = self._seeded.get((entry_name, checks))
            if code is None:
                code = self._seeded[entry_name, checks] = self._compiler.seeded_code(entry_name, checks)
                code.link()
            return code

    def _few(self, entry_name: str, quick: Code | None, threads: int) -> bool:
        """Whether a launch is so small that quick code is worth it."""
        if threads < QUICK_THREADS:
            return True
        size, loops = self._compiler.work(entry_name) if quick is None else (quick.size, quick.loops)
        return not loops and size * threads < QUICK_WORK

    def llvm_ir(self, entry_name: str, quick: bool = True) -> str:
        """The LLVM IR text of an entry, before optimisation."""
        return self._compiler.source(entry_name, quick)[1]


def _shape(row: list[int] | None) -> tuple[int, int, int] | None:
    return (row[0], row[1], row[2]) if row else None


def _keep_temporary(files: Iterable[str]) -> None:
    """Read the sources in the folder for temporary files: cuda.core deletes the one of a kernel with its Program, and
    findings show lines of it later."""
    for file in files:
        if file.startswith(tempfile.gettempdir() + os.sep) and os.path.exists(file):
            linecache.checkcache(file)
            linecache.getlines(file)


_programs: dict[str, Program] = {}
CACHED_PROGRAMS = 256


def load(ptx: str, stored: Callable[[], bytes | None] = lambda: None, gpu_model: str = DEFAULT_GPU_MODEL) -> Program:
    """Parse a PTX module. Raises PtxError, ValueError for an unknown GPU model, and Unsupported (opcode, PTX line,
    author's place) for a directive; for an instruction the launch of its entry raises that. The same text is loaded
    once if it has no variables that have to start afresh. `stored` may have its `object_bytes`."""
    key = _digest(ptx, gpu_model)
    program = _programs.get(key)
    if program is None:
        program = _of_bytes(stored()) or Program(ptx, gpu_model)
        if not program._variables.allocations:
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
