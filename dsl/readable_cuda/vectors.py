"""Vectors in CUDA C++: float4 and its like where CUDA has them, else a struct of an array; element by element."""

from __future__ import annotations

from dsl.analysis.mlir_reader import Op, Value
from dsl.readable_cuda.cpp_types import Unsupported, count_and_element, vector_type
from dsl.readable_cuda.expressions import ATOM, CHOICE, Expressions

_REDUCTIONS = {"add": "+", "mul": "*", "and": "&", "or": "|", "xor": "^"}
_EXTREMES = {"maxnumf": "max", "minnumf": "min", "maxsi": "max", "minsi": "min", "maximumf": "max", "minimumf": "min"}


def text(write: Expressions, op: Op) -> tuple[str, int]:
    """The expression of an op on vectors. Raises Unsupported."""
    if op.name == "vector.extract":
        return write.element(write.text(op.operands[0], ATOM), op.operands[0].type, _position(op)), ATOM
    if op.name == "llvm.extractvalue":
        return write.member(op)
    if op.name == "vector.from_elements":
        count, element = count_and_element(op.result.type)
        return write.vector_of(element, [write.text(operand, CHOICE) for operand in op.operands]), ATOM
    if op.name == "vector.broadcast":
        count, element = count_and_element(op.result.type)
        return write.vector_of(element, [write.text(op.operands[0], CHOICE)] * count), ATOM
    if op.name == "vector.shuffle":
        return _shuffle(write, op)
    if op.name == "vector.reduction":
        return _reduction(write, op)
    if op.name == "arith.constant":
        return write.dense(op)
    if op.name == "llvm.load":
        return write.addresses(op.result, write)
    if op.name.startswith("arith.") and op.operands:
        return _elementwise(write, op)
    raise Unsupported(f"{op.name} of {op.result.type}", op.place)


def _position(op: Op) -> int:
    text = op.attributes["static_position"]
    indices = text if isinstance(text, tuple) else tuple(int(n) for n in text.split(":")[1].rstrip(">").split(","))
    if len(indices) != 1 or indices[0] < 0:
        raise Unsupported("vector.extract at a dynamic place", op.place)
    return indices[0]


def _elements(write: Expressions, value: Value) -> list[str]:
    count, _ = count_and_element(value.type)
    if value.op is not None and value.op.name == "arith.constant" and value not in write.names:
        item = write.dense(value.op)[0]
        inside = item[item.index("(") + 1 : -1] if item.startswith("make_") else item[item.index("{{") + 2 : -2]
        return inside.split(", ")
    name = write.text(value, ATOM)
    return [write.element(name, value.type, index) for index in range(count)]


def _shuffle(write: Expressions, op: Op) -> tuple[str, int]:
    mask = op.attributes["mask"]
    mask = mask if isinstance(mask, tuple) else tuple(int(p) for p in mask.split(":")[1].rstrip(">").split(","))
    if not all(operand in write.names for operand in op.operands):
        raise Unsupported("vector.shuffle of what has no name", op.place)
    every = [item for operand in op.operands for item in _elements(write, operand)]
    _, element = count_and_element(op.result.type)
    return write.vector_of(element, [every[max(place, 0)] for place in mask]), ATOM


def _reduction(write: Expressions, op: Op) -> tuple[str, int]:
    kind = str(op.attributes["kind"]).rpartition("<")[2].rstrip(">")
    parts = _elements(write, op.operands[0])
    if len(op.operands) > 1:
        parts.insert(0, write.text(op.operands[1], ATOM))
    sign = _REDUCTIONS.get(kind)
    if kind in _EXTREMES and op.result.type in ("f32", "f64", "i32", "i64"):
        extreme = parts[0]
        for part in parts[1:]:
            extreme = _extreme(write, kind, op.result.type, extreme, part)
        return extreme, ATOM
    if sign is None or op.result.type in ("i8", "i16", "i1"):
        raise Unsupported(f"vector.reduction of kind {kind}", op.place)
    return "(" + f" {sign} ".join(parts) + ")", ATOM


def _extreme(write: Expressions, kind: str, type_: str, a: str, b: str) -> str:
    """The larger or smaller; of the kinds with `imum` NaN where one is."""
    if not kind.endswith("imumf"):
        return f"{_EXTREMES[kind]}({a}, {b})"
    name = f"{_EXTREMES[kind]}_nan"
    c = "float" if type_ == "f32" else "double"
    definition = (
        f"static __device__ __forceinline__ {c} {name}({c} a, {c} b) {{\n"
        f"  return a != a || b != b ? a + b : {_EXTREMES[kind]}(a, b);\n}}\n"
    )
    write.calls.helpers.setdefault(definition, name)
    return f"{name}({a}, {b})"


def _elementwise(write: Expressions, op: Op) -> tuple[str, int]:
    """An arithmetic op on vectors as one on each element."""
    count, element = count_and_element(op.result.type)
    columns = [
        _elements(write, operand) if vector_type(operand.type) else [write.text(operand, ATOM)] * count
        for operand in op.operands
    ]
    items = []
    for index in range(count):
        scalars = []
        for operand, column in zip(op.operands, columns):
            vector = vector_type(operand.type)
            scalar = Op("element", [], [vector[1] if vector else operand.type], {}, op.place).result
            write.names[scalar] = column[index]
            scalars.append(scalar)
        of_element = Op(op.name, scalars, [element], op.attributes, op.place)
        items.append(write.computed(of_element)[0])
        for scalar in scalars:
            del write.names[scalar]
    return write.vector_of(element, items), ATOM
