"""The output of printf under NVIDIA's compiler, on the host and in a kernel: printf_table.json, which this file writes.

    python tests/gpu/printf_table.py record          needs nvidia-cutlass-dsl 4.8.1 and the emulator; some minutes

Every case is the body of a host function (or of a kernel, whose PTX the emulator runs) in a separate process. A row
is [case, what it prints on the host, what in a kernel], null where NVIDIA's compiler rejects it or dies of it.
"""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
import tempfile
from pathlib import Path

TABLE = Path(__file__).with_suffix(".json")
PARAMETERS = {
    "x": "cute.Tensor",
    "f": "cute.Tensor",
    "i8": "Int8",
    "u8": "Uint8",
    "i16": "Int16",
    "u16": "Uint16",
    "i": "Int32",
    "u": "Uint32",
    "l": "Int64",
    "ul": "Uint64",
    "f16": "Float16",
    "bf": "BFloat16",
    "f32": "Float32",
    "f64": "Float64",
    "b": "Boolean",
}
HEAD = """\
import ctypes, sys
import cutlass, cutlass.cute as cute, numpy as np
from cutlass import *
from cutlass.cute.runtime import from_dlpack

ARGUMENTS = (from_dlpack(np.arange(6, dtype=np.int32).reshape(2, 3)), from_dlpack(np.arange(4, dtype=np.float32) - 1.5),
             Int8(-5), Uint8(250), Int16(-300), Uint16(65000), Int32(-7), Uint32(4000000000), Int64(-(1 << 40)),
             Uint64((1 << 63) + 5), Float16(1.5), BFloat16(-2.5), Float32(3.14159), Float64(-2.718281828), \
Boolean(True))
"""
C = """%d i|%i i|%u i|%x i|%X u|%o u|%c i + 72|%f f32|%g f32|%e f32|%E f32|%G f64|%a f64|%10d| i|%-10d| i|% d -i
%010d i|%.5d i|%8.3d| i|%#x u|%#o u|%10.2f| f32|%-10.2f| f32|%+.3f f32|%010.2f f32|%.0f f32|%#.0f f32|%.15g f64
%12.4e| f64|%ld l|%lld l|%lu ul|%llu ul|%llx ul|%lx l|%hd i|%hhd i|%hu u|%hhu u|%zu ul|%td l|%jd l|%d l|%d i8|%d u8
%u i8|%d i16|%d u16|%u u16|%x i8|%X i16|%o i8|%x u8|%d u|%u u|%d ul|%d b|%i b|%u b|%f f16|%f bf|%f f64|%e f16|%d 5
%d True|%f 1.5|%+d i|%.9f 0.1|%.9f Float32(0.1)|%.9f Float64(0.1)|%.9f Float16(0.1)"""
BRACED = """i u l ul i8 u8 i16 u16 f16 bf f32 f64 b;i == 5;i < 5;i / 2;i // 2;f32 * 2;f16 + f16;5;True;False;None;1.5
-0.0;1e-10
float("inf");float("nan");(1, 2);(i,);();(i, (2, i));x[0, 1];x[None, 1];x;x.layout;x.shape;x.stride;x.iterator
cute.make_layout((2, i));cute.make_composed_layout(cute.make_swizzle(2, 3, 3), 0, cute.make_layout((8, 8)))
cute.E(1);x.load()[1];Int32(5);Float32(5);Boolean(True);cute.size(x)
Float16(0.1);BFloat16(0.1);Float32(0.1);16777217.0;1e39"""
F = """{i}|{i:d}|{i:5d}.|{f32:.2f}|{f32:10.3f} {f32:e}|{i!r}|{i!s}|{i=}|{u:x}|{i + 1} {i * 2}|{x}|{x.layout}
{x.shape} {5} {'text'}|{(i, 2)}|{i} {{{i}}}|{None}|{True} {b}|no places||{i}{f32}{b}{l}{u}|{1.5} {f16} {f64}|{i:+d}.
{i: d}.|{i + 80:c}|{b:d}|{i:05d}|{f32:+.1f}|{ul:x}|{i:u}|{i:i}|{5:5d}|{2.5:8.3f}.{'a':>4}.|{l:lld}
{Int32(5)} {Float32(2.5)} {Boolean(True)}|{Int32(5):4d}|{i8:d} {u8:d} {i16:x} {u16:o}|{i8} {u8} {i16} {u16}
{f16:.1f} {bf:.1f} {f64:.1f}|{i < 3} {i == 5}|{cute.make_layout((2, i))}|{x[None, 0]}|{x[0, 1]} {x[1, 1]:3d}
{(1, 2)} {(1, (2, 3))}|a%%b {i}|a%%b|{i:.3d}|{f32:F} {f32:E} {f32:G}|{f32:10.0f} {f32:#.0f}|{f32:-8.2f}.|{i:-8d}.
{u:X} {u:o}|{i!r:5d}.|{f32=:.1f}|{l!a}|{'x' * 3} {len('abc')}|{[1, 2]}|{dict(a=1)}|{x.load()[0]}|{Float16(0.1)}
{Float32(0.1):.9f} {0.1:.9f}"""
OTHERS = """%d {} i, i;{} %f %x i, f32, u;{{}} i;{{{}}} i;{{ {} }} i;{ {} } i;a\\tb\\\\n\\"q\\" ;\
größe 漢 {} i;%%;100%;%d%% i;{}\\n i;"""
STATEMENTS = (
    "cute.printf(i)",
    "cute.printf(i, f32)",
    "cute.printf(x)",
    "cute.printf(x.layout, i)",
    'cute.printf("{}", i, end="")',
    'cute.printf("{}", i, end="|")',
    'cute.printf(f"{i}", end="|")',
    'cute.printf("%*d|", 6, i)',
    'cute.printf("%-*d|", 6, i)',
    'cute.printf("%.*f", 2, f32)',
    'cute.printf("%*.*f|", 9, i + 10, f32)',
    'cute.printf("{} "*40, *([i]*40))',
    'cute.printf("x" * 2000)',
    'if i < 0: cute.printf("negative {}", i)',
    'for k in range(3): cute.printf("{} {}", k, k * 2)',
    'cute.printf("%d" % 5)',
    'cute.printf("{}".format(5))',
)


