"""tex, tld4, suld, sust: the coordinates go to C++, which reads or writes texels. PTX ISA 9.7.11, 9.7.12."""

from __future__ import annotations

from dsl.emulator.families.texture.numbers import texture
from dsl.emulator.ptx.syntax import TYPE_BITS, Addr, PtxError, Reg, Vec

_DIMENSIONS = {"1d": 1, "2d": 2, "3d": 3, "a1d": 1, "a2d": 2, "cube": 3, "acube": 3}
_OUTSIDE = {"trap": texture.TRAPS, "clamp": texture.CLAMPS, "zero": texture.ZEROS}


def read(body, instr):
    """tex d, [object, coordinates]; a level of a mipmap, and the slopes that choose one, change nothing here."""
    _read(body, instr, texture.INTEGERS if instr.mods[-1] == "s32" else 0)


def gather(body, instr):
    """tld4: a component of each of the four texels that a linear filter would use."""
    component = next("rgba".index(each) for each in instr.mods if each in ("r", "g", "b", "a"))
    _read(body, instr, texture.GATHER | component << texture.COMPONENT_SHIFT)


def _read(body, instr, how: int) -> None:
    place = _place(instr, instr.operands[1])
    form, places = _form(body, instr, place)
    out = body.alloca("[4 x i32]", 16)
    _call(body, instr, "emu_texture", place, form | how, places, out)
    for number, register in enumerate(instr.operands[0].items):
        if isinstance(register, Reg):
            body.write(register, body.get(_element(body, out, number), "i32"), 32)


def load(body, instr):
    """suld.b d, [object, coordinates]."""
    place = _place(instr, instr.operands[1])
    bits, registers = _registers(instr, instr.operands[0])
    data = body.alloca("[16 x i8]", 16)
    form, places = _form(body, instr, place)
    _call(body, instr, "emu_surface", place, form | _surface(instr, bits * len(registers)), places, data)
    for number, register in enumerate(registers):
        if isinstance(register, Reg):
            value = body.get(_bytes(body, data, number * bits // 8), f"i{bits}")
            body.write(register, body.resize(value, bits, register.bits), register.bits)


def store(body, instr):
    """sust.b [object, coordinates], a."""
    place = _place(instr, instr.operands[0])
    bits, values = _registers(instr, instr.operands[1])
    data = body.alloca("[16 x i8]", 16)
    for number, value in enumerate(values):
        wide = value.bits if isinstance(value, Reg) else bits
        element = body.resize(body.read(value, wide), wide, bits)
        body.do(f"store i{bits} {element}, ptr {_bytes(body, data, number * bits // 8)}")
    form, places = _form(body, instr, place)
    form |= texture.STORES | _surface(instr, bits * len(values))
    _call(body, instr, "emu_surface", place, form, places, data)


def _place(instr, operand) -> Addr:
    if not isinstance(operand, Addr) or operand.coords is None:
        raise PtxError(f"`{instr.opcode}` takes an object and coordinates: [object, {{x, y}}]", instr.line)
    return operand


def _registers(instr, operand) -> tuple[int, tuple]:
    """The bits of an element, and the elements."""
    bits = TYPE_BITS[next(each for each in instr.mods if each in TYPE_BITS)]
    return bits, operand.items if isinstance(operand, Vec) else (operand,)


def _surface(instr, bits: int) -> int:
    """The bits by which C++ knows how to access a surface."""
    outside = next(number for name, number in _OUTSIDE.items() if name in instr.mods)
    return outside << texture.OUTSIDE_SHIFT | (bits // 8).bit_length() - 1 << texture.LOG2_BYTES_SHIFT


def _form(body, instr, place: Addr) -> tuple[int, str]:
    """The geometry as C++ gets it, and the coordinates in memory."""
    geometry = next(each for each in instr.mods if each in _DIMENSIONS)
    has_layers, is_cube = geometry.startswith("a"), geometry.endswith("cube")
    count = _DIMENSIONS[geometry] + has_layers
    given = place.coords.items if isinstance(place.coords, Vec) else (place.coords,)
    if len(given) < count:
        raise PtxError(f"`{instr.name}` takes {count} coordinates, got {len(given)}", instr.line)
    places = body.alloca("[4 x i32]", 16)
    for number in range(4):
        value = body.read(given[number], 32) if number < count else "0"
        body.do(f"store i32 {value}, ptr {_element(body, places, number)}")
    dimensions = 2 if is_cube else _DIMENSIONS[geometry]
    return dimensions | has_layers * texture.LAYERS | is_cube * texture.CUBE, places


def _call(body, instr, function: str, place: Addr, how: int, places: str, data: str) -> None:
    where = f"i32 {body.site(instr)}, i32 {body.threads['linear']}"
    handle = body.address(Addr(place.base, place.offset))
    body.stop_unless(
        body.op(f"call i32 @{function}(ptr %ctx, i64 {handle}, i32 {how}, ptr {places}, ptr {data}, {where})")
    )


def _element(body, words: str, number: int) -> str:
    return _bytes(body, words, 4 * number)


def _bytes(body, data: str, offset: int) -> str:
    return body.op(f"getelementptr i8, ptr {data}, i64 {offset}")
