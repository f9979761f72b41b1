"""Which call is kept, and what is known of it."""

import numpy as np
import pytest

from harness.capture.arguments import makings
from harness.capture.recorder import Call, Recorder, Wanted, plain_name


def double(x, y):
    y[:] = 2 * x
    return None


def calls(wanted, inputs, function=double):
    """Make a call with each input; what the recorder kept."""
    kept = []
    recorder = Recorder(wanted, kept.append)
    for number, x in enumerate(inputs):
        y = np.zeros_like(x)
        name = f"double_{number % 2}"
        call = Call(name, lambda: {name}, lambda speller: f"double({speller.of(x, 'x')}, {speller.of(y, 'y')})", (x, y))
        try:
            recorder.around(lambda: call, lambda: {name}, lambda: function(x, y))
        except ZeroDivisionError:
            pass
    return recorder, kept


def inputs(*values):
    return [np.full(4, value, np.float32) for value in values]


def test_the_call_of_that_number_and_name():
    recorder, (taken,) = calls(Wanted("double_1", 2), inputs(1, 2, 3, 4, 5, 6))
    assert (taken.call.name, taken.number, recorder.seen, recorder.is_done) == ("double_1", 2, 4, True)
    ((name, (dtype, bits)),) = taken.outputs().items()
    assert (name, dtype, bits.view(np.float32).tolist()) == ("y", "float32", [8.0] * 4)
    assert [storage.before.any() for storage in taken.spelling.memory.storages] == [True, False]


def test_the_first_call_that_makes_a_nan():
    def root(x, y):
        with np.errstate(invalid="ignore"):
            y[:] = np.sqrt(x)

    _, (taken,) = calls(Wanted(property="nan"), inputs(1, np.nan, -1, -2), root)
    assert taken.number == 3


def test_the_first_call_that_differs_from_a_reference():
    def wrong_for_large(x, y):
        y[:] = 2 * x + (x > 2)

    wanted = Wanted(property="differs", reference=lambda x, y: 2 * x)
    _, (taken,) = calls(wanted, inputs(1, 2, 3, 4), wrong_for_large)
    assert taken.number == 3 and taken.expected["y"].tolist() == [6.0] * 4


def test_a_reference_gets_what_from_dlpack_was_given():
    class OfCompiler:
        """A tensor of a compiler's runtime."""

    x, made = np.ones(2), OfCompiler()
    makings.note(made, makings.Making("cutlass.cute.runtime.from_dlpack", (x,), {}))
    assert makings.source(made) is x and makings.source([made, 3]) == [x, 3] and makings.source(3) == 3
    got = []
    recorder = Recorder(Wanted(property="differs", reference=lambda *all, **named: got.append((all, named))), print)
    recorder._reference(Call("f", set, str, (made, 4), {"c": made}))
    assert got == [((x, 4), {"c": x})]


def test_the_first_call_with_a_finding():
    class Finding(ZeroDivisionError):
        repro_outcome = {"outcome": "fault", "kind": "race"}

    def fails(x, y):
        if x[0] == 2:
            raise ZeroDivisionError
        if x[0] == 3:
            raise Finding

    _, (taken,) = calls(Wanted(property="finding"), inputs(1, 2, 3, 3), fails)
    assert taken.number == 3 and taken.outcome == {"outcome": "fault", "kind": "race"}
    assert [plain_name(view.name) for view in taken.changed] == ["x", "y"]  # what run() returns once it is mended


@pytest.mark.parametrize(("value", "name"), [(2.5, "returned"), ((1, 2.5), "returned_1")])
def test_returned_values_are_outputs(value, name):
    _, (taken,) = calls(Wanted(), inputs(1), lambda x, y: value)
    dtype, bits = taken.outputs()[name]
    assert dtype == "float64" and bits.view(np.float64) == 2.5


def test_calls_inside_a_call_are_a_part_of_it():
    recorder = Recorder(Wanted(number=2), list)
    recorder.around(None, set, lambda: recorder.around(None, set, lambda: None))
    recorder.outside(lambda: recorder.around(None, set, lambda: None))
    assert recorder.seen == 1


def test_a_call_that_is_not_understood_is_made_all_the_same():
    recorder = Recorder(Wanted(), list)

    def not_understood():
        raise TypeError("no such thing")

    assert recorder.around(not_understood, set, lambda: 5) == 5
    assert recorder.problems == ["call 1 could not be captured: TypeError: no such thing"]


def test_names_without_marks():
    assert plain_name("\x01x\x02") == "x"


def test_a_program_goes_on_where_a_call_has_no_name():
    recorder = Recorder(Wanted("softmax"), print)
    assert recorder.around(list, lambda: {}["name"], lambda: 7) == 7
    assert recorder.problems == ["call 1 has no name that is known: KeyError: 'name'"]


def test_a_call_without_memory_records_that_it_ended():
    taken = []
    recorder = Recorder(Wanted(), taken.append)
    call = Call("f", set, lambda speller: "f()")
    recorder.around(lambda: call, set, lambda: None)
    assert {name: bits.tolist() for name, (_, bits) in taken[0].outputs().items()} == {"ended": 1}
