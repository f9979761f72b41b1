"""Whatever a pass proposes, alone or with others, is a Python program, and another one.

The passes are the modules text_passes, definition_passes, statement_passes, expression_passes, startup_passes,
inlining_passes, class_passes, slicing_passes and gpu_passes of dsl.reduction.passes (test_executed_passes.py tests the
ones that need lines); they use dsl.reduction.edit, dsl.reduction.names and dsl.reduction.sequences.

Modules tested here: dsl/reduction/edit.py, dsl/reduction/names.py, dsl/reduction/passes/class_passes.py,
dsl/reduction/passes/definition_passes.py, dsl/reduction/passes/expression_passes.py,
dsl/reduction/passes/gpu_passes.py, dsl/reduction/passes/inlining_passes.py, dsl/reduction/passes/startup_passes.py,
dsl/reduction/passes/statement_passes.py, dsl/reduction/passes/text_passes.py, dsl/reduction/sequences.py.
"""

import functools
import random
import warnings
from pathlib import Path

import pytest
from hypothesis import given, settings, strategies as st

from dsl.reduction.passes.passes import LANGUAGES, PYTHON, named
from dsl.reduction.program import Program, Refused, is_no_program

ROOT = Path(__file__).parents[3]
SOURCES = [path.read_text() for path in sorted((ROOT / "repros").glob("*/*.py"))[::6]]
SOURCES += [(ROOT / name).read_text() for name in ("dsl/__main__.py", "tests/test_house.py", "dsl/span.py")]


@functools.cache
def edits_of(source: str, name: str):
    program = Program(source)
    return program, [edit for edit in named(name)[1].edits(program) if edit.changes]


@given(source=st.sampled_from(SOURCES), name=st.sampled_from([each.name for each in PYTHON]), seed=st.integers(0, 999))
@settings(max_examples=12, deadline=None)
def test_edits_of_real_programs_give_other_programs(source, name, seed):
    program, edits = edits_of(source, name)
    chosen = random.Random(seed)
    for edit in chosen.sample(edits, min(len(edits), 5)):
        assert_is_another(program, program.apply([edit]))
    for some in (edits, [edit for edit in edits if chosen.random() < 0.5]):
        assert_is_another_or_refused(program, some)


def assert_is_another(program, text):
    assert text != program.source
    assert is_no_program(text) == ""


def assert_is_another_or_refused(program, edits):
    try:
        assert_is_another(program, program.apply(edits))
    except Refused as refusal:
        assert str(refusal)


NAMES = st.sampled_from("abcdef")


@st.composite
def expressions(draw, depth=1):
    kinds = ("name", "number", "text") if not depth else ("name", "number", "call", "sum", "if", "tuple", "list", "f")
    part = functools.partial(draw, expressions(depth=depth - 1)) if depth else None
    match draw(st.sampled_from(kinds)):
        case "name":
            return draw(NAMES)
        case "number":
            return str(draw(st.integers(0, 300)))
        case "text":
            return draw(st.sampled_from(["'x'", '"""one\n  two"""', "'ü€'"]))
        case "call":
            return f"{draw(NAMES)}.{draw(NAMES)}({part()},\n {part()}, k={part()})"
        case "sum":
            return f"({part()} {draw(st.sampled_from(['+', '<', 'and', '**', 'in']))} {part()})"
        case "if":
            return f"({part()} if {part()} else{' ' * draw(st.integers(1, 2))}{part()})"
        case "tuple":
            return f"({part()}, {part()}, {part()},)"
        case "list":
            return f"[{part()} for {draw(NAMES)} in {part()}]"
        case _:
            return f"f'{{{draw(NAMES)}!r}} {{{draw(NAMES)}:>4}}'"


