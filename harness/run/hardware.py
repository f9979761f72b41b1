"""Whether what is said of a device names hardware. Standard library only."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

_STAND_IN = re.compile(r"emulat|stand-?in|simulat", re.IGNORECASE)
_ARCH = re.compile(r"sm_\d{2,3}[af]?", re.ASCII)


def is_stand_in(name: Any) -> bool:
    """Whether a device calls itself so that runs kernels and is no GPU: below its driver is an emulator."""
    return bool(_STAND_IN.search(str(name or "")))


def missing(provenance: Mapping[str, Any]) -> str:
    """What keeps a golden's provenance from naming the GPU that gave it, or ''."""
    if provenance.get("device") != "cuda":
        return f"names the device {provenance.get('device') or 'nowhere'}, which is not a GPU"
    if is_stand_in(provenance.get("gpu")):
        return f"names {provenance['gpu']}, a stand-in for a GPU"
    if not (provenance.get("gpu") or provenance.get("uuid")):
        return "names no GPU"
    if not provenance.get("driver"):
        return "names no driver"
    return "" if _ARCH.fullmatch(str(provenance.get("arch") or "")) else "names no arch"
