"""Forms of TMA and numpy: runs of bytes, boxes over edges, swizzles, reductions; a case alone is as among others."""

import dataclasses

import numpy as np
import pytest

from dsl.forms import predict
from dsl.forms.form import BLOCK
from dsl.forms.kinds import bulk

FORMS = {form.name: form for form in bulk.forms()}
LOAD = "cp.async.bulk.tensor.{}d.shared::cluster.global.tile.mbarrier::complete_tx::bytes"


def of_blocks(arrays) -> np.ndarray:
    """(blocks, 512) words of the 16 bytes of each thread."""
    arrays = [each.view(np.uint32).reshape(bulk.BLOCKS, BLOCK, -1) for each in arrays]
    return np.concatenate(arrays, axis=2).reshape(bulk.BLOCKS, -1)


def test_a_box_over_both_edges_has_zeros_outside():
    form = FORMS[LOAD.format(3)]
    tensor = of_blocks(form.operands).reshape(-1, 16, 32)
    out = of_blocks(predict.predict(form))
    box = np.pad(tensor, ((0, 0), (1, 0), (0, 8)))[:, :8, 24:40]
    assert (out[:, :128] == box.reshape(-1, 128)).all() and (out[:, 128:] == 0xFFFFFFFF).all()


def test_a_swizzle_permutes_chunks():
    plain, swizzled = (of_blocks(predict.predict(FORMS[LOAD.format(3) + suffix])) for suffix in ("", ".swizzle128"))
    form = FORMS[LOAD.format(3) + ".swizzle128"]
    rows = of_blocks(form.operands).reshape(-1, 16, 8, 4)[:, 3:7]
    for row in range(4):
        got = swizzled[:, 32 * row : 32 * row + 32].reshape(-1, 8, 4)
        assert (got == rows[:, row][:, np.arange(8) ^ row]).all()
    assert plain.shape == swizzled.shape


def test_a_reduction_adds_inside_the_tensor_alone():
    name = "cp.reduce.async.bulk.tensor.3d.global.shared::cta.add.tile.bulk_group.u32"
    form = FORMS[name]
    box, tensor = of_blocks(form.operands[:4]).reshape(-1, 512)[:, :128], of_blocks(form.operands[4:])
    want = tensor.copy().reshape(-1, 16, 32)
    want[:, :7, 24:] += box.reshape(-1, 8, 16)[:, 1:, :8]
    assert (of_blocks(predict.predict(form)).reshape(want.shape) == want).all()


def test_pixels_of_a_filter_with_padding():
    """Rank 3: 16 pixels of 8 channels from -1 + 1 on."""
    form = FORMS["cp.async.bulk.tensor.3d.shared::cluster.global.im2col.mbarrier::complete_tx::bytes"]
    tensor = of_blocks(form.operands).reshape(-1, 64, 8)
    assert (of_blocks(predict.predict(form))[:, :128] == tensor[:, :16].reshape(-1, 128)).all()


@pytest.mark.parametrize("name", [name for name in FORMS if "tensor" in name and "prefetch" not in name])
def test_every_box_does_something(name):
    """The form writes words that are neither 0 nor the initial ones."""
    out = of_blocks(predict.predict(FORMS[name]))
    assert ((out != 0) & (out != 0xFFFFFFFF)).any()


def test_a_block_alone_is_as_among_others():
    form = FORMS[LOAD.format(4)]
    ((array, described),) = form.maps
    one = dataclasses.replace(described, extents=(*described.extents[:-1], 1))
    alone = dataclasses.replace(form, operands=tuple(each[:BLOCK] for each in form.operands), maps=((array, one),))
    both = zip(predict.predict(alone), predict.predict(form), strict=True)
    assert all((few == many[:BLOCK]).all() for few, many in both)
