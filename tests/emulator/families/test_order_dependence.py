"""Which instructions tie what a kernel does to the order of its threads; and that one clean run speaks for all orders
of a kernel that has none of them."""

import re

import numpy as np
import pytest
from hypothesis import HealthCheck, event, given, settings, strategies as st

from dsl import emulator
from dsl.emulator.families.mbarrier.check import OtherWait
from dsl.emulator.families.order_dependence import dependences
from dsl.emulator.families.table import prepare
from dsl.emulator.ptx.parse import parse

HEAD = """.version 8.8
.target sm_90a
.address_size 64
.visible .entry k(.param .u64 x)
{
  .reg .b16 %h; .reg .b32 %r<20>, %t, %w; .reg .b64 %g, %d<6>, %token; .reg .f32 %f<4>; .reg .pred %p, %q, %lead, %seen<99>;
  .shared .align 16 .b8 cells[1024]; .shared .align 8 .b64 bars[4];
  ld.param.u64 %g, [x]; mov.u32 %t, %tid.x; shr.u32 %w, %t, 5; mul.wide.u32 %d0, %t, 4; add.s64 %d0, %g, %d0;
  and.b32 %r0, %t, 31; setp.eq.u32 %lead, %r0, 0;
"""
TAIL = "\nE: ret;\n}\n"
WAIT = "L{n}: mbarrier.try_wait.parity.shared.b64 %q, [bars+{at}], {parity}; @!%q bra L{n};"
DEPENDENT = {
    "atom.global.add.u32 %r1, [%g], 1; st.global.u32 [%d0], %r1;": "came before",
    "atom.global.cas.b32 %r1, [%g], 0, 1;": "came before",
    "red.global.add.f32 [%g], 0f3F800000;": "rounded",
    "red.global.add.noftz.bf16x2 [%g], %r1;": "rounded",
    "red.global.add.u32 [%g], 1; red.global.max.u32 [%g], 7;": "may come before or after",
    "ld.volatile.global.u32 %r1, [%g];": "strong write",
    "st.volatile.global.u32 [%g], %t;": "which thread comes last",
    "st.release.gpu.global.u32 [%g], %t;": "which thread comes last",
    "ld.acquire.gpu.global.u32 %r1, [%g];": "strong write",
    "mov.u64 %d1, %clock64;": "the time",
    "mov.u32 %r1, %smid;": "where the thread runs",
    "activemask.b32 %r1;": "how far other threads are",
    "griddepcontrol.wait;": "how far other threads are",
    "mbarrier.arrive.shared.b64 %token, [bars]; mbarrier.pending_count.b64 %r1, %token;": "how far other threads are",
    "mbarrier.complete_tx.relaxed.cta.shared.b64 [bars], 16;": "how far other threads are",
    "mbarrier.test_wait.parity.shared.b64 %p, [bars], 0; @%p st.global.u32 [%d0], 1;": "wait again",
    # whichever of two mbarriers is first
    "L: mbarrier.try_wait.parity.shared.b64 %p, [bars], 0; @%p bra E; mbarrier.try_wait.parity.shared.b64 %q, [bars+8], 0;"
    "@!%q bra L;": "wait again",
}  # fmt: skip
FREE = [
    "bar.sync 0; bar.sync 1, 64; shfl.sync.idx.b32 %r1, %t, 0, 31, -1; vote.sync.ballot.b32 %r1, %lead, -1;",
    "red.global.add.u32 [%g], 1; atom.global.add.u32 %r1, [%g], 1;",  # nobody reads the result
    "red.global.min.f32 [%g], 0f3F800000;".replace(".f32", ".s32"),
    WAIT.format(n=1, at=0, parity=0),
    "L: mbarrier.try_wait.parity.shared.b64 %p, [bars], 0; @%p bra D; nanosleep.u32 20; bra L; D:",
    "ld.global.u32 %r1, [%g]; st.shared.u32 [cells], %r1;",
]


def whys(body: str) -> list[str]:
    module = prepare(parse(HEAD + body + TAIL))
    return [each.why for each in dependences(module.functions["k"], module.functions)]


