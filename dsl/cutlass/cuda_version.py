"""`CUDA_VERSION` and `target_version`: the release of CUDA that programs ask for before they use a name."""

from __future__ import annotations

import re
from dataclasses import dataclass

from dsl.core.errors import DSLUserCodeError, DSLUserCodeValueError
from dsl.core.phrase import shown


@dataclass(frozen=True, order=True, init=False)
class DSLCudaVersion:
    """A release of CUDA, made of its text: `DSLCudaVersion("12.9")`."""

    major: int
    minor: int

    def __init__(self, version: str) -> None:
        parts = re.fullmatch(r"(\d+)\.(\d+)(\.\d+)*", version) if isinstance(version, str) else None
        if parts is None:
            raise DSLUserCodeValueError(f"a version of CUDA is text like 12.9, got {shown(version)}", fix='"12.9"')
        object.__setattr__(self, "major", int(parts[1]))
        object.__setattr__(self, "minor", int(parts[2]))


CUDA_VERSION = DSLCudaVersion("12.9")  # the version of NVIDIA's package with these meanings, and of PTX 8.8


def target_version(
    exact_version: DSLCudaVersion | str | None = None,
    *,
    min_version: DSLCudaVersion | str | None = None,
    max_version: DSLCudaVersion | str | None = None,
) -> bool:
    """Whether CUDA_VERSION is this version, or is between two, which are included."""
    exact, least, most = (
        _version(name, value)
        for name, value in (
            ("exact_version", exact_version),
            ("min_version", min_version),
            ("max_version", max_version),
        )
    )
    if exact is None and least is None and most is None:
        raise DSLUserCodeError(
            "target_version needs a version to compare with",
            fix='target_version(min_version="12.0")',
            id="CONFIG_VERSION_REQUIRED",
        )
    if exact is not None:
        if least is not None or most is not None:
            raise DSLUserCodeError(
                "target_version takes one version, or bounds, and not both",
                fix="leave exact_version out",
                id="CONFIG_VERSION_CONFLICT",
            )
        return exact == CUDA_VERSION
    if least is not None and most is not None and most < least:
        raise DSLUserCodeError(
            f"min_version {least.major}.{least.minor} is above max_version {most.major}.{most.minor}",
            fix="swap them",
            id="CONFIG_VERSION_RANGE_INVALID",
        )
    return (least is None or least <= CUDA_VERSION) and (most is None or most >= CUDA_VERSION)


def _version(name: str, value: DSLCudaVersion | str | None) -> DSLCudaVersion | None:
    if value is None or isinstance(value, DSLCudaVersion):
        return value
    if not isinstance(value, str):
        raise DSLUserCodeError(
            f"{name} must be text like 12.9, got {shown(value)}", fix=f'{name}="12.9"', id="CONFIG_VERSION_TYPE"
        )
    return DSLCudaVersion(value)
