"""Calls of every public function and class of the CuTe surface with wrong arguments, and the error of each.

    python tests/fuzz/wrong_calls.py [--seed 1] [--calls 10] [NAME ...]      # each function that has NAME in its name

A call is a line of a kernel, or of plain Python for what belongs there. It is right, or an error at that line with
what is wrong and a fix; never a fault of the compiler, a bare exception, a hang or the end of the process.
"""

import argparse
import enum
import inspect
import json
import linecache
import os
import random
import signal
import sys
import types
import warnings
from pathlib import Path

POOL = [
    "None",
    "3",
    "-1",
    "0",
    "2.5",
    "'a'",
    "()",
    "(1,)",
    "(4, 8)",
    "[1, 2]",
    "(None, 1)",
    "((2, 2), 8)",
    "a",
    "st",
    "r",
    "identity",
    "lay",
    "dl",
    "swz",
    "composed",
    "p",
    "sp",
    "atom",
    "g2s",
    "tiled",
    "thr",
    "mma",
    "ssa",
    "flag",
    "Float32",
    "Int32",
    "Boolean",
    "int",
    "n",
    "Float32(1.5)",
    "Float32(n)",
    "Int64(n)",
    "Boolean(n)",
    "1 << 70",
    "-(1 << 63)",
    "float('nan')",
    "lambda *x: x",
    "cute",
    "True",
    "{}",
    "{1: 2}",
    "...",
    "slice(None)",
    "b'a'",
    "object()",
    "cute.arch",
    "cute.nvgpu.CopyUniversalOp()",
    "mbar",
    "(n, 1)",
    "cute.ReductionOp.ADD",
    "range(3)",
    "np.float32(1)",
    "np.zeros(3)",
    "1j",
    "{1}",
    "cute.size",
    "kernel",
]
KERNEL = """\
@cute.kernel
def kernel(a: cute.Tensor, n: Int32):
    smem = cutlass.utils.SmemAllocator()
    st = smem.allocate_tensor(Float32, cute.make_layout((8, 4)), 128)
    mbar = smem.allocate_array(Int64, 4)
    r = cute.make_rmem_tensor((4, 2), Float32)
    r.fill(0.0)
    ssa, identity = r.load(), cute.make_identity_tensor((4, 8))
    lay, dl, swz = cute.make_layout((4, 8)), cute.make_layout((n, 4)), cute.make_swizzle(2, 3, 3)
    composed = cute.make_composed_layout(swz, 0, lay)
    p, sp, flag = a.iterator, st.iterator, n > 1
    atom = cute.make_copy_atom(cute.nvgpu.CopyUniversalOp(), Float32)
    g2s = cute.make_copy_atom(cute.nvgpu.cpasync.CopyG2SOp(), Float32, num_bits_per_copy=32)
    tiled = cute.make_tiled_copy_tv(atom, cute.make_layout((4, 8)), cute.make_layout((1, 2)))
    thr = tiled.get_slice(0)
    mma = cute.make_tiled_mma(cute.make_mma_atom(cute.nvgpu.MmaUniversalOp(Float32)))
{}
@cute.jit
def host(a: cute.Tensor, n: Int32):
    kernel(a, n).launch(grid=1, block=32)
"""
PLAIN = (
    "a = st = r = from_dlpack(np.zeros((4, 8), np.float32))\nn = Int32(3)\np = sp = None\n"
    "lay = dl = cute.make_layout((4, 8))\nswz = cute.make_swizzle(2, 3, 3)\n"
    "identity = composed = atom = g2s = tiled = thr = mma = ssa = flag = mbar = kernel = None\n{}\n"
)
PLAIN_MODULES = ("cutlass.cute.runtime", "cutlass.torch", "cutlass.testing", "cutlass.cute.testing", "cutlass.cuda")
SKIPPED = {
    "cutlass.cute.jit",
    "cutlass.cute.kernel",
    "cutlass.cuda.stream_sync",
    "cutlass.cute.struct",
    "cutlass.cute.union",
    "cutlass.cute.testing.benchmark",
    "cutlass.testing.benchmark",
    "cutlass.Constexpr",
    "cutlass.cute.printf",
    "cutlass.cute.testing.autotune_jit",
    "cutlass.cute.print_tensor",
}
METHODS = {
    "st": "cute.Tensor",
    "lay": "cute.Layout",
    "p": "cute.Pointer",
    "ssa": "cute.TensorSSA",
    "n": "Int32",
    "atom": "cute.CopyAtom",
    "tiled": "cute.TiledCopy",
    "thr": "cute.ThrCopy",
    "mma": "cute.TiledMma",
    "smem": "cutlass.utils.SmemAllocator",
    "composed": "cute.ComposedLayout",
}


