"""How far a GPU agrees with the emulator, by instruction form.

The results go to the files of agreement_files.py. A form that disagrees has a separate file,
`validation/failing/FORM@GPU.json`: the kernel, the smallest operands at which it disagrees, what the emulator predicted
and what the GPU gave. `python -m dsl.forms --failing FILE` runs it.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from harness.capsules import agreement_files, form_case
from harness.capsules.agreement_files import JUDGED, Row
from harness.capsules.form_case import FORMATS
from harness.claim.repro_file import short
from harness.run import hardware

if TYPE_CHECKING:
    from harness.capsules import replay
    from harness.capsules.results import Result


def accept(
    capsule: replay.Capsule, results: list[Result], root: Path, say: Callable[[str], None]
) -> dict[str, list[str]]:
    """Compare every form, write the files of this GPU and the table of all; names by status.

    Results that do not name hardware are not compared. Raises UsageError, replay.BadCapsule, OSError.
    """
    if not results:
        return {}
    lacks = hardware.missing(results[0].device)
    if lacks:
        say(f"{len(results)} instruction forms: not accepted: their results {'name' + lacks.removeprefix('names')}")
        return {"skipped": [one.case["form"] for one in results]}
    models = form_case.models(capsule)
    order = {case["name"]: number for number, case in enumerate(capsule.cases)}
    rows = [compare(capsule, one, models) for one in sorted(results, key=lambda one: order[one.case["name"]])]
    path = agreement_files.write(root, rows, results[0].device, max(one.date for one in results))
    by_status: dict[str, list[str]] = {}
    for row in rows:
        kind = {"disagrees": "disagreement", "skipped": "skipped"}.get(row.status, "agreement")
        kind = "failed" if row.status not in (*JUDGED, "skipped") else kind
        by_status.setdefault(kind, []).append(row.form)
        if kind in ("disagreement", "failed"):
            say(f"{row.form}: {row.text}")
    say(f"wrote {short(path)}")
    return by_status


def compare(capsule: replay.Capsule, one: Result, models: dict[str, str]) -> Row:
    """One form against the prediction for the GPU's model, or, where nobody modelled it, for the nearest model."""
    case, form = one.case, one.case["form"]
    if one.result["outcome"] != "ran":
        status = "skipped" if one.result["outcome"] == "skipped" else one.result["outcome"]
        text = f"{one.result['outcome']}: {one.result.get('text', '')}"
        return Row(form, status, text=text[: agreement_files.MOST_TEXT])
    launch, outcome = case["launches"][0], one.result["launches"][0]
    model = models.get(one.device["arch"].removesuffix("a"), "")
    predictions = case["predictions"]
    is_modelled = model in predictions or len(predictions) == 1
    rows, data = [], one.data
    for name in [model] if model in predictions else predictions:
        wanted = [np.frombuffer(capsule.blob(sha), kind) for sha, kind in zip(predictions[name], case["results"])]
        gotten = _results(capsule, launch, outcome, data, case["results"])
        rows.append(_row(case, name, wanted, gotten))
    row, wrong, wanted, gotten = max(rows, key=lambda each: each[0].within)
    if not is_modelled and row.status == "disagrees":
        row.status = "unmodelled"
    if row.status == "disagrees":
        inputs = [_input(capsule, launch, len(wanted) + index, kind) for index, kind in enumerate(case["operands"])]
        row.smallest = _smallest(case, wrong, inputs, wanted, gotten)
        row.smallest["ptx"] = capsule.blob(launch["ptx"]).decode(errors="replace")
        row.smallest |= _launched(launch, len(wrong))
        row.text = (
            f"differs in {row.elements - row.within} of {row.elements} elements; the smallest: {words(row.smallest)}"
        )
    return row


