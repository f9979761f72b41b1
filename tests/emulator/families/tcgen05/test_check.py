"""tcgen05 as the asynchronous instructions that they are, in pairs: a kernel with a mistake, and the same kernel put right.

Modules tested here: dsl/emulator/families/tcgen05/tensor_accesses.cc, dsl/emulator/families/tcgen05/loads.py,
dsl/emulator/families/cp_async/check.py.
"""

import warnings

import numpy as np
import pytest

from dsl import emulator
from tests.edits import applied
from tests.emulator.diagnosis.edits.wrong_programs import apart
from tests.emulator.families.tcgen05 import program
from tests.emulator.families.tcgen05.program import FIRST, descriptor, instruction

COLUMNS = 64
MMA = "tcgen05.mma.cta_group::1.kind::f16 [%d], %da, %db, %idesc, %adds;"
STATIONARY = MMA.replace("mma", "mma.ws")
COMMIT = "tcgen05.commit.cta_group::1.mbarrier::arrive::one.shared::cluster.b64 [%s];"
WAIT = "WAIT: mbarrier.try_wait.parity.shared::cta.b64 %p, [smem], 0; @!%p bra WAIT;"
STORE = "tcgen05.st.sync.aligned.32x32b.x8.b32 [%i], {%v0, %v1, %v2, %v3, %v4, %v5, %v6, %v7};"
LOAD = "tcgen05.ld.sync.aligned.32x32b.x8.b32 {%v0, %v1, %v2, %v3, %v4, %v5, %v6, %v7}, [%i];"
STORED, LOADED = "tcgen05.wait::st.sync.aligned;", "tcgen05.wait::ld.sync.aligned;"
BARRIER = "tcgen05.fence::before_thread_sync; bar.sync 0; tcgen05.fence::after_thread_sync;"
PROXY = "fence.proxy.async.shared::cta;"
AFTER = "tcgen05.fence::after_thread_sync; mov.u32 %c, 0;"
FREE = "tcgen05.dealloc.cta_group::1.sync.aligned.b32 %d, 64;"
LAST = "tcgen05.fence::before_thread_sync; bar.sync 0; @!%first bra END;"
GIVES_BACK = "tcgen05.relinquish_alloc_permit.cta_group::1.sync.aligned;"
ALLOC = "tcgen05.alloc.cta_group::1.sync.aligned.shared::cta.b32 [smem+8], 64;"
A, B, IDESC = descriptor(FIRST, 128 * 16, 128), descriptor(FIRST + 4096, 64 * 16, 128), instruction(128, 64)
LAST_WAIT = "V: mbarrier.try_wait.parity.shared::cta.b64 %p, [smem], 1; @!%p bra V;"
ONE_THREAD = "or.b32 %i, %t, %rank; setp.ne.u32 %p, %i, 0; @%p bra WAIT;"
SECOND = f"mbarrier.init.shared::cta.b64 [smem+16], 1; {COMMIT.replace('%s', '%s+16')}"
INVALIDATED = "setp.eq.u32 %p, %t, 32; @%p mbarrier.inval.shared::cta.b64 [smem+16];"
# name: ([(what is replaced, by what)], kind, words of the report)
WRONG = {
    "D is read before the commit was waited for": ([(WAIT, "WAIT:")], "RACE", "which the tcgen05.mma at PTX line"),
    "the wait is for the phase before": (
        [(WAIT, WAIT.replace("[smem], 0", "[smem], 1"))], "RACE", "still writes: its commit was not waited for"),
    "one warp waits for all": (
        [(WAIT, "WAIT: @!%first bra ON; W: mbarrier.try_wait.parity.shared::cta.b64 %p, [smem], 0; @!%p bra W; ON:")],
        "RACE", "no barrier between"),
    "a relaxed wait and no fence": (
        [(".try_wait.parity", ".try_wait.parity.relaxed.cta"), (AFTER, "mov.u32 %c, 0;")], "RACE",
        "put tcgen05.fence::after_thread_sync between the wait and"),
    "stores that were not waited for": (
        [(STORED, "")], "RACE", "which the tcgen05.st at PTX line 30 still writes: no tcgen05.wait::st between"),
    "no barrier between the stores and the product": (
        [(BARRIER, "bar.warp.sync -1;")], "UNDEFINED_READ", "adds to tensor memory at lane 32, column 0"),
    "loads that were not waited for and a store": (
        [(LOADED, STORE.replace("%v", "%w").replace("%w0, %w1, %w2, %w3, %w4, %w5, %w6, %w7", ", ".join(["%t"] * 8)))],
        "RACE", "which the tcgen05.ld at PTX line 38 still reads: no tcgen05.wait::ld"),
    "a product over what a load still reads": (
        [(LAST, f"{LOAD} bar.sync 0;\n{ONE_THREAD.replace('WAIT', 'NO')} {MMA} {COMMIT}\n"
                f"NO: {LAST_WAIT}\n{LAST}"), ], "RACE", "which the tcgen05.ld at PTX line 41 still reads"),
    "an operand that nobody wrote": (
        [(f"setp.lt.u32 %p, %i, {program.SMEM_BYTES - FIRST};", "setp.lt.u32 %p, %i, 4096;")], "UNDEFINED_READ",
        "which nobody wrote; the value goes into every element of the product"),
    "operands that a thread wrote without a proxy fence": (
        [(PROXY, "")], "RACE", "this thread wrote at PTX line 25: no fence.proxy.async between"),
    "an operand that is overwritten while the product reads it": (
        [("WAIT: mbar", f"WAIT: st.shared.b32 [%s+{FIRST}], %t; mbar")], "RACE", "which the tcgen05.mma at PTX line 34 still reads"),
    "freed with a product on its way": (
        [(LAST, f"{LAST}\n{ONE_THREAD.replace('WAIT', 'NO')} {MMA}\nNO:")], "ILLEGAL",
        "which the operation at PTX line 42 may still use"),
    "used after it was freed": (
        [(ONE_THREAD, f"@!%first bra GO; {FREE} GO: bar.sync 0;\n{ONE_THREAD}")], "ILLEGAL", "was freed at PTX line"),
    "never freed": ([(FREE, "")], "ILLEGAL", "has not freed the 64 columns that it allocated here"),
    "freed in part": ([(FREE, FREE.replace("64", "32"))], "ILLEGAL", "64 columns were allocated there"),
    "freed at another address": (
        [(FREE, f"add.u32 %d, %d, 32; {FREE.replace('64', '32')}")], "ILLEGAL", "no allocation begins there"),
    "allocated after the permit was given back": (
        [(GIVES_BACK, f"{GIVES_BACK}\n{ALLOC}")], "ILLEGAL", "it gave the permit back at PTX line"),
    "allocated again, more than before": (
        [(GIVES_BACK, ALLOC.replace("64", "128"))], "ILLEGAL", "later ones may not ask for more"),
    "columns that are not a power of two": ([(ALLOC, ALLOC.replace("64", "96"))], "ILLEGAL", "it names 96 columns"),
    "more columns than there are": (
        [(ALLOC, f"{ALLOC.replace('64', '512')}\n{ALLOC.replace('64', '512')}")], "ILLEGAL", "all but 0 of 512"),
    "past the allocation": (
        [(MMA, MMA.replace("[%d]", "[%d+32]"))], "ILLEGAL", "column 64 is not allocated"),
    "past the end of tensor memory": (
        [(MMA, MMA.replace("[%d]", "[%d+480]"))], "ILLEGAL", "column 480 is not allocated"),
    "lanes of another warp": (
        [("shl.b32 %lane, %w, 21;", "shl.b32 %lane, %w, 21; add.u32 %lane, %lane, 0x400000;")], "ILLEGAL",
        "a warp reaches lanes 0 to 31 here"),
    "the address without a barrier after the alloc": (
        [(f"{PROXY} bar.sync 0;", f"{PROXY} bar.warp.sync -1;")], "RACE", "smem+0x8"),
    "no commit": ([(COMMIT, "")], "DEADLOCK", "no tcgen05.commit of thread (0, 0, 0) = warp 0, lane 0"),
    "the commit of another thread": (
        [(COMMIT, ""), (ONE_THREAD, f"setp.ne.u32 %p, %t, 32; @%p bra NO; {COMMIT} NO: {ONE_THREAD}")], "RACE",
        "still writes: its commit was not waited for"),
    "the commit before the product": ([(f"{MMA}\n{COMMIT}", f"{COMMIT}\n{MMA}")], "RACE", "its commit was not waited for"),
    "all lanes issue the product": (
        [(ONE_THREAD, "@!%first bra WAIT;"), (COMMIT, f"{ONE_THREAD} {COMMIT}")], "RACE", "which the tcgen05.mma at"),
    "the first product accumulates": ([(STORE, "")], "UNDEFINED_READ", "adds to tensor memory at lane 0, column 0"),
    "tensor memory that nobody wrote": (
        [(STORE, ""), (MMA, "")], "UNDEFINED_READ", "reads tensor memory at lane 0, column 0, which nobody has written"),
    "a descriptor of another kind": (
        [(MMA, MMA.replace("f16", "tf32"))], "ILLEGAL", "bits 7-9, the type of A, is none of the kind"),
    "a height that there is not": (
        [(MMA, f"or.b32 %idesc, %idesc, {3 << 24}; {MMA}")], "ILLEGAL", "(M is 176)"),
    "a width that there is not": ([(MMA, f"or.b32 %idesc, %idesc, {63 << 17}; {MMA}")], "ILLEGAL", "(N is 504)"),
    "a sparse descriptor": ([(MMA, f"or.b32 %idesc, %idesc, 4; {MMA}")], "ILLEGAL", "bit 2, a sparse A, must be 1 with `.sp`"),
    "a matrix descriptor of wgmma": (
        [(MMA, f"and.b64 %da, %da, {~(7 << 46) & (1 << 64) - 1}; {MMA}")], "ILLEGAL", "0 there is a descriptor of wgmma"),
    "a swizzle that there is not": ([(MMA, f"or.b64 %da, %da, {3 << 61}; {MMA}")], "ILLEGAL", "bits 61-63, the swizzle"),
    "a height that there is with .ws alone": (
        [(MMA, f"xor.b32 %idesc, %idesc, {10 << 24}; {MMA}")], "ILLEGAL", "(M is 32)"),
    "a width that .ws has not": (
        [(MMA, f"xor.b32 %idesc, %idesc, {12 << 17}; {STATIONARY}")], "ILLEGAL", "(N is 32)"),
    "a mask of columns": (
        [(MMA, f"mov.b64 %g, 0x8000000000; {STATIONARY.replace(';', ', %g;')}")], "ILLEGAL",
        "the mask of columns that count as zero, 0x0000008000000000, is not emulated"),
    "D of .ws past the allocation": (
        [(MMA, f"xor.b32 %idesc, %idesc, {(8 ^ 32) << 17}; {STATIONARY}")], "ILLEGAL", "column 64 is not allocated"),
    "a matrix outside of shared memory": (
        [(MMA, f"or.b64 %db, %db, 0x3000; {MMA}")], "ILLEGAL", "which has 98304 bytes"),
    "an mbarrier invalidated while a commit may arrive there": (
        [(COMMIT, f"{COMMIT} {SECOND}"), (AFTER, f"{AFTER} {INVALIDATED}")], "MBARRIER_IN_USE", "another thread may still use it"),
    "an mbarrier that counts two": (
        [("[smem], 1; fence", "[smem], 2; fence")], "DEADLOCK", "1 of 2 arrivals have come"),
}  # fmt: skip
RIGHT = {
    "as it is": [],
    "each lane names its own lane": [
        ("shl.b32 %lane, %w, 21;", "shl.b32 %lane, %t, 16;"),
    ],
    "a load that is read needs no wait": [(LOADED, "")],
    "a relaxed wait and a fence": [(".try_wait.parity", ".try_wait.parity.relaxed.cta")],
    "no fences where the wait acquires": [(AFTER, "mov.u32 %c, 0;"), (BARRIER, "bar.sync 0;")],
    "stationary products, and a mask of no columns": [
        (MMA, f"{STATIONARY}\nmov.b64 %g, 0; {STATIONARY.replace(';', ', %g;')}"),
    ],
    "two products in order": [(MMA, f"{MMA}\n{MMA}")],
    "a store after the load was waited for": [(LOADED, f"{LOADED}\n{STORE}\n{STORED}")],
    "an mbarrier invalidated after the wait for a later commit": [
        (COMMIT, f"{SECOND} {COMMIT}"), (AFTER, f"{AFTER} {INVALIDATED}"),
    ],
    "allocated twice": [(ALLOC, f"{ALLOC}\n{ALLOC.replace('smem+8', 'smem+16')}"), (FREE, f"{FREE}\nadd.u32 %d, %d, 64; {FREE}")],
}  # fmt: skip