@st.composite
def blocks(draw, indent="", depth=2, in_function=False):
    lines = []
    step = draw(st.sampled_from(["    ", "  ", "\t"]))
    for _ in range(draw(st.integers(1, 4))):
        kinds = ["assign", "call", "augment", "comment", "two", "tuple"]
        if depth:
            kinds += ["if", "elif", "for", "while", "with", "try", "def", "class", "one-line"]
        kind = draw(st.sampled_from(kinds + ["return"] * in_function))
        inner = functools.partial(draw, blocks(indent=indent + step, depth=depth - 1, in_function=in_function))
        value = draw(expressions())
        name = draw(NAMES)
        match kind:
            case "assign":
                lines.append(f"{indent}{name} = {value}  # why")
            case "call":
                lines.append(f"{indent}{name}({value})")
            case "augment":
                lines.append(f"{indent}{name}.x += {value}")
            case "comment":
                lines += ["", f"{indent}# {name}", f"{indent}{name}: int = {value}"]
            case "two":
                lines.append(f"{indent}{name} = {value}; {name}.call()")
            case "tuple":
                lines.append(f"{indent}{name}, ({draw(NAMES)}, *_) = {value}, {value}")
            case "return":
                lines.append(f"{indent}return {value}")
            case "one-line":
                lines.append(f"{indent}if {value}: {name} = {value}")
            case "if":
                lines += [f"{indent}if {value}:", inner(), f"{indent}else:", inner()]
            case "elif":
                lines += [f"{indent}if {value}:", inner(), f"{indent}elif {name}:", inner(), f"{indent}else:", inner()]
            case "for":
                lines += [f"{indent}for {name} in range({value}, 8):", inner()]
            case "while":
                lines += [
                    f"{indent}while {value}:",
                    inner(),
                    f"{indent}{step}{draw(st.sampled_from(['break', 'pass']))}",
                ]
            case "with":
                lines += [f"{indent}with {value} as {name}:", inner()]
            case "try":
                lines += [f"{indent}try:", inner(), f"{indent}except {name}:", inner(), f"{indent}finally:", inner()]
            case "def":
                body = draw(blocks(indent=indent + step, depth=depth - 1, in_function=True))
                second = "b" if name != "b" else "c"
                lines += [f"{indent}@{name}", f"{indent}def {name}({name}, {second}=3, *, k: int = 1) -> int:", body]
            case "class":
                lines += [f"{indent}class {name.upper()}(object):", inner()]
    return "\n".join(lines)


@given(source=blocks(), seed=st.integers(0, 999), end=st.sampled_from(["", "\n"]))
@settings(max_examples=12, deadline=None)
def test_edits_of_any_program_give_other_programs(source, seed, end):
    source += end
    if is_no_program(source):
        return
    chosen = random.Random(seed)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for each in PYTHON:
            program = Program(source)
            edits = [edit for edit in each.edits(program) if edit.changes]
            for edit in chosen.sample(edits, min(len(edits), 6)):
                assert_is_another(program, program.apply([edit]))
            assert_is_another_or_refused(program, edits)
            assert_is_another_or_refused(program, [edit for edit in edits if chosen.random() < 0.5])


def test_every_name_belongs_to_one_pass():
    names = [each.name for passes in LANGUAGES.values() for each in passes]
    assert len(names) == len({*names})


def test_a_name_without_a_pass_is_an_error():
    with pytest.raises(KeyError):
        named("none")


PTX_TEXT = '''PTX = """.version 8.0
.target sm_80
.address_size 64
// note
.visible .entry one()
{
    .reg .b32 %r<2>;
    mov.b32 %r1, 7;
    ret;
}
.visible .entry other()
{
    ret;
}
"""
'''


def test_ptx_in_a_string_loses_functions_and_lines():
    program, edits = edits_of(PTX_TEXT, "ptx-texts")
    entries = [edit for edit in edits if edit.about == "drop `one`"]
    start, end = PTX_TEXT.index(".visible"), PTX_TEXT.rindex(".visible")
    assert program.apply(entries) == PTX_TEXT[:start] + PTX_TEXT[end:]
    _, lines = edits_of(PTX_TEXT, "ptx-text-lines")
    assert PTX_TEXT.replace("    mov.b32 %r1, 7;\n", "") in [program.apply([edit]) for edit in lines]
    assert edits_of(PTX_TEXT.replace("// note", "\\x2f/ note"), "ptx-texts")[1] == []  # written with an escape


def test_the_comma_after_the_last_item_goes():
    source = "f(a, b, )\nx = (4, )\ny = [1,\n]\n"
    program, edits = edits_of(source, "commas")
    assert program.apply(edits) == "f(a, b)\nx = (4,)\ny = [1]\n"


def test_a_short_loop_becomes_any_one_of_its_trips():
    source = "for i in range(3):\n    f(i)\n"
    program, edits = edits_of(source, "loops")
    assert [program.apply([edit]) for edit in edits] == [
        *(f"i = {trip}\nf(i)\n" for trip in (0, 2, 1)),
        "for i in range(1):\n    f(i)\n",
    ]


