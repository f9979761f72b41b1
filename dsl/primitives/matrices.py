"""8x8 matrices of 16-bit elements between shared memory and the registers of a warp.  PTX ISA: ldmatrix, stmatrix."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from dsl.core import trace
from dsl.core.errors import DSLUserCodeTypeError, DSLUserCodeValueError, warn_not_portable
from dsl.core.ir import builders, mlir
from dsl.core.number.dtypes import Int32, Int64, numeric
from dsl.core.number.operators import type_name
from dsl.core.number.pointer import AddressSpace
from dsl.core.phrase import shown
from dsl.gpu.matrix import mma, wgmma
from dsl.primitives.enums import LoadShape, LoadSrcFormat, MMAB1Op, MMAIntOverflow, MMALayout, MMAType, StoreShape
from dsl.primitives.operands import needs_blackwell, pointer, static, word
from dsl.primitives.vector import Vector


def _transposed(layout: Any) -> bool:
    return word(layout, MMALayout, "layout") == "col"


def _only_8x8(name: str, shape: Any, known: Any, source: Any = None) -> None:
    """Raise for shapes and formats of 8-bit and narrower elements."""
    if (shape is not None and word(shape, known, "shape") != "m8n8") or source is not None:
        raise needs_blackwell(f"{name} of {getattr(shape, 'value', shape) or getattr(source, 'value', source)}")


def ldmatrix(ptr: Any, num: int, layout: Any, *, shape: Any = None, src_format: Any = None) -> Any:
    """`num` (1, 2, 4) matrices; lane 8 i + r names row r of matrix i. An Int32 or a Vector of them.

    `layout` COL transposes each matrix.  PTX ISA: ldmatrix.
    """
    if src_format is not None:
        word(src_format, LoadSrcFormat, "src_format")
    _only_8x8("ldmatrix", shape, LoadShape, src_format)
    count = static(num, "number of matrices")
    if count not in (1, 2, 4):
        raise DSLUserCodeValueError(f"ldmatrix loads 1, 2 or 4 matrices, got {shown(count)}", fix="num=4")
    values = mma.ldmatrix(pointer(ptr, AddressSpace.smem), count, _transposed(layout))
    registers = [Int32(value) for value in values]
    return registers[0] if count == 1 else Vector.from_elements(registers, Int32)


def stmatrix(ptr: Any, sources: Any, layout: Any, *, shape: Any = None) -> None:
    """Store 1, 2 or 4 matrices, the inverse of `ldmatrix`.  PTX ISA: stmatrix."""
    _only_8x8("stmatrix", shape, StoreShape)
    registers = _registers(sources)
    if len(registers) not in (1, 2, 4):
        raise DSLUserCodeValueError(
            f"stmatrix stores 1, 2 or 4 matrices, got {len(registers)}", fix="a Vector of 4 Int32"
        )
    mma.stmatrix(pointer(ptr, AddressSpace.smem), [each.ir() for each in registers], _transposed(layout))


def _registers(sources: Any) -> Sequence[Int32]:
    if isinstance(sources, Vector):
        sources = sources.to_elements()
    registers = list(sources) if isinstance(sources, (tuple, list)) else [sources]
    for each in registers:
        number = numeric(each)
        if number is None or type(number).width != 32:
            raise DSLUserCodeTypeError(f"stmatrix stores registers of 32 bits, got {type_name(each)}", fix="Int32(x)")
    return [Int32(each) for each in registers]


def wgmma_fence_aligned() -> None:
    """Order later products of a warpgroup after accesses of the registers they use.  PTX ISA: wgmma.fence."""
    wgmma.fence()


def wgmma_mma_async(
    results_: Any, inouts: Any, descriptor_a: Any, descriptor_b: Any, shape: Any, type_a: Any, type_b: Any, type_d: Any,
    scale_d: Any, scale_a: Any, scale_b: Any, layout_a: Any, layout_b: Any, *, satfinite: Any = None,
) -> mlir.Value:  # fmt: skip
    """A product of a warpgroup of two matrices in shared memory by their descriptors: a struct of the type `results_`,
    which `inouts` is added to where `scale_d` is ONE.  PTX ISA: wgmma.mma_async.

    `shape` is MLIR's attribute `#nvvm.shape<m = 64, n = 8, k = 16>`.
    """
    trace.kernel().need("sm_90a", "multiplies matrices of a warpgroup")
    warn_not_portable(
        "wgmma_mma_async of the primitives takes no descriptor in NVIDIA's release 4.8.1",
        fix="cutlass._mlir.dialects.nvvm.wgmma_mma_async, with `descriptor.ir_value()`",
    )
    descriptors = [Int64(each).ir() for each in (descriptor_a, descriptor_b)]
    words = (shape, type_a, type_b, type_d, scale_d, scale_a, scale_b, layout_a, layout_b)
    builder = builders.attribute("nvvm", "wgmma_mma_async")
    return builder(results_, inouts, *descriptors, *words, satfinite=satfinite)


def wgmma_commit_group_sync_aligned() -> None:
    """Close a group of the products so far.  PTX ISA: wgmma.commit_group."""
    wgmma.commit_group()


def wgmma_wait_group_sync_aligned(group: int) -> None:
    """Wait until at most `group` (static, not negative) of the latest groups are on their way.
    PTX ISA: wgmma.wait_group."""
    if isinstance(group, int) and group < 0:
        raise DSLUserCodeValueError(
            f"the number of groups that may be on their way is not negative, got {group}", fix="0 waits for all of them"
        )
    wgmma.wait_group(group)


def _element(registers: Sequence[mlir.Value]) -> str:
    """PTX's type of the elements in an operand. Raises DSLUserCodeValueError where i32 could be several."""
    found = {"vector<2xf16>": "f16", "f64": "f64"}.get(str(registers[0].type)) if registers else None
    if found is None:
        raise DSLUserCodeValueError(
            "the type of A and B is not known by their registers", fix="multiplicand_a_ptx_type=MMAType.BF16, ..."
        )
    return found


