"""Variables that every trip of a loop leaves unchanged are not carried: the scf ops of a traced loop."""

from dsl.cutlass import Int32


def anchor(x):
    from dsl.gpu import inline

    inline.ptx("// $0;", None, "r", x)


def unchanged(n: Int32):
    x, y = Int32(3), Int32(0)
    for i in range(n):
        x = x
        y = y + x
    anchor(y)


def swapped(n: Int32):
    x, y = n, Int32(0)
    while n > 0:
        x, y, n = y, x, n - 1
    anchor(x)


def test_a_variable_that_no_trip_changes_is_not_an_operand_of_the_loop(traced):
    text = traced(unchanged)
    assert text.count("iter_args(") == 1
    carried = text.split("iter_args(")[1].split(")")[0]
    assert carried.count("=") == 1, carried


def test_variables_that_change_places_stay(traced):
    text = traced(swapped)
    head = text.split("scf.while (")[1].split(")")[0]
    assert head.count("=") == 3, head
