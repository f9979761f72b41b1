"""What Quadrants' test files use of their `tests.test_utils` and conftest, for one architecture: ARCH.

Written from how those files use it: `test(arch, exclude, require, **options)` parametrises a case over the
architectures it names and gives it a fresh `qd.init(arch, **options)`; `approx` and `allclose` compare.
"""

import copy
import sys
import types

import pytest
import quadrants as qd

ARCH = qd.cpu  # drive.py sets it


def _flat(archs) -> list:
    if archs is None:
        return []
    return list(archs) if isinstance(archs, (list, tuple, set)) else [archs]


def _excluded(exclude) -> bool:
    """Does a list of architectures, systems and (architecture, system) pairs name ARCH on this system?"""
    for entry in _flat(exclude):
        arch, system = (*entry, None)[:2] if isinstance(entry, (list, tuple)) else (entry, None)
        if arch == ARCH and system in (None, sys.platform.capitalize()):
            return True
    return False


def test(arch=None, exclude=None, require=None, **options):
    """A case that runs after qd.init(arch=ARCH, **options), or is skipped where it names other architectures."""
    runs = (not _flat(arch) or ARCH in _flat(arch)) and not _excluded(exclude)

    def decorate(function):
        function.__qd_test__ = True
        if not runs:
            return pytest.mark.skip(reason="No supported archs")(function)
        return pytest.mark.parametrize("req_arch,req_options", [(ARCH, copy.deepcopy(options))], ids=["arch=cpu"])(
            function
        )

    return decorate


test.__test__ = False


class _KernelTypes(types.ModuleType):
    """A module of the real package's inside, whose names files import that mostly test what users see."""

    def __getattr__(self, name):
        if name.startswith("__"):
            raise AttributeError(name)
        return type(name, (), {})


sys.modules.setdefault("quadrants.lang._kernel_types", _KernelTypes("quadrants.lang._kernel_types"))


class _Truth:
    """Equal to whatever has the same truth: a kernel gives 1 where Python has True."""

    def __init__(self, value: bool):
        self.value = value

    def __eq__(self, other):
        return bool(other) == self.value


def approx(expected, **tolerance):
    """pytest.approx, with a relative tolerance of at least 1e-6; of a bool, its truth."""
    if isinstance(expected, bool):
        return _Truth(expected)
    return pytest.approx(expected, **tolerance | {"rel": max(tolerance.get("rel", 0.0), get_rel_eps())})


def allclose(x, y, **tolerance) -> bool:
    return x == approx(y, **tolerance)


def get_rel_eps() -> float:
    return 1e-6


def expected_archs() -> list:
    return [ARCH]


def skip_if_f64_unsupported(dtype) -> None:
    """cpu has f64."""


def torch_op(**_):
    pytest.skip("autograd is not part of the subset")


# ** as a plugin: what their conftest does


@pytest.fixture(autouse=True)
def wanted_arch(req_arch, req_options):
    if req_arch is not None:
        qd.init(arch=req_arch, enable_fallback=False, **{"print_full_traceback": True} | req_options)
    yield
    if req_arch is not None:
        qd.reset()


def pytest_generate_tests(metafunc):
    if not getattr(metafunc.function, "__qd_test__", False):
        metafunc.parametrize("req_arch,req_options", [(None, None)], ids=["none"])


# ** what files import from the package's own tools for tests


def qd_init_same_arch(**options) -> None:
    """Begin again on the same architecture."""
    qd.init(arch=ARCH, **options)


def load_kernel_from_string(*_arguments):
    pytest.skip("kernels of a string are loaded by the package's own tools")


def _depth_for(n: int) -> int:
    """The least d with 256 ** d >= n, which is at least 1."""
    return next(depth for depth in range(1, 5) if 256**depth >= n)


_reduce, _radix_sort = (types.ModuleType(f"quadrants.algorithms.{name}") for name in ("_reduce", "_radix_sort"))
_reduce._reduce_depth_for_n = _radix_sort._min_log256_for_n = _depth_for
sys.modules |= {module.__name__: module for module in (_reduce, _radix_sort)}
_tools, _loader = (types.ModuleType(f"quadrants._test_tools{name}") for name in ("", ".load_kernel_string"))
_tools.qd_init_same_arch, _tools.__path__ = qd_init_same_arch, []
_loader.load_kernel_from_string = load_kernel_from_string
sys.modules |= {module.__name__: module for module in (_tools, _loader)}
