"""Errors of dsl.tirx in the words of a tvm_tirx program: T.function for T.prim_func, tvm_tirx.cuda for tvm.cuda."""

from __future__ import annotations

import contextlib
import re
from collections.abc import Iterator

from dsl.core.errors import DSLUserCodeError
from dsl.tirx.tvm_tirx.rebinding import spelled

_ENTRY = "T.device_entry(launch=T.cuda.LaunchConfig(grid=1, block=128))"
_LAST = "keep it in a variable that is declared before the loop: `last: T.int32 = 0`"
# The spelling in tvm, as a regular expression, and in tvm_tirx; the first that fits is taken.
SPELLINGS = (
    (r"tvm\.compile\(tvm\.IRModule\(\{\"main\": (\w+)\}\), target=", r"tvm_tirx.tirx.compile(\1, target="),
    (r"tvm\.compile\b", "tvm_tirx.tirx.compile"),
    (r"\btvm\.(?=cuda\b|cpu\b|runtime\b|target\b|IRModule\b)", "tvm_tirx."),
    (r"\bT\.prim_func\b", "T.function"),
    (r"\bT\.Buffer\b", "T.Tensor"),
    (r"\bT\.alloc_buffer\b", "T.alloc_tensor"),
    (r"\bT\.(?:decl_buffer|match_buffer)\b", "T.decl_tensor"),
    (r"as many names as extents: `bx, by = T\.cta_id\(\[2, 3\]\)`", "as many names as values"),
    (r"tx = T\.thread_id\(\[128\]\), or T\.warp_id\(\[4\]\) and T\.lane_id\(\[32\]\)", _ENTRY),
    (r"T\.device_entry\(\) before it", f"{_ENTRY} before it"),
    (r"keep it in a register that is declared before the loop: `last = i`", _LAST),
    (r", or pass `strides`", ""),
    (r"\bT\.thread_return\b", "T.gpu_thread_return"),
    (r"T\.parallel, T\.grid or T\.thread_binding", "T.parallel or T.grid"),
    (r"`tx, ty = T\.thread_id\(\[16, 8\]\)` gives one name an axis", 'T.cuda.thread_idx("x") is one axis'),
    (r"(?<![`\w.])register(s?)\b(?! count|[`(])", r"variable\1"),
    (r"(?<![`\w.])buffer(s?)\b(?![`(])", r"tensor\1"),
    (r"\bT\.thread_id\(\[\.\.\.\]\)", 'T.cuda.thread_idx("x")'),
    (r"\bT\.cta_id\(\[\.\.\.\]\)", 'T.cuda.block_idx("x")'),
    (r"the extents of T\.thread_id\b", 'T.cuda.block_dim("x")'),
    (r"the extents of T\.cta_id\b", 'T.cuda.grid_dim("x")'),
    (r"\bapache-tvm\b(?!-)", "apache-tvm-tirx"),
    (r"\bdocs/tirx\.md lists what is\b", "docs/tvm-tirx.md lists what is"),
)


def translated(text: str) -> str:
    """A text about a tvm program as one about a tvm_tirx program."""
    for theirs, ours in SPELLINGS:
        text = re.sub(theirs, ours, text)
    return spelled(text)


@contextlib.contextmanager
def respelled() -> Iterator[None]:
    """Errors that are raised inside get tvm_tirx's words."""
    try:
        yield
    except DSLUserCodeError as error:
        error.message, error.fix = translated(error.message), translated(error.fix)
        error.also = tuple((place, translated(text)) for place, text in error.also)
        raise
