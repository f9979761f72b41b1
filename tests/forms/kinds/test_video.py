"""Forms of video instructions: each has the operands that its spelling asks for, and a part of one counts."""

import numpy as np

from dsl.forms import predict
from dsl.forms.kinds import video

FORMS = {form.name: form for form in video.forms()}


def test_a_merge_keeps_the_rest_of_the_third_operand():
    form = FORMS["vset2.u32.s32.lt"]
    assert "%d0.h1" in form.text
    (out,) = predict.predict(form)
    assert (out & 0xFFFF == form.operands[2] & 0xFFFF).all() and set(np.unique(out >> 16)) == {0, 1}


def test_every_type_of_a_sum_has_each_ending():
    endings = {name.removeprefix("vadd.s32.u32.s32") for name in FORMS if name.startswith("vadd.s32.u32.s32")}
    assert endings == {"", ".add", ".sat", ".sat.min", ".max", ".sat.add"}
