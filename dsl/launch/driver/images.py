"""The PTX of a module that a program loads: unpacked, and several texts linked to one."""

from __future__ import annotations

import re

from dsl.launch.driver.messages import Reader

PLAIN, LZ4, ZSTD = range(3)
_FIRST_LINES = re.compile(r"^[ \t]*\.(version|target|address_size)\b[^\n]*\n?", re.M)

_SET_CONDITION = re.compile(
    r"\.extern\s+\.func\s+cudaGraphSetConditional\s*\(\s*\.param\s+\.b64\s+(\w+)\s*,\s*\.param\s+\.b32\s+(\w+)\s*\)\s*;"
)


class BadImage(Exception):
    """An image that is damaged."""


def ptx_of(reader: Reader) -> str:
    """The text of a module whose parts the message has. Raises BadImage."""
    (count,), texts = reader.take("I"), []
    for _ in range(count):
        packing, raw_bytes, nbytes = reader.take("IQQ")
        texts.append(_unpacked(packing, raw_bytes, reader.bytes(nbytes)))
    return _with_conditions(linked(texts))


def _with_conditions(text: str) -> str:
    """With the function by which kernels set the conditions of graphs: a handle is the address of a word."""
    parts = _SET_CONDITION.split(text, maxsplit=1) if "cudaGraphSetConditional" in text else []
    if len(parts) != 4:
        return text
    before, first, second, after = parts
    body = (
        f".func cudaGraphSetConditional(.param .b64 {first}, .param .b32 {second}) {{ .reg .b64 %handle; "
        f".reg .b32 %value; ld.param.b64 %handle, [{first}]; ld.param.b32 %value, [{second}]; "
        "st.global.b32 [%handle], %value; ret; }"
    )
    lines = text.count("\n") - before.count("\n") - after.count("\n")
    return before + body + "\n" * lines + after  # the lines keep their numbers


def _unpacked(packing: int, raw_bytes: int, data: bytes) -> str:
    if packing == LZ4:
        data = _lz4(raw_bytes, data)
    elif packing == ZSTD:
        data = _zstd(raw_bytes, data)
    return data.rstrip(b"\0").decode("utf-8", "replace")


def _lz4(raw_bytes: int, data: bytes) -> bytes:
    import lz4.block  # noqa: PLC0415 - few programs need it

    try:
        return lz4.block.decompress(data, uncompressed_size=raw_bytes)
    except (lz4.block.LZ4BlockError, ValueError) as error:
        raise BadImage(f"the PTX in a fat binary cannot be unpacked: {error}") from None


def _zstd(raw_bytes: int, data: bytes) -> bytes:
    import zstandard  # noqa: PLC0415

    try:
        return zstandard.ZstdDecompressor().decompress(data, max_output_size=raw_bytes)
    except zstandard.ZstdError as error:
        raise BadImage(f"the PTX in a fat binary cannot be unpacked: {error}") from None


def linked(texts: list[str]) -> str:
    """One module of several: the first one's directives, and all definitions."""
    return "\n".join([texts[0], *(_FIRST_LINES.sub("", each) for each in texts[1:])])
