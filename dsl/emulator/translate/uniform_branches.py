"""Which kernels run as loops over threads between uniform branches: the analysis for region_code.py.

A kernel qualifies if every branch is taken by all threads of a block or by none (its predicate derives from
parameters, constants, the block's place and loop counters), except exits, which any thread may take, and branches
with a scope (scopes.py), which the first threads stay in. Its barriers then only part regions of straight code, and a
region is a loop over the threads that LLVM can vectorise.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Collection
from dataclasses import dataclass, field

from dsl.emulator import families
from dsl.emulator.check.ordering import STRONG
from dsl.emulator.ir import affine
from dsl.emulator.ir.affine import FLAT, Linear
from dsl.emulator.ir.body import constant
from dsl.emulator.ir.collective import Collective
from dsl.emulator.ptx.analysis import loops
from dsl.emulator.ptx.known_bits import SetBits
from dsl.emulator.ptx.literals import float_bits
from dsl.emulator.ptx.operands import LEAVES, reads, space_of, writes
from dsl.emulator.ptx.syntax import (
    FLOATS,
    SIGNED,
    TYPE_BITS,
    Addr,
    FloatImm,
    Function,
    Imm,
    Instr,
    Label,
    Not,
    Reg,
    Special,
    Sym,
    Vec,
    type_of,
)
from dsl.emulator.ptx.traits import BARRIER, COMPUTES, CONVERTS, EXCHANGE, LOAD, MOVES, NO_EFFECT, STORE, UPDATES
from dsl.emulator.translate.comparison import BUT_ONE, FIRST, LAST, ONE, ORDERS, OTHERS, Comparison
from dsl.emulator.translate.literal_operands import with_literals
from dsl.emulator.translate.predication import is_short, predicated
from dsl.emulator.translate.scopes import Scope, differing, scopes_of

LARGEST = 5000  # instructions: beyond this two shapes of every region take too long to compile
MOST_COLLECTIVES = 40  # the same: each takes 0.02 s, in a coroutine 0.005 s
MOST_ARRAY_BITS = 8192  # of one thread's registers that live between regions: 1 MiB of stack for 1024 threads

_KNOWN = COMPUTES | CONVERTS | NO_EFFECT | LOAD | STORE | BARRIER | UPDATES
_OWN = ("laneid", "warpid", "lanemask")  # predefined registers that differ between threads, besides tid
_UNKNOWN = ("clock", "globaltimer")

# How an instruction runs: once for the block, as a load once for the block, or once a thread.
ONCE, FETCH, EACH = "once", "fetch", "each"


@functools.cache
def rules(name: str) -> dict[str, Callable]:
    """The rules of this name in the families' analysis.py, by opcode."""
    return {opcode: rule for each in families.named("analysis", name) for opcode, rule in each.items()}


def _transfer(f, instr) -> Linear | None:
    """The form of what `instr` writes to its only destination, where that follows from the forms of what it reads."""
    rule = rules("FORMS").get(instr.opcode)
    if rule is None or not isinstance(instr.operands[0], Reg) or any(isinstance(o, Vec) for o in instr.operands):
        return None
    kind = type_of(instr)
    if kind not in TYPE_BITS or (kind in FLOATS and not instr.traits & MOVES) or kind.endswith("x2"):
        return None
    return rule(f, instr, kind)


