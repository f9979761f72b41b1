"""cutlass.experimental.primitives: NVIDIA's parameters, the same results as under its compiler, and what is refused."""

import inspect
import json
import subprocess
import sys
from pathlib import Path

import pytest

from dsl.core.diagnosis.unsupported_names import RefusedWhenUsed, UnknownName, UnsupportedName
from dsl.cutlass.experimental import primitives as prims

PROGRAM = Path(__file__).with_name("primitives_program.py")


@pytest.mark.slow
def test_the_same_results_as_under_nvidias_compiler(both):
    ours, theirs = both(PROGRAM)
    assert (ours.status, theirs.status) == (0, 0), ours.errors + theirs.errors
    assert ours.output == theirs.output and ours.output.count("\n") > 20


@pytest.mark.slow
def test_parameters_are_upstreams(installed):
    """Names and order of all parameters, except `loc` and `ip`."""
    text = (
        "import inspect, json; from cutlass.experimental import primitives as p; print(json.dumps({n: "
        "[x for x in inspect.signature(v).parameters if x not in ('loc', 'ip')] "
        "for n, v in vars(p).items() if inspect.isfunction(v)}))"
    )
    theirs = subprocess.run([sys.executable, "-c", text], capture_output=True, text=True, check=True).stdout
    known = json.loads(theirs.splitlines()[-1])
    ours = {name: getattr(prims, name) for name in prims.__all__ if inspect.isfunction(getattr(prims, name))}
    ours.pop("inline_ptx_hl")  # its predicate has another name
    assert {name: list(inspect.signature(each).parameters) for name, each in ours.items()} == {
        name: known[name] for name in ours
    }


def test_names_that_need_blackwell_are_imported_and_refused_when_used():
    name = "cutlass.experimental.primitives.tcgen05_alloc"
    assert isinstance(prims.tcgen05_alloc, RefusedWhenUsed)
    with pytest.raises(UnsupportedName) as error:
        prims.tcgen05_alloc(0, 32)
    assert error.value.message == f"{name} is not part of this compiler yet"
    with pytest.raises(UnknownName) as error:
        prims.mbarrier_init_
    assert error.value.message == "cutlass.experimental.primitives has no name `mbarrier_init_`"
