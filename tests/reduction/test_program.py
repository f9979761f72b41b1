"""A Python program as passes see it, and what some of them make of it."""

import pytest

from dsl.reduction.passes.passes import named
from dsl.reduction.program import Program


def after(name, about, text):
    """The text after the edit of a pass that is called so."""
    program = Program(text)
    edits = list(named(name)[1].edits(program))
    found = [edit for edit in edits if edit.about == about]
    assert found, [edit.about for edit in edits]
    return program.apply(found[:1])


def abouts(name, text):
    return [edit.about for edit in named(name)[1].edits(Program(text))]


def test_a_block_that_loses_all_gets_pass():
    program = Program("def f():\n    a()\n    b()\n\n\nf()\n")
    edits = list(named("outer")[1].edits(program))
    gone = [edit for edit in edits if edit.about in ("drop `a()`", "drop `b()`")]
    assert program.apply(gone) == "def f():\n    pass\n\n\nf()\n"


def test_options_of_the_command_line_become_what_is_given_or_their_defaults():
    text = (
        "import argparse, sys\n"
        "sys.argv[1:] = ['--mnk', '8,8']\n"
        "parser = argparse.ArgumentParser()\n"
        "parser.add_argument('--mnk', type=sizes)\n"
        "parser.add_argument('--warm-up', type=int, default=2)\n"
        "parser.add_argument('--quiet', action='store_true')\n"
        "args = parser.parse_args()\n"
        "main(args.mnk, args.warm_up, args.quiet)\n"
    )
    assert after("command-line", "options of the command line as constants", text) == (
        "import argparse, sys\nsys.argv[1:] = ['--mnk', '8,8']\nmain((8, 8), 2, False)\n"
    )


def test_the_main_program_loses_its_guard():
    text = 'if __name__ == "__main__":\n    a = """\n    b"""\n    c(a)\n'
    about = "run the main program without its guard"
    assert after("main-guard", about, text) == 'a = """\n    b"""\nc(a)\n'


def test_a_parameter_goes_with_its_arguments():
    text = "class K:\n    def f(self, a, b=1, *, c): return a, c\n\n\nK().f(1, 2, c=3)\nK().f(b=2, a=1, c=3)\n"
    expected = "class K:\n    def f(self, a, *, c): return a, c\n\n\nK().f(1, c=3)\nK().f(a=1, c=3)\n"
    assert after("parameters", "drop the parameter `b` of `f`", text) == expected


def test_a_parameter_of_one_value_becomes_it():
    text = "def f(a, width):\n    return a[width]\n\n\nf(x, 32)\nf(y, width=32)\n"
    expected = "def f(a, ):\n    return a[32]\n\n\nf(x, )\nf(y, )\n"
    assert after("bound-parameters", "`width` of `f` as 32", text) == expected


def test_a_helper_goes_where_it_is_called():
    text = "def f(x, n=2):\n    y = x * n\n    return y + 1\n\n\ndef g(v):\n    z = f(v[0])\n    return z\n"
    expected = "\n\ndef g(v):\n    x = v[0]\n    n = 2\n    y = x * n\n    z = y + 1\n    return z\n"
    assert after("helpers", "`f` in the place of its call", text) == expected


def test_a_helper_whose_names_mean_other_things_gets_other_names():
    text = "def f(x):\n    y = x\n    return y\n\n\ndef g(y):\n    z = f(1)\n    return z + y\n"
    less = after("helpers", "`f` in the place of its call", text)
    assert less == "\n\ndef g(y):\n    x = 1\n    y_of_f = x\n    z = y_of_f\n    return z + y\n"
    values = []
    for each in (text, less):
        exec(each, names := {})
        values.append(names["g"](5))
    assert values == [6, 6]


def test_a_class_that_holds_nothing_becomes_functions():
    text = (
        "class K:\n    def __call__(self, a):\n        self.kernel(a).launch(grid=1)\n\n"
        "    def kernel(self, a):\n        a[0] = 1\n\n\nK()(x)\nk = K()\nk(x)\n"
    )
    expected = "def k_call(a):\n    kernel(a).launch(grid=1)\n\ndef kernel(a):\n    a[0] = 1\n\n\nk_call(x)\nk = k_call\nk(x)\n"
    assert after("methods", "functions in place of the class `K`", text) == expected


