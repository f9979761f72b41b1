"""Targets: kinds and architectures by text, by table, and which is in force."""

import pytest

from dsl.core.errors import DSLUserCodeError
from dsl.tirx.target import Target


@pytest.mark.parametrize(
    "given, kind, arch, text",
    [
        ("cuda", "cuda", None, "cuda"),
        ("cuda -arch=sm_90a", "cuda", "sm_90a", "cuda -arch=sm_90a"),
        ({"kind": "cuda", "arch": "sm_80"}, "cuda", "sm_80", "cuda -arch=sm_80"),
        ("llvm", "llvm", None, "llvm"),
        (Target("cuda -arch=sm_90"), "cuda", "sm_90", "cuda -arch=sm_90"),
    ],
    ids=str,
)
def test_kinds_and_architectures(given, kind, arch, text):
    target = Target(given)
    assert (target.kind, target.arch, str(target), repr(target)) == (kind, arch, text, f"Target({text!r})")
    assert Target.of(target) is target


@pytest.mark.parametrize(
    "given, message",
    [("rocm", "unsupported target kind 'rocm'"), ("cuda -arch=sm_x", "unknown CUDA architecture 'sm_x'")],
)
def test_unknown_targets_are_refused(given, message):
    with pytest.raises(DSLUserCodeError) as error:
        Target(given)
    assert error.value.message == message and error.value.fix


def test_the_innermost_with_is_in_force():
    outer, inner = Target("cuda"), Target("llvm")
    assert Target.current() is None
    with outer:
        with inner:
            assert Target.current() is inner
        assert Target.current() is outer
    assert Target.current() is None
