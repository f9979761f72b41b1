"""Rules of the sources. layers.toml lists which package may import what, pyproject.toml has the settings of ruff."""

import ast
import collections
import functools
import graphlib
import re
import subprocess
import sys
import tomllib
from collections.abc import Iterator
from pathlib import Path

import grimp
import pytest

from dsl.emulator.families.table import ROWS

ROOT = Path(__file__).parents[1]
OURS = ("dsl", "harness")


@functools.cache
def syntax_tree(path: Path) -> ast.Module:
    return ast.parse(path.read_text(), str(path))


@functools.cache
def nodes_of(path: Path) -> list[ast.AST]:
    return list(ast.walk(syntax_tree(path)))


FILES = sorted(
    str(path.relative_to(ROOT))
    for folder in ("dsl", "harness", "repros")
    for path in (ROOT / folder).rglob("*.py")
    if path.name != "__main__.py" and path.name != "alias.py"
)


@functools.cache
def import_graph() -> grimp.ImportGraph:
    return grimp.build_graph(*OURS, include_external_packages=True, cache_dir=None)


def test_imports_go_down_only():
    command = [Path(sys.executable).with_name("lint-imports"), "--no-cache", "--no-logo", "tests/layers.toml"]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=600)
    assert done.returncode == 0, done.stdout + done.stderr


def test_layers_list_each_package_from_outside():
    contracts = tomllib.loads((ROOT / "tests/layers.toml").read_text())["tool"]["importlinter"]["contracts"]
    listed = {module for contract in contracts for module in contract.get("protected_modules", ())}
    outside = {module for module in import_graph().modules if module.partition(".")[0] not in OURS}
    assert outside - sys.stdlib_module_names - listed == set()


def test_files_outside_packages_import_only_what_is_listed():
    """`lint-imports` does not see them."""
    wrong = []
    for path in FILES:
        name = path.removesuffix(".py").removesuffix("/__init__").replace("/", ".")
        if name not in import_graph().modules:
            listed = next(names for folder, names in ALONE_IMPORT.items() if path.startswith(folder))
            for node in nodes_of(ROOT / path):
                modules = [alias.name for alias in node.names] if isinstance(node, ast.Import) else []
                modules += [node.module or "."] if isinstance(node, ast.ImportFrom) else []
                roots = {module.partition(".")[0] for module in modules}
                wrong += [f"{path}:{node.lineno}: {root}" for root in roots - sys.stdlib_module_names - listed]
    assert wrong == []


ALONE_IMPORT = {
    "repros/": {"cutlass", "quadrants", "tvm", "tvm_tirx", "triton", "numba", "tilelang", "cuda", "torch", "numpy"},
    "harness/capture/startup/": {"harness"},  # Python runs it before a program
    "harness/entry/": {"pytest"},
}

# `lint-imports` does not see these either.
IMPORTED_BY_NAME = {
    "harness/entry/gpu_repro_start.py": {"harness.plugin", "harness.cli"},
    "dsl/cutlass/cute/arch.py": {"dsl.cutlass._mlir.dialects"},
    "dsl/launch/nvidia/hook.py": {"tvm_ffi", "cutlass.cute"},
    "dsl/launch/nvidia/host_runtime.py": {"tvm_ffi"},
    "dsl/launch/nvidia/tensors.py": {"cutlass.cute.runtime"},
    "dsl/interrupts.py": {"_signal"},
    "harness/run/runner.py": {"dsl.alias"},
    "harness/run/languages/cuda_kernels.py": {"dsl.driver.device_code", "dsl.driver.nvcc"},
    "harness/run/languages/cuda_program.py": {"dsl.driver.program", "dsl.driver.nvcc"},
    "harness/run/languages/numba_program.py": {"dsl.driver.in_process"},
}


def test_imports_by_name_are_listed():
    found: dict[str, set[str]] = {}
    for path in FILES:
        for node in nodes_of(ROOT / path):
            if isinstance(node, ast.Call) and ast.unparse(node.func).endswith("import_module"):
                if isinstance(node.args[0], ast.Constant):
                    found.setdefault(path, set()).add(node.args[0].value)
    assert found == IMPORTED_BY_NAME


def test_layers_of_the_emulator_name_no_family():
    sources = [each for each in (ROOT / "dsl/emulator").rglob("*") if each.suffix in (".cc", ".h")]
    layers = [each for each in sources if {"families", "built"}.isdisjoint(each.relative_to(ROOT).parts)]
    assert layers and [str(each) for each in layers if '#include "families' in each.read_text()] == []


