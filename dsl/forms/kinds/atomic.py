"""Forms of atom and red, in global memory, shared memory and memory of a cluster. PTX ISA 9.7.13.5, 9.7.13.6.

A thread has its own word, so that no order shows in what atom returns; or the threads of a block share eight
words, and the operation is one whose outcome does not depend on their order.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from dsl.forms.form import BLOCK, Form, element
from dsl.forms.kinds.integer import of_types
from dsl.forms.kinds.warp import ROW, TILE
from dsl.forms.operands import COUNT, WORD, operands, width

_ARITHMETIC = (
    ("add", "u32 s32 u64 f32 f64 f16 f16x2 bf16 bf16x2"), ("min", "u32 s32 u64 s64"), ("max", "u32 s32 u64 s64"),
    ("and", "b32 b64"), ("or", "b32 b64"), ("xor", "b32 b64"), ("inc", "u32"), ("dec", "u32"),
)  # fmt: skip
_ATOM = (*_ARITHMETIC, ("exch", "b32 b64"), ("cas", "b16 b32 b64"))
_COMMUTES = (("add", "u32 u64"), ("min", "s32 u64"), ("max", "u32 s64"), ("and", "b32"), ("or", "b64"), ("xor", "b32"))
_ORDERS = [
    f"{word}.{scope}" for word in ("relaxed", "acquire", "release", "acq_rel") for scope in ("cta", "gpu", "sys")
]
_SPACES = {"shared": (ROW, "%t", TILE), "global": (element("d1", 8), "%base", "")}


def atoms() -> Iterator[Form]:
    """atom: what was there, and what is there afterwards."""
    for space in _SPACES:
        for opcode, kinds in _ATOM:
            for kind in kinds.split():
                yield _atom(space, opcode, kind)
    for order in _ORDERS:
        yield _atom("global", "add", "u32", f".{order}")
    yield _atom("global", "add", "u32", ".relaxed.cluster")
    yield _atom("shared::cta", "add", "u32", least="90")
    yield _atom("", "max", "s32")
    for opcode in ("exch", "cas"):
        yield _wide(opcode)


def _named(opcode: str, order: str, space: str, operation: str, kind: str) -> str:
    half = ".noftz" * (kind in ("f16", "f16x2", "bf16", "bf16x2"))
    return f"{opcode}{order}{f'.{space}' if space else ''}.{operation}{half}.{kind}"


def _arrays(operation: str, kind: str) -> list[np.ndarray]:
    arrays = [each[:COUNT] for each in of_types([kind] * (3 if operation == "cas" else 2))]
    if operation == "cas":
        arrays[1] = np.where(np.arange(len(arrays[0])) % 2 == 0, arrays[0], arrays[1])
    return arrays


def _atom(space: str, operation: str, kind: str, order: str = "", least: str = "") -> Form:
    name = _named("atom", order, space, operation, kind)
    size, arrays = width(kind), _arrays(operation, kind)
    text, place, declarations = _SPACES["shared" if space.startswith("shared") else "global"]
    plain = "shared" if declarations else "global"
    operand_list = ", ".join(f"%a{index}" for index in range(1, len(arrays)))
    text = (
        f"{text}\nst.{plain}.b{size} [{place}], %a0;\n{name} %d0, [{place}], {operand_list};\n"
        f"ld.{plain}.b{size} %d1, [{place}];"
    )
    if plain == "global":  # 8 bytes a thread of an array that the kernel stores itself
        text = text.replace("p_d1", "p_d2")
        results = (WORD[size], WORD[size], "u8")
        return _scratch(name, text, arrays, results)
    return Form(name, text, tuple(arrays), (WORD[size],) * 2, declarations=declarations, least=least)


def _scratch(name: str, text: str, arrays: list[np.ndarray], results: tuple) -> Form:
    """The words are in the array of the last result, whose register gets what is left there."""
    size = np.dtype(results[-1]).itemsize
    return Form(name, f"{text}\nld.global.b{8 * size} %d{len(results) - 1}, [%base];", tuple(arrays), results)


def _wide(opcode: str) -> Form:
    arrays = list(operands("u64", 4))
    if opcode == "cas":
        arrays[2] = np.where(np.arange(COUNT) % 2 == 0, arrays[0], arrays[2])
    compared = "%y, %y" if opcode == "cas" else "%y"
    text = (
        f"mov.b128 %x, {{%a0, %a1}};\nmov.b128 %y, {{%a2, %a3}};\n{element('d2', 16)}\nst.global.b128 [%base], %x;\n"
        f"atom.global.{opcode}.b128 %z, [%base], {compared};\nmov.b128 {{%d0, %d1}}, %z;"
    )
    return Form(f"atom.global.{opcode}.b128", text, tuple(arrays), ("u8", "u8", "V16"),
                declarations=".reg .b128 %x, %y, %z;", least=":8.4")  # fmt: skip


def reductions() -> Iterator[Form]:
    """red: what is left; each thread's own word, then words that a block shares."""
    for space, (place_text, place, declarations) in _SPACES.items():
        for opcode, kinds in _ARITHMETIC:
            for kind in kinds.split():
                name, size = _named("red", "", space, opcode, kind), width(kind)
                text = f"{place_text.replace('p_d1', 'p_d0').replace(', 8;', f', {size // 8};')}\n"
                text += (
                    f"st.{space}.b{size} [{place}], %a0;\n{name} [{place}], %a1;\nld.{space}.b{size} %d0, [{place}];"
                )
                yield Form(name, text, tuple(_arrays(opcode, kind)), (WORD[size],),
                           declarations=declarations)  # fmt: skip
    for order in (f"{word}.{scope}" for word in ("relaxed", "release") for scope in ("cta", "gpu", "sys")):
        name = f"red.{order}.global.add.u32"
        text = f"{element('d0', 4)}\nst.global.b32 [%base], %a0;\n{name} [%base], %a1;\nld.global.b32 %d0, [%base];"
        yield Form(name, text, operands("u32", 2), ("u4",))
    for opcode, kinds in _COMMUTES:
        for kind in kinds.split():
            for space in _SPACES:
                yield _shared_words(space, opcode, kind)


