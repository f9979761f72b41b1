"""Forms of cvt: .sat is where it can saturate; results against numpy."""

import numpy as np

from dsl.forms import predict
from dsl.forms.kinds import conversion

FORMS = {form.name: form for form in conversion.forms()}


def test_saturation_is_where_a_type_does_not_hold_the_other():
    sources = [source for source in conversion.INT if f"cvt.sat.s32.{source}" in FORMS]
    assert sources == ["u32", "u64", "s64"]


def test_f32_to_f16_is_numpys():
    form = FORMS["cvt.rn.f16.f32"]
    values = form.operands[0].view(np.float32)
    (out,) = predict.predict(form)
    with np.errstate(over="ignore", invalid="ignore"):
        want = values.astype(np.float16).view(np.uint16)
    assert (out[~np.isnan(values)] == want[~np.isnan(values)]).all()
