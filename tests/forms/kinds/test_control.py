"""Forms of control flow against numpy."""

import numpy as np

from dsl.forms import predict
from dsl.forms.kinds import control

FORMS = {form.name: form for form in control.forms()}


def test_a_loop_goes_round_as_often_as_its_thread_asks():
    a, b = FORMS["bra"].operands
    assert (predict.predict(FORMS["bra"])[0] == b * np.maximum(a & 63, 1)).all()


def test_an_indexed_branch_goes_four_ways():
    a, b = FORMS["brx.idx"].operands
    assert (predict.predict(FORMS["brx.idx"])[0] == b + 10 ** (a & 3)).all()


def test_a_function_returns_early_for_odd_numbers():
    a, b = FORMS["call"].operands
    assert (predict.predict(FORMS["call"])[0] == np.where(a & 1, a >> 1, (a >> 1) + b)).all()


def test_a_block_that_was_given_back_is_given_again():
    value, distance = predict.predict(FORMS["alloca.u64"])
    assert (value == FORMS["alloca.u64"].operands[0]).all() and (distance == 0).all()


def test_threads_that_have_left_store_nothing():
    a, b = FORMS["exit"].operands
    assert (predict.predict(FORMS["exit"])[0] == np.where(a & 1, 0, a + b)).all()