def _shared_words(space: str, opcode: str, kind: str) -> Form:
    """The threads of a block reduce into eight words, of which each reads one when all are done."""
    name, size = f"red.{space}.{opcode}.{kind}", width(kind)
    bits, step = f"b{size}", size // 8
    if space == "shared":
        begin = f"and.b32 %t, %w, 7;\nmul.lo.u32 %t, %t, {step};\nmov.u32 %u, tile;\nadd.u32 %t, %t, %u;"
        place = "%t"
    else:
        begin = (
            f"ld.param.u64 %base, [p_d1];\nand.b32 %t, %i, {~(BLOCK - 1) & 0xFFFFFFFF};\nand.b32 %u, %w, 7;\n"
            f"add.u32 %t, %t, %u;\nmul.wide.u32 %off, %t, {step};\nadd.u64 %base, %base, %off;"
        )
        place = "%base"
    start = "-1" if opcode in ("min", "and") else "0"
    text = (
        f"{begin}\nmov.{bits} {'%v' if size == 64 else '%u'}, {start};\nst.{space}.{bits} [{place}], "
        f"{'%v' if size == 64 else '%u'};\nbar.sync 0;\n{name} [{place}], %a0;\nbar.sync 0;\n"
        f"ld.{space}.{bits} %d0, [{place}];"
    )
    results: tuple[str, ...] = (WORD[size],)
    if space == "global":
        text += f"\nbar.sync 0;\nmov.{bits} %d1, 0;"  # the words are in this array, each thread clears its own
        results *= 2
    values = operands(kind, 3)
    if opcode == "and":  # sixteen random values have no bit in common
        values = (values[0] | values[1] | values[2],)
    return Form(f"{name}.shared_by_threads", text, values[:1], results, threads=BLOCK,
                declarations=TILE if space == "shared" else "")  # fmt: skip


def forms() -> Iterator[Form]:
    yield from atoms()
    yield from reductions()
