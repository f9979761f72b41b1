"""Cubins and SASS of a text, made once: what ptxas and nvdisasm gave is found again in the disk cache."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence

from dsl.launch import disk_cache
from dsl.launch.disk_cache import Cache
from dsl.lower import sass

_END = b"\0"  # of a log, which is text


def cubin(ptx: str, arch: str, options: Sequence[str] = (), cache: Cache | None = None) -> bytes:
    """The cubin that ptxas makes of `ptx`. Raises sass.ToolMissing, or sass.ToolRejected (which is not kept)."""
    return _once("ptxas", (ptx, arch, tuple(options)), lambda: sass.assemble(ptx, arch, options), cache)


def cubin_and_log(ptx: str, arch: str) -> tuple[bytes, str]:
    """The cubin, and what `ptxas -v` printed about registers, stack and spills. Raises as `cubin` does."""

    def make() -> bytes:
        made, log = sass.assemble_verbose(ptx, arch)
        return log.encode() + _END + made

    log, _, made = _once("ptxas", (ptx, arch, "-v"), make, None).partition(_END)
    return made, log.decode()


def disassembly(cubin: bytes, options: Sequence[str] | None = None) -> str:
    """SASS text of every kernel in `cubin`. Raises sass.ToolMissing, sass.ToolRejected."""
    inputs = (cubin, None if options is None else tuple(options))
    return _once("nvdisasm", inputs, lambda: sass.disassemble(cubin, options).encode(), None).decode()


def _once(tool: str, inputs: tuple, make: Callable[[], bytes], cache: Cache | None) -> bytes:
    """The tool's output for `inputs`; `cache` is the one that the environment names where it is not given."""
    cache = cache or disk_cache.current()
    if cache is None:
        return make()
    path = sass.find(tool)
    status = os.stat(path)
    key = disk_cache.key(tool, path, status.st_size, status.st_mtime_ns, *inputs)
    output = cache.get(key)
    if output is None:
        output = make()
        cache.put(key, output)
    return output
