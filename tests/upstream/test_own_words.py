"""Failures that programs report in words are seen; reports of success are not taken for failures."""

import pytest

from tests.upstream.own_words import failure_in


@pytest.mark.parametrize(
    "line",
    [
        "FAIL",
        "  Kernel 4   (Warp + Shared Memory     ): FAILED (max_err=1.08e-01)",
        "     N=32,C=256 |       PASS |       FAIL |       PASS",
        "SOME TESTS FAILED - See details above",
        "  Kernel 4 (Warp): ERROR (no such kernel)",
        "Error: results do not match",
        "results don't match the reference",
        "Mismatch at index 3: 1.0 vs 2.0",
        "3 failed, 2 passed",
        "Failures: 10",
        "Verification failed!",
        "Result: INCORRECT",
        "tensors are not close",
        "[ERROR]",
    ],
)
def test_a_reported_failure_is_seen(line):
    assert failure_in(f"starts\n{line}\nends\n") == line.strip()


@pytest.mark.parametrize(
    "line",
    [
        "PASS",
        "All tests passed, 0 failed",
        "no mismatches",
        "mismatches: 0",
        "Failures = 0",
        "max error: 0.00012",
        "Relative error = 1e-7",
        "max_err=2.24e-08",
        "Results verified successfully!",
        "errors: 0",
        "ERROR:2026-11-30 12:22:48 29455:29455 DeviceProperties.cpp:56] gpuGetDeviceCount failed with code 500",
    ],
)
def test_success_is_not_taken_for_failure(line):
    assert failure_in(f"starts\n{line}\nends\n") == ""
