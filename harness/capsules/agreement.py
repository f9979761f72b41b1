"""How far a GPU agrees with the emulator, by instruction form.

`validation/GPU-DRIVER.json` has a row a form; `validation/agreement.md` is one table of all these files. A form that
disagrees has a file of its own, `validation/failing/FORM@GPU.json`: the kernel, the smallest operands at which it
disagrees, what the emulator predicted and what the GPU gave. `python -m dsl.forms --failing FILE` runs it.
"""

from __future__ import annotations

import dataclasses
import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from harness.claim.repro_file import short
from harness.errors import UsageError

if TYPE_CHECKING:
    from harness.capsules import replay
    from harness.capsules.results import Result

FOLDER, TABLE, FAILING = "validation", "agreement.md", "failing"
FORMATS = {"f16": (16, 10), "bf16": (16, 7), "f32": (32, 23), "f64": (64, 52)}  # bits, fraction bits


@dataclasses.dataclass
class Row:
    """One form on one GPU: `equal` of its `elements` have the predicted bits, `within` are in the bound of its rule."""

    form: str
    status: str  # agrees, bounded, open, disagrees, unmodelled, skipped, or how it failed
    elements: int = 0
    equal: int = 0
    within: int = 0
    model: str = ""
    text: str = ""
    smallest: dict[str, Any] | None = None


def accept(
    capsule: replay.Capsule, results: list[Result], root: Path, say: Callable[[str], None]
) -> dict[str, list[str]]:
    """Compare every form, write the files of this GPU and the table of all; names by status. Raises UsageError."""
    if not results:
        return {}
    about = capsule.index.get("forms", {})
    rows = []
    order = {case["name"]: number for number, case in enumerate(capsule.cases)}
    for one in sorted(results, key=lambda one: order[one.case["name"]]):
        try:
            rows.append(compare(capsule, one, about))
        except (KeyError, TypeError, ValueError, AttributeError, IndexError) as error:
            raise UsageError(f"{one.case['name']}.json is not a result of a replay: {error!r}") from None
    folder, device = root / FOLDER, results[0].device
    _write_failing(folder / FAILING, rows, device)
    _write_rows(folder, rows, device, max(one.date for one in results))
    by_status: dict[str, list[str]] = {}
    for row in rows:
        kind = {"disagrees": "disagreement", "skipped": "skipped"}.get(row.status, "agreement")
        kind = "failed" if row.status not in (*_JUDGED, "skipped") else kind
        by_status.setdefault(kind, []).append(row.form)
        if kind in ("disagreement", "failed"):
            say(f"{row.form}: {row.text}")
    (folder / TABLE).write_text(table(folder))
    say(f"wrote {short(folder / TABLE)}")
    return by_status


_JUDGED = ("agrees", "bounded", "open", "disagrees", "unmodelled")


def compare(capsule: replay.Capsule, one: Result, about: dict[str, Any]) -> Row:
    """One form against the prediction for the GPU's model, or, where nobody modelled it, for the nearest model."""
    case, form = one.case, one.case["form"]
    if one.result["outcome"] != "ran":
        status = "skipped" if one.result["outcome"] == "skipped" else one.result["outcome"]
        return Row(form, status, text=f"{one.result['outcome']}: {one.result.get('text', '')}")
    launch, outcome = case["launches"][0], one.result["launches"][0]
    model = about.get("model_of", {}).get(one.device["arch"].removesuffix("a"))
    predictions = case["predictions"]
    is_modelled = model in predictions or len(predictions) == 1
    rows = []
    for name in [model] if model in predictions else predictions:
        wanted = [np.frombuffer(capsule.blob(sha), kind) for sha, kind in zip(predictions[name], case["results"])]
        gotten = _results(capsule, launch, outcome, one.data, case["results"])
        rows.append(_row(case, name, wanted, gotten))
    row, wrong, wanted, gotten = max(rows, key=lambda each: each[0].within)
    if not is_modelled and row.status == "disagrees":
        row.status = "unmodelled"
    if row.status == "disagrees":
        inputs = [_input(capsule, launch, len(wanted) + index, kind) for index, kind in enumerate(case["operands"])]
        row.smallest = _smallest(case, wrong, inputs, wanted, gotten)
        row.smallest["ptx"] = capsule.blob(launch["ptx"]).decode()
        row.smallest |= _launched(launch, len(wrong))
        row.text = (
            f"differs in {row.elements - row.within} of {row.elements} elements; the smallest: {words(row.smallest)}"
        )
    return row