def after(name, source):
    program, edits = edits_of(source, name)
    return program.apply(edits) if edits else source


def test_parameters_of_a_method_go_though_a_module_has_its_name():
    source = "import cute\nclass C:\n    @cute.kernel\n    def kernel(self, x, y):\n        use(x)\nC().kernel(1, 2)\n"
    assert after("parameters", source) == source.replace("x, y", "x, ").replace("1, 2", "1, ")
    as_object = source.replace("import cute\n", "cute = make()\n")  # whose `kernel` may be this method
    assert after("parameters", as_object) == as_object


@pytest.mark.parametrize(
    ("head", "call", "left"),
    [
        ("x, *args", "1", "x, "),
        ("x, **words", "1", "x, "),
        ("x, *, y=2, **words", "1, y=3", "x, *, y=2, "),
        ("x, *args, y=2", "1, y=3", "x, y=2"),
        ("x, * args, ** words", "1", "x, "),
    ],
)
def test_parameters_with_stars_that_get_nothing_go(head, call, left):
    source = f"def f({head}):\n    use(x{', y' if 'y' in head else ''})\nf({call})\n"
    assert after("parameters", source) == source.replace(f"({head})", f"({left})")


@pytest.mark.parametrize("call", ["1, 2", "*a", "1, z=2", "1, **a"])
def test_parameters_with_stars_stay_if_a_call_may_pass_something(call):
    source = f"def f(x, *args, **words):\n    use(x)\nf({call})\n"
    kept = after("parameters", source)
    assert ("*args" in kept, "**words" in kept) == {
        "1, 2": (True, False), "1, z=2": (False, True), "*a": (True, True), "1, **a": (True, True),
    }[call]  # fmt: skip


def test_types_of_parameters_go_but_what_is_known_at_compile_time_stays():
    source = "def f(x: cute.Tensor, n: cutlass.Constexpr, *rest: int, k: int = 3):\n    pass\n"
    assert after("annotations", source) == "def f(x, n: cutlass.Constexpr, *rest, k = 3):\n    pass\n"


def test_an_attribute_of_another_object_is_set_for_nothing():
    assert after("effects", "x = f()\ny = 3\nx.kind = y\nuse(x)\n") == "x = f()\n"


@pytest.mark.parametrize(
    ("source", "left"),
    [
        ("t, _, _ = cute.arch.thread_idx()\nuse(t, t)\n", "use(cute.arch.thread_idx()[0], cute.arch.thread_idx()[0])\n"),
        ("b = arch.block_idx()[1]\nuse(b, b)\n", "use(arch.block_idx()[1], arch.block_idx()[1])\n"),
        ("l = lane_id()\nfor i in r:\n    use(l)\n", "for i in r:\n    use(lane_id())\n"),
        ("t, u, _ = thread_idx()\nuse(t, u)\n", "use(thread_idx()[0], thread_idx()[1])\n"),
        ("t = thread_idx()[0]\nt = t + 1\nuse(t)\n", None),
        ("t = thread_idx()[i]\nuse(t)\n", None),
        ("t = thread_idx()[0]\nuse(t, t, t, t, t)\n", None),
        ("t = next_idx()\nuse(t, t)\n", None),
        ("t = lane_id(x)\nuse(t, t)\n", None),
        ("t, *u = thread_idx()\nuse(t)\n", None),
    ],
)  # fmt: skip
def test_which_thread_it_is_is_asked_where_it_is_read(source, left):
    assert after("thread-places", source) == (left or source)


def test_a_function_goes_into_the_module_though_other_functions_have_variables_of_these_names():
    source = "def f(n):\n    x = n\n    use(x, x)\ndef g(x):\n    use(x)\nf(2)\n"
    assert after("helpers", source) == "def g(x):\n    use(x)\nn = 2\nx = n\nuse(x, x)\n"
    as_global = source.replace("def g(x)", "def g()")  # reads the module's x
    assert after("helpers", as_global) == "def g():\n    use(x)\nn = 2\nx_of_f = n\nuse(x_of_f, x_of_f)\n"


def test_names_of_a_function_that_its_caller_has_too_get_others():
    source = "def f(n, x):\n    y = n + x\n    use(y=y)\n    return y, n\ndef g(n, y):\n    y, z = f(y, n)\n    return y + z\ng(1, 2)\n"
    left = """\
def g(n, y):
    n_of_f = y
    x = n
    y_of_f = n_of_f + x
    use(y=y_of_f)
    y, z = y_of_f, n_of_f
    return y + z
g(1, 2)
"""
    program, edits = edits_of(source, "helpers")
    assert program.apply(edits[:1]) == left


