"""`cutlass.cute.viz`: layouts as LaTeX, printed while compiling."""

from dsl.core.control_flow.text.trace_output import write as _write
from dsl.core.diagnosis.author_traceback import guarded as _guarded
from dsl.cutlass.unsupported import module_getattr as _refuser
from dsl.layout.latex import picture as _picture, picture_tv as _picture_tv


@_guarded
def print_latex(x) -> None:
    """Print a picture of a static layout of rank 1 or 2, a TikZ document. Raises DSLUserCodeLayoutError for others."""
    _write(_picture(x))


@_guarded
def print_latex_tv(layout_tv, tile_mn, *, title: str | None = None, axis_labels: bool = False) -> None:
    """Print a picture of which thread and value has each cell of a tile. Raises DSLUserCodeLayoutError for others."""
    _write(_picture_tv(layout_tv, tile_mn, title=title, axis_labels=axis_labels))


__getattr__ = _refuser("cutlass.cute.viz")
