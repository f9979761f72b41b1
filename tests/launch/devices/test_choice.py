"""Devices by name."""

import pytest

from dsl.launch.devices import choice, cuda


def test_without_a_gpu_the_emulator_is_the_default(monkeypatch):
    monkeypatch.setattr(cuda, "present", lambda: False)
    assert [type(choice.choose(kind)).__name__ for kind in (None, "emulator")] == ["Emulated", "Emulated"]


def test_a_recording_has_an_architecture_and_a_folder(tmp_path):
    folder = tmp_path / "a:b"
    assert type(choice.choose(f"recording:sm_80:{folder}")).__name__ == "Recording"


def test_an_unknown_name_is_refused():
    with pytest.raises(ValueError) as error:
        choice.choose("gpu")
    assert str(error.value) == "unknown device 'gpu'; known: emulator, cuda"
