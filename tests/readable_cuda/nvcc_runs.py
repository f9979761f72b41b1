"""Runs programs with their printed CUDA, compiled by nvcc, in the place of our PTX, and compares what they give.

    python tests/readable_cuda/nvcc_runs.py repros/*/*.py           the arrays of each program, under both
    python tests/readable_cuda/nvcc_runs.py --fuzz 200 --seed 3     generated programs (tests/fuzz), many in one file

Says `same`, `differs`, `not printed: ...` or `refused by nvcc: ...` of each, and the numbers at the end, as JSON too.
"""

from __future__ import annotations

import argparse
import contextlib
import importlib.util
import io
import itertools
import json
import os
import re
import subprocess
import sys
import tempfile
import warnings
from pathlib import Path

ROOT = Path(__file__).parents[2]
os.environ["GPU_REPRO_CACHE"] = "0"  # every program is compiled
sys.path[:0] = [str(ROOT), str(ROOT / "tests" / "fuzz"), str(ROOT / "tests")]

from dsl import alias  # noqa: E402

alias.install("emulator")

import numpy as np  # noqa: E402

from dsl.launch import session  # noqa: E402
from dsl.launch.call.compiling import compiler as compiling  # noqa: E402
from dsl.readable_cuda.printer import Unsupported, to_cuda  # noqa: E402


class Refused(Exception):
    """nvcc does not take a text."""


def compiled(text: str, arch: str) -> str:
    """The PTX that nvcc makes of CUDA C++. Products and sums contract, as ours do."""
    with tempfile.TemporaryDirectory(prefix="nvcc-") as folder:
        file = Path(folder, "kernels.cu")
        file.write_text(text)
        command = ["nvcc", f"-arch={arch}", "-std=c++17", "--ptx", "-o", "kernels.ptx", str(file)]
        done = subprocess.run(command, cwd=folder, capture_output=True, text=True, timeout=600)
        if done.returncode:
            raise Refused(done.stderr.strip() + "\n" + text)
        return Path(folder, "kernels.ptx").read_text()


def many(texts: list[str], arch: str) -> list[str]:
    """The PTX of each of many texts, which nvcc gets as one: each in a namespace, its kernels under own names."""
    includes, parts = dict.fromkeys(re.findall(r"^#include .*$", "\n".join(texts), re.MULTILINE)), []
    for number, text in enumerate(texts):
        body = re.sub(r"^#include .*\n", "", text, flags=re.MULTILINE)
        body = re.sub(
            r"^(extern \"C\" __global__ void(?: __launch_bounds__\(\d+\))? \w+)\(",
            rf"\1__{number}(",
            body,
            flags=re.MULTILINE,
        )
        parts.append(f"namespace text_{number} {{\n{body}}}\n")
    ptx = compiled("\n".join([*includes, *parts]), arch)
    pieces = re.split(r"(?m)^(?=\.visible \.entry )", ptx)
    made = ["" for _ in texts]
    for piece in pieces[1:]:
        end = [brace.end() for brace in re.finditer(r"(?m)^}$", piece)][-1]  # inline PTX has such lines too
        name, number = re.search(r"\.entry (\w+)__(\d+)\(", piece).groups()
        made[int(number)] += piece[:end].replace(f"{name}__{number}", name) + "\n"
        pieces[0] += piece[end:]
    return [pieces[0] + entries for entries in made]


_ours = compiling._compile
_printed: dict[tuple[str, str], str | Exception] = {}  # (device module, architecture) -> its text, or why not
_made: dict[tuple[str, str], str | Exception] = {}  # the same -> its PTX


def _key(source: tuple) -> tuple[str, str]:
    """A device module wherever its program lies, and its architecture."""
    return compiling._PLACES.sub("", source[1]), source[2]


def _recording(host_mlir: str, source: tuple) -> tuple[str, str, bytes]:
    """Our own `_compile`, printing what it compiles."""
    key = _key(source)
    if source[1] and key not in _printed:
        try:
            _printed[key] = to_cuda(source[1])
        except Exception as error:  # Unsupported, or a mistake of ours: told where the PTX is asked for
            _printed[key] = error
    return _ours(host_mlir, source)


def _theirs(host_mlir: str, source: tuple) -> tuple[str, str, bytes]:
    """`_compile` with nvcc's PTX of the printed kernels."""
    llvm, ptx, host = _ours(host_mlir, source)
    if source[1]:
        ptx = _made[_key(source)]
        if isinstance(ptx, Exception):
            raise ptx
    return llvm, ptx, host


def compile_printed() -> None:
    """Give nvcc what has been printed and not compiled yet: all at once, or one by one where it does not take that."""
    waiting: dict[str, list[tuple[str, str]]] = {}
    for key, text in _printed.items():
        if isinstance(text, Exception):
            _made[key] = text
        elif key not in _made:
            waiting.setdefault(key[1], []).append(key)
    for arch, keys in waiting.items():
        for start in range(0, len(keys), 40):
            _compile_batch(arch, keys[start : start + 40])


def _compile_batch(arch: str, keys: list[tuple[str, str]]) -> None:
    try:
        _made.update(zip(keys, many([_printed[key] for key in keys], arch)))
    except Refused as error:
        if len(keys) == 1:
            _made[keys[0]] = error
        else:
            for key in keys:
                _compile_batch(arch, [key])


