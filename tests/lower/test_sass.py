"""ptxas and nvdisasm: found and used; errors report their refusals and their absence."""

import pytest

from dsl.lower import sass
from tests.small_ptx import PTX


def test_sass_of_a_kernel():
    text = sass.disassemble(sass.assemble(PTX))
    assert "STG.E" in text and "EXIT" in text


def test_rejection_carries_the_text_of_ptxas():
    with pytest.raises(sass.ToolRejected, match=r"kernel\.ptx, line 8; .*Unknown modifier '\.globule'"):
        sass.assemble(PTX.replace("st.global", "st.globule"))


def test_the_error_of_a_missing_tool_shows_how_to_install_it(monkeypatch, tmp_path):
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.setattr(sass.sysconfig, "get_path", lambda _: str(tmp_path))
    sass.find.cache_clear()
    try:
        with pytest.raises(sass.ToolMissing) as missing:
            sass.assemble(PTX)
    finally:
        sass.find.cache_clear()
    assert str(missing.value) == (
        "`ptxas` is not on PATH and not among the installed packages\n"
        "fix: uv sync    (or: uv pip install nvidia-cuda-nvcc)"
    )
