"""The attributes of a compiler's exceptions that the harness reads. It imports no compiler: any may keep to it.

    repro_outcome   a dict {"outcome": "rejected" | "trap" | "deadlock" | "fault", "text", "file", "line", and "class"
                    and "id" of a rejection, "kind" of a fault, "finding" (the report as data: reply.Finding)}: the
                    exception reports what the program did. Absent or None: it shows nothing about the program itself
    name            of an error of a device: CUDA's name, CUDA_ERROR_OUT_OF_MEMORY
    signal_name     of a process of the compiler that died: SIGKILL

and the classes that are known by name: DeviceMissing, CompilerMissing and ToolMissing are about the machine.
In this repository dsl/exceptions.py and dsl/launch/devices/protocol.py keep to it. Standard library only.
"""

from __future__ import annotations

MISSING = ("DeviceMissing", "CompilerMissing", "ToolMissing")


def outcome_of(error: BaseException) -> dict | None:
    """The outcome of the program that the exception reports, if any."""
    outcome = getattr(error, "repro_outcome", None)
    return outcome if isinstance(outcome, dict) else None


def device_error(error: BaseException) -> str | None:
    """CUDA's name of a device's error that is not about the program, or None."""
    name = getattr(error, "name", None)
    return name if isinstance(name, str) and outcome_of(error) is None else None


def signal_of(error: BaseException) -> str | None:
    """The signal by which a process of the compiler died, or None."""
    return getattr(error, "signal_name", None)


def is_missing(error: BaseException) -> bool:
    """Whether a device, a compiler or a tool is not on this machine."""
    return type(error).__name__ in MISSING
