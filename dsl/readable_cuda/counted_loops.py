"""Loops that count, as C's `for`: a `while` over the number of the trip, trips that stand for start, stop and step.

Two passes. `while_as_for` makes a `for` of a `while` that meets every one of `_CONDITIONS`. `counted` then looks at
loops over the numbers of trips: where the body uses only `start + number * step`, the loop counts that.
"""

from __future__ import annotations

from dataclasses import dataclass

from dsl.analysis.mlir_reader import Op, Value
from dsl.readable_cuda.statements import Branch, Compute, Copies, Jump, Loop, constant_of, reads_all, walk

_SIGNED_LESS = 2  # the predicate of arith.cmpi


def _reads(statements: list) -> dict[Value, int]:
    """How often each value is read in `statements`."""
    reads: dict[Value, int] = {}
    for statement in walk(statements):
        for value in reads_all(statement):
            reads[value] = reads.get(value, 0) + 1
    return reads


# --- a `while` that counts -------------------------------------------------------------------------------------------


def while_as_for(statements: list) -> list:
    """`statements` with each loop that tests `i < n` and adds 1 to `i` on every way back as a `for`."""
    for statement in statements:
        if isinstance(statement, Branch):
            statement.then, statement.orelse = while_as_for(statement.then), while_as_for(statement.orelse)
        elif isinstance(statement, Loop):
            statement.head, statement.body = while_as_for(statement.head), while_as_for(statement.body)
    reads = _reads(statements)
    out: list = []
    for statement in statements:
        before = out[-1] if out else None
        if isinstance(statement, Loop) and isinstance(before, Copies):
            counter = _counter(statement, before)
            if counter is not None and all(condition(counter, reads) for condition in _CONDITIONS):
                counter.make_for()
                out[-1:] = _without(before, counter.variable)
        out.append(statement)
    return out


def _without(copies: Copies, variable: Value) -> list[Copies]:
    """Copies that leave `variable` out; nothing where no pair is left."""
    pairs = [pair for pair in copies.pairs if pair[0] is not variable]
    return [Copies(pairs)] if pairs else []


@dataclass
class _Counter:
    """The variable of a `while` that tests `variable < stop`: `start` is its first value."""

    loop: Loop
    variable: Value
    start: Value
    stop: Value

    def __post_init__(self):
        self.ways_back = _ways_back(self.loop.body)
        self.ways_out = _copies_before("break", self.loop.body)

    def next_values(self) -> list[Value | None]:
        """The value that each way back gives the variable, None if it gives none."""
        return [_given_to(self.variable, copies) for copies in self.ways_back]

    def make_for(self) -> None:
        """Let the loop count the variable: it is tested and set nowhere else."""
        loop, (first, *_) = self.loop, self.next_values()
        assert first is not None
        one = first.defining_op.operands[1]
        for copies in [*self.ways_back, *self.ways_out]:
            copies.pairs = [pair for pair in copies.pairs if pair[0] is not self.variable]
        loop.variables = [value for value in loop.variables if value is not self.variable]
        loop.variable, loop.bounds, loop.head, loop.test = self.variable, (self.start, self.stop, one), [], None


def _counter(loop: Loop, before: Copies) -> _Counter | None:
    """The number of the trip that `loop` tests, None where it tests something else or counts already."""
    test = loop.test.op if loop.variable is None and loop.test is not None else None
    if test is None or test.name != "arith.cmpi" or test.attributes["predicate"] != _SIGNED_LESS:
        return None
    variable, stop = test.operands
    if variable.op is None or variable.op.attributes.get("name") != "the trip":  # the author's own `while`
        return None
    start = _given_to(variable, before)
    return _Counter(loop, variable, start, stop) if start is not None and variable in loop.variables else None


def _given_to(variable: Value, copies: Copies) -> Value | None:
    return next((source for target, source in copies.pairs if target is variable), None)


def _tests_nothing_else(counter: _Counter, _: dict[Value, int]) -> bool:
    test = counter.loop.test
    return all(
        isinstance(statement, Compute)
        and (statement.op.name == "arith.constant" or (test is not None and statement.op is test.op))
        for statement in counter.loop.head
    )


def _stops_at_a_fixed_value(counter: _Counter, _: dict[Value, int]) -> bool:
    return _is_fixed(counter.stop, counter.loop)


def _adds_one_on_every_way_back(counter: _Counter, _: dict[Value, int]) -> bool:
    values = counter.next_values()
    return bool(values) and all(
        value is not None and _left_of(value, "arith.addi", 1) is counter.variable for value in values
    )