# In a pair a thread of the second block writes an operand there and arrives for the product in the first.
NO_BARRIER = "or.b32 %i, %t, %rank; setp.ne.u32 %p, %i, 0; @%p bra WAIT;"
HANDED_OVER = f"""setp.ne.u32 %p, %t, 0; @%p bra WAIT; setp.eq.u32 %p, %rank, 0; @%p bra LEAD;
st.shared.b32 [%s+{FIRST}], 0; {PROXY} mapa.shared::cluster.u32 %i, %s, 0; mbarrier.arrive{{scope}}.shared::cluster.b64 _, [%i+16];
bra WAIT; LEAD: {{wait}}"""
HEARS = "W: mbarrier.try_wait.parity.shared::cta.b64 %p, [smem+16], 0; @!%p bra W;"


def fault_of_pair(scope: str, wait: str, seed: int):
    init = "mbarrier.init.shared::cta.b64 [smem], 1;"
    text = program.ptx(MMA.replace("::1", "::2"), COLUMNS, 2)
    assert init in text and NO_BARRIER in text
    text = text.replace(init, f"{init} mbarrier.init.shared::cta.b64 [smem+16], 1;")
    text = text.replace(NO_BARRIER, HANDED_OVER.format(scope=scope, wait=wait))
    images, cells = [np.ones(4096 * 2, np.float16).tobytes()] * 2, np.zeros((2, 128, COLUMNS))
    try:
        program.run(MMA, cells, images, A, B, instruction(256, 64), checks=("race",), seed=seed, text=text)
    except emulator.Fault as found:
        return found
    return None


