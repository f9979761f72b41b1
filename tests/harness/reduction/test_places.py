"""Places: a host, a compiler, a GPU model."""

import threading

import pytest

from harness.errors import UsageError
from harness.reduction.places import Place, of_word


def test_a_word_is_a_compiler_or_a_host():
    assert of_word("nvidia==4.6.3") == {"compiler": "nvidia==4.6.3"}
    assert of_word("embedded") == {"compiler": "embedded"}
    assert of_word("p1") == {"host": "p1"}
    with pytest.raises(UsageError):
        of_word("nvidia==newest")


def test_it_runs_as_many_at_once_as_it_is_wide(tmp_path, write):
    (case,) = write("import os, numpy\ndef run():\n    return {'pid': numpy.array(os.getppid())}").cases()
    place, found = Place(tmp_path, width=2), []
    try:
        run = threading.Thread(target=lambda: found.append(place.run(case, 20.0)))
        run.start()
        found.append(place.run(case, 20.0))
        run.join()
        parents = {int(outcome.outputs["pid"].values()) for outcome in found}
        assert len(parents) == 2 and place.name == "embedded"
    finally:
        place.close()
