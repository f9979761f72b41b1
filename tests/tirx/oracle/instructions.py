"""Kernels of one instruction each, spelled as in instructions.txt, by apache-tvm 0.27 and here. `cuda.NAME` is a function of T.cuda.

python tests/tirx/oracle/instructions.py PYTHON     writes instructions.npz; PYTHON is a Python that has apache-tvm 0.27

A line is the name of an instruction and its operands: `=float32` a destination, `uint32` a value, `uint32x4` four of
them, `pred` and `=pred` predicates, `7` a constant, `global` and `shared` an address of 16 bytes for each thread.
"""

from __future__ import annotations

import keyword
import linecache
import re
import struct
import subprocess
import sys
import zlib
from pathlib import Path

import numpy as np

HERE = Path(__file__).resolve().parent
LINES = [line.split() for line in (HERE / "instructions.txt").read_text().splitlines()]
RECORD = HERE / "instructions.npz"
THREADS, WORDS = 32, 4  # a block; 32-bit words of memory for each thread
_OPERAND = re.compile(r"(=?)(\w+?\d*)(?:x(\d+))?")
_WIDE = {"pred": "uint32"}


def _registers(operand: str) -> tuple[bool, str, int]:
    written, dtype, count = _OPERAND.fullmatch(operand).groups()
    return bool(written), dtype, int(count or 1)


def parameters(line: list[str]) -> dict[str, tuple[str, int]]:
    """The tensors of a kernel: dtype and number of elements; those that begin with Y are written."""
    found = {"M": ("uint32", THREADS * WORDS), "YM": ("uint32", THREADS * WORDS), "YS": ("uint32", THREADS * WORDS)}
    for place, operand in enumerate(line[1:]):
        if (operand[-1].isdigit() and operand.isdigit()) or operand in ("global", "shared"):
            continue
        written, dtype, count = _registers(operand)
        found[f"{'Y' if written else 'X'}{place}"] = (_WIDE.get(dtype, dtype), THREADS * count)
    return found


def spelled(name: str) -> str:
    """`T.ptx.add.f32` or, where Python cannot spell that, `T.ptx["..."]`."""
    words = [
        f"{word}_" if keyword.iskeyword(word) or word == "global" else word
        for word in name.replace("::", "__").split(".")
    ]
    if words[0] == "cuda":
        return f"T.{'.'.join(words)}"
    return f"T.ptx.{'.'.join(words)}" if all(word.isidentifier() for word in words) else f'T.ptx["{name}"]'


def source(number: int) -> str:
    """The program of a line."""
    line = LINES[number]
    head = ", ".join(f'{name}: T.Buffer(({count},), "{dtype}")' for name, (dtype, count) in parameters(line).items())
    declared, stored, arguments = [], [], []
    for place, operand in enumerate(line[1:]):
        if operand.isdigit():
            arguments.append(operand)
        elif operand == "global":
            arguments.append(f"YM.ptr_to([tx * {WORDS}])")
        elif operand == "shared":
            arguments.append(f"S.ptr_to([tx * {WORDS}])")
        else:
            written, dtype, count = _registers(operand)
            for part in range(count):
                element = f"{'Y' if written else 'X'}{place}[tx + {part * THREADS}]"
                if written:
                    declared.append(f"d{place}_{part}: T.{_WIDE.get(dtype, dtype)}")
                    stored.append(f"{element} = d{place}_{part}")
                    arguments.append(f"d{place}_{part}")
                else:
                    arguments.append(f"{element} != T.uint32(0)" if dtype == "pred" else element)
    copies = [f"S[tx * {WORDS} + {k}] = M[tx * {WORDS} + {k}]" for k in range(WORDS)]
    copies += [f"YM[tx * {WORDS} + {k}] = M[tx * {WORDS} + {k}]" for k in range(WORDS)]
    call = f"{spelled(line[0])}({', '.join(arguments)})"
    if line[0].startswith("cuda.") and declared:
        call = f"{arguments[0]} = {spelled(line[0])}({', '.join(arguments[1:])})"
    after = ["T.ptx.cp.async_.wait_all()"] if line[0].startswith("cp.async.c") else []
    after += ["T.cuda.cta_sync()"] + [f"YS[tx * {WORDS} + {k}] = S[tx * {WORDS} + {k}]" for k in range(WORDS)]
    body = [
        "bx = T.cta_id([1])",
        f"tx = T.thread_id([{THREADS}])",
        f'S = T.alloc_shared(({THREADS * WORDS},), "uint32")',
        *copies,
        "T.cuda.cta_sync()",
        *declared,
        call,
        *after,
        *stored,
    ]
    return (
        "from tvm.script import tirx as T\n@T.prim_func\ndef main("
        + head
        + "):\n    T.device_entry()\n"
        + "".join(f"    {each}\n" for each in body)
    )