def _results(capsule: replay.Capsule, launch: dict, outcome: dict, data: bytes, kinds: list[str]) -> list[np.ndarray]:
    """What the GPU left in the arrays of results."""
    arrays = []
    for index, kind in enumerate(kinds):
        region = str(index)
        array = np.zeros(launch["regions"][region]["size_bytes"], np.uint8)
        if outcome["as_predicted"]:
            capsule.apply(array, launch["predicted"][region][0])
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


def _slug(text: str) -> str:
    return re.sub(r"[^A-Za-z0-9.]+", "-", text).strip("-").lower()


def _write_failing(folder: Path, rows: list[Row], device: dict[str, Any]) -> None:
    """A file for each form that disagrees; those of forms that agree by now are gone."""
    gpu = _slug(device["name"])
    for row in rows:
        path = folder / f"{re.sub(r'[^A-Za-z0-9._-]', '-', row.form)}@{gpu}.json"
        if row.smallest:
            folder.mkdir(parents=True, exist_ok=True)
            content = row.smallest | {"device": device, "model": row.model}
            path.write_text(json.dumps(content, indent=1) + "\n")
        elif row.status in _JUDGED:
            path.unlink(missing_ok=True)


def _write_rows(folder: Path, rows: list[Row], device: dict[str, Any], date: str) -> None:
    """The rows of this GPU and driver; forms that this folder of results has not keep their rows."""
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / f"{_slug(device['name'])}-{_slug(device['driver'])}.json"
    earlier = json.loads(path.read_text())["rows"] if path.exists() else []
    table = {row["form"]: row for row in earlier}
    for row in rows:
        fields = {
            key: value for key, value in dataclasses.asdict(row).items() if key not in ("smallest",) and value != ""
        }
        table[row.form] = fields
    path.write_text(json.dumps({"device": device, "date": date, "rows": list(table.values())}, indent=1) + "\n")


def table(folder: Path) -> str:
    """The files of all GPUs as one Markdown table, a row a form."""
    files = [json.loads(path.read_text()) for path in sorted(folder.glob("*.json"))]
    heads = [f"{each['device']['name']}, driver {each['device']['driver']}" for each in files]
    cells = [{row["form"]: _cell(row) for row in each["rows"]} for each in files]
    forms = list(dict.fromkeys(form for each in cells for form in each))
    lines = [
        "# Agreement by instruction form",
        "",
        "How many results of a GPU have the bits that the emulator predicts. `repro accept --from-replay` writes it.",
        "",
        f"| form | {' | '.join(heads)} |",
        "|---" * (1 + len(heads)) + "|",
        *(f"| `{form}` | {' | '.join(each.get(form, 'not run') for each in cells)} |" for form in forms),
    ]
    return "\n".join(lines) + "\n"


def _cell(row: dict[str, Any]) -> str:
    if row["status"] not in _JUDGED:
        return f"{row['status']}: {row.get('text', '').partition(': ')[2]}".replace("|", "/").splitlines()[0]
    if row["status"] == "agrees":
        return f"{row['elements']} equal"
    what = {
        "bounded": "the rest within the bound",
        "open": "no bound is stated",
        "unmodelled": f"nobody modelled this GPU; {row['model']} is nearest",
        "disagrees": f"**{row['elements'] - row['within']} disagree**",
    }
    return f"{row['equal']} of {row['elements']} equal, {what[row['status']]}"
