"""Loops that count, as C's `for`: a `while` over the number of the trip, trips that stand for start, stop and step."""

from __future__ import annotations

from dsl.analysis.mlir_reader import Op, Value
from dsl.readable_cuda.statements import Branch, Compute, Copies, Jump, Loop, constant_of, reads_all, walk


def while_as_for(statements: list) -> list:
    """`statements` with each loop that tests `i < n` and adds 1 to `i` on every way back as a `for`."""
    made: list = []
    for statement in statements:
        if isinstance(statement, Branch):
            statement.then, statement.orelse = while_as_for(statement.then), while_as_for(statement.orelse)
        elif isinstance(statement, Loop):
            statement.head, statement.body = while_as_for(statement.head), while_as_for(statement.body)
    outside = _readers(statements)
    for statement in statements:
        if isinstance(statement, Loop) and statement.variable is None and made and isinstance(made[-1], Copies):
            if _counting(statement, made[-1], outside) is not None:
                made[-1] = Copies([pair for pair in made[-1].pairs if pair[0] is not statement.variable])
                if not made[-1].pairs:
                    made.pop()
        made.append(statement)
    return made


def _readers(statements: list) -> dict[Value, int]:
    """How often each value is read in `statements`."""
    found: dict[Value, int] = {}
    for statement in walk(statements):
        for value in reads_all(statement):
            found[value] = found.get(value, 0) + 1
    return found


def _counting(loop: Loop, before: Copies, outside: dict[Value, int]) -> Value | None:
    """Make `loop` count, if it does; the initial value of its variable."""
    test = loop.test.op if loop.test is not None else None
    if test is None or test.name != "arith.cmpi" or test.attributes["predicate"] != 2:
        return None
    if any(not isinstance(statement, Compute) for statement in loop.head):
        return None
    variable, stop = test.operands
    if variable.op is None or variable.op.attributes.get("name") != "the trip":  # the author's own `while`
        return None
    initial = next((source for target, source in before.pairs if target is variable), None)
    if initial is None or variable not in loop.variables or not _is_made_outside(stop, loop):
        return None
    if any(statement.op is not test and statement.op.name != "arith.constant" for statement in loop.head):
        return None
    backs, leaving = list(_backs(loop.body)), _before("break", loop.body)
    nexts = [next((source for target, source in back.pairs if target is variable), None) for back in backs]
    if not backs or any(value is None or not _is_next(value, variable) for value in nexts):
        return None
    inner = _readers([loop])
    if (
        _set_elsewhere(loop, variable, [*backs, *leaving])
        or not _ends_in_jump_or_copies(loop.body)
        or outside.get(variable, 0) != inner.get(variable, 0)
    ):
        return None
    for copies in [*backs, *leaving]:
        copies.pairs = [pair for pair in copies.pairs if pair[0] is not variable]
    one = nexts[0].op.operands[1]
    loop.variables = [value for value in loop.variables if value is not variable]
    loop.variable, loop.bounds, loop.head, loop.test = variable, (initial, stop, one), [], None
    return initial


def _is_next(value: Value, variable: Value) -> bool:
    op = value.op
    is_sum = op is not None and op.name == "arith.addi"
    return is_sum and op.operands[0] is variable and constant_of(op.operands[1]) == 1


def _is_made_outside(value: Value, loop: Loop) -> bool:
    """Whether a value is the same in every trip."""
    if value.op is None or constant_of(value) is not None:
        return True
    inside = {
        result
        for statement in walk([*loop.head, *loop.body])
        if isinstance(statement, Compute)
        for result in statement.op.results
    }
    changed = {
        target
        for statement in walk([*loop.head, *loop.body])
        if isinstance(statement, Copies)
        for target, _ in statement.pairs
    }
    return value not in inside and value not in changed and value not in loop.variables


def _backs(body: list) -> list[Copies]:
    """The copies of every way back to the start of a loop, its inner loops' own left out."""
    found = [body[-1]] if body and isinstance(body[-1], Copies) else []
    return found + _before("continue", body)


def _before(word: str, statements: list) -> list[Copies]:
    """The copies before each jump `word` of a loop's body."""
    found = []
    for index, statement in enumerate(statements):
        if isinstance(statement, Jump) and statement.word == word:
            before = statements[index - 1] if index else None
            found.append(before if isinstance(before, Copies) else Copies([]))
        elif isinstance(statement, Branch):
            found += _before(word, statement.then) + _before(word, statement.orelse)
    return found


def _ends_in_jump_or_copies(body: list) -> bool:
    """Whether no way reaches the end of a loop's body but by its last copies."""
    if not body:
        return False
    last = body[-1]
    if isinstance(last, (Copies, Jump)):
        return True
    return isinstance(last, Branch) and _ends_in_jump_or_copies(last.then) and _ends_in_jump_or_copies(last.orelse)


def _set_elsewhere(loop: Loop, variable: Value, backs: list[Copies]) -> bool:
    return any(
        isinstance(statement, Copies)
        and all(statement is not back for back in backs)
        and any(target is variable for target, _ in statement.pairs)
        for statement in walk(loop.body)
    )


