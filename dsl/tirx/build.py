"""tvm.compile: traced functions to an object that runs them, and shows the CUDA of their kernels."""

from __future__ import annotations

import functools
from collections.abc import Iterator

from dsl.core.diagnosis import index_guard
from dsl.core.errors import DSLUserCodeError, DSLUserCodeRuntimeError, DSLUserCodeTypeError, DSLUserCodeValueError
from dsl.exceptions import KernelFault
from dsl.launch.call.compiling import compiler as code
from dsl.launch.call.limits import launch_refusal
from dsl.tirx.errors.error_wording import type_name
from dsl.tirx.runtime import Tensor
from dsl.tirx.syntax.function import JitFunction, PrimFunc
from dsl.tirx.target import Target


class IRModule:
    """Functions by name."""

    def __init__(self, functions: dict | None = None, attrs: dict | None = None):
        self.functions = {str(name): _prim_func(function) for name, function in (functions or {}).items()}
        self.attrs = attrs or {}

    def __getitem__(self, name: object) -> PrimFunc:
        return self.functions[str(name)]

    def __iter__(self) -> Iterator[str]:
        return iter(self.functions)

    def __setitem__(self, name: object, function: PrimFunc) -> None:
        self.functions[str(name)] = _prim_func(function)

    @staticmethod
    def from_expr(function: PrimFunc) -> IRModule:
        """A module of one function, under its name."""
        return IRModule({function.attrs["global_symbol"]: function})


def _prim_func(function: object) -> PrimFunc:
    if isinstance(function, JitFunction):
        raise DSLUserCodeTypeError(
            f"`{function.__name__}` is a T.jit function, which has constants to be given first",
            fix=f"{function.__name__}.specialize(...)",
            id="COMPILE_JIT",
        )
    if not isinstance(function, PrimFunc):
        raise DSLUserCodeTypeError(
            f"a module holds T.prim_func functions, got {type_name(function)}",
            fix='tvm.IRModule({"main": f})',
            id="COMPILE_TYPE",
        )
    return function


def compile(
    mod: object,
    target: object = None,
    *,
    relax_pipeline: object = "default",
    tir_pipeline: object = "default",
    **_options: object,
) -> Executable:
    """Compile a function or an IRModule for `target`. Its kernels run on the device that programs run on."""
    return compiled(mod, target, Entry)


def compiled(mod: object, target: object, entry: type[Entry]) -> Executable:
    """The functions of a module for `target`, each as an `entry`."""
    if isinstance(mod, (PrimFunc, JitFunction)):
        mod = IRModule.from_expr(_prim_func(mod))
    if not isinstance(mod, IRModule):
        raise DSLUserCodeTypeError(
            f"tvm.compile takes a T.prim_func or an IRModule, got {type_name(mod)}",
            fix='tvm.compile(tvm.IRModule({"main": f}), target="cuda")',
            id="COMPILE_TYPE",
        )
    chosen = Target.current() if target is None else Target.of(target)
    return Executable({name: entry(function, chosen) for name, function in mod.functions.items()})


build = compile


class Entry:
    """One compiled function."""

    def __init__(self, function: PrimFunc, target: Target | None):
        self.function = function
        kernels = function.traced.kernels
        if function.signature.unlaunchable is not None:
            raise function.signature.unlaunchable
        if kernels and target is not None and target.kind != "cuda":
            raise DSLUserCodeError(
                f"`{function.__name__}` has a device part, but the target is {target.kind}",
                fix='tvm.target.Target({"kind": "cuda", "arch": "sm_90a"})',
                id="COMPILE_TARGET",
            )
        self.has_kernels = bool(kernels)
        self.options = code.Options(gpu_arch=target.arch if target is not None and kernels else None)
        self.compiled = code.compile(function.traced, self.options)

    def __call__(self, *arguments: object) -> None:
        """Run it. Raises TypeError or ValueError for arguments of other types, shapes or alignment."""
        slots, binding = self.function.signature.bind(arguments)
        if self.has_kernels:
            self._check_devices(arguments)
        try:
            self.compiled.call(slots, binding.storages)
        except launch_refusal.LaunchRefused as error:
            raise LaunchRefused(error, self.function) from error
        except KernelFault as error:
            if error.kind == "out_of_bounds":
                error.add_fix(index_guard.fix(error.place, str(error), _extent, _GUARDED_LOAD))
            raise

    def _check_devices(self, arguments: tuple) -> None:
        for (name, _), argument in zip(self.function.signature.parameters, arguments):
            if isinstance(argument, Tensor) and argument.device.kind != "cuda":
                raise DSLUserCodeValueError(
                    f"`{name}` is a tensor on {argument.device.kind}, but the kernel reads GPU memory",
                    id="CALL_DEVICE",
                    fix="tvm.runtime.tensor(x, device=tvm.cuda(0))",
                )


