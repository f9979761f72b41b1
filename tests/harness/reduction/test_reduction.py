"""One reduction from its start to its end, of programs without a compiler."""

import threading

import pytest

from harness.errors import UsageError
from harness.reduction import properties, reduction
from harness.reduction.candidates import python_problem
from harness.reduction.journal import Journal
from harness.reduction.passes_process import PassesProcess
from harness.reduction.places import Place

FAILS = """
import numpy as np

LIMIT = 4

def unused(x):
    return x * 2

def middle(values, scale):
    for i in range(3):
        values = values + scale
    if scale > 1:
        values = values.reshape(3, 5)
    return values

def run():
    a = np.zeros(64)
    b = np.ones(64)
    print("begins")
    return {"a": middle(a, 2), "b": b}
"""


@pytest.fixture
def reduced(tmp_path, write):
    """`reduced(body)`: the report of a reduction of a repro, its messages, the file."""

    def reduce(body, keep="", anew=False, passes=None, limit_s=None):
        repro, said = write(body), []
        (case,) = repro.cases()
        kept = properties.read(keep, case, "one.py", lambda **about: Place(tmp_path, width=2, **about))
        passes, journal = passes or PassesProcess("python"), Journal(tmp_path, repro.text, {"keep": keep})
        journal.open(anew)
        out = tmp_path / "out.py"
        try:
            valid = lambda text: python_problem(text, is_script=False)
            text, limit = repro.text, {"limit_s": limit_s}
            return reduction.reduce(text, kept, passes, out, journal, 2, valid, said.append, **limit), said, out
        finally:
            passes.close()
            journal.close()
            kept.close()

    return reduce


def test_an_exception_keeps_only_what_it_needs(reduced):
    report, said, out = reduced(FAILS)
    assert said[0] == "kept: ValueError (cannot reshape array of size N into shape N) at values.reshape()"
    assert out.read_text() == report.text and report.is_finished
    assert reduction.lines(report.text) <= 12
    for gone in ("unused", "LIMIT", "begins", "range"):
        assert gone not in report.text
    assert "reshape(" in report.text and '"""It is so."""' in report.text


def test_the_end_of_its_time_keeps_the_best(reduced):
    report, _, out = reduced(FAILS, limit_s=0.0)
    assert report.is_over and not report.is_finished
    assert out.read_text() == report.text and report.ran < 20


def test_a_start_without_the_property_is_refused(reduced):
    with pytest.raises(UsageError) as error:
        reduced("import numpy\ndef run():\n    return {'x': numpy.ones(1)}")
    assert str(error.value) == ("the start has not the property: it does nothing wrong: its outputs are as expected")


def test_a_start_that_fails_sometimes_is_reported_first(reduced, tmp_path):
    count = tmp_path / "count"
    body = f"""
    import numpy as np

    def run():
        with open({str(count)!r}, "a+") as file:
            file.write("x")
            size = file.tell()
        y = 2
        if size % 2:
            raise ValueError("odd")
        return {{"x": np.array(y)}}
    """
    report, said, _ = reduced(body)
    assert said[0] == "the start does it in 3 of 5 runs: candidates are run up to 4 times"
    assert (report.had, report.runs) == (3, 5) and "y = 2" not in report.text


@pytest.mark.parametrize("place", [(), (3,)])
def test_a_start_that_is_slow_is_not_a_hang(place):
    class Slow:
        about, case, timeout_s, runs = "what it does", None, 60.0, 0

        def see(self, text):
            """Its first two runs are stopped, before they are at a line of the program, as where imports are slow,
            or at one that goes on for long, as where it is compiled."""
            self.runs += 1
            is_stopped = self.runs <= 2 and self.timeout_s < 60
            return properties.Seen("hang" if is_stopped else "race", "", 1.0, "", is_stopped, frozenset(place))

        def refuse(self, start):
            return ""

        def hurry(self, start):
            pass

        def differs(self, seen, before):
            return "" if seen.about == before.about else "another outcome"

    assert reduction.begin(Slow(), "x", print)[0].about == "race"


def test_a_command_may_take_longer_than_a_hang_is_waited_for(monkeypatch):
    monkeypatch.setattr(reduction, "HANG_S", (0.01,))
    kept = properties.Command("sleep 0.1; cat {}", "x.ptx")
    seen, had, runs = reduction.begin(kept, "hay", print)
    assert (seen.about, seen.problem, had, runs) == (0, "", 2, 2)


def test_a_start_that_is_slower_the_second_time_is_the_same(monkeypatch, tmp_path):
    """A second process has to become warm, or the machine is busy."""
    monkeypatch.setattr(reduction, "LEAST_S", 0.1)
    mark = tmp_path / "mark"
    kept = properties.Command(f"[ -e {mark} ] && sleep 1.3; touch {mark}; cat {{}}", "x.ptx")
    seen, had, runs = reduction.begin(kept, "hay", print)
    assert (seen.problem, had, runs) == ("", 2, 2) and kept.timeout_s > 5


def test_an_endless_loop_is_kept_as_one(reduced):
    report, said, _ = reduced("""
    def helper(x):
        y = 3
        while True:
            x = x + 1
        return y

    def run():
        return {"x": helper(1)}
    """)
    assert said[0] == "kept: hang at while" and "while True" in report.text and "y = 3" not in report.text


test_an_endless_loop_is_kept_as_one = pytest.mark.slow(test_an_endless_loop_is_kept_as_one)


def test_lines_that_did_not_run_go_at_once(reduced):
    tried = []

    class Notes(PassesProcess):
        def apply(self, name, source, edits):
            tried.append((name, self.look("ran", source) if name == "unrun" else None))
            return super().apply(name, source, edits)

    report, _, _ = reduced(
        FAILS.replace("if scale > 1", "if scale > 3:\n        a = 5\n    if scale > 1"), passes=Notes("python")
    )
    (lines,) = [lines for name, lines in tried if name == "unrun"]
    assert lines and "a = 5" not in report.text and "unused" not in report.text


def test_ctrl_c_keeps_the_best_and_the_next_run_goes_on(reduced):
    class Stops(PassesProcess):
        asked = 0

        def edits(self, name, source):
            Stops.asked += 1
            if Stops.asked == 12:
                raise KeyboardInterrupt
            return super().edits(name, source)

    report, _, out = reduced(FAILS, passes=Stops("python"))
    assert not report.is_finished and out.read_text() == report.text
    again, said, _ = reduced(FAILS)
    assert said[1] == f"goes on from {reduction.lines(report.text)} lines of an earlier run (`--anew` begins again)"
    assert again.is_finished and reduction.lines(again.text) <= reduction.lines(report.text)


def test_nothing_is_left_running(reduced):
    before = threading.active_count()
    reduced(FAILS)
    assert threading.active_count() <= before + 2  # idle threads of the pool end by themselves
