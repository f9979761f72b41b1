"""Compile options as text, as upstream spells them: "--gpu-arch sm_90a --keep-ptx"."""

from __future__ import annotations

import os
import shlex
from typing import Any

from dsl.core.errors import DSLUserCodeError

# Flags and what they set; None: accepted and without effect, lines and assertions are always there.
_FLAGS = {
    "--keep-ptx": "keep_ptx",
    "--keep-cubin": "keep_cubin",
    "--keep-sass": "keep_sass",
    "--enable-tvm-ffi": "enable_tvm_ffi",
    "--no-cache": "no_cache",
    "--generate-line-info": None,
    "--enable-assertions": None,
}
_VALUES = {
    "--gpu-arch": "gpu_arch",
    "--dump-dir": "dump_dir",
    "--opt-level": "opt_level",
    "--ptxas-options": "ptxas_options",
    "--nvdisasm-options": "nvdisasm_options",
    "--link-libraries": "link_libraries",
    "--host-target": "host_target",
}
# Options of upstream's that have no meaning here, and why.
_REFUSED = {
    "--rdc": "relocatable code is not supported: kernels are whole programs",
    "--link-libraries": "bitcode of other compilers is not linked here; write it as inline PTX",
    "--host-target": "host functions are compiled for this machine, which runs them",
    "--device-target": "a @cute.jit function is compiled for the host here",
    "--enable-pyir": "there is one front end here, with the meaning of upstream's default one",
    "--frontend-next": "there is one front end here, with the meaning of upstream's default one",
    "--remark-filter": "remarks of passes are not supported",
    "--remark-output": "remarks of passes are not supported",
    "--flatten-locs-output-json-path": "places are in the PTX, as .loc lines",
    "--disable-cute-ext-compile": "there are no compiler extensions to switch off",
}
_FIX = (
    "known: --gpu-arch ARCH, --opt-level 0..3, --keep-ptx, --keep-cubin, --keep-sass, --dump-dir FOLDER, "
    "--ptxas-options OPTIONS, --nvdisasm-options OPTIONS, --no-cache, --enable-tvm-ffi, --generate-line-info, "
    "--enable-assertions"
)
_KEPT = ("ptx", "cubin", "sass", "ir")


def parse(text: str) -> dict[str, Any]:
    """The options that `text` sets, by the names of `compile.Options`. Raises DSLUserCodeError for others."""
    options: dict[str, Any] = {}
    words = iter(shlex.split(text))
    for word in words:
        flag, equals, value = word.partition("=")
        if flag in _VALUES:
            value = value if equals else next(words, None)
            if value is None or (flag != "--ptxas-options" and value.startswith("--")):
                raise _malformed(f"{flag} lacks its value")
            if flag in _REFUSED:
                if value:
                    raise _without_meaning(flag)
                continue
            if not value and flag not in ("--ptxas-options", "--nvdisasm-options"):
                raise _malformed(f"{flag} lacks its value")
            options[_VALUES[flag]] = _level(value) if flag == "--opt-level" else value
        elif word in _FLAGS:
            if _FLAGS[word]:
                options[_FLAGS[word]] = True
        elif flag in _REFUSED:
            raise _without_meaning(flag)
        else:
            raise _malformed(f"unrecognized arguments: {word}")
    return options


def environment() -> set[str]:
    """What CUTE_DSL_KEEP (ptx, cubin, sass, ir or all) and the older CUTE_DSL_KEEP_PTX=1 ask to be written."""
    named = {word.strip().lower() for word in os.environ.get("CUTE_DSL_KEEP", "").split(",")} - {""}
    named |= {kind for kind in _KEPT if os.environ.get(f"CUTE_DSL_KEEP_{kind.upper()}", "0") not in ("", "0")}
    unknown = named - {*_KEPT, "all", "ir-debug"}
    if unknown:
        raise DSLUserCodeError(
            f"CUTE_DSL_KEEP does not support {min(unknown)}",
            fix="CUTE_DSL_KEEP=ptx,cubin,sass,ir, or all",
            id="CONFIG_MALFORMED_COMPILE_OPTIONS",
        )
    return set(_KEPT) if "all" in named else {"ir" if word == "ir-debug" else word for word in named}


def _level(text: str) -> int:
    if text not in ("0", "1", "2", "3"):
        raise _malformed(f"--opt-level must be 0, 1, 2 or 3, got {text}")
    return int(text)


def _without_meaning(flag: str) -> DSLUserCodeError:
    return DSLUserCodeError(
        f"options: {flag} is not supported here: {_REFUSED[flag]}",
        fix=f"leave {flag} out",
        id="CONFIG_MALFORMED_COMPILE_OPTIONS",
    )


def _malformed(what: str) -> DSLUserCodeError:
    return DSLUserCodeError(f"options: {what}", id="CONFIG_MALFORMED_COMPILE_OPTIONS", fix=_FIX)
