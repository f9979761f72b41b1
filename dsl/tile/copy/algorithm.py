"""Copies of whole tensors: one atom call for every vector of the first mode, unrolled over the other modes.

A tensor of shape (V, rest...) or ((V, rest_v), rest...) is copied vector by vector; the vector's elements must be
contiguous on both sides. The tensors agree in rank, in the size of the first mode and in the size of all others
together: (4,) and 4 do, (4, 2, 2) and ((4, 1), 4, 1) too. Copies without an atom number the elements
colexicographically. With `pred`, a tensor of Boolean, a false predicate zero-fills where the atom does (cp.async:
source size 0) and leaves the destination alone otherwise (a branch). Its shape: `predicate`.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterator
from typing import Any

from dsl import layout as lay
from dsl.core.control_flow.statements import Range, for_, if_
from dsl.core.diagnosis import spelling
from dsl.core.errors import DSLUserCodeError, DSLUserCodeTypeError, DSLUserCodeValueError
from dsl.core.number.dtypes import Numeric
from dsl.core.number.operators import select
from dsl.core.phrase import shown
from dsl.layout import ComposedLayout, Layout, LayoutError
from dsl.layout.coord import idx2crd
from dsl.layout.int_tuple import divisor_of, flatten_to_tuple, text, wrap
from dsl.tile.copy.atom import CopyAtom, CopyG2SOp, VectorOp
from dsl.tile.copy.bulk import BulkAtom, copy_runs
from dsl.tile.copy.dsmem_copy import CopyDsmemStoreOp, signalling
from dsl.tile.copy.matrix_copy import MatrixOp, copy_matrices, is_contiguous
from dsl.tile.copy.predicate import Predicates, condition, vectors_and_rest
from dsl.tile.tensor.alignment import check_alignment
from dsl.tile.tensor.element_address import element_iterator, in_memory, kept_together, static_size
from dsl.tile.tensor.modes import group_modes
from dsl.tile.tensor.tensor import Tensor, recast_tensor
from dsl.tile.tma.tma import TmaAtom
from dsl.tile.tma.tma_copy import copy_boxes
from dsl.tile.vector.vector import load_vector, store_vector

_MAX_VECTOR_BYTES = 16


def copy(
    atom: CopyAtom,
    src: Tensor,
    dst: Tensor,
    *,
    pred: Tensor | None = None,
    unroll_factor: int | None = None,
    **of_tma: Any,
) -> None:
    """Copy `src` to `dst` with as many calls of the atom as it has vectors. See the module for shapes and `pred`.

    With `unroll_factor` a loop at run time, unrolled that often, goes over what is not the first mode. Raises
    DSLUserCodeError where the shapes differ or are dynamic, a vector is not contiguous or not aligned, or `pred`
    does not fit.
    """
    if isinstance(atom, (TmaAtom, BulkAtom)):
        _no_predicate(pred)
        if isinstance(atom, TmaAtom):
            return copy_boxes(atom, src, dst, **of_tma)
        return copy_runs(atom, src, dst, **of_tma)
    if isinstance(atom, CopyAtom) and isinstance(atom.op, CopyDsmemStoreOp):
        op = signalling(atom.op, src, dst, of_tma.pop("mbar_ptr", None))
        atom = CopyAtom(op, atom.value_type, atom.num_bits_per_copy)
    if of_tma:
        raise _unknown_parameter(next(iter(of_tma)))
    if not isinstance(atom, CopyAtom):
        raise DSLUserCodeTypeError(
            f"copy takes a copy atom first, got {type(atom).__name__}",
            fix="cute.copy(cute.make_copy_atom(op, dtype), src, dst)",
        )
    if isinstance(atom.op, MatrixOp):
        _copy_matrices(atom, src, dst, pred)
        return
    copy_vectors(atom, src, dst, None if pred is None else lambda: _predicates(atom, pred, src), unroll_factor)


def copy_vectors(
    atom: CopyAtom,
    src: Tensor,
    dst: Tensor,
    predicates: Callable[[], Any] | None = None,
    unroll_factor: int | None = None,
) -> None:
    """Copy vector by vector, those whose condition, `predicates().at(coord, lowest_bit)`, is true."""
    src, dst = _check_pair(src, dst, "copy")
    _check_vectors(src, dst)
    for side, tensor in (("source", src), ("destination", dst)):
        _check_type(atom, side, tensor)
        _check_vector(atom, side, tensor)
    given = None if predicates is None else predicates()
    _over_rest(unroll_factor, lay.size(vectors_and_rest(src), [1]), _vector_copy(atom, src, dst, given))


def _predicates(atom: CopyAtom, pred: Tensor, src: Tensor) -> Predicates:
    predicates = Predicates(pred, vectors_and_rest(src).shape, src.shape)
    if isinstance(atom.op, CopyG2SOp):
        predicates.tell_of_bits()
    return predicates


def _vector_copy(atom: CopyAtom, src: Tensor, dst: Tensor, predicates: Any) -> Callable[[Any], None]:
    """A function that copies the vectors at an index of the rest."""
    src, dst = map(vectors_and_rest, (src, dst))
    op = atom.op
    assert isinstance(op, VectorOp)

    def at(rest: Any) -> None:
        for first in range(0, lay.size(src.shape[0]), atom.count):
            start, end = element_iterator(src, (first, rest)), element_iterator(dst, (first, rest))
            if predicates is None:
                op.move(start, end, atom.count)
            else:
                met = predicates.at((first, rest), isinstance(op, CopyG2SOp))
                move_if(op, atom.count, met, start, end)

    return at


def _over_rest(unroll_factor: int | None, count: Any, at: Callable[[Any], None]) -> None:
    if unroll_factor is None:
        for rest in range(count):
            at(rest)
        return
    if type(unroll_factor) is not int or unroll_factor < 1:
        raise DSLUserCodeValueError(
            f"unroll_factor must be a positive integer, got {shown(unroll_factor)}", fix="unroll_factor=2, for example"
        )
    _loop(count, at, unroll_factor)


def _loop(count: Any, at: Callable[[Any], None], unroll: int = -1) -> None:
    """`at(i)` for i from 0 to `count`, at run time."""

    def trip(i: Any) -> tuple:
        at(i)
        return ()

    for_(Range(count, unroll=unroll), trip, (), ())


def copy_atom_call(atom: CopyAtom, src: Tensor, dst: Tensor, *, pred: Tensor | None = None) -> None:
    """One atom's copy of tensors of one mode, (V) or ((V, rest_v)); see `copy`. `pred` has any shape of its size."""
    for side, tensor in (("source", src), ("destination", dst)):
        if isinstance(tensor, Tensor) and isinstance(tensor.shape, tuple) and len(tensor.shape) > 2:
            raise DSLUserCodeError(
                f"copy_atom_call copies one fragment (V), but the {side} is {text(tensor.shape)}",
                fix="cute.copy(atom, src, dst) copies all of them",
            )
    if isinstance(pred, Tensor) and lay.rank(src) == 1 and lay.rank(pred) > 1:
        pred = group_modes(pred, 0)
    copy(atom, src, dst, pred=pred)