# Opcodes that layers may name, as a reader of PTX must know them: operands of bra and brx are labels, operands of call
# are lists of parameters, and the others end a thread. ir/affine.py writes LLVM's instructions of the same names.
CONTROL = frozenset({"bra", "brx", "call", "ret", "exit", "trap"})
LLVM = {"dsl/emulator/ir/affine.py": frozenset({"add", "sub", "mul"})}


def test_layers_of_the_emulator_name_no_opcode():
    """Rows give instructions traits, and families give rules by opcode: analysis.py, check.py, leeway.py, words.py."""
    wrong = [
        f"{path}:{line}: names `{word}`"
        for path in FILES
        if path.startswith("dsl/emulator/") and not path.startswith("dsl/emulator/families/")
        for word, line in opcodes_in((ROOT / path).read_text())
        if word not in LLVM.get(path, ())
    ]
    assert wrong == []


def opcodes_in(source: str) -> Iterator[tuple[str, int]]:
    """Strings that are an opcode or a list of opcodes, except CONTROL, with their lines."""
    names = ROWS.keys() - CONTROL
    for node in ast.walk(ast.parse(source)):
        words = node.value.split() if isinstance(node, ast.Constant) and isinstance(node.value, str) else []
        if words and " ".join(words) == node.value and set(words) & names and set(words) <= ROWS.keys():
            yield node.value, node.lineno


def test_an_opcode_in_a_layer_is_seen():
    source = 'if instr.opcode in ("ld", *LEAVES):\n    _KNOWN = "st bra".split()\nraise Error("bra", "the st here")'
    assert [*opcodes_in(source)] == [("ld", 1), ("st bra", 2)]


def test_no_modules_import_each_other_in_a_circle():
    """Also where an import is for types alone, or in a function."""
    graph = import_graph()
    imports = {module: graph.find_modules_directly_imported_by(module) - {module} for module in graph.modules}
    assert len([*graphlib.TopologicalSorter(imports).static_order()]) > 500


def test_the_bindings_have_one_door():
    for path in FILES:
        if path != "dsl/core/ir/bindings.py":
            text = (ROOT / path).read_text()
            assert "torch_mlir" not in text, f"{path} names the bindings; only dsl/core/ir/bindings.py does"


# Modules of one folder that a reader can take in.
MOST_MODULES = 16


def test_folders_are_small():
    counts = collections.Counter(str(Path(path).parent) for path in FILES if not path.startswith("repros"))
    assert {folder: count for folder, count in counts.items() if count > MOST_MODULES + 1} == {}


def test_no_compiler_left_its_output_at_the_top():
    """A test that keeps PTX names a folder for it."""
    left = [path.name for path in ROOT.iterdir() if path.suffix in (".ptx", ".cubin", ".sass", ".mlir", ".ll", ".o")]
    assert left == []


# --- start-up --------------------------------------------------------------------------------------------------------

# The settings of ruff in pyproject.toml list modules that start slowly; these tests see also what such modules import.
STARTS = {
    "dsl.alias": {"dsl", "dsl.alias"},
    "harness.plugin": {"harness", "harness.claim", "harness.errors", "harness.plugin", "harness.terminal"},
}
SLOW = {"cuda", "dsl", "fabric", "filecheck", "libcst", "llvmlite", "numpy", "paramiko", "torch", "watchfiles"}


def modules_after(statement: str) -> set[str]:
    code = f"{statement}; import sys; print(*sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, timeout=600)
    assert done.returncode == 0, done.stderr
    return set(done.stdout.split())


@pytest.mark.parametrize("module", STARTS)
def test_entry_points_import_few_modules(module):
    loaded = modules_after(f"import {module}")
    assert {name for name in loaded if name.partition(".")[0] in OURS} == STARTS[module]


def test_the_command_starts_without_slow_packages():
    assert modules_after("import harness.cli") & SLOW == set()


def listed_in_docstrings() -> dict[str, str]:
    """The modules without a test file of their name, and the test file whose docstring lists each: only tables,
    re-exports and code that has no meaning alone."""
    found: dict[str, str] = {}
    for path in sorted((ROOT / "tests").rglob("test_*.py")):
        _, _, listed = (ast.get_docstring(syntax_tree(path)) or "").partition("Modules tested here: ")
        for module in re.findall(r"[\w/]+\.py\b", listed.partition(".\n\n")[0]):
            found.setdefault(module, str(path.relative_to(ROOT)))
    return found


