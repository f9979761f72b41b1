"""The floor table: which package may import what. Imports go down only; see ARCHITECTURE in docs/architecture.md."""

import ast
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
OURS = ("dsl", "harness")
BINDINGS = {"mlir", "torch_mlir"}

# package or file: (what it may import of the project, what alone from outside besides the standard library)
FLOORS = {
    "dsl/span.py": ((), ()),
    "dsl/layout": (("dsl.layout",), ()),
    "dsl/emulator": (("dsl.emulator", "dsl.span"), ("llvmlite", "numpy")),
    "dsl/core": (("dsl.core", "dsl.span", "dsl.layout"), ()),
    "dsl/lower": (("dsl.lower", "dsl.core.mlir", "dsl.span"), ("llvmlite",)),
    "dsl/gpu": (("dsl.gpu", "dsl.core", "dsl.layout"), ()),
    "dsl/tile": (("dsl.tile", "dsl.gpu", "dsl.core", "dsl.layout"), ()),
    "dsl/launch": (("dsl.launch", "dsl.lower", "dsl.tile", "dsl.core", "dsl.layout", "dsl.span"), ("numpy", "torch")),
    "dsl/cutlass": (("dsl.cutlass", "dsl.launch", "dsl.tile", "dsl.gpu", "dsl.core", "dsl.layout", "dsl.span"), ()),
    "dsl/notebook.py": (("dsl.alias", "dsl.launch", "dsl.core", "dsl.span"), ("IPython",)),
    "dsl/prompt.py": ((), ()),
    "dsl/tirx": (("dsl.tirx", "dsl.launch", "dsl.tile", "dsl.gpu", "dsl.core", "dsl.layout", "dsl.span"), ("numpy",)),
    "dsl/quadrants": (("dsl.quadrants", "dsl.launch", "dsl.gpu", "dsl.core", "dsl.span"), ("numpy", "torch")),
    "harness": (("harness",), ("pytest", "_pytest", "fabric", "paramiko", "numpy", "filecheck")),
    "harness/runner.py": (("harness", "dsl.alias"), ("numpy", "torch")),
    "harness/replay.py": ((), ("numpy", "cuda")),
    "harness/supervisor.py": (("harness.runner", "harness.supervisor", "harness.gpu_lock"), ()),
    "harness/gpu_lock.py": ((), ()),
    "harness/agent.py": (("harness.supervisor", "harness.remote_env"), ()),
    "harness/remote_env.py": ((), ()),
    "repros": ((), ("cutlass", "quadrants", "tvm", "cuda", "torch", "numpy")),
}
# One file of a package may do more.
EXCEPTIONS = {
    "dsl/launch/emulated.py": (("dsl.emulator",), ()),
    "dsl/launch/cuda.py": ((), ("cuda",)),
    "dsl/launch/ffi_function.py": ((), ("tvm_ffi",)),
    "dsl/launch/nvidia_hook.py": ((), ("cuda", "cutlass", "tvm_ffi")),
    "dsl/launch/nvidia_launch.py": ((), ("cuda",)),
    "dsl/launch/nvidia_tensors.py": ((), ("cutlass",)),
    "dsl/core/mlir.py": ((), tuple(BINDINGS)),
}


def imports_of(path: Path) -> list[tuple[str, int]]:
    """Every module a file imports, wherever in it, with the line."""
    found = []
    for node in ast.walk(ast.parse(path.read_text(), str(path))):
        if isinstance(node, ast.Import):
            found += [(alias.name, node.lineno) for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            folder = ".".join(path.relative_to(ROOT).parent.parts[: len(path.relative_to(ROOT).parts) - node.level])
            module = ".".join(filter(None, (folder if node.level else "", node.module)))
            found += [(f"{module}.{alias.name}", node.lineno) for alias in node.names]
        elif isinstance(node, ast.Call) and getattr(node.func, "attr", "") == "import_module" and node.args:
            if isinstance(node.args[0], ast.Constant):
                found.append((node.args[0].value, node.lineno))
    return found


def floor_of(path: str) -> tuple[tuple, tuple]:
    """The row that fits best, with what the file itself is excepted to do."""
    best = max((floor for floor in FLOORS if path == floor or path.startswith(floor + "/")), key=len)
    inside, outside = FLOORS[best]
    more_inside, more_outside = EXCEPTIONS.get(path, ((), ()))
    return inside + more_inside, outside + more_outside


def allowed(module: str, names: tuple) -> bool:
    return any(module == name or module.startswith(name + ".") for name in names)


FILES = sorted(
    str(path.relative_to(ROOT))
    for folder in ("dsl", "harness", "repros")
    for path in (ROOT / folder).rglob("*.py")
    if path.name != "__main__.py" and path.name != "alias.py"
)


@pytest.mark.parametrize("path", FILES)
def test_imports_go_down_only(path):
    inside, outside = floor_of(path) if path != "dsl/__init__.py" else ((), ())
    wrong = []
    for module, line in imports_of(ROOT / path):
        root = module.partition(".")[0]
        if root in OURS:
            if not allowed(module, inside):
                wrong.append(f"{path}:{line}: {module}")
        elif root not in sys.stdlib_module_names and not allowed(module, outside):
            wrong.append(f"{path}:{line}: {module}")
    assert not wrong


def test_the_bindings_have_one_door():
    for path in FILES:
        if path != "dsl/core/mlir.py":
            text = (ROOT / path).read_text()
            assert "torch_mlir" not in text, f"{path} names the bindings; only dsl/core/mlir.py does"


def test_every_folder_has_a_floor():
    """A new package must be given its place in the table."""
    for path in FILES:
        if path != "dsl/__init__.py":
            floor_of(path)
