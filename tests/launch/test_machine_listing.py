"""The process that answers with what ptxas and nvdisasm make of PTX."""

import json

import pytest

from dsl.launch import machine_listing
from dsl.lower import sass
from tests.small_ptx import PTX


def asked(*texts):
    return [json.loads(line) for line in machine_listing.answers(json.dumps(text) for text in texts)]


def test_each_text_is_answered_in_order(ptxas_path, tmp_path, monkeypatch):
    monkeypatch.setenv("GPU_REPRO_CACHE", "1")
    monkeypatch.setenv("GPU_REPRO_CACHE_DIR", str(tmp_path))
    wrong, right = asked(PTX.replace("st.global", "st.globule"), PTX)
    assert list(wrong) == ["rejected"] and "globule" in wrong["rejected"]
    assert right["ptxas"] == sass.version("ptxas") and "STG.E" in right["sass"]
    assert "Used" in right["log"] and "registers" in right["log"]

    def no_tool(*_):
        raise AssertionError("a tool ran twice for one text")

    monkeypatch.setattr(sass, "_run", no_tool)
    assert asked(PTX) == [right]


def test_without_ptxas_it_names_the_package_to_install(monkeypatch):
    def missing(tool):
        raise sass.ToolMissing(tool)

    monkeypatch.setattr(sass, "find", missing)
    monkeypatch.setenv("GPU_REPRO_CACHE", "0")
    (answer,) = asked(PTX)
    assert answer == {
        "missing": "`ptxas` is not on PATH and not among the installed packages\n"
        "fix: uv sync    (or: uv pip install nvidia-cuda-nvcc)"
    }


def test_text_that_names_no_gpu():
    assert asked("ret;") == [{"rejected": "the PTX has no `.target`"}]


@pytest.mark.slow
def test_as_a_process(ptxas_path):
    import subprocess
    import sys

    done = subprocess.run(
        [sys.executable, "-m", "dsl.launch.machine_listing"],
        input=json.dumps(PTX) + "\n",
        capture_output=True,
        text=True,
    )
    assert "STG.E" in json.loads(done.stdout)["sass"]