_GUARDED_LOAD = "T.if_then_else({test}, {access}, T.cast(0, {base}.dtype))"


def _extent(base: str, axis: int, _rank: int, _is_element: bool) -> str:
    return f"{base}.shape[{axis}]"


class LaunchRefused(DSLUserCodeRuntimeError):
    """A launch that the device refuses, such as one whose extents exceed the limits of every GPU."""

    def __init__(self, error: launch_refusal.LaunchRefused, function: PrimFunc):
        super().__init__(
            error.message.replace(f"`{error.kernel}`", f"`{function.__name__}`"),
            id="LAUNCH_EXTENT_OUT_OF_RANGE" if error.allowed else error.name,
            also=((error.place, "the kernel"),),
            fix=f"pass numbers that give {error.allowed}, or do not call it" if error.allowed else error.fix,
        )
        self.refused = error

    @property
    def repro_outcome(self) -> dict:
        own = {key: super().repro_outcome[key] for key in ("text", "finding")}
        return (self.refused.repro_outcome or {}) | own


class NoFunction(DSLUserCodeError, AttributeError, KeyError):
    """No function of an Executable has this name."""

    __str__ = DSLUserCodeError.__str__


class Executable:
    """Compiled functions: call it (of one function, or "main"), or `exe["name"](...)`."""

    def __init__(self, entries: dict[str, Entry]):
        self.entries = entries

    def __getitem__(self, name: str) -> Entry:
        if name not in self.entries:
            raise NoFunction(
                f"no function is called {name!r}", id="NO_FUNCTION", fix=f"one of {', '.join(map(repr, self.entries))}"
            )
        return self.entries[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self.entries)

    def __call__(self, *arguments: object, **keywords: object) -> None:
        if keywords:
            raise DSLUserCodeTypeError(
                f"a compiled function takes arguments by their place, got `{min(keywords)}=`",
                id="CALL_ARGUMENTS",
                fix="pass them in the order of the parameters",
            )
        name = "main" if "main" in self.entries else next(iter(self.entries))
        self.entries[name](*arguments)

    @property
    def mod(self) -> Executable:
        return self

    @functools.cached_property
    def imports(self) -> list[DeviceModule]:
        """The device code: one module where there are kernels."""
        with_kernels = [entry for entry in self.entries.values() if entry.function.traced.kernels]
        return [DeviceModule(with_kernels)] if with_kernels else []

    @property
    def cuda_source(self) -> str:
        """The kernels as readable CUDA C++."""
        return "\n".join(module.inspect_source() for module in self.imports)

    def jit(self, *_arguments: object, **_options: object) -> Executable:
        return self


class DeviceModule:
    """The kernels of an Executable."""

    kind = "cuda"

    def __init__(self, entries: list[Entry]):
        self.entries = entries

    def inspect_source(self, fmt: str = "cuda") -> str:
        """The text of the kernels: "cuda" (readable CUDA C++) or "ptx"."""
        if fmt == "ptx":
            return "\n".join(entry.compiled.ptx for entry in self.entries)
        from dsl.launch.call.compiling.readable_text import cuda_source  # most programs never ask

        return "\n".join(cuda_source(entry.function.traced.device_mlir) for entry in self.entries)
