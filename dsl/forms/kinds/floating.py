"""Forms of floating-point arithmetic and comparison. PTX ISA 9.7.3, 9.7.4, 9.7.6."""

from __future__ import annotations

import itertools
from collections.abc import Iterator

import numpy as np

from dsl.emulator.families.arithmetic.leeway import APPROXIMATE
from dsl.emulator.families.conversion.rows import COMPARE, COMPARE_FLOAT
from dsl.emulator.ir.rows import ROUND
from dsl.forms.form import Form
from dsl.forms.kinds.integer import of_types, simple
from dsl.forms.operands import WORD, operands, width

ROUNDINGS = tuple(ROUND.split("/"))
_TURN = 0x40C90FDA  # the largest f32 not above 2 pi: sin and cos have their bound up to it
_INT_COMPARISONS = tuple(COMPARE.split("/"))
_UNSIGNED = ("lo", "ls", "hi", "hs")
_FLOAT_COMPARISONS = tuple(COMPARE_FLOAT.split("/"))


def options(*groups: tuple[str, ...]) -> Iterator[str]:
    """Every choice of one word a group, joined as PTX joins them; an empty word is none."""
    for words in itertools.product(*groups):
        yield "".join(f".{word}" for word in words if word)


def arithmetic() -> Iterator[Form]:
    """9.7.3.3 to 9.7.3.6, 9.7.4, 9.7.5."""
    for opcode, count in (("add", 2), ("sub", 2), ("mul", 2), ("fma", 3)):
        for each in options(ROUNDINGS, ("", "ftz"), ("", "sat")):
            yield simple(f"{opcode}{each}.f32", "f32 " * count, "f32")
        for each in ROUNDINGS:
            yield simple(f"{opcode}.{each}.f64", "f64 " * count, "f64")
        for kind in ("f16", "f16x2"):
            for each in options(("", "ftz"), ("", "sat")):
                yield simple(f"{opcode}.rn{each}.{kind}", f"{kind} " * count, kind)
        for kind in ("bf16", "bf16x2"):
            yield simple(f"{opcode}.rn.{kind}", f"{kind} " * count, kind)
    for each in options(ROUNDINGS, ("", "ftz"), ("", "sat")):
        yield simple(f"mad{each}.f32", "f32 f32 f32", "f32")
    for each in ROUNDINGS:
        yield simple(f"mad.{each}.f64", "f64 f64 f64", "f64")
    for each in options(("", "ftz")):
        for kind in ("f16", "f16x2"):
            yield simple(f"fma.rn{each}.relu.{kind}", f"{kind} {kind} {kind}", kind)
    for kind in ("bf16", "bf16x2"):
        yield simple(f"fma.rn.relu.{kind}", f"{kind} {kind} {kind}", kind)
    for kind, each in itertools.product(("f16", "f16x2", "bf16", "bf16x2"), options(("", "relu"))):
        yield simple(f"fma.rn.oob{each}.{kind}", f"{kind} {kind} {kind}", kind)
    for opcode, count in (("add", 2), ("sub", 2), ("mul", 2), ("fma", 3)):
        for each in options(ROUNDINGS, ("", "ftz")):
            yield _pair(f"{opcode}{each}.f32x2", count)
    for opcode, count in (("add", 1), ("sub", 1), ("fma", 2)):
        for each in options(ROUNDINGS, ("", "sat")):
            for kind in ("f16", "bf16"):
                yield simple(f"{opcode}{each}.f32.{kind}", f"{kind} " * count + "f32", "f32")


def _pair(name: str, count: int) -> Form:
    low = operands("f32", count)
    arrays = tuple(each.astype(np.uint64) | np.roll(each, 77).astype(np.uint64) << np.uint64(32) for each in low)
    text = f"{name} %d0, {', '.join(f'%a{index}' for index in range(count))};"
    return Form(name, text, arrays, ("u8",))


def quotients() -> Iterator[Form]:
    """9.7.3.8, 9.7.3.13, 9.7.3.15: the quotients and roots that round as IEEE 754 requires."""
    for each in options(ROUNDINGS, ("", "ftz")):
        yield simple(f"div{each}.f32", "f32 f32", "f32")
        yield simple(f"rcp{each}.f32", "f32", "f32")
        yield simple(f"sqrt{each}.f32", "f32", "f32")
    for each in ROUNDINGS:
        yield simple(f"div.{each}.f64", "f64 f64", "f64")
        yield simple(f"rcp.{each}.f64", "f64", "f64")
        yield simple(f"sqrt.{each}.f64", "f64", "f64")


