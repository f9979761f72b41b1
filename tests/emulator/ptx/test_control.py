"""The items that a branch decides about: on one of its paths, up to where all paths meet."""

import pytest

from dsl.emulator.ptx.control import Regions
from dsl.emulator.ptx.parse import parse
from tests.emulator.conftest import HEADER


def decided(body: str) -> list[str]:
    """The texts of the instructions that the first guarded branch decides about."""
    (function,) = parse(f"{HEADER}.visible .entry k() {{ .reg .pred %p; .reg .b32 %r; {body} }}").functions.values()
    position = next(at for at, item in enumerate(function.items) if getattr(item, "guard", None) is not None)
    regions = Regions(function)
    blocks = regions.decided(regions.block_of[position])
    items = [item for block, item in zip(regions.block_of, function.items, strict=True) if block in blocks]
    return [item.text.rstrip(";") for item in items if hasattr(item, "text")]


@pytest.mark.parametrize("body, texts", [
    ("@%p bra A; mov.u32 %r, 1; A: mov.u32 %r, 2; ret;", ["mov.u32 %r, 1"]),
    ("@%p bra A; mov.u32 %r, 1; bra B; A: mov.u32 %r, 2; B: mov.u32 %r, 3; ret;",
     ["mov.u32 %r, 1", "bra B", "mov.u32 %r, 2"]),
    ("@%p ret; mov.u32 %r, 1; ret;", ["mov.u32 %r, 1", "ret"]),
    ("A: mov.u32 %r, 1; @%p bra A; mov.u32 %r, 2; ret;", ["mov.u32 %r, 1", "@%p bra A"]),
    ("@%p bra A; A: mov.u32 %r, 2; ret;", []),
])  # fmt: skip
def test_items_that_a_branch_decides(body, texts):
    assert decided(body) == texts
