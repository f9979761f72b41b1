"""Texts for a person: differences by element and lane, how to accept, how to run it again."""

from __future__ import annotations

import shlex
import textwrap
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from harness.claim import case_id
from harness.claim.repro_file import Case, label, short
from harness.comparison import golden, printed
from harness.comparison.compare import Difference
from harness.comparison.golden import Golden
from harness.comparison.unused_goldens import before_a_move
from harness.compiler_name import OURS
from harness.host.hosts import Host
from harness.run.environment import as_typed
from harness.run.result import Array, Outcome
from harness.store import root_of

if TYPE_CHECKING:
    from harness.verdict import Verdict

SHOWN_DIFFERENCES = 16
SHOWN_BRIEF = 100
SHOWN_TEXT = 16384  # characters of what a repro printed
WARP = 32


def differences(differing: list[Difference], outcome: Outcome, sides: tuple[str, str] = ("expected", "got")) -> str:
    """One paragraph for each output that differs: the count, then the first elements with place, hex and value."""
    return "\n\n".join(_difference(one, outcome, sides) for one in differing)


def _difference(one: Difference, outcome: Outcome, sides: tuple[str, str]) -> str:
    if one.indices is None:
        return one.message
    assert one.expected is not None and one.got is not None  # they come with the indices
    shape = one.got.shape
    rows = [("index", "where", *sides)]
    for flat in one.indices[:SHOWN_DIFFERENCES]:
        index = tuple(int(i) for i in np.unravel_index(flat, shape))
        place = f"[{', '.join(map(str, index))}]"
        rows.append((place, lane_of(index, shape, outcome), element(one.expected, flat), element(one.got, flat)))
    if not any(row[1] for row in rows[1:]):
        rows = [(row[0], "", row[2], row[3]) for row in rows]
    widths = [max(len(row[column]) for row in rows) for column in range(4)]
    lines = [
        "    " + "  ".join(f"{cell:{w}}" for cell, w in zip(row, widths, strict=True) if w).rstrip() for row in rows
    ]
    left = one.indices.size - SHOWN_DIFFERENCES
    if left > 0:
        lines.append(f"    ... and {left} more")
    return "\n".join([one.message, *lines])


def rows_of(one: Difference, outcome: Outcome) -> list[str]:
    """Every element of an output that differs: name, index, lane, both values."""
    if one.indices is None or one.expected is None or one.got is None:
        return [f"    {one.message}"]
    expected, got = one.expected, one.got
    places = [(flat, f"    {one.output}{_place(flat, got.shape, outcome)}") for flat in one.indices]
    return [f"{place}  {element(expected, flat)}  ->  {element(got, flat)}" for flat, place in places]


def elements(name: str, array: Array, outcome: Outcome) -> list[str]:
    """Every element of an output: name, index, lane, value; of a text every line."""
    if array.dtype == printed.TEXT:
        return [f"    {name}: {line}" for line in printed.lines(array)]
    return [f"    {name}{_place(flat, array.shape, outcome)}  {element(array, flat)}" for flat in range(array.raw.size)]


def _place(flat: int, shape: tuple[int, ...], outcome: Outcome) -> str:
    index = tuple(int(i) for i in np.unravel_index(flat, shape))
    lane = lane_of(index, shape, outcome)
    return f"[{', '.join(map(str, index))}]" + (f"  {lane}" if lane else "")


def element(array: Array, flat: int) -> str:
    """`0x40a00000 5.0`: the bits and the value of one element."""
    raw = int(array.raw.flat[flat])
    value = array.values().flat[flat]
    return f"0x{raw:0{array.dtype.bits // 4}x} {value}"


def lane_of(index: tuple[int, ...], shape: tuple[int, ...], outcome: Outcome) -> str:
    """`block 0 warp 1 lane 5` where the leading modes of an output are the threads of the only launch, else ''."""
    launches = [launch for kernel in outcome.kernels for launch in kernel.get("launches", [])]
    if len(launches) != 1:
        return ""
    threads, blocks = int(np.prod(launches[0]["block"])), int(np.prod(launches[0]["grid"]))
    if threads < 2:
        return ""
    for modes in range(1, len(shape) + 1):
        if int(np.prod(shape[:modes])) == threads * blocks:
            thread = int(np.ravel_multi_index(index[:modes], shape[:modes]))
            block, in_block = divmod(thread, threads)
            return f"block {block} warp {in_block // WARP} lane {in_block % WARP}"
    return ""


def case_options(case: Case) -> list[str]:
    return [part for key, value in case.params.items() for part in ("-p", f"{key}={label(value)}")]


def rerun(case: Case, host: Host, compiler: str, outcome: Outcome) -> str:
    """The command that runs this case alone, by the seed or the schedule of its outcome."""
    seed, schedule = outcome.facts.get("seed") or 0, outcome.orders.schedule if outcome.orders else ""
    argv = ["uv", "run", "repro", "run", short(case.repro.path), *case_options(case)]
    if host.name != "embedded":
        argv += ["--host", host.name]
    if compiler != OURS:
        argv += ["--compiler", compiler]
    if host.computes_as:
        argv += ["--gpu-model", host.computes_as]
    if seed:
        argv += ["--seed", str(seed)]
    if schedule:
        argv += ["--schedule", schedule]
    return shlex.join(argv)