def mma_sync(
    res: mlir.Type,
    shape: Sequence[int] | dict[str, int],
    layout_a: Any,
    layout_b: Any,
    operand_a: Sequence[mlir.Value],
    operand_b: Sequence[mlir.Value],
    operand_c: Sequence[mlir.Value],
    *,
    b1_op: Any = None,
    int_overflow_behavior: Any = None,
    multiplicand_a_ptx_type: Any = None,
    multiplicand_b_ptx_type: Any = None,
) -> mlir.Value:
    """D = A * B + C of a warp: a struct of type `res`, D's registers. Every thread of the warp must execute it.

    `shape` is (m, n, k); operands are registers, SSA values: `vector<2xf16>`, i32, f32 or f64. PTX's types of A and B
    are needed where i32 could be several. Raises DSLUserCodeValueError for what PTX does not have.  PTX ISA: mma.
    """
    m, n, k = (shape["m"], shape["n"], shape["k"]) if isinstance(shape, dict) else shape
    attributes = {
        "shape": f"#nvvm.shape<m = {m}, n = {n}, k = {k}>",
        "layoutA": f"#nvvm.mma_layout<{word(layout_a, MMALayout, 'layout_a')}>",
        "layoutB": f"#nvvm.mma_layout<{word(layout_b, MMALayout, 'layout_b')}>",
    }
    multiplicand_a_ptx_type = multiplicand_a_ptx_type or _element(operand_a)
    multiplicand_b_ptx_type = multiplicand_b_ptx_type or _element(operand_b)
    for name, value, words, parameter in (
        ("b1Op: mma_b1op", b1_op, MMAB1Op, "b1_op"),
        ("intOverflowBehavior: mma_int_overflow", int_overflow_behavior, MMAIntOverflow, "int_overflow_behavior"),
        ("multiplicandAPtxType: mma_type", multiplicand_a_ptx_type, MMAType, "multiplicand_a_ptx_type"),
        ("multiplicandBPtxType: mma_type", multiplicand_b_ptx_type, MMAType, "multiplicand_b_ptx_type"),
    ):
        if value is not None:
            attribute, _, kind = name.partition(": ")
            attributes[attribute] = f"#nvvm.{kind}<{word(value, words, parameter)}>"
    operands = [list(operand_a), list(operand_b), list(operand_c)]
    sizes = ", ".join(str(len(each)) for each in operands)
    attributes["operandSegmentSizes"] = f"array<i32: {sizes}>"
    operation = mlir.op(
        "nvvm.mma.sync", [res], [each for part in operands for each in part], mlir.parsed_attributes(attributes)
    )
    try:
        operation.verify()
    except mlir.ir.MLIRError as error:
        what = str(error).rpartition("op ")[2].partition("\n")[0]
        raise DSLUserCodeValueError(f"there is no such product: {what}", fix="PTX ISA, mma: shapes and types") from None
    return operation.results[0]