@pytest.mark.parametrize("body", DEPENDENT)
def test_instructions_that_tie_a_kernel_to_the_order_of_its_threads(body):
    assert any(re.search(DEPENDENT[body], why) for why in whys(body)), whys(body)


@pytest.mark.parametrize("body", FREE)
def test_instructions_that_do_the_same_in_every_order(body):
    assert whys(body) == []


def test_called_functions_count():
    callee = ".version 8.8\n.target sm_90a\n.address_size 64\n.func f() { .reg .u32 %r; mov.u32 %r, %clock; ret; }\n"
    module = prepare(parse(callee + HEAD.partition(".address_size 64\n")[2] + "call f;" + TAIL))
    assert [d.why for d in dependences(module.functions["k"], module.functions)] == [
        "it reads the time, or where the thread runs"
    ]


PEEK = "mbarrier.try_wait.parity.shared.b64 %p, [bars+{at}], 0; selp.u32 %r1, 1, 0, %p; setp.ne.u32 %q, %r1, 0; {then}"
THEN_WAIT = "@%q bra D; L: mbarrier.try_wait.parity.shared.b64 %p, [bars], 0; @!%p bra L; D:"
PEEKS = {
    "of the next wait": (PEEK.format(at=0, then=THEN_WAIT), True, True),
    "of another mbarrier": (PEEK.format(at=8, then=THEN_WAIT), True, False),
    "of another mbarrier that has not ended": (PEEK.format(at=16, then=THEN_WAIT), True, False),
    "without a wait after it": (PEEK.format(at=0, then="@%q bra D; D:"), False, None),
    "that decides a store too": (PEEK.format(at=0, then=THEN_WAIT + "@%q st.global.u32 [%d0], 1;"), False, None),
    "whose answer is stored": (PEEK.format(at=0, then=THEN_WAIT + "st.global.u32 [%d0], %r1;"), False, None),
    "around a store": (PEEK.format(at=0, then="@%q bra D; st.global.u32 [%d0], 1; " + THEN_WAIT[9:]), False, None),
}


@pytest.mark.parametrize("name", PEEKS)
def test_a_peek_only_spares_its_thread_the_wait_after_it(name):
    body, is_peek, spares = PEEKS[name]
    module = prepare(parse(HEAD + body + TAIL))
    found = dependences(module.functions["k"], module.functions)
    assert [each.is_peek for each in found] == [is_peek]
    if not is_peek:
        return
    first = "@!%lead bra B; mbarrier.init.shared.b64 [bars], 1; mbarrier.init.shared.b64 [bars+8], 1; mbarrier.init.shared.b64 [bars+16], 1; B: bar.sync 0;"
    arrive = "@%lead mbarrier.arrive.shared.b64 _, [bars]; @%lead mbarrier.arrive.shared.b64 _, [bars+8];"
    program = emulator.load(HEAD + first + arrive + body + TAIL)
    assert ran(program, 32, 0) == [0] * 32
    failing = program.with_failing_peeks()
    assert failing is not program
    if spares:
        assert ran(failing, 32, 0) == [0] * 32
    else:
        with pytest.raises(OtherWait):
            ran(failing, 32, 0)


# Steps of a warp of two or three; lanes other than the first only come to barriers.
STEPS = st.one_of(
    st.tuples(st.just("store"), st.integers(0, 2)),
    st.tuples(st.just("load"), st.integers(0, 2)),
    st.tuples(st.just("add"), st.integers(0, 1)),
    st.tuples(st.just("take"), st.just(0)),
    st.tuples(st.just("sync"), st.integers(0, 1)),
    st.tuples(st.just("sync"), st.integers(0, 1)),
    st.tuples(st.just("come"), st.just(1)),
    st.tuples(st.just("arrive"), st.integers(0, 1)),
    st.tuples(st.just("await"), st.integers(0, 3)),
    st.tuples(st.just("await"), st.integers(0, 3)),
    st.tuples(st.just("peek"), st.one_of(st.integers(0, 3).map(lambda i: 5 * i), st.integers(0, 15))),
)


