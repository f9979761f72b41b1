"""printf formats of kernels against the C library's own snprintf, on packed arguments."""

import ctypes
import itertools
import struct

import pytest

from dsl.emulator.execute.print_format import render

LIBC = ctypes.CDLL(None)


def rendered(form: str, arguments: bytes, texts: dict[int, str] | None = None) -> tuple[str, int]:
    strings = {1: form, **(texts or {})}
    return render(strings.__getitem__, lambda address, nbytes: arguments[address : address + nbytes], 1, 0)


def snprintf(form: str, *arguments) -> str:
    buffer = ctypes.create_string_buffer(400)
    LIBC.snprintf(buffer, 400, form.encode(), *arguments)
    return buffer.value.decode("latin-1")


FLAGS = ["", "-", "+", " ", "0", "#", "-+", "+0"]
WIDTHS = ["", "1", "12", ".0", ".3", "12.3", "-"]


def specs(kinds: str):
    for flags, width, kind in itertools.product(FLAGS, WIDTHS, kinds):
        if width != "-" and not ("0" in flags and "-" in flags):
            yield f"[%{flags}{width}{kind}]"


@pytest.mark.parametrize("value", [0, 1, -1, 255, -(2**31), 2**31 - 1])
def test_ints_are_cs(value):
    wrong = []
    for form in specs("dixXuo"):
        ours, count = rendered(form, struct.pack("<i", value))
        if (ours, count) != (snprintf(form, ctypes.c_int(value)), 1):
            wrong.append((form, ours, snprintf(form, ctypes.c_int(value))))
    assert wrong == []


@pytest.mark.parametrize("value", [0.0, -0.0, 1.5, -2.75, 0.1, 5e-324, 1e-7, 123456789.0, float("inf"), float("-inf")])
def test_floats_are_cs(value):
    wrong = []
    for form in specs("fegFEGaA"):
        if not ("inf" in str(value) and "0" in form.split(".")[0]):  # zeros before an infinity: C has blanks
            ours, _ = rendered(form, struct.pack("<d", value))
            if ours != snprintf(form, ctypes.c_double(value)):
                wrong.append((form, ours, snprintf(form, ctypes.c_double(value))))
    assert wrong == []


@pytest.mark.parametrize("form", ["%hhd", "%hd", "%hhu", "%hx", "%lld", "%llx", "%ld", "%zu", "%llo"])
@pytest.mark.parametrize("value", [-1, 300, 70000, 2**40 + 5])
def test_lengths_are_cs(form, value):
    wide = any(letter in form for letter in "lz")
    packed = struct.pack("<q", value) if wide else struct.pack("<i", (value + 2**31) % 2**32 - 2**31)
    assert rendered(form, packed)[0] == snprintf(
        form, ctypes.c_longlong(value) if wide else ctypes.c_int(value & 0xFFFFFFFF)
    )


def test_arguments_lie_aligned_to_their_size():
    packed = struct.pack("<i4xdi4xq", 7, 2.5, -1, 1 << 40)
    assert rendered("%d %.1f %d %lld %%", packed) == (f"7 2.5 -1 {1 << 40} %", 4)


def test_widths_texts_characters_and_pointers():
    packed = struct.pack("<iiq", -6, 42, 0)
    assert rendered("[%*d]", packed) == ("[42    ]", 2)
    assert rendered("[%5.2s|%s]", struct.pack("<qq", 99, 0), {99: "hello"}) == ("[   he|(null)]", 2)
    assert rendered("%c%c", struct.pack("<ii", 65, 66)) == ("AB", 2)
    assert rendered("%p", struct.pack("<q", 0x7F00)) == ("0x7f00", 1)
