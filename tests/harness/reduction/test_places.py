"""Places: a host, a compiler, a GPU model."""

import threading

import pytest

from harness.errors import UsageError
from harness.reduction import properties
from harness.reduction.places import Place, of_word


def test_a_word_is_a_compiler_or_a_host():
    assert of_word("nvidia==4.6.3") == {"compiler": "nvidia==4.6.3"}
    assert of_word("ours") == {"compiler": "ours"}
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


def test_a_host_and_this_machine_disagree(two_hosts, tmp_path, write):
    """Two sides over a real connection: the facts that a program gives of its process differ, the rest is dropped."""
    body = """
    import os, numpy
    def run():
        far = "SSH_CONNECTION" in os.environ
        return {"far": numpy.array(far), "same": numpy.array(1)}
    """
    (case,) = write(body).cases()
    kept = properties.read("differs p1 embedded", case, "one.py", lambda **about: Place(tmp_path, **about))
    try:
        start = kept.see(case.repro.text)
        assert kept.refuse(start) == "" and set(start.about[0].wrong) == {"far"}
        assert kept.differs(kept.see(case.repro.text.replace(', "same": numpy.array(1)', "")), start) == ""
        assert kept.differs(kept.see(case.repro.text.replace("array(far)", "array(1)")), start) == "no longer so"
        assert kept.differs(kept.see(case.repro.text.replace("array(1)", "array([1][far])")), start) == (
            "another outcome: IndexError"
        )
    finally:
        kept.close()


def test_candidates_run_in_a_pool(two_hosts, tmp_path, write):
    (tmp_path / "pyproject.toml").write_text('[tool.repro.pools.both]\nhosts = ["p1:0-3", "p2:0-3"]\n')
    (case,) = write("def run():\n    return {'x': [1][2]}").cases()
    kept = properties.read("", case, "one.py", lambda **about: Place(tmp_path, "pool:both", **about))
    try:
        start = kept.see(case.repro.text)
        assert kept.refuse(start) == "" and start.about.name == "IndexError"
        assert kept.differs(kept.see(case.repro.text.replace("[2]", "[3]")), start) == ""
        assert kept.differs(kept.see(case.repro.text.replace("[1][2]", "__import__('numpy').zeros(1)")), start) == (
            "no longer so"
        )
    finally:
        kept.close()
