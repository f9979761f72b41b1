"""The parser of compile options written as text; argparse is imported where a program has some."""

from __future__ import annotations

import argparse
from typing import NoReturn

from dsl.core.errors import DSLUserCodeError


class Parser(argparse.ArgumentParser):
    """argparse's, whose errors are the author's."""

    def error(self, message: str) -> NoReturn:
        raise DSLUserCodeError(f"options: {message}", id="CONFIG_MALFORMED_COMPILE_OPTIONS",
                               fix="known: --gpu-arch ARCH, --opt-level 0..3, --keep-ptx, --keep-cubin, "
                                   "--dump-dir FOLDER, --enable-tvm-ffi, --generate-line-info, --enable-assertions")