def signs() -> Iterator[Form]:
    """9.7.3.1, 9.7.3.2, 9.7.3.9 to 9.7.3.12, 9.7.4.5 to 9.7.4.8."""
    for kind in ("f32", "f64"):
        yield simple(f"copysign.{kind}", f"{kind} {kind}", kind)
        for what in ("finite", "infinite", "number", "notanumber", "normal", "subnormal"):
            text = f"testp.{what}.{kind} %p, %a0;\nselp.u32 %d0, 1, 0, %p;"
            yield Form(f"testp.{what}.{kind}", text, operands(kind, 1), ("u4",))
        for opcode in ("abs", "neg"):
            yield simple(f"{opcode}.{kind}", kind, kind)
        for opcode in ("min", "max"):
            yield simple(f"{opcode}.{kind}", f"{kind} {kind}", kind)
    for opcode in ("abs", "neg"):
        yield simple(f"{opcode}.ftz.f32", "f32", "f32")
        for kind in ("f16", "f16x2"):
            for each in options(("", "ftz")):
                yield simple(f"{opcode}{each}.{kind}", kind, kind)
        for kind in ("bf16", "bf16x2"):
            yield simple(f"{opcode}.{kind}", kind, kind)
    for opcode in ("min", "max"):
        for each in options(("", "ftz"), ("", "NaN"), ("", "xorsign.abs")):
            if each != "":
                yield simple(f"{opcode}{each}.f32", "f32 f32", "f32", "80" * (each == ".ftz"))
            for kind in ("f16", "f16x2"):
                yield simple(f"{opcode}{each}.{kind}", f"{kind} {kind}", kind)
            for kind in ("bf16", "bf16x2"):
                if "ftz" not in each:
                    yield simple(f"{opcode}{each}.{kind}", f"{kind} {kind}", kind)
        for each in options(("", "ftz"), ("", "NaN"), ("", "abs")):
            name = f"{opcode}{each}.f32"
            text = f"{name} %d0, %a0, %a1, %a2;"
            yield Form(f"{name}.of_three", text, operands("f32", 3), ("u4",), least="100:8.8")


def approximations() -> Iterator[Form]:
    """Forms whose error the ISA bounds. 9.7.3.8 to 9.7.3.22, 9.7.4.9, 9.7.4.10."""
    for each in options(("approx", "full"), ("", "ftz")):
        yield _approximate(f"div{each}.f32", "div", "f32", 2)
    for opcode, kind, ftz in (
        ("rcp", "f32", "both"), ("sqrt", "f32", "both"), ("rsqrt", "f32", "both"), ("rcp", "f64", "ftz"),
        ("rsqrt", "f64", "both"), ("sin", "f32", "both"), ("cos", "f32", "both"), ("lg2", "f32", "both"),
        ("ex2", "f32", "both"), ("tanh", "f32", "none"),
    ):  # fmt: skip
        words = {"both": ("", "ftz"), "ftz": ("ftz",), "none": ("",)}[ftz]
        for each in options(("approx",), words):
            yield _approximate(f"{opcode}{each}.{kind}", opcode, kind, 1)
    for opcode, kind in itertools.product(("ex2", "tanh"), ("f16", "bf16")):
        ftz = ".ftz" if (opcode, kind) == ("ex2", "bf16") else ""
        for suffix in ("", "x2"):
            yield _approximate(f"{opcode}.approx{ftz}.{kind}{suffix}", opcode, kind, 1)


def _approximate(name: str, opcode: str, kind: str, count: int) -> Form:
    leeway = APPROXIMATE[opcode, kind]
    rule: dict = {"dtype": kind, "bound": leeway.bound}
    if leeway.relative is None and leeway.absolute is None:
        rule["open"] = True
    rule |= {word: bound for word in ("relative", "absolute") if (bound := getattr(leeway, word)) is not None}
    if opcode == "lg2":
        rule["relative"] = rule["absolute"]
    whole = name.rpartition(".")[2]
    arrays = operands(whole, count)
    if opcode in ("sin", "cos"):
        size = arrays[0] & np.uint32(0x7FFFFFFF)
        is_open = (size > _TURN) & (size < 0x7F800000)
        arrays = (np.where(is_open, arrays[0] & np.uint32(0xBFFFFFFF), arrays[0]),)
    text = f"{name} %d0, {', '.join(f'%a{index}' for index in range(count))};"
    return Form(name, text, arrays, (WORD[width(whole)],), rule=rule)


