"""The programs of docs/readable-cuda.md as one program: each kernel's text, and the arrays that each leaves.

python -m dsl tests/readable_cuda/readable_page.py      prints the texts as JSON
python tests/readable_cuda/nvcc_runs.py tests/readable_cuda/readable_page.py
"""

import importlib.util
import json
import re
import tempfile
from pathlib import Path

import numpy as np

PAGE = Path(__file__).parents[2] / "docs" / "readable-cuda.md"
BLOCK = re.compile(r"^```(python|cuda)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
CUTE = """\
import cutlass
import cutlass.cute as cute
import cutlass.utils

{block}

@cute.jit
def host({parameters}):
    {name}({names}).launch(grid=1, block=128)
"""
TIRX = "import tvm\nfrom tvm.script import tirx as T\n\n{block}"


def pairs() -> list[tuple[str, str]]:
    """(program, the CUDA shown under it)."""
    found = BLOCK.findall(PAGE.read_text())
    return [
        (text, shown) for (kind, text), (below, shown) in zip(found, found[1:]) if (kind, below) == ("python", "cuda")
    ]


def loaded(folder: str) -> list[tuple[object, list[str]]]:
    """The module of each program, and the types of its kernel's parameters."""
    made = []
    for number, (block, _) in enumerate(pairs()):
        name, parameters = re.search(r"def (\w+)\((.*)\):", block).groups()
        names = ", ".join(
            part.split(":")[0].strip() for part in re.sub(r"\(\(.*?\)", "(", parameters).split(",") if ":" in part
        )
        form = TIRX if "T.prim_func" in block else CUTE
        path = Path(folder, f"{name}_{number}.py")
        path.write_text(form.format(block=block, parameters=parameters, name=name, names=names))
        spec = importlib.util.spec_from_file_location(path.stem, path)
        module = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(module)
        made.append((module, re.findall(r":\s*([\w.]+)", parameters)))
    return made


def arrays(types: list[str]) -> list:
    """Arguments of these types: numbers below and above what the programs compare with, 8 for a number."""
    numbers = np.random.default_rng(5).integers(-1, 5, 512).astype(np.float32)
    return [np.array(numbers) if kind in ("cute.Tensor", "T.Buffer") else 8 for kind in types]


def each(folder: str):
    """(a compiled program, its arguments) of each."""
    import cutlass.cute as cute
    from cutlass.cute.runtime import from_dlpack

    for module, types in loaded(folder):
        values = arrays(types)
        if hasattr(module, "host"):
            given = [from_dlpack(a, assumed_align=16) if isinstance(a, np.ndarray) else a for a in values]
            yield cute.compile(module.host, *given), given, values
        else:
            import tvm

            shapes = (
                [tuple(int(n) for n in buffer.shape) for buffer in module.main.buffer_map.values()]
                if hasattr(module.main, "buffer_map")
                else [(512,)] * len(values)
            )
            given = [
                tvm.runtime.tensor(a[: int(np.prod(s))].reshape(s), device=tvm.cuda(0)) for a, s in zip(values, shapes)
            ]
            yield tvm.compile(module.main, target="cuda"), given, given


def run() -> dict:
    """The arrays after each kernel."""
    found = {}
    with tempfile.TemporaryDirectory() as folder:
        for number, (function, given, values) in enumerate(each(folder)):
            function(*given)
            found |= {
                f"{number}_{place}": value if isinstance(value, np.ndarray) else value.numpy()
                for place, value in enumerate(values)
                if not isinstance(value, int)
            }
    return found


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as folder:
        print(json.dumps([function.cuda_source for function, _, _ in each(folder)]))
