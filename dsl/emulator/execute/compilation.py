"""From PTX text to machine code: what of it the emulator runs, and each entry as threads or regions, through LLVM.

Imported when there is text to compile: a process that finds its machine code on disk does without. Regions are
imported for a large launch, and checks for a checked one: the first launch of most processes is neither.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

from dsl.emulator.execute.code import Code, Entry, Param
from dsl.emulator.ir.places import RESERVED, RESERVED_BYTES, Places
from dsl.emulator.machine import native
from dsl.emulator.ptx.analysis import has_loops, order_matters, reachable
from dsl.emulator.ptx.syntax import Function, Instr, Module, PtxError, Special, Sym, Unsupported, Variable
from dsl.emulator.tensor_core.tensor_core import TensorCore
from dsl.emulator.translate.coroutine import Thread
from dsl.span import Span

LARGE_INSTRUCTIONS = 20_000  # beyond this O1 is used: compile time grows faster than it pays
MAX_LOCAL_BYTES = 512 * 1024  # a thread; CUDA guide, compute capabilities
PlaceOf = Callable[[tuple | None], Span | None]  # the author's place of a .loc


def variables_of(module: Module) -> list[Variable]:
    """The .global and .const variables of a module and of its functions."""
    owners = (module, *module.functions.values())
    return [each for owner in owners for each in owner.variables.values() if each.space in ("global", "const")]


class Compiler:
    """Makes the machine code of a module's entries. `offsets`: of its .global and .const variables, by name."""

    def __init__(self, module: Module, offsets: dict[str, int], core: TensorCore, place_of: PlaceOf):
        self.module, self.place_of = module, place_of
        self._offsets, self._core = offsets, core
        self._sources: dict[tuple[str, bool], tuple[Thread, str]] = {}

    def _places(self, entry: Function) -> Places:
        return _places(self.module, entry, self._offsets, self._core)

    def work(self, entry_name: str) -> tuple[int, bool]:
        """How many instructions an entry has, and whether it has loops."""
        functions = reachable(self.module, self.module.functions[entry_name])
        return sum(len(function.items) for function in functions), any(map(has_loops, functions))

    def seeded_code(self, entry_name: str, checks: tuple[str, ...] = ()) -> Code:
        """As `code`, for launches with a seed."""
        function = self.module.functions[entry_name]
        places = self._places(function)
        if checks:
            from dsl.emulator.translate.checked import Checked  # noqa: PLC0415

            thread = Checked(self.module, function, places, self.place_of, checks, seeded=True)
        else:
            thread = Thread(self.module, function, places, self.place_of, seeded=True)
        return self._made(thread, thread.module_text(), True)

    def entry(self, function: Function) -> Entry:
        """The facts that a launch needs about a kernel."""
        places = self._places(function)
        params = tuple(Param(p.name, p.size, p.align) for p in function.params)
        limits = function.reqntid, function.cluster, function.most_cluster, function.maxntid
        static = places.smem_static - (RESERVED_BYTES if RESERVED in places.rows else 0)
        return Entry(function.name, params, static, *limits)

    def supports(self, entry_name: str) -> bool:
        """Whether an entry and the functions it calls have only instructions that run. Raises PtxError."""
        try:
            self.source(entry_name)
        except Unsupported:
            return False
        return True

    def source(self, entry_name: str, quick: bool = True) -> tuple[Thread, str]:
        """The entry as IR: regions, where they are faster and may be compiled with care, else threads.
        Raises PtxError, Unsupported."""
        source = self._sources.get((entry_name, quick))
        if source is None:
            function = self.module.functions[entry_name]
            places = self._places(function)
            plan = None
            if not quick:
                from dsl.emulator.translate.region_code import RegionCode  # noqa: PLC0415
                from dsl.emulator.translate.uniform_branches import plan_of  # noqa: PLC0415

                thread, _ = self.source(entry_name)
                plan = plan_of(function, thread.coroutine, thread.spins)
            if plan is not None:
                thread = RegionCode(self.module, plan.function, places, self.place_of, plan)
            elif quick or not thread.coroutine:
                thread = Thread(self.module, function, places, self.place_of, quick=quick)
            else:
                return self.source(entry_name)  # the same text
            source = thread, thread.module_text()
            self._sources[entry_name, quick] = source
        return source

    def code(self, entry_name: str, quick: bool, checks: tuple[str, ...] = ()) -> Code:
        """Machine code of an entry; `checks` names what it looks for. Raises PtxError."""
        if checks:
            from dsl.emulator.translate.checked import Checked  # noqa: PLC0415
            from dsl.emulator.translate.traced import Traced  # noqa: PLC0415

            function = self.module.functions[entry_name]
            places = self._places(function)
            if frozenset(checks) == Traced.checks:
                thread = Traced(self.module, function, places, self.place_of)
            else:
                thread = Checked(self.module, function, places, self.place_of, checks)
            return self._made(thread, thread.module_text(), quick)
        return self._made(*self.source(entry_name, quick), quick)

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
                f"`{thread.entry.name}` has an instruction whose operand types do not fit: {error}", thread.entry.line
            ) from error
        checks: list[str] = sorted(getattr(thread, "checks", ()))
        calls = native.called(text + thread.cold_text)
        return Code(
            code, cold, calls, thread.sites, sorted(thread.uses), thread.places, size, any(map(has_loops, functions)),
            thread.spins, any(map(order_matters, functions)), time.perf_counter() - start, checks,
            getattr(thread, "race_shift", 0), getattr(thread, "order_kinds", 0), getattr(thread, "ranks", []),
        )  # fmt: skip


