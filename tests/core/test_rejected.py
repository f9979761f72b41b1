"""Programs that both compilers reject in this run: our error is also of NVIDIA's class and has the same diagnostic."""

import json
from pathlib import Path

import pytest

PROGRAM = Path(__file__).with_name("rejected_program.py")

# Programs that NVIDIA's compiler 4.8.1 takes, calls its own fault, or has no diagnostic for: our diagnostics.
OURS_ALONE = {
    "kernel_called_from_python": "LAUNCH_OUTSIDE_JIT",
    "thread_idx_in_host_code": "CALL_OUTSIDE_KERNEL",
    "argument_too_many": "CALL_EXTRA_ARG",
    "argument_of_no_such_name": "CALL_UNEXPECTED_KWARG",
    "coordinate_of_another_rank": None,
    "coordinate_of_a_tensor_of_another_rank": "INDEX_OUT_OF_RANGE",
    "vectorized": "UNSUP_ARCH",
    "name_of_one_branch": "SCOPE_UNBOUND_NAME",
}


@pytest.mark.slow
def test_class_and_diagnostic_are_upstreams(both):
    ours, theirs = (
        {name: (bases, found) for name, bases, found in map(json.loads, run.output.splitlines())}
        for run in both(PROGRAM)
    )
    assert ours.keys() == theirs.keys() and len(ours) >= 34
    assert {name: found for name, (_, found) in ours.items() if name in OURS_ALONE} == OURS_ALONE
    for name, (bases, found) in theirs.items():
        assert ours[name][0], f"{name} is accepted here"
        if name not in OURS_ALONE:
            assert bases[0] in ours[name][0] and found == ours[name][1], f"{name}: {bases[0]} {found}, not {ours[name]}"
