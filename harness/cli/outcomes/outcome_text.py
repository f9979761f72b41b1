"""The outcomes of one case as text: each answer with an execution that gives it, a column a thread."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

_COLUMN = 34  # characters of a thread's part of an execution
_AT = {"fences": "fence", "waits": "waits at", "arrives": "arrives at"}  # steps that access no memory


def lines(name: str, table: dict[str, Any]) -> Iterator[str]:
    """The text of one case; `table` is its part of the document of `--json`."""
    if table["text"]:
        yield f"{name}: the outcomes could not be found\n{table['text'].rstrip()}"
        return
    launches = {tuple(one["after"]): one for one in table["launches"]}
    results = table["results"]
    extent = "complete" if table["complete"] else f"bounded: not every execution was tried, --bound is {table['bound']}"
    if not results:
        yield from _of_script(name, table, extent)
        return
    yield f"{name}: the PTX memory model allows {_count(results)} ({extent})"
    for number, each in enumerate(results, 1):
        values = ", ".join(f"{key} = {value}" for key, value in each["outputs"].items())
        chosen = _chosen(each, launches)
        notes = _notes(chosen) + ["the repro does not allow it"] * (not each["allowed"])
        yield f"\n{number}. {values if each['ends'] else 'it never ends'}{_in_brackets(notes)}"
        for launch, one in chosen:
            yield from _execution(launch["entry"] if len(chosen) > 1 else "", one)
    for output, values in table["never"].items():
        yield f"\nthe repro allows {output} = {' and '.join(values)}, but no outcome has it"


def _of_script(name: str, table: dict[str, Any], extent: str) -> Iterator[str]:
    """The outcomes of each launch, which follows the first outcome of the launches before it."""
    for launch in table["launches"]:
        after = ", after outcome 1 of each launch before it" * bool(launch["after"])
        count = _count(launch["outcomes"])
        yield f"{name}: the PTX memory model allows {count} of `{launch['entry']}`{after} ({extent})"
        for number, one in enumerate(launch["outcomes"], 1):
            values = ", ".join(f"{place} = {bits}" for place, bits in one["final"]) or "memory does not change"
            ending = "it never ends" if one["stuck"] else values
            yield f"\n{number}. {ending}{_in_brackets(_notes([(launch, one)]))}"
            yield from _execution("", one)
        yield ""


def _count(rows: list) -> str:
    return f"{len(rows)} outcome{'s' * (len(rows) != 1)}"


def _notes(chosen: list[tuple[dict[str, Any], dict[str, Any]]]) -> list[str]:
    return ["no order of the accesses gives it"] * any(not one["interleaving"] for _, one in chosen)


def _in_brackets(notes: list[str]) -> str:
    return f"   ({', '.join(notes)})" if notes else ""


def _chosen(each: dict[str, Any], launches: dict[tuple, Any]) -> list[tuple[dict[str, Any], dict[str, Any]]]:
    """The launches of a result, each with the outcome that led to it."""
    rows = [(launches[tuple(each["choice"][:depth])], chosen) for depth, chosen in enumerate(each["choice"])]
    return [(launch, launch["outcomes"][chosen]) for launch, chosen in rows]


def _execution(title: str, one: dict[str, Any]) -> Iterator[str]:
    """An execution: a column a thread, a row a step."""
    if title:
        yield f"   {title}"
    threads = sorted({(step["block"], step["thread"]) for step in one["steps"]})
    if threads:
        yield "   " + "".join(f"block {b}, thread {t}".ljust(_COLUMN) for b, t in threads).rstrip()
    for number, step in enumerate(one["steps"]):
        column = threads.index((step["block"], step["thread"]))
        yield f"   {' ' * _COLUMN * column}{number}: {_step(step)}".rstrip()
    for each in one["stuck"]:
        yield f"   block {each['block']}, thread {each['thread']} waits for ever at line {each['line']}: {each['code']}"


def _step(step: dict[str, Any]) -> str:
    where = f"line {step['line']}"
    if step["does"] in _AT:
        return f"{_AT[step['does']]} {step['instruction']}, {where}"
    text = f"{step['does']} {step['place']} = {step['value']}, {where}"
    if step["does"] == "writes":
        return text
    if step["read_from"] is None:
        source = "from before the kernel"
    else:
        source = f"from step {step['read_from']}" + ", which comes later" * step["early"]
    return f"{text}, {source}" + (f", does not see step {step['unseen']}" if step["unseen"] is not None else "")
