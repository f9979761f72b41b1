"""The command, on the file system."""

import re
import textwrap
from pathlib import Path

import pytest

from harness.cli import main

SHUFFLE = """
    # a butterfly of width 8 stays in its segment
    import cutlass
    import cutlass.cute as cute
    import torch
    from cutlass.cute.runtime import from_dlpack

    WIDTH = 8

    @cute.kernel
    def kernel(out: cute.Tensor):
        lane, _, _ = cute.arch.thread_idx()
        out[lane] = cute.arch.shuffle_sync_bfly(lane, 4, mask_and_clamp=((32 - WIDTH) << 8) | 31)

    @cute.jit
    def host(out: cute.Tensor):
        kernel(out).launch(grid=(1, 1, 1), block=(32, 1, 1))

    out = torch.full((32,), -1, dtype=torch.int32, device="cuda")
    host(from_dlpack(out))
    print(out)
"""


@pytest.fixture
def here(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("CI", raising=False)
    (tmp_path / "pyproject.toml").write_text("[tool.pytest.ini_options]\n")
    return tmp_path


def test_a_kernel_becomes_a_repro_that_passes(here, capsys):
    """For each value of its parameter."""
    (here / "scratch.py").write_text(textwrap.dedent(SHUFFLE))
    out = here / "repros/shuffle/width.py"
    assert main(["adopt", "scratch.py", "-o", str(out), "--param", "WIDTH=8,4"]) == 0
    said = capsys.readouterr()
    assert "    out: int32 (32) 4 5 6 7 0 1 2 3 ...\n" in said.out and "running scratch.py as it is" in said.err
    text = out.read_text()
    assert "def run(width):\n    global WIDTH\n    WIDTH = width\n" in text and "# params = { width = [8, 4] }" in text
    assert main(["run", str(out), "--update-goldens"]) == 0
    said = capsys.readouterr().out
    assert "out: int32 (32) 4 5 6 7 0 1 2 3" in said and "out: int32 (32) 0 1 2 3 0 1 2 3" in said
    assert main(["run", str(out)]) == 0


def test_the_page(here):
    """Its script gives its repro."""
    page = (Path(__file__).parents[3] / "docs/adopt.md").read_text()
    files = dict(re.findall(r"^```python\n# file: (\S+)\n(.*?)^```$", page, re.MULTILINE | re.DOTALL))
    (here / "scratch.py").write_text(files["scratch.py"])
    assert main(["adopt", "scratch.py", "-o", "repros/odd_stride.py", "--param", "STRIDE=5,7"]) == 0
    assert (here / "repros/odd_stride.py").read_text() == files["repros/odd_stride.py"]


def test_scripts_and_arguments_that_are_refused(here, capsys):
    script = here / "s.py"
    script.write_text("print(1)\n")
    (here / "o.py").write_text("")
    for arguments, told in [
        (["no.py", "-o", "x.py"], "no.py: there is no such file"),
        (["s.py", "-o", "o.py"], "o.py exists already: name another file, or remove it"),
        (["s.py", "-o", "x.txt"], "-o x.txt: a repro is a Python file: name it *.py"),
        (["s.py", "-o", "x.py", "--param", "N"], "--param N: write --param NAME=VALUE,VALUE, as in --param WIDTH=8,16"),
    ]:
        assert main(["adopt", *arguments]) == 2
        assert told in capsys.readouterr().err
    assert main(["adopt", "s.py", "-o", "x.py"]) == 1
    assert capsys.readouterr().err.startswith("not adopted: s.py: it does not state a claim\n")
    assert not (here / "x.py").exists()
