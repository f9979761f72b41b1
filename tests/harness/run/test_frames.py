"""Frames: one side reads what the other packs, and any other input is an error."""

import pytest

from harness.run.frames import BadFrame, pack_frame, read_frame, read_from


def test_frames():
    header, buffers = {"a": [1, "é"]}, [b"12", b"", b"345"]
    data = b"".join(bytes(piece) for piece in pack_frame(header, buffers))
    got, back = read_frame(read_from(data), limit_bytes=5)
    assert got == {"a": [1, "é"], "buffers": [2, 0, 3]} and back == buffers
    assert read_frame(read_from(b""), 0) is None
    with pytest.raises(BadFrame, match="over the limit of 4"):
        read_frame(read_from(data), limit_bytes=4)
    for cut in range(1, len(data)):
        with pytest.raises(BadFrame):
            read_frame(read_from(data[:cut]), limit_bytes=5)
    with pytest.raises(BadFrame):
        read_frame(read_from(data.replace(b"[2, 0, 3]", b"[-2, 0,3]")), limit_bytes=5)
