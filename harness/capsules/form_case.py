"""An instruction form as a capsule has it: what `agreement` relies on, checked before anything is compared."""

from __future__ import annotations

import dataclasses
from typing import TYPE_CHECKING, Any

import numpy as np

from harness import schema
from harness.run import reply

if TYPE_CHECKING:
    from harness.capsules import replay

NAME = schema.string(200, r"[\w.:+-]+", "the name of an instruction form")
FORMATS = {"f16": (16, 10), "bf16": (16, 7), "f32": (32, 23), "f64": (64, 52)}  # bits, fraction bits
MOST_FORM_BYTES = 16 << 20  # of all arrays of a form
_MODEL = schema.string(20, r"[a-z0-9]*", "a GPU model such as h100")
_SHA256 = schema.string(64, reply.SHA256, "a sha256")
_ELEMENT = schema.string(6, r"<u[248]|\|u1|\|V(16|32|64)", "a type such as <u4")
_ELEMENTS = schema.many(_ELEMENT, 100)


@dataclasses.dataclass(frozen=True)
class _Rule:
    """How results compare: by the bound of an approximation."""

    dtype: str = schema.must(schema.one_of(*FORMATS))
    relative: float = schema.must(schema.real(0, 1), 0.0)
    absolute: float = schema.must(schema.real(0, 1e300), 0.0)
    open: bool = schema.must(schema.boolean, False)


def _rule(value: Any, place: str) -> Any:
    return value if value == {} and isinstance(value, dict) else schema.fields(_Rule)(value, place)


@dataclasses.dataclass(frozen=True)
class _Predicted:
    """Bytes that the emulator's kernel left in an array of results."""

    at: int = schema.must(schema.integer(0, 0))
    size: int = schema.must(schema.integer(1, MOST_FORM_BYTES))
    bytes: str = schema.must(_SHA256)


@dataclasses.dataclass(frozen=True)
class _TensorMap:
    """How a tensor map is made: the parameter that it is in, and the driver's arguments."""

    param: int = schema.must(schema.integer(0, 1000))
    mode: str = schema.must(schema.one_of("tiled", "im2col"))
    arguments: dict[str, Any] = schema.must(schema.table(lambda value, place: value, 100))


@dataclasses.dataclass(frozen=True)
class _Launch:
    """The parts of a form's one launch that no other case has."""

    predicted: dict[str, list[_Predicted]] = schema.must(
        schema.table(schema.many(schema.fields(_Predicted), exactly=1), 100)
    )
    tensor_maps: list[_TensorMap] = schema.must(schema.many(schema.fields(_TensorMap), 100), list)


@dataclasses.dataclass(frozen=True)
class _Form:
    """A form: which threads make one unit of it, the types of its arrays, the results that each GPU model gives."""

    form: str = schema.must(NAME)
    threads: int = schema.must(schema.integer(1, 1 << 16))
    rule: Any = schema.must(_rule)
    operands: list[str] = schema.must(_ELEMENTS)
    results: list[str] = schema.must(_ELEMENTS)
    predictions: dict[str, list[str]] = schema.must(schema.table(schema.many(_SHA256, 100), 100, _MODEL))
    launches: list[_Launch] = schema.must(schema.many(schema.fields(_Launch), exactly=1))


@dataclasses.dataclass(frozen=True)
class _About:
    """A capsule's data on its forms: by arch, the GPU model whose arithmetic it has."""

    model_of: dict[str, str] = schema.must(schema.table(_MODEL, 100, schema.string(8)), dict)
    default: str = schema.must(_MODEL, "")


def models(capsule: replay.Capsule) -> dict[str, str]:
    """For each arch, the GPU model whose predictions its GPU must match. Raises schema.Misfit."""
    return schema.fields(_About)(capsule.index.get("forms", {}), "forms").model_of


def check(capsule: replay.Capsule, case: dict[str, Any], models: dict[str, str]) -> None:
    """Check a case that has the field `form`, whose launches are checked like all other launches.

    Raises schema.Misfit, ValueError, replay.BadCapsule.
    """
    form = schema.fields(_Form)(case, "capsule")
    launch = case["launches"][0]
    if not form.results or not form.operands or not form.predictions:
        raise ValueError("the capsule has a form without results, operands or predictions")
    sizes = [_region_bytes(launch, number) for number in range(len(form.results) + len(form.operands))]
    if sum(sizes) > MOST_FORM_BYTES:
        raise ValueError(f"the arrays of the form have {sum(sizes)} bytes, but may have at most {MOST_FORM_BYTES}")
    _check_counts(form, sizes)
    for names in form.predictions.values():
        if [capsule.blob_bytes(name) for name in names] != sizes[: len(names)] or len(names) != len(form.results):
            raise ValueError("the predictions of the form do not fill its results")
    _check_arrays(form, launch, sizes, capsule)
    _check_maps(form.launches[0], launch)


def _region_bytes(launch: dict[str, Any], number: int) -> int:
    if str(number) not in launch["regions"]:
        raise ValueError(f"the form's launch has no array {number}")
    return launch["regions"][str(number)]["size_bytes"]


def _check_counts(form: _Form, sizes: list[int]) -> None:
    """Whether the arrays hold whole elements, and the same number of units each. Raises ValueError."""
    kinds = [*form.results, *form.operands]
    counts = [size // np.dtype(kind).itemsize for size, kind in zip(sizes, kinds, strict=True)]
    whole = all(size % np.dtype(kind).itemsize == 0 for size, kind in zip(sizes, kinds, strict=True))
    units = counts[0] // form.threads
    if not whole or not units or set(counts) != {units * form.threads}:
        raise ValueError(f"the arrays of the form do not hold the same whole number of units of {form.threads} threads")
    bits = FORMATS[form.rule.dtype][0] if form.rule else 8
    if form.rule and any(kind[1] == "V" or np.dtype(kind).itemsize * 8 % bits for kind in form.results):
        raise ValueError(f"the results of the form are not {form.rule.dtype}")


def _check_arrays(form: _Form, launch: dict[str, Any], sizes: list[int], capsule: replay.Capsule) -> None:
    """Check that operands are whole blobs and that predictions are inside results. Raises ValueError, BadCapsule."""
    results = len(form.results)
    for number in range(results, len(sizes)):
        rows = launch["writes"].get(str(number), [])
        if len(rows) != 1 or rows[0]["at"] or rows[0]["size"] != sizes[number] or rows[0].get("bytes") is None:
            raise ValueError(f"the form's operands in array {number} are not the bytes of one blob")
    predicted = form.launches[0].predicted
    if set(predicted) != set(map(str, range(results))):
        raise ValueError(f"the form does not predict its {results} results and nothing besides")
    for region, (row,) in predicted.items():
        if row.size != sizes[int(region)] or capsule.blob_bytes(row.bytes) != row.size:
            raise ValueError(f"the form does not predict the whole array {region}")


def _check_maps(form: _Launch, launch: dict[str, Any]) -> None:
    """Whether tensor maps are in parameters that point to an array. Raises ValueError."""
    for row in form.tensor_maps:
        params = launch["params"]
        extents = row.arguments.get("extents")
        if row.param >= len(params) or not params[row.param]["pointers"]:
            raise ValueError("the form has a tensor map in no parameter")
        if not isinstance(extents, list) or not extents or not all(type(one) is int for one in extents):
            raise ValueError("the form has a tensor map without extents")