def _is_set_nowhere_else(counter: _Counter, _: dict[Value, int]) -> bool:
    expected = [*counter.ways_back, *counter.ways_out]
    return not any(
        isinstance(statement, Copies)
        and all(statement is not copies for copies in expected)
        and _given_to(counter.variable, statement) is not None
        for statement in walk(counter.loop.body)
    )


def _every_way_ends_in_copies_or_a_jump(counter: _Counter, _: dict[Value, int]) -> bool:
    return _ends_in_copies_or_a_jump(counter.loop.body)


def _is_read_only_inside(counter: _Counter, reads: dict[Value, int]) -> bool:
    return reads.get(counter.variable, 0) == _reads([counter.loop]).get(counter.variable, 0)


# All of them hold of a loop that becomes a `for`; none changes anything, so their order does not matter.
_CONDITIONS = (
    _tests_nothing_else,
    _stops_at_a_fixed_value,
    _adds_one_on_every_way_back,
    _is_set_nowhere_else,
    _every_way_ends_in_copies_or_a_jump,
    _is_read_only_inside,
)


def _is_fixed(value: Value, loop: Loop) -> bool:
    """Whether a value is the same in every trip."""
    if value.op is None or constant_of(value) is not None:
        return True
    set_in_loop = set(loop.variables)
    for statement in walk([*loop.head, *loop.body]):
        if isinstance(statement, Compute):
            set_in_loop.update(statement.op.results)
        elif isinstance(statement, Copies):
            set_in_loop.update(target for target, _ in statement.pairs)
    return value not in set_in_loop


def _ways_back(body: list) -> list[Copies]:
    """The copies of every way back to the start of a loop, its inner loops' own left out."""
    at_the_end = [body[-1]] if body and isinstance(body[-1], Copies) else []
    return at_the_end + _copies_before("continue", body)


def _copies_before(word: str, statements: list) -> list[Copies]:
    """The copies before each jump `word` of a loop's body."""
    copies = []
    for index, statement in enumerate(statements):
        if isinstance(statement, Jump) and statement.word == word:
            before = statements[index - 1] if index else None
            copies.append(before if isinstance(before, Copies) else Copies([]))
        elif isinstance(statement, Branch):
            copies += _copies_before(word, statement.then) + _copies_before(word, statement.orelse)
    return copies


def _ends_in_copies_or_a_jump(body: list) -> bool:
    """Whether no way reaches the end of a loop's body but by its last copies."""
    last = body[-1] if body else None
    if isinstance(last, Branch):
        return _ends_in_copies_or_a_jump(last.then) and _ends_in_copies_or_a_jump(last.orelse)
    return isinstance(last, (Copies, Jump))


# --- a loop over the numbers of trips --------------------------------------------------------------------------------


def counted(statements: list) -> list:
    """`statements` with each loop over the numbers of trips, of which only start + number * step is used, as a loop
    over that. As in C, the last sum must not leave the type."""
    for statement in walk(statements):
        if isinstance(statement, Loop) and statement.variable is not None:
            _count_by_step(statement, statement.variable)
    return statements


def _count_by_step(loop: Loop, number: Value) -> None:
    trips = _trips(loop)
    multiples = _multiples(loop, number) if trips is not None else None
    if trips is None or multiples is None:
        return
    start, values = _start(multiples, number.type)
    stop = _stop(trips, start, multiples.step) if start is not None else None
    if start is not None and stop is not None and _is_fixed(start, loop):
        _replace(loop, values, start, stop, multiples.step)


def _trips(loop: Loop) -> Value | None:
    """How many trips a loop has that counts from 0 by 1, None for another."""
    zero, trips, one = loop.bounds
    return trips if constant_of(zero) == 0 and constant_of(one) == 1 else None


@dataclass
class _Multiples:
    """`number * step` of a loop over numbers of trips: the values that are it, and the ops that take them."""

    step: int
    values: list[Value]
    users: list[Op]


def _multiples(loop: Loop, number: Value) -> _Multiples | None:
    """The values that tracing itself makes of the number of the trip; None if anything else reads it."""
    ops = [statement.op for statement in walk(loop.body) if isinstance(statement, Compute)]
    reads = _reads(loop.body)
    users = [op for op in ops if number in op.operands]
    if any(op.place != loop.op.place for op in users):  # the author's own product
        return None
    if not users or reads[number] != len(users):
        return None
    if any(op.name != "arith.muli" or op.operands[0] is not number for op in users):
        return _Multiples(1, [number] * len(users), users)
    steps = {constant_of(op.operands[1]) for op in users}
    products = [op.result for op in users]
    sums = [op for op in ops if any(product in op.operands for product in products)]
    if len(steps) != 1 or None in steps or sum(reads.get(product, 0) for product in products) != len(sums):
        return None
    return _Multiples(steps.pop(), products, sums)


