"""Triton as a compiler of PTX: no GPU, no torch."""

import pytest

CAPABILITIES = {"h100": 90, "b200": 100}


@pytest.fixture
def triton(needs_module, tmp_path, monkeypatch):
    """Triton, which keeps nothing of another test."""
    monkeypatch.setenv("TRITON_CACHE_DIR", str(tmp_path))
    monkeypatch.setenv("TRITON_DEFAULT_FP_FUSION", "1")
    return needs_module("triton", "dev")


def _compiler(source_of, kernels):
    from triton import compile as triton_compile
    from triton.backends.compiler import GPUTarget

    from tests.emulator.triton.compiled_kernel import CompiledKernel

    def compile_(name: str, types: dict[str, str], constants: dict, warps: int, gpu_model: str = "h100"):
        signature = types | dict.fromkeys(constants, "constexpr")
        pointers = (i for i, kind in enumerate(types.values()) if not kind.startswith("tensordesc"))
        aligned = {(i,): [["tt.divisibility", 16]] for i in pointers}
        source = source_of(fn=getattr(kernels, name), signature=signature, constexprs=constants, attrs=aligned)
        options = {"num_warps": warps, "num_stages": 3}
        made = triton_compile(source, target=GPUTarget("cuda", CAPABILITIES[gpu_model], 32), options=options)
        described = made.metadata.tensordesc_meta or []
        return CompiledKernel(
            gpu_model,
            made.asm["ptx"],
            made.metadata.shared,
            made.metadata.global_scratch_size,
            tuple(tuple(each["block_size"]) for each in described),
            tuple(each["swizzle"] for each in described),
        )

    return compile_


@pytest.fixture
def compiled(triton):
    """A function that compiles a kernel of kernels.py; types are as in Triton: *fp16, tensordesc<fp16[64, 64]>."""
    from triton.compiler import ASTSource

    from tests.emulator.triton import kernels

    return _compiler(ASTSource, kernels)


@pytest.fixture
def compiled_gluon(triton):
    """The same of gluon_kernels.py; the type of a descriptor names its layout too."""
    from triton.experimental.gluon._runtime import GluonASTSource

    from tests.emulator.triton import gluon_kernels

    return _compiler(GluonASTSource, gluon_kernels)