# Tables of the emulator, in each of its families; each kind has one test file.
TABLES = {
    "rows.py": "emulator/families/test_table.py",
    "functions.py": "emulator/machine/test_functions.py",
    "numbers.py": "test_native_library.py",
    "orderings.py": "emulator/check/test_ordering.py",
}


def is_table(name: Path) -> bool:
    return name.parts[:2] == ("dsl", "emulator") and name.name in TABLES


def test_tests_have_the_names_of_the_modules_that_they_test():
    """`dsl/core/number/pointer.py` has tests/core/number/test_pointer.py; other modules are in a test's docstring."""
    modules = [path for folder in OURS for path in sorted((ROOT / folder).rglob("*.py")) if path.stem[:2] != "__"]
    names = [name for path in modules if not is_table(name := path.relative_to(ROOT))]
    places = {name: Path(*name.parts[name.parts[0] == "dsl" : -1], f"test_{name.name}") for name in names}
    without = {name.as_posix() for name in names if not (ROOT / "tests" / places[name]).exists()}
    listed = listed_in_docstrings().keys()
    assert sorted(without - listed) == [], "give each a test file of its name"
    assert sorted(listed - without) == [], "take these off the docstring: they have a test file, or are gone"


RIDDLE = re.compile(r", and (?:got|this is|these are|\{[^}]*\} is none)\b|\bis no (?:multiple|place|kind|type)\b")


def test_messages_name_the_requirement_and_the_given_value():
    for path in sorted([*(ROOT / "dsl").rglob("*.py"), *(ROOT / "harness").rglob("*.py")]):
        for node in nodes_of(path):
            if isinstance(node, ast.JoinedStr):
                text = ast.unparse(node)
            elif isinstance(node, ast.Constant) and isinstance(node.value, str):
                text = node.value
            else:
                continue
            assert not RIDDLE.search(text), f"{path}:{node.lineno}: write 'x must be y, got z'"


def test_errors_name_a_fix():
    """An error about the author's program that is made here has a fix."""
    without = []
    for path in FILES:
        for node in nodes_of(ROOT / path):
            name = getattr(node.func, "id", "") if isinstance(node, ast.Call) else ""
            if re.fullmatch(r"DSLUserCode\w*Error|LayoutError", name) and len(node.args) < 2:
                if not any(keyword.arg in ("fix", None) for keyword in node.keywords):
                    without.append(f"{path}:{node.lineno}")
    assert without == []


_CLOCKS = ("monotonic", "perf_counter", "time")
_MEASURES = (
    "tests/fuzz/",
    "tests/upstream/",
    "tests/harness/rounds.py",
    "tests/emulator/mutation.py",
)  # programs that run for a time


def _measures_time(node: ast.AST) -> bool:
    """Whether this is the time that something took: a clock less an earlier one."""
    is_difference = (
        isinstance(node, ast.BinOp) and isinstance(node.op, ast.Sub) and not isinstance(node.right, ast.Constant)
    )
    left = node.left if is_difference else None
    is_clock = isinstance(left, ast.Call) and getattr(left.func, "attr", "") in _CLOCKS
    return is_clock and getattr(getattr(left.func, "value", None), "id", "") == "time"


def _short_patience(node: ast.AST) -> bool:
    """Whether this waits for a process, a thread or an event so shortly that a busy machine is not done."""
    if not isinstance(node, ast.Call):
        return False
    values = [one.value for one in node.keywords if one.arg == "timeout"]
    values += node.args if getattr(node.func, "attr", "") in ("wait", "join", "communicate") else []
    return any(
        isinstance(one, ast.Constant) and type(one.value) in (int, float) and 5 <= one.value < 600 for one in values
    )


def test_no_test_depends_on_the_speed_of_the_machine():
    """Patience is a guard against a hang, 600 s; what a test asserts is not how long something took."""
    assert _measures_time(ast.parse("time.monotonic() - began").body[0].value)
    assert _short_patience(ast.parse("process.wait(10)").body[0].value)
    wrong = []
    for path in sorted((ROOT / "tests").rglob("*.py")):
        name = path.relative_to(ROOT).as_posix()
        if not name.startswith(_MEASURES):
            wrong += [
                f"{name}:{node.lineno}" for node in nodes_of(path) if _measures_time(node) or _short_patience(node)
            ]
    assert wrong == []
