"""The kernels of a Python file with `source = "kernels.cu"`: compiled by `dsl.driver` by name, and given to its run().

It runs next to the repro (standard library only).
"""

from __future__ import annotations

import functools
import importlib
from typing import Any


def give(module: Any, job: dict[str, Any], session: Any) -> None:
    """Compile them, and let `module.run` have their PTX. Raises what `dsl` raises for text that is refused, and where
    no compiler is here."""
    nvcc, device_code = importlib.import_module("dsl.driver.nvcc"), importlib.import_module("dsl.driver.device_code")
    kernels = job["kernels"]
    headers = {name: tuple(about) for name, about in kernels["headers"].items()}
    arch = session.device.arch
    ptx = device_code.ptx(nvcc.Source(kernels["path"], kernels["text"], headers, kernels["options"], arch, False))
    run = module.run

    @functools.wraps(run)
    def given(**params: Any) -> Any:
        return run(ptx=ptx, **params)

    module.run = given
