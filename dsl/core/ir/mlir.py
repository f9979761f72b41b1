"""The one MLIR context, and how an op is made.

Ops are made with `ir.Operation.create`, never with the generated dialect classes, which are slow to import
(dsl/core/ir/bindings.py).
GPU instructions are LLVM intrinsics (`intrinsic`): unlike inline assembly they stay convergent all the way down.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, NoReturn

from dsl import span
from dsl.core.errors import DSLUserCodeError, DSLUserCodeRuntimeError
from dsl.core.ir import bindings
from dsl.core.phrase import Phrase
from dsl.core.state import this_thread

ir, llvm = bindings.ir, bindings.llvm
context = ir.Context()
if TYPE_CHECKING:  # the bindings have no stubs: what a value is called, with members that are not checked

    class Operation(Any): ...

    class Value(Any): ...

    class Type(Any): ...

    class Block(Any): ...

    class Location(Any): ...
else:
    Operation, Value, Type, Block, Location = ir.Operation, ir.Value, ir.Type, ir.Block, ir.Location

with context:
    i1, i4, i8, i16, i32, i64, i128 = (ir.IntegerType.get_signless(width) for width in (1, 4, 8, 16, 32, 64, 128))
    f16, bf16, f32, f64 = ir.F16Type.get(), ir.BF16Type.get(), ir.F32Type.get(), ir.F64Type.get()
    _pointers = {space: llvm.PointerType.get(space) for space in (0, 1, 3, 4, 5, 7)}
    unknown = ir.Location.unknown()


def ptr(space: int = 0) -> Type:
    """`!llvm.ptr<space>`: 0 generic, 1 global, 3 shared, 4 constant, 5 local, 7 shared of the cluster."""
    return _pointers[space]


def integer(width: int) -> Type:
    with context:
        return ir.IntegerType.get_signless(width)


def array(element: Type, count: int) -> Type:
    with context:
        return llvm.ArrayType.get(element, count)


def struct(*members: Type) -> Type:
    with unknown:
        return llvm.StructType.get_literal(list(members))


def vector(element: Type, count: int) -> Type:
    with unknown:
        return ir.VectorType.get([count], element)


def string_attr(text: str):
    return ir.StringAttr.get(text, context)


def symbol_attr(name: str):
    return ir.FlatSymbolRefAttr.get(name, context)


def int_attr(value: int, type_: Type = i64):
    if value >> 63 == 1 and type_.width <= 64:  # the bindings read a number as int64_t
        value -= 1 << 64
    return ir.IntegerAttr.get(type_, value)


def float_attr(value: float, type_: Type):
    return ir.FloatAttr.get(type_, value, loc=unknown)


def type_attr(type_: Type):
    return ir.TypeAttr.get(type_, context)


def i32_array_attr(values: Sequence[int]):
    return ir.DenseI32ArrayAttr.get(list(values), context)


def in_memory(parameters: Sequence[tuple[int, int] | int]):
    """Attributes of a kernel's parameters: (bytes, alignment) of those that are memory, 0 for the others."""

    def attributes(parameter):
        if not parameter:
            return ir.DictAttr.get({}, context)
        n_bytes, alignment_bytes = parameter
        return ir.DictAttr.get(
            {
                "llvm.byval": type_attr(array(i8, n_bytes)),
                "llvm.align": int_attr(alignment_bytes),
                "nvvm.grid_constant": unit_attr(),
            },
            context,
        )

    return ir.ArrayAttr.get([attributes(each) for each in parameters], context)


def unit_attr():
    return ir.UnitAttr.get(context)


_locations: dict[span.Span, Location] = {}


def location(place: span.Span | None = None) -> Location:
    """The MLIR location of `place`, or of the author's innermost frame with the calls that led to it."""
    if place is not None:
        return _in_file(place)
    key = span.calls_here()
    cached = _called.get(key)
    if cached is not None:
        return cached
    if not key:
        return _in_file(span.here())
    here, *calls = map(_in_file, span.places_of_calls(key))
    called = _called[key] = ir.Location.callsite(here, calls, context) if calls else here
    return called


