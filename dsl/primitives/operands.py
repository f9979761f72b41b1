"""The operands of instructions: addresses, words, and PTX text with numbered operands."""

from __future__ import annotations

import enum
from typing import Any

from dsl.core.errors import DSLUserCodeError, DSLUserCodeTypeError, DSLUserCodeValueError
from dsl.core.ir import mlir
from dsl.core.number.dtypes import Boolean, Int32, Int64, Numeric, is_dynamic, numeric
from dsl.core.number.operators import type_name
from dsl.core.number.pointer import AddressSpace
from dsl.core.phrase import shown
from dsl.gpu.inline import CONSTRAINTS, ptx
from dsl.primitives.pointer import RawPointer, raw

SPACES = {
    AddressSpace.generic: "",
    AddressSpace.gmem: ".global",
    AddressSpace.smem: ".shared::cta",
    AddressSpace.dsmem: ".shared::cluster",
}


def pointer(address: Any, *spaces: AddressSpace) -> RawPointer:
    """The pointer of an Array or pointer in one of `spaces`. Raises DSLUserCodeTypeError for another."""
    found = raw(address)
    if spaces and found.space not in spaces:
        raise DSLUserCodeTypeError(
            f"the address must be in {' or '.join(map(str, spaces))}, got {found.space}",
            fix="`cutlass.Array(..., space=cutlass.AddressSpace.smem)` is in smem, an argument in gmem",
        )
    return found


def shared(address: Any) -> Numeric:
    """The 32-bit address of shared memory, of this block or another of the cluster."""
    return pointer(address, AddressSpace.smem, AddressSpace.dsmem).toint()


def space_of(address: Any) -> str:
    """The state space of an address as PTX writes it."""
    return SPACES[pointer(address, *SPACES).space]


def is_remote(address: Any) -> bool:
    """Whether an address is of another block's shared memory."""
    return raw(address).space is AddressSpace.dsmem


def word(value: Any, known: Any, what: str) -> str:
    """A word of the enumeration `known`, given as its member or as text."""
    text = value.value if isinstance(value, enum.Enum) else value
    values = [each.value for each in known]
    if text not in values:
        raise DSLUserCodeValueError(
            f"{what} must be one of {', '.join(map(str, values))}, got {shown(value)}",
            fix=f"prims.{known.__name__}.{list(known)[0].name}",
        )
    return text


def mask(value: Any) -> Int32:
    """The lanes of a warp, a bit each. Raises DSLUserCodeValueError for more than 32 bits."""
    number = numeric(value)
    if number is not None and not is_dynamic(number) and not 0 <= number.value < 1 << 32:
        raise DSLUserCodeValueError(f"mask must be 0-0xFFFFFFFF, got {number.value:#x}", fix="0xFFFFFFFF has all lanes")
    return Int32(value)


def between(amount: Any, least: int, most: int, what: str) -> None:
    """Raise DSLUserCodeValueError for a static number out of bounds."""
    number = numeric(amount)
    if number is not None and not is_dynamic(number) and not least <= number.value <= most:
        raise DSLUserCodeValueError(f"{what} must be {least}-{most}, got {number.value}", fix=f"give {least} to {most}")


def static(value: Any, what: str) -> int:
    """An integer that is part of the instruction."""
    number = numeric(value)
    if number is None or is_dynamic(number) or not number.is_integer:
        raise DSLUserCodeTypeError(
            f"{what} must be an integer known while compiling, got {type_name(value)}",
            fix="pass it as cutlass.Constexpr",
            id="PHASE_REQUIRES_CONSTANT",
        )
    return int(number.value)


def run(text: str, result: Any, *operands: Any) -> Any:
    """An instruction whose `$0` is its result, if it has one, and whose next numbers are `operands`.

    Operands are numbers; a result is a numeric type. A Boolean result comes through a predicate `%dsl_p`.
    """
    values = [each if isinstance(each, mlir.Value) else each.ir() for each in operands]
    letters = [CONSTRAINTS[each.type] for each in values]
    if result is Boolean:
        text = f"{{ .reg .pred %dsl_p; {text} selp.b32 $0, 1, 0, %dsl_p; }}"
        return Boolean(ptx(text, Int32, ",".join(["=r", *letters]), *values))
    if result is None:
        return ptx(text, None, ",".join(letters), *values)
    return ptx(text, result, ",".join([f"={CONSTRAINTS[result.carrier]}", *letters]), *values)


def hint(policy: Any, place: int) -> tuple[str, str, list]:
    """The modifier, the text and the operand of an L2 cache policy, where there is one."""
    if policy is None:
        return "", "", []
    return ".L2::cache_hint", f", ${place}", [Int64(policy)]


def refuse(name: str, why: str = "") -> DSLUserCodeError:
    """The error of an instruction, or of a choice in it, that is not here."""
    return DSLUserCodeError(
        f"{name} is not part of this compiler yet{why}",
        id="UNSUPPORTED_NAME",
        fix="see docs/primitives.md for what is, or run the file with NVIDIA's compiler",
    )


def needs_blackwell(name: str) -> DSLUserCodeError:
    """The error of what no Hopper GPU has."""
    return DSLUserCodeError(
        f"{name} needs compute capability 10, and this compiler's newest is 9.0",
        id="UNSUP_ARCH",
        fix="run the file with NVIDIA's compiler on a Blackwell GPU",
    )
