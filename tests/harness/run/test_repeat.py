"""run() called often: what came how often, and predicates asked about what came."""

import importlib
import sys
import types

import numpy as np
import pytest

from harness.run import repeat


def arrays(_function, returned, buffers, _limit):
    buffers += [np.ascontiguousarray(array).view(f"u{array.itemsize}") for array in returned.values()]
    return [{"name": n, "dtype": str(a.dtype), "shape": list(a.shape)} for n, a in returned.items()]


def counted(values: list, runs: int, preds=None, limit=1 << 20, near=(), kind=np.int32):
    module = types.SimpleNamespace(seeds=[])
    module.run = lambda: {"out": np.array([values.pop(0)], kind)}
    module.even = lambda out: out % 2 == 0
    job = {"runs": runs, "seed": 5, "params": {}, "limit_bytes": limit, "preds": preds or {}, "near": near}
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
    values = [buffer.view(np.int32)[0] if buffer.itemsize == 4 else bool(buffer[0]) for buffer in buffers]
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
    monkeypatch.setattr(sys, "meta_path", sys.meta_path[:])  # it waits for torch's import
    repeat.fill_new_memory(0xCD)
    assert np.empty(3, np.uint8).tolist() == [0xCD] * 3 and np.empty(2, np.int32).tolist() == [-842150451] * 2
    assert np.empty_like(np.zeros(1, np.uint16)).tolist() == [0xCDCD] and np.zeros(2, np.uint8).tolist() == [0, 0]
    assert np.empty(2, object).tolist() == [None, None]


def test_a_module_is_met_at_its_first_import(tmp_path, monkeypatch):
    """Two that wait for one module are both told, once, after its whole body ran; a broken one tells nobody."""
    (tmp_path / "comes_late.py").write_text("value = 1\nvalue += 1\n")
    (tmp_path / "comes_broken.py").write_text("value = 1\n1 / 0\n")
    monkeypatch.syspath_prepend(str(tmp_path))
    monkeypatch.setattr(sys, "meta_path", sys.meta_path[:])
    before, told = len(sys.meta_path), []
    for name in ("comes_late", "comes_late", "comes_broken"):
        repeat.once_imported(name, lambda module: told.append(module.value))
    with pytest.raises(ZeroDivisionError):
        importlib.import_module("comes_broken")
    module = importlib.import_module("comes_late")
    assert told == [2, 2] and len(sys.meta_path) == before + 1
    importlib.reload(module)
    repeat.once_imported("comes_late", lambda module: told.append("at once"))
    assert told == [2, 2, "at once"]
    del sys.modules["comes_late"]


@pytest.mark.parametrize("kind", [np.float16, np.float32, np.float64, np.int8, np.uint8, np.int64])
def test_outputs_within_a_bound_give_their_ends_and_no_other_outcomes(kind):
    """However many values there are: the lowest and the highest element of all runs, by numpy's own order."""
    values = np.random.default_rng(3).permutation(np.arange(100)).astype(kind)
    values = values - kind(50) if np.dtype(kind).kind != "u" else values
    said, _, buffers = counted(list(values), 100, near=("out",), kind=kind)
    assert (said["count"], said["others"], said["uncounted"]) == (100, [], 0)
    assert [[one["name"] for one in ends] for ends in said["spread"]] == [["out"]] * 2
    assert [buffer.view(kind)[0] for buffer in buffers] == [values[0], values.min(), values.max()]
    assert counted([7] * 5, 5, near=("out",), kind=kind)[0]["spread"] == []


@pytest.mark.parametrize("odd", [np.nan, -np.nan, np.inf, -np.inf])
def test_a_value_that_is_not_finite_in_one_run_is_an_end(odd):
    _, _, buffers = counted([1.0, 2.0, odd, 1.5], 4, near=("out",), kind=np.float32)
    ends = [buffer.view(np.float32)[0] for buffer in buffers[1:]]
    assert any(np.array_equal(end, odd, equal_nan=True) for end in ends) and set(ends) & {np.float32(1), np.float32(2)}


def test_an_error_in_a_predicate_is_the_authors_error():
    def raises(out):
        raise KeyError("mine")

    with pytest.raises(KeyError) as error:
        repeat.judged(
            types.SimpleNamespace(good=raises),
            {"out": "good"},
            {"out": np.zeros(1)},
            [{"name": "out", "shape": [1]}],
            [],
        )
    assert error.value.is_authors


def test_a_predicate_gets_its_output_on_the_host():
    class Tensor:
        """As one of torch on a device."""

        def detach(self):
            return self

        def cpu(self):
            return np.float32([1, 2])

    seen = []
    module = types.SimpleNamespace(good=lambda out: bool(seen.append(out) or (out > 0).all()))
    repeat.judged(module, {"out": "good"}, {"out": Tensor()}, [{"name": "out", "shape": [2]}], [])
    assert seen[0].tolist() == [1, 2]


# --- a run for each outcome: an exploration that chooses numbers ---


class NeverEnds(Exception):
    """As dsl/launch/devices/exploration.py raises it."""


class Chosen:
    """An exploration of one launch with these outcomes; None is one that never ends."""

    bound, is_complete = 16, True

    def __init__(self, *outcomes):
        self.outcomes, self.number = outcomes, 0

    def launch(self):
        value = self.outcomes[self.number]
        if value is None:
            raise NeverEnds
        return value

    @property
    def choice(self):
        return [self.number]

    def again(self):
        self.number += 1
        return self.number < len(self.outcomes)

    def launches(self):
        return []


def answers(*outcomes, of=lambda value: {"r": np.array([value])}):
    exploration = Chosen(*outcomes)
    return repeat.for_each_outcome(lambda: of(exploration.launch()), exploration)


def test_each_answer_once_with_the_first_outcome_that_gives_it():
    assert answers(3, 5, 3) == {
        "complete": True, "bound": 16, "launches": [], "results": [
            {"outputs": {"r": "[3]"}, "ends": True, "choice": [0]},
            {"outputs": {"r": "[5]"}, "ends": True, "choice": [1]},
        ],
    }  # fmt: skip


def test_an_outcome_that_never_ends_has_no_outputs():
    assert answers(3, None)["results"][1] == {"outputs": {}, "ends": False, "choice": [1]}


def test_errors_of_the_repro_are_raised():
    with pytest.raises(KeyError):
        answers(3, of=lambda value: {}["missing"])


def test_a_bounded_exploration_is_not_complete(monkeypatch):
    monkeypatch.setattr(Chosen, "is_complete", False)
    assert not answers(3)["complete"]


def test_too_many_answers_are_not_complete(monkeypatch):
    monkeypatch.setattr(repeat, "MOST_RESULTS", 2)
    assert len(answers(1, 2, 3)["results"]) == 2 and not answers(1, 2, 3)["complete"]
    assert answers(1, 2)["complete"]


def test_long_outputs_are_cut():
    (one,) = answers(3, of=lambda value: {"r": np.arange(100)})["results"]
    assert one["outputs"]["r"] == f"{list(range(64))} ... (100 elements)"


def test_tensors_of_torch():
    import torch

    (one,) = answers(3, of=lambda value: {"r": torch.full((2,), value, dtype=torch.bfloat16)})["results"]
    assert one["outputs"]["r"] == "[3.0, 3.0]"
