"""A .ptx file as a module with run() and expected(): its kernel is launched through cuda.bindings on any device."""

from __future__ import annotations

import ctypes
from types import ModuleType
from typing import Any

import numpy as np

SUFFIX = ".ptx"
_NUMBERS = {
    **{f"{sign}int{bits}": getattr(ctypes, f"c_{sign}int{bits}") for sign in ("", "u") for bits in (8, 16, 32, 64)},
    "float32": ctypes.c_float,
    "float64": ctypes.c_double,
}


class InvalidPtx(RuntimeError):
    """The driver refuses the text. Notes that are added to the error give its reason."""

    @property
    def repro_outcome(self) -> dict[str, Any]:
        text = "\n".join([str(self), *getattr(self, "__notes__", ())])
        return {"outcome": "rejected", "class": "InvalidPtx", "id": "INVALID_PTX", "text": text}


def module(job: dict[str, Any]) -> ModuleType:
    """`run` gives the outputs of the launch, `expected` those whose values the file has."""
    made: Any = ModuleType("repro_ptx")
    text, launch = job["source"], job["launch"]
    made.run = lambda: run(text, launch)
    expected = {one["name"]: _array(one, one["expected"]) for one in launch["arguments"] if "expected" in one}
    if expected:
        made.expected = lambda: expected
    return made


def run(text: str, launch: dict[str, Any]) -> dict[str, np.ndarray]:
    """Launch the kernel once. Raises InvalidPtx, RuntimeError with CUDA's name of the error."""
    from cuda.bindings import driver  # pyright: ignore[reportAttributeAccessIssue]  # noqa: PLC0415

    _begin(driver)
    loaded = _call(driver, "cuModuleLoadData", text.encode() + b"\0")
    kernel = _call(driver, "cuModuleGetFunction", loaded, launch["entry"].encode())
    arrays = {one["name"]: _array(one, one.get("values")) for one in launch["arguments"] if "name" in one}
    places = {name: _call(driver, "cuMemAlloc", array.nbytes) for name, array in arrays.items()}
    for name, array in arrays.items():
        _call(driver, "cuMemcpyHtoD", places[name], array.ctypes.data, array.nbytes)
    given = [_passed(one, places) for one in launch["arguments"]]
    parameters = tuple(value for value, _ in given), tuple(kind for _, kind in given)
    _call(driver, "cuLaunchKernel", kernel, *launch["grid"], *launch["block"], launch["shared_bytes"], 0, parameters, 0)
    _call(driver, "cuCtxSynchronize")
    outputs = {one["name"]: arrays[one["name"]] for one in launch["arguments"] if one.get("output")}
    for name, array in outputs.items():
        _call(driver, "cuMemcpyDtoH", array.ctypes.data, places[name], array.nbytes)
    for place in places.values():
        _call(driver, "cuMemFree", place)
    _call(driver, "cuModuleUnload", loaded)
    return outputs


def _begin(driver: Any) -> None:
    _call(driver, "cuInit", 0)
    _call(driver, "cuCtxSetCurrent", _call(driver, "cuDevicePrimaryCtxRetain", _call(driver, "cuDeviceGet", 0)))


def _call(driver: Any, name: str, *arguments: Any) -> Any:
    error, *answer = getattr(driver, name)(*arguments)
    if error:
        answered = driver.CUresult(error).name
        kind = InvalidPtx if answered == "CUDA_ERROR_INVALID_PTX" else RuntimeError
        raise kind(f"{name} answered {answered}")
    return answer[0] if answer else None


def _array(argument: dict[str, Any], values: list[Any] | None) -> np.ndarray:
    if values is None:
        return np.zeros(argument["shape"], argument["dtype"])
    return np.array(values, argument["dtype"]).reshape(argument["shape"])


def _passed(argument: dict[str, Any], places: dict[str, Any]) -> tuple[Any, Any]:
    """An argument's value and its C type. A half is passed as its bits."""
    if "name" in argument:
        return int(places[argument["name"]]), ctypes.c_void_p
    if argument["dtype"] == "float16":
        return int(np.float16(argument["value"]).view(np.uint16)), ctypes.c_uint16
    return argument["value"], _NUMBERS[argument["dtype"]]