@pytest.mark.parametrize("seed", (0, 7))
def test_an_operand_that_the_other_block_of_a_pair_wrote(seed):
    for scope in ("", ".release.cluster"):
        assert fault_of_pair(scope, HEARS, seed) is None
    for scope, wait in [("", ""), (".release.cta", HEARS), (".relaxed.cluster", HEARS)]:
        found = fault_of_pair(scope, wait, seed)
        assert found is not None and found.kind == "race", (scope, str(found))


def fault(changes, seed: int = 0, edit=None, is_apart: bool = False):
    """The finding in the kernel with some changes; `is_apart`: each statement is on a line, as an edit needs it."""
    text = program.ptx(MMA, COLUMNS)
    for old, new in changes:
        assert old in text, old
        text = text.replace(old, new)
    text = apart(text) if is_apart else text
    text = text if edit is None else applied(text, edit)
    image = np.ones(4096 * 2, np.float16).tobytes()
    try:
        program.run(
            MMA, np.zeros((128, COLUMNS)), image, A, B, IDESC, checks=("race", "undefined"), seed=seed, text=text
        )
    except emulator.Fault as found:
        return found
    return None


@pytest.mark.parametrize("name", WRONG)
def test_a_mistake_is_found(name):
    changes, kind, words = WRONG[name]
    found = fault(changes)
    assert found is not None, "nothing is found"
    assert str(found).splitlines()[0] == kind, str(found)
    assert words in str(found), str(found)