def counted(statements: list) -> list:
    """`statements` with each loop over the numbers of trips, of which only start + number * step is used, as a loop
    over that. As in C, the last sum must not leave the type."""
    for statement in walk(statements):
        if isinstance(statement, Loop) and statement.variable is not None:
            _count_by_step(statement)
    return statements


def _count_by_step(loop: Loop) -> None:
    zero, trips, one = loop.bounds
    if constant_of(zero) != 0 or constant_of(one) != 1:
        return
    computed = [statement for statement in walk(loop.body) if isinstance(statement, Compute)]
    users = [statement.op for statement in computed if loop.variable in statement.op.operands]
    if any(op.place != loop.op.place for op in users):  # the author's own product
        return
    readers = _readers(loop.body)
    if not users or readers[loop.variable] != len(users):
        return
    step, sums = 1, users
    if all(op.name == "arith.muli" and op.operands[0] is loop.variable for op in users):
        steps = {constant_of(op.operands[1]) for op in users}
        products = [op.result for op in users]
        sums = [statement.op for statement in computed if any(p in statement.op.operands for p in products)]
        if len(steps) != 1 or None in steps or sum(readers.get(p, 0) for p in products) != len(sums):
            return
        step = steps.pop()
        counts = products
    else:
        counts = [loop.variable] * len(users)
    if not all(op.name == "arith.addi" and op.operands[1] in counts for op in sums):
        _from_zero(loop, trips, step, counts, sums if step == 1 else users)
        return
    start = sums[0].operands[0]
    if any(not _is_same(op.operands[0], start) for op in sums):
        return
    stop = _stop(trips, start, step)
    if stop is not None and _is_made_outside(start, loop):
        _replace(loop, [op.result for op in sums], start, stop, step)


def _from_zero(loop: Loop, trips: Value, step: int, counts: list[Value], users: list[Op]) -> None:
    """The start is 0: the product is the variable."""
    if step == 1 or not users:
        return
    zero = _number(0, loop.variable.type)
    stop = _stop(trips, zero, step)
    if stop is not None:
        _replace(loop, counts, zero, stop, step)


def _replace(loop: Loop, values: list[Value], start: Value, stop: Value, step: int) -> None:
    """Let the loop count what `values` are."""
    first, *others = values
    first.owner.name, first.owner.operands, first.owner.attributes = "counter", [], {"name": ""}
    _drop(loop.body, first.owner)
    for other in others:
        for statement in walk(loop.body):
            if isinstance(statement, Compute):
                statement.op.operands = [first if operand is other else operand for operand in statement.op.operands]
            elif isinstance(statement, Copies):
                statement.pairs = [(target, first if source is other else source) for target, source in statement.pairs]
            elif isinstance(statement, Branch) and statement.condition is other:
                statement.condition = first
            elif isinstance(statement, Loop):
                statement.bounds = tuple(first if bound is other else bound for bound in statement.bounds)
    first.owner.place = loop.op.place
    loop.variable, loop.bounds = first, (start, stop, _number(step, first.type))


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


def _stop(trips: Value, start: Value, step: int) -> Value | None:
    """Where a loop of so many trips stops, if `trips` is how core.loop counts them."""
    number, first = constant_of(trips), constant_of(start)
    if isinstance(number, int):
        return _number(first + number * step, start.type) if isinstance(first, int) else None
    op = trips.op
    if op is not None and op.name == "arith.trunci":
        op = op.operands[0].op
    if op is None or op.name != "arith.maxsi" or constant_of(op.operands[1]) != 0:
        return None
    quotient = op.operands[0].op
    if quotient is not None and quotient.name == "arith.select":
        quotient = quotient.operands[2].op
    if quotient is None or quotient.name != "arith.divsi" or constant_of(quotient.operands[1]) != abs(step):
        return None
    less = _less_one(quotient.operands[0])
    if less is None:
        return None
    widened = less.op
    if step > 0 and widened is not None and widened.name == "arith.addi" and constant_of(widened.operands[1]) == step:
        stop, begin = _difference(widened.operands[0])
    elif step < 0 and widened is not None and widened.name == "arith.subi" and constant_of(widened.operands[1]) == step:
        begin, stop = _difference(widened.operands[0])
    else:
        return None
    if begin is None or not _is_number(begin, start):
        return None
    if stop.op is not None and stop.op.name == "arith.extsi" and stop.op.operands[0].type == start.type:
        return stop.op.operands[0]
    limit = constant_of(stop)
    return _number(limit, start.type) if isinstance(limit, int) else stop if stop.type == start.type else None


def _less_one(value: Value) -> Value | None:
    op = value.op
    is_less = op is not None and op.name == "arith.subi" and constant_of(op.operands[1]) == 1
    return op.operands[0] if is_less else None


def _difference(value: Value) -> tuple[Value | None, Value | None]:
    op = value.op
    if op is None:
        return value, _number(0, value.type)
    if op.name == "arith.subi":
        return op.operands[0], op.operands[1]
    return None, None


def _is_number(wide: Value, narrow: Value) -> bool:
    """Whether a value of 64 bits is `narrow`."""
    if (constant_of(wide) is not None and constant_of(wide) == constant_of(narrow)) or wide is narrow:
        return True
    return wide.op is not None and wide.op.name == "arith.extsi" and wide.op.operands[0] is narrow
