"""Messages about calls of other libraries: values known while compiling pass, and the author's own errors stay."""

import warnings

import pytest

from tests.cutlass.test_mistakes import told


@pytest.mark.parametrize(
    "body",
    [
        "a[0] = math.sqrt(2.0)",
        "a[0] = float(np.exp(1.0))",
        "a[0] = float(sum(i for i in range(4)))",
        "x = [i for i in range(4)][:2]\na[0] = float(x[1])",
        "a[0] = math.floor(2.5)",
        "x = sorted((3, 1, 2))\na[0] = float(x[0])",
    ],
)
def test_values_known_while_compiling_pass(body, surface, tmp_path):
    assert told(body, tmp_path) == ""


def test_an_error_of_the_authors_own_call_stays(surface, tmp_path):
    text = told('x = np.zeros("x")', tmp_path)
    assert text.endswith("TypeError: 'str' object cannot be interpreted as an integer")


WARNED = {
    "if n is 3:\n    a[0] = 1.0": "ALWAYS_FALSE: Int32 is never the object 3: compare values, with `==` or `!=`",
    "if n is not True:\n    a[0] = 1.0": "ALWAYS_FALSE: Int32 is never the object True: compare values, with `==` or `!=`",
    "try:\n    x = 10 // n\nexcept ZeroDivisionError:\n    x = n": (
        "EXCEPT_NEVER_RUNS: values known only at run time do not raise ZeroDivisionError: test the divisor in an `if`"
    ),
    "return n + 1": "RETURN_IN_KERNEL: what kernel `kernel` returns is lost (store it in a tensor: `out[i] = ...`)",
    "cute.arch.sync_threads": "NO_EFFECT: `cute.arch.sync_threads` is not called (write `cute.arch.sync_threads()`)",
    "x = n % 0": "DIVISION_BY_ZERO: the divisor is 0: the result is not defined",
    "x = n << 32": "SHIFT_TOO_FAR: Int32 has 32 bits, and is shifted by 32",
}


@pytest.mark.parametrize("body", WARNED)
def test_mistakes_that_are_accepted_are_warned_of(body, surface, tmp_path):
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        assert told(body, tmp_path) == ""
    assert WARNED[body] in [str(warning.message) for warning in caught]


SILENT = [
    "if n is None:\n    a[0] = 1.0",
    "x = n\nif x is n:\n    a[0] = 1.0",
    "try:\n    x = 10 // 2\nexcept ZeroDivisionError:\n    x = 0",
    "return",
    "return None",
    "cute.arch.sync_threads()",
    "x = n % 2",
    "x = n << 31",
]


@pytest.mark.parametrize("body", SILENT)
def test_intended_code_gives_no_warning(body, surface, tmp_path):
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        assert told(body, tmp_path) == ""
    assert [str(warning.message) for warning in caught if "SyntaxWarning" not in str(warning.category)] == []
