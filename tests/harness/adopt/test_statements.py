"""The statements that stay, the statements that move, and the names that both share."""

import pytest

from harness.adopt import statements


def sorted_lines(text: str) -> tuple[list[int], list[int], set[str]]:
    script = statements.read("script.py", text)
    return [unit.line for unit in script.kept], [unit.line for unit in script.moved], script.shared


@pytest.mark.parametrize(
    "text, kept, moved, shared",
    [
        ("import a\nN = 2 * 4\nx = a.f(N)\nprint(x)", [1, 2], [3, 4], set()),
        ("import a\nx = a.f()\ndef g():\n    return x\nprint(g())", [1, 3], [2, 5], {"x"}),
        ("import a\nx = a.f()\ndef g(y=x):\n    return y\nprint(g())", [1, 2, 3], [5], set()),
        ("import a\nx = a.f()\nclass C:\n    y = x\nprint(C.y)", [1, 2, 3], [5], set()),
        ("import os\nos.environ['A'] = '1'\nimport a\nprint(a)", [1, 2, 3], [4], set()),
        ("N = 1\nN = 2\nprint(N)", [], [1, 2, 3], set()),
        ("print(1)\nn = 8\nprint(n)", [], [1, 2, 3], set()),
        ("print(1)\nn = 8\ndef f():\n    return n\nprint(f())", [2, 3], [1, 5], set()),
        ("c = 0\ndef f():\n    global c\n    c += 1\nf()\nprint(c)", [2], [1, 5, 6], {"c"}),
        ("try:\n    import a\nexcept ImportError:\n    a = None\nprint(a)", [1], [5], set()),
        ("if __name__ == '__main__':\n    x = 1\n    print(x)", [2], [3], set()),
        ("a = 1; print(a); b = a", [1], [1, 1], set()),
    ],
)
def test_kept_and_moved_statements(text, kept, moved, shared):
    assert sorted_lines(text) == (kept, moved, shared)


@pytest.mark.parametrize("call", ["main()", "sys.exit(main())", "raise SystemExit(main())"])
def test_the_body_of_main_is_taken(call):
    script = statements.read("s.py", f'import sys\ndef main():\n    """Doc."""\n    x = f()\n    print(x)\n{call}\n')
    assert (script.main, script.docstring, [unit.line for unit in script.moved]) == ("main", "Doc.", [4, 5])


@pytest.mark.parametrize(
    "text",
    [
        "def main(n):\n    print(n)\nmain()",
        "def main():\n    if f():\n        return\n    print(1)\nmain()",
        "def main():\n    print(1)\nmain()\nmain()",
        "@jit\ndef main():\n    print(1)\nmain()",
        "def main():\n    print(1)\ndef again():\n    main()\nmain()",
    ],
)
def test_a_main_that_stays_a_function(text):
    assert statements.read("s.py", text).main == ""
