"""What `set_dynamic_debug` shows of a statement, and objects whose values have names."""

import dataclasses

import pytest

from dsl.core.errors import DSLUserCodeTypeError
from dsl.cutlass import Float32, Int32, cute
from dsl.cutlass.base_dsl.dsl import (
    debug_print_mlir_values,
    extract_mlir_values,
    new_from_mlir_values,
    set_dynamic_debug,
)


@dataclasses.dataclass
class Point:
    x: Float32
    y: Float32


class Body:
    def __init__(self, at: Point, pulls: list):
        self.at, self.pulls = at, pulls

    def __extract_mlir_values__(self) -> dict:
        pulls = [extract_mlir_values(pull, structured=True) for pull in self.pulls]
        return {"at": extract_mlir_values(self.at, structured=True), "pulls": pulls}

    def __new_from_mlir_values__(self, values: dict):
        pulls = [
            new_from_mlir_values(old, new, structured=True)
            for old, new in zip(self.pulls, values["pulls"], strict=True)
        ]
        return Body(new_from_mlir_values(self.at, values["at"], structured=True), pulls)


@pytest.fixture
def shown():
    set_dynamic_debug(True, max_depth=0)
    yield
    set_dynamic_debug(False)


@cute.jit
def moved(n: Int32, x: Float32):
    body = Body(Point(x, x + 1.0), [Float32(0.5), Int32(2)])
    print(debug_print_mlir_values(body, name="body", types_only=True))
    for i in range(n):
        if i > 1:
            body = Body(Point(body.at.x + body.pulls[0], body.at.y), body.pulls)
    return body.at.x, body.at.y, body.pulls[1]


def test_a_loop_carries_values_with_names(shown, capsys):
    assert moved(5, 1.0) == (2.5, 2.0, 2)
    lines = capsys.readouterr().out.splitlines()
    assert lines[:7] == ["body:", "  at:", "    x: f32", "    y: f32", "  pulls:", "    [0]: f32", "    [1]: i32"]
    place = f"{__file__}:{moved.__wrapped__.__code__.co_firstlineno + 4}"
    assert lines[7:] == [
        "=" * 80,
        f"[Level 0] 'for' at {place}",
        "    for i in range(n):",
        "  body: Body",
        *(f"    body.{each}" for each in ("at.x: f32", "at.y: f32", "pulls[0]: f32", "pulls[1]: i32")),
        "  => 4 values are carried",
        "=" * 80,
    ]


def test_another_structure_is_refused_by_name():
    @cute.jit
    def grows(n: Int32, x: Float32):
        body = Body(Point(x, x), [x])
        for _ in range(n):
            body = Body(body.at, [*body.pulls, x])
        return body.at.x

    with pytest.raises(DSLUserCodeTypeError) as refused:
        grows(3, 1.0)
    assert "`body` is one Body without `.pulls[1]` before this loop and one with it after it" in str(refused.value)

    @cute.jit
    def changes(n: Int32, x: Float32):
        body = Body(Point(x, x), [x])
        for _ in range(n):
            body = Body(Point(x, n), body.pulls)
        return body.at.x

    with pytest.raises(DSLUserCodeTypeError) as refused:
        changes(3, 1.0)
    assert "`body.at.y` is a value of f32 before this loop and one of i32 after it" in str(refused.value)

    @cute.jit
    def misfit(x: Float32):
        new_from_mlir_values(Point(x, x), {"x": [x.ir_value()]}, structured=True)

    with pytest.raises(DSLUserCodeTypeError, match="the structure of the values differs from this Point"):
        misfit(1.0)


def test_a_depth_is_a_number():
    with pytest.raises(DSLUserCodeTypeError, match="max_depth of set_dynamic_debug is a level, got -1"):
        set_dynamic_debug(True, -1)
