"""Predictions of the emulator for forms, against numpy; the case of a capsule that a form becomes."""

import functools
import hashlib
import json

import numpy as np

from dsl.forms import predict, table
from dsl.forms.form import BLOCK
from dsl.forms.operands import COUNT


@functools.cache
def forms() -> dict:
    return {form.name: form for form in table.forms()}


def test_integers_are_numpys():
    form = forms()["mad.lo.u32"]
    a, b, c = form.operands
    (out,) = predict.predict(form)
    assert (out == a * b + c).all()


def test_floats_are_numpys_where_there_is_no_nan():
    form = forms()["add.rn.f64"]
    a, b = (each.view(np.float64) for each in form.operands)
    with np.errstate(all="ignore"):
        want = a + b
    (out,) = predict.predict(form)
    number = ~np.isnan(want)
    assert (out[number] == want.view(np.uint64)[number]).all() and np.isnan(out.view(np.float64)[~number]).all()


def test_every_half_is_an_operand_of_a_form_with_one():
    (out,) = predict.predict(forms()["neg.f16"])
    assert len(out) == 65536 and (out[:0x7C01] == np.arange(0x7C01) + 0x8000).all()


def test_mma_is_predicted_for_each_kind_of_tensor_core():
    form = forms()["mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32"]
    by_model = {model: np.stack(predict.predict(form, model)) for model in predict.models(form)}
    assert list(by_model) == ["a100", "l40s", "h100", "b200", "rtx5090"]
    assert predict.models(forms()["mma.sync.aligned.m16n8k32.row.col.kind::f8f6f4.f32.e4m3.e2m1.f32"]) == ["rtx5090"]
    assert (by_model["a100"] != by_model["h100"]).any()
    assert predict.models(forms()["mma.sync.aligned.m8n8k4.row.col.f64.f64.f64.f64"]) == ["h100"]


def test_a_probe_of_one_product_is_that_product():
    """Lane 0 has the elements (0, 0) of A, B and D of m8n8k4; probe 0 keeps column 0, and C is zero."""
    form = forms()["mma.sync.aligned.m8n8k4.row.col.f64.f64.f64.f64"]
    a, b, *_ = (each.view(np.float64) for each in form.operands)
    out = predict.predict(form)[0].view(np.float64)
    assert a[0] != 0 and (a[1:4] == 0).all() and out[0] == a[0] * b[0]


def test_a_recorded_form_is_a_case_with_files_named_by_their_sha256(tmp_path):
    predict.write([forms()["sin.approx.f32"]], tmp_path, lambda line: None)
    (case,) = json.loads((tmp_path / "forms.json").read_text())["cases"]
    launch = case["launches"][0]
    assert case["form"] == "sin.approx.f32" and case["threads"] == 1 and case["operands"] == ["<u4"]
    assert case["rule"] == {"dtype": "f32", "bound": "absolute error 2^-20.5 in [-2pi, 2pi]", "absolute": 2.0**-20.5}
    assert launch["grid"] == [COUNT // BLOCK, 1, 1] and launch["entry"] == "form_sin_approx_f32"
    files = [path for path in tmp_path.iterdir() if path.name != "forms.json"]
    assert {path.name for path in files} == {
        launch["ptx"],
        case["predictions"]["h100"][0],
        launch["writes"]["1"][0]["bytes"],
    }
    assert all(hashlib.sha256(path.read_bytes()).hexdigest() == path.name for path in files)
