"""Forms of floats: rules of approximations, and operands inside their bound."""

import numpy as np

from dsl.forms.kinds import floating

FORMS = {form.name: form for form in floating.forms()}


def test_options_are_joined_as_ptx_joins_them():
    assert list(floating.options(("rn", "rz"), ("", "ftz"))) == [".rn", ".rn.ftz", ".rz", ".rz.ftz"]


def test_only_approximations_have_a_rule():
    with_rule = {name for name, form in FORMS.items() if form.rule}
    assert with_rule == {name for name in FORMS if ".approx" in name or ".full" in name} and len(with_rule) == 30
    assert FORMS["rcp.approx.ftz.f64"].rule["open"] and FORMS["ex2.approx.f32"].rule["relative"] == 2 * 2.0**-23


def test_sin_has_operands_inside_its_bound_and_special_values():
    values = FORMS["sin.approx.f32"].operands[0].view(np.float32)
    finite = values[np.isfinite(values)]
    assert (np.abs(finite) <= np.float32(2 * np.pi)).all() and np.isinf(values).any() and np.isnan(values).any()