def _results(capsule: replay.Capsule, launch: dict, outcome: dict, data: bytes, kinds: list[str]) -> list[np.ndarray]:
    """The arrays of results as the GPU left them."""
    arrays = []
    for index, kind in enumerate(kinds):
        region = str(index)
        array = np.zeros(launch["regions"][region]["size_bytes"], np.uint8)
        for row in launch["predicted"].get(region, ()) if outcome["as_predicted"] else ():
            capsule.apply(array, row)
        for row in outcome["changes"].get(region, ()):
            part = np.frombuffer(data, np.uint8, row["size"], row["bytes"])
            place = array[row["at"] : row["at"] + row["size"]]
            if "mask" in row:
                bits = np.frombuffer(data, np.uint8, -(-row["size"] // 8), row["mask"])
                np.copyto(place, part, where=np.unpackbits(bits, count=row["size"], bitorder="little").astype(bool))
            else:
                place[:] = part
        arrays.append(array.view(kind))
    return arrays


def _input(capsule: replay.Capsule, launch: dict, region: int, kind: str) -> np.ndarray:
    return np.frombuffer(capsule.blob(launch["writes"][str(region)][0]["bytes"]), kind)


def _row(case: dict, model: str, wanted: list, gotten: list) -> tuple[Row, np.ndarray, list, list]:
    """The row, and for each unit of `threads` whether it is wrong."""
    rule, threads = case["rule"], case["threads"]
    elements = equal = within = 0
    wrong = np.zeros(len(wanted[0]) // threads, bool)
    for want, got in zip(wanted, gotten, strict=True):
        same, fine = agreement(want, got, rule, case["form"])
        elements, equal, within = elements + same.size, equal + int(same.sum()), within + int(fine.sum())
        wrong |= ~fine.reshape(len(wrong), -1).all(axis=1)
    if equal == elements:
        status = "agrees"
    elif within == elements:
        status = "open" if rule.get("open") else "bounded"
    else:
        status = "disagrees"
    return Row(case["form"], status, elements, equal, within, model), wrong, wanted, gotten


def agreement(want: np.ndarray, got: np.ndarray, rule: dict, form: str) -> tuple[np.ndarray, np.ndarray]:
    """(equal bits, inside the rule) of each element; packed halves are elements."""
    if not rule:
        words = [array.view("<u4") if array.dtype.kind == "V" else array for array in (want, got)]
        return words[0] == words[1], words[0] == words[1]
    bits, fraction = FORMATS[rule["dtype"]]
    lanes = [array.view(f"<u{bits // 8}") for array in (want, got)]
    same = lanes[0] == lanes[1]
    if rule.get("open"):
        return same, np.ones_like(same)
    w, g = (_floats(each, bits, fraction) for each in lanes)
    least = 2.0 ** (2 - (1 << bits - 2 - fraction))  # the least normal number
    with np.errstate(invalid="ignore", over="ignore"):
        spacing = np.maximum(np.abs(w), least) * 2.0**-fraction
        bound = np.abs(w) * rule.get("relative", 0) + rule.get("absolute", 0) + spacing
        bound = bound + least * (".ftz" in form)
        overflow = np.copysign(1 / least * 4, g)  # where the greatest numbers have a bound, infinity is the next one
        near = np.abs(np.where(np.isinf(g), overflow, g) - w) <= bound
        near &= ~np.isinf(w)
    return same, same | near | (np.isnan(w) & np.isnan(g))


def _floats(lanes: np.ndarray, bits: int, fraction: int) -> np.ndarray:
    if bits == 16 and fraction == 7:
        return (lanes.astype(np.uint32) << np.uint32(16)).view(np.float32).astype(np.float64)
    return lanes.view(f"<f{bits // 8}").astype(np.float64)


def _smallest(case: dict, wrong: np.ndarray, inputs: list, wanted: list, gotten: list) -> dict[str, Any]:
    """The wrong unit whose operands have the fewest words that are not zero, then the fewest bits that are set."""
    threads = case["threads"]
    units = np.flatnonzero(wrong).tolist()

    def cost(unit: int) -> tuple[int, int]:
        parts = [each[unit * threads : (unit + 1) * threads].tobytes() for each in inputs]
        joined = np.frombuffer(b"".join(parts), np.uint8)
        return int(np.count_nonzero(joined)), int(np.unpackbits(joined).sum())

    unit = min(units, key=cost)

    def rows(arrays: list) -> list[list[str]]:
        return [
            [f"{item.tobytes()[::-1].hex()}" for item in each[unit * threads : (unit + 1) * threads]] for each in arrays
        ]

    return {
        "form": case["form"],
        "threads": threads,
        "rule": case["rule"],
        "types": {"operands": case["operands"], "results": case["results"]},
        "operands": rows(inputs),
        "predicted": rows(wanted),
        "got": rows(gotten),
    }


def _launched(launch: dict, units: int) -> dict[str, Any]:
    """The cluster and the tensor maps of a launch of one of its `units`."""
    maps = []
    for row in launch.get("tensor_maps", ()):
        *extents, last = row["arguments"]["extents"]
        array = launch["params"][row["param"]]["pointers"][0][1]
        arguments = row["arguments"] | {"extents": [*extents, last // units]}
        maps.append({"array": array, "mode": row["mode"], "arguments": arguments})
    cluster = launch["cluster"][0]
    return ({"maps": maps} if maps else {}) | ({"cluster": cluster} if cluster > 1 else {})


def words(smallest: dict[str, Any]) -> str:
    """`0x1, 0x2 gives 0x3, predicted 0x4`: all of one thread, or the first lane of a warp whose result differs."""
    got, predicted, operands = smallest["got"], smallest["predicted"], smallest["operands"]
    differing = [lane for lane in range(smallest["threads"]) if any(g[lane] != p[lane] for g, p in zip(got, predicted))]
    lane = differing[0] if differing else 0

    def of_lane(arrays: list[list[str]]) -> str:
        return ", ".join(f"0x{text[:32]}{'...' * (len(text) > 32)}" for text in (each[lane] for each in arrays))

    where = f"lane {lane}: " if smallest["threads"] > 1 else ""
    return f"{where}{of_lane(operands)} gives {of_lane(got)}, predicted {of_lane(predicted)}"
