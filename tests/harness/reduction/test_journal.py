"""The journal: what an earlier run found is there again, and only for the same start and property."""

from harness.reduction.journal import Journal

NAME = "a" * 64


def test_the_best_and_the_rejected_are_found_again(tmp_path):
    first = Journal(tmp_path, "start", {"keep": ""})
    first.open()
    first.keep("smaller")
    first.reject(NAME)
    first.close()
    with open(first.folder / "rejected", "a") as file:
        file.write("cut o")
    again = Journal(tmp_path, "start", {"keep": ""})
    again.open()
    assert (again.best, again.known) == ("smaller", {NAME})
    again.close()


def test_another_start_or_property_has_its_own_journal(tmp_path):
    folders = {Journal(tmp_path, *about).folder for about in (("a", {}), ("b", {}), ("a", {"keep": "hang"}))}
    assert len(folders) == 3


def test_the_option_to_begin_again_forgets_and_so_does_the_end(tmp_path):
    journal = Journal(tmp_path, "start", {})
    journal.open()
    journal.keep("smaller")
    journal.close()
    journal = Journal(tmp_path, "start", {})
    journal.open(anew=True)
    assert journal.best is None
    journal.forget()
    assert not journal.folder.exists()
