"""The public names of NVIDIA's package, with the parameters of its functions: `python tests/cutlass/upstream_names.py`.

Prints what dsl/cutlass/upstream_names.txt holds. A line `[module]` or `[module.Class]`, and below it the names:
`copy(atom,src,dst)` is callable with these parameters, `(a,*)` with any others too, and `Tensor` is a name alone.
Classes are listed if this project has them under the same name. Uses the standard library and the package alone.
"""

import enum
import importlib
import inspect
import re
import sys
import textwrap
import types
import warnings
from pathlib import Path

# Modules with their names; the others, which these draw from and libraries import, are listed by their own name alone.
MODULES = (
    "cutlass",
    "cutlass.block",
    "cutlass.cuda",
    "cutlass.cute",
    "cutlass.cute.arch",
    "cutlass.cute.export",
    "cutlass.cute.ffi",
    "cutlass.cute.math",
    "cutlass.cute.nvgpu",
    "cutlass.cute.nvgpu.cpasync",
    "cutlass.cute.nvgpu.tcgen05",
    "cutlass.cute.nvgpu.warp",
    "cutlass.cute.nvgpu.warpgroup",
    "cutlass.cute.runtime",
    "cutlass.cute.testing",
    "cutlass.cute.typing",
    "cutlass.cute.viz",
    "cutlass.experimental",
    "cutlass.experimental.cuda",
    "cutlass.experimental.primitives",
    "cutlass.experimental.task_scheduling",
    "cutlass.experimental.task_scheduling.enums",
    "cutlass.experimental.task_scheduling.memory",
    "cutlass.experimental.task_scheduling.resources",
    "cutlass.experimental.task_scheduling.schedule_builder",
    "cutlass.experimental.task_scheduling.task",
    "cutlass.experimental.task_scheduling.task_manager",
    "cutlass.memory",
    "cutlass.pipeline",
    "cutlass.runtime",
    "cutlass.tensor_utils",
    "cutlass.testing",
    "cutlass.torch",
    "cutlass.utils",
    "cutlass.utils.blackwell_helpers",
    "cutlass.utils.distributed",
    "cutlass.utils.gemm",
    "cutlass.utils.hopper_helpers",
    "cutlass.utils.tensor_helpers",
)
SKIPPED = ("cutlass._mlir.", "cutlass.jax.")
AMBIENT = ("self", "cls", "loc", "ip")


def is_of_the_package(name: str, value: object) -> bool:
    """Whether a module's attribute is the package's own: no module or name of another library that it imports."""
    if isinstance(value, types.ModuleType):
        return value.__name__.startswith("cutlass")
    module = str(getattr(value, "__module__", "cutlass"))
    return module.startswith("cutlass") or getattr(sys.modules.get(module), name, None) is not value


def spelt(name: str, value: object) -> str:
    """A name, with its parameters where it can be called."""
    inner = inspect.unwrap(value) if callable(value) else value
    if not isinstance(inner, (types.FunctionType, types.MethodType, type)) or (
        isinstance(inner, type) and issubclass(inner, (BaseException, enum.Enum, int))
    ):
        return name
    try:
        parameters = inspect.signature(inner).parameters.values()
    except (TypeError, ValueError):
        return name
    names = [
        each.name
        for each in parameters
        if each.kind not in (each.VAR_POSITIONAL, each.VAR_KEYWORD)
        and each.name not in AMBIENT
        and not each.name.startswith("_")
    ]
    more = any(each.kind in (each.VAR_POSITIONAL, each.VAR_KEYWORD) for each in parameters)
    return f"{name}({','.join([*names, '*'] if more else names)})"


def public(space: object) -> dict[str, object]:
    found = {}
    for name in getattr(space, "__members__", None) if isinstance(space, enum.EnumType) else dir(space):
        if not name.startswith("_"):
            try:
                found[name] = inspect.getattr_static(space, name) if isinstance(space, type) else getattr(space, name)
            except AttributeError:
                found[name] = None
    return found


def classes() -> dict[str, type]:
    """Classes by the names they are called by; one that is there only as `_Tensor` is `Tensor`."""
    found = {}
    for module in [
        module
        for name, module in sys.modules.items()
        if name.startswith("cutlass") and not name.startswith("cutlass._mlir") and module is not None
    ]:
        for name, value in sorted(vars(module).items()):
            if (
                isinstance(value, type)
                and value.__module__.startswith("cutlass.")
                and not issubclass(value, BaseException)
            ):
                found.setdefault(name.lstrip("_"), []).append(value)
    return found


def ours() -> set[str]:
    """The names of this project's classes."""
    top = Path(__file__).parents[2] / "dsl"
    return {
        name.lstrip("_")
        for path in sorted(top.rglob("*.py"))
        for name in re.findall(r"^class (\w+)", path.read_text(), re.MULTILINE)
    } - {"align", "DSLPreprocessor"}


def main() -> None:
    warnings.simplefilter("ignore")
    import cutlass
    import cutlass.cute

    top = Path(cutlass.__file__).parent
    others = {
        ".".join(("cutlass", *path.relative_to(top).with_suffix("").parts)).removesuffix(".__init__")
        for path in top.rglob("*.py")
    }
    others = [name for name in others if not name.startswith(SKIPPED) and name not in MODULES]
    listed, known = [], ours()
    for name in MODULES:
        module = importlib.import_module(name) if name != "cutlass.cuda" else cutlass.cuda
        names = {each: value for each, value in public(module).items() if is_of_the_package(each, value)}
        listed.append((name, [spelt(each, value) for each, value in names.items()]))
    for name, found in sorted(classes().items()):
        if name in known:
            members = {each: value for cls in found for each, value in public(cls).items()}
            if members:
                listed.append(
                    (
                        f"class {name}",
                        [spelt(each, getattr(value, "__func__", value)) for each, value in sorted(members.items())],
                    )
                )
    print(f"[modules]\n{textwrap.fill(' '.join(sorted(others)), 118, break_on_hyphens=False)}")
    for name, names in listed:
        print(f"[{name}]")
        print(textwrap.fill(" ".join(names), 118, break_long_words=False, break_on_hyphens=False))


if __name__ == "__main__":
    main()