class Forms:
    """The linear forms of registers within a region, and how its instructions run.

    `forms` holds what this region knows; a register it lacks is as it came, `incoming(reg)`. None: differs freely.
    """

    plan: Plan
    parameters: set[str]
    incoming: Callable[[Reg], Linear | None]
    op: Callable[[str], str]
    symbol: Callable[[Sym], str]
    predefined: Callable[[Special], tuple[str, int]]  # the value, and its bits

    def __init__(self) -> None:
        self.forms: dict[str, Linear | None] = {}
        self.compared: dict[str, Comparison] = {}  # what predicates compare, as far as that is linear

    def form(self, reg: Reg) -> Linear | None:
        if reg.name not in self.forms:
            self.forms[reg.name] = self.incoming(reg)
        return self.forms[reg.name]

    def of(self, operand, bits: int, is_signed: bool = False) -> Linear | None:
        """The form of an operand as a value of `bits`."""
        if isinstance(operand, Reg):
            form = self.form(operand)
            return form and affine.resize(self, form, operand.bits, bits, is_signed)
        if isinstance(operand, Imm):
            return Linear(constant(operand.value, bits))
        if isinstance(operand, FloatImm):
            return Linear(constant(float_bits(operand, bits), bits))
        if isinstance(operand, Not):
            form = self.of(operand.item, 1)
            return form and Linear(self.op(f"xor i1 {form.base}, true")) if form and form.uniform else None
        if isinstance(operand, Special):
            return self._special(operand, bits, is_signed)
        if isinstance(operand, Sym):
            return affine.resize(self, Linear(self.symbol(operand)), 64, bits, False)
        return None

    def apart(self, a, b, bits: int) -> bool:
        """Whether no bit may be 1 in both operands, as values of `bits`."""
        return self.plan.set_bits.apart(a, b, bits)

    def reach(self, operand, bits: int) -> affine.Reach:
        """The bounds of the form of an operand, as a value of `bits`."""
        x, y, z = self.plan.set_bits.block
        return affine.Reach(self.plan.base_bits.of(operand, bits), (x - 1, y - 1, z - 1))

    def _special(self, operand: Special, bits: int, is_signed: bool) -> Linear | None:
        root, _, part = operand.name[1:].partition(".")
        if root == "tid" and part in tuple("xyz"):
            unit = Linear("0", tuple(int(part == axis) for axis in "xyz"))
            return affine.resize(self, unit, 32, bits, is_signed)
        if root.startswith(_OWN):
            return None
        value, width = self.predefined(operand)
        return affine.resize(self, Linear(value), width, bits, is_signed)

    def place(self, operand: Addr, space: str) -> tuple[Linear, int] | None:
        """The form of the base of an address, and its width; None where threads differ freely."""
        base = operand.base
        if space in ("local", "multicast"):
            return None
        if isinstance(base, Reg):
            form = self.form(base)
            return form and (form, base.bits)
        form = self.of(base, 64)
        return form and (form, 64)

    def judge(self, instr: Instr):
        """The new Linear of its destination, or ONCE, FETCH or EACH."""
        guard = None
        if instr.guard is not None:
            guard = self.of(instr.guard, 1)
            if guard is None or not guard.uniform:
                return EACH
        if instr.traits & LOAD and self.is_parameter(instr):
            return ONCE if guard is None or self._replaces(instr) else EACH
        if instr.traits & (LOAD | STORE | UPDATES):
            if not instr.traits & LOAD or guard is not None:
                return EACH
            place = self.place(instr.operands[1], space_of(instr))
            return FETCH if place is not None and place[0].uniform else EACH
        if guard is not None and not self._replaces(instr):
            return EACH
        form = _transfer(self, instr)
        if form is not None:
            if guard is not None:
                destination = instr.operands[0]
                form = affine.choose(self, guard.base, form, self.form(destination), destination.bits)
            return form
        if instr.traits & COMPUTES and all(map(self._uniform, instr.operands[1:])):
            return ONCE
        return EACH

    def note_comparison(self, instr: Instr) -> None:
        """Before an instruction: remember what the predicate that it sets compares."""
        destinations = writes(instr)
        for reg in destinations:
            self.compared.pop(reg.name, None)
        order = next((each for each in instr.mods if each in ORDERS), None)
        if order is None or len(destinations) != 1 or destinations[0].bits != 1 or len(instr.operands) != 3:
            return
        kind = type_of(instr)
        if kind in FLOATS or instr.guard is not None:
            return
        a, b = (self.of(each, TYPE_BITS[kind]) for each in instr.operands[1:])
        if a is not None and b is not None:
            self.compared[destinations[0].name] = Comparison(order, a, b, TYPE_BITS[kind], kind in SIGNED)

    def _replaces(self, instr: Instr) -> bool:
        """Whether a guarded instruction sets one register that had a form before."""
        return isinstance(instr.operands[0], Reg) and self.form(instr.operands[0]) is not None

    def _uniform(self, operand) -> bool:
        if isinstance(operand, Vec):
            return all(map(self._uniform, operand.items))
        if isinstance(operand, Reg):
            form = self.form(operand)
            return form is not None and form.uniform
        if isinstance(operand, Not):
            return self._uniform(operand.item)
        if isinstance(operand, Special):
            root = operand.name[1:].partition(".")[0]
            return root != "tid" and not root.startswith(_OWN)
        return not isinstance(operand, Addr)

    def is_parameter(self, instr: Instr) -> bool:
        """Whether a load reads a named kernel parameter."""
        base = getattr(instr.operands[1], "base", None)
        return space_of(instr) == "param" and isinstance(base, Sym) and base.name in self.parameters


