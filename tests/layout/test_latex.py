"""Pictures of layouts: the text of their cells, and NVIDIA's text of the same.

Modules tested here: dsl/cutlass/cute/viz.py.
"""

import re
from pathlib import Path

import pytest

from dsl.layout import LayoutError, make_composed_layout, make_identity_layout, make_layout, make_swizzle, size
from dsl.layout.latex import picture, picture_tv
from tests import fork_server

PROGRAM = """\
import warnings
import cutlass.cute as cute
from cutlass.utils import print_latex, print_latex_tv
warnings.simplefilter("ignore")

@cute.jit
def host():
    for layout in (cute.make_layout((10, 10)), cute.make_layout(((2, 2), 3), stride=((6, 1), 2)), \
cute.make_layout((3, 2), stride=(0, 1)),
                   cute.make_composed_layout(cute.make_swizzle(1, 1, 1), 0, cute.make_layout((4, 2)))):
        print_latex(layout)
    tile, layout = cute.make_layout_tv(cute.make_ordered_layout((4, 32), order=(1, 0)),
                                       cute.make_ordered_layout((4, 1), order=(1, 0)))
    print_latex_tv(layout, tile)
    print_latex_tv(cute.make_layout((2, 2), stride=(1, 0)), (2, 2))
    print_latex_tv(cute.make_layout((2, 2)), cute.make_layout((2, 2), stride=(2, 1)), title="of a layout", \
axis_labels=True)

host()
"""


@pytest.mark.slow
def test_the_text_is_nvidias(tmp_path):
    (tmp_path / "program.py").write_text(PROGRAM.replace("cutlass.utils", "cutlass.cute.viz"))
    texts = [
        fork_server.run(["-W", "ignore", *options, str(tmp_path / "program.py")], cwd=Path(__file__).parents[2]).stdout
        for options in ((), ("-m", "dsl"))
    ]
    assert texts[0].count("\\documentclass") == 7 and texts[0] == texts[1]


@pytest.mark.parametrize(
    "layout",
    (
        make_layout((3, 4), stride=(5, 1)),
        make_layout(((2, 2), (2, 3))),
        make_layout(6),
        make_composed_layout(make_swizzle(2, 0, 3), 0, make_layout((8, 4))),
    ),
    ids=str,
)
def test_each_cell_has_its_index(layout):
    cells = re.findall(r"at \((\d+),(\d+)\) \{(\d+)\}", picture(layout))
    rows = max(int(m) for m, _, _ in cells) + 1
    assert len(cells) == size(layout)
    assert all(layout(int(m) + rows * int(n)) == int(index) for m, n, index in cells)


def test_a_cell_shows_the_first_thread_on_it():
    text = picture_tv(make_layout((4, 2), stride=(1, 2)), (4, 2))
    assert re.findall(r"at \((\d),(\d)\) \{\\shortstack\{T(\d) \\\\ V(\d)", text) == [
        ("0", "0", "0", "0"),
        ("2", "0", "0", "1"),
        ("1", "0", "1", "0"),
        ("3", "0", "1", "1"),
        ("0", "1", "2", "1"),
        ("1", "1", "3", "1"),
    ]


@pytest.mark.parametrize(
    "draw, says",
    [
        (lambda: picture(make_layout((2, 2, 2))), "a picture has at most two modes, but (2,2,2):(1,2,4) has 3"),
        (lambda: picture(5), "a picture needs a layout, got int"),
        (lambda: picture(make_identity_layout((2, 2))), "the indices of (2,2):(1@0,1@1) must be integers"),
        (lambda: picture_tv(make_layout(4), (2, 2)), "a thread-value layout has two modes, got 4:1"),
        (lambda: picture_tv(make_layout((2, 2)), 4), "a tile has two modes, got 4"),
    ],
)
def test_layouts_without_a_picture(draw, says):
    with pytest.raises(LayoutError) as error:
        draw()
    assert error.value.message == says