def cases() -> list[str]:
    """The statements, of which most are one call of printf."""
    made = []
    for part in re.split(r"(?<!\|)\|(?!\s)|\n", C):
        form, value = re.fullmatch(r"(%.*?[a-zA-Z%]\|?) (.*)", part).groups()
        made.append(f'cute.printf("{form}", {value})')
    words = [word for line in BRACED.splitlines() for word in line.split(";")]
    values = words[0].split() + words[1:]
    made += [f'cute.printf("{{}}", {value})' for value in values]
    made += [f'cute.printf(f"{text}")' for line in F.splitlines() for text in line.split("|")]
    for text in OTHERS.rstrip(";").split(";"):
        form, _, rest = text.rpartition(" ") if re.search(r" (i|i, i|i, f32, u)$", text) else (text, "", "")
        if rest and (match := re.search(r"(.*?) (i, i|i, f32, u|i)$", text)):
            form, rest = match.groups()
        made.append(f'cute.printf("{form.rstrip(" ")}"{", " * bool(rest)}{rest})')
    return list(dict.fromkeys([*made, *STATEMENTS]))


def program(statements: list[str], in_kernel: bool) -> str:
    """A program that runs the statements, each in a line after one of `=== its number`."""
    signature = ", ".join(f"{name}: {kind}" for name, kind in PARAMETERS.items())
    names = ", ".join(PARAMETERS)
    body = "".join(f'    cute.printf("=== {number}")\n    {statement}\n' for number, statement in enumerate(statements))
    if in_kernel:
        device = f"\n\n@cute.kernel\ndef kernel({signature}):\n{body}"
        body = f"    kernel({names}).launch(grid=1, block=1)\n"
    else:
        device = ""
    return (
        f"{HEAD}{device}\n\n@cute.jit\ndef host({signature}):\n{body}\n\nhost(*ARGUMENTS)\n"
        "sys.stdout.flush()\nctypes.CDLL(None).fflush(None)\n"
    )


def printed(text: str, options: tuple[str, ...] = ()) -> list[str] | None:
    """The output of each statement of a program, without the parts that differ from run to run; None if it failed."""
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "program.py"
        file.write_text(text)
        run = subprocess.run(
            [sys.executable, "-W", "ignore", *options, str(file)],
            capture_output=True,
            timeout=600,
            env={**os.environ, "CUTE_DSL_ARCH": "sm_90a", "PYTHONPATH": str(Path(__file__).parents[2])},
        )
    if run.returncode:
        return None
    parts = re.split(r"=== \d+\n", run.stdout.decode(errors="replace"))
    return [re.sub(r"0x[0-9a-f]{9,}", "0x…", part).replace(", gmem,", ", generic,") for part in parts[1:]]


def by_nvidia(statements: list[str], in_kernel: bool) -> list[str | None]:
    """The output of each statement under NVIDIA's compiler: tried together, and one by one if that fails."""
    options = ("-m", "dsl", "--device", "emulator", "--compiler", "nvidia") if in_kernel else ()
    found = printed(program(statements, in_kernel), options)
    if found is None and len(statements) > 1:
        return [one for statement in statements for one in by_nvidia([statement], in_kernel)]
    return found or [None]


def record() -> None:
    rows = []
    for first in range(0, len(cases()), 12):
        some = cases()[first : first + 12]
        rows += zip(some, by_nvidia(some, False), by_nvidia(some, True))
        print(len(rows), flush=True)
    TABLE.write_text("[\n" + ",\n".join(json.dumps(row, ensure_ascii=False) for row in rows) + "\n]\n")


if __name__ == "__main__" and sys.argv[1:] == ["record"]:
    record()
