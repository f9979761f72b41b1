"""PTX, cubin, SASS and MLIR that a compile keeps with the code that runs, as files and on the compiled function."""

from __future__ import annotations

import functools
import os
import shlex
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from dsl.core.errors import DSLUserCodeError
from dsl.launch import machine_code
from dsl.launch.call.compiling.compile_options import environment
from dsl.lower import sass


class Kept:
    """The texts of one compile. Raises sass.ToolMissing where ptxas or nvdisasm is wanted and not installed."""

    def __init__(self, name: str, arch: str, ptx: str, mlir: Callable[[], str], options: Any):
        self.name, self.arch, self.ptx, self.mlir, self.options = name, arch, ptx, mlir, options

    @functools.cached_property
    def cubin(self) -> bytes:
        """The cubin that ptxas makes of the PTX. Raises DSLUserCodeError if ptxas does not take its options."""
        flags = shlex.split(self.options.ptxas_options)
        try:
            return machine_code.cubin(self.ptx, self.arch, flags)
        except sass.ToolRejected as error:
            if not flags:
                raise
            raise _refused("--ptxas-options", self.options.ptxas_options, error) from None

    @functools.cached_property
    def sass(self) -> str:
        """The cubin as nvdisasm shows it."""
        flags = self.options.nvdisasm_options
        try:
            return machine_code.disassembly(self.cubin, None if flags is None else shlex.split(flags))
        except sass.ToolRejected as error:
            if flags is None:
                raise
            raise _refused("--nvdisasm-options", flags, error) from None

    def write(self) -> None:
        """Write the files that the options and CUTE_DSL_KEEP ask for; try `--ptxas-options` in any case."""
        if not self.ptx:
            return
        if self.options.ptxas_options:
            self.cubin  # noqa: B018 (ptxas names the options that it does not take)
        wanted = list(self._wanted())
        if not wanted:
            return
        folder = Path(self.options.dump_dir or os.environ.get("CUTE_DSL_DUMP_DIR") or ".")
        folder.mkdir(parents=True, exist_ok=True)
        for ending in wanted:
            content = self.mlir() if ending == "mlir" else getattr(self, ending)
            content = content if isinstance(content, bytes) else content.encode()
            (folder / f"{self.name}.{self.arch}.{ending}").write_bytes(content)

    def _wanted(self) -> Iterator[str]:
        named = environment()
        for ending in ("ptx", "cubin", "sass"):
            if getattr(self.options, f"keep_{ending}") or ending in named:
                yield ending
        if "ir" in named:
            yield "mlir"


def _refused(flag: str, text: str, error: sass.ToolRejected) -> DSLUserCodeError:
    said = error.text.partition("\n")[0].rpartition(" : ")[2]
    return DSLUserCodeError(
        f"options: {error.tool} refuses {flag} '{text}': {said}",
        id="CONFIG_MALFORMED_COMPILE_OPTIONS",
        fix=f"`{error.tool} --help` lists its options",
    )
