"""The floor table: which package may import what. Imports go down only; see ARCHITECTURE in docs/architecture.md."""

import ast
import collections
import functools
import graphlib
import re
import sys
from pathlib import Path

from harness.claim.repro_file import statements

ROOT = Path(__file__).parents[1]
OURS = ("dsl", "harness")
BINDINGS = {"mlir", "torch_mlir"}

# package or file: (what it may import of the project, what alone from outside besides the standard library)
_GROUND = "dsl.span", "dsl.exceptions", "dsl.finding_kinds", "dsl.undisturbed"
_CORE = (
    "dsl.core.state",
    "dsl.core.phrase",
    "dsl.core.number_rules",
    "dsl.core.errors",
    "dsl.core.unbound",
    "dsl.core.ir",
    "dsl.core.number",
)
_TRACE = (
    *(*_CORE, "dsl.core.traced_program", "dsl.core.value_structure", "dsl.core.pytree"),
    *("dsl.core.kernel_parameter", "dsl.core.syntax", "dsl.core.trace"),
)
_IR = "dsl.emulator.ir", "dsl.emulator.machine", "dsl.emulator.ptx", "dsl.emulator.tensor_core"
_RUN = "harness.terminal", "harness.schema", "harness.store", "harness.claim", "harness.run"
_RECORDS = (*_RUN, "harness.host", "harness.comparison", "harness.errors", "harness.session", "harness.records")
FLOORS = {
    "dsl/span.py": ((), ()),
    "dsl/undisturbed.py": ((), ()),
    "dsl/finding_kinds.py": ((), ()),
    "dsl/native_library.py": ((), ()),
    "dsl/hatch_build.py": ((), ("hatchling",)),
    "dsl/exceptions.py": (("dsl.span",), ()),
    "dsl/layout": (("dsl.layout",), ()),
    "dsl/emulator": (("dsl.emulator", "dsl.native_library", *_GROUND), ("llvmlite", "numpy")),
    "dsl/emulator/ptx": (("dsl.emulator.ptx",), ()),
    "dsl/emulator/machine": (
        ("dsl.emulator.machine", "dsl.emulator.families", "dsl.native_library"),
        ("llvmlite", "numpy"),
    ),
    "dsl/emulator/machine/context.py": ((), ()),
    "dsl/emulator/tensor_core": (("dsl.emulator.tensor_core",), ()),
    "dsl/emulator/ir": (_IR, ()),
    "dsl/emulator/families": (
        (
            *_IR,
            "dsl.emulator.families",
            "dsl.emulator.check",
            "dsl.emulator.diagnosis",
            "dsl.emulator.faults",
            *_GROUND,
        ),
        ("numpy",),
    ),
    "dsl/emulator/check": ((*_IR, "dsl.emulator.check", "dsl.emulator.families"), ("numpy",)),
    "dsl/emulator/translate": (
        (*_IR, "dsl.emulator.check", "dsl.emulator.dependence", "dsl.emulator.families", "dsl.emulator.translate"),
        (),
    ),
    "dsl/emulator/faults.py": (_GROUND, ()),
    "dsl/emulator/diagnosis": (
        (
            *_IR,
            "dsl.emulator.check",
            "dsl.emulator.dependence",
            "dsl.emulator.diagnosis",
            "dsl.emulator.families",
            "dsl.emulator.faults",
            *_GROUND,
        ),
        ("numpy",),
    ),
    "dsl/core": ((), ()),
    "dsl/core/number_rules.py": (("dsl.core.state",), ()),
    "dsl/core/phrase.py": ((), ()),
    "dsl/core/errors.py": (("dsl.core.state", "dsl.core.number_rules", "dsl.layout", *_GROUND), ()),
    "dsl/core/unbound.py": (("dsl.core.errors", *_GROUND), ()),
    "dsl/core/ir": (("dsl.core.state", "dsl.core.phrase", "dsl.core.errors", "dsl.core.ir", *_GROUND), ()),
    "dsl/core/number": (_CORE, ()),
    "dsl/core/syntax": (("dsl.core.errors", "dsl.core.phrase", "dsl.core.syntax", *_GROUND), ()),
    "dsl/core/traced_program.py": ((*_GROUND,), ()),
    "dsl/core/value_structure.py": ((), ()),
    "dsl/core/pytree.py": ((*_CORE, "dsl.core.value_structure"), ()),
    "dsl/core/kernel_parameter.py": (_CORE, ()),
    "dsl/core/trace.py": ((*_TRACE, "dsl.layout", *_GROUND), ()),
    "dsl/core/control_flow": ((*_TRACE, "dsl.core.control_flow", *_GROUND), ()),
    "dsl/core/diagnosis": ((*_TRACE, "dsl.core.diagnosis", "dsl.layout", *_GROUND), ()),
    "dsl/analysis": (("dsl.analysis", "dsl.core.ir", *_GROUND), ()),
    "dsl/lower": (("dsl.lower", "dsl.core.ir", *_GROUND), ("llvmlite",)),
    "dsl/readable_cuda": (("dsl.readable_cuda", "dsl.analysis", "dsl.lower.elementary", *_GROUND), ()),
    "dsl/gpu": (("dsl.gpu", "dsl.core", "dsl.layout"), ()),
    "dsl/tile": (("dsl.tile", "dsl.gpu", "dsl.core", "dsl.layout"), ()),
    "dsl/primitives": (("dsl.primitives", "dsl.tile", "dsl.gpu", "dsl.core", "dsl.layout"), ()),
    "dsl/perturbation": (("dsl.perturbation",), ()),
    "dsl/launch": (("dsl.launch", "dsl.perturbation", "dsl.lower", "dsl.core", *_GROUND), ()),
    "dsl/launch/argument": (("dsl.launch.argument", "dsl.tile", "dsl.core", "dsl.layout"), ("numpy", "torch")),
    "dsl/launch/devices": (
        ("dsl.launch.disk_cache", "dsl.launch.devices", "dsl.perturbation", "dsl.lower", "dsl.core", *_GROUND),
        ("numpy", "torch"),
    ),
    "dsl/launch/driver": (
        (
            "dsl.exceptions",
            "dsl.launch.devices.protocol",
            "dsl.launch.devices.torch_mapping.torch_cuda",
            "dsl.launch.driver",
            "dsl.undisturbed",
            "dsl.core.trace",
        ),
        ("numpy", "cuda"),
    ),
    "dsl/launch/nvidia": (
        (
            "dsl.launch.disk_cache",
            "dsl.launch.machine_code",
            "dsl.launch.session",
            "dsl.launch.argument",
            "dsl.launch.devices",
            "dsl.launch.driver",
            "dsl.undisturbed",
            "dsl.launch.nvidia",
            "dsl.lower",
            "dsl.core",
            "dsl.exceptions",
        ),
        ("numpy", "torch"),
    ),
    "dsl/launch/export": (("dsl.launch.argument", "dsl.launch.export", "dsl.lower", "dsl.core"), ()),
    "dsl/launch/call": (
        (
            *(
                "dsl.launch.export",
                "dsl.launch.disk_cache",
                "dsl.launch.machine_code",
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
    "dsl/cutlass": (
        ("dsl.cutlass", "dsl.launch", "dsl.primitives", "dsl.tile", "dsl.gpu", "dsl.core", "dsl.layout", *_GROUND),
        (),
    ),
    "dsl/reduction": (("dsl.reduction", "dsl.emulator.ptx", "dsl.emulator.execute.decisions"), ()),
    "dsl/forms": (("dsl.forms", "dsl.emulator"), ("numpy",)),
    "dsl/notebook.py": (("dsl.alias", "dsl.launch", "dsl.core", *_GROUND), ("IPython",)),
    "dsl/prompt.py": ((), ()),
    "dsl/tirx": (("dsl.tirx", "dsl.launch", "dsl.tile", "dsl.gpu", "dsl.core", "dsl.layout", *_GROUND), ("numpy",)),
    "dsl/quadrants": (("dsl.quadrants", "dsl.launch", "dsl.gpu", "dsl.core", *_GROUND), ("numpy", "torch")),
    "harness": (("harness",), ("pytest", "_pytest", "numpy")),
    "harness/terminal.py": ((), ()),
    "harness/schema.py": (("harness.terminal",), ()),
    "harness/store.py": ((), ()),
    "harness/claim": (
        ("harness.claim", "harness.errors", "harness.schema", "harness.store"),
        ("filecheck", "packaging"),
    ),
    "harness/run": (_RUN, ("numpy",)),
    "harness/run/runner.py": (("harness.run", "dsl.alias"), ("numpy", "torch")),
    "harness/run/frames.py": ((), ()),
    "harness/run/supervisor.py": (
        ("harness.run.frames", "harness.run.runner", "harness.run.supervisor", "harness.run.gpu_lock"),
        (),
    ),
    "harness/run/gpu_lock.py": ((), ()),
    "harness/host": ((*_RUN, "harness.host"), ("fabric", "paramiko")),
    "harness/host/connection/agent.py": (
        (
            "harness.run.frames",
            "harness.run.gpu_lock",
            "harness.run.supervisor",
            "harness.host.environment.remote_env",
            "harness.host.connection.run_folders",
            "harness.host.environment.disk_room",
            "harness.host.environment.package_index",
            "harness.host.environment.supplies",
        ),
        (),
    ),
    "harness/host/connection/run_folders.py": ((), ()),
    "harness/host/environment/disk_room.py": ((), ()),
    "harness/host/environment/package_index.py": ((), ()),
    "harness/host/environment/remote_env.py": (
        (
            "harness.host.environment.supplies",
            "harness.host.environment.disk_room",
            "harness.host.environment.package_index",
        ),
        (),
    ),
    "harness/host/environment/supplies.py": ((), ()),
    "harness/fleet": ((*_RECORDS, "harness.fleet", "harness.judge", "harness.perturb_options"), ()),
    "harness/comparison": ((*_RUN, "harness.comparison"), ("numpy",)),
    "harness/records": (_RECORDS, ("numpy", "packaging")),
    "harness/reporting": ((*_RECORDS, "harness.reporting"), ("numpy",)),
    "harness/adopt": (("harness.adopt", "harness.claim", "harness.errors", "harness.run"), ("libcst",)),
    "harness/adopt/recorder.py": ((), ("numpy",)),
    "harness/entry": (("harness.plugin", "harness.cli"), ("pytest",)),
    "harness/watch": (
        (*_RECORDS, "harness.watch", "harness.judge", "harness.reporting", "harness.verdict"),
        ("watchfiles",),
    ),
    "harness/bisection": (
        (*_RECORDS, "harness.judge", "harness.reporting", "harness.bisection"),
        ("numpy", "packaging"),
    ),
    "harness/issue": ((*_RECORDS, "harness.issue"), ()),
    "harness/reduction": ((*_RECORDS, "harness.judge", "harness.perturb_options", "harness.reduction"), ("numpy",)),
    "harness/capsules": (("harness",), ("numpy",)),
    "harness/capsules/replay.py": ((), ("numpy", "cuda")),
    "repros": ((), ("cutlass", "quadrants", "tvm", "cuda", "torch", "numpy")),
}
# One file of a package may do more.
EXCEPTIONS = {
    "dsl/emulator/execute/object_code.py": ((), ("llvmlite",)),
    "dsl/core/number/double_functions.py": (("dsl.core.trace",), ()),
    "dsl/core/number/elementary_functions.py": (("dsl.core.trace",), ()),
    "dsl/core/trace.py": (
        (
            "dsl.core.control_flow.loops.loop_invariants.Loop",
            "dsl.core.control_flow.branches.merged_value.Copied",
        ),  # types only
        (),
    ),
    "dsl/launch/session.py": (("dsl.launch.call.compiling.readable_text", "dsl.launch.devices"), ("torch",)),
    "dsl/launch/devices/emulated.py": (("dsl.emulator", "dsl.launch.driver.library", "dsl.native_library"), ("cuda",)),
    "dsl/launch/driver/tensor_maps.py": (("dsl.emulator.families.tensor_map.tensor_map",), ()),
    "dsl/launch/devices/recording.py": (("dsl.emulator.families.tensor_map.tensor_map",), ()),
    "harness/host/hosts.py": (("dsl.native_library",), ()),
    "harness/host/this_machine.py": (("dsl.native_library", "dsl.lower.sass"), ("packaging",)),
    "harness/cli/cache_command.py": (("dsl.launch.disk_cache",), ()),
    "harness/cli/completion_command.py": ((), ("shtab",)),
    "harness/host/environment/own_wheel.py": (("dsl.native_library",), ()),
    "dsl/launch/devices/cuda.py": ((), ("cuda",)),
    "dsl/launch/devices/protocol.py": ((), ("cuda",)),  # numbers of errors
    "dsl/launch/devices/torch_mapping/torch_streams.py": ((), ("cuda",)),  # handles of events
    "dsl/launch/call/ffi_function.py": ((), ("tvm_ffi",)),
    "dsl/launch/nvidia/hook.py": ((), ("cutlass", "tvm_ffi")),
    "dsl/launch/nvidia/host_runtime.py": ((), ("cuda", "tvm_ffi")),
    "dsl/launch/nvidia/tensors.py": ((), ("cutlass",)),
    "dsl/core/ir/mlir.py": ((), tuple(BINDINGS)),
    "harness/claim/selection.py": ((), ("_pytest",)),
    "harness/reporting/text_report.py": (("harness.verdict.Verdict",), ()),  # a type only
    "harness/reporting/case_table.py": (("harness.verdict.Verdict",), ()),  # a type only
}


@functools.cache
def syntax_tree(path: Path) -> ast.Module:
    return ast.parse(path.read_text(), str(path))


@functools.cache
def nodes_of(path: Path) -> list[ast.AST]:
    return list(ast.walk(syntax_tree(path)))


def imports_of(path: Path) -> list[tuple[str, int]]:
    """Every module a file imports, wherever in it, with the line."""
    found = []
    for node in nodes_of(path):
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


def test_layers_of_the_emulator_name_no_family():
    """They ask `families` for what all have, by the name of a part, and its table for rows."""
    ours = "dsl.emulator.families", "dsl.emulator.families.table"
    wrong = [
        f"{path}:{line}: imports {module}"
        for path in FILES
        if path.startswith("dsl/emulator/") and not path.startswith("dsl/emulator/families/")
        for module, line in imports_of(ROOT / path)
        if module.startswith("dsl.emulator.families") and module not in ours
    ]
    sources = [each for each in (ROOT / "dsl/emulator").rglob("*") if each.suffix in (".cc", ".h")]
    layers = [each for each in sources if {"families", "built"}.isdisjoint(each.relative_to(ROOT).parts)]
    wrong += [str(each) for each in layers if '#include "families' in each.read_text()]
    assert layers and wrong == []


def test_no_modules_import_each_other_in_a_circle():
    """Also where an import is for types alone, or in a function. A package counts where it is itself what is named."""
    modules = {path.removesuffix(".py").removesuffix("/__init__").replace("/", "."): path for path in FILES}
    graph = {}
    for name, path in modules.items():
        named = {module for module, _ in imports_of(ROOT / path)}
        of_names = {module.rpartition(".")[0] for module in named - modules.keys()}
        files = {each for each in of_names & modules.keys() if not modules[each].endswith("__init__.py")}
        graph[name] = (named & modules.keys() | files) - {name}
    assert len([*graphlib.TopologicalSorter(graph).static_order()]) > 500


def test_imports_go_down_only():
    wrong = []
    for path in FILES:
        inside, outside = floor_of(path) if path != "dsl/__init__.py" else ((), ())
        for module, line in imports_of(ROOT / path):
            root = module.partition(".")[0]
            if root in OURS:
                fits = allowed(module, inside)
            else:
                fits = root in sys.stdlib_module_names or allowed(module, outside)
            if not fits:
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


# Modules of one folder that a reader can take in.
MOST_MODULES = 16


def test_folders_are_small():
    counts = collections.Counter(str(Path(path).parent) for path in FILES if not path.startswith("repros"))
    assert {folder: count for folder, count in counts.items() if count > MOST_MODULES + 1} == {}


def test_no_compiler_left_its_output_at_the_top():
    """A test that keeps PTX says in which folder."""
    left = [path.name for path in ROOT.iterdir() if path.suffix in (".ptx", ".cubin", ".sass", ".mlir", ".ll")]
    assert left == []


# --- imports inside functions ----------------------------------------------------------------------------------------

# Of packages that are large, optional, or needed by few calls, and of parts of Python's library that start slowly.
LAZY_OUTSIDE = {
    "IPython",
    "_pytest",
    "cuda",
    "difflib",
    "fabric",
    "filecheck",
    "importlib.metadata",
    "libcst",
    "logging",
    "numpy",
    "paramiko",
    "pydoc",
    "readline",
    "shtab",
    "tomllib",
    "torch",
    "traceback",
    "tvm_ffi",
    "unicodedata",
    "watchfiles",
}
# Of our own, so that a process starts without what it may never need: a device or compiler that is chosen, the emulator,
# tools, texts that are asked for, what explains an error; collection of repros reads text only.
LAZY = {
    "dsl/__main__.py": (
        "dsl.alias",
        "dsl.core.diagnosis.python_errors",
        "dsl.core.errors",
        "dsl.core.syntax.function_source",
        "dsl.emulator.tensor_core.tensor_core",
        "dsl.exceptions",
        "dsl.launch.devices.emulated",
        "dsl.launch.devices.protocol",
        "dsl.layout",
        "dsl.prompt",
        "dsl.reduction.answers",
        "dsl.span",
    ),
    "dsl/alias.py": (
        "dsl.core.diagnosis.unsupported_names",
        "dsl.core.ir.mlir",
        "dsl.emulator.machine.native",
        "dsl.launch.nvidia.hook",
        "dsl.launch.session",
        "dsl.lower.llvm",
    ),
    "dsl/core/number/double_functions.py": ("dsl.core.trace",),
    "dsl/core/number/elementary_functions.py": (
        "dsl.core.number.double_functions",
        "dsl.core.number_rules",
        "dsl.core.trace",
    ),
    "dsl/emulator/execute/launch.py": (
        "dsl.emulator.diagnosis.fault_report",
        "dsl.emulator.diagnosis.findings",
        "dsl.emulator.diagnosis.warp_positions",
        "dsl.emulator.execute.attached_checks",
    ),
    "dsl/emulator/execute/program.py": (
        "dsl.emulator.families.table",
        "dsl.emulator.execute.compilation",
        "dsl.emulator.ptx.parse",
    ),
    "dsl/launch/argument/abi.py": ("dsl.tile.tensor.tensor",),
    "dsl/cutlass/_mlir_helpers/__init__.py": ("dsl.cutlass.cute.math",),
    "dsl/cutlass/cute/runtime.py": ("dsl.launch.call.ffi_function",),
    "dsl/launch/call/compiling/exported.py": ("dsl.launch.call.ffi_function",),
    "dsl/launch/call/ffi_function.py": ("dsl.launch.export.object_file",),
    "dsl/launch/call/jit.py": (
        "dsl.launch.call.ffi_function",
        "dsl.launch.call.compiling.readable_text",
        "dsl.launch.export.object_file",
    ),
    "dsl/launch/devices/choice.py": (
        "dsl.launch.devices.cuda",
        "dsl.launch.devices.emulated",
        "dsl.launch.devices.playback",
        "dsl.launch.devices.recording",
    ),
    "dsl/launch/devices/torch_mapping/torch_cuda.py": ("dsl.launch.devices.torch_mapping.torch_products",),
    "dsl/launch/devices/emulated.py": (
        "dsl.emulator",
        "dsl.emulator.dependence.arrays",
        "dsl.emulator.tensor_core.tensor_core",
        "dsl.launch.driver.library",
    ),
    "dsl/launch/driver/library.py": ("dsl.launch.driver.driver", "dsl.launch.driver.runtime"),
    "dsl/launch/driver/tensor_maps.py": ("dsl.emulator.families.tensor_map.tensor_map",),
    "dsl/launch/nvidia/hook.py": ("dsl.launch.machine_code",),
    "dsl/launch/session.py": (
        "dsl.launch.call.compiling.readable_text",
        "dsl.launch.machine_code",
        "dsl.lower.sass",
        "dsl.perturbation.perturbation",
    ),
    "dsl/lower/device_functions.py": ("dsl.lower.elementary",),
    "dsl/quadrants/functions/kernel.py": ("dsl.launch.call.compiling.readable_text",),
    "dsl/tirx/build.py": ("dsl.launch.call.compiling.readable_text",),
    "harness/capture/__init__.py": ("harness.capture.program", "harness.capture.recorder"),
    "harness/capture/arguments/memory.py": ("gc",),
    "harness/capture/program.py": (
        "harness.capture.arguments.constructions",
        "harness.capture.arguments.spelling",
        "harness.capture.author.patches",
        "harness.capture.cute_hooks",
        "harness.capture.launches.core_hooks",
        "harness.capture.launches.driver_hooks",
        "harness.capture.private",
        "harness.capture.quadrants_hooks",
        "harness.capture.tirx_hooks",
        "harness.capture.written_file",
        "shutil",
        "tempfile",
    ),
    "harness/capture/startup/sitecustomize.py": ("harness.capture.program",),
    "harness/capture/written_file.py": ("harness.capture.author.slicer",),
    "harness/bisection/preparation.py": ("harness.bisection.commits", "harness.host.environment.releases"),
    "harness/cli/bisect_command.py": (
        "harness.bisection.axes",
        "harness.bisection.bisection",
        "harness.bisection.difference",
        "harness.bisection.journal",
        "harness.bisection.preparation",
        "harness.bisection.runs",
        "harness.claim.case_id",
        "harness.claim.findings",
        "harness.cli.choice",
        "harness.store",
    ),
    "harness/cli/capture_command.py": (
        "harness.capture.checked",
        "harness.capture.private",
        "harness.capture.started",
        "harness.store",
    ),
    "harness/cli/document.py": ("harness.reporting.publish",),
    "harness/cli/issue_command.py": (
        "harness.host.settings",
        "harness.issue.anonymous",
        "harness.issue.facts",
        "harness.issue.issue",
        "harness.store",
    ),
    "harness/cli/choice.py": ("harness.records.index.moved", "harness.store"),
    "harness/cli/main_command.py": ("harness.reporting.publish",),
    "harness/cli/run_command.py": (
        "harness.judge",
        "harness.records.history",
        "harness.reporting.case_table",
        "harness.reporting.text_report",
    ),
    "harness/cli/capsule_commands.py": ("harness.capsules.capsule_file", "harness.capsules.validation"),
    "harness/cli/record/record_commands.py": (
        "harness.records.differ",
        "harness.records.index.index",
        "harness.records.observations",
        "harness.records.observed_scripts",
        "harness.records.query",
        "harness.records.tables",
    ),
    "harness/cli/record/compare_command.py": (
        "harness.cli.record.missing_runs",
        "harness.records.changes",
        "harness.records.index.index",
        "harness.records.query",
        "harness.records.sides",
        "harness.records.tables",
    ),
    "harness/cli/record/report_command.py": (
        "harness.records.index.index",
        "harness.reporting.page",
        "harness.reporting.page_records",
        "harness.store",
    ),
    "harness/cli/record/missing_runs.py": ("harness.judge",),
    "harness/cli/golden/golden_commands.py": (
        "harness.capsules.capsule_file",
        "harness.cli.golden.review",
        "harness.pending",
    ),
    "harness/entry/gpu_repro_start.py": ("pytest",),
    "harness/cli/cache_command.py": (
        "dsl.launch.disk_cache",
        "harness.host.environment.releases",
        "harness.host.environment.remote_env",
        "harness.host.this_machine",
        "harness.records.observations",
    ),
    "harness/cli/script_command.py": (
        "harness.claim.repro_file",
        "harness.claim.script_file",
        "harness.records.observations",
        "harness.reporting.case_table",
        "harness.reporting.text_report",
        "harness.run.console",
    ),
    "harness/cli/watching.py": ("harness.watch.loop",),
    "harness/cli/adopt_command.py": (
        "harness.adopt.adoption",
        "harness.adopt.refusal",
        "harness.reporting.text_report",
        "harness.session",
        "harness.store",
    ),
    "harness/cli/hosts_command.py": (
        "harness.fleet.listing",
        "harness.fleet.targets",
        "harness.host.doctor",
        "harness.host.hosts",
        "harness.host.settings",
        "harness.session",
    ),
    "harness/cli/reduce_command.py": (
        "harness.claim.findings",
        "harness.claim.repro_file",
        "harness.cli.choice",
        "harness.cli.script_command",
        "harness.perturb_options",
        "harness.reduction.candidates",
        "harness.reduction.cure",
        "harness.reduction.journal",
        "harness.reduction.passes_process",
        "harness.reduction.places",
        "harness.reduction.progress",
        "harness.reduction.properties",
        "harness.reduction.reduction",
        "harness.store",
    ),
    "harness/reduction/properties.py": ("harness.judge",),
    "harness/reduction/places.py": (
        "harness.host.environment.releases",
        "harness.judge",
        "harness.perturb_options",
        "harness.run.result",
        "harness.run.transport",
    ),
    "harness/host/connection/link.py": ("harness.host.connection.ssh",),
    "harness/host/hosts.py": (
        "dsl.native_library",
        "harness.host.connection.connection",
        "harness.host.environment.releases",
        "harness.host.slurm",
        "harness.host.connection.ssh",
    ),
    "harness/host/environment/own_wheel.py": ("dsl.native_library",),
    "harness/pending.py": (
        "harness.claim.repro_file",
        "harness.comparison.compare",
        "harness.comparison.golden",
        "harness.comparison.unused_goldens",
        "harness.records.history",
        "harness.reporting.text_report",
        "harness.run.result",
        "harness.verdict",
    ),
    "harness/plugin.py": (
        "harness.claim.findings",
        "harness.claim.repro_file",
        "harness.errors",
        "harness.judge",
        "harness.reporting.case_table",
        "harness.reporting.text_report",
        "harness.run.progress",
        "harness.session",
        "harness.shipped_tests",
        "harness.store",
    ),
    "harness/records/history.py": ("harness.host.environment.own_wheel",),
    "harness/reporting/release_table.py": ("harness.store",),
    "harness/run/supervisor.py": ("harness.run.gpu_lock", "harness.run.runner"),
    "harness/session.py": (
        "harness.claim.findings",
        "harness.comparison.golden",
        "harness.comparison.unused_goldens",
        "harness.fleet.door",
        "harness.fleet.events",
        "harness.fleet.fleet",
        "harness.fleet.targets",
        "harness.host.hosts",
        "harness.host.environment.releases",
        "harness.host.settings",
        "harness.judge",
        "harness.records.history",
        "harness.reporting.publish",
        "harness.reporting.release_table",
        "harness.reporting.text_report",
        "harness.run.result",
        "harness.run.transport",
        "harness.verdict",
    ),
}


def _is_module(name: str) -> bool:
    path = ROOT.joinpath(*name.split("."))
    return path.with_suffix(".py").exists() or (path / "__init__.py").exists()


def imports_in_functions(path: Path) -> set[str]:
    """The modules that functions of a file import when they are called."""
    found = set()
    for function in statements(syntax_tree(path)):
        if isinstance(function, ast.FunctionDef | ast.AsyncFunctionDef):
            for node in statements(function):
                if isinstance(node, ast.Import):
                    found |= {alias.name for alias in node.names}
                elif isinstance(node, ast.ImportFrom):
                    names = {f"{node.module}.{alias.name}" for alias in node.names}
                    found |= {name if _is_module(name) else node.module for name in names}
    return found


def test_imports_inside_functions_are_listed():
    found: dict[str, set[str]] = {}
    for path in FILES + ["dsl/__main__.py", "dsl/alias.py"]:
        if not path.startswith("repros"):
            for module in imports_in_functions(ROOT / path):
                if module not in LAZY_OUTSIDE and module.partition(".")[0] not in LAZY_OUTSIDE:
                    found.setdefault(path, set()).add(module)
    assert found == {path: {*modules} for path, modules in LAZY.items()}


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


def test_messages_say_what_must_be_and_what_was_given():
    for path in sorted([*(ROOT / "dsl").rglob("*.py"), *(ROOT / "harness").rglob("*.py")]):
        for node in nodes_of(path):
            if isinstance(node, ast.JoinedStr):
                text = ast.unparse(node)
            elif isinstance(node, ast.Constant) and isinstance(node.value, str):
                text = node.value
            else:
                continue
            assert not RIDDLE.search(text), f"{path}:{node.lineno}: write 'x must be y, got z'"


def test_errors_say_what_to_do():
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