_called: dict[tuple[int, ...], Location] = {}


def _in_file(place: span.Span) -> Location:
    cached = _locations.get(place)
    if cached is None:
        cached = _locations[place] = ir.Location.file(place.file, place.line, place.column, context)
    return cached


def without_calls(at: Location) -> Location:
    """The place that a location of a call has in the function that was called."""
    callee: Any = getattr(at, "callee", at)
    return callee


def place_of(at: Location) -> span.Span | None:
    """The place that `location` made `at` of."""
    at = without_calls(at)
    return next((place for place, location in _locations.items() if location == at), None)


_DIAGNOSED = re.compile(r'^(?:loc\(|error: )(?:callsite\()?"(.+?)(?: <- [^"]*)?":(\d+):(\d+)', re.MULTILINE)


def place_in(diagnostics: str) -> span.Span | None:
    """The first place that MLIR's `diagnostics` name and that `location` was given."""
    named = [(file, int(line), int(column)) for file, line, column in _DIAGNOSED.findall(diagnostics)]
    return next((place for at in named for place in _locations if (place.file, place.line, place.column) == at), None)


@contextmanager
def inside(block: Block) -> Iterator[Block]:
    """Ops made in this `with` are appended to `block`."""
    blocks, notes = this_thread.blocks, this_thread.zero_bits
    blocks.append(block)
    notes.append({})
    try:
        with unknown:  # an author may ask the bindings for a type
            yield block
    finally:
        blocks.pop()
        notes.pop()


def current_block() -> Block | None:
    """The block that ops are appended to now; None outside every function being traced."""
    blocks = this_thread.blocks
    return blocks[-1] if blocks else None


@contextmanager
def function_of(owner: Any) -> Iterator[None]:
    """Values made in this `with` belong to `owner`, the function being traced, and to no other."""
    owners = this_thread.owners
    owners.append(owner)
    try:
        yield
    finally:
        owners.pop()


def current_function() -> Any:
    """The function that values made now belong to."""
    return this_thread.owners[-1]


def check_owner(owner: Any) -> None:
    """Raise DSLUserCodeError for a value of another function: its module may be gone."""
    if owner is not current_function():
        raise DSLUserCodeError(
            "a value is used outside the function or call that computed it: it was kept in an object or a closure",
            fix="pass it to this function as an argument",
            id="VALUE_OF_ANOTHER_FUNCTION",
        )


def owned(value: Value, owner: Any) -> Value:
    """`value` where the function being traced can use it: itself, or what that function adopts it as.

    Raises DSLUserCodeError for a value of a function that this one cannot reach.
    """
    function = current_function()
    if owner is not function:
        adopt = getattr(function, "adopt", None)
        if adopt is not None:
            return adopt(value, owner)
        check_owner(owner)
    return value


def op(
    name: str,
    results: Sequence[Type] = (),
    operands: Sequence[Value] = (),
    attributes: dict | None = None,
    regions: int = 0,
) -> Operation:
    """Append op `name` to the current block, located at the author's expression."""
    blocks = this_thread.blocks or _no_block()
    operation = Operation.create(
        name, results=results, operands=operands, attributes=attributes, regions=regions, loc=location()
    )
    blocks[-1].append(operation)
    return operation


def _no_block() -> NoReturn:
    raise DSLUserCodeRuntimeError(
        "computes a traced value outside any @cute.jit or @cute.kernel function",
        fix=Phrase("move it into a @cute.jit function", "IN_CUTE"),
        id="CALL_OUTSIDE_JIT",
    )


@contextmanager
def appending() -> Iterator[None]:
    """Let the bindings' own builders append to the current block, located at the author's expression."""
    block = (this_thread.blocks or _no_block())[-1]
    with context, location(), block.point() if isinstance(block, Before) else ir.InsertionPoint(block):
        yield


