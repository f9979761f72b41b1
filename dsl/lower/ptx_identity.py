"""PTX that is the same wherever the author's file lies."""

from __future__ import annotations

import hashlib
import re

_FILE_FOLDER = re.compile(r'^(\s*\.file\s+\d+\s+").*/', re.MULTILINE)


def without_folders(ptx: str) -> str:
    """PTX whose `.file` lines name the author's file without its folder."""
    return _FILE_FOLDER.sub(r"\1", ptx)


def ptx_sha256(ptx: str) -> str:
    """A hash of PTX that does not depend on the folder of the author's file."""
    return hashlib.sha256(without_folders(ptx).encode()).hexdigest()
