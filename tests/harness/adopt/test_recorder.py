"""The events and arrays that are kept of printed values."""

import json

import numpy as np
import pytest
import torch

from harness.adopt import recorder

SITES = [[[["x"], ["x"]], ["n"]]]


def recorded(text: str) -> tuple[list[dict], dict]:
    outputs = recorder.execute("/no/such.py", text, text, SITES, "__adopt__")
    return json.loads(outputs.pop("events").tobytes()), outputs


def test_values_are_kept_as_they_were():
    """The event of an array that is written to later has `changed` set."""
    text = "import numpy as np\nn, x = 3, np.arange(2)\n__adopt__(0, 0, x)\nx += 1\n__adopt__(0, 1, x.tolist())\n"
    events, arrays = recorded(text)
    assert [event["how"] for event in events] == ["", "numbers"] and events[0]["changed"] is True
    assert [arrays[f"array_{event['place']}"].tolist() for event in events] == [[0, 1], [1, 2]]
    assert [event["scope"] for event in events] == [{"n": 3}] * 2


def test_a_number_that_has_nothing_to_do_with_an_array():
    events, arrays = recorded("x = 5\n__adopt__(0, 0, x)\nimport sys\nsys.exit()")
    assert [(event["how"], event["named"]) for event in events] == [(None, {})] and arrays == {}


def test_a_script_that_exits_with_an_error():
    with pytest.raises(SystemExit):
        recorded("raise SystemExit(2)")


class Field:
    def to_numpy(self):
        return np.zeros(1)


@pytest.mark.parametrize(
    "value, how",
    [
        (np.zeros(1), ""), (np.float32(1), ""), (torch.zeros(1), ""), (torch.zeros(1, dtype=torch.bfloat16), ""),
        (Field(), ".to_numpy()"), (Field, None), (np, None), (np.array(["a"]), None), (np.zeros(1, complex), None),
        (torch.zeros(1, dtype=torch.complex64), None), (1, None), ([1.0], None),
    ],
)  # fmt: skip
def test_arrays_are_recognised(value, how):
    assert recorder.how_of(value) == how


def test_too_much_is_refused(monkeypatch):
    monkeypatch.setattr(recorder, "MOST_BYTES", 1 << 20)
    with pytest.raises(ValueError, match="the script prints arrays of more than 1 MB: print a part of them"):
        recorded("import numpy as np\nx = np.zeros(200000)\n__adopt__(0, 0, x)")
