"""The search, with lines as edits and a property that is a function of the text."""

import itertools

import pytest

from harness.reduction.candidates import Candidates
from harness.reduction.properties import InFull, Seen
from harness.reduction.search import Edit, Pass, Search, definitions


class Lines:
    """Each edit drops a line."""

    def passes(self):
        return [Pass("lines")]

    def edits(self, name, source):
        return [Edit(number) for number, _ in enumerate(source.splitlines())]

    def apply(self, name, source, edits):
        return "".join(line for number, line in enumerate(source.splitlines(True)) if number not in edits)


class Holds(InFull):
    """A property that a function of the text decides."""

    about, timeout_s = "it holds", 1.0

    def __init__(self, holds):
        self.holds, self.asked = holds, []

    def see(self, text):
        self.asked.append(text)
        return Seen(self.holds(text))

    def refuse(self, start):
        return "" if start.about else "it does not"

    def differs(self, seen, before):
        return "" if seen.about else "no longer so"

    def close(self):
        pass


START = "".join(f"{number}\n" for number in range(40))


def searched(holds, width=2, start=START):
    kept, taken = Holds(holds), []
    trial = Candidates(kept, Seen(True), width, lambda text: "")
    try:
        best = Search(start, Lines(), trial, lambda text, seen: taken.append(text)).run()
    finally:
        trial.close()
    assert best == (taken[-1] if taken else start)
    return best, kept


@pytest.mark.parametrize("width", [1, 2, 5])
@pytest.mark.parametrize("wanted", [{"7"}, {"0", "39"}, {"3", "4", "20", "31"}, set(map(str, range(40)))])
def test_only_the_lines_that_are_needed_are_left(width, wanted):
    best, kept = searched(lambda text: wanted <= set(text.split()), width)
    assert set(best.split()) == wanted
    assert len(kept.asked) == len(set(kept.asked))  # each candidate once


def test_lines_that_must_go_together_are_found_by_halves():
    def holds(text):
        left = set(text.split())
        return "0" in left and ("38" in left) == ("39" in left)

    assert searched(holds)[0] == "0\n"


def test_it_ends_where_no_line_alone_can_go():
    """As delta debugging promises: of the result, each line alone is needed."""

    def holds(text):
        return sum(map(int, text.split())) % 7 == 3

    best, _ = searched(holds, start="".join(f"{number}\n" for number in (1, 2, 5, 9, 4, 3, 7)))
    lines = best.splitlines(True)
    assert holds(best)
    assert not any(holds("".join(some)) for some in itertools.combinations(lines, len(lines) - 1))


def test_an_edit_that_does_not_fit_is_left_out():
    class Refuses(Lines):
        def apply(self, name, source, edits):
            return None

    trial = Candidates(Holds(lambda text: True), Seen(True), 1, lambda text: "")
    assert Search(START, Refuses(), trial).run() == START
    trial.close()


def test_the_definitions_of_a_text():
    one, _, other, _, _ = names = definitions("def f():\n    x\ny = (\n    1\n    )")
    assert names == [one, one, other, other, other] and one != other


def test_an_edit_that_failed_is_tried_again_only_when_its_definition_changed_and_at_the_end():
    class Blocks(Lines):
        """Each edit drops a line that is indented."""

        def edits(self, name, source):
            rows = enumerate(source.splitlines())
            return [Edit(number, line, number + 1, 1) for number, line in rows if line.startswith(" ")]

    kept = Holds(lambda text: {"a0", "b0", "b2"} <= set(text.split()))
    trial = Candidates(kept, Seen(True), 1, lambda text: "")
    best = Search("a\n a0\nb\n b0\n b1\n b2\n", Blocks(), trial).run()
    trial.close()
    assert best == "a\n a0\nb\n b0\n b2\n"
    without_a0, without_b0 = best.replace(" a0\n", ""), best.replace(" b0\n", "")
    assert kept.asked.index(without_b0) < kept.asked.index(without_a0)  # `b` changed; `a` is tried again at the end


def test_a_fine_edit_that_failed_is_tried_again_if_its_line_changed():
    class Words(Lines):
        """The first of two passes drops lines, the fine one words of a line."""

        def passes(self):
            return [Pass("lines"), Pass("words", is_fine=True)]

        def edits(self, name, source):
            lines = source.splitlines()
            if name == "lines":
                return [Edit(number, line, number + 1) for number, line in enumerate(lines)]
            return [Edit(number, line[-1:], number + 1) for number, line in enumerate(lines) if " " in line.strip()]

        def apply(self, name, source, edits):
            if name == "lines":
                return super().apply(name, source, edits)
            rows = enumerate(source.splitlines(True))
            return "".join(line.rpartition(" ")[0] + "\n" if number in edits else line for number, line in rows)

    kept = Holds(lambda text: text.count("\n") == 4 and " a 1\n" in text and " c 1\n" in text)
    trial = Candidates(kept, Seen(True), 1, lambda text: "")
    assert Search("f\n a 1\n b 1\n c 1\n", Words(), trial).run() == "f\n a 1\n b\n c 1\n"
    trial.close()
    assert "f\n a\n b\n c 1\n" not in kept.asked  # `b` changed, in the same definition
