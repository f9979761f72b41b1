"""Whether the description of a device names hardware: a GPU, its UUID, and a driver that runs kernels on it.

Software can answer for a driver: the emulator, or a stand-in in a test. It has no version of NVIDIA's kernel module and
no UUID that NVIDIA gave.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from harness.terminal import one_line

_SHOWN = 100  # characters
_STAND_IN = re.compile(r"emulat|stand-?in|simulat", re.IGNORECASE)
_ARCH = re.compile(r"sm_\d{2,3}[af]?", re.ASCII)
_DRIVER = re.compile(r"\d{3,4}(\.\d{1,4}){0,3}", re.ASCII)  # 580.65.06; "CUDA 13.0" is only what a library answers
_UUID = re.compile(r"(GPU-)?[0-9a-f]{8}-?[0-9a-f]{4}-?[0-9a-f]{4}-?[0-9a-f]{4}-?[0-9a-f]{12}", re.ASCII | re.IGNORECASE)


def is_stand_in(name: Any) -> bool:
    """Whether a device calls itself so that runs kernels and is no GPU: below its driver is an emulator."""
    return bool(_STAND_IN.search(str(name or "")))


def missing(device: Mapping[str, Any]) -> str:
    """The reason why a device's facts (kind, name, driver, uuid, arch) do not name a GPU, or ''."""
    about = (device.get(key) for key in ("kind", "name", "driver", "uuid"))
    kind, name, driver, uuid = (None if one is None else one_line(str(one)[:_SHOWN]) for one in about)
    if kind != "cuda":
        return f"names the device {kind or 'nowhere'}, which is not a GPU"
    if is_stand_in(name):
        return f"names {name}, a stand-in for a GPU"
    if not str(name or "").strip():
        return "names no GPU"
    if not driver:
        return "names no driver"
    if not _DRIVER.fullmatch(str(driver)):
        return f"names the driver {driver}, which is not a version of NVIDIA's driver"
    if not uuid:
        return "names no UUID of the GPU"
    if not _is_given(str(uuid)):
        return f"names the UUID {uuid}, which is not the UUID of a GPU"
    return "" if _ARCH.fullmatch(str(device.get("arch") or "")) else "names no arch"


def describe(device: Mapping[str, Any]) -> str:
    """`NVIDIA H100, driver 580.65.06, UUID 9f1e...`"""
    return f"{device.get('name')}, driver {device.get('driver')}, UUID {device.get('uuid')}"


def of_provenance(provenance: Mapping[str, Any]) -> dict[str, Any]:
    """The device's facts in a golden's provenance."""
    about = {key: provenance.get(key) for key in ("driver", "uuid", "arch")}
    return about | {"kind": provenance.get("device"), "name": provenance.get("gpu")}


def _is_given(uuid: str) -> bool:
    """Whether it is 16 bytes that are neither one value nor text, as software fills them."""
    if not _UUID.fullmatch(uuid):
        return False
    data = bytes.fromhex(uuid.upper().removeprefix("GPU-").replace("-", ""))
    return len(set(data)) > 1 and not all(32 <= byte < 127 for byte in data)
