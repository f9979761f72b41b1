"""Compile options as text, as upstream spells them: "--gpu-arch sm_90a --keep-ptx"."""

from __future__ import annotations

import shlex

from dsl.core.errors import DSLUserCodeError

# Flags and what they set; None: accepted and without effect, lines and assertions are always there.
_FLAGS = {"--keep-ptx": "keep_ptx", "--keep-cubin": "keep_cubin", "--enable-tvm-ffi": "enable_tvm_ffi",
          "--no-cache": "no_cache", "--generate-line-info": None, "--enable-assertions": None}
_VALUES = {"--gpu-arch": "gpu_arch", "--dump-dir": "dump_dir", "--opt-level": "opt_level"}
_FIX = ("known: --gpu-arch ARCH, --opt-level 0..3, --keep-ptx, --keep-cubin, --dump-dir FOLDER, --no-cache, "
        "--enable-tvm-ffi, --generate-line-info, --enable-assertions")


def parse(text: str) -> dict[str, object]:
    """The options that `text` sets, by the names of `compile.Options`. Raises DSLUserCodeError for others."""
    found: dict[str, object] = {}
    words = iter(shlex.split(text))
    for word in words:
        flag, equals, value = word.partition("=")
        if flag in _VALUES:
            value = value if equals else next(words, "")
            if not value or value.startswith("--"):
                raise _malformed(f"{flag} lacks its value")
            found[_VALUES[flag]] = _level(value) if flag == "--opt-level" else value
        elif word in _FLAGS:
            if _FLAGS[word]:
                found[_FLAGS[word]] = True
        else:
            raise _malformed(f"unrecognized arguments: {word}")
    return found


def _level(text: str) -> int:
    if text not in ("0", "1", "2", "3"):
        raise _malformed(f"--opt-level is 0, 1, 2 or 3, and not {text}")
    return int(text)


def _malformed(what: str) -> DSLUserCodeError:
    return DSLUserCodeError(f"options: {what}", id="CONFIG_MALFORMED_COMPILE_OPTIONS", fix=_FIX)
