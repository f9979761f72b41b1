"""Forms of barriers: words go from thread to thread; phases and states of an mbarrier."""

import numpy as np
import pytest

from dsl.forms import predict
from dsl.forms.form import BLOCK
from dsl.forms.kinds import block

FORMS = {form.name: form for form in block.forms()}


@pytest.mark.parametrize(
    "name", ["bar.sync.threads", "barrier.cta.sync", "mbarrier.try_wait.shared.b64", "mbarrier.arrive_drop.shared.b64"]
)
def test_a_thread_reads_the_word_of_another(name):
    (out,) = predict.predict(FORMS[name])
    assert (out.reshape(-1, BLOCK) == np.roll(FORMS[name].operands[0].reshape(-1, BLOCK), -33, axis=1)).all()


def test_half_a_block_arrives_and_half_waits():
    (out,) = predict.predict(FORMS["bar.arrive"])
    words, out = FORMS["bar.arrive"].operands[0].reshape(-1, BLOCK), out.reshape(-1, BLOCK)
    assert (out[:, :64] == 0).all() and (out[:, 64:] == words[:, :64]).all()


def test_predicates_are_counted_and_joined():
    flags = FORMS["bar.red.popc.u32"].operands[0].reshape(-1, BLOCK)
    for operation, want in (("popc.u32", flags.sum(1)), ("and.pred", flags.all(1)), ("or.pred", flags.any(1))):
        (out,) = predict.predict(FORMS[f"bar.red.{operation}"])
        assert (out.reshape(-1, BLOCK) == want[:, None]).all()
    assert {True, False} == set(flags.all(1).tolist()) == set(flags.any(1).tolist())


def test_states_count_pending_arrivals_and_bytes_end_a_phase():
    arrived = (FORMS["mbarrier.pending_count.b64"].operands[0] & 3) + 1
    first, second, done = predict.predict(FORMS["mbarrier.pending_count.b64"])
    assert (first == 5).all() and (second == 5 - arrived).all() and (done == (arrived == 4)).all()
    looks = predict.predict(FORMS["mbarrier.complete_tx.relaxed.cta.shared::cta.b64"])
    assert [set(each.tolist()) for each in looks] == [{0}, {0}, {1}]


def test_copies_arrive_at_an_mbarrier():
    form = FORMS["cp.async.mbarrier.arrive.noinc.shared.b64"]
    words = form.operands[0].view(np.uint32).reshape(-1, BLOCK, 4)
    out = np.stack(predict.predict(form), axis=1).reshape(-1, BLOCK, 4)
    assert (out == np.roll(words, -33, axis=1)).all()