def _start(multiples: _Multiples, type_: str) -> tuple[Value | None, list[Value]]:
    """The start, and the values that are `start + number * step`; no start where they differ in it."""
    sums = multiples.users
    if sums and all(op.name == "arith.addi" and op.operands[1] in multiples.values for op in sums):
        start = sums[0].operands[0]
        is_one = all(_is_same(op.operands[0], start) for op in sums)
        return (start if is_one else None), [op.result for op in sums]
    if multiples.step == 1:  # it counts that already
        return None, []
    return _number(0, type_), multiples.values


def _replace(loop: Loop, values: list[Value], start: Value, stop: Value, step: int) -> None:
    """Let the loop count what `values` are."""
    counter, *others = values
    op = counter.defining_op
    op.name, op.operands, op.attributes = "counter", [], {"name": ""}
    _drop(loop.body, op)
    for other in others:
        _substitute(loop.body, other, counter)
    op.place = loop.op.place
    loop.variable, loop.bounds = counter, (start, stop, _number(step, counter.type))


def _substitute(body: list, old: Value, new: Value) -> None:
    """Read `new` wherever `old` is read."""
    for statement in walk(body):
        if isinstance(statement, Compute):
            statement.op.operands = [new if operand is old else operand for operand in statement.op.operands]
        elif isinstance(statement, Copies):
            statement.pairs = [(target, new if source is old else source) for target, source in statement.pairs]
        elif isinstance(statement, Branch) and statement.condition is old:
            statement.condition = new
        elif isinstance(statement, Loop):
            statement.bounds = tuple(new if bound is old else bound for bound in statement.bounds)


def _drop(statements: list, op: Op) -> None:
    for statement in list(statements):
        if isinstance(statement, Compute) and statement.op is op:
            statements.remove(statement)
        elif isinstance(statement, Branch):
            _drop(statement.then, op)
            _drop(statement.orelse, op)
        elif isinstance(statement, Loop):
            _drop(statement.head, op)
            _drop(statement.body, op)


def _number(value: int, type_: str) -> Value:
    return Op("arith.constant", [], [type_], {"value": value}, None).result


def _is_same(a: Value, b: Value) -> bool:
    return a is b or (constant_of(a) is not None and constant_of(a) == constant_of(b) and a.type == b.type)


# --- where a counted loop stops --------------------------------------------------------------------------------------


def _stop(trips: Value, start: Value, step: int) -> Value | None:
    """The value at which a loop of `trips` trips stops, if `trips` is how core counts them."""
    number, first = constant_of(trips), constant_of(start)
    if isinstance(number, int):
        return _number(first + number * step, start.type) if isinstance(first, int) else None
    distance = _distance(trips, step)
    if distance is None:
        return None
    upper, lower = _difference(distance)
    stop, begin = (upper, lower) if step > 0 else (lower, upper)
    if stop is None or begin is None or not _is_widened(begin, start):
        return None
    if stop.op is not None and stop.op.name == "arith.extsi" and stop.op.operands[0].type == start.type:
        return stop.op.operands[0]
    limit = constant_of(stop)
    if isinstance(limit, int):
        return _number(limit, start.type)
    return stop if stop.type == start.type else None


def _distance(trips: Value, step: int) -> Value | None:
    """`d` of max((d + step - 1) / step, 0), or of max((d - step - 1) / -step, 0) where `step` is negative."""
    op = trips.op
    whole = op.operands[0] if op is not None and op.name == "arith.trunci" else trips
    quotient = _left_of(whole, "arith.maxsi", 0)
    if quotient is not None and quotient.op is not None and quotient.op.name == "arith.select":  # rounded down
        quotient = quotient.op.operands[2]
    less = _left_of(quotient, "arith.divsi", abs(step))
    widened = _left_of(less, "arith.subi", 1)
    return _left_of(widened, "arith.addi" if step > 0 else "arith.subi", step)


def _left_of(value: Value | None, name: str, right: int) -> Value | None:
    """`x` where a value is the op `name` of `x` and the constant `right`."""
    op = value.op if value is not None else None
    return op.operands[0] if op is not None and op.name == name and constant_of(op.operands[1]) == right else None


def _difference(value: Value) -> tuple[Value | None, Value | None]:
    """`a` and `b` of `a - b`; a parameter is itself less 0."""
    op = value.op
    if op is None:
        return value, _number(0, value.type)
    return (op.operands[0], op.operands[1]) if op.name == "arith.subi" else (None, None)


def _is_widened(wide: Value, narrow: Value) -> bool:
    """Whether a value of 64 bits is `narrow`."""
    if (constant_of(wide) is not None and constant_of(wide) == constant_of(narrow)) or wide is narrow:
        return True
    return wide.op is not None and wide.op.name == "arith.extsi" and wide.op.operands[0] is narrow
