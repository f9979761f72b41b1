"""A block hears of the end of its copies to another block before it ends; see also tests/emulator/pairs/clusters.py."""

import pytest

from tests.emulator.diagnosis.cured_programs import Program

MEET = "barrier.cluster.arrive; barrier.cluster.wait;"
RELAXED = MEET.replace("arrive", "arrive.relaxed")
SEND = "cp.async.bulk.shared::cluster.shared::cta.mbarrier::complete_tx::bytes"
BODY = f"""@%first mbarrier.init.shared.b64 [full], 1; @%first mbarrier.init.shared.b64 [empty], 1;
@%first fence.mbarrier_init.release.cluster; {MEET}
mapa.shared::cluster.u32 %r17, full, 1; mapa.shared::cluster.u32 %r16, empty, 0; mapa.shared::cluster.u32 %r15, %s, 1;
setp.eq.u32 %p, %b, 0; mov.u32 %i, 0; @!%p bra R; @!%first bra S;
L: {SEND} [%r15+1024], [%s], 256, [%r17];
{{sender}}
add.u32 %i, %i, 1; setp.lt.u32 %q, %i, 3; @%q bra L;
S: {{end_of_sender}} bra X;
R: and.b32 %r1, %i, 1;
@%first mbarrier.arrive.expect_tx.shared.b64 _, [full], 256;
A: mbarrier.try_wait.parity.acquire.cluster.shared::cta.b64 %q, [full], %r1; @!%q bra A;
bar.sync 0; ld.shared.u32 %r3, [%next+1024]; bar.sync 0;
{{receiver}}
add.u32 %i, %i, 1; setp.lt.u32 %q, %i, 3; @%q bra R;
{{end_of_receiver}}
X:"""
ANSWERED = (
    "and.b32 %r1, %i, 1; W: mbarrier.try_wait.parity.acquire.cluster.shared::cta.b64 %q, [empty], %r1; @!%q bra W;"
)
ANSWER = "@%first mbarrier.arrive.release.cluster.shared::cluster.b64 _, [%r16];"
ANSWER_NOT_LAST = f"setp.eq.u32 %q, %i, 2; @%q bra T; {ANSWER} T:"
NOT_LAST = ANSWERED.replace("and.b32", "setp.eq.u32 %q, %i, 2; @%q bra V; and.b32") + " V:"


def outcome(**parts: str) -> str | None:
    parts = {"sender": "", "end_of_sender": "", "receiver": "", "end_of_receiver": ""} | parts
    fault = Program("", "", "", BODY.format(**parts), 64, 2, 2).fault()
    return str(fault) if fault is not None else None


@pytest.mark.parametrize("parts", [
    {"sender": ANSWERED, "receiver": ANSWER},
    {"sender": ANSWERED, "receiver": ANSWER, "end_of_sender": MEET, "end_of_receiver": MEET},
    {"sender": NOT_LAST, "receiver": ANSWER, "end_of_sender": MEET, "end_of_receiver": MEET},
    {"sender": NOT_LAST, "receiver": ANSWER_NOT_LAST, "end_of_sender": RELAXED, "end_of_receiver": RELAXED},
], ids=["an arrival for each", "and a barrier of the cluster", "the barrier alone for the last one", "a relaxed one"])  # fmt: skip
def test_the_block_hears_of_the_end(parts):
    assert outcome(**parts) is None


def test_the_block_ends_before_the_last_copy():
    found = outcome(sender=NOT_LAST, receiver=ANSWER)
    assert found is not None and "EXITED_BLOCK" in found
    found = outcome(sender=NOT_LAST, receiver=ANSWER_NOT_LAST)
    assert found is not None and found.startswith(
        "kernel.py:5:1: EXITED_BLOCK\n    copies from smem+0x0 of block (0, 0, 0)"
    )