@dataclass
class Plan:
    """How an entry runs as regions. `classes` has the strides of every register that lives between regions, None
    where threads differ freely; `live` has, as bits of `order`, what is needed before each item."""

    order: dict[str, int] = field(default_factory=dict)
    bits: dict[str, int] = field(default_factory=dict)
    live: list[int] = field(default_factory=list)
    labels: dict[str, int] = field(default_factory=dict)  # their positions
    classes: dict = field(default_factory=dict)
    function: Function = field(default_factory=lambda: Function("", True))  # as it is translated
    set_bits: SetBits = field(init=False)
    base_bits: SetBits = field(init=False)  # of thread (0, 0, 0)
    wraps: bool = False  # a widened value may wrap around for some threads
    leaves: bool = False  # some threads may leave before others, or wait for them
    scopes: dict[int, Scope] = field(default_factory=dict)  # of branches that have one, by position
    parted: set[int] = field(default_factory=set)  # those that threads take differently

    def names(self, live: int):
        """(name, bits) of registers."""
        return [(name, self.bits[name]) for name, i in self.order.items() if live >> i & 1]

    def live_after(self, position: int, last: Instr | None) -> int:
        """The registers, as bits, needed after a region that ends before an item, by its branch or exit `last`."""
        if last is None or last.opcode not in ("bra", *LEAVES):
            return self.live[position]
        on = self.live[position + 1] if last.guard is not None else 0
        return on | (self.live[self.labels[last.operands[0].name]] if last.opcode == "bra" else 0)

    def needed(self, position: int) -> set[str]:
        """The registers that are read from an item on."""
        return {name for name, _ in self.names(self.live[position])}

    @property
    def degrades(self) -> bool:
        """Whether linear registers may stop being linear."""
        return self.wraps or self.leaves


