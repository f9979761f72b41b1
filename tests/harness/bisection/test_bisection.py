"""A bisection of versions whose answers are given: the versions that run, the lines printed, and the result."""

import dataclasses

import pytest

from harness.bisection.axes import Axis, Version
from harness.bisection.bisection import Bisection
from harness.bisection.journal import Journal
from harness.bisection.runs import CannotRun
from tests.harness.bisection.test_answer import given, values


class Given:
    """Versions that give a number, or None if they cannot run."""

    def __init__(self, case, numbers):
        self.cases, self._numbers, self.asked = [case], numbers, []

    def preparation(self, version):
        return {"label": version.label}

    def run(self, version):
        self.asked.append(version.label)
        number = self._numbers[int(version.label[1:])]
        if number is None:
            raise CannotRun("no wheel\nfor it")
        return [given(outputs={"x": values(number)}, record=version.label)]


class Noted:
    """Preparations that only note what is begun."""

    def __init__(self):
        self.begun = []

    def begin(self, label, job):
        assert job == {"label": label}
        self.begun.append(label)

    def wait(self, label):
        assert label in self.begun


@pytest.fixture
def bisect(write, tmp_path):
    (case,) = write("def run(): pass").cases()

    def bisect(*numbers):
        axis = Axis("--package", "x", tuple(Version(f"v{place}") for place in range(len(numbers))))
        runs, noted, told = Given(case, numbers), Noted(), []
        journal = Journal(tmp_path, {"numbers": numbers})
        journal.open()
        return Bisection(axis, runs, journal, noted, told.append).run(), runs.asked, noted.begun, told

    return bisect


def test_the_first_version_that_changes_the_answer(bisect):
    result, asked, begun, told = bisect(1, 1, 1, 2, 2, 2, 2)
    assert (result.kind, result.good, result.bad, result.candidates) == ("found", "v2", "v3", ["v3"])
    assert result.why == "v3 is the first that changes the answer" and not result.is_third
    assert asked == ["v0", "v6", "v3", "v1", "v2"] and result.runs == 5
    assert result.changes == {"": "`x` differs from the good end in 1 of 1 elements (bits)"}
    assert result.as_data()["records"] == {"last_good": {"": "v2"}, "first_bad": {"": "v3"}}
    # Each is prepared before it is needed, with what may follow.
    assert list(dict.fromkeys(begun)) == ["v0", "v6", "v3", "v1", "v4", "v2"]
    assert told == [
        "7 versions, v0 to v6: at most 5 runs",
        "v0: the good end, pass",
        "v6: the bad end, pass",
        "v3: another answer, `x` differs from the good end in 1 of 1 elements (bits); at most 2 runs left",
        "v1: as the good end, pass; at most 1 run left",
        "v2: as the good end, pass; done",
    ]


def test_versions_that_cannot_run_leave_candidates(bisect):
    result, _, _, told = bisect(1, 1, None, None, 2, 2)
    assert (result.kind, result.candidates) == ("ambiguous", ["v2", "v3", "v4"])
    assert result.why == "one of 3 versions changes the answer: nothing between v1 and v4 can run"
    assert result.skipped == {"v2": "no wheel\nfor it", "v3": "no wheel\nfor it"}
    assert any(line.startswith("v2: skipped: no wheel; ") for line in told)


@pytest.mark.parametrize("numbers, which", [((None, 1, 2), "good end, v0"), ((1, 2, None), "bad end, v2")])
def test_an_end_that_cannot_run_aborts(bisect, numbers, which):
    result, asked, *_ = bisect(*numbers)
    assert (result.kind, result.why) == ("aborted", f"the {which}, cannot run: no wheel\nfor it")
    assert "v1" not in asked


def test_equal_ends_end_it(bisect):
    result, asked, *_ = bisect(1, 2, 1)
    assert (result.kind, result.why) == ("unchanged", "v0 and v2 give the same answer: pass")
    assert asked == ["v0", "v2"]


def test_a_third_answer_is_reported(bisect):
    result, *_ = bisect(1, 2, 3)
    assert result.bad == "v1" and result.is_third


def test_it_goes_on_where_it_was_interrupted(bisect, write, tmp_path, monkeypatch):
    numbers = (1, 1, 1, 2, 2, 2, 2)
    run = Given.run

    def interrupted(self, version):
        if version.label == "v1":
            raise KeyboardInterrupt
        return run(self, version)

    monkeypatch.setattr(Given, "run", interrupted)
    with pytest.raises(KeyboardInterrupt):
        bisect(*numbers)
    monkeypatch.setattr(Given, "run", run)
    result, asked, begun, _ = bisect(*numbers)
    assert asked == ["v1", "v2"] and result.bad == "v3" and "v0" not in begun


def test_several_cases_change_by_name(write, tmp_path):
    cases = list(write("def run(n): pass", "params = { n = [1, 2] }").cases())

    class Cases(Given):
        def run(self, version):
            self.asked.append(version.label)
            one = given(outputs={"x": values(1)})
            other = given(outputs={"x": values(int(version.label[1:]) > 0)})
            return [dataclasses.replace(one, case="n=1"), dataclasses.replace(other, case="n=2")]

    runs, journal = Cases(cases[0], ()), Journal(tmp_path, {})
    runs.cases = cases
    journal.open()
    axis = Axis("--host", "x", (Version("v0"), Version("v1")))
    result = Bisection(axis, runs, journal, Noted(), lambda text: None).run()
    assert list(result.changes) == ["n=2"] and result.bad == "v1"


def test_an_exception_that_neither_end_raises_is_skipped(write, tmp_path):
    (case,) = write("def run(): pass").cases()
    error = given("fail", "error: no", "error", brief="error: AttributeError: no")
    journals = iter("ab")

    def bisect(*answers):
        class Answers(Given):
            def run(self, version):
                return [answers[int(version.label[1:])]]

        journal = Journal(tmp_path, {"name": next(journals)})
        journal.open()
        axis = Axis("--host", "x", tuple(Version(f"v{place}") for place in range(len(answers))))
        return Bisection(axis, Answers(case, ()), journal, Noted(), lambda text: None).run()

    one, two = (given(outputs={"x": values(number)}) for number in (1, 2))
    result = bisect(one, error, two)
    assert (result.kind, result.candidates) == ("ambiguous", ["v1", "v2"])
    assert result.skipped == {"v1": "it raises an exception, as neither end does: error: AttributeError: no"}
    result = bisect(one, error, error)
    assert (result.kind, result.bad, result.skipped) == ("found", "v1", {})
