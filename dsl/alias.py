"""The import alias: `import cutlass` gives `dsl.cutlass`, one module object under both names.

Only `python -m dsl`, the harness's runner and tests install it; importing dsl does not.
"""

from __future__ import annotations

import contextlib
import importlib
import importlib.util
import sys
from collections.abc import Collection
from importlib.machinery import ModuleSpec
from types import ModuleType

ALIASES = {"cutlass": "dsl.cutlass", "quadrants": "dsl.quadrants", "tvm": "dsl.tirx", "tvm_tirx": "dsl.tirx.tvm_tirx"}
COMPILERS = ("ours", "nvidia")


class _Loader:
    """Hands out a module that is already imported under its own name."""

    def __init__(self, target: str):
        self.target = target

    def create_module(self, spec: ModuleSpec) -> ModuleType:
        module = importlib.import_module(self.target)
        self.own_spec = module.__spec__
        return module

    def exec_module(self, module: ModuleType) -> None:
        module.__spec__ = self.own_spec


class _Finder:
    def find_spec(self, fullname: str, path=None, target=None) -> ModuleSpec | None:
        root, _, rest = fullname.partition(".")
        if root not in ALIASES or (root == "tvm" and "tilelang" in sys.modules):  # TileLang brings its tvm
            return None
        real = ALIASES[root] + ("." + rest if rest else "")
        try:
            spec = importlib.util.find_spec(real)
        except ModuleNotFoundError:
            spec = None
        if spec is None:
            from dsl.core.diagnosis.unsupported_names import missing_module  # noqa: PLC0415

            missing_module(fullname)
            spec = sys.modules[real].__spec__
        assert spec is not None
        return importlib.util.spec_from_loader(
            fullname, _Loader(real), is_package=spec.submodule_search_locations is not None
        )


_finder = _Finder()


def install(device: str | None = None, compiler: str = "ours"):
    """Make the aliases importable and choose the device: "emulator", "cuda" or None (cuda where there is one).

    If the compiler is "nvidia", the names stay the names of NVIDIA's package, which compiles for that device. Returns
    the launch session, whose `facts()` lists what was compiled and launched. Raises RuntimeError if the other compiler
    was imported before, and launch.nvidia.hook.CompilerMissing.
    """
    if compiler == "nvidia":
        from dsl.launch.nvidia import hook  # noqa: PLC0415

        return hook.start(device)
    if compiler != "ours":
        raise ValueError(f"unknown compiler {compiler!r}; known: {', '.join(COMPILERS)}")
    for name, target in ALIASES.items():
        if name in sys.modules and sys.modules[name] is not sys.modules.get(target):
            raise RuntimeError(
                f"{name} is already imported from {sys.modules[name].__file__}: "
                "run the program with `python -m dsl FILE`"
            )
    if _finder not in sys.meta_path:
        sys.meta_path.insert(0, _finder)
    from dsl.launch import session  # noqa: PLC0415

    return session.start(device)


_STARTING = ("torch._dynamo.backends", "torch._inductor.", "torch.utils._triton")


def used(leave_out: Collection[str] = ()) -> list[str]:
    """Modules of this package and of torch that are imported by now. `torch.testing.assert_close` imports 500 modules
    at its first call, `torch.compiler.disable` as many. Modules of torch's compilers that start processes are left out,
    and those that `leave_out` names."""
    modules = [name for name in sys.modules if name.startswith(("dsl.", "torch.")) and not name.startswith(_STARTING)]
    return sorted(name for name in modules if not any(f"{name}.".startswith(f"{each}.") for each in leave_out))


def warm_as(before: list[str]) -> None:
    """Import what another process `used`, for a parent that forks."""
    for name in before:
        with contextlib.suppress(ImportError):  # a module without a file, which the other process made
            importlib.import_module(name)


def warm(compiler: str = "ours") -> None:
    """Do what the first compile and the first launch on the emulator would do once, for a parent that forks."""
    from dsl.emulator.machine import native

    native.address("emu_run_block")  # the library
    if compiler == "nvidia":
        from dsl.launch.nvidia import hook  # noqa: PLC0415

        hook.prepare("emulator")
    else:
        from dsl.core.ir import mlir  # noqa: PLC0415
        from dsl.launch import session  # noqa: PLC0415
        from dsl.lower import llvm  # noqa: PLC0415

        session.compiler_facts()
        llvm.all_targets()
        llvm.native_target()
        mlir.Module().declare("warm", "llvm.func @warm()")


def uninstall() -> None:
    """Take the aliases back: later imports of the names find the real packages. NVIDIA's modules stay."""
    if _finder in sys.meta_path:
        sys.meta_path.remove(_finder)
        for name in [name for name in sys.modules if name.partition(".")[0] in ALIASES]:
            del sys.modules[name]
    from dsl.launch import session  # noqa: PLC0415

    session.stop()