@contextlib.contextmanager
def compiling_by(function):
    """Compile programs by `function` in this `with`, in a separate session."""
    compiling._compile = function
    compiling._codes.clear()
    session.start("emulator")
    try:
        yield
    finally:
        compiling._compile = _ours
        compiling._codes.clear()


def load(path: Path):
    spec = importlib.util.spec_from_file_location(f"program_{path.stem}", path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def outcome(path: Path) -> list:
    """The arrays that a repro's run() returns for each choice of its parameters, or the name of what it raises."""
    from dsl.__main__ import _declared_params

    axes = _declared_params(path.read_text())
    found = []
    for values in itertools.product(*axes.values()):
        try:
            with contextlib.redirect_stdout(io.StringIO()):
                made = load(path).run(**dict(zip(axes, values)))
        except (Unsupported, Refused):
            raise
        except Exception as error:
            name = type(error).__name__
            found.append(f"{name}: {error}" if name == "PtxError" else name)
            continue
        found.append({name: _bits(value) for name, value in made.items()})
    return found


def _bits(value) -> object:
    """An array's bytes and shape; all NaNs are one."""
    if hasattr(value, "detach"):
        import torch

        value = value.detach().cpu()
        if value.dtype == torch.bfloat16:
            value = value.float()
        elif value.dtype.itemsize == 1 and value.dtype.is_floating_point:
            value = value.view(torch.uint8)
        value = value.numpy()
    array = np.asarray(value)
    if array.dtype.kind == "f":
        array = np.where(np.isnan(array), np.array(np.nan, array.dtype), array)
    return str(array.dtype), array.shape, array.tobytes()


def check(paths: list[Path]) -> dict[str, str]:
    """The result of each program, by its name."""
    with compiling_by(_recording):
        ours, kernels = {}, {}
        for path in paths:
            before = len(_printed)
            ours[path] = outcome(path)
            kernels[path] = len(_printed) > before
    compile_printed()
    found = {}
    for path in paths:
        try:
            with compiling_by(_theirs):
                theirs = outcome(path)
        except Unsupported as error:
            found[path.stem] = f"not printed: {error}"
        except Refused as error:
            found[path.stem] = f"refused by nvcc: {error}"
        else:
            same = "same" if kernels[path] else "no kernel"
            found[path.stem] = same if ours[path] == theirs else f"differs: {_difference(ours[path], theirs)}"
        print(f"{path.stem}: {found[path.stem]}", flush=True)
    return found


def _difference(ours: list, theirs: list) -> str:
    for a, b in zip(ours, theirs):
        if a != b:
            if isinstance(a, str) or isinstance(b, str):
                return f"{a if isinstance(a, str) else 'arrays'}, and {b if isinstance(b, str) else 'arrays'}"
            names = [name for name in a if a[name] != b.get(name)]
            x, y = (np.frombuffer(side[names[0]][2], side[names[0]][0]) for side in (a, b))
            return f"{names[0]}: {x[:8]}, and {y[:8]}"
    return ""


def fuzz(count: int, number: int, batch: int) -> dict[str, int]:
    """Generated programs, `batch` in one module, against our own PTX of them."""
    from compiled import results
    from run import draw, write

    texts: dict[str, None] = {}
    draw(number, count, lambda text: texts.setdefault(text))
    kept, found = list(texts)[:count], {"same": 0, "differs": 0, "not printed": 0, "refused by nvcc": 0}
    with tempfile.TemporaryDirectory(prefix="fuzz-") as folder:
        for start in range(0, len(kept), batch):
            _batch([write(text, folder) for text in kept[start : start + batch]], results, found)
    return found


def _batch(paths: list[Path], results, found: dict[str, int]) -> None:
    """Run a batch; one program at a time where it cannot be run whole."""
    modules = [load(path) for path in paths]
    with compiling_by(_recording):
        ours = results(modules, "kernel")
    compile_printed()
    try:
        with compiling_by(_theirs):
            theirs = results(modules, "kernel")
    except (Unsupported, Refused) as error:
        if len(paths) > 1:
            for path in paths:
                _batch([path], results, found)
            return
        word = "not printed" if isinstance(error, Unsupported) else "refused by nvcc"
        found[word] += 1
        print(f"{word}: {error}\n{paths[0].read_text()}")
        return
    for path, a, b in zip(paths, ours, theirs):
        same = all(np.array_equal(x, y, equal_nan=True) for x, y in zip(a, b))
        found["same" if same else "differs"] += 1
        if not same:
            places = [np.flatnonzero(~((x == y) | (x != x) & (y != y)))[:4] for x, y in zip(a, b)]
            print("differs at", [(p.tolist(), x[p].tolist(), y[p].tolist()) for p, x, y in zip(places, a, b)])
            print(path.read_text())


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("files", nargs="*", type=Path)
    parser.add_argument("--fuzz", type=int, default=0, metavar="PROGRAMS")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--batch", type=int, default=24, help="generated programs in one CUDA file")
    options = parser.parse_args()
    warnings.simplefilter("ignore")
    numbers: dict[str, int] = fuzz(options.fuzz, options.seed, options.batch) if options.fuzz else {}
    said = check(options.files)
    for text in said.values():
        word = text.partition(":")[0]
        numbers[word] = numbers.get(word, 0) + 1
    print(json.dumps({"numbers": numbers, "said": said}))
    return int(any(numbers.get(word) for word in ("differs", "refused by nvcc")))


if __name__ == "__main__":
    sys.exit(main())
