"""Forms of atomics against numpy: a thread's own word, and words that a block shares."""

import numpy as np

from dsl.forms import predict
from dsl.forms.form import BLOCK
from dsl.forms.kinds import atomic

FORMS = {form.name: form for form in atomic.forms()}


def test_an_atomic_gives_what_was_there_and_leaves_the_sum():
    for name in ("atom.global.add.u32", "atom.shared.add.u32"):
        a, b = FORMS[name].operands
        before, after, *words = predict.predict(FORMS[name])
        assert (before == a).all() and (after == a + b).all()


def test_some_comparisons_swap_and_some_do_not():
    form = FORMS["atom.global.cas.b32"]
    a, compared, new = form.operands
    before, after, _ = predict.predict(form)
    assert (before == a).all() and (after == np.where(a == compared, new, a)).all()
    assert 0 < (a == compared).mean() < 1


def test_threads_of_a_block_add_into_eight_words():
    for space in ("shared", "global"):
        form = FORMS[f"red.{space}.add.u32.shared_by_threads"]
        out = predict.predict(form)[0].reshape(-1, BLOCK)
        sums = form.operands[0].reshape(-1, BLOCK // 8, 8).sum(axis=1, dtype=np.uint32)
        assert (out == np.tile(sums, BLOCK // 8)).all()


def test_no_result_is_without_a_bit():
    assert all(predict.predict(form)[0].any() for name, form in FORMS.items() if "shared_by_threads" in name)