def parsed_attributes(texts: dict[str, str]) -> dict:
    """Attributes of their texts in MLIR's syntax."""
    with context:
        return {name: ir.Attribute.parse(text) for name, text in texts.items()}


def result(name: str, type_: Type, *operands: Value, **attributes) -> Value:
    """The one result of a new op."""
    return op(name, [type_], operands, attributes or None).results[0]


def constant(value: int | float, type_: Type) -> Value:
    if isinstance(type_, ir.IntegerType):
        assert not isinstance(value, float)
        return result("arith.constant", type_, value=int_attr(value, type_))
    return result("arith.constant", type_, value=float_attr(value, type_))


def constant_of(value: Value) -> Any | None:
    """The number that `value` is, where arith.constant made it."""
    owner = value.owner
    return owner.attributes["value"] if not isinstance(owner, Block) and owner.name == "arith.constant" else None


def intrinsic(name: str, result_type: Type | None, *operands: Value) -> Value | None:
    """Call LLVM intrinsic `name`; it carries its own attributes (convergent, memory effects) all the way down."""
    call_op = op(
        "llvm.call_intrinsic",
        [result_type] if result_type else [],
        operands,
        {
            "intrin": string_attr(name),
            "op_bundle_sizes": i32_array_attr([]),
            "operandSegmentSizes": i32_array_attr([len(operands), 0]),
        },
    )
    return call_op.results[0] if result_type else None


def call(symbol: str, result_type: Type | None, *operands: Value) -> Value | None:
    """Call a function declared in the module by `Module.declare`."""
    call_op = op(
        "llvm.call",
        [result_type] if result_type else [],
        operands,
        {
            "callee": symbol_attr(symbol),
            "op_bundle_sizes": i32_array_attr([]),
            "operandSegmentSizes": i32_array_attr([len(operands), 0]),
        },
    )
    return call_op.results[0] if result_type else None


def call_variadic(symbol: str, result_type: Type, fixed: Sequence[Type], *operands: Value) -> Value:
    """Call a declared C function that takes `fixed` and then any arguments."""
    type_ = llvm.FunctionType.get(result_type, list(fixed), is_var_arg=True)
    call_op = op(
        "llvm.call",
        [result_type],
        operands,
        {
            "callee": symbol_attr(symbol),
            "var_callee_type": type_attr(type_),
            "op_bundle_sizes": i32_array_attr([]),
            "operandSegmentSizes": i32_array_attr([len(operands), 0]),
        },
    )
    return call_op.results[0]


def field(aggregate: Value, index: int, type_: Type) -> Value:
    """Member `index` of a struct value."""
    return op(
        "llvm.extractvalue", [type_], [aggregate], {"position": ir.DenseI64ArrayAttr.get([index], context)}
    ).results[0]


def gep(base: Value, element: Type, index: Value | int) -> Value:
    """`base + index` elements of type `element`; an int index becomes a constant index."""
    dynamic = not isinstance(index, int)
    raw = -2147483648 if dynamic else index
    return op(
        "llvm.getelementptr",
        [base.type],
        [base, index] if dynamic else [base],
        {"rawConstantIndices": i32_array_attr([raw]), "elem_type": type_attr(element)},
    ).results[0]


def load(address: Value, type_: Type, alignment_bytes: int) -> Value:
    return result("llvm.load", type_, address, alignment=int_attr(alignment_bytes))


def store(value: Value, address: Value, alignment_bytes: int) -> None:
    op("llvm.store", [], [value, address], {"alignment": int_attr(alignment_bytes)})


def set_inputs(function: Operation, inputs: Sequence[Type]) -> None:
    """Let an `llvm.func` without a result take `inputs`, as its entry block does."""
    with context, unknown:
        function.attributes["function_type"] = type_attr(llvm.FunctionType.get(Type.parse("!llvm.void"), list(inputs)))


class Before:
    """In the place of a block: ops go before `marker`."""

    def __init__(self, marker: Operation):
        self.marker = marker

    def append(self, operation: Operation) -> None:
        with context, unknown:
            self.point().insert(operation)

    def point(self):
        """The insertion point for the bindings."""
        return ir.InsertionPoint(self.marker)


