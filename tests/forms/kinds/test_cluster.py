"""Forms of clusters: words of the other block, and bytes that its mbarrier counts."""

import numpy as np
import pytest

from dsl.forms import predict
from dsl.forms.form import BLOCK
from dsl.forms.kinds import cluster

FORMS = {form.name: form for form in cluster.forms()}


def other(array: np.ndarray) -> np.ndarray:
    """The values of the same threads of the other block."""
    return array.reshape(-1, 2, BLOCK)[:, ::-1].reshape(-1)


@pytest.mark.parametrize("name", [
    "barrier.cluster.arrive", "mapa.u64", "st.shared::cluster.b32", "mbarrier.arrive.shared::cluster.b64",
    "st.async.weak.shared::cluster.mbarrier::complete_tx::bytes.f32",
])  # fmt: skip
def test_a_word_comes_from_the_other_block(name):
    form = FORMS[name]
    assert (predict.predict(form)[0] == other(form.operands[0])).all()


def test_the_other_block_adds_to_a_word():
    for name in ("red.shared::cluster.add.u32",
                 "red.async.relaxed.cluster.shared::cluster.mbarrier::complete_tx::bytes.add.u32"):  # fmt: skip
        a, b = FORMS[name].operands
        assert (predict.predict(FORMS[name])[0] == a + other(b)).all()


def test_a_multicast_is_of_the_second_block():
    form = FORMS["cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes.multicast::cluster"]
    (out,) = predict.predict(form)
    second = form.operands[0].reshape(-1, 2, BLOCK)[:, 1:]
    assert (out.reshape(-1, 2, BLOCK) == second).all()


def test_a_bulk_reduction_adds_to_what_the_other_block_has():
    form = FORMS["cp.reduce.async.bulk.shared::cluster.shared::cta.mbarrier::complete_tx::bytes.add.u32"]
    for index, out in enumerate(predict.predict(form)):
        assert (out == form.operands[4 + index] + other(form.operands[index])).all()
