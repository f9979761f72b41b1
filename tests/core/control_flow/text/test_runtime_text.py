"""Texts with values known only at run time: `printf` prints what Python's text of the values is, however it was made."""

import pytest

from dsl.core.control_flow.text.runtime_text import RuntimeText, formatted, join, joined_string, percent
from dsl.core.errors import DSLUserCodeError
from dsl.core.number.dtypes import Int32
from dsl.cutlass import Constexpr, Float32, cute

pytestmark = pytest.mark.filterwarnings("ignore::dsl.core.errors.PortabilityWarning")

TEXTS = [  # of n = 26, m = -7, x = 2.5 and the static k = 3
    'f"n={n}"',
    'f"{n:05d}|{x:.2f}|{n:x}|{x:8.3f}|{n:{k + 2}d}|"',
    'f"{n=} {n!r} {n!s}"',
    'f"{{{n}}} 100% {k} {None} {\'text\':>6}"',
    'f"{n + 1} {n * m}"',
    'f"n={n}" + f" m={m}"',
    '"first " + f"{n}" + " last"',
    'f"{n}" * 3',
    '2 * f"{n} "',
    'f"{f\'{n} {m}\'} {k}"',
    'text_of(n)',
    'f"<{text_of(n)}>"',
    'text_of(text_of(m))',
    '(lambda v: f"[{v}]")(n)',
    '" ".join([f"{n}", "and", f"{m}"])',
    '", ".join(f"{v}" for v in (n, m, k))',
    'f" {n} ".join("abc")',
    '"-".join("abc") + str(n)',
    '"{} {}".format(n, m)',
    '"{1} {0} {k:>3}".format(n, m, k=k)',
    '"{a:05d}".format(a=n)',
    '"{v[0]} {v[1]:{w}d}".format(v=(n, m), w=4)',
    '"%s %d|%5d|%-5d|%05d %x %%" % (n, m, n, n, n, n)',
    '"%s" % n',
    '"%(a)s %(b)5d %(c)s" % {"a": n, "b": m, "c": "text"}',
    '"%.2f %s" % (x, "text")',
    'str(n) + repr(m) + format(n, "04d") + format(m)',
    'f"  n={n}  ".strip()',
    'f"n={n}".upper().replace("N", "count ").lower()',
    '{"key": f"{n}"}["key"]',
    '[f"{n}", f"{m}"][1]',
    'f"{n}" if k else f"{m}"',
    'Named(n).text',
    'f"{Named(n).text!s}"',
    '"plain %d%% {}" % k',
]  # fmt: skip


def text_of(value):
    return f"value {value}"


class Named:
    def __init__(self, value):
        self.text = f"named {value}"


def test_printf_prints_the_text_that_python_makes(tmp_path, capfd):
    body = "".join(f"    t = {text}\n    cute.printf('{{}}', t)\n    cute.printf('<{{}}>', t)\n" for text in TEXTS)
    source = f"@cute.jit\ndef host(n: Int32, m: Int32, x: Float32, k: Constexpr):\n{body}"
    file = tmp_path / "author.py"
    file.write_text(source)
    names = {"cute": cute, "text_of": text_of, "Named": Named}
    names |= {"Int32": Int32, "Float32": Float32, "Constexpr": Constexpr}
    exec(compile(source, str(file), "exec"), names)
    names["host"](26, -7, 2.5, 3)
    wanted = [eval(text, names | {"n": 26, "m": -7, "x": 2.5, "k": 3}) for text in TEXTS]
    assert capfd.readouterr().out.splitlines() == [line for text in wanted for line in (text, f"<{text}>")]


FORMATS = [  # as the format itself: places in it take the values that follow
    ('f"n={n}"', "", "n=26"),
    ('f"n={n} {{}}"', ", m", "n=26 -7"),
    ('f"n={n}" + " {} %d"', ", m, n", "n=26 -7 26"),
    ('f"{n}%{m}%"', "", "26%-7%"),
    ('f"{n} %5d|%%"', ", m", "26    -7|%"),
    ('"%s: {}" % k', ", n", "3: 26"),
    ('f"{(n, k)} {[n, m]}"', "", "(26,3) (26,-7)"),
    ('f"{cute.make_layout((n, 4))}"', "", "(26,4):(1,26)"),
]


@pytest.mark.parametrize("text, more, wanted", FORMATS, ids=[row[0] for row in FORMATS])
def test_a_format_in_a_variable(text, more, wanted, tmp_path, capfd):
    source = f"@cute.jit\ndef host(n: Int32, m: Int32, k: Constexpr):\n    s = {text}\n    cute.printf(s{more})\n"
    file = tmp_path / "author.py"
    file.write_text(source)
    names = {"cute": cute, "Int32": Int32, "Constexpr": Constexpr}
    exec(compile(source, str(file), "exec"), names)
    names["host"](26, -7, 3)
    assert capfd.readouterr().out == wanted + "\n"


@cute.kernel
def told(text, m: Int32):
    if m > 2:
        line = f"{m} of {text}"
    else:
        line = f"{-m} of {text}"
    for i in range(m):
        cute.printf(f"{i}: " + line)
        line = f"{i} of {text}"


@cute.jit
def tells(n: Int32, m: Int32):
    told(f"n={n}", m).launch(grid=1, block=1)


def test_control_flow_and_calls_carry_the_values(capfd):
    tells(26, 3)
    assert capfd.readouterr().out.splitlines() == ["0: 3 of n=26", "1: 0 of n=26", "2: 1 of n=26"]


@cute.jit
def differs(n: Int32):
    text = f"n={n}"
    if n > 2:
        text = f"big: {n}"
    cute.printf(text)


@cute.jit
def aligns(n: Int32):
    text = f"{n:>6}"
    cute.printf(text)


@pytest.mark.parametrize(
    "program, message",
    [
        (differs, "`text` is 'big: Int32 n' on one path and 'n=Int32 n' on another"),
        (aligns, "`:>6` aligns a value known at run time"),
    ],
    ids=["differs", "aligns"],
)
def test_values_without_a_text(program, message):
    with pytest.raises(DSLUserCodeError) as error:
        program(3)
    assert error.value.message == message


def test_static_values_make_a_plain_str():
    for text in (joined_string("a", (5, "", "03d", True, "n")), percent("%d", 5), formatted("{}", 5), join("-", "ab")):
        assert type(text) is str


def test_texts_of_one_look_differ():
    @cute.jit
    def compares(n: Int32, m: Int32):
        one, other = RuntimeText(f"{n}".parts), f"{n}"
        equal.append((one == other, f"{n}" == f"{m}", f"{n}" != f"{m}", f"{n}" == "Int32 n", hash(one) == hash(other)))

    equal: list = []
    cute.compile(compares, 1, 2)
    assert equal == [(True, False, True, True, True)]
