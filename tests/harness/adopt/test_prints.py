"""The print() calls of a script, and their arguments."""

import pytest

from harness.adopt import prints


@pytest.mark.parametrize(
    "text, pieces",
    [
        ('print("a", 1, x, sep=y)', ["x"]),
        ("print(x.cpu().numpy().tolist())", ["x"]),
        ("print(np.asarray(x), int(x[0]))", ["x", "x[0]"]),
        ("print(x.shape, x.dtype, len(x), x.size(0), x.stride()[0])", []),
        ("print(len(x.unique()))", ["len(x.unique())"]),
        ('print(f"{x!r:>{w}} {y + 1}")', ["x", "y + 1"]),
        ('print("%s %s" % (x, 3), "{}".format(y))', ["x", "y"]),
        ("@cute.kernel\ndef k():\n    print(x)", []),
        ("def f():\n    print(x)", ["x"]),
    ],
)
def test_the_pieces_of_a_print(text, pieces):
    assert [piece.code for site in prints.find(text).sites for piece in site.pieces] == pieces


def test_the_recorded_script_has_the_same_lines():
    text = 'print(\n    x,\n    f"{y}",  # a comment\n)\nz = 1\n'
    assert prints.find(text).recorded == (
        'print(\n    __adopt__(0, 0, x),\n    f"{__adopt__(0, 1, y)}",  # a comment\n)\nz = 1\n'
    )


def test_the_blocks_around_a_print():
    text = "def f(k):\n    for i, v in enumerate(t.tolist()):\n        if v:\n            print(v, u[i])\n"
    [site] = prints.find(text).sites
    assert (site.function, site.in_loop, site.in_branch, site.scope, site.loop_line) == (
        "f",
        True,
        True,
        ("i", "v", "k"),
        2,
    )
    assert [(piece.base, piece.through) for piece in site.pieces] == [("v", "t"), ("u", "")]


@pytest.mark.parametrize(
    "code, name",
    [("x", "x"), ("x[3]", "x_3"), ("torch.equal(a, b)", "equal_a_b"), ("x.to_numpy()", "x"), ("3 * x", "value_3_x")],
)
def test_names_of_expressions(code, name):
    assert prints.identifier(code) == name