def failure(case: Case, host: Host, verdict: Verdict) -> str:
    """The text of a failed item: verdict, claim, host, what is wrong, how to run it again."""
    head = "\n".join([f"{verdict.status}: {verdict.reason}", *_about(case, host, verdict)])
    outcome = verdict.outcome
    again = as_typed(rerun(case, host, _asked(host, outcome), outcome))
    parts = [head, verdict.text.strip(), "\n".join(verdict.notes), f"again: {again}"]
    return "\n\n".join(filter(None, parts))


def _asked(host: Host, outcome: Outcome) -> str:
    """The compiler as it was asked for, with its release where one was."""
    return host.compiler if host.compiler != OURS else outcome.compiler


def _about(case: Case, host: Host, verdict: Verdict) -> list[str]:
    """The claim, where it ran, and who compiled where that was not us."""
    lines = [f"claim: {case.repro.claim}", f"host:  {host.describe()}"]
    if verdict.outcome.compiler != OURS:
        facts = verdict.outcome.facts.get("compiler") or {"name": _asked(host, verdict.outcome)}
        lines.append(f"compiler: {facts['name']} {facts.get('version', '')}".rstrip())
    return lines


def verdict(case: Case, host: Host, verdict: Verdict) -> str:
    """What `repro run` prints of a case."""
    name = case_id.name(short(case.repro.path), case.name)
    if verdict.status != "pass":
        return f"{name}\n{failure(case, host, verdict)}"
    state = "validated by hardware" if verdict.validated else "predicted, not validated"
    state = "agrees with expected(), not accepted yet" if verdict.proposal else state
    state = f"expected to fail, and does: {verdict.expected}" if verdict.expected else state
    lines = [name, f"pass: {state}", *_about(case, host, verdict)]
    lines += [f"    {output}: {preview(array)}" for output, array in verdict.outcome.outputs.items()]
    if verdict.outcome.kind != "outputs":
        lines += ["    " + line for line in verdict.outcome.text.splitlines()]
    return "\n".join(lines + verdict.notes)


def details(case: Case, host: Host, outcome: Outcome) -> str:
    """What -v shows of a run: where its Python came from, packages, device, compiler, times in seconds."""
    facts = {**host.device_facts, **(outcome.facts.get("device") or {})}
    compiler = outcome.facts.get("compiler") or {"name": host.compiler}
    rows = {
        "environment": host.environment(),
        "packages": ", ".join(f"{name} {version}" for name, version in sorted(outcome.versions.items())),
        "device": ", ".join(f"{name} {value}" for name, value in facts.items() if value and name != "kind"),
        "compiler": f"{compiler['name']} {compiler.get('version') or ''}".rstrip(),
        "seed": outcome.facts.get("seed"),
        "durations": ", ".join(f"{name.removesuffix('_s')} {value:.3g} s" for name, value in outcome.durations.items()),
    }
    lines = [f"    {name + ':':12} {value}" for name, value in rows.items() if value not in (None, "")]
    return "\n".join([f"{case_id.name(short(case.repro.path), case.name)} ran on {host.describe()}", *lines])


def brief(outcome: Outcome) -> str:
    """`error: ValueError: no`: the kind and the most useful line of its text."""
    lines = [line for line in outcome.text.splitlines() if line.strip()] or [""]
    line = lines[-1] if lines[0].startswith("Traceback") else lines[0]
    if outcome.kind in ("timeout", "crash"):
        line = outcome.detail.get("signal", "")
    text = f"{outcome.kind}: {line.strip()}".rstrip(": ")
    return text if len(text) <= SHOWN_BRIEF else textwrap.shorten(text, SHOWN_BRIEF, placeholder=" ...")


def accept_advice(case: Case) -> str:
    path = case.repro.path.resolve()
    if not path.is_relative_to(root_of(path).resolve()):
        return "run again with --update-goldens (it is in no project: nothing is kept for `repro golden accept`)"
    name = case_id.name(short(case.repro.path), case.name)
    return f"accept it with `repro golden accept {shlex.quote(name)}`, or run again with --update-goldens"


def missing_golden(case: Case, path: Path, outcome: Outcome) -> str:
    """Says what the run gave, and how to accept it."""
    lines = [f"there is no golden {short(path)}; this run gave"]
    lines += [f"    {name}: {preview(array)}" for name, array in outcome.outputs.items()]
    if outcome.kind != "outputs":
        lines += ["    " + line for line in f"{outcome.kind}: {outcome.text}".split("\n")]
    if outcome.compiler == OURS:
        lines.append(f"fix: if that is what the claim states, {accept_advice(case)}")
    else:
        lines.append("fix: run it with `--compiler ours` first: a golden is what this project's compiler gives")
    before, now = before_a_move(case.repro.path), golden.folder(case.repro.path)
    if before:
        move = shlex.join(["git", "mv", short(before), short(now)])
        lines.append(f"{short(before)} holds goldens whose repro is not there")
        lines.append(f"fix: if this repro was there, mkdir -p {shlex.quote(short(now.parent))} && {move}")
    return "\n".join(lines)