def _unknown_parameter(name: str) -> DSLUserCodeTypeError:
    """The error of a keyword of `copy` that a copy without TMA does not have."""
    if any(name in inspect.signature(function).parameters for function in (copy_boxes, copy_runs)):
        return DSLUserCodeTypeError(
            f"`{name}` is only for copies by TMA, but this atom is not a TMA atom",
            fix="cpasync.make_tiled_tma_atom makes one",
        )
    near = spelling.nearest(name, ("pred",))
    return DSLUserCodeTypeError(
        f"`copy` has no parameter `{name}`",
        id="CALL_UNEXPECTED_KWARG",
        fix=f"did you mean `{near}`?" if near else "call it as `copy(atom, src, dst, pred=)`",
    )


def _no_predicate(pred: Any) -> None:
    if pred is not None:
        raise DSLUserCodeError(
            "bulk copies have no predicate: TMA fills elements outside the tensor with zeros", fix="leave `pred` out"
        )


def _copy_matrices(atom: CopyAtom, src: Any, dst: Any, pred: Any) -> None:
    if pred is not None:
        raise DSLUserCodeError(
            f"{type(atom.op).__name__} is one instruction of a warp and has no predicate",
            fix="leave `pred` out: clear the shared memory where there is nothing to read",
        )
    for side, tensor in (("source", src), ("destination", dst)):
        _require_tensor(side, tensor, "copy")
        _check_type(atom, side, tensor)
    copy_matrices(atom, in_memory(src), in_memory(dst))


