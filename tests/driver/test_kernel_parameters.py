"""Names of parameters from the text of kernels. nvcc mangles the names of functions so."""

import pytest

from dsl.driver.kernel_parameters import names_of

TEXT = """
#include <cuda_runtime.h>
void add(int *a, int b);  // add(int, int) of the host
namespace a { template <int N, typename T>
__global__ void __launch_bounds__(128) tile(const T *__restrict__ source, T (*table)[4], int count = N /* , x */) {}
}
extern "C" __global__ void add(float *out, const float *const in[], std::pair<int, int> both) { other(out, in, both); }
__global__ void none() {}
__global__ void twice(int *first);
__global__ void twice(int *one, int *two) {}
KERNEL(made)(int *p) {}
"""


@pytest.mark.parametrize(
    ("mangled", "count", "names"),
    [
        ("_ZN1a4tileILi4EiEEvPKT0_PA4_S1_i", 3, ()),  # a pointer to an array has its name within brackets
        ("add", 3, ("out", "in", "both")),
        ("add", 2, ()),
        ("_Z4nonev", 0, ()),
        ("_Z5twicePi", 1, ("first",)),
        ("_Z5twicePiS_", 2, ("one", "two")),
        ("_Z4madePi", 1, ()),
        ("_Z5otherPi", 1, ()),
    ],
)
def test_names(mangled, count, names, tmp_path):
    (tmp_path / "k.cu").write_text(TEXT)
    assert names_of(mangled, count, [str(tmp_path / "missing.cu"), str(tmp_path / "k.cu")]) == names


def test_templates_and_namespaces(tmp_path):
    (tmp_path / "k.cu").write_text(TEXT.replace("T (*table)[4]", "T table[][4]"))
    name = "_ZN1a4tileILi4EiEEvPKT0_PA4_S1_i"
    assert names_of(name, 3, [str(tmp_path / "k.cu")]) == ("source", "table", "count")
