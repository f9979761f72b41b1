"""Which loops become C's `for`: each condition has a loop that breaks it alone.

Modules tested here: dsl/readable_cuda/statements.py.
"""

from __future__ import annotations

from dsl.analysis.mlir_reader import Block, Op, Value
from dsl.readable_cuda.counted_loops import counted, while_as_for
from dsl.readable_cuda.statements import Branch, Compute, Copies, Jump, Loop, constant_of

KERNEL = Op("llvm.func", [], [], {}, None)


def _constant(number: int, type_: str = "i32") -> Value:
    return Op("arith.constant", [], [type_], {"value": number}, None).result


def _op(op_name: str, *operands: Value, type_: str = "i32", **attributes) -> Op:
    return Op(op_name, list(operands), [type_], attributes, None)


class While:
    """`trip = 0; while (trip < n) { use(trip); trip = trip + 1; }`, as traced: a test may change a part of it."""

    def __init__(self, name: str = "the trip", predicate: int = 2, step: int = 1):
        self.trip = _op("carried", name=name).result
        self.n = Value("i32", Block(KERNEL), 0)
        self.test = _op("arith.cmpi", self.trip, self.n, type_="i1", predicate=predicate)
        self.next = _op("arith.addi", self.trip, _constant(step))
        self.use = _op("llvm.call", self.trip)
        self.back = Copies([(self.trip, self.next.result)])
        self.before = Copies([(self.trip, _constant(0))])
        self.body = [Compute(self.use), Compute(self.next), self.back]
        self.head = [Compute(self.test)]
        self.after: list = []

    def converted(self) -> Loop:
        """The loop after the pass."""
        loop = Loop(_op("scf.while"), self.body, [self.trip], head=self.head, test=self.test.result)
        return next(s for s in while_as_for([self.before, loop, *self.after]) if isinstance(s, Loop))


def test_a_while_over_the_number_of_the_trip_counts():
    source = While()
    loop = source.converted()
    start, stop, step = loop.bounds
    assert loop.variable is source.trip and stop is source.n
    assert (constant_of(start), constant_of(step)) == (0, 1)
    assert (loop.variables, loop.head, loop.test, source.back.pairs) == ([], [], None, [])


def test_a_continue_is_a_way_back():
    source = While()
    early = Copies([(source.trip, source.next.result)])
    condition = Value("i1", Block(KERNEL), 1)
    source.body[1:1] = [Compute(source.next), Branch(condition, [early, Jump("continue")], [], KERNEL)]
    assert source.converted().variable is source.trip
    assert early.pairs == []


def _not_counted(source: While) -> bool:
    return source.converted().variable is None


def test_each_condition_is_needed():
    assert _not_counted(While(name="i"))  # the author's own `while`
    assert _not_counted(While(predicate=3))
    assert _not_counted(While(step=2))

    tests_more = While()
    tests_more.head.insert(0, Compute(_op("llvm.call", tests_more.n)))
    assert _not_counted(tests_more)

    moving_stop = While()
    moving_stop.test.operands[1] = moving_stop.use.result  # computed again in each trip
    assert _not_counted(moving_stop)

    set_elsewhere = While()
    set_elsewhere.body.insert(0, Copies([(set_elsewhere.trip, _constant(5))]))
    assert _not_counted(set_elsewhere)

    falls_through = While()
    falls_through.body.append(Compute(_op("llvm.call", falls_through.n)))
    assert _not_counted(falls_through)

    read_behind = While()
    read_behind.after = [Compute(_op("llvm.call", read_behind.trip))]
    assert _not_counted(read_behind)

    no_start = While()
    no_start.before = Copies([(no_start.n, _constant(0))])
    assert _not_counted(no_start)


def _over_trips(start: int | None, step: int, trips: int, place=None) -> Loop:
    """`for (number = 0; number < trips; ++number) use(start + number * step)`, without start where it is None."""
    number = _op("counter", name="").result
    product = _op("arith.muli", number, _constant(step))
    ops = [product]
    if start is not None:
        ops.append(_op("arith.addi", _constant(start), product.result))
    ops.append(_op("llvm.call", ops[-1].result))
    for op in ops[:-1]:
        op.place = place
    return Loop(_op("scf.for"), [Compute(op) for op in ops], [], number, (_constant(0), _constant(trips), _constant(1)))


def test_a_loop_over_trips_counts_from_start_by_step():
    for start, step, trips in ((3, 4, 5), (10, -2, 3), (None, 4, 5)):
        loop = _over_trips(start, step, trips)
        counted([loop])
        first = start or 0
        assert list(map(constant_of, loop.bounds)) == [first, first + trips * step, step]
        assert loop.variable is not None and loop.variable.defining_op.name == "counter"
        call = loop.body[-1].op
        assert call.operands == [loop.variable]


def test_a_product_of_the_author_stays():
    loop = _over_trips(3, 4, 5, place="k.py:7")
    counted([loop])
    assert list(map(constant_of, loop.bounds)) == [0, 5, 1]