def targets() -> list[tuple[str, object, bool]]:
    """(how it is called, the function or class, whether in plain Python) of everything that can be called."""
    import cutlass

    from dsl.cutlass import upstream

    found, seen, todo = [], set(), [("cutlass", cutlass)]
    while todo:
        spelt, module = todo.pop(0)
        for name, value in sorted(vars(module).items()):
            path = f"{spelt}.{name}"
            if name.startswith("_") or path in SKIPPED:
                continue
            if isinstance(value, types.ModuleType):
                if path in upstream.modules() and id(value) not in seen:
                    seen.add(id(value))
                    todo.append((path, value))
            elif (
                callable(value)
                and id(value) not in seen
                and not isinstance(value, enum.EnumType)
                and not str(getattr(value, "__module__", "")).startswith(("typing", "collections"))  # Python's own
                and not (isinstance(value, type) and issubclass(value, BaseException))
            ):
                seen.add(id(value))
                found.append((path, value, spelt in PLAIN_MODULES))
    for spelt, cls in METHODS.items():
        value = eval(cls, {"cute": cutlass.cute, "cutlass": cutlass, "Int32": cutlass.Int32})
        found += [
            (f"{spelt}.{name}", method, False)
            for name in upstream.names(f"class {value.__name__}") or ()
            if hasattr(value, name) and isinstance(method := inspect.getattr_static(value, name), types.FunctionType)
        ]
    return found


def wrong_call(spelt: str, function: object, rng: random.Random) -> str:
    """A call of `function` with arguments from the pool, as many as it has parameters, or one more or less."""
    try:
        parameters = list(inspect.signature(function).parameters.values())
    except (TypeError, ValueError):
        parameters = []
    if "." in spelt and spelt.split(".")[0] in METHODS and parameters:
        parameters = parameters[1:]
    needed = [each for each in parameters if each.default is each.empty and each.kind is each.POSITIONAL_OR_KEYWORD]
    optional = [
        each
        for each in parameters
        if each not in needed and each.kind in (each.POSITIONAL_OR_KEYWORD, each.KEYWORD_ONLY)
    ]
    count = max(0, len(needed) + rng.choice((0, 0, 0, 0, 0, -1, 1)))
    arguments = [rng.choice(POOL) for _ in range(count)]
    for each in optional:
        if rng.random() < 0.25:
            arguments.append(f"{each.name}={rng.choice(POOL)}")
    if rng.random() < 0.04:
        arguments.append(f"wrong_name={rng.choice(POOL)}")
    return f"{spelt}({', '.join(arguments)})"


def run(calls: list[str], plain: bool) -> list[tuple[str, str, str]]:
    """(call, what is wrong with its error, that text) of the calls with a bad error."""
    import cutlass
    import numpy as np

    from dsl.core.diagnosis import author_traceback

    body = "".join(
        f"try:\n    {call}\nexcept Exception as error:\n    ERRORS.append(({number}, error))\n"
        for number, call in enumerate(calls)
    )
    form = PLAIN if plain else KERNEL
    text = form.format(body if plain else "".join(f"    {line}\n" for line in body.splitlines()))
    file = f"/author/wrong_{abs(hash(text))}.py"
    linecache.cache[file] = (len(text), None, text.splitlines(True), file)
    errors: list[tuple[int, Exception]] = []
    space = {
        "__name__": "author",
        "ERRORS": errors,
        "cutlass": cutlass,
        "cute": cutlass.cute,
        "np": np,
        "Int32": cutlass.Int32,
        "Int64": cutlass.Int64,
        "Float32": cutlass.Float32,
        "Boolean": cutlass.Boolean,
        "from_dlpack": cutlass.cute.runtime.from_dlpack,
    }
    exec(compile(text, file, "exec"), space)
    if not plain:
        from dsl.launch.call.compiling import compiler as compiling

        real, compiling.compile = compiling.compile, lambda traced, options: None
        try:
            cutlass.cute.compile(space["host"], space["from_dlpack"](np.zeros((8, 8), np.float32)), 3)
        except AttributeError as error:  # nothing was compiled
            if "traced" not in str(error):
                raise
        except Exception:
            if not errors:  # else it is left from a call that was refused
                raise
        finally:
            compiling.compile = real
    lines = text.split("\n")
    found = []
    for number, error in errors:
        said = author_traceback.leaving(error)
        where = getattr(getattr(said, "place", None), "line", 0)
        at = lines[where - 1].strip() if where else ""
        if why := fault(said, at == calls[number]):
            found.append((calls[number], why, f"{type(said).__name__}: {str(said)[:600]}"))
    return found


