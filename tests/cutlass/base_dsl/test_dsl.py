"""cutlass.base_dsl.dsl: the architecture that is compiled for, and what refuses another."""

import pytest

import dsl.cutlass as cutlass
from dsl.core.errors import DSLUserCodeError
from dsl.cutlass import base_dsl, cute
from dsl.cutlass.base_dsl.arch import Arch
from dsl.cutlass.base_dsl.dsl import BaseDSL


@cute.jit
def newest(n: cutlass.Int32):
    BaseDSL._get_dsl().check_arch(lambda arch: arch >= Arch.sm_100)


def test_the_architecture_is_the_options(monkeypatch):
    seen = []

    @cute.jit
    def host(n: cutlass.Int32):
        seen.append(BaseDSL._get_dsl().get_arch_enum())

    cute.compile(host, 1)
    cute.compile(host, 1, options="--gpu-arch sm_80")
    monkeypatch.setenv("CUTE_DSL_ARCH", "sm_89")
    cute.compile(host, 1)
    assert seen == [Arch.sm_90a, Arch.sm_80, Arch.sm_89]
    assert base_dsl.CuTeDSL._get_dsl() is BaseDSL._get_dsl()


def test_another_architecture_is_refused():
    with pytest.raises(DSLUserCodeError) as refused:
        newest(1)
    assert "this needs another architecture than sm_90a, which is compiled for; it runs on sm_100, " in str(
        refused.value
    )


def test_an_architecture_without_a_name_is_refused(monkeypatch):
    monkeypatch.setenv("CUTE_DSL_ARCH", "sm_75")
    with pytest.raises(DSLUserCodeError, match="cutlass.base_dsl.Arch has no `sm_75`"):
        newest(1)
