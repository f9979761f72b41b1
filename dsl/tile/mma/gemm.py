"""Products of fragments: one mma for every (m, n, k) of what a thread holds.

A thread holds A (V, M, K), B (V, N, K) and C, D (V, M, N), where V values are what one mma takes of it. Fewer modes:
(V), (V) -> (V); (M), (N) -> (M, N); (M, K), (N, K) -> (M, N); (V, M), (V, N) -> (V, M, N).
"""

from __future__ import annotations

from typing import Any

from dsl import layout as lay
from dsl.core.errors import DSLUserCodeError, DSLUserCodeTypeError, DSLUserCodeValueError
from dsl.core.ir import mlir
from dsl.core.number.pointer import AddressSpace
from dsl.gpu.arithmetic import functions
from dsl.gpu.matrix.mma import ACCUMULATOR, OPERAND, mma
from dsl.layout.int_tuple import text
from dsl.tile.mma import warpgroup_gemm
from dsl.tile.mma.mma import PTX_NAME, MmaAtom, MmaUniversalOp
from dsl.tile.mma.registers import read_register, write_register
from dsl.tile.mma.warpgroup import WarpgroupMmaOp
from dsl.tile.tensor.element_address import element_iterator, static_size
from dsl.tile.tensor.tensor import Tensor

_NAMES = ("D", "A", "B", "C")
_ROLES = {"A": "a", "B": "b", "C": "c", "D": "d"}


def gemm(atom: MmaAtom, d: Tensor, a: Any, b: Any, c: Tensor) -> None:
    """D = A * B + C, by as many calls of the atom as the fragments have. See the module for the shapes.

    Products are summed in the order of k. Raises DSLUserCodeError where types, memory or shapes do not fit.
    """
    if isinstance(getattr(atom, "op", None), WarpgroupMmaOp):
        return warpgroup_gemm.gemm(atom, d, a, b, c)
    tensors = _checked(atom, d, a, b, c, "gemm")
    d, a, b, c = (_by_modes(tensor, name, [t.shape for t in tensors]) for tensor, name in zip(tensors, _NAMES))
    extents = [[lay.size(mode) for mode in t.shape[1:]] for t in (d, a, b, c)]
    (m, n), (a_m, k), (b_n, b_k), c_mn = extents
    if (a_m, b_n, b_k) != (m, n, k) or c_mn != [m, n]:
        raise DSLUserCodeError(
            "gemm: A (V, M, K), B (V, N, K), C and D (V, M, N) must agree in M, N and K, got A "
            f"{text(tensors[1].shape)}, B {text(tensors[2].shape)}, C {text(tensors[3].shape)} and D "
            f"{text(tensors[0].shape)}",
            fix="partition all of them with one tiled mma",
        )
    for step in range(k):
        parts_a = [_operand(atom, a, (0, i, step)) for i in range(m)]
        parts_b = [_operand(atom, b, (0, j, step)) for j in range(n)]
        for i in range(m):
            for j in range(n):
                _call(atom, d, parts_a[i], parts_b[j], c if step == 0 else d, (0, i, j))


def mma_atom_call(atom: MmaAtom, d: Tensor, a: Any, b: Any, c: Tensor) -> None:
    """One call of the atom: all tensors hold one fragment, (V) or (V, 1, ...)."""
    if isinstance(getattr(atom, "op", None), WarpgroupMmaOp):
        return warpgroup_gemm.gemm(atom, d, a, b, c)
    tensors = _checked(atom, d, a, b, c, "mma_atom_call")
    for tensor, name in zip(tensors, _NAMES):
        if lay.size(tensor) != _values(atom, name):
            raise DSLUserCodeError(
                f"mma_atom_call: one fragment of {name} has {_values(atom, name)} elements, got {text(tensor.shape)}",
                fix="cute.gemm(atom, d, a, b, c) calls the atom for all of them",
            )
    d, a, b, c = (Tensor(t.iterator, lay.append_ones(lay.make_layout((t.layout,)), 3)) for t in tensors)
    _call(atom, d, _operand(atom, a, (0, 0, 0)), _operand(atom, b, (0, 0, 0)), c, (0, 0, 0))


# --- what a product requires -----------------------------------------------------------------------------------------


def _values(atom: MmaAtom, name: str) -> int:
    """How many elements of a matrix a thread gives to one call."""
    return lay.size(atom.op.layouts["ABC".index(name.replace("D", "C"))], 1)


