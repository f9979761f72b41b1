"""What Python would iterate over for ever in a kernel is refused at the author's line: fields, arrays and numbers."""

import importlib.util
import signal

import numpy as np
import pytest

import dsl.quadrants as qd
from dsl.launch import session

USES = [
    "for i in qd.static({x}): s += 1",
    "s += sum({x})",
    "l = list({x})",
    "l = tuple({x})",
    "p, q = {x}",
    "p, *q = {x}",
    "l = sorted({x})",
    "s += qd.static(3 in {x})",
    "l = [e for e in {x}]",
    "l = [*{x}]",
    "l = {{e: 1 for e in {x}}}",
    "s += max(*{x})",
    "s += min({x})",
    "s += any({x})",
    "s += two(*{x})",
    "v = qd.Vector([*{x}])",
    "v = qd.Vector({x})",
    "for p in qd.static(zip({x}, range(2))): s += 1",
    "for p in qd.static(enumerate({x})): s += 1",
    "for p in qd.static(map(abs, {x})): s += 1",
    "l = set({x})",
    "for p in qd.static(reversed({x})): s += 1",
    "l = iter({x})",
]
SUBJECTS = {
    "F": "field",
    "F2": "field",
    "M": "field",
    "a": "array",
    "a2": "array",
    "b": "array",
    "F[0]": "",
    "n": "",
    "(n + 1)": "",
}  # what it is called where it has indices to loop over
KERNEL = """import quadrants as qd
F = F2 = M = None

@qd.func
def two(a, b):
    return a + b

@qd.kernel
def k(n: int, a: qd.types.ndarray(), a2: qd.types.ndarray(), b: qd.types.ndarray(dtype=qd.math.vec2)) -> int:
    s = 0
    {use}
    return s
"""


@pytest.fixture(autouse=True)
def running():
    run = session.start("emulator")
    qd.init(arch=qd.cpu)

    def never_ends(*_):
        raise TimeoutError

    kept = signal.signal(signal.SIGALRM, never_ends)
    yield run
    signal.alarm(0)
    signal.signal(signal.SIGALRM, kept)
    session.stop()


def module_of(path, text, given):
    path.write_text(text.replace("import quadrants", "import dsl.quadrants"))
    spec = importlib.util.spec_from_file_location(path.stem, path)
    made = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(made)
    vars(made).update(given)
    return made


@pytest.mark.slow
def test_python_does_not_iterate_over_what_a_kernel_computes_with(tmp_path):
    fields = {
        "F": qd.field(qd.i32, shape=2),
        "F2": qd.field(qd.i32, shape=(2, 2)),
        "M": qd.Vector.field(2, qd.i32, shape=2),
    }
    arrays = np.zeros(2, np.int32), np.zeros((2, 2), np.int32), np.zeros((3, 2), np.float32)
    for position, use in enumerate(USES):
        for subject, label in SUBJECTS.items():
            line = use.format(x=subject)
            made = module_of(tmp_path / f"m{position}_{len(subject)}{subject[0]}.py", KERNEL.format(use=line), fields)
            signal.alarm(20)
            with pytest.raises(qd.QuadrantsCompilationError) as caught:
                made.k(2, *arrays)
            signal.alarm(0)
            assert caught.value.place.source_line().strip() == line, (line, str(caught.value))
            text = str(caught.value)
            own = "any and all take a vector or matrix" in text
            assert not label or own or f"the elements of this {label} are not known while" in text, text
            assert not label or "fix: loop over " in text, text


def test_plain_python_does_not_iterate_over_them_either():
    for x in (
        qd.field(qd.i32, shape=2),
        qd.Vector.field(2, qd.i32, shape=2),
        qd.ndarray(qd.i32, 2),
        qd.Matrix.ndarray(2, 2, qd.i32, 2),
    ):
        for use in (list, sum, iter, lambda x: 3 in x, lambda x: [*zip(x, x)]):
            signal.alarm(20)
            with pytest.raises(TypeError, match=f"a {type(x).__name__} is not iterable"):
                use(x)
            signal.alarm(0)


@qd.kernel
def vectors(n: int) -> int:
    v = qd.Vector([n, 5])
    m = qd.Matrix([[n, 2], [3, 4]])
    a, b = v
    top, low = m
    s = a + 10 * b + sum(v) + max(*v) + len([*m]) + low[1]
    for e in qd.static([*v]):
        s += e
    return s


def test_a_vector_has_its_numbers():
    assert vectors(7) == 7 + 50 + 12 + 7 + 2 + 4 + 12


@qd.kernel
def contained(n: int) -> int:
    m = qd.Matrix([[n, 2], [3, 4]])
    return qd.static(3 in m)


def test_a_matrix_is_not_a_condition():
    with pytest.raises(qd.QuadrantsTypeError, match="condition must be scalar, got matrix"):
        contained(1)
