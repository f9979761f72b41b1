"""Every public name of quadrants 1.3.3 may be imported here; those that are not there are refused where they are used.

Modules tested here: dsl/quadrants/errors/refused_names.py, dsl/quadrants/experimental.py, dsl/quadrants/extension.py,
dsl/quadrants/hints.py, dsl/quadrants/lang/_ndrange.py, dsl/quadrants/lang/exception.py, dsl/quadrants/lang/impl.py,
dsl/quadrants/lang/misc.py, dsl/quadrants/types/annotations.py, dsl/quadrants/types/compound_types.py,
dsl/quadrants/types/enums.py, dsl/quadrants/types/ndarray_type.py.
"""

import importlib
import json
import os
import subprocess
import sys
import types

import pytest

import dsl.quadrants as qd
from dsl.core.diagnosis.unsupported_names import UnsupportedName
from dsl.quadrants.errors import refused_names
from tests import fork_server

MODULES = (
    "",
    "ad",
    "algorithms",
    "experimental",
    "graph",
    "interop",
    "lang",
    "lang.exception",
    "lang.impl",
    "lang.kernel_impl",
    "lang.matrix",
    "lang.misc",
    "lang.ops",
    "lang.simt",
    "lang.snode",
    "lang.struct",
    "lang.util",
    "linalg",
    "math",
    "profiler",
    "simt",
    "simt.block",
    "simt.grid",
    "simt.subgroup",
    "simt.warp",
    "sparse",
    "tools",
    "tools.np2ply",
    "tools.vtk",
    "types",
    "types.annotations",
    "types.compound_types",
    "types.enums",
    "types.ndarray_type",
    "types.primitive_types",
    "types.quant",
    "types.utils",
)
# Names in the real package's modules that come from elsewhere, or that are internal.
NOT_PUBLIC = {
    "arch_uses_spv",
    "make_expr_group",
    "quadrants_scope",
    "qd_python_core",
    "quadrants",
    "impl",
    "core",
    "tile_slicing",
    "reductions",
    "sorting",
    "to_boundary_enum",
    "handle_exception_from_cpp",
    "template",
    "NdarrayTypeMetadata",
    "TYPE_CHECKING",
    "func",
    "i32",
    "u32",
    "kernel_metrics",
    "kernel_profiler",
    "memory_profiler",
    "scoped_profiler",
    "fields_builder",
    "matrixfree_cg",
    "misc",
    "primitive_types",
    "T",
    "sparse_cg",
    "sparse_matrix",
    "sparse_solver",
    "np2ply",
    "diagnose",
    "vtk",
    "utils",
}
WALK = """
import importlib, json, sys, types
found = {}
for name in json.loads(sys.argv[1]):
    module = importlib.import_module("quadrants")
    for part in filter(None, name.split(".")):
        module = getattr(module, part, None) or importlib.import_module("quadrants." + name)
    names = []
    for each in dir(module):
        value = getattr(module, each)
        home = getattr(value, "__module__", "") or ""
        foreign = isinstance(value, types.ModuleType) and not value.__name__.startswith("quadrants")
        if not (each.startswith("_") or foreign or isinstance(home, str) and
                home.split(".")[0] in ("typing", "collections", "functools", "abc", "builtins", "itertools", "os",
                                       "numpy", "contextlib", "dataclasses")):
            names.append(each)
    found[name] = names
print(json.dumps(found))
"""


pytestmark = pytest.mark.usefixtures("running")


def public_names() -> dict[str, list[str]]:
    """The names in the real package, listed in a separate process."""
    done = subprocess.run(
        [sys.executable, "-c", WALK, json.dumps(MODULES)],
        capture_output=True,
        text=True,
        timeout=600,
        env=dict(os.environ, QD_ENABLE_VERSION_CHECK="0"),
    )
    assert done.returncode == 0, done.stderr[-2000:]
    return json.loads(done.stdout.splitlines()[-1])


def imports(module: str, names: list[str]) -> str:
    """A program that imports each, and names those that it cannot."""
    home = f"quadrants{module and '.'}{module}"
    return "".join(
        f"try:\n    from {home} import {name} as _\nexcept ImportError:\n    print('{home}.{name}')\n" for name in names
    )


