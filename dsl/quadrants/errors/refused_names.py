"""Names of the real package that this compiler does not have: each may be imported, and is refused where it is used.

The table names what each belongs to, and what to do without it. Names of `quadrants.lang` and of the modules below it
are the real package's own parts. Source: the public names of quadrants 1.3.3
(tests/quadrants/syntax/test_surface.py).
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from importlib.machinery import ModuleSpec
from types import ModuleType
from typing import Any

from dsl.core.diagnosis import spelling
from dsl.core.diagnosis.unsupported_names import UnsupportedName as CoreUnsupportedName
from dsl.quadrants.errors.errors import QuadrantsCompilationError, UnknownAttribute

spelling.register_surface("dsl.quadrants")
_PARTS = "a part of the real package", "use the public names of quadrants"
# The subject of names, what to do without them, and the names: `module: names`, of quadrants itself before the first.
_TABLE = (
    (
        "automatic differentiation",
        "write the derivative as a separate kernel",
        """
     stop_grad ad: FwdMode Tape clear_all_gradients grad_for grad_replaced no_grad types.enums: AutodiffMode
     SNodeGradType""",
    ),
    (
        "sparse structures",
        "place the field by dense(...): every field here is dense",
        """
     activate append deactivate deactivate_all_snodes is_active length rescale_index get_addr sparse_matrix_builder
     types: sparse_matrix_builder types.annotations: sparse_matrix_builder sparse: grid usage
     linalg: LinearOperator MatrixFreeBICGSTAB MatrixFreeCG SparseCG SparseMatrix SparseMatrixBuilder SparseSolver""",
    ),
    (
        "quantised and bit-packed types",
        "take an element type such as qd.i8 or qd.f16",
        """
     BitpackedFields types.quant: fixed float int""",
    ),
    (
        "questions about annotations",
        "ask isinstance(x, qd.Tensor), qd.Field or qd.Ndarray of the value",
        """
     types: is_tensor types.utils: is_tensor types.compound_types: CompoundType types.ndarray_type: CompoundType""",
    ),
    (
        "buffer views",
        "pass the whole array, and an offset",
        """
     BufferView types: BufferViewType buffer_view_type""",
    ),
    ("meshes", "keep the connectivity in arrays", "Mesh MeshInstance mesh_local mesh_patch_idx"),
    ("choosing among kernels by their speed", "call the kernel that is meant", "perf_dispatch"),
    ("clocks of the GPU", "time whole kernels: time.perf_counter() around qd.sync()", "clock_counter clock_freq_hz"),
    ("the capabilities of other devices", "leave it out", "DeviceCapability types.enums: DeviceCapability"),
    ("textures", "use a qd.ndarray", "Format types.enums: Format"),
    ("splitting a float", "take the exponent from qd.bit_cast(x, qd.i32)", "frexp"),
    ("volatile loads", "use qd.atomic_or(x, 0)", "volatile_load"),
    ("other devices", "leave it out", "interop: get_mps_command_queue"),
    (
        "profiling",
        "time whole kernels: time.perf_counter() around qd.sync()",
        """
     profiler: CuptiMetric clear_kernel_profiler_info clear_scoped_profiler_info collect_kernel_profiler_metrics
     get_kernel_profiler_total_time get_predefined_cupti_metrics print_kernel_profiler_info print_memory_profiler_info
     print_scoped_profiler_info query_kernel_profiler_info set_kernel_profiler_metrics set_kernel_profiler_toolkit""",
    ),
    (
        "files of other programs",
        "take the values by to_numpy() and write them",
        """
     tools: PLYWriter write_vtk tools.np2ply: PLYWriter tools.vtk: write_vtk tools.diagnose: main""",
    ),
    (
        "matrices in the registers of a warp",
        "keep the tile in a qd.simt.block.SharedArray",
        "simt: Tile16x16 Tile32x32",
    ),
)
# Modules with nothing but refused names.
MODULES = (
    "ad",
    "interop",
    "linalg",
    "profiler",
    "sparse",
    "tools",
    "tools.diagnose",
    "tools.np2ply",
    "tools.vtk",
    "types.quant",
)


class UnsupportedName(QuadrantsCompilationError, CoreUnsupportedName):
    """A name of the real package's that this compiler does not have."""


class Refused:
    """An unsupported name: every use of it raises UnsupportedName, but isinstance() of it is False."""

    def __init__(self, name: str, feature: str, fix: str):
        self._name, self._feature, self._fix = name, feature, fix

    def refuse(self, *_arguments, **_options):
        raise UnsupportedName(
            f"{self._name} is not part of this compiler: it belongs to {self._feature}", self._fix, "UNSUPPORTED_NAME"
        )

    __call__ = __getitem__ = __setitem__ = __iter__ = __len__ = __enter__ = __mro_entries__ = __bool__ = refuse
    __add__ = __radd__ = __sub__ = __rsub__ = __mul__ = __rmul__ = __int__ = __index__ = __float__ = refuse

    def __exit__(self, *_exception) -> None:
        return None

    def __getattr__(self, name: str):
        if name.startswith("_"):
            raise AttributeError(name)
        self.refuse()

    def __instancecheck__(self, _value: Any) -> bool:
        return False

    def __or__(self, _other: Any) -> Refused:
        return self

    __ror__ = __or__

    def __repr__(self) -> str:
        return f"<{self._name}, which is not part of this compiler>"


def _parsed() -> dict[str, dict[str, Refused]]:
    names: dict[str, dict[str, Refused]] = {}
    for feature, fix, text in _TABLE:
        module = ""
        for word in text.split():
            if word.endswith(":"):
                module = word[:-1]
                continue
            full = ".".join(filter(None, ("quadrants", module, word)))
            names.setdefault(module, {})[word] = Refused(full, feature, fix)
    return names


_NAMES = _parsed()


def names_of(module: str) -> dict[str, Refused]:
    """The refused names of `module` ("" for quadrants itself)."""
    return _NAMES.get(module, {})


def refuser(module: str, names: dict[str, Any]) -> Callable[[str], Any]:
    """The `__getattr__` of a module, whose own names are `names`: refused names, and an error for all others."""

    def missing(name: str) -> Any:
        refused = _NAMES.get(module, {})
        if name in refused:
            return refused[name]
        if name.startswith("__"):
            raise AttributeError(name)
        full = ".".join(filter(None, ("quadrants", module)))
        meant = spelling.alike(name, [*names, *refused])
        raise UnknownAttribute(
            f"{full} has no `{name}`",
            f"did you mean `{meant}`?" if meant else f"use a name that {full} has: docs/quadrants.md lists them",
        )

    return missing


def add_modules() -> None:
    """Make the modules of refused names importable."""
    for name in MODULES:
        full = f"dsl.quadrants.{name}"
        stub = ModuleType(full, f"`quadrants.{name}`: names that are refused where they are used.")
        stub.__spec__ = ModuleSpec(full, None, is_package=True)
        stub.__path__ = []
        stub.__getattr__ = refuser(name, names_of(name))
        stub.__dir__ = lambda name=name: sorted(names_of(name))
        sys.modules[full] = stub
        parent, _, leaf = full.rpartition(".")
        setattr(sys.modules[parent], leaf, stub)


def inner(module: str) -> Callable[[str], Any]:
    """The `__getattr__` of a module of quadrants.lang: a name of quadrants, or a part of the real package."""

    def missing(name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        public = _NAMES[""] | vars(sys.modules["dsl.quadrants"])
        return public[name] if name in public else Refused(f"quadrants.{module}.{name}", *_PARTS)

    return missing
