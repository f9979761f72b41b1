"""print_tensor: the elements of a tensor as text, in CuTe's form, in host functions and in kernels.

A tensor prints as matrices of its first two modes, one for every index of the others; of an extent above 6 the first
and last 3 indices. Static and dynamic extents print alike. A call of printf takes at most 32 values, so a larger
tensor prints with several calls, and other threads may print between them.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from dsl import layout as lay
from dsl.core.errors import DSLUserCodeTypeError
from dsl.core.ir import arithmetic, mlir
from dsl.core.number.dtypes import Boolean, Int32, Numeric, is_dynamic
from dsl.core.number.operators import operate, select, type_name
from dsl.core.number.pointer import Pointer
from dsl.gpu import debug
from dsl.layout.coord import idx2crd
from dsl.tile.tensor import packed
from dsl.tile.tensor.element_address import element_iterator
from dsl.tile.tensor.tensor import Tensor, make_rmem_tensor
from dsl.tile.vector.ssa import TensorSSA

_EDGE = 3  # indices printed at each end of a mode that is cut
_MOST_UNROLLED = 40  # elements
_MOST_LISTED = 1024  # elements of a tensor in printf


def print_tensor(tensor: Any, *, verbose: bool = False) -> None:
    """Print a tensor or a TensorSSA; `verbose` prints each element on a line with its coordinate, and cuts nothing."""
    if isinstance(tensor, TensorSSA):
        tensor = _in_registers(tensor)
    if not isinstance(tensor, Tensor):
        raise DSLUserCodeTypeError(
            f"print_tensor takes a tensor or a TensorSSA, got {type_name(tensor)}",
            fix="cute.printf prints numbers, tuples and layouts",
        )
    out = _Out()
    out.write("tensor(").spell(tensor.iterator).write(" o ").spell(tensor.layout).write(", data=")
    if verbose:
        _print_list(out, tensor)
    else:
        _print_matrices(out.write("\n"), tensor)
    out.flush()


def _in_registers(value: TensorSSA) -> Tensor:
    tensor = make_rmem_tensor(value.shape, value.dtype)
    tensor.store(value)
    return tensor


class _Out:
    """Text on its way: a C format and its values, printed when they are many."""

    def __init__(self) -> None:
        self.form, self.leaves = "", []

    def write(self, words: str) -> _Out:
        self.form += words.replace("%", "%%")
        return self

    def spell(self, value: Any) -> _Out:
        leaves: list = []
        form = debug.spell(value, leaves)
        if len(self.leaves) + len(leaves) > debug.MOST_VALUES:
            self.flush()
        self.form, self.leaves = self.form + form, self.leaves + leaves
        return self

    def choose(self, *cases: tuple[Any, str]) -> _Out:
        """The text of the first case whose condition holds; conditions are static or dynamic."""
        chosen: mlir.Value | None = None
        for condition, words in reversed(cases):
            if not is_dynamic(condition):
                chosen = debug.text_address(words) if condition else chosen
                continue
            if chosen is None:
                chosen = debug.text_address("")
            chosen = arithmetic.select(condition.ir(), debug.text_address(words), chosen)
        self.form, self.leaves = self.form + "%s", [*self.leaves, chosen]
        return self

    def text(self, *cases: tuple[Any, str]) -> _Out:
        """As choose; a case that is certain to hold is written as it is."""
        for condition, words in cases:
            if is_dynamic(condition):
                return self.choose(*cases)
            if condition:
                return self.write(words)
        return self

    def element(self, tensor: Tensor, coord: Any) -> _Out:
        """An element, with a blank before it where it has no sign."""
        number = _element(tensor, coord)
        if not isinstance(number, Numeric):
            return self.write(" ").spell(number)
        if len(self.leaves) + 2 > debug.MOST_VALUES:
            self.flush()
        if number.is_float or number.signed:
            self.choose((operate("ge", number, 0), " "), (True, ""))
        else:
            self.write(" ")
        return self.spell(number)

    def flush(self) -> None:
        if self.form:
            debug.emit(self.form, self.leaves)
        self.form, self.leaves = "", []

    def loop(self, count: Any, body: Callable[[Any], None]) -> None:
        """`body(i)` for i below `count`, as a loop of the program."""
        self.flush()
        bounds = [mlir.constant(0, mlir.i32), Int32(count).ir(), mlir.constant(1, mlir.i32)]
        op = mlir.op("scf.for", [], bounds, regions=1)
        block = op.regions[0].blocks.append(mlir.i32, arg_locs=[op.location])
        with mlir.inside(block):
            body(Int32(block.arguments[0]))
            self.flush()
            mlir.op("scf.yield")


def _element(tensor: Tensor, coord: Any) -> Any:
    """The element in a type that printf has, or the coordinate it is."""
    if isinstance(tensor.iterator, Pointer) and tensor.element_type.is_packed and tensor.element_type.width < 8:
        return packed.element(tensor.iterator, tensor.layout(coord))
    at = element_iterator(tensor, coord)
    return debug.printable(at.load()) if isinstance(at, Pointer) else at


def _print_list(out: _Out, tensor: Tensor) -> None:
    out.write(" (\n")

    def one(i: Any) -> None:
        out.write("\t").spell(idx2crd(i, tensor.shape)).write("=").element(tensor, i).write("\n")

    count = lay.size(tensor)
    if isinstance(count, int) and count <= _MOST_UNROLLED:
        for i in range(count):
            one(i)
    else:
        out.loop(count, one)
    out.write(")\n")


class _Axis:
    """The indices of a mode that are printed: all of them, or the first and last three."""

    def __init__(self, extent: Any, cut: bool = True) -> None:
        self.extent = extent
        self.is_cut = operate("gt", extent, 2 * _EDGE) if cut else Boolean(False)
        self.is_cut = self.is_cut if is_dynamic(self.is_cut) else bool(self.is_cut)
        self.count = (
            select(self.is_cut, Int32(2 * _EDGE), Int32(extent))
            if is_dynamic(self.is_cut)
            else 2 * _EDGE
            if self.is_cut
            else extent
        )

    def run(self, out: _Out, unrolled: bool, body: Callable[[Any, Any, Any, Any], None]) -> None:
        """`body(index, is_first, is_last, follows_gap)` for every printed index."""
        if unrolled and isinstance(self.count, int):
            for k in range(self.count):
                gap = self.is_cut and k == _EDGE
                body(
                    k if k < _EDGE or not self.is_cut else self.extent - self.count + k,
                    k == 0,
                    k == self.count - 1,
                    gap,
                )
            return

        def step(k: Int32) -> None:
            index = select(operate("lt", k, _EDGE), k, Int32(self.extent) - Int32(self.count) + k)
            gap = operate("eq", k, _EDGE) & self.is_cut if self.is_cut is not False else False
            body(index, operate("eq", k, 0), operate("eq", k, Int32(self.count) - 1), gap)

        out.loop(self.count, step)


def _print_matrices(out: _Out, tensor: Tensor) -> None:
    """The tensor as [row, ...], [[row, ...]] or [[[row, ...]], ...]: rows along mode 0, columns along mode 1."""
    rank = min(lay.rank(tensor), 3)
    if lay.rank(tensor) > 2:
        tensor = tensor.with_layout(lay.group_modes(tensor.layout, 2, lay.rank(tensor)))
    extents = [lay.size(tensor, mode) for mode in range(rank)] + [1] * (3 - rank)
    rows, columns, pages = _Axis(extents[0]), _Axis(extents[1]), _Axis(extents[2], cut=False)
    counts = [axis.count for axis in (rows, columns, pages)]
    small = all(isinstance(count, int) for count in counts) and counts[0] * counts[1] * counts[2] <= _MOST_UNROLLED
    indent = " " * (6 + rank)

    def page(o: Any, is_first_page: Any, is_last_page: Any, _: Any) -> None:
        def row(r: Any, is_first: Any, is_last: Any, follows_gap: Any) -> None:
            out.text((follows_gap, f"{indent}...\n"), (True, ""))
            starts = _all(is_first, is_first_page)
            out.text((starts, " " * 7 + "[" * rank), (is_first, " " * 8 + "[" * (rank - 1)), (True, indent + "["))

            def cell(c: Any, _first: Any, _last: Any, follows_gap: Any) -> None:
                out.text((follows_gap, "..., "), (True, ""))
                out.element(tensor, (r, c, o)[:rank] if lay.rank(tensor) > 1 else r).write(", ")

            columns.run(out, isinstance(columns.count, int), cell)
            ends = _all(is_last, is_last_page)
            out.text((ends, "]" * rank + ")\n"), (is_last, "]" * (rank - 1) + ",\n\n"), (True, "],\n"))

        rows.run(out, small, row)

    pages.run(out, small, page)


def _all(a: Any, b: Any) -> Any:
    if is_dynamic(a) and is_dynamic(b):
        return operate("and", a, b)
    static, other = (b, a) if is_dynamic(a) else (a, b)
    return other if static else False


def _printf_tensor(tensor: Tensor, leaves: list) -> str:
    """A tensor in printf: `pointer o layout = ( elements )`, without the elements where its shape is dynamic."""
    head = f"{debug.spell(tensor.iterator, leaves)} o {debug.spell(tensor.layout, leaves)}"
    count = lay.size(tensor)
    if not isinstance(tensor.iterator, Pointer) or not isinstance(count, int):
        return head
    _require_listed(count)
    return f"{head} = \n  {_listed([_element(tensor, i) for i in range(count)], leaves)}"


def _printf_value(value: TensorSSA, leaves: list) -> str:
    """A TensorSSA in printf: its type and elements."""
    _require_listed(value.size)
    return f"{value} = \n  {_listed(value.elements(), leaves)}"


def _require_listed(count: int) -> None:
    if count > _MOST_LISTED:
        raise DSLUserCodeTypeError(
            f"printf lists up to {_MOST_LISTED} elements, got {count}", fix="cute.print_tensor(x), or print a part"
        )


def _listed(numbers: list[Numeric], leaves: list) -> str:
    return "( " + ", ".join(debug.spell(debug.printable(number), leaves) for number in numbers) + " )"


setattr(Tensor, "__printf__", _printf_tensor)  # noqa: B010 - gpu.debug asks for it
setattr(TensorSSA, "__printf__", _printf_value)  # noqa: B010