@pytest.mark.parametrize(
    "name",
    ["a relaxed wait and no fence", "stores that were not waited for", "loads that were not waited for and a store"],
)
def test_the_proposed_edit_cures(name):
    changes = WRONG[name][0]
    if name.startswith("loads"):
        changes = [*changes, (LAST, f"{STORED} {LAST}")]  # of the store that follows the loads
    edit = fault(changes, is_apart=True).finding["edit"]
    assert edit["file"] == ""
    assert fault(changes, edit=edit, is_apart=True) is None


@pytest.mark.parametrize("name", RIGHT)
@pytest.mark.parametrize("seed", (0, 7))
def test_a_right_kernel_is_silent(name, seed):
    assert fault(RIGHT[name], seed) is None


PAIR_MMA, PAIR_FREE = MMA.replace("::1", "::2"), FREE.replace("::1", "::2")
FREES = f"setp.eq.u32 %p, %rank, 1; @!%p bra HERE; @!%first bra HERE; {PAIR_FREE}\nHERE:"


def test_the_other_block_of_a_pair_keeps_what_the_product_uses():
    begin = "or.b32 %i, %t, %rank; setp.ne.u32 %p, %i, 0; @%p bra WAIT;"
    text = program.ptx(PAIR_MMA, COLUMNS, 2)
    assert begin in text
    images, idesc = [np.ones(4096 * 2, np.float16).tobytes()] * 2, instruction(256, 64)
    with pytest.raises(emulator.Fault) as caught:
        program.run(PAIR_MMA, np.zeros((2, 128, COLUMNS)), images, A, descriptor(FIRST + 4096, 32 * 16, 128), idesc,
                    text=text.replace(begin, f"{FREES}\n{begin}"))  # fmt: skip
    assert str(caught.value).startswith("ILLEGAL"), str(caught.value)
    assert "PTX line 33" in str(caught.value), str(caught.value)


COPIES = [
    ("ld.global.b32 %v0, [%g]; add.u32 %c, %s, %i;", "add.u32 %c, %s, %i;"),
    (f"st.shared.b32 [%c+{FIRST}], %v0;", f"cp.async.ca.shared.global [%c+{FIRST}], [%g], 4;"),
]
WAITED_FOR = "cp.async.wait_all;"


def test_a_product_of_copies_without_a_fence_gets_a_warning():
    with pytest.warns(
        emulator.KernelWarning, match="CP_ASYNC_NOT_FENCED: .*tcgen05.mma.*thread .0, 0, 0. .*PTX line 25"
    ):
        assert fault([*COPIES, (PROXY, WAITED_FOR)]) is None


def test_a_product_of_copies_after_a_fence_is_silent():
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert fault([*COPIES, (PROXY, f"{WAITED_FOR} {PROXY}")]) is None