def text_of(programs: list[list[tuple[str, int]]], counts: list[int]) -> str:
    """The kernel in which each warp runs one of the programs, and stores the sum of what it loaded."""
    first = "".join(f"mbarrier.init.shared.b64 [bars+{8 * i}], {count};" for i, count in enumerate(counts))
    text = [f"setp.ne.u32 %p, %t, 0; @%p bra B; {first} B: mov.u32 %r2, 0; st.shared.u32 [cells+16], 0;"
            " st.shared.u32 [cells+20], 0;".replace("; st", "; @!%p st")]  # fmt: skip
    text.append("bar.sync 0;")
    for warp, steps in enumerate(programs):
        text.append(f"setp.ne.u32 %p, %w, {warp}; @%p bra W{warp};")
        for n, (kind, i) in enumerate(steps):
            text.append({
                "store": f"@%lead st.shared.u32 [cells+{4 * i}], {10 * warp + n + 1};",
                "load": f"@%lead ld.shared.u32 %r1, [cells+{4 * i}]; @%lead mad.lo.u32 %r2, %r2, 3, %r1;",
                "add": f"@%lead red.shared.add.u32 [cells+{16 + 4 * i}], {n + 1};",
                "take": "@%lead atom.shared.add.u32 %r1, [cells+16], 5; @%lead add.u32 %r2, %r2, %r1;",
                "sync": "bar.sync 0;" if i == 0 else "bar.sync 1, 64;",
                "come": "bar.arrive 1, 64;",
                "arrive": f"@%lead mbarrier.arrive.shared.b64 _, [bars+{8 * i}];",
                "await": f"@!%lead bra A{warp}_{n};" + WAIT.format(n=f"{warp}_{n}", at=8 * (i // 2), parity=i % 2) + f"A{warp}_{n}:",
                "peek": f"mbarrier.try_wait.parity.shared.b64 %seen{10 * warp + n}, [bars+{8 * (i // 8)}], {i // 4 % 2};"
                f"@%seen{10 * warp + n} bra P{warp}_{n};"
                + WAIT.format(n=f"{warp}_{n}", at=8 * (i // 2 % 2), parity=i % 2) + f"P{warp}_{n}:",
            }[kind])  # fmt: skip
        text.append(f"W{warp}:")
    return HEAD + "\n".join(text) + "\n@%lead st.global.u32 [%d0], %r2;" + TAIL


def ran(program, threads: int, seed: int) -> str | list[int]:
    """The finding, or the sums."""
    out = np.zeros(threads, np.uint32)
    memory = emulator.Memory()
    memory.register(out.ctypes.data, out.nbytes, "x")
    pointer = out.ctypes.data.to_bytes(8, "little")
    try:
        emulator.launch(program, "k", (1, 1, 1), (threads, 1, 1), [pointer], memory, seed=seed, checks=("race",))
    except emulator.Fault as error:
        return error.kind
    return out.tolist()


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore::dsl.emulator.KernelWarning")
@settings(deadline=None, max_examples=300, suppress_health_check=list(HealthCheck))
@given(
    st.lists(st.lists(STEPS, max_size=5), min_size=2, max_size=3), st.lists(st.integers(1, 2), min_size=2, max_size=2)
)
def test_a_clean_run_without_dependences_speaks_for_all_orders(programs, counts):
    text = text_of(programs, counts)
    program, threads = emulator.load(text), 32 * len(programs)
    first = ran(program, threads, 0)
    found = list(dependences(program.module.functions["k"], program.module.functions))
    if isinstance(first, str) or not all(each.is_peek for each in found):
        return
    if found:
        event("peeks")
        try:
            if ran(program.with_failing_peeks(), threads, 0) != first:
                return
        except OtherWait:
            return
    event(f"{'peeks speak' if found else 'speaks'} for all")
    for seed in range(1, 9):
        assert ran(program, threads, seed) == first, text