def fault(error: Exception, in_place: bool) -> str:
    """The mistake in an error as an author reads it, or ''."""
    from dsl.core.errors import DSLUserCodeError

    if not isinstance(error, DSLUserCodeError):
        return "bare exception"
    if error.id == "INTERNAL":
        return "fault of the compiler"
    if not in_place:
        return "not at the call"
    if not error.fix:
        return "no fix"
    words = error.message
    if any(
        bad in words for bad in ("<class", "object at 0x", "dsl.", "NotImplemented", "<function", "<dsl", "<module")
    ):
        return "words of the compiler"
    return ""


def forked(calls: list[str], plain: bool, limit_s: int = 60) -> list[tuple[str, str, str]]:
    """`run` in a fork; where that ends badly the calls one by one."""
    reading, writing = os.pipe()
    child = os.fork()
    if child == 0:
        os.close(reading)
        signal.alarm(limit_s)
        quiet = os.open(os.devnull, os.O_WRONLY)
        os.dup2(quiet, 1)
        os.dup2(quiet, 2)
        try:
            answer = run(calls, plain)
        except BaseException as error:
            answer = [
                (
                    "; ".join(calls) if len(calls) == 1 else "",
                    "the kernel fails",
                    f"{type(error).__name__}: {error}"[:500],
                )
            ]
        os.write(writing, json.dumps(answer).encode())
        os._exit(0)
    os.close(writing)
    with os.fdopen(reading) as stream:
        text = stream.read()
    status = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
    found = [tuple(each) for each in json.loads(text)] if status == 0 else None
    if found is not None and not (len(calls) > 1 and any(why == "the kernel fails" for _, why, _ in found)):
        return found
    if len(calls) == 1:
        return [(calls[0], "hang" if status == -signal.SIGALRM else f"process ended with {status}", text)]
    half = len(calls) // 2
    return forked(calls[:half], plain, 20) + forked(calls[half:], plain, 20)


def sweep(seed: int, count: int, names: list[str] = (), share: float = 1.0) -> tuple[int, list[tuple[str, str, str]]]:
    """How many calls were made, and what is wrong: `count` calls of each function, or of a `share` of them."""
    rng = random.Random(seed)
    made: dict[bool, list[str]] = {True: [], False: []}
    for spelt, function, plain in targets():
        if (not names or any(name in spelt for name in names)) and rng.random() < share:
            made[plain] += [wrong_call(spelt, function, rng) for _ in range(count)]
    found = []
    for plain, calls in made.items():
        for start in range(0, len(calls), 60):
            found += forked(calls[start : start + 60], plain)
    return sum(map(len, made.values())), found


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("names", nargs="*")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--calls", type=int, default=10)
    options = parser.parse_args()
    count, found = sweep(options.seed, options.calls, options.names)
    for call, why, text in found:
        print(f"--- {why}: {call}\n{text}")
    print(f"{count} calls, {len(found)} findings")
    return bool(found)


if __name__ == "__main__":
    sys.path.insert(0, str(Path(__file__).parents[2]))
    warnings.simplefilter("ignore")
    from dsl import alias

    alias.install("emulator")
    import torch  # noqa: F401

    sys.exit(main())
