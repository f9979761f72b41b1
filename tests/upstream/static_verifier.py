"""Verdicts of SentryWard, a static verifier of PTX, about the pairs of tests/emulator/pairs.

    uv run --with sentryward==0.1.1 python tests/upstream/static_verifier.py

Prints the table of docs/checkers.md and each pair that both judge differently. Exit status 1 if there is one that
DIFFERENT does not explain, or if one there is no difference any more.
"""

from __future__ import annotations

import collections
import json
import sys
import tempfile
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from tests.emulator.diagnosis.cured_programs import Program
from tests.emulator.pairs import clusters, copies, flags, lanes_and_places, mbarriers, named_barriers, turns
from tests.emulator.pairs.pair import Pair

MODULES = (clusters, copies, flags, lanes_and_places, mbarriers, named_barriers, turns)
SECONDS = 20  # for each kernel
FINDINGS = ("potential_race", "not_wellsynced", "invalid_lifecycle")
_NOT_CHECKED = "it does not look for this"
# wrong kernels that SentryWard calls race free, each with what settles it
DIFFERENT = {
    "a block leaves after its own read": "CUDA programming guide, distributed shared memory: a block must not exit "
    "before the accesses of others to its shared memory are complete",
    "out of bounds by one": _NOT_CHECKED,
    "a vector at an odd word": _NOT_CHECKED,
    "tile's last column never filled": _NOT_CHECKED,
    "half of a vector read never written": _NOT_CHECKED,
    "mbarrier's memory used as data": "PTX ISA 9.7.13.15.10, mbarrier.inval: an mbarrier must be invalidated before its "
    "memory is used for any other purpose",
    "write into a peer that may not have begun": "CUDA programming guide, distributed shared memory: all blocks of the "
    "cluster must have begun to execute before their shared memory is accessed",
    "relaxed arrival of the cluster": "PTX ISA 9.7.13.3, barrier.cluster: .relaxed of an arrive gives no order of memory",
    "mbarrier of a peer after a relaxed barrier without its fence": "PTX ISA 9.7.13.3, barrier.cluster: .relaxed of an "
    "arrive gives no order of memory; fence.mbarrier_init is what makes the object visible",
}


def verdict(pair: Pair, is_right: bool, folder: Path) -> str:
    """The verdict about one of both kernels of a pair."""
    from sentryward import verify

    ptx, given = folder / "kernel.ptx", folder / "input.json"
    ptx.write_text(Program(pair.name, pair.kind, "", pair.edit, pair.block, pair.grid, pair.cluster).ptx(is_right))
    launch = {"grid_dim": [pair.grid, 1, 1], "block_dim": [pair.block, 1, 1], "cluster_dim": [pair.cluster, 1, 1]}
    given.write_text(json.dumps({"schema": "spverify.kernel-input/v1", "entry": "k", "launch": launch}))
    return verify(ptx, input=given, timeout_seconds=SECONDS)["result"]


def judged(result: str) -> str:
    """`finding`, `silent`, or `not taken`."""
    return "finding" if result in FINDINGS else "silent" if result == "race_free" else "not taken"


def main() -> int:
    different: set[str] = set()
    print(
        "| pairs | wrong: found | wrong: silent | wrong: not taken | right: silent | right: found | right: not taken |"
    )
    print("|---|---|---|---|---|---|---|")
    with tempfile.TemporaryDirectory() as folder:
        for module in MODULES:
            counts = collections.Counter()
            for pair in module.PAIRS:
                wrong, right = (judged(verdict(pair, is_right, Path(folder))) for is_right in (False, True))
                counts.update([("wrong", wrong), ("right", right)])
                if wrong == "silent" or right == "finding":
                    different.add(pair.name)
            cells = [counts[key] for key in (("wrong", "finding"), ("wrong", "silent"), ("wrong", "not taken"),
                                             ("right", "silent"), ("right", "finding"), ("right", "not taken"))]  # fmt: skip
            print(f"| {module.__name__.rpartition('.')[2].replace('_', ' ')} | {' | '.join(map(str, cells))} |")
    for name in sorted(different | DIFFERENT.keys()):
        state = DIFFERENT.get(name, "not explained") if name in different else "no difference any more"
        print(f"{name}: {state}")
    return int(different != DIFFERENT.keys())


if __name__ == "__main__":
    raise SystemExit(main())