def function(number: int) -> object:
    """The kernel of a line, defined by the `tvm` that is importable here."""
    text, file = source(number), f"instruction_{number}.py"
    linecache.cache[file] = (len(text), None, text.splitlines(True), file)
    names = {"__name__": "instruction"}
    exec(compile(text, file, "exec"), names)
    return names["main"]


def arguments(number: int) -> dict[str, np.ndarray]:
    """The tensors of a line before its kernel: numbers of moderate size, the same on every machine."""
    drawn, made = np.random.default_rng(zlib.crc32(" ".join(LINES[number]).encode())), {}
    for name, (dtype, count) in parameters(LINES[number]).items():
        place = int(name[1:]) if name[1:].isdigit() else None
        if name.startswith("Y"):
            made[name] = np.zeros(count, dtype)
        elif dtype.startswith("float"):
            made[name] = drawn.normal(0, 8, count).astype(dtype)
        elif place is not None and LINES[number][1 + place] == "pred":
            made[name] = drawn.integers(0, 2, count).astype(dtype)
        else:
            made[name] = _bits(drawn, LINES[number][0], dtype, count)
    return made


def _bits(drawn: np.random.Generator, name: str, dtype: str, count: int) -> np.ndarray:
    """Integers, or the bits of finite floats where the instruction computes with packed ones."""
    for float_type, numpy_type in (
        ("bfloat1622", None),
        ("hmax2", None),
        ("hmin2", None),
        ("float2", "float32"),
        ("bf16", None),
        ("f16", "float16"),
        ("f32x2", "float32"),
        ("tf32", "float32"),
        ("f32", "float32"),
    ):
        if float_type in name and "int" in dtype:
            if numpy_type is None:
                words = (drawn.normal(0, 8, count * 4).astype("float32").view("uint32") >> 16).astype("uint16")
            else:
                words = drawn.normal(0, 8, count * 4).astype(numpy_type)
            return np.ascontiguousarray(words.view(dtype)[:count])
    if any(word in name for word in ("shl", "shr", "shf", "bfe", "bfi", "bmsk", "szext", "fns", "shfl", "prmt")):
        return drawn.integers(0, 31, count).astype(dtype)
    return drawn.integers(-(2**31), 2**31, count).astype("int64").astype(dtype)


def print_cuda() -> None:
    """Print the CUDA C++ of all kernels by the real package, and the lines that it refuses."""
    import tvm

    target = tvm.target.Target({"kind": "cuda", "arch": "sm_90a"})
    functions, refused = {}, {}
    for number in range(len(LINES)):
        try:
            functions[f"k{number}"] = function(number).with_attr("global_symbol", f"k{number}")
        except Exception as error:
            refused[number] = str(error)
    for number, why in refused.items():
        print("REFUSED", " ".join(LINES[number]), why[:200].replace("\n", " "), file=sys.stderr)
    text = tvm.compile(tvm.IRModule(functions), target=target, tir_pipeline="tirx").mod.imports[0].inspect_source()
    print("CUDA" + text, flush=True)


def theirs(python: str) -> dict[str, np.ndarray]:
    """The tensors after each kernel of the real package, by line and name."""
    done = subprocess.run([python, "-W", "ignore", __file__, "--cuda"], capture_output=True, text=True, timeout=1200)
    print(done.stderr[-20000:], file=sys.stderr)
    text = done.stdout.partition("CUDA")[2]
    sys.path[:0] = [str(HERE.parents[2]), str(HERE)]
    from upstream import compiled

    from dsl import emulator

    program = emulator.load(compiled(text, "nvcc"))
    found = {}
    for number in range(len(LINES)):
        head = re.search(rf"\bk{number}_kernel\(([^)]*)\) {{", text)
        if head is None:
            continue
        given, memory = arguments(number), emulator.Memory()
        for label, array in given.items():
            memory.register(array.ctypes.data, array.nbytes, label)
        order = [re.split(r"[ *]", part)[-1].removesuffix("_ptr") for part in head[1].split(",")]
        packed = [struct.pack("<Q", given[label].ctypes.data) for label in order]
        emulator.launch(program, f"k{number}_kernel", (1, 1, 1), (THREADS, 1, 1), packed, memory, 0)
        found |= {f"{number}.{name}": array for name, array in given.items() if name.startswith("Y")}
    return found


if __name__ == "__main__":
    if sys.argv[1:] == ["--cuda"]:
        print_cuda()
    else:
        np.savez_compressed(RECORD, **theirs(sys.argv[1]))
