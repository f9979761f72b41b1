"""Two products of Triton for sm_100a with one synchronisation removed or weakened at a time: each change is found under
one of three seeds, or is one that EQUIVALENT explains. `pytest -s` prints the table of docs/checkers.md.
"""

from __future__ import annotations

import collections
import dataclasses
import fnmatch
import warnings

import numpy as np
import pytest

from dsl import emulator
from dsl.emulator import SameValueRace
from tests.emulator.triton.compiled_kernel import CompiledKernel, aligned
from tests.emulator.triton.test_descriptors import tile
from tests.emulator.weakenings import weakenings
from tests.upstream.weaken import mechanism

pytestmark = pytest.mark.slow
SEEDS = (0, 3, 7)
M, N, K = 128, 32, 448  # each of three slots is filled more than once
TILES, TILE_K = 4, 128  # of the persistent one, whose accumulator has two stages
_UNUSED = "nothing is written over the mbarrier afterwards"
_PAIRED = "two barriers stand around the fence, and either is enough: each thread waits for its copies before both"
_SELF = "each thread waits for the mbarrier of the commit itself, right after it"
_LANE = "the lane that issues and commits has waited at the mbarrier itself"
_COPIES = "one warp expects the bytes and begins both copies, and bytes may come before they are expected"
_LAST = "a barrier of the same threads comes before, after they last used tensor memory"
_UNSEEN = "nobody waits for the phase that this last arrival ends"
# by product: `opcode#number | change`, with `*` for any text, and why the program may not see it
EQUIVALENT = {
    "product": {
        "cp.async.commit_group#1 | removed": "its copies go into the next group, which the same wait is for",
        "bar.sync#[3467] | removed": _PAIRED,
        "bar.sync#[58] | removed": _SELF,
        "cp.async.wait_group#3 | *": "the groups that are left have no copies",
        "mbarrier.inval.* | removed": _UNUSED,
        "tcgen05.wait::ld.* | removed": "a register of the load is read before the next barrier, which completes the load",
        "barrier.sync#1 | removed": _LAST,
    },
    "persistent": {
        "bar.sync#2 | removed": "barrier 1 comes before anybody writes where the address is",
        "bar.warp.sync#* | removed": _LANE,
        "bar.sync#6 | removed": _SELF,
        "bar.sync#[78] | removed": _COPIES,
        "barrier.sync#10 | removed": "the products are complete by then, and barrier 0 waits for no thread that has ended",
        "mbarrier.try_wait.*#4 | wait removed": "a wait for parity 1 of a new mbarrier is true at once",
        "cp.async.bulk.wait_group#2 | reads only": "the kernel does not read what its bulk stores write",
        "bar.sync#13 | removed": "nobody writes shared memory afterwards",
        "bar.sync#14 | removed": _UNSEEN,
        "mbarrier.arrive.*#2 | removed": _UNSEEN,
        "mbarrier.inval.* | removed": _UNUSED,
        "barrier.sync#15 | removed": _LAST,
    },
}


@pytest.fixture(params=EQUIVALENT)
def product(request, compiled) -> tuple[str, CompiledKernel, list, np.ndarray, np.ndarray]:
    """A kernel, its arguments, the one that it writes, and what it has to be."""
    random, constants = np.random.default_rng(1), {"BM": M, "BN": N, "BK": 64}
    m, k = (M, K) if request.param == "product" else (M * TILES, TILE_K)
    a, b = (random.integers(-3, 4, shape) for shape in ((m, k), (N, k)))
    factors, expected = [aligned(each.astype(np.float16)) for each in (a, b)], a @ b.T
    if request.param == "product":
        types = {"a_ptr": "*fp16", "b_ptr": "*fp16", "c_ptr": "*fp32", "N": "i32", "K": "i32"}
        kernel = compiled("product", types, constants | {"BY_K": True}, 4, "b200")
        c = aligned(np.zeros((m, N), np.float32))
        return request.param, kernel, [*factors, c, N, k], c, expected
    types = {"a": tile(M, 64), "b": tile(N, 64), "c": tile(M, N), "M": "i32", "N": "i32", "K": "i32"}
    kernel = compiled(
        "persistent_product", types, constants | {"BLOCKS": 1, "FLAT": True, "SPECIALISED": True}, 4, "b200"
    )
    c = aligned(np.zeros((m, N), np.float16))
    return request.param, kernel, [*((each,) for each in (*factors, c)), m, N, k], c, expected


def verdict(kernel: CompiledKernel, arguments: list, c: np.ndarray, expected: np.ndarray, seed: int) -> str:
    """The kind of the fault, warning or note of a launch under all checks, `wrong output`, or nothing."""
    c[...] = 0
    with warnings.catch_warnings(record=True) as warned:
        warnings.simplefilter("always")
        warnings.simplefilter("ignore", SameValueRace)
        try:
            kernel.run((1, 1), arguments, ("race", "undefined"), seed)
        except emulator.Fault as fault:
            return fault.kind
    if warned:
        return str(warned[0].message).partition(":")[0].lower()
    return "" if np.array_equal(c, expected) else "wrong output"


def is_trapped(kernel: CompiledKernel, *launch) -> bool:
    return verdict(kernel, *launch, 0) == "trap"


def test_each_weaker_product_is_found_or_equivalent(product):
    name, kernel, *launch = product
    assert [verdict(kernel, *launch, seed) for seed in SEEDS] == ["", "", ""]
    entry = next(iter(emulator.load(kernel.ptx, gpu_model=kernel.gpu_model).entries))
    silent, explained, rows = [], set(), collections.Counter()
    for change in weakenings(kernel.ptx, entry):
        weaker = dataclasses.replace(kernel, ptx=change.applied(kernel.ptx))
        found = next(filter(None, (verdict(weaker, *launch, seed) for seed in SEEDS)), "")
        if not found and not is_trapped(dataclasses.replace(kernel, ptx=change.reached(kernel.ptx)), *launch):
            found = "not reached"
        what = f"{change.opcode}#{change.number} | {change.change}"
        row = next((row for row in EQUIVALENT[name] if fnmatch.fnmatchcase(what, row)), None)
        if not found:
            explained.add(row)
        if not found and row is None:
            silent.append(f"PTX line {change.line}: {what}")
        rows[mechanism(change.opcode), found if found == "not reached" else "found" if found else "equivalent"] += 1
        print(f"{name}: PTX line {change.line}: {what}: {found or EQUIVALENT[name].get(row)}")
    print(*(f"{name}: {group}: {found}: {count}" for (group, found), count in sorted(rows.items())), sep="\n")
    assert not silent, "\n".join(silent)
    assert EQUIVALENT[name].keys() == explained, "a change that is found needs no reason"
