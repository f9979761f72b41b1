"""Loops of a host function let Python run the handlers of signals: see dsl/interrupts.py.

Every trip counts down; every few thousand `emu_look` reads a clock, and asks Python now and then. An innermost loop
that counts is cut into stretches of as many trips, so that LLVM may unroll and vectorise it.
"""

from __future__ import annotations

from dsl.core.ir import mlir

TURNS = 4096  # trips between looks at the clock
_LESS = 2  # of arith.cmpi's predicates: slt
_CALLS = "llvm.call", "llvm.inline_asm", "llvm.invoke"
_ANNOTATION = "llvm.loop_annotation"
_LOOPS = "scf.for", "scf.while"
# `dsl_turn(turns, trips)` gives 0 for the function to go on. `turns` (for emu_look): trips left, their period, a time.
_TURN = f"""
    llvm.func internal @dsl_turn(%turns: !llvm.ptr, %trips: i64) -> i32 attributes {{always_inline}} {{
      %none = llvm.mlir.constant(0 : i64) : i64
      %left = llvm.load %turns : !llvm.ptr -> i64
      %less = llvm.sub %left, %trips : i64
      llvm.store %less, %turns : i64, !llvm.ptr
      %more = llvm.icmp "sgt" %less, %none : i64
      llvm.cond_br %more weights([{TURNS}, 1]), ^go, ^look
    ^look:
      %heard = llvm.call @emu_look(%turns) : (!llvm.ptr) -> i32
      llvm.return %heard : i32
    ^go:
      %goes = llvm.mlir.constant(0 : i32) : i32
      llvm.return %goes : i32
    }}
    llvm.func @emu_look(!llvm.ptr) -> i32 attributes {{passthrough = ["cold"]}}"""


def hear_in_loops(module: mlir.Operation) -> None:
    """Let each loop, all of which are in `@host`, call `dsl_turn` once a trip or once a stretch of trips."""
    loops = mlir.operations_named(module, *_LOOPS)
    if not loops:
        return
    functions = module.regions[0].blocks[0]
    host = next(each for each in functions.operations if each.attributes["sym_name"].value == "host")
    turns = _counters(host.regions[0].blocks[0])
    for loop in loops:
        if _is_straight(loop):
            _cut_into_stretches(loop, turns)
        else:
            with mlir.building(loop.regions[-1].blocks[0].operations[-1]) as build:
                _turn(build, turns, _constant(build, 1, mlir.i64))
            if _ANNOTATION in loop.attributes:
                del loop.attributes[_ANNOTATION]  # LLVM cannot unroll a loop that may end early, and would print that
    with mlir.context:
        turn = mlir.ir.Module.parse(_TURN)
        for function in turn.body.operations:
            functions.append(function.clone())


def _counters(entry: mlir.Block) -> mlir.Value:
    """The memory in which the loops of a call count."""
    with mlir.building(entry.operations[0]) as build:
        element = {"elem_type": mlir.type_attr(mlir.i64)}
        size, alignment = _constant(build, 3, mlir.i32), {"alignment": mlir.int_attr(8)}
        turns = build("llvm.alloca", [mlir.ptr()], [size], element | alignment).results[0]
        for index, number in enumerate((TURNS, TURNS, 0)):
            place = element | {"rawConstantIndices": mlir.i32_array_attr([index])}
            address = build("llvm.getelementptr", [mlir.ptr()], [turns], place).results[0]
            build("llvm.store", [], [_constant(build, number, mlir.i64), address])
    return turns


def _constant(build: mlir.Builder, number: int, type_: mlir.Type) -> mlir.Value:
    return build("arith.constant", [type_], attributes={"value": mlir.int_attr(number, type_)}).results[0]


def _turn(build: mlir.Builder, turns: mlir.Value, trips: mlir.Value) -> None:
    if trips.type != mlir.i64:
        trips = build("arith.extui", [mlir.i64], [trips]).results[0]
    callee = {"callee": mlir.symbol_attr("dsl_turn"), "op_bundle_sizes": mlir.i32_array_attr([])}
    build("llvm.call", [mlir.i32], [turns, trips], {**callee, "operandSegmentSizes": mlir.i32_array_attr([2, 0])})


def _is_straight(loop: mlir.Operation) -> bool:
    """Whether a loop counts by one and has no loop and no call in it: a call may take long."""
    if loop.name != "scf.for":
        return False
    step = mlir.constant_of(loop.operands[2])
    return step is not None and step.value == 1 and not mlir.operations_named(loop, *_CALLS, *_LOOPS)


def _cut_into_stretches(loop: mlir.Operation, turns: mlir.Value) -> None:
    """Make `for i in range(first, stop)` the inner loop of

    while first < stop:
        end = first + min(stop - first, TURNS)
        for i in range(first, end): ...
        first = end
    """
    first, stop, step, *initial = loop.operands
    types = [value.type for value in (first, *initial)]
    with mlir.building(loop) as build:
        stretches = build("scf.while", types, [first, *initial], regions=2)
        test, body = (
            region.blocks.append(*types, arg_locs=[mlir.unknown] * len(types)) for region in stretches.regions
        )
    with mlir.building(test) as build:
        less = {"predicate": mlir.int_attr(_LESS)}
        goes_on = build("arith.cmpi", [mlir.i1], [test.arguments[0], stop], less).results[0]
        build("scf.condition", [], [goes_on, *test.arguments])
    for old, new in zip(loop.results, list(stretches.results)[1:]):
        old.replace_all_uses_with(new)
    with mlir.building(body) as build:
        index = types[0]
        left = build("arith.subi", [index], [stop, body.arguments[0]]).results[0]
        trips = build("arith.minui", [index], [left, _constant(build, TURNS, index)]).results[0]
        end = build("arith.addi", [index], [body.arguments[0], trips]).results[0]
        body.append(loop)
        for position, value in enumerate((body.arguments[0], end, step, *list(body.arguments)[1:])):
            loop.operands[position] = value
        _turn(build, turns, trips)
        build("scf.yield", [], [end, *loop.results])
