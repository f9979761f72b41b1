"""Candidates: each once, what fails counted by reason."""

from harness.reduction.candidates import Candidates, key, python_problem, python_shape, tries_for
from harness.reduction.properties import Seen
from tests.harness.reduction.test_search import Holds


def test_a_candidate_that_was_rejected_is_not_run_again():
    kept, noted = Holds(lambda text: False), []
    trial = Candidates(kept, Seen(True), 1, lambda text: "")
    trial.on_rejected = noted.append
    assert [trial.submit("a").result(), trial.submit("a").result()] == [None, None]
    assert (kept.asked, noted, trial.rejected, trial.repeated) == (["a"], [key("a")], {"no longer so": 1}, 1)
    trial.close()


def test_a_candidate_that_an_earlier_run_rejected_is_not_run():
    kept = Holds(lambda text: True)
    trial = Candidates(kept, Seen(True), 1, lambda text: "", known={key("a")})
    assert trial.submit("a").result() is None and kept.asked == []
    trial.close()


def test_a_candidate_that_could_not_be_run_may_be_run_again():
    class Gone(Holds):
        def see(self, text):
            self.asked.append(text)
            return Seen(None, "it could not be run")

    kept = Gone(None)
    trial = Candidates(kept, Seen(True), 1, lambda text: "")
    assert [trial.submit("a").result(), trial.submit("a").result()] == [None, None]
    assert (kept.asked, trial.rejected) == (["a", "a"], {"it could not be run": 2})
    trial.close()


def test_a_property_that_comes_and_goes_is_tried_until_it_is_seen():
    answers = iter([False, False, True])
    kept = Holds(lambda text: next(answers))
    trial = Candidates(kept, Seen(True), 1, lambda text: "", tries=3)
    assert trial.submit("a").result() == Seen(True) and kept.asked == ["a"] * 3
    trial.close()


def test_how_often_a_candidate_is_tried():
    assert [tries_for(5, 5), tries_for(3, 5), tries_for(4, 5)] == [1, 4, 2]


def test_a_text_that_is_not_a_program_is_not_run():
    assert python_problem("a b", is_script=True) == "not Python"
    assert python_problem("def run(n=1): pass", is_script=True) == "no longer a script"
    assert python_problem("def run(n=1): pass\nrun()", is_script=True) == ""
    assert python_problem("x = 1", is_script=False) == "without a claim"
    assert python_problem('"""It is so."""\ndef run(): return', is_script=False) == "run() returns nothing"
    assert python_problem('"""It is so."""\ndef run(): return {"a": a}', is_script=False) == ""


def test_programs_that_differ_in_comments_and_line_breaks_are_run_once():
    kept, before = Holds(lambda text: "2" in text), Seen(True, text="the best")
    trial = Candidates(kept, before, 1, lambda text: "", shape=python_shape)
    trial.take("x = [1,\n2]  # so\n", before)
    assert trial.submit("x = [1, 2]").result() is before and kept.asked == []
    assert [trial.submit(text).result() for text in ("x = [1]", "x = [1]  # so", "x = [ 1 ]")] == [None] * 3
    assert (kept.asked, trial.repeated) == (["x = [1]"], 3)
    trial.close()


def test_a_candidate_that_was_looked_at_in_a_hurry_is_looked_at_in_full():
    class Hurried(Holds):
        def confirm(self, text, seen):
            self.asked.append(f"{text} in full")
            return Seen(text == "a")

    kept = Hurried(lambda text: text != "c")
    trial = Candidates(kept, Seen(True), 1, lambda text: "")
    assert [trial.submit(text).result() for text in "abc"] == [Seen(True), None, None]
    assert kept.asked == ["a", "a in full", "b", "b in full", "c"]
    trial.close()


def test_warnings_about_a_candidate_are_not_shown(recwarn):
    assert python_problem("x = 1 if 0.5[0] else 2", is_script=True) == "" and not recwarn.list