def _aligned(offset: int, align: int) -> int:
    return -(-offset // align) * align


def _places(module: Module, entry: Function, offsets: dict[str, int], core: TensorCore) -> Places:
    """Offsets of parameters, shared, local and module variables for one entry."""
    constants = (each for each in variables_of(module) if each.space == "const")
    const_bytes = max((offsets[each.name] + each.size for each in constants), default=0)
    places = Places(tensor_core=core, const_bytes=const_bytes)
    for param in entry.params:
        places.param_bytes = _aligned(places.param_bytes, max(param.align, 1))
        places.param_offsets.append(places.param_bytes)
        places.param_bytes += param.size
    functions = reachable(module, entry)
    local = []
    for function in functions:
        for variable in function.variables.values():
            row = ((function.name, variable.name), variable)
            if variable.space == "local":
                local.append(row)
            elif variable.space in ("global", "const"):
                places.rows[row[0]] = (variable.space, offsets[variable.name])
    shared, places.smem_static = shared_places(module, entry)
    places.rows |= {name: ("shared", offset) for name, (offset, _) in shared.items()}
    for name, variable in local:
        places.local_bytes = _aligned(places.local_bytes, max(variable.align, 1))
        places.rows[name] = ("local", places.local_bytes)
        places.local_bytes += variable.size
    places.local_bytes = _aligned(places.local_bytes, 16)
    if places.local_bytes > MAX_LOCAL_BYTES:
        raise PtxError(
            f"`{entry.name}` has {places.local_bytes} bytes of .local a thread; 512 KiB is the most", entry.line
        )
    for variable in module.variables.values():
        if variable.space in ("global", "const"):
            places.rows[variable.name] = (variable.space, offsets[variable.name])
    return places


def shared_places(module: Module, entry: Function) -> tuple[dict[Any, tuple[int, int]], int]:
    """Offset and size of the shared variables for one entry, by the name or the function and the name; the bytes before
    dynamic memory, which has size 0 here. The system's memory is one of them where the kernel asks for it."""
    functions = reachable(module, entry)
    used = {name for function in functions for name in _symbols(function)}
    shared: list[tuple[Any, Variable]] = [
        (v.name, v) for v in module.variables.values() if v.space == "shared" and v.name in used
    ]
    for function in functions:
        shared += [((function.name, v.name), v) for v in function.variables.values() if v.space == "shared"]
    rows, end = {}, 0
    for name, variable in shared:
        if variable.size:
            offset = _aligned(end, max(variable.align, 1))
            rows[name], end = (offset, variable.size), offset + variable.size
    if any(map(_asks_for_reserved, functions)):
        offset = _aligned(end, 16)
        rows[RESERVED], end = (offset, RESERVED_BYTES), offset + RESERVED_BYTES
    dynamic = [(name, v) for name, v in shared if not v.size]
    if dynamic:
        end = _aligned(end, max(16, *(v.align for _, v in dynamic)))
    return rows | {name: (end, 0) for name, _ in dynamic}, end


def _asks_for_reserved(function: Function) -> bool:
    """Whether it reads where the system's shared memory is."""
    operands = (each for item in function.items if isinstance(item, Instr) for each in item.operands)
    return any(isinstance(each, Special) and each.name.startswith("%reserved_smem") for each in operands)


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