def test_an_attribute_becomes_a_variable():
    text = "class K:\n    def f(self, a):\n        self.n = a\n        return self.n\n"
    assert "        n = a\n        return n\n" in after("local-attributes", "`self.n` as a variable", text)


def test_launches_and_sizes_become_smaller():
    text = "k(a).launch(grid=[m // 128, n, 1], block=(128, 1, 1))\nt = torch.randn(128, 64, device='cuda')\n"
    assert "grid=[1, 1, 1]" in after("launches", "one grid element", text)
    assert after("sizes", "64 in place of every 128", text).count("64") == 4
    assert "torch.ones(128, 64, device='cuda')" in after("data", "ones in place of `randn`", text)
    text = '_stored("2d37", torch.int32, "cuda").reshape((4, 8))\n'
    counted = 'torch.arange(32, dtype=torch.int32, device="cuda").reshape((4, 8))\n'
    assert after("data", "arange in place of captured data", text) == counted


def test_kinds_of_numbers_change_in_both_libraries_together():
    text = "a = f(cutlass.BFloat16, torch.bfloat16)\n"
    expected = "a = f(cutlass.Float16, torch.float16)\n"
    assert after("kinds", "Float16 in place of BFloat16", text) == expected


def test_the_parts_that_make_a_file_a_repro_stay():
    text = '"""A claim."""\n\n\ndef run():\n    """What."""\n    return {"a": 1, "b": 2}\n'
    assert [about for name in ("docstrings", "outer", "compound") for about in abouts(name, text)] == [
        "drop a docstring",
        'drop `return {"a": 1, "b": 2}`',
        'drop `"""What."""`',
    ]
    assert '{"b": 2}' in after("outputs", 'only the output "b"', text)


@pytest.mark.parametrize(
    ("text", "about", "expected"),
    [
        ("a = f(b, c)\n", "`b` in place of `f(b, c)`", "a = b\n"),
        ("a = f(b + c).d\n", "`b + c` in place of `f(b + c)`", "a = (b + c).d\n"),
        ("a = (b if c else(d))\n", "`d` in place of `b if c else(d)`", "a = (d)\n"),
        ("a = f[(0, b), c](d)\n", "`f` in place of `f[(0, b), c]`", None),
    ],
)
def test_a_part_gets_parentheses_only_if_it_needs_them(text, about, expected):
    if expected is None:
        assert about not in abouts("subexpressions", text)
    else:
        assert after("subexpressions", about, text) == expected


def test_statements_of_several_lines_are_written_in_one():
    text = "def f(\n    a,\n    b=(\n        1\n    ),\n):\n    return [\n        a,  # why\n    ]\n\n\nx = f(\n    'ü',\n    2)\n"
    program = Program(text)
    edits = list(named("one-line")[1].edits(program))
    assert program.apply(edits) == ("def f(a, b=(1),):\n    return [\n        a,  # why\n    ]\n\n\nx = f('ü', 2)\n")


def test_unreachable_code_goes():
    text = "def f():\n    return 1\n    a()\n    b()\n"
    assert after("unreachable", "drop what is never reached", text) == "def f():\n    return 1\n"


def test_one_of_two_statements_of_a_line_goes():
    assert after("outer", "drop `a()`", "a(); b()\n") == "b()\n"
    assert after("outer", "drop `b()`", "a(); b()\n") == "a(); pass\n"


