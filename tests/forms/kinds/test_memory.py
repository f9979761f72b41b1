"""Forms of memory: values that loads extend, what stores leave, generic addresses."""

import numpy as np

from dsl.forms import predict
from dsl.forms.kinds import memory

FORMS = {form.name: form for form in memory.forms()}


def test_a_load_extends_to_the_register():
    words = FORMS["ld.global.s8"].operands[0].view(np.uint8)[::16]
    (signed,), (unsigned,) = (predict.predict(FORMS[f"ld.global.{kind}"]) for kind in ("s8", "u8"))
    assert (signed.view(np.int32) == words.view(np.int8)).all() and (unsigned == words).all()


def test_a_store_leaves_the_words_after_it():
    (out,) = predict.predict(FORMS["st.global.v2.s16"])
    halves = out.view(np.uint16).reshape(-1, 8)
    for index, operand in enumerate(FORMS["st.global.v2.s16"].operands):
        assert (halves[:, index] == operand).all()
    assert (halves[:, 2:] == 0).all()


def test_generic_addresses_are_of_their_space():
    answers = {space: [int(each[0]) for each in predict.predict(FORMS[f"isspacep.{space}"])] for space in
               ("global", "local", "shared")}  # fmt: skip
    assert answers == {"global": [1, 0, 0], "local": [0, 1, 0], "shared": [0, 0, 1]}


def test_hints_change_nothing():
    for name in ("prefetch.global.L2", "nanosleep.u32", "discard.global.L2", "fence.sc.gpu"):
        assert (predict.predict(FORMS[name])[0] == FORMS[name].operands[0]).all()
