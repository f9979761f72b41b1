"""Probes of tensor cores: what kinds of operands there are."""

import numpy as np

from dsl.emulator.tensor_core.fragments import SHAPES, SPARSE_SHAPES
from dsl.forms.kinds import tensor_core


def test_every_shape_and_type_is_probed():
    every = [form.name for form in tensor_core.forms() if "kind::" not in form.name]
    names = [name for name in every if ".sp" not in name]
    integers = sum(types[2] == "s32" for rows in SHAPES.values() for types in rows)
    assert len(names) == sum(map(len, SHAPES.values())) + integers
    assert "mma.sync.aligned.m16n8k32.row.col.satfinite.s32.s8.u8.s32" in names
    saturating = sum(types[2] == "s32" for rows in SPARSE_SHAPES.values() for types in rows)
    for variant in ("mma.sp.", "mma.sp::ordered_metadata."):
        assert sum(name.startswith(variant) for name in every) == sum(map(len, SPARSE_SHAPES.values())) + saturating


def test_kinds_of_operands_are_what_they_are_called():
    values = tensor_core.elements("f16", 256, 1).astype(np.uint16).reshape(8, -1, 256).view(np.float16)
    kinds = {kind: values[:, number].astype(np.float64) for number, kind in enumerate(tensor_core.KINDS)}
    finite = [kind for kind in kinds if np.isfinite(kinds[kind]).all()]
    assert finite == [kind for kind in tensor_core.KINDS if kind != "special values"]
    assert (np.abs(kinds["subnormal"]) < 2.0**-14).mean() > 0.5
    sizes = np.abs(kinds["wide"])
    assert sizes.max() / sizes.min() > 2.0**25
    assert {1.0, 2.0} >= set(2.0 ** np.floor(np.log2(np.abs(kinds["cancelling"]))).reshape(-1))


def test_every_kind_is_probed_with_every_pair_of_types():
    names = [form.name for form in tensor_core.kinds()]
    for kind, count in (("f8f6f4", 100), ("mxf8f6f4", 50), ("mxf4", 2), ("mxf4nvf4", 4)):
        assert sum(f".kind::{kind}." in name for name in names) == count
    assert sum(".sp::ordered_metadata." in name for name in names) == len(names) // 2


def test_words_of_scales_have_all_bytes_and_those_near_one():
    words = tensor_core._scales("ue8m0", 1).view(np.uint8).reshape(tensor_core.PROBES, -1)
    assert len(np.unique(words[2::3])) == 256
    assert words[0].min() >= 120 and words[0].max() < 136
