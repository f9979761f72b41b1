"""PTX as programs hand it over."""

import struct

import lz4.block
import pytest
import zstandard

from dsl.launch.driver import images
from dsl.launch.driver.messages import Reader

TEXT = ".version 8.0\n.target sm_90\n.address_size 64\n" + ".visible .entry k() { ret; }\n" * 20


def message(*parts: tuple[int, int, bytes]) -> Reader:
    rows = [struct.pack("<IQQ", packing, raw, len(data)) + data for packing, raw, data in parts]
    return Reader(struct.pack("<I", len(rows)) + b"".join(rows))


def test_each_packing():
    data = TEXT.encode() + b"\0\0"
    packed = lz4.block.compress(data, store_size=False), zstandard.ZstdCompressor().compress(data)
    assert images.ptx_of(message((images.PLAIN, len(data), data))) == TEXT
    assert images.ptx_of(message((images.LZ4, len(data), packed[0]))) == TEXT
    assert images.ptx_of(message((images.ZSTD, len(data), packed[1]))) == TEXT


@pytest.mark.parametrize("packing", [images.LZ4, images.ZSTD])
def test_data_that_cannot_be_unpacked(packing):
    with pytest.raises(images.BadImage, match="the PTX in a fat binary cannot be unpacked: "):
        images.ptx_of(message((packing, 100, b"\xff" * 20)))


def test_linked_texts_keep_the_directives_of_the_first():
    other = ".version 7.0\n.target sm_80\n.address_size 64\n.visible .entry other() { ret; }\n"
    text = images.linked([TEXT, other])
    assert (
        text.startswith(TEXT) and text.count(".version") == text.count(".target sm") == text.count(".address_size") == 1
    )
    assert ".visible .entry other() { ret; }" in text


def test_a_kernel_can_set_the_condition_of_a_graph():
    declared = ".extern .func cudaGraphSetConditional\n(\n\t.param .b64 a,\n\t.param .b32 b\n)\n;\n"
    data = (TEXT + declared + ".visible .entry last() { ret; }\n").encode()
    text = images.ptx_of(message((images.PLAIN, len(data), data)))
    assert ".extern" not in text and "st.global.b32 [%handle], %value" in text
    assert text.split("\n").index(".visible .entry last() { ret; }") == data.count(b"\n") - 1
