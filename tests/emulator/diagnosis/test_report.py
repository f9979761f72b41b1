"""The text of a finding, and the level that makes it an error or a Python warning."""

import pytest

from dsl.emulator.diagnosis import report
from dsl.emulator.faults import KernelNote, KernelWarning


@pytest.mark.parametrize(("name", "category"), [("RACE_SAME_VALUE", KernelWarning), ("STOPPED", KernelNote)])
def test_a_finding_below_an_error_is_a_python_warning_at_the_authors_line(name, category):
    class Launch:
        class program:
            frames_of = staticmethod(lambda instr: [])
            ptx = ""

        entry_name = "k"

    class Instr:
        loc, line = None, 7

    with pytest.warns(category, match=f"^{name}: it happened") as caught:
        report.warn(Launch, name, Instr, "it happened")
    assert (caught[0].filename, caught[0].lineno) == ("k", 7)
    with pytest.raises(AssertionError):
        report.error(Launch, name, Instr, "it happened", [], "", (0, 0, 0), 0)
