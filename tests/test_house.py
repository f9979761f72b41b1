"""The floor table: which package may import what. Imports go down only; see ARCHITECTURE in docs/architecture.md."""

import ast
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
OURS = ("dsl", "harness")
BINDINGS = {"mlir", "torch_mlir"}

# package or file: (what it may import of the project, what alone from outside besides the standard library)
_GROUND = "dsl.span", "dsl.exceptions"
_CORE = (
    "dsl.core.state",
    "dsl.core.number_rules",
    "dsl.core.errors",
    "dsl.core.unbound",
    "dsl.core.ir",
    "dsl.core.number",
)
_TRACE = (*_CORE, "dsl.core.traced_program", "dsl.core.pytree", "dsl.core.syntax", "dsl.core.trace")
_EMULATOR = "dsl.emulator.context", "dsl.emulator.builder", "dsl.emulator.ptx"
_EMIT = (*_EMULATOR, "dsl.emulator.runtime", "dsl.emulator.emit")
_RUN = "harness.terminal", "harness.schema", "harness.store", "harness.claim", "harness.run"
_RECORDS = (*_RUN, "harness.host", "harness.comparison", "harness.session", "harness.records")
FLOORS = {
    "dsl/span.py": ((), ()),
    "dsl/exceptions.py": (("dsl.span",), ()),
    "dsl/layout": (("dsl.layout",), ()),
    "dsl/emulator": (("dsl.emulator", *_GROUND), ("llvmlite", "numpy")),
    "dsl/emulator/context.py": ((), ("numpy",)),
    "dsl/emulator/builder.py": (("dsl.emulator.context",), ()),
    "dsl/emulator/ptx": (("dsl.emulator.ptx",), ()),
    "dsl/emulator/runtime": (("dsl.emulator.context", "dsl.emulator.builder", "dsl.emulator.runtime"), ("numpy",)),
    "dsl/emulator/emit": (_EMIT, ()),
    "dsl/emulator/check": ((*_EMULATOR, "dsl.emulator.check"), ("numpy",)),
    "dsl/emulator/native.py": (("dsl.emulator.runtime", "dsl.emulator.check"), ("llvmlite",)),
    "dsl/emulator/translate": ((*_EMIT, "dsl.emulator.check", "dsl.emulator.native", "dsl.emulator.translate"), ()),
    "dsl/emulator/diagnosis": ((*_EMIT, "dsl.emulator.check", "dsl.emulator.diagnosis", *_GROUND), ("numpy",)),
    "dsl/core": ((), ()),
    "dsl/core/number_rules.py": (("dsl.core.state",), ()),
    "dsl/core/errors.py": (("dsl.core.state", "dsl.core.number_rules", "dsl.layout", *_GROUND), ()),
    "dsl/core/unbound.py": (("dsl.core.errors", *_GROUND), ()),
    "dsl/core/ir": (("dsl.core.state", "dsl.core.errors", "dsl.core.ir", *_GROUND), ()),
    "dsl/core/number": (_CORE, ()),
    "dsl/core/syntax": (("dsl.core.errors", "dsl.core.syntax", *_GROUND), ()),
    "dsl/core/traced_program.py": ((*_GROUND,), ()),
    "dsl/core/pytree.py": (_CORE, ()),
    "dsl/core/trace.py": ((*_TRACE, "dsl.layout", *_GROUND), ()),
    "dsl/core/control_flow": ((*_TRACE, "dsl.core.control_flow", *_GROUND), ()),
    "dsl/core/diagnosis": ((*_TRACE, "dsl.core.diagnosis", "dsl.layout", *_GROUND), ()),
    "dsl/analysis": (("dsl.analysis", "dsl.core.ir", *_GROUND), ()),
    "dsl/lower": (("dsl.lower", "dsl.core.ir", *_GROUND), ("llvmlite",)),
    "dsl/readable_cuda": (("dsl.readable_cuda", "dsl.analysis", "dsl.lower.elementary", *_GROUND), ()),
    "dsl/gpu": (("dsl.gpu", "dsl.core", "dsl.layout"), ()),
    "dsl/tile": (("dsl.tile", "dsl.gpu", "dsl.core", "dsl.layout"), ()),
    "dsl/launch": (("dsl.launch", "dsl.lower", "dsl.core", *_GROUND), ()),
    "dsl/launch/argument": (("dsl.launch.argument", "dsl.tile", "dsl.core", "dsl.layout"), ("numpy", "torch")),
    "dsl/launch/devices": (
        ("dsl.launch.disk_cache", "dsl.launch.devices", "dsl.lower", "dsl.core", *_GROUND),
        ("numpy", "torch"),
    ),
    "dsl/launch/nvidia": (
        (
            "dsl.launch.disk_cache",
            "dsl.launch.session",
            "dsl.launch.argument",
            "dsl.launch.devices",
            "dsl.launch.nvidia",
            "dsl.lower",
            "dsl.core",
            "dsl.exceptions",
        ),
        ("numpy", "torch"),
    ),
    "dsl/launch/call": (
        (
            *(
                "dsl.launch.disk_cache",
                "dsl.launch.session",
                "dsl.launch.argument",
                "dsl.launch.devices",
                "dsl.launch.call",
                "dsl.lower",
                "dsl.analysis",
            ),
            *("dsl.readable_cuda", "dsl.tile", "dsl.core", "dsl.layout", *_GROUND),
        ),
        ("numpy", "torch"),
    ),
    "dsl/cutlass": (("dsl.cutlass", "dsl.launch", "dsl.tile", "dsl.gpu", "dsl.core", "dsl.layout", *_GROUND), ()),
    "dsl/notebook.py": (("dsl.alias", "dsl.launch", "dsl.core", *_GROUND), ("IPython",)),
    "dsl/prompt.py": ((), ()),
    "dsl/tirx": (("dsl.tirx", "dsl.launch", "dsl.tile", "dsl.gpu", "dsl.core", "dsl.layout", *_GROUND), ("numpy",)),
    "dsl/quadrants": (("dsl.quadrants", "dsl.launch", "dsl.gpu", "dsl.core", *_GROUND), ("numpy", "torch")),
    "harness": (("harness",), ("pytest", "_pytest", "numpy")),
    "harness/terminal.py": ((), ()),
    "harness/schema.py": (("harness.terminal",), ()),
    "harness/store.py": ((), ()),
    "harness/claim": (("harness.claim",), ("filecheck",)),
    "harness/run": (_RUN, ("numpy",)),
    "harness/run/runner.py": (("harness.run", "dsl.alias"), ("numpy", "torch")),
    "harness/run/supervisor.py": (("harness.run.runner", "harness.run.supervisor", "harness.run.gpu_lock"), ()),
    "harness/run/gpu_lock.py": ((), ()),
    "harness/host": ((*_RUN, "harness.host"), ("fabric", "paramiko")),
    "harness/host/agent.py": (("harness.run.supervisor", "harness.host.remote_env"), ()),
    "harness/host/remote_env.py": ((), ()),
    "harness/comparison": ((*_RUN, "harness.comparison"), ("numpy",)),
    "harness/records": (_RECORDS, ("numpy",)),
    "harness/reporting": ((*_RECORDS, "harness.reporting"), ("numpy",)),
    "harness/capsules": (("harness",), ("numpy",)),
    "harness/capsules/replay.py": ((), ("numpy", "cuda")),
    "repros": ((), ("cutlass", "quadrants", "tvm", "cuda", "torch", "numpy")),
}
# One file of a package may do more.
EXCEPTIONS = {
    "dsl/emulator/execute/object_code.py": ((), ("llvmlite",)),
    "dsl/core/number/double_functions.py": (("dsl.core.trace",), ()),
    "dsl/core/number/elementary_functions.py": (("dsl.core.trace",), ()),
    "dsl/core/trace.py": (("dsl.core.control_flow.loop_invariants.Loop",), ()),  # a type only
    "dsl/launch/session.py": (("dsl.launch.call.readable_text", "dsl.launch.devices"), ("torch",)),
    "dsl/launch/devices/emulated.py": (("dsl.emulator",), ()),
    "dsl/launch/devices/cuda.py": ((), ("cuda",)),
    "dsl/launch/call/ffi_function.py": ((), ("tvm_ffi",)),
    "dsl/launch/nvidia/hook.py": ((), ("cuda", "cutlass", "tvm_ffi")),
    "dsl/launch/nvidia/launch_config.py": ((), ("cuda",)),
    "dsl/launch/nvidia/tensors.py": ((), ("cutlass",)),
    "dsl/core/ir/mlir.py": ((), tuple(BINDINGS)),
    "harness/capsules/capsule_file.py": ((), ("_pytest",)),
    "harness/reporting/text_report.py": (("harness.judge.Verdict",), ()),  # a type only
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
        if path != "dsl/core/ir/mlir.py":
            text = (ROOT / path).read_text()
            assert "torch_mlir" not in text, f"{path} names the bindings; only dsl/core/ir/mlir.py does"


def test_every_folder_has_a_floor():
    """A new package must be given its place in the table."""
    for path in FILES:
        if path != "dsl/__init__.py":
            floor_of(path)