@pytest.mark.parametrize(
    "line",
    [
        "    print(f'{y}')\n",
        "    h = lambda y: y\n",
        "    global y\n",
        "    def h():\n        return y\n",
        "    y_of_f = 1\n",
    ],
)
def test_a_function_stays_if_new_names_could_mean_something_else(line):
    source = f"def f(n):\n{line}    y = n\n    use(y)\ndef g(y):\n    f(y)\n    use(y)\ng(1)\n"
    program, edits = edits_of(source, "helpers")
    assert "`f` in the place of its call" not in [edit.about for edit in edits]


@pytest.mark.parametrize(
    ("source", "left"),
    [
        ("if a:\n    if b == 1:\n        f()\n\n        g()\n", "if a and b == 1:\n    f()\n\n    g()\n"),
        ("if a or b:\n  if (c):\n        f()\n", "if (a or b) and c:\n  f()\n"),
        ("if (a and\n        b):\n    if c:\n        f()\n", "if (a and\n        b) and c:\n    f()\n"),
        ("if a:\n    if b:\n        f()\n    g()\n", None),
        ("if a:\n    if b:\n        f()\n    else:\n        g()\n", None),
        ("if a:\n    if b:\n        f()\nelse:\n    g()\n", None),
        ("if x:\n    f()\nelif a:\n    if b:\n        f()\n", None),
        ("if a:\n    if b: f()\n", None),
    ],
)
def test_two_branches_become_one(source, left):
    assert after("nested-branches", source) == (left or source)


def test_a_loop_over_a_collection_that_has_a_name_runs_for_its_first_element():
    source = "for x in self.kinds:\n    use(x)\n"
    assert after("loops", source) == "x = next(iter(self.kinds))\nuse(x)\n"


@pytest.mark.parametrize(
    ("source", "left"),
    [
        ("s = f()\ndef g(x, s):\n    use(x, s)\ng(1, s)\ng(2, s)\n", "s = f()\ndef g(x, ):\n    use(x, s)\ng(1, )\ng(2, )\n"),
        ("s = f()\ndef g(x, s):\n    s = s + 1\n    use(x, s)\ng(y(), s)\n", None),
        ("s = f()\ndef h(s):\n    g(y(), s)\ndef g(x, s):\n    use(x, s)\nh(a.b())\n", None),
    ],
)  # fmt: skip
def test_a_parameter_that_gets_a_variable_of_the_module_by_its_name_becomes_it(source, left):
    assert after("bound-parameters", source) == (left or source)


@pytest.mark.parametrize(
    "source",
    [
        "def f():\n    rows = []\n    for k in range(4):\n        rows.append(k)\n    return rows\n",
        "def f(c):\n    n = c.size\n    c = c.next\n    return n + c.size\n",
    ],
)
def test_a_name_stays_if_its_value_may_change(source):
    assert after("constants", source) == source


def test_a_parameter_stays_if_a_local_variable_is_passed():
    source = "def g(n):\n    use(n)\ndef f():\n    c = made()\n    g(c.n)\nf()\n"
    assert after("bound-parameters", source) == source


@pytest.mark.parametrize(
    ("name", "source", "left"),
    [
        ("next-uses", "def f(a):\n    x = a + 1\n    y = x * 2\n    return y\n", "def f(a):\n    return (a + 1) * 2\n"),
        ("next-uses", "def f(a):\n    x = a.load()\n    a.store(2)\n    return x\n", None),
        ("next-uses", "def f(a):\n    x = a + 1\n    for _ in a:\n        use(x)\n", None),
        ("next-uses", "def f(a):\n    x = a + 1\n    use(x)\n    use(x)\n", None),
        ("empty", "class A:\n    def f(self):\n        pass\n    def g(self):\n        self.f()\n        use(self)\n",
         "class A:\n    def g(self):\n        use(self)\n"),
        ("empty", "def f():\n    pass\nuse(f())\n", None),
        ("empty", "def f():\n    pass\nuse(f)\nf()\n", None),
    ],
)  # fmt: skip
def test_values_go_to_the_next_statement_and_empty_functions_go(name, source, left):
    before = ""
    text = source
    while text != before:
        before, text = text, after(name, text)
    assert text == (left or source)
