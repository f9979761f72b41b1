"""Forms of wmma: the product is numpy's where it is of integers."""

import numpy as np

from dsl.forms import predict
from dsl.forms.kinds import wmma
from dsl.forms.kinds.tensor_core import PROBES

FORMS = {form.name: form for form in wmma.forms()}


def test_a_product_of_bytes():
    form = FORMS["wmma.mma.sync.aligned.row.row.m32n8k16.s32.s8.s8.s32"]
    a, b, c = (each.view(kind) for each, kind in zip(form.operands, (np.int8, np.int8, np.int32)))
    a, b, c = a.reshape(PROBES, 32, 16), b.reshape(PROBES, 16, 8), c.reshape(PROBES, 32, 8)
    (out,) = predict.predict(form)
    want = a.astype(np.int32) @ b.astype(np.int32) + c
    np.testing.assert_array_equal(out.view(np.int32).reshape(PROBES, 32, 8), want)


def test_layouts_and_sums_are_all_there():
    halves = [name for name in FORMS if ".m16n16k16.f16.f32" in name]
    assert len(halves) == 4 and len(FORMS) == len([*wmma.forms()])
