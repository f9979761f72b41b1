"""Which files are scripts, and which modules of the author's go with one."""

import pytest

from harness.claim import script_file
from harness.claim.repro_file import ReproError

BLOCK = '# /// script\n# dependencies = ["einops"]\n# ///\n'


@pytest.mark.parametrize(
    "text, is_script",
    [
        ("print(1)", True),
        ("def run():\n    return {}\n", False),
        ("def run(n=3):\n    return {}\n", False),
        ("def run(arguments):\n    pass\nrun(1)\n", True),
        ("def run():\n    pass\nif __name__ == '__main__':\n    run()\n", True),
        ("def run(n=3, **more):\n    pass\nrun(4)\n", True),
        ("def run():\n    return {}\nprint(run())\n", True),
        ("x = f()\ndef run(n=3):\n    return {}\n", False),
        ("def run(n):\n    return {}\n", False),  # the reader of repros reports what is missing
        ("x = (", False),
    ],
)
def test_a_script_has_no_run_or_calls_it_itself(text, is_script):
    assert script_file.is_script(text) == is_script


def test_the_packages_and_arguments_of_a_script_are_kept(tmp_path):
    script = script_file.read(tmp_path / "s.py", (BLOCK + "import torch\n").encode(), ("a",))
    assert (script.needs, script.imports, script.script.args) == (("einops",), {"torch"}, ("a",))
    with pytest.raises(ReproError, match="SYNTAX_ERROR"):
        script_file.read(tmp_path / "s.py", b"x = (", ())


def test_a_module_next_to_the_script_may_use_the_gpu(tmp_path):
    (tmp_path / "above").mkdir()
    (tmp_path / "above" / "kernels.py").write_text("from cuda.bindings import driver\n")
    (tmp_path / "step.py").write_text("import above.kernels\n")
    script = tmp_path / "train.py"
    assert "cuda" in script_file.read(script, b"from step import above\n").imports
    assert script_file.read(script, b"import json\n").imports == {"json"}
    assert script_file.read(script, b"import torch, step\n").imports == {"torch", "step"}


def test_modules_next_to_the_script_go_with_it(tmp_path):
    files = {
        "s.py": "import helpers, numpy\nfrom package.part import f\n",
        "helpers.py": "import deeper\n",
        "deeper.py": "",
        "package/__init__.py": "from . import inner\n",
        "package/inner.py": "",
        "package/part.py": "from .inner import *\nfrom .. import nothing\n",
        "unused.py": "",
    }
    for name, text in files.items():
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text(text)
    script = script_file.read(tmp_path / "s.py", (tmp_path / "s.py").read_bytes())
    found = script_file.modules(script)
    assert found.keys() == {"helpers", "deeper", "package", "package.inner", "package.part"}
    assert found["package.part"] == (str(tmp_path / "package/part.py"), files["package/part.py"])