def comparisons() -> Iterator[Form]:
    """9.7.6: the second predicate and a combination with a third are in the forms of f32 and s32."""
    for kind in ("b16", "b32", "b64", "u16", "u32", "u64", "s16", "s32", "s64"):
        words = {"b": ("eq", "ne"), "u": (*_INT_COMPARISONS, *_UNSIGNED), "s": _INT_COMPARISONS}[kind[0]]
        for word in words:
            yield _setp(f"setp.{word}.{kind}", kind)
    for kind, ftz in (("f32", ("", "ftz")), ("f64", ("",)), ("f16", ("", "ftz")), ("bf16", ("",))):
        for word, each in itertools.product(_FLOAT_COMPARISONS, ftz):
            yield _setp(f"setp.{word}{'.' + each if each else ''}.{kind}", kind)
    for word, combine in itertools.product(("lt", "ne"), ("and", "or", "xor")):
        for kind in ("s32", "f32"):
            yield _combined(word, combine, kind)
    for word, kind in itertools.product(("lt", "equ", "nan"), ("f16x2", "bf16x2")):
        yield _setp(f"setp.{word}.{kind}", kind)


def sets() -> Iterator[Form]:
    """9.7.6.1, 9.7.7.1: a comparison as ones, or as 1.0."""
    for word, result in itertools.product(_FLOAT_COMPARISONS, ("u32", "s32", "f32")):
        yield simple(f"set.{word}.{result}.f32", "f32 f32", result)
        yield simple(f"set.{word}.{result}.f64", "f64 f64", result)
        yield simple(f"set.{word}.ftz.{result}.f32", "f32 f32", result)
    for word, result in itertools.product(("lt", "ne", "geu"), ("u16", "s16", "u32", "s32")):
        yield simple(f"set.{word}.{result}.f16", "f16 f16", result)
        yield simple(f"set.{word}.ftz.{result}.f16", "f16 f16", result)
        yield simple(f"set.{word}.{result}.bf16", "bf16 bf16", result)
    for word, kind in itertools.product(_FLOAT_COMPARISONS, ("f16x2", "bf16x2")):
        for result in ("u32", "s32", kind):
            yield simple(f"set.{word}.{result}.{kind}", f"{kind} {kind}", result)
        if kind == "f16x2":
            yield simple(f"set.{word}.ftz.{kind}.{kind}", f"{kind} {kind}", kind)
    for word, result in itertools.product((*_INT_COMPARISONS, *_UNSIGNED), ("u32", "s32", "f32")):
        for kind in ("u16", "s16", "u32", "s32", "u64", "s64"):
            if kind[0] == "u" or word in _INT_COMPARISONS:
                yield simple(f"set.{word}.{result}.{kind}", f"{kind} {kind}", result)
    for word, kind in itertools.product(("eq", "ne"), ("b16", "b32", "b64")):
        yield simple(f"set.{word}.u32.{kind}", f"{kind} {kind}", "u32")
    for combine, kind in itertools.product(("and", "or", "xor"), ("s32", "f32")):
        name = f"set.lt.{combine}.u32.{kind}"
        text = f"and.b32 %t, %a2, 1;\nsetp.ne.u32 %q, %t, 0;\n{name} %d0, %a0, %a1, %q;"
        yield Form(name, text, of_types([kind, kind, "b32"]), ("u4",))


def _setp(name: str, kind: str) -> Form:
    text = f"{name} %p|%q, %a0, %a1;\nselp.u32 %d0, 1, 0, %p;\nselp.u32 %t, 2, 0, %q;\nor.b32 %d0, %d0, %t;"
    if kind in ("f16", "bf16"):
        text = f"{name} %p, %a0, %a1;\nselp.u32 %d0, 1, 0, %p;"
    return Form(name, text, operands(kind, 2), ("u4",))


def _combined(word: str, combine: str, kind: str) -> Form:
    name = f"setp.{word}.{combine}.{kind}"
    text = (
        f"and.b32 %t, %a2, 1;\nsetp.ne.u32 %q, %t, 0;\n{name} %p, %a0, %a1, %q;\n"
        f"selp.u32 %d0, 1, 0, %p;\n{name} %p, %a0, %a1, !%q;\nselp.u32 %t, 2, 0, %p;\nor.b32 %d0, %d0, %t;"
    )
    return Form(name, text, of_types([kind, kind, "b32"]), ("u4",))


def forms() -> Iterator[Form]:
    yield from arithmetic()
    yield from quotients()
    yield from signs()
    yield from approximations()
    yield from comparisons()
    yield from sets()