class Module:
    """A module being built: functions as ops, declarations as text."""

    def __init__(self):
        with unknown:
            self.operation = Operation.create("builtin.module", regions=1, loc=unknown)
            self.body = self.operation.regions[0].blocks.append()
        self.declared: set[str] = set()
        self.texts: dict[tuple[str, int], str] = {}  # ir.constant_text: (text, address space) -> symbol

    def declare(self, symbol: str, text: str) -> str:
        """Add a module-level llvm op (a global, an external function), given as text, once; returns `symbol`."""
        if symbol not in self.declared:
            self.declared.add(symbol)
            with context, unknown:
                self.body.append(Operation.parse(text))
        return symbol

    def function(
        self,
        name: str,
        inputs: Sequence[Type],
        result: Type | None = None,
        attributes: dict | None = None,
        attached: bool = True,
    ) -> tuple[Operation, Block]:
        """An `llvm.func` and its entry block, whose terminator (llvm.return) the caller appends.

        One that is not `attached` comes into the module when the caller appends it to `body`.
        """
        with context, unknown:
            type_ = llvm.FunctionType.get(result or Type.parse("!llvm.void"), list(inputs))
            operation = Operation.create(
                "llvm.func",
                regions=1,
                loc=location(),
                attributes={"sym_name": string_attr(name), "function_type": type_attr(type_), **(attributes or {})},
            )
            if attached:
                self.body.append(operation)
            return operation, operation.regions[0].blocks.append(*inputs, arg_locs=[operation.location] * len(inputs))

    def text(self) -> str:
        """The module as MLIR text with locations."""
        return self.operation.get_asm(enable_debug_info=True)


def operations_named(root: Operation, *names: str) -> list[Operation]:
    """The operations in `root` with one of these names. MLIR finds them: a walk in Python takes 20 times as long."""
    rewrite = bindings.load("rewrite")
    found: list[Operation] = []

    def note(operation: Any, _rewriter: Any) -> bool:
        found.append(operation.operation)
        return True  # no match: MLIR goes on

    with context:
        patterns = rewrite.RewritePatternSet()
        for name in names:
            patterns.add(name, note)
        rewrite.walk_and_apply_patterns(root, patterns.freeze())
    return found


Builder = Callable[..., Operation]


@contextmanager
def building(point: Operation | Block, at: Location | None = None) -> Iterator[Builder]:
    """Give a function that makes ops before an operation, or at the end of a block."""
    with context, at or unknown, ir.InsertionPoint(point):
        yield Operation.create


def operation_names(mlir_text: str) -> list[str]:
    """The names of all operations in a module, sorted."""
    names: set[str] = set()

    def note(operation: Any) -> Any:
        names.add(operation.name)
        return ir.WalkResult.ADVANCE

    with context:
        module = ir.Module.parse(mlir_text)
        module.operation.walk(note)
    return sorted(names)


Rewrite = Callable[[Operation], None]


def run_passes(
    mlir_text: str, pipeline: str, places: bool = True, before: Sequence[Rewrite] = (), after: Sequence[Rewrite] = ()
) -> str:
    """Parse `mlir_text`, rewrite the module, run `pipeline` over it, rewrite it again, and print it with locations or
    without. Raises the bindings' MLIRError."""
    manager = bindings.load("passmanager").PassManager
    with context:
        module = ir.Module.parse(mlir_text)
        for rewrite in before:
            rewrite(module.operation)
        manager.parse(pipeline).run(module.operation)
        for rewrite in after:
            rewrite(module.operation)
    return module.operation.get_asm(enable_debug_info=places)


def translate_to_llvm_ir(llvm_dialect_text: str) -> str:
    """The LLVM IR text, as the bindings' LLVM prints it, of a module in the llvm dialect. Raises MLIRError."""
    with context:
        module = ir.Module.parse(llvm_dialect_text)
        text = llvm.translate_module_to_llvmir(module.operation)
    return text
