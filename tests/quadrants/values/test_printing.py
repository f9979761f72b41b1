"""Printed text: places of formats, their types, and what Python writes itself."""

# ruff: noqa: F522, F523, F524, F525, UP030
import pytest

import dsl.quadrants as qd

pytestmark = pytest.mark.usefixtures("running")


def test_formats_take_values_by_place_name_and_order(capfd):
    @qd.kernel
    def k(f: qd.f32, u: qd.u32, d: qd.f64):
        name = 123.4
        print("{2} {1} {} {{}}".format(3, 2, 1))
        print("{2} {} {1} {k} {0} {k:.4e}".format(3, 2, 1, k=f))
        print("{:.2e} {name:.3G} {v:.4f} {:x} {:.10d} {:i}".format(f, u, 3, 4, name=name, v=d))
        print(f"{u:u} {d:.1f} {4} {True} {1.23} {f}")

    k(233.3, 255, 456.7)
    qd.sync()
    assert capfd.readouterr().out.splitlines() == [
        "1 2 3 {}",
        "1 3 2 233.300003 3 2.3330e+02",
        "2.33e+02 123 456.7000 ff 0000000003 4",
        "255 456.7 4 True 1.23 233.300003",
    ]


@qd.kernel
def too_many(i: int):
    print("{0} {1} {2}".format(i, 2, 3, 4))


@qd.kernel
def too_few(i: int):
    print("{0} {1} {2}".format(i, 2))


@qd.kernel
def unused(i: int):
    print("".format(k=i))


@qd.kernel
def unknown(i: int):
    print("{k}".format())


@qd.kernel
def converted(i: int):
    print("{!r}".format(i))


@qd.kernel
def unsigned(i: int):
    print("{:u}".format(i + 1))


@qd.kernel
def real(i: int):
    print(f"{i:.2f}")


@qd.kernel
def integer(i: int):
    print("{:i}".format(i * 0.5))


@qd.kernel
def text(i: int):
    print("{:s}".format(i))


@qd.kernel
def aligned(i: int):
    print(f"{i:>5}")


@pytest.mark.parametrize(
    "kernel, kind, message",
    [
        (too_many, qd.QuadrantsSyntaxError, r"Expected 3 positional argument\(s\), but received 4 instead."),
        (too_few, qd.QuadrantsSyntaxError, r"Expected 3 positional argument\(s\), but received 2 instead."),
        (unused, qd.QuadrantsSyntaxError, "Keyword 'k' not used."),
        (unknown, qd.QuadrantsSyntaxError, "Keyword 'k' not found."),
        (converted, qd.QuadrantsSyntaxError, "is not a place of a kernel's format"),
        (unsigned, qd.QuadrantsTypeError, "'u' doesn't match 'i32'."),
        (real, qd.QuadrantsTypeError, "'.2f' doesn't match 'i32'."),
        (integer, qd.QuadrantsTypeError, "'i' doesn't match 'f32'."),
        (text, qd.QuadrantsTypeError, "conversion 's' is not supported."),
        (aligned, qd.QuadrantsTypeError, "'>5' is not a format of a run-time number"),
    ],
)
def test_formats_that_do_not_fit(kernel, kind, message):
    with pytest.raises(kind, match=message) as raised:
        kernel(3)
    assert "\nfix: " in str(raised.value) and "^" in str(raised.value) and "print(" in str(raised.value)


def test_an_assertion_prints_its_numbers():
    @qd.kernel
    def k(i: qd.i32):
        assert i < 3, f"{i + 1} of {3} and {i * 0.5}"

    @qd.kernel
    def by_percent(i: qd.i32):
        assert i < 3, "x[%d]=%d" % (i, 7)

    qd.init(arch=qd.cpu, debug=True)
    k(2)
    with pytest.raises(qd.QuadrantsAssertionError, match=r"9 of 3 and \.\.\."):
        k(8)
    with pytest.raises(qd.QuadrantsAssertionError, match=r"x\[8\]=7"):
        by_percent(8)
