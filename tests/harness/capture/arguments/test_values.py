"""Bytes as expressions: each expression gives the bytes again."""

from pathlib import Path

import numpy as np
import pytest
import torch

from harness.capture.arguments import values
from harness.capture.arguments.memory import Memory


def made(tensor, drawn=()):
    memory = Memory()
    view = memory.view(tensor, "a")
    return memory.storages[0], values.made(memory.storages[0], view.dtype, list(drawn))


CONSTANTS = [
    (torch.zeros(3, 4), "torch.zeros({shape}, dtype=torch.float32)"),
    (torch.ones(5, dtype=torch.bfloat16), "torch.ones({shape}, dtype=torch.bfloat16)"),
    (torch.full((5,), -7), "torch.full({shape}, -7, dtype=torch.int64)"),
    (torch.full((2,), float("inf")), 'torch.full({shape}, float("inf"), dtype=torch.float32)'),
    (torch.arange(9, dtype=torch.int32), "torch.arange(9, dtype=torch.int32)"),
    (torch.arange(2, 20, 3).half(), "torch.arange(2, 20, 3, dtype=torch.float16)"),
    (np.zeros((2, 2), np.float64), 'np.zeros({shape}, "float64")'),
    (np.arange(6, dtype=np.uint8), 'np.arange(6, dtype="uint8")'),
]


@pytest.mark.parametrize(("tensor", "text"), CONSTANTS)
def test_generators(tensor, text):
    storage, how = made(tensor)
    assert how.text == text and how.data is None
    again = eval(text.replace("{shape}", f"({storage.nbytes // tensor.itemsize},)"), {"torch": torch, "np": np})
    assert np.asarray(again.view(torch.uint8) if isinstance(again, torch.Tensor) else again.view(np.uint8)).tobytes() \
        == storage.before.tobytes()  # fmt: skip


def test_minus_zero_is_not_zero():
    _, how = made(torch.full((4,), -0.0))
    assert how.text == "torch.full({shape}, -0.0, dtype=torch.float32)"


def test_a_draw_is_found_by_its_values_and_of_another_dtype():
    drawn = torch.randn(4, 8)
    _, how = made(drawn.clone().half().T, [("torch.ones(4, 8)", torch.ones(4, 8)), ("torch.randn(4, 8)", drawn)])
    assert (how.text, how.draw) == ("torch.randn(4, 8).to(torch.float16)", 1)


def test_anything_else_is_data_named_by_its_content(tmp_path, monkeypatch):
    tensor = torch.tensor([3.0, 1.0, 4.0])
    storage, how = made(tensor)
    _, same = made(tensor.clone())
    assert how.data == same.data == values.name_of(storage.before)
    (tmp_path / "data").mkdir()
    np.savez_compressed(tmp_path / "data" / f"{how.data}.npz", bytes=storage.before)
    names = {"np": np, "torch": torch, "Path": Path, "__file__": str(tmp_path / "x.py")}
    exec(values.HELPER["torch"], names)
    assert torch.equal(eval(how.text, names), tensor)
