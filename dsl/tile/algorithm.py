"""Copies of whole tensors: one atom call for every vector of the first mode, unrolled over the other modes.

A tensor of shape (V, rest...) or ((V, rest...), rest...) is copied vector by vector; the vector's elements must be
contiguous on both sides. With `pred`, a tensor of Boolean, a false predicate zero-fills where the atom does (cp.async:
source size 0) and leaves the destination alone otherwise (a branch). The predicate of a vector is that of its first
element in a pred shaped like the tensors; for the shape ((V, rest_v), rest...) pred has the shape (rest_v, rest...).
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import product as cross
from typing import Any

from dsl import layout as lay
from dsl.core.control import if_
from dsl.core.errors import DSLUserCodeError, DSLUserCodeTypeError
from dsl.core.dtypes import Numeric
from dsl.core.value import select
from dsl.layout import ComposedLayout, Layout, LayoutError
from dsl.layout.int_tuple import flatten_to_tuple, is_constant, text, wrap
from dsl.tile.atom import CopyAtom, CopyG2SOp
from dsl.tile.bulk import BulkAtom, copy_runs
from dsl.tile.matrix_copy import MatrixOp, copy_matrices
from dsl.tile.swizzled import kept_together
from dsl.tile.tensor import Tensor, element_iterator, recast_tensor, require_boolean, static_size
from dsl.tile.tma import TmaAtom, copy_boxes
from dsl.tile.vector import load_vector, store_vector

_MAX_VECTOR_BYTES = 16


def copy(atom: CopyAtom, src: Tensor, dst: Tensor, *, pred: Tensor | None = None, **of_tma: Any) -> None:
    """Copy `src` to `dst` with as many calls of the atom as it has vectors. See the module for shapes and `pred`.

    Raises DSLUserCodeError where the shapes differ or are dynamic, a vector is not contiguous or not aligned, or `pred`
    does not fit.
    """
    if isinstance(atom, (TmaAtom, BulkAtom)):
        _no_predicate(pred)
        return (copy_boxes if isinstance(atom, TmaAtom) else copy_runs)(atom, src, dst, **of_tma)
    if of_tma:
        raise DSLUserCodeTypeError(f"`{next(iter(of_tma))}` is for copies by TMA, and this is no TMA atom",
                                   fix="cpasync.make_tiled_tma_atom makes one")
    if not isinstance(atom, CopyAtom):
        raise DSLUserCodeTypeError(f"copy starts with a copy atom, and this is a {type(atom).__name__}",
                                   fix="cute.copy(cute.make_copy_atom(op, dtype), src, dst)")
    if isinstance(atom.op, MatrixOp):
        _copy_matrices(atom, src, dst, pred)
        return
    _check_pair(src, dst, "copy")
    for side, tensor in (("source", src), ("destination", dst)):
        _check_type(atom, side, tensor)
        _check_vector(atom, side, tensor)
    predicates = None if pred is None else _Predicates(require_boolean(pred), src.shape)
    for coord in _vector_coords(src.shape, atom.count):
        start, end = element_iterator(src, coord), element_iterator(dst, coord)
        if predicates is None:
            atom.op.move(start, end, atom.count)
        else:
            _move_if(atom, predicates.at(coord, atom.count), start, end)


def copy_atom_call(atom: CopyAtom, src: Tensor, dst: Tensor, *, pred: Tensor | None = None) -> None:
    """One atom's copy of tensors of one mode, (V) or ((V, rest_v)). See `copy`."""
    for side, tensor in (("source", src), ("destination", dst)):
        if isinstance(tensor, Tensor) and isinstance(tensor.shape, tuple) and len(tensor.shape) > 2:
            raise DSLUserCodeError(f"copy_atom_call copies one fragment (V), and the {side} is {text(tensor.shape)}",
                                   fix="cute.copy(atom, src, dst) copies all of them")
    copy(atom, src, dst, pred=pred)


def _no_predicate(pred: Any) -> None:
    if pred is not None:
        raise DSLUserCodeError("bulk copies have no predicate: of a tensor TMA fills what lies outside with zeros",
                               fix="leave `pred` out")


def _copy_matrices(atom: CopyAtom, src: Any, dst: Any, pred: Any) -> None:
    if pred is not None:
        raise DSLUserCodeError(f"{type(atom.op).__name__} is one instruction of a warp and has no predicate",
                               fix="leave `pred` out: clear the shared memory where there is nothing to read")
    for side, tensor in (("source", src), ("destination", dst)):
        _require_tensor(side, tensor, "copy")
        _check_type(atom, side, tensor)
    copy_matrices(atom, src, dst)


