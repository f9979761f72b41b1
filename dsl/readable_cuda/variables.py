"""Which values of a kernel become C++ variables: what is dead, what is written where it is used, what shares a name.

A value used once and without side effects is written where it is used; a load only if nothing is written to memory
in between, and nothing moves into a loop. Values that meet (in an `if`, from trip to trip) share one variable where
they are never needed at the same time, so that `x = x + 1` is one variable again.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from dsl.analysis.mlir_reader import Op, Value
from dsl.readable_cuda.statements import Branch, Compute, Copies, Jump, Loop, is_pure, reads_all, walk

# Written wherever they are used, however often.
TRANSPARENT = {
    "arith.constant",
    "llvm.mlir.constant",
    "llvm.mlir.poison",
    "llvm.mlir.undef",
    "llvm.mlir.zero",
    "llvm.mlir.addressof",
    "llvm.addrspacecast",
    "arith.extsi",
    "llvm.getelementptr",
    "joined",
    "carried",
    "counter",
    "vector.extract",
    "llvm.extractvalue",
}
_VARIABLES = ("joined", "carried", "counter")


def without_dead(statements: list) -> list:
    """`statements` without what no effect needs. A loop stays: whether it ends is an effect."""
    return _Live(statements).kept(statements)


class _Live:
    def __init__(self, statements: list):
        self.values: set[Value] = set()
        self.branches: set[int] = set()
        self.copied: dict[Value, list[tuple[Value, tuple]]] = {}
        self.waiting: list[Value] = []
        self._collect(statements, ())
        while self.waiting:
            value = self.waiting.pop()
            op = value.op
            if op is not None and op.name not in _VARIABLES and (is_pure(op) or op.name == "llvm.alloca"):
                self._need(*op.operands)
            for source, around in self.copied.get(value, ()):
                self._need(source)
                self._reach(around)

    def _need(self, *values: Value) -> None:
        for value in values:
            if value not in self.values:
                self.values.add(value)
                self.waiting.append(value)

    def _reach(self, around: tuple) -> None:
        for branch in around:
            if id(branch) not in self.branches:
                self.branches.add(id(branch))
                self._need(branch.condition)

    def _collect(self, statements: list, around: tuple) -> None:
        for statement in statements:
            if isinstance(statement, Compute):
                if not _droppable(statement.op):
                    self._need(*statement.op.operands)
                    self._reach(around)
            elif isinstance(statement, Copies):
                for target, source in statement.pairs:
                    self.copied.setdefault(target, []).append((source, around))
                    if target in self.values:
                        self._need(source)
            elif isinstance(statement, Branch):
                self._collect(statement.then, (*around, statement))
                self._collect(statement.orelse, (*around, statement))
            elif isinstance(statement, Loop):
                self._reach(around)
                self._need(*statement.bounds, *([statement.test] if statement.test is not None else []))
                self._collect(statement.head, around)
                self._collect(statement.body, around)
            else:
                self._reach(around)

    def kept(self, statements: list) -> list:
        live = []
        for statement in statements:
            if isinstance(statement, Compute):
                if _droppable(statement.op) and not any(r in self.values for r in statement.op.results):
                    continue
            elif isinstance(statement, Copies):
                pairs = [(t, s) for t, s in statement.pairs if t in self.values and not _is_nothing(s)]
                if not pairs:
                    continue
                statement = Copies(pairs)
            elif isinstance(statement, Branch):
                if id(statement) not in self.branches:
                    continue
                statement.then, statement.orelse = self.kept(statement.then), self.kept(statement.orelse)
                statement.joined = [value for value in statement.joined if value in self.values]
            elif isinstance(statement, Loop):
                statement.head, statement.body = self.kept(statement.head), self.kept(statement.body)
                statement.variables = [value for value in statement.variables if value in self.values]
            live.append(statement)
        return live


def _droppable(op: Op) -> bool:
    return is_pure(op) or op.name == "llvm.alloca"


def _is_nothing(value: Value) -> bool:
    """Poison: a variable may as well keep what it has."""
    return value.op is not None and value.op.name in ("llvm.mlir.poison", "llvm.mlir.undef")


class Inlining:
    """Which computed values are written where they are used. `named`: those that become variables."""

    def __init__(self, statements: list, author_names: dict[Value, str]):
        self.named: set[Value] = set()
        self.author_names = author_names
        self.uses: dict[Value, list[tuple]] = {}  # (position, loops around) of the statement that writes it
        self.position = 0
        self.effects: list[int] = []
        self.places: dict[Value, tuple] = {}  # where a value is computed
        self.order: list[Compute] = []
        self._number(statements, ())
        for statement in reversed(self.order):
            self._decide(statement.op)

    def _number(self, statements: list, loops: tuple) -> None:
        for statement in statements:
            self.position += 1
            at = self.position
            if isinstance(statement, Compute):
                for result in statement.op.results:
                    self.places[result] = (at, loops)
                self.order.append(statement)
                if not is_pure(statement.op):
                    self.effects.append(at)
                    self._use(statement.op.operands, (at, loops, "effect"))
            elif isinstance(statement, Copies):
                self._use(reads_all(statement), (at, loops, "copy"))
            elif isinstance(statement, Branch):
                self._use([statement.condition], (at, loops, "test"))
                self._number(statement.then, loops)
                self._number(statement.orelse, loops)
                self.position += 1
            elif isinstance(statement, Loop):
                inner = (*loops, at)
                self._use(statement.bounds[:1], (at, loops, "bound"))
                self._use(statement.bounds[1:], (at, inner, "bound"))
                self._number(statement.head, inner)
                self.position += 1
                if statement.test is not None:
                    self._use([statement.test], (self.position, inner, "test"))
                self._number(statement.body, inner)
                self.position += 1

    def _use(self, values: Sequence[Value], where: tuple) -> None:
        for value in values:
            op = value.op
            if (
                op is not None
                and op.name in TRANSPARENT
                and op.name not in _VARIABLES
                and op.operands
                and not self.is_base(value)
            ):
                self._use(op.operands, where)
            self.uses.setdefault(value, []).append(where)

    def is_base(self, value: Value) -> bool:
        """Whether a pointer is where something begins in shared memory."""
        op = value.op
        return (
            op is not None
            and op.name == "llvm.getelementptr"
            and op.operands[0].op is not None
            and op.operands[0].op.name == "llvm.mlir.addressof"
            and value.type == "!llvm.ptr<3>"
        )

    def _decide(self, op: Op) -> None:
        if not op.results:
            return
        value = op.result
        uses = self.uses.get(value, [])
        if op.name in TRANSPARENT and not self.is_base(value):
            return
        if not is_pure(op) or op.name == "llvm.alloca":
            self.named.update(result for result in op.results if result in self.uses)
            return
        at, loops = self.places[value]
        moves = len(uses) == 1 and not value.type.startswith("vector<") and self._may_move(op, at, loops, *uses[0])
        if moves or (uses and self._is_cheap(op)):
            for use in uses:
                self._use(op.operands, use)
            return
        self.named.add(value)
        self._use(op.operands, (at, loops, "local"))

    def _is_cheap(self, op: Op) -> bool:
        """Whether an op is free to repeat: a conversion or negation of something that has a name, a logical not."""
        return (op.name == "arith.xori" and op.result.type == "i1") or (
            op.name == "arith.trunci" and op.result.type == "i1" and op.operands[0].op is None
        )

    def _may_move(self, op: Op, at: int, loops: tuple, to: int, around: tuple, kind: str) -> bool:
        if around[: len(loops)] != loops or len(around) > len(loops):
            return False
        if _reads_memory(op):
            return not any(at < effect < to for effect in self.effects)
        return True


def _reads_memory(op: Op) -> bool:
    return op.name == "llvm.load" or "choice" in op.attributes


# --- values that share a variable ------------------------------------------------------------------------------------


class Sharing:
    """For each variable and named value the one that stands for all that share its C++ variable: `of`."""

    def __init__(self, statements: list, leaves):
        self.leaves = leaves  # value -> the named values that writing it reads
        self.parent: dict[Value, Value] = {}
        self.number: dict[Value, int] = {}
        self.apart: list[int] = []  # for each candidate, whose values are needed while it is set
        pairs = []
        for statement in walk(statements):
            if isinstance(statement, Copies):
                for target, source in statement.pairs:
                    self._candidate(target)
                    pairs.append((target, source))
            elif isinstance(statement, Branch):
                for value in statement.joined:
                    self._candidate(value)
            elif isinstance(statement, Loop):
                for value in (*statement.variables, *([statement.variable] if statement.variable else [])):
                    self._candidate(value)
        pairs = [(target, source) for target, source in pairs if set(leaves(source)) == {source}]
        for _, source in pairs:
            self._candidate(source)
        self._live(statements, 0, [])
        self.members = {value: 1 << number for value, number in self.number.items()}
        for target, source in pairs:
            if target.type == source.type and not _is_parameter(source):
                self._join(target, source)

    def of(self, value: Value) -> Value:
        while value in self.parent:
            value = self.parent[value]
        return value

    def _candidate(self, value: Value) -> None:
        if value not in self.number:
            self.number[value] = len(self.number)
            self.apart.append(0)

    def _join(self, a: Value, b: Value) -> None:
        a, b = self.of(a), self.of(b)
        if a is b:
            return
        x, y = self.members[a], self.members[b]
        if self._meets(x, y):
            return
        self.parent[b] = a
        self.members[a] = x | y

    def _meets(self, x: int, y: int) -> bool:
        return any(self.apart[n] & y for n in _bits(x)) or any(self.apart[n] & x for n in _bits(y))

    # --- liveness, backwards ---

    def _mask(self, values) -> int:
        mask = 0
        for value in values:
            for leaf in self.leaves(value):
                if leaf in self.number:
                    mask |= 1 << self.number[leaf]
        return mask

    def _live(self, statements: list, after: int, exits: list[tuple[int, int]]) -> int:
        """Values needed before `statements`, if `after` are needed after them. `exits`: at each loop's end, start."""
        live = after
        for statement in reversed(statements):
            if isinstance(statement, Compute):
                for result in statement.op.results:
                    live = self._set(result, live, None)
                live |= self._mask(self._read_here(statement.op))
            elif isinstance(statement, Copies):
                needed = live
                for target, source in statement.pairs:
                    self._set(target, live, source)
                for target, _ in statement.pairs:
                    needed &= ~(1 << self.number[target])
                live = needed | self._mask(reads_all(statement))
            elif isinstance(statement, Branch):
                live = (
                    self._live(statement.then, live, exits)
                    | self._live(statement.orelse, live, exits)
                    | self._mask([statement.condition])
                )
            elif isinstance(statement, Loop):
                live = self._loop(statement, live, exits)
            elif isinstance(statement, Jump):
                live = 0 if statement.word == "return" else exits[-1][0 if statement.word == "break" else 1]
        return live

    def _read_here(self, op: Op) -> list[Value]:
        """The values that a computation reads at its place: none, if its value is written elsewhere."""
        return op.operands if not op.results or not is_pure(op) or self.leaves(op.result) == (op.result,) else []

    def _set(self, value: Value, live: int, source: Value | None) -> int:
        number = self.number.get(value)
        if number is None:
            return live
        others = live & ~(1 << number)
        if source in self.number:
            others &= ~(1 << self.number[source])
        self.apart[number] |= others
        return live & ~(1 << number)

    def _loop(self, loop: Loop, after: int, exits: list) -> int:
        tested = self._mask([*loop.bounds[1:], *([loop.test] if loop.test is not None else [])])
        counter = 0
        if loop.variable is not None:
            counter = 1 << self.number[loop.variable]
        start = after | tested | counter
        while True:
            inner = [*exits, (after, start)]
            body = self._live(loop.body, start, inner)
            head = self._live(loop.head, body | tested | after, inner)
            before = head | tested | counter | after
            if before | start == start:
                break
            start |= before
        if loop.variable is not None:
            self.apart[self.number[loop.variable]] |= start & ~counter
        return (start & ~counter) | self._mask(loop.bounds[:1])


def _is_parameter(value: Value) -> bool:
    return value.op is None


def _bits(mask: int) -> Iterator[int]:
    while mask:
        low = mask & -mask
        yield low.bit_length() - 1
        mask ^= low
