"""Layouts as pictures: LaTeX (TikZ) text of a layout of rank 2, and of a thread-value layout over a tile."""

from __future__ import annotations

from dsl.layout.int_tuple import LayoutError, is_static, kind_of, product_each
from dsl.layout.layout import ComposedLayout, Layout, make_layout, rank, size

_HEAD = r"""\documentclass[convert]{standalone}
\usepackage{tikz}
\begin{document}
\begin{tikzpicture}[x={(0cm,-1cm)},y={(1cm,0cm)},every node/.style={minimum size=1cm, outer sep=0pt}]"""
_GREYS = ("00", "40", "20", "60", "10", "50", "30", "70")
_COLOURS = (
    (175, 175, 255),
    (175, 255, 175),
    (255, 255, 175),
    (255, 175, 175),
    (210, 210, 255),
    (210, 255, 210),
    (255, 255, 210),
    (255, 210, 210),
)


def picture(layout: Layout | ComposedLayout) -> str:
    """A picture of a static layout (M, N): a cell for each coordinate with its index, shaded by the index modulo 8.

    A layout of rank 1 is a column. Raises LayoutError for another rank, for a dynamic layout and for indices that are
    not integers.
    """
    if not isinstance(layout, (Layout, ComposedLayout)):
        raise LayoutError(f"a picture needs a layout, got {kind_of(layout)}", fix="cute.make_layout(shape)")
    _require(
        rank(layout) <= 2,
        f"a picture has at most two modes, but {layout} has {rank(layout)}",
        "cute.group_modes(layout, 1, n)",
    )
    _require(
        is_static(layout), f"the layout of a picture must be static, got {layout}", "print_latex of a static layout"
    )
    rows, columns = (size(layout), 1) if rank(layout) == 1 else product_each(layout.shape)
    lines = [f"%% Layout: {{}} {layout}", _HEAD]
    for m in range(rows):
        for n in range(columns):
            index = layout(m + rows * n)
            _require(isinstance(index, int), f"the indices of {layout} must be integers", "print a layout of integers")
            lines += ["\\node[fill=", f"black!{_GREYS[index % 8]}", f"] at ({m},{n}) {{{index}}};", ""]
    return "\n".join([*lines, *_frame(rows, columns), *_end()])


def picture_tv(layout: Layout, tile: object, *, title: str | None = None, axis_labels: bool = False) -> str:
    """A picture of a static thread-value layout (T, V) into the indices of a tile, a shape or layout (M, N).

    Each cell has its thread and value, coloured by the thread modulo 8; the first that falls on a cell is shown.
    """
    _require(
        isinstance(layout, Layout) and rank(layout) == 2,
        f"a thread-value layout has two modes, got {layout}",
        "tiler_mn, layout_tv = cute.make_layout_tv(thr_layout, val_layout)",
    )
    tile = tile if isinstance(tile, Layout) else make_layout(tile)
    _require(
        is_static(layout) and is_static(tile),
        "a picture is of layouts that are known while compiling",
        "print_latex_tv of static layouts",
    )
    _require(rank(tile) == 2, f"a tile has two modes, got {tile.shape}", "(M, N)")
    rows, columns = product_each(tile.shape)
    lines = [f"%% Layout TV: {{}} {layout}", _HEAD, ""]
    threads, values = product_each(layout.shape)
    filled: set[tuple[int, int]] = set()
    for thread in range(threads):
        for value in range(values):
            n, m = divmod(tile(layout(thread + threads * value)), rows)
            if (m, n) in filled:
                continue
            filled.add((m, n))
            red, green, blue = _COLOURS[thread % 8]
            lines += [
                f"\\path[fill={{rgb,255:red,{red};green,{green};blue,{blue}}}] ({m - 0.5},{n - 0.5}) rectangle "
                f"({m + 0.5},{n + 0.5});",
                "",
                f"\\node at ({m},{n}) {{\\shortstack{{T{thread} \\\\ V{value}}}}};",
                "",
            ]
    lines += _frame(rows, columns)
    if axis_labels:
        lines += [
            f"\\node at (-1.7,{columns // 2}) {{\\Large N (col) $\\rightarrow$}};",
            "",
            f"\\node[rotate=90] at ({rows // 2},-2) {{\\Large $\\leftarrow$ M (row)}};",
            "",
        ]
    if title is not None:
        lines += [
            f"\\node[anchor=south] at ({-2.2 if axis_labels else -1.5},{columns // 2}) "
            f"{{\\shortstack{{\\texttt{{{title}}}}}}};",
            "",
        ]
    return "\n".join([*lines, *_end()])


def _require(holds: bool, message: str, fix: str) -> None:
    if not holds:
        raise LayoutError(message, fix=fix)


def _frame(rows: int, columns: int) -> list[str]:
    """The grid over the cells, and the numbers of rows and columns."""
    lines = [f"\\draw[color=black,thick,shift={{(-0.5,-0.5)}}] (0,0) grid ({rows},{columns});", "", ""]
    for m in range(rows):
        lines += [f"\\node at ({m},-1) {{\\Large{{\\texttt{{{m}}}}}}};", ""]
    for n in range(columns):
        lines += [f"\\node at (-1,{n}) {{\\Large{{\\texttt{{{n}}}}}}};", ""]
    return lines


def _end() -> list[str]:
    return ["\\end{tikzpicture}", "\\end{document}", ""]