class _Analysis(Forms):
    """Walks the regions with bases and strides that are unknown, until the classes hold."""

    def __init__(self, function: Function, plan: Plan, meets: bool):
        super().__init__()
        self.function, self.plan, self.meets = function, plan, meets
        self.loops = loops(function)
        self.parameters = {each.name for each in function.params}
        self.changed = self.divergent = False
        self.position = 0
        self.short: set[int] = set()  # branches over code that can be predicated
        self.loose: list[int] = []  # positions of accesses at addresses that differ freely

    def op(self, text: str) -> str:
        return "?"

    def symbol(self, symbol: Sym) -> str:
        return "?"

    def shared_window(self) -> str:
        return "?"

    def predefined(self, operand: Special) -> tuple[str, int]:
        return "?", 64 if operand.name == "%gridid" else 1 if operand.name == "%is_explicit_cluster" else 32

    def need_range(self, form: Linear, low: int, high: int) -> None:
        self.plan.wraps = True

    def incoming(self, reg: Reg) -> Linear | None:
        strides = self.plan.classes.get(reg.name, FLAT)
        return None if strides is None else Linear("?", strides)

    def run(self) -> None:
        for _ in range(20):
            self.changed = self.divergent = self.plan.wraps = self.plan.leaves = False
            self.loose.clear()
            walk(self.function, self)
            for branch in self.plan.parted:
                self._differ_after(self.plan.scopes[branch])
            if not self.changed:
                return
        self.divergent = True

    # ** what `walk` reports

    def begin(self, position: int) -> None:
        self.forms = {}

    def step(self, instr: Instr, how) -> None:
        self.note_comparison(instr)
        for reg in writes(instr):
            self.forms[reg.name] = how if isinstance(how, Linear) else None if how is EACH else Linear("?")
        if how is EACH and instr.traits & (LOAD | STORE | UPDATES):
            at = next(operand for operand in instr.operands if isinstance(operand, Addr))
            if self.place(at, space_of(instr)) is None:
                self.loose.append(self.position)

    def finish(self, position: int, last: Instr | None) -> None:
        classes = self.plan.classes
        live = self.plan.live[position]
        for name, form in self.forms.items():
            if not live >> self.plan.order[name] & 1:
                continue
            strides = form and form.strides
            if name in classes:
                strides = _joined(classes[name], strides)
                if strides == classes[name]:
                    continue
            classes[name], self.changed = strides, True

    def collect(self, position: int, instr: Instr, collective: Collective) -> None:
        for reg in writes(instr):
            self.forms[reg.name] = None
        self.finish(position + 1, None)

    def _differ_after(self, scope: Scope) -> None:
        """Registers that a scope sets differ after it."""
        classes = self.plan.classes
        for name, _ in self.plan.names(self.plan.live[scope.end]):
            if name in differing(self.function, scope) and classes.get(name, FLAT) is not None:
                classes[name], self.changed = None, True

    def guard_of(self, instr: Instr) -> bool:
        form = self.of(instr.guard, 1)
        if form is not None and form.uniform:
            return True
        self.plan.leaves = True
        if not exits(self.function, instr):
            self._part(instr, self.plan.scopes.get(self.position))
        return False

    def _part(self, instr: Instr, scope: Scope | None) -> None:
        """Threads take a branch differently."""
        if scope is None:
            self.divergent = True
            return
        compared = self.compared.get(predicate_of(instr))
        stay = compared and compared.staying(scope.is_loop != isinstance(instr.guard, Not))
        if compared and not self.meets and compared.axes(self.plan.set_bits.block) > 1:
            stay = OTHERS  # they may be no box; threads that never meet run as well one by one
        if stay == FIRST:
            self.plan.parted.add(self.position)
        elif self.meets and is_short(self.function, scope):
            self.short.add(self.position)
        elif stay in (LAST, ONE) or (stay == BUT_ONE and not self._repeats(scope)):
            self.plan.parted.add(self.position)
        else:
            self.divergent = True

    def _repeats(self, scope: Scope) -> bool:
        """Whether the scope is in a loop: then the one thread that leaves it may be any."""
        return any(start <= scope.branch <= end and start != scope.first for start, end in self.loops)


def predicate_of(branch: Instr) -> str:
    """The name of the register that guards it."""
    return (branch.guard.item if isinstance(branch.guard, Not) else branch.guard).name


def _joined(a, b):
    if a is None or b is None:
        return None
    return tuple(x if x == y else "?" for x, y in zip(a, b))


def is_barrier(item) -> bool:
    """Whether all threads of a block, or of each warp, meet at it."""
    if not isinstance(item, Instr) or not item.traits & BARRIER or item.guard is not None:
        return False
    if len(item.operands) != 1 or not isinstance(item.operands[0], Imm) or "sync" not in item.mods:
        return False
    if "warp" in item.mods:
        return item.operands[0].value & 0xFFFFFFFF == 0xFFFFFFFF
    return 0 <= item.operands[0].value < 16


def collective_of(instr: Instr) -> Collective | None:
    """How whole warps meet at an instruction that each thread of the block executes."""
    if not instr.traits & EXCHANGE or instr.guard is not None:
        return None
    rule = rules("COLLECTIVES").get(instr.opcode)
    return rule and rule(instr)


def ends_region(item) -> bool:
    return isinstance(item, Label) or item.opcode in ("bra", *LEAVES) or is_barrier(item)


