"""The wrong programs in PTX of the pairs in other tests, each with one instruction a line, so that an edit can part any two."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from typing import NamedTuple

from dsl import emulator
from dsl.emulator.faults import Fault
from tests.edits import applied
from tests.emulator.check import test_divergence, test_observed_writes, test_race
from tests.emulator.conftest import Machine
from tests.emulator.diagnosis import test_cures
from tests.emulator.families.barrier import test_check as barriers
from tests.emulator.families.bulk import test_check as bulk
from tests.emulator.families.mbarrier import test_check as clusters, test_turns, test_words as mbarriers
from tests.emulator.families.warpgroup import test_check as warpgroup

_PARTS = re.compile(r"(?<=;)[ \t]+(?=\S)|^([ \t]*[\w$]+:)[ \t]+(?=\S)", re.MULTILINE)
_load, _launch = emulator.load, emulator.launch


class Wrong(NamedTuple):
    """`launch` gives the Fault of the program, or None."""

    name: str
    launch: Callable[[], Fault | None]


def apart(ptx: str) -> str:
    """The text with each instruction and each label in a separate line."""
    while (text := _PARTS.sub(lambda match: (match[1] or "") + "\n", ptx)) != ptx:
        ptx = text
    return ptx


def fault_of(monkeypatch, wrong: Wrong, edits: list[dict], seed: int = 0) -> Fault | None:
    """The fault of a program with some edits made; `seed` is of the order of its threads."""

    def load(ptx: str, *arguments, **named):
        text = apart(ptx)
        for edit in edits:
            text = applied(text, edit)
        return _load(text, *arguments, **named)

    with monkeypatch.context() as patch:
        patch.setattr(emulator, "load", load)
        patch.setattr(emulator, "launch", lambda *given, **named: _launch(*given, **named | {"seed": seed}))
        return wrong.launch()


def every() -> Iterator[Wrong]:
    for name in test_race.PAIRS:
        racy, _, threads, blocks = test_race.texts(name)
        racy += "// view" * (name == "a view of the same memory")
        yield Wrong(f"race: {name}", lambda at=(racy, threads, blocks): test_race.outcome(*at))
    for name in test_observed_writes.PAIRS:
        racy, _, threads, blocks = test_observed_writes.texts(name)
        yield Wrong(f"observed: {name}", lambda at=(racy, threads, blocks): test_race.outcome(*at))
    for name, (kernel, wrong, _, threads) in test_divergence.PAIRS.items():
        body = test_divergence.REGISTERS + kernel.format(at=wrong)
        yield Wrong(f"divergence: {name}", lambda at=(body, threads): barriers.outcome(*at))
    for name, (kernel, wrong, _, threads) in barriers.PAIRS.items():
        body = kernel.format(**wrong)
        yield Wrong(f"barrier: {name}", lambda at=(body, threads): barriers.outcome(*at))
    for name in bulk.PAIRS:
        body = bulk.both(name)[0]
        yield Wrong(f"bulk: {name}", lambda body=body: bulk.outcome(body))
    for name in warpgroup.PAIRS:
        at = warpgroup.both(name)[0], warpgroup.PAIRS[name][2]
        yield Wrong(f"warpgroup: {name}", lambda at=at: warpgroup.outcome(*at))
    for name, (kernel, fixes, _) in warpgroup.ACROSS.items():
        body = kernel.replace("{fix}", fixes.split("|")[0])
        yield Wrong(f"warpgroups of a cluster: {name}", lambda body=body: warpgroup.outcome(body, 128, cluster=2))
    for name, wrong, *_ in clusters.PAIRS:
        body = clusters.body_of(wrong)
        yield Wrong(f"cluster: {name}", lambda body=body: clusters.outcome(Machine(), body, 0))
    for name, wrong, *_ in [*mbarriers.PAIRS, *mbarriers.CHECKED]:
        body = wrong.replace("\n", "")
        yield Wrong(f"mbarrier: {name}", lambda body=body: mbarriers.outcome(Machine(), body, 0, ("race",)))
    for name, ((gives, count), *_) in test_turns.RINGS.items():
        at = test_turns.RING.replace("{gives}", gives), 1, count, 96, 0
        yield Wrong(f"turns: {name}", lambda at=at: test_turns.outcome(Machine(), *at))
    for program in test_cures.PROGRAMS:
        yield Wrong(f"cures: {program.name}", program.fault)
