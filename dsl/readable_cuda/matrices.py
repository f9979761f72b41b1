"""mma, ldmatrix and stmatrix in CUDA C++: device functions round the PTX instructions, with registers as vectors."""

from __future__ import annotations

import re

from dsl.analysis.mlir_reader import Op
from dsl.readable_cuda.cpp_types import Unsupported, c_type
from dsl.readable_cuda.expressions import ATOM, Expressions

_LETTERS = {"f32": "f", "f64": "d", "i32": "r", "vector<2xf16>": "r"}
_MMA = re.compile(r"nvvm\.mma\.(m\d+n\d+k\d+)\.row\.col\.([\w.]+)$")
_ROWS = re.compile(r"nvvm\.(ld|st)matrix\.sync\.aligned\.m8n8\.x(\d)(\.trans)?\.b16\.p3$")


def is_matrix(name: str) -> bool:
    return bool(_MMA.match(name) or _ROWS.match(name))


def call(op: Op, write: Expressions, helpers: dict[str, str]) -> tuple[str, int]:
    """The call of an instruction; its function is put in `helpers` (definition -> name)."""
    product = _MMA.match(op.callee)
    if product:
        return _mma(op, write, helpers, *product.groups())
    rows = _ROWS.match(op.callee)
    assert rows is not None, op.callee
    kind, count, trans = rows.groups()
    registers = _list(1 if kind == "st" else 0, int(count))
    place = f"%{0 if kind == 'st' else count}"
    row = f'"r"((unsigned)__cvta_generic_to_shared({write.text(op.operands[0])}))'
    if kind == "st":
        values = ", ".join(f'"r"({write.text(value)})' for value in op.operands[1:])
        text = f"stmatrix.sync.aligned.m8n8.x{count}{trans or ''}.shared.b16 [{place}], {registers};"
        return f'asm volatile("{text}" :: {row}, {values} : "memory")', ATOM
    result = c_type(op.result.type, op.place)
    name = f"ldmatrix_x{count}{'_trans' if trans else ''}"
    outputs = ", ".join(f'"=r"({_member("d", result, i)})' for i in range(int(count)))
    text = f"ldmatrix.sync.aligned.m8n8.x{count}{trans or ''}.shared.b16 {registers}, [{place}];"
    helpers.setdefault(
        f"static __device__ __forceinline__ {result} {name}(const void* row) {{\n  {result} d;\n"
        f'  asm volatile("{text}"\n'
        f'    : {outputs} : "r"((unsigned)__cvta_generic_to_shared(row)) : "memory");\n  return d;\n}}\n',
        name,
    )
    return f"{name}({write.text(op.operands[0])})", ATOM


def _list(first: int, count: int) -> str:
    return "{" + ", ".join(f"%{first + i}" for i in range(count)) + "}"


def _member(value: str, type_: str, index: int) -> str:
    return value if type_ == "int" else f"{value}.at[{index}]"


def _mma(op: Op, write: Expressions, helpers: dict[str, str], shape: str, kinds: str) -> tuple[str, int]:
    parts = kinds.split(".")
    acc, ab = (parts[0], parts[1]) if len(parts) == 4 else (parts[0], "f16") if len(parts) == 2 else ("f32", parts[0])
    types = [operand.type for operand in op.operands]
    m, n, k = map(int, re.findall(r"\d+", shape))
    bits = {"f16": 16, "bf16": 16, "tf32": 32, "e4m3": 8, "e5m2": 8}.get(ab)
    if bits is None or not all(type_ in _LETTERS for type_ in types):
        raise Unsupported(op.callee, op.place)
    counts = [m * k * bits // 1024, k * n * bits // 1024, m * n // 32 // (2 if acc == "f16" else 1)]
    result_type = types[-1]
    registers, result = c_type(result_type, op.place), c_type(op.result.type, op.place)
    name = f"mma_{shape}_{ab}_{acc}"
    letters = [(letter, i) for letter, count in zip("abc", counts) for i in range(count)]
    parameters = ", ".join(f"{c_type(type_)} {letter}{i}" for type_, (letter, i) in zip(types, letters))
    first, lists = counts[2], [_list(0, counts[2])]
    for count in counts:
        lists.append(_list(first, count))
        first += count
    packed = result_type == "vector<2xf16>"
    outputs = ", ".join(f'"={_LETTERS[result_type]}"({f"r{i}" if packed else f"d.at[{i}]"})' for i in range(counts[2]))
    inputs = ", ".join(
        f'"{_LETTERS[type_]}"({_given(type_, f"{letter}{i}")})' for type_, (letter, i) in zip(types, letters)
    )
    local = f"  unsigned {', '.join(f'r{i}' for i in range(counts[2]))};\n" if packed else f"  {result} d;\n"
    values = ", ".join(f"bits_as<{registers}>(r{i})" for i in range(counts[2]))
    text = f"mma.sync.aligned.{shape}.row.col.{acc}.{ab}.{ab}.{acc} {', '.join(lists)};"
    helpers.setdefault(
        f'static __device__ __forceinline__ {result} {name}({parameters}) {{\n{local}  asm volatile("{text}"\n    : '
        f"{outputs}\n    : {inputs});\n  return {f'{result}{{{{{values}}}}}' if packed else 'd'};\n}}\n",
        name,
    )
    return f"{name}({', '.join(map(write.text, op.operands))})", ATOM


def _given(type_: str, name: str) -> str:
    return f"bits_as<unsigned>({name})" if type_ == "vector<2xf16>" else name
