"""Forms of warps: lanes against numpy."""

import numpy as np

from dsl.forms import predict
from dsl.forms.kinds import warp

FORMS = {form.name: form for form in warp.forms()}


def test_a_shuffle_reads_the_lane_that_is_named():
    form = FORMS["shfl.sync.idx.b32.width8"]
    value, lane = form.operands
    out, valid = predict.predict(form)
    own = np.arange(len(value))
    assert (out == value[own // 8 * 8 + lane % 8]).all() and (valid == 1).all()


def test_warps_that_agree_and_that_do_not_vote():
    (out,) = predict.predict(FORMS["vote.sync.ballot.b32"])
    assert {0, 0xFFFFFFFF} < set(out.tolist())


def test_a_copy_with_a_source_size_leaves_zeros():
    form = FORMS["cp.async.ca.shared.global.8.zfill"]
    first, second, third, fourth = predict.predict(form)
    words = form.operands[0].view(np.uint32).reshape(-1, 4)
    size = form.operands[1] & 7
    assert (first[size == 0] == 0).all() and (first[size >= 4] == words[size >= 4, 0]).all()
    assert (second[size <= 4] == 0).all() and (third == 0xFFFFFFFF).all() and (fourth == 0xFFFFFFFF).all()
