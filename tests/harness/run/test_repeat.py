"""run() called often: what came how often, and predicates asked about what came."""

import sys
import types

import numpy as np
import pytest

from harness.run import repeat


def arrays(_function, returned, buffers, _limit):
    buffers += [np.ascontiguousarray(array).view(np.uint8) for array in returned.values()]
    return [{"name": n, "dtype": str(a.dtype), "shape": list(a.shape)} for n, a in returned.items()]


def counted(values: list, runs: int, preds=None, limit=1 << 20):
    module = types.SimpleNamespace(seeds=[])
    module.run = lambda: {"out": np.array([values.pop(0)], np.int32)}
    module.even = lambda out: out % 2 == 0
    job = {"runs": runs, "seed": 5, "params": {}, "limit_bytes": limit, "preds": preds or {}}
    mine: list = []
    returned = module.run()
    described = arrays(module.run, returned, mine, limit)
    buffers = list(mine)
    return (
        repeat.others(module, job, (returned, described, mine), buffers, arrays, module.seeds.append),
        module,
        buffers,
    )


def test_each_outcome_is_counted_and_kept_once():
    said, module, buffers = counted([1, 2, 1, 3, 2, 1], 6, {"out": "even"})
    assert (said["count"], [other["count"] for other in said["others"]], said["uncounted"]) == (3, [2, 1], 0)
    assert module.seeds == [5 * repeat.SEEDS + number for number in range(1, 6)]
    values = [buffer.view(np.int32)[0] if buffer.size == 4 else bool(buffer[0]) for buffer in buffers]
    assert values == [1, 2, True, 3, False]  # the first, then each other one with its predicate's answer


def test_more_outcomes_than_are_kept_are_counted_together():
    said, _, _ = counted(list(range(repeat.MOST_OTHERS + 4)), repeat.MOST_OTHERS + 4)
    assert len(said["others"]) == repeat.MOST_OTHERS and said["uncounted"] == 3


def test_outcomes_past_the_limit_are_an_error():
    with pytest.raises(MemoryError, match="the different outcomes of run\\(\\) are more than 8 bytes"):
        counted([1, 2, 3], 3, limit=8)


def test_a_predicate_answers_with_a_bool_or_one_for_each_element():
    module = types.SimpleNamespace(whole=lambda out: True, each=lambda out: out > 1, wrong=lambda out: out + 1)
    out, described = np.array([1, 2], np.int32), [{"name": "out", "shape": [2]}]
    buffers: list = []
    tables = repeat.judged(module, {"out": "each"}, {"out": out}, described, buffers)
    assert tables == [{"name": "out", "dtype": "bool", "shape": [2]}] and buffers[0].tolist() == [0, 1]
    assert repeat.judged(module, {"out": "whole"}, {"out": out}, described, [])[0]["shape"] == []
    assert repeat.judged(module, {"absent": "each"}, {"out": out}, described, []) == []
    with pytest.raises(TypeError, match=r"wrong\(\) returned int32 \(2,\): it must return a bool"):
        repeat.judged(module, {"out": "wrong"}, {"out": out}, described, [])


def test_new_memory_holds_the_byte(monkeypatch):
    for name in ("empty", "empty_like"):
        monkeypatch.setattr(np, name, getattr(np, name))  # put back after the test
    monkeypatch.delitem(sys.modules, "torch", raising=False)
    repeat.fill_new_memory(0xCD)
    assert np.empty(3, np.uint8).tolist() == [0xCD] * 3 and np.empty(2, np.int32).tolist() == [-842150451] * 2
    assert np.empty_like(np.zeros(1, np.uint16)).tolist() == [0xCDCD] and np.zeros(2, np.uint8).tolist() == [0, 0]
    assert np.empty(2, object).tolist() == [None, None]