def walk(function: Function, visitor) -> None:
    """Show the regions of an entry to `visitor`: begin(position), step(instruction, how) and
    finish(position, last); or collect(position, instruction, collective), which finishes one too.

    A load for the whole block comes before the threads' part of its region, so a store before it ends the region; an
    update of one place by all threads comes after that part, so a load or a store after an update ends the region too.
    See _must_part.
    """
    items, before = function.items, 0
    visitor.begin(0)
    for position, item in enumerate(items):
        visitor.position = position
        if ends_region(item):
            instr = item if isinstance(item, Instr) else None
            if instr is not None and instr.opcode in ("bra", *LEAVES) and instr.guard is not None:
                visitor.guard_of(instr)
            visitor.finish(position, instr)
            visitor.begin(position + 1)
            before = 0
            continue
        if (collective := collective_of(item)) is not None:
            visitor.collect(position, item, collective)
            visitor.begin(position + 1)
            before = 0
            continue
        if item.traits & NO_EFFECT:
            continue
        how = visitor.judge(item)
        if _must_part(item, how, before):
            visitor.finish(position, None)
            visitor.begin(position)
            how, before = visitor.judge(item), 0
        before |= item.traits & (STORE | UPDATES)
        if item.guard is not None:
            before |= item.traits & LOAD
        visitor.step(item, how)
    visitor.position = len(items)
    visitor.finish(len(items), None)


def _must_part(item: Instr, how, before: int) -> bool:
    """Whether an instruction may not be in one region with those before it: bits for stores, updates, and predicated
    loads. LLVM (22) moves a masked load past the store after it."""
    if before & UPDATES and item.traits & (LOAD | STORE) and how is not ONCE:
        return True
    if before & LOAD and item.traits & (STORE | UPDATES):
        return True
    if before & STORE and _adds_in_order(item):  # it reads the sum so far before the threads
        return True
    return how is FETCH and bool(before & (STORE | UPDATES))


def exits(function: Function, instr: Instr) -> bool:
    """Whether a branch goes to nothing but the end."""
    if instr.opcode in LEAVES:
        return True
    items = iter(function.items)
    for item in items:
        if isinstance(item, Label) and item.name == instr.operands[0].name:
            break
    rest = next((item for item in items if not isinstance(item, Label)), None)
    return rest is None or (rest.opcode in LEAVES and rest.guard is None)


def _live(function: Function, plan: Plan, own: Collection[int] = ()) -> None:
    """Fill plan.live: the registers needed before each item, and after the last. `own`: the ids of predicated
    instructions whose results nothing reads where the predicate does not hold."""
    items = function.items
    for item in items:
        if isinstance(item, Instr):
            for reg in (*reads(item), *writes(item)):
                plan.order.setdefault(reg.name, len(plan.order))
                plan.bits[reg.name] = reg.bits
    rows = []
    for item in items:
        used = killed = 0
        if isinstance(item, Instr):
            used = sum({1 << plan.order[reg.name] for reg in reads(item)})
            if item.guard is None or id(item) in own:
                killed = sum({1 << plan.order[reg.name] for reg in writes(item)})
        rows.append((used, ~killed))
    plan.labels = labels = {item.name: i for i, item in enumerate(items) if isinstance(item, Label)}
    plan.live = [0] * (len(items) + 1)
    changed = True
    while changed:
        changed = False
        for i in range(len(items) - 1, -1, -1):
            item, live = items[i], plan.live[i + 1]
            if isinstance(item, Instr) and item.opcode in ("bra", *LEAVES):
                live = 0 if item.guard is None else live
                if item.opcode == "bra":
                    live |= plan.live[labels[item.operands[0].name]]
            live = live & rows[i][1] | rows[i][0]
            if live != plan.live[i]:
                plan.live[i], changed = live, True


def writers(function: Function) -> dict[str, list[Instr]]:
    """The instructions that set each register."""
    writers_by_name: dict[str, list[Instr]] = {}
    for item in function.items:
        for reg in writes(item) if isinstance(item, Instr) else ():
            writers_by_name.setdefault(reg.name, []).append(item)
    return writers_by_name


