"""A launch's configuration: CUlaunchConfig of the driver, read as a Launch."""

from __future__ import annotations

import ctypes
import importlib

from dsl.core.trace import COOPERATIVE, PROGRAMMATIC
from dsl.launch.devices.protocol import DeviceError, Launch


class LaunchAttribute(ctypes.Structure):
    """CUlaunchAttribute, its value as words."""

    _fields_ = [("id", ctypes.c_uint32), ("padding", ctypes.c_uint32), ("value", ctypes.c_uint32 * 16)]


class LaunchConfig(ctypes.Structure):
    """CUlaunchConfig."""

    _fields_ = [
        ("grid", ctypes.c_uint32 * 3),
        ("block", ctypes.c_uint32 * 3),
        ("smem_bytes", ctypes.c_uint32),
        ("stream", ctypes.c_void_p),
        ("attributes", ctypes.POINTER(LaunchAttribute)),
        ("attribute_count", ctypes.c_uint32),
    ]


CLUSTER_DIMENSION, COOPERATIVE_LAUNCH, STREAM_SERIALIZATION = 4, 2, 6  # CUlaunchAttributeID
COMPLETION_EVENT, PROGRAMMATIC_EVENT = 12, 7


def launch_of(config: LaunchConfig) -> Launch:
    """The launch a configuration describes. Raises DeviceError for an attribute that is set and not known here."""
    cluster, flags, events = (1, 1, 1), 0, {COMPLETION_EVENT: 0, PROGRAMMATIC_EVENT: 0}
    for attribute in config.attributes[: config.attribute_count]:
        if attribute.id == CLUSTER_DIMENSION:
            cluster = tuple(attribute.value[:3])
        elif attribute.id == COOPERATIVE_LAUNCH:
            flags |= COOPERATIVE if attribute.value[0] else 0
        elif attribute.id == STREAM_SERIALIZATION:
            flags |= PROGRAMMATIC if attribute.value[0] else 0
        elif attribute.id in events:
            events[attribute.id] = attribute.value[0] | attribute.value[1] << 32
        elif attribute.value[0]:
            driver = importlib.import_module("cuda.bindings.driver")
            name = driver.CUlaunchAttributeID(attribute.id).name
            raise DeviceError(
                "CUDA_ERROR_NOT_SUPPORTED", f"a launch has the attribute {name}, which the emulator does not know"
            )
    of_launch = config.smem_bytes, config.stream or 0, flags, tuple(events.values())
    return Launch(tuple(config.grid), tuple(config.block), cluster, *of_launch)