def _checked(atom: Any, d: Any, a: Any, b: Any, c: Any, what: str) -> list[Tensor]:
    if not isinstance(atom, MmaAtom):
        raise DSLUserCodeTypeError(
            f"{what} takes a tiled mma or an mma atom first, got {type(atom).__name__}",
            fix=f"cute.{what}(tiled_mma, d, a, b, c)",
        )
    tensors = []
    for tensor, name in zip((d, a, b, c), _NAMES):
        if isinstance(tensor, (list, tuple)):
            if len(tensor) != 1:
                raise DSLUserCodeError(
                    f"{what}: {type(atom.op).__name__} takes no other tensor than {name}",
                    fix=f"pass one tensor as `{_ROLES[name]}`",
                )
            tensor = tensor[0]
        if not isinstance(tensor, Tensor):
            raise DSLUserCodeTypeError(
                f"{what}: {name} must be a tensor, got {type(tensor).__name__}",
                fix="tiled_mma.make_fragment_A, _B and _C make fragments",
            )
        dtype = atom.op.ab_dtype if name in "AB" else atom.op.acc_dtype
        if tensor.element_type is not dtype:
            raise DSLUserCodeTypeError(
                f"{what}: {name} of {type(atom.op).__name__} must be of {dtype}, got a tensor of {tensor.element_type}",
                fix=f"tiled_mma.make_fragment_{name.replace('D', 'C')}(...) makes registers of the right type",
            )
        if tensor.memspace is not AddressSpace.rmem and not isinstance(atom.op, MmaUniversalOp):
            raise DSLUserCodeTypeError(
                f"{what}: {name} of {type(atom.op).__name__} must be in registers, got {tensor.memspace}",
                fix="copy it into a fragment first: "
                f"cute.copy(tiled_copy, ..., thr_copy.retile(fragment_{_ROLES[name]}))",
            )
        static_size(tensor, what)
        tensors.append(tensor)
    return tensors


def _by_modes(tensor: Tensor, name: str, shapes: list) -> Tensor:
    """The tensor with the modes (V, M, K), (V, N, K) or (V, M, N), of extent 1 where the author has none."""
    ranks = tuple(lay.rank(shape) for shape in shapes)
    modes_by_ranks: dict[tuple[int, ...], tuple[bool, bool]] = {
        (1, 1, 1, 1): (False, True),
        (2, 1, 1, 2): (True, True),
        (2, 2, 2, 2): (True, False),
        (3, 2, 2, 3): (False, True),
        (3, 3, 3, 3): (False, False),
    }
    missing = modes_by_ranks.get(ranks)
    if missing is None:
        shown = ", ".join(f"{name} {text(shape)}" for name, shape in zip(_NAMES, shapes))
        raise DSLUserCodeValueError(
            f"gemm is not defined for fragments with as many modes as these: {shown}",
            fix="A (V, M, K), B (V, N, K), C and D (V, M, N), or A (V, M), B (V, N)",
        )
    layout = tensor.layout if isinstance(tensor.layout.shape, tuple) else lay.make_layout((tensor.layout,))
    if ranks == (1, 1, 1, 1):
        layout = lay.make_layout((tensor.layout,))
    return tensor.with_layout(
        lay.append_ones(lay.prepend_ones(layout, lay.rank(layout) + 1) if missing[0] else layout, 3)
    )


# --- one call --------------------------------------------------------------------------------------------------------


def _operand(atom: MmaAtom, tensor: Tensor, coord: tuple) -> list[Any]:
    """The registers of a fragment of A or B: LLVM values, or the element itself."""
    if isinstance(atom.op, MmaUniversalOp):
        return [element_iterator(tensor, coord).load()]
    dtype = atom.op.ab_dtype
    type_ = OPERAND.get(PTX_NAME[dtype], mlir.i32)
    count = lay.size(tensor.shape[0]) * dtype.width // 32
    return [read_register(tensor, coord, i, type_) for i in range(count)]


def _call(atom: MmaAtom, d: Tensor, a: list, b: list, c: Tensor, coord: tuple) -> None:
    op = atom.op
    for tensor, name in ((d, "D"), (c, "C")):
        if lay.size(tensor.shape[0]) != _values(atom, name):
            raise _wrong_values(atom, name, tensor.shape)
    if isinstance(op, MmaUniversalOp):
        total = functions.fma(a[0], b[0], element_iterator(c, coord).load())
        element_iterator(d, coord).store(total)
        return
    accumulator = PTX_NAME[op.acc_dtype]
    needed = [_values(atom, name) * op.ab_dtype.width // 32 for name in "AB"]
    for name, parts, count in zip("AB", (a, b), needed):
        if len(parts) != count:
            raise _wrong_values(atom, name, (len(parts) * 32 // op.ab_dtype.width,))
    count = 4 * op.acc_dtype.width // 32
    parts = [read_register(c, coord, i, ACCUMULATOR[accumulator]) for i in range(count)]
    for i, value in enumerate(mma(op.shape_mnk, PTX_NAME[op.ab_dtype], accumulator, a, b, parts)):
        write_register(d, coord, i, value)


def _wrong_values(atom: MmaAtom, name: str, shape: tuple) -> DSLUserCodeError:
    return DSLUserCodeError(
        f"one call of {type(atom.op).__name__} {text(atom.shape_mnk)} takes {_values(atom, name)} "
        f"elements of {name} from each thread, but the first mode of this fragment has "
        f"{text(lay.size(shape[0]))}",
        fix=f"tiled_mma.make_fragment_{name.replace('D', 'C')}(...) makes one of the right shape",
    )