@pytest.mark.slow
def test_every_public_name_of_the_real_package_can_be_imported(needs_module, tmp_path):
    needs_module("quadrants", "quadrants")
    program = tmp_path / "imports.py"
    program.write_text(
        "".join(
            imports(
                module,
                [name for name in names if name not in NOT_PUBLIC and not (module == "linalg" and hasattr(qd, name))],
            )
            for module, names in public_names().items()
        )
    )
    assert program.read_text().count("try:") > 700
    done = fork_server.run(["-m", "dsl", program])
    assert (done.returncode, done.stdout) == (0, ""), done.stdout + done.stderr


def test_a_refused_name_is_not_ours_and_every_use_raises_an_error_at_its_place():
    count = 0
    for module in refused_names._NAMES:
        for name, found in refused_names.names_of(module).items():
            count += 1
            for use in (
                found,
                lambda f=found: f[0],
                lambda f=found: f.member,
                lambda f=found: list(f),
                lambda f=found: types.new_class("Sub", (f,)),
                lambda f=found: f + 1,
            ):
                with pytest.raises(UnsupportedName) as raised:
                    use()
                assert isinstance(raised.value, qd.QuadrantsCompilationError)
                assert raised.value.message.startswith(f"quadrants{module and '.'}{module}.{name} is not part of")
                assert raised.value.place.file == __file__ and raised.value.fix
            assert not isinstance(3, found)
    assert count == sum(map(len, refused_names._NAMES.values())) > 70


def test_a_refused_name_in_a_kernel_and_in_an_annotation():
    @qd.kernel
    def k(n: int) -> int:
        return qd.frexp(n)

    with pytest.raises(qd.QuadrantsCompilationError) as raised:
        k(3)
    assert str(raised.value).splitlines()[1:] == [
        "    return qd.frexp(n)",
        "           ^^^^^^^^^^^ quadrants.frexp is not part of this compiler: it belongs to splitting a float",
        "fix: take the exponent from qd.bit_cast(x, qd.i32)",
    ]

    @qd.kernel
    def takes(x: qd.BufferView):
        x[0] = 1

    with pytest.raises(UnsupportedName, match="quadrants.BufferView is not part of this compiler") as raised:
        takes(3)
    assert raised.value.place.source_line().strip() == "def takes(x: qd.BufferView):"


@pytest.mark.parametrize(
    "owner, name, meant",
    [
        (qd, "vectr", "Vector"),
        (qd, "feild", "field"),
        (qd, "flaot32", "float32"),
        (qd, "Cuda", "cuda"),
        (qd, "tempalte", "template"),
        (qd.math, "clmp", "clamp"),
        (qd.types, "ndaray", "ndarray"),
        (qd.simt.block, "synk", "sync"),
        (qd.ad, "Tap", "Tape"),
        (qd.simt, "blok", "block"),
    ],
)
def test_a_name_that_nobody_has(owner, name, meant):
    with pytest.raises(AttributeError) as raised:
        getattr(owner, name)
    assert raised.value.fix == f"did you mean `{meant}`?" and raised.value.message.endswith(f"has no `{name}`")
    with pytest.raises(AttributeError) as raised:
        owner.nothing_like_it
    assert "did you mean" not in str(raised.value) and raised.value.fix


def test_hints_change_nothing():
    x = qd.field(qd.i32, 4)

    @qd.pyfunc
    def double(value):
        return value * 2

    @qd.pure
    @qd.kernel
    def k():
        qd.block_local(x)
        qd.cache_read_only(x)
        for i in x:
            x[i] = qd.lang.misc.loop_unique(qd.assume_in_range(double(i), 0, 0, 8)) + qd.global_thread_idx()

    k()
    assert x.to_numpy().tolist() == [0, 3, 6, 9] and double(4) == 8
    qd.set_logging_level(qd.ERROR)
    assert [qd.is_logging_effective(level) for level in (qd.TRACE, qd.ERROR, qd.CRITICAL)] == [False, True, True]
    qd.set_logging_level(qd.INFO)


@pytest.mark.parametrize("module", ["", ".types", ".types.primitive_types", ".lang.exception", ".math"])
def test_every_public_name_is_there(module):
    package = importlib.import_module(f"dsl.quadrants{module}")
    assert [name for name in package.__all__ if name not in vars(package)] == []
    assert len(set(package.__all__)) == len(package.__all__)