def preview(array: Array, count: int = 8) -> str:
    """`float32 (32) 0.0 1.0 2.0 ...`"""
    if array.dtype == printed.TEXT:
        return printed.preview(array)
    values = array.values().reshape(-1)
    shape = ", ".join(map(str, array.shape))
    more = " ..." if values.size > count else ""
    return f"{array.dtype.name} ({shape}) " + " ".join(str(value) for value in values[:count]) + more


def compiler_of(accepted: Golden) -> str:
    return (accepted.provenance.get("compiler") or {}).get("name", OURS)


def made_by(accepted: Golden) -> str:
    """`made by embedded (emulator) on 2026-11-20, not validated`"""
    origin = accepted.provenance
    device = origin.get("gpu") or origin.get("device")
    state = "validated by hardware" if accepted.validated else "predicted, not validated"
    return f"made by {origin.get('host')} ({device}) on {str(origin.get('date'))[:10]}, {state}"


def differs_from_golden(
    case: Case, differs: str, path: Path, accepted: Golden, is_hardware: bool, compiler: str = OURS
) -> str:
    lines = [differs, "", f"golden: {short(path)}, {made_by(accepted)}"]
    if compiler != compiler_of(accepted):
        lines.append(
            f"the compilers disagree: this result comes from {compiler}, and the golden from {compiler_of(accepted)}"
        )
        return "\n".join(lines)
    if is_hardware and not accepted.validated:
        lines.append("the golden is the emulator's prediction, and hardware contradicts it")
    lines.append(f"fix: if the new result is right, {accept_advice(case)}")
    return "\n".join(lines)


def other_arch(case: Case, made_on: str, arch: str) -> str:
    """The advice if a GPU of another arch made the golden."""
    name = case_id.name(short(case.repro.path), case.name)
    return (
        f"the golden was made on {made_on}, but this is {arch}: if they differ here, that is the "
        f"finding, and `repro golden accept --for-arch {shlex.quote(name)}` keeps a separate answer for {arch}"
    )


def contradicted(differs: str, path: Path, accepted: Golden) -> str:
    return "\n".join(
        [
            differs,
            "",
            f"golden: {short(path)}, {made_by(accepted)}",
            "contradicted: hardware gave the golden, so the emulator or the compiler is wrong here.",
            "An emulator result never replaces it; --update-goldens on hardware does.",
        ]
    )


def unused_goldens(paths: list[Path]) -> list[str]:
    """Says which goldens belong to no case, and how to be rid of them."""
    names = [short(path) for path in paths]
    return ["these goldens belong to no repro:", *(f"    {name}" for name in names), f"fix: rm {shlex.join(names)}"]


def notes(texts: list[str], count: int) -> list[str]:
    """Each different note once, with the number of its repetitions; at most `count`."""
    lines = [f"{note} ({texts.count(note)} times)" if texts.count(note) > 1 else note for note in dict.fromkeys(texts)]
    left = len(lines) - count
    return lines[:count] + ([f"... and {left} more"] if left > 0 else [])


def code(outcome: Outcome, ptx: bool, sass: bool) -> list[str]:
    """The PTX and the SASS of every kernel, whichever is asked for, or why there is none."""
    why = outcome.detail.get("no_sass", {}).get("text", "not asked for")
    wanted = [name for name, is_wanted in (("ptx", ptx), ("sass", sass)) if is_wanted]
    return [
        f"--- {name.upper()} of {kernel['name']} ({kernel['arch']})\n{(kernel[name] or f'none: {why}').rstrip()}"
        for name in wanted
        for kernel in outcome.kernels
    ]


def capped(text: str) -> str:
    """The first and the last of a long text."""
    half = SHOWN_TEXT // 2
    if len(text) <= SHOWN_TEXT:
        return text
    return f"{text[:half]}\n[... {len(text) - 2 * half} characters left out ...]\n{text[-half:]}"


def properties(host: Host, verdict: Verdict) -> list[tuple[str, object]]:
    """The properties of an item for `--junitxml`."""
    record = verdict.record
    rows: list[tuple[str, object]] = [
        ("host", host.name),
        ("device", record["device"].get("name") or record["device"].get("kind")),
        ("verdict", record["verdict"]),
        ("outcome", record["outcome"]),
    ]
    about = ("repro_sha256", "platform", "toolchain")
    rows += [(name, record["key"][name]) for name in about if record["key"].get(name)]
    about = ("asked", "golden_sha256", "bundle_sha256", "lock_sha256", "seed", "digest", "reason", "date")
    rows += [(name, record[name]) for name in about if record.get(name) not in (None, "")]
    rows += [(f"version.{name}", version) for name, version in record["versions"].items()]
    rows += [(f"sass_sha256.{name}", sha256) for name, sha256 in record["sass"].items()]
    rows += [(f"ptx_sha256.{name}", sha256) for name, sha256 in record["kernels"].items()]
    return rows + [(f"duration.{name}", seconds) for name, seconds in record["durations"].items()]
