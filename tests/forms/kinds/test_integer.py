"""Forms of integers: what they leave out, and their second instruction."""

import numpy as np

from dsl.forms import predict
from dsl.forms.kinds import integer

FORMS = {form.name: form for form in integer.forms()}


def test_no_division_is_by_zero():
    assert all((FORMS[f"{opcode}.{kind}"].operands[1] != 0).all() for opcode in ("div", "rem") for kind in integer.INT)


def test_the_carry_of_the_first_instruction_reaches_the_second():
    form = FORMS["addc.u32"]
    a, b, c = (each.astype(np.uint64) for each in form.operands)
    (out,) = predict.predict(form)
    assert (out == ((b + c + (a + b >> np.uint64(32))) & np.uint64(0xFFFFFFFF))).all()