def _move_if(atom: CopyAtom, condition: Numeric, src: Any, dst: Any) -> None:
    if isinstance(atom.op, CopyG2SOp):
        atom.op.move(src, dst, atom.count, select(condition, atom.num_bits_per_copy // 8, 0))
    else:
        _when(condition, lambda: atom.op.move(src, dst, atom.count))


def _when(condition: Numeric, action: Any) -> None:
    """Run `action` under a dynamic branch."""

    def then() -> tuple:
        action()
        return ()

    if_(condition, then, tuple, (), ())


def _vector_coords(shape: Any, count: int) -> Iterator[Any]:
    """Where the vectors start: one index a mode, the first counting in steps of `count`."""
    if not isinstance(shape, tuple):
        yield from range(0, shape, count)
        return
    extents = [lay.size(mode) for mode in shape]
    for rest in cross(*(range(extent) for extent in reversed(extents[1:]))):
        for first in range(0, extents[0], count):
            yield (first, *reversed(rest))


# --- what a copy requires -------------------------------------------------------------------------------------------


def _check_pair(src: Any, dst: Any, what: str) -> None:
    for side, tensor in (("source", src), ("destination", dst)):
        _require_tensor(side, tensor, what)
        static_size(tensor, what)
    sizes = [[lay.size(mode) for mode in wrap(t.shape)] for t in (src, dst)]
    if sizes[0] != sizes[1]:
        raise DSLUserCodeError(f"{what} needs as many elements in each mode, and the source is {text(src.shape)}, the "
                               f"destination {text(dst.shape)}", fix="tile both with the same tiler")


def _require_tensor(side: str, tensor: Any, what: str) -> None:
    if not isinstance(tensor, Tensor):
        raise DSLUserCodeTypeError(f"the {side} of {what} is a tensor, and this is a {type(tensor).__name__}",
                                   fix="cute.make_tensor(pointer, layout) makes one")
    tensor.pointer()


def _check_type(atom: CopyAtom, side: str, tensor: Tensor) -> None:
    if tensor.element_type.storage_width != atom.value_type.storage_width:
        raise DSLUserCodeTypeError(f"the atom copies {atom.value_type}, and the {side} holds {tensor.element_type}",
                                   fix=f"make the atom with {tensor.element_type}, or recast the tensor")


def _check_vector(atom: CopyAtom, side: str, tensor: Tensor) -> None:
    """Whether every vector of the first mode is contiguous, whole and aligned."""
    count, bits = atom.count, atom.num_bits_per_copy
    layout = tensor.layout.outer if isinstance(tensor.layout, ComposedLayout) else tensor.layout
    mode = layout[0] if isinstance(layout.shape, tuple) else layout
    if isinstance(atom.op, CopyG2SOp) and not _starts_with(mode.shape, count):
        raise DSLUserCodeError(f"one call of the atom copies {_elements(count)}, and the first mode of the {side} "
                               f"{text(layout.shape)} is {text(mode.shape)}: one call would not copy it",
                               fix=f"tile both tensors by vectors: `cute.zipped_divide(t, ({count},))`")
    if count > 1 and not _is_contiguous(mode, count):
        raise DSLUserCodeError(f"a copy of {bits} bits moves {count} contiguous elements, and the first mode of the "
                               f"{side} is {mode}", fix="put the contiguous mode first, or copy fewer bits with "
                               f"num_bits_per_copy={atom.value_type.storage_width}")
    if isinstance(tensor.layout, ComposedLayout) and not _keeps_vectors(tensor.layout, count):
        raise DSLUserCodeError(f"the layout {tensor.layout} of the {side} permutes elements inside a vector of {count}",
                               fix="use a swizzle whose base covers the vector")
    alignment = tensor.pointer().alignment_bytes
    if alignment < bits // 8:
        raise DSLUserCodeError(f"a copy of {bits} bits needs addresses that are multiples of {bits // 8} bytes, and "
                               f"those of the {side} are only known to be of {alignment}", fix=_alignment_fix(bits))


def _elements(count: int) -> str:
    return "1 element" if count == 1 else f"{count} elements"


def _alignment_fix(bits: int) -> str:
    return (f"assumed_align={bits // 8} where the tensor is made, byte_alignment={bits // 8} where it is allocated; "
            "offsets keep it where their static strides are multiples")


def _starts_with(shape: Any, count: int) -> bool:
    """Whether the first leaves of a mode make up exactly one vector."""
    covered = 1
    for leaf in flatten_to_tuple(shape):
        covered *= leaf
        if covered == count:
            return True
    return False


def _is_contiguous(mode: Layout, count: int) -> bool:
    whole = lay.coalesce(mode)
    extent, stride = flatten_to_tuple(whole.shape)[0], flatten_to_tuple(whole.stride)[0]
    return isinstance(extent, int) and extent % count == 0 and is_constant(stride, 1)


def _keeps_vectors(layout: ComposedLayout, count: int) -> bool:
    return isinstance(layout.inner, lay.Swizzle) and (count == 1 or (1 << layout.inner.base) % count == 0)


class _Predicates:
    """The predicates of a copy: which element of `pred` decides the vector at a coordinate."""

    def __init__(self, pred: Tensor, shape: Any) -> None:
        self.pred, self.profiled = pred, isinstance(shape, tuple) and isinstance(shape[0], tuple) and len(shape[0]) > 1
        wanted = (_unwrapped(shape[0][1:]), *shape[1:]) if self.profiled else shape
        if [lay.size(m) for m in wrap(wanted)] != [lay.size(m) for m in wrap(pred.shape)]:
            raise DSLUserCodeError(f"pred has a shape like {text(wanted)} for a copy of {text(shape)}, and this is "
                                   f"{text(pred.shape)}",
                                   fix=f"cute.make_rmem_tensor({text(wanted)}, cutlass.Boolean)")

    def at(self, coord: Any, count: int) -> Numeric:
        if self.profiled:
            coord = (coord[0] // count, *coord[1:])
        return element_iterator(self.pred, coord).load()


def _unwrapped(modes: tuple) -> Any:
    return modes[0] if len(modes) == 1 else modes


# --- copies without an atom -----------------------------------------------------------------------------------------


def basic_copy(src: Tensor, dst: Tensor) -> None:
    """Copy the bits of each element: float 1.0 becomes the int 0x3f800000. Raises for elements of different widths."""
    _check_pair(src, dst, "basic_copy")
    src = _bits_for(dst, src, "basic_copy")
    for i in range(static_size(src, "basic_copy")):
        element_iterator(dst, i).store(element_iterator(src, i).load())


def _bits_for(dst: Tensor, src: Tensor, name: str) -> Tensor:
    """`src` as elements of the type of `dst`. Raises DSLUserCodeTypeError where these are wider or narrower."""
    a, b = src.element_type, dst.element_type
    if a.width != b.width:
        raise DSLUserCodeTypeError(f"{name} moves bits, and an element of the source has {a.width} ({a}), of the "
                                   f"destination {b.width} ({b})", fix=f"convert: `dst.store(src.load().to({b}))`")
    return src if a is b else recast_tensor(src, b)


def basic_copy_if(pred: Tensor, src: Tensor, dst: Tensor) -> None:
    """Copy the bits of the elements whose predicate is true; the others stay as they are."""
    _check_pair(src, dst, "basic_copy_if")
    src = _bits_for(dst, src, "basic_copy_if")
    require_boolean(pred)
    if lay.size(pred) != lay.size(src):
        raise DSLUserCodeError(f"basic_copy_if needs a predicate an element: pred is {text(pred.shape)}, the tensors "
                               f"{text(src.shape)}", fix="cute.make_fragment_like(dst, cutlass.Boolean)")

    def one(i: int) -> None:
        start, end = element_iterator(src, i), element_iterator(dst, i)
        _when(element_iterator(pred, i).load(), lambda: end.store(start.load()))

    for i in range(static_size(src, "basic_copy_if")):
        one(i)


def autovec_copy(src: Tensor, dst: Tensor) -> None:
    """Copy with the widest vectors, up to 16 bytes, that are contiguous and aligned on both sides."""
    _check_pair(src, dst, "autovec_copy")
    src = _bits_for(dst, src, "autovec_copy")
    vector, rest = _common_vectors(src, dst)
    for coord in range(lay.size(rest)):
        start, end = (element_iterator(t, rest(coord)) for t in (src, dst))
        store_vector(end, load_vector(start, vector))


def _common_vectors(src: Tensor, dst: Tensor) -> tuple[int, Layout]:
    """How many elements one access moves, and the layout of the (column-major) indices where the vectors start."""
    whole = Layout(lay.size(src), 1)
    swizzled = [t.layout for t in (src, dst) if isinstance(t.layout, ComposedLayout)]
    bound = min(_MAX_VECTOR_BYTES, src.pointer().alignment_bytes, dst.pointer().alignment_bytes) * 8 \
        // src.element_type.storage_width
    bound = min([1 << bound.bit_length() - 1 if bound else 1, *map(kept_together, swizzled)])
    layouts = [t.layout.outer if isinstance(t.layout, ComposedLayout) else t.layout for t in (src, dst)]
    try:
        common = lay.max_common_layout(*layouts)
        together = lay.size(common)
        vector = min(together & -together, bound)            # it divides them: 4 floats of 6 would move 8
        divided = lay.logical_divide(whole, lay.composition(common, vector))
    except LayoutError:
        return 1, whole
    starts = divided[1]
    aligned = all(_starts_aligned(layout, starts, vector) for layout in layouts)
    return (vector, starts) if aligned else (1, whole)


def _starts_aligned(layout: Layout, starts: Layout, vector: int) -> bool:
    return lay.is_static(layout) and all(layout(starts(i)) % vector == 0 for i in range(lay.size(starts)))