def _keeps_order(function: Function, meets: bool) -> bool:
    """Whether regions leave what all atomics give as it is: there is one operation on integers, or one sum of floats
    that each thread adds to once, and nobody reads their results."""
    places = [at for at, item in enumerate(function.items) if isinstance(item, Instr) and item.traits & UPDATES]
    if not places:
        return True
    updates = [function.items[at] for at in places]
    read = {reg.name for item in function.items if isinstance(item, Instr) for reg in reads(item)}
    if any(reg.name in read for item in updates for reg in writes(item)):
        return False
    if len(updates) == 1 and _adds_in_order(updates[0]):
        return not meets and not any(start <= places[0] <= end for start, end in loops(function))
    known = rules("COMMUTES")
    operations = {known[item.opcode](item) if item.opcode in known else None for item in updates}
    return len(operations) == 1 and None not in operations


def _adds_in_order(item: Instr) -> bool:
    rule = rules("ADDS_IN_ORDER").get(item.opcode)
    return rule is not None and rule(item)


def _knows(function: Function) -> bool:
    """Whether all instructions are of a kind that regions can hold."""
    labels = {item.name for item in function.items if isinstance(item, Label)}
    if sum(isinstance(item, Instr) and bool(item.traits & EXCHANGE) for item in function.items) > MOST_COLLECTIVES:
        return False
    for item in function.items:
        if not isinstance(item, Instr):
            continue
        known = item.traits & _KNOWN or item.opcode in ("bra", *LEAVES) or collective_of(item) is not None
        if not known or "shared::cluster" in item.mods:
            return False
        if (not STRONG.isdisjoint(item.mods) and not item.traits & UPDATES) or "cc" in item.mods:
            return False
        if item.traits & BARRIER and not is_barrier(item):
            return False
        if item.opcode == "bra" and getattr(item.operands[0], "name", None) not in labels:
            return False
        if item.traits & (LOAD | STORE | UPDATES) and not _well_formed(item):
            return False
        for operand in item.operands:
            if isinstance(operand, Special) and operand.name[1:].startswith(_UNKNOWN):
                return False
    return True


def _well_formed(instr: Instr) -> bool:
    places = [operand for operand in instr.operands if isinstance(operand, Addr)]
    return len(places) == 1 and type_of(instr) in TYPE_BITS and TYPE_BITS[type_of(instr)] <= 64


def _array_bits(plan: Plan) -> int:
    return sum(max(plan.bits[name], 8) for name, strides in plan.classes.items() if strides != FLAT)


def _analysed(function: Function, parts: bool, meets: bool, own: Collection[int] = ()) -> tuple[Plan, _Analysis | None]:
    """A plan, and how it was found; None where a register is read before it is set. `parts`: whether threads may wait
    for others at the end of scopes."""
    plan = Plan(function=function)
    _live(function, plan, own)
    if plan.live[0]:
        return plan, None
    plan.scopes = scopes_of(function) if parts else {}
    writers_by_name = writers(function)
    plan.set_bits = SetBits(function, writers_by_name, rules("SET_BITS"))
    plan.base_bits = SetBits(function, writers_by_name, rules("SET_BITS"), (1, 1, 1))
    analysis = _Analysis(function, plan, meets)
    analysis.run()
    return plan, analysis


def plan_of(function: Function, meets: bool, spins: bool = False) -> Plan | None:
    """How an entry runs as regions; None where it must not, or where a loop round the whole body is as good.

    `spins`: threads may wait for others in a loop.
    """
    function = with_literals(function)
    if not 0 < len(function.items) <= LARGEST or not _knows(function) or not _keeps_order(function, meets):
        return None
    own: dict[int, Instr] = {}
    plan, analysis = _analysed(function, not spins, meets)
    while analysis is not None and analysis.short:
        function = predicated(function, [plan.scopes[branch] for branch in analysis.short], plan.needed, own)
        plan, analysis = _analysed(function, True, meets, own)
    if analysis is None:
        return None  # a register is read before it is set
    if analysis.divergent or _array_bits(plan) > MOST_ARRAY_BITS:
        return None
    if not meets:
        around = loops(function)
        inside = [p for p in analysis.loose if any(a <= p <= b for a, b in around)] if around else analysis.loose
        if inside:
            return None
    return plan