@pytest.mark.parametrize(
    ("name", "about", "text", "expected"),
    [
        (
            "direct-calls",
            "a call without compiling before",
            "f = cute.compile(host, x, y, 3)\nf(a, b)\n",
            "host(a, b, 3)\n",
        ),
        (
            "direct-calls",
            "a call in place of a compilation",
            "cute.compile[cute.KeepPTX](Gemm(8), x, options='--x')\n",
            "Gemm(8)(x)\n",
        ),
        (
            "direct-calls",
            "a call in place of what else is done",
            "n = 3\nf = cute.compile(host, x)\nbenchmark(f, runs=n)\n",
            "n = 3\nhost(x)\n",
        ),
        ("folded", "`2` in place of `{'a': 1, 'b': 2}['b']`", "x = {'a': 1, 'b': 2}['b']\n", "x = 2\n"),
        ("folded", "12 in place of `3 * 4`", "x = 3 * 4\n", "x = 12\n"),
        ("folded", "`b` in place of `True and b`", "x = True and b\n", "x = b\n"),
        ("unpacked", "names of a tuple as their constants", "m, n = (8, 4)\nf(m, n)\n", "f(8, 4)\n"),
        (
            "global-constants",
            "`n` as its constant",
            "def f():\n    global n\n    n = 4\n    g()\ndef h():\n    return n\n",
            "def f():\n    g()\ndef h():\n    return 4\n",
        ),
        (
            "expression-helpers",
            "`f` as what it returns",
            "def f(a, b=2):\n    return a * b\nx = f(p + q) + f(1, b=3)\n",
            "x = ((p + q) * 2) + (1 * 3)\n",
        ),
        ("parentheses", "drop parentheses", "f(((a)), b)\n", "f(a, b)\n"),
        ("parentheses", "drop parentheses", "x = (\n    a\n    .b\n)\n", "x = a.b\n"),
        (
            "bound-parameters",
            "`n` of `__init__` as 4",
            "class C:\n    def __init__(self, n):\n        self.n = n\nc = C(4)\nc.go()\n",
            "class C:\n    def __init__(self, ):\n        self.n = 4\nc = C()\nc.go()\n",
        ),
        (
            "parameters",
            "drop the parameter `b` of `__call__`",
            "class C:\n    def __call__(self, a, b):\n        return a\nc = C()\nc(1, 2)\nC()(3, 4)\n",
            "class C:\n    def __call__(self, a, ):\n        return a\nc = C()\nc(1, )\nC()(3, )\n",
        ),
    ],
)
def test_a_pass_gives_this_text(name, about, text, expected):
    assert after(name, about, text) == expected


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("direct-calls", "f = cute.compile(host, x)\nfor g in f:\n    g()\n"),  # used by a block
        ("unpacked", "m, n = (8, 4)\nm = 2\nf(m, n)\n"),  # set twice
        ("global-constants", "def f():\n    global n\n    n = 4\n    n = 5\n"),
        ("expression-helpers", "def f(a):\n    return lambda b: a + b\nx = f(1)\n"),  # another scope
        ("parentheses", "x = (a, b)[0]\ny = f(a)\nz = (i for i in a)\nw = -(a + b)\n"),
        ("bound-parameters", "class C:\n    def __init__(self, n):\n        self.n = n\nuse(C)\nC(4)\n"),
    ],
)
def test_a_pass_leaves_what_would_mean_something_else(name, text):
    program = Program(text)
    assert [
        edit.about
        for edit in named(name)[1].edits(program)
        if "compiling before" in edit.about or name != "direct-calls"
    ] == []


def test_the_docstring_of_a_script_may_go():
    script = '"""About."""\ndef run(n):\n    return n\nrun(3)\n'
    claim = '"""About."""\ndef run():\n    return {}\n'
    assert after("docstrings", "drop a docstring", script) == "def run(n):\n    return n\nrun(3)\n"
    assert not [*named("docstrings")[1].edits(Program(claim))]


def test_an_entry_of_a_dictionary_goes_and_a_loop_over_one_runs_once():
    source = "d = {'a': f, 'b': g}\nfor k, h in d.items():\n    h(k)\n"
    assert applied(source, "arguments", "drop an entry") == [
        "d = {'a': f, }\nfor k, h in d.items():\n    h(k)\n",
        "d = {'b': g}\nfor k, h in d.items():\n    h(k)\n",
    ]
    assert applied(source, "loops", "run a loop once") == ["d = {'a': f, 'b': g}\nk, h = next(iter(d.items()))\nh(k)\n"]


def applied(source, name, about):
    program = Program(source)
    edits = [edit for edit in named(name)[1].edits(program) if edit.about.startswith(about)]
    return [program.apply([edit]) for edit in edits]