def move_if(op: VectorOp, count: int, condition: Numeric, src: Any, dst: Any) -> None:
    """Copy `count` elements where the condition is true; else leave the destination alone, or zero it (cp.async)."""
    if isinstance(op, CopyG2SOp):
        op.move(src, dst, count, select(condition, count * src.dtype.storage_width // 8, 0))
    else:
        when(condition, lambda: op.move(src, dst, count))


def when(condition: Numeric, action: Any) -> None:
    """Run `action` under a dynamic branch."""

    def then() -> tuple:
        action()
        return ()

    if_(condition, then, tuple, (), ())


# --- what a copy requires -------------------------------------------------------------------------------------------


def _check_pair(src: Any, dst: Any, what: str, is_static: bool = True) -> tuple[Tensor, Tensor]:
    """Both tensors, over plain pointers."""
    for side, tensor in (("source", src), ("destination", dst)):
        _require_tensor(side, tensor, what)
        if is_static:
            static_size(tensor, what)
    return in_memory(src), in_memory(dst)


def _check_vectors(src: Tensor, dst: Tensor) -> None:
    """Whether both have as many elements in the first mode, and in the others together."""
    sizes = [[lay.size(mode) for mode in vectors_and_rest(tensor).shape] for tensor in (src, dst)]
    if lay.rank(src) != lay.rank(dst) or sizes[0] != sizes[1]:
        raise _different("copy", src, dst)


def _check_modes(src: Tensor, dst: Tensor, what: str) -> None:
    """Whether both have as many elements in each mode."""
    sizes = [[lay.size(mode) for mode in wrap(tensor.shape)] for tensor in (src, dst)]
    if len(sizes[0]) != len(sizes[1]) or not all(map(_may_agree, *sizes)):
        raise _different(what, src, dst)


def _check_sizes(src: Tensor, dst: Tensor, what: str) -> None:
    """Whether both have as many elements."""
    if lay.size(src) != lay.size(dst):
        raise DSLUserCodeError(
            f"{what} needs as many elements on both sides, got a source of {text(src.shape)} and a "
            f"destination of {text(dst.shape)}",
            fix="tile both with the same tiler",
        )


def _may_agree(a: Any, b: Any) -> bool:
    return not (isinstance(a, int) and isinstance(b, int)) or a == b


def _different(what: str, src: Tensor, dst: Tensor) -> DSLUserCodeError:
    return DSLUserCodeError(
        f"{what} needs as many elements in each mode, got a source of {text(src.shape)} and a "
        f"destination of {text(dst.shape)}",
        fix="tile both with the same tiler",
    )


def _require_tensor(side: str, tensor: Any, what: str) -> None:
    if not isinstance(tensor, Tensor):
        raise DSLUserCodeTypeError(
            f"{side} of {what} must be a tensor, got {type(tensor).__name__}",
            fix="cute.make_tensor(pointer, layout) makes one",
        )
    tensor.pointer()


def _check_type(atom: CopyAtom, side: str, tensor: Tensor) -> None:
    if tensor.element_type.storage_width != atom.value_type.storage_width:
        raise DSLUserCodeTypeError(
            f"the atom copies {atom.value_type}, but the {side} holds {tensor.element_type}",
            fix=f"make the atom with {tensor.element_type}, or recast the tensor",
        )


def _check_vector(atom: CopyAtom, side: str, tensor: Tensor) -> None:
    """Whether every vector of the first mode is contiguous, whole and aligned."""
    count, bits = atom.count, atom.num_bits_per_copy
    layout = tensor.layout.outer if isinstance(tensor.layout, ComposedLayout) else tensor.layout
    mode = layout[0] if isinstance(layout.shape, tuple) else layout
    if isinstance(atom.op, CopyG2SOp) and not _starts_with(mode.shape, count):
        raise DSLUserCodeError(
            f"one call of the atom copies {_elements(count)}, but the first mode of the {side} "
            f"{text(layout.shape)} is {text(mode.shape)}: one call would not copy it",
            fix=f"tile both tensors by vectors: `cute.zipped_divide(t, ({count},))`",
        )
    if not is_contiguous(mode, count):
        raise DSLUserCodeError(
            f"a copy of {bits} bits moves {count} contiguous elements, but the first mode of the {side} is {mode}",
            fix="put the contiguous mode first, or copy fewer bits with "
            f"num_bits_per_copy={atom.value_type.storage_width}",
        )
    if isinstance(tensor.layout, ComposedLayout) and not _keeps_vectors(tensor.layout, count):
        raise DSLUserCodeError(
            f"the layout {tensor.layout} of the {side} permutes elements inside a vector of {count}",
            fix="use a swizzle whose base covers the vector",
        )
    check_alignment(tensor.pointer(), f"a copy of {bits} bits", bits // 8, side)


def _elements(count: int) -> str:
    return "1 element" if count == 1 else f"{count} elements"


def _starts_with(shape: Any, count: int) -> bool:
    """Whether the first leaves of a mode make up exactly one vector."""
    covered = 1
    for leaf in flatten_to_tuple(shape):
        covered *= leaf
        if covered == count:
            return True
    return False


def _keeps_vectors(layout: ComposedLayout, count: int) -> bool:
    return isinstance(layout.inner, lay.Swizzle) and (count == 1 or (1 << layout.inner.base) % count == 0)


# --- copies without an atom -----------------------------------------------------------------------------------------


def basic_copy(src: Tensor, dst: Tensor) -> None:
    """Copy the bits of each element: float 1.0 becomes the int 0x3f800000. A loop at run time where a shape is dynamic.

    Raises for elements of different widths.
    """
    src, dst = _check_pair(src, dst, "basic_copy", is_static=False)
    _check_modes(src, dst, "basic_copy")
    src, count = _bits_for(dst, src, "basic_copy"), lay.size(src)

    def one(i: Any) -> None:
        element_iterator(dst, i).store(element_iterator(src, i).load())

    if not isinstance(count, int):
        _loop(count, one)
        return
    for i in range(static_size(src, "basic_copy")):
        one(i)


def _bits_for(dst: Tensor, src: Tensor, name: str) -> Tensor:
    """`src` as elements of the type of `dst`. Raises DSLUserCodeTypeError where these are wider or narrower."""
    a, b = src.element_type, dst.element_type
    if a.width != b.width:
        raise DSLUserCodeTypeError(
            f"{name} needs elements of the same width: the source has {a.width} bits ({a}), the destination "
            f"{b.width} ({b})",
            fix=f"convert: `dst.store(src.load().to({b}))`",
        )
    return src if a is b else recast_tensor(src, b)


def basic_copy_if(pred: Tensor, src: Tensor, dst: Tensor) -> None:
    """Copy the bits of the elements whose predicate, a number, is not zero; the others stay as they are."""
    src, dst = _check_pair(src, dst, "basic_copy_if")
    _check_sizes(src, dst, "basic_copy_if")
    src = _bits_for(dst, src, "basic_copy_if")
    _require_tensor("predicate", pred, "basic_copy_if")
    if lay.size(pred) != lay.size(src):
        raise DSLUserCodeError(
            f"basic_copy_if needs a predicate an element: pred is {text(pred.shape)}, the tensors {text(src.shape)}",
            fix="cute.make_fragment_like(dst, cutlass.Boolean)",
        )

    def one(i: int) -> None:
        start, end = element_iterator(src, i), element_iterator(dst, i)
        when(condition(element_iterator(pred, i).load()), lambda: end.store(start.load()))

    for i in range(static_size(src, "basic_copy_if")):
        one(i)


def autovec_copy(src: Tensor, dst: Tensor) -> None:
    """Copy with the widest vectors, up to 16 bytes, that are contiguous and aligned on both sides."""
    for _, start, end, count in common_vectors(src, dst, "autovec_copy"):
        store_vector(end, load_vector(start, count))


def common_vectors(src: Tensor, dst: Tensor, what: str) -> Iterator[tuple[int, Any, Any, int]]:
    """The widest vectors of both: the index of the first element, where it is on either side, and their number."""
    src, dst = _check_pair(src, dst, what)
    _check_sizes(src, dst, what)
    src = _bits_for(dst, src, what)
    vector, rest = _common_vectors(src, dst)
    for coord in range(lay.size(rest)):
        start, end = (element_iterator(t, rest(coord)) for t in (src, dst))
        yield rest(coord), start, end, vector


def _common_vectors(src: Tensor, dst: Tensor) -> tuple[int, Layout]:
    """How many elements one access moves, and the layout of the (column-major) indices where the vectors start."""
    whole = Layout(lay.size(src), 1)
    swizzled = [t.layout for t in (src, dst) if isinstance(t.layout, ComposedLayout)]
    bound = (
        min(_MAX_VECTOR_BYTES, src.pointer().alignment_bytes, dst.pointer().alignment_bytes)
        * 8
        // src.element_type.storage_width
    )
    bound = min([1 << bound.bit_length() - 1 if bound else 1, *map(kept_together, swizzled)])
    layouts = [t.layout.outer if isinstance(t.layout, ComposedLayout) else t.layout for t in (src, dst)]
    try:
        common = lay.max_common_layout(*layouts)
        together = lay.size(common)
        vector = min(together & -together, bound)  # it divides them: 4 floats of 6 would move 8
        divided = lay.logical_divide(whole, lay.composition(common, vector))
    except LayoutError:
        return 1, whole
    starts = divided[1]
    aligned = all(_starts_aligned(layout, starts, vector) for layout in layouts)
    return (vector, starts) if aligned else (1, whole)


def _starts_aligned(layout: Layout, starts: Layout, vector: int) -> bool:
    """Whether every vector starts at a multiple of its size, by what is known of dynamic strides."""
    divisors = [divisor_of(stride) for stride in flatten_to_tuple(layout.stride)]
    for i in range(lay.size(starts)):
        coord = flatten_to_tuple(idx2crd(starts(i), layout.shape))
        offsets = (index * divisor for index, divisor in zip(coord, divisors))
        if any(offset % vector for offset in offsets) and (not lay.is_static(layout) or layout(starts(i)) % vector):
            return False
    return True
