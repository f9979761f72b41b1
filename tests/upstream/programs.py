"""What is run of NVIDIA/cutlass: where each program lies in its repository, how it is run, and what must come out.

A `test` is a pytest file, run without its conftest (which asks for a GPU and plugins). A `notebook` is run cell by cell
in one process; `expects` is what each cell's output is compared with: the output saved in the file ("saved"), or what
NVIDIA's compiler prints here ("nvidia"). A `program` is run with arguments and must end with status 0.
"""

from __future__ import annotations

from dataclasses import dataclass

_CUTE = "examples/python/CuTeDSL"


@dataclass(frozen=True)
class Program:
    """One file of the repository. `limit_s`: how long it may take."""

    name: str
    kind: str                            # test, notebook, program
    path: str
    arguments: tuple[str, ...] = ()
    expects: str = "saved"               # of a notebook: saved or nvidia
    limit_s: int = 300


def _tests(folder: str, *names: str) -> list[Program]:
    return [Program(f"tests/{name}", "test", f"{folder}/{name}.py") for name in names]


def _notebooks(expects: str, *names: str) -> list[Program]:
    return [Program(f"notebooks/{name}", "notebook", f"{_CUTE}/cute/notebooks/{name}.ipynb", expects=expects)
            for name in names]


PROGRAMS: tuple[Program, ...] = (
    *_tests("test/python/CuTeDSL", "test_numeric_construction", "test_struct_in_if"),
    *_tests("test/examples/CuTeDSL", "test_dataclasses", "test_for_control_flow", "test_math"),
    *_notebooks("saved", "data_types", "print", "hello_world", "cute_layout_algebra"),
    *_notebooks("nvidia", "tensorssa", "tensor", "composed_layout", "elementwise_add", "async_pipeline"),
    Program("tutorials/print_latex", "program", f"{_CUTE}/dsl_tutorials/print_latex.py"),
    Program("tutorials/print_latex_tv", "program", f"{_CUTE}/dsl_tutorials/print_latex.py", ("--tv_layout",)),
    Program("tutorials/dataclass_immutable", "program", f"{_CUTE}/dsl_tutorials/dataclass_immutable.py"),
    Program("tutorials/dynamic_smem_size", "program", f"{_CUTE}/dsl_tutorials/dynamic_smem_size.py"),
    Program("tutorials/smem_allocator", "program", f"{_CUTE}/dsl_tutorials/smem_allocator.py"),
    Program("tutorials/inline_ptx", "program", f"{_CUTE}/dsl_tutorials/inline_ptx.py"),
    Program("tutorials/torch_fake_tensor", "program", f"{_CUTE}/dsl_tutorials/torch_fake_tensor.py"),
    Program("elementwise/elementwise_add", "program", f"{_CUTE}/cute/ampere/kernel/elementwise/elementwise_add.py",
            ("--M", "256", "--N", "256")),
    Program("elementwise/elementwise_apply", "program", f"{_CUTE}/cute/ampere/kernel/elementwise/elementwise_apply.py",
            ("--M", "256", "--N", "256")),
    Program("hopper/cta_norm", "program", f"{_CUTE}/cute/hopper/kernel/cta_norm/cta_norm.py",
            ("--M", "32", "--N", "1024")),
    Program("ampere/memcpy_simt_universal_copy", "program", f"{_CUTE}/cute_ext/ampere/memcpy_simt_universal_copy.py"),
    Program("ampere/sgemm", "program", f"{_CUTE}/cute/ampere/kernel/dense_gemm/sgemm.py", ("--mnk", "128,128,32")),
)
